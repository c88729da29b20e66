"""CrabTalk's and Craft's sessions through the daemon: in, in again, out and back."""

import json
import os
import shutil
import struct
import unittest

from reefbox import Home, read_lines, texts

META = {"agent": "crab", "created_by": "alice", "created_at": "2026-04-29T08:01:02.123456789+00:00", "title": "",
        "updated_at": "2026-04-29T08:05:00.5+00:00", "message_count": 3}
HEADER = {"id": "260304-keen-otter", "createdAt": 1772600000000, "lastUsedAt": 1772600900000, "name": "Parser speedup",
          "sessionStatus": "needs-review", "labels": ["code", "priority::2"], "isFlagged": True}


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as out:
        out.write(data if isinstance(data, bytes) else data.encode())


def archive(name, content, kind=1):
    """A CRMEM file with one entry, an archive unless `kind` says otherwise."""
    def text(value):
        return struct.pack("<I", len(value)) + value.encode()
    head = b"CRMEM\0" + struct.pack("<IH", 1, 0) + bytes(4)
    return head + struct.pack("<QI", 2, 1) + struct.pack("<QQI", 1, 1777000000, kind) + text(name) + text(content) + \
        struct.pack("<I", 0)


class ForeignImport(unittest.TestCase):
    def setUp(self):
        self.home = self.new_home("h")
        self.source = os.path.join(self.home.base, "source")

    def new_home(self, name):
        home = Home(name=name)
        self.addCleanup(home.cleanup)
        home.start()
        return home

    def bring(self, kind, path, home=None):
        done = (home or self.home).reef("import", kind, path, "--json", timeout=120)
        self.assertEqual(done.code, 0, done.err)
        return json.loads(done.out)

    def said(self, session, home=None):
        shown = json.loads((home or self.home).reef("show", session, "--json").out)
        return [m for e in shown["entries"] for m in texts([e], "user") + texts([e], "assistant") if m]

    def sessions(self, home=None):
        return {s["id"]: s for s in json.loads((home or self.home).reef("sessions", "--json").out)}

    def put_crabtalk(self, *lines, slug="crab_alice_1"):
        folder = f"{self.source}/sessions/{slug}"
        write(f"{folder}/meta", json.dumps(META))
        for n, line in enumerate(lines):
            write(f"{folder}/step-{n + 1:06}", line if isinstance(line, str) else json.dumps(line))

    def put_craft(self, *lines, header=HEADER):
        write(f"{self.source}/sessions/{header['id']}/session.jsonl",
              "".join(json.dumps(line) + "\n" for line in (header, *lines)))

    def test_a_crabtalk_home_comes_in_once_and_grows(self):
        steps = [{"message": {"role": "user", "content": "before"}},
                 {"archive_name": "crab-alice-1-1", "archived_at": "2026-04-29T08:04:00+00:00"},
                 {"message": {"role": "user", "content": "after"}}]
        self.put_crabtalk(*steps)
        write(f"{self.source}/local/settings.toml", '[agents.crab]\nmodel = "local"\n')
        write(f"{self.source}/memory.db", archive("crab-alice-1-1", "They agreed."))
        write(f"{self.source}/sessions/crab_bob_1.jsonl",
              json.dumps({**META, "created_by": "bob"}) + '\n{"role":"user","content":"old"}\n{"torn')
        report = self.bring("crabtalk", self.source)
        self.assertEqual((report["added"], report["entries"]), (2, 4))
        self.assertEqual([p["line"] for p in report["problems"]], [3])
        found = self.sessions()
        self.assertEqual(set(found), {"crab_alice_1", "crab_bob_1"})
        self.assertEqual(found["crab_alice_1"]["key"], "agent:crab:alice")
        self.assertEqual(found["crab_alice_1"]["source"], "crabtalk")
        self.assertEqual(self.said("crab_alice_1"), ["before", "after"])
        summaries = [line["summary"] for line in read_lines(self.home.file("sessions/crab_alice_1/session.jsonl"))
                     if line["type"] == "compaction"]
        self.assertEqual(summaries, ["They agreed."])
        # The agent's memory has the archive, under the name in the marker.
        shown = json.loads(self.home.reef("memory", "show", "crab-alice-1-1", "-a", "crab", "--json").out)
        self.assertEqual((shown["kind"], shown["content"], shown["createdAt"]),
                         ("archive", "They agreed.", "2026-04-24T03:06:40.000Z"))
        self.assertFalse(os.path.exists(self.home.file("sessions/crab_alice_1/data")))
        again = self.bring("crabtalk", self.source)
        self.assertEqual((again["added"], again["continued"], again["entries"]), (0, 0, 0))
        self.put_crabtalk(*steps, {"message": {"role": "assistant", "content": "more"}})
        grown = self.bring("crabtalk", self.source)
        self.assertEqual((grown["continued"], grown["entries"]), (1, 1))
        self.assertEqual(self.said("crab_alice_1"), ["before", "after", "more"])
        self.assertEqual(self.home.reef("fsck", "--json").code, 0)

    def test_a_crabtalk_home_comes_with_all_it_had(self):
        """Notes, skills, Crab.md, crons and subscriptions go to where they work here."""
        write(f"{self.source}/local/settings.toml",
              '[agents.crab]\nmodel = "local"\n[agents.scout]\nmodel = "local"\nskills = ["news"]\n')
        write(f"{self.source}/memory.db", archive("tea", "They like green tea.", kind=0))
        write(f"{self.source}/local/skills/news/SKILL.md", "---\nname: news\ndescription: The news\n---\nRead them.\n")
        write(f"{self.source}/local/skills/news/scripts/fetch.sh", "echo")
        write(f"{self.source}/Crab.md", "Be brief.\n")
        write(f"{self.source}/config/crons.toml",
              '[[cron]]\nid = 7\nschedule = "0 30 9 * * 2-6"\nskill = "news"\nagent = "scout"\nsender = "alice"\n'
              'quiet_start = "23:00"\nquiet_end = "07:00"\n'
              '[[cron]]\nid = 8\nschedule = "*/5 * * * * *"\nskill = "news"\nagent = "scout"\nsender = "alice"\n')
        rows = "".join(f'[[subscription]]\nid = {n}\nsource = "{source}"\ntarget_agent = "scout"\nonce = false\n'
                       for n, source in ((1, "agent:crab:done"), (9, "ci:failed"), (9, "odd one!")))
        write(f"{self.source}/events/subscriptions.toml", rows)
        # A subscription that is here already has an id that one of theirs has too.
        self.assertEqual(self.home.reef("events", "subscribe", "mine:here", "reef").code, 0)
        report = self.bring("crabtalk", self.source)
        for agent in ("crab", "scout"):
            shown = json.loads(self.home.reef("memory", "show", "tea", "-a", agent, "--json").out)
            self.assertEqual((shown["kind"], shown["content"]), ("note", "They like green tea."))
        self.assertIn("news", self.home.reef("skills", "--json").out)
        self.assertEqual(self.home.read("skills/news/scripts/fetch.sh"), "echo")
        self.assertEqual(self.home.read("Reef.md"), "Be brief.\n")
        self.assertEqual(json.loads(self.home.read("components/cron/jobs.json")),
                         {"7": {"schedule": "UTC 30 9 * * 1-5", "agent": "scout", "message": "/news", "sender": "alice",
                                "quietStart": "23:00", "quietEnd": "07:00"}})
        scout = json.loads(self.home.reef("agents", "show", "scout", "--json").out)
        self.assertEqual(scout["skills"], ["news"])
        self.assertNotIn("write", scout["config"]["tools"])
        why = "\n".join(p["why"] for p in report["problems"])
        self.assertIn("more than once a minute", why)
        # The file of subscriptions is complete and in force.
        sources = {s["source"] for s in json.loads(self.home.reef("events", "ls", "--json").out)["subscriptions"]}
        self.assertEqual(sources & {"mine:here", "agent:crab:done", "ci:failed"},
                         {"mine:here", "agent:crab:done", "ci:failed"})
        self.home.stop()
        self.home.start()
        self.assertEqual({s["source"] for s in json.loads(self.home.reef("events", "ls", "--json").out)["subscriptions"]}, sources)
        self.assertEqual(self.bring("crabtalk", self.source)["definitions"], 0)

    def test_an_archive_whose_name_is_taken_stays_with_the_session(self):
        write(self.home.file("agents/crab.toml"), 'model = "local"\n')
        self.assertEqual(self.home.reef("reload").code, 0)
        self.assertEqual(self.home.reef("memory", "remember", "crab-alice-1-1", "mine", "-a", "crab").code, 0)
        self.put_crabtalk({"archive_name": "crab-alice-1-1", "archived_at": "2026-04-29T08:04:00+00:00"})
        write(f"{self.source}/memory.db", archive("crab-alice-1-1", "They agreed."))
        report = self.bring("crabtalk", self.source)
        self.assertEqual(report["added"], 1)
        self.assertRegex(report["problems"][0]["why"], "crab-alice-1-1.*data/archives")
        self.assertEqual(self.home.read("sessions/crab_alice_1/data/archives/crab-alice-1-1.md"), "They agreed.")
        shown = json.loads(self.home.reef("memory", "show", "crab-alice-1-1", "-a", "crab", "--json").out)
        self.assertEqual(shown["content"], "mine")

    def test_a_craft_workspace_with_its_files(self):
        folder = f"{self.source}/sessions/{HEADER['id']}"
        write(f"{folder}/attachments/5b1e_flame.png", b"PNG")
        os.symlink("/etc/passwd", f"{folder}/attachments/link")
        self.put_craft(
            {"id": "m1", "type": "user", "content": "faster", "timestamp": 1772600700000,
             "attachments": [{"name": "flame.png", "storedPath": "{{SESSION_PATH}}/attachments/5b1e_flame.png"}]},
            {"id": "m2", "type": "tool", "content": "Running Read...", "timestamp": 1772600710000, "toolName": "Read",
             "toolUseId": "t1", "toolInput": {"p": 1}, "toolStatus": "completed", "toolResult": "ok"},
            {"id": "m3", "type": "assistant", "content": "done", "timestamp": 1772600720000})
        report = self.bring("craft", self.source)
        self.assertEqual(report["added"], 1)
        self.assertEqual([os.path.basename(p["path"]) for p in report["problems"]], ["link"])
        one = self.sessions()[HEADER["id"]]
        self.assertEqual((one["name"], one["sessionStatus"], one["labels"]),
                         ("Parser speedup", "needs-review", ["code", "priority::2"]))
        self.assertEqual(self.said(HEADER["id"]), ["faster", "done"])
        self.assertEqual(self.home.read(f"sessions/{HEADER['id']}/attachments/5b1e_flame.png"), "PNG")
        self.assertEqual(self.bring("craft", self.source)["unchanged"], 1)
        self.assertEqual(self.home.reef("fsck", "--json").code, 0)

    def test_a_giant_file_that_changed_comes_in_beside_the_old_one(self):
        """Above what is compared in one piece, and of the same size."""
        folder = f"{self.source}/sessions/{HEADER['id']}"
        size = 9 << 20
        turn = {"id": "m1", "type": "user", "content": "look", "timestamp": 1772600700000,
                "attachments": [{"name": "disk.img", "storedPath": "{{SESSION_PATH}}/attachments/disk.img"}]}
        write(f"{folder}/attachments/disk.img", b"a" * size)
        self.put_craft(turn)
        self.bring("craft", self.source)
        kept = os.path.join(self.home.path, f"sessions/{HEADER['id']}/attachments")
        write(f"{folder}/attachments/disk.img", b"a" * (size - 1) + b"b")
        self.put_craft(turn, {**turn, "id": "m2"})
        self.bring("craft", self.source)
        self.assertEqual(len(os.listdir(kept)), 2)
        last = set()
        for name in os.listdir(kept):
            with open(os.path.join(kept, name), "rb") as file:
                file.seek(-1, os.SEEK_END)
                last.add(file.read())
        self.assertEqual(last, {b"a", b"b"}, "neither is lost")
        self.put_craft(turn, {**turn, "id": "m2"}, {**turn, "id": "m3"})
        self.bring("craft", self.source)
        self.assertEqual(len(os.listdir(kept)), 2, "the same bytes are there once")

    def test_usage_in_a_craft_header_survives(self):
        used = {"inputTokens": 8200, "outputTokens": 950, "totalTokens": 9150, "contextTokens": 0, "costUsd": 0.07}
        header = {**HEADER, "lastUsedAt": 1772600900123, "model": "m", "tokenUsage": used}
        self.put_craft({"id": "m1", "type": "user", "content": "faster", "timestamp": 1772600700000}, header=header)
        self.bring("craft", self.source)
        one = self.sessions()[HEADER["id"]]
        self.assertEqual((one["tokenUsage"]["inputTokens"], one["tokenUsage"]["outputTokens"],
                          round(one["tokenUsage"]["costUsd"], 6)), (8200, 950, 0.07))
        self.assertEqual((one["lastUsedAt"], one["createdAt"]), (1772600900123, "2026-03-04T04:53:20.000Z"))
        self.assertNotIn("originUsage", one)
        # The conversation goes on in Craft; only usage since the last import is added.
        header["tokenUsage"] = {**used, "outputTokens": 1000, "costUsd": 0.1}
        self.put_craft({"id": "m1", "type": "user", "content": "faster", "timestamp": 1772600700000},
                       {"id": "m2", "type": "assistant", "content": "done", "timestamp": 1772600950000}, header=header)
        self.bring("craft", self.source)
        one = self.sessions()[HEADER["id"]]
        self.assertEqual((one["tokenUsage"]["outputTokens"], round(one["tokenUsage"]["costUsd"], 6)), (1000, 0.1))
        out = os.path.join(self.home.base, "out")
        self.assertEqual(self.home.reef("export", "--all", "--to", "craft", out).code, 0)
        with open(f"{out}/sessions/{HEADER['id']}/session.jsonl") as lines:
            back = json.loads(lines.readline())
        self.assertEqual({k: round(v, 6) for k, v in back["tokenUsage"].items()},
                         {**used, "outputTokens": 1000, "totalTokens": 9200, "costUsd": 0.1})
        self.assertEqual(self.home.reef("fsck", "--json").code, 0)

    def test_clawdbot_chats_go_on_and_keep_their_toggles(self):
        store = {"agent:main:telegram:group:-100": {
            "sessionId": "live", "updatedAt": 1767323046000, "chatType": "room", "thinkingLevel": "high",
            "verboseLevel": "full", "reasoningLevel": "stream", "elevatedLevel": "full", "groupActivation": "always",
            "sendPolicy": "allow", "providerOverride": "local", "modelOverride": "x", "lastTo": "-100", "label": "Trip"}}
        folder = f"{self.source}/agents/main/sessions"
        write(f"{folder}/sessions.json", json.dumps(store))
        line = {"type": "message", "id": "a", "parentId": None, "timestamp": "2026-01-02T03:04:06.000Z",
                "message": {"role": "user", "content": "HELLO", "timestamp": 1767323046000}}
        head = {"type": "session", "version": 3, "id": "live", "timestamp": "2026-01-02T03:04:05.000Z", "cwd": "/"}
        write(f"{folder}/live.jsonl", json.dumps(head) + "\n" + json.dumps(line) + "\n")
        report = self.bring("clawdbot", self.source)
        live = self.sessions()["live"]
        self.assertEqual([live[k] for k in ("chatType", "thinkingLevel", "verboseLevel", "reasoningLevel", "sendPolicy",
                                            "modelOverride")], ["room", "high", "full", "stream", "allow", "local/x"])
        # A field that would let its senders run commands has no effect here; it is kept for the way back, and reported.
        self.assertNotIn("elevatedLevel", live)
        self.assertIn("elevatedLevel", "\n".join(p["why"] for p in report["leftOut"]))
        self.assertEqual(self.home.reef("set", "live", "modelOverride=").code, 0)
        done = self.home.reef("send", "--key", "agent:main:telegram:group:-100", "AND ON")
        self.assertEqual(done.code, 0, done.err)
        self.assertIn("AND ON", self.said("live"))
        self.assertEqual(self.home.reef("set", "live", "modelOverride=local/x").code, 0)
        out = os.path.join(self.home.base, "out")
        self.assertEqual(self.home.reef("export", "--all", "--to", "clawdbot", out).code, 0)
        with open(f"{out}/agents/main/sessions/sessions.json") as file:
            back = json.load(file)["agent:main:telegram:group:-100"]
        for name, value in store["agent:main:telegram:group:-100"].items():
            if name != "updatedAt":
                self.assertEqual(back[name], value, name)

    def test_a_crabtalk_export_is_one_crabtalk_goes_on_with(self):
        for sender in ("tg:12", "tg-12"):
            self.assertEqual(self.home.reef("chat", "-s", sender, "-p", f"FIRST {sender}").code, 0)
        self.assertEqual(self.home.reef("chat", "-s", "tg:12", "-p", "/new SECOND").code, 0)
        out = os.path.join(self.home.base, "out")
        self.assertEqual(self.home.reef("export", "--all", "--to", "crabtalk", out).code, 0)
        found = {}
        for name in os.listdir(f"{out}/sessions"):
            with open(f"{out}/sessions/{name}") as lines:
                found[name] = [json.loads(line) for line in lines]
        # CrabTalk also takes the highest number among the files whose names begin so.
        mine = sorted((n for n in found if n.startswith("reef_tg-12_")), key=lambda n: int(n[:-6].rsplit("_", 1)[1]))
        people = {found[n][0]["created_by"] for n in mine}
        self.assertEqual(len(people), 1, "two people share a history")
        self.assertEqual(len(found), 3)
        of = {lines[0]["created_by"]: [] for lines in found.values()}
        for name in sorted(found, key=lambda n: int(n[:-6].rsplit("_", 1)[1])):
            of[found[name][0]["created_by"]].append(found[name])
        self.assertEqual([sessions[-1][1]["content"] for sender, sessions in sorted(of.items())], ["FIRST tg-12", "SECOND"])
        for lines in found.values():
            self.assertIsInstance(lines[0]["uptime_secs"], int)
            self.assertEqual({line["role"] for line in lines[1:] if "event" not in line}, {"user", "assistant"})

    def test_out_of_one_home_and_into_another(self):
        self.put_craft({"id": "m1", "type": "user", "content": "hello 🦀", "timestamp": 1772600700000},
                       {"id": "m2", "type": "tool", "toolName": "T", "toolUseId": "t1", "toolInput": {"a": [1, 2.5]},
                        "toolStatus": "error", "toolResult": "no", "isError": True, "timestamp": 1772600710000},
                       {"id": "m3", "type": "assistant", "content": "bye", "timestamp": 1772600720000})
        self.bring("craft", self.source)
        ours = [line for line in read_lines(self.home.file(f"sessions/{HEADER['id']}/session.jsonl"))
                if line["type"] == "message"]
        for kind, to in (("crabtalk", "crabtalk"), ("craft", "craft"), ("craft", "craft-bundle")):
            with self.subTest(to):
                out = os.path.join(self.home.base, to)
                done = self.home.reef("export", "--all", "--to", to, out)
                self.assertEqual(done.code, 0, done.err)
                other = self.new_home(f"to-{to}")
                path = f"{out}/{HEADER['id']}.json" if to == "craft-bundle" else out
                report = self.bring(kind, path, other)
                self.assertEqual((report["added"], report["problems"]), (1, []))
                theirs = [line for line in read_lines(other.file(f"sessions/{HEADER['id']}/session.jsonl"))
                          if line["type"] == "message"]
                for line in ours + theirs:
                    line.pop("parentId", None)
                self.assertEqual(theirs, ours)
                self.assertEqual(self.sessions(other)[HEADER["id"]]["name"], "Parser speedup")
                shutil.rmtree(out)


if __name__ == "__main__":
    unittest.main()
