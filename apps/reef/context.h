// The data all commands of `reef` share: where the daemon is, and how to print.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "base/task.h"
#include "base/visible.h"
#include "client/client.h"
#include "daemon/home.h"

namespace reef::cli {

struct Context {
  daemon::Home home;
  bool json = false;
  bool may_start = true;

  bool color() const;  // stdout is a terminal and NO_COLOR is not set
};

// Connects, starting a daemon when there is none and that is allowed, runs the command on a loop of
// its own and returns its exit code. Errors are printed as "reef: COMMAND: why".
enum class Start : std::uint8_t { if_needed, never };
int with_client(const Context& context, std::string_view command, Start start,
                const std::function<Task<Status>(client::Client&)>& body);

// A daemon that has not answered by then will not answer.
inline constexpr std::chrono::seconds kAnswerMax{30};

// Sends a request that the daemon answers with Pong, then prints `said` for a person.
Task<Status> expect_pong(const Context& context, client::Client& client,
                         protocol::ClientMessage message, std::string said);

// Starts reefd for this home and waits until it is ready.
Status start_daemon(const daemon::Home& home);

// Text from elsewhere, safe to print: one line in which everything can be seen.
std::string shown(std::string_view text);
// Prints the bytes of others (a reply, a file, an export): unchanged when standard output is a file
// or a pipe, made visible on a terminal.
class Output {
 public:
  Output();
  bool write(std::string_view bytes);  // false: it could not be written
  bool end();                          // prints the beginning of a character that was cut off

 private:
  bool terminal_;
  utf8::VisibleText text_;
};
// The error for pieces of files that do not follow each other.
Error out_of_turn();
// Prints for people. Control characters other than this program's own styles are made visible, in
// case a caller forgot to.
void print_line(std::string_view text);
// Prints exactly the value; characters that could drive a terminal are escaped as JSON allows.
void print_json(const json::value& value);
int report(std::string_view command, const Error& error);

// "3 m", "2 h", "5 d"
std::string short_age(TimePoint then, TimePoint now);
std::string human_bytes(std::uint64_t bytes);

}  // namespace reef::cli
