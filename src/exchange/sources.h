// The programs whose sessions Reef reads and writes, one row each, and the formats that are ours
// alone. Whatever asks for names, readers, formats or places asks this table: a program more is its
// folder and its row in sources.cpp. Any thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/files.h"
#include "exchange/exchange.h"

namespace reef::exchange {

// A format sessions can be written in.
struct Format {
  std::string_view name;
  bool one_file = true;       // a session is one file, perhaps with others beside it; else a folder
  bool oldest_first = false;  // its names count up, so sessions are written oldest first
  bool joinable = false;  // the files of several sessions can be joined into one of the same format
  // One instance writes one export; the outlet must outlive it.
  std::unique_ptr<Writer> (*make)(Outlet& outlet);
};

// A folder in which a program keeps its sessions unless it is told otherwise.
struct WellKnown {
  std::string_view variable;    // the environment variable that names another folder
  std::string_view below_home;  // where it is without the variable; empty: nowhere
};

struct Source {
  std::string_view name;  // on the command line, on the wire, and as `source` of its sessions
  std::span<const std::string_view> aliases = {};  // other names that are understood
  // Returns errors of the path itself and of the intake; anything wrong inside is a problem.
  Status (*read)(Files& files, const std::string& path, Intake& intake);
  // Whether the path looks like this program's, told by the names of a few files and by one line.
  bool (*recognises)(Files& files, const std::string& path);
  std::span<const Format> formats;
  std::span<const WellKnown> places;
  // The sessions are here in such a place: browsers, packages and media may lie beside it.
  std::string_view sessions_folder;
  // It has a store that tells keys and models of its sessions. They are taken over when a person
  // names the store (Head::of_store); a session's own file only claims them.
  bool has_store;
};

std::span<const Source> sources();
// By name or alias. An unknown name is invalid; the error lists the names.
Result<const Source*> find_source(std::string_view name);

// The first source that recognises the path; nullptr when none does.
const Source* recognise(Files& files, const std::string& path);

// Returns the formats of every source, and our own.
std::span<const Format> formats();
// An unknown name is invalid; the error lists the formats.
Result<const Format*> find_format(std::string_view name);

}  // namespace reef::exchange
