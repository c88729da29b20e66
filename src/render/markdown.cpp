#include "render/markdown.h"

#include <algorithm>
#include <optional>

#include <md4c.h>

#include "base/utf8.h"
#include "base/visible.h"
#include "render/pieces.h"

namespace reef::render {
namespace {

constexpr std::size_t kTextBytesMax = 512U << 10;
constexpr std::size_t kBlocksDeepMax = 48;
// A few signs can stand for a table of very many cells.
constexpr std::size_t kCellsMax = 20'000;
// md4c goes on after a positive number in some places.
constexpr int kStop = -1;

// The character that a reference of HTML means; the reference itself when it is not known.
std::string entity(std::string_view text) {
  struct Named {
    std::string_view name, text;
  };
  constexpr Named kNamed[] = {
      {"&amp;", "&"},    {"&lt;", "<"},    {"&gt;", ">"},    {"&quot;", "\""},  {"&apos;", "'"},
      {"&nbsp;", " "},   {"&copy;", "©"},  {"&reg;", "®"},   {"&hellip;", "…"}, {"&ndash;", "–"},
      {"&mdash;", "—"},  {"&laquo;", "«"}, {"&raquo;", "»"}, {"&bull;", "•"},   {"&middot;", "·"},
      {"&times;", "×"},  {"&rarr;", "→"},  {"&larr;", "←"},  {"&uarr;", "↑"},   {"&darr;", "↓"},
      {"&deg;", "°"},    {"&euro;", "€"},  {"&para;", "¶"},  {"&sect;", "§"},   {"&trade;", "™"},
      {"&plusmn;", "±"}, {"&le;", "≤"},    {"&ge;", "≥"},    {"&ne;", "≠"},     {"&check;", "✓"}};
  for (const auto& one : kNamed)
    if (one.name == text) return std::string(one.text);
  if (text.size() < 4 || text[1] != '#') return std::string(text);
  std::uint32_t value = 0;
  const bool hex = text[2] == 'x' || text[2] == 'X';
  for (const char c : text.substr(hex ? 3 : 2, text.size() - (hex ? 4 : 3))) {
    const auto digit = c >= '0' && c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
    if (digit < 0 || digit >= (hex ? 16 : 10) || value > 0x10FFFF) return std::string(text);
    value = value * (hex ? 16U : 10U) + static_cast<std::uint32_t>(digit);
  }
  std::string out;
  utf8::append(out, value == 0 ? 0xFFFD : value);
  return utf8::visible(out);
}

// The address of a link; empty when nobody should follow it.
std::string address_of(const MD_ATTRIBUTE& attribute) {
  std::string url;
  for (int i = 0; attribute.substr_offsets && attribute.substr_offsets[i] < attribute.size; ++i) {
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
    if (lower.starts_with(scheme)) return utf8::visible(url);
  return {};
}

class Builder {
 public:
  explicit Builder(const MarkdownOptions& options) : options_(options) {}

  std::vector<Block> out;

  int enter(MD_BLOCKTYPE type, void* detail) {
    if (++depth_ > kBlocksDeepMax) return kStop;
    switch (type) {
      case MD_BLOCK_QUOTE:
        open(Block::Kind::quote);
        break;
      case MD_BLOCK_UL:
        open(Block::Kind::list).tight = static_cast<MD_BLOCK_UL_DETAIL*>(detail)->is_tight != 0;
        break;
      case MD_BLOCK_OL: {
        const auto& list = *static_cast<MD_BLOCK_OL_DETAIL*>(detail);
        auto& block = open(Block::Kind::list);
        block.ordered = true;
        block.start = list.start;
        block.tight = list.is_tight != 0;
        break;
      }
      case MD_BLOCK_LI: {
        const auto& item = *static_cast<MD_BLOCK_LI_DETAIL*>(detail);
        auto& block = open(Block::Kind::item);
        if (item.is_task)
          block.task = item.task_mark == ' ' ? Block::Task::open : Block::Task::done;
        break;
      }
      case MD_BLOCK_HR:
        open(Block::Kind::rule);
        break;
      case MD_BLOCK_H:
        open(Block::Kind::heading).level =
            std::min(6U, static_cast<MD_BLOCK_H_DETAIL*>(detail)->level);
        break;
      case MD_BLOCK_CODE: {
        const auto& info = static_cast<MD_BLOCK_CODE_DETAIL*>(detail)->info;
        open(Block::Kind::code).language =
            utf8::single_line(std::string_view(info.text ? info.text : "", info.size));
        break;
      }
      case MD_BLOCK_P:
        open(Block::Kind::paragraph);
        break;
      case MD_BLOCK_TABLE:
        open(Block::Kind::table);
        break;
      case MD_BLOCK_TR:
        stack_.back()->rows.emplace_back();
        break;
      case MD_BLOCK_TH:
      case MD_BLOCK_TD: {
        if (++cells_ > kCellsMax) return kStop;
        auto& table = *stack_.back();
        if (type == MD_BLOCK_TH) table.columns.push_back(align_of(detail));
        table.rows.back().emplace_back();
        break;
      }
      case MD_BLOCK_THEAD:
      case MD_BLOCK_TBODY:
      case MD_BLOCK_DOC:
      case MD_BLOCK_HTML:
        break;
    }
    return 0;
  }

  int leave(MD_BLOCKTYPE type) {
    --depth_;
    switch (type) {
      case MD_BLOCK_QUOTE:
      case MD_BLOCK_UL:
      case MD_BLOCK_OL:
      case MD_BLOCK_LI:
      case MD_BLOCK_HR:
      case MD_BLOCK_H:
      case MD_BLOCK_CODE:
      case MD_BLOCK_P:
      case MD_BLOCK_TABLE:
        stack_.pop_back();
        break;
      default:
        break;
    }
    return 0;
  }

  int begin(MD_SPANTYPE type, void* detail) {
    styles_.push_back(style_);
    links_.push_back(link_);
    switch (type) {
      case MD_SPAN_EM:
        style_.italic = true;
        break;
      case MD_SPAN_STRONG:
        style_.bold = true;
        break;
      case MD_SPAN_DEL:
        style_.strike = true;
        break;
      case MD_SPAN_CODE:
        style_.code = true;
        break;
      case MD_SPAN_A:
        follow(address_of(static_cast<MD_SPAN_A_DETAIL*>(detail)->href));
        break;
      case MD_SPAN_IMG:
        // A picture of somebody else's is never fetched: it is a link.
        follow(address_of(static_cast<MD_SPAN_IMG_DETAIL*>(detail)->src));
        say("🖼 ");
        break;
      case MD_SPAN_LATEXMATH:
      case MD_SPAN_LATEXMATH_DISPLAY:
      case MD_SPAN_WIKILINK:
      case MD_SPAN_U:
        break;
    }
    return 0;
  }

  int end() {
    style_ = styles_.back();
    styles_.pop_back();
    link_ = links_.back();
    links_.pop_back();
    return 0;
  }

  int text(MD_TEXTTYPE type, std::string_view text) {
    if (!stack_.empty() && stack_.back()->kind == Block::Kind::code) {
      if (type == MD_TEXT_NULLCHAR) text = "\xEF\xBF\xBD";
      stack_.back()->code += text;
      return 0;
    }
    switch (type) {
      case MD_TEXT_BR:
        say("\n");
        break;
      case MD_TEXT_SOFTBR:
        say(options_.breaks == Breaks::hard ? "\n" : " ");
        break;
      case MD_TEXT_NULLCHAR:
        say("\xEF\xBF\xBD");
        break;
      case MD_TEXT_ENTITY:
        say(entity(text));
        break;
      default: {
        // A tab between words is a space; where it would go on a line is nobody's to say.
        std::string words(text);
        std::replace(words.begin(), words.end(), '\t', ' ');
        say(words);
      }
    }
    return 0;
  }

 private:
  static Block::Align align_of(void* detail) {
    switch (static_cast<MD_BLOCK_TD_DETAIL*>(detail)->align) {
      case MD_ALIGN_CENTER:
        return Block::Align::center;
      case MD_ALIGN_RIGHT:
        return Block::Align::right;
      default:
        return Block::Align::left;
    }
  }

  // Pointers stay good: a block gets another sibling only when it is closed itself.
  Block& open(Block::Kind kind) {
    auto& siblings = stack_.empty() ? out : stack_.back()->inner;
    auto& block = siblings.emplace_back();
    block.kind = kind;
    stack_.push_back(&block);
    return block;
  }

  void say(std::string_view words) {
    if (stack_.empty()) return;
    auto& block = *stack_.back();
    if (block.kind == Block::Kind::table) {
      if (!block.rows.empty() && !block.rows.back().empty())
        add(block.rows.back().back(), words == "\n" ? " " : words, style_, link_);
      return;
    }
    if (block.kind == Block::Kind::item) {
      // The words of a tight item stand in no paragraph of md4c's; here they do.
      if (block.inner.empty() || block.inner.back().kind != Block::Kind::paragraph)
        block.inner.emplace_back();
      add(block.inner.back().words, words, style_, link_);
      return;
    }
    add(block.words, words, style_, link_);
  }

  void follow(std::string address) {
    // Links do not nest.
    if (address.empty() || !link_.empty()) return;
    link_ = std::move(address);
    style_.role = Role::link;
  }

  const MarkdownOptions options_;
  std::size_t depth_ = 0;
  std::size_t cells_ = 0;
  std::vector<Block*> stack_;
  Style style_;
  std::string link_;
  std::vector<Style> styles_;
  std::vector<std::string> links_;
};

Block as_it_is(std::string_view text) {
  Block out;
  out.kind = Block::Kind::code;
  out.code = std::string(text);
  if (!out.code.empty() && out.code.back() != '\n') out.code += '\n';
  return out;
}

std::optional<std::vector<Block>> parse(const std::string& text, const MarkdownOptions& options) {
  Builder builder(options);
  MD_PARSER parser = {};
  parser.flags = MD_FLAG_NOHTML | MD_FLAG_NOINDENTEDCODEBLOCKS | MD_FLAG_TABLES |
                 MD_FLAG_STRIKETHROUGH | MD_FLAG_TASKLISTS | MD_FLAG_PERMISSIVEURLAUTOLINKS;
  parser.enter_block = [](MD_BLOCKTYPE type, void* detail, void* self) {
    return static_cast<Builder*>(self)->enter(type, detail);
  };
  parser.leave_block = [](MD_BLOCKTYPE type, void*, void* self) {
    return static_cast<Builder*>(self)->leave(type);
  };
  parser.enter_span = [](MD_SPANTYPE type, void* detail, void* self) {
    return static_cast<Builder*>(self)->begin(type, detail);
  };
  parser.leave_span = [](MD_SPANTYPE, void*, void* self) {
    return static_cast<Builder*>(self)->end();
  };
  parser.text = [](MD_TEXTTYPE type, const MD_CHAR* words, MD_SIZE size, void* self) {
    return static_cast<Builder*>(self)->text(type, std::string_view(words, size));
  };
  if (md_parse(text.data(), static_cast<MD_SIZE>(text.size()), &parser, &builder) != 0)
    return std::nullopt;
  return std::move(builder.out);
}

}  // namespace

std::vector<Block> parse_piece(std::string_view piece, std::string_view definitions,
                               const MarkdownOptions& options) {
  auto text = utf8::visible(piece);
  const auto plain = text;  // without the definitions
  if (text.size() <= kTextBytesMax) {
    // The first definition of a name counts, so these stand in front.
    if (!definitions.empty()) text = utf8::visible(definitions) + "\n" + text;
    if (auto blocks = parse(text, options)) return *std::move(blocks);
  }
  std::vector<Block> out;
  out.push_back(as_it_is(plain));
  return out;
}

std::vector<Block> parse_markdown(std::string_view text, const MarkdownOptions& options) {
  Pieces pieces;
  auto cut = pieces.take(text);
  cut.push_back(pieces.rest());
  std::vector<Block> out;
  for (const auto& piece : cut)
    for (auto& block : parse_piece(piece, pieces.definitions(), options))
      out.push_back(std::move(block));
  return out;
}

}  // namespace reef::render
