// Errors as values. Every function that can fail for a reason outside the program returns
// `Result<T>`; exceptions are for bugs and exhausted memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace reef {

// A closed list; each code has one wire code and one exit code (`traits`).
enum class Errc : std::uint8_t {
  invalid,       // the caller asked for something that makes no sense
  unauthorized,  // the peer has not shown who it is
  denied,        // the peer is known and may not do this
  not_found,
  conflict,  // it is there already, or somebody else changed it
  gone,      // existed once, will not come back
  too_large,
  busy,  // try again later
  cancelled,
  timeout,
  no_space,
  io,
  corrupt,      // bytes on disk that make no sense
  provider,     // the model's backend failed
  unavailable,  // the peer cannot be reached
  unsupported,  // known, not built
  internal,
};

struct ErrcTraits {
  std::string_view name;
  std::uint32_t wire_code;
  int exit_code;
};
const ErrcTraits& traits(Errc code);
// The nearest code for a wire code somebody else sent.
Errc errc_from_wire(std::uint32_t wire_code);

struct [[nodiscard]] Error {
  Errc code = Errc::internal;
  std::string what;
  int sys = 0;  // errno of a failed system call, else 0

  Error(Errc c, std::string w, int s = 0) : code(c), what(std::move(w)), sys(s) {}

  // "context: what", so that the outermost attempt is read first.
  Error with(std::string_view context) && {
    what.insert(0, ": ").insert(0, context);
    return std::move(*this);
  }
};

// An error from errno: "what: strerror", with the code the number calls for.
Error sys_error(int number, std::string_view what);

struct Ok {};

template <class T>
class [[nodiscard]] Result {
 public:
  using Value = T;

  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }

  T& operator*() & { return std::get<0>(state_); }
  const T& operator*() const& { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }

  Error& error() & { return std::get<1>(state_); }
  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

using Status = Result<Ok>;

}  // namespace reef

#define REEF_CAT2(a, b) a##b
#define REEF_CAT(a, b) REEF_CAT2(a, b)
#define REEF_TRY_IMPL(decl, expr, tmp, ret) \
  auto tmp = (expr);                        \
  if (!tmp) ret std::move(tmp).error();     \
  decl = *std::move(tmp)

// REEF_TRY(auto x, f());   passes an error on, else declares x. The CO_ forms are for coroutines.
#define REEF_TRY(decl, expr) REEF_TRY_IMPL(decl, expr, REEF_CAT(reef_try_, __COUNTER__), return)
#define REEF_CO_TRY(decl, expr) \
  REEF_TRY_IMPL(decl, expr, REEF_CAT(reef_try_, __COUNTER__), co_return)

// REEF_CHECK(f());   the same for a Status.
#define REEF_CHECK(expr)                                                                \
  do {                                                                                  \
    if (auto reef_status = (expr); !reef_status) return std::move(reef_status).error(); \
  } while (false)
#define REEF_CO_CHECK(expr)                                     \
  do {                                                          \
    auto reef_status = (expr);                                  \
    if (!reef_status) co_return std::move(reef_status).error(); \
  } while (false)
