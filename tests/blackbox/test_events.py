"""SubscribeEvents and `reef events watch`: the events of all conversations, for whoever subscribes."""

import json
import os
import subprocess
import threading
import unittest

from reefbox import *

SUBSCRIBE_EVENTS, AGENT_EVENT = 34, 21
AGENT, SENDER, KIND, CONTENT, TIME, CALLS, OUTPUT, IS_ERROR = range(1, 9)
SESSION, KEY, GUEST, MISSED = 200, 201, 202, 203
KINDS = ["text", "thinking", "tool_start", "tool_result", "tools_complete", "done", "text_start", "text_end",
         "thinking_start", "thinking_end"]


class Events(unittest.TestCase):
    def home(self, **options):
        home = Home(**options)
        self.addCleanup(home.cleanup)
        return home

    def subscribe(self, home, fields=None):
        """A connection with a subscription that is in place."""
        link = home.connect()
        self.addCleanup(link.close)
        body = b"".join(field(n, v) for n, vs in (fields or {}).items() for v in (vs if isinstance(vs, list) else [vs]))
        link.send(request(SUBSCRIBE_EVENTS, body, 1))
        self.assertEqual(link.call(PING, {}, 2).tag, PONG)
        return link

    def until_done(self, link, count=1):
        out = []
        while True:
            reply = link.recv()
            self.assertEqual(reply.tag, AGENT_EVENT, reply)
            out.append(reply.body)
            count -= KINDS[reply.body.int(KIND)] == "done"
            if count == 0:
                return out

    def test_every_event_of_a_turn_with_who_and_where(self):
        home = self.home(script=script(
            {"text": "let me see", "calls": [{"name": "recall", "arguments": {"query": "x"}}, {"name": "nonsense"}]},
            {"text": "done"}))
        home.start()
        link = self.subscribe(home)
        self.assertEqual(home.say("go", agent="scripted", sender="tg:7").tag, RESPONSE, "a Send is told as well")
        events = self.until_done(link)
        kinds = [KINDS[e.int(KIND)] for e in events]
        self.assertEqual([k for n, k in enumerate(kinds) if k != "text" or kinds[n - 1] != "text"],
                         ["text_start", "text", "text_end", "tool_start", "tool_result", "tool_result", "tools_complete",
                          "text_start", "text", "text_end", "done"])
        (session,) = home.reef("sessions", "--json").json
        for event in events:
            self.assertEqual((event.str(AGENT), event.str(SENDER), event.str(KEY), event.str(SESSION), event.int(GUEST),
                              event.int(MISSED)),
                             ("scripted", "tg:7", "agent:scripted:tg:7", session["id"], 0, 0))
            self.assertRegex(event.str(TIME), r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertEqual("".join(e.str(CONTENT) for e in events if e.int(KIND) == 0), "let me seedone")
        (start,) = [e for e in events if e.int(KIND) == 2]
        self.assertEqual(start.str(CONTENT), "recall, nonsense")
        self.assertEqual([Message(c).str(1) for c in start.fields[CALLS]], ["recall", "nonsense"])
        results = [e for e in events if e.int(KIND) == 3]
        self.assertEqual({(e.str(OUTPUT), e.int(IS_ERROR)) for e in results},
                         {("no memories found", 0), ("tool not registered: nonsense", 1)})
        for result in results:
            self.assertRegex(result.str(CONTENT), r"^\d+ms$")
        self.assertRegex(events[-1].str(CONTENT), r"^s/x \d+(\.\dk)? in / \d+ out$")

    def test_long_outputs_are_cut_and_commands_are_labels(self):
        files = {f"sessions/2603{n:02d}-old-pump/session.jsonl": jsonl(
            header_entry(f"2603{n:02d}-old-pump"), user_entry("a", None, "walnut ä" * 400)) for n in range(10, 20)}
        home = self.home(files=files, script=script(
            {"calls": [{"name": "list_messages", "arguments": {"id": "260310-old-pump"}},
                       {"name": "bash", "arguments": {"command": "ls -l\npwd"}}]}, {"text": "done"}))
        home.start()
        link = self.subscribe(home, {203: [2, 3]})
        home.say("go", agent="scripted")
        events = [link.recv().body for _ in range(3)]
        self.assertEqual(events[0].str(CONTENT), "list_messages, bash(ls -l)")
        (long,) = [e.str(OUTPUT) for e in events[1:] if "walnut" in e.str(OUTPUT)]
        self.assertTrue(long.endswith("…[truncated]"))
        cut = len(long.encode()) - len("…[truncated]".encode())
        self.assertTrue(2044 <= cut <= 2048, cut)

    def test_filters(self):
        home = self.home(script=script({"text": "hello"}))
        home.write("agents/other.toml", 'model = "s/x"\n')
        home.start()
        links = {name: self.subscribe(home, fields) for name, fields in {
            "agent": {200: "other"}, "sender": {201: "ann"}, "key": {202: "agent:other:bob"}, "kind": {203: [5]}}.items()}
        turns = [("scripted", "ann"), ("other", "ann"), ("other", "bob"), ("scripted", "bob")]
        for agent, sender in turns:
            home.say("x", agent=agent, sender=sender)

        def pairs(link, count):
            return [(e.str(AGENT), e.str(SENDER)) for e in self.until_done(link, count) if e.int(KIND) == 5]

        self.assertEqual(pairs(links["agent"], 2), turns[1:3])
        self.assertEqual(pairs(links["sender"], 2), turns[:2])
        self.assertEqual(pairs(links["key"], 1), turns[2:3])
        self.assertEqual(pairs(links["kind"], 4), turns)
        self.assertEqual(home.connect().call(SUBSCRIBE_EVENTS, field(203, 77)).code, 400)

    def test_failures_and_guests_are_told(self):
        home = self.home(script=script({"fail": "auth", "message": "bad key"}, {"text": "from the guest"}))
        home.write("agents/critic.toml", 'model = "s/x"\n')
        home.start()
        link = self.subscribe(home)
        home.say("one", agent="scripted")
        self.assertIn("bad key", self.until_done(link)[-1].str(CONTENT))
        home.connect().call(SEND, {**turn("scripted", "two"), 6: "critic"})
        events = self.until_done(link)
        self.assertEqual({(e.str(AGENT), e.int(GUEST), e.str(KEY)) for e in events},
                         {("critic", 1, "agent:scripted:user")})
        self.assertIn("from the guest", "".join(e.str(CONTENT) for e in events))

    def test_W6_subscribers_survive_a_reload(self):
        home = self.home(script=script({"text": "hello"}))
        home.start()
        link = self.subscribe(home)
        home.say("one", agent="scripted")
        self.until_done(link)
        for _ in range(3):
            self.assertEqual(home.reef("reload").code, 0)
        self.assertEqual(home.connect().call(18, {1: "scripted", 2: 'description = "changed"'}).tag, 11)
        home.say("two", agent="scripted")
        self.assertEqual(self.until_done(link)[-1].str(AGENT), "scripted")

    def test_W6_a_reader_that_lags_is_told_and_slows_nobody(self):
        home = self.home(script=script({"text": "a" * 30000 + " ", "repeat": 200}))
        home.start()
        slow = self.subscribe(home)
        idle = self.subscribe(home)
        for number in range(2):
            self.assertEqual(home.say("go", agent="scripted", sender=f"s{number}").tag, RESPONSE)
        idle.close()
        # 12 MiB were said; the queue of a reader that took nothing is bounded.
        missed = heard = 0
        while True:
            event = slow.recv().body
            missed += event.int(MISSED)
            heard += len(event.str(CONTENT))
            if event.int(KIND) == 5 and event.str(SENDER) == "s1":
                break
        self.assertGreater(missed, 100)
        self.assertLess(heard, 6 << 20)
        self.assertTrue(home.ping())

    def test_a_subscriber_does_not_keep_the_daemon(self):
        home = self.home()
        home.start()
        link = self.subscribe(home)
        self.assertEqual(home.stop(), 0)
        while link.recv() is not None:
            pass

    def test_the_command(self):
        home = self.home(script=script({"text": "hello there"}))
        home.start()
        watch = subprocess.Popen([binary("reef"), "--home", home.path, "events", "watch", "--json", "--kind", "done",
                                  "--agent", "scripted"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
        self.addCleanup(watch.wait)
        self.addCleanup(watch.kill)
        lines = []
        reader = threading.Thread(target=lambda: lines.append(watch.stdout.readline()))
        reader.start()

        def heard():
            home.say("x", agent="scripted")
            return bool(lines)

        wait_for(heard, "an event")
        reader.join()
        event = json.loads(lines[0])
        self.assertEqual((event["kind"], event["agent"], event["key"], event["guest"]),
                         ("done", "scripted", "agent:scripted:user", False))
        watch.stdout.close()
        watch.stderr.close()
        self.assertEqual(home.reef("events", "watch", "--kind", "nonsense").code, 2)
        self.assertEqual(home.reef("events").code, 2)


if __name__ == "__main__":
    unittest.main()
