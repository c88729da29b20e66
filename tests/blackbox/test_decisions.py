"""What a person decides outlives the daemon: permissions, questions, plans and failed turns; one answer, a history."""

import json
import os
import random
import threading
import time
import unittest
from pathlib import Path

from reefbox import *

KEY, CLIENT_ID = 200, 320
SEED = int(os.environ.get("REEF_SEED", "23"))
ROUNDS = int(os.environ.get("REEF_ROUNDS", "12"))
LIST_DECISIONS, ANSWER_DECISION, DECISION_LIST, DECISION = 321, 322, 321, 322
ASK_ID = 200
LIST_PLANS, ACCEPT_PLAN, PLAN_LIST = 284, 285, 284
COLOUR = {"question": "Which colour?", "header": "Colour", "options": [{"label": "red"}, {"label": "blue"}]}


def call(tool, **arguments):
    return {"name": tool, "arguments": arguments}


def calls(*all_):
    return {"calls": list(all_)}


def bash(command):
    return call("bash", command=command)


class Case(unittest.TestCase):
    def home(self, *replies, **options):
        home = Home(script=script(*replies), **options)
        self.addCleanup(home.cleanup)
        home.start()
        return home

    def restart(self, home, *replies, kill=True):
        """kill -9 and a new daemon, whose model says `replies`."""
        if kill:
            home.kill9()
        else:
            home.stop()
        home.write("s.json", script(*(replies or ({"text": "done"},))))
        home.start()

    def begin(self, home, until="ask_user", count=1, content="go", **more):
        connection = home.connect()
        self.addCleanup(connection.close)
        connection.send(request(STREAM, {**turn("scripted", content), **more}))
        seen = []
        while [e.event for e in seen].count(until) < count:
            seen.append(connection.recv())
            self.assertIsNotNone(seen[-1], seen)
            self.assertNotEqual(seen[-1].event, "end", seen)
        return connection, seen

    def list(self, home, **fields):
        reply = home.ask(LIST_DECISIONS, {1: fields.get("session"), 2: fields.get("agent"), 4: fields.get("history"),
                                          5: fields.get("limit"), 6: fields.get("cursor"), 7: fields.get("id")})
        self.assertEqual(reply.tag, DECISION_LIST, reply)
        self.cursor, self.total = reply.body.str(2), reply.body.int(3)
        return [Message(raw) for raw in reply.body.fields.get(1, [])]

    def answer(self, home, id_, words, by=None, client_id=None):
        with home.connect() as link:
            payload = request(ANSWER_DECISION, {1: id_, 2: words, 3: by})
            if client_id:
                payload += field(CLIENT_ID, client_id)
            link.send(payload)
            return link.recv()

    def one(self, home, id_):
        (decision,) = self.list(home, id=id_)
        return decision

    def entries(self, home):
        return read_lines(home.transcript())

    def messages(self, home):
        return [e["message"] for e in self.entries(home) if e["type"] == "message"]

    def results(self, home):
        return [(m["toolCallId"], m["content"][0]["text"]) for m in self.messages(home) if m["role"] == "toolResult"]

    def check(self, home, users=1):
        """One entry for what was said, and every call has its result, once; fsck agrees."""
        messages = self.messages(home)
        self.assertEqual(len([m for m in messages if m["role"] == "user"]), users)
        asked = [b["id"] for m in messages if m["role"] == "assistant" for b in m["content"] if b["type"] == "toolCall"]
        self.assertEqual(sorted(asked), sorted(id_ for id_, _ in self.results(home)))
        ids = [e["id"] for e in self.entries(home)[1:]]
        self.assertEqual(len(ids), len(set(ids)))
        done = home.reef("fsck")
        self.assertEqual(done.code, 0, done)

    def wait_for_end(self, home, text):
        wait_for(lambda: text in texts(self.entries(home), "assistant"), f"the answer {text!r}")


class Restarts(Case):
    def test_a_permission_outlives_kill_9_and_its_call_is_made_once(self):
        home = self.home(calls(bash("echo x >> made")))
        work = os.path.join(home.base, "work")
        os.mkdir(work)
        connection = home.connect()
        self.addCleanup(connection.close)
        connection.send(request(STREAM, {**turn("scripted", "go"), 5: work}))
        wait_for(lambda: self.list(home), "the decision")
        (before,) = self.list(home)
        self.assertEqual([before.str(n) for n in (2, 3, 4, 5, 6)],
                         ["permission", "pending", "scripted", "user", "agent:scripted:user"])
        self.restart(home, {"text": "done"})
        (pending,) = self.list(home)
        self.assertEqual(pending.str(1), before.str(1))
        self.assertEqual(pending.fields[10], before.fields[10], "what is asked about, word for word")
        self.assertEqual((pending.str(8), pending.str(9)), (before.str(8), before.str(9)))
        self.assertFalse(os.path.exists(os.path.join(work, "made")))
        reply = self.answer(home, pending.str(1), "yes", by="ann")
        self.assertEqual(reply.tag, DECISION, reply)
        self.wait_for_end(home, "done")
        with open(os.path.join(work, "made"), encoding="utf-8") as made:
            self.assertEqual(made.read(), "x\n")
        self.check(home)
        self.assertEqual(self.list(home), [])
        (past,) = self.list(home, session=pending.str(7), history=True)
        self.assertEqual([past.str(n) for n in (3, 11, 12, 13)], ["answered", "yes", "ann", "unix"])
        again = self.answer(home, pending.str(1), "no", by="bob")
        self.assertEqual(again.code, 409)
        self.assertIn("ann answered 'yes' over unix", again.text)

    def test_a_question_outlives_kill_9_and_its_answer_is_the_result(self):
        home = self.home(calls(call("ask_user", questions=[COLOUR])))
        _, seen = self.begin(home)
        id_ = seen[-1].detail.str(ASK_ID)
        self.restart(home, {"text": "done"})
        (old,) = [Message(raw) for raw in home.ask(LIST_QUESTIONS, {}).body.fields[1]]
        self.assertEqual(old.sub(7).str(ASK_ID), id_, "ListQuestions has it as well")
        self.assertEqual(home.ask(REPLY_TO_ASK, {1: "scripted", 3: "2", 200: id_}).tag, PONG)
        self.wait_for_end(home, "done")
        self.assertEqual([text for _, text in self.results(home)], ["blue"])
        self.check(home)
        self.assertEqual(self.one(home, id_).str(11), "2")

    def test_ReplyToAsk_without_an_id_finds_it_too(self):
        home = self.home(calls(call("ask_user", questions=[COLOUR])))
        self.begin(home)
        self.restart(home, {"text": "done"})
        self.assertEqual(home.ask(REPLY_TO_ASK, {1: "scripted", 3: "red"}).tag, PONG)
        self.wait_for_end(home, "done")
        self.assertEqual([text for _, text in self.results(home)], ["red"])

    def test_what_was_denied_after_the_restart_is_not_done(self):
        home = self.home(calls(bash("touch made")))
        self.begin(home)
        self.restart(home, {"text": "done"})
        (pending,) = self.list(home)
        self.assertEqual(self.answer(home, pending.str(1), "no, look first").tag, DECISION)
        self.wait_for_end(home, "done")
        ((_, told),) = self.results(home)
        self.assertIn("no, look first", told)
        self.check(home)

    def test_two_calls_wait_and_a_third_was_running(self):
        home = self.home(calls(bash("echo a >> A"), bash("echo b >> B"), bash("sleep 100")))
        work = os.path.join(home.base, "work")
        os.mkdir(work)
        connection = home.connect()
        self.addCleanup(connection.close)
        connection.send(request(STREAM, {**turn("scripted", "go"), 5: work}))
        wait_for(lambda: len(self.list(home)) >= 2, "the decisions")
        home.kill9()
        lines = self.entries(home)
        home.write("s.json", script({"text": "done"}))
        home.start()
        waiting = self.list(home)
        self.assertGreaterEqual(len(waiting), 2)
        for decision in waiting:
            shown = Message(decision.sub(10).fields[1][0]).str(1)
            self.assertEqual(self.answer(home, decision.str(1), "yes" if "echo" in shown else "no").tag, DECISION)
        self.wait_for_end(home, "done")
        for name, text in (("A", "a\n"), ("B", "b\n")):
            with open(os.path.join(work, name), encoding="utf-8") as made:
                self.assertEqual(made.read(), text)
        self.assertEqual(self.entries(home)[:len(lines)], lines, "nothing was rewritten")
        self.check(home)

    def test_a_restart_in_order_keeps_it_as_well(self):
        home = self.home(calls(call("ask_user", questions=[COLOUR])))
        _, seen = self.begin(home)
        self.restart(home, {"text": "done"}, kill=False)
        (pending,) = self.list(home)
        self.assertEqual(pending.str(1), seen[-1].detail.str(ASK_ID))
        self.assertEqual(self.answer(home, pending.str(1), "blue").tag, DECISION)
        self.wait_for_end(home, "done")
        self.check(home)

    def test_a_call_that_ran_at_the_crash_is_not_made_again(self):
        home = self.home(calls(bash("echo x >> made; sleep 100")), config="")
        work = os.path.join(home.base, "work")
        os.mkdir(work)
        connection = home.connect()
        self.addCleanup(connection.close)
        connection.send(request(STREAM, {**turn("scripted", "go"), 5: work}) + field(CLIENT_ID, "m1"))
        wait_for(lambda: self.list(home), "the decision")
        (pending,) = self.list(home)
        self.answer(home, pending.str(1), "yes")
        wait_for(lambda: os.path.exists(os.path.join(work, "made")), "the command")
        self.restart(home, {"text": "done"})
        self.assertEqual(self.list(home), [], "it has its answer")
        with home.connect() as link:
            link.send(request(STREAM, {**turn("scripted", "go"), 5: work}) + field(CLIENT_ID, "m1"))
            self.assertEqual(spoken(link.events()), "done")
        with open(os.path.join(work, "made"), encoding="utf-8") as made:
            self.assertEqual(made.read(), "x\n")
        ((_, told),) = self.results(home)
        self.assertIn("the daemon ended while this call ran", told)
        self.check(home)

    def test_time_goes_on_while_the_daemon_is_away(self):
        home = self.home(calls(call("ask_user", questions=[COLOUR])), config="[runtime]\nask_timeout = 1\n")
        _, seen = self.begin(home)
        id_ = seen[-1].detail.str(ASK_ID)
        self.restart(home, {"text": "done"})
        wait_for(lambda: not self.list(home), "the end of its time")
        wait_for(lambda: self.one(home, id_).str(3) == "closed", "the end in the history")
        self.assertEqual(self.one(home, id_).str(15), "nobody answered in time")
        late = self.answer(home, id_, "red")
        self.assertEqual(late.code, 409)
        self.assertIn("nobody answered in time", late.text)


class Ends(Case):
    def test_new_words_close_what_a_crash_left(self):
        home = self.home(calls(call("ask_user", questions=[COLOUR])))
        _, seen = self.begin(home)
        id_ = seen[-1].detail.str(ASK_ID)
        self.restart(home, {"text": "fine"})
        self.assertEqual(home.say("never mind", "scripted").body.str(2), "fine")
        self.assertEqual(self.list(home), [])
        decision = self.one(home, id_)
        self.assertEqual((decision.str(3), decision.str(15)), ("closed", "the conversation went on without it"))
        self.assertEqual(self.answer(home, id_, "red").code, 409)

    def test_a_kill_closes_it(self):
        home = self.home(calls(call("ask_user", questions=[COLOUR])))
        connection, seen = self.begin(home)
        self.assertEqual(home.ask(KILL, {1: "scripted"}).tag, PONG)
        connection.events()
        id_ = seen[-1].detail.str(ASK_ID)
        wait_for(lambda: self.one(home, id_).str(3) == "closed", "the end")
        self.assertEqual(self.one(home, id_).str(15), "the turn was cancelled")
        self.check(home)

    def test_the_trash_closes_it(self):
        home = self.home(calls(call("ask_user", questions=[COLOUR])))
        _, seen = self.begin(home)
        id_ = seen[-1].detail.str(ASK_ID)
        self.restart(home)
        (pending,) = self.list(home)
        self.assertEqual(home.ask(TRASH_SESSION, {1: pending.str(7)}).tag, PONG)
        self.assertEqual(self.list(home), [])
        self.assertEqual(self.answer(home, id_, "red").code, 404)
        self.assertEqual(home.ask(RESTORE_SESSION, {1: pending.str(7)}).tag, PONG)
        self.assertEqual(self.list(home), [])
        self.assertEqual(self.one(home, id_).str(15), "the session was put in the trash")

    def test_taken_back_to_before_it(self):
        home = self.home(calls(call("ask_user", questions=[COLOUR])))
        _, seen = self.begin(home)
        id_ = seen[-1].detail.str(ASK_ID)
        self.restart(home)
        (pending,) = self.list(home)
        first = [e["id"] for e in self.entries(home) if e["type"] == "message"][0]
        self.assertEqual(home.ask(REWIND_SESSION, {1: pending.str(7), 2: first}).tag, SESSION_INFO)
        self.assertEqual(self.list(home), [])
        late = self.answer(home, id_, "red")
        self.assertEqual(late.code, 409)
        self.assertIn("taken back", late.text)

    def test_a_fork_takes_no_decisions_along(self):
        home = self.home(calls(call("ask_user", questions=[COLOUR])))
        self.begin(home)
        self.restart(home)
        (pending,) = self.list(home)
        self.assertEqual(home.ask(FORK_SESSION, {1: pending.str(7)}).tag, SESSION_INFO)
        self.assertEqual(len(self.list(home)), 1)


class OneAnswer(Case):
    def test_two_answers_at_once_one_wins_and_the_other_is_told(self):
        for round_ in range(10):
            home = self.home(calls(call("ask_user", questions=[COLOUR])), {"text": "done"})
            _, seen = self.begin(home)
            if round_ % 2:
                self.restart(home, {"text": "done"})
            id_ = seen[-1].detail.str(ASK_ID)
            replies = [None] * 4
            gate = threading.Barrier(len(replies))

            def answer(number):
                gate.wait()
                replies[number] = self.answer(home, id_, ("red", "blue")[number % 2], by=f"p{number}")

            threads = [threading.Thread(target=answer, args=(n,)) for n in range(len(replies))]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            won = [n for n, r in enumerate(replies) if r.tag == DECISION]
            self.assertEqual(len(won), 1, replies)
            for n, reply in enumerate(replies):
                if n not in won:
                    self.assertEqual(reply.code, 409, reply)
                    self.assertIn(f"p{won[0]} answered", reply.text)
            self.wait_for_end(home, "done")
            self.assertEqual([text for _, text in self.results(home)], [("red", "blue")[won[0] % 2]])
            self.check(home)
            home.cleanup()

    def test_the_same_answer_again_is_no_error_for_the_one_who_named_it(self):
        home = self.home(calls(call("ask_user", questions=[COLOUR])), {"text": "done"})
        _, seen = self.begin(home)
        id_ = seen[-1].detail.str(ASK_ID)
        first = self.answer(home, id_, "red", client_id="a1")
        self.assertEqual(first.tag, DECISION)
        self.wait_for_end(home, "done")
        self.assertEqual(self.answer(home, id_, "red", client_id="a1").tag, DECISION)
        os.unlink(home.file("answers.jsonl"))
        self.restart(home)
        self.assertEqual(self.answer(home, id_, "red", client_id="a1").tag, DECISION, "the answer has its name, too")
        self.assertEqual(self.answer(home, id_, "blue", client_id="a1").code, 409)
        self.assertEqual(self.answer(home, id_, "red", client_id="a2").code, 409)

    def test_hostile_values(self):
        home = self.home(calls(call("ask_user", questions=[COLOUR])), {"text": "done"})
        _, seen = self.begin(home)
        id_ = seen[-1].detail.str(ASK_ID)
        for bad, code in ((id_, 400), ("", 404), ("x", 404), ("../../etc.x", 404), (".", 404), ("a" * 100000, 404),
                          (id_ + "x", 404), (id_.split(".")[0] + ".", 404), ("\0.\0", 404)):
            reply = self.answer(home, bad, " " if bad == id_ else "red")
            self.assertEqual((reply.tag, reply.code), (ERROR, code), (bad[:50], reply))
        self.assertEqual(self.answer(home, id_, "x" * 100000).code, 413)
        for fields in ({6: "zzz", 4: 1, 1: id_.split(".")[0]}, {4: 1}, {1: "nope"}, {1: "../x"}):
            self.assertEqual(home.ask(LIST_DECISIONS, fields).tag, ERROR, fields)
        self.assertEqual(len(self.list(home)), 1)
        self.assertTrue(home.ping())


class Crashes(Case):
    def test_killed_at_random_moments_around_its_answer_a_call_is_made_at_most_once(self):
        dice = random.Random(SEED)
        home = self.home({"text": "done"})
        work = os.path.join(home.base, "work")
        os.mkdir(work)
        for number in range(ROUNDS):
            made = os.path.join(work, f"made{number}")
            key, where = f"talk{number}", f"seed {SEED}, round {number}"
            self.restart(home, calls(bash(f"echo x >> {made}")))
            with home.connect() as link:
                link.send(request(STREAM, {**turn("scripted", "go"), KEY: key, 5: work}) + field(CLIENT_ID, "m"))
                wait_for(lambda: [d for d in self.list(home) if d.str(6) == key], "the decision")
            (pending,) = [d for d in self.list(home) if d.str(6) == key]
            self.restart(home, {"text": "done"})
            with home.connect() as link:
                link.send(request(ANSWER_DECISION, {1: pending.str(1), 2: "yes"}) + field(CLIENT_ID, f"a{number}"))
                time.sleep(dice.random() * 0.05)
                self.restart(home, {"text": "done"})
            again = self.answer(home, pending.str(1), "yes", client_id=f"a{number}")
            self.assertEqual(again.tag, DECISION, f"{where}: {again}")
            # Whatever became of the turn, its message brings it to its end.
            with home.connect() as link:
                link.send(request(STREAM, {**turn("scripted", "go"), KEY: key, 5: work}) + field(CLIENT_ID, "m"))
                self.assertEqual(spoken(link.events()), "done", where)
            (path,) = [p for p in home.transcripts() if f'"key":"{key}"' in open(p, encoding="utf-8").read()]
            messages = [e["message"] for e in read_lines(path) if e["type"] == "message"]
            self.assertEqual([m["role"] for m in messages], ["user", "assistant", "toolResult", "assistant"], where)
            lines = open(made, encoding="utf-8").read() if os.path.exists(made) else ""
            self.assertIn(lines, ("", "x\n"), where)
            if not messages[2]["isError"]:
                self.assertEqual(lines, "x\n", where)
            self.assertEqual(self.one(home, pending.str(1)).str(3), "answered", where)
        self.assertEqual(self.list(home), [])
        self.assertEqual(home.reef("fsck").code, 0)


class Failed(Case):
    def test_a_failed_turn_is_tried_again(self):
        home = self.home({"fail": "auth", "message": "bad key"})
        self.assertEqual(home.say("go", "scripted").tag, ERROR)
        (pending,) = self.list(home)
        self.assertEqual((pending.str(2), pending.str(9)), ("failed", ""))
        self.assertIn("bad key", Message(pending.sub(10).fields[1][0]).str(1))
        self.assertEqual(home.ask(LIST_QUESTIONS, {}).body.fields, {}, "nobody waits for it")
        self.restart(home, {"text": "done"})
        self.assertEqual(self.answer(home, pending.str(1), "yes").tag, DECISION)
        self.wait_for_end(home, "done")
        self.check(home)
        self.assertEqual(self.list(home), [])

    def test_or_left(self):
        home = self.home({"fail": "auth", "message": "bad key"}, {"text": "done"})
        home.say("go", "scripted")
        (pending,) = self.list(home)
        self.assertEqual(self.answer(home, pending.str(1), "leave it").tag, DECISION)
        self.assertEqual(self.list(home), [])
        self.assertEqual(home.say("and now?", "scripted").body.str(2), "done")

    def test_or_overtaken(self):
        home = self.home({"fail": "auth", "message": "bad key"}, {"text": "done"})
        home.say("go", "scripted")
        (pending,) = self.list(home)
        self.assertEqual(home.say("and now?", "scripted").body.str(2), "done")
        self.assertEqual(self.one(home, pending.str(1)).str(3), "closed")


class Plans(Case):
    def plan(self, *more):
        return self.home(calls(call("submit_plan", name="move", content="1. move")), {"text": "handed in"}, *more)

    def test_a_plan_is_decided_from_the_list(self):
        home = self.plan({"text": "moved"})
        home.say("plan it", "scripted")
        (pending,) = self.list(home)
        self.assertEqual((pending.str(2), pending.str(16)), ("plan", "move"))
        self.restart(home, {"text": "moved"})
        self.assertEqual(self.answer(home, pending.str(1), "accept").tag, DECISION)
        self.wait_for_end(home, "moved")
        self.assertIn("I accept the plan 'move'", texts(self.entries(home), "user")[-1])
        self.assertEqual(self.one(home, pending.str(1)).str(3), "answered")

    def test_AcceptPlan_answers_it(self):
        home = self.plan({"text": "moved"})
        home.say("plan it", "scripted")
        (pending,) = self.list(home)
        with home.connect() as link:
            link.send(request(ACCEPT_PLAN, {1: pending.str(7), 2: "move"}))
            self.assertEqual(spoken(link.events()), "moved")
        self.assertEqual(self.one(home, pending.str(1)).str(3), "answered")

    def test_other_words_are_said_to_the_agent(self):
        home = self.plan({"text": "another way"})
        home.say("plan it", "scripted")
        (pending,) = self.list(home)
        self.assertEqual(self.answer(home, pending.str(1), "not on a Friday").tag, DECISION)
        self.wait_for_end(home, "another way")
        self.assertEqual(texts(self.entries(home), "user")[-1], "not on a Friday")

    def test_declined(self):
        home = self.plan()
        home.say("plan it", "scripted")
        (pending,) = self.list(home)
        self.assertEqual(self.answer(home, pending.str(1), "no").tag, DECISION)
        self.assertEqual(len(texts(self.entries(home), "user")), 1)


class Lists(Case):
    def test_pages_over_all_sessions_go_on_after_a_restart(self):
        replies = [{"fail": "auth", "message": f"bad key {n}"} for n in range(7)]
        home = self.home(*replies)
        for n in range(7):
            with home.connect() as link:
                link.call(SEND, {**turn("scripted", "go"), KEY: f"talk{n}"})
        self.restart(home)
        seen, cursor = [], None
        while True:
            page = self.list(home, limit=3, cursor=cursor)
            self.assertEqual(self.total, 7)
            self.assertLessEqual(len(page), 3)
            seen += [d.str(1) for d in page]
            cursor = self.cursor
            if not cursor:
                break
        self.assertEqual(len(seen), 7)
        self.assertEqual(len(set(seen)), 7)
        self.assertEqual(self.list(home, agent="nobody"), [])

    def test_a_catalog_that_is_gone_is_made_again(self):
        home = self.home(calls(call("ask_user", questions=[COLOUR])))
        _, seen = self.begin(home)
        home.kill9()
        for name in os.listdir(home.file("catalog")) if os.path.isdir(home.file("catalog")) else []:
            os.unlink(home.file(f"catalog/{name}"))
        home.start()
        (pending,) = self.list(home)
        self.assertEqual(pending.str(1), seen[-1].detail.str(ASK_ID))

    def test_the_command_line(self):
        home = self.home(calls(call("ask_user", questions=[COLOUR])), {"text": "done"})
        self.assertEqual(home.reef("decisions").out, "nothing to decide\n")
        _, seen = self.begin(home)
        id_ = seen[-1].detail.str(ASK_ID)
        shown = home.reef("decisions")
        self.assertIn(f"{id_}  question  agent:scripted:user", shown.out)
        self.assertIn("Which colour?", shown.out)
        (one,) = home.reef("decisions", "ls", "--json", "--agent", "scripted").json
        self.assertEqual((one["id"], one["state"], one["answer"]), (id_, "pending", None))
        self.assertEqual(home.reef("decisions", "--agent", "nobody", "--json").json, [])
        done = home.reef("decisions", "answer", id_, "blue", "--by", "ann", "--json")
        self.assertEqual((done.code, done.json["state"], done.json["answeredBy"]), (0, "answered", "ann"), done)
        self.wait_for_end(home, "done")
        again = home.reef("decisions", "answer", id_, "red")
        self.assertEqual(again.code, 1)
        self.assertIn("ann answered 'blue'", again.err)
        self.assertIn("answered 'blue' by ann over unix", home.reef("decisions", "show", id_).out)
        past = home.reef("decisions", "--history", "--session", id_.split(".")[0])
        self.assertIn(id_, past.out)
        self.assertEqual(home.reef("decisions", "show", "nope").code, 1)

    def test_subscribers_are_told_when_they_ask_for_it(self):
        home = self.home(calls(call("ask_user", questions=[COLOUR])), {"text": "done"})
        with home.connect() as link:
            link.send(request(34, {203: 230}))
            home.ping()
            connection, seen = self.begin(home)
            id_ = seen[-1].detail.str(ASK_ID)
            self.answer(home, id_, "red")
            states = []
            while len(states) < 2:
                event = link.recv().body
                self.assertEqual(event.int(3), 230)
                states.append((event.sub(230).str(1), event.sub(230).str(3)))
        self.assertEqual(states, [(id_, "pending"), (id_, "answered")])

    def test_exports_and_searches_show_no_riddles(self):
        home = self.home(calls(call("ask_user", questions=[COLOUR])), {"text": "done"})
        connection, seen = self.begin(home)
        id_ = seen[-1].detail.str(ASK_ID)
        self.answer(home, id_, "red")
        connection.events()
        for format_ in ("html", "markdown", "ndjson", "craft", "crabtalk", "pi", "clawdbot"):
            out = os.path.join(home.base, format_)
            done = home.reef("export", id_.split(".")[0], "--to", format_, "-o", out)
            self.assertEqual(done.code, 0, done)
            if format_ in ("markdown",):
                for path in Path(out).rglob("*") if os.path.isdir(out) else [Path(out)]:
                    if path.is_file():
                        self.assertNotIn("reef.decision", path.read_text())


if __name__ == "__main__":
    unittest.main()
