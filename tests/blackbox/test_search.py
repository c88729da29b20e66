"""Search from the outside: a message is found at once, and a removed one is not found."""

import json
import os
import pty
import re
import shutil
import socket
import subprocess
import threading
import unittest

from reefbox import Connection, Home, Message, REQUEST_ID, binary, environment, field, message

SEARCH_SESSIONS, LIST_MESSAGES, LIST_TASKS, TASK_LIST = 250, 251, 292, 292


def line(**fields):
    return json.dumps(fields, ensure_ascii=False) + "\n"


def transcript(session, *messages, title=None, day="2026-03-02"):
    """A file of pi's made from (role, text) pairs or whole lines."""
    out = line(type="session", version=3, id=session, timestamp=f"{day}T10:00:00.000Z", cwd="/w")
    parent = None
    for n, (role, text) in enumerate(messages):
        entry = f"{n:08x}"
        message = {"role": role, "content": [{"type": "text", "text": text}], "timestamp": 0}
        if role == "toolResult":
            message.update(toolCallId="c1", toolName="bash", isError=False)
        out += line(type="message", id=entry, parentId=parent, timestamp=f"{day}T10:{n // 60:02}:{n % 60:02}.000Z",
                    message=message)
        parent = entry
    if title:
        out += line(type="session_info", id="ffffffff", parentId=parent, timestamp=f"{day}T11:00:00.000Z", name=title)
    return out


FILLER = [("user", f"Remark number {n} about the weather in the harbour.") for n in range(12)]
PUMPS = transcript("260302-old-pump", ("user", "How do I mend the greenhouse pump?"),
                   ("assistant", "Replace the rubber seal."), ("toolResult", "E4711 valve_pressure_low at /var/log/pump.log"),
                   title="Watering")
BOATS = transcript("260105-calm-boat", *FILLER, ("user", "Anna: the zebrafish tank leaks"),
                   ("assistant", "Bert: put a bucket under it"), day="2026-01-05")


class Search(unittest.TestCase):
    def setUp(self):
        self.home = Home(files={"sessions/260302-old-pump/session.jsonl": PUMPS,
                                "sessions/260105-calm-boat/session.jsonl": BOATS}, start=False)
        self.addCleanup(self.home.cleanup)
        self.home.start()

    def search(self, *words):
        done = self.home.reef("search", "--json", *words)
        self.assertEqual(done.code, 0, done.err)
        return json.loads(done.out)

    def sessions(self, *words):
        return [hit["session"] for hit in self.search(*words)["hits"]]

    def test_words_forms_titles_tools_and_parts_are_found(self):
        for question in ("greenhouse", "mended greenhouses", "watering", "valve pressure", "E4711", "pump.log",
                         "a question with greenhouse and words nobody said: quux"):
            self.assertEqual(self.sessions(question)[:1], ["260302-old-pump"], question)
        self.assertEqual(self.search("quuxquux")["hits"], [])

    def test_a_hit_has_its_window_and_shows_the_match(self):
        hit = self.search("zebrafish")["hits"][0]
        item = hit["items"][hit["hit"]]
        self.assertEqual((hit["entry"], item["entry"], item["role"], item["index"]), ("0000000c", "0000000c", "user", 12))
        begin, end = item["matches"][0]
        self.assertEqual(item["snippet"].encode()[begin:end], b"zebrafish")
        self.assertEqual([i["index"] for i in hit["items"]], [8, 9, 10, 11, 12, 13])
        self.assertEqual(len(self.search("zebrafish", "--before", "0", "--after", "1")["hits"][0]["items"]), 2)

    def test_people_read_title_age_agent_what_was_said_and_the_command(self):
        out = self.home.reef("search", "greenhouse").out
        self.assertRegex(out, r"(?m)^Watering  [0-9]+ \w+ ago$", "nobody knows whose it was")
        self.assertIn("\n  user: How do I mend the greenhouse pump?\n", out)
        self.assertEqual(out.count("  reef show 260302-old-pump\n\n"), 1, "what was said in one session stands together")
        self.home.reef("chat", "-p", "My locker code is xylophone")
        self.assertRegex(self.home.reef("search", "xylophone").out, r"(?m)^My locker code is xylophone  0 \w+ ago, reef$")

    def test_look_ups_of_an_agent_rank_behind_the_original_messages(self):
        first = json.loads(self.home.reef("chat", "--json", "-p", "The deploy key is in the blue vault").out)["session"]
        for _ in range(3):
            self.home.reef("new")
            answer = self.home.reef("chat", "-p", "What did we say about the deploy key?").out
            self.assertIn("in the blue vault", answer)
        hits = [(hit["session"], hit["items"][hit["hit"]]) for hit in self.search("deploy key vault")["hits"]]
        at = [item["snippet"] for _, item in hits].index("The deploy key is in the blue vault")
        self.assertEqual(hits[at][0], first)
        self.assertNotIn("search_sessions", [item.get("tool") for _, item in hits[:at]])
        self.assertTrue([1 for _, item in hits if item.get("tool") == "search_sessions"], "it can be found all the same")

    def test_a_new_message_is_found_and_a_trashed_one_is_not(self):
        said = json.loads(self.home.reef("chat", "--json", "-p", "My locker code is xylophone").out)
        self.assertIn(said["session"], self.sessions("xylophone"))
        self.assertEqual(self.home.reef("rm", said["session"]).code, 0)
        self.assertEqual(self.sessions("xylophone"), [])
        self.assertEqual(self.home.reef("restore", said["session"]).code, 0)
        self.assertIn(said["session"], self.sessions("xylophone"))

    def test_messages_another_program_removed_are_not_found_after_a_reload(self):
        folder = os.path.join(self.home.path, "sessions")
        self.assertEqual(self.sessions("+zebrafish"), ["260105-calm-boat"])
        with open(os.path.join(folder, "260105-calm-boat", "session.jsonl"), "w", encoding="utf-8") as file:
            file.write(transcript("260105-calm-boat", *FILLER[:3], day="2026-01-05"))
        shutil.rmtree(os.path.join(folder, "260302-old-pump"))
        done = self.home.reef("search", "+zebrafish")
        self.assertIn("reef reload", done.out)
        self.assertEqual(self.home.reef("reload").code, 0)
        self.assertEqual(self.sessions("+zebrafish"), [])
        self.assertEqual(self.sessions("+weather")[0], "260105-calm-boat")
        self.assertEqual(self.sessions("+greenhouse"), [])

    def test_the_matching_place_of_a_long_message_is_shown(self):
        sizes = {"quokka": 5_000, "wombat": 20_000, "numbat": 100_000, "bilby": 700_000}
        said = [(role, "été lorem " * (size // 12) + f"the {animal} lives here " + "ipsum " * 50)
                for animal, size in sizes.items() for role in ("user", "toolResult")]
        self.home.stop()
        self.home.write("sessions/260401-long-line/session.jsonl", transcript("260401-long-line", *said))
        self.home.start()
        for n, animal in enumerate(sizes):
            hits = [hit for hit in self.search(animal)["hits"] if animal in hit["items"][hit["hit"]]["snippet"]]
            self.assertEqual({hit["entry"] for hit in hits}, {f"{2 * n:08x}", f"{2 * n + 1:08x}"})
            for hit in hits:
                for item in hit["items"]:
                    self.assertTrue(item["truncated"])
                    self.assertTrue(500 < len(item["snippet"].encode()) <= 1024, item["snippet"])
            lines = [line for line in self.home.reef("search", animal).out.splitlines() if animal in line]
            self.assertEqual(len(lines), 2)
            for line in lines:
                self.assertTrue(300 < len(line.encode()) < 400, "a few lines are enough for a person")
                self.assertRegex(line, rf"^  (user|bash): \.\.\..*{animal} lives here .*\.\.\.$")

    def test_conditions_hold_and_nonsense_is_words(self):
        self.assertEqual(self.sessions("pump role:tool")[:1], ["260302-old-pump"])
        for hit in self.search("pump role:tool")["hits"]:
            self.assertEqual(hit["items"][hit["hit"]]["role"], "tool")
        self.assertEqual(self.sessions("zebrafish after:2026-02-01"), [])
        self.assertEqual(self.sessions("zebrafish before:2026-02-01")[:1], ["260105-calm-boat"])
        self.assertEqual(set(self.sessions("harbour in:260302-old-pump")), set())
        self.assertEqual(self.sessions("+zebrafish -tank"), [])
        self.assertEqual(self.sessions('"zebrafish tank"')[:1], ["260105-calm-boat"])
        for nonsense in ('"', "role:", "((", "before:yesterday", "in:../x", "label:>", "a" * 5000, "\x01", "-"):
            self.search(nonsense)

    def test_grouped_by_session_and_one_answer_a_line(self):
        done = self.home.reef("search", "--stdin", "--json", "--group", "session", stdin="harbour\ngreenhouse\n")
        lines = [json.loads(text) for text in done.out.splitlines()]
        self.assertEqual([[s["session"] for s in one["sessions"]] for one in lines],
                         [["260105-calm-boat"], ["260302-old-pump"]])

    def at_a_terminal(self, *words):
        """The output of `reef search` at a terminal."""
        ours, theirs = pty.openpty()
        with subprocess.Popen([binary("reef"), "--home", self.home.path, "search", *words], stdin=subprocess.DEVNULL,
                              stdout=theirs, stderr=subprocess.PIPE, env=environment()) as done:
            os.close(theirs)
            out = b""
            try:
                while piece := os.read(ours, 1 << 16):
                    out += piece
            except OSError:  # how a terminal ends
                pass
            os.close(ours)
            self.assertEqual(done.stderr.read(), b"")
        self.assertEqual(done.returncode, 0)
        return out.decode().replace("\r\n", "\n")

    def test_at_a_terminal_matches_are_bright_and_stand_where_they_stood(self):
        self.home.stop()
        self.home.write("sessions/260401-two-doors/session.jsonl", transcript(
            "260401-two-doors", ("user", "Mend the\tgreenhouse\n\n pump, and the  other greenhouse door?")))
        self.home.start()
        bright = re.compile("\x1b\\[1;33m(.*?)\x1b\\[0m")
        shown = self.at_a_terminal("greenhouse pump")
        self.assertIn("\n  user: Mend the [greenhouse] [pump], and the other [greenhouse] door?\n",
                      bright.sub(r"[\1]", shown))
        self.assertIn("\n  user: How do I mend the [greenhouse] [pump]?\n", bright.sub(r"[\1]", shown))

    def test_a_question_that_is_not_utf8_is_a_question(self):
        alien = b"caf\xe9 greenhouse"
        done = self.home.reef("search", "--stdin", "--json", stdin=b"harbour\n" + alien + b"\ngreenhouse\n\n")
        self.assertEqual((done.code, done.err), (0, ""))
        lines = [[hit["session"] for hit in json.loads(text)["hits"]] for text in done.out.splitlines()]
        self.assertEqual(len(lines), 4)
        self.assertEqual([line[0] for line in lines[:3]], ["260105-calm-boat", "260302-old-pump", "260302-old-pump"])
        self.assertEqual(self.sessions(alien)[:1], ["260302-old-pump"])

    def test_other_options_that_are_not_utf8_are_named(self):
        for option in ("--agent", "--sender", "--exclude"):
            done = self.home.reef("search", "greenhouse", option, b"caf\xe9")
            self.assertEqual(done.code, 2, done)
            self.assertRegex(done.err, rf"^reef: usage: {option}: 'caf.' is not valid UTF-8\n")
        for command in (("sessions", "--text", b"\xff"), ("show", b"\xff"), ("usage", "--by", b"\xff")):
            done = self.home.reef(*command)
            self.assertEqual(done.code, 2, done)
            self.assertIn("is not valid UTF-8", done.err)

    def test_a_line_without_an_answer_says_why_and_the_others_stay_paired(self):
        done = self.home.reef("search", "--stdin", "--json", "--exclude", "../x", stdin="harbour\ngreenhouse\n")
        self.assertEqual(done.code, 1, done)
        lines = [json.loads(text) for text in done.out.splitlines()]
        self.assertEqual(len(lines), 2)
        for line in lines:
            self.assertIn("../x", line["error"])
        self.assertEqual(done.err, "reef: search: 2 of 2 lines got no answer\n")
        self.assertIn("reef: search: line 2: ", self.home.reef("search", "--stdin", "--exclude", "../x", stdin="a\nb").err)
        huge = self.home.reef("search", "--stdin", "--json", stdin="harbour\n" + "x" * (17 << 20) + "\ngreenhouse\n")
        self.assertEqual([list(json.loads(text))[0] for text in huge.out.splitlines()], ["hits", "error", "hits"])

    def test_wrong_usage_is_refused_with_the_commands_help(self):
        for words, why in ((("--stdin", "alpha"), "--stdin takes its questions from standard input; leave out the words"),
                           (("alpha", "--stdin"), "leave out the words"), (("--stdin", "--", "alpha"), "leave out the words"),
                           (("alpha", "--limit", "many"), "--limit"), (("alpha", "--group", "day"), "--group"),
                           (("alpha", "--limit"), "--limit"), (("alpha", "-a"), "--agent"), ((), "needs a question")):
            done = self.home.reef("search", *words, stdin="harbour\n")
            self.assertEqual((done.code, done.out), (2, ""), words)
            self.assertIn(why, done.err)
            self.assertTrue(done.err.endswith("\nTry: reef search --help\n"), done.err)

    def test_a_short_option_takes_its_value_behind_an_equals_sign(self):
        self.home.say("the wombat of ann", sender="ann")
        wanted = self.sessions("wombat", "-s", "ann")
        self.assertEqual(len(set(wanted)), 1)
        for option in ("-s=ann", "--sender=ann"):
            self.assertEqual(self.sessions("wombat", option), wanted)
            self.assertEqual(self.sessions(option, "wombat"), wanted)
        self.assertEqual(self.sessions("wombat", "-s=bert"), [])
        self.assertEqual(self.sessions("wombat", "-a=nobody"), [])

    def test_words_with_a_dash_are_words(self):
        self.assertEqual(self.sessions("+harbour")[:1], ["260105-calm-boat"])
        for words in (("zebrafish", "-tank"), ("-tank", "zebrafish"), ("-tank zebrafish",), ("+zebrafish", "-hello", "-tank")):
            for hit in self.search(*words)["hits"]:
                self.assertNotIn("tank", hit["items"][hit["hit"]]["snippet"], words)
        self.assertEqual(self.sessions("+zebrafish", "-tank", "--limit", "3"), [])
        self.assertEqual(self.sessions("+zebrafish", "-bucket", "--limit", "3"), ["260105-calm-boat"])
        self.assertEqual(self.sessions("--limit", "1", "--", "--greenhouse"), ["260302-old-pump"])
        # Each of these words means something else to the command line's parser.
        for words in (("status", "greenhouse"), ("[greenhouse,pump]",), ("++", "greenhouse"), ("-", "greenhouse")):
            self.assertIn("260302-old-pump", self.sessions(*words), words)
        done = self.home.reef("search", "greenhouse", "--limt", "3")
        self.assertEqual(done.code, 2)
        self.assertRegex(done.err, r"^reef: usage: search has no option --limt; .*reef search -- --limt\n")
        self.assertIn("reef search -- --verbose", self.home.reef("search", "--help").out)
        self.assertEqual(self.home.reef("search", "-h").code, 0)
        self.assertEqual(self.home.reef("search", "x", "--limit").code, 2)

    def test_a_page_of_long_messages_is_shorter_and_the_next_goes_on(self):
        self.home.stop()
        self.home.write("sessions/260401-long-talk/session.jsonl", transcript(
            "260401-long-talk", *[("user", f"number {n} " + "x" * 60_000) for n in range(400)]))
        self.home.start()
        pages, said = 0, []
        with self.home.connect() as link:
            while True:
                page = link.call(LIST_MESSAGES, {1: "260401-long-talk", 2: len(said), 3: 500})
                self.assertIsNone(page.code, page.text)
                self.assertEqual(page.body.int(2), 400)
                items = [Message(raw) for raw in page.body.fields.get(1, [])]
                if not items:
                    break
                pages += 1
                said += [item.str(4)[:10].split()[1] for item in items]
        self.assertEqual(said, [str(n) for n in range(400)])
        self.assertLess(pages, 6)

    def test_the_index_survives_a_kill_and_may_be_deleted_or_damaged(self):
        self.assertTrue(self.sessions("zebrafish"))
        self.home.kill9()
        self.home.start()
        self.assertTrue(self.sessions("zebrafish"))
        self.home.stop()
        damaged = os.listdir(os.path.join(self.home.path, "index"))
        self.assertTrue(damaged)
        for name in damaged:
            self.home.write("index/" + name, "nonsense")
        self.home.start()
        self.assertEqual(self.sessions("zebrafish")[:1], ["260105-calm-boat"])

    def test_a_person_sees_title_snippet_and_the_command(self):
        shown = self.home.reef("search", "rubber", "seal").out
        self.assertIn("Watering", shown)
        self.assertIn("Replace the rubber seal.", shown)
        self.assertIn("reef show 260302-old-pump", shown)
        self.assertIn("nothing found", self.home.reef("search", "quuxquux").out)
        self.assertEqual(self.home.reef("search").code, 2)


class BusyDaemon:
    """Stands between `reef` and the daemon: the first search waits for ever, and the index is said to be being read."""

    def __init__(self, home):
        self.path = home.file("run/reefd.sock")
        self.real = home.file("run/real.sock")
        os.rename(self.path, self.real)
        self.server = socket.socket(socket.AF_UNIX)
        directory = os.open(os.path.dirname(self.path), os.O_PATH)
        self.server.bind(f"/proc/self/fd/{directory}/reefd.sock")
        os.close(directory)
        self.server.listen()
        self.asked = 0
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                sock, _ = self.server.accept()
            except OSError:
                return
            threading.Thread(target=self.relay, args=(Connection(sock),), daemon=True).start()

    def relay(self, client):
        real = Connection.unix(self.real)

        def answers():
            while (frame := real.recv_payload()) is not None:
                client.send(frame)
            client.close()
            real.close()

        threading.Thread(target=answers, daemon=True).start()
        while (frame := client.recv_payload()) is not None:
            asked = Message(frame)
            if asked.has(SEARCH_SESSIONS):
                self.asked += 1
                if self.asked == 1:
                    continue
            if asked.has(LIST_TASKS):
                task = message({1: "i1", 2: "index", 3: "reads 7 sessions into the index", 12: "running"})
                client.send(field(TASK_LIST, message({1: task})) + field(REQUEST_ID, asked.int(REQUEST_ID)))
                continue
            real.send(frame)
        real.half_close()

    def close(self):
        self.server.close()
        os.rename(self.real, self.path)


class Waiting(unittest.TestCase):
    def test_a_waiting_search_says_why_and_gets_its_answer(self):
        with Home(files={"sessions/260302-old-pump/session.jsonl": PUMPS}) as home:
            busy = BusyDaemon(home)
            done = home.reef("search", "--json", "greenhouse")
            self.assertEqual(done.code, 0, done.err)
            self.assertEqual(done.json["hits"][0]["session"], "260302-old-pump")
            self.assertEqual(done.err, "reef: search: waiting, the daemon reads 7 sessions into the index\n")
            self.assertEqual(busy.asked, 2)
            quick = home.reef("search", "--json", "greenhouse")
            self.assertEqual((quick.code, quick.err), (0, ""))
            busy.close()


if __name__ == "__main__":
    unittest.main()
