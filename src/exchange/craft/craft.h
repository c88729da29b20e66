// Craft Agents: a reader of session folders, workspaces and bundles, and writers of both.
// docs/exchange.md says what is read, and what survives a way there and back.
#pragma once

#include <memory>
#include <string>

#include "base/files.h"
#include "exchange/exchange.h"

namespace reef::exchange {

// `path` is an application's folder (~/.craft-agent), a workspace, its sessions folder, the folder
// of one session or its session.jsonl, or a bundle. Returns errors of the path itself and of the
// intake; anything wrong inside is a problem.
Status read_craft(Files& files, const std::string& path, Intake& intake);
// Whether it looks like Craft's: something with a session in it, or a bundle.
bool is_craft(Files& files, const std::string& path);

// Writes sessions/<id>/session.jsonl, with the session's files beside it.
std::unique_ptr<Writer> craft_writer(Outlet& outlet);
// Writes <id>.json: the session and its files in one.
std::unique_ptr<Writer> craft_bundle_writer(Outlet& outlet);

}  // namespace reef::exchange
