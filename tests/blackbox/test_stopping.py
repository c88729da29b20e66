"""Kill and stop, from the outside: both are prompt, whatever the daemon waits for, and lose no message."""

import os
import socket
import subprocess
import threading
import time
import unittest

from fake_model import FakeModel
from reefbox import *

KEY, ALL, QUEUE = 200, 201, 201
# A cancelled wait ends in a moment; the figure leaves room for a busy machine.
SLOWER = max(1.0, TIMEOUT / 10)
PROMPT = 0.1 * SLOWER


class Case(unittest.TestCase):
    def home(self, **options):
        home = Home(**options)
        self.addCleanup(home.cleanup)
        home.start()
        return home

    def connect(self, home):
        link = home.connect()
        self.addCleanup(link.close)
        return link

    def begin(self, home, agent, content="go", until="start", sender=None, **more):
        link = self.connect(home)
        link.send(request(STREAM, turn(agent, content, sender) | {int(k[1:]): v for k, v in more.items()}))
        seen = link.recv()
        while seen.event != until:
            self.assertNotEqual(seen.event, "end", seen.detail)
            self.assertEqual(seen.tag, STREAM_EVENT, seen)
            seen = link.recv()
        return link

    def model(self, *answers):
        fake = FakeModel(*answers)
        self.addCleanup(fake.close)
        return fake

    def kill(self, home, link, agent, **more):
        """Seconds from the Kill to the end of the turn."""
        killer = self.connect(home)
        began = time.monotonic()
        self.assertEqual(killer.call(KILL, {1: agent} | more).tag, PONG)
        end = link.events()[-1]
        self.assertEqual(end.detail.str(2), "cancelled")
        return time.monotonic() - began

    def reef_stop(self, *homes):
        """`reef stop` on all of them side by side: each returns in 5 s, and its daemon is gone."""
        began = time.monotonic()
        stops = [subprocess.Popen([binary("reef"), "--home", home.path, "stop"], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, env=environment()) for home in homes]
        said = [(stop.communicate(timeout=3 * TIMEOUT)[0], stop.returncode) for stop in stops]
        # Its lock is free before the last of the process is.
        gone = [home.process.wait(TIMEOUT) for home in homes]
        self.assertLess(time.monotonic() - began, 5 * SLOWER)
        self.assertEqual((said, gone), ([(b"stopped\n", 0)] * len(homes), [0] * len(homes)))

    def users(self, home):
        return texts(read_lines(home.transcript()), "user")


HANG = {"text": "so far", "hang": True}
ALLOWED = {"agents/scripted.toml": 'model = "s/x"\npermission_mode = "allow-all"\n'}
SILENT_SERVER = '[[mcps]]\nname = "silent"\ncommand = "sleep"\nargs = ["600"]\n'
SLOW_KEY = '[providers.slow]\nkind = "openai"\nbase_url = "http://127.0.0.1:9/v1"\nkey = "cmd:sleep 61"\nmodels = ["big"]\n'


class Prompt(Case):
    def test_kill_while_an_mcp_server_connects(self):
        home = self.home(script=script({"text": "hi"}),
                         files={"agents/waits.toml": 'model = "s/x"\n' + SILENT_SERVER})
        self.assertLess(self.kill(home, self.begin(home, "waits"), "waits"), PROMPT)

    def test_kill_while_a_command_looks_for_the_key(self):
        home = self.home(config=SLOW_KEY, files={"agents/keyless.toml": 'model = "slow/big"\n'})
        link = self.begin(home, "keyless")
        wait_for(lambda: sleeping("61"), "the key's command")
        self.assertLess(self.kill(home, link, "keyless"), PROMPT)
        wait_for(lambda: not sleeping("61"), "its end")

    def test_stop_while_a_command_looks_for_the_key(self):
        home = self.home(config=SLOW_KEY, files={"agents/keyless.toml": 'model = "slow/big"\n'})
        self.begin(home, "keyless")
        wait_for(lambda: sleeping("61"), "the key's command")
        self.stop(home)
        wait_for(lambda: not sleeping("61"), "its end")
        self.assertEqual(self.users(home), ["go"])

    def test_stop_while_a_servers_key_is_looked_for(self):
        server = '[[mcps]]\nname = "far"\nurl = "http://127.0.0.1:9/mcp"\nauth = "cmd:sleep 62"\n'
        home = self.home(script=script({"text": "hi"}), files={"agents/waits.toml": 'model = "s/x"\n' + server})
        self.begin(home, "waits")
        wait_for(lambda: sleeping("62"), "the key's command")
        self.stop(home)

    def stop(self, home):
        began = time.monotonic()
        self.assertEqual(home.stop(), 0)
        self.assertLess(time.monotonic() - began, 5 * SLOWER)


def nap(seconds):
    """A duration that no other run of these tests sleeps for."""
    return f"{seconds}.{os.getpid()}"


class Kills(Case):
    """A kill ends a turn within 100 ms, whatever it waits for (docs/runs.md)."""

    def test_while_a_refused_request_waits_to_be_asked_again(self):
        fake = self.model({"status": 503, "error": "busy", "headers": {"Retry-After": "20"}})
        home = self.home(config=fake.config, files={"agents/fake.toml": 'model = "fake/big"\n'})
        link = self.begin(home, "fake")
        wait_for(lambda: fake.told == 1, "the refusal")
        home.ping()
        self.assertLess(self.kill(home, link, "fake"), PROMPT)
        self.assertEqual(len(fake.asked), 1, "it waited")

    def test_while_a_server_does_not_answer_at_all(self):
        with socket.create_server(("127.0.0.1", 0)) as mute:
            port = mute.getsockname()[1]
            home = self.home(config=f'[providers.mute]\nkind = "openai"\nbase_url = "http://127.0.0.1:{port}/v1"\nkey = "k"\n'
                             'models = ["big"]\n', files={"agents/mute.toml": 'model = "mute/big"\n'})
            link = self.begin(home, "mute")
            mute.settimeout(TIMEOUT)
            asking, _ = mute.accept()
            with asking:
                self.assertLess(self.kill(home, link, "mute"), PROMPT)

    def test_while_a_delegate_works(self):
        task = {"calls": [{"name": "delegate", "arguments": {"tasks": [{"agent": "scout", "message": "look"}]}}]}
        home = self.home(config='[providers.c]\nkind = "scripted"\nscript = "c.json"\n', script=script(task, {"text": "no"}),
                         files={"c.json": script(HANG), "agents/scout.toml": 'model = "c/x"\n'})
        link = self.begin(home, "scripted", until="tool_progress")
        wait_for(lambda: "delegate" in [t["kind"] for t in home.reef("ps", "--json").json], "the child's turn")
        self.assertLess(self.kill(home, link, "scripted"), PROMPT)
        wait_for(lambda: home.reef("ps", "--json").json == [], "the child's end")

    def test_while_a_command_runs(self):
        call = {"calls": [{"name": "bash", "arguments": {"command": f"trap '' TERM INT; sleep {nap(64)}"}}]}
        home = self.home(script=script(call, {"text": "no"}), files=ALLOWED)
        link = self.begin(home, "scripted", until="tool_start")
        wait_for(lambda: sleeping(nap(64)), "the command")
        self.assertLess(self.kill(home, link, "scripted"), PROMPT)
        wait_for(lambda: not sleeping(nap(64)), "its end, though it does not listen")

    def compacting(self):
        """A turn whose context is too long, while the model makes the summary."""
        fake = self.model([{"content": "well"}], [{"content": "well"}],
                          {"status": 400, "error": "This model's maximum context length is 4000 tokens."}, ["hang"],
                          [{"content": "fine"}])
        home = self.home(config=fake.config + "[compaction]\nkeep_recent_tokens = 100\n",
                         files={"agents/fake.toml": 'model = "fake/big"\ncompact_on_overflow = true\n'})
        for words in ("one", "two"):
            home.say(f"{words} " + "pebble " * 600, "fake")
        link = self.begin(home, "fake", "three")
        wait_for(lambda: len(fake.asked) == 4, "the request for a summary")
        return home, link

    def running(self, home):
        return [task["kind"] for task in home.reef("ps", "--json").json]

    def test_while_the_context_is_compacted_inside_the_turn(self):
        home, link = self.compacting()
        self.assertEqual(sorted(self.running(home)), ["compaction", "turn"])
        self.assertLess(self.kill(home, link, "fake"), PROMPT)
        wait_for(lambda: self.running(home) == [], "the end of the compaction")
        self.assertNotIn("compaction", [e["type"] for e in read_lines(home.transcript())])
        self.assertEqual(home.say("four", "fake").body.str(2), "fine")

    def test_a_compaction_that_somebody_asked_for_too_goes_on(self):
        home, link = self.compacting()
        asking = self.connect(home)
        asking.send(request(6, {1: "fake", 2: "user"}, request_id=1))
        self.assertEqual(asking.call(PING, {}, request_id=2).tag, PONG)
        self.kill(home, link, "fake")
        (task,) = home.reef("ps", "--json").json
        self.assertEqual(task["kind"], "compaction")
        self.assertEqual(home.reef("ps", "cancel", task["id"]).code, 0)
        self.assertEqual(asking.recv().code, 499)


class Stops(Case):
    def test_an_idle_daemon_ends_by_itself(self):
        """And not by the last resort, which leaves whatever did not end."""
        home = self.home(script=script({"text": "well"}))
        home.say("go", agent="scripted")
        home.stop()
        with open(home.file("logs/reefd.log"), encoding="utf-8") as log:
            told = log.read()
        self.assertIn("stopped", told)
        self.assertNotIn("did not end", told)

    def test_the_command_stops_a_daemon_whose_turns_hang(self):
        """A model that goes silent, a command, a server that never says hello."""
        bash = {"calls": [{"name": "bash", "arguments": {"command": f"sleep {nap(65)}"}}]}
        server = '[[mcps]]\nname = "silent"\ncommand = "sleep"\n' + f'args = ["{nap(66)}"]\n'
        fake = self.model([{"content": "So far"}, "hang"])
        model = self.home(config=fake.config, files={"agents/fake.toml": 'model = "fake/big"\n'})
        command = self.home(script=script(bash, {"text": "no"}), files=ALLOWED)
        connects = self.home(script=script({"text": "no"}), files={"agents/waits.toml": 'model = "s/x"\n' + server})
        links = [self.begin(model, "fake", until="chunk"), self.begin(command, "scripted", until="tool_start"),
                 self.begin(connects, "waits")]
        wait_for(lambda: sleeping(nap(65)) and sleeping(nap(66)), "both processes")
        self.reef_stop(model, command, connects)
        wait_for(lambda: not sleeping(nap(65)) and not sleeping(nap(66)), "their end")
        for home, link in zip((model, command, connects), links):
            self.assertEqual(link.events()[-1].detail.str(2), "cancelled", "who listens is told")
            self.assertEqual(self.users(home), ["go"])

    def test_the_command_stops_a_daemon_in_a_back_off_a_delegate_and_a_compaction(self):
        pause = self.model({"status": 503, "error": "busy", "headers": {"Retry-After": "20"}})
        waiting = self.home(config=pause.config, files={"agents/fake.toml": 'model = "fake/big"\n'})
        task = {"calls": [{"name": "delegate", "arguments": {"tasks": [{"agent": "scout", "message": "look"}]}}]}
        handing = self.home(config='[providers.c]\nkind = "scripted"\nscript = "c.json"\n', script=script(task, {"text": "no"}),
                            files={"c.json": script(HANG), "agents/scout.toml": 'model = "c/x"\n'})
        slow = self.model([{"content": "well"}], [{"content": "well"}], ["hang"])
        compacting = self.home(config=slow.config + "[compaction]\nkeep_recent_tokens = 100\n",
                               files={"agents/fake.toml": 'model = "fake/big"\n'})
        self.begin(waiting, "fake")
        wait_for(lambda: pause.told == 1, "the refusal")
        self.begin(handing, "scripted", until="tool_progress")
        for words in ("one", "two"):
            compacting.say(f"{words} " + "pebble " * 600, "fake")
        asking = self.connect(compacting)
        asking.send(request(6, {1: "fake", 2: "user"}))
        wait_for(lambda: len(slow.asked) == 3, "the request for a summary")
        self.reef_stop(waiting, handing, compacting)
        self.assertNotIn("compaction", [e["type"] for e in read_lines(compacting.transcript())])


def sleeping(seconds):
    """True when a `sleep SECONDS` of ours is running."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if file.read().split(b"\0")[:2] == [b"sleep", seconds.encode()]:
                    return True
        except OSError:
            pass
    return False


class Words(Case):
    def test_a_kill_cancels_what_runs_and_what_waits_comes_next(self):
        home = self.home(script=script(HANG, {"text": "second"}, {"text": "third"}))
        first = self.begin(home, "scripted", "one", until="chunk")
        others = [self.connect(home) for _ in range(2)]
        for link, words in zip(others, ("two", "three")):
            link.send(request(STREAM, turn("scripted", words)))
            self.connect(home).call(PING)
        self.kill(home, first, "scripted")
        self.assertEqual([spoken(link.events()) for link in others], ["second", "third"])
        self.assertEqual(self.users(home), ["one", "two", "three"])

    def test_a_message_that_steered_a_killed_turn_is_the_next_turn(self):
        home = self.home(script=script(HANG, {"text": "second"}))
        first = self.begin(home, "scripted", "one", until="chunk")
        other = self.connect(home)
        other.send(request(STREAM, turn("scripted", "two") | {QUEUE: "steer"}))
        self.connect(home).call(PING)
        self.kill(home, first, "scripted")
        self.assertEqual(spoken(other.events()), "second")

    def test_all_are_kept_as_unanswered_words(self):
        home = self.home(script=script(HANG, {"text": "no"}, {"text": "no"}, {"text": "fourth"}))
        first = self.begin(home, "scripted", "one", until="chunk")
        others = [self.connect(home) for _ in range(2)]
        for link, words in zip(others, ("two", "three")):
            link.send(request(STREAM, turn("scripted", words)))
            self.connect(home).call(PING)
        self.assertEqual(home.reef("kill", "--all", "-a", "scripted").out, "cancelled\n")
        for link in others:
            (refused,) = link.events()
            self.assertEqual((refused.tag, refused.code), (ERROR, 499), refused)
        self.assertEqual(first.events()[-1].detail.str(2), "cancelled")
        self.assertEqual(self.users(home), ["one", "two", "three"])
        self.assertEqual(home.say("four", "scripted").body.str(2), "fourth")

    def test_a_stop_keeps_what_waited(self):
        home = self.home(script=script(HANG))
        self.begin(home, "scripted", "one", until="chunk")
        waiting = self.connect(home)
        waiting.send(request(STREAM, turn("scripted", "two")))
        self.connect(home).call(PING)
        home.stop()
        self.assertEqual(self.users(home), ["one", "two"])

    def test_the_model_is_given_the_shown_part_of_a_cancelled_answer(self):
        fake = self.model([{"content": "The first half"}, "hang"], [{"content": "ok"}])
        home = self.home(config=fake.config, files={"agents/fake.toml": 'model = "fake/big"\n'})
        self.kill(home, self.begin(home, "fake", "tell me", until="chunk"), "fake")
        home.say("go on", "fake")
        said = [(m["role"], m["content"]) for m in fake.asked[-1]["messages"] if m["role"] != "system"]
        self.assertEqual(said, [("user", "tell me"),
                                ("assistant", "The first half\n\n[This answer was interrupted here.]"),
                                ("user", "go on")])
        # The file is as pi writes it.
        cut = [e["message"] for e in read_lines(home.transcript()) if e.get("type") == "message"][1]
        self.assertEqual((cut["stopReason"], cut["content"]), ("aborted", [{"type": "text", "text": "The first half"}]))


class OneConnection(Case):
    def test_kill_and_ping_come_through_behind_ones_own_stream(self):
        home = self.home(script=script(HANG))
        link = self.begin(home, "scripted", until="chunk")
        link.send(request(PING))
        link.send(request(GET_STATS))
        got = link.recv()
        while got.event == "chunk":
            got = link.recv()
        self.assertEqual(got.tag, PONG, "at once, the stream still hangs")
        link.send(request(KILL, {1: "scripted"}))
        rest = [link.recv()]
        while rest[-1].tag != STATS:
            rest.append(link.recv())
        self.assertIn(PONG, [r.tag for r in rest])
        (end,) = [r for r in rest if r.event == "end"]
        self.assertEqual(end.detail.str(2), "cancelled")
        self.assertLess(rest.index(end), len(rest) - 1, "what waits its turn is answered behind the stream")

    def test_a_kill_comes_through_behind_thousands_of_pings(self):
        home = self.home(script=script(HANG))
        link = self.begin(home, "scripted", until="chunk")
        asked = [request(PING)] * 2000 + [request(KILL, {1: "scripted"})]
        link.send_raw(b"".join(len(one).to_bytes(4, "big") + one for one in asked))
        pongs, end = 0, None
        while pongs < len(asked) or end is None:
            got = link.recv()
            pongs += got.tag == PONG
            end = got if got.event == "end" else end
        self.assertEqual(end.detail.str(2), "cancelled")

    def test_an_answer_and_a_hint_come_through(self):
        ask = {"calls": [{"name": "ask_user", "arguments": {"questions": [
            {"question": "Which colour?", "header": "Colour", "options": [{"label": "red"}, {"label": "blue"}]}]}}]}
        home = self.home(script=script(ask, {"text": "done"}, {"text": "done"}))
        link = self.begin(home, "scripted", until="ask_user")
        link.send(request(44, {1: "scripted", 3: "be quick"}))
        self.assertEqual(link.recv().tag, PONG)
        link.send(request(3, {1: "scripted", 3: "red"}))
        tags, names = [], []
        while "end" not in names:
            got = link.recv()
            tags.append(got.tag)
            names.append(got.event)
        self.assertIn(PONG, tags)
        self.assertIn("user_steered", names)


class ManyCalls(Case):
    COUNT = 5000

    def results(self, pieces, mode="ask"):
        """The results of one step with so many calls; everybody else is answered meanwhile."""
        fake = self.model(pieces, [{"content": "done"}])
        home = self.home(config=fake.config,
                         files={"agents/fake.toml": f'model = "fake/big"\npermission_mode = "{mode}"\n'})
        link = self.connect(home)
        link.send(request(STREAM, turn("fake")))
        events, slowest, stop = [], [0.0], threading.Event()

        def ping():
            with home.connect() as other:
                while not stop.wait(0.005):
                    began = time.monotonic()
                    other.call(PING)
                    slowest[0] = max(slowest[0], time.monotonic() - began)

        pinging = threading.Thread(target=ping)
        pinging.start()
        try:
            link.sock.settimeout(60)
            events = link.events()
        finally:
            stop.set()
            pinging.join()
        results = [e.detail for e in events if e.event == "tool_result"]
        self.assertEqual(len(results), 128)
        self.assertIn(f"{self.COUNT - 128} more calls of this step were left out", "".join(r.str(2) for r in results))
        self.assertEqual(spoken(events), "done")
        self.assertLess(slowest[0], 1.0 * SLOWER, "a ping meanwhile")
        return results

    def pieces(self, name, arguments, number=True, id_=True):
        """The calls as deltas, the arguments in a second piece; `number`, `id_`: what says which call it belongs to."""
        out = []
        for i in range(self.COUNT):
            which = {"index": i} if number else {}
            if id_:
                which["id"] = f"c{i}"
            out += [{"tool_calls": [{**which, "type": "function", "function": {"name": name, "arguments": ""}}]},
                    {"tool_calls": [{**which, "function": {"arguments": arguments}}]}]
        return out

    def test_thousands_of_calls_in_one_step_block_nobody(self):
        for result in self.results(self.pieces("recall", '{"query": "x"}')):
            self.assertIn("no memories found", result.str(2))

    def test_nor_in_safe_mode_whatever_says_which_call_a_piece_belongs_to(self):
        for number, id_ in ((True, True), (False, True), (True, False)):
            with self.subTest(number=number, id=id_):
                path = "/tmp/reef-safe-mode-wrote"
                for result in self.results(self.pieces("write", f'{{"path": "{path}", "content": "x"}}', number, id_), "safe"):
                    self.assertEqual(result.int(4), 1)
                    self.assertIn("this session is in safe mode", result.str(2))
                self.assertFalse(os.path.exists(path))

    def test_some_run_at_once_and_the_others_wait(self):
        calls = [{"name": "bash", "arguments": {"command": "sleep 63"}} for _ in range(40)]
        home = self.home(script=script({"calls": calls}, {"text": "done"}),
                         files={"agents/scripted.toml": 'model = "s/x"\npermission_mode = "allow-all"\n'})
        link = self.begin(home, "scripted", until="tool_start")

        def count():
            return sum(1 for pid in filter(str.isdigit, os.listdir("/proc")) if words(pid)[:2] == [b"sleep", b"63"])

        wait_for(lambda: count() == 16, "sixteen of them")
        self.kill(home, link, "scripted")
        wait_for(lambda: count() == 0, "their end")


def words(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().split(b"\0")
    except OSError:
        return []


if __name__ == "__main__":
    unittest.main()
