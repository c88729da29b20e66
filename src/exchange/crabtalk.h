// CrabTalk: a reader of everything it ever kept conversations in, and a writer of its JSONL. What
// is read, and what survives a way there and back: docs/exchange.md.
#pragma once

#include <memory>
#include <string>

#include "base/files.h"
#include "exchange/exchange.h"

namespace reef::exchange {

// `path` is a CrabTalk folder (~/.crabtalk), its sessions folder, the folder of one session, or one
// JSONL file. Errors are about the path itself and the intake; what is wrong inside is a problem.
Status read_crabtalk(Files& files, const std::string& path, Intake& intake);

// One JSONL file a session: sessions/<agent>_<sender>_<n>.jsonl.
std::unique_ptr<Writer> crabtalk_writer(Outlet& outlet);

}  // namespace reef::exchange
