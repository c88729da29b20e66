"""Agents' memories: `reef memory`, its operations on the wire, and the file, read and written here by hand."""

import os
import random
import struct
import threading
import unittest
from pathlib import Path

from reefbox import (ALIAS_MEMORY, FORGET, GET_MEMORY, LIST_MEMORIES, LOAD_MEMORY, MEMORY_INFO, MEMORY_LOADED,
                     PONG, READ_MEMORY, RECALL, REMEMBER, RENAME_MEMORY, Home, field, message, request)

NOTE, ARCHIVE, TOPIC = 0, 1, 2
HEADER = b"CRMEM\0" + struct.pack("<IHI", 1, 0, 0)


# ---------------------------------------------------------------- CRMEM, from the RFC

def text(value):
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<I", len(data)) + data


def entry(id_, created, kind, name, content, aliases=()):
    return (struct.pack("<QQI", id_, created, kind) + text(name) + text(content) + struct.pack("<I", len(aliases)) +
            b"".join(map(text, aliases)))


def crmem(next_id, *entries):
    return HEADER + struct.pack("<QI", next_id, len(entries)) + b"".join(entries)


def parse(data):
    """(next id, [(id, created, kind, name, content, aliases)]) of a whole, valid file."""
    assert data[:16] == HEADER, data[:16]
    next_id, count = struct.unpack_from("<QI", data, 16)
    at = 28

    def take():
        nonlocal at
        (size,) = struct.unpack_from("<I", data, at)
        at += 4 + size
        return data[at - size:at].decode()

    out = []
    for _ in range(count):
        id_, created, kind = struct.unpack_from("<QQI", data, at)
        at += 20
        name, content = take(), take()
        (aliases,) = struct.unpack_from("<I", data, at)
        at += 4
        out.append((id_, created, kind, name, content, [take() for _ in range(aliases)]))
    assert at == len(data), "bytes behind the last entry"
    return next_id, out


WEEK = entry(4, 1776162225, ARCHIVE, "crab-alice-1-1", "They talked about the vault door.", ["week one"])
MIXED = crmem(9, entry(2, 1776162225, NOTE, "deploy", "The key is in the blue vault.", ["ship", "release"]), WEEK,
              entry(7, 1776162225, TOPIC, "topic", "readable"))
# CrabTalk keeps no order.
SHUFFLED = crmem(9, entry(7, 1776162225, NOTE, "seven", "x"), WEEK, entry(2, 1776162225, NOTE, "deploy", "y", ["ship"]))
HOSTILE = crmem(
    4242, entry(1, 0, NOTE, "", "no name"), entry(2, 2**64 - 1, NOTE, "../../etc/passwd", "\n\nx\r\n\n", ["..", "a\nb", " s "]),
    entry(3, 5, ARCHIVE, "n" * 5000, ""), entry(4, 5, NOTE, "<b>&amp;", "<div id=\"meta\">\n</div>", ["ship", "ship"]),
    entry(5, 5, NOTE, "Größe 日本", "ü\0", ["ship"]), entry(6, 5, TOPIC, ".x.", "y"), entry(2**60, 5, NOTE, "a/b", "z"))


def memory_file(home, agent="reef"):
    return home.file(f"memory/{agent}.crmem")


def read(home, agent="reef"):
    return Path(memory_file(home, agent)).read_bytes()


class MemoryTest(unittest.TestCase):
    def ok(self, home, *args, **more):
        done = home.reef("memory", *args, **more)
        self.assertEqual(done.code, 0, done)
        return done

    def json(self, home, *args, **more):
        return self.ok(home, *args, "--json", **more).json

    def fails(self, home, why, *args, code=1, **more):
        done = home.reef("memory", *args, **more)
        self.assertEqual(done.code, code, done)
        self.assertIn(why, done.err)
        if code == 1:
            self.assertEqual(done.err.count("\n"), 1, done.err)
        self.assertEqual(done.out, "")


class Commands(MemoryTest):
    def test_a_note_is_kept_found_changed_and_forgotten(self):
        with Home() as home:
            self.assertEqual(self.json(home, "ls"), [])
            self.assertFalse(os.path.exists(home.file("memory")), "an empty memory has no file")
            self.assertEqual(self.ok(home, "remember", "deploy", "The key is in the blue vault.", "--alias", "ship",
                                     "--alias", "ssh key").out, "remembered: deploy\n")
            made = self.json(home, "show", "ssh key")
            self.assertEqual(made["name"], "deploy")
            self.assertEqual(made["content"], "The key is in the blue vault.")
            self.assertEqual(made["aliases"], ["ship", "ssh key"])
            self.assertEqual((made["id"], made["kind"], made["bytes"]), (1, "note", 29))
            self.ok(home, "remember", "coffee", "-", stdin="black\nno sugar\n")
            listed = self.json(home, "ls")
            self.assertEqual([(e["name"], e["preview"]) for e in listed],
                             [("deploy", "The key is in the blue vault."), ("coffee", "black no sugar")])
            self.assertEqual(self.json(home, "show", "coffee")["content"], "black\nno sugar")
            (hit,) = self.json(home, "recall", "where", "was", "the", "VAULT")
            self.assertEqual(hit["name"], "deploy")
            self.assertGreater(hit["score"], 0)
            self.assertEqual(self.json(home, "recall", "unheard"), [])
            self.assertEqual(self.json(home, "rename", "ship", "rollout")["name"], "rollout")
            self.fails(home, "no entry named 'deploy'", "show", "deploy")
            self.assertEqual(self.json(home, "alias", "rollout", "go live")["aliases"], ["ship", "ssh key", "go live"])
            self.assertEqual(self.json(home, "alias", "rollout", "--remove", "ship")["aliases"], ["ssh key", "go live"])
            kept = self.json(home, "remember", "rollout", "Ask Anna.")
            self.assertEqual((kept["id"], kept["aliases"]), (1, ["ssh key", "go live"]))
            self.assertEqual(self.json(home, "forget", "go live"), {"ok": True})
            self.assertEqual([e["name"] for e in self.json(home, "ls")], ["coffee"])
            self.assertEqual(self.ok(home, "ls").out.count("\n"), 1)
            self.assertIn("no sugar", self.ok(home, "show", "coffee").out)

    def test_the_file_is_the_rfcs_byte_for_byte(self):
        with Home() as home:
            self.ok(home, "remember", "deploy", "grüße\n", "--alias", "ship", "--alias", "release")
            self.ok(home, "remember", "second", "")
            self.ok(home, "forget", "second")
            created = parse(read(home))[1][0][1]
            self.assertEqual(read(home), crmem(3, entry(1, created, NOTE, "deploy", "grüße\n", ["ship", "release"])))
            self.assertEqual(os.stat(memory_file(home)).st_mode & 0o777, 0o600)
            self.assertEqual(os.listdir(home.file("memory")), ["reef.crmem"])

    def test_a_file_of_crabtalk_opens_and_stays_as_it_is(self):
        for data in (MIXED, HOSTILE, crmem(1)):
            with self.subTest(bytes=len(data)), Home(files={"memory/reef.crmem": data}) as home:
                listed = self.json(home, "ls")
                self.assertEqual([e["name"] for e in listed], [e[3] for e in parse(data)[1]])
                self.json(home, "recall", "vault")
                self.assertEqual(read(home), data)
                self.ok(home, "remember", "new", "x")
                next_id, entries = parse(read(home))
                self.assertEqual(entries[:-1], parse(data)[1])
                self.assertEqual(entries[-1][0], next_id - 1)

    def test_archives_are_ranked_with_notes_and_protected(self):
        with Home(files={"memory/reef.crmem": MIXED}) as home:
            self.assertEqual([h["name"] for h in self.json(home, "recall", "blue vault")], ["deploy", "crab-alice-1-1"])
            self.assertEqual([e["name"] for e in self.json(home, "ls", "--kind", "archive")], ["crab-alice-1-1"])
            for name in ("crab-alice-1-1", "week one", "topic"):
                self.fails(home, "is not a note", "remember", name, "x")
                self.fails(home, "is not a note", "forget", name)
            self.assertEqual(read(home), MIXED)
            self.ok(home, "rename", "week one", "the first week")
            self.assertEqual(self.json(home, "show", "crab-alice-1-1")["name"], "the first week")
            self.assertEqual(parse(read(home))[1][1][4], "They talked about the vault door.")

    def test_agents_have_memories_of_their_own(self):
        with Home(files={"agents/scout.toml": 'model = "local"\n', "memory/gone.crmem": MIXED}) as home:
            self.ok(home, "remember", "a", "scout's", "-a", "scout")
            self.assertEqual(self.json(home, "ls"), [])
            self.assertEqual(self.json(home, "show", "a", "-a", "scout")["content"], "scout's")
            self.assertEqual(len(self.json(home, "ls", "-a", "gone")), 3, "an agent that is gone left its memory")
            self.fails(home, "agent 'ghost' not registered", "ls", "-a", "ghost")
            for name in ("../reef", "..", "a/b", "x" * 5000, "\x1b[2J"):
                done = home.reef("memory", "remember", "a", "x", "-a", name)
                self.assertEqual(done.code, 1, name)
            self.assertEqual(sorted(os.listdir(home.file("memory"))), ["gone.crmem", "scout.crmem"])

    def test_impossible_changes_are_refused_with_a_reason(self):
        with Home() as home:
            self.ok(home, "remember", "deploy", "x", "--alias", "ship")
            before = read(home)
            self.fails(home, "must not be empty", "remember", "", "x")
            self.fails(home, "control characters", "remember", "a\nb", "x")
            self.fails(home, "at most 256", "remember", "n" * 257, "x")
            self.fails(home, "at most 1048576 bytes", "remember", "big", "-", stdin="x" * (1048577))
            self.ok(home, "remember", "other", "y")
            before = read(home)
            self.fails(home, "'ship' is an alias of 'deploy' already", "rename", "other", "ship")
            self.fails(home, "an entry named 'deploy' already", "remember", "other", "x", "--alias", "deploy")
            self.fails(home, "'ghost'", "rename", "ghost", "x")
            self.fails(home, "is no alias of", "alias", "deploy", "ghost", "--remove")
            self.fails(home, "no kind of entry", "ls", "--kind", "prompt")
            self.fails(home, "not valid UTF-8", "show", b"\xff".decode("utf-8", "surrogateescape"), code=2)
            self.fails(home, "usage", code=2)
            self.fails(home, "usage", "show", code=2)
            self.assertEqual(read(home), before)

    def test_help_has_examples(self):
        with Home(start=False) as home:
            for command in ((), ("ls",), ("show",), ("recall",), ("remember",), ("forget",), ("rename",), ("alias",),
                            ("dump",), ("load",)):
                shown = home.reef("memory", *command, "--help")
                self.assertEqual(shown.code, 0, shown)
                self.assertIn("reef memory " + "".join(command), shown.out)
                self.assertIn("Example", shown.out)

    def test_foreign_text_cannot_drive_the_terminal(self):
        evil = crmem(2, entry(1, 5, NOTE, "\x1b[2Jname", "\x1b]0;title\x07text", ["\x1b[31m"]))
        with Home(files={"memory/reef.crmem": evil}) as home:
            for command in (("ls",), ("recall", "text"), ("show", "\x1b[31m")):
                self.assertNotIn("\x1b", self.ok(home, *command).out)


class Unreadable(MemoryTest):
    def test_every_damage_is_said_and_the_file_left_alone(self):
        def at(offset, data):
            return MIXED[:offset] + data + MIXED[offset + len(data):]

        damages = {
            "empty": b"", "magic": at(0, b"X"), "version": at(6, b"\2"), "flags": at(10, b"\1"), "reserved": at(12, b"\1"),
            "count": at(24, b"\xff\xff\xff\xff"), "few": at(24, b"\2"), "kind": at(44, b"\x09"), "utf8": at(52, b"\xff"),
            "name length": at(48, b"\xff\xff\xff\x7f"), "trailing": MIXED + b"\0", "cut": MIXED[:-1], "header": HEADER,
            "twice": crmem(9, WEEK, WEEK)}
        agents = {f"agents/a{i}.toml": 'model = "local"\n' for i in range(len(damages))}
        files = {f"memory/a{i}.crmem": data for i, data in enumerate(damages.values())}
        with Home(files={**agents, **files}) as home:
            self.ok(home, "remember", "healthy", "x")
            for i, (name, data) in enumerate(damages.items()):
                with self.subTest(damage=name):
                    agent = f"a{i}"
                    for command in (("ls",), ("show", "x"), ("recall", "x"), ("remember", "x", "y"), ("forget", "x"),
                                    ("rename", "x", "y"), ("alias", "x", "y"), ("dump", home.file("out"))):
                        self.fails(home, f"{agent}.crmem", *command, "-a", agent)
                        self.fails(home, "byte ", *command, "-a", agent)
                    self.assertEqual(read(home, agent), data)
            self.assertTrue(home.ping())
            home.kill9()
            home.start()
            self.assertEqual(len(self.json(home, "ls")), 1)
            # Once the file is repaired by hand, it works at once.
            home.write("memory/a0.crmem", MIXED)
            self.assertEqual(len(self.json(home, "ls", "-a", "a0")), 3)

    def test_a_folder_in_the_files_place_is_an_error(self):
        with Home() as home:
            os.makedirs(memory_file(home))
            self.fails(home, "reef.crmem", "ls")
            self.fails(home, "reef.crmem", "remember", "a", "b")
            self.assertTrue(home.ping())


class DumpAndLoad(MemoryTest):
    def test_a_round_trip_is_exact(self):
        for data in (MIXED, HOSTILE, SHUFFLED, crmem(1), crmem(77)):
            with self.subTest(bytes=len(data)), Home(files={"memory/reef.crmem": data,
                                                            "agents/copy.toml": 'model = "local"\n'}) as home:
                brain = os.path.join(home.base, "brain")
                done = self.json(home, "dump", brain)
                self.assertEqual(done["entries"], len(parse(data)[1]))
                self.assertEqual(self.json(home, "load", brain)["entries"], len(parse(data)[1]))
                self.assertEqual(read(home), data)
                if data is HOSTILE:
                    self.fails(home, "must not be empty", "load", brain, "-a", "copy")
                    self.assertFalse(os.path.exists(memory_file(home, "copy")), "there it would be new")
                    continue
                self.json(home, "load", brain, "-a", "copy")
                self.assertEqual(read(home, "copy"), data)

    def test_a_load_obeys_the_limits_of_writes(self):
        with Home(files={"memory/reef.crmem": MIXED}) as home:
            brain = Path(home.base) / "brain"
            self.ok(home, "dump", str(brain))
            note = brain / "notes/deploy.md"
            whole = note.read_text()
            many = "".join(f"<li>a{n}</li>" for n in range(65))
            for text, why in ((whole + "x" * 2**20, "at most 1048576 bytes"),
                              (whole.replace("<li>ship</li>", f"<li>{'n' * 5000}</li>"), "at most 256 are kept"),
                              (whole.replace("<li>ship</li>", many), "at most 64 aliases"),
                              (whole.replace("<dl>", "<dl><dt>Name</dt><dd>a\nb</dd>"), "control characters"),
                              (whole.replace("<li>ship</li>", "<li>week one</li>"), "'week one'")):
                note.write_text(text)
                self.fails(home, why, "load", str(brain))
                self.assertEqual(read(home), MIXED)
            note.write_text(whole)
            (brain / "notes/big.md").write_text("x" * (2**20 + 1) + "\n")
            self.fails(home, "notes/big.md: an entry's content has at most 1048576 bytes", "load", str(brain))
            self.assertEqual(read(home), MIXED)

    def test_the_tree_is_a_book_for_people(self):
        with Home(files={"memory/reef.crmem": MIXED}) as home:
            brain = Path(home.base) / "brain"
            self.ok(home, "dump", "brain", cwd=home.base)
            found = sorted(str(p.relative_to(brain)) for p in brain.rglob("*") if p.is_file())
            self.assertEqual(found, ["SUMMARY.md", "archives/crab-alice-1-1.md", "book.toml", "memory.json",
                                     "notes/deploy.md", "topics/topic.md"])
            note = (brain / "notes/deploy.md").read_text()
            self.assertTrue(note.startswith('<div id="meta">\n<dl>\n'), note)
            self.assertIn('<dd><time datetime="2026-04-14T10:23:45Z">2026-04-14T10:23:45Z</time></dd>', note)
            self.assertIn("<dd><ul><li>ship</li><li>release</li></ul></dd>", note)
            self.assertTrue(note.endswith("</dl>\n</div>\n\nThe key is in the blue vault.\n"), note)
            self.assertIn("- [deploy](notes/deploy.md)", (brain / "SUMMARY.md").read_text())
            self.assertIn('src = "."', (brain / "book.toml").read_text())
            # The person's own files stay; files of entries that are gone are removed.
            (brain / "book.toml").write_text("mine")
            (brain / "theme").mkdir()
            (brain / "theme/x.md").write_text("mine")
            self.ok(home, "forget", "deploy")
            self.ok(home, "dump", str(brain))
            self.assertFalse((brain / "notes/deploy.md").exists())
            self.assertEqual((brain / "book.toml").read_text(), "mine")
            self.assertEqual((brain / "theme/x.md").read_text(), "mine")
            self.assertNotIn("deploy", (brain / "SUMMARY.md").read_text())

    def test_edits_and_new_files_are_taken_in(self):
        with Home(files={"memory/reef.crmem": MIXED}) as home:
            brain = Path(home.base) / "brain"
            self.ok(home, "dump", str(brain))
            note = brain / "notes/deploy.md"
            note.write_text(note.read_text().replace("blue vault", "red vault").replace("<li>ship</li>", ""))
            (brain / "notes/new one.md").write_text("fresh\n")
            (brain / "topics/topic.md").unlink()
            self.ok(home, "load", str(brain))
            next_id, entries = parse(read(home))
            self.assertEqual([(e[0], e[2], e[3], e[4], e[5]) for e in entries],
                             [(2, NOTE, "deploy", "The key is in the red vault.", ["release"]),
                              (4, ARCHIVE, "crab-alice-1-1", "They talked about the vault door.", ["week one"]),
                              (9, NOTE, "new one", "fresh", [])])
            self.assertEqual(next_id, 10)
            self.assertEqual(Path(memory_file(home) + ".old").read_bytes(), MIXED, "a load can be undone by hand")

    def test_a_tree_with_a_mistake_changes_nothing(self):
        def unreadable(brain):
            (brain / "notes/bad.md").write_bytes(b"\xff")

        def twice(brain):
            (brain / "archives/deploy.md").write_text("x")

        def alias(brain):
            (brain / "notes/ship.md").write_text("x")

        def time(brain):
            note = brain / "notes/deploy.md"
            note.write_text(note.read_text().replace('datetime="2026-04-14T10:23:45Z"', 'datetime="soon"'))

        def same_id(brain):
            (brain / "notes/copy.md").write_text((brain / "notes/deploy.md").read_text().replace("ship", "x").replace(
                "release", "y"))

        def other_kind(brain):
            (brain / "notes/deploy.md").rename(brain / "archives/deploy.md")

        def deeper(brain):
            (brain / "notes/more").mkdir()

        for spoil, why in ((unreadable, "notes/bad.md: not valid UTF-8"), (twice, "both named 'deploy'"),
                           (alias, "alias 'ship'"), (time, "'soon' is not a time"), (same_id, "same Id 2"),
                           (other_kind, "entry 'deploy' (id 2): it is kept as note, and cannot become archive"),
                           (deeper, "notes/more is a folder")):
            with self.subTest(spoil=spoil.__name__), Home(files={"memory/reef.crmem": MIXED}) as home:
                brain = Path(home.base) / "brain"
                self.ok(home, "dump", str(brain))
                spoil(brain)
                self.fails(home, why, "load", str(brain))
                self.assertEqual(read(home), MIXED)

    def test_folders_of_somebody_else_are_neither_written_nor_loaded(self):
        with Home(files={"memory/reef.crmem": MIXED}) as home:
            diary = Path(home.base) / "mine/notes/diary.md"
            diary.parent.mkdir(parents=True)
            diary.write_text("years of it")
            self.fails(home, "no dump made it", "dump", str(diary.parent.parent))
            self.assertEqual(diary.read_text(), "years of it")
            self.fails(home, "is no dump of a memory", "load", home.base)
            self.fails(home, "is no dump of a memory", "load", home.base + "/missing")
            self.assertEqual(read(home), MIXED)

    def test_a_book_of_the_users_is_left_alone(self):
        with Home(files={"memory/reef.crmem": MIXED}) as home:
            book = Path(home.base) / "book"
            (book / "notes").mkdir(parents=True)
            summary = "# Summary\n\n- [Mine](notes/mine.md)\n"
            (book / "notes/mine.md").write_text("years of it")
            for text, why in ((summary, "book/notes/mine.md: no dump made it"),
                              ("# My book\n\n- [Intro](intro.md)\n", "book/SUMMARY.md: no dump made it")):
                (book / "SUMMARY.md").write_text(text)
                self.fails(home, why, "dump", str(book))
                self.assertEqual((book / "SUMMARY.md").read_text(), text)
                self.assertEqual((book / "notes/mine.md").read_text(), "years of it")
                self.assertEqual(sorted(os.listdir(book)), ["SUMMARY.md", "notes"])
                self.assertEqual(os.listdir(book / "notes"), ["mine.md"])

    def test_a_file_not_loaded_yet_is_not_lost_to_a_dump(self):
        with Home(files={"memory/reef.crmem": MIXED}) as home:
            brain = Path(home.base) / "brain"
            self.ok(home, "dump", str(brain))
            (brain / "notes/new.md").write_text("fresh\n")
            self.fails(home, "notes/new.md: no dump made it", "dump", str(brain))
            self.assertEqual((brain / "notes/new.md").read_text(), "fresh\n")
            self.ok(home, "load", str(brain))
            self.ok(home, "dump", str(brain))
            self.assertIn("<dt>Id</dt>", (brain / "notes/new.md").read_text())

    def test_a_folder_in_a_files_place_is_said_before_anything_is_written(self):
        with Home(files={"memory/reef.crmem": MIXED}) as home:
            brain = Path(home.base) / "brain"
            self.ok(home, "dump", str(brain))
            (brain / "SUMMARY.md").unlink()
            (brain / "SUMMARY.md").mkdir()
            self.ok(home, "remember", "new", "fresh")
            before = sorted(str(p) for p in brain.rglob("*"))
            self.fails(home, "SUMMARY.md: no dump made it (it is a folder)", "dump", str(brain))
            self.assertEqual(sorted(str(p) for p in brain.rglob("*")), before)

    def test_a_memory_larger_than_a_frame_comes_and_goes(self):
        large = crmem(30, *(entry(i, 5, NOTE, f"n{i}", chr(97 + i % 26) * 1_000_000) for i in range(1, 22)))
        with Home(files={"memory/reef.crmem": large}) as home:
            brain = os.path.join(home.base, "brain")
            self.ok(home, "dump", brain)
            self.ok(home, "forget", "n3")
            self.ok(home, "load", brain)
            self.assertEqual(read(home), large)


class Wire(MemoryTest):
    def collect(self, link, tag, fields):
        link.send(request(tag, fields))
        out = []
        while True:
            reply = link.recv()
            if reply.code:
                return reply
            out.append(reply.body)
            if reply.body.int(2):
                return out

    def test_operations_answer_as_documented(self):
        with Home() as home, home.connect() as link:
            aliases = field(4, "ship") + field(4, "release")
            reply = link.call(REMEMBER, message({2: "deploy", 3: "blue vault"}) + aliases)
            self.assertEqual(reply.tag, MEMORY_INFO)
            made = reply.body.sub(1)
            self.assertEqual((made.int(1), made.str(2), made.str(3), made.strs(4), made.str(7)),
                             (1, "deploy", "note", ["ship", "release"], "blue vault"))
            self.assertEqual(link.call(GET_MEMORY, {2: "ship"}).body.sub(1).str(2), "deploy")
            self.assertEqual(link.call(GET_MEMORY, {2: "nope"}).code, 404)
            self.assertEqual(link.call(RENAME_MEMORY, {2: "deploy", 3: "rollout"}).body.sub(1).str(2), "rollout")
            self.assertEqual(link.call(ALIAS_MEMORY, {2: "rollout", 3: "go", 4: "ship"}).body.sub(1).strs(4),
                             ["release", "go"])
            self.assertEqual(link.call(ALIAS_MEMORY, {2: "rollout", 3: "rollout"}).body.sub(1).strs(4), ["release", "go"])
            (page,) = self.collect(link, RECALL, {2: "vault"})
            hit = page.sub(1)
            self.assertGreater(struct.unpack("<d", hit.fields[9][0])[0], 0)
            self.assertEqual((hit.str(7), page.str(3)), ("blue vault", "reef"))
            (page,) = self.collect(link, LIST_MEMORIES, {})
            self.assertFalse(page.sub(1).has(7), "a list has no contents")
            (piece,) = self.collect(link, READ_MEMORY, {})
            self.assertEqual(piece.fields[1][0], read(home))
            self.assertEqual(link.call(FORGET, {2: "go"}).tag, PONG)
            self.assertEqual(link.call(FORGET, {2: "go"}).code, 404)
            reply = link.call(LOAD_MEMORY, {4: MIXED, 5: True})
            self.assertEqual((reply.tag, reply.body.int(1)), (MEMORY_LOADED, 3))
            self.assertEqual(read(home), MIXED)
            self.assertEqual(link.call(FORGET, {2: "week one"}).code, 403)
            self.assertEqual(link.call(REMEMBER, {2: "new", 3: "x", 4: "deploy"}).code, 409)
            self.assertEqual(link.call(REMEMBER, {2: "big", 3: "x" * 1048577}).code, 413)
            self.assertEqual(link.call(REMEMBER, {2: "", 3: "x"}).code, 400)
            self.assertEqual(link.call(REMEMBER, {1: "ghost", 2: "a", 3: "x"}).code, 404)
            self.assertEqual(read(home), MIXED)

    def test_a_load_comes_in_parts_and_in_order(self):
        with Home() as home, home.connect() as link:
            for at in range(0, len(MIXED), 50):
                part = MIXED[at:at + 50]
                last = at + 50 >= len(MIXED)
                reply = link.call(LOAD_MEMORY, {2: "mine", 3: at, 4: part, 5: last})
                self.assertEqual(reply.tag, MEMORY_LOADED if last else PONG)
                if not last:
                    self.assertFalse(os.path.exists(memory_file(home)))
            self.assertEqual(read(home), MIXED)
            self.assertEqual(link.call(LOAD_MEMORY, {2: "mine", 3: 50, 4: b"x", 5: True}).code, 409)
            self.assertEqual(link.call(LOAD_MEMORY, {4: MIXED[:-1], 5: True}).code, 400)
            self.assertEqual(link.call(LOAD_MEMORY, {5: True}).code, 400)
            self.assertEqual(read(home), MIXED)

    def test_a_long_list_comes_in_pages(self):
        many = crmem(3001, *(entry(i, 5, NOTE, f"n{i}", "same words " * 20) for i in range(1, 3001)))
        with Home(files={"memory/reef.crmem": many}) as home, home.connect() as link:
            pages = self.collect(link, LIST_MEMORIES, {})
            self.assertGreater(len(pages), 1)
            self.assertEqual(sum(len(p.fields.get(1, [])) for p in pages), 3000)
            pages = self.collect(link, RECALL, {2: "words", 3: 4_000_000_000})
            self.assertGreater(len(pages), 1)
            self.assertEqual(sum(len(p.fields.get(1, [])) for p in pages), 3000, "as many as are wanted")
            pages = self.collect(link, RECALL, {2: "words", 3: 120})
            self.assertEqual(sum(len(p.fields.get(1, [])) for p in pages), 120)

    def test_many_at_once_all_stand(self):
        with Home() as home, home.connect() as link:
            for i in range(64):
                link.send(request(REMEMBER, {2: f"n{i}", 3: str(i)}, i + 1))
            answers = {reply.request_id: reply for reply in (link.recv() for _ in range(64))}
            self.assertEqual({r.tag for r in answers.values()}, {MEMORY_INFO}, answers)
            entries = parse(read(home))[1]
            self.assertEqual({e[3] for e in entries}, {f"n{i}" for i in range(64)})
            self.assertEqual([e[0] for e in entries], list(range(1, 65)), "every id once")


class Crashes(MemoryTest):
    def test_kill_9_loses_nothing_that_was_acknowledged(self):
        seed = int(os.environ.get("REEF_SEED", "11"))
        rounds = int(os.environ.get("REEF_KILLS", "15"))
        dice = random.Random(seed)
        with Home() as home:
            acknowledged = {}
            for number in range(rounds):
                # Two clients remember as fast as they can until the daemon dies under them.
                enough = threading.Semaphore(0)
                asked = [{}, {}]

                def client(which):
                    with home.connect() as link:
                        for i in range(10_000):
                            name, content = f"r{number}c{which}i{i % 7}", f"content {number} {i}"
                            asked[which][name] = content
                            try:
                                reply = link.call(REMEMBER, {2: name, 3: content})
                            except (AssertionError, OSError):
                                return
                            if reply.tag == MEMORY_INFO:
                                acknowledged[name] = content
                                enough.release()

                clients = [threading.Thread(target=client, args=(which,)) for which in (0, 1)]
                for one in clients:
                    one.start()
                for _ in range(dice.randrange(1, 12)):
                    self.assertTrue(enough.acquire(timeout=20), f"round {number}, REEF_SEED={seed}")
                home.kill9()
                for one in clients:
                    one.join()
                home.start()
                have = {e[3]: e[4] for e in parse(read(home))[1]}
                for name, content in acknowledged.items():
                    # The operation that was under way may also have taken effect.
                    last = next((a[name] for a in asked if name in a), content)
                    self.assertIn(have.get(name), (content, last), f"{name}, round {number}, REEF_SEED={seed}")
                self.assertEqual({e["name"] for e in self.json(home, "ls")}, set(have))


if __name__ == "__main__":
    unittest.main()
