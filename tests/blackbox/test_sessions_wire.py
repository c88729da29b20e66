"""Sessions on the wire: CrabTalk's conversation operations and our own (tags 201 to 214)."""

import datetime
import json
import shutil
import threading
import time
import unittest

from reefbox import (ACTIVE_LIST, CHECK_REPORT, CHECK_SESSIONS, CONVERSATION_LIST, DELETE_CONVERSATION, ERROR, FOLLOW_SESSION,
                     FORK_SESSION, GET_HISTORY, HISTORY, KILL, LABEL_ENTRY, LIST_ACTIVE, LIST_CONVERSATIONS, LIST_SESSIONS,
                     LIST_TRASH, NEW_SESSION, PATCH_SESSION, PONG, READ_SESSION, RESPONSE, RESTORE_SESSION, RESUME_SESSION,
                     REWIND_SESSION, SEND, SESSION_DATA, SESSION_INFO, SESSION_LIST, STREAM, TRASH_LIST, TRASH_SESSION,
                     WRITTEN_AT, Message, assistant_entry, bind_entry, entry, header_entry, jsonl, message,
                     request, script, snapshot, spoken, texts, turn, user_entry)
from test_sessions import REPLIES, Home, append_to, bytes_of, changes, entries_of, ids, key_of, tell

BY_ID = (READ_SESSION, RESUME_SESSION, FORK_SESSION, REWIND_SESSION, PATCH_SESSION, TRASH_SESSION, RESTORE_SESSION,
         LABEL_ENTRY, FOLLOW_SESSION, GET_HISTORY, DELETE_CONVERSATION)


def parts(body, number):
    """The repeated messages of a field."""
    return [Message(data) for data in body.fields.get(number, [])]


def listed(link, **how):
    """The pages of one ListSessions without a cursor: ([ids], cursor, total)."""
    numbers = {"agent": 1, "sender": 2, "key": 3, "text": 6, "sort": 13, "ascending": 14, "limit": 15, "cursor": 16}
    link.send(request(LIST_SESSIONS, message({numbers[name]: value for name, value in how.items()})))
    found = []
    while True:
        reply = link.recv()
        if reply.tag != SESSION_LIST:
            raise AssertionError(f"{how} got {reply}")
        found += [r.str(1) for r in parts(reply.body, 1)]
        if reply.body.int(2):
            return found, reply.body.str(3), reply.body.int(4)


class Wire(unittest.TestCase):
    config = ""
    script = REPLIES

    def setUp(self):
        self.home = Home(config=self.config, script=self.script)
        self.addCleanup(self.home.cleanup)
        self.home.start()
        self.link = self.home.connect()
        self.addCleanup(self.link.close)

    def tell(self, text, sender="bob", key=None):
        return tell(self.home, text, sender, key, self.link)

    def expect(self, tag, number, fields=None):
        reply = self.link.call(number, fields)
        self.assertEqual(reply.tag, tag, f"{number} {fields}: {reply}")
        return reply.body

    def refused(self, number, fields, codes=(400, 404, 409)):
        before = snapshot(self.home)
        reply = self.link.call(number, fields)
        what = f"request {number} {str(fields)[:120]}: {reply}"
        self.assertEqual(reply.tag, ERROR, what)
        self.assertIn(reply.code, codes, what)
        self.assertTrue(0 < len(reply.text) < 600, what)
        self.assertEqual(changes(before, snapshot(self.home)), [], what)
        return reply

    def history(self, session):
        body = self.expect(HISTORY, GET_HISTORY, {1: session})
        return [(m.str(1), m.str(2)) for m in parts(body, 1)], body.str(2), body.str(3)

    def conversations(self, **who):
        return parts(self.expect(CONVERSATION_LIST, LIST_CONVERSATIONS, {1: who.get("agent"), 2: who.get("sender")}), 1)

    def check(self):
        """([problems], sessions)"""
        self.link.send(request(CHECK_SESSIONS))
        found = []
        while True:
            reply = self.link.recv()
            self.assertEqual(reply.tag, CHECK_REPORT)
            if reply.body.int(7):
                return found, reply.body.int(8)
            found.append((reply.body.str(1), reply.body.str(2), reply.body.int(3)))

    def hang(self, sender="bob"):
        """A connection with a turn that does not end; the script must make the reply hang."""
        link = self.home.connect()
        self.addCleanup(link.close)
        link.send(request(STREAM, turn("scripted", "go", sender)))
        heard = ""
        while "far" not in heard:
            reply = link.recv()
            self.assertEqual(reply.code, None, reply)
            heard += reply.detail.str(1) if reply.event == "chunk" else ""
        return link


# ---------------------------------------------------------------- CrabTalk's

class Conversations(Wire):
    def test_lists(self):
        self.assertEqual(self.conversations(), [])
        first, _ = self.tell("one")
        self.tell("two")
        second, _ = self.tell("/new three")
        anns, _ = self.tell("hello", "ann")
        self.expect(SESSION_INFO, PATCH_SESSION, {1: first, 2: '{"name":"The first"}'})
        today = [time.strftime("%Y-%m-%d")]
        found = {c.str(5): c for c in self.conversations()}
        today.append(time.strftime("%Y-%m-%d"))
        self.assertEqual(set(found), {first, second, anns})
        self.assertEqual([(c.str(1), c.str(2), c.str(4), c.int(6)) for c in (found[first], found[second], found[anns])],
                         [("scripted", "bob", "The first", 4), ("scripted", "bob", "", 2), ("scripted", "ann", "", 2)])
        self.assertLess(found[first].int(3), found[second].int(3), "the later session of a pair has the higher number")
        if today[0] == today[1]:
            self.assertEqual({c.str(8) for c in found.values()}, {"Today"})
        for c in found.values():
            self.assertLess(c.int(7), 60)
        self.assertEqual([c.int(3) for c in self.conversations()],
                         sorted((c.int(3) for c in found.values()), reverse=True))

    def test_filters(self):
        bobs, _ = self.tell("x")
        anns, _ = self.tell("x", "ann")
        reefs = self.link.call(SEND, turn("reef", "x", "bob")).body.str(200)
        self.assertEqual({c.str(5) for c in self.conversations(agent="scripted")}, {bobs, anns})
        self.assertEqual({c.str(5) for c in self.conversations(sender="bob")}, {bobs, reefs})
        self.assertEqual({c.str(5) for c in self.conversations(agent="scripted", sender="bob")}, {bobs})
        for who in ({"agent": "nobody"}, {"sender": "nobody"}, {"sender": ".."}, {"agent": "x" * 10240}):
            self.assertEqual(self.conversations(**who), [])

    def test_dates_and_ages(self):
        now = int(time.time() * 1000)
        day = 24 * 3600 * 1000
        self.home.stop()
        expected = {}
        for name, at in (("ancient", WRITTEN_AT), ("yesterday", now - day)):
            self.home.write(f"sessions/260102-{name}/session.jsonl", jsonl(
                header_entry(f"260102-{name}", at), bind_entry("aa000001", None, "scripted", name, at),
                user_entry("aa000002", "aa000001", "x", at), assistant_entry("aa000003", "aa000002", "y", at + 90_000)))
            expected[f"260102-{name}"] = datetime.date.fromtimestamp((at + 90_000) / 1000).isoformat()
        yesterdays = {(datetime.date.today() - datetime.timedelta(days=1)).isoformat()}
        self.home.start()
        self.link = self.home.connect()
        self.addCleanup(self.link.close)
        found = {c.str(5): c for c in self.conversations()}
        self.assertEqual({c.int(7) for c in found.values()}, {90})
        self.assertEqual(found["260102-ancient"].str(8), expected["260102-ancient"])
        if expected["260102-yesterday"] in yesterdays:
            self.assertEqual(found["260102-yesterday"].str(8), "Yesterday")

    def test_history_roles_and_order(self):
        session, _ = self.tell("one")
        self.tell("two")
        self.expect(SESSION_INFO, PATCH_SESSION, {1: session, 2: '{"name":"Grüße"}'})
        said = [("user", "one"), ("assistant", "reply 1"), ("user", "two"), ("assistant", "reply 2")]
        self.assertEqual(self.history(session), (said, "Grüße", "scripted"))
        made, _ = self.tell("/reset")
        self.assertEqual(self.history(made), ([], "", "scripted"))
        self.assertEqual(self.history(session)[0], said)

    def test_history_leaves_tools_and_the_system_out_and_begins_with_the_summary(self):
        call = {"type": "toolCall", "id": "c1", "name": "look", "arguments": {}}
        self.home.stop()
        self.home.write("sessions/260102-tools/session.jsonl", jsonl(
            header_entry("260102-tools"), bind_entry("aa000001", None, "scripted", "tools"),
            user_entry("aa000002", "aa000001", "long gone"), assistant_entry("aa000003", "aa000002", "gone too"),
            user_entry("aa000004", "aa000003", "kept question"), assistant_entry("aa000005", "aa000004", "kept answer"),
            entry("compaction", "aa000006", "aa000005", summary="the gist of it", firstKeptEntryId="aa000004", tokensBefore=9),
            entry("message", "aa000007", "aa000006", message={"role": "system", "content": "be nice", "timestamp": WRITTEN_AT}),
            user_entry("aa000008", "aa000007", "look it up"),
            assistant_entry("aa000009", "aa000008", "", content=[call], stopReason="toolUse"),
            entry("message", "aa00000a", "aa000009", message={
                "role": "toolResult", "toolCallId": "c1", "toolName": "look", "content": [{"type": "text", "text": "raw data"}],
                "isError": False, "timestamp": WRITTEN_AT}),
            assistant_entry("aa00000b", "aa00000a", "found it"),
            entry("custom", "aa00000c", "aa00000b", customType="x", data={"secret": 1})))
        self.home.start()
        self.link = self.home.connect()
        self.addCleanup(self.link.close)
        said, _, agent = self.history("260102-tools")
        self.assertEqual(agent, "scripted")
        self.assertEqual(said[0][0], "user")
        self.assertIn("the gist of it", said[0][1])
        self.assertEqual(said[1:], [("user", "kept question"), ("assistant", "kept answer"), ("user", "look it up"),
                                    ("assistant", ""), ("assistant", "found it")])

    def test_history_is_the_branch(self):
        session, _ = self.tell("one")
        target = entries_of(self.home, session)[-1]["id"]
        self.tell("two")
        self.expect(SESSION_INFO, REWIND_SESSION, {1: session, 2: target})
        self.assertEqual(self.history(session)[0], [("user", "one"), ("assistant", "reply 1")])
        self.tell("other two")
        self.assertEqual([text for role, text in self.history(session)[0] if role == "user"], ["one", "other two"])

    def test_delete_moves_to_the_trash(self):
        session, _ = self.tell("one")
        data = bytes_of(self.home, session)
        self.expect(PONG, DELETE_CONVERSATION, {1: session})
        self.assertEqual(self.conversations(), [])
        self.refused(DELETE_CONVERSATION, {1: session}, (404,))
        self.refused(GET_HISTORY, {1: session}, (404,))
        self.assertEqual(self.expect(TRASH_LIST, LIST_TRASH).strs(1), [session])
        self.assertEqual(snapshot(self.home)[f"trash/{session}/session.jsonl"], data)
        self.assertNotEqual(self.tell("two")[0], session)
        self.assertIn(self.link.call(RESTORE_SESSION, {1: session}).tag, (PONG, SESSION_INFO))
        self.assertEqual(self.history(session)[0][0], ("user", "one"))

    def test_delete_never_leaves_its_folder(self):
        session, _ = self.tell("one")
        self.home.write("precious/session.jsonl", "keep\n")
        for bad in ("", ".", "..", "/", "../precious", "../../etc", self.home.file(f"sessions/{session}"),
                    self.home.file("precious"), f"../sessions/{session}", f"./{session}", f"{session}/", f"{session}/..",
                    f"{session}/session.jsonl", f"sessions/{session}", f"{session}\0", f"\0{session}", f"{session}\n", "*",
                    session[:-1], session.upper(), "x" * 10240, "~", "trash", "catalog", "precious"):
            with self.subTest(bad[:60]):
                self.refused(DELETE_CONVERSATION, {1: bad})
                self.refused(GET_HISTORY, {1: bad})
        self.assertEqual(self.home.read("precious/session.jsonl"), "keep\n")
        self.assertEqual(self.tell("two"), (session, "reply 2"))


class Running(Wire):
    script = script({"text": "said so far", "hang": True})

    def test_nobody_waits_for_a_running_turn(self):
        hanging = self.hang()
        session = ids(self.home)[0]
        before = time.monotonic()
        active = parts(self.expect(ACTIVE_LIST, LIST_ACTIVE, {}), 1)
        self.assertEqual([(c.str(1), c.str(2)) for c in active], [("scripted", "bob")])
        self.assertEqual(active[0].int(3), 1)
        self.assertLess(active[0].int(4), 60)
        ignored = parts(self.expect(ACTIVE_LIST, LIST_ACTIVE, {1: "nobody", 2: "nobody"}), 1)
        self.assertEqual(len(ignored), 1, "CrabTalk ignores both fields")
        self.assertEqual([c.str(5) for c in self.conversations()], [session])
        self.assertEqual(self.history(session)[0], [("user", "go")])
        self.assertEqual(listed(self.link)[0], [session])
        self.expect(SESSION_INFO, PATCH_SESSION, {1: session, 2: '{"isFlagged":true}'})
        self.expect(SESSION_INFO, FORK_SESSION, {1: session})
        self.assertEqual(self.check()[0], [])
        self.assertLess(time.monotonic() - before, 10, "nothing of it waits for the turn")
        self.expect(PONG, KILL, {1: "scripted", 2: "bob"})
        self.assertEqual(hanging.events()[-1].event, "end")
        self.assertEqual(texts(entries_of(self.home, session), "assistant"), ["said so far"])
        self.assertEqual(self.check()[0], [])

    def test_starting_over_during_a_turn(self):
        """Reset binds a new session; a turn that is running ends in the old one."""
        hanging = self.hang()
        old = ids(self.home)[0]
        young = self.expect(SESSION_INFO, NEW_SESSION, {1: "scripted", 2: "bob"}).sub(1).str(1)
        self.assertNotEqual(young, old)
        self.expect(PONG, KILL, {1: "scripted", 2: "bob"})
        end = hanging.events()[-1]
        self.assertEqual((end.event, end.detail.str(200)), ("end", old))
        self.assertEqual(texts(entries_of(self.home, old), "assistant"), ["said so far"])
        self.assertEqual(texts(entries_of(self.home, young), "assistant"), [])
        self.assertEqual(self.check()[0], [])


# ---------------------------------------------------------------- ours

class Names(Wire):
    def test_hostile_ids_for_every_operation(self):
        session, _ = self.tell("one")
        leaf = entries_of(self.home, session)[-1]["id"]
        for bad in ("", ".", "..", "/", "/etc", "a/b", f"../sessions/{session}", f"{session}\0", f"{session}/", "x" * 10240,
                    "a\nb", "261115-not-there"):
            with self.subTest(bad[:40]):
                for number in BY_ID:
                    self.refused(number, {1: bad, 2: {PATCH_SESSION: '{"name":"x"}', REWIND_SESSION: leaf,
                                                      LABEL_ENTRY: leaf}.get(number), 3: None})

    def test_hostile_keys_for_every_operation(self):
        session, _ = self.tell("one")
        for bad in ("agent:../x:y", "agent:a/b:c", "agent:scripted:a\0b", "a\0b", "\0", "x" * 10240, "a\nb"):
            with self.subTest(bad[:40]):
                self.refused(SEND, {1: "scripted", 2: "hi", 200: bad})
                self.refused(STREAM, {1: "scripted", 2: "hi", 200: bad})
                self.refused(NEW_SESSION, {3: bad})
                self.refused(RESUME_SESSION, {1: session, 2: bad})

    def test_a_key_that_is_there_and_empty(self):
        self.refused(SEND, {1: "scripted", 2: "hi", 200: ""})
        self.refused(STREAM, {1: "scripted", 2: "hi", 200: ""})

    def test_hostile_senders(self):
        for bad in ("a\0b", "x" * 10240, "a\nb"):
            with self.subTest(bad[:40]):
                self.refused(SEND, turn("scripted", "hi", bad))
                self.refused(NEW_SESSION, {1: "scripted", 2: bad})

    def test_hostile_entries(self):
        session, _ = self.tell("one")
        for bad in ("..", "nope", "x" * 10240, "a\0b"):
            self.refused(REWIND_SESSION, {1: session, 2: bad})
            self.refused(LABEL_ENTRY, {1: session, 2: bad, 3: "x"})
            self.refused(FORK_SESSION, {1: session, 2: bad})
        self.refused(REWIND_SESSION, {1: session})
        self.refused(LABEL_ENTRY, {1: session, 3: "x"})

    def test_an_empty_sender_is_user_for_every_operation(self):
        session, _ = self.tell("one", None)
        self.assertEqual(self.tell("two", "")[0], session)
        self.assertEqual(self.tell("three", "user")[0], session)
        made = self.expect(SESSION_INFO, NEW_SESSION, {1: "scripted"}).sub(1)
        self.assertEqual((made.str(2), made.str(4)), (key_of("user"), "user"))
        self.assertEqual(self.tell("four", ""), (made.str(1), "reply 1"))


class Changes(Wire):
    def test_a_patch_is_a_merge(self):
        session, _ = self.tell("x")

        def details(patch):
            return json.loads(self.expect(SESSION_INFO, PATCH_SESSION, {1: session, 2: patch}).sub(1).str(11))
        self.assertEqual(details('{"labels":["a","b"],"subject":"s"}')["labels"], ["a", "b"])
        self.assertEqual(details('{"labels":["c"]}')["labels"], ["c"])
        shown = details('{"subject":null,"isFlagged":true}')
        self.assertNotIn("subject", shown)
        self.assertEqual((shown["labels"], shown["isFlagged"]), (["c"], True))
        self.assertEqual(details('{"name":"Title"}')["name"], "Title")

    def test_a_patch_that_is_none(self):
        session, _ = self.tell("x")
        for bad, named in (("", ""), ("{", ""), ("[]", ""), ("null", ""), ("3", ""), ('"name"', ""), ('{"nope":1}', "nope"),
                           ('{"name":3}', "name"), ('{"isFlagged":"true"}', "isFlagged"), ('{"labels":"x"}', "labels"),
                           ('{"labels":[1]}', "labels"), ('{"labels":[""]}', "labels"), ('{"memoryFlushAt":1.5}', "memoryFlushAt"),
                           ('{"chatType":"x"}', "chatType"), ('{"name":"ok","nope":2}', "nope"), ('{"key":"tg:1"}', "key"),
                           ('{"boundAt":1}', "boundAt"), ('{"name":"x"} trailing', ""),
                           (json.dumps({"labels": ["x"] * 100000}), "labels"), ("[" * 100000, "")):
            with self.subTest(bad[:40]):
                self.assertIn(named, self.refused(PATCH_SESSION, {1: session, 2: bad}, (400,)).text)

    def test_a_folder_has_no_nul_in_its_name(self):
        session, _ = self.tell("x")
        self.refused(PATCH_SESSION, {1: session, 2: json.dumps({"workingDirectory": "/a\0b"})}, (400,))

    def test_changes_from_many_sides_at_once(self):
        session, _ = self.tell("x")
        failures = []

        def work(n):
            try:
                with self.home.connect() as link:
                    for k in range(8):
                        if n % 2:
                            reply = link.call(SEND, turn("scripted", f"{n}.{k}", "bob"))
                            self.assertEqual(reply.tag, RESPONSE, reply)
                        else:
                            reply = link.call(PATCH_SESSION, {1: session, 2: json.dumps({"subject": f"{n}.{k}"})})
                            self.assertEqual(reply.tag, SESSION_INFO, reply)
            except Exception as error:  # noqa: BLE001: shown below
                failures.append(error)
        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        lines = entries_of(self.home, session)
        self.assertEqual([e["parentId"] for e in lines[2:]], [e["id"] for e in lines[1:-1]], "one chain")
        asked = texts(lines, "user")
        for n in (1, 3, 5, 7):
            self.assertEqual([t for t in asked if t.startswith(f"{n}.")], [f"{n}.{k}" for k in range(8)])
        self.assertEqual(self.check()[0], [])

    def test_many_first_messages_make_one_session(self):
        replies = []

        def work():
            with self.home.connect() as link:
                replies.append(link.call(SEND, turn("scripted", "me first", "crowd")))
        threads = [threading.Thread(target=work) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual({r.tag for r in replies}, {RESPONSE})
        self.assertEqual(len({r.body.str(200) for r in replies}), 1)
        self.assertEqual(len(ids(self.home)), 1)

    def test_a_reset_on_a_stream(self):
        old, _ = self.tell("one")
        events = self.link.stream(turn("scripted", "/new", "bob"))
        self.assertEqual((events[0].event, events[-1].event), ("start", "end"))
        young = events[-1].detail.str(200)
        self.assertNotIn(young, ("", old))
        events = self.link.stream(turn("scripted", "/reset and say", "bob"))
        self.assertEqual(spoken(events), "reply 1")
        self.assertNotIn(events[-1].detail.str(200), ("", old, young))

    def test_a_new_session_keeps_its_folder(self):
        made = self.expect(SESSION_INFO, NEW_SESSION, {1: "scripted", 2: "bob", 4: "/srv/demo"}).sub(1)
        self.assertEqual(entries_of(self.home, made.str(1))[0]["cwd"], "/srv/demo")
        self.assertEqual(json.loads(made.str(11))["workingDirectory"], "/srv/demo")


class Reading(Wire):
    def test_read_gives_the_file(self):
        session, _ = self.tell("x" * 300_000)
        for _ in range(3):
            self.tell("y" * 700_000)
        self.link.send(request(READ_SESSION, {1: session}))
        data, first = b"", True
        while True:
            reply = self.link.recv()
            self.assertEqual(reply.tag, SESSION_DATA, reply)
            self.assertEqual(reply.body.has(1), first, "the row comes first, once")
            first = False
            data += b"".join(reply.body.fields.get(2, []))
            if reply.body.int(3):
                break
        self.assertEqual(data, bytes_of(self.home, session))

    def test_follow_gives_what_is_added(self):
        session, _ = self.tell("one")
        start = len(bytes_of(self.home, session))
        with self.home.connect() as follower:
            follower.send(request(FOLLOW_SESSION, {1: session, 2: start}))
            self.tell("two")
            self.tell("three")
            got, wanted = b"", bytes_of(self.home, session)[start:]
            while len(got) < len(wanted):
                reply = follower.recv()
                self.assertEqual(reply.tag, SESSION_DATA, reply)
                got += b"".join(reply.body.fields.get(2, []))
            self.assertEqual(got, wanted)
        self.assertEqual(self.tell("four"), (session, "reply 4"), "a follower that leaves changes nothing")

    def test_follow_from_beyond_the_end(self):
        session, _ = self.tell("one")
        with self.home.connect() as follower:
            follower.send(request(FOLLOW_SESSION, {1: session, 2: 1 << 60}))
            self.tell("two")
            self.assertTrue(self.home.ping())

    def test_follow_of_a_session_that_is_removed(self):
        session, _ = self.tell("one")
        with self.home.connect() as follower:
            follower.send(request(FOLLOW_SESSION, {1: session}))
            self.assertEqual(follower.recv().tag, SESSION_DATA)
            self.expect(PONG, TRASH_SESSION, {1: session})
            self.tell("two")
            self.assertTrue(self.home.ping())


class Pages(Wire):
    COUNT = 14

    def furnish(self):
        """Sessions with different names and message counts, ids by age."""
        made = []
        for n in range(self.COUNT):
            for _ in range(1 + n % 3):
                session, _ = self.tell(f"m{n}", f"s{n}")
            made.append(session)
            self.expect(SESSION_INFO, PATCH_SESSION, {1: session, 2: json.dumps({"name": f"name {n * 5 % self.COUNT:02d}"})})
        return made

    def walk(self, between=lambda page: None, **how):
        """Every id of every page, `between` called with each page."""
        seen, cursor = [], ""
        for _ in range(12):
            page, cursor, _ = listed(self.link, limit=3, cursor=cursor, **how)
            seen += page
            if not cursor:
                return seen
            self.assertEqual(len(page), 3)
            between(page)
        self.fail("the pages do not end")

    def orders(self):
        return [(sort, ascending) for sort in ("updated", "created", "name", "messages") for ascending in (False, True)]

    def test_pages_are_the_list(self):
        made = self.furnish()
        for sort, ascending in self.orders():
            with self.subTest(sort=sort, ascending=ascending):
                whole, cursor, total = listed(self.link, sort=sort, ascending=ascending)
                self.assertEqual((sorted(whole), cursor, total), (sorted(made), "", self.COUNT))
                self.assertEqual(self.walk(sort=sort, ascending=ascending), whole)
        whole, _, total = listed(self.link, text="m1", sort="created")
        self.assertEqual((self.walk(text="m1", sort="created"), total), (whole, len(whole)))

    def test_messages_in_sessions_already_seen(self):
        made = self.furnish()
        sender = {session: f"s{n}" for n, session in enumerate(made)}
        for sort, ascending in self.orders():
            with self.subTest(sort=sort, ascending=ascending):
                seen = self.walk(lambda page: [self.tell("again", sender[s]) for s in page], sort=sort, ascending=ascending)
                self.assertEqual(sorted(seen), sorted(made))

    def test_messages_in_sessions_not_yet_seen(self):
        made = self.furnish()
        sender = {session: f"s{n}" for n, session in enumerate(made)}
        for sort, ascending in self.orders():
            with self.subTest(sort=sort, ascending=ascending):
                seen = []

                def between(page):
                    seen.extend(page)
                    rest = [s for s in made if s not in seen]
                    if rest:
                        self.tell("again", sender[rest[0]])
                got = self.walk(between, sort=sort, ascending=ascending)
                self.assertEqual(sorted(got), sorted(made), f"missing {set(made) - set(got)}")

    def test_sessions_that_come_and_go(self):
        made = self.furnish()
        for sort, ascending in (("updated", False), ("created", False), ("created", True)):
            with self.subTest(sort=sort, ascending=ascending):
                count = 0
                gone = []

                def between(page):
                    nonlocal count
                    count += 1
                    self.tell("x", f"extra-{sort}-{ascending}-{count}")
                    gone.append(page[-1])
                    self.expect(PONG, TRASH_SESSION, {1: page[-1]})
                whole = listed(self.link, sort=sort, ascending=ascending)[0]
                got = self.walk(between, sort=sort, ascending=ascending)
                self.assertEqual([s for s in got if s in whole], whole)
                self.assertEqual(len(set(got)), len(got))
                for session in gone:
                    self.link.call(RESTORE_SESSION, {1: session})

    def test_a_cursor_outlives_the_daemon(self):
        self.furnish()
        whole = listed(self.link)[0]
        page, cursor, total = listed(self.link, limit=5)
        self.assertEqual((page, total), (whole[:5], self.COUNT))
        self.home.stop()
        shutil.rmtree(self.home.file("catalog"))
        self.home.start()
        with self.home.connect() as link:
            self.assertEqual(listed(link, cursor=cursor)[0], whole[5:])

    def test_equal_times_lose_nobody(self):
        self.home.stop()
        for n in range(20):
            self.home.write(f"sessions/260102-n{n:02d}/session.jsonl", jsonl(
                header_entry(f"260102-n{n:02d}"), bind_entry("aa000001", None, "scripted", f"n{n}"),
                user_entry("aa000002", "aa000001", "x"), assistant_entry("aa000003", "aa000002", "y")))
        self.home.start()
        self.link = self.home.connect()
        self.addCleanup(self.link.close)
        for sort, ascending in self.orders():
            with self.subTest(sort=sort, ascending=ascending):
                got = self.walk(sort=sort, ascending=ascending)
                self.assertEqual(sorted(got), [f"260102-n{n:02d}" for n in range(20)])

    def test_wrong_questions(self):
        session, _ = self.tell("x")
        for fields in ({13: "colour"}, {16: "nonsense"}, {16: "\0"}, {16: "9" * 10240}, {11: "soon"}, {12: "soon"}):
            self.refused(LIST_SESSIONS, fields, (400,))
        self.assertEqual(listed(self.link, limit=4_000_000_000)[0], [session])


class Damage(Wire):
    def test_a_report_names_session_kind_and_line(self):
        session, _ = self.tell("one")
        self.assertEqual(self.check(), ([], 1))
        append_to(self.home, session, b"what is this?\n")
        self.assertEqual(self.check(), ([(session, "bad_line", 5)], 1))

    def test_a_check_while_others_write(self):
        stop = threading.Event()

        def write(n):
            with self.home.connect() as link:
                while not stop.is_set():
                    link.call(SEND, turn("scripted", "x", f"w{n}"))
        threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(20):
                self.assertEqual(self.check()[0], [])
        finally:
            stop.set()
            for thread in threads:
                thread.join()


if __name__ == "__main__":
    unittest.main()
