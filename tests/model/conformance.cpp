#include "model/conformance.h"

#include <fmt/format.h>

#include "base/overload.h"

namespace reef::test {

std::vector<Backend> backends() {
  return {anthropic_backend(), google_backend(), bedrock_backend()};
}

model::Outcome decode(const model::Codec& codec, const std::vector<std::string>& pieces,
                      std::string* heard) {
  model::Request request;
  request.model = "m-1";
  const auto decoder = codec.decoder(request, {});
  const model::DeltaSink sink = [&](const model::Delta& delta) {
    if (heard) *heard += fmt::format("{}:{}\n", static_cast<int>(delta.kind), delta.text);
  };
  for (const auto& piece : pieces) {
    if (decoder->done()) break;
    if (auto failure = decoder->take(piece, sink)) return *std::move(failure);
  }
  return decoder->finish();
}

std::string describe(const model::Outcome& outcome) {
  if (const auto* failure = std::get_if<model::Failure>(&outcome))
    return fmt::format("{} {}: {}", model::name_of(failure->kind), failure->http_status,
                       failure->message);
  const auto& message = std::get<model::Reply>(outcome).message;
  auto out = fmt::format("{} by '{}'", session::name_of(message.stop_reason), message.model);
  for (const auto& block : message.content)
    out += std::visit(
        Overload{
            [](const session::TextBlock& b) { return fmt::format("\ntext '{}'", b.text); },
            [](const session::ThinkingBlock& b) {
              return fmt::format("\nthinking '{}' {}", b.thinking, b.signature);
            },
            [](const session::ToolCallBlock& b) {
              return fmt::format("\ncall {} {} {}", b.id, b.name, json::write(b.arguments));
            },
            [](const session::ImageBlock&) { return std::string("\nimage"); },
            [](const session::OtherBlock&) { return std::string("\nother"); },
        },
        block);
  const auto& usage = message.usage;
  return out + fmt::format("\nusage {} {} {} {} {}", usage.input, usage.output, usage.cache_read,
                           usage.cache_write, usage.reasoning);
}

}  // namespace reef::test
