#include "session/reader.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "base/text.h"
#include "base/utf8.h"
#include "exchange/foreign_file.h"
#include "exchange/id_table.h"
#include "exchange/pi/pi.h"
#include "exchange/session_files.h"

namespace reef::exchange {
namespace {

constexpr std::string_view kEnding = ".jsonl";
// agent/sessions/--project--/file.jsonl is two folders down; anything much deeper is not pi's.
constexpr int kDepthMax = 4;
// How many objects may stand before the header.
constexpr std::size_t kBeforeHeaderMax = 4;

TimePoint from_ms(std::int64_t ms) {
  return TimePoint(std::chrono::milliseconds(ms));
}

// Sets the text; true when it was so already.
bool set_text(json::object& in, std::string_view name, std::string_view text) {
  if (json::find_string(in, name) == text) return true;
  in[name] = text;
  return false;
}

// Finds files with the format's ending, sorted by name: the oldest first, as pi names them.
Status find_files(Files& files, const std::string& folder, int depth, Intake& intake,
                  std::vector<std::string>& out) {
  const auto names = files.list(folder);
  if (!names) {
    intake.problem(Problem{folder, 0, names.error().what});
    return Ok{};
  }
  for (const auto& name : *names) {
    if (intake.cancelled()) return Error(Errc::cancelled, "cancelled");
    const auto path = folder + "/" + name;
    const auto stat = files.stat_path(path);
    if (!stat) {
      // A dangling link matters only when it is named like a transcript.
      if (name.ends_with(kEnding)) intake.problem(Problem{path, 0, stat.error().what});
    } else if (stat->directory && !name.ends_with(kEnding)) {
      // The files beside a session are never sessions themselves.
      const auto is_its = [&](const std::string& other) {
        return other.ends_with(kEnding) && files_folder_of(other) == name;
      };
      if (depth > 0 && std::none_of(names->begin(), names->end(), is_its))
        REEF_CHECK(find_files(files, path, depth - 1, intake, out));
    } else if (name.ends_with(kEnding)) {
      out.push_back(path);
    }
  }
  return Ok{};
}

// 2026-01-02T03-04-05-678Z_<uuid>.jsonl
std::optional<TimePoint> time_in_name(std::string_view name) {
  constexpr std::string_view kShape = "0000-00-00T00-00-00-000Z_";
  if (name.size() < kShape.size() || name[kShape.size() - 1] != '_') return std::nullopt;
  std::string iso(name.substr(0, kShape.size() - 1));
  iso[13] = iso[16] = ':';
  iso[19] = '.';
  return parse_iso(iso);
}

}  // namespace

std::string pi_id_of(std::string_view path) {
  auto name = base_name(path);
  if (name.ends_with(kEnding)) name.remove_suffix(kEnding.size());
  if (time_in_name(name)) name = name.substr(name.find('_') + 1);
  return utf8::sanitize(name);
}

struct PiEntries::State {
  Intake& intake;
  std::string path;
  int version;
  TimePoint time;                        // of the entry before, for those without one
  std::optional<session::EntryId> last;  // the entry before
  IdTable seen;
  IdTable lines;                                         // hashes of whole lines
  std::unordered_map<std::string, std::string> renamed;  // repeated id -> the later entry's
  std::vector<std::uint64_t> v1_ids;  // by place, as the numbers in stable_id's texts

  void problem(std::uint64_t line, std::string why) {
    intake.problem(Problem{path, line, std::move(why)});
  }
  // `exact`: the text is one line that says exactly what the entry says.
  Status give(session::Entry entry, bool has_parent, std::string_view text, std::uint64_t number,
              bool exact);
  Status object(json::object body, std::string_view text, std::uint64_t number, bool exact);
  // Sets the entry's time; true when the one it states was right.
  bool set_time(session::Entry& entry);
  void name_v1(session::Entry& entry, std::string_view text, std::uint64_t number);
};

PiEntries::PiEntries(Intake& intake, std::string path, int version, TimePoint created)
    : state_(new State{intake, std::move(path), version, created, {}, {}, {}, {}, {}}) {}

PiEntries::~PiEntries() = default;

bool PiEntries::State::set_time(session::Entry& entry) {
  const auto* stated = entry.body.if_contains("timestamp");
  const bool said =
      stated && stated->is_string() && parse_iso(std::string_view(stated->get_string()));
  if (!said) {
    const auto* message = json::find_object(entry.body, "message");
    const auto ms = stated && stated->is_number() ? json::find_int(entry.body, "timestamp")
                    : message                     ? json::find_int(*message, "timestamp")
                                                  : std::nullopt;
    entry.time = ms && *ms > 0 ? from_ms(*ms) : time;
    if (stated && !stated->is_null()) entry.body["sourceTimestamp"] = json::value(*stated);
  }
  time = entry.time;
  return set_text(entry.body, "timestamp", format_iso(entry.time));
}

void PiEntries::State::name_v1(session::Entry& entry, std::string_view text, std::uint64_t number) {
  entry.id = stable_id(fmt::format("{}:{}", number, text));
  entry.parent = last;
  // An index into the file's objects, the header being 0; pi turns it into an id, and so do we.
  const auto kept = json::find_int(entry.body, "firstKeptEntryIndex").value_or(0);
  if (kept > 0 && static_cast<std::size_t>(kept) <= v1_ids.size())
    entry.body["firstKeptEntryId"] =
        fmt::format("{:016x}", v1_ids[static_cast<std::size_t>(kept) - 1]);
  v1_ids.push_back(std::stoull(entry.id.text, nullptr, 16));
}

Status PiEntries::State::give(session::Entry entry, bool has_parent, std::string_view text,
                              std::uint64_t number, bool exact) {
  if (version == 1) {
    exact = false;
    name_v1(entry, text, number);
    has_parent = true;
  } else if (entry.id.text.empty()) {
    problem(number, "an entry without an id; it got one from its place and text");
    entry.id = stable_id(fmt::format("{}:{}", number, text));
  }
  const bool fresh = seen.insert(hash_of(entry.id.text));
  if (!lines.insert(hash_of(text)) && !fresh) {
    problem(number,
            fmt::format("entry {} stands here again; left out", utf8::excerpt(entry.id.text)));
    return Ok{};
  }
  if (entry.parent) {
    if (const auto other = renamed.find(entry.parent->text); other != renamed.end())
      entry.parent->text = other->second;
  }
  if (!fresh) {
    problem(number, fmt::format("id {} stands twice; the later entry got another one",
                                utf8::excerpt(entry.id.text)));
    auto other = stable_id(fmt::format("{}#{}:{}", entry.id.text, number, text));
    renamed[entry.id.text] = other.text;
    entry.id = std::move(other);
    seen.insert(hash_of(entry.id.text));
  }
  const bool dangling = entry.parent && (!seen.contains(hash_of(entry.parent->text)) ||
                                         entry.parent->text == entry.id.text);
  if (dangling)
    problem(number, fmt::format("parent {} of entry {} is not above it; attached to the one before",
                                utf8::excerpt(entry.parent->text), utf8::excerpt(entry.id.text)));
  if (!has_parent && last)
    problem(number, fmt::format("entry {} has no parent; attached to the one before",
                                utf8::excerpt(entry.id.text)));
  if (dangling || !has_parent) entry.parent = last;

  exact = set_text(entry.body, "id", entry.id.text) && exact;
  if (entry.parent) {
    exact = set_text(entry.body, "parentId", entry.parent->text) && exact;
  } else if (auto* parent = entry.body.if_contains("parentId"); !parent || !parent->is_null()) {
    entry.body["parentId"] = nullptr;
    exact = false;
  }
  exact = set_time(entry) && exact;
  if (version < 3) {
    auto* body = entry.body.if_contains("message");
    auto* message = body ? body->if_object() : nullptr;
    if (message && json::find_string(*message, "role") == "hookMessage")
      (*message)["role"] = "custom";
    exact = false;
  }
  last = entry.id;
  return intake.entry(std::move(entry), exact ? text : std::string_view());
}

Status PiEntries::object(json::object body, std::string_view text, std::uint64_t number) {
  return state_->object(std::move(body), text, number, false);
}

Status PiEntries::State::object(json::object body, std::string_view text, std::uint64_t number,
                                bool exact) {
  if (json::find_string(body, "type") == "session") {
    problem(number, "a second session header");
    return Ok{};
  }
  const bool has_parent = body.contains("parentId");
  auto entry = session::entry_from(std::move(body));
  if (!entry) {
    problem(number, fmt::format("not an entry: {}", utf8::excerpt(text)));
    return Ok{};
  }
  return give(std::move(*entry), has_parent, text, number, exact);
}

Status PiEntries::line(std::string_view text, std::uint64_t number, bool ended) {
  text = trim(text, kBlanks);
  if (text.empty()) return Ok{};
  auto parsed = json::parse(text);
  const bool exact = parsed.ok();
  if (!exact) parsed = json::parse_lenient(text);
  if (parsed && parsed->is_object())
    return state_->object(std::move(parsed->get_object()), text, number, exact);
  // The line follows a torn one, or is torn itself; whole entries in it are saved.
  auto reading = session::read_transcript(text);
  const bool torn = !ended && reading.entries.empty();
  state_->problem(number, torn ? fmt::format("torn last line of {} bytes", text.size())
                          : reading.entries.empty()
                              ? fmt::format("not an entry: {}", utf8::excerpt(text))
                              : "entries follow a fragment on the same line; they were read");
  for (auto& saved : reading.entries) {
    // This is the entry's own text, before the reader gives it a place.
    const auto own = json::write(saved.body);
    REEF_CHECK(object(std::move(saved.body), own, number));
  }
  return Ok{};
}

namespace {

struct Opening {
  std::optional<session::Header> header;
  struct Held {
    json::object body;
    std::string text;
    std::uint64_t number;
  };
  std::vector<Held> before;  // objects that stand before the header, or instead of it
};

// Reads up to the header.
Result<Opening> read_opening(LineReader& lines, const std::string& file, Intake& intake) {
  Opening out;
  while (!out.header && out.before.size() < kBeforeHeaderMax) {
    REEF_TRY(const auto line, lines.next());
    if (!line) break;
    const auto text = trim(line->text, kBlanks);
    auto parsed = json::parse_lenient(text);
    if (!parsed || !parsed->is_object()) {
      intake.problem(Problem{file, line->number,
                             line->too_long
                                 ? "the line is too long"
                                 : fmt::format("not an entry: {}", utf8::excerpt(text))});
      continue;
    }
    out.header = session::header_from(parsed->get_object());
    if (!out.header)
      out.before.push_back({std::move(parsed->get_object()), std::string(text), line->number});
  }
  return out;
}

// Whether the objects in place of a header can be the entries of a session.
bool has_entries(const Opening& opening) {
  return std::any_of(opening.before.begin(), opening.before.end(), [](const auto& held) {
    return json::find_string(held.body, "type") && json::find_string(held.body, "id");
  });
}

void complete(Head& head, const session::Header& header, const std::string& file,
              const Files::Stat& stat) {
  if (head.id.empty()) head.id = header.id.empty() ? pi_id_of(file) : header.id;
  if (head.origin.empty()) head.origin = "pi:" + head.id;
  head.path = file;
  if (head.mark.empty()) head.mark = source_mark(stat);
  if (head.created == TimePoint()) head.created = header.time;
  if (head.created == TimePoint())
    head.created = time_in_name(base_name(file)).value_or(from_ms(stat.modified_ns / 1'000'000));
  if (head.cwd.empty()) head.cwd = header.cwd;
  auto parent = header.parent_session;
  if (parent.empty()) parent = json::find_string(header.body, "branchedFrom").value_or("");
  if (head.parent.empty() && !parent.empty())
    head.parent = head.origin.substr(0, head.origin.size() - head.id.size()) + pi_id_of(parent);
}

// Takes in the folder beside the transcript. A link in its place is not followed.
Status bring_what_is_beside(Files& files, const std::string& file, Intake& intake) {
  const auto folder = files_folder_of(file);
  const auto fd = files.open(folder, Files::Open::plain);
  const auto stat = fd ? files.stat(fd->get()) : Result<Files::Stat>(fd.error());
  if (!stat || !stat->directory) return Ok{};
  REEF_TRY(const auto moved, bring_files(files, folder, intake));
  static_cast<void>(moved);
  return Ok{};
}

}  // namespace

Status read_pi_file(Files& files, const std::string& file, Head head, Intake& intake) {
  auto opened = LineReader::open(files, file);
  if (!opened) {
    intake.problem(Problem{file, 0, opened.error().what});
    return Ok{};
  }
  auto& lines = *opened;
  auto opening = read_opening(lines, file, intake);
  if (!opening) {
    intake.problem(Problem{file, 0, opening.error().what});
    return Ok{};
  }
  if (!opening->header && !has_entries(*opening)) {
    intake.problem(
        Problem{file, 0, lines.stat().size == 0 ? "the file is empty" : "not a session"});
    return Ok{};
  }
  const auto header = opening->header.value_or(session::Header{});
  complete(head, header, file, lines.stat());
  const auto created = head.created;
  REEF_TRY(const bool wanted, intake.begin(std::move(head)));
  if (!wanted) {
    intake.consumed(lines.stat().size);
    return Ok{};
  }
  intake.consumed(lines.consumed());
  if (!opening->header)
    intake.problem(Problem{file, 1, "no session header; what follows was read"});
  REEF_CHECK(bring_what_is_beside(files, file, intake));
  const int version = opening->header ? header.version : session::Header::kVersion;
  PiEntries entries(intake, file, version, created);
  for (auto& [body, text, number] : opening->before) {
    // Some programs write a title before the header; without an id it is not an entry of the
    // session.
    if (opening->header && !body.contains("id")) continue;
    REEF_CHECK(entries.object(std::move(body), text, number));
  }
  opening->before.clear();
  for (;;) {
    if (intake.cancelled()) return Error(Errc::cancelled, "cancelled");
    auto line = lines.next();
    if (!line) {
      // The entries read so far stay, and the next import reads the file again.
      intake.problem(Problem{file, 0, line.error().what});
      intake.learn(json::object{{"originMark", nullptr}});
      break;
    }
    if (!*line) break;
    const auto& [text, number, ended, too_long] = **line;
    if (too_long) {
      intake.problem(Problem{
          file, number, fmt::format("the line is longer than {} bytes; left out", kLineBytesMax)});
    } else {
      const LineInHand in_hand(text.size());
      REEF_CHECK(entries.line(text, number, ended));
    }
    intake.consumed(lines.consumed());
  }
  return intake.end();
}

Status read_pi(Files& files, const std::string& path, Intake& intake) {
  const auto stat = files.stat_path(path);
  if (!stat) return stat.error();
  if (!stat->directory) return read_pi_file(files, path, Head{}, intake);
  std::vector<std::string> found;
  REEF_CHECK(find_files(files, path, kDepthMax, intake, found));
  for (const auto& file : found) {
    if (intake.cancelled()) return Error(Errc::cancelled, "cancelled");
    REEF_CHECK(read_pi_file(files, file, Head{}, intake));
  }
  return Ok{};
}

bool is_pi(Files& files, const std::string& path) {
  const auto is_transcript = [&](const std::string& file) {
    const auto first = file.ends_with(kEnding) ? first_object(files, file) : std::nullopt;
    return first && session::header_from(*first);
  };
  if (!is_directory(files, path)) return is_transcript(path);
  for (const auto& folder : {path, path + "/sessions"}) {
    const auto names = files.list(folder);
    if (!names) continue;
    // Projects are folders like --srv-app--.
    const auto sign = std::find_if(names->begin(), names->end(), [](const std::string& name) {
      return name.ends_with(kEnding) || (name.starts_with("--") && name.ends_with("--"));
    });
    if (sign == names->end()) continue;
    const auto found = folder + "/" + *sign;
    if (sign->ends_with(kEnding) ? is_transcript(found) : is_directory(files, found)) return true;
  }
  return false;
}

}  // namespace reef::exchange
