"""The programs `reef` and `reefd` from the outside: commands, exit codes, and what is printed to which stream."""

import os
import pty
import re
import select
import signal
import socket
import stat
import subprocess
import termios
import threading
import time
import unittest
from datetime import datetime
from pathlib import Path

from reefbox import *

COMMANDS = ["chat", "ping", "status", "sessions", "show", "kill", "reload", "stop"]
ESCAPE = "\x1b"


class CliCase(unittest.TestCase):
    def expect_ok(self, result, what="command"):
        self.assertEqual(result.code, 0, f"{what}: {result}")
        self.assertEqual(result.err, "", f"{what}: nothing is to be said on stderr: {result}")

    def expect_failure(self, result, what="command"):
        """Exit 1, nothing on stdout, one line `reef: what: why` on stderr."""
        self.assertEqual(result.code, 1, f"{what}: {result}")
        self.assertEqual(result.out, "", f"{what}: stdout must stay empty: {result}")
        self.assertRegex(result.err, r"\Areef: [^\n:]+: [^\n]+\n\Z", f"{what}: one line `reef: what: why`")

    def one_session(self, home):
        result = home.reef("sessions", "--json")
        self.expect_ok(result, "sessions --json")
        self.assertEqual(len(result.json), 1, result)
        return result.json[0]


class Help(CliCase):
    def test_every_command(self):
        with Home(start=False) as home:
            for words in [[c] for c in COMMANDS] + [[]]:
                result = home.reef(*words, "--help")
                self.assertEqual(result.code, 0, f"{words}: {result}")
                self.assertIn("Example", result.out, f"reef {words} --help shows an example")
                self.assertNotIn(ESCAPE, result.out)
                if words:
                    self.assertIn("--json", result.out, f"reef {words} has --json")
            self.assertIsNone(home.stray_pid(), "--help starts no daemon")
            self.assertEqual(home.listing(), set(), "--help creates nothing")

    def test_reefd(self):
        for option in ("--help", "--version"):
            done = subprocess.run([binary("reefd"), option], capture_output=True, text=True, env=environment())
            self.assertEqual(done.returncode, 0, done)
            self.assertTrue(done.stdout)

    def test_wrong_usage(self):
        with Home(start=False) as home:
            for words in (["bogus"], ["--bogus"], ["show"], ["show", "a", "b"], ["ping", "x"], ["chat", "--bogus"],
                          ["chat", "-p"], ["chat", "-p", "x", "y"], ["sessions", "-p", "x"], ["--home"]):
                result = home.reef(*words)
                self.assertEqual(result.code, 2, f"{words}: wrong usage is exit 2: {result}")
                self.assertEqual(result.out, "", f"{words}: stdout must stay empty")
                self.assertRegex(result.err, r"\Areef: .+: .+", f"{words}")
            self.assertIsNone(home.stray_pid(), "wrong usage starts no daemon")

    def test_wrong_usage_of_reefd(self):
        done = subprocess.run([binary("reefd"), "--bogus"], capture_output=True, text=True, env=environment())
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("--bogus", done.stderr)


class Commands(CliCase):
    @classmethod
    def setUpClass(cls):
        cls.home = Home()
        cls.addClassCleanup(cls.home.cleanup)
        cls.home.start()

    def test_chat_prints_the_reply_alone(self):
        result = self.home.reef("chat", "-s", "alone", "-p", "hello")
        self.expect_ok(result, "chat -p")
        self.assertTrue(result.out.endswith("\n") and not result.out.endswith("\n\n"), repr(result.out))
        session = next(s for s in self.home.reef("sessions", "--json").json if s["sender"] == "alone")
        shown = self.home.reef("show", session["id"], "--json").json
        self.assertEqual(result.out, texts(shown["entries"], "assistant")[-1] + "\n")

    def test_chat_json(self):
        result = self.home.reef("chat", "-s", "json", "-p", "hello", "--json")
        self.expect_ok(result, "chat -p --json")
        self.assertIn("not a language model", result.json["reply"])
        self.assertEqual((result.json["agent"], result.json["sender"]), ("reef", "json"))
        self.assertEqual(result.out.count("\n"), 1, "one line")

    def test_chat_with_agent_option(self):
        self.expect_ok(self.home.reef("chat", "-a", "reef", "-s", "agent option", "-p", "hello"))

    def test_chat_takes_a_message_of_several_lines(self):
        self.expect_ok(self.home.reef("chat", "-s", "lines", "-p", "one\ntwo\n\nthree"))
        session = next(s for s in self.home.reef("sessions", "--json").json if s["sender"] == "lines")
        entries = self.home.reef("show", session["id"], "--json").json["entries"]
        self.assertEqual(texts(entries, "user"), ["one\ntwo\n\nthree"])

    def test_chat_failures(self):
        self.expect_failure(self.home.reef("chat", "-a", "nobody", "-p", "hello"), "unknown agent")
        self.expect_failure(self.home.reef("chat", "-s", "a\nb", "-p", "hello"), "bad sender")
        self.assertEqual(self.home.reef("chat", "-s", "../x", "-p", "hello").code, 0, "a sender names no file")
        self.expect_failure(self.home.reef("chat", "-a", "nobody\nhere", "-p", "hello"), "unknown agent of two lines")
        self.expect_failure(self.home.reef("chat", "-a", "nobody", "-p", "hello", "--json"), "unknown agent, JSON")

    def test_chat_with_an_empty_message(self):
        result = self.home.reef("chat", "-p", "")
        self.assertIn(result.code, (1, 2), result)
        self.assertEqual(result.out, "")

    def test_ping(self):
        self.expect_ok(self.home.reef("ping"))
        result = self.home.reef("ping", "--json")
        self.expect_ok(result)
        self.assertIsInstance(result.json, dict)

    def test_status(self):
        result = self.home.reef("status")
        self.expect_ok(result)
        self.assertIn(str(self.home.pid), result.out)
        self.assertIn(self.home.path, result.out)
        result = self.home.reef("status", "--json")
        self.expect_ok(result)
        self.assertEqual(result.json["pid"], self.home.pid)
        self.assertEqual(result.json["home"], self.home.path)
        self.assertRegex(result.json["version"], r"^\d+\.\d+")

    def test_sessions(self):
        before = datetime.now().timestamp()
        self.home.reef("chat", "-s", "Zoë 🐚", "-p", "hello")
        result = self.home.reef("sessions", "--json")
        self.expect_ok(result)
        self.assertIsInstance(result.json, list)
        session = next(s for s in result.json if s["sender"] == "Zoë 🐚")
        for name in ("id", "key", "agent", "sender", "updatedAt"):
            self.assertIsInstance(session[name], str, name)
            self.assertTrue(session[name], name)
        self.assertEqual(session["agent"], "reef")
        self.assertEqual(session["messageCount"], 2)
        self.assertIn("reef", session["key"])
        self.assertIn("Zoë 🐚", session["key"])
        self.assertRegex(session["updatedAt"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$")
        updated = datetime.fromisoformat(session["updatedAt"]).timestamp()
        self.assertTrue(before - 2 < updated < datetime.now().timestamp() + 2, "updatedAt is now")
        ids = [s["id"] for s in result.json]
        self.assertEqual(len(ids), len(set(ids)), "ids are unique")
        plain = self.home.reef("sessions")
        self.expect_ok(plain)
        for number in ids:
            self.assertIn(number, plain.out)
        self.assertIn("Zoë 🐚", plain.out)

    def test_show(self):
        self.home.reef("chat", "-s", "shown", "-p", "the cat sat on the mat")
        session = next(s for s in self.home.reef("sessions", "--json").json if s["sender"] == "shown")
        plain = self.home.reef("show", session["id"])
        self.expect_ok(plain)
        self.assertIn("the cat sat on the mat", plain.out)
        self.assertIn("not a language model", plain.out)
        result = self.home.reef("show", session["id"], "--json")
        self.expect_ok(result)
        self.assertIn("the cat sat on the mat", texts(result.json["entries"], "user"))

    def test_show_of_an_unknown_session(self):
        for words in (["nope"], ["nope", "--json"], ["../../../etc/passwd"], ["..."], ["a\nb"]):
            self.expect_failure(self.home.reef("show", *words), f"show {words}")

    def test_show_does_not_hand_escape_codes_on(self):
        self.home.say("bell \x07 and \x1b[31mred\x1b[0m \x1b]0;title\x07", sender="escapes")
        session = next(s for s in self.home.reef("sessions", "--json").json if s["sender"] == "escapes")
        for words in (["show", session["id"]], ["sessions"], ["show", session["id"], "--json"], ["sessions", "--json"]):
            result = self.home.reef(*words)
            self.expect_ok(result)
            self.assertNotIn(ESCAPE, result.out, f"{words}: a message must not drive the terminal")
            self.assertNotIn("\x07", result.out, f"{words}: a message must not ring")

    def test_kill(self):
        self.expect_failure(self.home.reef("kill", "-s", "nobody"), "kill of an unknown conversation")
        self.expect_failure(self.home.reef("kill", "-s", "nobody", "--json"), "kill of an unknown conversation")
        self.home.reef("chat", "-s", "idle", "-p", "hello")
        result = self.home.reef("kill", "-s", "idle", "--json")
        self.assertIn(result.code, (0, 1))
        if result.code == 0:
            self.assertIsInstance(result.json, dict)

    def test_reload(self):
        self.expect_ok(self.home.reef("reload"))
        result = self.home.reef("reload", "--json")
        self.expect_ok(result)
        self.assertIsInstance(result.json, dict)

    def test_no_escape_codes_in_a_pipe(self):
        self.home.reef("chat", "-s", "pipe", "-p", "hello")
        session = self.home.reef("sessions", "--json").json[0]["id"]
        for words in (["chat", "-p", "x"], ["chat"], ["ping"], ["status"], ["sessions"], ["show", session], ["reload"],
                      ["show", "nope"], ["bogus"], ["chat", "-a", "nobody", "-p", "x"]):
            result = self.home.reef(*words, stdin="hello\n", env={"TERM": "xterm-256color"})
            self.assertNotIn(ESCAPE, result.out + result.err, f"reef {words}")

    def test_no_colour_on_a_terminal(self):
        """NO_COLOR holds even when stdout and stderr are a terminal."""
        self.home.reef("chat", "-s", "tty", "-p", "hello")
        session = self.home.reef("sessions", "--json").json[0]["id"]
        for words in (["chat", "-p", "x"], ["status"], ["sessions"], ["show", session], ["show", "nope"]):
            main, side = pty.openpty()
            try:
                process = subprocess.Popen([binary("reef"), "--home", self.home.path] + words, stdin=subprocess.DEVNULL,
                                           stdout=side, stderr=side,
                                           env=environment() | {"NO_COLOR": "1", "TERM": "xterm-256color"})
                os.close(side)
                side = None
                seen = b""
                try:
                    while piece := os.read(main, 65536):
                        seen += piece
                except OSError:
                    pass  # the terminal of an ended process reads as an error
                process.wait(TIMEOUT)
            finally:
                os.close(main)
                if side is not None:
                    os.close(side)
            self.assertTrue(seen, words)
            self.assertNotRegex(seen, rb"\x1b\[[0-9;]*m", f"reef {words} with NO_COLOR")

    def test_closed_pipe(self):
        """`reef sessions | head -0`: no complaint about the pipe, no crash."""
        reading, writing = os.pipe()
        os.close(reading)
        try:
            done = subprocess.run([binary("reef"), "--home", self.home.path, "status"], stdin=subprocess.DEVNULL,
                                  stdout=writing, stderr=subprocess.PIPE, env=environment(), timeout=30,
                                  restore_signals=True)
        finally:
            os.close(writing)
        self.assertIn(done.returncode, (0, 1, -signal.SIGPIPE), done)

    def test_two_clients_at_once(self):
        results = []
        threads = [threading.Thread(target=lambda n=n: results.append(
            self.home.reef("chat", "-s", f"at once {n}", "-p", "hello"))) for n in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for result in results:
            self.expect_ok(result)


class Input(CliCase):
    def setUp(self):
        self.home = Home()
        self.addCleanup(self.home.cleanup)
        self.home.start()

    def heard(self):
        return texts(read_lines(self.home.transcript()), "user")

    def test_a_line_is_a_message(self):
        result = self.home.reef("chat", stdin="one\ntwo\nthree\n")
        self.expect_ok(result)
        self.assertEqual(self.heard(), ["one", "two", "three"])
        answers = texts(read_lines(self.home.transcript()), "assistant")
        self.assertEqual(result.out, "".join(a + "\n" for a in answers), "an answer each, nothing else")

    def test_last_line_without_its_end(self):
        self.expect_ok(self.home.reef("chat", stdin="one\ntwo"))
        self.assertEqual(self.heard(), ["one", "two"])

    def test_blank_lines_are_no_messages(self):
        self.expect_ok(self.home.reef("chat", stdin="\n\none\n\n   \n\t\ntwo\n\n"))
        self.assertEqual(self.heard(), ["one", "two"])

    def test_crlf(self):
        self.expect_ok(self.home.reef("chat", stdin="one\r\n\r\ntwo\r\n"))
        self.assertEqual(self.heard(), ["one", "two"], "a carriage return belongs to the line's end")

    def test_only_blank_lines(self):
        self.expect_ok(self.home.reef("chat", stdin="\n  \n"))
        self.assertEqual(self.home.transcripts(), [], "no message, no session")

    def test_chat_is_the_default_command(self):
        result = self.home.reef(stdin="hello\n")
        self.expect_ok(result)
        self.assertEqual(self.heard(), ["hello"])

    def test_json(self):
        result = self.home.reef("chat", "--json", stdin="one\ntwo\n")
        self.expect_ok(result)
        lines = [json.loads(line) for line in result.out.splitlines()]
        self.assertEqual(len(lines), 2)
        self.assertTrue(all(line["reply"] for line in lines))

    def test_empty_stdin_shows_the_status(self):
        for words in ([], ["chat"]):
            result = self.home.reef(*words, stdin="")
            self.expect_ok(result, f"reef {words} < /dev/null")
            self.assertIn(str(self.home.pid), result.out)
        self.assertEqual(self.home.transcripts(), [], "no message, no session")

    def test_bytes_that_are_not_utf8(self):
        result = self.home.reef("chat", stdin=b"caf\xe9 \xff\xfe\nfine\n")
        self.assertEqual(result.code, 0, result)
        heard = self.heard()
        self.assertEqual(len(heard), 2, heard)
        self.assertTrue(heard[0].startswith("caf"), heard)
        self.assertEqual(heard[1], "fine")

    def test_long_line(self):
        self.expect_ok(self.home.reef("chat", stdin="word " * 40000 + "\n"))
        self.assertEqual(len(self.heard()[0].split()), 40000)

    def test_non_utf8_arguments(self):
        result = self.home.reef("chat", "-p", b"caf\xe9")
        self.assertIn(result.code, (0, 1, 2), result)
        self.assertTrue(self.home.ping())
        for path in self.home.transcripts():
            read_lines(path)


class Terminal(CliCase):
    """`reef chat` on a (pseudo-)terminal."""

    def open(self, home, *words):
        self.main, side = pty.openpty()
        self.addCleanup(os.close, self.main)
        self.process = subprocess.Popen([binary("reef"), "--home", home.path, "chat", *words], stdin=side, stdout=side,
                                        stderr=side, env=environment() | {"TERM": "xterm"}, start_new_session=True)
        self.addCleanup(self.process.wait)
        self.addCleanup(self.process.kill)
        os.close(side)
        self.seen = b""

    def type(self, text):
        os.write(self.main, text.encode())

    def read_until(self, words):
        """Read until `words` were seen; forget what came up to them."""
        deadline = time.monotonic() + TIMEOUT
        while words not in self.seen:
            if not select.select([self.main], [], [], max(0, deadline - time.monotonic()))[0]:
                self.fail(f"waited for {words!r}, saw {self.seen!r}")
            try:
                self.seen += os.read(self.main, 65536)
            except OSError:
                self.fail(f"the program ended before {words!r}, saw {self.seen!r}")
        self.seen = self.seen.split(words, 1)[1]

    def end(self):
        """Ctrl-D at the prompt: once the line editor, if there is one, has the terminal."""
        deadline = time.monotonic() + 1
        while termios.tcgetattr(self.main)[3] & termios.ICANON and time.monotonic() < deadline:
            time.sleep(0.005)
        self.type("\x04")
        self.expect_end()

    def expect_end(self):
        try:
            self.assertEqual(self.process.wait(3), 0)
        except subprocess.TimeoutExpired:
            self.fail("Ctrl-D does not end the program")

    def test_lines_are_answered(self):
        """A line typed is answered; the end of input (Ctrl-D) ends the program with 0."""
        with Home() as home:
            self.open(home)
            self.read_until(b"> ")
            self.type("grüß dich\n")
            self.read_until(b"language model")
            self.read_until(b"\n> ")
            self.type("the end is near\n")
            self.read_until(b"Noted")
            self.read_until(b"\n> ")
            self.end()
            self.assertEqual(texts(read_lines(home.transcript()), "user"), ["grüß dich", "the end is near"])

    def test_ctrl_d_typed_during_a_reply(self):
        with Home(script=script({"text": "one two three four five six", "delay_ms": 30})) as home:
            self.open(home, "-a", "scripted")
            self.read_until(b"> ")
            self.type("hello\n")
            self.read_until(b"two")
            self.type("\x04")
            self.read_until(b"six")
            self.read_until(b"\n")
            self.expect_end()

    def test_ctrl_c_during_a_reply(self):
        """Ctrl-C cancels the reply, not the program."""
        with Home(script=script({"text": "so far", "hang": True}, {"text": "fine"})) as home:
            self.open(home, "-a", "scripted")
            self.read_until(b"> ")
            self.type("one\n")
            self.read_until(b"far")
            os.kill(self.process.pid, signal.SIGINT)
            self.read_until(b"\n> ")
            self.type("two\n")
            self.read_until(b"fine")
            self.read_until(b"\n> ")
            self.end()
            self.assertEqual(texts(read_lines(home.transcript()), "user"), ["one", "two"])


class Model(CliCase):
    """Replies that fail or hang, by the scripted provider."""

    def test_failure_is_exit_1_with_the_reason(self):
        with Home(script=script({"fail": "rate_limit", "message": "slow down", "http_status": 429})) as home:
            result = home.reef("chat", "-a", "scripted", "-p", "hello")
            self.expect_failure(result, "failing model")
            self.assertIn("slow down", result.err)
            result = home.reef("chat", "-a", "scripted", "-p", "hello", "--json")
            self.assertEqual(result.code, 1, result)
            self.assertIn("slow down", result.err + result.out)
            if result.out:
                self.assertTrue(result.json["error"], "JSON of a failure names it")

    def test_failure_among_piped_lines(self):
        with Home(script=script({"text": "fine"}, {"fail": "rate_limit", "message": "slow down"},
                                {"text": "fine again"})) as home:
            result = home.reef("chat", "-a", "scripted", stdin="one\ntwo\nthree\n")
            self.assertEqual(result.code, 1, "one message failed")
            self.assertIn("slow down", result.err)
            self.assertTrue(result.out.startswith("fine\n"), result)

    def test_kill_command(self):
        with Home(script=script({"text": "so far", "hang": True})) as home:
            chat = subprocess.Popen([binary("reef"), "--home", home.path, "chat", "-a", "scripted", "-p", "hello"],
                                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                    env=environment())
            try:
                wait_for(lambda: home.reef("status", "--json").json["activeConversations"] == 1, "a running turn")
                wait_for(home.transcripts, "its transcript")
                self.expect_ok(home.reef("kill", "-a", "scripted"), "kill")
                out, err = chat.communicate(timeout=TIMEOUT)
            finally:
                chat.kill()
                chat.wait()
            self.assertEqual(chat.returncode, 1, (out, err))
            self.assertRegex(err.decode(), r"\Areef: [^\n]+: [^\n]+\n\Z")
            read_lines(home.transcript())

    def test_reply_with_line_ends(self):
        with Home(script=script({"text": "first\n\nsecond\n"})) as home:
            result = home.reef("chat", "-a", "scripted", "-p", "hello")
            self.expect_ok(result)
            self.assertEqual(result.out.rstrip("\n"), "first\n\nsecond")


class Life(CliCase):
    """Starting and stopping the daemon."""

    def test_no_start(self):
        with Home(start=False) as home:
            for words in (["chat", "-p", "x"], ["ping"], ["status"], ["sessions"], ["show", "x"], ["kill"], ["reload"],
                          ["ping", "--json"], ["status", "--json"]):
                self.expect_failure(home.reef("--no-start", *words), f"--no-start {words}")
            self.assertIsNone(home.stray_pid())

    def test_start_by_itself(self):
        with Home(start=False) as home:
            result = home.reef("chat", "-p", "hello")
            self.assertEqual(result.code, 0, result)
            self.assertRegex(result.err, r"\Areef: .*start.*\n\Z", "says so on stderr, in one line")
            self.assertIn("not a language model", result.out)
            self.expect_ok(home.reef("ping"), "the second command finds it running")
            pid = home.reef("status", "--json").json["pid"]
            self.assertEqual(pid, home.stray_pid())
            self.expect_ok(home.reef("stop"))

    def test_fresh_home_is_created(self):
        with Home(start=False) as home:
            os.rmdir(home.path)
            result = home.reef("chat", "-p", "hello")
            self.assertEqual(result.code, 0, result)
            mode = stat.S_IMODE(os.stat(home.path).st_mode)
            self.assertEqual(mode & 0o077, 0, f"conversations are private; the home has mode {mode:o}")

    def test_simultaneous_starts(self):
        """Five clients find no daemon: one starts, all are answered."""
        with Home(start=False) as home:
            results = []
            threads = [threading.Thread(target=lambda n=n: results.append(
                home.reef("chat", "-s", f"s{n}", "-p", "hello"))) for n in range(5)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            for result in results:
                self.assertEqual(result.code, 0, result)
                self.assertIn("not a language model", result.out)
            self.assertEqual(len(home.reef("sessions", "--json").json), 5)

    def test_started_daemon_lets_go_of_the_pipe(self):
        """`reef ping | cat` must end although the daemon it started lives on."""
        with Home(start=False) as home:
            result = home.reef("ping", timeout=10)  # run() returns at the end of both pipes
            self.assertEqual(result.code, 0, result)
            self.assertIsNotNone(home.stray_pid())

    def test_stop(self):
        with Home() as home:
            self.expect_ok(home.reef("stop"))
            self.assertEqual(home.wait(), 0, "a stopped daemon exits 0")
            again = home.reef("stop")
            self.assertEqual(again.code, 0, again)
            self.assertIsNone(home.stray_pid(), "stop must not start a daemon to stop it")
            self.assertIsInstance(home.reef("stop", "--json").json, dict)
            self.assertFalse(os.path.exists(home.file("run/reefd.sock")), "the socket is taken away")

    def test_stopped_means_gone(self):
        with Home(start=False) as home:
            home.reef("ping")
            self.expect_ok(home.reef("stop"))
            self.assertIsNone(home.stray_pid(), "when stop returns, the daemon has ended")
            self.assertEqual(home.reef("ping").code, 0, "and a new one can start at once")

    def test_signals(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with Home() as home:
                home.say("hello")
                os.kill(home.pid, number)
                self.assertEqual(home.process.wait(5), 0, f"{number.name}: drained, exit 0")

    def test_stop_waits_for_a_running_turn(self):
        """SIGTERM drains: a turn that takes a moment is finished and answered."""
        with Home(script=script({"text": "one two three four five six seven eight", "delay_ms": 60})) as home:
            with home.connect() as link:
                link.send(request(STREAM, turn("scripted")))
                while link.recv().event != "chunk":
                    pass
                os.kill(home.pid, signal.SIGTERM)
                events = link.events()
                self.assertEqual(events[-1].detail.str(2), "", "the running turn is finished")
            self.assertEqual(home.wait(), 0)
            self.assertEqual(texts(read_lines(home.transcript()), "assistant"),
                             ["one two three four five six seven eight"])

    def test_sighup_reloads(self):
        with Home() as home, home.connect() as link:
            home.write("agents/second.toml", 'model = "local"\n')
            os.kill(home.pid, signal.SIGHUP)
            wait_for(lambda: link.call(GET_STATS).body.int(3) == 2, "the second agent after SIGHUP")

    def test_reload_keeps_runs_and_connections(self):
        with Home(script=script({"text": "one two three four five six seven eight", "delay_ms": 40})) as home:
            with home.connect() as link, home.connect() as other:
                link.send(request(STREAM, turn("scripted")))
                while link.recv().event != "chunk":
                    pass
                self.assertEqual(other.call(RELOAD).tag, PONG)
                self.assertEqual(link.events()[-1].detail.str(2), "", "the run goes on through a reload")
                self.assertEqual(link.call(PING).tag, PONG)

    def test_second_daemon(self):
        with Home() as home:
            done = subprocess.run([binary("reefd"), "--home", home.path], capture_output=True, text=True,
                                  env=environment(), timeout=10)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(str(home.pid), done.stderr, "the second start says which pid holds the home")
            self.assertTrue(home.ping(), "the first one is not disturbed")

    def test_second_daemon_by_another_path(self):
        with Home() as home:
            alias = os.path.join(home.base, "alias")
            os.symlink(home.path, alias)
            done = subprocess.run([binary("reefd"), "--home", alias + "/"], capture_output=True, text=True,
                                  env=environment(), timeout=10)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(str(home.pid), done.stderr)
            self.assertTrue(home.ping())

    def test_stale_lock_and_socket(self):
        """After kill -9 the lock file and the socket are still there: the next start needs no help."""
        with Home() as home:
            home.kill9()
            self.assertTrue(os.path.exists(home.file("run/reefd.sock")))
            result = home.reef("ping")
            self.assertEqual(result.code, 0, result)

    def test_stale_lock_with_a_living_pid(self):
        """A pid that was reused by someone else (here: us) does not hold the home."""
        with Home() as home:
            home.kill9()
            home.write("run/reefd.lock", f"{os.getpid()}\n")
            home.start()
            self.assertTrue(home.ping())

    def test_every_start_has_a_greater_epoch(self):
        """The second line of the lock file, also after kill -9 and when the file is lost."""
        with Home() as home:
            def epoch():
                pid, number = home.read("run/reefd.lock").split()
                self.assertEqual(int(pid), home.pid)
                return int(number)
            seen = [epoch()]
            for end in (home.kill9, home.stop, lambda: (home.stop(), os.unlink(home.file("run/reefd.lock")))):
                end()
                home.start()
                seen.append(epoch())
            self.assertEqual(seen, sorted(set(seen)))

    def test_a_daemon_whose_lock_is_taken_away_stops(self):
        """Another daemon may start then, and two in one home must not be."""
        with Home(script=script({"text": "yes"})) as home:
            home.say("before")
            os.unlink(home.file("run/reefd.lock"))
            self.assertEqual(home.wait(), 0)
            self.assertIn("not ours any more", home.read("logs/reefd.log"))
            home.start()
            home.say("after")
            self.assertTrue(home.ping())

    def test_human_lines_on_stderr(self):
        """In the foreground the log goes to stderr, and to a file under logs/."""
        with Home(start=False) as home:
            with open(home.log, "ab") as log:
                home.process = subprocess.Popen([binary("reefd"), "--home", home.path], stdin=subprocess.DEVNULL,
                                                stdout=subprocess.DEVNULL, stderr=log, env=environment())
            wait_for(lambda: "ready" in home.stderr(), "a line that says ready")
            os.kill(home.pid, signal.SIGHUP)
            wait_for(lambda: "reload" in home.stderr(), "a line about the reload")
            self.assertEqual(home.stop(), 0)
            logs = "".join(home.read(f"logs/{n}") for n in os.listdir(home.file("logs")))
            self.assertIn("ready", logs)
            self.assertIn("reload", logs)
            self.assertNotIn(ESCAPE, home.stderr() + logs)

    def test_systemd_is_told(self):
        """sd_notify: READY=1 once it is ready, STOPPING=1 or nothing at the end."""
        with Home(start=False) as home, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(os.path.join(home.base, "notify"))
            manager.settimeout(TIMEOUT)
            with open(home.log, "ab") as log:
                home.process = subprocess.Popen(
                    [binary("reefd"), "--home", home.path], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                    env=environment() | {"NOTIFY_SOCKET": os.path.join(home.base, "notify")})
            said = ""
            while "READY=1" not in said.split("\n"):
                said += manager.recv(4096).decode() + "\n"
            self.assertTrue(home.ping(), "ready means: clients can connect")
            self.assertEqual(home.stop(), 0)

    def test_start_is_quick_and_small(self):
        """Loose limits (the bench has the real ones): far over the issue's 50 ms, and the issue's 30 MB."""
        with Home(start=False) as home:
            began = time.monotonic()
            home.start()
            self.assertLess(time.monotonic() - began, 5)
            self.assertTrue(home.ping())
            resident = home.reef("status", "--json").json["residentBytes"]
            self.assertLess(resident, 30 * 1024 * 1024 if "san" not in str(BIN) else 1 << 40)


class Places(CliCase):
    """Homes with unusual paths."""

    def use(self, home, by):
        first = home.reef("chat", "-p", "hello", home_by=by)
        self.assertEqual(first.code, 0, f"the first chat starts a daemon: {first}")
        self.assertIn("not a language model", first.out)
        self.assertEqual(home.reef("status", "--json", home_by=by).json["home"], home.path)
        session = home.reef("sessions", "--json", home_by=by).json[0]
        self.expect_ok(home.reef("show", session["id"], home_by=by))
        with home.connect() as link:
            self.assertEqual(link.call(PING).tag, PONG)
        self.expect_ok(home.reef("stop", home_by=by))

    def test_long_home(self):
        for length in (108, 150):
            for by in ("option", "env"):
                with self.subTest(length=length, by=by), Home(start=False) as home:
                    os.rmdir(home.path)
                    home.path = os.path.join(home.base, "l" * (length - len(home.base) - 1))
                    self.assertEqual(len(home.path), length)
                    self.use(home, by)

    def test_around_the_limit_of_a_socket_path(self):
        """The length of the socket's path is limited: try homes that put it at 105 to 110 bytes."""
        for total in range(105, 111):
            with self.subTest(socket_path=total), Home(start=False) as home:
                tail = len("/run/reefd.sock")
                os.rmdir(home.path)
                home.path = os.path.join(home.base, "m" * (total - tail - len(home.base) - 1))
                self.assertEqual(len(home.file("run/reefd.sock")), total)
                self.assertEqual(home.reef("ping").code, 0)
                self.expect_ok(home.reef("stop"))

    def test_long_home_with_a_running_daemon(self):
        with Home(name="l" * 200) as home:
            self.expect_ok(home.reef("chat", "-p", "hello"))
            self.expect_ok(home.reef("ping"))

    def test_long_home_without_a_daemon(self):
        with Home(name="l" * 200, start=False) as home:
            self.expect_failure(home.reef("--no-start", "ping"))
            result = home.reef("stop")
            self.assertEqual(result.code, 0, result)

    def test_spaces_and_other_letters(self):
        for by in ("option", "env"):
            with self.subTest(by=by), Home(name="my hôme 日本 🐚 'q\"", start=False) as home:
                self.use(home, by)

    def test_relative_home(self):
        with Home(start=False) as home:
            result = subprocess.run([binary("reef"), "--home", "h", "chat", "-p", "hello"], cwd=home.base,
                                    stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment())
            self.assertEqual(result.returncode, 0, result)
            self.expect_ok(home.reef("ping"), "the same daemon by its full path")

    def test_default_home(self):
        """Without option and variable the home is ~/.reef."""
        with Home(name=".reef", start=False) as home:
            result = home.reef("ping", home_by="nothing", env={"HOME": home.base})
            self.assertEqual(result.code, 0, result)
            self.expect_ok(home.reef("ping"))

    def test_option_wins_over_variable(self):
        with Home() as home, Home(start=False) as other:
            self.assertEqual(home.reef("status", "--json", env={"REEF_HOME": other.path}).json["pid"], home.pid)
            self.assertEqual(other.listing(), set())

    def test_home_that_cannot_be(self):
        with Home(start=False) as home:
            home.write("file", "")
            result = subprocess.run([binary("reef"), "--home", home.file("file"), "ping"], stdin=subprocess.DEVNULL,
                                    capture_output=True, text=True, env=environment())
            self.assertEqual(result.returncode, 1, result)
            self.assertRegex(result.stderr, r"reef: .+: .+")


class Configuration(CliCase):
    def test_broken_config_at_reload(self):
        cases = {
            "[tcp]\nenabled = \"maybe\"\n": (2, "tcp.enabled"),
            "# a comment\n\n[tcp]\nport = 70000\n": (4, "port"),
            "[tcp]\nenabled = \n": (2, ""),
            "\n\n[providers.s]\nkind = \"nonsense\"\n": (4, "kind"),
        }
        with Home() as home:
            for text, (line, key) in cases.items():
                with self.subTest(text):
                    home.write("config.toml", text)
                    result = home.reef("reload")
                    self.expect_failure(result, "reload with a broken config.toml")
                    self.assertIn(f"config.toml:{line}", result.err, "names file and line of the bad value")
                    self.assertIn(key, result.err, "names the key")
                    self.assertIn("not a language model", home.reef("chat", "-p", "hello").out, "the daemon works on")
            home.write("config.toml", "")
            self.expect_ok(home.reef("reload"), "reload of the mended file")

    def test_broken_config_at_start(self):
        with Home(config="[tcp]\nport = \"x\"\n", start=False) as home:
            done = subprocess.run([binary("reefd"), "--home", home.path], capture_output=True, text=True,
                                  env=environment(), timeout=10)
            self.assertNotEqual(done.returncode, 0)
            for word in ("config.toml:2", "port"):
                self.assertIn(word, done.stderr)
            result = home.reef("ping")
            self.assertEqual(result.code, 1, result)
            self.assertIn("config.toml:2", result.err, "the client passes the reason on")

    def test_missing_script_names_its_key(self):
        with Home(config='[providers.s]\nkind = "scripted"\nscript = "none.json"\n', start=False) as home:
            done = subprocess.run([binary("reefd"), "--home", home.path], capture_output=True, text=True,
                                  env=environment(), timeout=10)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("none.json", done.stderr)
            self.assertIn("config.toml:3", done.stderr, "names file and line of the bad value")

    def test_broken_agent_file(self):
        with Home() as home:
            home.write("agents/broken.toml", "model = \n")
            result = home.reef("reload")
            self.assertIn("broken.toml", result.err + home.read("logs/reefd.log"), "somebody must say which file")
            self.assertTrue(home.ping())

    def test_unknown_keys_warn(self):
        with Home(config="bogus = 1\n[tcp]\nenabledd = true\n") as home:
            logs = home.read("logs/reefd.log")
            for word in ("bogus", "enabledd", "config.toml:1", "config.toml:3"):
                self.assertIn(word, logs)


if __name__ == "__main__":
    unittest.main()
