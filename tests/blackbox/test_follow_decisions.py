"""FollowDecisions: what waits for a person, over cuts, restarts, trash and time; nobody is left with what is not so."""

import json
import os
import random
import select
import subprocess
import threading
import time
import unittest

from followers import *
from reefbox import *

SEED = int(os.environ.get("REEF_SEED", "23"))
CUTS = 300
LIST_DECISIONS, ANSWER_DECISION = 321, 322
COLOUR = {"question": "Which colour?", "header": "Colour", "options": [{"label": "red"}, {"label": "blue"}]}
ASK = {"calls": [{"name": "ask_user", "arguments": {"questions": [COLOUR]}}]}
RUN = {"calls": [{"name": "bash", "arguments": {"command": "touch made"}}]}
PLAN = {"calls": [{"name": "submit_plan", "arguments": {"name": "move", "content": "1. move"}}]}
FAIL = {"fail": "auth", "message": "bad key"}


class FollowDecisions(unittest.TestCase):
    def home(self, *replies, **more):
        home = Home(script=script(*replies), **more)
        self.addCleanup(home.cleanup)
        home.start()
        return home

    def follow(self, home, **of):
        follower = Decisions(home, **of).begin()
        self.addCleanup(follower.cut)
        return follower

    def begin(self, home, sender="user", text="go", agent="scripted"):
        """A turn nobody waits for."""
        mouth = home.connect()
        self.addCleanup(mouth.close)
        mouth.send(request(STREAM, turn(agent, text, sender)))
        return mouth

    def listed(self, home, sender=None):
        reply = home.ask(LIST_DECISIONS, {3: sender})
        self.assertEqual(reply.tag, LIST_DECISIONS, reply)
        return {Message(raw).str(1): Message(raw).fields for raw in reply.body.fields.get(1, [])}

    def answer(self, home, id_, words="yes"):
        return home.ask(ANSWER_DECISION, {1: id_, 2: words})

    def settle(self, home, *followers):
        """Until every follower has what a list says, and nothing comes any more."""
        def same():
            for follower in followers:
                follower.read_ready()
            return all(follower.waiting == self.listed(home) for follower in followers)
        wait_for(same, "every follower to have what the list says")

    # ---- storms

    def test_a_client_cut_hundreds_of_times(self):
        home = self.home(RUN, {"text": "ok"}, ASK, {"text": "ok"}, PLAN, FAIL, config="[runtime]\nask_timeout = 600\n")
        chance = random.Random(SEED)
        link = home.connect()
        self.addCleanup(link.close)
        never, cut, few = self.follow(home), self.follow(home), self.follow(home, sender="c1")
        for follower in (never, cut, few):
            self.assertTrue(follower.read().start_over)
        trashed, was_trashed, answered, cuts = {}, set(), 0, 0

        def session_of(sender):
            reply = link.call(LIST_SESSIONS, {2: sender})
            return [row.str(1) for row in subs(reply.body, 1) if row.str(3) == f"agent:scripted:{sender}"]
        while cuts < CUTS:
            for _ in range(chance.randrange(1, 4)):
                sender, what = f"c{chance.randrange(6)}", chance.random()
                waiting = sorted(never.waiting)
                if what < 0.35:
                    # Behind a question that waits it waits as well, or overtakes one whose turn is over.
                    self.begin(home, sender)
                elif what < 0.7 and waiting:
                    reply = self.answer(home, chance.choice(waiting), chance.choice(["yes", "no", "1", "leave it"]))
                    self.assertIn(reply.code, (None, 404, 409, 429, 503), reply)
                    answered += reply.code is None
                elif what < 0.85:
                    self.assertIn(link.call(KILL, {1: "scripted", 2: sender, 201: chance.random() < 0.5}).code, (None, 404))
                elif what < 0.95 or not trashed:
                    for session in session_of(sender)[:1]:
                        if link.call(TRASH_SESSION, {1: session}).code is None:
                            trashed[session] = True
                            was_trashed.add(session)
                else:
                    session = chance.choice(sorted(trashed))
                    if link.call(RESTORE_SESSION, {1: session}).code is None:
                        trashed.pop(session)
            # Cut before, in the middle of, or after what came of it.
            for follower in (cut, few):
                for _ in range(chance.randrange(3)):
                    if select.select([follower.link.sock], [], [], 0.002)[0]:
                        follower.read()
                follower.again()
                cuts += 1
            never.read_ready()
        self.settle(home, never, cut)
        for number in range(6):
            link.call(KILL, {1: "scripted", 2: f"c{number}", 201: True})
        wait_for(lambda: not link.call(LIST_ACTIVE, {}).body.fields, "all turns to end")
        self.settle(home, never, cut)
        few.read_until(lambda: few.waiting == {i: d for i, d in never.waiting.items() if d[5] == [b"c1"]}, "its own")

        def settled(follower):
            return {i: d for i, d in follower.settled.items() if i.split(".")[0] not in was_trashed}
        wait_for(lambda: (never.read_ready(), cut.read_ready()) and settled(cut) == settled(never), "the same history")
        self.assertEqual((len(never.starts), len(cut.starts), len(few.starts)), (1, 1, 1), "nobody was away for too long")
        states = [d[3][-1] for d in never.settled.values()]
        self.assertGreater(answered, 15)
        self.assertGreater(states.count(b"answered"), 10)
        self.assertGreater(states.count(b"closed"), 5)
        kinds = {d[2][-1] for d in never.settled.values()}
        self.assertEqual(kinds, {b"permission", b"question", b"plan", b"failed"})

    def test_killed_daemons(self):
        home = self.home(ASK, {"text": "done"})
        follower = self.follow(home)
        follower.read_caught_up()
        for round_ in range(3):
            self.begin(home, f"c{round_}")
            follower.read_until(lambda n=round_: len(follower.waiting) == n + 1, "the question")
            before = dict(follower.waiting)
            home.kill9()
            home.start()
            follower.again().read_caught_up()
            self.assertEqual(len(follower.starts), round_ + 2)
            self.assertIn("started anew", follower.starts[-1])
            self.assertEqual(follower.waiting, before, "word for word")
        for id_ in sorted(follower.waiting):
            self.assertIsNone(self.answer(home, id_, "red").code)
        follower.read_until(lambda: len(follower.settled) == 3, "the answers")
        self.assertEqual(follower.waiting, {})
        self.assertEqual({d[11][-1] for d in follower.settled.values()}, {b"red"})

    # ---- what nobody tells the decisions themselves

    def test_the_trash(self):
        home = self.home(FAIL)
        follower, away = self.follow(home), self.follow(home)
        home.say("go", "scripted")
        for one in (follower, away):
            one.read_until(lambda one=one: one.waiting, "the failed turn")
        away.cut()
        ((id_, _),) = follower.waiting.items()
        session = id_.split(".")[0]
        self.assertEqual(home.ask(TRASH_SESSION, {1: session}).tag, PONG)
        follower.read_until(lambda: not follower.waiting, "the trash")
        away.begin().read_caught_up()
        self.assertEqual((away.waiting, len(away.starts)), ({}, 1), "as one that was not away")
        self.assertEqual(home.ask(RESTORE_SESSION, {1: session}).tag, PONG)
        self.settle(home, follower, away)
        self.assertEqual(home.ask(FOLLOW_DECISIONS, {1: "260101-nobody-there"}).code, 404)

    def test_one_that_is_overtaken_is_told_although_nobody_asks(self):
        home = self.home(FAIL, {"text": "done"})
        follower = self.follow(home)
        home.say("go", "scripted")
        follower.read_until(lambda: follower.waiting, "the failed turn")
        ((id_, _),) = follower.waiting.items()
        first = next(e["id"] for e in read_lines(home.transcript()) if e["type"] != "session")
        self.assertEqual(home.ask(REWIND_SESSION, {1: id_.split(".")[0], 2: first}).tag, SESSION_INFO)
        follower.read_until(lambda: follower.settled, "its end")
        self.assertEqual(follower.waiting, {})
        self.assertEqual(Message(message({n: v[-1] for n, v in follower.settled[id_].items()})).str(15),
                         "the conversation was taken back to before it")

    def test_one_whose_time_is_up_is_told_although_nobody_asks(self):
        home = self.home(ASK, config="[runtime]\nask_timeout = 2\n")
        self.begin(home)
        wait_for(lambda: self.listed(home), "the question")
        home.kill9()
        home.start()
        follower = self.follow(home).read_caught_up()
        self.assertEqual(len(follower.waiting), 1)
        follower.read_until(lambda: not follower.waiting and follower.settled, "the end of its time")
        ((_, decision),) = follower.settled.items()
        self.assertEqual(decision[15], [b"nobody answered in time"])

    def test_another_conversation_takes_the_session_over(self):
        home = self.home(FAIL)
        mine, anns = self.follow(home, sender="user"), self.follow(home, sender="ann")
        home.say("go", "scripted", "user")
        mine.read_until(lambda: mine.waiting, "the failed turn")
        ((id_, _),) = mine.waiting.items()
        moved = home.ask(RESUME_SESSION, {1: id_.split(".")[0], 2: "agent:scripted:ann"})
        self.assertEqual(moved.tag, SESSION_INFO)
        for follower, sender in ((mine, "user"), (anns, "ann")):
            listed = self.listed(home, sender)
            follower.read_until(lambda f=follower, l=listed: f.waiting == l, f"those of {sender}")
        self.assertEqual([d[6] for d in (mine.waiting | anns.waiting).values()], [[b"agent:scripted:ann"]])

    def test_cursors_nobody_gave_and_those_of_something_else(self):
        home = self.home(FAIL)
        home.say("go", "scripted")
        follower = self.follow(home).read_caught_up()
        cursor, now = follower.cursor, dict(follower.waiting)
        self.assertEqual(len(now), 1)
        chance = random.Random(SEED)
        parts = cursor.split(".")
        tries = ["x", ".", "....", "\x00", "-1.0.0.", "f" * 20 + ".0.0.", "9" * 100000, "é" * 50]
        for number in range(len(parts)):
            for other in ("", "0", "f" * 16, "g", "-1"):
                tries.append(".".join(parts[:number] + [other] + parts[number + 1:]))
        for _ in range(40):
            at = chance.randrange(len(cursor))
            tries.append(cursor[:at] + chance.choice("0123456789abcdef.xyz") + cursor[at + 1:])
        for try_ in tries:
            follower.cut()
            follower.cursor = try_
            follower.begin().read_caught_up()
            self.assertEqual(follower.waiting, now, try_[:80])
        follower.cut()
        follower.cursor, follower.fields = cursor, {3: "nobody"}
        follower.begin().read()
        self.assertIn("something else", follower.starts[-1])
        self.assertEqual(follower.waiting, {})
        self.assertTrue(home.ping())

    def test_who_was_away_for_too_long_starts_over(self):
        home = self.home({"text": "ok"})
        away = self.follow(home).read_caught_up()
        away.cut()
        # More sessions change than the daemon remembers; a decision may have gone among them.
        sessions = []
        for number in range(17000):
            name = f"260101-s{number:05}-x"
            sessions.append(name)
            os.makedirs(home.file(f"sessions/{name}"))
            home.write(f"sessions/{name}/session.jsonl", jsonl(header_entry(name)))
        self.assertEqual(home.ask(RELOAD, {}).tag, PONG)
        away.begin().read_caught_up()
        self.assertEqual(len(away.starts), 2)
        self.assertIn("more has changed", away.starts[-1])

    def test_many_and_long_ones_come_in_parts(self):
        lines, decisions = [], 0
        home = Home(script=script({"text": "ok"}))
        self.addCleanup(home.cleanup)
        for number in range(30):
            session = f"260101-s{number:03}-x"
            lines = [header_entry(session), bind_entry("aa000001", None, "scripted", f"p{number}"),
                     user_entry("aa000002", "aa000001", "go")]
            id_ = f"{session}.{number:08x}"
            question = {"question": "x" * 200_000 + str(number), "header": "", "options": []}
            lines.append(entry("custom", "aa000003", "aa000002", customType="reef.decision", data={
                "id": id_, "state": "asked", "kind": "failed", "about": "x", "agent": "scripted", "sender": f"p{number}",
                "questions": [question]}))
            decisions += 1
            home.write(f"sessions/{session}/session.jsonl", jsonl(*lines))
        home.start()
        follower = self.follow(home).read_caught_up()
        self.assertEqual(len(follower.waiting), decisions)
        self.assertGreater(follower.answers, 1)
        # All of them end while nobody reads.
        follower.cut()
        for id_ in sorted(follower.waiting):
            self.assertIsNone(self.answer(home, id_, "leave it").code)
        before = follower.answers
        follower.begin().read_caught_up()
        self.assertEqual((len(follower.settled), follower.waiting, len(follower.starts)), (decisions, {}, 1))
        self.assertGreater(follower.answers - before, 2)

    # ---- the program

    def spawn(self, home, *args):
        child = subprocess.Popen([binary("reef"), "--home", home.path, *args], stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL, env=environment(), cwd="/")

        def end():
            child.kill()
            child.wait()
            child.stdout.close()
        self.addCleanup(end)
        watchdog = threading.Timer(6 * TIMEOUT, child.kill)
        watchdog.daemon = True
        watchdog.start()
        self.addCleanup(watchdog.cancel)
        return child

    def test_a_person_can_see_it(self):
        home = self.home(ASK, {"text": "done"})
        lines = self.spawn(home, "decisions", "--follow", "--json")
        words = self.spawn(home, "decisions", "-f", "--sender", "user")
        self.assertEqual(set(json.loads(lines.stdout.readline())), {"startOver"})
        mouth = self.begin(home)
        asked = json.loads(lines.stdout.readline())["decision"]
        self.assertEqual((asked["kind"], asked["state"]), ("question", "pending"))
        self.assertIn(asked["id"].encode(), words.stdout.readline())
        home.kill9()
        mouth.close()
        home.start()
        self.assertIn("started anew", json.loads(lines.stdout.readline())["startOver"])
        self.assertEqual(json.loads(lines.stdout.readline())["decision"]["id"], asked["id"])
        self.assertEqual(home.reef("decisions", "answer", asked["id"], "red", "--by", "ann").code, 0)
        answered = json.loads(lines.stdout.readline())["decision"]
        self.assertEqual((answered["state"], answered["answer"], answered["answeredBy"]), ("answered", "red", "ann"))
        heard = b""
        while b"answered 'red' by ann" not in heard:
            line = words.stdout.readline()
            self.assertTrue(line, heard)
            heard += line
        self.assertIn(b"--- from the beginning: the daemon was started anew", heard)

    def test_what_makes_no_sense_is_said_in_the_users_words(self):
        home = self.home({"text": "x"})
        for args in (["--history"], ["ls", "--history"]):
            done = home.reef("decisions", *args)
            self.assertEqual((done.code, done.out), (2, ""), done)
            self.assertIn("--history needs --session ID", done.err)
            self.assertNotIn("session_id", done.err)
        done = home.reef("decisions", "--history", "--follow", "--session", "260101-x-y")
        self.assertEqual(done.code, 2)
        self.assertIn("--follow", done.err)


if __name__ == "__main__":
    unittest.main()
