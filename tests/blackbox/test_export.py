"""`reef export`: sessions as files of other formats, to stdout and into folders."""

import json
import os
import socket
import stat
import struct
import unittest

from reefbox import (WRITTEN_AT, Home, assistant_entry, bind_entry, entry, header_entry, jsonl, request, user_entry,
                     wait_for)

EXPORT_SESSIONS, FILE_PIECE = 245, 245
TITLE = "Deploy keys"


def tool_turn(parent, call="call-1"):
    """A reply that thinks and calls a tool, and the tool's result."""
    return [
        entry("message", "t1", parent, message={
            "role": "assistant", "content": [
                {"type": "thinking", "thinking": "I should look."},
                {"type": "text", "text": "Looking."},
                {"type": "toolCall", "id": call, "name": "bash", "arguments": {"command": "ls"}}],
            "api": "test", "provider": "s", "model": "x", "usage": {"input": 3, "output": 4}, "stopReason": "toolUse",
            "timestamp": WRITTEN_AT}),
        entry("message", "t2", "t1", message={
            "role": "toolResult", "toolCallId": call, "toolName": "bash",
            "content": [{"type": "text", "text": "a.txt\n```\nb.txt"}], "isError": False, "timestamp": WRITTEN_AT})]


def session(name, *entries, sender="bob", title=TITLE):
    """The bytes of a transcript that begins with a binding and, when given, a title."""
    lines = [header_entry(name), bind_entry("e0", None, "reef", sender)]
    if title is not None:
        lines.append(entry("custom", "e1", "e0", customType="reef.meta", data={"name": title}))
    return jsonl(*lines, *entries)


def tree(name, title=TITLE):
    """Question, answer, and two ways to go on: the second is the current one."""
    return session(name, user_entry("u1", "e1", "first question"), *tool_turn("u1"),
                   user_entry("u2", "t2", "the way NOT taken"), assistant_entry("a2", "u2", "old answer"),
                   user_entry("u3", "t2", "the way taken"), assistant_entry("a3", "u3", "new answer"), title=title)


class Case(unittest.TestCase):
    def with_sessions(self, **transcripts):
        home = Home(files={f"sessions/{name.replace('_', '-')}/session.jsonl": data
                           for name, data in transcripts.items()})
        self.addCleanup(home.cleanup)
        home.start()
        self.out = os.path.join(home.base, "out")
        return home

    def ok(self, home, *args):
        done = home.reef(*args)
        self.assertEqual(done.code, 0, f"reef {args}: {done}")
        return done

    def refused(self, home, *args, says, code=(1, 2)):
        done = home.reef(*args)
        self.assertIn(done.code, code, done)
        self.assertEqual(done.out, "", done)
        self.assertRegex(done.err, r"\Areef: [^\n]+\n\Z")
        self.assertIn(says, done.err)
        self.assertTrue(home.alive())
        return done

    def files_below(self, folder):
        return sorted(os.path.relpath(os.path.join(where, name), folder)
                      for where, _, names in os.walk(folder) for name in names)


class Stdout(Case):
    def test_pi_is_the_file_byte_for_byte(self):
        # Spaces, escapes, numbers and members that JSON libraries like to rewrite.
        odd = b'{"type":"message","id":"x1","parentId":"a3","timestamp":"2026-01-02T03:04:07Z","n":1.0,"e":1e3,' \
              b'"message":{"role":"user", "content":"\\u00e9 \\/ \xf0\x9f\x90\x9a"}}'
        data = tree("one") + odd + b"\n"
        home = self.with_sessions(one=data)
        self.assertEqual(self.ok(home, "export", "one", "--to", "pi").out_bytes, data)

    def test_a_torn_last_line_is_not_exported(self):
        data = tree("one")
        home = self.with_sessions(one=data)
        with open(home.file("sessions/one/session.jsonl"), "ab") as out:
            out.write(b'{"type":"message","id":"zz","par')
        self.assertEqual(self.ok(home, "export", "one", "--to", "pi").out_bytes, data)

    def test_ndjson_is_one_message_a_line(self):
        home = self.with_sessions(one=tree("one"))
        lines = [json.loads(line) for line in self.ok(home, "export", "one", "--to", "ndjson").out.splitlines()]
        self.assertEqual([(m["id"], m["role"], m["parentId"], m["current"]) for m in lines], [
            ("u1", "user", None, True), ("t1", "assistant", "u1", True), ("t2", "toolResult", "t1", True),
            ("u2", "user", "t2", False), ("a2", "assistant", "u2", False),
            ("u3", "user", "t2", True), ("a3", "assistant", "u3", True)])
        self.assertEqual(lines[1]["thinking"], "I should look.")
        self.assertEqual(lines[1]["toolCalls"], [{"id": "call-1", "name": "bash", "arguments": {"command": "ls"}}])
        self.assertEqual(lines[2]["text"], "a.txt\n```\nb.txt")
        self.assertEqual({m["title"] for m in lines}, {TITLE})

    def test_ndjson_of_everything_is_one_stream(self):
        home = self.with_sessions(one=tree("one"), two=tree("two"))
        done = self.ok(home, "export", "--all", "--to", "ndjson")
        self.assertEqual({json.loads(line)["session"] for line in done.out.splitlines()}, {"one", "two"})

    def test_markdown_folds_tools_thinking_and_other_branches(self):
        home = self.with_sessions(one=tree("one"))
        text = self.ok(home, "export", "one", "--to", "markdown").out
        self.assertTrue(text.startswith("# Deploy keys\n"), text)
        self.assertEqual(text.count("<details>"), 3)
        self.assertEqual(text.count("</details>"), 3)
        self.assertIn("````\na.txt\n```\nb.txt\n````", text)
        branch = text[text.index("Another branch"):]
        self.assertLess(branch.index("NOT taken"), branch.index("</details>"))
        self.assertGreater(branch.index("the way taken"), branch.index("</details>"))

    def test_an_export_that_cannot_go_to_stdout_says_why(self):
        home = self.with_sessions(one=tree("one"), two=tree("two"))
        self.refused(home, "export", "one", "two", "--to", "markdown", says="folder")
        self.refused(home, "export", "--all", "--to", "pi", says="folder")
        self.refused(home, "export", "one", "--to", "pi", "--json", says="JSON")

    def test_wrong_words(self):
        home = self.with_sessions(one=tree("one"))
        self.refused(home, "export", "one", "--to", "pdf", says="markdown", code=(2,))
        self.refused(home, "export", "--to", "pi", says="--all", code=(2,))
        self.refused(home, "export", "one", "--all", "--to", "pi", "-o", "x", says="--all", code=(2,))
        self.refused(home, "export", "nobody", "--to", "pi", says="no session 'nobody'")
        self.refused(home, "export", "../one", "--to", "pi", says="../one")
        # A mistyped id is not taken for a path.
        self.refused(home, "export", "one", "261115-swift-rivr", "--to", "pi", says="261115-swift-rivr")
        self.assertEqual(sorted(os.listdir(home.base)), ["h", "stderr"])


class Folders(Case):
    def test_everything_into_a_folder(self):
        home = self.with_sessions(one=tree("one"), two=tree("two", title=None))
        done = self.ok(home, "export", "--all", "--to", "markdown", self.out, "--json").json
        self.assertEqual(self.files_below(self.out), ["one-deploy-keys.md", "two.md"])
        self.assertEqual((done["format"], done["sessions"], done["files"]), ("markdown", 2, 2))
        self.assertEqual(done["bytes"], sum(os.path.getsize(os.path.join(self.out, n)) for n in os.listdir(self.out)))
        for name in os.listdir(self.out):
            self.assertEqual(stat.S_IMODE(os.stat(os.path.join(self.out, name)).st_mode), 0o600)

    def test_one_session_into_a_file_or_a_folder(self):
        home = self.with_sessions(one=tree("one"))
        os.mkdir(self.out)
        self.ok(home, "export", "one", "--to", "markdown", os.path.join(self.out, "mine.md"))
        self.ok(home, "export", "one", "--to", "markdown", self.out)
        self.ok(home, "export", "one", "--to", "markdown", "-o", os.path.join(self.out, "new/"))
        self.assertEqual(self.files_below(self.out), ["mine.md", "new/one-deploy-keys.md", "one-deploy-keys.md"])

    def test_every_format_has_files_for_everything_and_for_one(self):
        home = self.with_sessions(one=tree("one"), two=tree("two"))
        formats = ("pi", "crabtalk", "craft", "craft-bundle", "clawdbot", "markdown", "ndjson", "html")
        for form in formats:
            with self.subTest(form):
                folder = os.path.join(self.out, form)
                done = self.ok(home, "export", "--all", "--to", form, folder, "--json").json
                self.assertEqual((done["sessions"], done["files"]), (2, len(self.files_below(folder))))
                single = home.reef("export", "one", "--to", form)
                if form in ("craft", "clawdbot"):
                    self.assertEqual(single.code, 1, single)
                    self.assertIn("folder", single.err)
                else:
                    self.assertEqual(single.code, 0, single)
                    self.assertIn("first question", single.out)

    def test_a_bare_word_at_the_end_is_a_path(self):
        home = self.with_sessions(one=tree("one"))
        done = home.reef("export", "one", "--to", "ndjson", "bare.ndjson", cwd=home.base)
        self.assertEqual(done.code, 0, done)
        self.assertTrue(os.path.exists(os.path.join(home.base, "bare.ndjson")))

    def test_pi_names_are_those_pi_looks_for(self):
        home = self.with_sessions(one=tree("one"))
        self.ok(home, "export", "--all", "--to", "pi", self.out)
        self.assertEqual(self.files_below(self.out), ["----/2026-01-02T03-04-06-000Z_one.jsonl"])

    def test_existing_files_stay_unless_forced(self):
        home = self.with_sessions(one=tree("one"))
        self.ok(home, "export", "--all", "--to", "markdown", self.out)
        path = os.path.join(self.out, "one-deploy-keys.md")
        with open(path, "w") as out:
            out.write("mine")
        self.refused(home, "export", "--all", "--to", "markdown", self.out, says="--force")
        with open(path) as source:
            self.assertEqual(source.read(), "mine")
        self.ok(home, "export", "--all", "--to", "markdown", self.out, "--force")
        with open(path) as source:
            self.assertIn("first question", source.read())
        self.assertEqual(self.files_below(self.out), ["one-deploy-keys.md"])

    def test_links_in_the_folder_are_not_followed(self):
        home = self.with_sessions(one=tree("one"))
        elsewhere = os.path.join(home.base, "elsewhere")
        os.makedirs(elsewhere)
        os.makedirs(self.out)
        os.symlink(elsewhere, os.path.join(self.out, "----"))
        self.refused(home, "export", "--all", "--to", "pi", self.out, says="----")
        self.assertEqual(os.listdir(elsewhere), [])

    def test_hostile_titles_make_harmless_names(self):
        titles = {"a": "../../etc/passwd", "b": "/etc/x", "c": "..", "d": "x" * 5000, "e": "\u202egnp.exe\n\x1b[31m",
                  "f": "\u4f60\u597d", "g": "a/b\\c:d"}
        home = self.with_sessions(**{name: tree(name, title=title) for name, title in titles.items()})
        self.ok(home, "export", "--all", "--to", "markdown", self.out)
        names = self.files_below(self.out)
        self.assertEqual(len(names), len(titles))
        for name in names:
            self.assertRegex(name, r"\A[a-g](-[a-z0-9-]+)?\.md\Z")
            self.assertLess(len(name), 80)
        self.assertEqual(sorted(os.listdir(home.base)), ["h", "out", "stderr"])


class AndBack(Case):
    def test_an_export_to_pi_comes_back_unchanged(self):
        home = self.with_sessions(one=tree("one"), two=tree("two", title=None))
        self.ok(home, "export", "--all", "--to", "pi", self.out)
        other = Home()
        self.addCleanup(other.cleanup)
        other.start()
        self.ok(other, "import", "pi", self.out)

        def said(where):
            lines = self.ok(where, "export", "--all", "--to", "ndjson").out.splitlines()
            return sorted(([m.get(k) for k in ("title", "time", "role", "text", "thinking", "toolCalls", "toolCallId", "current")]
                           for m in map(json.loads, lines)), key=json.dumps)
        self.assertEqual(said(other), said(home))

    def test_files_go_beside_transcripts_that_cannot_hold_them_and_come_back(self):
        files = {"attachments/photo.png": b"\x89PNG\0" * 100, "data/talk.jsonl": b'{"type":"session","id":"no"}\n',
                 "long_responses/1.txt": b"long"}
        home = self.with_sessions(one=tree("one"), two=tree("two"))
        for path, data in files.items():
            full = home.file(f"sessions/one/{path}")
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "wb") as out:
                out.write(data)
        for kind in ("pi", "clawdbot"):
            with self.subTest(kind):
                self.ok(home, "export", "--all", "--to", kind, f"{self.out}/{kind}")
                other = Home(name=kind)
                self.addCleanup(other.cleanup)
                other.start()
                report = json.loads(self.ok(other, "import", kind, f"{self.out}/{kind}", "--json").out)
                self.assertEqual((report["added"], report["problems"]), (2, []))
                for path, data in files.items():
                    with open(other.file(f"sessions/one/{path}"), "rb") as source:
                        self.assertEqual(source.read(), data)
        # An export into one file cannot hold the files, and says so.
        for target in ([], [f"{self.out}/alone.jsonl"]):
            done = self.ok(home, "export", "one", "--to", "pi", *target)
            self.assertRegex(done.err, "3 file.s. of the session are left out")
            if not target:
                self.assertEqual(done.out, home.read("sessions/one/session.jsonl"))
        self.assertEqual(self.files_below(self.out + "/clawdbot")[:2],
                         ["agents/reef/sessions/one.files/attachments/photo.png",
                          "agents/reef/sessions/one.files/data/talk.jsonl"])


class Streams(Case):
    def read_pieces(self, link):
        """Every file as {path: bytes}, and the summary."""
        files, path = {}, None
        while True:
            reply = link.recv()
            self.assertEqual(reply.tag, FILE_PIECE, reply)
            if reply.body.int(7):
                return files, reply.body
            if reply.body.str(1):
                path = reply.body.str(1)
                files[path] = b""
            files[path] += reply.body.fields.get(2, [b""])[-1]

    def test_a_large_session_comes_in_pieces(self):
        data = session("big", *(user_entry(f"u{i}", f"u{i - 1}" if i else "e1", f"{i} " + "x" * 10000)
                                for i in range(1000)))
        home = self.with_sessions(big=data)
        with home.connect() as link:
            link.send(request(EXPORT_SESSIONS, {1: "pi", 2: "big"}))
            files, summary = self.read_pieces(link)
        self.assertEqual(list(files.values()), [data])
        self.assertEqual((summary.int(8), summary.int(9), summary.int(10)), (1, 1, len(data)))

    def test_a_client_that_leaves_changes_nothing(self):
        data = session("big", *(user_entry(f"u{i}", f"u{i - 1}" if i else "e1", f"{i} " + "x" * 10000)
                                for i in range(2000)))
        home = self.with_sessions(big=data)
        for _ in range(5):
            with home.connect() as link:
                link.send(request(EXPORT_SESSIONS, {1: "pi"}))
                link.recv()
                link.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.assertTrue(home.ping())
        # The temporary files that held data for slow readers are released.
        wait_for(lambda: not any("(deleted)" in os.readlink(f"/proc/{home.pid}/fd/{fd}")
                                 for fd in os.listdir(f"/proc/{home.pid}/fd")
                                 if os.path.lexists(f"/proc/{home.pid}/fd/{fd}")), "temporary files to go")
        self.assertEqual(self.ok(home, "export", "big", "--to", "pi").out_bytes, data)

    def test_a_session_that_cannot_be_read_is_named_and_the_others_come(self):
        home = self.with_sessions(one=tree("one"), two=tree("two"))
        os.remove(home.file("sessions/two/session.jsonl"))
        os.mkdir(home.file("sessions/two/session.jsonl"))
        done = home.reef("export", "--all", "--to", "markdown", self.out)
        self.assertEqual(done.code, 1, done)
        self.assertIn("two", done.err)
        self.assertEqual(self.files_below(self.out), ["one-deploy-keys.md"])


if __name__ == "__main__":
    unittest.main()
