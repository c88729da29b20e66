"""Foreign text on a terminal can neither drive the terminal, nor reorder what is read, nor hide."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import time
import unittest

from reefbox import *

# A title, a colour, the screen emptied, CSI as one character, an override, a mark, a space without width, two line ends.
EVIL = "evil \x1b]0;owned\x07 \x1b[31m\x1b[2J \u009b8m \u202egpj.exe\u202c \u2066\u200f\u061c r\u200bm \u2028x\rover"
# Text may send only line ends and tabs to a terminal. (A pty turns \n into \r\n.)
DRIVES = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]|\r(?!\r*\n)")
ASK_USER = 8


# The same without line ends, for formats of lines.
EVIL_LINE = EVIL.replace("\u2028", "").replace("\r", "")
# How the space without width is shown, to people and in JSON.
MARKED = re.compile(r"<U\+200B>|\\u200b")
FAKE_SERVER = str(Path(__file__).resolve().parent.parent / "mcp" / "fake_server.py")


class Case(unittest.TestCase):
    def harmless(self, seen, *view):
        found = DRIVES.search(seen)
        self.assertIsNone(found, f"{view}: {found and seen[max(0, found.start() - 60):found.end() + 40]!r}")

    def on_terminal(self, home, *words, stdin=subprocess.DEVNULL):
        main, side = pty.openpty()
        process = subprocess.Popen([binary("reef"), "--home", home.path, *words], stdin=stdin, stdout=side, stderr=side,
                                   env=environment() | {"NO_COLOR": "1", "TERM": "xterm"}, cwd=home.base)
        os.close(side)
        seen = b""
        try:
            while piece := os.read(main, 65536):
                seen += piece
        except OSError:
            pass  # the terminal of an ended process reads as an error
        process.wait(TIMEOUT)
        os.close(main)
        return seen.decode()

    def watched(self, home, *words, meanwhile, until):
        """What a command that goes on by itself shows on a terminal, until all of `until` was seen in it."""
        main, side = pty.openpty()
        process = subprocess.Popen([binary("reef"), "--home", home.path, *words], stdin=subprocess.DEVNULL, stdout=side, stderr=side,
                                   env=environment() | {"NO_COLOR": "1", "TERM": "xterm"}, cwd=home.base)
        os.close(side)
        seen, deadline = b"", time.monotonic() + TIMEOUT
        try:
            while not all(re.search(word, seen.decode(errors="ignore")) for word in until):
                # It may not listen yet, so what it should hear happens again and again.
                meanwhile()
                while select.select([main], [], [], 0.02)[0]:
                    seen += os.read(main, 65536)
                self.assertLess(time.monotonic(), deadline, f"{words}: {seen!r}")
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(TIMEOUT)
            os.close(main)
        return seen.decode(errors="ignore")  # it may have been interrupted in the middle of a character


class Terminal(Case):
    def test_no_view_hands_on_what_could_drive_or_deceive(self):
        with Home(script=script({"text": EVIL}, {"calls": [{"name": "bash", "arguments": {"command": EVIL}}]}, {"text": EVIL},
                                {"text": EVIL})) as home:
            home.say(EVIL, agent="scripted")
            session = home.reef("sessions", "--json").json[0]["id"]
            self.assertEqual(home.reef("set", session, f"name={EVIL}").code, 0)
            self.assertEqual(home.reef("memory", "remember", "-a", "scripted", "note", EVIL).code, 0)
            with open(f"{home.base}/a.txt", "w") as out:
                out.write(EVIL + "\n")
            self.assertEqual(home.reef("attach", session, f"{home.base}/a.txt").code, 0)
            (name,) = [f["path"] for f in home.reef("files", session, "--json").json if f["path"].endswith(".txt")]
            views = [("sessions",), ("show", session), ("show", session, "--tree"), ("show", session, "--raw"), ("files", session),
                     ("cat", session, name), ("memory", "ls", "-a", "scripted"), ("memory", "show", "-a", "scripted", "note"),
                     ("memory", "recall", "-a", "scripted", "evil"), ("search", "evil"), ("describe", session), ("context", session),
                     ("chat", "-a", "scripted", "-s", "other", "-p", "hello"), ("show", EVIL)]
            views += [("export", session, "--to", kind) for kind in ("markdown", "html", "pi", "ndjson", "crabtalk", "clawdbot", "craft")]
            worked = 0
            for words in views:
                with self.subTest(view=words):
                    seen = self.on_terminal(home, *words)
                    self.harmless(seen, *words)
                    worked += "evil" in seen
            self.assertGreaterEqual(worked, 10)
            for words in (("sessions", "--json"), ("show", session, "--json"), ("memory", "ls", "-a", "scripted", "--json")):
                with self.subTest(view=words):
                    seen = self.on_terminal(home, *words)
                    self.assertIsNone(DRIVES.search(seen), words)
                    self.assertEqual(json.loads(seen), home.reef(*words).json)
            self.assertIn(EVIL, texts(home.reef("show", session, "--json").json["entries"], "user"), "JSON says the same")

    def test_elsewhere_it_is_exact(self):
        with Home(script=script({"text": EVIL})) as home:
            session_words = home.reef("chat", "-a", "scripted", "-p", EVIL)
            self.assertIn("\x1b[2J", session_words.out, "a reply into a pipe")
            session = home.reef("sessions", "--json").json[0]["id"]
            entries = home.reef("show", session, "--json").json["entries"]
            self.assertIn(EVIL, texts(entries, "user"), "JSON says the same")
            with open(home.transcript(), encoding="utf-8", newline="") as source:
                self.assertEqual(home.reef("show", session, "--raw").out, source.read())
            piped = subprocess.run([binary("reef"), "--home", home.path, "export", session, "--to", "markdown"],
                                   capture_output=True, env=environment(), timeout=TIMEOUT).stdout
            self.assertEqual(home.reef("export", session, "--to", "markdown", f"{home.base}/x.md").code, 0)
            with open(f"{home.base}/x.md", "rb") as source:
                self.assertEqual(source.read(), piped, "into a file as into a pipe")

    def test_a_question_about_many_lines_shows_them_all(self):
        lines = [f"echo {n}" for n in range(1, 121)]
        lines[59] = "rm \u202eprecious\u202c \x1b[8m"
        lines[119] = "  1. Allow once - harmless"
        with Home(script=script({"calls": [{"name": "bash", "arguments": {"command": "\n".join(lines)}}]}, {"text": "done"})) as home:
            home.write("agents/scripted.toml", 'model = "s/x"\npermission_mode = "ask"\n')
            home.reef("reload")
            with home.connect() as link:
                link.send(request(STREAM, {1: "scripted", 2: "go"}))
                while (event := link.recv()).event != "ask_user":
                    pass
                asked = Message(event.detail.fields[1][0]).str(1)
                self.assertTrue(asked.startswith("scripted wants to use bash, 120 lines:\n  1 | echo 1\n"), asked[:200])
                self.assertIn("\n 60 | rm <U+202E>precious<U+202C> \u241b[8m\n", asked)
                for words in (("questions",),):
                    seen = self.on_terminal(home, *words)
                    self.assertIsNone(DRIVES.search(seen))
                    for number in (1, 59, 60, 61, 120):
                        self.assertRegex(seen, rf"\n *{number} \| ", number)
                    self.assertIn("120 |   1. Allow once - harmless", seen)
                home.reef("answer", "Deny")
                link.events()


class Names(Case):
    """What others name: conversations, tools, plans, skills, servers, agents, rules."""

    def home(self, *replies, **files):
        home = Home(script=script(*replies), files={"agents/scripted.toml": 'model = "s/x"\npermission_mode = "allow-all"\n'} | files)
        self.addCleanup(home.cleanup)
        home.start()
        return home

    def say(self, home, content=EVIL, agent="scripted", sender="evil"):
        with home.connect() as link:
            events = link.stream(turn(agent, content, sender))
            self.assertEqual(events[-1].event, "end", events)

    def shown(self, home, *views):
        for words in views:
            with self.subTest(view=words):
                seen = self.on_terminal(home, *words)
                self.harmless(seen, *words)
                self.assertRegex(seen, MARKED, "a view of what is hostile")

    def test_events_as_they_happen(self):
        home = self.home({"text": EVIL, "calls": [{"name": "bash", "arguments": {"command": f"printf '%s' '{EVIL}'; : {EVIL}"}},
                                                  {"name": EVIL, "arguments": {EVIL: EVIL}}]}, {"text": EVIL})
        for more in ((), ("--json",)):
            seen = self.watched(home, "events", "watch", *more, until=(MARKED, "bash", "done", "tool_result"),
                                meanwhile=lambda: self.say(home))
            self.harmless(seen, "events", "watch", *more)

    def test_a_chat(self):
        """Where a person types: answers, calls, their progress, a question and its choices."""
        question = {"question": EVIL, "header": "evil", "options": [{"label": EVIL, "description": EVIL}, {"label": "no"}]}
        calls = [{"name": "bash", "arguments": {"command": f"printf '%s\\n' '{EVIL_LINE}'; : {EVIL}"}}, {"name": EVIL, "arguments": {EVIL: EVIL}},
                 {"name": "ask_user", "arguments": {"questions": [question]}}]
        home = self.home({"text": f"one {EVIL}", "calls": calls}, {"text": f"{EVIL} THE END"})
        main, side = pty.openpty()
        chat = subprocess.Popen([binary("reef"), "--home", home.path, "chat", "-a", "scripted"], stdin=side, stdout=side, stderr=side,
                                env=environment() | {"NO_COLOR": "1", "TERM": "xterm"}, cwd=home.base)
        os.close(side)
        seen = b""

        def until(word):
            nonlocal seen
            deadline = time.monotonic() + TIMEOUT
            while word not in seen:
                self.assertTrue(select.select([main], [], [], max(0, deadline - time.monotonic()))[0], (word, seen))
                seen += os.read(main, 65536)

        try:
            os.write(main, b"go\n")
            wait_for(lambda: home.reef("questions", "--json").json, "the question")
            until(b"2. no")
            os.write(main, b"2\n")
            until(b"THE END")
        finally:
            os.write(main, b"\x04")
            chat.wait(TIMEOUT)
            os.close(main)
        # What the prompt itself does with the terminal is its own; nothing of others' is among it.
        self.assertRegex(seen.decode(errors="ignore"), MARKED)
        for piece in ("\x1b]0;", "\x1b[31m", "\x1b[2J", "\u009b", "\u202e", "\u2066", "\u200f", "\u061c", "\u200b", "\u2028", "\rover"):
            self.assertNotIn(piece, seen.decode(errors="ignore"))

    def test_what_runs(self):
        wait = f"printf '%s\\n' '{EVIL_LINE}'; sleep 67"
        home = self.home({"calls": [{"name": "bash", "arguments": {"command": wait}}, {"name": EVIL, "arguments": {}}]}, {"text": "-"})
        link = home.connect()
        self.addCleanup(link.close)
        link.send(request(STREAM, turn("scripted", EVIL, "evil")))
        wait_for(lambda: any("evil" in (t.get("detail") or "") for t in home.reef("ps", "--json").json), "its words")
        self.shown(home, ("ps",), ("ps", "--json"))
        for more in ((), ("--json",)):
            seen = self.watched(home, "ps", "--watch", *more, until=(MARKED, "bash"), meanwhile=lambda: None)
            self.harmless(seen, "ps", "--watch", *more)
        self.assertEqual(home.ask(KILL, {1: "scripted", 2: "evil"}).tag, PONG)
        link.events()

    def test_plans(self):
        home = self.home({"calls": [{"name": "submit_plan", "arguments": {"name": EVIL, "content": EVIL}},
                                    {"name": "submit_plan", "arguments": {"name": "evil-plan", "content": EVIL}}]}, {"text": "-"})
        self.say(home, sender="ada")
        session = home.reef("sessions", "--json").json[0]["id"]
        self.shown(home, ("plans", session), ("show", session))

    def test_skills(self):
        home = self.home({"text": "-"}, **{
            "skills/evil-one/SKILL.md": f"---\nname: evil-one\ndescription: {EVIL_LINE}\nlicense: {EVIL_LINE}\n---\n{EVIL}\n",
            "skills/evil-two/SKILL.md": f"---\nname: evil-two\n{EVIL_LINE}: x\ndescription: d\n---\n{EVIL}\n",
            f"skills/{EVIL_LINE.replace('/', '')}/SKILL.md": f"---\nname: {EVIL_LINE}\ndescription: {EVIL_LINE}\n---\n-\n"})
        self.shown(home, ("skills",), ("skills", "ls", "-a", "scripted"), ("skills", "show", "evil-one"), ("skills", "check"),
                   ("skills", "show", EVIL), ("skills", "--json"))

    def test_servers(self):
        fails = f"echo '{EVIL_LINE}' >&2; exit 1"
        servers = [("evil-works", "python3", ["-B", FAKE_SERVER, "--tools", EVIL_LINE.replace(",", "")]), ("evil-fails", "sh", ["-c", fails]),
                   ("evil-none", EVIL_LINE, [EVIL_LINE])]
        home = self.home({"text": "-"}, **{"agents/served.toml": 'model = "s/x"\n' + "".join(
            f"[mcps.{name}]\ncommand = {json.dumps(command)}\nargs = {json.dumps(args)}\n" for name, command, args in servers)})
        self.say(home, agent="served", sender="ada")
        self.shown(home, ("mcp", "ls"), ("mcp", "ls", "--json"),
                   *[("mcp", "test", "-a", "served", name) for name, *_ in servers])
        seen = self.watched(home, "mcp", "watch", until=("evil-fails", MARKED), meanwhile=lambda: (
            home.reef("reload"), self.say(home, agent="served", sender="ada")))
        self.harmless(seen, "mcp", "watch")

    def test_agents(self):
        home = self.home({"text": "-"}, **{"agents/evil.toml": f'model = "s/x"\ndescription = {json.dumps(EVIL)}\n'
                                                               f'tools = [{json.dumps(EVIL)}]\ndelegate_to = [{json.dumps(EVIL)}]\n',
                                           "agents/evil.md": EVIL})
        self.shown(home, ("agents",), ("agents", "show", "evil"), ("agents", "show", EVIL), ("agents", "show", "evil", "--json"),
                   ("status",))

    def test_permissions_and_bounds(self):
        id_ = "260102-evil-rules"
        rules = {"bash": {EVIL: EVIL, "evil-rule": iso(WRITTEN_AT)}, EVIL: {EVIL: "2026"}}
        home = self.home({"text": "-"}, **{f"sessions/{id_}/session.jsonl": jsonl(
            header_entry(id_, cwd=EVIL), bind_entry("m", None, "scripted", EVIL, permissions=rules, labels=[EVIL],
                                                    sessionStatus=EVIL, subject=EVIL, displayName=EVIL),
            entry("custom", "n", "m", customType="reef.meta", data={"name": EVIL}), user_entry("a", "n", EVIL), assistant_entry("b", "a", EVIL, model=EVIL, provider=EVIL),
            entry("label", "c", "b", targetId="a", label=EVIL))})
        self.shown(home, ("permissions", id_), ("permissions", id_, "--json"), ("sessions",), ("status", id_),
                   ("usage",), ("show", id_))


if __name__ == "__main__":
    unittest.main()
