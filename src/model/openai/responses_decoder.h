// Decodes the stream of Responses: items grow by deltas and are repeated whole when done. Internal
// to openai/.
#pragma once

#include <map>
#include <string>

#include "model/openai/event_decoder.h"

namespace reef::model::openai {

class ResponsesDecoder final : public EventDecoder {
 public:
  using EventDecoder::EventDecoder;

 private:
  struct Item {
    std::size_t text_bytes = 0;  // size of the deltas so far
    std::size_t thinking_bytes = 0;
    std::int64_t summary_part = -1;  // the part that the last thought belonged to
    std::string arguments;
    bool arguments_done = false;
  };

  std::optional<Failure> take_event(const json::object& event, const DeltaSink& sink) override;
  std::optional<Failure> take_answer(const json::object& answer, const DeltaSink& sink) override;
  bool complete() const override { return completed_; }

  void open_item(std::int64_t number, const json::object& item, const DeltaSink& sink);
  // Takes from the whole item what the deltas left out.
  void close_item(std::int64_t number, const json::object& item, const DeltaSink& sink);
  void take_thought(std::int64_t number, const json::object& event, std::string_view part,
                    const DeltaSink& sink);
  void finish_arguments(std::int64_t number, std::string_view arguments);
  std::optional<Failure> close(const json::object& response, const DeltaSink& sink);
  void take_usage(const json::object& usage);

  std::map<std::int64_t, Item> items_;
  bool completed_ = false;
};

}  // namespace reef::model::openai
