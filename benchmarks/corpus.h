// Invented agent conversations: words by Zipf's law, topics that come in bursts, prose, code,
// listings and paths. The same seed gives the same texts; a smaller corpus is the start of a larger
// one.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace reef::benchmarks {

struct CorpusMessage {
  std::size_t session = 0;
  std::size_t index = 0;  // in its session
  std::uint8_t role = 0;  // 2 user, 3 tool, 4 assistant: the fields of the index
  std::int64_t time_ms = 0;
  std::string_view text;
};

class Corpus {
 public:
  explicit Corpus(std::size_t messages);

  std::size_t size() const { return messages_; }
  // Visits the messages session by session.
  void each(const std::function<void(const CorpusMessage&)>& f) const;
  // Returns 200 queries of one to four words: rare, middling, common and mixed ones in turn, by
  // their frequency in the first 10,000 messages.
  std::vector<std::vector<std::string>> queries() const;

 private:
  std::size_t messages_;
  std::vector<std::string> words_;    // by rank
  std::vector<std::uint32_t> table_;  // ranks, each as often as it is likely
};

}  // namespace reef::benchmarks
