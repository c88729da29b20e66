"""A mount that does not answer: a message that wants to work there waits by itself, everything else goes on."""

import ctypes
import os
import time
import unittest

from reefbox import *

MNT_DETACH = 2
SOON = 2 * TIMEOUT / 10
libc = ctypes.CDLL(None, use_errno=True)


class DeadDisk(unittest.TestCase):
    def setUp(self):
        self.home = Home(script=script({"text": "so far", "hang": True}))
        self.addCleanup(self.home.cleanup)
        self.dead = os.path.join(self.home.base, "dead")
        os.mkdir(self.dead)
        # A file system in this process that never reads what it is asked.
        try:
            self.device = os.open("/dev/fuse", os.O_RDWR)
        except OSError as error:
            self.skipTest(f"no file system can be made here: {error}")
        self.addCleanup(self.revive)
        options = f"fd={self.device},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()}"
        if libc.mount(b"dead", self.dead.encode(), b"fuse", 0, options.encode()) != 0:
            self.skipTest(f"no file system can be mounted here: {os.strerror(ctypes.get_errno())}")
        self.home.start()

    def revive(self):
        """Whoever waits for it gets an error, and it goes."""
        if self.device >= 0:
            os.close(self.device)
        self.device = -1
        libc.umount2(self.dead.encode(), MNT_DETACH)

    def link(self):
        link = self.home.connect()
        self.addCleanup(link.close)
        return link

    def send(self, link, sender, cwd=None):
        link.send(request(STREAM, {**turn("scripted", "go", sender), 5: cwd}))

    def test_kills_pings_and_others_do_not_wait_for_it(self):
        stuck, busy = self.link(), self.link()
        self.send(busy, "ann")
        while busy.recv().event != "chunk":
            pass
        began = time.monotonic()
        self.send(stuck, "user", self.dead + "/project")
        self.home.ping()
        with self.home.connect() as link:
            self.assertEqual(link.call(KILL, {1: "scripted", 2: "ann"}).tag, PONG)
        self.assertEqual(busy.events()[-1].detail.str(2), "cancelled")
        self.assertLess(time.monotonic() - began, SOON, "nobody waited for the disk")
        reply = stuck.recv()
        self.assertEqual((reply.tag, reply.code), (ERROR, 504), reply)
        self.assertIn("does not answer", reply.text)
        self.assertEqual(self.home.ask(LIST_CONVERSATIONS, {2: "user"}).body.fields, {}, "nothing was begun")

    def test_a_kill_finds_the_message_that_waits_for_it(self):
        stuck = self.link()
        self.send(stuck, "user", self.dead)
        self.home.ping()
        began = time.monotonic()
        with self.home.connect() as link:
            self.assertEqual(link.call(KILL, {1: "scripted", 2: "user"}).tag, PONG)
        self.assertEqual(stuck.recv().code, 499)
        self.assertLess(time.monotonic() - began, SOON)

    def test_many_of_them_and_a_stop(self):
        links = [self.link() for _ in range(20)]
        for number, link in enumerate(links):
            self.send(link, f"c{number}", f"{self.dead}/{number}")
        with self.home.connect() as link:
            link.send(request(STREAM, {**turn("scripted", "go", "eve"), 5: "/"}))
            began = time.monotonic()
            self.assertEqual(link.recv().event, "start")
            self.assertLess(time.monotonic() - began, SOON, "folders on other disks are found")
        began = time.monotonic()
        self.home.stop()
        self.assertLess(time.monotonic() - began, 60 if sanitized() else 6)


if __name__ == "__main__":
    unittest.main()
