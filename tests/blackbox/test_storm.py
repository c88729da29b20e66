"""Many conversations at once: all of them right, memory bounded, cancelled in a storm, reloaded in the middle."""

import re
import unittest

from reefbox import *

CONVERSATIONS = 500
# The daemon's peak memory in any build but a sanitized one; measured values are 36 to 50.
PEAK_MIB_MAX = 120
PATIENCE = 60  # seconds, on a busy machine
CALLS = {"text": "look ", "calls": [{"name": "recall", "arguments": {"query": "walnut"}},
                                    {"name": "list_messages", "arguments": {"id": "260101-no-such"}}]}


class Storm(unittest.TestCase):
    def home(self, *replies):
        home = Home(script=script(*replies))
        self.addCleanup(home.cleanup)
        home.start()
        return home

    def begin(self, home, count, words, connections=None):
        """Streams with one sender each; all are sent before anything is read."""
        connections = connections or [home.connect() for _ in range(count)]
        for number, connection in enumerate(connections):
            self.addCleanup(connection.close)
            connection.sock.settimeout(PATIENCE)
            connection.send(request(STREAM, turn("scripted", f"{words} {number}", f"c{number}")))
        return connections

    def sessions(self, home):
        """Transcripts by their first words: lists of role and text."""
        out = {}
        for path in home.transcripts():
            messages = [e["message"] for e in read_lines(path) if e["type"] == "message"]
            said = [(m["role"], "".join(b.get("text", "") for b in m["content"])) for m in messages]
            out[said[0][1]] = (said, messages)
        return out

    def check_calls(self, messages, what):
        """Every call has its result, and nothing else has one."""
        open_calls = set()
        for message in messages:
            if message["role"] == "assistant":
                self.assertEqual(open_calls, set(), what)
                open_calls = {b["id"] for b in message["content"] if b["type"] == "toolCall"}
            elif message["role"] == "toolResult":
                self.assertIn(message["toolCallId"], open_calls, what)
                open_calls.remove(message["toolCallId"])
        self.assertEqual(open_calls, set(), what)

    def test_500_conversations_with_tools_and_a_reload_in_the_middle(self):
        home = self.home(CALLS, {"text": "done"})
        connections = self.begin(home, CONVERSATIONS, "walnut")
        with home.connect() as other:
            other.sock.settimeout(PATIENCE)
            self.assertEqual(other.call(RELOAD).tag, PONG)
        for number, connection in enumerate(connections):
            events = connection.events()
            names = [e.event for e in events]
            self.assertEqual(names[0], "start", (number, events))
            self.assertEqual(names[-1], "end", number)
            self.assertEqual(events[-1].detail.str(2), "", number)
            self.assertEqual(spoken(events), "look done", number)
            results = [e.detail.str(2) for e in events if e.event == "tool_result"]
            self.assertEqual(sorted(results), ["no memories found", "no session: 260101-no-such"], number)
        sessions = self.sessions(home)
        self.assertEqual(set(sessions), {f"walnut {n}" for n in range(CONVERSATIONS)})
        for words, (said, messages) in sessions.items():
            self.assertEqual([role for role, _ in said], ["user", "assistant", "toolResult", "toolResult", "assistant"])
            self.check_calls(messages, words)
        with open(f"/proc/{home.pid}/status") as status:
            peak = int(re.search(r"VmHWM:\s+(\d+) kB", status.read()).group(1)) // 1024
        print(f"peak {peak} MiB with {CONVERSATIONS} conversations", end=" ")
        if not sanitized():
            self.assertLess(peak, PEAK_MIB_MAX)

    def test_a_storm_of_kills_leaves_every_transcript_valid(self):
        home = self.home(CALLS, {"text": "so far", "hang": True}, {"text": "after"})
        count = 200
        connections = self.begin(home, count, "first")
        killers = [home.connect() for _ in range(4)]
        for killer in killers:
            killer.sock.settimeout(PATIENCE)
        # Some are killed before they began, some in the middle of tools, some while the model speaks.
        for round_ in range(3):
            for number in range(count):
                killer = killers[number % len(killers)]
                killer.send(request(KILL, {1: "scripted", 2: f"c{number}"}))
            for number in range(count):
                self.assertIn(killers[number % len(killers)].recv().tag, (PONG, ERROR))
        late = []
        for number, connection in enumerate(connections):
            while True:
                reply = connection.recv()
                if reply.event == "end" or reply.tag == ERROR:
                    break
                if reply.event == "chunk" and reply.detail.str(1) == "so ":
                    late.append(number)
                    killers[0].call(KILL, {1: "scripted", 2: f"c{number}"})
            wanted = reply.detail.str(2) if reply.event == "end" else reply.text
            self.assertIn("cancelled", wanted, number)
        # A killed turn ends for its readers at once, and is cleared away after that.
        with home.connect() as link:
            wait_for(lambda: link.call(GET_STATS).body.int(2) == 0, "nothing runs any more", PATIENCE)
        for words, (_, messages) in self.sessions(home).items():
            self.check_calls(messages, words)
        self.assertTrue(home.ping())


if __name__ == "__main__":
    unittest.main()
