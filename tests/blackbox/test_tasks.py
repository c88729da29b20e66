"""Everything that runs: ListTasks, CancelTask, SubscribeTasks, `reef ps`."""

import json
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
