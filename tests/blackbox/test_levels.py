"""Settings of a session about its delivery: send policy, levels, kind of chat, coming back from the archive."""

import json
import os
import re
import shutil
import unittest

from fake_model import FakeModel
from reefbox import *


class Case(unittest.TestCase):
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


class Levels(Case):
    def test_deny_delivers_nothing_and_keeps_all(self):
        home = self.home({"text": "first"}, {"text": "second"})
        key = "agent:scripted:telegram:group:-7"
        self.assertEqual(spoken(self.say(home, "one", key)), "first")
        id_ = self.row(home, key)["id"]
        self.assertEqual(home.reef("set", id_, "sendPolicy=deny").code, 0)
        events = self.say(home, "two", key)
        self.assertEqual(spoken(events), "")
        self.assertIn("second", texts(read_lines(home.file(f"sessions/{id_}/session.jsonl")), "assistant"))

    def test_a_turn_that_ends_in_silence_leaves_nothing_of_its_way_there(self):
        """In groups and crons the first words are not shown either; a person in a direct chat has read them by then."""
        wanted = {"text": "LETMELOOK", "calls": [{"name": "recall", "arguments": {"query": "XYZZYARG"}}]}
        for key, live in (("agent:scripted:cron:mail", False), ("agent:scripted:telegram:group:-7", False),
                          ("agent:scripted:ada", True)):
            with self.subTest(key):
                home = self.home({"text": "earlier answer"}, wanted, {"text": "NO_REPLY nothing new"}, wanted, {"text": "it rained"})
                with home.connect() as watcher:
                    watcher.send(request(34, {}))
                    self.say(home, "before", key)
                    events = self.say(home, "anything new?", key)
                    self.assertEqual(spoken(events), "LETMELOOK" if live else "")
                    self.assertEqual(events[-1].detail.int(201), 1)
                    told, ends = "", 0
                    while ends < 2:
                        event = watcher.recv().body
                        ends += event.int(3) == 5
                        told += event.str(4)
                    self.assertEqual("LETMELOOK" in told, live)
                self.left_out_everywhere(home, key)
                # A turn that does end with an answer is shown whole, each part once.
                events = self.say(home, "and now?", key)
                self.assertEqual(spoken(events), "LETMELOOKit rained")
                self.assertIn("LETMELOOK", home.reef("search", "LETMELOOK").out)

    def left_out_everywhere(self, home, key):
        id_ = self.row(home, key)["id"]
        for words in ("LETMELOOK", "XYZZYARG", "memories"):
            self.assertIn("nothing found", home.reef("search", words).out)
        self.assertIn("earlier answer", home.reef("search", "earlier").out)
        history = home.ask(GET_HISTORY, {1: id_}).body
        self.assertEqual([Message(m).str(2) for m in history.fields[1]], ["before", "earlier answer", "anything new?"])
        for kind in ("markdown", "html", "ndjson"):
            page = home.reef("export", id_, "--to", kind).out
            self.assertIn("earlier answer", page)
            for words in ("LETMELOOK", "NO_REPLY", "XYZZYARG", "no memories"):
                self.assertNotIn(words, page, kind)
        # Foreign formats hold the hidden messages where other programs do not show them; an import restores them.
        for kind in ("crabtalk", "craft"):
            out = os.path.join(home.base, kind)
            self.assertEqual(home.reef("export", "--all", "--to", kind, out).code, 0)
            lines = []
            for folder, _, names in os.walk(out):
                for name in names:
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        lines += [json.loads(line) for line in file]
            shown = json.dumps([{k: v for k, v in line.items() if k not in ("reef", "event", "entry")} for line in lines
                                if "event" not in line])
            self.assertIn("earlier answer", shown)
            for words in ("LETMELOOK", "NO_REPLY", "XYZZYARG"):
                self.assertNotIn(words, shown, kind)
            with Home(name=kind) as other:
                done = other.reef("import", kind, out, "--json")
                self.assertEqual((done.json["added"], done.json["problems"]), (1, []), done)
                self.assertEqual(self.messages(other, id_), self.messages(home, id_), kind)
                self.assertIn("nothing found", other.reef("search", "LETMELOOK").out)

    def messages(self, home, id_):
        lines = home.reef("show", id_).out.split("\n\n", 1)[1].splitlines()
        return [re.sub(r" \(\S+, ", " (", line) for line in lines]

    def test_words_found_during_a_turn_are_gone_when_it_ends_in_silence(self):
        asked = {"text": "LETMELOOK", "calls": [{"name": "ask_user", "arguments": {"questions": [
            {"question": "Now?", "header": "Now", "options": [{"label": "yes"}, {"label": "no"}]}]}}]}
        home = self.home({"text": "earlier answer"}, asked, {"text": "NO_REPLY"})
        key = "agent:scripted:ada"
        self.say(home, "before", key, sender="ada")
        with home.connect() as link:
            link.send(request(STREAM, {1: "scripted", 2: "go", 4: "ada", 200: key}))
            while link.recv().event != "ask_user":
                pass
            self.assertIn("LETMELOOK", home.reef("search", "LETMELOOK").out)
            self.assertEqual(home.ask(REPLY_TO_ASK, {1: "scripted", 2: "ada", 3: "yes"}).tag, PONG)
            self.assertEqual(link.events()[-1].detail.int(201), 1)
        self.assertIn("nothing found", home.reef("search", "LETMELOOK").out)
        self.assertIn("earlier answer", home.reef("search", "earlier").out)
        # They stay hidden when the index is built anew.
        home.stop()
        shutil.rmtree(home.file("index"))
        home.start()
        self.assertIn("nothing found", home.reef("search", "LETMELOOK").out)
        self.assertIn("earlier answer", home.reef("search", "earlier").out)

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

    def test_active_time_grows_by_turns_and_not_between_them(self):
        hour, id_ = 3600_000, "260102-worked-here"
        entries = [header_entry(id_), bind_entry("m", None, "scripted", "ada"), user_entry("a", "m", "one")]
        parent = "a"
        for name, make, at in (("b", assistant_entry, 40_000), ("c", user_entry, hour), ("d", assistant_entry, hour + 5_500),
                               ("e", user_entry, 2 * hour), ("f", assistant_entry, 2 * hour + 700)):
            entries.append(make(name, parent, "words", WRITTEN_AT + at))
            parent = name
        home = Home(script=script({"text": "done"}, {"text": "two words", "delay_ms": 600}),
                    files={f"sessions/{id_}/session.jsonl": jsonl(*entries)})
        self.addCleanup(home.cleanup)
        home.start()
        key = "agent:scripted:ada"
        self.assertEqual(self.row(home, key)["uptimeSecs"], 46, "40 s, 5.5 s and 0.7 s; not the hours between")
        # The fourth message: two pieces, 0.6 s each.
        self.say(home, "go on", key, sender="ada")
        worked = self.row(home, key)["uptimeSecs"]
        self.assertTrue(47 <= worked < 47 + TIMEOUT, worked)
        home.stop()
        shutil.rmtree(home.file("catalog"))
        home.start()
        self.assertEqual(self.row(home, key)["uptimeSecs"], worked, "it is counted from the transcript")


class Reasoning(Case):
    """Whether thoughts are told: where a person sits and waits they are, unless turned off; elsewhere when turned on."""

    DIRECT, GROUP = "agent:thinks:ada", "agent:thinks:telegram:group:-7"

    def told(self, home, key):
        """The thoughts a stream gets, and those the subscribers of all events get."""
        with home.connect() as watcher, home.connect() as link:
            watcher.send(request(34, {}))
            events = link.stream({1: "thinks", 2: "go", 4: "telegram:7", 200: key})
            self.assertEqual(spoken(events), "An answer.", "the answer itself is always told")
            heard, kinds = "", []
            while 5 not in kinds:
                event = watcher.recv().body
                kinds.append(event.int(3))
                heard += event.str(4) if kinds[-1] == 1 else ""
        streamed = "".join(e.detail.str(1) for e in events if e.event == "thinking")
        # Nor is it told that there were thoughts.
        marks = [e.event for e in events if e.event in ("thinking_start", "thinking_end")]
        self.assertEqual(marks, ["thinking_start", "thinking_end"] if streamed else [])
        self.assertEqual([kind for kind in kinds if kind in (8, 9)], [8, 9] if heard else [])
        return streamed, heard

    def test_thoughts_are_told_as_the_session_says(self):
        fake = FakeModel([{"reasoning_content": "HM "}, {"reasoning_content": "AHA"}, {"content": "An answer."}])
        self.addCleanup(fake.close)
        home = Home(config=fake.config, files={"agents/thinks.toml": 'model = "fake/big"\n'})
        self.addCleanup(home.cleanup)
        home.start()
        both, neither = ("HM AHA", "HM AHA"), ("", "")
        for key, unset in ((self.DIRECT, both), (self.GROUP, neither)):
            self.assertEqual(self.told(home, key), unset, f"{key}, not set")
            for level, expected in (("off", neither), ("on", both), ("off", neither), ("stream", both)):
                self.assertEqual(home.reef("set", self.row(home, key)["id"], f"reasoningLevel={level}").code, 0)
                self.assertEqual(self.told(home, key), expected, f"{key}, {level}")
            # Told or not, they are kept.
            lines = read_lines(home.file(f"sessions/{self.row(home, key)['id']}/session.jsonl"))
            replies = [e["message"] for e in lines if e.get("type") == "message" and e["message"]["role"] == "assistant"]
            self.assertEqual([r["content"][0].get("thinking") for r in replies], ["HM AHA"] * 5)
        self.assertNotEqual(home.reef("set", self.row(home, self.DIRECT)["id"], "reasoningLevel=loud").code, 0)


class Elevated(Case):
    """What senders behind a gateway may do: the folder is made by bash, so it tells whether bash ran."""

    KEY = "agent:scripted:telegram:7"

    def outcome(self, mode, level, permission_mode="", answer="Allow once"):
        """asked or not, made or not, and what the model was told."""
        call = {"calls": [{"name": "bash", "arguments": {"command": "mkdir MADE && echo made it"}}]}
        home = Home(script=script({"text": "hi"}, call, {"text": "done"}),
                    files={"agents/scripted.toml": f'model = "s/x"\npermission_mode = "{mode}"\n'})
        self.addCleanup(home.cleanup)
        home.start()
        work = os.path.join(home.base, "work")
        os.mkdir(work)
        self.say(home, "hello", self.KEY)
        changes = [f"elevatedLevel={level}"] * bool(level) + [f"permissionMode={permission_mode}"] * bool(permission_mode)
        if changes:
            self.assertEqual(home.reef("set", self.row(home, self.KEY)["id"], *changes).code, 0)
        asked, told, event = False, "", None
        with home.connect() as link:
            link.send(request(STREAM, {1: "scripted", 2: "do it", 4: "telegram:7", 5: work, 200: self.KEY}))
            while event != "end":
                reply = link.recv()
                event = reply.event
                if event == "ask_user":
                    asked = True
                    self.assertEqual(home.ask(REPLY_TO_ASK, {1: "scripted", 3: answer, 200: reply.detail.str(200)}).tag, PONG)
                if event == "tool_result":
                    told = reply.detail.str(2)
        made = os.path.isdir(os.path.join(work, "MADE"))
        home.cleanup()
        return asked, made, told

    def test_each_level_with_each_mode_of_the_agent(self):
        for level in ("", "off"):
            asked, made, told = self.outcome("allow-all", level)
            self.assertEqual((asked, made), (False, False), level)
        for level in ("on", "ask"):
            # As a local sender: asked where he would be, not where he would not.
            self.assertEqual(self.outcome("ask", level)[:2], (True, True), level)
            self.assertEqual(self.outcome("ask", level, answer="Deny")[:2], (True, False), level)
            self.assertEqual(self.outcome("allow-all", level)[:2], (False, True), level)
            asked, made, told = self.outcome("safe", level)
            self.assertEqual((asked, made), (False, False), level)
            self.assertIn("safe mode", told)
        self.assertEqual(self.outcome("safe", "full")[:2], (False, True), "without being asked, whatever the agent's mode")

    def test_the_sessions_own_mode_counts_before_it(self):
        asked, made, told = self.outcome("allow-all", "full", permission_mode="safe")
        self.assertEqual((asked, made), (False, False))
        self.assertIn("safe mode", told)
        self.assertEqual(self.outcome("allow-all", "full", permission_mode="ask")[:2], (True, True))

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
