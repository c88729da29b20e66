#include "recall/peek.h"

#include <array>
#include <cstdint>

#include <boost/json/basic_parser_impl.hpp>

#include "base/json.h"

namespace reef::recall {
namespace {

// Takes the few texts that are wanted while the parser passes over the rest, and stops it when it
// has enough.
struct Handler {
  using error_code = boost::json::error_code;
  using view = boost::json::string_view;
  static constexpr std::size_t max_object_size = SIZE_MAX;
  static constexpr std::size_t max_array_size = SIZE_MAX;
  static constexpr std::size_t max_key_size = SIZE_MAX;
  static constexpr std::size_t max_string_size = SIZE_MAX;

  enum class Where : std::uint8_t { nowhere, root, message, content, block, other };

  explicit Handler(std::size_t most) : bytes_max(most) {}

  std::size_t bytes_max;
  Peek found;
  std::string type, role;
  std::string key;
  bool key_open = false;  // parts of it have come
  bool new_part = true;   // of the text
  bool enough = false;
  std::array<Where, json::kDepthMax + 1> stack{};
  std::size_t depth = 0;

  Where here() const { return depth == 0 ? Where::nowhere : stack[depth - 1]; }
  bool push(Where where) {
    stack[depth++] = where;
    return true;
  }

  // Where the string goes that comes now; nullptr: nowhere.
  std::string* target() {
    switch (here()) {
      case Where::root:
        if (key == "id") return &found.entry;
        return key == "type" ? &type : nullptr;
      case Where::message:
        if (key == "role") return &role;
        if (key == "toolName") return &found.tool;
        return key == "content" ? &found.text : nullptr;
      case Where::block:
        return key == "text" ? &found.text : nullptr;
      default:
        return nullptr;
    }
  }

  bool take(view part, bool ends, error_code& error) {
    auto* into = target();
    if (into == &found.text) {
      if (new_part && !found.text.empty() && !(part.empty() && ends)) found.text += '\n';
      new_part = ends;
      const auto room = bytes_max + 1 - std::min(found.text.size(), bytes_max + 1);
      found.text.append(part.data(), std::min<std::size_t>(part.size(), room));
      if (found.text.size() > bytes_max) {
        enough = true;
        error = boost::json::error::extra_data;
        return false;
      }
    } else if (into) {
      into->append(part.data(), part.size());
    }
    return true;
  }

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code&) {
    if (depth == 0) return push(Where::root);
    if (here() == Where::root && key == "message") return push(Where::message);
    return push(here() == Where::content ? Where::block : Where::other);
  }
  bool on_object_end(std::size_t, error_code&) { return --depth, true; }
  bool on_array_begin(error_code&) {
    return push(here() == Where::message && key == "content" ? Where::content : Where::other);
  }
  bool on_array_end(std::size_t, error_code&) { return --depth, true; }
  bool on_key_part(view s, std::size_t, error_code&) {
    if (!std::exchange(key_open, true)) key.clear();
    key.append(s.data(), s.size());
    return true;
  }
  bool on_key(view s, std::size_t n, error_code& error) {
    on_key_part(s, n, error);
    key_open = false;
    return true;
  }
  bool on_string_part(view s, std::size_t, error_code& error) { return take(s, false, error); }
  bool on_string(view s, std::size_t, error_code& error) { return take(s, true, error); }
  bool on_number_part(view, error_code&) { return true; }
  bool on_int64(std::int64_t, view, error_code&) { return true; }
  bool on_uint64(std::uint64_t, view, error_code&) { return true; }
  bool on_double(double, view, error_code&) { return true; }
  bool on_bool(bool, error_code&) { return true; }
  bool on_null(error_code&) { return true; }
  bool on_comment_part(view, error_code&) { return true; }
  bool on_comment(view, error_code&) { return true; }
};

}  // namespace

std::optional<Peek> peek(std::string_view line, std::size_t bytes_max) {
  boost::json::parse_options options;
  options.max_depth = json::kDepthMax;
  boost::json::basic_parser<Handler> parser(options, bytes_max);
  boost::json::error_code error;
  parser.write_some(false, line.data(), line.size(), error);
  auto& handler = parser.handler();
  if (error && !handler.enough) return std::nullopt;
  const bool plain = handler.role == "user" || handler.role == "assistant" ||
                     (handler.role == "toolResult" && !handler.found.tool.empty());
  if (handler.type != "message" || !plain || handler.found.entry.empty() ||
      handler.found.text.empty())
    return std::nullopt;
  return std::move(handler.found);
}

}  // namespace reef::recall
