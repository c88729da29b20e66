// Decodes the stream of Chat Completions, from OpenAI and others. Internal to openai/.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/openai/event_decoder.h"

namespace reef::model::openai {

class ChatDecoder final : public EventDecoder {
 public:
  using EventDecoder::EventDecoder;

 private:
  struct Call {
    std::int64_t index = -1;  // the server's number; -1 when it sends none
    std::string id;
  };

  std::optional<Failure> take_event(const json::object& event, const DeltaSink& sink) override;
  std::optional<Failure> take_answer(const json::object& answer, const DeltaSink& sink) override;
  bool complete() const override { return finished_; }

  void take_delta(const json::object& delta, const DeltaSink& sink);
  void take_content(const json::value& content, const DeltaSink& sink);
  void take_call(const json::object& call, const DeltaSink& sink);
  // Returns the number of the call that this piece belongs to.
  std::int64_t place(std::optional<std::int64_t> index, std::string_view id);
  void say(std::string_view text, const DeltaSink& sink);
  void think(std::string_view text, const DeltaSink& sink);
  void take_usage(const json::object& usage);
  std::optional<Failure> take_reason(std::string_view reason);

  bool finished_ = false;  // a finish_reason was received
  std::vector<Call> calls_;
  // The newest calls of each kind, as indices into calls_, so that a lookup is fast among
  // thousands.
  std::map<std::int64_t, std::size_t> by_index_;
  std::optional<std::size_t> without_index_;
  std::map<std::string, std::size_t, std::less<>> by_id_;
  std::set<std::size_t> without_id_;
  // A new block begins whenever text and thinking alternate.
  enum class Said : std::uint8_t { nothing, text, thinking };
  Said last_ = Said::nothing;
  std::int64_t block_ = 0;
};

}  // namespace reef::model::openai
