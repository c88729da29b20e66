#include "transcripts.h"

#include <fmt/format.h>

#include "talk.h"

namespace reef::benchmarks {
namespace {

constexpr std::size_t kTopics = 100;
constexpr std::size_t kSessionsPerDay = 500;
constexpr int kTurns = 2;
constexpr std::size_t kEntryIdDigits = 12;
// 2026-01-05 08:00 UTC.
constexpr TimePoint kFirstDay{std::chrono::milliseconds(1'767'600'000'000)};
// Shares no factor with the number of ids in a day, so that neighbouring sessions differ.
constexpr std::uint64_t kIdStep = 7'919;

TimePoint time_of(std::size_t number) {
  return kFirstDay + std::chrono::days(number / kSessionsPerDay) +
         std::chrono::minutes(number % kSessionsPerDay);
}

}  // namespace

session::Draft user_says(std::string text) {
  session::UserMessage message;
  message.content.emplace_back(session::TextBlock{std::move(text)});
  return session::draft_message(session::Message(std::move(message)));
}

session::Draft assistant_says(std::string text) {
  session::AssistantMessage message;
  message.content.emplace_back(session::TextBlock{std::move(text)});
  message.api = "scripted";
  message.provider = "s";
  message.model = "x";
  message.usage.input = 1'200;
  message.usage.output = 40;
  return session::draft_message(session::Message(std::move(message)));
}

TranscriptText::TranscriptText(const session::SessionId& id, TimePoint time, Random& random)
    : time_(time), random_(random) {
  session::Header header;
  header.id = id.text();
  header.time = time;
  header.cwd = "/home/reef/harbour";
  bytes_ = session::header_line(header);
}

session::EntryId TranscriptText::add(session::Draft draft) {
  time_ += std::chrono::milliseconds(1);
  session::EntryId id{random_.hex(kEntryIdDigits)};
  bytes_ += session::entry_line(session::make_entry(std::move(draft), id, leaf_, time_));
  leaf_ = id;
  return id;
}

Status write_transcript(const std::string& sessions, const session::SessionId& id,
                        std::string_view bytes) {
  PosixFiles files;
  const auto folder = sessions + "/" + id.text();
  REEF_CHECK(files.make_directory(folder));
  REEF_TRY(const Fd fd, files.open(folder + "/session.jsonl", Files::Open::create));
  return write_all(files, fd.get(), bytes);
}

session::SessionId small_session_id(std::size_t number) {
  const auto choice = number * kIdStep % session::session_id_choices();
  return session::make_session_id(time_of(number), choice, 1);
}

std::string topic_of(std::size_t number) {
  return fmt::format("topic {:02}", number % kTopics);
}

std::string small_transcript(std::size_t number) {
  SeededRandom random(number);
  const auto time = time_of(number);
  TranscriptText text(small_session_id(number), time, random);
  const auto sender = fmt::format("user-{}", number);
  text.add(session::draft_meta(json::object{{"key", fmt::format("agent:{}:{}", kAgent, sender)},
                                            {"boundAt", time.time_since_epoch().count()},
                                            {"agent", kAgent},
                                            {"sender", sender},
                                            {"source", "native"}}));
  if (number % kLabelledEvery == 0)
    text.add(
        session::draft_meta(json::object{{"sessionStatus", "todo"}, {"labels", json::array{"x"}}}));
  for (int turn = 0; turn < kTurns; ++turn) {
    text.add(user_says(fmt::format("On {}: {}", topic_of(number), kUserText)));
    text.add(assistant_says(std::string(kReplyText)));
  }
  return text.bytes();
}

}  // namespace reef::benchmarks
