// What is shown of entries that were found, read from the transcripts where they stand.
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
#include "session/store.h"

namespace reef::recall {

struct Item {
  std::string entry;
  Role role = Role::user;
  std::string tool;
  std::string agent;        // the guest who said it
  std::uint32_t index = 0;  // number of the message in its session
  std::string snippet;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> matches;  // byte ranges of the snippet
  bool truncated = false;
  TimePoint time;
};

// Where an item stands.
struct ItemLine {
  const session::SessionId* id = nullptr;
  search::DocumentRow row;
  bool hit = false;  // shown around what matches; the others from their beginning
};

// Called once for every line, on any thread: for those of one stretch of a file one after the
// other, for several stretches at once. There are not more stretches than lines. The item may be
// taken.
using UseItem = std::function<void(std::size_t line, std::size_t stretch, Item& item)>;

// Lines of one session that follow each other ascend; one may stand there as a hit and as one of
// the others. What stands together is read together, and of long messages around a hit only as much
// as is shown. `meanwhile` runs here before, while `helper`
// begins.
Task<void> read_each_item(session::Store& store, const std::vector<ItemLine>& lines,
                          const search::Query& query, std::size_t bytes_max, UseItem use,
                          std::function<void()> meanwhile, Helper* helper);
// In the order of `lines`.
Task<std::vector<Item>> read_items(session::Store& store, const std::vector<ItemLine>& lines,
                                   const search::Query& query, std::size_t bytes_max);

}  // namespace reef::recall
