"""session.jsonl: pi can read it, and it survives crashes, torn tails and foreign hands."""

import os
import random
import re
import shutil
import threading
import unittest
from pathlib import Path

from reefbox import *

ISO = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
STOP_REASONS = {"stop", "length", "toolUse", "error", "aborted"}
USAGE = ("input", "output", "cacheRead", "cacheWrite", "totalTokens")
COST = ("input", "output", "cacheRead", "cacheWrite", "total")


class TranscriptCase(unittest.TestCase):
    def is_number(self, value, what):
        self.assertIsInstance(value, (int, float), what)
        self.assertNotIsInstance(value, bool, what)

    def check_header(self, path, header):
        first = Path(path).read_bytes().split(b"\n", 1)[0]
        self.assertLess(len(first), 512, "pi looks for the header in the first 512 bytes")
        self.assertEqual(header["type"], "session")
        self.assertEqual(header["version"], 3)
        self.assertIsInstance(header["id"], str)
        self.assertTrue(header["id"])
        self.assertRegex(header["timestamp"], ISO)
        self.assertIsInstance(header["cwd"], str)

    def check_assistant(self, message):
        for name in ("api", "provider", "model"):
            self.assertIsInstance(message[name], str, name)
            self.assertTrue(message[name], name)
        self.assertIsInstance(message["content"], list, "content of an assistant is an array")
        for block in message["content"]:
            self.assertIn(block["type"], ("text", "thinking", "toolCall"))
        self.assertIn(message["stopReason"], STOP_REASONS)
        for name in USAGE:
            self.is_number(message["usage"][name], f"usage.{name}")
        for name in COST:
            self.is_number(message["usage"]["cost"][name], f"usage.cost.{name}")
        if message["stopReason"] in ("error", "aborted"):
            self.assertTrue(message.get("errorMessage"), "errorMessage of a failed reply")

    def check(self, path):
        """Everything pi relies on; returns the entries without the header."""
        header, *entries = read_lines(path)
        self.check_header(path, header)
        ids = [e["id"] for e in entries]
        self.assertEqual(len(ids), len(set(ids)), "ids are unique")
        previous = None
        called = set()
        for entry in entries:
            self.assertIsInstance(entry["id"], str)
            self.assertIn("parentId", entry)
            self.assertEqual(entry["parentId"], previous, "each entry is the child of the one before")
            self.assertRegex(entry["timestamp"], ISO)
            previous = entry["id"]
            if entry["type"] == "message":
                message = entry["message"]
                self.assertIn(message["role"], ("user", "assistant", "toolResult"))
                self.assertIsInstance(message["timestamp"], int, "a message's timestamp is Unix milliseconds")
                self.assertLess(abs(message["timestamp"] / 1000 - time.time()), 3600)
                if message["role"] == "assistant":
                    self.check_assistant(message)
                    called |= {b["id"] for b in message["content"] if b["type"] == "toolCall"}
                elif message["role"] == "toolResult":
                    self.assertIn(message["toolCallId"], called, "the result of a call")
                    self.assertTrue(message["toolName"])
                    self.assertIsInstance(message["isError"], bool)
                    self.assertIsInstance(message["content"], list)
                else:
                    self.assertIsInstance(message["content"], (str, list))
        return entries

    def roles(self, entries):
        """The roles of the messages; tool calls and their results are left out."""
        said = [e["message"] for e in entries if e["type"] == "message" and e["message"]["role"] != "toolResult"]
        return [m["role"] for m in said if not any(b["type"] == "toolCall" for b in m["content"])]


class Format(TranscriptCase):
    def test_every_line(self):
        with Home() as home:
            for text in ("hello", "naïve 🐚 \u2028 \"quoted\" back\\slash\ttab\nline", "third"):
                self.assertEqual(home.say(text).tag, RESPONSE)
            entries = self.check(home.transcript())
            self.assertEqual(self.roles(entries), ["user", "assistant"] * 3)
            self.assertEqual(texts(entries, "user")[1], "naïve 🐚 \u2028 \"quoted\" back\\slash\ttab\nline")
            raw = Path(home.transcript()).read_text()
            self.assertIn("naïve 🐚", raw, "non-ASCII letters are written as they are")

    def test_reply_on_disk_is_the_reply_sent(self):
        with Home(script=script({"text": "one two three", "delay_ms": 1})) as home, home.connect() as link:
            events = link.stream(turn("scripted"))
            entries = self.check(home.transcript())
            self.assertEqual(texts(entries, "assistant"), [spoken(events)])
            message = entries[-1]["message"]
            usage = events[-1].detail.sub(5)
            self.assertEqual(message["usage"]["input"] + message["usage"]["cacheRead"], usage.int(1))
            self.assertEqual(message["usage"]["output"], usage.int(2))
            self.assertEqual(message["stopReason"], "stop")

    def test_on_disk_before_the_end_is_sent(self):
        """`end` acknowledges: at that moment the reply is in the file."""
        with Home() as home, home.connect() as link:
            for number in range(20):
                link.stream(turn(content=f"message {number}"))
                self.assertEqual(self.roles(read_lines(home.transcript())), ["user", "assistant"] * (number + 1))

    def test_file_is_private(self):
        with Home() as home:
            home.say()
            self.assertEqual(os.stat(home.transcript()).st_mode & 0o077, 0, "nobody else reads a conversation")

    def test_cwd(self):
        for cwd in ("/srv/demo", "/" + "long/" * 800, "/ünï/" + "é" * 600, '/quote"\\' + '"' * 400, "/tab\t" * 80):
            with self.subTest(cwd=cwd[:20]), Home() as home, home.connect() as link:
                reply = link.call(SEND, {1: "reef", 2: "hello", 5: cwd})
                if reply.tag == ERROR:  # refusing is as good as cutting
                    self.assertEqual(reply.code, 400)
                    continue
                header = read_lines(home.transcript())[0]
                self.check_header(home.transcript(), header)
                if len(cwd) < 100:
                    self.assertEqual(header["cwd"], cwd)

    def test_cwd_of_the_client(self):
        with Home() as home:
            deep = home.base
            for name in ("d" * 200, "e" * 200, "f" * 200):
                deep = os.path.join(deep, name)
                os.mkdir(deep)
            self.assertEqual(home.reef("chat", "-s", "short", "-p", "hello", cwd=home.base).code, 0)
            self.assertEqual(home.reef("chat", "-s", "long", "-p", "hello", cwd=deep).code, 0)
            headers = [read_lines(path)[0] for path in home.transcripts()]
            for path, header in zip(home.transcripts(), headers):
                self.check_header(path, header)
            self.assertIn(home.base, [h["cwd"] for h in headers])

    def test_long_sender(self):
        with Home() as home:
            self.assertEqual(home.say(sender="s" * 200).tag, RESPONSE)
            self.check(home.transcript())

    def test_killed_and_failed_replies(self):
        with Home(script=script({"text": "so far", "hang": True},
                                {"fail": "rate_limit", "message": "slow down", "http_status": 429},
                                {"text": "fine"})) as home, home.connect() as link, home.connect() as killer:
            link.send(request(STREAM, turn("scripted", "one")))
            while link.recv().event != "chunk":
                pass
            self.assertEqual(killer.call(KILL, {1: "scripted", 2: "user"}).tag, PONG)
            self.assertTrue(link.events()[-1].detail.str(2))
            self.check(home.transcript())
            self.assertTrue(link.stream(turn("scripted", "two"))[-1].detail.str(2))
            self.check(home.transcript())
            self.assertEqual(spoken(link.stream(turn("scripted", "three"))), "fine")
            entries = self.check(home.transcript())
            self.assertEqual(texts(entries, "user"), ["one", "two", "three"])
            self.assertEqual(texts(entries, "assistant")[-1], "fine")

    def test_show_is_the_file(self):
        with Home() as home:
            home.say("hello")
            header, *entries = read_lines(home.transcript())
            shown = home.reef("show", header["id"], "--json").json
            self.assertEqual(shown["header"], header)
            self.assertEqual(shown["entries"], entries)


class Crashes(TranscriptCase):
    def test_kill_9_and_go_on(self):
        with Home() as home:
            home.say("the deploy key is in the blue vault")
            path, id_ = home.transcript(), home.reef("sessions", "--json").json[0]["id"]
            before = read_lines(path)
            home.kill9()
            home.start()
            self.assertEqual(read_lines(path), before, "nothing acknowledged is lost")
            reply = home.say("where is the deploy key?")
            self.assertIn("blue vault", reply.body.str(2), "the conversation is remembered")
            sessions = home.reef("sessions", "--json").json
            self.assertEqual([(s["id"], s["messageCount"]) for s in sessions], [(id_, 7)],
                             "the same session goes on; the answer took two tool calls")
            self.assertEqual(self.roles(self.check(path)), ["user", "assistant"] * 2)

    def test_kill_9_in_the_middle_of_a_reply(self):
        with Home(script=script({"text": "so far", "hang": True}, {"text": "fine"})) as home:
            with home.connect() as link:
                link.send(request(STREAM, turn("scripted", "one")))
                while link.recv().event != "chunk":
                    pass
                self.assertEqual(texts(read_lines(home.transcript()), "user"), ["one"],
                                 "the user's message is on disk before the reply begins")
                home.kill9()
            home.start()
            self.check(home.transcript())
            self.assertEqual(home.say("two", "scripted").body.str(2), "fine")
            self.assertEqual(texts(self.check(home.transcript()), "user"), ["one", "two"])

    def test_kill_9_under_load(self):
        """Ten crashes; each time four clients are in the middle of something."""
        with Home() as home:
            acknowledged = {n: [] for n in range(4)}
            sent = {n: 0 for n in range(4)}
            count = threading.Semaphore(0)

            def chatter(number):
                try:
                    with home.connect() as link:
                        while True:
                            text = f"{number}-{sent[number]}"
                            sent[number] += 1
                            link.send(request(SEND, turn(content=text, sender=f"load {number}")))
                            reply = link.recv()
                            if reply is None or reply.tag != RESPONSE:
                                return
                            acknowledged[number].append((text, reply.body.str(2)))
                            count.release()
                except (OSError, AssertionError):
                    return

            for crash in range(10):
                threads = [threading.Thread(target=chatter, args=(n,)) for n in range(4)]
                for thread in threads:
                    thread.start()
                for _ in range(7 + 3 * crash):
                    self.assertTrue(count.acquire(timeout=TIMEOUT), "the clients are not answered")
                home.kill9()
                for thread in threads:
                    thread.join(TIMEOUT)
                while count.acquire(blocking=False):
                    pass
                home.start()
            self.assertEqual(len(home.transcripts()), 4, "one session per sender")
            for path in home.transcripts():
                entries = self.check(path)
                pairs = [(e["message"]["role"], texts([e], e["message"]["role"])[0])
                         for e in entries if e["type"] == "message"]
                number = int(pairs[0][1].split("-")[0])
                users = [t for role, t in pairs if role == "user"]
                self.assertEqual(len(users), len(set(users)), "no message twice")
                for text, reply in acknowledged[number]:
                    self.assertIn(("user", text), pairs, "an acknowledged message is missing")
                    place = pairs.index(("user", text))
                    self.assertEqual(pairs[place + 1], ("assistant", reply), "an acknowledged reply is missing")


class Damage(TranscriptCase):
    """Files that were hurt or written by others while the daemon was down."""

    def prepared(self, home):
        """A stopped daemon and its transcript with one turn in it."""
        self.assertEqual(home.say("the deploy key is in the blue vault").tag, RESPONSE)
        self.assertEqual(home.stop(), 0)
        return Path(home.transcript())

    def goes_on(self, home, path, remembers=True):
        home.start()
        reply = home.say("where is the deploy key?")
        self.assertEqual(reply.tag, RESPONSE, f"the conversation goes on: {reply}")
        if remembers:
            self.assertIn("blue vault", reply.body.str(2), "and is remembered")
        self.assertEqual(home.transcripts(), [str(path)], "in the same session")

    def test_torn_tail(self):
        tails = {
            "half an entry": b'{"type":"message","id":"torn0001","parentId":"x","mess',
            "one byte": b"{",
            "not UTF-8": b'{"type":"message","id":"caf\xe9\xff',
            "half a letter": '{"type":"message","id":"é'.encode()[:-1],
            "zeros, as after a power cut": b"\0" * 300,
            "long": b'{"type":"message","text":"' + b"x" * 3_000_000,
        }
        for name, tail in tails.items():
            with self.subTest(name), Home() as home:
                path = self.prepared(home)
                good = path.read_bytes()
                path.write_bytes(good + tail)
                self.goes_on(home, path)
                self.assertTrue(path.read_bytes().startswith(good), "what was whole stays as it was")
                entries = self.check(path)
                self.assertEqual(self.roles(entries), ["user", "assistant"] * 2)
                torn = path.with_name("session.jsonl.torn")
                self.assertTrue(torn.exists(), "the torn tail is set aside")
                self.assertIn(tail, torn.read_bytes(), "and nothing of it is lost")

    def test_torn_twice(self):
        """The second torn tail must not replace the first."""
        with Home() as home:
            path = self.prepared(home)
            for tail in (b'{"first torn', b'{"second torn'):
                with open(path, "ab") as out:
                    out.write(tail)
                self.goes_on(home, path)
                self.assertEqual(home.stop(), 0)
            aside = b"".join(p.read_bytes() for p in path.parent.iterdir() if ".torn" in p.name)
            self.assertIn(b"first torn", aside)
            self.assertIn(b"second torn", aside)
            self.check(path)

    def test_whole_entry_without_its_newline(self):
        with Home() as home:
            path = self.prepared(home)
            path.write_bytes(path.read_bytes()[:-1])
            self.goes_on(home, path, remembers=False)
            entries = self.check(path)
            self.assertIn(self.roles(entries), (["user", "assistant"] * 2, ["user", "user", "assistant"]))

    def test_every_cut(self):
        """Cut the file at many places: the daemon always starts and the sender's conversation can go on."""
        with Home() as home:
            path = self.prepared(home)
            whole = path.read_bytes()
            first = whole.index(b"\n") + 1
            cuts = sorted({first, first + 1, len(whole) - 1, len(whole) - 2} | set(range(first + 7, len(whole), 97)))
            for cut in cuts:
                with self.subTest(cut=cut):
                    for each in home.transcripts():
                        shutil.rmtree(os.path.dirname(each))
                    path.parent.mkdir()
                    path.write_bytes(whole[:cut])
                    home.start()
                    reply = home.say(f"hello after cut {cut}")
                    self.assertEqual(home.stop(), 0)
                    self.assertEqual(reply.tag, RESPONSE, reply)
                    used = [p for p in home.transcripts() if f"hello after cut {cut}" in Path(p).read_text()]
                    self.assertEqual(len(used), 1)
                    self.check(used[0])

    def test_start_repairs_every_transcript(self):
        """After a crash and the next start every line of every transcript parses, used again or not."""
        with Home() as home:
            path = self.prepared(home)
            whole = path.read_bytes()
            cuts = {"in an entry": len(whole) - 40, "in the second line": whole.index(b"\n") + 40}
            for name, cut in cuts.items():
                with self.subTest(name):
                    path.write_bytes(whole[:cut])
                    home.start()

                    def whole_again():
                        try:
                            return read_lines(path)
                        except AssertionError:
                            return None

                    try:
                        wait_for(whole_again, "a repaired transcript", 1)
                    finally:
                        home.stop()

    def test_cut_in_the_header(self):
        for size in (0, 1, 20):
            with self.subTest(bytes=size), Home() as home:
                path = self.prepared(home)
                path.write_bytes(path.read_bytes()[:size])
                home.start()
                self.assertEqual(home.say("hello again").tag, RESPONSE)
                self.assertEqual(home.reef("sessions", "--json").code, 0)

    def test_crlf(self):
        with Home() as home:
            path = self.prepared(home)
            path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
            self.goes_on(home, path)
            self.check(path)

    def test_byte_order_mark(self):
        with Home() as home:
            path = self.prepared(home)
            path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
            self.goes_on(home, path)
            self.assertEqual(self.readable(path)[-1]["message"]["role"], "assistant")

    def readable(self, path):
        """The lines that are JSON; anything between them is skipped."""
        out = []
        for line in path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n"):
            try:
                out.append(json.loads(line))
            except (ValueError, RecursionError):
                pass
        return out

    def test_garbage_in_the_middle(self):
        for name, junk in {"text": b"this is not JSON\n", "blank lines": b"\n\n  \n", "not UTF-8": b"\xff\xfe\xe9\n",
                           "zeros": b"\0\0\0\n", "half a line": b'{"type":"message","id":\n', "array": b"[1,2]\n",
                           "number": b"7\n", "empty object": b"{}\n", "deep": b"[" * 100000 + b"\n",
                           "wrong types": b'{"type":5,"id":[],"parentId":{},"message":"x"}\n',
                           "no message": b'{"type":"message","id":"deadbeef","parentId":null}\n'}.items():
            with self.subTest(name), Home() as home:
                path = self.prepared(home)
                lines = path.read_bytes().splitlines(keepends=True)
                path.write_bytes(b"".join(lines[:2]) + junk + b"".join(lines[2:]))
                before = path.read_bytes()
                self.goes_on(home, path)
                self.assertTrue(path.read_bytes().startswith(before), "what stood in the file is not rewritten")
                last = self.readable(path)
                self.assertEqual(self.roles(e for e in last if isinstance(e, dict) and isinstance(e.get("message"), dict))[-2:],
                                 ["user", "assistant"])
                self.assertEqual(last[-1]["parentId"], last[-2]["id"])
                header = last[0]["id"]
                shown = home.reef("show", header)
                self.assertEqual(shown.code, 0, shown)
                self.assertIn("the deploy key is in the blue vault", shown.out)

    def test_entries_of_newer_programs(self):
        """Unknown types and fields stay, and an entry of an unknown type can be a parent."""
        with Home() as home:
            path = self.prepared(home)
            leaf = read_lines(path)[-1]["id"]
            with open(path, "a") as out:
                for entry in ({"type": "label", "id": "0a0a0a0a", "parentId": leaf, "targetId": leaf, "label": "x"},
                              {"type": "session_info", "id": "0b0b0b0b", "parentId": "0a0a0a0a", "name": "Demo"},
                              {"type": "from_the_future", "id": "0c0c0c0c", "parentId": "0b0b0b0b", "more": {"n": 1}}):
                    out.write(json.dumps(entry | {"timestamp": "2026-01-02T03:04:05.678Z"}) + "\n")
            before = path.read_bytes()
            self.goes_on(home, path)
            self.assertTrue(path.read_bytes().startswith(before))
            new = read_lines(path)[before.count(b"\n")]
            self.assertEqual(new["parentId"], "0c0c0c0c", "the leaf is the last entry, of whatever type")

    def test_cycles(self):
        """A parent that is its own child must not hang the daemon."""
        for name, parents in {"itself": ["aaaa0001"], "two": ["aaaa0002", "aaaa0001"]}.items():
            with self.subTest(name), Home() as home:
                path = self.prepared(home)
                with open(path, "a") as out:
                    for number, parent in enumerate(parents, 1):
                        out.write(json.dumps({
                            "type": "message", "id": f"aaaa000{number}", "parentId": parent,
                            "timestamp": "2026-01-02T03:04:05.678Z",
                            "message": {"role": "user", "content": "round", "timestamp": 1767323046000}}) + "\n")
                self.goes_on(home, path, remembers=False)
                self.assertEqual(home.reef("show", read_lines(path)[0]["id"]).code, 0)

    def test_foreign_things_in_the_sessions_directory(self):
        with Home() as home:
            path = self.prepared(home)
            sessions = path.parent.parent
            (sessions / "empty").mkdir()
            (sessions / "stray file").write_text("hello")
            (sessions / "nested" / "session.jsonl").mkdir(parents=True)
            (sessions / "nothing").mkdir()
            (sessions / "nothing" / "session.jsonl").write_text("")
            (sessions / "dangling").symlink_to("/nonexistent/place")
            (sessions / "loop").symlink_to("loop")
            (sessions / "garbage").mkdir()
            (sessions / "garbage" / "session.jsonl").write_bytes(random.Random(3).randbytes(2000))
            home.start()
            self.assertIn("blue vault", home.say("where is the deploy key?").body.str(2))
            listed = home.reef("sessions", "--json")
            self.assertEqual(listed.code, 0, listed)
            self.assertIn(path.parent.name, [s["id"] for s in listed.json])

    def test_file_of_pi(self):
        """A file without anything of ours in it: the daemon starts and leaves it alone."""
        with Home() as home:
            path = self.prepared(home)
            foreign = path.parent.parent / "pi-session" / "session.jsonl"
            foreign.parent.mkdir()
            foreign.write_text(
                '{"type":"session","version":3,"id":"pi-session","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/srv"}\n'
                '{"type":"message","id":"1a2b3c4d","parentId":null,"timestamp":"2026-01-02T03:04:06.000Z",'
                '"message":{"role":"user","content":"hi","timestamp":1767323046000}}\n')
            before = foreign.read_bytes()
            home.start()
            self.assertEqual(home.say("hello").tag, RESPONSE)
            self.assertEqual(home.reef("sessions", "--json").code, 0)
            self.assertEqual(foreign.read_bytes(), before)


if __name__ == "__main__":
    unittest.main()
