// Writes one page a session that loads nothing from anywhere, and a list of the pages when there
// are several.

#include "exchange/html/html.h"

#include <array>

#include <fmt/format.h>

#include "base/overload.h"
#include "base/utf8.h"
#include "exchange/html/draw.h"
#include "exchange/html/escape.h"
#include "exchange/html/page.h"
#include "exchange/outline.h"

namespace reef::exchange {
namespace {

using namespace html;

constexpr std::string_view kIndex = "index.html";
constexpr std::size_t kGistCharsMax = 120;
constexpr std::size_t kValueCharsMax = 120;

std::string title_of(const session::Row& row) {
  if (!row.name().empty()) return std::string(row.name());
  return row.preview.empty() ? row.id.text() : row.preview;
}

// 16 November 2026
std::string day_of(TimePoint time) {
  constexpr std::array kMonths = {"January",   "February", "March",    "April",
                                  "May",       "June",     "July",     "August",
                                  "September", "October",  "November", "December"};
  const std::chrono::year_month_day day(std::chrono::floor<std::chrono::days>(time));
  return fmt::format("{} {} {}", static_cast<unsigned>(day.day()),
                     kMonths[static_cast<unsigned>(day.month()) - 1], static_cast<int>(day.year()));
}

// 03:04
std::string clock_of(TimePoint time) {
  return format_iso(time).substr(11, 5);
}

std::string fact(std::string_view name, std::string_view value) {
  if (value.empty()) return {};
  return fmt::format("<div><dt>{}</dt><dd><bdi>{}</bdi></dd></div>\n", name,
                     escaped_line(value, 200));
}

std::string facts_of(const session::Row& row) {
  auto out = std::string("<dl class=\"facts\">\n");
  out += fact("Session", row.id.text());
  out += fact("Conversation", row.key());
  out += fact("Started", fmt::format("{}, {}", day_of(row.created), clock_of(row.created)));
  out += fact("Messages", fmt::format("{}", row.message_count));
  for (const auto& [model, totals] : row.usage_by_model) out += fact("Model", model);
  // Counted as `reef status` counts them.
  if (row.usage.tokens() > 0) {
    const auto cached = row.usage.cache_read > 0 ? fmt::format(" ({} cached)", row.usage.cache_read)
                                                 : std::string();
    out +=
        fact("Tokens", fmt::format("{} in{}, {} out", row.usage.given(), cached, row.usage.output));
  }
  if (row.usage.cost > 0) out += fact("Cost", fmt::format("${:.4f}", row.usage.cost));
  out += fact("Status", row.text("sessionStatus"));
  std::string labels;
  if (const auto* list = json::find_array(row.meta, "labels"))
    for (const auto& label : *list)
      if (const auto* name = label.if_string())
        labels += fmt::format("<span class=\"label\">{}</span> ", escaped_line(*name, 80));
  if (!labels.empty()) out += "<div><dt>Labels</dt><dd>" + labels + "</dd></div>\n";
  return out + "</dl>\n";
}

std::string folded(std::string_view kind, std::string_view what, std::string_view gist,
                   std::string_view failed, std::string_view inside) {
  return fmt::format(
      "<details class=\"fold {}\"><summary><span class=\"what\">{}</span> <code class=\"gist\">"
      "<bdi>{}</bdi></code>{}</summary><div class=\"inside\">{}</div></details>\n",
      kind, what, gist, failed, inside);
}

constexpr std::string_view kFailed = "<span class=\"failed\">failed</span>";

std::string picture(const session::ImageBlock& block) {
  constexpr std::array<std::string_view, 6> kTypes = {"image/png",  "image/jpeg", "image/gif",
                                                      "image/webp", "image/avif", "image/bmp"};
  const auto type = utf8::lower_ascii(block.mime_type);
  const bool known = std::find(kTypes.begin(), kTypes.end(), type) != kTypes.end();
  constexpr std::string_view kBase64 =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";
  if (!known || block.data.find_first_not_of(kBase64) != std::string::npos)
    return fmt::format("<p class=\"failure\">A picture that cannot be shown ({}).</p>",
                       escaped_line(block.mime_type, 60));
  return fmt::format("<p><img src=\"data:{};base64,{}\" alt=\"Picture\" loading=\"lazy\"></p>",
                     type, block.data);
}

// The arguments of a call, each shown in its most readable form.
std::string arguments_of(const json::object& arguments) {
  std::string out;
  for (const auto& [name, value] : arguments) {
    out += fmt::format("<dt>{}</dt><dd>", escaped_line(name, 80));
    const auto* text = value.if_string();
    const std::string_view words = text ? std::string_view(*text) : std::string_view();
    if (!text) {
      out +=
          "<pre class=\"plain\"><code>" + highlighted("json", json::write(value)) + "</code></pre>";
    } else if (words.size() <= kValueCharsMax && words.find('\n') == std::string_view::npos) {
      out += "<code>" + escaped(words) + "</code>";
    } else {
      const std::string_view key(name);
      const bool shell = key == "command" || key == "cmd" || key == "script";
      out += "<pre><code>" + highlighted(shell ? "sh" : "", words) + "</code></pre>";
    }
    out += "</dd>";
  }
  return out.empty() ? out : "<dl>" + out + "</dl>";
}

// The argument that tells most about a call.
std::string gist_of(const json::object& arguments) {
  for (const auto name :
       {"command", "cmd", "path", "file_path", "filePath", "pattern", "query", "url"})
    if (const auto text = json::find_string(arguments, name))
      return escaped_line(text->substr(0, text->find('\n')), kGistCharsMax);
  for (const auto& [name, value] : arguments)
    if (const auto* text = value.if_string()) return escaped_line(*text, kGistCharsMax);
  return {};
}

class Page {
 public:
  Page(Outlet& outlet, const Exported& session)
      : outlet_(outlet), session_(session), marks_(session.transcript.labels()) {}

  Status write() {
    const auto& row = session_.row;
    const auto title = title_of(row);
    REEF_CHECK(outlet_.write(page_head(title, "Search this conversation")));
    REEF_CHECK(outlet_.write(fmt::format("<h1><bdi>{}</bdi></h1>\n", escaped_line(title, 200))));
    REEF_CHECK(outlet_.write(facts_of(row)));
    REEF_CHECK(outlet_.write(attachments()));
    for (const auto& step : outline(session_.transcript)) REEF_CHECK(this->step(step));
    return outlet_.write(page_foot());
  }

 private:
  std::string attachments() const {
    if (session_.files.empty()) return {};
    std::string list;
    for (const auto& file : session_.files)
      list += fmt::format("<li><code>{}</code>, {} bytes</li>", escaped_line(file.path, 200),
                          file.bytes);
    return folded("files", "Files",
                  fmt::format("{} beside this conversation", session_.files.size()), "",
                  "<ul>" + list + "</ul>");
  }

  Status step(const Step& step) {
    switch (step.kind) {
      case Step::Kind::open:
        return outlet_.write(fmt::format(
            "<details class=\"branch\"><summary><b>Another branch</b> from here, {} message{}"
            "</summary>\n",
            step.items, step.items == 1 ? "" : "s"));
      case Step::Kind::close:
        return outlet_.write("</details>\n");
      case Step::Kind::item:
        return outlet_.write(day(step.entry->time) + item(step));
    }
    return Ok{};
  }

  // A line between two days.
  std::string day(TimePoint time) {
    auto name = day_of(time);
    if (name == day_) return {};
    day_ = std::move(name);
    return fmt::format("<h2 class=\"day\">{}</h2>\n", day_);
  }

  std::string item(const Step& step) {
    const auto& entry = *step.entry;
    if (session::is_hidden(entry)) return {};
    if (const auto message = session::message_of(entry)) return said(entry, *message, step.results);
    if (entry.type == "custom_message")
      return article("note", "Note", "", entry, blocks(session::content_from_json(entry.body)));
    const auto summary = json::find_string(entry.body, "summary").value_or("");
    return article(
        "summary",
        entry.type == "compaction" ? "Summary of what came before" : "Summary of another branch",
        "", entry, rich_text(summary, render::Breaks::soft));
  }

  std::string article(std::string_view kind, std::string_view who, std::string_view model,
                      const session::Entry& entry, std::string_view body) {
    ++count_;
    const auto mark = marks_.find(entry.id.text);
    return fmt::format(
        "<article class=\"said {kind}\" id=\"m{n}\"><header><span class=\"who\">{who}</span>"
        "{model}{mark}<a class=\"when\" href=\"#m{n}\"><time datetime=\"{iso}\" "
        "title=\"{iso}\">{clock}"
        "</time></a></header><div class=\"body\" dir=\"auto\">{body}</div></article>\n",
        fmt::arg("kind", kind), fmt::arg("n", count_), fmt::arg("who", who),
        fmt::arg("model", model.empty() ? std::string()
                                        : fmt::format("<span class=\"model\">{}</span>",
                                                      escaped_line(model, 80))),
        fmt::arg("mark", mark == marks_.end() ? std::string()
                                              : fmt::format("<span class=\"mark\">{}</span>",
                                                            escaped_line(mark->second, 80))),
        fmt::arg("iso", format_iso(entry.time)), fmt::arg("clock", clock_of(entry.time)),
        fmt::arg("body", body));
  }

  std::string said(const session::Entry& entry, const session::Message& message,
                   const std::vector<const session::Entry*>& results) {
    return std::visit(
        Overload{
            [&](const session::UserMessage& m) {
              return article("user", "User", "", entry, blocks(m.content, render::Breaks::hard));
            },
            [&](const session::AssistantMessage& m) {
              auto body = blocks(m.content, render::Breaks::soft, results);
              if (m.stop_reason == session::StopReason::error ||
                  m.stop_reason == session::StopReason::aborted)
                body += fmt::format(
                    "<p class=\"failure\">{}{}{}</p>",
                    m.stop_reason == session::StopReason::error ? "Failed" : "Cancelled",
                    m.error_message.empty() ? "" : ": ", escaped_line(m.error_message, 500));
              return article("assistant", "Assistant", m.model, entry, body);
            },
            [&](const session::ToolResultMessage& m) {
              return article(
                  "result", "Tool", m.tool_name, entry,
                  folded("tool", "Result", escaped_line(session::text_of(m.content), kGistCharsMax),
                         m.is_error ? kFailed : "", output(m)));
            },
            [&](const session::BashMessage& m) {
              return article(
                  "note", "Command", "", entry,
                  folded("tool", "Shell", escaped_line(m.command, kGistCharsMax),
                         m.exit_code.value_or(0) != 0 ? kFailed : "",
                         "<pre><code>" + highlighted("sh", m.command) + "</code></pre><pre>" +
                             escaped_output(m.output) + "</pre>"));
            },
            [&](const session::CustomMessage& m) {
              return article("note", "Note", "", entry, blocks(m.content));
            },
            [&](const session::SummaryMessage& m) {
              return article("summary", "Summary", "", entry,
                             rich_text(m.summary, render::Breaks::soft));
            },
            [&](const session::OtherMessage& m) {
              return article("note", escaped_line(m.role, 40), "", entry,
                             blocks(session::content_from_json(m.raw)));
            },
        },
        message);
  }

  std::string blocks(const std::vector<session::Block>& content,
                     render::Breaks breaks = render::Breaks::soft,
                     const std::vector<const session::Entry*>& results = {}) {
    std::string out;
    for (const auto& block : content)
      out += std::visit(Overload{
                            [&](const session::TextBlock& b) { return rich_text(b.text, breaks); },
                            [&](const session::ThinkingBlock& b) {
                              if (b.thinking.empty()) return std::string();
                              return folded("thinking", "Thinking",
                                            escaped_line(b.thinking, kGistCharsMax), "",
                                            rich_text(b.thinking, render::Breaks::soft));
                            },
                            [&](const session::ImageBlock& b) { return picture(b); },
                            [&](const session::ToolCallBlock& b) { return call(b, results); },
                            [&](const session::OtherBlock& b) {
                              return "<pre class=\"plain\"><code>" +
                                     highlighted("json", json::write(b.raw)) + "</code></pre>";
                            },
                        },
                        block);
    return out;
  }

  std::string call(const session::ToolCallBlock& block,
                   const std::vector<const session::Entry*>& results) {
    auto inside = arguments_of(block.arguments);
    std::string_view failed;
    for (const auto* entry : results) {
      const auto message = session::message_of(*entry);
      const auto* result = message ? std::get_if<session::ToolResultMessage>(&*message) : nullptr;
      if (!result || result->tool_call_id != block.id) continue;
      inside += output(*result);
      if (result->is_error) failed = kFailed;
    }
    return folded("tool", escaped_line(block.name, 60), gist_of(block.arguments), failed, inside);
  }

  static std::string output(const session::ToolResultMessage& message) {
    const auto text = session::text_of(message.content);
    auto out = text.empty() ? std::string() : "<pre>" + escaped_output(text) + "</pre>";
    const auto diff = json::find_string(message.details, "diff");
    if (diff) out += drawn_diff(*diff);
    for (const auto& block : message.content)
      if (const auto* image = std::get_if<session::ImageBlock>(&block)) out += picture(*image);
    return out;
  }

  Outlet& outlet_;
  const Exported& session_;
  const std::map<std::string, std::string> marks_;
  std::size_t count_ = 0;
  std::string day_;
};

class HtmlWriter final : public Writer {
 public:
  explicit HtmlWriter(Outlet& outlet) : outlet_(outlet) {}

  Status add(const Exported& session) override {
    const auto& row = session.row;
    const auto words = slug(row.name());
    auto name = row.id.text() + (words.empty() ? "" : "-" + words) + ".html";
    if (name == kIndex) name = "session-index.html";
    REEF_CHECK(outlet_.begin(name));
    REEF_CHECK(Page(outlet_, session).write());
    rows_.push_back(fmt::format(
        "<article class=\"said session\"><a href=\"{}\"><bdi>{}</bdi></a><p>{}, {} messages · "
        "<bdi>{}</bdi></p></article>\n",
        name, escaped_line(title_of(row), 120), day_of(row.updated), row.message_count,
        escaped_line(row.preview, 160)));
    return outlet_.end();
  }

  Status finish() override {
    if (rows_.size() < 2) return Ok{};
    REEF_CHECK(outlet_.begin(std::string(kIndex)));
    REEF_CHECK(outlet_.write(page_head("Conversations", "Search these titles")));
    REEF_CHECK(outlet_.write(fmt::format("<h1>{} conversations</h1>\n", rows_.size())));
    for (const auto& row : rows_) REEF_CHECK(outlet_.write(row));
    REEF_CHECK(outlet_.write(page_foot()));
    return outlet_.end();
  }

 private:
  Outlet& outlet_;
  std::vector<std::string> rows_;
};

}  // namespace

std::unique_ptr<Writer> html_writer(Outlet& outlet) {
  return std::make_unique<HtmlWriter>(outlet);
}

}  // namespace reef::exchange
