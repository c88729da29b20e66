"""gc and usage through the `reef` program, against sessions written by hand."""

import os
import time
import unittest

from reefbox import Home, WRITTEN_AT, assistant_entry, bind_entry, header_entry, iso, jsonl, snapshot, user_entry

DAY = 86_400_000
NOW = int(time.time() * 1000)


def usage(input_, output, read, write, cost):
    return {"input": input_, "output": output, "cacheRead": read, "cacheWrite": write,
            "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": cost}}


def session_text(name, *entries, agent="reef", at=WRITTEN_AT, **meta):
    """A session of `agent`; each of `entries` is (time, provider/model, usage)."""
    lines = [header_entry(name, at), bind_entry("b", None, agent, name, at, **meta), user_entry("u", "b", f"words of {name}", at)]
    parent = "u"
    for number, (when, model, used) in enumerate(entries):
        provider, model = model.split("/")
        lines.append(assistant_entry(f"a{number}", parent, "ok", when, provider=provider, model=model, usage=used))
        parent = f"a{number}"
    return jsonl(*lines)


def files(**sessions):
    return {f"sessions/{name}/session.jsonl": text for name, text in sessions.items()}


class Gc(unittest.TestCase):
    def archived(self, name, days_ago, noted=True):
        at = NOW - days_ago * DAY
        return session_text(name, (at, "p/m", usage(1, 1, 0, 0, 0)), at=at, isArchived=True,
                            **({"archivedAt": at} if noted else {}))

    def test_a_dry_run_tells_and_changes_nothing(self):
        homes = files(old=self.archived("old", 40), young=self.archived("young", 20), open=session_text("open"),
                      unnoted=self.archived("unnoted", 50, noted=False))
        homes["sessions/old/data/big"] = b"x" * 100_000
        with Home(files=homes) as home:
            before = snapshot(home)
            done = home.reef("gc", "--json")
            self.assertEqual(done.code, 0, done)
            told = {s["id"]: s for s in done.json["sessions"]}
            self.assertEqual(set(told), {"old", "unnoted"})
            self.assertEqual(told["old"]["why"], "archived")
            self.assertEqual(told["old"]["bytes"], 100_000 + len(homes["sessions/old/session.jsonl"]))
            self.assertIs(done.json["removed"], False)
            self.assertEqual(done.json["bytes"], sum(s["bytes"] for s in told.values()))
            self.assertEqual(snapshot(home), before)
            text = home.reef("gc")
            self.assertIn("nothing was changed", text.out)
            self.assertIn("old", text.out)

    def test_yes_moves_archived_ones_to_the_trash_and_removes_what_was_there_long(self):
        homes = files(old=self.archived("old", 40), keep=session_text("keep"))
        for name, days in (("gone", 40), ("recent", 3)):
            homes[f"trash/{name}/session.jsonl"] = session_text(name)
            homes[f"trash/{name}/trashed-at"] = iso(NOW - days * DAY) + "\n"
        with Home(files=homes) as home:
            done = home.reef("gc", "--yes", "--json")
            self.assertEqual(done.code, 0, done)
            self.assertEqual({(s["id"], s["why"]) for s in done.json["sessions"]}, {("old", "archived"), ("gone", "trash")})
            self.assertIs(done.json["removed"], True)
            self.assertEqual(sorted(os.listdir(home.file("trash"))), ["old", "recent"])
            self.assertEqual([s["id"] for s in home.reef("sessions", "--json").json], ["keep"])
            # Archived sessions go to the trash: the next run does not remove them, and they can come back.
            self.assertEqual(home.reef("gc", "--yes", "--json").json["sessions"], [])
            self.assertEqual(home.reef("restore", "old").code, 0)
            self.assertIn("old", [s["id"] for s in home.reef("sessions", "--json").json])
            self.assertNotIn("trashed-at", os.listdir(home.file("sessions/old")))

    def test_days_are_what_the_user_says(self):
        with Home(files=files(old=self.archived("old", 5))) as home:
            self.assertEqual(home.reef("gc", "--json").json["sessions"], [])
            self.assertEqual(len(home.reef("gc", "--archived-days", "4", "--json").json["sessions"]), 1)
            self.assertEqual(home.reef("gc", "--archived-days", "x").code, 2)
            self.assertEqual(home.reef("rm", "old").code, 0)
            self.assertEqual(home.reef("gc", "--yes", "--json").json["sessions"], [])
            self.assertEqual(home.reef("gc", "--trash-days", "0", "--yes", "--json").json["sessions"][0]["id"], "old")
            self.assertEqual(os.listdir(home.file("trash")), [])
            self.assertEqual(home.reef("restore", "old").code, 1)

    def test_archiving_notes_its_time_and_going_back_forgets_it(self):
        with Home(files=files(one=session_text("one"))) as home:
            before = int(time.time() * 1000)
            first = home.reef("set", "one", "isArchived=true", "--json").json["archivedAt"]
            self.assertGreaterEqual(first, before)
            again = home.reef("set", "one", "isArchived=true", "--json").json["archivedAt"]
            self.assertEqual(again, first)
            # An old session archived today is not garbage today.
            self.assertEqual(home.reef("gc", "--json").json["sessions"], [])
            self.assertNotIn("archivedAt", home.reef("set", "one", "isArchived=", "--json").json)
            self.assertEqual(home.reef("set", "one", "archivedAt=1").code, 2)

    def test_links_in_a_session_are_not_followed(self):
        with Home(files=files(old=self.archived("old", 40)), start=False) as home:
            home.write("../outside/precious", "keep me")
            os.makedirs(home.file("sessions/old/data"))
            os.symlink(home.file("../outside"), home.file("sessions/old/data/link"))
            home.start()
            self.assertEqual(home.reef("gc", "--yes").code, 0)
            self.assertEqual(home.reef("gc", "--trash-days", "0", "--yes").code, 0)
            self.assertEqual(os.listdir(home.file("trash")), [])
            self.assertEqual(home.read("../outside/precious"), "keep me")


class Usage(unittest.TestCase):
    # One second before and at midnight UTC of 2026-01-02.
    MIDNIGHT = 1767312000000
    SESSIONS = files(
        one=session_text("one", (MIDNIGHT - 1000, "p/big", usage(100, 10, 5, 7, 0.5)),
                         (MIDNIGHT, "p/big", usage(200, 20, 0, 0, 0.25)), (MIDNIGHT, "p/small", usage(3, 1, 0, 0, 0))),
        two=session_text("two", (MIDNIGHT + DAY, "p/small", usage(4, 2, 0, 0, 0.125)), agent="other"),
        none=session_text("none"))
    TOTAL = {"inputTokens": 307, "outputTokens": 33, "cacheReadTokens": 5, "cacheCreationTokens": 7, "totalTokens": 352,
             "costUsd": 0.875, "replies": 4}

    def rows(self, home, *args):
        done = home.reef("usage", "--json", *args)
        self.assertEqual(done.code, 0, done)
        return {r["name"]: (r["totalTokens"], r["costUsd"], r["replies"]) for r in done.json["rows"]}

    def test_by_everything(self):
        expected = {
            "model": {"p/big": (342, 0.75, 2), "p/small": (10, 0.125, 2)},
            "session": {"one": (346, 0.75, 3), "two": (6, 0.125, 1)},
            "agent": {"reef": (346, 0.75, 3), "other": (6, 0.125, 1)},
            "day": {"2026-01-01": (122, 0.5, 1), "2026-01-02": (224, 0.25, 2), "2026-01-03": (6, 0.125, 1)}}
        with Home(files=self.SESSIONS) as home:
            for restarted in (False, True):
                for by, rows in expected.items():
                    with self.subTest(by=by, restarted=restarted):
                        self.assertEqual(self.rows(home, "--by", by), rows)
                        self.assertEqual(home.reef("usage", "--by", by, "--json").json["total"], self.TOTAL)
                # The second round reads the catalog alone.
                if not restarted:
                    self.assertEqual(home.stop(), 0)
                    home.start()
            self.assertEqual(home.reef("usage", "--json").json["by"], "model")
            self.assertIn("p/big", home.reef("usage").out)

    def test_transcripts_are_not_read(self):
        with Home(files=self.SESSIONS) as home:
            before = self.rows(home)
            with open(home.file("sessions/one/session.jsonl"), "r+b") as transcript:
                size = len(transcript.read())
                transcript.seek(0)
                transcript.write(b" " * (size - 1) + b"\n")
            self.assertEqual(self.rows(home), before)

    def test_days_from_and_before(self):
        with Home(files=self.SESSIONS) as home:
            self.assertEqual(set(self.rows(home, "--by", "day", "--after", "2026-01-02")), {"2026-01-02", "2026-01-03"})
            self.assertEqual(set(self.rows(home, "--by", "day", "--before", "2026-01-02")), {"2026-01-01"})
            self.assertEqual(set(self.rows(home, "--by", "model", "--after", "2026-01-03", "--before", "2026-01-04")),
                             {"p/small"})
            self.assertEqual(home.reef("usage", "--after", "2030-01-01").out, "no usage\n")

    def test_wrong_words_are_refused_by_name(self):
        with Home() as home:
            done = home.reef("usage", "--by", "week")
            self.assertEqual(done.code, 1)
            self.assertIn("session, agent, model, day", done.err)
            done = home.reef("usage", "--after", "yesterday")
            self.assertEqual(done.code, 1)
            self.assertIn("yesterday", done.err)

    def test_a_turn_is_counted_at_once(self):
        with Home(script='{"replies":[{"text":"hello there"}]}') as home:
            self.assertEqual(home.reef("chat", "-a", "scripted", "-p", "hi").code, 0)
            tokens, _, replies = self.rows(home)["s/x"]
            self.assertGreater(tokens, 0)
            self.assertEqual(replies, 1)

    def test_an_old_catalog_is_made_again(self):
        with Home(files={**self.SESSIONS, "catalog/rows.jsonl": "0000000000000000 {}\n"}) as home:
            self.assertEqual(home.reef("usage", "--json").json["total"], self.TOTAL)


if __name__ == "__main__":
    unittest.main()
