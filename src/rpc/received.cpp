#include "rpc/received.h"

#include <fmt/format.h>

namespace reef::rpc {
namespace {

Item item_from(json::value value) {
  Item out;
  // The client must be able to tell which of its requests was refused.
  if (const auto* fields = value.if_object())
    if (const auto* id = fields->if_contains("id"); id && is_id(*id)) out.message.id = *id;
  auto message = message_from_value(std::move(value));
  if (message) {
    out.message = *std::move(message);
  } else {
    out.refusal = Refusal{kInvalidRequest, std::move(message).error().what};
  }
  return out;
}

Received refused(std::int64_t code, std::string why) {
  Received out;
  out.items.push_back({.message = {}, .refusal = Refusal{code, std::move(why)}});
  return out;
}

}  // namespace

Received take_apart(std::string_view text, std::size_t batch_max) {
  auto value = json::parse(text);
  if (!value) return refused(kParseError, std::move(value).error().what);
  Received out;
  auto* list = value->if_array();
  if (!list) {
    out.items.push_back(item_from(*std::move(value)));
    return out;
  }
  if (batch_max == 0) return refused(kInvalidRequest, "one message is expected, not a batch");
  if (list->empty()) return refused(kInvalidRequest, "a batch must not be empty");
  if (list->size() > batch_max)
    return refused(kInvalidRequest, fmt::format("a batch has at most {} messages", batch_max));
  out.batch = true;
  out.items.reserve(list->size());
  for (auto& value_of_one : *list) out.items.push_back(item_from(std::move(value_of_one)));
  return out;
}

}  // namespace reef::rpc
