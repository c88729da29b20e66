"""Cursors: a client that is cut at random sees, put together, what one that was never cut sees."""

import json
import os
import random
import re
import select
import subprocess
import threading
import time
import unittest

from followers import *
from reefbox import *

SEED = int(os.environ.get("REEF_SEED", "23"))
# Together with the cuts of the other storms more than a thousand.
SESSION_CUTS, ENTRY_CUTS, TASK_CUTS = 400, 500, 200


class Cursors(unittest.TestCase):
    def home(self, *replies, **more):
        home = Home(script=script(*replies), **more)
        self.addCleanup(home.cleanup)
        home.start()
        return home

    def tell(self, link, text="go", sender="user"):
        reply = link.call(SEND, turn("scripted", text, sender))
        self.assertEqual(reply.tag, RESPONSE, reply)
        return reply.body.str(200)

    # ---- storms

    def test_rows_of_a_client_cut_hundreds_of_times(self):
        home = self.home({"text": "yes"})
        chance = random.Random(SEED)
        link = home.connect()
        self.addCleanup(link.close)
        never, cut = Rows(home).begin(), Rows(home).begin()
        flagged = Rows(home, FLAGGED).begin()
        self.addCleanup(never.cut), self.addCleanup(cut.cut), self.addCleanup(flagged.cut)
        for follower in (never, cut, flagged):
            self.assertTrue(follower.read().start_over)
        known, trashed, cuts = [], [], 0
        while cuts < SESSION_CUTS:
            for _ in range(chance.randrange(1, 5)):
                what = chance.random()
                if what < 0.3 or not known:
                    known.append(self.tell(link, f"/new about {chance.random()}", f"s{chance.randrange(9)}"))
                # A new session may have the id of one in the trash: then the two cannot change places.
                elif what < 0.45:
                    out, into, tag = (known, trashed, TRASH_SESSION) if what < 0.4 or not trashed else (
                        trashed, known, RESTORE_SESSION)
                    session = chance.choice(out)
                    if session not in into:
                        self.assertEqual(link.call(tag, {1: session}).tag, PONG)
                        out.remove(session)
                        into.append(session)
                else:
                    patch = chance.choice([{"name": f"title {chance.random()}"}, {"sessionStatus": "done"},
                                           {"isFlagged": chance.random() < 0.5}, {"sessionStatus": None}])
                    reply = link.call(PATCH_SESSION, {1: chance.choice(known), 2: json.dumps(patch)})
                    self.assertEqual(reply.tag, SESSION_INFO, reply)
            # Cut before, in the middle of, or after what came of it.
            for follower in (cut, flagged):
                for _ in range(chance.randrange(3)):
                    if select.select([follower.link.sock], [], [], 0)[0]:
                        follower.read()
                follower.again()
                cuts += 1
            never.read_ready()
        mark = self.tell(link, "/new the end", "end")
        self.assertEqual(link.call(PATCH_SESSION, {1: mark, 2: '{"name":"end","isFlagged":true}'}).tag, SESSION_INFO)

        def is_at_end(follower):
            return lambda: b"end" in follower.rows.get(mark, {}).get(5, [b""])[-1]
        # Small facts are written down half a second later; then nothing changes any more.
        for follower in (never, cut, flagged):
            follower.read_until(is_at_end(follower), "the last row")
        self.settle(home, b"", never, cut)
        self.settle(home, FLAGGED, flagged)
        self.assertEqual(cut.rows, never.rows)
        self.assertEqual(set(never.rows), set(known) | {mark})
        wanted = {i for i, row in never.rows.items() if json.loads(row[11][-1]).get("isFlagged")}
        self.assertIn(mark, wanted)
        self.assertEqual(flagged.rows, {i: never.rows[i] for i in wanted})
        self.assertEqual((len(never.starts), len(cut.starts), len(flagged.starts)), (1, 1, 1),
                         "nobody was away for too long")

    def settle(self, home, query, *followers):
        """Until every follower has what a new one is told: small facts are written down half a second later."""
        def same():
            for follower in followers:
                follower.read_ready()
            with_all = Rows(home, query).begin()
            with_all.read_caught_up()
            with_all.cut()
            return all(follower.rows == with_all.rows for follower in followers)
        wait_for(same, "every row to be told")

    def test_entries_and_live_text_of_a_client_cut_hundreds_of_times(self):
        # Some said at once, some with a tool, some word by word.
        words = " ".join(f"word{n}" for n in range(300))
        tool = {"text": "I look " + words, "calls": [{"name": "recall", "arguments": {"query": "walnut"}}]}
        home = self.home(*([{"text": words, "repeat": 8}, tool, {"text": words, "delay_ms": 1}] * 4))
        chance = random.Random(SEED + 1)
        link = home.connect()
        self.addCleanup(link.close)
        session = self.tell(link, "begin")
        never, cut = Entries(home, session).begin(), Entries(home, session).begin()
        self.addCleanup(never.cut), self.addCleanup(cut.cut)
        never.read(), cut.read()
        told, failures = threading.Event(), []

        def talk():
            try:
                with home.connect() as mouth:
                    mouth.sock.settimeout(60)
                    for number in range(11):
                        mouth.send(request(STREAM, turn("scripted", f"turn {number}", "user")))
                        mouth.events()
                        patch = json.dumps({"name": f"title {number}"})
                        mouth.call(PATCH_SESSION, {1: session, 2: patch})
            except BaseException as error:
                failures.append(error)
            told.set()
        talker = threading.Thread(target=talk, daemon=True)
        talker.start()
        cuts = in_the_middle = 0
        while cuts < ENTRY_CUTS or not told.is_set():
            never.read_ready()
            for _ in range(chance.randrange(4)):
                cut.read_until(lambda n=cut.answers: cut.answers > n or told.is_set(), "an answer")
            in_the_middle += bool(cut.text())
            cut.again()
            cuts += 1
            first = cut.answers
            cut.read_until(lambda: cut.answers > first, "an answer at once")
        talker.join()
        self.assertEqual(failures, [])
        size = os.path.getsize(home.file(f"sessions/{session}/session.jsonl"))

        def is_whole(follower):
            def look():
                lines = len(read_lines(home.file(f"sessions/{session}/session.jsonl"))) - 1
                return len(follower.entries) == lines and follower.ended()
            return look
        for follower in (never, cut):
            follower.read_until(is_whole(follower), f"all of {size} bytes")
        self.assertEqual(cut.entries, never.entries)
        with open(home.file(f"sessions/{session}/session.jsonl"), "rb") as source:
            self.assertEqual([line for _, line in never.entries], source.read().split(b"\n")[1:-1])
        self.assertEqual([i for i, _ in cut.entries], list(dict.fromkeys(i for i, _ in cut.entries)), "none comes twice")
        # What was live is what was then kept, for both, word for word.
        replies = {i: "".join(b.get("text", "") for b in json.loads(line)["message"]["content"])
                   for i, line in never.entries if b'"role":"assistant"' in line}
        self.assertGreater(len(replies), 12)
        for follower in (never, cut):
            seen = {i: text for i, text in follower.shown.items() if text}
            # When a new turn has begun meanwhile, the end of the old one is told by its entry alone.
            for i, text in seen.items():
                self.assertTrue(replies[i].startswith(text), (i, text[-100:]))
            self.assertGreaterEqual(sum(replies[i] == text for i, text in seen.items()), 3,
                                    "those said word by word, at least")
        self.assertGreater(in_the_middle, 30, "many cuts were in the middle of a text")
        self.assertEqual((len(never.starts), len(cut.starts)), (1, 1))

    def test_tasks_of_a_client_cut_hundreds_of_times(self):
        home = self.home({"calls": [{"name": "recall", "arguments": {"query": "x"}}]}, {"text": "ok"})
        chance = random.Random(SEED + 2)
        never, cut = Tasks(home).begin(), Tasks(home).begin()
        self.addCleanup(never.cut), self.addCleanup(cut.cut)
        never.read(), cut.read()
        links = [home.connect() for _ in range(4)]
        for link in links:
            self.addCleanup(link.close)
        cuts = 0
        while cuts < TASK_CUTS:
            busy = chance.sample(range(4), chance.randrange(1, 5))
            for number in busy:
                links[number].send(request(SEND, turn("scripted", "go", f"c{number}")))
            for number in busy:
                for _ in range(chance.randrange(3)):
                    if select.select([cut.link.sock], [], [], 0)[0]:
                        cut.read()
                cut.again()
                cuts += 1
                self.assertEqual(links[number].recv().tag, RESPONSE)
            never.read_ready()
        wait_for(lambda: (never.read_ready(), cut.read_ready()) and not never.running and cut.state() == never.state(),
                 "both to know the same")
        self.assertGreater(len(never.ended), 300)
        self.assertEqual({task[12][-1] for task in never.ended.values()}, {b"done"})
        self.assertEqual((len(never.starts), len(cut.starts)), (1, 1))

    # ---- what else a client meets

    def test_a_killed_daemon_goes_on_with_entries_and_starts_over_with_rows(self):
        home = self.home({"text": "one two three"}, {"text": "so far", "hang": True})
        with home.connect() as link:
            session = self.tell(link)
        rows, tasks, entries = Rows(home).begin(), Tasks(home).begin(), Entries(home, session).begin()
        for follower in (rows, tasks, entries):
            self.addCleanup(follower.cut)
            follower.read_caught_up()
        mouth = home.connect()
        self.addCleanup(mouth.close)
        mouth.send(request(STREAM, turn("scripted", "more", "user")))
        entries.read_until(lambda: "far" in entries.text(), "live text")
        kept = len(entries.entries)
        home.kill9()
        home.start()
        for follower in (rows, tasks, entries):
            follower.again().read()
        self.assertEqual(len(entries.starts), 1, "entries go on")
        self.assertEqual((entries.text(), entries.live), ("", []), "what was live was not kept")
        with home.connect() as link:
            link.call(PATCH_SESSION, {1: session, 2: '{"name":"after"}'})
        entries.read_until(lambda: len(entries.entries) > kept, "what came after")
        with open(home.file(f"sessions/{session}/session.jsonl"), "rb") as source:
            self.assertEqual([line for _, line in entries.entries], source.read().split(b"\n")[1:-1])
        for follower in (rows, tasks):
            self.assertEqual(len(follower.starts), 2)
            self.assertIn("started anew", follower.starts[1])
        self.assertEqual((set(rows.rows), tasks.running), ({session}, {}))

    def test_a_slow_reader_costs_nothing_and_ends_where_the_others_are(self):
        home = self.home({"text": "x" * 1000, "repeat": 40})
        link = home.connect()
        self.addCleanup(link.close)
        session = self.tell(link)
        slow, rows = Entries(home, session), Rows(home)
        for follower in (slow, rows):
            follower.begin()
            self.addCleanup(follower.cut)
        before = self.resident(home)
        # They read nothing at all meanwhile: 6 MB of text, and thousands of changes of one row.
        for number in range(150):
            self.tell(link, f"turn {number}")
        for number in range(500):
            link.call(PATCH_SESSION, {1: session, 2: json.dumps({"name": f"title {number}"})})
        self.assertLess(self.resident(home) - before, 60 << 20)
        lines = home.file(f"sessions/{session}/session.jsonl")
        slow.read_until(lambda: len(slow.entries) == len(read_lines(lines)) - 1, "all entries")
        self.settle(home, b"", rows)
        self.assertLess(rows.answers, 900, "changes of a row became one where nobody read them")
        self.assertEqual((len(slow.starts), len(rows.starts)), (1, 1))

    def resident(self, home):
        with open(f"/proc/{home.pid}/status") as status:
            return int(re.search(r"VmRSS:\s+(\d+) kB", status.read()).group(1)) * 1024

    def test_who_was_away_for_too_long_starts_over(self):
        # The daemon remembers the last 1024 tasks that ended.
        home = self.home({"calls": [{"name": "recall", "arguments": {"query": "x"}}] * 100}, {"text": "ok"})
        away = Tasks(home).begin()
        self.addCleanup(away.cut)
        away.read_caught_up()
        away.cut()
        with home.connect() as link:
            for number in range(11):
                self.tell(link, "go", f"c{number}")
        away.begin().read()
        self.assertIn("more has changed", away.starts[-1])
        self.assertEqual(len(away.starts), 2)

    def test_cursors_nobody_gave(self):
        home = self.home({"text": "yes"})
        with home.connect() as link:
            session = self.tell(link)
        rows, tasks, entries = Rows(home), Tasks(home), Entries(home, session)
        good = [f.begin().read_caught_up().cursor for f in (rows, tasks, entries)]
        first = {type(f): self.what_is(f) for f in (rows, tasks, entries)}
        chance = random.Random(SEED)
        wrong = ["x", ".", "....", "\x00", "-1.0.0.0", "ffffffffffffffffffff.0.0.0", "9" * 100000, "0.0.0.0.0.0", "é" * 50]
        for follower, cursor in zip((rows, tasks, entries), good):
            parts = cursor.split(".")
            tries = list(wrong)
            for number in range(len(parts)):
                for other in ("", "0", "ffffffffffffffff", "g", "-1"):
                    tries.append(".".join(parts[:number] + [other] + parts[number + 1:]))
            for _ in range(40):
                at = chance.randrange(len(cursor))
                tries.append(cursor[:at] + chance.choice("0123456789abcdef.xyz") + cursor[at + 1:])
            for try_ in tries:
                what = f"{type(follower).__name__} {try_[:80]!r}"
                follower.cut()
                follower.cursor = try_
                follower.begin().read_caught_up()
                self.assertTrue(follower.cursor.startswith(cursor.split(".")[0]) or follower is entries, what)
                # However it went on, it ends with what is.
                self.assertEqual(self.what_is(follower), first[type(follower)], what)
            follower.cut()
        # Of another list, of another session.
        rows.cursor, rows.fields = good[0], {1: FLAGGED}
        rows.begin().read()
        self.assertIn("something else", rows.starts[-1])
        rows.cut()
        with home.connect() as link:
            other = self.tell(link, "/new other words altogether, and more of them than there were before", "ann")
        entries.cursor, entries.fields = good[2], {1: other, 5: True}
        entries.begin().read_caught_up()
        self.assertIn("made anew", entries.starts[-1])
        self.assertTrue(home.ping())
        for tag in (FOLLOW_SESSIONS, FOLLOW_ENTRIES):
            for query in (message({18: "no:such"}), message({13: "sideways"})):
                self.assertIn(home.ask(tag, {1: query}).code, (400, 404))

    def what_is(self, follower):
        return (follower.rows if isinstance(follower, Rows) else follower.running if isinstance(follower, Tasks)
                else follower.entries)

    def test_trash_rewriting_and_other_writers_are_told(self):
        home = self.home({"text": "yes"})
        link = home.connect()
        self.addCleanup(link.close)
        session, other = self.tell(link), self.tell(link, "x", "ann")
        entries, forked = Entries(home, session).begin(), Entries(home, other).begin()
        self.addCleanup(entries.cut), self.addCleanup(forked.cut)
        entries.read_caught_up(), forked.read_caught_up()
        path = home.file(f"sessions/{session}/session.jsonl")
        # Another program appends.
        with open(path, "ab") as out:
            out.write(jsonl(user_entry("ffff0001", entries.entries[-1][0], "from elsewhere")))
        entries.read_until(lambda: entries.entries[-1][0] == "ffff0001", "what another program wrote")
        # A rewind and a fork.
        first = next(i for i, line in entries.entries if b'"role":"user"' in line)
        self.assertEqual(link.call(REWIND_SESSION, {1: session, 2: first}).tag, SESSION_INFO)
        entries.read_until(lambda: b"reef.rewind" in entries.entries[-1][1], "the rewind")
        rows = Rows(home).begin()
        self.addCleanup(rows.cut)
        rows.read_caught_up()
        made = link.call(FORK_SESSION, {1: session}).body.sub(1).str(1)
        rows.read_until(lambda: made in rows.rows, "the fork")
        # A repair makes the file anew.
        with open(path, "rb") as source:
            lines = source.read().split(b"\n")
        lines.insert(2, b"not an entry")
        with open(path, "wb") as out:
            out.write(b"\n".join(lines))
        entries.read_until(lambda: len(entries.starts) == 2, "that it was made anew")
        self.assertIn("made anew", entries.starts[-1])
        entries.read_until(lambda: len(entries.entries) == len(lines) - 3, "all of it")
        # The trash, and back.
        self.assertEqual(link.call(TRASH_SESSION, {1: other}).tag, PONG)
        forked.read_until(lambda: forked.gone, "the trash")
        rows.read_until(lambda: other not in rows.rows, "the trash")
        self.assertEqual(home.ask(FOLLOW_ENTRIES, {1: other, 2: forked.cursor}).code, 404)
        self.assertEqual(link.call(RESTORE_SESSION, {1: other}).tag, PONG)
        forked.gone = ""
        count = len(forked.entries)
        forked.again().read_caught_up()
        self.assertEqual((len(forked.starts), len(forked.entries)), (1, count), "it goes on where it was")
        self.assertEqual(link.call(TRASH_SESSION, {1: other}).code, None)

    def test_lists_change_with_their_definitions_and_limits_are_of_the_beginning(self):
        home = self.home({"text": "yes"})
        link = home.connect()
        self.addCleanup(link.close)
        known = [self.tell(link, f"/new {n}", f"c{n}") for n in range(7)]
        rows = Rows(home, message({15: 3})).begin()
        self.addCleanup(rows.cut)
        first = rows.link.recv()
        rows.take(first)
        self.assertEqual(set(rows.rows), set(known[-3:]))
        self.assertEqual(first.body.int(5), 7)
        reply = link.call(LIST_SESSIONS, {16: first.body.str(4)})
        self.assertEqual([r.str(1) for r in subs(reply.body, 1)], known[3::-1], "the rest comes by ListSessions")
        link.call(PATCH_SESSION, {1: known[0], 2: '{"name":"changed"}'})
        rows.read_until(lambda: known[0] in rows.rows, "a row that was not among the first")
        cursor = rows.cursor
        home.write("statuses.toml", '[[status]]\nid = "mine"\nlabel = "Mine"\n')
        rows.read_until(lambda: len(rows.starts) == 2, "a new list")
        self.assertIn("were changed", rows.starts[-1])
        rows.cut()
        rows.cursor = cursor
        rows.begin().read()
        self.assertIn("has changed", rows.starts[-1])

    def test_rows_that_leave_a_list_because_time_passes(self):
        home = Home(script=script({"text": "yes"}))
        self.addCleanup(home.cleanup)
        at = int(time.time() * 1000) - 90 * 60 * 1000
        home.write("sessions/260102-old-oak/session.jsonl", jsonl(
            header_entry("260102-old-oak", at), bind_entry("aa000001", None, "scripted", "bob", at),
            user_entry("aa000002", "aa000001", "x", at), assistant_entry("aa000003", "aa000002", "y", at)))
        home.start()
        idle, busy = Rows(home, message({18: "idle>1h"})), Rows(home, message({18: "idle<1h"}))
        for follower in (idle, busy):
            follower.begin().read_caught_up()
            follower.cut()
        self.assertEqual((len(idle.rows), len(busy.rows)), (1, 0))
        # As if the cursors were an hour old: then the session had been idle for half an hour.
        for follower in (idle, busy):
            head, then = follower.cursor.rsplit(".", 1)
            follower.cursor = f"{head}.{int(then, 16) - 3600 * 1000:x}"
        idle.rows, busy.rows = {}, {"260102-old-oak": {}}
        for follower in (idle, busy):
            follower.begin().read_caught_up()
            follower.cut()
        self.assertEqual((set(idle.rows), set(busy.rows)), ({"260102-old-oak"}, set()))
        self.assertEqual((len(idle.starts), len(busy.starts)), (1, 1))

    def test_what_comes_while_somebody_looks_on_is_read(self):
        home = self.home({"text": "yes"})
        link = home.connect()
        self.addCleanup(link.close)
        session = self.tell(link)
        rows, entries = Rows(home).begin(), Entries(home, session).begin()
        self.addCleanup(rows.cut), self.addCleanup(entries.cut)

        def unread():
            return json.loads(rows.rows[session][11][-1])["hasUnread"]
        rows.read_caught_up(), entries.read_caught_up()
        for _ in range(2):
            link.call(PATCH_SESSION, {1: session, 2: '{"hasUnread":true}'})
            rows.read_until(unread, "the mark")
            rows.read_until(lambda: not unread(), "that it is read")

    # ---- pages

    def page(self, home, session, limit, before=None, after=None):
        with home.connect() as link:
            body = message({1: session, 220: limit}) + (field(221, before) if before is not None else b"") + (
                field(222, after) if after is not None else b"")
            reply = link.call(READ_SESSION, body)
        if reply.tag == ERROR:
            return reply.code
        body = reply.body
        self.assertEqual(body.int(3), 1)
        return [e.str(1) for e in subs(body, 220)], body.str(221), body.str(222)

    def test_pages_from_either_end(self):
        home = Home(script=script({"text": "yes"}))
        self.addCleanup(home.cleanup)
        ids = [f"e{n:05}" for n in range(3000)]
        lines = [header_entry("260102-long-oak"), bind_entry(ids[0], None, "scripted", "bob")]
        for before, this in zip(ids, ids[1:]):
            lines.append(user_entry(this, before, f"words {this} " * 10))
        lines.insert(1000, "broken {")
        home.write("sessions/260102-long-oak/session.jsonl", jsonl(*lines))
        home.start()
        session = "260102-long-oak"
        last = self.page(home, session, 10)
        self.assertEqual(last[0], ids[-10:])
        backwards, before = last[0], last[1]
        while before:
            got, before, _ = self.page(home, session, 700, before=before)
            backwards = got + backwards
        self.assertEqual(backwards, ids)
        forwards, after = [], ""
        while True:
            got, _, after = self.page(home, session, 700, after=after)
            forwards += got
            if not got:
                break
        self.assertEqual(forwards, ids)
        self.assertEqual(self.page(home, session, 3, before=ids[500])[0], ids[497:500], "an id alone will do")
        self.assertEqual(self.page(home, session, 3, after=ids[500])[0], ids[501:504])
        self.assertEqual(self.page(home, session, 3, after=ids[-1])[0], [])
        self.assertEqual(self.page(home, session, 3, after="")[0], ids[:3])
        self.assertEqual(self.page(home, session, 3, before="nobody"), 404)
        self.assertEqual(self.page(home, session, 3, before=ids[500] + "@7")[0], ids[497:500], "a wrong place is no harm")
        self.assertEqual(self.page(home, session, 3, before="x" * 100000 + "@1"), 404)
        self.assertEqual(self.page(home, session, 3, before=ids[1], after=ids[0]), 400)
        with open(home.file("logs/reefd.log")) as log:
            self.assertNotIn("internal", log.read())
        # A follower begins with the last ones, or behind one.
        entries = Entries(home, session, last=5).begin().read_caught_up()
        entries.cut()
        self.assertEqual([i for i, _ in entries.entries], ids[-5:])
        self.assertEqual(self.page(home, session, 2, before=entries.before)[0], ids[-7:-5])
        entries = Entries(home, session, after=ids[2500]).begin().read_caught_up()
        entries.cut()
        self.assertEqual([i for i, _ in entries.entries], ids[2501:])
        self.assertEqual(home.ask(FOLLOW_ENTRIES, {1: session, 3: "nobody"}).code, 404)

    # ---- the program

    def test_a_person_can_see_it(self):
        home = self.home({"text": "one two three"}, {"text": "four five"})
        link = home.connect()
        self.addCleanup(link.close)
        session = self.tell(link)
        rows = self.spawn(home, "sessions", "--follow", "--json")
        tail = self.spawn(home, "tail", "-f", "-n", "1", "--live", session)
        self.assertEqual(set(json.loads(rows.stdout.readline())), {"startOver"})
        self.assertEqual(json.loads(rows.stdout.readline())["session"]["id"], session)
        self.assertIn(b"assistant", tail.stdout.readline())
        self.assertEqual(tail.stdout.readline(), b"one two three\n")
        home.kill9()
        home.start()
        home.say("again", "scripted", "user")
        heard = b""
        while b"four five" not in heard:
            heard += tail.stdout.readline()
        self.assertEqual(heard.count(b"four five"), 1, "what was seen live is not said twice")
        heard = [json.loads(rows.stdout.readline())]
        while heard[-1].get("session", {}).get("messageCount") != 4:
            heard.append(json.loads(rows.stdout.readline()))
        self.assertIn("startOver", heard[0])
        last = home.reef("tail", "-n", "1", "--json", session)
        self.assertEqual(len(last.out.splitlines()), 1, last)

    def spawn(self, home, *args):
        child = subprocess.Popen([binary("reef"), "--home", home.path, *args], stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL, env=environment(), cwd="/")

        def end():
            child.kill()
            child.wait()
            child.stdout.close()
        self.addCleanup(end)
        watchdog = threading.Timer(6 * TIMEOUT, child.kill)
        watchdog.daemon = True
        watchdog.start()
        self.addCleanup(watchdog.cancel)
        return child


if __name__ == "__main__":
    unittest.main()
