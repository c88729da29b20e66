"""What clients name is done once: the same message or request sent again, side by side, later, and across kill -9."""

import json
import os
import random
import threading
import time
import unittest

from reefbox import *

KEY, CLIENT_ID = 200, 320
SEED = int(os.environ.get("REEF_SEED", "23"))
ROUNDS = int(os.environ.get("REEF_ROUNDS", "30"))


def named(tag, fields, client_id, request_id=None):
    return request(tag, fields, request_id) + field(CLIENT_ID, client_id)


class Case(unittest.TestCase):
    def home(self, *replies, **options):
        home = Home(script=script(*replies), **options)
        self.addCleanup(home.cleanup)
        home.start()
        return home

    def send(self, home, content="go", client_id="m1", sender=None, **more):
        with home.connect() as link:
            link.send(named(SEND, {**turn("scripted", content, sender), **more}, client_id))
            return link.recv()

    def stream(self, home, content="go", client_id="m1"):
        with home.connect() as link:
            link.send(named(STREAM, turn("scripted", content), client_id))
            return link.events()

    def users(self, home):
        return [text for path in home.transcripts() for text in texts(read_lines(path), "user")]

    def ask(self, home, tag, fields, client_id):
        with home.connect() as link:
            link.send(named(tag, fields, client_id))
            return link.recv()


class Messages(Case):
    def test_the_same_message_again_is_answered_as_the_first_time(self):
        home = self.home({"text": "one"}, {"text": "two"})
        first = self.send(home)
        again = self.send(home)
        self.assertEqual(first.body.str(2), "one")
        for number in (1, 2, 200):
            self.assertEqual(again.body.str(number), first.body.str(number))
        self.assertEqual(self.users(home), ["go"])
        (entry,) = [e for e in read_lines(home.transcript()) if "client" in e]
        self.assertEqual((entry["client"]["id"], entry["client"]["sender"]), ("m1", "user"))
        home.kill9()
        home.start()
        self.assertEqual(self.send(home).body.str(2), "one")
        self.assertEqual(spoken(self.stream(home)), "one", "however it is asked for")
        self.assertEqual(self.send(home, client_id="m2").body.str(2), "two", "another name is another message")
        self.assertEqual(self.users(home), ["go", "go"])

    def test_side_by_side_both_get_the_answer(self):
        home = self.home({"text": "slow answer", "chunks": 10, "delay_ms": 10})
        replies = [None] * 6
        gate = threading.Barrier(len(replies))

        def send(number):
            gate.wait()
            replies[number] = self.send(home) if number % 2 else spoken(self.stream(home))

        threads = [threading.Thread(target=send, args=(n,)) for n in range(len(replies))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([r if isinstance(r, str) else r.body.str(2) for r in replies], ["slow answer"] * 6)
        self.assertEqual(self.users(home), ["go"])

    def test_another_message_under_the_name_is_refused(self):
        home = self.home({"text": "one"})
        self.send(home)
        other = self.send(home, "something else")
        self.assertEqual((other.tag, other.code), (ERROR, 409))
        self.assertIn("m1", other.text)
        home.kill9()
        home.start()
        self.assertEqual(self.send(home, "something else").code, 409)
        self.assertEqual(self.users(home), ["go"])

    def test_names_are_their_senders_own(self):
        home = self.home({"text": "one"})
        for sender in ("ann", "bob"):
            self.assertEqual(self.send(home, f"from {sender}", sender=sender).tag, RESPONSE)
            self.assertEqual(self.send(home, f"in a group, from {sender}", sender=sender).code, 409)
        for sender in ("ann", "bob"):
            with home.connect() as link:
                link.send(named(SEND, {**turn("scripted", f"{sender} here", sender), KEY: "group"}, "m1"))
                self.assertEqual(link.recv().tag, RESPONSE)
        self.assertEqual(sorted(self.users(home)), ["ann here", "bob here", "from ann", "from bob"])

    def test_tools_are_told_again(self):
        home = self.home({"text": "let me see", "calls": [{"name": "ls", "arguments": {"path": "/"}}]}, {"text": "done"})
        first = self.stream(home)
        again = self.stream(home)
        told = [[e.event for e in events if e.event in ("start", "tool_start", "tool_result", "end")] for events in (first, again)]
        self.assertEqual(told[0], told[1])
        self.assertEqual(spoken(first), spoken(again))
        ends = [events[-1].detail for events in (first, again)]
        self.assertEqual(ends[0].str(200), ends[1].str(200))

    def test_a_failed_turn_fails_again(self):
        home = self.home({"fail": "auth", "message": "bad key"})
        first, again = self.send(home), self.send(home)
        self.assertEqual((first.code, again.code), (502, 502))
        self.assertIn("bad key", again.text)
        self.assertEqual(self.users(home), ["go"])

    def test_what_was_never_kept_can_be_sent_again(self):
        home = self.home({"text": "one"})
        self.assertEqual(self.send(home, " ").code, 400)
        self.assertEqual(self.send(home).body.str(2), "one")

    def test_new_conversations(self):
        home = self.home({"text": "one"})
        self.send(home, "go", "m0")
        ids = [self.send(home, "/new", "n1").body.str(200) for _ in range(3)]
        self.assertEqual(len(set(ids)), 1)
        self.assertEqual(len(home.transcripts()), 2)
        self.assertEqual(self.send(home, "go", "m0").body.str(2), "one", "of the session before")
        self.assertEqual(self.users(home), ["go"])

    def test_hostile_names(self):
        home = self.home({"text": "one"})
        for bad in ("", "x" * 257, "x" * 100000):
            self.assertEqual(self.send(home, client_id=bad).code, 400, bad[:10])
            self.assertEqual(self.ask(home, NEW_SESSION, {1: "scripted"}, bad).code, 400)
        self.assertEqual(home.transcripts(), [])
        for n, odd in enumerate(('"}\n{"', "\0", "☃" * 85, "../../x", "\u202e", "a" * 256)):
            for _ in range(2):
                self.assertEqual(self.send(home, f"m{n}", odd).tag, RESPONSE)
        home.kill9()
        home.start()
        for n, odd in enumerate(('"}\n{"', "\0", "☃" * 85, "../../x", "\u202e", "a" * 256)):
            self.assertEqual(self.send(home, f"m{n}", odd).tag, RESPONSE)
        self.assertEqual(sorted(self.users(home)), [f"m{n}" for n in range(6)])
        self.assertEqual(home.reef("fsck").code, 0)

    def test_steering_words_are_there_once(self):
        home = self.home({"calls": [{"name": "ask_user", "arguments": {"questions": [{"question": "ok?"}]}}]}, {"text": "done"},
                         {"text": "done"})
        connection = home.connect()
        self.addCleanup(connection.close)
        connection.send(request(STREAM, turn("scripted", "go")))
        while connection.recv().event != "ask_user":
            pass
        for _ in range(3):
            self.assertEqual(self.ask(home, STEER_SESSION, {1: "scripted", 3: "hurry"}, "s1").tag, PONG)
        self.assertEqual(home.ask(REPLY_TO_ASK, {1: "scripted", 3: "yes"}).tag, PONG)
        connection.events()
        self.assertEqual(self.ask(home, STEER_SESSION, {1: "scripted", 3: "hurry"}, "s1").tag, PONG)
        self.assertEqual(self.users(home), ["go", "hurry"])


class Crashes(Case):
    def test_sent_again_across_kill_9_at_random_moments_it_is_there_once(self):
        dice = random.Random(SEED)
        home = self.home({"calls": [{"name": "ls", "arguments": {"path": "/"}}]},
                         {"text": "the answer is here", "chunks": 4, "delay_ms": 3})
        for number in range(ROUNDS):
            content, name = f"message {number}", f"c{number}"
            for _ in range(dice.randint(1, 2)):
                with home.connect() as link:
                    link.send(named(STREAM if dice.random() < 0.5 else SEND, turn("scripted", content), name))
                    # Anywhere between its coming in and its answer.
                    time.sleep(dice.random() * 0.06)
                    home.kill9()
                home.start()
            reply = self.send(home, content, name)
            self.assertEqual(reply.tag, RESPONSE, f"seed {SEED}, round {number}: {reply}")
            self.assertIn("the answer is here", reply.body.str(2), f"seed {SEED}, round {number}")
            self.assertEqual(self.users(home).count(content), 1, f"seed {SEED}, round {number}")
        entries = read_lines(home.transcript())
        self.assertEqual(self.users(home), [f"message {n}" for n in range(ROUNDS)])
        messages = [e["message"] for e in entries if e["type"] == "message"]
        results = [m["toolCallId"] for m in messages if m["role"] == "toolResult"]
        self.assertEqual(len(results), len(set(results)), "no call has two results")
        self.assertEqual(home.reef("fsck").code, 0)

    def test_a_session_is_made_once(self):
        dice = random.Random(SEED)
        home = self.home({"text": "one"})
        for number in range(ROUNDS // 3):
            with home.connect() as link:
                link.send(named(NEW_SESSION, {1: "scripted"}, f"s{number}"))
                time.sleep(dice.random() * 0.01)
                home.kill9()
            home.start()
            self.assertEqual(self.ask(home, NEW_SESSION, {1: "scripted"}, f"s{number}").tag, SESSION_INFO)
            self.assertEqual(len(home.transcripts()), number + 1, f"seed {SEED}, round {number}")

    def test_without_the_ledger_what_was_made_still_tells(self):
        home = self.home({"text": "one"})
        first = self.ask(home, NEW_SESSION, {1: "scripted"}, "s1")
        id_ = first.body.sub(1).str(1)
        fork = self.ask(home, FORK_SESSION, {1: id_}, "f1")
        home.kill9()
        os.unlink(home.file("answers.jsonl"))
        home.start()
        self.assertEqual(self.ask(home, NEW_SESSION, {1: "scripted"}, "s1").body.sub(1).str(1), id_)
        self.assertEqual(self.ask(home, FORK_SESSION, {1: id_}, "f1").body.sub(1).str(1), fork.body.sub(1).str(1))
        self.assertEqual(self.ask(home, NEW_SESSION, {1: "scripted", 4: "/tmp"}, "s1").code, 409)
        self.assertEqual(len(home.transcripts()), 2)


class Requests(Case):
    def test_an_answer_is_remembered_across_kill_9(self):
        home = self.home({"text": "one"})
        session = self.send(home).body.str(200)
        first = self.ask(home, PATCH_SESSION, {1: session, 2: json.dumps({"name": "first"})}, "p1")
        self.assertEqual(first.tag, SESSION_INFO)
        self.ask(home, PATCH_SESSION, {1: session, 2: json.dumps({"name": "second"})}, "p2")
        home.kill9()
        home.start()
        again = self.ask(home, PATCH_SESSION, {1: session, 2: json.dumps({"name": "first"})}, "p1")
        self.assertEqual(again.tag, SESSION_INFO)
        shown = json.loads(home.reef("sessions", "--json").out)
        self.assertEqual(shown[0]["name"], "second", "it was not done again")
        other = self.ask(home, PATCH_SESSION, {1: session, 2: json.dumps({"name": "third"})}, "p1")
        self.assertEqual(other.code, 409)
        self.assertEqual(self.ask(home, TRASH_SESSION, {1: session}, "p1").code, 409, "another operation, too")

    def test_what_failed_may_be_tried_again(self):
        home = self.home({"text": "one"})
        self.assertEqual(self.ask(home, TRASH_SESSION, {1: "260101-not-there"}, "t1").code, 404)
        self.assertEqual(self.ask(home, TRASH_SESSION, {1: "260101-not-there"}, "t1").code, 404)
        session = self.send(home).body.str(200)
        self.assertEqual(self.ask(home, TRASH_SESSION, {1: session}, "t2").tag, PONG)
        self.assertEqual(self.ask(home, TRASH_SESSION, {1: session}, "t2").tag, PONG, "as the first time")

    def test_a_damaged_ledger_is_mended(self):
        home = self.home({"text": "one"})
        session = self.ask(home, NEW_SESSION, {1: "scripted"}, "s1").body.sub(1).str(1)
        home.kill9()
        good = home.read("answers.jsonl")
        home.write("answers.jsonl", b"\xff\0garbage\n[]\n" + good.encode() + b'{"v":1,"at":12')
        home.start()
        self.assertEqual(self.ask(home, NEW_SESSION, {1: "scripted"}, "s1").body.sub(1).str(1), session)
        self.assertEqual(self.ask(home, PATCH_SESSION, {1: session, 2: '{"name":"x"}'}, "p1").tag, SESSION_INFO)
        home.kill9()
        home.start()
        self.assertEqual(self.ask(home, PATCH_SESSION, {1: session, 2: '{"name":"x"}'}, "p1").tag, SESSION_INFO)
        for line in home.read("answers.jsonl").splitlines():
            json.loads(line)


if __name__ == "__main__":
    unittest.main()
