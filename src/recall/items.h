// Reads the messages that a search found from the transcripts, as they are shown.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "recall/document.h"
#include "search/memory_segment.h"
#include "search/query.h"
#include "session/transcripts.h"

namespace reef::recall {

struct Item {
  std::string entry;
  Role role = Role::user;
  std::string tool;
  std::string agent;        // the guest agent who said it
  std::uint32_t index = 0;  // number of the message in its session
  std::string snippet;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> matches;  // byte ranges of the snippet
  bool truncated = false;
  TimePoint time;
};

// The place of an item in its transcript.
struct ItemLine {
  const session::SessionId* id = nullptr;
  search::DocumentRow row;
  bool hit = false;  // true: shown around the matches; false: shown from its beginning
};

// Called once for every line, on any thread: the lines of one stretch come one after the other, but
// several stretches may run at once. There are no more stretches than lines. The item may be moved
// from.
using UseItem = std::function<void(std::size_t line, std::size_t stretch, Item& item)>;

// Within one session the lines must ascend; a line may be there twice, as a hit and as one of the
// others. Neighbouring lines are read together, and a long message next to a hit only as far as it
// is shown. `meanwhile` runs on this thread first, while `helper` begins to read.
Task<void> read_each_item(session::Transcripts& transcripts, const std::vector<ItemLine>& lines,
                          const search::Query& query, std::size_t bytes_max, UseItem use,
                          std::function<void()> meanwhile, Helper* helper);
// Returns the items in the order of `lines`.
Task<std::vector<Item>> read_items(session::Transcripts& transcripts,
                                   const std::vector<ItemLine>& lines, const search::Query& query,
                                   std::size_t bytes_max);

}  // namespace reef::recall
