// What turns have said and is not yet among the entries of their sessions: for readers that follow
// a session, come late or come back. A turn's log marks where entries became durable. A new reader
// begins behind the last reply that did; what was said before it stays for those who are still
// reading it, until the next reply. A reader's place is a value that may travel. Bounded: of a very
// long reply the beginning is given up, and who has not read it begins anew. Loop thread only.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/broadcast.h"
#include "runtime/event.h"
#include "session/session.h"

namespace reef::runtime {

class LiveTurn {
 public:
  // At most twice so many, so that giving up is rare.
  static constexpr std::size_t kBytesMax = 1U << 20;
  static constexpr std::size_t kItemsMax = 4096;
  // The bound of a turn that has ended.
  static constexpr std::size_t kEndedBytesMax = 64U << 10;
  // Longer ones are cut, or left out where a cut would make no sense: the entries have them.
  static constexpr std::size_t kOutputBytesMax = 2048;
  static constexpr std::size_t kArgumentsBytesMax = 16U << 10;

  struct Place {
    std::uint64_t item = 0;
    std::uint64_t byte = 0;  // within a piece of text
    auto operator<=>(const Place&) const = default;
  };
  // The transcript is so long now; when it `replaces`, what was said before is among its entries.
  struct Kept {
    std::uint64_t bytes = 0;
    bool replaces = false;
  };
  using Piece = std::variant<Event, Kept>;

  // `bytes`: of the transcript when the turn began.
  LiveTurn(std::uint64_t number, std::uint64_t bytes) : number_(number), base_(bytes) {}

  std::uint64_t number() const { return number_; }
  void take(const Event& event);
  void keep(std::uint64_t bytes, bool replaces);
  // The turn is over; what was said and not kept is not said any more.
  void end(const End& event, std::uint64_t bytes);

  // A new reader begins here, once it has the transcript's first base() bytes.
  Place begin() const { return mark_ ? Place{*mark_, 0} : cut_; }
  std::uint64_t base() const { return base_; }
  // Bytes of text a new reader does not get.
  std::uint64_t given_up() const { return given_up_; }
  // Whether a reader at this place misses nothing; false for places that never were.
  bool has(const Place& place) const;
  // Returns what follows and moves the place on; nullopt: nothing yet. has(place) must hold.
  std::optional<Piece> next(Place& place) const;

 private:
  struct Item {
    std::uint64_t number;
    Piece piece;
    std::uint64_t cut = 0;  // bytes of its text that were given up, from the front
  };
  void add(Piece piece);
  void bound();
  void drop_front();
  void drop_up_to(std::uint64_t number);

  const std::uint64_t number_;
  std::uint64_t base_;
  std::deque<Item> items_;  // numbered without a gap
  std::uint64_t next_ = 0;
  Place cut_;                          // what was before it is gone
  std::optional<std::uint64_t> mark_;  // the last mark that replaces, while it is there
  std::size_t bytes_ = 0;
  std::uint64_t given_up_ = 0;
};

class Live {
 public:
  // Turns that have ended are kept for those who were away, in so many sessions.
  static constexpr std::size_t kEndedMax = 256;

  // Hears of both from now on, and rings the bells of sessions.changes(). Both outlive it, and
  // nothing happens in them while it goes away.
  Live(session::Sessions& sessions, Broadcast& broadcast);
  ~Live();
  Live(const Live&) = delete;
  Live& operator=(const Live&) = delete;

  // The session's turn that runs, or the last one; nullptr when none is known.
  const LiveTurn* find(const session::SessionId& session) const;

 private:
  void take(const Scene& scene, const Event& event);
  void keep(const session::SessionId& session, const std::vector<session::Entry>& entries,
            std::uint64_t bytes);

  session::Sessions& sessions_;
  Broadcast& broadcast_;
  std::uint64_t last_ = 0;
  std::unordered_map<std::string, LiveTurn> turns_;          // by session
  std::deque<std::pair<std::string, std::uint64_t>> ended_;  // session and number, oldest first
};

}  // namespace reef::runtime
