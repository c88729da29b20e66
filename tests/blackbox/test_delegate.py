"""delegate: tasks to other agents, in conversations of their own."""

import json
import os
import unittest

from reefbox import *

HANG = {"text": "so far", "hang": True}


def delegate(*tasks, background=None):
    arguments = {"tasks": list(tasks)}
    if background is not None:
        arguments["background"] = background
    return {"calls": [{"name": "delegate", "arguments": arguments}]}


class Delegate(unittest.TestCase):
    def home(self, parent, child=({"text": "child's answer"},), config="", agent="", files=()):
        """The agent `scripted` plays `parent`, the agent `scout` plays `child`."""
        home = Home(config=config + '[providers.c]\nkind = "scripted"\nscript = "c.json"\n', script=script(*parent))
        self.addCleanup(home.cleanup)
        home.write("c.json", script(*child))
        for name, text in files:
            home.write(name, text)
        home.write("agents/scout.toml", 'model = "c/x"\ndescription = "Looks."\n' + agent)
        home.start()
        return home

    def stream(self, home):
        with home.connect() as link:
            return link.stream(turn("scripted", "go"))

    def sessions(self, home):
        return {s["id"]: s for s in home.reef("sessions", "--json").json}

    def of(self, home, agent):
        (session,) = [s for s in self.sessions(home).values() if s["agent"] == agent]
        return session

    def texts(self, home, session):
        out = []
        for entry in map(json.loads, home.read(f"sessions/{session['id']}/session.jsonl").splitlines()):
            if entry["type"] == "message":
                content = entry["message"]["content"]
                out.append(content if isinstance(content, str) else "".join(b.get("text", "") for b in content))
        return out

    def results(self, home, session):
        """The results of its calls by tool: the text, and whether the call failed."""
        out = {}
        for entry in map(json.loads, home.read(f"sessions/{session['id']}/session.jsonl").splitlines()):
            message = entry.get("message", {})
            if message.get("role") == "toolResult":
                out[message["toolName"]] = ("".join(b.get("text", "") for b in message["content"]), message["isError"])
        return out

    def meta(self, home, session):
        out = {}
        for entry in map(json.loads, home.read(f"sessions/{session['id']}/session.jsonl").splitlines()):
            if entry.get("customType") == "reef.meta":
                out.update(entry["data"])
        return out

    def test_tasks_come_back_together_and_sessions_are_linked(self):
        home = self.home([delegate({"agent": "scout", "message": "look here"}, {"agent": "scout", "message": "look there"}),
                          {"text": "thanks"}])
        events = self.stream(home)
        (result,) = [e.detail for e in events if e.event == "tool_result"]
        got = json.loads(result.str(2))
        self.assertEqual([(g["agent"], g["result"]) for g in got], [("scout", "child's answer")] * 2)
        parent = self.of(home, "scripted")
        children = [s for s in self.sessions(home).values() if s["agent"] == "scout"]
        self.assertEqual({g["session"] for g in got}, {c["id"] for c in children})
        for child in children:
            meta = self.meta(home, child)
            self.assertEqual(meta["parentSession"], parent["id"])
            self.assertEqual(len(self.texts(home, child)), 2, "the task and its answer, nothing else")
        progress = "".join(e.detail.str(2) for e in events if e.event == "tool_progress")
        self.assertIn("] started", progress)
        self.assertIn("] child's answer", progress)

    def test_W4_a_worker_has_a_model_and_failures_are_errors(self):
        # A worker plays its caller's script; the limit keeps it from delegating in turn.
        home = self.home([delegate({"message": "as a worker"}), {"text": "thanks"}], config="[delegate]\ndepth_max = 1\n")
        home.say("go", agent="scripted")
        worker = self.of(home, "worker")
        self.assertEqual(self.texts(home, worker)[0], "as a worker")
        failing = self.home([delegate({"agent": "scout", "message": "x"}), {"text": "oh"}],
                            [{"fail": "auth", "message": "bad key"}])
        events = self.stream(failing)
        (result,) = [e.detail for e in events if e.event == "tool_result"]
        self.assertEqual(result.int(4), 1, "is_error")
        self.assertIn("bad key", json.loads(result.str(2))[0]["error"])

    def test_W5_each_in_its_own_folder(self):
        os.makedirs("/tmp/reef-delegate-a", exist_ok=True)
        home = self.home([delegate({"agent": "scout", "message": "x", "cwd": "/tmp/reef-delegate-a"}), {"text": "ok"}],
                         [{"calls": [{"name": "bash", "arguments": {"command": "pwd"}}]}, {"text": "done"}])
        home.say("go", agent="scripted")
        self.assertIn("/tmp/reef-delegate-a", " ".join(self.texts(home, self.of(home, "scout"))))

    def test_C8_a_restart_gives_no_old_history(self):
        home = self.home([delegate({"agent": "scout", "message": "first"}), {"text": "ok"},
                          delegate({"agent": "scout", "message": "second"}), {"text": "ok"}])
        home.say("go", agent="scripted")
        home.stop()
        home.start()
        home.say("again", agent="scripted")
        children = [s for s in self.sessions(home).values() if s["agent"] == "scout"]
        self.assertEqual(sorted(self.texts(home, c)[0] for c in children), ["first", "second"])
        self.assertEqual(len({c["key"] for c in children}), 2)

    def test_C15_depth_is_limited(self):
        home = self.home([delegate({"agent": "scout", "message": "x"}), {"text": "ok"}],
                         [delegate({"agent": "scout", "message": "deeper"}), {"text": "done"}],
                         config="[delegate]\ndepth_max = 2\nwidth_max = 1\n")
        home.say("go", agent="scripted")
        scouts = [s for s in self.sessions(home).values() if s["agent"] == "scout"]
        self.assertEqual(len(scouts), 2)
        self.assertIn("2 deep already", " ".join(" ".join(self.texts(home, s)) for s in scouts))

    def test_kill_reaches_the_children(self):
        home = self.home([delegate({"agent": "scout", "message": "x"}, {"agent": "scout", "message": "y"}), {"text": "ok"}],
                         [HANG])
        with home.connect() as link:
            link.send(request(STREAM, turn("scripted", "go")))
            wait_for(lambda: home.ask(GET_STATS).body.int(2) == 3 or None, "children to run")
            self.assertEqual(home.ask(KILL, {1: "scripted", 2: "user"}).tag, PONG)
            self.assertEqual(link.events()[-1].event, "end")
        wait_for(lambda: home.ask(GET_STATS).body.int(2) == 0, "all to end")

    def test_a_childs_permission_is_asked_of_the_parents_user(self):
        path = f"/tmp/reef-delegated-{os.getpid()}"
        home = self.home([delegate({"agent": "scout", "message": "x", "cwd": "/tmp"}), {"text": "ok"}],
                         [{"calls": [{"name": "write", "arguments": {"path": path, "content": "hi"}}]}, {"text": "done"}])
        self.addCleanup(lambda: os.path.exists(path) and os.unlink(path))
        with home.connect() as link:
            link.send(request(STREAM, turn("scripted", "go")))
            while True:
                event = link.recv()
                if event.event == "ask_user":
                    break
            self.assertFalse(os.path.exists(path))
            (question,) = home.reef("questions", "--json").json
            self.assertEqual((question["kind"], question["key"]), ("permission", "agent:scripted:user"))
            self.assertEqual(home.ask(REPLY_TO_ASK, {3: "Allow once", 200: question["id"]}).tag, PONG)
            link.events()
        self.assertTrue(os.path.exists(path))

    def test_a_childs_mode_is_never_wider(self):
        path = f"/tmp/reef-delegated-not-{os.getpid()}"
        home = self.home([delegate({"agent": "scout", "message": "x", "cwd": "/tmp"}), {"text": "ok"}],
                         [{"calls": [{"name": "write", "arguments": {"path": path, "content": "hi"}}]}, {"text": "done"}],
                         agent='permission_mode = "allow-all"\n')
        home.write("agents/scripted.toml", 'model = "s/x"\npermission_mode = "safe"\n')
        self.assertEqual(home.reef("reload").code, 0)
        home.say("go", agent="scripted")
        self.assertFalse(os.path.exists(path))
        self.assertEqual(self.meta(home, self.of(home, "scout"))["permissionMode"], "safe")

    def test_a_child_reaches_no_tool_its_parent_may_not(self):
        path = f"/tmp/reef-delegated-beyond-{os.getpid()}"
        self.addCleanup(lambda: os.path.exists(path) and os.unlink(path))
        steps = [{"calls": [{"name": "write", "arguments": {"path": path, "content": "hi"}},
                            {"name": "bash", "arguments": {"command": f"touch {path}"}},
                            {"name": "ls", "arguments": {"path": "/tmp"}},
                            {"name": "grep", "arguments": {"pattern": "x", "path": "/dev/null"}}]}, {"text": "done"}]
        home = self.home([delegate({"agent": "scout", "message": "x", "cwd": "/tmp"},
                                   {"agent": "scout", "message": "y", "cwd": "/tmp", "system_prompt": "Be free."}),
                          {"text": "ok"}],
                         steps * 2, agent='permission_mode = "allow-all"\ntools = ["write", "bash", "ls"]\n')
        home.write("agents/scripted.toml", 'model = "s/x"\npermission_mode = "allow-all"\ntools = ["delegate", "ls", "grep"]\n')
        self.assertEqual(home.reef("reload").code, 0)
        home.say("go", agent="scripted")
        self.assertFalse(os.path.exists(path))
        children = [s for s in self.sessions(home).values() if s["agent"] == "scout"]
        self.assertEqual(len(children), 2)
        for child in children:
            results = self.results(home, child)
            self.assertEqual(results["write"], ("tool not available: write", True))
            self.assertEqual(results["bash"], ("tool not available: bash", True))
            self.assertEqual(results["grep"], ("tool not available: grep", True), "its own scope counts as well")
            self.assertFalse(results["ls"][1], "what both may do it does")
        told = [line for line in home.read("logs/reefd.log").splitlines() if "security {" in line]
        self.assertEqual(len(told), 6, "each a security event")
        # Called by its user, it has all of its own scope.
        home.say("and now you", agent="scout")
        self.assertTrue(os.path.exists(path))

    def orchestrator(self, delegate_to="", above=""):
        """An agent that may only delegate hands work to `scout`, who may write; whether the file was written."""
        path = f"/tmp/reef-handed-{os.getpid()}"
        self.addCleanup(self.taken_away)
        work = [{"calls": [{"name": "write", "arguments": {"path": path, "content": "hi"}},
                           {"name": "bash", "arguments": {"command": "true"}}]}, {"text": "written"}]
        home = self.home([delegate({"agent": "scout", "message": "write it", "cwd": "/tmp"}), {"text": "ok"}], work,
                         agent='permission_mode = "allow-all"\ntools = ["write", "ls"]\n')
        home.write("agents/scripted.toml", f'model = "s/x"\npermission_mode = "allow-all"\ntools = ["delegate"]\n{delegate_to}')
        if above:
            home.write("top.json", script(delegate({"agent": "scripted", "message": "have it done"}), {"text": "ok"}))
            home.write("config.toml", home.read("config.toml") + '[providers.t]\nkind = "scripted"\nscript = "top.json"\n')
            home.write("agents/top.toml", f'model = "t/x"\npermission_mode = "allow-all"\n{above}')
        self.assertEqual(home.reef("reload").code, 0)
        home.say("go", agent="top" if above else "scripted")
        return home, self.taken_away(path)

    def taken_away(self, path=f"/tmp/reef-handed-{os.getpid()}"):
        """Whether the file was there."""
        try:
            os.unlink(path)
        except FileNotFoundError:
            return False
        return True

    def test_an_orchestrator_hands_work_to_whom_it_is_told(self):
        for names in ('["scout"]', '["other", "sc*"]'):
            with self.subTest(names):
                home, written = self.orchestrator(f"delegate_to = {names}\n")
                self.assertTrue(written, "with the tools of its own")
                results = self.results(home, self.of(home, "scout"))
                self.assertFalse(results["write"][1], results)
                self.assertEqual(results["bash"], ("tool not available: bash", True), "and no others")
                (result,) = json.loads(self.results(home, self.of(home, "scripted"))["delegate"][0])
                self.assertEqual((result["agent"], result["result"]), ("scout", "written"))

    def test_without_being_told_it_hands_on_no_more_than_it_has(self):
        for names in ("", "delegate_to = []\n", 'delegate_to = ["other", "scou"]\n'):
            with self.subTest(names):
                home, written = self.orchestrator(names)
                self.assertFalse(written)
                self.assertEqual(self.results(home, self.of(home, "scout"))["write"], ("tool not available: write", True))
                told = [line for line in home.read("logs/reefd.log").splitlines() if "security {" in line]
                self.assertIn('"name":"write"', "".join(told), "a security event")

    def test_who_hands_work_out_is_itself_bounded_from_above(self):
        """An agent whose caller may not write cannot have it written by whom it names."""
        home, written = self.orchestrator('delegate_to = ["scout"]\n', above='tools = ["delegate"]\n')
        self.assertFalse(written)
        self.assertEqual(self.results(home, self.of(home, "scout"))["write"], ("tool not available: write", True))
        home, written = self.orchestrator('delegate_to = ["scout"]\n', above='tools = ["delegate"]\ndelegate_to = ["scripted"]\n')
        self.assertTrue(written, "each was told")

    def test_a_session_that_was_handed_over_keeps_its_tools(self):
        home, written = self.orchestrator('delegate_to = ["scout"]\n')
        self.assertTrue(written)
        child = self.of(home, "scout")
        home.kill9()
        home.start()
        with home.connect() as link:
            self.assertEqual(spoken(link.stream(turn("scout", "once more", sender=child["sender"]))), "written")
        self.assertTrue(self.taken_away())
        self.assertEqual(self.results(home, child)["bash"], ("tool not available: bash", True))

    def test_a_grandchild_reaches_nothing_its_grandparent_may_not(self):
        path = f"/tmp/reef-delegated-deep-{os.getpid()}"
        self.addCleanup(lambda: os.path.exists(path) and os.unlink(path))
        home = self.home([delegate({"agent": "scout", "message": "x"}), {"text": "ok"}],
                         [delegate({"agent": "deep", "message": "y", "cwd": "/tmp"}), {"text": "done"}],
                         config='[providers.d]\nkind = "scripted"\nscript = "d.json"\n',
                         agent='permission_mode = "allow-all"\n',
                         files=[("d.json", script({"calls": [{"name": "write", "arguments": {"path": path, "content": "hi"}}]},
                                                  {"text": "done"})),
                                ("agents/deep.toml", 'model = "d/x"\npermission_mode = "allow-all"\n')])
        home.write("agents/scripted.toml", 'model = "s/x"\npermission_mode = "allow-all"\ntools = ["delegate", "ls"]\n')
        self.assertEqual(home.reef("reload").code, 0)
        home.say("go", agent="scripted")
        self.assertEqual(self.results(home, self.of(home, "deep"))["write"], ("tool not available: write", True))
        self.assertFalse(os.path.exists(path))

    def test_background_work_that_wakes_a_child_leaves_it_bounded(self):
        # scripted delegates to scout; scout's own background task ends later and starts a second turn of scout.
        path = f"/tmp/reef-delegated-woken-{os.getpid()}"
        self.addCleanup(lambda: os.path.exists(path) and os.unlink(path))
        home = self.home([delegate({"agent": "scout", "message": "x", "cwd": "/tmp"}), {"text": "ok"}],
                         [delegate({"agent": "deep", "message": "y"}, background=True), {"text": "wait"},
                          {"calls": [{"name": "write", "arguments": {"path": path, "content": "hi"}}]}, {"text": "heard"}],
                         config='[providers.d]\nkind = "scripted"\nscript = "d.json"\n',
                         agent='permission_mode = "allow-all"\n',
                         files=[("d.json", script({"text": "deep's answer"})), ("agents/deep.toml", 'model = "d/x"\n')])
        home.write("agents/scripted.toml", 'model = "s/x"\npermission_mode = "allow-all"\ntools = ["delegate"]\n')
        self.assertEqual(home.reef("reload").code, 0)
        home.say("go", agent="scripted")
        scout = self.of(home, "scout")
        wait_for(lambda: "heard" in self.texts(home, scout), "the child to be woken")
        self.assertEqual(self.results(home, scout)["write"], ("tool not available: write", True))
        self.assertFalse(os.path.exists(path))

    def test_a_delegated_session_keeps_its_bounds_whoever_speaks_there(self):
        path = f"/tmp/reef-delegated-later-{os.getpid()}"
        self.addCleanup(lambda: os.path.exists(path) and os.unlink(path))
        write = {"calls": [{"name": "write", "arguments": {"path": path, "content": "hi"}}]}
        home = self.home([delegate({"agent": "scout", "message": "x", "cwd": "/tmp"}), {"text": "ok"}],
                         [{"text": "done"}, write, {"text": "well"}], agent='permission_mode = "allow-all"\n')
        home.write("agents/scripted.toml", 'model = "s/x"\npermission_mode = "allow-all"\ntools = ["delegate"]\n')
        self.assertEqual(home.reef("reload").code, 0)
        home.say("go", agent="scripted")
        child = self.of(home, "scout")
        home.kill9()
        home.start()
        with home.connect() as link:
            link.stream(turn("scout", "and now?", sender=child["sender"]))
        self.assertEqual(self.results(home, child)["write"], ("tool not available: write", True))
        self.assertFalse(os.path.exists(path))

    def test_a_task_that_begins_like_a_command_is_still_a_task(self):
        # A new session would be out of the parent's sight and free of its mode.
        path = f"/tmp/reef-delegated-new-{os.getpid()}"
        self.addCleanup(lambda: os.path.exists(path) and os.unlink(path))
        home = self.home([delegate({"agent": "scout", "message": "/new write it", "cwd": "/tmp"}), {"text": "ok"}],
                         [{"calls": [{"name": "write", "arguments": {"path": path, "content": "hi"}}]}, {"text": "done"}],
                         agent='permission_mode = "allow-all"\n')
        home.write("agents/scripted.toml", 'model = "s/x"\npermission_mode = "safe"\n')
        self.assertEqual(home.reef("reload").code, 0)
        home.say("go", agent="scripted")
        self.assertFalse(os.path.exists(path))
        child = self.of(home, "scout")
        self.assertEqual(self.texts(home, child)[0], "/new write it")
        self.assertIn("safe mode", self.results(home, child)["write"][0])

    def test_an_active_skills_allowed_tools_bind_the_children_too(self):
        path = f"/tmp/reef-delegated-skill-{os.getpid()}"
        self.addCleanup(lambda: os.path.exists(path) and os.unlink(path))
        write = {"calls": [{"name": "write", "arguments": {"path": path, "content": "hi"}},
                           {"name": "ls", "arguments": {"path": "/tmp"}}]}
        # The skill's text counts as a message, so the first reply is never played.
        home = self.home([{"text": "-"}, delegate({"agent": "scout", "message": "x", "cwd": "/tmp"}), {"text": "ok"},
                          delegate({"agent": "scout", "message": "x", "cwd": "/tmp"}), {"text": "ok"}],
                         [write, {"text": "done"}], agent='permission_mode = "allow-all"\n')
        home.write("agents/scripted.toml", 'model = "s/x"\npermission_mode = "allow-all"\n')
        home.write("skills/hand-out/SKILL.md", "---\nname: hand-out\ndescription: Hands out.\nallowed-tools: delegate ls\n---\nDo.\n")
        self.assertEqual(home.reef("reload").code, 0)
        home.say("/hand-out go", agent="scripted")
        self.assertFalse(os.path.exists(path))
        results = self.results(home, self.of(home, "scout"))
        self.assertIn("the skill 'hand-out' is active", results["write"][0])
        self.assertFalse(results["ls"][1])
        home.say("and without it", agent="scripted")
        self.assertTrue(os.path.exists(path), "with the turn the skill is over, for both")

    def test_background_returns_at_once_and_comes_back_as_a_message(self):
        home = self.home([delegate({"agent": "scout", "message": "slow"}, background=True), {"text": "started"},
                          {"text": "I heard"}])
        home.write("agents/writer.toml", 'model = "c/x"\n')
        home.reef("reload")
        self.assertEqual(home.reef("events", "subscribe", "delegate:*:done", "writer").code, 0)
        events = self.stream(home)
        (result,) = [e.detail for e in events if e.event == "tool_result"]
        (task,) = json.loads(result.str(2))
        self.assertEqual(set(task), {"agent", "session", "task_id"})
        parent = self.of(home, "scripted")
        wait_for(lambda: "I heard" in self.texts(home, parent), "the parent to answer")
        (message,) = [t for t in self.texts(home, parent) if t.startswith("<delegated")]
        self.assertIn(task["task_id"], message)
        self.assertIn("child's answer", message)
        key = f"agent:writer:event:delegate:{task['task_id']}:done"
        wait_for(lambda: home.reef("sessions", "--key", key, "--json").json, "the subscriber to be started")

    def test_stop_waits_for_nobody_in_the_background(self):
        home = self.home([delegate({"agent": "scout", "message": "x"}, background=True), {"text": "ok"}], [HANG])
        home.say("go", agent="scripted")
        self.assertEqual(home.stop(), 0)


if __name__ == "__main__":
    unittest.main()
