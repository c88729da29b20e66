"""Turns that run, from the outside: questions, steering, queue modes, cancelling, reading along."""

import json
import os
import pty
import select
import signal
import subprocess
import time
import unittest

from reefbox import *

KEY, QUEUE = 200, 201
ASK_ID, ASK_KIND, ASK_CALL = 200, 201, 202
COLOUR = {"question": "Which colour?", "header": "Colour", "options": [{"label": "red"}, {"label": "blue"}]}
DAYS = {"question": "Which days?", "header": "Days", "multi_select": True,
        "options": [{"label": "Mon"}, {"label": "Tue"}, {"label": "Wed"}]}


def asks(*questions):
    return {"calls": [{"name": "ask_user", "arguments": {"questions": list(questions)}}]}


def running(seconds):
    """True when a `sleep SECONDS` is running."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if file.read().split(b"\0")[:2] == [b"sleep", seconds.encode()]:
                    return True
        except OSError:
            pass
    return False


class Case(unittest.TestCase):
    def home(self, *replies, **options):
        home = Home(script=script(*replies), **options)
        self.addCleanup(home.cleanup)
        home.start()
        return home

    def begin(self, home, content="go", until="ask_user", sender=None):
        """Reads a stream up to its first `until`; returns the connection and the events."""
        connection = home.connect()
        self.addCleanup(connection.close)
        connection.send(request(STREAM, turn("scripted", content, sender)))
        seen = []
        while not seen or seen[-1].event != until:
            seen.append(connection.recv())
            self.assertIsNotNone(seen[-1], seen)
            self.assertNotEqual(seen[-1].event, "end", seen)
        return connection, seen

    def questions(self, home, **filters):
        fields = {1: filters.get("agent"), 2: filters.get("sender")}
        reply = home.connect().call(LIST_QUESTIONS, fields)
        self.assertEqual(reply.tag, QUESTION_LIST, reply)
        return [Message(raw) for raw in reply.body.fields.get(1, [])]

    def answer(self, home, content, id_=None, sender=""):
        return home.connect().call(REPLY_TO_ASK, {1: "scripted", 2: sender, 3: content, 200: id_})

    def entries(self, home):
        return [e["message"] for e in read_lines(home.transcript()) if e["type"] == "message"]

    def said(self, home):
        """The transcript as role:text."""
        out = []
        for entry in self.entries(home):
            content = entry["content"]
            text = content if isinstance(content, str) else "".join(b.get("text", "") for b in content)
            out.append(f"{entry['role']}:{text}")
        return out


class Questions(Case):
    def test_a_question_is_shown_listed_and_answered_from_elsewhere(self):
        home = self.home(asks(COLOUR), {"text": "done"})
        connection, seen = self.begin(home)
        ask = seen[-1].detail
        (question,) = [Message(raw) for raw in ask.fields[1]]
        self.assertEqual((question.str(1), question.str(2)), ("Which colour?", "Colour"))
        self.assertEqual([Message(raw).str(1) for raw in question.fields[3]], ["red", "blue"])
        self.assertEqual(ask.str(ASK_KIND), "question")
        (start,) = [e.detail for e in seen if e.event == "tool_start"]
        self.assertEqual(ask.str(ASK_CALL), Message(start.fields[1][0]).str(200))
        (pending,) = self.questions(home)
        self.assertEqual([pending.str(n) for n in (1, 2, 3)], ["scripted", "user", "agent:scripted:user"])
        self.assertEqual(pending.sub(7).str(ASK_ID), ask.str(ASK_ID))
        self.assertEqual(self.questions(home, sender="somebody"), [])
        self.assertEqual(self.answer(home, "2").tag, PONG)
        events = connection.events()
        (result,) = [e.detail.str(2) for e in events if e.event == "tool_result"]
        self.assertEqual(result, "blue")
        self.assertEqual(spoken(events), "done")
        self.assertEqual(self.questions(home), [])

    def test_U1_a_pending_question_survives_its_client_and_the_words_are_on_disk(self):
        home = self.home(asks(COLOUR), {"text": "done"})
        connection, _ = self.begin(home)
        connection.close()
        self.assertEqual(self.said(home), ["user:go", "assistant:"], "durable while the tool waits")
        again = home.connect()
        again.send(request(ATTACH_RUN, {1: "scripted"}))
        names = [again.recv().event for _ in range(3)]
        self.assertEqual(names[0], "start")
        self.assertIn("ask_user", names + [again.recv().event])
        self.assertEqual(self.answer(home, "green").tag, PONG)
        self.assertEqual(spoken(again.events()), "done")
        late = home.connect().call(ATTACH_RUN, {1: "scripted"})
        self.assertEqual((late.tag, late.code), (ERROR, 404))

    def test_W5_send_has_questions_and_waits(self):
        home = self.home(asks(COLOUR, DAYS), {"text": "done"})
        connection = home.connect()
        connection.send(request(SEND, turn("scripted", "go")))
        wait_for(lambda: self.questions(home), "the question")
        (pending,) = self.questions(home)
        self.assertEqual(self.answer(home, '{"Colour": "red", "Which days?": ["1", "Wed"]}',
                                     pending.sub(7).str(ASK_ID)).tag, PONG)
        reply = connection.recv()
        self.assertEqual((reply.tag, reply.body.str(2)), (RESPONSE, "done"))
        self.assertIn("toolResult:Colour: red\nDays: Mon, Wed", self.said(home))

    def test_nothing_to_answer(self):
        home = self.home({"text": "done"})
        for reply in (self.answer(home, "x"), self.answer(home, "x", "q0-1"), self.answer(home, "x", sender="nobody")):
            self.assertEqual((reply.tag, reply.code), (ERROR, 404), reply)
        self.begin(self.home(asks(COLOUR)))

    def test_time_out(self):
        home = self.home(asks(COLOUR), {"text": "done"}, config="[runtime]\nask_timeout = 1\n")
        events = home.connect().stream(turn("scripted", "go"))
        (result,) = [e.detail for e in events if e.event == "tool_result"]
        self.assertEqual((result.str(2), result.int(4)), ("ask_user timed out: no reply received for: Colour", 1))
        self.assertEqual(spoken(events), "done")

    def test_the_command_line_lists_and_answers(self):
        home = self.home(asks(COLOUR), asks(DAYS), {"text": "done"})
        self.assertEqual(home.reef("questions").out, "no questions\n")
        self.assertEqual(home.reef("answer", "x").code, 1)
        connection, _ = self.begin(home)
        listed = home.reef("questions").out
        self.assertIn("Colour: Which colour?", listed)
        self.assertIn("1. red", listed)
        (one,) = home.reef("questions", "--json").json
        self.assertEqual((one["key"], one["kind"], one["questions"][0]["options"][1]["label"]),
                         ("agent:scripted:user", "question", "blue"))
        self.assertEqual(home.reef("answer", "blue").out, "answered\n")
        wait_for(lambda: "Days" in home.reef("questions").out, "the next question")
        (one,) = home.reef("questions", "--json").json
        self.assertEqual(home.reef("answer", one["id"], "1,2", "--json").json, {"ok": True})
        connection.events()
        self.assertEqual([t for t in self.said(home) if t.startswith("toolResult")],
                         ["toolResult:blue", "toolResult:Mon, Tue"])

    def test_several_waiting_questions_must_be_named(self):
        home = self.home({"calls": asks(COLOUR)["calls"] + asks(DAYS)["calls"]}, {"text": "done"})
        connection, _ = self.begin(home)
        wait_for(lambda: len(self.questions(home)) == 2, "both questions")
        refused = home.reef("answer", "red")
        self.assertEqual(refused.code, 1)
        for one in home.reef("questions", "--json").json:
            self.assertIn(one["id"], refused.err)
            self.assertEqual(home.reef("answer", one["id"], "1").code, 0)
        self.assertEqual(spoken(connection.events()), "done")

    def test_a_pipe_is_told_how_to_answer(self):
        home = self.home(asks(COLOUR), {"text": "done"})
        process = subprocess.Popen([binary("reef"), "--home", home.path, "chat", "-a", "scripted", "-p", "go"],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=environment())
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        wait_for(lambda: self.questions(home), "the question")
        self.assertEqual(home.reef("answer", "1").code, 0)
        out, err = process.communicate(timeout=20)
        self.assertEqual(out.decode(), "done\n", err)
        self.assertRegex(err.decode(), r"Answer with: reef answer \d{6}-[a-z-]+\.[0-9a-f]{8} TEXT")


class Steering(Case):
    def test_words_for_a_running_turn(self):
        home = self.home(asks(COLOUR), {"text": "no"}, {"text": "no"}, {"text": "heard"})
        connection, _ = self.begin(home)
        self.assertEqual(home.connect().call(STEER_SESSION, {1: "scripted", 3: "one"}).tag, PONG)
        self.assertEqual(home.reef("steer", "-a", "scripted", "two").out, "told\n")
        self.answer(home, "red")
        events = connection.events()
        self.assertEqual([e.detail.str(1) for e in events if e.event == "user_steered"], ["one", "two"])
        self.assertEqual(spoken(events), "heard")
        self.assertEqual(self.said(home), ["user:go", "assistant:", "toolResult:red", "user:one", "user:two",
                                           "assistant:heard"])

    def test_nothing_runs(self):
        home = self.home({"text": "done"})
        reply = home.connect().call(STEER_SESSION, {1: "scripted", 3: "one"})
        self.assertEqual((reply.tag, reply.code), (ERROR, 404))
        self.assertEqual(home.reef("steer", "-a", "scripted", "two").code, 1)

    def test_W6_after_a_reload(self):
        home = self.home(asks(COLOUR), {"text": "no"}, {"text": "heard"})
        connection, _ = self.begin(home)
        self.assertEqual(home.connect().call(RELOAD).tag, PONG)
        self.assertEqual(home.connect().call(STEER_SESSION, {1: "scripted", 3: "one"}).tag, PONG)
        self.assertEqual(len(self.questions(home)), 1, "questions outlive a reload")
        self.assertEqual(self.answer(home, "red").tag, PONG)
        self.assertEqual(spoken(connection.events()), "heard")


class Queue(Case):
    def later(self, home, content, mode):
        connection = home.connect()
        self.addCleanup(connection.close)
        connection.send(request(STREAM, turn("scripted", content) | {QUEUE: mode}))
        return connection

    def test_collect_joins_what_waits(self):
        home = self.home(asks(COLOUR), {"text": "first"}, {"text": "no"}, {"text": "both"})
        connection, _ = self.begin(home)
        one, two = self.later(home, "one", "collect"), self.later(home, "two", "collect")
        wait_for(lambda: home.connect().call(PING).tag == PONG, "both are there")
        self.answer(home, "red")
        self.assertEqual(spoken(connection.events()), "first")
        self.assertEqual([spoken(one.events()), spoken(two.events())], ["both", "both"])
        self.assertEqual(self.said(home)[-3:], ["user:one", "user:two", "assistant:both"])

    def test_interrupt_cancels_and_is_answered(self):
        home = self.home({"text": "so far", "hang": True}, {"text": "instead"})
        connection, _ = self.begin(home, until="chunk")
        other = self.later(home, "stop", "interrupt")
        self.assertEqual(connection.events()[-1].detail.str(2), "cancelled")
        self.assertEqual(spoken(other.events()), "instead")

    def test_steer_is_answered_by_the_running_turn(self):
        home = self.home(asks(COLOUR), {"text": "no"}, {"text": "heard"})
        connection, _ = self.begin(home)
        other = self.later(home, "left", "steer")
        home.connect().call(PING)
        self.answer(home, "red")
        events = other.events()
        self.assertEqual([e.event for e in events][:2], ["start", "user_steered"])
        self.assertEqual(spoken(events), "heard")
        self.assertEqual(spoken(connection.events()), "heard")

    def test_an_agents_default_and_bad_values(self):
        home = self.home({"text": "so far", "hang": True}, {"text": "instead"},
                         files={"agents/hasty.toml": 'model = "s/x"\nqueue = "interrupt"\n'})
        bad = home.connect().call(STREAM, turn("scripted", "x") | {QUEUE: "sometime"})
        self.assertEqual((bad.tag, bad.code), (ERROR, 400))
        connection = home.connect()
        connection.send(request(STREAM, turn("hasty", "one")))
        while connection.recv().event != "chunk":
            pass
        self.assertEqual(home.say("two", agent="hasty").body.str(2), "instead")
        home.write("agents/odd.toml", 'queue = "whenever"\n')
        home.reef("reload")
        self.assertIn("must be one of: followup, steer, collect, interrupt", home.read("logs/reefd.log"))


class Stopping(Case):
    def test_C1_kill_stops_provider_and_questions_within_100_ms(self):
        for what, replies, until in (("provider", [{"text": "so far", "hang": True}], "chunk"),
                                     ("question", [asks(COLOUR)], "ask_user")):
            with self.subTest(what):
                home = self.home(*replies)
                connection, _ = self.begin(home, until=until)
                killer = home.connect()
                began = time.monotonic()
                self.assertEqual(killer.call(KILL, {200: "agent:scripted:user"}).tag, PONG)
                events = connection.events()
                took = time.monotonic() - began
                self.assertEqual(events[-1].detail.str(2), "cancelled")
                self.assertLess(took, 0.1)
                self.assertEqual(self.questions(home), [])

    def test_C1_kill_ends_the_processes_of_tools(self):
        mark = f"6{os.getpid()}"  # an odd number of seconds, to find them by
        home = self.home({"calls": [{"name": "bash", "arguments": {"command": f"echo begun; sleep {mark} & sleep {mark}"}}]},
                         files={"agents/scripted.toml": 'model = "s/x"\npermission_mode = "allow-all"\n'})
        connection, _ = self.begin(home, until="tool_progress")
        wait_for(lambda: running(mark), "the command to run")
        began = time.monotonic()
        self.assertEqual(home.connect().call(KILL, {1: "scripted"}).tag, PONG)
        self.assertEqual(connection.events()[-1].detail.str(2), "cancelled")
        self.assertLess(time.monotonic() - began, 5, "the command takes a minute")
        wait_for(lambda: not running(mark), "all of its processes to end")
        self.assertEqual(self.said(home)[-1], "toolResult:interrupted")

    def test_C2_every_message_is_kept_when_kills_come_between(self):
        home = self.home({"text": "so far", "hang": True}, {"text": "fine"})
        self.begin(home, "one", until="chunk")
        self.assertEqual(home.reef("kill", "-a", "scripted").out, "cancelled\n")
        self.assertEqual(home.say("two", agent="scripted").tag, RESPONSE)
        self.assertEqual([t for t in self.said(home) if t.startswith("user")], ["user:one", "user:two"])
        self.assertEqual(len(home.transcripts()), 1, "one session, not two")

    def test_C3_lists_do_not_wait_for_a_running_turn(self):
        home = self.home({"text": "so far", "hang": True})
        self.begin(home, until="chunk")
        began = time.monotonic()
        reply = home.connect().call(LIST_ACTIVE)
        self.assertEqual(reply.tag, ACTIVE_LIST)
        self.assertEqual(len(reply.body.fields[1]), 1)
        self.assertLess(time.monotonic() - began, 5)

    def test_C5_disconnecting_does_not_kill(self):
        home = self.home({"text": "one two three four", "delay_ms": 30}, {"text": "again"})
        connection, _ = self.begin(home, until="chunk")
        connection.close()
        reader = home.connect()
        reader.send(request(ATTACH_RUN, {1: "scripted"}))
        events = reader.events()
        self.assertEqual(events[0].event, "start")
        self.assertEqual(spoken(events), "one two three four", "from the beginning")
        self.assertEqual(self.said(home), ["user:go", "assistant:one two three four"])

    def test_attach_on_the_command_line(self):
        home = self.home(asks(COLOUR), {"text": "done"})
        connection, _ = self.begin(home)
        process = subprocess.Popen([binary("reef"), "--home", home.path, "attach", "--key", "agent:scripted:user"],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=environment())
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertTrue(select.select([process.stderr], [], [], TIMEOUT)[0], "it reads along")
        self.answer(home, "red")
        out, _ = process.communicate(timeout=20)
        self.assertEqual((process.returncode, out.decode()), (0, "done\n"))
        connection.events()
        nothing = home.reef("attach", "-a", "scripted")
        self.assertEqual(nothing.code, 1)
        self.assertIn("nothing runs", nothing.err)

    def test_U2_a_message_that_cannot_be_kept_is_an_error(self):
        home = self.home({"text": "fine"})
        self.assertEqual(home.say("one", agent="scripted").tag, RESPONSE)
        path = os.path.dirname(home.transcript())
        os.chmod(home.transcript(), 0o400)
        os.rename(path, path + ".gone")
        os.mkdir(path)
        os.mkdir(path + "/session.jsonl")
        reply = home.say("two", agent="scripted")
        self.assertEqual(reply.tag, ERROR, "no silent loss")


class Weak(Case):
    def test_C12_a_required_tool_and_a_name_nobody_has(self):
        home = self.home({"text": "fine"})
        reply = home.connect().call(SEND, turn("scripted", "go") | {7: "no_such_tool"})
        self.assertEqual((reply.tag, reply.code), (ERROR, 400))
        self.assertIn("no_such_tool", reply.text)
        for choice in ("auto", "none", "required", "ask_user"):
            self.assertEqual(home.connect().call(SEND, turn("scripted", "go") | {7: choice}).tag, RESPONSE, choice)

    def test_C4_two_first_messages_make_one_session(self):
        home = self.home({"text": "one"}, {"text": "two"})
        both = [home.connect() for _ in range(8)]
        for connection in both:
            connection.send(request(SEND, turn("scripted", "hi")))
        self.assertEqual({connection.recv().tag for connection in both}, {RESPONSE})
        self.assertEqual(len(home.transcripts()), 1)

    def test_C7_senders_that_look_alike_are_not_the_same(self):
        home = self.home({"text": "one"}, {"text": "two"})
        for sender in ("tg:12", "tg-12", "TG 12"):
            self.assertEqual(home.say("hi", agent="scripted", sender=sender).body.str(2), "one", sender)
        self.assertEqual(len(home.transcripts()), 3)

    def test_S1_tcp_needs_the_token(self):
        home = self.home({"text": "one"}, config="[tcp]\nenabled = true\nport = 0\n")
        address = wait_for(lambda: home.read("run/reefd.tcp").strip(), "the address")
        with Connection.tcp(address) as stranger:
            stranger.send(request(SEND, turn("scripted", "hi")))
            reply = stranger.recv()
            self.assertTrue(reply is None or reply.tag == ERROR, reply)
        self.assertEqual(home.transcripts(), [])

    def test_S2_what_is_no_session_is_not_deleted(self):
        home = self.home({"text": "one"})
        home.say("hi", agent="scripted")
        home.write("precious.txt", "keep me")
        for name in ("", ".", "..", "../..", home.path, "/", "../agents", "a/../../x"):
            self.assertEqual(home.connect().call(DELETE_CONVERSATION, {1: name}).tag, ERROR, name)
        self.assertEqual(home.read("precious.txt"), "keep me")
        self.assertEqual(len(home.transcripts()), 1)


class Terminal(Case):
    def open(self, home, *words):
        main, side = pty.openpty()
        self.addCleanup(os.close, main)
        process = subprocess.Popen([binary("reef"), "--home", home.path, *words], stdin=side, stdout=side, stderr=side,
                                   env=environment() | {"TERM": "xterm"}, start_new_session=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        os.close(side)
        self.main, self.seen = main, b""

    def read_until(self, words):
        deadline = time.monotonic() + TIMEOUT
        while words not in self.seen:
            if not select.select([self.main], [], [], max(0, deadline - time.monotonic()))[0]:
                self.fail(f"waited for {words!r}, saw {self.seen!r}")
            self.seen += os.read(self.main, 65536)
        self.seen = self.seen.split(words, 1)[1]

    def test_a_person_is_shown_tools_and_answers_by_typing(self):
        home = self.home({"calls": [{"name": "recall", "arguments": {"query": "walnut"}}]}, asks(COLOUR, DAYS),
                         {"text": "done"})
        self.open(home, "chat", "-a", "scripted")
        self.read_until(b"> ")
        os.write(self.main, b"go\n")
        self.read_until(b"[recall walnut]")
        self.read_until(b"no memories found")
        self.read_until(b"Which colour?")
        self.read_until(b"1. red")
        self.read_until(b"? ")
        os.write(self.main, b"2\n")
        self.read_until(b"Which days?")
        self.read_until(b"? ")
        os.write(self.main, b"1,3\n")
        self.read_until(b"done")
        self.read_until(b"> ")
        self.assertIn("toolResult:Colour: blue\nDays: Mon, Wed", self.said(home))


if __name__ == "__main__":
    unittest.main()
