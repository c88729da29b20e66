"""The policy: titles, flushes, compactions, archiving; how each is turned off and explained."""

import json
import os
import random
import signal
import subprocess
import time
import unittest

from fake_model import FakeModel
from reefbox import *
from test_memory import ARCHIVE, NOTE, crmem, entry
from test_providers import Backend, config
from test_search import transcript

# Small enough that a few messages fill a context.
SMALL = "[compaction]\nkeep_recent_tokens = 200\n[policy]\ncompact_threshold = 3000\nflush_margin = 500\n"
LONG = "the harbour master counts every wave and writes it down " * 60


class Case(unittest.TestCase):
    def home(self, config="", policy=True, **options):
        home = Home(config, **options)
        self.addCleanup(home.cleanup)
        home.start(policy=policy)
        return home

    def rows(self, home):
        return {row["id"]: row for row in home.reef("sessions", "--json").json}

    def row(self, home, **fields):
        """The only session, once its fields have these values."""
        def look():
            rows = list(self.rows(home).values())
            return rows[0] if rows and all(rows[0].get(k) == v for k, v in fields.items()) else None
        return wait_for(look, f"a session with {fields}")

    def titled(self, home, agent):
        return wait_for(lambda: [r for r in self.rows(home).values() if r["agent"] == agent and r.get("name")],
                        f"a title for {agent}")[0]

    def fill(self, home, agent="reef"):
        """Three turns: the third goes beyond both limits at once."""
        for words in (LONG, LONG, LONG * 2):
            home.say(words, agent=agent)

    def entries(self, home):
        return read_lines(home.transcript())


class Titles(Case):
    def test_after_the_first_exchange(self):
        home = self.home()
        home.say("how do I rotate the deploy key of the harbour?")
        row = self.titled(home, "reef")
        self.assertTrue(3 <= len(row["name"].split()) <= 6, row["name"])
        self.assertEqual([e["type"] for e in self.entries(home)].count("session_info"), 1)

    def test_a_given_title_stays(self):
        home = self.home(policy=False)
        home.say("how do I rotate the deploy key?")
        id_ = self.row(home)["id"]
        home.reef("set", id_, "name=Mine")
        home.stop()
        home.start(policy=True)
        home.say("and the other one, of the lighthouse?")
        home.say("a word of another conversation", sender="other")
        wait_for(lambda: [r for r in self.rows(home).values() if r["sender"] == "other" and r.get("name")], "a title")
        self.assertEqual(self.rows(home)[id_]["name"], "Mine")

    def test_they_do_not_stand_in_the_way_of_answers(self):
        home = self.home()
        home.reef("chat", "-p", "hello")
        self.titled(home, "reef")
        home.reef("chat", "-p", "The deploy key is in the blue vault")
        home.reef("new")
        answer = home.reef("chat", "-p", "What did we say about the deploy key?").out
        self.assertIn('"The deploy key is in the blue vault"', answer)

    def test_off_for_the_node_and_on_for_an_agent(self):
        home = self.home("[policy]\ntitle = false\n", files={"agents/scribe.toml": "[policy]\ntitle = true\n"})
        home.say("the first conversation has no title")
        home.say("but the second one has a title", agent="scribe")
        self.titled(home, "scribe")
        self.assertEqual([r["name"] for r in self.rows(home).values() if r["agent"] == "reef"], [""])

    def test_a_policy_of_its_own_process(self):
        home = self.home(policy=False)
        with open(os.devnull, "wb") as nowhere:
            policy = subprocess.Popen([binary("reef"), "--home", home.path, "policy", "run"], stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=nowhere, env=environment())
        self.addCleanup(policy.stdout.close)
        self.addCleanup(policy.wait)
        self.addCleanup(policy.kill)
        self.assertIn(b"running", policy.stdout.readline())

        # The policy may still be connecting when the first turn ends; it hears of later ones.
        def another():
            home.say("which wave was the largest of all?")
            return [r for r in self.rows(home).values() if r.get("name")]
        wait_for(another, "a title")
        policy.send_signal(signal.SIGINT)
        self.assertEqual(policy.wait(TIMEOUT), 0)


class Compactions(Case):
    def test_by_itself_and_with_its_numbers_in_the_log(self):
        home = self.home(SMALL)
        self.fill(home)
        row = wait_for(lambda: [r for r in self.rows(home).values() if r["compactionCount"] > 0], "a compaction")[0]
        self.assertRegex(home.read("logs/reefd.log"), rf"policy: session {row['id']}: compact: \d+ [^\n]*tokens[^\n]*, above 3000")
        self.assertNotIn("harbour master", home.read("logs/reefd.log"))
        self.assertEqual([e for e in self.entries(home) if e.get("message", {}).get("hidden") or e.get("hidden")], [],
                         "the local model is not asked for notes")

    def test_a_flush_comes_before_it_and_is_shown_to_nobody(self):
        home = self.home(SMALL, script=script(*[{"text": "noted"}] * 3, {"text": "NO_REPLY"}, {"text": "more"}))
        self.fill(home, "scripted")
        row = self.row(home, compactionCount=1)
        self.assertEqual(row["memoryFlushCompactionCount"], 0)
        entries = self.entries(home)
        flush = [i for i, e in enumerate(entries) if "about to be shortened" in json.dumps(e) and e["type"] == "message"]
        compaction = [i for i, e in enumerate(entries) if e["type"] == "compaction"]
        self.assertEqual(len(flush), 1)
        self.assertEqual(len(compaction), 1)
        self.assertLess(flush[0], compaction[0])
        self.assertNotIn("about to be shortened", row["preview"])
        self.assertRegex(home.reef("show", row["id"]).out, r"hidden\)\nNO_REPLY\n")

    def test_no_flush_where_nothing_may_be_written(self):
        for config in ('tools = ["recall"]\n', "[policy]\nflush = false\n"):
            with self.subTest(config):
                home = self.home(SMALL, script=script({"text": "noted"}))
                home.write("agents/scripted.toml", 'model = "s/x"\n' + config)
                home.reef("reload")
                self.fill(home, "scripted")
                self.row(home, compactionCount=1)
                self.assertNotIn("about to be shortened", json.dumps(self.entries(home)))

    def test_a_flush_comes_in_every_conversation_and_writes_notes_only(self):
        """Groups, gateways, crons and hooks are in safe mode; the flush turn has only the tools of the memory."""
        calls = [{"name": "remember", "arguments": {"name": "tides", "content": "twice a day"}},
                 {"name": "write", "arguments": {"path": "/tmp/reef-flush-wrote", "content": "x"}}]
        for key in ("agent:scripted:telegram:group:-7", "agent:scripted:cron:daily"):
            with self.subTest(key):
                home = self.home(SMALL + 'flush_system_prompt = "Mind the tides."\n', script=script(
                    *[{"text": "noted"}] * 3, {"text": "SECRET HOUSEKEEPING", "calls": calls}, {"text": "NO_REPLY"},
                    {"text": "more"}))
                home.write("agents/scripted.toml", 'model = "s/x"\npermission_mode = "allow-all"\n'
                                                   'remote_permission_mode = "safe"\n')
                home.reef("reload")
                with home.connect() as listener:
                    listener.send(request(34, {}))
                    for words in (LONG, LONG, LONG * 2):
                        with home.connect() as link:
                            link.send(request(1, {2: words, 200: key, 4: "telegram:7"}))
                            self.assertEqual(link.recv().tag, RESPONSE)
                    row = self.row(home, compactionCount=1)
                    seen, done = [], 0
                    while done < 4:
                        event = listener.recv().body
                        done += event.int(3) == 5
                        seen.append(event)
                self.assertEqual(row["memoryFlushCompactionCount"], 0)
                self.assertIn("twice a day", home.reef("memory", "show", "tides", "-a", "scripted").out)
                self.assertFalse(os.path.exists("/tmp/reef-flush-wrote"))
                # No part of the flush is seen: not in events, not in searches, not in exports.
                self.assertNotIn("HOUSEKEEPING", "".join(e.str(4) for e in seen))
                self.assertNotIn("tides", "".join(e.str(4) for e in seen))
                self.assertNotIn("HOUSEKEEPING", home.reef("search", "HOUSEKEEPING").out)
                self.assertIn("nothing found", home.reef("search", "remembered").out)
                self.assertNotIn("HOUSEKEEPING", home.reef("export", row["id"], "--to", "markdown").out)

    def test_a_verbose_session_is_told_of_it_behind_the_next_answer(self):
        home = self.home(SMALL, script=script({"text": "noted"}))
        home.say("short", agent="scripted")
        self.assertEqual(home.reef("set", self.row(home)["id"], "verboseLevel=on").code, 0)
        self.fill(home, "scripted")
        self.row(home, compactionCount=1)
        self.assertEqual(home.say("and now?", agent="scripted").body.str(2),
                         "noted\n\n\n🧹 Auto-compaction complete (compactions: 1)")
        self.assertEqual(home.say("and now?", agent="scripted").body.str(2), "noted", "it is told once")

    def test_full_is_told_as_on_is_and_off_is_not(self):
        for level, told in (("full", True), ("off", False), ("", False)):
            with self.subTest(level):
                home = self.home(SMALL, script=script({"text": "noted"}))
                home.say("short", agent="scripted")
                if level:
                    self.assertEqual(home.reef("set", self.row(home)["id"], f"verboseLevel={level}").code, 0)
                self.fill(home, "scripted")
                self.row(home, compactionCount=1)
                said = [home.say("and now?", agent="scripted").body.str(2) for _ in range(2)]
                line = "\n\n\n🧹 Auto-compaction complete (compactions: 1)" if told else ""
                self.assertEqual(said, ["noted" + line, "noted"])
                self.assertNotIn("Auto-compaction", json.dumps(self.entries(home)), "it is no part of the conversation")

    def test_a_verbose_session_is_told_of_a_compaction_inside_its_turn(self):
        home = self.home("[compaction]\nkeep_recent_tokens = 200\n", policy=False, files={
            "agents/scripted.toml": 'model = "s/x"\ncompact_on_overflow = true\n'},
            script=json.dumps({"replies": [{"text": "noted"}], "window": 6000}))
        home.write("agents/scripted.toml", 'model = "s/x"\ncompact_on_overflow = true\n')
        home.reef("reload")
        home.say("short", agent="scripted")
        self.assertEqual(home.reef("set", self.row(home)["id"], "verboseLevel=full").code, 0)
        said = [home.say("pebble " * 700, agent="scripted").body.str(2) for _ in range(6)]
        count = self.row(home)["compactionCount"]
        self.assertGreater(count, 0)
        self.assertEqual([one for one in said if one != "noted"],
                         [f"noted\n\n\n🧹 Auto-compaction complete (compactions: {n + 1})" for n in range(count)])

    def test_the_words_of_a_flush_reach_the_model(self):
        """Also for keys of hooks and gateways, which are in safe mode; only that request has them."""
        for key, sender in (("agent:fake:hook:1f0c1e2a", "hook"), ("agent:fake:telegram:7", "telegram:7")):
            with self.subTest(key):
                remember = {"index": 0, "id": "c1", "type": "function", "function": {
                    "name": "remember", "arguments": '{"name": "tides", "content": "twice a day"}'}}
                fake = FakeModel([{"content": "noted"}], [{"content": "noted"}], [{"content": "noted"}],
                                 [{"tool_calls": [remember]}], [{"content": "NO_REPLY"}], [{"content": "A summary."}])
                self.addCleanup(fake.close)
                home = self.home(fake.config + SMALL + 'title = false\nflush_prompt = "Write it DOWN."\n'
                                 'flush_system_prompt = "Mind the TIDES."\n', files={"agents/fake.toml": 'model = "fake/big"\n'})
                for words in (LONG, LONG, LONG * 2):
                    with home.connect() as link:
                        self.assertEqual(link.call(SEND, {2: words, 200: key, 4: sender}).tag, RESPONSE)
                row = self.row(home, compactionCount=1)
                self.assertEqual(row["memoryFlushCompactionCount"], 0)
                self.assertIn("twice a day", home.reef("memory", "show", "tides", "-a", "fake").out)
                systems = ["".join(json.dumps(m) for m in asked["messages"] if m["role"] == "system") for asked in fake.asked]
                self.assertEqual(["Mind the TIDES." in text for text in systems],
                                 [False] * 3 + [True] * 2 + [False] * (len(systems) - 5))
                flush = fake.asked[3]
                self.assertEqual(sorted(tool["function"]["name"] for tool in flush["tools"]), ["forget", "recall", "remember"])
                self.assertIn("Write it DOWN.", json.dumps(flush["messages"][-1]))
                self.assertEqual(home.ask(SEND, {2: "and now?", 200: key, 4: sender}).tag, RESPONSE)
                self.assertNotIn("Mind the TIDES.", json.dumps(fake.asked[-1]))
                self.assertNotIn("NO_REPLY", home.reef("export", row["id"], "--to", "markdown").out)

    def test_the_threshold_is_taken_where_crabtalk_has_it(self):
        home = self.home("[system.crab]\ncompact_threshold = 4321\n",
                         files={"agents/own.toml": "compact_threshold = 5432\n"})
        for agent, limit in (("reef", 4321), ("own", 5432)):
            home.say("short", agent=agent)
            id_ = next(i for i, r in self.rows(home).items() if r["agent"] == agent)
            self.assertEqual(home.reef("policy", "explain", id_, "--json").json["compactAbove"], limit)
        self.assertEqual(home.reef("reload").code, 0)
        self.assertNotIn("unknown", home.read("logs/reefd.log"))

    def test_a_session_may_have_rules_of_its_own(self):
        home = self.home(SMALL)
        home.say("short")
        id_ = self.row(home)["id"]
        self.assertEqual(home.reef("set", id_, "policy=compact=off").code, 0)
        self.fill(home)
        told = home.reef("policy", "explain", id_, "--json").json
        self.assertEqual(told["decisions"]["compact"]["decision"], "no")
        self.assertIn("compact is off", told["decisions"]["compact"]["why"])
        self.assertGreater(told["tokens"], told["compactAbove"])
        home.reef("set", id_, "policy=compact=perhaps")
        told = home.reef("policy", "explain", id_, "--json").json
        self.assertIn("policy.compact: must be true or false", told["problems"][0])
        self.assertEqual(told["decisions"]["compact"]["decision"], "now", "a rule that is wrong does not count")
        self.assertIn("above 3000", home.reef("policy", "explain", id_).out)

    def test_all_off(self):
        home = self.home(SMALL + "enabled = false\n", files={"agents/scribe.toml": "[policy]\ntitle = true\n"})
        self.fill(home)
        home.say("has a title", agent="scribe")
        self.titled(home, "scribe")
        [row] = [r for r in self.rows(home).values() if r["agent"] == "reef"]
        self.assertEqual((row["compactionCount"], row["name"]), (0, ""))

    def test_a_daemon_killed_before_it_could_decide_decides_after_the_next_turn(self):
        home = self.home(SMALL, policy=False)
        self.fill(home)
        home.kill9()
        home.start(policy=True)
        home.say("and now?")
        self.row(home, compactionCount=1)


class Crashes(Case):
    def test_killed_anywhere_in_title_flush_and_compaction(self):
        """A kill at any moment damages nothing and loses no message, and in the end everything was done once."""
        random_ = random.Random(20261116)
        replies = [{"text": "noted", "chunks": 1}] * 3 + [{"text": "NO_REPLY", "chunks": 4, "delay_ms": 3}] * 20
        for _ in range(8):
            home = self.home(SMALL, script=script(*replies))
            self.fill(home, "scripted")
            time.sleep(random_.random() * 0.06)  # chooses the moment of the kill
            home.kill9()
            home.start(policy=True)
            self.assertEqual(home.reef("fsck").code, 0)
            home.say("go on", agent="scripted")
            row = wait_for(lambda: [r for r in self.rows(home).values() if r["compactionCount"] and r["name"]], "all")[0]
            entries = self.entries(home)
            said = [e["message"]["content"][0]["text"] for e in entries
                    if e["type"] == "message" and e["message"]["role"] == "user" and not e.get("hidden")]
            self.assertEqual([len(text) for text in said[:3]], [len(LONG), len(LONG), len(LONG) * 2])
            self.assertEqual(said[3:], ["go on"])
            kinds = [e["type"] for e in entries]
            self.assertEqual((kinds.count("session_info"), kinds.count("compaction")), (1, 1))
            self.assertEqual(row["memoryFlushCompactionCount"], 0)
            home.cleanup()


class Recalling(Case):
    def test_recalled_notes_are_told_in_that_turn_only(self):
        with Backend() as model:
            home = self.home(config(model) + "[policy]\nrecall = true\ntitle = false\nflush = false\n")
            home.reef("memory", "remember", "keys", "The lighthouse key hangs behind the blue door.")
            self.assertEqual(home.reef("chat", "-p", "where is the lighthouse key?").code, 0)
            told = json.dumps(model.requests[-1][2])
            self.assertIn("behind the blue door", told)
            self.assertIn("<recall>", told)
            self.assertNotIn("<recall>", json.dumps(self.entries(home)), "never kept")
            home.write("config.toml", config(model) + "[policy]\ntitle = false\nflush = false\n")
            home.reef("reload")
            home.reef("chat", "-p", "where is the lighthouse key, again?")
            self.assertNotIn("<recall>", json.dumps(model.requests[-1][2]))

    def test_archives_of_others_are_not_told(self):
        memory = crmem(30, *(entry(n, 5, ARCHIVE, f"260101-other-talk-{n}", "The lighthouse key of zed, lighthouse key.")
                             for n in range(1, 9)), entry(20, 5, NOTE, "keys", "The lighthouse key hangs behind the blue door."))
        with Backend() as model:
            home = self.home(config(model) + "[policy]\nrecall = true\ntitle = false\nflush = false\n",
                             files={"memory/reef.crmem": memory})
            self.assertEqual(home.reef("chat", "-s", "ann", "-p", "where is the lighthouse key?").code, 0)
            told = json.dumps(model.requests[-1][2])
            self.assertIn("behind the blue door", told)
            self.assertNotIn("of zed", told)

    def test_no_number_of_archives_hides_the_notes(self):
        memory = crmem(999, *(entry(n, 5, ARCHIVE, f"260101-other-talk-{n}", "The lighthouse key of zed, lighthouse key.")
                              for n in range(1, 251)),
                       *(entry(900 + n, 5, NOTE, f"note{n}", f"Door {n} has a key. " + "And many other words. " * 20)
                         for n in range(5)))
        with Backend() as model:
            home = self.home(config(model) + "[policy]\nrecall = true\ntitle = false\nflush = false\n",
                             files={"memory/reef.crmem": memory})
            self.assertEqual(home.reef("chat", "-p", "where is the lighthouse key?").code, 0)
            told = json.dumps(model.requests[-1][2])
            self.assertEqual(told.count("memory 'note"), 3, told[:2000])
            self.assertNotIn("of zed", told)


class Archiving(Case):
    def test_stale_sessions_unless_flagged(self):
        old = transcript("200101-old-one", ("user", "long ago"), ("assistant", "yes"))
        kept = transcript("200101-kept-one", ("user", "long ago too"), ("assistant", "yes"))
        files = {"sessions/200101-old-one/session.jsonl": old, "sessions/200101-kept-one/session.jsonl": kept}
        home = self.home("[policy]\narchive_days = 30\n", policy=False, files=files)
        home.reef("set", "200101-kept-one", "isFlagged=true")
        home.say("today")
        home.stop()
        home.start(policy=True)
        wait_for(lambda: self.rows(home)["200101-old-one"].get("isArchived"), "archiving")
        archived = [id_ for id_, row in self.rows(home).items() if row.get("isArchived")]
        self.assertEqual(archived, ["200101-old-one"])


class Rules(Case):
    def test_shown_with_their_values(self):
        home = self.home(SMALL, policy=False)
        rules = home.reef("policy", "--json").json
        self.assertEqual((rules["compact_threshold"], rules["title"], rules["enabled"]), (3000, True, True))
        self.assertIn("compact_threshold  3000", home.reef("policy").out)

    def test_a_wrong_one_is_named_with_its_file(self):
        for text, part in (("compact = 1\n", "policy.compact: must be true or false"),
                           ("compakt = true\n", "policy.compakt: there is no such rule"),
                           ("enabled = 3\n", "policy.enabled")):
            home = Home("[policy]\n" + text, start=False)
            self.addCleanup(home.cleanup)
            done = home.reef("ping")
            self.assertNotEqual(done.code, 0)
            self.assertIn("config.toml:2", done.err)
            self.assertIn(part, done.err)

    def test_a_session_that_is_not_there(self):
        home = self.home(policy=False)
        done = home.reef("policy", "explain", "261116-no-such")
        self.assertNotEqual(done.code, 0)
        self.assertIn("261116-no-such", done.err)


if __name__ == "__main__":
    unittest.main()
