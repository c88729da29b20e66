"""Everything that runs: ListTasks, CancelTask, SubscribeTasks, `reef ps`."""

import json
import os
import socket
import struct
import subprocess
import unittest

from reefbox import *

LIST_TASKS, CANCEL_TASK, SUBSCRIBE_TASKS, TASK_LIST, TASK_EVENT = 292, 293, 294, 292, 294
ID, KIND, WHAT, AGENT, SENDER, SESSION, PARENT, STARTED, PROGRESS, DETAIL, CAN, STATE = range(1, 13)
HANG = {"text": "so far", "hang": True}


class Tasks(unittest.TestCase):
    def home(self, *replies):
        home = Home(script=script(*replies))
        self.addCleanup(home.cleanup)
        home.start()
        return home

    def tasks(self, home):
        reply = home.ask(LIST_TASKS)
        self.assertEqual(reply.tag, TASK_LIST)
        return [Message(t) for t in reply.body.fields.get(1, [])]

    def start(self, home, sender="user"):
        link = home.connect()
        self.addCleanup(link.close)
        link.send(request(STREAM, turn("scripted", "go", sender)))
        return link

    def one(self, home, kind):
        return wait_for(lambda: next((t for t in self.tasks(home) if t.str(KIND) == kind), None), f"a task {kind}")

    def test_a_turn_is_listed_and_cancelled(self):
        home = self.home(HANG)
        self.assertEqual(self.tasks(home), [])
        link = self.start(home)
        task = self.one(home, "turn")
        self.assertEqual((task.str(AGENT), task.str(SENDER), task.str(STATE), task.int(CAN)),
                         ("scripted", "user", "running", 1))
        self.assertLess(struct.unpack("<d", task.fields[PROGRESS][0])[0], 0, "nobody knows how far it is")
        self.assertEqual(home.ask(CANCEL_TASK, {1: task.str(ID)}).tag, PONG)
        self.assertEqual(link.events()[-1].event, "end")
        self.assertEqual(self.tasks(home), [])
        self.assertEqual(home.ask(CANCEL_TASK, {1: task.str(ID)}).code, 404)

    def test_a_tool_is_cancelled_alone(self):
        home = self.home({"calls": [{"name": "bash", "arguments": {"command": "sleep 60"}}]}, {"text": "then this"})
        home.write("agents/scripted.toml", 'model = "s/x"\npermission_mode = "allow-all"\n')
        home.reef("reload")
        link = self.start(home)
        tool = self.one(home, "tool")
        turn_ = self.one(home, "turn")
        self.assertEqual((tool.str(WHAT), tool.str(PARENT)), ("bash", turn_.str(ID)))
        self.assertEqual(home.reef("ps", "cancel", tool.str(ID)).code, 0)
        events = link.events()
        (result,) = [e.detail for e in events if e.event == "tool_result"]
        self.assertEqual((result.str(2), result.int(4)), ("interrupted", 1))
        self.assertEqual(spoken(events), "then this")
        self.assertEqual(events[-1].detail.str(2), "", "the turn itself went well")

    def test_delegated_work_belongs_to_its_parent(self):
        home = self.home({"calls": [{"name": "delegate", "arguments": {"tasks": [{"agent": "slow", "message": "x"}]}}]},
                         {"text": "ok"})
        home.write("c.json", script(HANG))
        home.write("config.toml", SCRIPTED + '[providers.c]\nkind = "scripted"\nscript = "c.json"\n')
        home.write("agents/slow.toml", 'model = "c/x"\n')
        self.assertEqual(home.reef("reload").code, 0)
        link = self.start(home)
        child = self.one(home, "delegate")
        self.assertEqual(child.str(PARENT), self.one(home, "turn").str(ID))
        self.assertEqual(home.ask(CANCEL_TASK, {1: child.str(ID)}).tag, PONG)
        self.assertEqual(spoken(link.events()), "ok", "the parent goes on without it")

    def test_cancelling_the_call_reaches_the_children(self):
        home = self.home({"calls": [{"name": "delegate", "arguments": {"tasks": [{"agent": "slow", "message": "x"}]}}]},
                         {"text": "ok"})
        home.write("c.json", script(HANG))
        home.write("config.toml", SCRIPTED + '[providers.c]\nkind = "scripted"\nscript = "c.json"\n')
        home.write("agents/slow.toml", 'model = "c/x"\n')
        self.assertEqual(home.reef("reload").code, 0)
        link = self.start(home)
        self.one(home, "delegate")
        self.assertEqual(home.ask(CANCEL_TASK, {1: self.one(home, "tool").str(ID)}).tag, PONG)
        self.assertEqual(spoken(link.events()), "ok")
        wait_for(lambda: not self.tasks(home), "the child to end")

    def test_a_subscriber_hears_what_runs_and_every_change(self):
        home = self.home(HANG)
        first = self.start(home)
        task = self.one(home, "turn")
        watch = home.connect()
        self.addCleanup(watch.close)
        watch.send(request(SUBSCRIBE_TASKS))
        event = watch.recv()
        self.assertEqual(event.tag, TASK_EVENT)
        self.assertEqual(event.body.sub(1).str(ID), task.str(ID))
        home.ask(CANCEL_TASK, {1: task.str(ID)})
        first.events()
        while event.body.sub(1).str(STATE) == "running":
            event = watch.recv()
        self.assertEqual(event.body.sub(1).str(STATE), "cancelled")

    def test_an_import_is_listed_and_done(self):
        home = self.home(HANG)
        watch = home.connect()
        self.addCleanup(watch.close)
        watch.send(request(SUBSCRIBE_TASKS))
        home.write("../pi/a.jsonl", jsonl(header_entry("260310-old-pump"), user_entry("a", None, "walnut")))
        self.assertEqual(home.reef("import", "pi", home.file("../pi")).code, 0)
        states = []
        while not states or states[-1] == "running":
            task = watch.recv().body.sub(1)
            if task.str(KIND) == "import":
                states.append(task.str(STATE))
        self.assertEqual(states[-1], "done")

    def test_an_import_is_cancelled_and_what_is_in_stays(self):
        home = self.home(HANG)
        source = os.path.join(home.base, "pi")
        words = "z" * 4000
        for n in range(300):
            at, parent, lines = WRITTEN_AT, None, [header_entry(f"s{n:03}")]
            for i in range(60):
                lines.append(user_entry(f"a{i}", parent, f"LINE {n} {i} {words}", at + i))
                parent = f"a{i}"
            home.write(f"../pi/sessions/--x--/2026-01-02T03-04-05-678Z_s{n:03}.jsonl", jsonl(*lines))
        watch = home.connect()
        self.addCleanup(watch.close)
        watch.send(request(SUBSCRIBE_TASKS))
        running = subprocess.Popen([binary("reef"), "--home", home.path, "import", "pi", source, "--json"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(None))
        self.addCleanup(running.wait)
        self.addCleanup(running.kill)
        task = self.one(home, "import")
        self.assertEqual(task.int(CAN), 1)
        self.assertIn("imports pi from", task.str(WHAT))
        self.assertEqual(home.reef("ps", "cancel", task.str(ID)).code, 0)
        out, err = running.communicate(timeout=30)
        report = json.loads(out)
        self.assertTrue(report["cancelled"], report)
        self.assertEqual(running.returncode, 1)
        self.assertLess(report["added"], 300, "it was stopped on the way")
        while True:
            event = watch.recv().body.sub(1)
            if event.str(KIND) == "import" and event.str(STATE) != "running":
                break
        self.assertEqual((event.str(ID), event.str(STATE)), (task.str(ID), "cancelled"))
        wait_for(lambda: not [t for t in self.tasks(home) if t.str(KIND) == "import"], "the list to be clean")
        self.assertEqual(home.ask(CANCEL_TASK, {1: task.str(ID)}).code, 404)
        # The cancelled import left whole sessions, as many as it reported; the next import brings the rest.
        found = home.reef("sessions", "--json", "--limit", "1000").json
        self.assertEqual(len(found), report["added"])
        self.assertEqual({s["messageCount"] for s in found} - {60}, set())
        self.assertFalse(os.path.exists(home.file("staging")))
        again = home.reef("import", "pi", source, "--json", timeout=120)
        self.assertEqual(again.code, 0, again.err)
        self.assertEqual(again.json["added"], 300 - report["added"])
        self.assertEqual(home.reef("fsck", "--json").code, 0)

    def test_work_on_the_index_is_listed_and_cannot_be_cancelled(self):
        home = self.home(HANG)
        for n in range(400):
            home.write(f"../pi/sessions/--x--/2026-01-02T03-04-05-678Z_s{n:03}.jsonl",
                       jsonl(header_entry(f"s{n:03}"), user_entry("a", None, f"walnut {n}")))
        watch = home.connect()
        self.addCleanup(watch.close)
        watch.send(request(SUBSCRIBE_TASKS))
        self.assertEqual(home.reef("import", "pi", home.file("../pi"), timeout=120).code, 0)
        states, told = [], None
        while "done" not in states:
            task = watch.recv().body.sub(1)
            if task.str(KIND) == "index":
                states.append(task.str(STATE))
                told = told or task
        self.assertEqual(told.int(CAN), 0)
        self.assertRegex(told.str(WHAT), "reads [0-9]+ sessions into the index|merges files of the index")
        self.assertIn(home.ask(CANCEL_TASK, {1: told.str(ID)}).code, (404, 501))
        wait_for(lambda: not self.tasks(home), "the list to be clean")
        self.assertTrue(home.reef("search", "--json", "walnut").json["hits"])

    def compacting(self, provider, **files):
        """A home with a long session whose model is `provider`; compacting it calls that."""
        lines, parent = [header_entry("260101-bulk-one")], None
        for n in range(300):
            make = assistant_entry if n % 2 else user_entry
            lines.append(make(f"a{n}", parent, f"LINE {n} " + "wave " * 120, WRITTEN_AT + n))
            parent = f"a{n}"
        home = Home('default_model = "m/x"\n' + provider,
                    files=dict({"sessions/260101-bulk-one/session.jsonl": jsonl(*lines)}, **files))
        self.addCleanup(home.cleanup)
        home.start()
        return home

    def cancel_compaction(self, home, connected, under_way=lambda: None):
        path = "sessions/260101-bulk-one/session.jsonl"
        before = home.read(path)
        asking = subprocess.Popen([binary("reef"), "--home", home.path, "compact", "260101-bulk-one"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(None))
        self.addCleanup(asking.wait)
        self.addCleanup(asking.kill)
        task = self.one(home, "compaction")
        self.assertEqual((task.int(CAN), task.str(SESSION)), (1, "260101-bulk-one"))
        under_way()
        if not connected:
            # The client may leave: the work goes on, is still listed and can be cancelled.
            asking.kill()
            asking.wait()
            home.ping()
            self.assertEqual(self.one(home, "compaction").str(ID), task.str(ID))
        self.assertEqual(home.reef("ps", "cancel", task.str(ID)).code, 0)
        out, err = asking.communicate(timeout=30)
        if connected:
            self.assertNotEqual(asking.returncode, 0)
            self.assertIn(b"cancelled", err)
        wait_for(lambda: not self.tasks(home), "the list to be clean")
        self.assertEqual(home.ask(CANCEL_TASK, {1: task.str(ID)}).code, 404)
        self.assertEqual(home.read(path), before, "the session is as it was")
        self.assertEqual(home.reef("memory", "ls", "--json").json, [], "no archive of it either")

    def test_a_compaction_is_cancelled_and_the_session_is_as_it_was(self):
        home = self.compacting('[providers.m]\nkind = "scripted"\nscript = "m.json"\n', **{"m.json": script(HANG)})
        for connected in (True, False):
            self.cancel_compaction(home, connected)
        home.write("m.json", script({"text": "## Goal\nKeep the harbour."}))
        self.assertEqual(home.reef("reload").code, 0)
        done = home.reef("compact", "260101-bulk-one", "--json")
        self.assertEqual(done.code, 0, done.err)
        self.assertEqual(home.reef("fsck", "--json").code, 0)

    def test_a_cancelled_compaction_hangs_up_on_its_backend(self):
        server = socket.create_server(("127.0.0.1", 0))
        server.settimeout(TIMEOUT)
        self.addCleanup(server.close)
        home = self.compacting('[providers.m]\nkind = "openai"\nkey = "k"\nmodels = ["x"]\n'
                               f'base_url = "http://127.0.0.1:{server.getsockname()[1]}/v1"\n')
        links = []

        def under_way():
            # The task is listed before it connects; cancelling it earlier would leave no connection to observe.
            link, _ = server.accept()
            link.settimeout(TIMEOUT)
            self.addCleanup(link.close)
            links.append(link)

        self.cancel_compaction(home, True, under_way)
        while links[0].recv(65536):
            pass  # until it hangs up

    def test_a_turn_that_makes_room_lists_it(self):
        # The request is too long; the compaction that follows hangs, and is cancelled alone.
        # The policy is off in these tests, so the agent's file asks for compaction on overflow.
        home = self.compacting('[providers.m]\nkind = "scripted"\nscript = "m.json"\n',
                               **{"m.json": json.dumps({"replies": [HANG], "window": 20000}),
                                  "agents/reef.toml": "compact_on_overflow = true\n"})
        link = home.connect()
        self.addCleanup(link.close)
        self.assertEqual(home.reef("resume", "260101-bulk-one", "--key", "agent:reef:user").code, 0)
        link.send(request(STREAM, turn("reef", "and now?")))
        task = self.one(home, "compaction")
        self.assertEqual(home.ask(CANCEL_TASK, {1: task.str(ID)}).tag, PONG)
        end = link.events()[-1]
        self.assertEqual(end.event, "end")
        self.assertIn("context_overflow", end.detail.str(2))
        self.assertIn("cancelled", end.detail.str(2))
        wait_for(lambda: not self.tasks(home), "the list to be clean")

    def test_commands(self):
        home = self.home(HANG)
        self.assertEqual(home.reef("ps").out, "nothing runs\n")
        self.assertEqual(home.reef("ps", "--json").json, [])
        link = self.start(home)
        task = self.one(home, "turn")
        (row,) = home.reef("ps", "--json").json
        self.assertEqual((row["id"], row["kind"], row["progress"], row["canCancel"]), (task.str(ID), "turn", None, True))
        self.assertIn("scripted answers user", home.reef("ps").out)
        watch = subprocess.Popen([binary("reef"), "--home", home.path, "ps", "--watch", "--json"], stdout=subprocess.PIPE,
                                 env=environment())
        self.addCleanup(watch.stdout.close)
        self.addCleanup(watch.wait)
        self.addCleanup(watch.kill)
        self.assertEqual(json.loads(watch.stdout.readline())["id"], task.str(ID))
        self.assertEqual(home.reef("ps", "cancel", task.str(ID)).code, 0)
        link.events()
        while json.loads(watch.stdout.readline())["state"] == "running":
            pass
        gone = home.reef("ps", "cancel", task.str(ID))
        self.assertNotEqual(gone.code, 0)
        self.assertIn("no task", gone.err)


if __name__ == "__main__":
    unittest.main()
