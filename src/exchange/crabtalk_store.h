// What CrabTalk 0.0.24 keeps, all of it in one file. The reader's own.
#pragma once

#include <string>

#include "base/files.h"
#include "exchange/exchange.h"

namespace reef::exchange {

// Agents, notes, skills and conversations of the store at `path`.
Status read_crabtalk_store(Files& files, const std::string& path, Intake& intake);

}  // namespace reef::exchange
