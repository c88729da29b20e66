#include "exchange/craft/bundle.h"

#include <algorithm>
#include <cerrno>
#include <vector>

#include <fmt/format.h>

#include "base/base64.h"
#include "base/utf8.h"
#include "exchange/craft/lines.h"
#include "exchange/foreign_file.h"

namespace reef::exchange {
namespace {

constexpr std::size_t kBlockBytes = 1 << 18;

// Finds where values begin and end, and nothing more; whoever takes a part parses it.
class Scanner {
 public:
  using Take = std::function<Status(BundlePart, std::string_view)>;
  explicit Scanner(const Take& take) : take_(take) {}

  Status feed(std::string_view bytes);
  bool done() const { return started_ && stack_.empty() && !capturing_; }

 private:
  struct Level {
    char kind;           // { or [
    std::string key;     // of the member under way
    bool in_key = true;  // of an object: a name is expected
  };

  Status open(char c);
  Status close(char c);
  // Says which part the value that begins now is, if it is one.
  std::optional<BundlePart> part_here() const;
  void begin_value();
  Status end_value();
  bool is_member(std::size_t level, std::string_view key) const {
    return level < stack_.size() && stack_[level].kind == '{' && stack_[level].key == key;
  }

  const Take& take_;
  std::vector<Level> stack_;  // what encloses a part; inside a part only the depth counts
  std::optional<BundlePart> capturing_;
  std::string captured_;
  std::size_t depth_ = 0;  // inside a value that is captured or passed over
  bool passing_ = false;   // a value nobody wants
  bool scalar_ = false;    // the value under way is neither object nor array
  bool in_string_ = false;
  bool escaped_ = false;
  bool started_ = false;
  bool too_long_ = false;
};

std::optional<BundlePart> Scanner::part_here() const {
  const auto size = stack_.size();
  if (size == 1 && is_member(0, "version")) return BundlePart::version;
  if (size == 2 && is_member(0, "session") && is_member(1, "header")) return BundlePart::header;
  if (size == 3 && is_member(0, "session") && is_member(1, "messages") && stack_[2].kind == '[')
    return BundlePart::message;
  if (size == 2 && is_member(0, "files") && stack_[1].kind == '[') return BundlePart::file;
  return std::nullopt;
}

void Scanner::begin_value() {
  capturing_ = part_here();
  passing_ = !capturing_;
  captured_.clear();
  too_long_ = false;
}

Status Scanner::end_value() {
  const auto part = std::exchange(capturing_, std::nullopt);
  passing_ = false;
  scalar_ = false;
  if (!part) return Ok{};
  if (too_long_) return Error(Errc::too_large, "a part of the bundle is too large");
  return take_(*part, captured_);
}

// Takes the bracket that begins an object or array. Levels that only enclose parts are entered;
// anything else is a value.
Status Scanner::open(char c) {
  const auto size = stack_.size();
  const bool session = size == 1 && c == '{' && is_member(0, "session");
  const bool messages =
      size == 2 && c == '[' && is_member(0, "session") && is_member(1, "messages");
  const bool files = size == 1 && c == '[' && is_member(0, "files");
  if (size == 0 || session || messages || files) {
    stack_.push_back(Level{c, "", true});
    if (messages) return take_(BundlePart::messages, "");
    if (files) return take_(BundlePart::files, "");
    return Ok{};
  }
  begin_value();
  depth_ = 1;
  if (capturing_) captured_.push_back(c);
  return Ok{};
}

Status Scanner::close(char c) {
  if (stack_.empty() || (c == '}') != (stack_.back().kind == '{'))
    return Error(Errc::corrupt, "brackets that do not match");
  stack_.pop_back();
  return Ok{};
}

Status Scanner::feed(std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const char c = bytes[i];
    if (in_string_) {
      // Takes everything up to what may end the string in one piece.
      auto stop = i;
      if (!escaped_)
        while (stop < bytes.size() && bytes[stop] != '"' && bytes[stop] != '\\') ++stop;
      const auto piece = bytes.substr(i, stop - i + (stop < bytes.size() ? 1 : 0));
      const char last = stop < bytes.size() ? bytes[stop] : '\0';
      if (capturing_) {
        captured_ += piece;
      } else if (!passing_) {
        stack_.back().key += piece;
      }
      const bool was_escaped = std::exchange(escaped_, !escaped_ && last == '\\');
      i += piece.size() - 1;
      if (captured_.size() > kLineBytesMax) {
        too_long_ = true;
        captured_.clear();
      }
      if (was_escaped || last != '"') continue;
      in_string_ = false;
      if (!capturing_ && !passing_) {
        stack_.back().key.pop_back();  // the quote
      } else if (depth_ == 0 && !scalar_) {
        REEF_CHECK(end_value());
      }
      continue;
    }
    if (depth_ > 0) {
      if (capturing_) captured_.push_back(c);
      if (c == '"') in_string_ = true;
      if (c == '{' || c == '[') ++depth_;
      if (c == '}' || c == ']')
        if (--depth_ == 0) REEF_CHECK(end_value());
      continue;
    }
    if (scalar_) {
      const bool ends =
          c == ',' || c == '}' || c == ']' || c == ' ' || c == '\n' || c == '\r' || c == '\t';
      if (!ends) {
        if (capturing_) captured_.push_back(c);
        continue;
      }
      REEF_CHECK(end_value());
    }
    if (c == ' ' || c == '\n' || c == '\r' || c == '\t') continue;
    if (stack_.empty()) {
      if (started_) return Error(Errc::corrupt, "text after the bundle");
      if (c != '{') return Error(Errc::corrupt, "not a JSON object");
      started_ = true;
      REEF_CHECK(open(c));
      continue;
    }
    auto& level = stack_.back();
    if (c == '}' || c == ']') {
      REEF_CHECK(close(c));
    } else if (c == ',') {
      level.in_key = true;
    } else if (c == ':') {
      level.in_key = false;
    } else if (level.kind == '{' && level.in_key) {
      if (c != '"') return Error(Errc::corrupt, "a member without a name");
      level.key.clear();
      in_string_ = true;
    } else if (c == '{' || c == '[') {
      REEF_CHECK(open(c));
    } else {
      begin_value();
      if (capturing_) captured_.push_back(c);
      if (c == '"') {
        in_string_ = true;
      } else {
        scalar_ = true;
      }
    }
  }
  return Ok{};
}

// The result of the first pass over a bundle: whether it is one, and of which session.
struct Outline {
  std::optional<json::value> version;
  json::object header;
  bool messages = false;
  bool files = false;
};

Status check(const Outline& outline) {
  const auto invalid = [](std::string_view why) { return Error(Errc::invalid, std::string(why)); };
  const auto* version = outline.version ? &*outline.version : nullptr;
  if (!version || !version->is_number() || version->to_number<double>() != 1)
    return invalid("not a bundle of version 1");
  if (!json::find_string(outline.header, "id")) return invalid("its header has no id");
  if (!json::find_number(outline.header, "createdAt"))
    return invalid("its header does not say when it was created");
  if (!outline.messages) return invalid("it has no list of messages");
  if (!outline.files) return invalid("it has no list of files");
  return Ok{};
}

// Returns what is wrong with the file, or nothing.
Result<std::string> take_file(std::string_view text, Intake& intake, Moved& moved) {
  auto value = json::parse_lenient(text);
  if (!value) return std::move(value).error().what;
  const auto* file = value->if_object();
  if (!file) return std::string("not an object");
  const std::string path(json::find_string(*file, "relativePath").value_or(""));
  const auto wrong = [&](std::string_view why) {
    return fmt::format("file '{}' {}", utf8::excerpt(path), why);
  };
  if (const auto fits = check_bundle_path(path); !fits) return fits.error().what;
  const auto place = place_in_session(path);
  if (!place) return std::string();
  const auto content = json::find_string(*file, "contentBase64");
  if (!content) return wrong("has no content");
  const auto bytes = from_base64(*content);
  if (!bytes) return wrong("is not base64");
  if (json::find_int(*file, "size") != static_cast<std::int64_t>(bytes->size()))
    return wrong("is not as long as it says");
  REEF_TRY(auto now, intake.put(place->folder, place->name, *bytes));
  moved[path] = std::move(now);
  return std::string();
}

}  // namespace

Status scan_bundle(Files& files, const std::string& path,
                   const std::function<Status(BundlePart, std::string_view)>& take) {
  REEF_TRY(const Fd fd, open_source(files, path));
  Scanner scanner(take);
  std::string block(kBlockBytes, '\0');
  for (std::uint64_t offset = 0;;) {
    const auto got = files.read(fd.get(), offset, block.data(), block.size());
    if (!got) {
      if (got.error().sys == EINTR) continue;
      return got.error();
    }
    if (*got == 0) break;
    std::string_view bytes(block.data(), *got);
    if (offset == 0 && bytes.starts_with("\xEF\xBB\xBF")) bytes.remove_prefix(3);
    offset += *got;
    REEF_CHECK(scanner.feed(bytes));
  }
  if (!scanner.done()) return Error(Errc::corrupt, "the file ends before the bundle does");
  return Ok{};
}

bool is_craft_bundle(Files& files, const std::string& path) {
  if (!path.ends_with(".json")) return false;
  bool session = false;
  // Any JSON may have a version; the first part behind it decides.
  static_cast<void>(scan_bundle(files, path, [&](BundlePart part, std::string_view) -> Status {
    if (part == BundlePart::version) return Ok{};
    session = part == BundlePart::header || part == BundlePart::messages;
    return Error(Errc::cancelled, "seen enough");
  }));
  return session;
}

Status check_bundle_path(std::string_view path) {
  const auto bad = [&](std::string_view why) {
    return Error(Errc::invalid, fmt::format("file '{}' {}", utf8::excerpt(path), why));
  };
  if (path.empty()) return Error(Errc::invalid, "a file without a name");
  if (path.starts_with('/') || path.find("..") != std::string_view::npos)
    return bad("leads out of the bundle");
  if (path.find('\\') != std::string_view::npos || path.find("//") != std::string_view::npos ||
      path.find('\0') != std::string_view::npos)
    return bad("has a name no bundle may have");
  return Ok{};
}

Status read_craft_bundle(Files& files, const std::string& path, Intake& intake) {
  Report report(intake, path);
  Outline outline;
  const auto scanned =
      scan_bundle(files, path, [&](BundlePart part, std::string_view text) -> Status {
        if (part == BundlePart::messages) outline.messages = true;
        if (part == BundlePart::files) outline.files = true;
        if (part != BundlePart::version && part != BundlePart::header) return Ok{};
        REEF_TRY(auto value, json::parse_lenient(text));
        if (part == BundlePart::version)
          outline.version = std::move(value);
        else if (value.is_object())
          outline.header = std::move(value.get_object());
        return Ok{};
      });
  // A bundle that is cut short may still have most of its parts.
  if (!scanned) report(0, scanned.error().what);
  if (const auto valid = check(outline); !valid) {
    report(0, valid.error().what);
    return Ok{};
  }

  REEF_TRY(const auto stat, files.stat_path(path));
  CraftSession::Place place;
  place.path = path;
  place.id = json::find_string(outline.header, "id").value_or("");
  place.mark = source_mark(stat);
  place.modified = modified_time(stat);

  // Errors of the intake end the scan; all other errors are in the report already.
  Status given = Ok{};
  const auto scan = [&](BundlePart wanted, const auto& take) {
    static_cast<void>(
        scan_bundle(files, path, [&](BundlePart part, std::string_view text) -> Status {
          if (part != wanted) return Ok{};
          if (intake.cancelled()) given = Error(Errc::cancelled, "the import was given up");
          if (given) given = take(text);
          return given;
        }).ok());
    return given;
  };

  const auto bring = [&]() -> Result<Moved> {
    Moved moved;
    REEF_CHECK(scan(BundlePart::file, [&](std::string_view text) -> Status {
      REEF_TRY(const auto wrong, take_file(text, intake, moved));
      if (!wrong.empty()) report(0, wrong);
      return Ok{};
    }));
    return moved;
  };
  CraftSession session(intake, std::move(place), bring);
  session.header(std::move(outline.header));
  std::uint64_t number = 0;
  REEF_CHECK(scan(BundlePart::message, [&](std::string_view text) -> Status {
    ++number;
    if (session.unwanted()) return Ok{};
    auto value = json::parse_lenient(text);
    if (!value || !value->is_object()) {
      report(0, fmt::format("message {}: {}", number,
                            value ? "not an object" : std::move(value).error().what));
      return Ok{};
    }
    const auto seed = fmt::format("{}\n{}", number, stable_id(text).text);
    REEF_TRY(const auto wrong, session.line(std::move(value->get_object()), seed));
    if (!wrong.empty()) report(0, fmt::format("message {}: {}", number, wrong));
    return Ok{};
  }));
  intake.consumed(stat.size);
  return session.finish();
}

}  // namespace reef::exchange
