// Search as users have it: transcripts on disk, the daemon, 20 hits with their windows.
#include <algorithm>
#include <array>
#include <filesystem>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include "process.h"
#include "searches.h"
#include "talk.h"
#include "transcripts.h"

namespace reef::benchmarks {
namespace {

constexpr std::uint32_t kHits = 20;
constexpr std::chrono::minutes kPatience{10};
constexpr double kMiB = 1024.0 * 1024.0;

session::Draft draft_of(const CorpusMessage& message) {
  constexpr std::uint8_t kUser = 2, kTool = 3;
  if (message.role == kUser) return user_says(std::string(message.text));
  if (message.role != kTool) return assistant_says(std::string(message.text));
  session::ToolResultMessage result;
  result.tool_call_id = "c";
  result.tool_name = "bash";
  result.content.emplace_back(session::TextBlock{std::string(message.text)});
  return session::draft_message(session::Message(std::move(result)));
}

// Returns how many MiB of text were written.
Result<double> write_sessions(const Corpus& corpus, const std::string& sessions) {
  SeededRandom random(1);
  std::optional<TranscriptText> text;
  std::size_t current = 0;
  double bytes = 0;
  Status failed = Ok{};
  const auto finish = [&] {
    if (text && failed)
      failed = write_transcript(sessions, small_session_id(current), text->bytes());
  };
  corpus.each([&](const CorpusMessage& message) {
    if (!text || message.session != current) {
      finish();
      current = message.session;
      text.emplace(small_session_id(current), TimePoint(std::chrono::milliseconds(message.time_ms)),
                   random);
    }
    text->add(draft_of(message));
    bytes += static_cast<double>(message.text.size());
  });
  finish();
  REEF_CHECK(std::move(failed));
  return bytes / kMiB;
}

protocol::ClientMessage request_for(std::string query) {
  protocol::ClientMessage message;
  message.mutable_search_sessions()->set_query(std::move(query));
  message.mutable_search_sessions()->set_limit(kHits);
  return message;
}

// Reads the daemon's own time from an answer's bytes without parsing the rest.
Result<Nanos> inside_of(std::string_view payload) {
  using google::protobuf::internal::WireFormatLite;
  using Results = protocol::SearchResults;
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const std::uint8_t*>(payload.data()),
                                            static_cast<int>(payload.size()));
  std::uint32_t bytes = 0;
  const auto is = [](std::uint32_t tag, int field) {
    return WireFormatLite::GetTagFieldNumber(tag) == field;
  };
  if (is(in.ReadTag(), protocol::ServerMessage::kSearchResultsFieldNumber) &&
      in.ReadVarint32(&bytes))
    while (const auto tag = in.ReadTag()) {
      std::uint64_t micros = 0;
      if (is(tag, Results::kMicrosecondsFieldNumber) && in.ReadVarint64(&micros))
        return Nanos(std::chrono::microseconds(micros));
      if (!WireFormatLite::SkipField(&in, tag)) break;
    }
  return Error(Errc::internal, "search: the answer is no page of hits");
}

struct Took {
  Nanos all;
  Nanos inside;  // time inside the daemon
};

Task<Result<Took>> search(client::Client& client, std::string query) {
  auto message = request_for(std::move(query));
  const auto began = now();
  REEF_CO_TRY(const auto answer, co_await client.request(std::move(message),
                                                         client::Client::Repeat::never, kPatience));
  if (!answer.has_search_results())
    co_return Error(Errc::internal, "search: " + answer.ShortDebugString());
  co_return Took{now() - began, std::chrono::microseconds(answer.search_results().microseconds())};
}

double mib_below(const std::string& directory) {
  std::uintmax_t bytes = 0;
  std::error_code gone;  // the file may be gone by now
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory))
    if (const auto size = entry.file_size(gone); !gone) bytes += size;
  return static_cast<double>(bytes) / kMiB;
}

// Waits until the merges after a rebuild are done: until nothing was written for longer than the
// daemon's delay before it tidies.
Status wait_for_merges(const std::string& index) {
  constexpr std::chrono::milliseconds kLook{250};
  constexpr int kLooks = 48;
  auto size = mib_below(index);
  for (int same = 0; same < kLooks; ++same) {
    REEF_CHECK(check_interrupted());
    std::this_thread::sleep_for(kLook);
    if (const auto now = mib_below(index); now != std::exchange(size, now)) same = -1;
  }
  return Ok{};
}

// Sends one query after the other, as with the other engines.
Status ask_in_a_row(const daemon::Home& home, const std::vector<std::string>& queries,
                    DaemonSearches& out) {
  REEF_TRY(auto connection, PlainConnection::connect(home));
  std::vector<std::string> frames;
  for (const auto& query : queries)
    frames.push_back(transport::make_frame(request_for(query).SerializeAsString()));
  Rounds received(queries.size()), inside(queries.size());
  for (std::size_t round = 0; round <= kQueryRounds; ++round)
    for (std::size_t q = 0; q < frames.size(); ++q) {
      const auto began = now();
      REEF_TRY(const auto payload, connection.ask(frames[q]));
      const auto took = now() - began;
      REEF_TRY(const auto daemon, inside_of(payload));
      REEF_CHECK(check_interrupted());
      if (round == 0) continue;
      received.add(q, took);
      inside.add(q, daemon);
    }
  out.received = received.medians();
  out.inside = inside.medians();
  return Ok{};
}

Task<Status> ask_all(Executor loop, const daemon::Home& home,
                     const std::vector<std::string>& queries, DaemonSearches& out) {
  client::Client client(loop, endpoint_of(home));
  REEF_CO_CHECK(co_await client.connect());
  // After the first round nothing has to be read from disk or checked any more.
  Rounds all(queries.size()), inside(queries.size());
  for (std::size_t round = 0; round <= kQueryRounds; ++round)
    for (std::size_t q = 0; q < queries.size(); ++q) {
      REEF_CO_TRY(const auto took, co_await search(client, queries[q]));
      REEF_CO_CHECK(check_interrupted());
      if (round == 0) continue;
      all.add(q, took.all);
      inside.add(q, took.inside);
    }
  out.as_objects = all.medians();
  out.inside_unhurried = inside.medians();
  client.close();
  co_return Ok{};
}

// Measures from before the start until the first answer.
Result<Nanos> start_and_ask(const daemon::Home& home, const std::string& query,
                            std::optional<RunningDaemon>& daemon) {
  const auto began = now();
  REEF_TRY(auto started, start_daemon(home));
  daemon.emplace(std::move(started));
  REEF_CHECK(run_on_loop([&](Executor loop) -> Task<Status> {
    client::Client client(loop, endpoint_of(home));
    REEF_CO_CHECK(co_await client.connect());
    REEF_CO_TRY(auto took, co_await search(client, query));
    static_cast<void>(took);
    client.close();
    co_return Ok{};
  }));
  return now() - began;
}

}  // namespace

Result<DaemonSearches> measure_daemon(const Corpus& corpus, const std::string& scratch,
                                      const std::vector<std::string>& queries) {
  const daemon::Home home{scratch + "/home"};
  REEF_CHECK(make_home(home));
  PosixFiles files;
  REEF_CHECK(make_directories(files, home.sessions()));
  DaemonSearches out;
  REEF_TRY(out.text_mib, write_sessions(corpus, home.sessions()));
  {
    // Makes the catalog first, so that the second start has only the index to make.
    REEF_TRY(auto first, start_daemon(home));
    first.process.stop();
    std::filesystem::remove_all(home.index());
  }
  {
    std::optional<RunningDaemon> daemon;
    REEF_TRY(out.rebuild, start_and_ask(home, queries.front(), daemon));
    REEF_CHECK(wait_for_merges(home.index()));
    settle();
    REEF_CHECK(ask_in_a_row(home, queries, out));
    REEF_CHECK(run_on_loop([&](Executor loop) { return ask_all(loop, home, queries, out); }));
    REEF_TRY(const auto used, resident(daemon->process.pid()));
    out.resident_mib = used.all_mib;
    out.anonymous_mib = used.anonymous_mib;
  }
  out.index_mib = mib_below(home.index());
  std::array<Nanos, kStarts> starts;
  for (auto& start : starts) {
    std::optional<RunningDaemon> daemon;
    REEF_TRY(start, start_and_ask(home, queries.front(), daemon));
    REEF_TRY(const auto used, resident(daemon->process.pid()));
    out.resident_restarted_mib = used.all_mib;
  }
  std::sort(starts.begin(), starts.end());
  out.restart = starts[kStarts / 2];
  out.slowest_restart = starts.back();
  return out;
}

}  // namespace reef::benchmarks
