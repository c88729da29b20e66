// FollowEntries: the entries of a session as they become durable, and what its turn says before
// they are. A reader's place is a place in the transcript, with a sum of what stands before it, and
// one in the turn; both are values, so nobody's slowness costs anything.
#include <fmt/format.h>

#include "base/notify.h"
#include "organise/definitions.h"
#include "runtime/live.h"
#include "runtime/runtime.h"
#include "server/following.h"
#include "server/operations.h"
#include "server/server.h"
#include "server/sessions.h"
#include "server/turns.h"
#include "session/pages.h"
#include "session/session.h"
#include "session/transcripts.h"

namespace reef::server {
namespace {

struct FollowEntriesNeeds {
  runtime::Runtime& runtime;
  runtime::Live& live;
  session::Sessions& sessions;
  session::Transcripts& store;
  organise::Definitions& definitions;
  static FollowEntriesNeeds of(const Node& node) {
    return {node.runtime, node.live, node.sessions, node.store, node.definitions};
  }
};

// How often a session is looked at although nobody here wrote to it.
constexpr std::chrono::seconds kOutsideStep{1};
constexpr std::size_t kEntriesPerMessage = 200;
constexpr std::size_t kEntryBytesPerMessage = 1U << 20;
constexpr std::size_t kLivePerMessage = 64;
constexpr std::size_t kLiveBytesPerMessage = 256U << 10;
constexpr std::uint32_t kLastMax = 1000;
// Bytes before a place in a transcript that tell whether it is still that place.
constexpr std::uint64_t kSummedBytes = 256;

// FNV-1a: not against anybody's will, only to notice that a file was made anew.
std::uint64_t sum_of(std::string_view bytes) {
  std::uint64_t sum = 0xcbf29ce484222325U;
  for (const char byte : bytes) {
    sum ^= static_cast<unsigned char>(byte);
    sum *= 0x100000001b3U;
  }
  return sum;
}

class EntriesStream final : public protocol::MessageStream {
 public:
  EntriesStream(FollowEntriesNeeds needs, session::SessionId id,
                const protocol::FollowEntries& request)
      : needs_(needs),
        id_(std::move(id)),
        cursor_(request.cursor().size() > kCursorBytesMax ? "?" : request.cursor()),
        after_(request.after()),
        live_(request.live()),
        bell_(needs.sessions.changes().bell(id_.text())) {
    if (request.has_last()) last_ = std::min(request.last(), kLastMax);
  }

  Task<std::optional<protocol::ServerMessage>> next() override {
    if (done_) co_return std::nullopt;
    for (;;) {
      protocol::ServerMessage out;
      const auto told = co_await tell(*out.mutable_entries_news());
      if (!told) {
        done_ = true;
        co_return protocol::make_error(told.error());
      }
      if (*told) co_return out;
      const auto heard = co_await bell_->wait_for(kOutsideStep);
      // Another program may have written to it.
      if (!heard) co_await needs_.sessions.update(id_);
    }
  }

 private:
  // What is to be said now; false: nothing.
  Task<Result<bool>> tell(protocol::EntriesNews& out) {
    const bool first = !begun_;
    if (first) {
      begun_ = true;
      static_cast<void>(co_await needs_.definitions.look());
      co_await needs_.sessions.update(id_);
      REEF_CO_CHECK(co_await begin(out));
    }
    const auto* row = needs_.sessions.find(id_);
    if (!row) co_return gone(out);
    if (first) server::fill(*out.mutable_session(), *row, needs_.definitions);
    // A reader who looks on has read what comes. This is noted once, since the note wakes it, too.
    const bool unread = live_ && row->flag("hasUnread");
    if (unread && !std::exchange(seen_unread_, unread))
      needs_.sessions.note(id_, {{"hasUnread", nullptr}});
    seen_unread_ = unread;
    const auto version = needs_.sessions.changes().version_of(id_.text());
    if (std::exchange(seen_, version) != version && !first) {
      REEF_CO_TRY(const bool same, co_await is_same_file());
      if (!same) {
        REEF_CO_CHECK(co_await start_over(out, "the transcript was made anew"));
        finish(out);
        co_return true;
      }
    }
    bool said = first || out.entries_size() > 0;
    REEF_CO_TRY(const bool more, co_await tell_news(out));
    said = said || more;
    if (!needs_.sessions.find(id_)) co_return gone(out);
    finish(out);
    co_return said;
  }

  bool gone(protocol::EntriesNews& out) {
    out.Clear();
    out.mutable_place();
    out.set_gone("the session was moved to the trash, or its folder was removed");
    done_ = true;
    return true;
  }

  // Where it goes on, and what is told first.
  Task<Status> begin(protocol::EntriesNews& out) {
    if (cursor_.empty()) co_return co_await start_over(out, "there was no cursor");
    const auto parts = parts_of(cursor_);
    std::uint64_t epoch = 0;
    runtime::LiveTurn::Place place;
    if (parts.size() != 6 || !read_hex(parts[0], at_) || !read_hex(parts[1], sum_) ||
        !read_hex(parts[2], epoch) || !read_hex(parts[3], turn_) ||
        !read_hex(parts[4], place.item) || !read_hex(parts[5], place.byte))
      co_return co_await start_over(out, "the cursor makes no sense here");
    REEF_CO_TRY(const bool same, co_await is_same_file());
    if (!same) co_return co_await start_over(out, "the transcript was made anew");
    place_ = place;
    // What was live in another daemon's days is over, and among the entries if it was kept.
    if (turn_ != 0 && epoch != needs_.sessions.changes().epoch()) turn_ = kNobodys;
    co_return Ok{};
  }

  Task<Status> start_over(protocol::EntriesNews& out, std::string why) {
    out.mutable_place()->set_start_over(std::move(why));
    const auto* row = needs_.sessions.find(id_);
    const auto size = row ? row->bytes : 0;
    turn_ = 0;
    place_ = {};
    over_ = true;
    at_ = 0;
    if (!after_.empty()) {
      REEF_CO_TRY(const auto line, co_await session::find_line(needs_.store, id_, after_, size));
      if (!line && cursor_.empty())
        co_return Error(Errc::not_found, "no entry of that name in session " + id_.text());
      if (line) at_ = line->at + line->bytes;
    } else if (last_) {
      at_ = size;
      if (*last_ > 0) {
        session::PageLimits limits{.lines_max = *last_, .bytes_max = kEntryBytesPerMessage};
        REEF_CO_TRY(const auto page,
                    co_await session::lines_before(needs_.store, id_, size, limits));
        add(out, page.lines);
        if (!page.begins && !page.lines.empty())
          out.set_before(session::place_name(page.lines.front()));
        at_ = page.to;
      }
    }
    co_return co_await sum_up();
  }

  static void add(protocol::EntriesNews& out, const std::vector<session::Line>& lines) {
    for (const auto& line : lines) fill_entry(*out.add_entries(), line);
  }

  // What follows in the turn and in the file, each behind what came before it.
  Task<Result<bool>> tell_news(protocol::EntriesNews& out) {
    bool said = false;
    const auto* turn = live_ ? needs_.live.find(id_) : nullptr;
    const bool lost = turn && turn->number() == turn_ && !turn->has(place_);
    if (!turn && turn_ != 0) {
      turn_ = 0;
      over_ = true;
    }
    if (turn && (turn->number() != turn_ || lost)) {
      if (lost) turn_ = kNobodys;
      over_ = true;
      // Its beginning stands behind these.
      const auto base = turn->base();
      REEF_CO_TRY(const auto entries, co_await tell_entries(out, base));
      said = entries.said;
      if (!entries.all) co_return said;
      turn = needs_.live.find(id_);
      if (!turn) co_return true;
      turn_ = turn->number();
      place_ = turn->begin();
      out.set_live_cut(turn->given_up());
    }
    std::size_t bytes = 0;
    while (turn && out.live_size() < static_cast<int>(kLivePerMessage) &&
           bytes < kLiveBytesPerMessage) {
      auto place = place_;
      auto piece = turn->next(place);
      if (!piece) {
        place_ = place;
        break;
      }
      if (const auto* kept = std::get_if<runtime::LiveTurn::Kept>(&*piece)) {
        // Entries stand before what is live in an answer: the next one begins with them.
        if (out.live_size() > 0 && (kept->bytes > at_ || kept->replaces)) co_return true;
        const bool was_over = over_;
        if (kept->replaces) over_ = true;
        const auto number = turn->number();
        REEF_CO_TRY(const auto entries, co_await tell_entries(out, kept->bytes));
        said = said || entries.said || kept->replaces;
        turn = needs_.live.find(id_);
        if (!entries.all) {
          // The mark is passed with the last of them.
          over_ = was_over;
          co_return said;
        }
        place_ = place;
        if (!turn || turn->number() != number || !turn->has(place_)) co_return true;
        continue;
      }
      place_ = place;
      auto event = std::get<runtime::Event>(std::move(*piece));
      if (const auto* asked = std::get_if<runtime::AskUser>(&event);
          asked && !is_pending(asked->id))
        continue;
      auto& added = *out.add_live();
      server::fill(added, std::move(event));
      bytes += added.ByteSizeLong();
      said = true;
    }
    const auto* row = needs_.sessions.find(id_);
    if (row && out.live_size() == 0) {
      REEF_CO_TRY(const auto entries, co_await tell_entries(out, row->bytes));
      said = said || entries.said;
    }
    co_return said || over_;
  }

  // Entries up to a place in the transcript.
  struct Told {
    bool said = false;
    bool all = false;
  };
  Task<Result<Told>> tell_entries(protocol::EntriesNews& out, std::uint64_t to) {
    Told told;
    // A page that was told first fills its answer.
    if (at_ < to && out.entries_size() < static_cast<int>(kEntriesPerMessage) &&
        out.ByteSizeLong() < kEntryBytesPerMessage) {
      session::PageLimits limits{
          .lines_max = kEntriesPerMessage, .bytes_max = kEntryBytesPerMessage, .end = to};
      REEF_CO_TRY(const auto page, co_await session::lines_after(needs_.store, id_, at_, limits));
      add(out, page.lines);
      told.said = !page.lines.empty();
      if (const auto* row = needs_.sessions.find(id_); row && page.ends) whole_to_ = row->bytes;
      const bool moved = page.to != at_;
      at_ = page.to;
      if (moved) REEF_CO_CHECK(co_await sum_up());
      // A last line that is not whole is nobody's entry yet.
      told.all = at_ >= to || page.ends;
    } else {
      told.all = at_ >= to;
      // There is no room for them; that is said with what fills it.
      told.said = !told.all;
    }
    co_return told;
  }

  bool is_pending(const std::string& id) const {
    for (const auto* asked : needs_.runtime.questions().list())
      if (asked->id == id) return true;
    return false;
  }

  Task<Result<std::string>> before(std::uint64_t at) {
    const auto size = std::min(at, kSummedBytes);
    if (size == 0) co_return std::string();
    co_return co_await needs_.store.read(id_, at - size, size);
  }

  Task<Status> sum_up() {
    REEF_CO_TRY(const auto bytes, co_await before(at_));
    sum_ = sum_of(bytes);
    co_return Ok{};
  }

  Task<Result<bool>> is_same_file() {
    const auto bytes = co_await before(at_);
    // Moved away just now: that is told.
    if (!bytes)
      co_return bytes.error().code == Errc::not_found ? Result<bool>(true) : bytes.error();
    co_return bytes->size() == std::min(at_, kSummedBytes) && sum_of(*bytes) == sum_;
  }

  void finish(protocol::EntriesNews& out) {
    if (std::exchange(over_, false)) out.set_live_over(true);
    auto& place = *out.mutable_place();
    place.set_cursor(fmt::format("{:x}.{:x}.{:x}.{:x}.{:x}.{:x}", at_, sum_,
                                 needs_.sessions.changes().epoch(), turn_, place_.item,
                                 place_.byte));
    const auto* row = needs_.sessions.find(id_);
    bool all = row && (at_ >= row->bytes || whole_to_ == row->bytes);
    if (const auto* turn = live_ ? needs_.live.find(id_) : nullptr) {
      auto next = place_;
      all = all && turn->number() == turn_ && turn->has(next) && !turn->next(next);
    }
    place.set_caught_up(all);
  }

  // No turn has this number.
  static constexpr std::uint64_t kNobodys = UINT64_MAX;

  FollowEntriesNeeds needs_;
  session::SessionId id_;
  std::string cursor_;
  std::string after_;
  std::optional<std::uint32_t> last_;
  bool live_;
  std::shared_ptr<Notify> bell_;
  std::uint64_t at_ = 0;                 // in the transcript
  std::uint64_t sum_ = 0;                // of what stands before it there
  std::uint64_t whole_to_ = UINT64_MAX;  // of a row of so many bytes there is no more whole line
  std::uint64_t turn_ = 0;               // whose part has been told; 0: none
  runtime::LiveTurn::Place place_;
  std::uint64_t seen_ = 0;  // the session's latest change
  bool over_ = false;       // what was live is to be forgotten with the next answer
  bool seen_unread_ = false;
  bool begun_ = false;
  bool done_ = false;
};

protocol::Answer answer_follow_entries(FollowEntriesNeeds needs,
                                       const protocol::FollowEntries& request) {
  auto id = known_session(needs.sessions, request.id());
  if (!id) return protocol::answer_with(id.error());
  return std::make_unique<EntriesStream>(needs, *std::move(id), request);
}

}  // namespace

void fill_entry(protocol::SessionEntry& out, const session::Line& line) {
  out.set_id(line.id);
  out.set_json(line.json);
  out.set_bytes(line.bytes);
}

Operations follow_entries_operations() {
  using M = protocol::ClientMessage;
  using protocol::Right;
  static constexpr Operation kRows[] = {
      {M::kFollowEntries, Right::read, Messages::many, Naming::none,
       answered<&M::follow_entries, answer_follow_entries>},
  };
  return kRows;
}

}  // namespace reef::server
