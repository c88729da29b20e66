#include <algorithm>
#include <charconv>
#include <map>

#include <fmt/format.h>

#include "base/utf8.h"
#include "exchange/crabtalk.h"
#include "exchange/crabtalk_setup.h"
#include "exchange/feed.h"
#include "exchange/source.h"

namespace reef::exchange {
namespace {

constexpr std::string_view kProvider = "crabtalk";
constexpr std::size_t kHeldEventsMax = 4096;

// Takes a member out of an object; null when it is not there.
json::value take(json::object& from, std::string_view key) {
  auto* found = from.if_contains(key);
  if (!found) return nullptr;
  auto value = std::move(*found);
  from.erase(key);
  return value;
}

boost::json::string take_text(json::object& from, std::string_view key) {
  auto* found = from.if_contains(key);
  if (!found || !found->is_string()) return {};
  auto value = std::move(found->get_string());
  from.erase(key);
  return value;
}

// {"type":"image_url","image_url":{"url":"data:image/png;base64,..."}}
json::value image_from(json::value part) {
  auto& object = part.get_object();
  const auto* link = json::find_object(object, "image_url");
  const auto url = link ? json::find_string(*link, "url").value_or("") : "";
  constexpr std::string_view kData = "data:";
  constexpr std::string_view kBase64 = ";base64,";
  const auto comma = url.find(kBase64);
  if (!url.starts_with(kData) || comma == std::string_view::npos) return part;
  return json::object{{"type", "image"},
                      {"data", url.substr(comma + kBase64.size())},
                      {"mimeType", url.substr(kData.size(), comma - kData.size())}};
}

// OpenAI's content: a text, nothing, or a list of parts.
json::array blocks_from(json::value content) {
  json::array out;
  if (auto* text = content.if_string()) {
    if (!text->empty()) out.push_back(json::object{{"type", "text"}, {"text", std::move(*text)}});
  } else if (auto* parts = content.if_array()) {
    for (auto& part : *parts) {
      if (part.is_string()) {
        out.push_back(json::object{{"type", "text"}, {"text", std::move(part)}});
      } else if (part.is_object() && json::find_string(part.get_object(), "type") == "image_url") {
        out.push_back(image_from(std::move(part)));
      } else {
        out.push_back(std::move(part));
      }
    }
  } else if (!content.is_null()) {
    out.push_back(json::object{{"type", "text"}, {"text", json::write(content)}});
  }
  return out;
}

json::object call_from(json::value in) {
  json::object out{{"type", "toolCall"}, {"id", ""}, {"name", ""}, {"arguments", json::object()}};
  auto* call = in.if_object();
  if (!call) return out;
  out["id"] = take_text(*call, "id");
  auto* function = call->if_contains("function");
  if (!function || !function->is_object()) return out;
  out["name"] = take_text(function->get_object(), "name");
  auto arguments = take(function->get_object(), "arguments");
  if (arguments.is_object()) {
    out["arguments"] = std::move(arguments);
  } else if (auto* text = arguments.if_string(); text && !text->empty()) {
    auto parsed = json::parse_lenient(*text);
    out["arguments"] = parsed && parsed->is_object()
                           ? *std::move(parsed)
                           : json::value(json::object{{"arguments", std::move(*text)}});
  }
  return out;
}

json::object no_usage() {
  return json::object{
      {"input", 0},
      {"output", 0},
      {"cacheRead", 0},
      {"cacheWrite", 0},
      {"totalTokens", 0},
      {"cost",
       json::object{
           {"input", 0}, {"output", 0}, {"cacheRead", 0}, {"cacheWrite", 0}, {"total", 0}}}};
}

json::object usage_from(const json::object& in) {
  const auto count = [&](std::string_view name) {
    return std::max<std::int64_t>(0, json::find_int(in, name).value_or(0));
  };
  const auto cached = std::min(count("prompt_cache_hit_tokens"), count("prompt_tokens"));
  auto out = no_usage();
  out["input"] = count("prompt_tokens") - cached;
  out["output"] = count("completion_tokens");
  out["cacheRead"] = cached;
  out["totalTokens"] = count("prompt_tokens") + count("completion_tokens");
  return out;
}

// A conversation's lines, in order, whatever they were kept in.
class Conversation {
 public:
  Conversation(Intake& intake, const Archives& archives, TimePoint created)
      : intake_(intake), feed_(intake, created), archives_(archives) {}

  // `place` names the line for ever. `time` is when it was written, if that is known. Returns what
  // is wrong with it, or nothing.
  Result<std::string> take_line(json::object line, std::string_view place,
                                std::optional<TimePoint> time);
  // What the metadata has beside what we have words for.
  Status about(json::object rest);
  Status finish(std::optional<TimePoint> updated);

 private:
  struct Held {
    session::EntryId id;
    std::optional<TimePoint> time;
    json::object fields;
    bool settled = false;  // it said all of itself
  };
  struct Event {
    session::EntryId id;
    json::object event;
  };

  Status flush();
  Result<std::string> compaction(json::object line, Extra extra, std::string id);
  Status event(json::object line, std::string id);
  void message(json::object line, Extra extra, std::string id, std::optional<TimePoint> time);
  json::object native(json::object& message, Extra& extra);

  Intake& intake_;
  Feed feed_;
  const Archives& archives_;
  // A message waits for the events of its turn, which tell when it was said and by which model.
  std::optional<Held> held_;
  std::vector<Event> events_;
  std::map<std::string, std::string, std::less<>> tools_;  // call -> tool, of the last reply
};

Status Conversation::flush() {
  if (held_) {
    const auto time = held_->time.value_or(feed_.last_time());
    held_->fields["message"].get_object().emplace("timestamp", to_millis(time));
    REEF_CHECK(feed_.add("message", std::move(held_->id), time, std::move(held_->fields)));
    held_.reset();
  }
  for (auto& [id, event] : events_) {
    const auto time = time_from(event.if_contains("ts"));
    const auto* usage = json::find_object(event, "usage");
    if (json::find_string(event, "event") == "done" && usage) {
      json::object fields{{"provider", kProvider},
                          {"model", json::find_string(event, "model").value_or("")},
                          {"usage", usage_from(*usage)}};
      fields["crabtalk"] = std::move(event);
      REEF_CHECK(feed_.add("usage", std::move(id), time, std::move(fields)));
    } else {
      json::object fields{{"customType", "crabtalk.event"}};
      fields["data"] = std::move(event);
      REEF_CHECK(feed_.add("custom", std::move(id), time, std::move(fields)));
    }
  }
  events_.clear();
  return Ok{};
}

Status Conversation::about(json::object rest) {
  if (rest.empty()) return Ok{};
  return feed_.add("custom", feed_.claim(stable_id("crabtalk.meta").text), std::nullopt,
                   json::object{{"customType", "crabtalk.meta"}, {"data", std::move(rest)}});
}

Status Conversation::finish(std::optional<TimePoint> updated) {
  if (held_ && !held_->time && updated && *updated > feed_.last_time()) held_->time = updated;
  return flush();
}

Result<std::string> Conversation::take_line(json::object line, std::string_view place,
                                            std::optional<TimePoint> time) {
  Extra extra(line);
  auto id = extra.id.empty() ? std::string(place) : extra.id;
  const bool is_event = json::find_string(line, "event").has_value();
  if (is_event && !extra.entry && json::find_string(line, "event") == kExtra)
    if (auto* entry = line.if_contains("entry"); entry && entry->is_object())
      extra.entry = std::move(entry->get_object());

  if (extra.entry) {
    REEF_CHECK(flush());
    if (!is_verbatim(*extra.entry)) return std::string("not an entry a conversation may bring");
    REEF_CHECK(add_verbatim(feed_, *std::move(extra.entry)));
    return std::string();
  }
  if (is_event) {
    REEF_CHECK(event(std::move(line), std::move(id)));
    return std::string();
  }
  REEF_CHECK(flush());
  if (json::find_string(line, "archive_name") || json::find_string(line, "compact"))
    return compaction(std::move(line), std::move(extra), std::move(id));
  if (json::find_object(line, "message") || json::find_string(line, "role")) {
    if (extra.time) time = extra.time;
    message(std::move(line), std::move(extra), std::move(id), time);
    return std::string();
  }
  REEF_CHECK(feed_.add("custom", feed_.claim(std::move(id)), time,
                       json::object{{"customType", "crabtalk.line"}, {"data", std::move(line)}}));
  return std::string("neither a message, an event nor a compact marker; kept as it is");
}

Result<std::string> Conversation::compaction(json::object line, Extra extra, std::string id) {
  const auto time = extra.time ? extra.time : time_from(line.if_contains("archived_at"));
  auto entry_id = feed_.claim(std::move(id));
  json::object fields;
  if (line.if_contains("compact") && line["compact"].is_string()) {
    fields["summary"] = take(line, "compact");
  } else {
    const std::string name(json::find_string(line, "archive_name").value_or(""));
    const auto found = archives_.find(name);
    if (found == archives_.end()) {
      // Without its summary the marker would only hide what was said.
      REEF_CHECK(
          feed_.add("custom", std::move(entry_id), time,
                    json::object{{"customType", "crabtalk.compact"}, {"data", std::move(line)}}));
      return fmt::format("its archive '{}' is not in memory.db; what it stands for is kept", name);
    }
    const auto& archive = *found->second;
    fields["summary"] = archive.content;
    Definition definition;
    definition.kind = Definition::Kind::archive;
    definition.name = archive.name;
    definition.text = archive.content;
    definition.body["created_at"] = archive.created_at;
    REEF_CHECK(intake_.define(std::move(definition)));
  }
  // The replay begins at the marker: nothing before it is kept.
  fields["firstKeptEntryId"] = entry_id.text;
  fields["tokensBefore"] = 0;
  if (extra.there) {
    for (auto& [key, value] : extra.with)
      if (key != "summary" && key != "type" && key != "id" && key != "parentId" &&
          key != "timestamp")
        fields[key] = std::move(value);
  } else {
    fields["crabtalk"] = std::move(line);
  }
  REEF_CHECK(feed_.add("compaction", std::move(entry_id), time, std::move(fields)));
  return std::string();
}

Status Conversation::event(json::object line, std::string id) {
  if (held_ && !held_->settled && json::find_string(line, "event") == "done") {
    auto& message = held_->fields["message"].get_object();
    if (json::find_string(message, "role") == "assistant") {
      message["model"] = json::find_string(line, "model").value_or("");
      if (const auto time = time_from(line.if_contains("ts"))) held_->time = time;
    }
  }
  events_.push_back(Event{feed_.claim(std::move(id)), std::move(line)});
  return events_.size() > kHeldEventsMax ? flush() : Ok{};
}

void Conversation::message(json::object line, Extra extra, std::string id,
                           std::optional<TimePoint> time) {
  // Lines were flat once.
  if (!json::find_object(line, "message")) line = json::object{{"message", std::move(line)}};
  auto inner = std::move(take(line, "message").get_object());
  auto made = native(inner, extra);
  json::object fields;
  if (extra.there) {
    fields = message_fields(std::move(made), time.value_or(feed_.last_time()), extra);
  } else {
    fields["message"] = std::move(made);
    if (!inner.empty()) line["message"] = std::move(inner);
  }
  // Who spoke, when it was not the conversation's own agent.
  if (auto guest = take_text(line, "agent"); !guest.empty()) fields["agent"] = std::move(guest);
  if (!extra.there && !line.empty()) fields["crabtalk"] = std::move(line);
  held_ = Held{feed_.claim(std::move(id)), time, std::move(fields), extra.there};
}

// Our message; what it has no place for stays in `message`.
json::object Conversation::native(json::object& message, Extra& extra) {
  const auto role = take_text(message, "role");
  auto content = take(message, "content");
  if (role == "assistant") {
    tools_.clear();
    Plain parts;
    parts.thinking = take_text(message, "reasoning_content");
    auto list = take(message, "tool_calls");
    if (auto* calls = list.if_array()) {
      for (auto& call : *calls) {
        parts.calls.push_back(call_from(std::move(call)));
        const auto& made = parts.calls.back().get_object();
        tools_[std::string(made.at("id").get_string())] = made.at("name").get_string();
      }
    }
    parts.layout = std::move(extra.layout);
    const bool calls = !parts.calls.empty();
    json::object out{{"role", "assistant"}};
    if (content.is_array()) {
      auto said = blocks_from(std::move(content));
      auto rest = put_together(std::move(parts));
      said.insert(said.begin(), rest.begin(), rest.end());
      out["content"] = std::move(said);
    } else {
      if (auto* text = content.if_string()) parts.text = std::move(*text);
      out["content"] = put_together(std::move(parts));
    }
    if (!extra.there) {
      out["api"] = kProvider;
      out["provider"] = kProvider;
      out["model"] = "";
      out["usage"] = no_usage();
      out["stopReason"] = calls ? "toolUse" : "stop";
    }
    return out;
  }
  json::object out;
  json::array blocks;
  if (!extra.layout.empty() && content.is_string()) {
    Plain parts;
    parts.text = std::move(content.get_string());
    parts.layout = std::move(extra.layout);
    blocks = put_together(std::move(parts));
  } else {
    blocks = blocks_from(std::move(content));
  }
  if (role == "tool") {
    const auto call = take_text(message, "tool_call_id");
    auto tool = take_text(message, "name");
    if (tool.empty() && !extra.there)
      if (const auto known = tools_.find(std::string_view(call)); known != tools_.end())
        tool = known->second;
    out = json::object{{"role", "toolResult"}, {"toolCallId", call}, {"toolName", tool}};
    out["content"] = std::move(blocks);
    out["isError"] = false;
    return out;
  }
  out["role"] = role;
  out["content"] = std::move(blocks);
  return out;
}

// --- where conversations are kept ---

// What a name like crab_alice_3, or crab_alice_3_a-title of a file, says.
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
  bool newest = true;  // of its pair, so that the pair's key is its own
};

bool is_meta(const json::object& line) {
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

// Takes what it understands out of `meta`.
Head Reader::head_of(const Kept& kept, json::object& meta, TimePoint modified) {
  Extra extra(meta);
  const auto slug = slug_from(kept.name);
  Head head;
  head.path = kept.path;
  const auto created = time_from(meta.if_contains("created_at"));
  head.created = created.value_or(modified);
  // Two homes may both have a crab_alice_1; when it was begun tells them apart.
  auto name = slug && !kept.folder ? fmt::format("{}_{}", slug->pair, slug->number) : kept.name;
  // A file may be called anything; what is made readable must still tell two apart.
  if (!utf8::valid(name)) name = utf8::sanitize(name) + "-" + stable_id(name).text;
  head.origin = fmt::format("crabtalk:{}{}{}", name, kept.folder ? "" : ".jsonl",
                            created ? "@" + format_iso(*created) : "");
  head.id = extra.id.empty() ? name : extra.id;
  if (const auto* more = json::find_object(extra.more, "meta")) {
    head.meta = believable_meta(*more);
    head.cwd = json::find_string(extra.more, "cwd").value_or("");
    meta.erase("summary");  // it is also where it was said
  } else {
    std::string agent(json::find_string(meta, "agent").value_or(slug ? slug->agent : ""));
    std::string sender(json::find_string(meta, "created_by").value_or(slug ? slug->sender : ""));
    if (session::check_name("agent", agent)) head.meta["agent"] = agent;
    if (session::check_name("sender", sender)) head.meta["sender"] = sender;
    if (kept.newest)
      if (const auto key = session::Key::of_pair(agent, sender)) head.meta["key"] = key->text();
  }
  if (const auto title = json::find_string(meta, "title"); title && !title->empty())
    set_meta(head.meta, "name", json::value(*title));
  return head;
}

// What nobody needs who has the head.
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

  std::optional<Conversation> conversation;
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
    auto value = json::parse_lenient(line.text);
    if (!value || !value->is_object()) {
      report(line.number, !line.ended ? "the last line is cut short"
                          : value     ? "not an object"
                                      : std::move(value).error().what);
      continue;
    }
    auto& object = value->get_object();
    if (!conversation) {
      const bool has_meta = is_meta(object);
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

// In the order they were written, which is not that of their names beyond a million. A temporary
// file counts where the step it was for is missing.
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
  Conversation conversation(intake_, archives_, created);
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

// A folder beats a file, which was never read again once there were folders; then the higher
// number.
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

}  // namespace

Status read_crabtalk(Files& files, const std::string& path, Intake& intake) {
  REEF_TRY(const auto stat, files.stat_path(path));
  const std::string name(base_name(path));
  if (!stat.directory)
    return Reader(files, intake, parent_path(parent_path(path)))
        .read(Kept{path, stem(name), false});
  if (is_conversation(files, path))
    return Reader(files, intake, parent_path(parent_path(path))).read(Kept{path, name, true});

  const bool whole = is_directory(files, path + "/sessions") ||
                     is_there(files, path + "/local/settings.toml") ||
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
  for (const auto& kept : all) {
    if (intake.cancelled()) return Error(Errc::cancelled, "the import was given up");
    REEF_CHECK(reader.read(kept));
  }
  return Ok{};
}

}  // namespace reef::exchange
