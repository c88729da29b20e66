// Tokens and cost, as clients are shown them.
#pragma once

#include <string>

#include "protocol/protocol.h"
#include "session/usage.h"

namespace reef::server {

void fill(protocol::UsageRow& out, const std::string& name, const session::TokenTotals& totals);

}  // namespace reef::server
