"""Limits for clients: strangers on TCP, descriptors, memory of unfinished frames."""

import os
import resource
import select
import socket
import struct
import subprocess
import time
import unittest

from reefbox import *

MIB = 1 << 20
TCP = '[tcp]\nenabled = true\nport = 0\n'


def resident(pid):
    with open(f"/proc/{pid}/statm", encoding="ascii") as text:
        return int(text.read().split()[1]) * resource.getpagesize()


class Case(unittest.TestCase):
    def home(self, config="", **options):
        home = Home(config=config, **options)
        self.addCleanup(home.cleanup)
        home.start()
        return home

    def keep(self, sock):
        self.addCleanup(sock.close)
        return sock


class Strangers(Case):
    def limited(self, descriptors):
        """A home whose daemon may open so many files."""
        home = Home(config=TCP)
        self.addCleanup(home.cleanup)
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        real = subprocess.Popen

        def popen(*args, **options):
            return real(*args, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors)),
                        **options)

        subprocess.Popen = popen
        try:
            home.start()
        finally:
            subprocess.Popen = real
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, before[1]), before[1]))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, before)
        return home

    def test_connections_without_the_token_are_few_and_the_oldest_leaves(self):
        home = self.home(TCP)
        address = home.read("run/reefd.tcp").strip()
        crowd = [Connection.tcp(address) for _ in range(200)]
        for link in crowd:
            self.keep(link)
        with home.connect() as watch:
            wait_for(lambda: watch.call(GET_STATS).body.int(203) <= 32 + 1, "the crowd to shrink")
        with Connection.tcp(address) as link:
            self.assertEqual(link.hello(home.read("run/token").strip()).tag, HELLO_REPLY, "who has the token comes in")

    def test_with_few_descriptors_the_owner_is_served_and_no_reply_is_lost(self):
        home = self.limited(256)
        host, port = home.read("run/reefd.tcp").strip().rsplit(":", 1)
        for _ in range(400):
            sock = self.keep(socket.socket())
            sock.setblocking(False)
            sock.connect_ex((host, int(port)))
        for number in range(20):
            self.assertEqual(home.say(f"hello {number}").tag, RESPONSE)
        self.assertEqual(len(texts(read_lines(home.transcript()), "assistant")), 20)

    def test_the_owners_own_connections_leave_room_for_files(self):
        home = self.limited(256)
        for _ in range(400):
            sock = self.keep(socket.socket(socket.AF_UNIX))
            sock.setblocking(False)
            sock.connect_ex(home.file("run/reefd.sock"))
        # A client that got in is served, also when that opens files.
        with_token = Connection.tcp(home.read("run/reefd.tcp").strip())
        self.keep(with_token)
        with_token.hello(home.read("run/token").strip())
        for number in range(5):
            self.assertEqual(with_token.call(SEND, turn(content=f"hello {number}")).tag, RESPONSE)


class Frames(Case):
    def test_unfinished_frames_are_bounded_in_sum_and_all_come_to_their_end(self):
        home = self.home()
        size = 12 * MIB
        payload = request(SEND, {1: "nobody", 2: "x" * size})
        frame = struct.pack(">I", len(payload)) + payload
        links = [self.keep(home.connect(hello=False)) for _ in range(40)]
        sent = dict.fromkeys(links, 0)
        before = resident(home.pid)

        def push(until):
            for link in links:
                while sent[link] < until:
                    try:
                        sent[link] += link.sock.send(frame[sent[link]:min(until, sent[link] + MIB)])
                    except BlockingIOError:
                        break

        for link in links:
            link.sock.setblocking(False)
        # Send all but the last byte of every frame, as far as the daemon takes it.
        last = -1
        while sum(sent.values()) != last:
            last = sum(sent.values())
            push(len(frame) - 1)
            home.ping()
            time.sleep(0.02)
        if not sanitized():
            self.assertLess((resident(home.pid) - before) / MIB, 250, "of 480 MiB that were offered")
        self.assertEqual(home.say("small ones come through").tag, RESPONSE)
        answers = set()
        deadline = time.monotonic() + 6 * TIMEOUT
        while len(answers) < len(links):
            self.assertLess(time.monotonic(), deadline, f"{len(answers)} answers")
            push(len(frame))
            for link in select.select([l.sock for l in links if l not in answers], [], [], 0.01)[0]:
                (link,) = [l for l in links if l.sock is link]
                link.sock.setblocking(True)
                link.sock.settimeout(TIMEOUT)
                self.assertEqual(link.recv().code, 404)
                answers.add(link)

    def test_waiting_requests_are_bounded_in_sum_too(self):
        home = self.home(script=script({"text": "so far", "hang": True}))
        before = resident(home.pid)
        links = []
        for number in range(20):
            link = self.keep(home.connect())
            link.send(request(STREAM, turn("scripted", sender=f"s{number}")))
            while link.recv().event != "chunk":
                pass
            link.send(request(READ_SESSION, {1: "x" * (12 * MIB)}))
            links.append(link)
        home.ping()
        if not sanitized():
            self.assertLess((resident(home.pid) - before) / MIB, 180, "of 240 MiB")
        with home.connect() as other:
            for number in range(20):
                self.assertEqual(other.call(KILL, {1: "scripted", 2: f"s{number}"}).tag, PONG)
        codes = set()
        for link in links:
            while (reply := link.recv()).event != "end" and reply.tag != ERROR:
                pass
            codes.add((reply if reply.tag == ERROR and reply.code == 429 else link.recv()).code)
        self.assertEqual(codes, {429, 400}, "some were read, the others were refused in their turn")

    def test_dripping_connections_hold_nobody_up(self):
        home = self.home("[limits]\nstall_ms_max = 1000\n")
        drips = [self.keep(home.connect(hello=False)) for _ in range(6)]
        for link in drips:
            link.sock.setblocking(False)
        rest = {link: struct.pack(">I", 15 * MIB) + b"x" * (14 * MIB) for link in drips}

        def push():
            """A link that has sent all its data goes on with single bytes, again and again."""
            for link, data in rest.items():
                try:
                    rest[link] = data[link.sock.send(data[:MIB]):] or b"x"
                except BlockingIOError:
                    pass
                except (BrokenPipeError, ConnectionResetError):
                    rest[link] = b"x"
            home.ping()
            return sum(map(len, rest.values()))

        last = 0
        while last != (last := push()):
            pass
        self.assertGreater(last, 6, "not all of it was taken")
        large = self.keep(home.connect())
        large.send(request(SEND, turn(content="x" * 100_000)))  # the kernel holds it
        deadline = time.monotonic() + 2 * TIMEOUT
        while not select.select([large.sock], [], [], 0.02)[0]:
            self.assertLess(time.monotonic(), deadline, "a message of 100 kB waits for them")
            push()
        self.assertEqual(large.recv().tag, RESPONSE)

    def test_a_frame_that_stops_in_the_middle_is_cut(self):
        home = self.home("[limits]\nstall_ms_max = 300\n")
        link = self.keep(home.connect(hello=False))
        link.send_raw(struct.pack(">I", 10 * MIB) + b"x" * MIB)
        self.assertIsNone(link.recv())


class Memory(Case):
    def test_after_a_giant_transcript_memory_comes_down(self):
        lines, parent = [header_entry("s1"), bind_entry("b0", None, "reef", "user")], "b0"
        for number in range(2500):
            kind = user_entry if number % 2 == 0 else assistant_entry
            lines.append(kind(f"e{number}", parent, f"number{number} " + "x" * 40_000))
            parent = f"e{number}"
        home = self.home(files={"sessions/s1/session.jsonl": jsonl(*lines)})
        with home.connect() as link:
            link.sock.settimeout(6 * TIMEOUT)
            self.assertEqual(link.call(SEND, turn(content="go on")).tag, RESPONSE)
            self.assertEqual(link.call(GET_HISTORY, {1: "s1"}).code, 413, "it was read all the same")
            self.assertEqual(link.call(FORK_SESSION, {1: "s1"}).tag, SESSION_INFO)
            most = resident(home.pid)
        if sanitized():
            self.skipTest("a sanitizer keeps what was freed")
        wait_for(lambda: resident(home.pid) < 110 * MIB, f"less memory than {most // MIB} MiB", 3 * TIMEOUT)


if __name__ == "__main__":
    unittest.main()
