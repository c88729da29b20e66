// Feeds a chunk decoder bytes from outside: it must not crash, any cut must read the same, and the
// reply must equal what was streamed.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

#include "model/codec.h"

namespace reef::model {

inline Request fuzz_request() {
  Request request;
  request.model = "m";
  request.tools = {{"read.file", "", {{"type", "object"}}},
                   {"run",
                    "",
                    {{"type", "object"},
                     {"properties", json::object{{"env", json::object{{"type", "object"}}}}}}}};
  return request;
}

inline std::string decoded(const Codec& codec, std::string_view bytes, std::size_t step) {
  const auto request = fuzz_request();
  const auto decoder = codec.decoder(request, {});
  std::string said, thought;
  const DeltaSink sink = [&](const Delta& delta) {
    if (delta.text.empty()) std::abort();
    if (delta.kind == Delta::Kind::text) said += delta.text;
    if (delta.kind == Delta::Kind::thinking) thought += delta.text;
  };
  while (!bytes.empty() && !decoder->done()) {
    const auto piece = bytes.substr(0, step);
    bytes.remove_prefix(piece.size());
    if (const auto failure = decoder->take(piece, sink)) return failure->message + said;
  }
  const auto outcome = decoder->finish();
  if (const auto* failure = std::get_if<Failure>(&outcome)) return failure->message + said;
  const auto& message = std::get<Reply>(outcome).message;
  std::string text, thinking;
  for (const auto& block : message.content) {
    if (const auto* one = std::get_if<session::TextBlock>(&block)) text += one->text;
    if (const auto* one = std::get_if<session::ThinkingBlock>(&block)) thinking += one->thinking;
    if (const auto* one = std::get_if<session::ToolCallBlock>(&block))
      if (one->id.empty() || one->name.empty()) std::abort();
  }
  // Blocks may be interleaved, so only the sizes can be compared.
  if (text.size() != said.size() || thinking.size() != thought.size()) std::abort();
  return json::write(session::to_json(message));
}

inline void fuzz_decoder(const Codec& codec, const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto whole = decoded(codec, bytes, size + 1);
  if (decoded(codec, bytes, 1) != whole || decoded(codec, bytes, 7) != whole) std::abort();
  static_cast<void>(codec.failure(400, {}, bytes));
  static_cast<void>(codec.decode_list(bytes));
}

}  // namespace reef::model
