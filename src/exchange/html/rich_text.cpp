#include "exchange/html/rich_text.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <md4c.h>

#include "base/utf8.h"
#include "exchange/html/escape.h"
#include "exchange/html/highlight.h"

namespace reef::exchange::html {
namespace {

constexpr std::size_t kTextBytesMax = 512U << 10;
// Some Markdown grows without limit as HTML, for example a table of many columns.
constexpr std::size_t kGrowthMax = 24;
constexpr std::size_t kDepthMax = 48;

// The address of a link; empty when nobody should follow it.
std::string address_of(const MD_ATTRIBUTE& attribute) {
  std::string url;
  for (int i = 0; attribute.substr_offsets[i] < attribute.size; ++i) {
    const std::string_view part(attribute.text + attribute.substr_offsets[i],
                                attribute.substr_offsets[i + 1] - attribute.substr_offsets[i]);
    if (attribute.substr_types[i] == MD_TEXT_ENTITY) {
      // An address that is partly written in entities hides something.
      if (part != "&amp;") return {};
      url.push_back('&');
    } else {
      url += part;
    }
  }
  const auto lower = utf8::lower_ascii(utf8::prefix(url, 16));
  for (const auto scheme : {"https://", "http://", "mailto:"})
    if (lower.starts_with(scheme)) return url;
  return {};
}

class Renderer {
 public:
  Renderer(std::size_t bytes_max, Breaks breaks) : bytes_max_(bytes_max), breaks_(breaks) {}

  std::string out;

  int enter(MD_BLOCKTYPE type, void* detail) {
    if (++depth_ > kDepthMax) return full();
    switch (type) {
      case MD_BLOCK_QUOTE:
        out += "<blockquote>";
        break;
      case MD_BLOCK_UL:
        out += "<ul>";
        break;
      case MD_BLOCK_OL:
        out += fmt::format("<ol start=\"{}\">", static_cast<MD_BLOCK_OL_DETAIL*>(detail)->start);
        break;
      case MD_BLOCK_LI: {
        const auto& item = *static_cast<MD_BLOCK_LI_DETAIL*>(detail);
        out += "<li>";
        if (item.is_task) out += item.task_mark == ' ' ? "☐ " : "☑ ";
        break;
      }
      case MD_BLOCK_HR:
        out += "<hr>";
        break;
      case MD_BLOCK_H:
        // The page uses the first two levels, so headings in a message begin at the third.
        out += fmt::format("<h{}>", heading(detail));
        break;
      case MD_BLOCK_CODE: {
        const auto& lang = static_cast<MD_BLOCK_CODE_DETAIL*>(detail)->lang;
        language_.assign(lang.text ? lang.text : "", lang.size);
        code_.emplace();
        break;
      }
      case MD_BLOCK_P:
        out += "<p>";
        break;
      case MD_BLOCK_TABLE:
        out += "<div class=\"wide\"><table>";
        break;
      case MD_BLOCK_THEAD:
        out += "<thead>";
        break;
      case MD_BLOCK_TBODY:
        out += "<tbody>";
        break;
      case MD_BLOCK_TR:
        out += "<tr>";
        break;
      case MD_BLOCK_TH:
        out += "<th>";
        break;
      case MD_BLOCK_TD:
        out += "<td>";
        break;
      case MD_BLOCK_DOC:
      case MD_BLOCK_HTML:
        break;
    }
    return full();
  }

  int leave(MD_BLOCKTYPE type, void* detail) {
    if (depth_-- > kDepthMax) return full();
    switch (type) {
      case MD_BLOCK_QUOTE:
        out += "</blockquote>";
        break;
      case MD_BLOCK_UL:
        out += "</ul>";
        break;
      case MD_BLOCK_OL:
        out += "</ol>";
        break;
      case MD_BLOCK_LI:
        out += "</li>";
        break;
      case MD_BLOCK_H:
        out += fmt::format("</h{}>", heading(detail));
        break;
      case MD_BLOCK_CODE:
        end_code();
        break;
      case MD_BLOCK_P:
        out += "</p>";
        break;
      case MD_BLOCK_TABLE:
        out += "</table></div>";
        break;
      case MD_BLOCK_THEAD:
        out += "</thead>";
        break;
      case MD_BLOCK_TBODY:
        out += "</tbody>";
        break;
      case MD_BLOCK_TR:
        out += "</tr>";
        break;
      case MD_BLOCK_TH:
        out += "</th>";
        break;
      case MD_BLOCK_TD:
        out += "</td>";
        break;
      case MD_BLOCK_DOC:
      case MD_BLOCK_HTML:
      case MD_BLOCK_HR:
        break;
    }
    return full();
  }

  int begin(MD_SPANTYPE type, void* detail) {
    switch (type) {
      case MD_SPAN_EM:
        out += "<em>";
        break;
      case MD_SPAN_STRONG:
        out += "<strong>";
        break;
      case MD_SPAN_DEL:
        out += "<del>";
        break;
      case MD_SPAN_CODE:
        out += "<code>";
        break;
      case MD_SPAN_A:
        begin_link(address_of(static_cast<MD_SPAN_A_DETAIL*>(detail)->href));
        break;
      case MD_SPAN_IMG:
        // It is shown as a link, because the page fetches nothing from elsewhere.
        begin_link(address_of(static_cast<MD_SPAN_IMG_DETAIL*>(detail)->src));
        out += "🖼 ";
        break;
      case MD_SPAN_LATEXMATH:
      case MD_SPAN_LATEXMATH_DISPLAY:
      case MD_SPAN_WIKILINK:
      case MD_SPAN_U:
        break;
    }
    return full();
  }

  int end(MD_SPANTYPE type) {
    switch (type) {
      case MD_SPAN_EM:
        out += "</em>";
        break;
      case MD_SPAN_STRONG:
        out += "</strong>";
        break;
      case MD_SPAN_DEL:
        out += "</del>";
        break;
      case MD_SPAN_CODE:
        out += "</code>";
        break;
      case MD_SPAN_A:
      case MD_SPAN_IMG:
        end_link();
        break;
      case MD_SPAN_LATEXMATH:
      case MD_SPAN_LATEXMATH_DISPLAY:
      case MD_SPAN_WIKILINK:
      case MD_SPAN_U:
        break;
    }
    return full();
  }

  int text(MD_TEXTTYPE type, std::string_view text) {
    if (code_) {
      *code_ += text;
      return code_->size() > bytes_max_ ? 1 : 0;
    }
    switch (type) {
      case MD_TEXT_BR:
        out += "<br>";
        break;
      case MD_TEXT_SOFTBR:
        out += breaks_ == Breaks::hard ? "<br>" : "\n";
        break;
      case MD_TEXT_NULLCHAR:
        out += "\xEF\xBF\xBD";
        break;
      case MD_TEXT_ENTITY:
        out += text;  // '&', letters, digits, '#', ';'
        break;
      default:
        out += escaped(text);
    }
    return full();
  }

 private:
  static unsigned heading(void* detail) {
    return std::min(6U, static_cast<MD_BLOCK_H_DETAIL*>(detail)->level + 2);
  }
  int full() const { return out.size() > bytes_max_ ? 1 : 0; }

  void end_code() {
    out += "<pre><code>" + highlighted(language_, *code_) + "</code></pre>";
    code_.reset();
  }

  // Links do not nest; a picture may stand in one.
  void begin_link(const std::string& address) {
    const bool real = !address.empty() && links_.find('a') == std::string::npos;
    links_.push_back(real ? 'a' : ' ');
    if (real)
      out += fmt::format("<a href=\"{}\" rel=\"noopener noreferrer\" target=\"_blank\">",
                         escaped(address));
  }
  void end_link() {
    if (links_.back() == 'a') out += "</a>";
    links_.pop_back();
  }

  const std::size_t bytes_max_;
  const Breaks breaks_;
  std::size_t depth_ = 0;
  std::string language_;
  std::optional<std::string> code_;
  std::string links_;  // the open ones; ' ' for one that was left out
};

}  // namespace

std::string rich_text(std::string_view markdown, Breaks breaks) {
  const auto as_it_is = [&] { return "<pre class=\"plain\">" + escaped(markdown) + "</pre>"; };
  if (markdown.size() > kTextBytesMax) return as_it_is();
  const auto text = utf8::printable(markdown);
  Renderer renderer(kGrowthMax * text.size() + 4096, breaks);
  MD_PARSER parser = {};
  parser.flags = MD_FLAG_NOHTML | MD_FLAG_NOINDENTEDCODEBLOCKS | MD_FLAG_TABLES |
                 MD_FLAG_STRIKETHROUGH | MD_FLAG_TASKLISTS | MD_FLAG_PERMISSIVEURLAUTOLINKS;
  parser.enter_block = [](MD_BLOCKTYPE type, void* detail, void* self) {
    return static_cast<Renderer*>(self)->enter(type, detail);
  };
  parser.leave_block = [](MD_BLOCKTYPE type, void* detail, void* self) {
    return static_cast<Renderer*>(self)->leave(type, detail);
  };
  parser.enter_span = [](MD_SPANTYPE type, void* detail, void* self) {
    return static_cast<Renderer*>(self)->begin(type, detail);
  };
  parser.leave_span = [](MD_SPANTYPE type, void*, void* self) {
    return static_cast<Renderer*>(self)->end(type);
  };
  parser.text = [](MD_TEXTTYPE type, const MD_CHAR* text_of, MD_SIZE size, void* self) {
    return static_cast<Renderer*>(self)->text(type, std::string_view(text_of, size));
  };
  if (md_parse(text.data(), static_cast<MD_SIZE>(text.size()), &parser, &renderer) != 0)
    return as_it_is();
  return std::move(renderer.out);
}

}  // namespace reef::exchange::html
