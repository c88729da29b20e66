"""TCP: off by default; the address and the token in run/; nothing without the token."""

import os
import re
import socket
import stat
import struct
import subprocess
import unittest
from pathlib import Path

from reefbox import *

ON = "[tcp]\nenabled = true\nport = 0\n"
TRUSTING = ON + "trust_loopback = true\n"


def address(home):
    return home.read("run/reefd.tcp").strip()


def token(home):
    return home.read("run/token").strip()


class TcpCase(unittest.TestCase):
    config = ON

    @classmethod
    def setUpClass(cls):
        cls.home = Home(config=cls.config)
        cls.addClassCleanup(cls.home.cleanup)
        cls.home.start()

    def connect(self):
        link = Connection.tcp(address(self.home))
        self.addCleanup(link.close)
        return link

    def tearDown(self):
        self.assertTrue(self.home.alive(), self.home.stderr())
        self.assertTrue(self.home.ping(), "the Unix socket still answers")

    def expect_refusal(self, link, what):
        reply = link.recv()
        self.assertIsNotNone(reply, f"{what}: closed without an Error frame")
        self.assertEqual((reply.tag, reply.code), (ERROR, 401), f"{what}: {reply}")
        self.assertTrue(reply.text, what)
        self.assertIsNone(link.recv(), f"{what}: the connection must be closed after the Error")


class Token(TcpCase):
    def test_address(self):
        self.assertRegex(address(self.home), r"^127\.0\.0\.1:[1-9]\d*$")

    def test_only_loopback(self):
        port = int(address(self.home).rsplit(":", 1)[1])
        rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        listening = {r[1] for r in rows if r[3] == "0A" and int(r[1].split(":")[1], 16) == port}
        self.assertEqual({a.split(":")[0] for a in listening}, {"0100007F"}, "it listens on 127.0.0.1 alone")

    def test_token_file(self):
        mode = stat.S_IMODE(os.stat(self.home.file("run/token")).st_mode)
        self.assertEqual(mode, 0o600, f"run/token has mode {mode:o}")
        self.assertGreaterEqual(len(token(self.home)), 16, "a token that cannot be guessed")
        self.assertNotIn(token(self.home), self.home.read("logs/reefd.log"), "a token is not for the log")
        self.assertNotIn(token(self.home), self.home.stderr())

    def test_without_hello(self):
        for tag in (PING, GET_STATS, SEND, STREAM, KILL, RELOAD, GET_CONFIG, 7, 20, 150, 201, 202, 203):
            with self.subTest(tag=tag):
                link = self.connect()
                link.send(request(tag, turn() if tag in (SEND, STREAM) else None, request_id=3))
                self.expect_refusal(link, f"operation {tag} without Hello")
        self.assertEqual(self.home.transcripts(), [], "nothing was done")

    def test_wrong_tokens(self):
        right = token(self.home)
        wrong = [None, "", "x", right[:-1], right + "x", right.swapcase() if right.swapcase() != right else "y",
                 right + "\n", " " + right, "x" * 3000]
        for value in wrong:
            with self.subTest(token=value and value[:12]):
                link = self.connect()
                link.send(request(HELLO, {1: "blackbox", 2: 1, 3: value}))
                self.expect_refusal(link, "wrong token")

    def test_a_stranger_cannot_send_much(self):
        # Before the token only a small frame is taken, so that strangers cannot fill the memory.
        link = self.connect()
        link.send(request(HELLO, {1: "blackbox", 2: 1, 3: "x" * 100000}))
        reply = link.recv()
        self.assertIsNotNone(reply)
        self.assertEqual((reply.tag, reply.code), (ERROR, 413), reply)
        self.assertIsNone(link.recv())

    def test_a_stranger_who_says_nothing_is_cut(self):
        silent, halting = self.connect(), self.connect()
        halting.send_raw(struct.pack(">I", 20) + b"x")
        self.assertIsNone(silent.recv())
        self.assertIsNone(halting.recv())

    def test_pipelined_after_a_wrong_token(self):
        link = self.connect()
        link.send(request(HELLO, {1: "blackbox", 2: 1, 3: "x"}))
        try:
            for _ in range(20):
                link.send(request(SEND, turn()))
        except OSError:
            pass
        self.expect_refusal(link, "requests behind a wrong token")
        self.assertEqual(self.home.transcripts(), [], "nothing was done")

    def test_right_token(self):
        link = self.connect()
        reply = link.hello(token(self.home))
        self.assertEqual(reply.tag, HELLO_REPLY, reply)
        self.assertTrue(reply.body.str(1))
        self.assertEqual(link.call(PING).tag, PONG)
        events = link.stream({1: "reef", 2: "hello", 4: "over tcp"}, request_id=9)
        names = [e.event for e in events]
        self.assertEqual(names[:2] + names[-3:], ["start", "text_start", "text_end", "context_usage", "end"])
        self.assertEqual(link.call(GET_CONFIG).code, 410, "what is gone is answered too")
        self.assertEqual(self.home.reef("sessions", "--json").json[0]["sender"], "over tcp")
        for path in self.home.transcripts():
            os.remove(path)  # other tests expect none, and a later start would not know it

    def test_hello_and_request_in_one_write(self):
        link = self.connect()
        frames = [request(HELLO, {1: "blackbox", 2: 1, 3: token(self.home)}), request(PING), request(GET_STATS)]
        link.send_raw(b"".join(struct.pack(">I", len(f)) + f for f in frames))
        self.assertEqual([link.recv().tag for _ in frames], [HELLO_REPLY, PONG, STATS])

    def test_unix_socket_needs_no_token(self):
        self.assertTrue(self.home.ping())

    def test_bad_frames(self):
        link = self.connect()
        link.send_raw(struct.pack(">I", MAX_FRAME + 1))
        reply = link.recv()
        self.assertEqual((reply.tag, reply.code), (ERROR, 413))
        self.assertIsNone(link.recv())
        link = self.connect()
        link.send(b"\xff" * 20)
        reply = link.recv()
        self.assertEqual(reply.tag, ERROR)
        self.assertIn(reply.code, (400, 401))
        self.assertIsNone(link.recv())

    def test_bad_frame_with_more_behind_it(self):
        """Unread bytes at close make TCP reset the connection: the Error must still arrive."""
        link = self.connect()
        self.assertEqual(link.hello(token(self.home)).tag, HELLO_REPLY)
        try:
            link.send_raw(struct.pack(">I", MAX_FRAME + 1) + b"\0" * 200000)
        except OSError:
            pass
        reply = link.recv()
        self.assertIsNotNone(reply, "reset before the Error frame was read")
        self.assertEqual((reply.tag, reply.code), (ERROR, 413))


class Trust(TcpCase):
    config = TRUSTING

    def test_no_token_is_needed(self):
        link = self.connect()
        self.assertEqual(link.call(PING).tag, PONG)
        self.assertEqual(link.call(SEND, {1: "reef", 2: "hello"}).tag, RESPONSE)

    def test_hello_without_token(self):
        link = self.connect()
        self.assertEqual(link.hello().tag, HELLO_REPLY)
        self.assertEqual(link.call(PING).tag, PONG)


class Start(unittest.TestCase):
    def start(self, home):
        return subprocess.run([binary("reefd"), "--home", home.path], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, env=environment(), timeout=10)

    def test_off_by_default(self):
        with Home() as home:
            self.assertFalse(os.path.exists(home.file("run/reefd.tcp")))
            self.assertNotIn("tcp", home.stderr().lower())
            owned = set()
            for name in os.listdir(f"/proc/{home.pid}/fd"):
                try:
                    owned.update(re.findall(r"socket:\[(\d+)\]", os.readlink(f"/proc/{home.pid}/fd/{name}")))
                except FileNotFoundError:
                    pass
            for table in ("/proc/net/tcp", "/proc/net/tcp6"):
                if os.path.exists(table):
                    for row in Path(table).read_text().splitlines()[1:]:
                        self.assertNotIn(row.split()[9], owned, "no TCP socket when TCP is off")

    def test_busy_port(self):
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            port = other.getsockname()[1]
            with Home(config=f"[tcp]\nenabled = true\nport = {port}\n", start=False) as home:
                done = self.start(home)
                self.assertNotEqual(done.returncode, 0, "a busy port is an error")
                self.assertIn(str(port), done.stderr, "that names the port")
                self.assertRegex(done.stderr.lower(), "in use|busy", "and the reason")
                self.assertFalse(os.path.exists(home.file("run/reefd.tcp")), "no address of a daemon that is not there")
                result = home.reef("ping")
                self.assertEqual(result.code, 1, result)
                self.assertIn(str(port), result.err, "the client passes the reason on")

    def test_fixed_port(self):
        """A port that was free a moment ago; a second start right after a stop finds it free again."""
        for _ in range(5):
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                port = probe.getsockname()[1]
            with Home(config=f"[tcp]\nenabled = true\nport = {port}\n", start=False) as home:
                try:
                    home.start()
                except AssertionError:
                    continue  # somebody else took it
                self.assertEqual(address(home), f"127.0.0.1:{port}")
                with Connection.tcp(address(home)) as link:
                    self.assertEqual(link.hello(token(home)).tag, HELLO_REPLY)
                    self.assertEqual(home.stop(), 0)
                home.start()
                return
        self.fail("no free port in five attempts")

    def test_stale_address(self):
        """The address of a daemon without TCP must not be on offer."""
        with Home(config=ON) as home:
            self.assertTrue(address(home))
            home.kill9()
            home.write("config.toml", "")
            home.start()
            self.assertFalse(os.path.exists(home.file("run/reefd.tcp")), "left over from a killed daemon")

    def test_address_is_taken_away_at_stop(self):
        with Home(config=ON) as home:
            self.assertEqual(home.stop(), 0)
            self.assertFalse(os.path.exists(home.file("run/reefd.tcp")))

    def test_loose_token_file(self):
        """A token file that others may read is made private or replaced, never used as it is."""
        with Home(config=ON, files={"run/token": "a-token-everyone-has-read\n"}, start=False) as home:
            os.chmod(home.file("run/token"), 0o644)
            try:
                home.start()
            except AssertionError:
                return  # refusing is as good
            self.assertEqual(stat.S_IMODE(os.stat(home.file("run/token")).st_mode), 0o600)

    def test_empty_token_file(self):
        with Home(config=ON, files={"run/token": ""}, start=False) as home:
            os.chmod(home.file("run/token"), 0o600)
            try:
                home.start()
            except AssertionError:
                return  # refusing is as good
            with Connection.tcp(address(home)) as link:
                reply = link.hello("")
                self.assertEqual((reply.tag, reply.code), (ERROR, 401), "an empty token opens nothing")

    def test_tokens_differ(self):
        with Home(config=ON) as one, Home(config=ON) as two:
            self.assertNotEqual(token(one), token(two))


if __name__ == "__main__":
    unittest.main()
