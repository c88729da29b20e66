// What searches find, as it is sent: written as bytes, each item by the thread that read it. This
// is the one place where messages are written so, and the only encoding of a found item. Loop
// thread but for add().
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "protocol/encoded.h"
#include "recall/recall.h"

namespace reef::server {

class SearchAnswer {
 public:
  // The session of hit `hit`; hits of one session share the bytes.
  void add_session(std::size_t hit, const protocol::SessionRow& row);
  void share_session(std::size_t hit, std::size_t with) {
    hits_[hit].session = hits_[with].session;
  }
  // An item with all places where it is shown. Any thread: one per stretch at a time (recall::Ask).
  void add(std::size_t stretch, std::span<const recall::ItemPlace> places,
           const recall::Item& item);
  void leave_out(std::size_t hit) { hits_[hit].session = SIZE_MAX; }
  // The answer; hits without a session are left out.
  protocol::Encoded encode(const recall::SearchResult& result,
                           std::chrono::microseconds took) const;

 private:
  struct Slice {
    std::size_t stretch = 0, from = 0, size = 0;
  };
  struct Hit {
    std::size_t session = SIZE_MAX;  // which of the sessions
    std::array<Slice, recall::kWindowMax> items{};
  };
  std::string_view bytes_of(const Slice& slice) const {
    return std::string_view(stretches_[slice.stretch]).substr(slice.from, slice.size);
  }

  std::vector<std::string> sessions_;
  std::vector<Hit> hits_ = std::vector<Hit>(recall::kHitsMax);
  // Items one after the other; each string is written by one thread at a time.
  std::vector<std::string> stretches_ =
      std::vector<std::string>(recall::kHitsMax * recall::kWindowMax);
};

// A page of messages: as many of the items as fit into `bytes_max`, at least one.
protocol::Encoded encode_messages(std::span<const recall::Item> items, std::uint64_t total,
                                  std::size_t bytes_max);

}  // namespace reef::server
