#include "model/tokens.h"

namespace reef::model {

std::int64_t estimate_tokens(std::string_view text) {
  return static_cast<std::int64_t>((text.size() + 3) / 4);
}

std::int64_t estimate_tokens(const Request& request) {
  auto total = estimate_tokens(request.system);
  for (const auto& message : request.messages) total += estimate_tokens(session::text_of(*message));
  return total;
}

}  // namespace reef::model
