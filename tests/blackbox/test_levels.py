"""What a session says of its own delivery: send policy, levels, kind of chat, coming back from the archive."""

import os
import unittest

from reefbox import *


class Levels(unittest.TestCase):
    def home(self, *replies):
        home = Home(script=script(*replies))
        self.addCleanup(home.cleanup)
        home.start()
        return home

    def say(self, home, content, key, sender="telegram:7", **fields):
        with home.connect() as link:
            return link.stream({1: "scripted", 2: content, 4: sender, 200: key, **fields})

    def row(self, home, key):
        return next(r for r in home.reef("sessions", "--json").json if r["key"] == key)

    def test_deny_delivers_nothing_and_keeps_all(self):
        home = self.home({"text": "first"}, {"text": "second"})
        key = "agent:scripted:telegram:group:-7"
        self.assertEqual(spoken(self.say(home, "one", key)), "first")
        id_ = self.row(home, key)["id"]
        self.assertEqual(home.reef("set", id_, "sendPolicy=deny").code, 0)
        events = self.say(home, "two", key)
        self.assertEqual(spoken(events), "")
        self.assertIn("second", texts(read_lines(home.file(f"sessions/{id_}/session.jsonl")), "assistant"))

    def test_the_kind_of_chat_comes_from_the_key_and_words_bring_it_back(self):
        home = self.home({"text": "ok"})
        for key, kind in (("agent:scripted:telegram:group:-7", "group"), ("agent:scripted:slack:room:x", "room"),
                          ("agent:scripted:discord:channel:9", "channel"), ("agent:scripted:ada", "direct")):
            self.say(home, "hello", key)
            self.assertEqual(self.row(home, key)["chatType"], kind)
        id_ = self.row(home, "agent:scripted:ada")["id"]
        self.assertEqual(home.reef("set", id_, "chatType=room", "isArchived=true").code, 0)
        self.say(home, "still there?", "agent:scripted:ada")
        row = wait_for(lambda: (lambda r: not r["isArchived"] and r)(self.row(home, "agent:scripted:ada")), "it is back")
        self.assertEqual((row["id"], row["chatType"]), (id_, "room"))
        self.assertNotIn("archivedAt", row)
        self.assertIsInstance(row["uptimeSecs"], int)

    def test_elevated_senders_may_run_commands(self):
        call = {"calls": [{"name": "bash", "arguments": {"command": "touch ELEVATED"}}]}
        home = self.home(call, {"text": "no"}, call, {"text": "yes"})
        key = "agent:scripted:telegram:7"
        folder = os.path.join(home.base, "work")
        os.mkdir(folder)
        made = os.path.join(folder, "ELEVATED")
        self.run_in(home, key, folder)
        self.assertFalse(os.path.exists(made))
        self.assertEqual(home.reef("set", self.row(home, key)["id"], "elevatedLevel=full").code, 0)
        self.run_in(home, key, folder)
        self.assertTrue(os.path.exists(made))

    def run_in(self, home, key, folder):
        with home.connect() as link:
            link.stream({1: "scripted", 2: "do it", 4: "telegram:7", 5: folder, 200: key})


if __name__ == "__main__":
    unittest.main()
