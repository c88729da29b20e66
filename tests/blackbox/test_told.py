"""Messages to people: at a first try, when something is missing, and where secrets are given."""

import json
import os
import pty
import select
import subprocess
import time
import unittest

from reefbox import TIMEOUT, Home, binary, environment, script

KEY = "sk-of-the-test-7c1d"


class Told(unittest.TestCase):
    def home(self, *args, **kwargs):
        home = Home(*args, **kwargs)
        self.addCleanup(home.cleanup)
        if home.start_at_enter:
            home.start()
        return home

    def test_status_never_starts_a_daemon(self):
        home = self.home(start=False)
        for words in (["status"], ["status", "--json"], ["status", "261118-swift-river"]):
            done = home.reef(*words)
            self.assertEqual(done.code, 1, done)
            self.assertIn("no daemon is running", done.err)
            self.assertIn("reef chat", done.err)
        self.assertIsNone(home.stray_pid())
        self.assertFalse(os.path.exists(home.file("run")), "nothing was made either")

    def test_unknown_settings_are_in_the_status_until_they_are_gone(self):
        home = self.home("[runtime]\nask_time = 3\n", files={"agents/critic.toml": 'colour = "red"\n'})
        problems = "\n".join(home.reef("status", "--json").json["problems"])
        self.assertIn("config.toml:2: runtime.ask_time", problems)
        self.assertIn("critic.toml", problems)
        self.assertIn("problem", home.reef("status").out)
        home.write("config.toml", "")
        home.write("agents/critic.toml", "")
        self.assertEqual(home.reef("reload").code, 0)
        self.assertEqual(home.reef("status", "--json").json["problems"], [])

    def test_an_empty_list_says_why(self):
        home = self.home()
        self.assertIn("say something", home.reef("sessions").out)
        home.say("hello")
        self.assertIn("reef search 'parser'", home.reef("sessions", "--text", "parser").out)
        self.assertIn("no session fits", home.reef("sessions", "--agent", "nobody").out)
        self.assertEqual(home.reef("sessions", "--text", "parser", "--json").json, [])

    def test_a_label_that_is_missing_comes_with_the_command_that_makes_it(self):
        home = self.home()
        home.say("hello")
        (row,) = home.reef("sessions", "--json").json
        refused = home.reef("set", row["id"], "labels+=code")
        self.assertNotEqual(refused.code, 0)
        self.assertIn("reef labels add code", refused.err)
        self.assertEqual(home.reef("labels", "add", "code").code, 0)
        self.assertEqual(home.reef("set", row["id"], "labels+=code").code, 0)

    def test_a_model_nobody_could_have_is_not_set(self):
        home = self.home()
        home.say("hello")
        main, side = pty.openpty()
        self.addCleanup(os.close, main)
        chat = subprocess.Popen([binary("reef"), "--home", home.path, "chat"], stdin=side, stdout=side, stderr=side,
                                env=environment() | {"TERM": "xterm"}, start_new_session=True)
        self.addCleanup(chat.wait)
        self.addCleanup(chat.kill)
        os.close(side)

        seen = b""

        def read_until(words):
            nonlocal seen
            deadline = time.monotonic() + TIMEOUT
            while words not in seen:
                ready = select.select([main], [], [], max(0, deadline - time.monotonic()))[0]
                self.assertTrue(ready, f"waited for {words!r}, saw {seen!r}")
                seen += os.read(main, 65536)

        read_until(b"> ")
        os.write(main, b"/model gpt-5-mini\n")
        read_until(b"reef setup")
        (row,) = home.reef("sessions", "--json").json
        self.assertNotIn("modelOverride", row)

    def test_a_session_of_nobody_has_no_dangling_words(self):
        home = self.home(start=False)
        home.write("sessions/imported/session.jsonl", json.dumps(
            {"type": "session", "version": 3, "id": "imported", "timestamp": "2026-01-02T03:04:05.000Z", "cwd": "/tmp"}) + "\n")
        home.start()
        shown = home.reef("status", "imported")
        self.assertEqual(shown.code, 0, shown)
        self.assertIn("agent        not known\n", shown.out)
        self.assertNotIn(", with \n", shown.out)

    def test_the_rows_of_a_context_add_up_and_everybody_counts_alike(self):
        home = self.home(script=script({"text": "a word"}, {"text": "another"}))
        home.say("first", agent="scripted")
        home.say("second " * 400, agent="scripted")
        (row,) = home.reef("sessions", "--json").json
        context = home.reef("context", row["id"], "--json").json
        self.assertGreater(context["tokens"], 400)
        self.assertEqual(sum(part["tokens"] for part in context["parts"]), context["tokens"])
        status = home.reef("status", row["id"], "--json").json
        self.assertEqual(status["context"]["tokens"], context["tokens"])
        used = status["usage"]
        given = used["inputTokens"] + used["cacheReadTokens"] + used["cacheCreationTokens"]
        self.assertGreater(given, 400)
        total = home.reef("usage", "--json").json["total"]
        self.assertEqual(total["totalTokens"], given + used["outputTokens"])
        page = os.path.join(home.base, "talk.html")
        self.assertEqual(home.reef("export", row["id"], "--to", "html", page).code, 0)
        with open(page, encoding="utf-8") as file:
            self.assertIn(f"{given} in, {used['outputTokens']} out", file.read())


class Secrets(unittest.TestCase):
    """Secrets need not stand on the command line."""

    def test_a_providers_key_comes_from_standard_input(self):
        with Home() as home:
            words = ["setup", "--kind", "openai", "--name", "other", "--base-url", "http://127.0.0.1:9", "--model", "big",
                     "--no-test", "--keep-default", "--key"]
            done = home.reef(*words, "-", stdin=KEY + "\n")
            self.assertEqual(done.code, 0, done)
            self.assertIn(f'key = "{KEY}"', home.read("config.toml"))
            self.assertNotIn(KEY, done.out + done.err)
            self.assertNotIn("command line", done.err)
            before = home.read("config.toml")
            empty = home.reef(*words, "-")
            self.assertNotEqual(empty.code, 0)
            self.assertEqual(home.read("config.toml"), before)
            # A key on the command line is taken with a warning, and the warning does not repeat the key.
            open_one = home.reef(*words, KEY)
            self.assertEqual(open_one.code, 0)
            self.assertIn("--key -", open_one.err)
            self.assertNotIn(KEY, open_one.err)

    def test_secrets_of_an_mcp_server_come_from_the_environment_or_standard_input(self):
        with Home() as home:
            done = home.reef("mcp", "add", "files", "--env", "FROM_SHELL", "--env", "FROM_STDIN", "--", "true",
                             stdin="typed\n", env={"FROM_SHELL": KEY})
            self.assertEqual(done.code, 0, done)
            text = home.read("agents/reef.toml")
            self.assertIn(f'FROM_SHELL = "{KEY}"', text)
            self.assertIn('FROM_STDIN = "typed"', text)
            done = home.reef("mcp", "add", "wiki", "--url", "http://127.0.0.1:9/mcp", "--auth", "-", "--header", "X-Team",
                             stdin=f"{KEY}-auth\n{KEY}-team\n")
            self.assertEqual(done.code, 0, done)
            text = home.read("agents/reef.toml")
            self.assertIn(f'auth = "{KEY}-auth"', text)
            self.assertIn(f'X-Team = "{KEY}-team"', text)
            self.assertNotIn(KEY, done.out + done.err)
            refused = home.reef("mcp", "add", "more", "--env", "NOT_GIVEN", "--", "true")
            self.assertNotEqual(refused.code, 0)
            self.assertIn("NOT_GIVEN", refused.err)


class Homes(unittest.TestCase):
    """A home that others can write is not trusted."""

    def test_a_home_others_can_write_is_refused_before_it_is_read(self):
        with Home("[log]\nlevel = \"debug\"\n", start=False) as home:
            for path, mode in ((home.path, 0o777), (home.file("config.toml"), 0o666)):
                before = os.stat(path).st_mode & 0o777
                os.chmod(path, mode)
                done = home.reef("ping")
                self.assertNotEqual(done.code, 0)
                self.assertIn(f"chmod go-w {path}", done.err)
                self.assertIsNone(home.stray_pid())
                os.chmod(path, before & ~0o022)
            self.assertEqual(home.reef("ping").code, 0)

    @unittest.skipUnless(os.geteuid() == 0, "ANOTHER USER'S HOME WAS NOT CHECKED: this needs root")
    def test_anothers_home_is_refused(self):
        with Home("default_model = \"nosuch\"\n", start=False) as home:
            os.chown(home.path, 65534, 65534)
            done = home.reef("ping")
            self.assertNotEqual(done.code, 0)
            self.assertIn("65534", done.err)
            self.assertNotIn("nosuch", done.err, "its configuration was not read")
            os.chown(home.path, 0, 0)


if __name__ == "__main__":
    unittest.main()
