"""What other programs write is shown within a second, without being asked for."""

import json
import os
import queue
import shutil
import statistics
import subprocess
import threading
import time
import unittest

from reefbox import *
from test_cursors import Rows

# A busy machine may take long once, but not usually.
WITHIN = 10 if sanitized() else 1
ROUNDS = 5


def foreign_session(name, *entries):
    return jsonl(header_entry(name), *entries)


class Others(unittest.TestCase):
    def setUp(self):
        self.home = Home(script=script({"text": "yes"}))
        self.addCleanup(self.home.cleanup)
        self.home.start()
        self.rows = Rows(self.home).begin()
        self.addCleanup(self.rows.cut)
        self.rows.read_caught_up()

    def said(self, content="hello"):
        """A session of ours, and the id of its last entry."""
        home = self.home
        home.say(content, sender=content)
        self.rows.read_until(lambda: any(self.shows(row, content) for row in self.rows.rows), content)
        session = next(row for row in self.rows.rows if self.shows(row, content))
        return session, json.loads(home.read(f"sessions/{session}/session.jsonl").splitlines()[-1])["id"]

    def shows(self, session, words):
        preview = self.rows.rows.get(session, {}).get(6, [b""])[0]
        return words.encode() in preview

    def count(self, session):
        return self.rows.rows.get(session, {}).get(7, [0])[0]

    def append(self, session, data):
        with open(self.home.file(f"sessions/{session}/session.jsonl"), "ab") as out:
            out.write(data)

    def timed(self, change, condition, what):
        began = time.monotonic()
        change()
        self.rows.read_until(condition, what)
        return time.monotonic() - began

    def test_an_append_is_shown_to_followers(self):
        session, leaf = self.said()
        before, took = self.count(session), []
        for n in range(ROUNDS):
            line = jsonl(user_entry(f"fe00{n:04}", leaf, f"foreign {n}"))
            leaf = f"fe00{n:04}"
            took.append(self.timed(lambda: self.append(session, line), lambda: self.count(session) == before + n + 1,
                                   f"append {n}"))
        self.assertLess(statistics.median(took), WITHIN, took)

    def test_a_session_moved_in_and_away_is_shown(self):
        took = []
        for n in range(ROUNDS):
            name = f"26010{n}-moved-in"
            self.home.write(f"elsewhere/{name}/session.jsonl",
                            foreign_session(name, user_entry("fe000001", None, f"moved {n}")).decode())
            took.append(self.timed(
                lambda: os.rename(self.home.file(f"elsewhere/{name}"), self.home.file(f"sessions/{name}")),
                lambda: self.shows(name, f"moved {n}"), f"session {n} that was moved in"))
            self.append(name, jsonl(user_entry("fe000002", "fe000001", "and more")))
            self.rows.read_until(lambda: self.count(name) == 2, "an append to it")
            took.append(self.timed(
                lambda: os.rename(self.home.file(f"sessions/{name}"), self.home.file(f"elsewhere/{name}-back")),
                lambda: name not in self.rows.rows, f"session {n} that was moved away"))
        self.assertLess(statistics.median(took), WITHIN, took)

    def test_a_session_that_is_copied_in_file_by_file_is_shown(self):
        name = "260109-copied"
        folder = self.home.file(f"sessions/{name}")
        os.mkdir(folder)
        os.mkdir(folder + "/data")
        with open(folder + "/session.jsonl", "wb") as out:
            for piece in (foreign_session(name, user_entry("fe000001", None, "copied"))[i:i + 40] for i in range(0, 4000, 40)):
                out.write(piece)
                out.flush()
        self.rows.read_until(lambda: self.shows(name, "copied"), "what was copied")
        self.assertEqual(sorted(os.listdir(folder)), ["data", "session.jsonl"], "nothing was set aside")

    def test_a_line_that_is_being_written_is_left_alone(self):
        session, leaf = self.said()
        other, other_leaf = self.said("other words")
        line = jsonl(user_entry("fe000001", leaf, "in two pieces"))
        self.append(session, line[:25])
        before = self.count(other)
        # What came later is shown, so that the half was looked at.
        self.append(other, jsonl(user_entry("fe000001", other_leaf, "whole")))
        self.rows.read_until(lambda: self.count(other) == before + 1, "the other session")
        with open(self.home.file(f"sessions/{session}/session.jsonl"), "rb") as source:
            self.assertTrue(source.read().endswith(line[:25]))
        mine = self.count(session)
        self.append(session, line[25:])
        self.rows.read_until(lambda: self.count(session) == mine + 1, "the whole line")
        self.assertFalse(os.path.exists(self.home.file(f"sessions/{session}/session.jsonl.torn")))

    def test_a_folder_of_sessions_that_is_put_in_the_place_of_another(self):
        session, _ = self.said()
        shutil.copytree(self.home.file("sessions"), self.home.file("sessions-new"))
        self.home.write("sessions-new/260105-brought/session.jsonl",
                        foreign_session("260105-brought", user_entry("fe000001", None, "brought")).decode())
        os.rename(self.home.file("sessions"), self.home.file("sessions-old"))
        os.rename(self.home.file("sessions-new"), self.home.file("sessions"))
        self.rows.read_until(lambda: self.shows("260105-brought", "brought"), "what the new folder has")
        self.append("260105-brought", jsonl(user_entry("fe000002", "fe000001", "more")))
        self.rows.read_until(lambda: self.count("260105-brought") == 2, "an append there")
        self.rows.read_until(lambda: session in self.rows.rows, "what both have")

    def test_own_turns_and_other_programs_side_by_side(self):
        session, leaf = self.said("both")
        for n in range(20):
            self.append(session, jsonl(user_entry(f"fe00{n:04}", leaf, f"foreign {n}")))
            self.home.say(f"mine {n}", sender="both")
        text = self.home.read(f"sessions/{session}/session.jsonl")
        self.rows.read_until(lambda: self.rows.rows[session][10][0] == len(text.encode()), "all of it")
        self.assertEqual(self.count(session), sum('"type":"message"' in line for line in text.splitlines()))

    def test_the_program_shows_it(self):
        session, leaf = self.said("for the program")
        child = subprocess.Popen([binary("reef"), "--home", self.home.path, "sessions", "--follow", "--json"],
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment())
        self.addCleanup(child.stdout.close), self.addCleanup(child.wait), self.addCleanup(child.kill)
        lines = queue.Queue()
        threading.Thread(target=lambda: [lines.put(line) for line in child.stdout], daemon=True).start()

        def line_with(words):
            while words not in (line := lines.get(timeout=TIMEOUT)):
                pass
            return line

        line_with(session)
        self.home.write("elsewhere/260104-shown/session.jsonl",
                        foreign_session("260104-shown", user_entry("fe000001", None, "see me")).decode())
        began = time.monotonic()
        os.rename(self.home.file("elsewhere/260104-shown"), self.home.file("sessions/260104-shown"))
        self.assertIn("see me", line_with("260104-shown"))
        self.assertLess(time.monotonic() - began, 3 * WITHIN)
        self.append("260104-shown", jsonl(user_entry("fe000002", "fe000001", "again")))
        line_with("260104-shown")


if __name__ == "__main__":
    unittest.main()
