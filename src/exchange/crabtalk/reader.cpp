#include <algorithm>
#include <charconv>
#include <map>

#include <fmt/format.h>

#include "base/utf8.h"
#include "exchange/crabtalk/conversation.h"
#include "exchange/crabtalk/crabtalk.h"
#include "exchange/crabtalk/setup.h"
#include "exchange/crabtalk/store.h"
#include "exchange/feed.h"
#include "exchange/foreign_file.h"

namespace reef::exchange {
namespace {

// The parts of a name like crab_alice_3, or of a file's name like crab_alice_3_a-title.
struct Slug {
  std::string pair;  // crab_alice
  std::uint64_t number = 0;
  std::string agent, sender;
};

std::optional<Slug> slug_from(std::string_view name) {
  const auto first = name.find('_');
  const auto second = first == std::string_view::npos ? first : name.find('_', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  Slug out{std::string(name.substr(0, second)), 0, std::string(name.substr(0, first)),
           std::string(name.substr(first + 1, second - first - 1))};
  const auto* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + second + 1, end, out.number);
  if (error != std::errc() || (stop != end && *stop != '_')) return std::nullopt;
  return out;
}

struct Kept {
  std::string path;
  std::string name;
  bool folder = false;
  bool newest = true;    // the newest of its pair, which gets the pair's key
  bool of_store = true;  // the person named the folder of all sessions
};

bool is_meta_line(const json::object& line) {
  if (line.contains("message") || line.contains("role") || line.contains("event")) return false;
  return line.contains("created_at") || line.contains("created_by") || line.contains("agent");
}

class Reader {
 public:
  Reader(Files& files, Intake& intake, const std::string& root)
      : files_(files), intake_(intake), archives_(read_crabtalk_archives(files, root, intake)) {}

  Status read(const Kept& kept) { return kept.folder ? read_folder(kept) : read_file(kept); }

 private:
  Head head_of(const Kept& kept, json::object& meta, TimePoint modified);
  Status read_file(const Kept& kept);
  Status read_folder(const Kept& kept);
  std::optional<TimePoint> updated(const json::object& meta, TimePoint created) const;

  Files& files_;
  Intake& intake_;
  Archives archives_;
};

// Moves the fields it understands out of `meta`.
Head Reader::head_of(const Kept& kept, json::object& meta, TimePoint modified) {
  Extra extra(meta);
  const auto slug = slug_from(kept.name);
  Head head;
  head.path = kept.path;
  const auto created = time_from(meta.if_contains("created_at"));
  head.created = created.value_or(modified);
  // Two homes may both have a crab_alice_1; the time it began tells them apart.
  auto name = slug && !kept.folder ? fmt::format("{}_{}", slug->pair, slug->number) : kept.name;
  // A file name may hold any bytes; made readable, two names must still differ.
  if (!utf8::valid(name)) name = utf8::sanitize(name) + "-" + stable_id(name).text;
  head.origin = fmt::format("crabtalk:{}{}{}", name, kept.folder ? "" : ".jsonl",
                            created ? "@" + format_iso(*created) : "");
  head.id = extra.id.empty() ? name : extra.id;
  if (const auto* more = json::find_object(extra.more, "meta")) {
    head.meta = believable_meta(*more);
    head.cwd = json::find_string(extra.more, "cwd").value_or("");
    meta.erase("summary");  // the conversation holds it, too
  } else {
    std::string agent(json::find_string(meta, "agent").value_or(slug ? slug->agent : ""));
    std::string sender(json::find_string(meta, "created_by").value_or(slug ? slug->sender : ""));
    if (session::check_agent_name(agent)) head.meta["agent"] = agent;
    if (session::check_sender(sender)) head.meta["sender"] = sender;
    if (const auto uptime = json::find_int(meta, "uptime_secs").value_or(0); uptime > 0)
      head.meta["uptimeSecs"] = uptime;
    head.of_store = kept.of_store;
    if (kept.newest)
      if (const auto key = session::Key::of_pair(agent, sender)) head.meta["key"] = key->text();
  }
  if (const auto title = json::find_string(meta, "title"); title && !title->empty())
    set_meta(head.meta, "name", json::value(*title));
  return head;
}

// Drops the fields the head already holds.
void forget_known(json::object& meta) {
  for (const auto* known :
       {"agent", "created_by", "created_at", "title", "updated_at", "message_count", "uptime_secs"})
    meta.erase(known);
}

std::optional<TimePoint> Reader::updated(const json::object& meta, TimePoint created) const {
  if (const auto time = time_from(meta.if_contains("updated_at"))) return time;
  const auto uptime = json::find_int(meta, "uptime_secs").value_or(0);
  if (uptime <= 0 || uptime > 100LL * 366 * 86'400) return std::nullopt;
  return created + std::chrono::seconds(uptime);
}

Status Reader::read_file(const Kept& kept) {
  Report report(intake_, kept.path);
  auto opened = LineReader::open(files_, kept.path);
  if (!opened) {
    report(0, std::move(opened).error().what);
    return Ok{};
  }
  auto& lines = *opened;

  std::optional<CrabTalkConversation> conversation;
  json::object meta;
  const auto begin = [&]() -> Result<bool> {
    auto head = head_of(kept, meta, modified_time(lines.stat()));
    head.mark = source_mark(lines.stat());
    const auto created = head.created;
    REEF_TRY(const bool wanted, intake_.begin(std::move(head)));
    if (!wanted) return false;
    conversation.emplace(intake_, archives_, created);
    auto rest = meta;
    forget_known(rest);
    REEF_CHECK(conversation->about(std::move(rest)));
    return true;
  };

  for (;;) {
    if (intake_.cancelled()) return Error(Errc::cancelled, "the import was given up");
    auto next = lines.next();
    if (!next) {
      report(0, std::move(next).error().what);
      break;
    }
    intake_.consumed(lines.consumed());
    if (!*next) break;
    const auto& line = **next;
    if (line.too_long) {
      report(line.number, fmt::format("a line of more than {} bytes", kLineBytesMax));
      continue;
    }
    const LineInHand in_hand(conversation ? line.text.size() : 0);
    auto value = json::parse_lenient(line.text);
    if (!value || !value->is_object()) {
      report(line.number, !line.ended ? "the last line is cut short"
                          : value     ? "not an object"
                                      : std::move(value).error().what);
      continue;
    }
    auto& object = value->get_object();
    if (!conversation) {
      const bool has_meta = is_meta_line(object);
      if (has_meta) meta = std::move(object);
      REEF_TRY(const bool wanted, begin());
      if (!wanted) {
        intake_.consumed(lines.left());
        return Ok{};
      }
      if (has_meta) continue;
      report(line.number, "there is no metadata line; the file's name and time are used");
    }
    const auto place =
        stable_id(fmt::format("{}\n{}", line.number, stable_id(line.text).text)).text;
    REEF_TRY(const auto wrong, conversation->take_line(std::move(object), place, std::nullopt));
    if (!wrong.empty()) report(line.number, wrong);
  }
  if (!conversation) {
    if (lines.stat().size == 0) report(0, "the file is empty");
    return Ok{};
  }
  const auto created = time_from(meta.if_contains("created_at"));
  REEF_CHECK(conversation->finish(updated(meta, created.value_or(modified_time(lines.stat())))));
  return intake_.end();
}

struct StepFile {
  std::uint64_t number = 0;
  std::string name;
};

// Sorts steps in the order they were written; beyond a million, sorted names are not in that order.
// A temporary file counts only when its step is missing.
std::vector<StepFile> steps_in(const std::vector<std::string>& names) {
  std::vector<StepFile> out;
  std::map<std::uint64_t, bool> whole;
  for (const auto& name : names) {
    constexpr std::string_view kStep = "step-";
    if (!name.starts_with(kStep)) continue;
    StepFile step{UINT64_MAX, name};
    const auto* end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data() + kStep.size(), end, step.number);
    if (error != std::errc()) step.number = UINT64_MAX;
    if (error == std::errc() && stop == end) whole[step.number] = true;
    out.push_back(std::move(step));
  }
  std::erase_if(out, [&](const StepFile& step) {
    return step.name.find(".tmp") != std::string::npos && whole.contains(step.number);
  });
  std::sort(out.begin(), out.end(), [](const StepFile& a, const StepFile& b) {
    return std::tie(a.number, a.name) < std::tie(b.number, b.name);
  });
  return out;
}

Status Reader::read_folder(const Kept& kept) {
  auto names = files_.list(kept.path);
  if (!names) {
    intake_.problem({kept.path, 0, std::move(names).error().what});
    return Ok{};
  }
  const auto steps = steps_in(*names);

  json::object meta;
  const auto meta_path = kept.path + "/meta";
  const auto meta_stat = files_.stat_path(meta_path);
  if (meta_stat) {
    auto text = read_source(files_, meta_path);
    auto value = text ? json::parse_lenient(*text) : Result<json::value>(text.error());
    if (text) intake_.consumed(text->size());
    if (value && value->is_object()) {
      meta = std::move(value->get_object());
    } else {
      intake_.problem({meta_path, 0, value ? "not an object" : std::move(value).error().what});
    }
  } else if (steps.empty()) {
    intake_.problem({kept.path, 0, "there is no conversation in this folder"});
    return Ok{};
  } else {
    intake_.problem({meta_path, 0, "missing; the folder's name and times are used"});
  }

  const auto first = steps.empty() ? meta_stat : files_.stat_path(kept.path + "/" + steps[0].name);
  auto head = head_of(kept, meta, first ? modified_time(*first) : TimePoint());
  head.mark = fmt::format("{}:{}:{}", steps.size(), steps.empty() ? "" : steps.back().name,
                          meta_stat ? source_mark(*meta_stat) : "");
  const auto created = head.created;
  REEF_TRY(const bool wanted, intake_.begin(std::move(head)));
  if (!wanted) return Ok{};
  const auto last = updated(meta, created);
  CrabTalkConversation conversation(intake_, archives_, created);
  forget_known(meta);
  REEF_CHECK(conversation.about(std::move(meta)));

  for (const auto& step : steps) {
    if (intake_.cancelled()) return Error(Errc::cancelled, "the import was given up");
    const auto path = kept.path + "/" + step.name;
    const auto text = read_source(files_, path);
    if (!text) {
      intake_.problem({path, 0, text.error().what});
      continue;
    }
    intake_.consumed(text->size());
    const LineInHand in_hand(text->size());
    auto value = json::parse_lenient(*text);
    if (!value || !value->is_object()) {
      intake_.problem({path, 0, value ? "not an object" : std::move(value).error().what});
      continue;
    }
    // A step's file is as old as its turn, unless it was copied.
    auto time = files_.stat_path(path) ? modified_time(*files_.stat_path(path)) : created;
    if (last) time = std::min(time, *last);
    time = std::max(time, created);
    const auto place = stable_id(fmt::format("{}\n{}", step.number, stable_id(*text).text)).text;
    REEF_TRY(const auto wrong, conversation.take_line(std::move(value->get_object()), place, time));
    if (!wrong.empty()) intake_.problem({path, 0, wrong});
  }
  REEF_CHECK(conversation.finish(last));
  return intake_.end();
}

bool is_conversation(Files& files, const std::string& path) {
  if (const auto meta = files.stat_path(path + "/meta"); meta && meta->regular) return true;
  const auto names = files.list(path);
  return names && std::any_of(names->begin(), names->end(),
                              [](const auto& name) { return name.starts_with("step-"); });
}

// A folder beats a file, because CrabTalk read no file once it had folders; then the higher number
// wins.
void find_newest(std::vector<Kept>& all) {
  std::map<std::string, const Kept*> newest;
  const auto rank = [](const Kept& kept) {
    return std::pair(kept.folder, slug_from(kept.name)->number);
  };
  for (const auto& kept : all) {
    const auto slug = slug_from(kept.name);
    if (!slug) continue;
    auto& best = newest[slug->pair];
    if (!best || rank(*best) < rank(kept)) best = &kept;
  }
  for (auto& kept : all) {
    const auto slug = slug_from(kept.name);
    kept.newest = !slug || newest[slug->pair] == &kept;
  }
}

std::string stem(std::string_view name) {
  constexpr std::string_view kEnding = ".jsonl";
  if (name.ends_with(kEnding)) name.remove_suffix(kEnding.size());
  return std::string(name);
}

Result<std::vector<Kept>> conversations_in(Files& files, const std::string& folder) {
  REEF_TRY(const auto names, files.list(folder));
  std::vector<Kept> out;
  for (const auto& name : names) {
    const auto path = folder + "/" + name;
    if (name.starts_with('.')) continue;
    if (is_directory(files, path)) {
      out.push_back(Kept{path, name, true});
    } else if (name.ends_with(".jsonl")) {
      out.push_back(Kept{path, stem(name), false});
    }
  }
  find_newest(out);
  return out;
}

bool holds_conversations(Files& files, const std::string& folder) {
  const auto names = files.list(folder);
  return names && std::any_of(names->begin(), names->end(), [&](const std::string& name) {
           if (!slug_from(stem(name))) return false;
           return name.ends_with(".jsonl") || is_conversation(files, folder + "/" + name);
         });
}

}  // namespace

Status read_crabtalk(Files& files, const std::string& path, Intake& intake) {
  REEF_TRY(const auto stat, files.stat_path(path));
  const std::string name(base_name(path));
  constexpr std::string_view kStore = ".crmem";
  if (!stat.directory && name.ends_with(kStore)) return read_crabtalk_store(files, path, intake);
  if (!stat.directory)
    return Reader(files, intake, parent_path(parent_path(path)))
        .read(Kept{path, stem(name), false, true, false});
  if (is_conversation(files, path))
    return Reader(files, intake, parent_path(parent_path(path)))
        .read(Kept{path, name, true, true, false});

  // 0.0.24 keeps everything in the first place, later versions in the second.
  std::vector<std::string> stores;
  for (const auto* place : {"/store.crmem", "/store/crabtalk.crmem"})
    if (is_there(files, path + place)) stores.push_back(path + place);
  const bool whole = !stores.empty() || is_directory(files, path + "/sessions") ||
                     is_directory(files, path + "/local") || is_there(files, path + "/Crab.md") ||
                     is_there(files, path + "/memory.db");
  const auto root = whole ? path : parent_path(path);
  const auto sessions = whole ? path + "/sessions" : path;
  std::vector<Kept> all;
  if (is_directory(files, sessions)) {
    REEF_TRY(all, conversations_in(files, sessions));
  }
  if (!whole && all.empty())
    return Error(Errc::not_found, fmt::format("there are no CrabTalk conversations in {}", path));

  Reader reader(files, intake, root);
  if (whole) {
    REEF_CHECK(read_crabtalk_setup(files, root, intake));
  }
  for (const auto& store : stores) REEF_CHECK(read_crabtalk_store(files, store, intake));
  for (const auto& kept : all) {
    if (intake.cancelled()) return Error(Errc::cancelled, "the import was given up");
    REEF_CHECK(reader.read(kept));
  }
  return Ok{};
}

bool is_crabtalk(Files& files, const std::string& path) {
  if (path.ends_with(".crmem")) return true;
  if (!is_directory(files, path)) {
    const auto first = path.ends_with(".jsonl") ? first_object(files, path) : std::nullopt;
    return first && is_meta_line(*first);
  }
  for (const auto* sign : {"/Crab.md", "/memory.db", "/store.crmem", "/store/crabtalk.crmem"})
    if (is_there(files, path + sign)) return true;
  return is_conversation(files, path) || holds_conversations(files, path) ||
         holds_conversations(files, path + "/sessions");
}

}  // namespace reef::exchange
