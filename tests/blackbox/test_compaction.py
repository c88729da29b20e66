"""reef compact: old becomes a summary, recent stays, the transcript keeps every word."""

import json
import os
import struct
import unittest

from fake_model import FakeModel
from reefbox import PING, PONG, Home, read_lines, request, texts
from test_search import transcript

COMPACT, COMPACT_RESPONSE = 6, 6

LOCAL = 'default_model = "local"\n'


def said(count, words=120):
    """`count` exchanges, each about `words` words long; the first states a rule."""
    lines = [("user", "Always deploy from branch release-7 on port 8443. My name is Ada Vale."), ("assistant", "Understood.")]
    for n in range(count):
        lines.append(("user", f"Question {n} about the harbour: " + "wave " * words))
        lines.append(("assistant", f"Answer {n}: " + "tide " * words))
    return lines


class Compaction(unittest.TestCase):
    def home(self, count=400, config=LOCAL, **options):
        files = {"sessions/260101-bulk-one/session.jsonl": transcript("260101-bulk-one", *said(count))}
        home = Home(config, files=dict(files, **options.pop("files", {})), **options)
        self.addCleanup(home.cleanup)
        home.start()
        return home

    def entries(self, home, id_="260101-bulk-one"):
        return read_lines(home.file(f"sessions/{id_}/session.jsonl"))

    def test_without_a_model_it_is_extractive(self):
        home = self.home()
        before = self.entries(home)
        done = home.reef("compact", "260101-bulk-one", "--json")
        self.assertEqual(done.code, 0, done.err)
        report = json.loads(done.out)
        self.assertGreater(report["messages"], 100)
        self.assertLess(report["tokensAfter"], report["tokensBefore"] / 2)
        for fact in ("release-7", "8443", "Ada Vale"):
            self.assertIn(fact, report["summary"])
        after = self.entries(home)
        self.assertEqual(after[:len(before)], before, "nothing is rewritten")
        entry = [e for e in after[len(before):] if e["type"] == "compaction"]
        self.assertEqual(len(entry), 1)
        self.assertEqual(entry[0]["summary"], report["summary"])
        kept = [e["id"] for e in before if e.get("id")].index(entry[0]["firstKeptEntryId"])
        self.assertGreater(kept, 100)
        row = home.reef("sessions", "--json").json[0]
        self.assertEqual(row["compactionCount"], 1)

    def test_the_summary_is_in_the_agents_memory_as_an_archive(self):
        home = self.home()
        archive = json.loads(home.reef("compact", "260101-bulk-one", "--json").out)["archive"]
        shown = home.reef("memory", "show", archive, "--json")
        self.assertEqual(shown.code, 0, shown.err)
        self.assertIn("release-7", shown.out)
        self.assertNotEqual(home.reef("memory", "forget", archive).code, 0, "archives are protected")

    def test_a_person_gets_a_compaction_down_to_the_last_turn(self):
        home = self.home()
        self.assertEqual(home.reef("compact", "260101-bulk-one").code, 0)
        # A compaction keeps no more than the configuration says; a second one keeps only the last turn.
        self.assertEqual(home.reef("compact", "260101-bulk-one").code, 0)
        size = os.path.getsize(home.file("sessions/260101-bulk-one/session.jsonl"))
        with home.connect() as link:
            reply = link.call(6, {201: "260101-bulk-one"})
        self.assertEqual(reply.code, 409, reply)
        self.assertIn("nothing to compact", reply.text)
        self.assertEqual(os.path.getsize(home.file("sessions/260101-bulk-one/session.jsonl")), size)
        # A compaction by the policy is refused as before.
        with home.connect() as link:
            self.assertEqual(link.call(6, {201: "260101-bulk-one", 204: True}).code, 409)

    def test_a_short_talk_keeps_its_last_turn(self):
        home = self.home(count=1)
        for words in ("first the tides", "then the moon", "and the last"):
            home.say(words, sender="ada")
        session = next(r["id"] for r in home.reef("sessions", "--json").json if r["sender"] == "ada")
        before = next(r for r in home.reef("sessions", "--json").json if r["id"] == session)
        done = home.reef("compact", session, "--json")
        self.assertEqual(done.code, 0, done.err)
        self.assertTrue(done.json["estimated"])
        lines = read_lines(home.file(f"sessions/{session}/session.jsonl"))
        entry = next(e for e in lines if e["type"] == "compaction")
        kept = lines[[e.get("id") for e in lines].index(entry["firstKeptEntryId"]):]
        self.assertEqual([t for t in texts(kept, "user")], ["and the last"])
        # The list gives the size it has now, and says that it is an estimate.
        row = next(r for r in home.reef("sessions", "--json").json if r["id"] == session)
        self.assertEqual((row["contextTokens"], row["contextEstimated"]), (entry["tokensAfter"], True))
        self.assertGreater(row["contextTokens"], 0)
        self.assertEqual(before["compactionCount"] + 1, row["compactionCount"])

    def test_a_count_from_before_a_compaction_does_not_hold_after_it(self):
        fake = FakeModel([{"content": "An answer."}], usage={"prompt_tokens": 7000, "completion_tokens": 9})
        self.addCleanup(fake.close)
        home = self.home(count=1, config=fake.config, files={"agents/fake.toml": 'model = "fake/big"\n'})
        for words in ("first", "then", "and the last"):
            home.say(words, "fake", "ada")
        with home.connect() as link:
            done = link.call(6, {1: "fake", 2: "ada"}).body
            self.assertEqual(done.int(201), 7009)
            again = link.call(6, {1: "fake", 2: "ada"})
        self.assertEqual(again.code, 409)
        self.assertIn(f"about {done.int(202)} tokens", again.text)

    def test_the_request_says_how_much_is_kept(self):
        home = self.home()
        def kept(session):
            lines = read_lines(home.file(f"sessions/{session}/session.jsonl"))
            entry = [e for e in lines if e["type"] == "compaction"][-1]
            return lines[[e.get("id") for e in lines].index(entry["firstKeptEntryId"]):-1]
        self.assertEqual(home.reef("compact", "260101-bulk-one", "--keep", "9000").code, 0)
        many = len(kept("260101-bulk-one"))
        self.assertEqual(home.reef("compact", "260101-bulk-one", "--keep", "0").code, 0)
        few = [e for e in kept("260101-bulk-one") if e["type"] == "message"]
        self.assertGreater(many, len(few))
        self.assertEqual(len(texts(few, "user")), 1)
        with home.connect() as link:
            self.assertEqual(link.call(6, {201: "260101-bulk-one", 203: 2**64 - 5}).code, 400)

    def test_a_compaction_is_an_event_for_those_who_ask(self):
        home = self.home()
        with home.connect() as asks, home.connect() as crab:
            asks.send(request(34, {203: 200}))
            crab.send(request(34, {}))
            for link in (asks, crab):  # later requests on the connection are handled after it
                link.send(request(PING, {}, 7))
                self.assertEqual(link.recv().tag, PONG)
            self.assertEqual(home.reef("compact", "260101-bulk-one").code, 0)
            event = asks.recv().body
            self.assertEqual((event.int(3), event.str(200)), (200, "260101-bulk-one"))
            told = event.sub(207)
            self.assertGreater(told.int(201), told.int(202))
            self.assertEqual(told.str(1), "", "its words stay with the session")
            home.say("hello", sender="ada")
            kinds_seen = set()
            while 5 not in kinds_seen:
                kinds_seen.add(crab.recv().body.int(3))
            self.assertNotIn(200, kinds_seen)

    def test_facts_survive_many_compactions(self):
        home = self.home(count=60)
        self.assertEqual(home.reef("resume", "260101-bulk-one", "--key", "agent:reef:ada").code, 0)
        for round_ in range(3):
            for n in range(30):
                home.say(f"round {round_} message {n} " + "pebble " * 300, sender="ada")
            done = home.reef("compact", "260101-bulk-one", "--json")
            self.assertEqual(done.code, 0, done.err)
            for fact in ("release-7", "8443", "Ada Vale"):
                self.assertIn(fact, json.loads(done.out)["summary"], round_)

    def test_a_model_that_fails_changes_nothing_and_one_that_works_is_checked(self):
        config = 'default_model = "demo"\n[providers.demo]\nkind = "scripted"\nscript = "script.json"\n'
        home = self.home(config=config, files={"script.json": json.dumps(
            {"replies": [{"fail": "invalid_request", "message": "not today"}]})})
        size = os.path.getsize(home.file("sessions/260101-bulk-one/session.jsonl"))
        failed = home.reef("compact", "260101-bulk-one")
        self.assertNotEqual(failed.code, 0)
        self.assertIn("not today", failed.err)
        self.assertEqual(os.path.getsize(home.file("sessions/260101-bulk-one/session.jsonl")), size)
        for text, reason in (("", "empty"), ("x" * 2_000_000, "not make the context smaller")):
            self.say_this(home, text)
            refused = home.reef("compact", "260101-bulk-one")
            self.assertNotEqual(refused.code, 0, text[:10])
            self.assertIn(reason, refused.err)
        self.say_this(home, "## Goal\nKeep the harbour.")
        done = home.reef("compact", "260101-bulk-one", "mind the tides", "--json")
        self.assertEqual(done.code, 0, done.err)
        for fact in ("Keep the harbour", "release-7", "8443", "Ada Vale"):
            self.assertIn(fact, done.json["summary"])

    def say_this(self, home, text):
        with open(home.file("script.json"), "w") as out:
            json.dump({"replies": [{"text": text}]}, out)
        self.assertEqual(home.reef("reload").code, 0)

    def test_two_at_once_are_one(self):
        home = self.home()
        with home.connect() as link:
            # In one piece, so that all are there before the first is done.
            asked = [request(COMPACT, {201: "260101-bulk-one"}, number) for number in range(1, 5)]
            link.send_raw(b"".join(struct.pack(">I", len(one)) + one for one in asked))
            answers = [link.recv() for _ in asked]
        self.assertEqual([answer.tag for answer in answers], [COMPACT_RESPONSE] * 4, answers)
        self.assertEqual(len([e for e in self.entries(home) if e["type"] == "compaction"]), 1)

    def test_a_session_of_one_turn_is_left_alone(self):
        home = self.home(count=1)
        home.say("only this", sender="ada")
        session = next(r["id"] for r in home.reef("sessions", "--json").json if r["sender"] == "ada")
        done = home.reef("compact", session)
        self.assertNotEqual(done.code, 0)
        self.assertIn("nothing to compact", done.err)
        lines = read_lines(home.file(f"sessions/{session}/session.jsonl"))
        self.assertNotIn("compaction", [e["type"] for e in lines])

    def test_a_session_that_is_not_there(self):
        home = self.home(count=1)
        self.assertIn("no session", home.reef("compact", "nothing-here").err)


if __name__ == "__main__":
    unittest.main()
