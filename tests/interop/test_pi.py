"""pi and Reef on the same session files: each opens, continues and understands what the other wrote.

pi is the npm package @mariozechner/pi-coding-agent (npm.py), driven through its own SessionManager by pi_session.mjs.
REEF_PI_LARGE may name pi's large-session.jsonl: then its golden numbers are checked too.
"""

import hashlib
import json
import os
import re
import select
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "blackbox"))

import npm  # noqa: E402
from reefbox import STREAM, Home, read_lines, request, script, turn  # noqa: E402

VERSION = "0.73.1"
PACKAGE = "@mariozechner/pi-coding-agent"
DATA = HERE / "data"
ANSWER_SECONDS = 30
NODE_MIN = (20, 6)  # what pi's package.json asks for
RECAP = "what did I say so far?"  # the local provider answers with the user's messages it was given

pi = None  # the one Pi of this run


# ---------------------------------------------------------------- pi

class Pi:
    """A node process with pi's SessionManager. Every request opens its file anew."""

    def __init__(self, node, cache):
        self.folder = tempfile.mkdtemp(prefix="pi", dir="/tmp")  # pi's own home: it must not see the user's
        env = dict(os.environ, HOME=self.folder, PI_CODING_AGENT_DIR=os.path.join(self.folder, "agent"))
        self.errors = open(os.path.join(self.folder, "stderr"), "w+b")
        self.process = subprocess.Popen([node, str(HERE / "pi_session.mjs"), str(cache)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.errors, env=env, cwd=self.folder, bufsize=0)
        self.held = b""
        try:
            self.version = self.answer()["ready"]
        except BaseException:
            self.close()
            raise

    def answer(self):
        deadline = time.monotonic() + ANSWER_SECONDS
        while b"\n" not in self.held:
            if not select.select([self.process.stdout], [], [], max(0, deadline - time.monotonic()))[0]:
                self.process.kill()
                raise AssertionError(f"pi did not answer within {ANSWER_SECONDS} s")
            piece = os.read(self.process.stdout.fileno(), 1 << 20)
            if not piece:
                self.errors.seek(0)
                raise npm.Unavailable("pi does not start: " + self.errors.read().decode("utf-8", "replace")[-2000:])
            self.held += piece
        line, self.held = self.held.split(b"\n", 1)
        return json.loads(line)

    def ask(self, op, **fields):
        self.process.stdin.write(json.dumps({"op": op, **fields}).encode() + b"\n")
        answer = self.answer()
        if "error" in answer:
            raise AssertionError(f"pi: {op} {fields}: {answer['error']}")
        return answer["result"]

    def open(self, file):
        return self.ask("open", file=str(file))

    def write(self, file, *steps):
        return self.ask("write", file=str(file), steps=steps)

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.errors.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def setUpModule():
    global pi
    try:
        pi = Pi(npm.node(NODE_MIN), npm.installed(f"pi-{VERSION}", f"{PACKAGE}@{VERSION}"))
        if pi.version != VERSION:
            raise npm.Unavailable(f"pi {pi.version} is installed")
    except npm.Unavailable as why:
        npm.skip_loudly("INTEROP WITH PI", why)


def tearDownModule():
    if pi:
        pi.close()


# ---------------------------------------------------------------- reading both sides

def text_of(message):
    """The words of a message in pi's context."""
    for name in ("summary", "command"):
        if name in message:
            return message[name]
    content = message["content"]
    return content if isinstance(content, str) else "".join(b["text"] for b in content if b["type"] == "text")


def said(messages):
    return [(m["role"], text_of(m)) for m in messages]


def context_of(branch):
    """The context messages of a branch (entries from root to leaf), by the rules of pi's format."""
    def emit(entry):
        kind = entry["type"]
        if kind == "message":
            return [entry["message"]]
        if kind == "custom_message":
            return [{"role": "custom", **{k: entry[k] for k in ("customType", "content", "display", "details")
                                          if k in entry}}]
        if kind == "branch_summary" and entry["summary"]:
            return [{"role": "branchSummary", "summary": entry["summary"], "fromId": entry["fromId"]}]
        return []

    places = [i for i, entry in enumerate(branch) if entry["type"] == "compaction"]
    if not places:
        return [message for entry in branch for message in emit(entry)]
    at = places[-1]
    compaction = branch[at]
    out = [{"role": "compactionSummary", "summary": compaction["summary"], "tokensBefore": compaction["tokensBefore"]}]
    kept = [i for i in range(at) if branch[i]["id"] == compaction["firstKeptEntryId"]]
    for entry in (branch[kept[0]:at] if kept else []) + branch[at + 1:]:
        out += emit(entry)
    return out


def comparable(messages):
    """Rounds numbers to 12 digits (the class Numbers looks closer), and drops the times that pi makes up itself."""
    def rounded(value):
        if isinstance(value, dict):
            return {name: rounded(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [rounded(inner) for inner in value]
        return round(value, 12) if isinstance(value, float) else value

    real = ("user", "assistant", "toolResult", "bashExecution")
    return [rounded({k: v for k, v in m.items() if k != "timestamp" or m["role"] in real}) for m in messages]


def essence(text):
    """The text of a user-side message, without the sentence each program puts around summaries and commands."""
    text = " ".join(text.split())
    summary = re.search(r"<summary> ?(.*?) ?</summary>", text)
    if summary:
        return "summary: " + summary[1]
    ran = re.match(r"(?:I ran|Ran) `([^`]*)`\.? ``` ?(.*?) ?```", text)
    return f"ran: {ran[1]}: {ran[2]}" if ran else text


def whole_lines(data):
    """The entries of a file's whole lines."""
    out = []
    for line in data.split(b"\n")[:-1]:
        try:
            out.append(json.loads(line))
        except ValueError:
            pass
    return out


def words_in(entries):
    """Every text a person or a model wrote, in the order of the file."""
    out = []
    for entry in entries:
        if entry.get("type") == "message":
            out += [entry["message"].get("output", "")] if "command" in entry["message"] else []
            out.append(text_of(entry["message"]))
        elif entry.get("type") == "custom_message":
            out.append(text_of(entry))
        else:
            out.append(entry.get("summary") or entry.get("name") or "")
    return [text for text in out if text]


class InteropTest(unittest.TestCase):
    maxDiff = 6000

    def home(self, **options):
        home = Home(**options)
        self.addCleanup(home.cleanup)
        if options.get("start", True):
            home.start()
        return home

    def ok(self, result):
        self.assertEqual(result.code, 0, result)
        return result

    def chat(self, home, *lines, agent="reef"):
        """Say each line; the last reply."""
        for line in lines:
            result = self.ok(home.reef("chat", "-a", agent, "-p", line))
        return result.out

    def session(self, home, **wanted):
        """The one session (with these fields) in Reef's list."""
        rows = [row for row in self.ok(home.reef("sessions", "--json")).json
                if all(row[name] == value for name, value in wanted.items())]
        self.assertEqual(len(rows), 1, f"{wanted} in {rows}")
        return rows[0]

    def show(self, home, id_, view="--branch"):
        return self.ok(home.reef("show", id_, view, "--json")).json

    def assert_clean(self, home):
        result = home.reef("fsck", "--json")
        self.assertEqual((result.code, result.json["problems"]), (0, []), result)

    def place(self, home, id_, data):
        """Put a session file into a home as somebody who copies it there would."""
        home.write(f"sessions/{id_}/session.jsonl", data)
        return Path(home.file(f"sessions/{id_}/session.jsonl"))

    def assert_same_view(self, home, id_, file):
        """pi and Reef agree on leaf, branch and context. Returns what pi sees."""
        for _ in range(3):
            before = file.read_bytes()
            seen = pi.open(file)
            self.assertEqual(file.read_bytes()[:len(before)], before, "pi changed the file by opening it")
            shown = self.show(home, id_)
            if file.read_bytes() == before:
                break  # else Reef appended metadata meanwhile, such as that the session was looked at, so compare again
        else:
            self.fail("looking at a session changes its file every time")
        self.assertEqual(seen["leaf"], shown["leaf"])
        self.assertEqual(seen["branch"], [entry["id"] for entry in shown["entries"]])
        self.assertEqual(said(seen["messages"]), said(context_of(shown["entries"])))
        self.assertEqual(comparable(seen["messages"]), comparable(context_of(shown["entries"])))
        return seen

    def assert_same_context(self, home, file):
        """The model behind Reef is given the user-side messages that pi would give to its own."""
        expected = [essence(text_of(m)) for m in pi.open(file)["forModel"] if m["role"] == "user"]
        reply = self.chat(home, RECAP)
        quoted = re.findall(r'^(\d+)\. "(.*)"$', reply, re.MULTILINE)
        self.assertTrue(quoted, reply)
        self.assertEqual([essence(text) for _, text in quoted], expected[-5:])
        self.assertEqual(int(quoted[-1][0]), len(expected), f"messages given to the model\n{reply}")

    def assert_whole(self, file):
        """A file both programs can append to: whole lines, unique ids, every parent above its child, one root."""
        header, *entries = read_lines(file)
        self.assertEqual((header["type"], header["version"]), ("session", 3))
        self.assertLessEqual(len(file.read_bytes().split(b"\n", 1)[0]), 512, "pi --continue reads 512 bytes of header")
        known = set()
        for number, entry in enumerate(entries):
            self.assertEqual("parentId" in entry and entry["parentId"] is None, number == 0, entry)
            self.assertTrue(number == 0 or entry["parentId"] in known, entry)
            self.assertNotIn(entry["id"], known)
            known.add(entry["id"])
        return entries


# ---------------------------------------------------------------- (a) Reef writes, pi reads

class PiReadsReef(InteropTest):
    def test_a_conversation_with_a_rewind_and_a_name(self):
        home = self.home()
        odd = "Ünïcödé ✓ \u2028 \U0001f41f stays"
        self.chat(home, "the boat is red", "the captain is Ada", odd, "the mast is broken")
        id_ = self.session(home)["id"]
        file = Path(home.transcript())
        entries = self.show(home, id_)["entries"]
        (target,) = [e["id"] for e in entries if e["type"] == "message" and e["message"]["role"] == "user"
                     and text_of(e["message"]) == odd]
        reply = next(e["id"] for e in entries if e.get("parentId") == target)
        self.ok(home.reef("rewind", id_, reply))
        self.chat(home, "the mast was mended", "what is the boat?")
        self.ok(home.reef("set", id_, "name=Harbour talk"))
        self.ok(home.reef("label", id_, target, "odd words"))
        home.stop()

        before = file.read_bytes()
        seen = pi.open(file)
        listed = pi.ask("list", folder=str(file.parent))
        self.assertEqual(file.read_bytes(), before, "pi rewrote the file on opening it")
        self.assert_whole(file)
        users = [text for role, text in said(seen["messages"]) if role == "user"]
        self.assertEqual(users, ["the boat is red", "the captain is Ada", odd, "the mast was mended",
                                 "what is the boat?"])
        self.assertEqual([m["role"] for m in seen["messages"]],
                         ["user", "assistant"] * 5 + ["toolResult"] * 2 + ["assistant"])
        self.assertIn("the boat is red", text_of(seen["messages"][-1]))
        self.assertEqual(seen["name"], "Harbour talk")
        self.assertEqual(seen["labels"], {target: "odd words"})
        self.assertEqual(seen["id"], id_)
        self.assertEqual(seen["roots"], 1)
        self.assertEqual(seen["model"], {"provider": "local", "modelId": "local"})
        self.assertIsNotNone(seen["cost"], "pi's footer adds up usage.cost.total of every reply")
        (info,) = listed["sessions"]
        self.assertEqual((info["name"], info["id"], info["firstMessage"]), ("Harbour talk", id_, "the boat is red"))
        self.assertEqual(listed["recent"], str(file), "pi --continue does not find the file")

        home.start()
        again = self.assert_same_view(home, id_, file)
        self.assertEqual(again["leaf"], seen["leaf"])
        row = self.session(home)
        self.assertEqual((row["messageCount"], row["name"]), (info["messageCount"], info["name"]))
        self.assert_clean(home)

    def test_a_rewind_as_the_last_thing(self):
        home = self.home()
        self.chat(home, "one", "two", "three")
        id_ = self.session(home)["id"]
        target = self.show(home, id_)["entries"][2]["id"]  # metadata, "one", its reply
        self.ok(home.reef("rewind", id_, target))
        home.stop()
        seen = pi.open(home.transcript())
        self.assertEqual([m["role"] for m in seen["messages"]], ["user", "assistant"])
        self.assertEqual(text_of(seen["messages"][0]), "one")
        home.start()
        self.assert_same_view(home, id_, Path(home.transcript()))
        self.assert_same_context(home, home.transcript())

    def test_failed_and_cancelled_replies(self):
        home = self.home(script=script({"text": "fine"}, {"text": "half a", "fail": "server", "message": "broke"},
                                       {"text": "never done", "hang": True}))
        self.chat(home, "first", agent="scripted")
        self.assertEqual(home.reef("chat", "-a", "scripted", "-p", "second").code, 1)
        with home.connect() as link:
            link.send(request(STREAM, turn("scripted", "third", "user")))
            while link.recv().event != "chunk":
                pass
            self.ok(home.reef("kill", "-a", "scripted"))
            while (reply := link.recv()) and reply.event != "end" and reply.code is None:
                pass
        row = self.session(home)
        home.stop()
        home.start()
        seen = self.assert_same_view(home, row["id"], Path(home.transcript()))
        self.assertEqual([m.get("stopReason", m["role"]) for m in seen["messages"]],
                         ["user", "stop", "user", "error", "user", "aborted"])
        self.assertIsNotNone(seen["cost"])
        self.assert_whole(Path(home.transcript()))

    def test_a_fork(self):
        home = self.home()
        self.chat(home, "kept", "left behind")
        id_ = self.session(home)["id"]
        entries = self.show(home, id_)["entries"]
        reply = entries[2]["id"]
        fork = self.ok(home.reef("fork", id_, "--at", reply, "--json")).json["id"]
        file = Path(home.file(f"sessions/{fork}/session.jsonl"))
        seen = self.assert_same_view(home, fork, file)
        self.assertEqual([m["role"] for m in seen["messages"]], ["user", "assistant"])
        self.assertEqual(text_of(seen["messages"][0]), "kept")
        self.assertEqual(seen["header"]["parentSession"], home.file(f"sessions/{id_}/session.jsonl"))
        self.assert_whole(file)


# ---------------------------------------------------------------- (b) pi appends under a running daemon

class PiContinuesReef(InteropTest):
    def setUp(self):
        self.reef = self.home()
        self.chat(self.reef, "the boat is red", "the captain is Ada")
        self.id = self.session(self.reef)["id"]
        self.file = Path(self.reef.transcript())

    def own_line(self, start):
        """The first entry after byte `start` of the file."""
        return json.loads(self.file.read_bytes()[start:].split(b"\n", 1)[0])

    def test_a_message_and_a_reply(self):
        wrote = pi.write(self.file, ["user", "the harbour code is 7431"], ["assistant", "I shall keep that in mind."])
        size = self.file.stat().st_size
        self.assert_clean(self.reef)
        reply = self.chat(self.reef, "what is the harbour code?")
        self.assertIn("7431", reply)
        self.assertEqual(self.own_line(size)["parentId"], wrote["leaf"], "Reef did not continue from pi's leaf")
        self.assert_clean(self.reef)
        self.assert_whole(self.file)
        self.assert_same_context(self.reef, self.file)
        seen = self.assert_same_view(self.reef, self.id, self.file)
        users = [text for role, text in said(seen["messages"]) if role == "user"]
        self.assertEqual(users, ["the boat is red", "the captain is Ada", "the harbour code is 7431",
                                 "what is the harbour code?", RECAP])
        self.assertIn(("assistant", "I shall keep that in mind."), said(seen["messages"]))
        self.assertIn(("assistant", reply.rstrip("\n")), said(seen["messages"]))
        row = self.session(self.reef)
        self.assertEqual(row["messageCount"], 13, "a question takes two tool calls")
        self.assertAlmostEqual(row["tokenUsage"]["costUsd"], seen["cost"])
        # The same must hold after a restart.
        self.reef.stop()
        self.reef.start()
        self.assertIn("7431", self.chat(self.reef, "what is the harbour code?"))
        self.assert_clean(self.reef)

    def test_looking_right_after_pi_wrote(self):
        # Reef appends nothing in between, so it must show what is in the file.
        pi.write(self.file, ["user", "the harbour code is 7431"], ["assistant", "Noted."], ["name", "Named by pi"])
        with self.subTest("show --raw"):
            self.assertEqual(self.ok(self.reef.reef("show", self.id, "--raw")).out_bytes, self.file.read_bytes())
        with self.subTest("show --json"):
            self.assert_same_view(self.reef, self.id, self.file)
        with self.subTest("show"):
            self.assertIn("7431", self.ok(self.reef.reef("show", self.id)).out)
        with self.subTest("tail"):
            self.assertIn("7431", self.ok(self.reef.reef("tail", self.id)).out)

    def test_pointing_at_what_pi_wrote(self):
        reply = pi.write(self.file, ["user", "the tide is low"], ["assistant", "Noted."], ["user", "the mast is gone"],
                         ["assistant", "Oh."])["ids"][1]
        fork = self.ok(self.reef.reef("fork", self.id, "--at", reply, "--json")).json["id"]
        seen = pi.open(self.reef.file(f"sessions/{fork}/session.jsonl"))
        self.assertEqual([text for role, text in said(seen["messages"]) if role == "user"],
                         ["the boat is red", "the captain is Ada", "the tide is low"])
        self.ok(self.reef.reef("label", self.id, reply, "before the mast"))
        self.assertEqual(pi.open(self.file)["labels"], {reply: "before the mast"})
        self.ok(self.reef.reef("rewind", self.id, reply))
        self.assert_same_context(self.reef, self.file)
        seen = self.assert_same_view(self.reef, self.id, self.file)
        self.assertNotIn("the mast is gone", [text for _, text in said(seen["messages"])])
        self.assert_clean(self.reef)

    def test_turn_by_turn(self):
        for number in range(4):
            wrote = pi.write(self.file, ["user", f"pier {number} is closed"], ["assistant", f"pier {number}: noted"])
            size = self.file.stat().st_size
            self.assertIn(f"pier {number} is closed", self.chat(self.reef, f"is pier {number} closed?"))
            self.assertEqual(self.own_line(size)["parentId"], wrote["leaf"])
        self.assert_same_context(self.reef, self.file)
        self.assert_same_view(self.reef, self.id, self.file)
        self.assert_whole(self.file)
        self.assert_clean(self.reef)

    def test_settings_names_notes_and_labels(self):
        pi.write(self.file, ["name", "Named by pi"], ["model", "openai", "gpt-5"], ["thinking", "high"],
                 ["note", "demo.note", "the tide is low", False], ["custom", "demo.state", {"n": 1}])
        self.assertIn("the tide is low", self.chat(self.reef, "how is the tide?"))
        row = self.session(self.reef)
        self.assertEqual((row["name"], row["thinkingLevel"]), ("Named by pi", "high"))
        seen = self.assert_same_view(self.reef, self.id, self.file)
        self.assertEqual((seen["name"], seen["thinkingLevel"]), ("Named by pi", "high"))
        self.assert_same_context(self.reef, self.file)
        pi.write(self.file, ["name", ""])
        self.chat(self.reef, "the name is gone")
        self.assertEqual(self.session(self.reef)["name"], "")
        self.ok(self.reef.reef("set", self.id, "name=Named by Reef"))
        self.assertEqual(pi.open(self.file)["name"], "Named by Reef")
        first = self.show(self.reef, self.id)["entries"][1]["id"]
        pi.write(self.file, ["label", first, "from pi"])
        self.chat(self.reef, "a bookmark was set")
        self.assertRegex(self.ok(self.reef.reef("show", self.id, "--tree")).out, rf"(?m)^ *{first} .*#from pi$")
        self.ok(self.reef.reef("label", self.id, first))
        self.assertEqual(pi.open(self.file)["labels"], {})
        self.ok(self.reef.reef("set", self.id, "name="))
        self.assertIsNone(pi.open(self.file)["name"])
        self.assert_same_view(self.reef, self.id, self.file)
        self.assert_clean(self.reef)

    def test_both_at_once(self):
        # Neither side locks: a turn that crosses with pi may fork the tree, but no word is lost and nothing is damaged.
        count = 12
        failed = []

        def talk():
            try:
                self.chat(self.reef, *(f"reef says {number}" for number in range(count)))
            except BaseException as error:  # the main thread reports it
                failed.append(error)

        talker = threading.Thread(target=talk)
        talker.start()
        for number in range(count):
            pi.write(self.file, ["user", f"pi says {number}"], ["assistant", f"pi answers {number}"])
            time.sleep(0.05)  # as fast as an agent calls tools
        talker.join()
        self.assertEqual(failed, [])
        self.assert_whole(self.file)
        words = words_in(read_lines(self.file))
        for number in range(count):
            for word in (f"reef says {number}", f"pi says {number}", f"pi answers {number}"):
                self.assertEqual(words.count(word), 1, word)
        self.chat(self.reef, "now it is quiet")
        self.assert_clean(self.reef)
        self.assert_same_view(self.reef, self.id, self.file)

    def test_a_compaction(self):
        entries = self.show(self.reef, self.id)["entries"]
        (kept,) = [e["id"] for e in entries if e["type"] == "message" and text_of(e["message"]) == "the captain is Ada"]
        pi.write(self.file, ["compaction", "They spoke of a boat.", kept, 5000], ["user", "the anchor is lost"],
                 ["assistant", "Noted."])
        self.assert_same_context(self.reef, self.file)
        self.assertIn("Nothing I know answers that", self.chat(self.reef, "is anything red?"))
        seen = self.assert_same_view(self.reef, self.id, self.file)
        self.assertEqual(said(seen["messages"])[:2],
                         [("compactionSummary", "They spoke of a boat."), ("user", "the captain is Ada")])
        self.assertEqual(self.session(self.reef)["compactionCount"], 1)
        self.reef.stop()
        self.reef.start()
        self.assert_same_context(self.reef, self.file)
        self.assert_clean(self.reef)

    def test_a_branch(self):
        entries = self.show(self.reef, self.id)["entries"]
        reply = entries[2]["id"]
        pi.write(self.file, ["branch_summary", reply, "They named a captain."], ["user", "the captain is Grace"],
                 ["assistant", "Noted."])
        self.assert_same_context(self.reef, self.file)
        answer = self.chat(self.reef, "who is the captain?")
        self.assertIn("Grace", answer)
        self.assertNotIn("Ada", answer)
        self.assert_same_view(self.reef, self.id, self.file)
        self.assert_clean(self.reef)

    def test_a_pi_that_does_not_look_again(self):
        # pi keeps its own leaf, so its later entries fork off there; the last writer's chain is the branch.
        pi.ask("hold", file=str(self.file))
        self.chat(self.reef, "only Reef heard of the whale")
        wrote = pi.ask("write_held", steps=[["user", "the harbour code is 7431"], ["assistant", "Noted."]])
        size = self.file.stat().st_size
        self.assert_same_context(self.reef, self.file)
        self.assertEqual(self.own_line(size)["parentId"], wrote["leaf"])
        seen = self.assert_same_view(self.reef, self.id, self.file)
        self.assertNotIn(("user", "only Reef heard of the whale"), said(seen["messages"]))
        self.assertIn("only Reef heard of the whale", words_in(self.show(self.reef, self.id, "--all")["entries"]))
        self.assert_clean(self.reef)

    def test_a_pi_that_died_in_the_middle_of_a_line(self):
        pi.write(self.file, ["user", "the harbour code is 7431"], ["assistant", "Noted."])
        whole = self.file.read_bytes()
        with open(self.file, "ab") as out:
            out.write(b'{"type":"message","id":"0badc0de","parentId":"' + pi.open(self.file)["leaf"].encode() +
                      b'","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"the to')
        self.assertIn("7431", self.chat(self.reef, "what is the harbour code?"))
        self.assertTrue(self.file.read_bytes().startswith(whole), "whole lines were changed")
        self.assert_whole(self.file)
        self.assert_clean(self.reef)
        self.assert_same_view(self.reef, self.id, self.file)
        pi.write(self.file, ["user", "the tide is low"], ["assistant", "Noted."])
        self.assert_same_context(self.reef, self.file)

    def test_an_entry_without_its_newline(self):
        pi.write(self.file, ["user", "the harbour code is 7431"], ["assistant", "Noted."])
        os.truncate(self.file, self.file.stat().st_size - 1)
        self.assertIn("7431", self.chat(self.reef, "what is the harbour code?"))
        self.assert_whole(self.file)
        self.assert_same_view(self.reef, self.id, self.file)
        self.assert_clean(self.reef)


class PiContinuesUnansweredReef(InteropTest):
    def test_pi_writes_everything_twice(self):
        # Reef writes the question before the answer; pi then takes the file for unwritten and appends all of it again.
        home = self.home(script=script({"text": "...", "hang": True}))
        with home.connect() as link:
            link.send(request(STREAM, turn("scripted", "the harbour code is 7431", "user")))
            while link.recv().event != "chunk":
                pass
            home.kill9()
        file = Path(home.transcript())
        pi.write(file, ["user", "the boat is red"], ["assistant", "Noted."])
        home.write("agents/scripted.toml", 'model = "local"\n')
        home.start()
        id_ = self.session(home)["id"]
        answer = self.chat(home, "what is the harbour code?", agent="scripted")
        self.assertIn("7431", answer)
        seen = self.assert_same_view(home, id_, file)
        users = [text for role, text in said(seen["messages"]) if role == "user"]
        self.assertEqual(users, ["the harbour code is 7431", "the boat is red", "what is the harbour code?"])
        self.ok(home.reef("fsck", "--repair"))
        self.assert_clean(home)
        self.assertEqual(said(pi.open(file)["messages"]), said(seen["messages"]))
        self.assert_same_view(home, id_, file)


# ---------------------------------------------------------------- (c) pi writes, Reef continues

class ReefContinuesPi(InteropTest):
    EVERYTHING = [
        ["model", "anthropic", "claude-sonnet-4-5"],                                                     # 0
        ["thinking", "medium"],
        ["user", "the old code is 1111"],
        ["reply", [{"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"},
                   {"type": "text", "text": "Reading."},
                   {"type": "toolCall", "id": "call_1", "name": "read", "arguments": {"path": "notes.txt"}}],
         "toolUse"],
        ["message", {"role": "toolResult", "toolCallId": "call_1", "toolName": "read", "isError": False,
                     "content": [{"type": "text", "text": "helo"},
                                 {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}]}],
        ["reply", [{"type": "text", "text": "Done."}], "stop"],                                         # 5
        ["message", {"role": "bashExecution", "command": "ls", "output": "notes.txt", "exitCode": 0, "cancelled": False,
                     "truncated": False}],
        ["message", {"role": "bashExecution", "command": "cat secret", "output": "hidden", "exitCode": 0,
                     "cancelled": False, "truncated": False, "excludeFromContext": True}],
        ["custom", "demo.state", {"n": 1}],
        ["note", "demo.note", "the tide is low", False],
        ["name", "Made by pi"],                                                                         # 10
        ["label", "@2", "start"],
        ["user", "the anchor is lost"],
        ["reply", [], "aborted", {"errorMessage": "Request was aborted"}],
        ["compaction", "They spoke of codes.", "@9", 5000],
        ["user", "the harbour code is 7431"],                                                           # 15
        ["assistant", "Noted."],
        ["user", "this was a detour"],
        ["assistant", "Indeed."],
        ["branch_summary", "@16", "A detour was tried."],
        ["user", "the lamp is green"],                                                                  # 20
        ["reply", [{"type": "text", "text": "half"}], "error", {"errorMessage": "overloaded"}],
        ["label", "@2", None],
        ["label", "@15", "code"],
    ]

    def made(self, home, id_, steps):
        """A session made by pi alone, placed into the home. Its path."""
        folder = Path(home.base) / "pi-sessions"
        wrote = pi.ask("create", folder=str(folder), cwd="/srv/demo", steps=steps)
        return self.place(home, id_, Path(wrote["file"]).read_bytes())

    def test_every_kind_of_entry(self):
        home = self.home(start=False)
        file = self.made(home, "pi-made-1", self.EVERYTHING)
        before = file.read_bytes()
        info = pi.ask("list", folder=str(file.parent))["sessions"][0]
        home.start()
        row = self.session(home, id="pi-made-1")
        self.assertEqual((row["name"], row["messageCount"], row["preview"]),
                         (info["name"], info["messageCount"], info["firstMessage"]))
        self.assertEqual((row["workingDirectory"], row["compactionCount"], row["thinkingLevel"]),
                         ("/srv/demo", 1, "medium"))
        self.assert_clean(home)
        seen = self.assert_same_view(home, "pi-made-1", file)
        self.assertAlmostEqual(row["tokenUsage"]["costUsd"], seen["cost"])
        self.assertEqual(file.read_bytes(), before, "listing, showing and checking do not write")
        self.assertEqual(said(seen["messages"]), [
            ("compactionSummary", "They spoke of codes."), ("custom", "the tide is low"),
            ("user", "the anchor is lost"), ("assistant", ""), ("user", "the harbour code is 7431"),
            ("assistant", "Noted."),
            ("branchSummary", "A detour was tried."), ("user", "the lamp is green"), ("assistant", "half")])

        self.ok(home.reef("resume", "pi-made-1", "--key", "agent:reef:user"))
        reply = self.chat(home, "what is the harbour code?")
        self.assertIn("7431", reply)
        self.assertNotIn("1111", reply, "what a compaction replaced was given to the model")
        self.assertTrue(file.read_bytes().startswith(before), "Reef only appends")
        after = self.assert_same_view(home, "pi-made-1", file)
        count = len(seen["messages"])
        self.assertEqual(said(after["messages"])[:count], said(seen["messages"]))
        turn = said(after["messages"])[count:]
        self.assertEqual([role for role, _ in turn], ["user", "assistant", "toolResult", "toolResult", "assistant"])
        self.assertEqual((turn[0][1], turn[-1][1]), ("what is the harbour code?", reply.rstrip("\n")))
        self.assertEqual((after["name"], after["thinkingLevel"]), ("Made by pi", "medium"))
        self.assertEqual([*after["labels"].values()], ["code"])
        self.assert_same_context(home, file)
        self.assert_whole(file)
        self.assert_clean(home)
        # pi goes on, and Reef again, after a restart.
        wrote = pi.write(file, ["user", "the new code is 9000"], ["assistant", "Noted."])
        home.stop()
        size = file.stat().st_size
        home.start()
        self.assertIn("9000", self.chat(home, "what is the new code?"))
        own = json.loads(file.read_bytes()[size:].split(b"\n", 1)[0])
        self.assertEqual(own["parentId"], wrote["leaf"])
        self.assert_same_view(home, "pi-made-1", file)
        self.assert_same_context(home, file)
        self.assert_clean(home)

    def test_tool_calls_and_commands_in_the_context(self):
        home = self.home(start=False)
        file = self.made(home, "pi-made-2", self.EVERYTHING[:10])
        home.start()
        self.ok(home.reef("resume", "pi-made-2", "--key", "agent:reef:user"))
        seen = self.assert_same_view(home, "pi-made-2", file)
        self.assertEqual([m["role"] for m in seen["messages"]],
                         ["user", "assistant", "toolResult", "assistant", "bashExecution", "bashExecution", "custom"])
        self.assert_same_context(home, file)
        self.assert_clean(home)

    def test_resume_without_a_key(self):
        # pi's file carries no key: there is no conversation to resume it into, and Reef must say so and write nothing.
        home = self.home(start=False)
        file = self.made(home, "pi-made-3", [["user", "hello there"], ["assistant", "Hello."]])
        home.start()
        before = file.read_bytes()
        result = home.reef("resume", "pi-made-3")
        self.assertEqual(result.code, 1, result)
        self.assertRegex(result.err, r"^reef: resume: .*key")
        self.assertEqual(file.read_bytes(), before)


# ---------------------------------------------------------------- older versions

class OldVersions(InteropTest):
    """Reef reads versions 1 and 2 as they are; pi rewrites them to 3 when it opens them."""

    def old(self, version, *lines):
        """A file of that version from (role, text) pairs, with ids from version 2 on; a home with it, running."""
        header = {"type": "session", "id": "old", "timestamp": "2025-11-01T00:00:00.000Z", "cwd": "/srv/demo"}
        if version > 1:
            header["version"] = version
        out, parent = [header], None
        for number, (role, text) in enumerate(lines):
            message = {"role": role, "content": [{"type": "text", "text": text}], "timestamp": 1761955200000 + number}
            if role == "assistant":
                message |= {"api": "anthropic-messages", "provider": "anthropic", "model": "m", "stopReason": "stop",
                            "usage": {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2,
                                      "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}}}
            if role == "hookMessage":
                message |= {"customType": "demo.hook", "display": True}
            entry = {"type": "message", "timestamp": f"2025-11-01T00:00:{number:02}.000Z", "message": message}
            if version > 1:
                entry |= {"id": f"{number:08x}", "parentId": parent}
                parent = entry["id"]
            out.append(entry)
        home = self.home(start=False)
        data = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in out).encode()
        file = self.place(home, "old", data)
        home.start()
        self.assertEqual(said(context_of(self.show(home, "old")["entries"]))[0], lines[0])
        self.assert_clean(home)
        self.assertEqual(file.read_bytes(), data, "old versions are read without touching the file")
        self.ok(home.reef("resume", "old", "--key", "agent:reef:user"))
        return home, file

    def test_version_1(self):
        home, file = self.old(1, ("user", "the boat is red"), ("assistant", "ok"), ("user", "the captain is Ada"),
                              ("assistant", "fine"))
        self.assertIn("Ada", self.chat(home, "who is the captain?"))
        pi.write(file, ["user", "the harbour code is 7431"], ["assistant", "Noted."])  # this renames every entry
        self.assertIn("7431", self.chat(home, "what is the harbour code?"))
        self.assertIn("red", self.chat(home, "what is the boat?"))
        self.assert_same_view(home, "old", file)
        self.assert_same_context(home, file)
        self.assert_whole(file)
        self.assert_clean(home)

    def test_version_1_with_a_rewind(self):
        home, file = self.old(1, ("user", "the boat is red"), ("assistant", "ok"), ("user", "the captain is Ada"),
                              ("assistant", "fine"))
        tree = self.ok(home.reef("show", "old", "--tree")).out
        self.ok(home.reef("rewind", "old", re.search(r"^ *(\S+) assistant: ok$", tree, re.MULTILINE)[1]))
        self.chat(home, "the captain is Grace")
        home.stop()
        seen = pi.open(file)
        self.assertEqual([text for role, text in said(seen["messages"]) if role == "user"],
                         ["the boat is red", "the captain is Grace"], "pi undid the rewind")
        home.start()
        self.assert_same_context(home, file)

    def test_version_2(self):
        home, file = self.old(2, ("user", "the boat is red"), ("hookMessage", "the tide is low"), ("assistant", "ok"))
        self.assertIn("the tide is low", self.chat(home, "how is the tide?"))
        pi.open(file)  # rewrites it, and it gets shorter
        self.assertIn("the tide is low", self.chat(home, "how is the tide?"))
        pi.write(file, ["user", "the harbour code is 7431"], ["assistant", "Noted."])
        self.assertIn("7431", self.chat(home, "what is the harbour code?"))
        self.assert_same_view(home, "old", file)
        self.assert_same_context(home, file)
        self.assert_clean(home)


# ---------------------------------------------------------------- numbers

class Numbers(InteropTest):
    """Numbers are the same to the last bit on both sides."""

    def priced(self, cost):
        usage = {"input": 1200, "output": 80, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 1280,
                 "cost": {"input": cost, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": cost}}
        return ["reply", [{"type": "text", "text": "Noted."}], "stop", {"usage": usage}]

    def test_prices_in_show_fork_and_repair(self):
        def prices(entries):
            return [e["message"]["usage"]["cost"]["total"] for e in entries
                    if e["type"] == "message" and "cost" in e["message"].get("usage", ())]

        home = self.home(start=False)
        data = (DATA / "inject-without-parent.jsonl").read_bytes()
        file = self.place(home, "sample", data)
        expected = prices(whole_lines(data))
        self.assertEqual(expected, [0.0048000000000000004] * 3)
        home.start()
        with self.subTest("show"):
            self.assertEqual(prices(self.show(home, "sample")["entries"]), expected)
        with self.subTest("fork"):
            fork = self.ok(home.reef("fork", "sample", "--json")).json["id"]
            self.assertEqual(prices(read_lines(home.file(f"sessions/{fork}/session.jsonl"))), expected)
        with self.subTest("repair"):
            self.ok(home.reef("fsck", "--repair"))
            self.assertEqual(prices(read_lines(file)), expected)

    def test_the_catalog_knows_the_same_sum_after_a_restart(self):
        home = self.home()
        self.chat(home, "the boat is red")
        file = home.transcript()
        pi.write(file, *[self.priced(0.005)] * 6)
        self.chat(home, "the captain is Ada")
        self.assert_clean(home)
        home.stop()
        home.start()
        self.assert_clean(home)
        self.assertEqual(self.session(home)["tokenUsage"]["costUsd"], pi.open(file)["cost"])


# ---------------------------------------------------------------- (d) sample files

class Samples(InteropTest):
    def sample(self, name, id_="sample"):
        """A home with the sample and a second copy of it, a running daemon; (home, path, bytes)."""
        home = self.home(start=False)
        data = (DATA / name).read_bytes()
        file = self.place(home, id_, data)
        self.place(home, id_ + "-2", data)
        home.start()
        return home, file, data

    def kinds(self, result, id_="sample"):
        return [problem["kind"] for problem in result.json["problems"] if problem["id"] == id_]

    def check(self, name, full, damage, hidden=()):
        """Reef knows every word of the file, reports `damage`, mends it; then pi's context is `full` as well."""
        home, file, data = self.sample(name)
        words = words_in(self.show(home, "sample", "--all")["entries"])
        for word in [*words_in(whole_lines(data)), *hidden]:
            self.assertIn(word, words)
        self.assertEqual(said(context_of(self.show(home, "sample")["entries"])), full)
        found = home.reef("fsck", "--json")
        self.assertEqual(found.code, 1 if damage else 0, found)
        self.assertEqual(self.kinds(found), damage)
        self.assertEqual(self.kinds(found, "sample-2"), damage)

        # Without repair: Reef's model is given the whole history.
        self.ok(home.reef("resume", "sample-2", "--key", "agent:reef:user"))
        quoted = re.findall(r'^\d+\. "(.*)"$', self.chat(home, RECAP), re.MULTILINE)
        self.assertEqual(quoted, [text for role, text in full if role == "user"])

        mended = self.ok(home.reef("fsck", "--repair", "--json"))
        self.assertTrue(all(problem["repaired"] for problem in mended.json["problems"]), mended)
        self.assert_clean(home)
        self.assertEqual(said(pi.open(file)["messages"]), full)
        self.assert_same_view(home, "sample", file)
        if damage:
            self.assertEqual(Path(str(file) + ".damaged").read_bytes(), data, "the damaged file is kept")
        second = Path(home.file("sessions/sample-2/session.jsonl"))
        self.assertEqual(said(pi.open(second)["messages"])[:len(full)], full)
        self.assert_same_context(home, second)
        # pi can continue the mended file.
        pi.write(second, ["user", "the harbour code is 7431"], ["assistant", "Noted."])
        self.assertIn("7431", self.chat(home, "what is the harbour code?"))
        self.assert_clean(home)
        return home, file

    @staticmethod
    def turns(*words):
        return [("user" if i % 2 == 0 else "assistant", word) for i, word in enumerate(words)]

    def test_all_types(self):
        home, file, data = self.sample("pi-0.73.1-all-types.jsonl")
        expected = json.loads((DATA / "pi-0.73.1-all-types.expected.json").read_text(encoding="utf-8"))
        shown = self.show(home, "sample")
        self.assertEqual(shown["leaf"], expected["leaf"])
        self.assertEqual(said(context_of(shown["entries"])), said(expected["messages"]))
        self.assertEqual(comparable(context_of(shown["entries"])), comparable(expected["messages"]))
        words = words_in(self.show(home, "sample", "--all")["entries"])
        self.assertEqual(words, words_in(whole_lines(data)))
        self.assert_clean(home)
        row = self.session(home, id="sample")
        self.assertEqual((row["name"], row["thinkingLevel"]), ("Demo session", expected["thinkingLevel"]))
        self.ok(home.reef("fsck", "--repair"))
        self.assertEqual(file.read_bytes(), data, "nothing to repair, nothing to write")
        seen = self.assert_same_view(home, "sample", file)
        self.assertEqual((seen["leaf"], seen["model"], seen["thinkingLevel"], seen["messages"]),
                         (expected["leaf"], expected["model"], expected["thinkingLevel"], expected["messages"]))
        self.ok(home.reef("resume", "sample", "--key", "agent:reef:user"))
        self.assert_same_context(home, file)

    def test_torn_tail(self):
        # Reef mends a torn last line as soon as it sees the file: it sets the line aside and logs it.
        home, file = self.check("torn-tail.jsonl", self.turns("q0", "r0", "q1", "r1", "q2"), [])
        data = (DATA / "torn-tail.jsonl").read_bytes()
        fragment = data[data.rindex(b"\n") + 1:]
        self.assertEqual(file.read_bytes(), data[:-len(fragment)])
        self.assertEqual(Path(str(file) + ".torn").read_bytes().rstrip(b"\n"), fragment, "nothing is thrown away")
        self.assertRegex(home.read("logs/reefd.log"), r"sessions/sample/session\.jsonl: a torn last line")

    def test_torn_tail_that_came_while_running(self):
        home = self.home()
        self.chat(home, "the boat is red")
        with open(home.transcript(), "ab") as out:
            out.write(b'{"type":"message","id":"0badc0de","parentId":')
        found = home.reef("fsck", "--json")
        self.assertEqual([p["kind"] for p in found.json["problems"]], ["torn_tail"], found)
        self.assertEqual(found.code, 1)
        self.ok(home.reef("fsck", "--repair"))
        self.assert_clean(home)
        pi.write(home.transcript(), ["user", "the harbour code is 7431"], ["assistant", "Noted."])
        self.assertIn("7431", self.chat(home, "what is the harbour code?"))
        self.assert_same_context(home, home.transcript())

    def test_torn_tail_glued(self):
        self.check("torn-tail-glued-by-0.73.1.jsonl",
                   self.turns("q0", "r0", "q1", "r1", "q2") + [("user", "after tear"), ("assistant", "orphaned")],
                   ["glued_line", "bad_line"], hidden=["after tear"])
        alone = pi.open(DATA / "torn-tail-glued-by-0.73.1.jsonl")
        self.assertEqual(said(alone["messages"]), [("assistant", "orphaned")], "what pi makes of it without Reef")

    def test_inject_without_parent(self):
        self.check("inject-without-parent.jsonl",
                   self.turns("q0", "r0", "q1", "r1", "q2", "r2") + [("assistant", "injected")], ["missing_parent"])
        alone = pi.open(DATA / "inject-without-parent.jsonl")
        self.assertEqual(said(alone["messages"]), [("assistant", "injected")], "what pi makes of it without Reef")

    def test_duplicated_prefix(self):
        self.check("duplicated-prefix-by-0.73.1.jsonl", [("user", "q"), ("user", "q2"), ("assistant", "r")],
                   ["second_header", "duplicate_id"])

    def test_two_writers(self):
        # This is a fork, not damage: the last writer's chain is the branch, and the other one is kept.
        self.check("two-writers.jsonl", self.turns("1", "2", "B3", "B4"), [], hidden=["A3", "A4"])


@unittest.skipUnless(os.environ.get("REEF_PI_LARGE"), "REEF_PI_LARGE does not name pi's large-session.jsonl")
class LargeSession(InteropTest):
    """A real version 1 transcript, with the numbers pi 0.73.1 gave for it."""

    SHA256 = "cf73261911d23571"

    def setUp(self):
        self.data = Path(os.environ["REEF_PI_LARGE"]).read_bytes()
        self.assertEqual(hashlib.sha256(self.data).hexdigest()[:16], self.SHA256, "the numbers are for another file")

    def test_golden_numbers(self):
        home = self.home(start=False)
        file = self.place(home, "large", self.data)
        home.start()
        row = self.session(home, id="large")
        self.assertEqual((row["messageCount"], row["contextTokens"], row["compactionCount"]), (914, 177657, 0))
        shown = self.show(home, "large")
        branch = shown["entries"]
        self.assertEqual(len(branch), 1018)
        self.assertEqual(len(self.show(home, "large", "--all")["entries"]), 1018)
        context = context_of(branch)
        roles = [m["role"] for m in context]
        self.assertEqual([len(context), *map(roles.count, ("user", "assistant", "toolResult"))], [914, 88, 453, 373])
        stops = [m["stopReason"] for m in context if m["role"] == "assistant"]
        self.assertEqual([*map(stops.count, ("toolUse", "stop", "aborted", "error"))], [366, 65, 21, 1])
        last = [m for m in context if m["role"] == "assistant"][-1]
        self.assertEqual((last["provider"], last["model"]), ("anthropic", "claude-sonnet-4-5"))
        levels = [e["thinkingLevel"] for e in branch if e["type"] == "thinking_level_change"]
        self.assertEqual((len(levels), levels[-1]), (103, "off"))
        self.assert_clean(home)
        self.assertEqual(file.read_bytes(), self.data, "version 1 is read without touching the file")

        copy = Path(home.base) / "copy.jsonl"  # pi rewrites version 1 on opening it
        copy.write_bytes(self.data)
        seen = pi.open(copy)
        self.assertEqual((seen["entries"], len(seen["messages"]), seen["model"], seen["thinkingLevel"]),
                         (1018, 914, {"provider": "anthropic", "modelId": "claude-sonnet-4-5"}, "off"))
        self.assertEqual((seen["contextTokens"], seen["estimatedTokens"]), (177657, 124661))
        self.assertEqual(copy.stat().st_size, 1012721)
        self.assertEqual(said(context), said(seen["messages"]))
        self.assertEqual(comparable(context), comparable(seen["messages"]))
        self.assertAlmostEqual(row["tokenUsage"]["costUsd"], seen["cost"])

    def test_continued(self):
        home = self.home(start=False)
        file = self.place(home, "large", self.data)
        home.start()
        self.ok(home.reef("resume", "large", "--key", "agent:reef:user"))
        self.chat(home, "the harbour code is 7431")
        self.assertIn("7431", self.chat(home, "what is the harbour code?"))
        self.assert_clean(home)
        shown = self.show(home, "large")
        seen = pi.open(file)
        self.assertEqual(len(seen["messages"]), 918)
        self.assertEqual(said(context_of(shown["entries"])), said(seen["messages"]))
        # pi renamed every entry while the daemon held the session; both go on.
        pi.write(file, ["user", "the lamp is green"], ["assistant", "Noted."])
        self.assertIn("green", self.chat(home, "what is the lamp?"))
        self.assert_clean(home)
        self.assertEqual(len(pi.open(file)["messages"]), 922)


if __name__ == "__main__":
    unittest.main()
