"""A model's context, from outside: silent replies, hidden messages, usage, overflow, titles, crashes."""

import json
import os
import pty
import select
import shutil
import subprocess
import tempfile
import threading
import time
import unittest

from fake_model import FakeModel
from reefbox import (ERROR, GET_HISTORY, RESPONSE, REWIND_SESSION, SEND, Home, binary,
                     environment, read_lines, request, script, spoken, turn, wait_for)
from test_compaction import said
from test_search import transcript

GENERATE_TITLE, DESCRIBE_CONTEXT, DESCRIBE_SESSION, SUBSCRIBE_EVENTS = 300, 301, 302, 34
HIDDEN = 202
MODEL = 'default_model = "s"\n'


class Case(unittest.TestCase):
    def home(self, config=MODEL, **options):
        home = Home(config, **options)
        self.addCleanup(home.cleanup)
        home.start()
        return home

    def link(self, home):
        link = home.connect()
        self.addCleanup(link.close)
        return link

    def entries(self, home, kind=None):
        (path,) = home.transcripts()
        return [e for e in read_lines(path) if kind in (None, e["type"])]


class Silent(Case):
    def test_a_silent_reply_is_kept_and_told_to_nobody(self):
        home = self.home(script=script({"text": "NO_REPLY quokka", "chunks": 7}, {"text": "NO_REPLYING is a word"}))
        link = self.link(home)
        events = link.stream(turn(content="anything new?"))
        self.assertEqual([e.event for e in events], ["start", "context_usage", "end"])
        self.assertEqual(events[-1].detail.int(201), 1, "silent")
        events = link.stream(turn(content="and now?"))
        self.assertEqual(spoken(events), "NO_REPLYING is a word")
        self.assertEqual(events[-1].detail.int(201), 0)
        messages = self.entries(home, "message")
        self.assertEqual([m.get("hidden", False) for m in messages], [False, True, False, False])
        session = home.reef("sessions", "--json").json[0]["id"]
        self.assertIn("hidden", home.reef("show", session).out)
        history = link.call(GET_HISTORY, {1: session})
        self.assertEqual([m for m in history.body.fields[1] if b"quokka" in m], [])
        wait_for(lambda: home.reef("search", "anything", "--json").json["hits"], "the index")
        self.assertEqual(home.reef("search", "quokka", "--json").json["hits"], [])

    def test_send_answers_with_nothing(self):
        home = self.home(script=script({"text": "NO_REPLY"}))
        reply = self.link(home).call(SEND, turn())
        self.assertEqual(reply.tag, RESPONSE)
        self.assertEqual(reply.body.str(2), "")
        done = home.reef("chat", "-p", "again", "--json")
        self.assertEqual(done.code, 0, done.err)
        self.assertIs(done.json["silent"], True)
        self.assertEqual(done.json["reply"], "")

    def test_guests_and_subscribers(self):
        home = self.home(script=script({"text": "NO_REPLY hush", "chunks": 9}),
                         files={"agents/critic.toml": 'model = "s"\n'})
        watcher = self.link(home)
        watcher.send(request(SUBSCRIBE_EVENTS, {}))
        link = self.link(home)
        for fields in (turn(content="one"), {**turn(content="two"), 6: "critic"}):
            events = link.stream(fields)
            self.assertEqual(spoken(events), "")
            self.assertEqual(events[-1].detail.int(201), 1)
            done = watcher.recv().body
            self.assertEqual(done.int(3), 5, "DONE, and nothing before it")
        replies = [m for m in self.entries(home, "message") if m["message"]["role"] == "assistant"]
        self.assertEqual([(m.get("agent"), m.get("hidden")) for m in replies], [(None, True), ("critic", True)])

    def test_words_of_a_program(self):
        home = self.home(script=script({"text": "noted"}))
        link = self.link(home)
        watcher = self.link(home)
        watcher.send(request(SUBSCRIBE_EVENTS, {203: 5}))
        self.assertEqual(spoken(link.stream({**turn(content="Flush numbat now"), HIDDEN: True})), "noted")
        link.stream(turn(content="hello there"))
        first, second = watcher.recv().body, watcher.recv().body
        self.assertEqual((first.int(206), second.int(206)), (1, 0), "hidden, on DONE")
        self.assertGreater(second.sub(204).int(200), 0, "context tokens")
        self.assertEqual(second.int(205), 0)
        row = home.reef("sessions", "--json").json[0]
        self.assertEqual(row["preview"], "hello there")
        self.assertIs(self.entries(home, "message")[0]["hidden"], True)


class Usage(Case):
    def test_after_every_step_also_for_local(self):
        home = self.home(config="")
        events = self.link(home).stream(turn(content="hello"))
        usage = [e.detail for e in events if e.event == "context_usage"]
        self.assertTrue(usage)
        self.assertGreater(usage[-1].int(200), 0)
        self.assertEqual(usage[-1].int(204), 1, "estimated")

    def test_estimated_counts_say_so_everywhere(self):
        for usage, estimated in ((None, True), ({"prompt_tokens": 700, "completion_tokens": 9, "total_tokens": 709}, False)):
            with self.subTest(usage=usage):
                fake = FakeModel([{"content": "An answer."}], usage=usage)
                self.addCleanup(fake.close)
                home = self.home(config=fake.config, files={"agents/fake.toml": 'model = "fake/big"\n'})
                events = self.link(home).stream(turn("fake"))
                (context,) = [e.detail for e in events if e.event == "context_usage"]
                end = events[-1].detail
                self.assertEqual([context.int(204), context.sub(1).int(200), end.sub(5).int(200)], [estimated] * 3)
                self.assertEqual(self.link(home).call(SEND, turn("fake")).body.sub(6).int(200), estimated)
                replies = [m["message"] for m in self.entries(home, "message") if m["message"]["role"] == "assistant"]
                self.assertEqual(replies[0]["usage"].get("estimated", False), estimated)
                row = home.reef("sessions", "--json").json[0]
                self.assertEqual(row.get("contextEstimated", False), estimated)
                self.assertEqual(home.reef("status", row["id"], "--json").json["context"]["estimated"], estimated)
                said = home.reef("chat", "-a", "fake", "--json", "-p", "hello").json
                self.assertEqual([said["usage"]["estimated"], said["context"]["estimated"]], [estimated] * 2)

    def test_status_and_context(self):
        home = self.home(script=json.dumps({"replies": [{"text": "well"}], "window": 50000}))
        home.say("look at this " + "harbour " * 200)
        session = home.reef("sessions", "--json").json[0]["id"]
        status = home.reef("status", session, "--json")
        self.assertEqual(status.code, 0, status.err)
        self.assertEqual(status.json["model"], "s")
        self.assertEqual(status.json["context"]["window"], 50000)
        self.assertEqual(status.json["context"]["reserve"], 20000)
        self.assertEqual(status.json["queue"], "followup")
        self.assertEqual(status.json["permissionMode"], "ask")
        self.assertIsNone(status.json["lastError"])
        self.assertTrue(os.path.exists(status.json["storePath"]))
        shown = home.reef("status", session).out
        for word in ("model", "context", "compactions", "permissions", "file"):
            self.assertIn(word, shown)
        context = home.reef("context", session, "--json").json
        kinds = {part["kind"]: part for part in context["parts"]}
        self.assertGreater(kinds["user"]["tokens"], 50)
        self.assertGreater(kinds["tools"]["count"], 3)
        self.assertAlmostEqual(sum(p["tokens"] for p in context["parts"]), context["tokens"],
                               delta=context["tokens"])
        bar = home.reef("context", session).out.splitlines()[1]
        self.assertEqual(len(bar), 62)
        self.assertIn("u", bar)
        self.assertNotEqual(home.reef("status", "nothing-here").code, 0)
        self.assertEqual(home.reef("status").code, 0, "without an id it is the daemon's")

    def test_the_last_error_is_told(self):
        home = self.home(script=script({"fail": "auth", "message": "who are you"}))
        home.reef("chat", "-p", "hello")
        session = home.reef("sessions", "--json").json[0]["id"]
        self.assertIn("who are you", home.reef("status", session, "--json").json["lastError"])


# The policy is off in these tests, so the agent's file asks for compaction on overflow.
COMPACTS = {"agents/reef.toml": "compact_on_overflow = true\n"}


class Overflow(Case):
    def test_the_turn_is_asked_again_and_nothing_is_twice(self):
        home = self.home(MODEL + "[compaction]\nkeep_recent_tokens = 500\n",
                         script=json.dumps({"replies": [{"text": "well"}], "window": 6000}), files=COMPACTS)
        link = self.link(home)
        link.stream(turn(content="Always use branch release-7."))
        compacted = 0
        words = []
        for n in range(40):
            words.append(f"message {n} " + "pebble " * 150)
            events = link.stream(turn(content=words[-1]))
            self.assertEqual(spoken(events), "well")
            self.assertEqual(events[-1].detail.str(2), "")
            compacted += events[-1].detail.int(202)
        self.assertGreater(compacted, 0)
        self.assertEqual(len(self.entries(home, "compaction")), compacted)
        texts = [e["message"]["content"][0]["text"] for e in self.entries(home, "message")
                 if e["message"]["role"] == "user"]
        self.assertEqual(texts[1:], words)
        archives = home.reef("archives", "--json").json
        self.assertEqual(len(archives), compacted)
        shown = home.reef("archives", "show", archives[0]["name"])
        self.assertIn("release-7", shown.out)
        self.assertNotEqual(home.reef("archives", "show", "no-such").code, 0)

    def test_without_the_policy_nothing_is_compacted_by_itself(self):
        home = self.home(MODEL, script=json.dumps({"replies": [{"text": "well"}], "window": 3000}))
        link = self.link(home)
        link.stream(turn(content="hello"))
        end = link.stream(turn(content="pebble " * 4000))[-1].detail
        self.assertIn("context_overflow", end.str(2))
        self.assertEqual(self.entries(home, "compaction"), [])

    def test_a_turn_is_helped_twice_and_no_more(self):
        folder = tempfile.mkdtemp(prefix="rb", dir="/tmp")
        self.addCleanup(shutil.rmtree, folder)
        services = os.path.join(folder, "services")
        with open(services, "w", encoding="utf-8") as file:
            file.writelines(f"service-{number}  {number}/tcp  # one of many\n" for number in range(400))
        home = self.home(MODEL + "[compaction]\nkeep_recent_tokens = 100\n[pruning]\nsoft_share = 1.0\nhard_share = 1.0\n",
                         script=json.dumps({"window": 4000, "replies": [{"text": "Reading on.", "calls": [
                             {"name": "read", "arguments": {"path": services}}]}] * 200}), files=COMPACTS)
        link = self.link(home)
        end = link.stream(turn(content="Read it all."))[-1].detail
        self.assertIn("context_overflow", end.str(2))
        self.assertIn("compacted 2 times in this turn", end.str(2))
        self.assertEqual(len(self.entries(home, "compaction")), 2)

    def test_turned_off_it_is_an_error_with_its_code(self):
        home = self.home(MODEL + "[compaction]\non_overflow = false\n",
                         script=json.dumps({"replies": [{"text": "well"}], "window": 3000}))
        link = self.link(home)
        link.stream(turn(content="hello"))
        end = link.stream(turn(content="pebble " * 4000))[-1].detail
        self.assertIn("context_overflow", end.str(2))
        self.assertEqual(end.int(203), 502)
        self.assertEqual(end.int(202), 0)


class Titles(Case):
    def test_by_a_model_and_by_the_words(self):
        home = self.home(script=script({"text": "Keys of the harbour"}))
        home.say("Where do the deploy keys of the harbour live?")
        session = home.reef("sessions", "--json").json[0]["id"]
        self.assertEqual(home.reef("title", session, "--json").json["name"], "Keys of the harbour")
        self.assertEqual(home.reef("sessions", "--json").json[0]["name"], "Keys of the harbour")
        self.assertEqual(home.reef("title", session, "My", "own").out.strip(), "My own")
        self.assertEqual(home.reef("title", session, "--keep").out.strip(), "My own")
        home.reef("set", session, "modelOverride=local")
        self.assertIn("keys of the harbour", home.reef("title", session).out)

    def test_wrong_questions(self):
        home = self.home(config="")
        link = self.link(home)
        for tag in (GENERATE_TITLE, DESCRIBE_CONTEXT, DESCRIBE_SESSION):
            for name in ("", "no-such", "../x", "a" * 100000, "\0"):
                self.assertEqual(link.call(tag, {1: name}).tag, ERROR, (tag, name[:20]))
        home.say("hi")
        self.assertNotEqual(link.call(DESCRIBE_SESSION, {2: "reef", 3: "user"}).tag, ERROR)


class Rewind(Case):
    def test_a_rewind_tells_of_the_part_left_behind(self):
        home = self.home(script=script({"text": "Blue was tried."}))
        home.say("first")
        place = self.entries(home, "message")[-1]["id"]
        home.say("try the blue one")
        session = home.reef("sessions", "--json").json[0]["id"]
        done = home.reef("rewind", session, place, "--summarize", "--mind", "colours")
        self.assertEqual(done.code, 0, done.err)
        entry = self.entries(home, "branch_summary")[0]
        self.assertEqual((entry["parentId"], entry["summary"]), (place, "Blue was tried."))
        size = os.path.getsize(home.transcripts()[0])
        self.assertEqual(self.link(home).call(REWIND_SESSION, {1: session, 2: "nothere0", 3: True}).code, 404)
        self.assertEqual(os.path.getsize(home.transcripts()[0]), size)
        home.say("go on")
        self.assertEqual(home.reef("fsck").code, 0)


class Crashes(Case):
    """kill -9 at any moment: before or after, never between."""

    FILES = {"sessions/260101-bulk-one/session.jsonl": transcript("260101-bulk-one", *said(300))}
    SLOW = json.dumps({"replies": [{"text": "## Goal\nGo on.", "chunks": 8, "delay_ms": 5}]})

    def path(self, home):
        return home.file("sessions/260101-bulk-one/session.jsonl")

    def sweep(self, command, kind, delays):
        seen = set()
        for delay in delays:
            home = Home(MODEL, script=self.SLOW, files=self.FILES)
            try:
                home.start()
                before = len(read_lines(self.path(home)))
                worker = threading.Thread(target=lambda: home.reef("--no-start", *command))
                worker.start()
                time.sleep(delay)  # varies the moment of the crash
                home.kill9()
                worker.join()
                home.start()
                entries = read_lines(self.path(home))
                made = [e for e in entries if e["type"] == kind]
                seen.add(len(made))
                self.assertLessEqual(len(made), 1)
                self.assertEqual(len(entries), before + len(made))
                self.assertEqual(home.reef("fsck").code, 0)
                home.reef("resume", "260101-bulk-one", "--key", "agent:reef:ada")
                home.say("still there?", sender="ada")
                # The next attempt works, or says that it was already done.
                again = home.reef(*command)
                if not made:
                    self.assertEqual(again.code, 0, again.err)
            finally:
                home.cleanup()
        return seen

    def test_compaction(self):
        self.sweep(("compact", "260101-bulk-one"), "compaction", [n * 0.02 for n in range(16)])

    def test_title(self):
        self.sweep(("title", "260101-bulk-one"), "session_info", [n * 0.012 for n in range(8)])

    def test_torn_at_any_byte_of_what_was_written(self):
        home = self.home(script=self.SLOW, files=self.FILES)
        for command, kind in ((("compact", "260101-bulk-one"), "compaction"),
                              (("title", "260101-bulk-one"), "session_info")):
            self.assertEqual(home.reef(*command).code, 0)
            home.stop()
            with open(self.path(home), "rb") as file:
                whole = file.read()
            start = whole.rstrip(b"\n").rfind(b"\n") + 1
            size = len(whole) - start
            for cut in sorted({0, 1, 2, size // 3, size // 2, size - 2, size - 1}):
                with open(self.path(home), "wb") as file:
                    file.write(whole[:start + cut])
                home.start()
                home.reef("resume", "260101-bulk-one", "--key", "agent:reef:ada")
                home.say("still there?", sender="ada")
                kinds = [e["type"] for e in read_lines(self.path(home))]
                self.assertEqual(kinds.count(kind), 1 if cut >= size - 1 else 0, (kind, cut))
                self.assertEqual(home.reef("fsck").code, 0)
                home.stop()
            with open(self.path(home), "wb") as file:
                file.write(whole)
            home.start()


class Slash(Case):
    """Commands at the terminal."""

    def chat(self, home, *lines):
        parent, child = pty.openpty()
        process = subprocess.Popen([binary("reef"), "--home", home.path, "chat"], stdin=child, stdout=child, stderr=child,
                                   env=environment(), close_fds=True)
        os.close(child)
        out = b""

        def read_until(word):
            nonlocal out
            deadline = time.monotonic() + 20
            while word not in out:
                ready, _, _ = select.select([parent], [], [], max(0, deadline - time.monotonic()))
                if not ready:
                    raise AssertionError(f"no {word!r} in {out!r}")
                try:
                    out += os.read(parent, 65536)
                except OSError:
                    return
        try:
            for line, wanted in lines:
                out = b""
                os.write(parent, line.encode() + b"\n")
                read_until(wanted.encode())
        finally:
            os.write(parent, b"\x04")
            process.wait(20)
            os.close(parent)

    def test_all_of_them(self):
        home = self.home(script=script({"text": "well said"}))
        home.say("hello harbour")
        session = home.reef("sessions", "--json").json[0]["id"]
        self.chat(home,
                  ("/help", "how full the window is"),
                  ("/status", "permissions"),
                  ("/context", "tokens"),
                  ("/title My own words", "My own words"),
                  ("/model local", "model: local"),
                  ("/model default", "model: default"),
                  ("/think high", "thinking: high"),
                  ("/think nonsense", "must be one of"),
                  ("/verbose on", "verbose: on"),
                  ("hello again", "well said"),
                  ("/stop", "stopped"),
                  ("/compact mind it", "message(s) summarised"),
                  ("/fork", "now in"),
                  (f"/resume {session}", session),
                  ("/nosuchcommand x", "well said"),
                  ("/new", "New session"))
        rows = {row["id"]: row for row in home.reef("sessions", "--json").json}
        self.assertEqual(rows[session]["name"], "My own words")
        self.assertEqual(rows[session]["thinkingLevel"], "high")
        self.assertEqual(len(rows), 3)


if __name__ == "__main__":
    unittest.main()
