// The checks that the validators of all services share: required fields, calls and results in
// pairs, turns that alternate. A body is refused by an exception that says why.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/json.h"

namespace reef::test {

using json::array;
using json::object;
using json::value;

struct Refused {
  std::string why;
};

inline void require(bool holds, std::string_view why) {
  if (!holds) throw Refused{std::string(why)};
}

inline const object& object_of(const value& in, std::string_view what) {
  require(in.is_object(), fmt::format("{} is no object", what));
  return in.as_object();
}
inline const value& member(const object& in, std::string_view key) {
  const auto* found = in.if_contains(key);
  require(found != nullptr, fmt::format("{} is missing", key));
  return *found;
}
inline const object& object_at(const object& in, std::string_view key) {
  return object_of(member(in, key), key);
}
inline const array& array_at(const object& in, std::string_view key) {
  const auto& found = member(in, key);
  require(found.is_array(), fmt::format("{} is no array", key));
  return found.as_array();
}
inline const array& filled_array_at(const object& in, std::string_view key) {
  const auto& found = array_at(in, key);
  require(!found.empty(), fmt::format("{} is empty", key));
  return found;
}
inline std::string string_at(const object& in, std::string_view key) {
  const auto& found = member(in, key);
  require(found.is_string(), fmt::format("{} is no string", key));
  return std::string(found.as_string());
}
inline std::string words_at(const object& in, std::string_view key) {
  auto text = string_at(in, key);
  require(text.find_first_not_of(" \t\r\n\f\v") != std::string::npos,
          fmt::format("{} is blank", key));
  return text;
}
inline std::int64_t positive_at(const object& in, std::string_view key) {
  const auto number = json::find_int(in, key);
  require(number && *number >= 1, fmt::format("{} is no positive number", key));
  return *number;
}
inline void only(const object& in, std::initializer_list<std::string_view> known) {
  for (const auto& [key, unused] : in)
    require(std::find(known.begin(), known.end(), std::string_view(key)) != known.end(),
            fmt::format("unknown field {}", std::string_view(key)));
}
inline void name_like(const std::string& name, std::string_view also, std::size_t length_max,
                      std::string_view what) {
  require(!name.empty() && name.size() <= length_max, fmt::format("{} has a bad length", what));
  for (const char c : name)
    require((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                also.find(c) != std::string_view::npos,
            fmt::format("{} '{}' has a bad character", what, name));
}
inline void base64_like(const std::string& data) {
  require(!data.empty() && data.size() % 4 == 0, "bad base64");
  name_like(data, "+/=", data.size(), "base64");
}
inline void one_of(const std::string& text, std::initializer_list<std::string_view> all,
                   std::string_view what) {
  require(std::find(all.begin(), all.end(), std::string_view(text)) != all.end(),
          fmt::format("{} '{}' is not known", what, text));
}
inline void object_schema(const object& schema) {
  require(string_at(schema, "type") == "object", "a schema must be of an object");
}

template <class Check>
inline std::string verdict(const value& body, Check check) {
  try {
    check(object_of(body, "body"));
    return {};
  } catch (const Refused& refused) {
    return refused.why;
  }
}

// Checks that each call of one turn has its result in the next turn, and that there are no others.
class Pairs {
 public:
  void call(const std::string& id) {
    require(ids_.insert(id).second, fmt::format("the id {} is used twice", id));
    made_.insert(id);
  }
  void result(const std::string& id) {
    require(open_.erase(id) == 1, fmt::format("a result for {}, which is not open", id));
  }
  void end_turn() {
    require(open_.empty(), "a call without a result in the next turn");
    open_ = std::move(made_);
    made_.clear();
  }
  bool any() const { return !ids_.empty(); }
  bool open() const { return !open_.empty(); }

 private:
  std::set<std::string> ids_, open_, made_;
};

// Checks that roles alternate and that the user speaks first and last.
class Roles {
 public:
  Roles(std::string user, std::string assistant)
      : user_(std::move(user)), assistant_(std::move(assistant)) {}
  bool next(const std::string& role) {
    one_of(role, {user_, assistant_}, "role");
    require(last_.empty() ? role == user_ : role != last_, "roles do not alternate from the user");
    last_ = role;
    return role == user_;
  }
  void end() const { require(last_ == user_, "the last message is not the user's"); }

 private:
  std::string user_, assistant_, last_;
};

}  // namespace reef::test
