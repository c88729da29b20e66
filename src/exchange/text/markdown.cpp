// Markdown for people: the current branch as text; thinking, tools and other branches folded.

#include <fmt/format.h>

#include "base/overload.h"
#include "base/utf8.h"
#include "exchange/html/escape.h"
#include "exchange/outline.h"
#include "exchange/text/text.h"

namespace reef::exchange {
namespace {

// A fence no line of the text can close.
std::string fenced(std::string_view language, std::string_view text) {
  std::size_t longest = 2, run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  return fmt::format("{}{}\n{}{}{}\n", fence, language, text, text.ends_with('\n') ? "" : "\n",
                     fence);
}

// Escapes tags: nothing that was said may open or close an element around it.
void add_escaped(std::string& out, std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char next = i + 1 < text.size() ? text[i + 1] : ' ';
    const bool letter = (next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z');
    const bool tag = text[i] == '<' && (letter || next == '/' || next == '!' || next == '?');
    // <https://...> is a link, and stays one.
    const auto rest = text.substr(i + 1);
    if (tag && !rest.starts_with("http://") && !rest.starts_with("https://")) {
      out += "&lt;";
    } else {
      out.push_back(text[i]);
    }
  }
}

// One line outside of fences: code between backticks stays as it is.
void add_line(std::string& out, std::string_view line) {
  while (!line.empty()) {
    const auto tick = line.find('`');
    add_escaped(out, line.substr(0, tick));
    if (tick == std::string_view::npos) return;
    line.remove_prefix(tick);
    const auto ticks = std::min(line.find_first_not_of('`'), line.size());
    const auto mark = line.substr(0, ticks);
    std::size_t end = ticks;
    for (;;) {
      end = line.find(mark, end);
      if (end == std::string_view::npos) break;
      const auto run = std::min(line.find_first_not_of('`', end), line.size()) - end;
      if (run == ticks) break;
      end += run;
    }
    const auto code = end == std::string_view::npos ? ticks : end + ticks;
    out += line.substr(0, code);
    line.remove_prefix(code);
  }
}

// People write Markdown already. Only what would break out of the message is mended: tags, and a
// fence that is never closed.
std::string mended(std::string_view text) {
  std::string out, fence;
  while (!text.empty()) {
    const auto newline = text.find('\n');
    auto line = text.substr(0, newline);
    text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const auto indent = std::min(line.find_first_not_of(' '), line.size());
    const auto body = line.substr(indent);
    const char mark = body.empty() ? ' ' : body.front();
    const auto run = std::min(body.find_first_not_of(mark), body.size());
    const bool fences = indent < 4 && (mark == '`' || mark == '~') && run >= 3;
    if (!fence.empty()) {
      const bool closes = fences && mark == fence.front() && run >= fence.size() &&
                          body.find_first_not_of(" \t", run) == std::string_view::npos;
      if (closes) fence.clear();
      out += line;
    } else if (fences && (mark == '~' || body.find('`', run) == std::string_view::npos)) {
      fence.assign(run, mark);
      out += line;
    } else {
      add_line(out, line);
    }
    out.push_back('\n');
  }
  if (!fence.empty()) out += fence + "\n";
  return out;
}

// One line of plain text, with Markdown's marks escaped.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : utf8::single_line(utf8::printable(text))) {
    if (std::string_view("\\`*_[]<>#|&~").find(c) != std::string_view::npos) out.push_back('\\');
    out.push_back(c);
  }
  return out;
}

std::string folded(std::string_view summary, std::string_view body) {
  return fmt::format("<details><summary>{}</summary>\n\n{}\n</details>\n\n", summary, body);
}

// A summary holds nothing but text.
std::string html_text(std::string_view text) {
  return html::escaped(utf8::single_line(utf8::printable(text)));
}

bool is_base64(std::string_view data) {
  return data.find_first_not_of(
             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=") ==
         std::string_view::npos;
}

class Page {
 public:
  explicit Page(Outlet& outlet) : outlet_(outlet) {}

  Status head(const session::Row& row) {
    const auto title = row.name().empty() ? std::string_view(row.preview) : row.name();
    auto text = fmt::format("# {}\n\n", title.empty() ? row.id.text() : plain(title));
    const auto fact = [&](std::string_view name, std::string_view value) {
      if (!value.empty()) text += fmt::format("- {}: {}\n", name, plain(value));
    };
    fact("Session", row.id.text());
    fact("Conversation", row.key());
    fact("Agent", row.agent());
    fact("Started", format_iso(row.created));
    fact("Last message", format_iso(row.updated));
    fact("Status", row.text("sessionStatus"));
    std::string labels;
    if (const auto* list = json::find_array(row.meta, "labels"))
      for (const auto& label : *list)
        if (const auto* name = label.if_string())
          labels += fmt::format("{}{}", labels.empty() ? "" : ", ", std::string_view(*name));
    fact("Labels", labels);
    return outlet_.write(text + "\n");
  }

  Status step(const Step& step) {
    switch (step.kind) {
      case Step::Kind::open:
        return outlet_.write(
            fmt::format("<details><summary>Another branch from here, {} message{}</summary>\n\n",
                        step.items, step.items == 1 ? "" : "s"));
      case Step::Kind::close:
        return outlet_.write("</details>\n\n");
      case Step::Kind::item:
        return outlet_.write(item(step));
    }
    return Ok{};
  }

  // Pictures go to the end, where they are in nobody's way.
  Status foot() {
    for (std::size_t i = 0; i < images_.size(); ++i)
      REEF_CHECK(outlet_.write(fmt::format("[image-{}]: {}\n", i + 1, images_[i])));
    return Ok{};
  }

 private:
  static std::string heading(std::string_view who, TimePoint time, std::string_view note = "") {
    return fmt::format("## {}\n\n*{}{}{}*\n\n", who, format_iso(time), note.empty() ? "" : ", ",
                       plain(note));
  }

  std::string item(const Step& step) {
    const auto& entry = *step.entry;
    if (session::is_hidden(entry)) return {};
    if (const auto message = session::message_of(entry)) return said(entry, *message, step.results);
    if (entry.type == "custom_message")
      return heading("Note", entry.time) + blocks(session::content_from_json(entry.body), {});
    const auto summary = json::find_string(entry.body, "summary").value_or("");
    return heading(entry.type == "compaction" ? "Summary of what came before"
                                              : "Summary of another branch",
                   entry.time) +
           mended(summary) + "\n";
  }

  std::string said(const session::Entry& entry, const session::Message& message,
                   const std::vector<const session::Entry*>& results) {
    return std::visit(
        Overload{
            [&](const session::UserMessage& m) {
              return heading("User", entry.time) + blocks(m.content, {});
            },
            [&](const session::AssistantMessage& m) {
              auto text = heading("Assistant", entry.time, m.model) + blocks(m.content, results);
              if (!m.error_message.empty())
                text += fmt::format("**{}**: {}\n\n", session::name_of(m.stop_reason),
                                    plain(m.error_message));
              return text;
            },
            [&](const session::ToolResultMessage& m) { return result(m); },
            [&](const session::BashMessage& m) {
              return folded(fmt::format("Command <code>{}</code>",
                                        html_text(utf8::prefix_chars(m.command, 80))),
                            fenced("sh", m.command) + "\n" + fenced("", m.output));
            },
            [&](const session::CustomMessage& m) {
              return heading("Note", entry.time) + blocks(m.content, {});
            },
            [&](const session::SummaryMessage& m) { return mended(m.summary) + "\n"; },
            [&](const session::OtherMessage& m) {
              return heading(plain(m.role), entry.time) +
                     blocks(session::content_from_json(m.raw), {});
            },
        },
        message);
  }

  std::string blocks(const std::vector<session::Block>& content,
                     const std::vector<const session::Entry*>& results) {
    std::string out;
    for (const auto& block : content)
      out += std::visit(Overload{
                            [&](const session::TextBlock& b) { return mended(b.text) + "\n"; },
                            [&](const session::ThinkingBlock& b) {
                              return b.thinking.empty() ? std::string()
                                                        : folded("Thinking", mended(b.thinking));
                            },
                            [&](const session::ImageBlock& b) { return image(b); },
                            [&](const session::ToolCallBlock& b) { return call(b, results); },
                            [&](const session::OtherBlock& b) {
                              return fenced("json", json::write(b.raw)) + "\n";
                            },
                        },
                        block);
    return out;
  }

  std::string call(const session::ToolCallBlock& block,
                   const std::vector<const session::Entry*>& results) {
    auto body = fenced("json", json::write(block.arguments)) + "\n";
    std::string_view failed;
    for (const auto* entry : results) {
      const auto message = session::message_of(*entry);
      const auto* found = message ? std::get_if<session::ToolResultMessage>(&*message) : nullptr;
      if (!found || found->tool_call_id != block.id) continue;
      body += output(*found);
      if (found->is_error) failed = " (failed)";
    }
    return folded(fmt::format("Tool <code>{}</code>{}", html_text(block.name), failed), body);
  }

  std::string result(const session::ToolResultMessage& message) {
    return folded(fmt::format("Result of <code>{}</code>{}", html_text(message.tool_name),
                              message.is_error ? " (failed)" : ""),
                  output(message));
  }

  std::string output(const session::ToolResultMessage& message) {
    const auto text = session::text_of(message.content);
    std::string out = text.empty() ? std::string() : fenced("", text) + "\n";
    for (const auto& block : message.content)
      if (const auto* picture = std::get_if<session::ImageBlock>(&block)) out += image(*picture);
    return out;
  }

  std::string image(const session::ImageBlock& block) {
    const auto type = block.mime_type.starts_with("image/") ? block.mime_type : "image/png";
    if (!is_base64(block.data) || type.find_first_of(" ()<>\"\\\n") != std::string::npos)
      return "*an image that cannot be shown*\n\n";
    images_.push_back(fmt::format("data:{};base64,{}", type, block.data));
    return fmt::format("![image {0}][image-{0}]\n\n", images_.size());
  }

  Outlet& outlet_;
  std::vector<std::string> images_;
};

class MarkdownWriter final : public Writer {
 public:
  explicit MarkdownWriter(Outlet& outlet) : outlet_(outlet) {}

  Status add(const Exported& session) override {
    const auto& row = session.row;
    const auto words = slug(row.name());
    REEF_CHECK(outlet_.begin(row.id.text() + (words.empty() ? "" : "-" + words) + ".md"));
    Page page(outlet_);
    REEF_CHECK(page.head(row));
    for (const auto& step : outline(session.transcript)) REEF_CHECK(page.step(step));
    REEF_CHECK(page.foot());
    return outlet_.end();
  }
  Status finish() override { return Ok{}; }

 private:
  Outlet& outlet_;
};

}  // namespace

std::unique_ptr<Writer> markdown_writer(Outlet& outlet) {
  return std::make_unique<MarkdownWriter>(outlet);
}

}  // namespace reef::exchange
