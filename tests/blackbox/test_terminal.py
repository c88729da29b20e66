"""Foreign text on a terminal can neither drive the terminal, nor reorder what is read, nor hide."""

import json
import os
import pty
import re
import subprocess
import unittest

from reefbox import *

# A title, a colour, the screen emptied, CSI as one character, an override, a mark, a space without width, two line ends.
EVIL = "evil \x1b]0;owned\x07 \x1b[31m\x1b[2J \u009b8m \u202egpj.exe\u202c \u2066\u200f\u061c r\u200bm \u2028x\rover"
# Text may send only line ends and tabs to a terminal. (A pty turns \n into \r\n.)
DRIVES = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]|\r(?!\r*\n)")
ASK_USER = 8


class Terminal(unittest.TestCase):
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
                    found = DRIVES.search(seen)
                    self.assertIsNone(found, f"{words}: {found and seen[max(0, found.start() - 60):found.end() + 40]!r}")
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


if __name__ == "__main__":
    unittest.main()
