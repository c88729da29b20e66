"""Agents at work on the machine: commands, files, and what they may do without asking."""

import fcntl
import json
import os
import re
import signal
import time
import unittest
from unittest import mock

from reefbox import *

REPLY, LIST_PERMISSIONS, REVOKE, LIST_PLANS, ACCEPT = 3, 282, 283, 284, 285
PERMISSION_LIST, PLAN_LIST = 282, 284
PROGRESS = 200
EVENTS.setdefault(PROGRESS, "tool_progress")


def steps(*calls):
    """A script with one call a step, and a last word. A call is (tool, arguments) or a list of those."""
    replies = [{"calls": [{"name": name, "arguments": arguments} for name, arguments in
                          (call if isinstance(call, list) else [call])]} for call in calls]
    return script(*replies, {"text": "done"})


class Turn:
    """The outcome of a turn: events, results in the order they came, questions that were asked."""

    def __init__(self, events, asked):
        self.events, self.asked = events, asked
        self.results = [e.detail.str(2) for e in events if e.event == "tool_result"]
        self.errors = [bool(e.detail.int(4)) for e in events if e.event == "tool_result"]
        self.progress = "".join(e.detail.str(2) for e in events if e.event == "tool_progress")
        self.session = events[-1].detail.str(200) if events[-1].event == "end" else None


class Os(unittest.TestCase):
    def home(self, *calls, mode="allow-all", extra="", **options):
        home = Home(script=steps(*calls), **options)
        self.addCleanup(home.cleanup)
        home.write("agents/scripted.toml", f'model = "s/x"\npermission_mode = "{mode}"\n{extra}')
        home.work = os.path.join(home.base, "work")
        os.mkdir(home.work)
        home.start()
        return home

    def say(self, home, answers=(), sender=None, cwd=None, content="go"):
        """A turn; questions are answered in the order they come."""
        answers, asked, events = list(answers), [], []
        with home.connect() as link:
            link.send(request(STREAM, {1: "scripted", 2: content, 4: sender, 5: cwd or home.work}))
            while True:
                reply = link.recv()
                self.assertIsNotNone(reply)
                events.append(reply)
                if reply.event == "ask_user":
                    question = Message(reply.detail.fields[1][0])
                    asked.append((question.str(1), [Message(o).str(1) for o in question.fields.get(3, [])]))
                    self.assertTrue(answers, f"nobody expected the question {asked[-1]}")
                    with home.connect() as other:
                        sent = other.call(REPLY, {1: "scripted", 2: sender or "user", 3: answers.pop(0)})
                        self.assertEqual(sent.tag, PONG, sent)
                if reply.event == "end" or reply.tag == ERROR:
                    break
        self.assertEqual(answers, [], f"not every question came: {asked}")
        return Turn(events, asked)

    def stored(self, home, session):
        return [e["message"] for e in read_lines(f"{home.path}/sessions/{session}/session.jsonl")
                if e["type"] == "message" and e["message"]["role"] == "toolResult"]

    # ---- tools

    def test_the_folder_of_a_message_is_not_that_of_the_next(self):
        home = self.home(("bash", {"command": "pwd"}), ("bash", {"command": "pwd"}))
        folder = os.path.join(home.base, "elsewhere")
        os.mkdir(folder)
        with home.connect() as link:
            # Both steps of the first turn run in the folder; the script starts over with the next turn.
            first = link.stream({1: "scripted", 2: "where?", 5: folder})
            second = link.stream({1: "scripted", 2: "and now?"})
            for events, where in ((first, folder), (second, os.path.realpath(os.environ.get("HOME", "/")))):
                shown = [e.detail.str(2).strip() for e in events if e.event == "tool_result"]
                self.assertEqual(set(shown), {where})
            # A folder that is not there is an error, and the message is not kept.
            before = len(read_lines(home.transcript()))
            for bad in ("/no/such/folder", "relative", home.transcript()):
                refused = link.call(SEND, {1: "scripted", 2: "there?", 5: bad})
                self.assertEqual(refused.code, 400, refused)
                self.assertIn("cwd", refused.text)
            self.assertEqual(len(read_lines(home.transcript())), before)

    def test_files_are_read_changed_and_the_diff_is_kept(self):
        home = self.home(("write", {"path": "a/b.txt", "content": "one\ntwo\n"}),
                         ("edit", {"path": "a/b.txt", "old_string": "two", "new_string": "2"}),
                         ("read", {"path": "a/b.txt"}), ("ls", {"path": "a"}), ("glob", {"pattern": "*.txt"}),
                         ("grep", {"pattern": "^2"}))
        turn = self.say(home)
        self.assertEqual(turn.errors, [False] * 6, turn.results)
        self.assertEqual(turn.results[2], "1\tone\n2\t2\n\n--- 2 total lines ---")
        self.assertEqual(turn.results[3:], ["b.txt  6 bytes\n", "a/b.txt\n", "a/b.txt:2: 2\n"])
        messages = self.stored(home, turn.session)
        self.assertEqual(messages[1]["details"]["diff"], "--- a/a/b.txt\n+++ b/a/b.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n")
        self.assertNotIn("@@", messages[1]["content"][0]["text"])

    def test_an_image_reaches_the_transcript_as_an_image(self):
        home = self.home(("read", {"path": "a.png"}))
        with open(f"{home.work}/a.png", "wb") as out:
            out.write(b"\x89PNG\r\n\x1a\n" + bytes(32))
        turn = self.say(home)
        (message,) = self.stored(home, turn.session)
        self.assertEqual([b["type"] for b in message["content"]], ["text", "image"])

    def test_U5_a_file_changed_by_somebody_else_is_not_overwritten(self):
        change = "printf theirs > a.txt"
        home = self.home(("edit", {"path": "a.txt", "old_string": "x", "new_string": "y"}), ("read", {"path": "a.txt"}),
                         ("bash", {"command": change}), ("edit", {"path": "a.txt", "old_string": "x", "new_string": "y"}))
        with open(f"{home.work}/a.txt", "w") as out:
            out.write("x")
        turn = self.say(home)
        self.assertEqual(turn.errors, [True, False, False, True])
        self.assertIn("you must read", turn.results[0])
        self.assertIn("changed by somebody else", turn.results[3])

    def test_output_is_streamed_while_the_command_runs(self):
        home = self.home(("bash", {"command": "echo begun; while [ ! -e go ]; do sleep 0.05; done; echo ended"}))
        with home.connect() as link:
            link.send(request(STREAM, {1: "scripted", 2: "go", 5: home.work}))
            seen = []
            while not seen or seen[-1].event != "tool_progress":
                seen.append(link.recv())
            self.assertEqual(seen[-1].detail.str(2), "begun\n")
            open(f"{home.work}/go", "w").close()
            rest = link.events()
        self.assertEqual([e.detail.str(2) for e in rest if e.event == "tool_result"], ["begun\nended\n"])

    def test_the_environment_holds_no_secret(self):
        with mock.patch.dict(os.environ, {"ANTHROPIC_API_KEY": "sk-ant-secret", "WANTED": "yes"}):
            home = self.home(("bash", {"command": "env; cat /proc/self/environ"}), ("read", {"path": "/proc/self/environ"}),
                             extra='pass_env = ["WANTED"]\n')
        turn = self.say(home)
        self.assertNotIn("sk-ant-secret", "".join(turn.results))
        self.assertIn("WANTED=yes", turn.results[0])
        self.assertEqual(turn.errors, [False, True])

    def test_S4_a_timeout_kills_the_whole_group(self):
        home = self.home(("bash", {"command": "echo $$ > pid; sleep 1000 & echo $! > child; sleep 1000", "timeout": 1}))
        turn = self.say(home)
        self.assertEqual(turn.errors, [True])
        self.assertIn("more than 1 s", turn.results[0])
        for name in ("pid", "child"):
            with open(f"{home.work}/{name}") as source:
                pid = int(source.read())
            wait_for(lambda: not os.path.exists(f"/proc/{pid}"), f"end of {name}")

    def test_kill_stops_the_command_at_once(self):
        home = self.home(("bash", {"command": "echo $$; sleep 1000"}))
        with home.connect() as link:
            link.send(request(STREAM, {1: "scripted", 2: "go", 5: home.work}))
            seen = []
            while not seen or seen[-1].event != "tool_progress":
                seen.append(link.recv())
            pid = int(seen[-1].detail.str(2))
            began = time.monotonic()
            with home.connect() as other:
                self.assertEqual(other.call(KILL, {1: "scripted", 2: "user"}).tag, PONG)
            link.events()
            wait_for(lambda: not os.path.exists(f"/proc/{pid}"), "end of the command")
            self.assertLess(time.monotonic() - began, 10)

    def test_nothing_outlives_the_daemon(self):
        home = self.home(("bash", {"command": "sleep 1000 & setsid sleep 1000 & echo $$; sleep 1000"}))
        with home.connect() as link:
            link.send(request(STREAM, {1: "scripted", 2: "go", 5: home.work}))
            seen = []
            while not seen or seen[-1].event != "tool_progress":
                seen.append(link.recv())
            pid = int(seen[-1].detail.str(2))
            home.kill9()
        wait_for(lambda: not os.path.exists(f"/proc/{pid}"), "end of the command")

    def test_long_output_is_in_a_file_the_agent_can_read(self):
        home = self.home(("bash", {"command": "seq 1 100000"}))
        turn = self.say(home)
        (path,) = re.findall(r"all of it is in (\S+)", turn.results[0])
        self.assertTrue(path.startswith(f"{home.path}/sessions/{turn.session}/long_responses/"), path)
        with open(path) as source:
            self.assertEqual(len(source.read().splitlines()), 100000)
        self.assertLess(len(turn.results[0]), 50_000)
        self.assertIn("long_responses/", home.reef("files", turn.session).out)
        home.write("s.json", steps(("read", {"path": path, "offset": 99999})))
        home.reef("reload")
        home.reef("new", "-a", "scripted")
        self.assertEqual(self.say(home).errors, [True], "another session's")

    def test_no_lease_on_its_files_holds_the_daemon_up(self):
        """A command that is allowed everything holds the lease and ignores the kernel's request to give it back."""
        home = self.home(("read", {"path": "x"}))
        sessions = [self.say(home, sender=name).session for name in ("ann", "bob", "eve")]
        self.assertEqual(home.stop(), 0)  # so that nothing is open
        home.start()
        held, links = [], []
        self.addCleanup(signal.signal, signal.SIGIO, signal.signal(signal.SIGIO, signal.SIG_IGN))
        try:
            for session in sessions[1:]:
                held.append(os.open(f"{home.path}/sessions/{session}/session.jsonl", os.O_RDONLY))
                fcntl.fcntl(held[-1], fcntl.F_SETLEASE, fcntl.F_RDLCK if session == sessions[1] else fcntl.F_WRLCK)
            links = [home.connect() for _ in sessions]
            began = time.monotonic()
            for name, link in list(zip(("ann", "bob", "eve"), links))[::-1]:
                link.send(request(STREAM, {1: "scripted", 2: "more", 4: name, 5: home.work}))
            self.assertEqual(links[0].events()[-1].event, "end", "nobody else's conversation waits")
            self.assertLess(time.monotonic() - began, 2)
            for link in links[1:]:
                last = link.events()[-1]
                self.assertEqual((last.tag, last.code), (ERROR, 429), last)
                self.assertIn("lease", last.text)
            self.assertLess(time.monotonic() - began, 9, "the kernel gives it back after 45 s")
        finally:
            for fd in held:
                os.close(fd)
            for link in links:
                link.close()
        for name in ("bob", "eve"):
            self.assertTrue(self.say(home, sender=name).session, "nothing is wrong with it")

    def test_hostile_commands_do_not_hurt_the_daemon(self):
        home = self.home([("bash", {"command": "head -c 30000000 /dev/zero"}), ("bash", {"command": "head -c 30000000 /dev/urandom"}),
                          ("bash", {"command": "yes | head -c 30000000"}), ("bash", {"command": "printf '\\377\\376'; exit 7"})],
                         [("read", {"path": "/dev/zero"}), ("grep", {"path": "/dev", "pattern": "x"}),
                          ("read", {"path": "a\0b"}), ("glob", {"pattern": "**", "path": "/proc"})])
        turn = self.say(home)
        self.assertEqual(len(turn.results), 8)
        self.assertTrue(home.ping())

    def test_reefs_home_is_closed(self):
        home = self.home(("read", {"path": "../h/config.toml"}), ("write", {"path": "../h/agents/evil.toml", "content": "x"}),
                         ("grep", {"path": "..", "pattern": "scripted"}), ("ls", {"path": "../h/sessions"}))
        turn = self.say(home)
        self.assertEqual(turn.errors, [True, True, False, True], turn.results)
        self.assertIn("closed to tools", turn.results[0])
        self.assertEqual(turn.results[2], "no matches")
        self.assertFalse(os.path.exists(home.file("agents/evil.toml")))

    # ---- permissions

    def test_safe_mode_looks_and_does_not_touch(self):
        home = self.home(("bash", {"command": "cat a.txt | wc -c"}), ("bash", {"command": "echo y > a.txt"}),
                         ("write", {"path": "b.txt", "content": "x"}), ("read", {"path": "a.txt"}),
                         ("edit", {"path": "a.txt", "old_string": "x", "new_string": "y"}),
                         ("bash", {"command": "ls && rm -rf ."}), mode="safe")
        with open(f"{home.work}/a.txt", "w") as out:
            out.write("x")
        turn = self.say(home)
        self.assertEqual(turn.errors, [False, True, True, False, True, True], turn.results)
        self.assertEqual(turn.results[0].strip(), "1")
        for number in (1, 2, 4, 5):
            self.assertIn("safe mode", turn.results[number])
        self.assertEqual(os.listdir(home.work), ["a.txt"])
        self.assertEqual(self.stored(home, turn.session)[0]["details"].get("sandboxed"), True)

    def test_ask_mode_asks_and_hears_the_answer(self):
        touch = [("bash", {"command": f"touch {name}"}) for name in "abcd"]
        home = self.home(*touch, mode="ask")
        turn = self.say(home, ["Allow once", "Deny", "use another name", "yes"])
        self.assertEqual(turn.errors, [False, True, True, False], turn.results)
        self.assertEqual(sorted(os.listdir(home.work)), ["a", "d"])
        self.assertIn("denied", turn.results[1])
        self.assertIn("use another name", turn.results[2])
        text, options = turn.asked[0]
        self.assertEqual(text, "scripted wants to use bash:\ntouch a")
        self.assertEqual((options[0], options[-1]), ("Allow once", "Deny"))

    def test_always_lasts_for_the_session_survives_a_restart_and_is_revoked(self):
        write = [("write", {"path": f"{n}.txt", "content": "x"}) for n in range(4)]
        home = self.home(*write[:2], mode="ask")
        turn = self.say(home, ["Always allow"])
        self.assertEqual(turn.errors, [False, False], turn.results)
        rule = f"{home.work}/**"
        shown = home.reef("permissions", turn.session, "--json").json
        self.assertEqual(shown["mode"], "ask")
        self.assertEqual([(p["tool"], p["rule"]) for p in shown["permissions"]], [("write", rule)])
        self.assertEqual(home.stop(), 0)
        home.start()
        self.assertIn(rule, home.reef("permissions", turn.session).out)
        home.write("s.json", script({"text": "a"}, {"text": "b"}, {"text": "c"},
                                    {"calls": [{"name": "write", "arguments": {"path": "5.txt", "content": "x"}}]}, {"text": "e"},
                                    {"calls": [{"name": "write", "arguments": {"path": "6.txt", "content": "x"}}]}, {"text": "g"}))
        home.reef("reload")
        again = self.say(home)
        self.assertEqual((again.session, again.errors, again.asked), (turn.session, [False], []))
        self.assertEqual(home.reef("permissions", turn.session, "--revoke", rule).code, 0)
        self.assertEqual(home.reef("permissions", turn.session, "--json").json["permissions"], [])
        self.assertNotEqual(home.reef("permissions", turn.session, "--revoke", rule).code, 0)
        self.assertEqual(self.say(home, ["no"]).errors, [True])

    def test_always_covers_no_other_program_than_the_one_that_was_shown(self):
        """(a command that is always allowed, one that is asked about all the same)"""
        pairs = [("git push", "git push --receive-pack='touch P; git-receive-pack'"),
                 ("tar cf a.tar b", "tar cf a.tar --checkpoint=1 --checkpoint-action=exec='touch P' b"),
                 ("rsync -a b c", "rsync -a -e 'touch P' b c"), ("make x", "make --eval='y:;touch P' y"),
                 ("go test ./...", "go test -exec 'touch P' ./..."),
                 ("sh ./run.sh", "cd other && sh ./run.sh"), ("./run.sh", "cd other; ./run.sh")]
        home = self.home(*[("bash", {"command": c}) for pair in pairs for c in pair],
                         ("bash", {"command": f"{binary('reef')} --help"}), mode="ask")
        for folder in ("other", "b"):
            os.mkdir(f"{home.work}/{folder}")
        for path, text in (("run.sh", "true"), ("other/run.sh", "touch ../P")):
            with open(f"{home.work}/{path}", "w") as out:
                out.write(f"#!/bin/sh\n{text}\n")
            os.chmod(f"{home.work}/{path}", 0o755)
        turn = self.say(home, [answer for _ in pairs for answer in ("Always allow", "Deny")] + ["Deny"])
        self.assertEqual([options for _, options in turn.asked],
                         [options for _ in pairs for options in (["Allow once", "Always allow", "Deny"], ["Allow once", "Deny"])] +
                         [["Allow once", "Deny"]])
        self.assertFalse(os.path.exists(f"{home.work}/P"))

    def test_always_covers_a_kind_that_can_name_no_program(self):
        home = self.home(*[("bash", {"command": f"mkdir {words}"}) for words in ("x", "-p y/z", '"$(touch P)"')], mode="ask")
        turn = self.say(home, ["Always allow", "Deny"])
        self.assertEqual([text.split("\n")[1] for text, _ in turn.asked], ["mkdir x", 'mkdir "$(touch P)"'])
        self.assertEqual(sorted(os.listdir(home.work)), ["x", "y"])

    def test_the_very_command_is_allowed_in_its_folder_alone(self):
        run = ("bash", {"command": "./run.sh"})
        home = self.home(run, run, mode="ask")
        os.mkdir(f"{home.work}/other")
        for folder in (".", "other"):
            with open(f"{home.work}/{folder}/run.sh", "w") as out:
                out.write("#!/bin/sh\necho ran >> ran\n")
            os.chmod(f"{home.work}/{folder}/run.sh", 0o755)
        turn = self.say(home, ["Always allow"])
        self.assertEqual(turn.errors, [False, False], turn.results)
        home.write("s.json", script({"text": "1"}, {"text": "2"}, {"text": "3"},
                                    {"calls": [{"name": "bash", "arguments": run[1]}]}, {"text": "5"}))
        home.reef("reload")
        self.assertEqual(self.say(home, ["Deny"], cwd=f"{home.work}/other").errors, [True])
        self.assertEqual(os.listdir(f"{home.work}/other"), ["run.sh"])

    def test_a_wide_permission_of_an_older_reef_covers_no_more_than_a_new_one(self):
        home = self.home(("bash", {"command": "tar cf a.tar --checkpoint=1 --checkpoint-action=exec='touch P' b"}),
                         ("bash", {"command": "npm install x"}), mode="ask")
        id_ = home.reef("new", "-a", "scripted").out.strip()
        self.assertEqual(home.stop(), 0)
        path = f"{home.path}/sessions/{id_}/session.jsonl"
        last = read_lines(path)[-1]
        with open(path, "a") as out:
            out.write(json.dumps({"type": "custom", "id": "ffff0001", "parentId": last.get("id"), "timestamp": "2026-11-18T00:00:00.000Z",
                                  "customType": "reef.meta", "data": {"permissions": {"bash": {"tar": "x", "npm install": "x"}}}}) + "\n")
        home.start()
        turn = self.say(home, ["Deny", "Deny"])
        self.assertEqual(len(turn.asked), 2)
        self.assertEqual(len(home.reef("permissions", turn.session, "--json").json["permissions"]), 2, "they are there to be revoked")

    def test_danger_is_asked_about_even_when_all_is_allowed(self):
        home = self.home(("bash", {"command": "touch x"}), ("bash", {"command": "true && rm -rf x"}),
                         ("bash", {"command": "sh -c 'rm -rf x'"}), ("bash", {"command": "echo x | xargs rm -rf"}))
        turn = self.say(home, ["Deny", "Deny", "Allow once"])
        self.assertEqual(turn.errors, [False, True, True, False], turn.results)
        self.assertEqual([options for _, options in turn.asked], [["Allow once", "Deny"]] * 3)
        self.assertEqual(os.listdir(home.work), [])

    def test_the_mode_of_a_session_is_set_and_shown(self):
        home = self.home(("bash", {"command": "touch a"}), mode="ask")
        session = home.reef("new", "-a", "scripted").out.strip()
        self.assertEqual(home.reef("permissions", session, "--json").json["mode"], "ask")
        self.assertEqual(home.reef("mode", session, "safe").code, 0)
        self.assertEqual(home.reef("permissions", session, "--json").json["mode"], "safe")
        self.assertEqual(self.say(home).errors, [True])
        self.assertNotEqual(home.reef("mode", session, "wild").code, 0)
        self.assertNotEqual(home.reef("mode", "261115-no-such", "safe").code, 0)

    def test_S3_senders_behind_a_gateway(self):
        calls = [("bash", {"command": "ls"}), ("write", {"path": "a", "content": "x"}), ("read", {"path": "/etc/passwd"}),
                 ("ls", {})]
        home = self.home(*calls, mode="allow-all")
        turn = self.say(home, sender="telegram:7")
        self.assertEqual(turn.errors, [True, True, True, False], turn.results)
        self.assertIn("not for senders from outside", turn.results[0])
        self.assertIn("safe mode", turn.results[1])
        home.write("agents/scripted.toml", 'model = "s/x"\nremote_bash = true\nremote_permission_mode = "allow-all"\n')
        home.reef("reload")
        self.assertEqual(self.say(home, sender="telegram:8").errors, [False] * 4)

    def test_nobody_there_to_ask(self):
        home = self.home(("bash", {"command": "touch a"}), mode="ask", config='[runtime]\nask_timeout = 1\n')
        with home.connect() as link:
            events = link.stream({1: "scripted", 2: "go", 5: home.work})
        (result,) = [e.detail for e in events if e.event == "tool_result"]
        self.assertIn("needs the user's permission", result.str(2))
        self.assertEqual(os.listdir(home.work), [])

    def test_a_plan_is_handed_in_accepted_and_carried_out(self):
        home = self.home(("submit_plan", {"name": "move", "content": "1. touch a"}),
                         ("bash", {"command": "touch a"}), mode="safe")
        turn = self.say(home)
        self.assertEqual(turn.errors, [False, True], turn.results)
        (plan,) = home.reef("plans", turn.session, "--json").json
        self.assertEqual((plan["name"], plan["content"]), ("move", "1. touch a"))
        self.assertIn("1. touch a", home.reef("plans", turn.session).out)
        home.write("s.json", script({"text": "1"}, {"text": "2"}, {"text": "3"},
                                    {"calls": [{"name": "bash", "arguments": {"command": "touch a"}}]}, {"text": "moved"}))
        home.reef("reload")
        self.assertNotEqual(home.reef("plan", "accept", turn.session, "other").code, 0)
        self.assertEqual(home.reef("permissions", turn.session, "--json").json["mode"], "safe", "nothing has changed")
        done = home.reef("plan", "accept", turn.session, "move", "--mode", "allow-all")
        self.assertEqual((done.code, done.out.strip()), (0, "moved"), done)
        self.assertEqual(os.listdir(home.work), ["a"])
        self.assertEqual(home.reef("permissions", turn.session, "--json").json["mode"], "allow-all")
        words = texts(read_lines(f"{home.path}/sessions/{turn.session}/session.jsonl"), "user")
        self.assertIn("I accept the plan 'move'", words[-1])

    def test_bad_requests_about_permissions_are_errors(self):
        home = self.home(("ls", {}))
        with home.connect() as link:
            for tag in (LIST_PERMISSIONS, REVOKE, LIST_PLANS, ACCEPT):
                for session in ("", "../..", "261115-no-such"):
                    self.assertEqual(link.call(tag, {1: session}).tag, ERROR)
            id_ = self.say(home).session
            self.assertEqual(link.call(ACCEPT, {1: id_, 2: "../../session", 3: "ask"}).tag, ERROR)
            self.assertEqual(link.call(ACCEPT, {1: id_, 2: "x", 3: "safe"}).code, 400)
            self.assertEqual(link.call(REVOKE, {1: id_, 2: "bash", 3: "x"}).code, 404)

    def test_bad_configuration_is_named(self):
        home = self.home(("ls", {}))
        home.write("agents/odd.toml", 'permission_mode = "wild"\n')
        home.reef("reload")
        self.assertIn("must be one of: safe, ask, allow-all", home.read("logs/reefd.log"))


if __name__ == "__main__":
    unittest.main()
