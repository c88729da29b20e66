"""Clients that follow something with a cursor, over connections that are cut: docs/protocol.md, and nothing else."""

import select
import time

from reefbox import *

FOLLOW_SESSIONS, FOLLOW_ENTRIES, FOLLOW_TASKS, FOLLOW_DECISIONS = 310, 311, 312, 313
FLAGGED = message({8: True})


def subs(body, number):
    return [Message(data) for data in body.fields.get(number, [])]


class Place:
    def __init__(self, body):
        place = body.sub(1) or Message(b"")
        self.cursor, self.start_over, self.caught_up = place.str(1), place.str(2), bool(place.int(3))


class Follower:
    """What docs/protocol.md tells a client to do, and nothing else. cut() leaves in the middle."""

    cursor_field = 2

    def __init__(self, home, tag, fields):
        self.home, self.tag, self.fields = home, tag, fields
        self.cursor, self.link, self.starts, self.answers = "", None, [], 0
        self.rest = b""
        self.clear()

    def begin(self):
        self.link = self.home.connect()
        self.rest = b""
        self.link.send(request(self.tag, {**self.fields, self.cursor_field: self.cursor or None}))
        return self

    def cut(self):
        if self.link:
            self.link.close()
        self.link = None

    def again(self):
        self.cut()
        return self.begin()

    def take(self, reply):
        if reply.tag == ERROR:
            raise AssertionError(reply)
        place = Place(reply.body)
        self.answers += 1
        if place.start_over:
            self.starts.append(place.start_over)
            self.cursor = ""
            self.clear()
        self.hear(reply.body)
        if place.cursor:
            self.cursor = place.cursor
        return place

    def read(self):
        return self.take(self.link.recv())

    def read_caught_up(self):
        while not self.read().caught_up:
            pass
        return self

    def read_ready(self):
        """Takes what has arrived, without waiting; whole answers only."""
        while select.select([self.link.sock], [], [], 0)[0]:
            data = self.link.sock.recv(1 << 16)
            if not data:
                raise AssertionError("the daemon closed")
            self.rest += data
        while len(self.rest) >= 4:
            size = int.from_bytes(self.rest[:4], "big")
            if len(self.rest) < 4 + size:
                return
            payload, self.rest = self.rest[4:4 + size], self.rest[4 + size:]
            self.take(Reply(payload))

    def read_until(self, condition, what):
        deadline = time.monotonic() + TIMEOUT
        while not condition():
            if time.monotonic() > deadline:
                raise AssertionError(f"waited for {what}; has {self.state()!r:.2000}")
            if select.select([self.link.sock], [], [], 0.5)[0]:
                self.read_ready()


class Rows(Follower):
    def __init__(self, home, query=b"", tag=FOLLOW_SESSIONS):
        super().__init__(home, tag, {1: query})

    def clear(self):
        self.rows = {}

    def hear(self, body):
        for row in subs(body, 2):
            self.rows[row.str(1)] = row.fields
        for gone in body.strs(3):
            self.rows.pop(gone, None)

    def state(self):
        return self.rows


class Tasks(Follower):
    cursor_field = 1

    def __init__(self, home):
        super().__init__(home, FOLLOW_TASKS, {})

    def clear(self):
        self.running, self.ended = {}, {}

    def hear(self, body):
        for task in subs(body, 2):
            self.running.pop(task.str(1), None)
            (self.running if task.str(12) == "running" else self.ended)[task.str(1)] = task.fields

    def state(self):
        return self.running, self.ended


class Entries(Follower):
    def __init__(self, home, session, last=None, live=True, after=None):
        super().__init__(home, FOLLOW_ENTRIES, {1: session, 3: after, 4: last, 5: live})

    def clear(self):
        self.entries, self.live, self.gone, self.before = [], [], "", ""
        self.shown = {}  # live text there was when an entry took its place, by the entry's id

    def hear(self, body):
        added = [(e.str(1), e.fields.get(2, [b""])[-1]) for e in subs(body, 2)]
        if body.int(3):
            replies = [i for i, line in added if b'"role":"assistant"' in line]
            if replies:
                self.shown[replies[-1]] = self.text()
            self.live = []
        self.entries += added
        if body.str(6):
            self.before = body.str(6)
        for data in body.fields.get(4, []):
            event = Message(data)
            (number,) = event.fields
            self.live.append((EVENTS.get(number, number), event.sub(number)))
        self.gone = self.gone or body.str(8)

    def text(self):
        return "".join(e.str(1) for name, e in self.live if name == "chunk")

    def ended(self):
        return any(name == "end" for name, _ in self.live)

    def state(self):
        return [i for i, _ in self.entries], [name for name, _ in self.live]


class Decisions(Follower):
    """What waits, and what was settled while somebody followed."""

    cursor_field = 4

    def __init__(self, home, session=None, agent=None, sender=None):
        super().__init__(home, FOLLOW_DECISIONS, {1: session, 2: agent, 3: sender})

    def clear(self):
        self.waiting, self.settled = {}, {}

    def hear(self, body):
        for decision in subs(body, 2):
            self.forget(decision.str(1))
            (self.waiting if decision.str(3) == "pending" else self.settled)[decision.str(1)] = decision.fields
        for gone in body.strs(3):
            self.forget(gone)

    def forget(self, id_):
        self.waiting.pop(id_, None)
        self.settled.pop(id_, None)

    def state(self):
        return self.waiting, self.settled
