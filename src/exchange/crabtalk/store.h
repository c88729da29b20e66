// CrabTalk 0.0.24 keeps everything in one file. Used only by the reader.
#pragma once

#include <string>

#include "base/files.h"
#include "exchange/exchange.h"

namespace reef::exchange {

// Reads the agents, notes, skills and conversations of the store at `path`.
Status read_crabtalk_store(Files& files, const std::string& path, Intake& intake);

}  // namespace reef::exchange
