"""The event bus: events start agents that are subscribed to them."""

import json
import unittest

from reefbox import *

SUBSCRIBE_EVENT, UNSUBSCRIBE_EVENT, LIST_SUBSCRIPTIONS, PUBLISH_EVENT = 40, 41, 42, 43
SUBSCRIPTION_INFO, SUBSCRIPTION_LIST = 25, 26
HANG = {"text": "so far", "hang": True}


class Bus(unittest.TestCase):
    def home(self, *replies, config="", agents=("writer",)):
        home = Home(config=config, script=script(*(replies or ({"text": "hello"},))))
        self.addCleanup(home.cleanup)
        for agent in agents:
            home.write(f"agents/{agent}.toml", 'model = "s/x"\n')
        home.start()
        return home

    def subscribe(self, home, source, agent="writer", once=False):
        reply = home.ask(SUBSCRIBE_EVENT, {1: source, 2: agent, 3: once or None})
        self.assertEqual(reply.tag, SUBSCRIPTION_INFO, reply)
        return reply.body.int(1)

    def publish(self, home, source, payload="x"):
        return home.ask(PUBLISH_EVENT, {1: source, 2: payload})

    def listing(self, home):
        reply = home.ask(LIST_SUBSCRIPTIONS)
        self.assertEqual(reply.tag, SUBSCRIPTION_LIST)
        return reply.body

    def session(self, home, key):
        """The session of a conversation once its turn is over."""
        def over():
            found = home.reef("sessions", "--key", key, "--json").json
            idle = home.ask(GET_STATS).body.int(2) == 0
            return found[0] if found and idle else None
        return wait_for(over, f"a session of {key}")

    def said(self, home, key):
        lines = home.read(f"sessions/{self.session(home, key)['id']}/session.jsonl").splitlines()
        out = []
        for entry in map(json.loads, lines):
            if entry["type"] == "message":
                content = entry["message"]["content"]
                out.append(content if isinstance(content, str) else "".join(b.get("text", "") for b in content))
        return out

    def test_an_event_starts_who_is_subscribed(self):
        home = self.home()
        self.subscribe(home, "rss:*")
        self.assertEqual(self.publish(home, "rss:fetched", "three entries").tag, PONG)
        self.assertEqual(self.said(home, "agent:writer:event:rss:fetched"), ["three entries", "hello"])
        listing = self.listing(home)
        self.assertEqual((listing.int(200), listing.int(201)), (1, 0))
        self.assertEqual(Message(listing.fields[1][0]).int(200), 1)
        session = self.session(home, "agent:writer:event:rss:fetched")
        self.assertEqual(session["sender"], "event:rss:fetched")

    def test_the_same_conversation_goes_on(self):
        home = self.home({"text": "one"}, {"text": "two"})
        self.subscribe(home, "tick")
        for payload in ("first", "second"):
            self.publish(home, "tick", payload)
            self.session(home, "agent:writer:event:tick")
        self.assertEqual(self.said(home, "agent:writer:event:tick"), ["first", "one", "second", "two"])

    def test_done_of_an_agent_starts_the_next(self):
        home = self.home({"text": "found it"})
        self.subscribe(home, "agent:scripted:done")
        home.say("look", agent="scripted")
        self.assertEqual(self.said(home, "agent:writer:event:agent:scripted:done"), ["found it", "found it"])

    def test_subscriptions_follow_a_new_name(self):
        home = self.home(agents=("writer", "scout"), config="[session.idle_minutes_by_key]\n'agent:writer:ci' = 7  # nightly\n")
        self.subscribe(home, "rss:*")
        self.subscribe(home, "agent:writer:done", "scout")
        self.subscribe(home, "once", once=True)
        self.assertEqual(home.reef("agents", "rename", "writer", "author").code, 0)
        for restarted in (False, True):
            if restarted:
                home.kill9()
                home.start()
            got = [(s.str(2), s.str(3)) for s in map(Message, self.listing(home).fields[1])]
            self.assertEqual(got, [("rss:*", "author"), ("agent:author:done", "scout"), ("once", "author")], restarted)
        self.assertIn("'agent:author:ci' = 7  # nightly", home.read("config.toml"))
        self.publish(home, "rss:fetched", "three entries")
        self.assertEqual(self.said(home, "agent:author:event:rss:fetched"), ["three entries", "hello"])
        self.assertEqual(self.said(home, "agent:scout:event:agent:author:done"), ["hello", "hello"])
        self.assertEqual(self.listing(home).int(201), 0, "nothing dropped")

    def test_a_rename_that_was_killed_is_gone_on_with(self):
        # New files are written first and old ones removed last, so a subscription always names an existing agent.
        for at in ("before", "after"):
            home = self.home(agents=("writer",))
            self.subscribe(home, "rss:*")
            home.kill9()
            home.write("agents/author.toml", home.read("agents/writer.toml"))
            if at == "after":
                kept = home.read("events/subscriptions.toml")
                home.write("events/subscriptions.toml", kept.replace("'writer'", "'author'").replace('"writer"', '"author"'))
            home.start()
            self.publish(home, "rss:fetched", "three entries")
            who = "writer" if at == "before" else "author"
            self.assertEqual(self.said(home, f"agent:{who}:event:rss:fetched"), ["three entries", "hello"], "none is lost meanwhile")
            self.assertEqual(home.reef("agents", "rename", "writer", "author").code, 0)
            (one,) = map(Message, self.listing(home).fields[1])
            self.assertEqual((one.str(2), one.str(3)), ("rss:*", "author"))
            self.assertEqual(home.reef("agents", "ls", "--json").json[0]["name"], "author")

    def test_failed_is_another_event(self):
        home = self.home({"fail": "auth", "message": "bad key"})
        self.subscribe(home, "agent:scripted:failed")
        home.say("look", agent="scripted")
        self.assertIn("bad key", self.said(home, "agent:writer:event:agent:scripted:failed")[0])

    def test_C15_loops_end(self):
        home = self.home()
        self.subscribe(home, "agent:writer:done")
        self.assertEqual(home.say("go", agent="writer").tag, RESPONSE)
        wait_for(lambda: self.listing(home).int(201) == 1, "the loop to be cut")
        (one,) = [Message(s) for s in self.listing(home).fields[1]]
        self.assertEqual((one.int(200), one.int(201)), (8, 1))
        self.assertIn("taken for a loop", home.read("logs/reefd.log"))

    def test_limits_are_configured(self):
        home = self.home(HANG, config="[events]\nturns_max = 2\npayload_bytes_max = 100\nfan_out_max = 1\n",
                         agents=("writer", "other"))
        self.subscribe(home, "a")
        self.subscribe(home, "a", "other")
        self.assertEqual(self.publish(home, "a", "x" * 101).code, 413)
        self.publish(home, "a")
        self.assertEqual(self.listing(home).int(201), 1, "one is beyond the fan-out")
        self.publish(home, "a")
        self.publish(home, "a")
        self.assertEqual(self.listing(home).int(201), 4)

    def test_U5_subscriptions_survive_kill_9(self):
        home = self.home()
        self.subscribe(home, "a")
        self.subscribe(home, "once", once=True)
        self.subscribe(home, "b")
        self.assertEqual(home.ask(UNSUBSCRIBE_EVENT, {1: 3}).tag, PONG)
        home.kill9()
        home.start()
        listing = [Message(s) for s in self.listing(home).fields[1]]
        self.assertEqual([(s.int(1), s.str(2), s.int(4)) for s in listing], [(1, "a", 0), (2, "once", 1)])
        self.assertEqual(self.subscribe(home, "c"), 4, "ids are not given twice")
        self.publish(home, "once")
        wait_for(lambda: 'once"' not in home.read("events/subscriptions.toml"), "the used one to be gone")

    def test_nonsense_is_refused(self):
        home = self.home()
        link = home.connect()
        self.addCleanup(link.close)
        self.assertEqual(link.call(SUBSCRIBE_EVENT, {1: "a", 2: "nobody"}).code, 404)
        for bad in ("", ":", "a::b", "a:b*", "x" * 201, "a\nb"):
            self.assertEqual(link.call(SUBSCRIBE_EVENT, {1: bad, 2: "writer"}).code, 400, bad)
            self.assertEqual(link.call(PUBLISH_EVENT, {1: bad, 2: "x"}).code, 400, bad)
        self.assertEqual(link.call(PUBLISH_EVENT, {1: "a:*"}).code, 400)
        self.assertEqual(link.call(UNSUBSCRIBE_EVENT, {1: 99}).code, 404)

    def test_a_broken_file_is_not_written_over(self):
        home = Home(script=script({"text": "x"}), files={"events/subscriptions.toml": "[[subscription\n"})
        self.addCleanup(home.cleanup)
        home.start()
        reply = home.ask(SUBSCRIBE_EVENT, {1: "a", 2: "scripted"})
        self.assertEqual(reply.code, 409)
        self.assertIn("subscriptions.toml", reply.text)
        self.assertEqual(home.read("events/subscriptions.toml"), "[[subscription\n")
        self.assertIn("subscriptions.toml", " ".join(home.reef("status", "--json").json["problems"]))
        self.assertNotEqual(home.reef("reload").code, 0)
        home.write("events/subscriptions.toml", '[[subscription]]\nid = 5\nsource = "a"\ntarget_agent = "scripted"\n')
        self.assertEqual(home.reef("reload").code, 0)
        self.assertEqual(Message(self.listing(home).fields[1][0]).int(1), 5)

    def test_commands(self):
        home = self.home()
        made = home.reef("events", "subscribe", "rss:*", "writer", "--once", "--json").json
        self.assertEqual((made["id"], made["source"], made["agent"], made["once"]), (1, "rss:*", "writer", True))
        self.assertIn("rss:* -> writer", home.reef("events", "ls").out)
        self.assertEqual(home.reef("events", "publish", "rss:x", stdin=b"from stdin").code, 0)
        self.assertEqual(self.said(home, "agent:writer:event:rss:x")[0], "from stdin")
        wait_for(lambda: home.reef("events", "ls", "--json").json["subscriptions"] == [], "it to be used up")
        home.reef("events", "subscribe", "b", "writer")
        self.assertEqual(home.reef("events", "rm", "2").code, 0)
        self.assertNotEqual(home.reef("events", "rm", "2").code, 0)
        self.assertEqual(home.reef("events", "ls").out, "no subscriptions\n")

    def test_events_run_in_the_mode_of_strangers(self):
        home = self.home({"calls": [{"name": "write", "arguments": {"path": "/tmp/reef-must-not-be", "content": "x"}}]},
                         {"text": "done"})
        self.subscribe(home, "a")
        self.publish(home, "a", "write it")
        self.assertIn("Not done", " ".join(self.said(home, "agent:writer:event:a")))


if __name__ == "__main__":
    unittest.main()
