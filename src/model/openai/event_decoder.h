// The common part of both stream decoders: server-sent events of JSON, or one JSON answer from
// servers that do not stream. Internal to openai/. Loop thread.
#pragma once

#include <string>

#include "http/sse.h"
#include "model/codec.h"
#include "model/openai/common.h"
#include "model/reply_builder.h"

namespace reef::model::openai {

class EventDecoder : public Decoder {
 public:
  EventDecoder(const Request& request, ToolNames names)
      : request_(request), ids_(request), builder_(std::move(names)) {}

  std::optional<Failure> take(std::string_view bytes, const DeltaSink& sink) override;
  bool done() const override { return done_; }
  Outcome finish() override;

 protected:
  // Takes the object of one event.
  virtual std::optional<Failure> take_event(const json::object& event, const DeltaSink& sink) = 0;
  // Takes the whole answer of a server that did not stream.
  virtual std::optional<Failure> take_answer(const json::object& answer, const DeltaSink& sink) = 0;
  // Tells, after the API's end mark or the end of the body, whether the reply is whole.
  virtual bool complete() const = 0;

  const Request& request_;
  MadeUpIds ids_;
  ReplyBuilder builder_;
  session::StopReason reason_ = session::StopReason::stop;
  bool has_usage_ = false;
  bool done_ = false;

 private:
  enum class Form : std::uint8_t { unknown, events, answer };

  std::optional<Failure> take_data(std::string_view data, const DeltaSink& sink);
  std::optional<Failure> take_whole(const DeltaSink& sink);
  // Returns how many of these bytes belong to the object of the answer; npos when all do and it is
  // not closed yet.
  std::size_t end_in(std::string_view bytes);

  Form form_ = Form::unknown;
  bool marked_ = false;  // [DONE] was received
  http::sse::Parser parser_;
  std::string answer_;
  std::size_t depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
};

}  // namespace reef::model::openai
