#!/usr/bin/env python3
"""Fails on an include that looks up the house, and on includes style.md keeps out.

The order is that of docs/architecture.md. A library may include itself and what stands in its line.
"""
import pathlib
import re
import sys

# Library -> what it may include. Later rooms are listed already, so that they open where planned.
ALLOWED = {
    "base": "",
    "session": "base",
    "store": "session base",
    "exchange": "memory session base",
    "organise": "session base",
    "search": "base",
    "recall": "search session base",
    "memory": "search session base",
    "process": "base",
    "shell": "base",
    "skills": "base",
    "http": "base",
    "component": "base",
    "oauth": "http session base",
    "mcp": "oauth http process base",
    "context": "session base",
    "model": "http search session base",
    "runtime": "context model http mcp memory search session base",
    "bus": "runtime model http mcp memory search context session base",
    "hooks": "bus skills runtime model mcp http memory recall search session process shell base",
    "protocol": "base",
    "transport": "protocol base",
    "server": "bus skills context process hooks runtime model mcp oauth http memory recall search exchange organise session protocol base",
    "client": "transport protocol base",
    "policy": "client protocol base",
    "daemon": "bus skills policy client server transport protocol hooks runtime model mcp oauth http memory recall search exchange organise "
    "process shell store session base",
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
    "curl/": ("src/http/",),
    "spdlog/": ("src/base/log.cpp",),
}

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]')


def problems(root):
    found = []
    for path in sorted(p for top in ("src", "apps", "tests", "benchmarks", "fuzz") for p in (root / top).rglob("*")):
        if path.suffix not in (".h", ".cpp"):
            continue
        name = path.relative_to(root).as_posix()
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".h" and "#pragma once" not in text:
            found.append(f"{name}:1: a header needs #pragma once")
        library = name.split("/")[1] if name.startswith("src/") else None
        if library and library not in ALLOWED:
            found.append(f"{name}:1: '{library}' is no room of the house (scripts/check_layers.py)")
            continue
        for number, line in enumerate(text.splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            quote, target = match.groups()
            for banned, places in RESTRICTED.items():
                if (target == banned or (banned.endswith("/") and target.startswith(banned))) and not name.startswith(places or "\0"):
                    found.append(f"{name}:{number}: <{target}> does not belong here")
            if library and quote == '"':
                room = target.split("/")[0]
                if room != library and room not in ALLOWED[library].split():
                    found.append(f"{name}:{number}: {library}/ must not include {target}: it stands above or beside")
    return found


if __name__ == "__main__":
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    found = problems(root)
    for line in found:
        print(line)
    print(f"{len(found)} problem(s)")
    sys.exit(1 if found else 0)
