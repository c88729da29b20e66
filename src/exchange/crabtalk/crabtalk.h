// CrabTalk: a reader for every store it ever kept conversations in, and a writer of its JSONL.
// docs/exchange.md says what is read, and what survives a way there and back.
#pragma once

#include <memory>
#include <string>

#include "base/files.h"
#include "exchange/exchange.h"

namespace reef::exchange {

// `path` is a CrabTalk folder (~/.crabtalk), its sessions folder, the folder of one session, or one
// JSONL file. Returns errors of the path itself and of the intake; anything wrong inside is a
// problem.
Status read_crabtalk(Files& files, const std::string& path, Intake& intake);
// Whether it looks like CrabTalk's: its folder, one with conversations, or one of its files.
bool is_crabtalk(Files& files, const std::string& path);

// Writes one JSONL file a session: sessions/<agent>_<sender>_<n>.jsonl.
std::unique_ptr<Writer> crabtalk_writer(Outlet& outlet);

}  // namespace reef::exchange
