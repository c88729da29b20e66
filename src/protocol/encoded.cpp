#include "protocol/encoded.h"

#include "base/assert.h"

namespace reef::protocol {

ServerMessage parse(const Encoded& encoded) {
  ServerMessage message;
  const auto* field = ServerMessage::descriptor()->FindFieldByNumber(encoded.kind);
  REEF_ASSERT(field && field->message_type());
  auto* variant = message.GetReflection()->MutableMessage(&message, field);
  if (parse(*variant, encoded.bytes)) return message;
  return make_error(reef::Error(Errc::internal, "the answer cannot be read: " + field->name()));
}

Task<std::optional<Result<Encoded>>> EncodedAnswer::next_bytes() {
  if (!task_) co_return std::nullopt;
  auto task = *std::exchange(task_, std::nullopt);
  auto encoded = co_await std::move(task);
  if (encoded)
    REEF_ASSERT(std::find(kWrittenAsBytes.begin(), kWrittenAsBytes.end(), encoded->kind) !=
                kWrittenAsBytes.end());
  co_return std::move(encoded);
}

Task<std::optional<ServerMessage>> EncodedAnswer::next() {
  const auto encoded = co_await next_bytes();
  if (!encoded) co_return std::nullopt;
  if (!*encoded) co_return make_error(encoded->error());
  co_return parse(**encoded);
}

}  // namespace reef::protocol
