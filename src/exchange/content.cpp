#include "exchange/content.h"

#include <optional>

namespace reef::exchange {
namespace {

void join(boost::json::string& to, std::string_view part, bool& first) {
  if (!first) to.push_back('\n');
  first = false;
  to.append(part);
}

// The members of a block other than "type" and `own`.
json::object rest_of(const json::object& block, std::string_view own) {
  json::object rest;
  for (const auto& [key, value] : block)
    if (key != "type" && key != own) rest[key] = value;
  return rest;
}

json::object part(std::string_view kind, std::size_t bytes, json::object rest) {
  json::object out{{"part", kind}, {"bytes", bytes}};
  if (!rest.empty()) out["rest"] = std::move(rest);
  return out;
}

bool is_usual(const json::array& layout) {
  constexpr std::string_view kOrder[] = {"thinking", "text", "call"};
  std::size_t stage = 0;
  for (const auto& item : layout) {
    const auto& object = item.get_object();
    const auto kind = json::find_string(object, "part").value_or("");
    if (object.contains("rest") || object.contains("block")) return false;
    if (kind != "call" && json::find_int(object, "bytes") == 0) return false;
    while (stage < 3 && kOrder[stage] != kind) ++stage;
    if (stage == 3) return false;
    if (kind != "call") ++stage;
  }
  return true;
}

// Takes the parts of one text off its front, as long as they fit.
class Cutter {
 public:
  explicit Cutter(std::string_view text) : left_(text) {}

  std::optional<std::string_view> cut(std::int64_t bytes) {
    if (!first_) {
      if (!left_.starts_with('\n')) return std::nullopt;
      left_.remove_prefix(1);
    }
    first_ = false;
    if (bytes < 0 || static_cast<std::uint64_t>(bytes) > left_.size()) return std::nullopt;
    const auto piece = left_.substr(0, static_cast<std::size_t>(bytes));
    left_.remove_prefix(piece.size());
    const bool inside = !left_.empty() && (static_cast<unsigned char>(left_[0]) & 0xC0U) == 0x80U;
    if (inside) return std::nullopt;
    return piece;
  }
  bool done() const { return left_.empty(); }

 private:
  std::string_view left_;
  bool first_ = true;
};

std::optional<json::array> by_layout(const Plain& parts) {
  Cutter text(parts.text);
  Cutter thinking(parts.thinking);
  std::size_t call = 0;
  json::array out;
  for (const auto& item : parts.layout) {
    const auto* object = item.if_object();
    if (!object) return std::nullopt;
    if (const auto* whole = object->if_contains("block")) {
      out.push_back(*whole);
      continue;
    }
    const auto kind = json::find_string(*object, "part").value_or("");
    const auto bytes = json::find_int(*object, "bytes").value_or(-1);
    json::object made;
    if (kind == "text" || kind == "thinking") {
      const auto piece = kind == "text" ? text.cut(bytes) : thinking.cut(bytes);
      if (!piece) return std::nullopt;
      made = json::object{{"type", kind}, {kind, *piece}};
    } else if (kind == "call" && call < parts.calls.size() && parts.calls[call].is_object()) {
      made = parts.calls[call++].get_object();
    } else {
      return std::nullopt;
    }
    if (const auto* rest = json::find_object(*object, "rest"))
      for (const auto& [key, value] : *rest)
        if (!made.contains(key)) made[key] = value;
    out.push_back(std::move(made));
  }
  if (!text.done() || !thinking.done() || call != parts.calls.size()) return std::nullopt;
  return out;
}

}  // namespace

Plain take_apart(const json::object& message, Thinking keep) {
  Plain out;
  if (const auto text = json::find_string(message, "content")) {
    out.text = *text;
    return out;
  }
  const auto* blocks = json::find_array(message, "content");
  if (!blocks) return out;
  bool first_text = true;
  bool first_thinking = true;
  for (const auto& item : *blocks) {
    const auto* object = item.if_object();
    const auto type = object ? json::find_string(*object, "type").value_or("") : "";
    const auto text = object ? json::find_string(*object, "text") : std::nullopt;
    const auto thinking = object ? json::find_string(*object, "thinking") : std::nullopt;
    if (type == "text" && text) {
      join(out.text, *text, first_text);
      out.layout.push_back(part("text", text->size(), rest_of(*object, "text")));
    } else if (type == "thinking" && thinking && keep == Thinking::apart) {
      join(out.thinking, *thinking, first_thinking);
      out.layout.push_back(part("thinking", thinking->size(), rest_of(*object, "thinking")));
    } else if (type == "toolCall" && json::find_string(*object, "id") &&
               json::find_string(*object, "name") && json::find_object(*object, "arguments")) {
      json::object call{{"type", "toolCall"},
                        {"id", object->at("id")},
                        {"name", object->at("name")},
                        {"arguments", object->at("arguments")}};
      auto rest = *object;
      for (const auto* own : {"type", "id", "name", "arguments"}) rest.erase(own);
      out.calls.push_back(std::move(call));
      out.layout.push_back(part("call", 0, std::move(rest)));
    } else {
      out.layout.push_back(json::object{{"block", item}});
    }
  }
  if (is_usual(out.layout)) out.layout.clear();
  return out;
}

json::array put_together(Plain parts) {
  if (!parts.layout.empty())
    if (auto blocks = by_layout(parts)) return *std::move(blocks);
  json::array out;
  if (!parts.thinking.empty())
    out.push_back(json::object{{"type", "thinking"}, {"thinking", std::move(parts.thinking)}});
  if (!parts.text.empty())
    out.push_back(json::object{{"type", "text"}, {"text", std::move(parts.text)}});
  for (auto& call : parts.calls) out.push_back(std::move(call));
  for (auto& item : parts.layout)
    if (auto* object = item.if_object())
      if (auto* whole = object->if_contains("block")) out.push_back(std::move(*whole));
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

}  // namespace reef::exchange
