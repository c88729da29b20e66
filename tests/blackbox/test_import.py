"""`reef import`: other programs' sessions come in once, whole, and their files are never touched."""

import json
import os
import signal
import sqlite3
import subprocess
import unittest

from reefbox import (WRITTEN_AT, Home, assistant_entry, bind_entry, binary, entry, environment, header_entry, jsonl,
                     read_lines, snapshot, texts, user_entry, wait_for)

HOUR = 3600_000


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as out:
        out.write(data if isinstance(data, bytes) else data.encode())
    return path


def tree(folder):
    """{path: (bytes, mtime)} of everything in a folder."""
    out = {}
    for directory, _, files in os.walk(folder):
        for name in files:
            path = os.path.join(directory, name)
            stat = os.lstat(path)
            data = None
            if os.path.isfile(path):
                with open(path, "rb") as source:
                    data = source.read()
            out[path] = (data, stat.st_mtime_ns)
    return out


def talk(session, *said, at=WRITTEN_AT, **more):
    """A transcript: user and assistant in turn, ids a0, a1, ..."""
    lines = [header_entry(session, at, cwd="/srv/demo", **more)]
    parent = None
    for n, text in enumerate(said):
        make = assistant_entry if n % 2 else user_entry
        lines.append(make(f"a{n}", parent, text, at + n * 1000))
        parent = f"a{n}"
    return jsonl(*lines)


class ImportTest(unittest.TestCase):
    def setUp(self):
        self.home = Home()
        self.addCleanup(self.home.cleanup)
        self.home.start()
        self.source = os.path.join(self.home.base, "source")
        os.makedirs(self.source)

    # helpers

    def bring(self, kind, path=None, *flags, ok=True):
        before = tree(self.source)
        done = self.home.reef("import", kind, path or self.source, "--json", *flags, timeout=120)
        if ok:
            self.assertEqual(done.code, 0, done.err)
        self.assertEqual(tree(self.source), before, "the source was touched")
        return json.loads(done.out) if done.out else done

    def sessions(self):
        return {s["id"]: s for s in json.loads(self.home.reef("sessions", "--json").out)}

    def lines(self, session):
        return read_lines(self.home.file(f"sessions/{session}/session.jsonl"))

    def said(self, session):
        shown = json.loads(self.home.reef("show", session, "--json").out)
        return [m for e in shown["entries"] for m in texts([e], "user") + texts([e], "assistant")]

    def pi(self, session, data, folder="--srv-demo--"):
        return write(f"{self.source}/sessions/{folder}/2026-01-02T03-04-05-678Z_{session}.jsonl", data)

    def fsck(self):
        done = self.home.reef("fsck", "--json")
        self.assertEqual(done.code, 0, done.out)

    # pi

    def test_a_session_comes_in_whole_and_once(self):
        self.pi("one", talk("one", "HELLO", "HI"))
        self.pi("two", talk("two", "FOO", "BAR", "BAZ"))
        report = self.bring("pi")
        self.assertEqual((report["sessions"], report["added"], report["entries"]), (2, 2, 5))
        self.assertEqual(report["problems"], [])
        found = self.sessions()
        self.assertEqual(set(found), {"one", "two"})
        one = found["one"]
        self.assertEqual((one["source"], one["origin"], one["messageCount"]), ("pi", "pi:one", 2))
        self.assertEqual((one["workingDirectory"], one["createdAt"]), ("/srv/demo", "2026-01-02T03:04:06.000Z"))
        self.assertNotIn("originMark", one)
        self.assertEqual(self.said("one"), ["HELLO", "HI"])
        before = snapshot(self.home)
        again = self.bring("pi")
        self.assertEqual((again["added"], again["continued"], again["unchanged"], again["entries"]), (0, 0, 2, 0))
        self.assertEqual(snapshot(self.home), before)
        self.fsck()
        self.assertFalse(os.path.exists(self.home.file("staging")))

    def test_a_dry_run_writes_nothing(self):
        self.pi("one", talk("one", "HELLO", "HI"))
        before = snapshot(self.home)
        report = self.bring("pi", None, "--dry-run")
        self.assertEqual((report["added"], report["entries"]), (1, 2))
        self.assertEqual(snapshot(self.home), before)
        self.assertEqual(self.sessions(), {})

    def test_new_entries_of_a_source_are_added(self):
        path = self.pi("one", talk("one", "HELLO", "HI"))
        self.bring("pi")
        with open(path, "ab") as out:
            out.write(jsonl(user_entry("b0", "a1", "MORE", WRITTEN_AT + HOUR)))
        report = self.bring("pi")
        self.assertEqual((report["continued"], report["entries"]), (1, 1))
        self.assertEqual(self.said("one"), ["HELLO", "HI", "MORE"])
        self.assertEqual(self.sessions()["one"]["messageCount"], 3)
        self.assertEqual(self.bring("pi")["unchanged"], 1)
        self.fsck()

    def test_the_leaf_stays_ours_when_the_session_was_continued_here(self):
        path = self.pi("one", talk("one", "HELLO", "HI"))
        self.bring("pi")
        self.assertEqual(self.home.reef("resume", "one", "--key", "agent:reef:me").code, 0)
        self.assertEqual(self.home.reef("chat", "-s", "me", "-p", "OURS").code, 0)
        ours = self.said("one")
        self.assertEqual(ours[:3], ["HELLO", "HI", "OURS"])
        for n, text in enumerate(("THEIRS", "THEIRS TOO")):
            with open(path, "ab") as out:
                out.write(jsonl(user_entry(f"b{n}", "a1" if n == 0 else "b0", text, WRITTEN_AT + HOUR)))
            report = self.bring("pi")
            self.assertEqual((report["continued"], report["entries"]), (1, 1))
            self.assertEqual(self.said("one"), ours)
            self.assertIn(text, texts(self.lines("one"), "user"))
        self.fsck()
        # The same holds after a restart.
        self.home.stop()
        self.home.start()
        self.assertEqual(self.said("one"), ours)

    def test_messages_said_here_during_an_import_stay(self):
        path = self.pi("one", talk("one", "HELLO", "HI"))
        self.bring("pi")
        self.assertEqual(self.home.reef("resume", "one", "--key", "agent:reef:me").code, 0)
        theirs, parent = [], "a1"
        with open(path, "ab") as out:
            for n in range(3000):
                out.write(jsonl(user_entry(f"t{n}", parent, f"THEIRS {n} " + "x" * 4000, WRITTEN_AT + HOUR + n)))
                theirs.append(f"THEIRS {n}")
                parent = f"t{n}"
        importing = subprocess.Popen([binary("reef"), "--home", self.home.path, "import", "pi", self.source, "--json"],
                                     stdout=subprocess.PIPE, env=environment())
        ours = []
        while importing.poll() is None or not ours:
            ours.append(f"OURS {len(ours)}")
            self.assertEqual(self.home.reef("chat", "-s", "me", "-p", ours[-1]).code, 0)
        report = json.loads(importing.stdout.read())
        importing.stdout.close()
        self.assertEqual((report["continued"], report["entries"], report["problems"]), (1, 3000, []))
        said = texts(self.lines("one"), "user")
        self.assertEqual([text for text in said if text.startswith("OURS")], ours)
        self.assertEqual([text.split(" x")[0] for text in said if text.startswith("THEIRS")], theirs)
        # The conversation continues at our leaf, whichever side wrote first.
        current = [text for text in self.said("one") if text.startswith("OURS")]
        self.assertEqual(current[-1:], ours[-1:])
        self.assertEqual(self.bring("pi")["unchanged"], 1)
        self.fsck()

    def test_a_search_finds_what_has_come_in(self):
        for n in range(80):
            self.pi(f"s{n:02}", talk(f"s{n:02}", f"HELLO zebrafish {n}", "HI"))
        self.bring("pi")
        hits = json.loads(self.home.reef("search", "--json", "zebrafish 79").out)["hits"]
        self.assertEqual(hits[0]["session"], "s79")

    def test_the_trash_is_not_filled_again(self):
        self.pi("one", talk("one", "HELLO", "HI"))
        self.bring("pi")
        self.assertEqual(self.home.reef("rm", "one").code, 0)
        report = self.bring("pi")
        self.assertEqual((report["added"], report["unchanged"]), (0, 0))
        self.assertIn("trash", report["problems"][0]["why"])
        self.assertEqual(self.sessions(), {})

    def test_an_id_that_is_taken_or_cannot_be_one_becomes_another(self):
        self.pi("x1", talk("../../etc/passwd", "HOSTILE", "OK"))
        self.pi("x2", talk("with space", "SPACE", "OK"))
        self.pi("x3", talk("same", "FIRST", "OK"))
        self.bring("pi")
        for session in self.sessions():
            self.assertRegex(session, r"^(same|260102-[a-z]+-[a-z]+)$")
        other = write(f"{self.source}-2/x.jsonl", talk("same", "OTHER", "OK").replace(b'"a0"', b'"z0"').replace(b'"a1"', b'"z1"'))
        report = self.bring("pi", other)
        # The same origin means the same session, so it is continued.
        self.assertEqual(report["continued"], 1)
        self.assertEqual(sorted(os.listdir(self.home.file("sessions"))), sorted(self.sessions()))
        self.fsck()

    def test_ugly_files(self):
        self.pi("torn", talk("torn", "HELLO", "HI") + b'{"type":"message","id":"zz","par')
        self.pi("empty", b"")
        self.pi("header", jsonl(header_entry("header")))
        self.pi("junk", b"\x00\xff\xfe not json\n{}\n[]\n")
        self.pi("bom", b"\xef\xbb\xbf" + talk("bom", "BOM", "OK").replace(b"\n", b"\r\n"))
        self.pi("orphan", jsonl(header_entry("orphan"), user_entry("a", None, "ONE"), user_entry("b", "nobody", "TWO")))
        self.pi("twice", jsonl(header_entry("twice"), user_entry("a", None, "ONE"), user_entry("a", "a", "TWO"),
                               user_entry("c", "a", "THREE")))
        self.pi("cycle", jsonl(header_entry("cycle"), user_entry("a", "b", "ONE"), user_entry("b", "a", "TWO"),
                               user_entry("c", "c", "THREE")))
        self.pi("unknown", jsonl(header_entry("unknown"), entry("marvel", "a", None, power=9000),
                                 {**user_entry("b", "a", "KEEP"), "extra": {"deep": [1, 2.5, "\U0001f980"]}}))
        self.pi("clocks", jsonl({**header_entry("clocks"), "timestamp": "yesterday"},
                                {**user_entry("a", None, "PAST"), "timestamp": "1912-06-23T00:00:00.000Z"},
                                {**user_entry("b", "a", "NONE"), "timestamp": None},
                                {**user_entry("c", "b", "FUTURE"), "timestamp": "9999-01-01T00:00:00.000Z"}))
        os.makedirs(f"{self.source}/sessions/x/folder.jsonl")
        os.mkfifo(f"{self.source}/sessions/x/pipe.jsonl")
        os.symlink("/nowhere/at/all", f"{self.source}/sessions/x/dangling.jsonl")
        os.symlink("..", f"{self.source}/sessions/x/loop")
        report = self.bring("pi")
        named = {os.path.basename(p["path"]).split("_")[-1].split(".")[0] for p in report["problems"]}
        self.assertLessEqual({"torn", "empty", "junk", "orphan", "twice", "cycle", "folder", "pipe", "dangling"}, named)
        self.assertFalse(named & {"bom", "header", "unknown"})
        found = self.sessions()
        self.assertEqual(set(found), {"torn", "header", "bom", "orphan", "twice", "cycle", "unknown", "clocks"})
        self.assertEqual(self.said("torn"), ["HELLO", "HI"])
        self.assertEqual(self.said("orphan"), ["ONE", "TWO"])
        self.assertEqual(self.said("twice"), ["ONE", "TWO", "THREE"])
        self.assertEqual(self.said("cycle"), ["ONE", "TWO", "THREE"])
        self.assertEqual(self.said("clocks"), ["PAST", "NONE", "FUTURE"])
        kept = {e["id"]: e for e in self.lines("unknown") if e["type"] != "session"}
        self.assertEqual(kept["a"]["power"], 9000)
        self.assertEqual(kept["b"]["extra"], {"deep": [1, 2.5, "\U0001f980"]})
        self.fsck()
        again = self.bring("pi")
        self.assertEqual((again["added"], again["continued"], again["entries"]), (0, 0, 0))

    def test_versions_one_and_two(self):
        v1 = [{"type": "session", "id": "v1", "timestamp": "2025-11-01T10:00:00.000Z", "cwd": "/srv", "provider": "p",
               "modelId": "m"}]
        for n, text in enumerate(("ONE", "TWO", "THREE")):
            v1.append({"type": "message", "timestamp": f"2025-11-01T10:00:0{n}.000Z",
                       "message": {"role": "user", "content": text, "timestamp": 1}})
        v1.insert(3, {"type": "compaction", "timestamp": "2025-11-01T10:00:01.500Z", "summary": "SUM",
                      "firstKeptEntryIndex": 2, "tokensBefore": 10})
        path = self.pi("v1", jsonl(*v1))
        self.pi("v2", jsonl({**header_entry("v2"), "version": 2}, entry("message", "a", None, message={
            "role": "hookMessage", "customType": "x", "content": "HOOK", "display": True, "timestamp": 1})))
        self.bring("pi")
        lines = self.lines("v1")
        self.assertEqual(lines[0]["version"], 3)
        kept = next(e for e in lines if e["type"] == "compaction")
        self.assertEqual(kept["firstKeptEntryId"], next(e["id"] for e in lines if e.get("message", {}).get("content") == "TWO"))
        self.assertEqual(next(e for e in self.lines("v2") if e["type"] == "message")["message"]["role"], "custom")
        with open(path, "ab") as out:
            out.write(jsonl({"type": "message", "timestamp": "2025-11-01T10:00:09.000Z",
                             "message": {"role": "user", "content": "FOUR", "timestamp": 1}}))
        report = self.bring("pi")
        self.assertEqual((report["continued"], report["entries"]), (1, 1))
        self.fsck()

    def test_huge_lines_and_many_sessions(self):
        self.pi("huge", talk("huge", "X" * (9 << 20), "OK"))
        self.pi("too-huge", talk("too-huge", "OK", "FINE") + jsonl(user_entry("b", "a1", "Y" * (33 << 20)),
                                                                     user_entry("c", "a1", "AFTER")))
        for n in range(150):
            self.pi(f"s{n:03}", talk(f"s{n:03}", f"QUESTION {n}", f"ANSWER {n}"))
        report = self.bring("pi")
        self.assertEqual(report["added"], 152)
        self.assertEqual([p["line"] for p in report["problems"]], [4])
        self.assertEqual(self.said("too-huge"), ["OK", "FINE", "AFTER"])
        self.assertEqual(self.sessions()["huge"]["messageCount"], 2)
        self.fsck()

    def test_a_killed_daemon_leaves_whole_sessions_and_the_next_import_the_rest(self):
        for n in range(120):
            self.pi(f"s{n:03}", talk(f"s{n:03}", *(f"LINE {n} {i} " + "z" * 2000 for i in range(40))))
        started = subprocess.Popen([binary("reef"), "--home", self.home.path, "import", "pi", self.source],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment(None))
        wait_for(lambda: os.path.isdir(self.home.file("staging")) or started.poll() is not None, "the import to begin")
        self.home.kill9()
        started.wait(30)
        self.home.start()
        self.assertFalse(os.path.exists(self.home.file("staging")))
        for session in self.sessions():
            self.assertEqual(len(self.said(session)), 40)
        report = self.bring("pi")
        self.assertEqual(report["added"] + report["unchanged"], 120)
        found = self.sessions()
        self.assertEqual(len(found), 120)
        for session in found:
            self.assertEqual(found[session]["messageCount"], 40)
        self.fsck()

    def test_an_interrupted_import_keeps_what_is_in(self):
        for n in range(200):
            self.pi(f"s{n:03}", talk(f"s{n:03}", *(f"LINE {n} {i} " + "z" * 4000 for i in range(60))))
        running = subprocess.Popen([binary("reef"), "--home", self.home.path, "import", "pi", self.source, "--json"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(None))
        wait_for(lambda: os.path.isdir(self.home.file("staging")) or running.poll() is not None, "the import to begin")
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
        report = json.loads(out)
        if report.get("cancelled"):
            self.assertEqual(running.returncode, 1)
            self.assertIn(b"cancelled", err)
        self.assertEqual(len(self.sessions()), report["added"])
        for session in self.sessions().values():
            self.assertEqual(session["messageCount"], 60)
        self.assertFalse(os.path.exists(self.home.file("staging")))
        self.assertEqual(self.bring("pi")["added"] + report["added"], 200)
        self.fsck()

    def test_secrets_are_masked_when_asked(self):
        key = "sk-" + "a1B2c3D4e5F6g7H8i9J0k1L2"
        aws = "AKIA" + "ABCDEFGH23456789"
        url = "postgres://me:hunter2secret@db/x"
        pem = "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIabc\n-----END RSA " + "PRIVATE KEY-----"
        self.pi("one", talk("one", f"use {key} and {aws}", f"{url} {pem} done"))
        self.bring("pi", None, "--redact", "--dry-run")
        report = self.bring("pi", None, "--redact")
        self.assertEqual(report["redacted"], 4)
        with open(self.home.file("sessions/one/session.jsonl"), encoding="utf-8") as source:
            text = source.read()
        for secret in (key, aws, "hunter2secret", "MIIabc"):
            self.assertNotIn(secret, text)
        self.assertIn("use [redacted:api-key] and [redacted:aws-key]", text)
        self.assertIn("postgres://me:[redacted:url-password]@db/x [redacted:private-key] done", text)
        for path in ("catalog/rows.jsonl", "logs/reefd.log"):
            if os.path.exists(self.home.file(path)):
                self.assertNotIn(key, self.home.read(path))

    def test_own_sessions_come_back_without_their_binding(self):
        self.home.reef("chat", "-s", "me", "-p", "NATIVE")
        native = next(iter(self.sessions()))
        copy = write(f"{self.source}/copy.jsonl", jsonl(
            header_entry("copy"), bind_entry("m", None, "reef", "me", WRITTEN_AT + 10**12), user_entry("a", "m", "OLD")))
        self.bring("pi", copy)
        self.assertEqual(self.home.reef("chat", "-s", "me", "-p", "AGAIN").code, 0)
        self.assertIn("AGAIN", self.said(native))
        self.assertEqual(self.sessions()["copy"]["source"], "pi")
        refused = self.home.reef("import", "pi", self.home.path)
        self.assertEqual(refused.code, 1)
        self.assertIn("own", refused.err)

    # Clawdbot

    def claw(self, name, data, agent="main"):
        return write(f"{self.source}/agents/{agent}/sessions/{name}", data)

    def test_clawdbot_stores(self):
        self.claw("sessions.json", """{
          // as JavaScript lets people write it
          'agent:main:telegram:group:-100': {sessionId: 'live', updatedAt: 1767323046000, chatType: 'group', channel: "telegram",
            subject: "Weekend", label: "Trip", thinkingLevel: "high", providerOverride: "p", modelOverride: "m",
            groupActivation: 'mention', skillsSnapshot: {prompt: "LONG"},},
          "agent:main:main": {"sessionId": "gone", "updatedAt": 1},
        }""")
        self.claw("live.jsonl", talk("live", "HELLO", "HI"))
        self.claw("live-topic-5.jsonl", talk("live", "TOPIC", "FIVE"))
        self.claw("orphan.jsonl", talk("orphan", "ORPHAN", "OK"))
        self.claw("old.jsonl.deleted.2026-01-02T03-04-05.000Z", talk("old", "DELETED", "OK"))
        self.claw("live.jsonl.lock", "{}")
        self.claw("x.jsonl", talk("x", "OTHER", "OK"), agent="second")
        self.claw("sessions.json", "{ broken", agent="second")
        report = self.bring("clawdbot")
        self.assertEqual(report["added"], 5)
        found = self.sessions()
        live = found["live"]
        self.assertEqual((live["key"], live["agent"], live["sender"]),
                         ("agent:main:telegram:group:-100", "main", "telegram:group:-100"))
        self.assertEqual((live["name"], live["chatType"], live["channel"], live["subject"], live["thinkingLevel"],
                          live["modelOverride"]), ("Trip", "group", "telegram", "Weekend", "high", "p/m"))
        self.assertEqual(live["imported"]["groupActivation"], "mention")
        self.assertNotIn("LONG", json.dumps(live))
        self.assertEqual(found["orphan"]["key"], "")
        self.assertTrue(found["old"]["isArchived"])
        self.assertEqual(found["x"]["agent"], "second")
        self.assertEqual(self.said("live-topic-5"), ["TOPIC", "FIVE"])
        why = {os.path.basename(p["path"]): p["why"] for p in report["problems"]}
        self.assertIn("missing", why["gone.jsonl"])
        self.assertIn("without their keys", why["sessions.json"])
        self.assertEqual(self.bring("clawdbot")["unchanged"], 5)
        # A file that Clawdbot marked as deleted is still the same session.
        os.rename(f"{self.source}/agents/main/sessions/orphan.jsonl",
                  f"{self.source}/agents/main/sessions/orphan.jsonl.deleted.2026-02-02T00-00-00.000Z")
        self.assertEqual(self.bring("clawdbot")["unchanged"], 5)

    def test_a_key_that_is_bound_here_stays_bound(self):
        self.home.reef("send", "--key", "agent:reef:tg", "NATIVE")
        native = next(iter(self.sessions()))
        self.claw("sessions.json", json.dumps({"agent:reef:tg": {"sessionId": "a"}, "agent:reef:free": {"sessionId": "b"}}))
        self.claw("a.jsonl", talk("a", "A", "OK", at=WRITTEN_AT + 10**11))
        self.claw("b.jsonl", talk("b", "B", "OK"))
        self.bring("clawdbot")
        self.home.reef("send", "--key", "agent:reef:tg", "STILL HERE")
        self.home.reef("send", "--key", "agent:reef:free", "OVER THERE")
        self.assertIn("STILL HERE", self.said(native))
        self.assertIn("OVER THERE", self.said("b"))

    def test_openclaw_databases(self):
        path = f"{self.source}/agents/main/agent/openclaw-agent.sqlite"
        os.makedirs(os.path.dirname(path))
        db = sqlite3.connect(path)
        db.execute("CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT, created_at INTEGER, "
                   "PRIMARY KEY (session_id, seq))")
        db.execute("CREATE TABLE session_entries (session_key TEXT PRIMARY KEY, session_id TEXT, entry_json TEXT)")
        db.execute("INSERT INTO session_entries VALUES ('agent:main:main', 'db1', ?)",
                   (json.dumps({"sessionId": "db1", "label": "From a table"}),))
        for n, line in enumerate(talk("db1", "HELLO", "HI").decode().splitlines()):
            db.execute("INSERT INTO transcript_events VALUES ('db1', ?, ?, 1)", (n, line))
        db.commit()
        db.close()
        report = self.bring("clawdbot")
        self.assertEqual((report["added"], report["problems"]), (1, []))
        self.assertEqual(self.said("db1"), ["HELLO", "HI"])
        self.assertEqual((self.sessions()["db1"]["name"], self.sessions()["db1"]["key"]), ("From a table", "agent:main:main"))
        self.assertEqual(self.bring("clawdbot")["unchanged"], 1)
        # The last messages of a running gateway are in SQLite's write-ahead log only.
        db = sqlite3.connect(path)
        self.addCleanup(db.close)
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("INSERT INTO transcript_events VALUES ('db1', 9, ?, 2)", (json.dumps(user_entry("b0", "a1", "MORE")),))
        db.commit()
        self.assertEqual(self.bring("clawdbot")["continued"], 1)
        self.assertEqual(self.said("db1"), ["HELLO", "HI", "MORE"])
        write(f"{self.source}/agents/bad/agent/openclaw-agent.sqlite", b"SQLite format 3\0" + b"\xff" * 5000)
        self.assertEqual(len(self.bring("clawdbot")["problems"]), 1)

    # auto

    def test_auto_looks_in_the_well_known_places(self):
        person = os.path.join(self.home.base, "person")
        write(f"{person}/.pi/agent/sessions/--x--/a.jsonl", talk("from-pi", "PI", "OK"))
        write(f"{person}/.openclaw/agents/main/sessions/c.jsonl", talk("from-claw", "CLAW", "OK"))
        write(f"{self.home.base}/elsewhere/agents/main/sessions/d.jsonl", talk("from-env", "ENV", "OK"))
        env = {"HOME": person, "CLAWDBOT_STATE_DIR": f"{self.home.base}/elsewhere"}
        for name in ("PI_CODING_AGENT_DIR", "OPENCLAW_STATE_DIR", "CRABTALK_HOME", "CRAFT_CONFIG_DIR"):
            env[name] = ""
        asked = self.home.reef("import", "auto", env=env)
        self.assertEqual(asked.code, 0, asked.err)
        self.assertIn(f"{person}/.pi/agent", asked.out)
        self.assertEqual(self.sessions(), {})
        done = self.home.reef("import", "auto", "--yes", "--json", env=env)
        self.assertEqual(done.code, 0, done.err)
        answer = json.loads(done.out)
        self.assertEqual([f["kind"] for f in answer["found"]], ["clawdbot", "clawdbot", "pi"])
        self.assertTrue(all(f["bytes"] > 0 for f in answer["found"]))
        self.assertEqual(sum(i["added"] for i in answer["imported"]), 3)
        self.assertEqual(set(self.sessions()), {"from-pi", "c", "d"})

    def test_a_path_of_another_program_is_named(self):
        source = os.path.join(self.home.base, "theirs")
        write(f"{source}/sessions/--x--/a.jsonl", talk("a", "HI", "OK"))
        refused = self.home.reef("import", "craft", f"{source}/sessions/--x--")
        self.assertEqual(refused.code, 1)
        self.assertIn("no Craft sessions", refused.err)
        self.assertIn("it looks like pi's; reef import pi", refused.err)
        report = self.bring("clawdbot", f"{source}/sessions")
        self.assertEqual([p["why"] for p in report["problems"]], ["it looks like pi's; reef import pi reads those"])
        self.assertEqual(self.sessions(), {})
        # A folder that is nobody's is not guessed at, and the right program's is not doubted.
        write(f"{self.home.base}/empty/readme.txt", b"hello")
        self.assertEqual(self.bring("pi", f"{self.home.base}/empty")["problems"], [])
        report = self.bring("pi", source)
        self.assertEqual((report["added"], report["problems"]), (1, []))

    def test_usage(self):
        for args in (["import"], ["import", "pi"], ["import", "auto", "/x"], ["import", "marvel", "/x"]):
            done = self.home.reef(*args)
            self.assertEqual(done.code, 2, args)
        self.assertEqual(self.home.reef("import", "pi", "/no/such/place").code, 1)


if __name__ == "__main__":
    unittest.main()
