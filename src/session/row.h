// One line of a list of sessions: everything lists, filters and routing need, folded from the
// entries of a transcript. Plain values.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "session/decision.h"

namespace reef::session {

struct TokenTotals {
  std::int64_t input = 0, output = 0, cache_read = 0, cache_write = 0;
  double cost = 0;
  std::int64_t replies = 0;

  std::int64_t tokens() const;
  // Tokens that models were given: fresh, read from a cache, written to one.
  std::int64_t given() const;
  // Sums stop at the largest number there is.
  TokenTotals& operator+=(const TokenTotals& more);
};

// The usage of one model in one session on one day. Days are UTC, counted from 1970-01-01.
struct DayUsage {
  std::int32_t day = 0;
  TokenTotals totals;
};
TokenTotals sum(const std::vector<DayUsage>& days);

struct Row {
  // Bounds for usage_by_model, because a transcript may be hostile. The two oldest days become one,
  // under the later of them; further models count together as kOtherModels. Totals stay right.
  static constexpr std::size_t kUsageDaysMax = 400;
  static constexpr std::size_t kUsageModelsMax = 20;
  static constexpr std::string_view kOtherModels = "other";

  explicit Row(SessionId session_id) : id(std::move(session_id)) {}

  SessionId id;
  std::uint64_t bytes = 0;  // of the transcript this row covers
  TimePoint created;
  TimePoint updated;         // last message, or created
  TimePoint last_assistant;  // zero: none
  std::string last_role;
  std::string preview;  // start of the first user message
  std::uint64_t message_count = 0;
  std::int64_t context_tokens = 0;  // as the last reply counted them, or after a compaction
  bool context_estimated = false;   // no provider has counted them
  // How long somebody was at work: from the words to the reply, over all turns.
  std::chrono::milliseconds active{0};
  TimePoint last_said;  // the last message, hidden or not
  TokenTotals usage;
  std::map<std::string, std::vector<DayUsage>> usage_by_model;  // each oldest day first
  std::uint32_t compaction_count = 0;
  std::string parent_session;
  std::string cwd;
  std::uint32_t damage = 0;      // places of the file that could not be read as they should
  std::size_t slot = SIZE_MAX;   // its place in the list of times; the engine's own
  std::uint64_t marks = 0;       // entries that clients named (client_mark.h)
  std::vector<Waiting> waiting;  // decisions nobody has answered, oldest first
  json::object meta;             // all reef.meta patches, merged; the title as `name`

  std::string_view text(std::string_view field) const;  // of meta; empty when absent
  bool flag(std::string_view field) const;
  std::string_view key() const { return text("key"); }
  std::string_view agent() const { return text("agent"); }
  std::string_view sender() const { return text("sender"); }
  std::string_view name() const { return text("name"); }
  std::string_view chat_type() const;  // as it was set, else as the key says; empty: no key
  // A direct conversation, and not with a program: somebody reads along while it is said.
  bool is_live() const;
  TimePoint last_used() const;    // the last message, or when it was resumed
  TimePoint archived_at() const;  // for an archived session; last_used() when nobody wrote it down
  std::int64_t uptime_secs() const;  // active, or the value it was imported with
  std::int64_t bound_at() const;     // Unix milliseconds; when its key was last bound to it
};

Row start_row(SessionId id, const Header& header);
// Adds the entry that follows; constant time.
void fold(Row& row, const Entry& entry);
// Makes the row of a whole transcript.
Row make_row(SessionId id, std::string_view bytes);

// Everything known of a session as JSON for clients; the names are those of metadata.h. `status` is
// shown as its status.
std::string details_of(const Row& row, std::string_view status);

// The records of the catalog (row_record.cpp).
json::object to_json(const Row& row);
struct RowRecord {
  Row row;
  bool gone = false;  // the session is gone; only the row's id counts
};
// nullopt when it is no record, or one of another version.
std::optional<RowRecord> read_record(std::string_view object);

}  // namespace reef::session
