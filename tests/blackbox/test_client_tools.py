"""Tools that the client of a turn runs: a client that has left keeps nobody waiting."""

import threading
import time
import unittest

from reefbox import *

REPLY_TO_TOOL, CLIENT_ID = 53, 320
FORWARD = 15
EVENTS[FORWARD] = "tool_call_forward"
LEFT = "the client that runs this tool has left"
ALLOWED = {"agents/scripted.toml": 'model = "s/x"\npermission_mode = "allow-all"\n'}
# A word every 50 ms, then a call of the client's tool: long enough to leave before it.
SLOW = {"text": "wait", "repeat": 20, "delay_ms": 20, "calls": [{"name": "lens", "arguments": {"at": 1}}]}
CALL = {"calls": [{"name": "lens", "arguments": {"at": 1}}]}


class ClientTools(unittest.TestCase):
    def home(self, *replies, **more):
        home = Home(script=script(*replies), files=ALLOWED, **more)
        self.addCleanup(home.cleanup)
        home.start()
        return home

    def link(self, home, tcp=False):
        if not tcp:
            link = home.connect()
        else:
            link = Connection.tcp(home.read("run/reefd.tcp").strip())
            with open(home.file("run/token"), encoding="utf-8") as token:
                self.assertEqual(link.hello(token.read().strip()).tag, HELLO_REPLY)
        self.addCleanup(link.close)
        return link

    def ask(self, link, name=None, tools=("lens",), id_=1):
        fields = message({1: "scripted", 2: "go", 4: "user"}) + b"".join(
            field(8, message({1: tool, 2: "looks", 3: "{}"})) for tool in tools)
        payload = request(STREAM, fields, id_)
        if name:
            payload += field(CLIENT_ID, name)
        link.send(payload)

    def until(self, link, event):
        while True:
            reply = link.recv()
            self.assertNotEqual(reply.event, "end", "too early")
            if reply.event == event:
                return reply.detail

    def results(self, home):
        return [e["message"]["content"][0]["text"] for e in read_lines(home.transcript())
                if e.get("type") == "message" and e["message"]["role"] == "toolResult"]

    def wait_for_end(self, home):
        began = time.monotonic()
        wait_for(lambda: "done" in texts(read_lines(home.transcript()), "assistant"), "the end of the turn")
        return time.monotonic() - began

    def test_a_client_that_leaves_before_its_tool_is_called(self):
        for tcp in (False, True):
            with self.subTest(tcp=tcp):
                home = self.home(SLOW, {"text": "done"}, config="[tcp]\nenabled = true\nport = 0\n")
                link = self.link(home, tcp)
                self.ask(link)
                self.until(link, "chunk")
                link.close()
                self.wait_for_end(home)
                self.assertEqual(self.results(home), [LEFT])
                home.cleanup()

    def test_a_client_that_leaves_instead_of_answering(self):
        for tcp in (False, True):
            with self.subTest(tcp=tcp):
                home = self.home(CALL, {"text": "done"}, config="[tcp]\nenabled = true\nport = 0\n")
                link = self.link(home, tcp)
                self.ask(link)
                self.until(link, "tool_call_forward")
                link.close()
                self.assertLess(self.wait_for_end(home), 3 * TIMEOUT / 10)
                self.assertEqual(self.results(home), [LEFT])
                home.cleanup()

    def test_a_client_that_leaves_while_its_message_waits(self):
        home = self.home({"text": "first", "delay_ms": 400}, CALL, {"text": "done"})
        before = self.link(home)
        before.send(request(STREAM, turn("scripted", "before", "user")))
        self.until(before, "start")
        link = self.link(home)
        self.ask(link)
        home.ping()
        link.close()
        self.wait_for_end(home)
        self.assertEqual(self.results(home), [LEFT])

    def test_another_client_with_the_same_tools_goes_on(self):
        home = self.home(CALL, CALL, {"text": "done"})
        first, second = self.link(home), self.link(home)
        self.ask(first, "m1")
        forward = self.until(first, "tool_call_forward")
        self.ask(second, "m1")
        again = self.until(second, "tool_call_forward")
        self.assertEqual((again.str(1), again.int(4)), (forward.str(1), forward.int(4)))
        first.close()
        home.ping()
        reply = {1: forward.str(1), 2: "seen", 4: forward.int(4)}
        with home.connect() as mouth:
            self.assertEqual(mouth.call(REPLY_TO_TOOL, reply).tag, PONG)
        # The next call is the second client's alone. A third reads what is over, and is not asked for it.
        forward = self.until(second, "tool_call_forward")
        third = self.link(home)
        self.ask(third, "m1")
        seen = self.until(third, "tool_call_forward")
        self.assertEqual(seen.str(1), forward.str(1))
        with home.connect() as mouth:
            self.assertEqual(mouth.call(REPLY_TO_TOOL, {1: forward.str(1), 2: "seen too", 4: forward.int(4)}).tag, PONG)
        self.wait_for_end(home)
        self.assertEqual(self.results(home), ["seen", "seen too"])

    def test_one_that_only_reads_along_or_has_other_tools_does_not_count(self):
        home = self.home(CALL, {"text": "done"})
        first, reader, other = self.link(home), self.link(home), self.link(home)
        self.ask(first, "m1")
        self.until(first, "tool_call_forward")
        reader.send(request(ATTACH_RUN, {1: "scripted", 2: "user"}))
        self.until(reader, "start")
        self.ask(other, "m1", tools=("hammer",))
        self.until(other, "start")
        first.close()
        self.wait_for_end(home)
        self.assertEqual(self.results(home), [LEFT])

    def test_one_that_comes_back_is_asked_for_what_comes_then(self):
        slow = {"text": "wait", "repeat": 10, "delay_ms": 50, "calls": CALL["calls"]}
        home = self.home(CALL, slow, {"text": "done"})
        first = self.link(home)
        self.ask(first, "m1")
        self.until(first, "tool_call_forward")
        first.close()
        wait_for(lambda: self.results(home) == [LEFT], "the first call to end")
        second = self.link(home)
        self.ask(second, "m1")
        forward = self.until(second, "tool_call_forward")
        with home.connect() as mouth:
            self.assertEqual(mouth.call(REPLY_TO_TOOL, {1: forward.str(1), 2: "back", 4: forward.int(4)}).tag, PONG)
        self.wait_for_end(home)
        self.assertEqual(self.results(home), [LEFT, "back"])


if __name__ == "__main__":
    unittest.main()
