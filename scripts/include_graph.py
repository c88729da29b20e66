#!/usr/bin/env python3
"""The include graph of the house as a table: which rooms use which, and how far their widest header reaches.

usage: include_graph.py [ROOT]            prints the table
       include_graph.py --check [ROOT]    fails when docs/architecture.md carries another one
       include_graph.py --write [ROOT]    puts the table into docs/architecture.md
"""
import collections
import functools
import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
BEGIN, END = "<!-- include graph -->\n", "<!-- /include graph -->\n"
PAGE = "docs/architecture.md"


def files_of(root):
    """Each C++ file of src/ and apps/ with the files it includes; names as include lines spell them, apps with theirs."""
    found = {}
    for top in ("src", "apps"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix in (".h", ".cpp"):
                name = path.relative_to(root / "src" if top == "src" else root).as_posix()
                found[name] = (path, path.read_text(encoding="utf-8"))
    out = {}
    for name, (path, text) in found.items():
        out[name] = set()
        for target in INCLUDE.findall(text):
            beside = f"{name.rsplit('/', 1)[0]}/{target}"
            if target in found:
                out[name].add(target)
            elif beside in found:
                out[name].add(beside)
    return out


def room_of(name):
    return "apps" if name.startswith("apps/") else name.split("/")[0]


def edges(includes):
    """Room -> the other rooms it includes something of."""
    out = collections.defaultdict(set)
    for name, targets in includes.items():
        out[room_of(name)] |= {room_of(target) for target in targets}
        out[room_of(name)].discard(room_of(name))
    return out


def rows(root):
    includes = files_of(root)

    @functools.cache
    def behind(name):
        # Headers hold no cycles: each must compile by itself.
        reached = set(includes[name])
        for target in includes[name]:
            reached |= behind(target)
        return frozenset(reached)

    reach = collections.Counter(target for name in includes for target in behind(name))
    used = edges(includes)
    out = []
    for room in sorted(used):
        headers = [name for name in includes if room_of(name) == room and name.endswith(".h")]
        widest = max(headers, key=lambda name: (reach[name], name), default="")
        users = sum(room in targets for targets in used.values())
        out.append((room, users, len(used[room]), widest, reach[widest] if widest else 0))
    return out, len(includes)


def table(root):
    found, count = rows(root)
    lines = ["| room | used by rooms | uses rooms | its widest header | files it reaches, of " + str(count) + " |", "|---|---|---|---|---|"]
    lines += [f"| {room} | {users} | {uses} | `{widest}` | {reached} |" for room, users, uses, widest, reached in found]
    return "\n".join(lines) + "\n"


def carried(page):
    begin, end = page.find(BEGIN), page.find(END)
    return page[begin + len(BEGIN) : end] if 0 <= begin < end else None


def main(arguments):
    verb = arguments.pop(0) if arguments and arguments[0].startswith("--") else ""
    root = pathlib.Path(arguments[0] if arguments else ".").resolve()
    now = table(root)
    if not verb:
        print(now, end="")
        return 0
    path = root / PAGE
    page = path.read_text(encoding="utf-8")
    then = carried(page)
    if then is None:
        print(f"{PAGE} has no place for the table: {BEGIN.strip()} ... {END.strip()}")
        return 1
    if verb == "--write":
        path.write_text(page.replace(BEGIN + then + END, BEGIN + now + END), encoding="utf-8")
    elif then != now:
        print(f"{PAGE} carries another include graph; scripts/include_graph.py --write puts this one there:\n{now}", end="")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
