"""reef compact: old becomes a summary, recent stays, the transcript keeps every word."""

import json
import os
import threading
import unittest

from reefbox import Home, read_lines
from test_search import transcript

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

    def test_a_second_one_right_after_is_refused_with_the_reason(self):
        home = self.home()
        self.assertEqual(home.reef("compact", "260101-bulk-one").code, 0)
        size = os.path.getsize(home.file("sessions/260101-bulk-one/session.jsonl"))
        again = home.reef("compact", "260101-bulk-one")
        self.assertNotEqual(again.code, 0)
        self.assertRegex(again.err, "nothing to compact|not make the context smaller")
        self.assertEqual(os.path.getsize(home.file("sessions/260101-bulk-one/session.jsonl")), size)

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
        results = []
        threads = [threading.Thread(target=lambda: results.append(home.reef("compact", "260101-bulk-one", "--json")))
                   for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len([e for e in self.entries(home) if e["type"] == "compaction"]), 1)
        self.assertGreaterEqual(sum(r.code == 0 for r in results), 1)

    def test_a_short_session_is_left_alone(self):
        home = self.home(count=2)
        done = home.reef("compact", "260101-bulk-one")
        self.assertNotEqual(done.code, 0)
        self.assertIn("nothing to compact", done.err)
        self.assertNotIn("compaction", [e["type"] for e in self.entries(home)])

    def test_a_session_that_is_not_there(self):
        home = self.home(count=1)
        self.assertIn("no session", home.reef("compact", "nothing-here").err)


if __name__ == "__main__":
    unittest.main()
