// How a client names what it sends, so that sending it again does it once: kept on the entry that
// the request made, and durable together with it. Pure functions.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "session/entry.h"

namespace reef::session {

struct ClientMark {
  static constexpr std::size_t kIdBytesMax = 256;

  std::string id;      // the client's own name for its request
  std::string sender;  // whose name it is: others may have the same
  std::string sum;     // of what was asked for, to tell another request under the same name
  bool operator==(const ClientMark&) const = default;
};

// A short fingerprint of some texts, in their order.
std::string fingerprint(std::initializer_list<std::string_view> texts);
// 1 to kIdBytesMax bytes.
Status check_client_id(std::string_view id);

// On an entry. `unanswered`: who sent it was told that nothing comes of it.
void put_mark(json::object& fields, const ClientMark& mark, bool unanswered = false);
struct Marked {
  ClientMark mark;
  bool unanswered = false;
};
std::optional<Marked> mark_of(const json::object& body);
bool has_mark(const json::object& body);
// All marks of a transcript, oldest first. Looks only into the lines that may have one.
std::vector<Marked> marks_in(std::string_view transcript);

// Of a session that a request made, in its metadata (`madeFor`).
std::string made_for(const ClientMark& mark);
enum class Made : std::uint8_t { no, same, other };
// Whether a session's `madeFor` names this request, or another one under the same name.
Made is_made_for(std::string_view text, const ClientMark& mark);

}  // namespace reef::session
