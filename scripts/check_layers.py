#!/usr/bin/env python3
"""Fails on an include that looks up the house, on includes style.md keeps out, and on a room that opens files itself or
asks the system what time it is. What CMake links a room with are the rooms it includes something of.

The order is that of docs/architecture.md. A library may include itself and what stands in its line. What a home holds is reached
through session/transcripts.h, session/journal.h and session/documents.h: only store/fs and base open its files. Whoever else opens
files stands in FILES with the reason.
"""
import collections
import pathlib
import re
import sys

import include_graph

# Room -> the rooms it includes something of, the nearest first: exactly those, so that the map is the land. Programs are fenced, too.
ALLOWED = {
    "base": "",
    "render": "base",
    "session": "base",
    "store": "session base",
    "exchange": "memory session render base",
    "organise": "session base",
    "search": "base",
    "recall": "search session base",
    "memory": "search session base",
    "process": "base",
    "shell": "base",
    "skills": "base",
    "http": "base",
    "http_server": "base",
    "rpc": "base",
    "component": "http_server rpc base",
    "oauth": "http_server http session base",
    "mcp": "oauth http rpc process base",
    "context": "session base",
    "model": "http session base",
    "local": "model search session base",
    "runtime": "local model context mcp memory session base",
    "bus": "runtime session base",
    "hooks": "bus runtime model mcp skills shell process memory recall session render base",
    "protocol": "base",
    "transport": "protocol base",
    "server": "protocol bus runtime model mcp oauth skills process memory recall organise exchange session base",
    "client": "transport protocol base",
    "policy": "client base",
    "daemon": "policy server transport hooks bus runtime local model mcp oauth skills memory recall organise exchange store session base",
    "apps/reef": "daemon policy client protocol skills memory exchange session base",
    "apps/reef_cron": "daemon client component base",
    "apps/reefd": "daemon",
}

# Include -> where it may stand (path prefixes); () is nowhere.
RESTRICTED = {
    "regex": (),
    "boost/asio.hpp": (),
    "boost/beast.hpp": (),
    "nlohmann/json.hpp": (),
    "iostream": ("apps/", "tests/", "benchmarks/", "fuzz/"),
    "CLI/CLI.hpp": ("apps/", "benchmarks/main.cpp"),
    "toml++/toml.h": ("src/bus/", "src/daemon/", "src/organise/", "src/exchange/", "tests/exchange/definitions_test.cpp"),
    "boost/beast/": ("src/http_server/",),
    "curl/": ("src/http/",),
    "spdlog/": ("src/base/log.cpp",),
    # Bytes written by hand: what is found is written so, and frames take it as it is.
    "protocol/encoder.h": ("src/server/search_answer.cpp", "src/transport/connection.cpp", "tests/protocol/"),
    "protocol/encoded.h": ("src/protocol/", "src/server/search_answer.", "src/transport/connection.cpp", "tests/"),
}

# Path prefix -> why its files may be opened there. One that nothing needs any more is a problem, too.
FILES = {
    "src/base/": "where the system calls are",
    "src/store/fs/": "a home that is a folder",
    "src/store/mem/mem_transcripts.cpp": "takes in sessions that an import has staged on a disk",
    # Derived, or of the running process.
    "src/search/": "the index is derived, and mapped into memory",
    "src/recall/": "opens the index, and looks how much memory the process has",
    "src/process/": "descriptors of children and their keepers, the sandbox",
    "src/transport/": "sockets, and whose process is at the other end",
    "src/component/": "programs of their own beside a daemon; they tell their port in run/",
    "src/model/key.cpp": "the pipe of a command that tells a key",
    "src/daemon/components.cpp": "the ports of components in run/",
    "src/daemon/config.": "config.toml is the process's, it says which store there is",
    "src/daemon/config_changes.": "config.toml",
    "src/daemon/daemon.cpp": "the disk of the home, before there is anything else",
    "src/daemon/engine.": "composition: the disk everybody shares is made here",
    "src/daemon/home.": "the folders of the process, and whose the home is",
    "src/daemon/own_process.": "how much memory the process has",
    "src/daemon/last_resort.": "a descriptor that is no file",
    "src/daemon/readiness.cpp": "a socket of the service manager",
    "src/daemon/listeners.": "sockets and the token in run/",
    "src/daemon/setup.": "scripts of scripted models, where config.toml says",
    # Files of others.
    "src/daemon/crabtalk_door.": "CrabTalk's folder, for its clients",
    "src/exchange/archive/spool.": "a file without a name, gone with its export",
    "src/exchange/clawdbot/": "reads what another program wrote",
    "src/exchange/crabtalk/": "reads what another program wrote",
    "src/exchange/craft/": "reads what another program wrote",
    "src/exchange/definitions.": "the folder of a skill that comes from another program",
    "src/exchange/foreign_file.": "lines of another program's files",
    "src/exchange/import.": "the disk of the sources",
    "src/exchange/import_job.": "the disk of the sources",
    "src/exchange/pi/": "reads what another program wrote",
    "src/exchange/places.": "where other programs keep their sessions",
    "src/exchange/session_files.": "files beside another program's transcript",
    "src/exchange/sources.": "hands the readers the disk of the sources",
    "src/exchange/stag": "sessions that are not there yet: a folder the store takes in whole",
    "src/hooks/os/": "the tools of agents: the user's files, as the user's",
    "src/hooks/delegate/order.cpp": "where a worker is to work",
    "src/memory/dump.": "a folder the user names, for dump and load",
    "src/oauth/client.cpp": "a private key, where its user put it",
    "src/oauth/fetch.h": "a private key, where its user put it",
    "src/server/imports.cpp": "where other programs keep their sessions",
    "src/shell/danger.cpp": "where the paths in a command lead",
    "src/hooks/instructions/": "those of working directories",
    # Of a home that is a folder, because it is one.
    "src/exchange/archive/home_files.": "a backup of a folder takes what lies in it, also what is nobody's document, with its rights and times",
    "src/skills/": "a skill is a folder of programs that agents run by their path; the home's are looked for like those of configured folders",
}
OPENS = re.compile(
    r"#\s*include\s+(?:\"base/files\.h\"|<(?:fstream|filesystem|fcntl\.h)>)"
    r"|\bPosixFiles\b|(?<![\w:])(?:const )?Files&|\bstd::(?:[io]?fstream|filesystem)\b"
    r"|(?<![\w.>])(?:read_all|replace_atomically|make_directories|open_patiently|open_directory)\("
    r"|(?<![\w>])::(?:open|openat|creat|mkostemp|mkstemp|rename(?:at2?)?|unlinkat|mkdir(?:at)?|opendir)\("
    r"|\bfopen\(|\b(?:needs|parts)(?:_|\(\))?\.files\b"
)
# Path prefix -> why the system's time is asked for there. What waits on a loop counts by base/loop_time.h, and the time of day
# is told by a Clock, so that tests move both.
TIME = {
    "src/base/clock.": "the time of day",
    "src/base/loop_time.": "the time of loops",
    "src/base/alarm.": "the timer behind it",
    "src/base/notify.": "a timer that never rings, as a condition",
    "src/base/files.cpp": "a thread waits for a lease of another program",
    "src/base/helper.cpp": "a thread stays awake for a millisecond",
    "src/daemon/engine.": "composition: the clock everybody shares is made here",
    "src/hooks/os/walk.cpp": "how long a thread may work before it looks whether it is still wanted",
    "src/http/multi.": "libcurl counts by its own clock",
    "src/http_server/http.cpp": "the Date header",
    "src/model/key.cpp": "a thread waits in poll(2) for a command",
    "src/store/": "times of files, which the kernel tells; a thread looks twice at a line another program writes",
    "apps/": "programs: their clock is made there",
}
ASKS_TIME = re.compile(
    r"\b(?:steady|system|high_resolution)_clock::now\(|\b(?:steady|system)_timer\b|\bSystemClock\b"
    r"|\bthis_thread::sleep_|\bstd::time\(|\bclock_gettime\(|\bgettimeofday\("
)
# A type of its own that is called Files.
NOT_FILES = ("src/context/",)

LINKED = re.compile(r"^reef_(library|program)\(([\w-]+)([^)]*)\)", re.MULTILINE)
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]')


# `whole`: all of the house is there, so an exception nobody needs is found as well.
def problems(root, whole=False):
    found = []
    needed = set()  # of FILES
    timed = set()  # of TIME
    used = collections.defaultdict(set)  # room -> rooms
    for path in sorted(p for top in ("src", "apps", "tests", "benchmarks", "fuzz") for p in (root / top).rglob("*")):
        if path.suffix not in (".h", ".cpp"):
            continue
        name = path.relative_to(root).as_posix()
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".h" and "#pragma once" not in text:
            found.append(f"{name}:1: a header needs #pragma once")
        library = name.split("/")[1] if name.startswith("src/") else None
        room = library or ("/".join(name.split("/")[:2]) if name.startswith("apps/") else None)
        if room and room not in ALLOWED:
            found.append(f"{name}:1: '{room}' is no room of the house (scripts/check_layers.py)")
            continue
        opener = next((place for place in FILES if name.startswith(place)), None)
        timer = next((place for place in TIME if name.startswith(place)), None)
        for number, line in enumerate(text.splitlines(), 1):
            if library and not name.startswith(NOT_FILES) and OPENS.search(line.split("//")[0]):
                if opener:
                    needed.add(opener)
                else:
                    found.append(f"{name}:{number}: opens files; what a home holds is reached through session/documents.h")
            if room and ASKS_TIME.search(line.split("//")[0]):
                if timer:
                    timed.add(timer)
                else:
                    found.append(f"{name}:{number}: asks the system for the time; see base/loop_time.h and base/clock.h")
            match = INCLUDE.match(line)
            if not match:
                continue
            quote, target = match.groups()
            for banned, places in RESTRICTED.items():
                if (target == banned or (banned.endswith("/") and target.startswith(banned))) and not name.startswith(places or "\0"):
                    found.append(f"{name}:{number}: <{target}> does not belong here")
            if room and quote == '"':
                other = target.split("/")[0]
                if library != other and other in ALLOWED:
                    used[room].add(other)
                    if other not in ALLOWED[room].split():
                        found.append(f"{name}:{number}: {room}/ must not include {target}: it stands above or beside")
                elif library and library != other:
                    found.append(f"{name}:{number}: {target} is of no room of the house")
    for room, others in ALLOWED.items() if whole else ():
        for other in others.split():
            if other not in used[room]:
                found.append(f"scripts/check_layers.py: {room}/ includes nothing of {other}/; take the edge away")
    for place in FILES if whole else ():
        if place not in needed:
            found.append(f"scripts/check_layers.py: nothing in {place} opens files; take the exception away")
    for place in TIME if whole else ():
        if place not in timed:
            found.append(f"scripts/check_layers.py: nothing in {place} asks for the time; take the exception away")
    if whole:
        found += linked_otherwise(root)
    return found


# Rooms whose CMakeLists.txt links them with others than those they include something of.
def linked_otherwise(root):
    found = []
    for path in sorted([*root.glob("src/*/CMakeLists.txt"), *root.glob("apps/CMakeLists.txt")]):
        for kind, name, rest in LINKED.findall(path.read_text(encoding="utf-8")):
            room = name if kind == "library" else "apps/" + name.replace("-", "_")
            deps = re.search(r"\bDEPS\s+([a-z_\s]+)", rest)
            deps = set(deps.group(1).split()) if deps else set()
            wanted = set(ALLOWED.get(room, "").split())
            for other in sorted(deps ^ wanted):
                what = "is not included" if other in deps else "is included and not linked"
                found.append(f"{path.relative_to(root).as_posix()}: DEPS of {name}: {other}/ {what}")
    return found


if __name__ == "__main__":
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    print(include_graph.table(root), end="")
    found = problems(root, whole=True)
    for line in found:
        print(line)
    print(f"{len(found)} problem(s)")
    if include_graph.main(["--check", str(root)]) != 0:
        found.append("the page")
    sys.exit(1 if found else 0)
