// Boost.JSON behind Results, and the look-ups every reader of foreign JSON needs. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json.hpp>

#include "base/result.h"

namespace reef::json {

using boost::json::array;
using boost::json::object;
using boost::json::value;

inline constexpr std::size_t kDepthMax = 256;

// Errors say the byte offset and the reason. The value lives in `storage`, which must outlive it.
Result<value> parse(std::string_view text, boost::json::storage_ptr storage = {});
// Like parse, but text that is broken only in its characters (invalid UTF-8, half of a surrogate
// pair, as JavaScript writes when it cuts a string) is read with U+FFFD in their place.
Result<value> parse_lenient(std::string_view text);
// Compact, one line.
std::string write(const value& v);
std::string write(const object& v);  // without copying it
// Appends the same to `out`.
void append(std::string& out, const value& v);
void append(std::string& out, const object& v);

// An object written member by member, for frequent use. Names must differ.
class ObjectText {
 public:
  ObjectText() = default;
  // Reserves about so much.
  explicit ObjectText(std::size_t bytes) { out_.reserve(bytes); }

  void text(std::string_view name, std::string_view text);
  void flag(std::string_view name, bool flag);
  void number(std::string_view name, std::int64_t number);
  void number(std::string_view name, std::uint64_t number);
  void number(std::string_view name, double number);
  void member(std::string_view name, const value& v);
  void member(std::string_view name, ObjectText object);
  // All that is written between open and close goes into the list, or into the object in it.
  void open_list(std::string_view name);
  void open_list();  // in a list
  void element(std::uint64_t number);
  void close_list();
  void open_object();  // in a list
  void close_object();
  std::string take();

 private:
  void start(std::string_view name);
  void start_element();

  std::string out_ = "{";
};

// nullopt when absent or of another type.
std::optional<std::string_view> find_string(const object& in, std::string_view key);
std::optional<std::int64_t> find_int(const object& in, std::string_view key);
std::optional<double> find_number(const object& in, std::string_view key);
std::optional<bool> find_bool(const object& in, std::string_view key);
const object* find_object(const object& in, std::string_view key);
const array* find_array(const object& in, std::string_view key);

// RFC 7396: members of patch replace those of target, null removes, objects merge.
void merge_patch(object& target, const object& patch);

}  // namespace reef::json
