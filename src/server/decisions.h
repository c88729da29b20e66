// Decisions and questions, as clients are shown them.
#pragma once

#include <string>

#include "protocol/protocol.h"

namespace reef::runtime {
struct Ask;
struct Decision;
}  // namespace reef::runtime

namespace reef::server {

void fill(protocol::Decision& out, const runtime::Decision& decision);
void fill_ask(protocol::AskUser& out, const std::string& id, const std::string& call_id,
              const runtime::Ask& ask);

}  // namespace reef::server
