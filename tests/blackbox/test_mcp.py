"""MCP servers from the outside: how they are configured, called, shared and ended; nothing secret is ever shown."""

import http.server
import json
import threading
import time
import unittest

from reefbox import *

FAKE = str(Path(__file__).resolve().parent.parent / "mcp" / "fake_server.py")
LIST_MCPS, UPSERT_MCP, DELETE_MCP, SUBSCRIBE_MCP_EVENTS, TEST_MCP = 13, 45, 46, 52, 290
MCP_LIST, MCP_INFO, MCP_EVENT, MCP_VERDICT = 10, 29, 30, 290
GET_AGENT, AGENT_INFO = 16, 11
CONNECTED, DISCONNECTED, FAILED = 1, 2, 3
SECRET = "hunter2-hunter2-hunter2"


def calls(*wanted):
    """A script that calls these tools, one step, and then says so."""
    return script({"calls": [{"name": name, "arguments": arguments} for name, arguments in wanted]}, {"text": "done"})


def table(name, *args, **more):
    """[mcps.NAME] of the fake server."""
    lines = [f"[mcps.{name}]", 'command = "python3"', f"args = {json.dumps(['-B', FAKE, *args])}"]
    return "\n".join(lines + [f"{key} = {value}" for key, value in more.items()]) + "\n"


def agent_file(*servers, mode="allow-all"):
    return f'model = "s/x"\npermission_mode = "{mode}"\n' + "".join(servers)


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class Mcp(unittest.TestCase):
    def home(self, start=True, **options):
        home = Home(**options)
        self.addCleanup(home.cleanup)
        if start:
            home.start()
        return home

    def with_fake(self, wanted, *args, mode="allow-all", **more):
        return self.home(script=calls(*wanted),
                         files={"agents/scripted.toml": agent_file(table("fake", *args, **more), mode=mode)})

    def outcomes(self, home, agent="scripted"):
        """The tools' answers of one turn: (text, is_error) in the order of the calls."""
        events = home.connect().stream(turn(agent, "go"))
        (start,) = [e.detail for e in events if e.event == "tool_start"]
        order = [Message(raw).str(200) for raw in start.fields[1]]
        by_id = {e.detail.str(1): (e.detail.str(2), e.detail.int(4)) for e in events if e.event == "tool_result"}
        return [by_id[id_] for id_ in order]

    def listed(self, home, agent=""):
        body = home.connect().call(LIST_MCPS, {1: agent}).body
        return [Message(raw) for raw in body.fields.get(1, [])]

    def test_tools_of_a_server_are_the_agents(self):
        home = self.with_fake([("fake__echo", {"text": "hi"}), ("fake__structured", {}), ("fake__fail", {}),
                               ("fake__image", {}), ("mcp_list", {}), ("mcp_read", {"server": "fake", "uri": "fake://x"}),
                               ("mcp_prompt", {"server": "fake", "name": "greet", "arguments": '{"who": "Ann"}'}),
                               ("fake__nonsense", {})])
        said = self.outcomes(home)
        self.assertEqual(said[0], ("hi", 0))
        self.assertEqual(said[1], ('{"answer":42}', 0))
        self.assertEqual(said[2], ("it went wrong", 1))
        self.assertEqual(said[3], ("look", 0))
        self.assertIn("resource fake://note", said[4][0])
        self.assertIn("prompt greet(who)", said[4][0])
        self.assertEqual(said[5], ("words of fake://x", 0))
        self.assertEqual(said[6], ("user: Hello Ann", 0))
        self.assertEqual(said[7], ("tool not registered: fake__nonsense", 1))
        images = [block for e in read_lines(home.transcript()) if e["type"] == "message" and e["message"]["role"] == "toolResult"
                  for block in e["message"]["content"] if block["type"] == "image"]
        self.assertEqual(len(images), 1)

    def test_progress_and_questions_reach_the_user(self):
        for era in ("legacy", "modern"):
            with self.subTest(era):
                home = self.with_fake([("fake__progress", {}), ("fake__ask", {})], "--era", era)
                link = home.connect()
                link.send(message({STREAM: message(turn("scripted", "go"))}))
                events = []
                while not events or events[-1].event != "end":
                    events.append(link.recv())
                    if events[-1].event == "ask_user":
                        asked = events[-1].detail
                        content = json.dumps(["Ann", "", "Yes", "green"])
                        home.connect().call(REPLY_TO_ASK, {1: "scripted", 3: content, 200: asked.str(200)})
                self.assertIn("Who are you?", Message(asked.fields[1][0]).str(1))
                told = "".join(e.detail.str(2) for e in events if e.event == "tool_progress")
                self.assertIn("50 %: step 2", told)
                answers = [e.detail.str(2) for e in events if e.event == "tool_result"]
                self.assertIn('{"action": "accept", "content": {"age": 7, "colour": "green", "name": "Ann", "sure": true}}',
                              answers)

    def test_a_kill_cancels_the_call(self):
        home = self.with_fake([("fake__slow", {"seconds": 25})])
        link = home.connect()
        link.send(message({STREAM: message(turn("scripted", "go"))}))
        while link.recv().event != "tool_start":
            pass
        began = time.monotonic()
        self.assertEqual(home.connect().call(KILL, {1: "scripted"}).tag, PONG)
        while link.recv().event != "end":
            pass
        self.assertLess(time.monotonic() - began, 5)

    def test_a_servers_log_lines_are_logged_without_secrets(self):
        home = self.with_fake([("fake__log", {})], "--token", SECRET)
        self.assertEqual(self.outcomes(home), [("logged", 0)])
        line = wait_for(lambda: next((l for l in home.read("logs/reefd.log").splitlines() if "all is not well" in l), None),
                        "the line of the server")
        self.assertIn("mcp fake: warning: all is not well, ***", line)

    def test_servers_of_who_is_delegated_to_are_within_the_tools_of_who_delegates(self):
        for tools, expected in (('', ("hi", 0)), ('tools = ["delegate"]\n', ("tool not available: fake__echo", 1)),
                                ('tools = ["delegate", "fake__echo"]\n', ("hi", 0))):
            with self.subTest(tools):
                order = {"tasks": [{"agent": "keeper", "message": "x"}]}
                home = self.home(config='[providers.c]\nkind = "scripted"\nscript = "c.json"\n', script=calls(("delegate", order)),
                                 files={"c.json": calls(("fake__echo", {"text": "hi"})),
                                        "agents/scripted.toml": f'model = "s/x"\n{tools}',
                                        "agents/keeper.toml": 'model = "c/x"\n' + table("fake")})
                self.outcomes(home)
                (child,) = [s for s in home.reef("sessions", "--json").json if s["agent"] == "keeper"]
                (result,) = [e["message"] for e in map(json.loads, home.read(f"sessions/{child['id']}/session.jsonl").splitlines())
                             if e.get("message", {}).get("role") == "toolResult"]
                self.assertEqual((result["content"][0]["text"], int(result["isError"])), expected)

    def test_only_what_says_that_it_looks_is_let_through_in_safe_mode(self):
        home = self.with_fake([("fake__echo", {"text": "hi"}), ("fake__grow", {})], mode="safe")
        looked, changed = self.outcomes(home)
        self.assertEqual(looked, ("hi", 0))
        self.assertEqual(changed[1], 1)
        self.assertNotIn("grown", changed[0])

    def test_nothing_secret_is_shown_anywhere(self):
        # The calls are in two steps, because in one step the crash may come before the answer.
        home = self.home(script=script({"calls": [{"name": "fake__env", "arguments": {"name": "SERVICE_KEY"}}]},
                                       {"calls": [{"name": "fake__crash", "arguments": {}}]}, {"text": "done"}),
                         files={"agents/scripted.toml": agent_file()})
        config = {"name": "fake", "command": "python3", "args": ["-B", FAKE, "--token", SECRET],
                  "env": {"SERVICE_KEY": SECRET, "ELSEWHERE": "env:HOME"}}
        link = home.connect()
        shown = link.call(UPSERT_MCP, {1: json.dumps(config), 2: "scripted"})
        self.assertEqual(shown.tag, MCP_INFO, shown)
        self.assertEqual(shown.body.strs(3)[-1], "***")
        self.assertIn(SECRET, home.read("agents/scripted.toml"))
        self.assertEqual(home.connect().call(SEND, turn("scripted", "go")).tag, RESPONSE)
        kept = json.dumps(read_lines(home.transcript()))
        self.assertEqual(kept.count(SECRET), 1, "only what the agent itself asked for")
        seen = [home.reef("mcp", "ls").out, home.reef("mcp", "ls", "--json").out, home.reef("agents", "show", "scripted").out,
                home.reef("agents", "show", "scripted", "--json").out, home.reef("mcp", "test", "fake", "-a", "scripted").out,
                home.read("logs/reefd.log"), repr(link.call(GET_AGENT, {1: "scripted"}).body.fields),
                repr(link.call(LIST_MCPS, {}).body.fields)]
        for text in seen:
            self.assertNotIn(SECRET, text)
        self.assertIn("env:HOME", seen[1])
        # A mask that is sent back keeps the secret.
        (info,) = self.listed(home)
        config["env"]["SERVICE_KEY"] = "***"
        config["args"][-1] = info.strs(3)[-1]
        self.assertEqual(link.call(UPSERT_MCP, {1: json.dumps(config), 2: "scripted"}).tag, MCP_INFO)
        self.assertEqual(home.read("agents/scripted.toml").count(SECRET), 2)

    def test_the_operations_say_what_is_wrong(self):
        home = self.home(script=calls(), files={"agents/scripted.toml": agent_file()})
        link = home.connect()
        good = json.dumps({"name": "x", "command": "true"})
        for tag, fields, words in (
                (LIST_MCPS, {1: "nobody"}, "agent 'nobody' not found"),
                (UPSERT_MCP, {1: good}, "agent name is required for upsert_mcp"),
                (UPSERT_MCP, {1: good, 2: "nobody"}, "agent 'nobody' not found"),
                (UPSERT_MCP, {1: "{", 2: "scripted"}, "invalid McpServerConfig JSON"),
                (UPSERT_MCP, {1: "{}", 2: "scripted"}, "MCP config must have a name"),
                (UPSERT_MCP, {1: '{"name": "x"}', 2: "scripted"}, "either a command or a url"),
                (UPSERT_MCP, {1: '{"name": "../x", "command": "y"}', 2: "scripted"}, "a server's name is"),
                (UPSERT_MCP, {1: '{"name": "x", "command": 7}', 2: "scripted"}, "command: must be a string"),
                (UPSERT_MCP, {1: '{"name": "x", "comand": "y"}', 2: "scripted"}, "no such setting"),
                (DELETE_MCP, {1: "x"}, "agent name is required for delete_mcp"),
                (DELETE_MCP, {1: "x", 2: "scripted"}, "mcp 'x' not found"),
                (TEST_MCP, {1: "x", 2: "scripted"}, "has no server 'x'")):
            reply = link.call(tag, fields)
            self.assertEqual(reply.tag, ERROR, (tag, fields))
            self.assertIn(words, reply.text)
        verdict = link.call(TEST_MCP, {3: '{"name": "x", "command": "/no/such/program"}'})
        self.assertEqual((verdict.tag, verdict.body.int(1)), (MCP_VERDICT, 0))
        self.assertIn("/no/such/program", verdict.body.str(9))
        self.assertEqual(home.read("agents/scripted.toml"), agent_file(), "nothing was changed by all that")

    def test_add_change_and_remove(self):
        home = self.home(script=calls(("one__pid", {}), ("two__pid", {})), files={"agents/scripted.toml": agent_file()})
        for name in ("one", "two"):
            added = home.reef("mcp", "add", name, "-a", "scripted", "--env", "A=b", "--", "python3", "-B", FAKE)
            self.assertEqual(added.code, 0, added)
        (first, wrong), (second, wrong2) = self.outcomes(home)
        self.assertEqual((wrong, wrong2), (0, 0), (first, second))
        self.assertEqual(first, second, "equal servers are one process")
        self.assertEqual([(m.str(1), m.str(7), m.int(11), m.int(13)) for m in self.listed(home, "scripted")],
                         [("one", "scripted", CONNECTED, 17), ("two", "scripted", CONNECTED, 17)])
        self.assertEqual(home.reef("mcp", "rm", "one", "-a", "scripted").code, 0)
        self.assertEqual([m.str(1) for m in self.listed(home)], ["two"])
        self.assertEqual(home.reef("mcp", "rm", "one", "-a", "scripted").code, 1)
        self.assertEqual(home.reef("mcp", "rm", "two", "-a", "scripted").code, 0)
        wait_for(lambda: not alive(first), "the end of the process nobody has any more")

    def test_servers_of_the_node_are_used_by_name(self):
        home = self.home(start=False, script=calls(("shared__echo", {"text": "hi"})), config=table("shared"))
        home.write("agents/scripted.toml", 'model = "s/x"\nmcps = ["shared"]\n')
        home.write("agents/other.toml", 'model = "s/x"\n')
        home.start()
        self.assertEqual(self.outcomes(home), [("hi", 0)])
        self.assertEqual([(m.str(7), m.str(1)) for m in self.listed(home)], [("scripted", "shared")])

    def test_a_crash_is_told_and_survived(self):
        home = self.with_fake([("fake__crash", {})])
        events = home.connect()
        events.send(message({SUBSCRIBE_MCP_EVENTS: b""}))
        ((said, wrong),) = self.outcomes(home)
        self.assertTrue(wrong)
        self.assertIn("exit code 3", said)
        kinds = [events.recv().body.int(1) for _ in range(3)]
        self.assertEqual(kinds, [1, 2, 3], "connecting, connected, failed")
        time.sleep(1.1)  # the pause before the next attempt, which a call waits for at most 2 s
        home.write("s.json", calls(("fake__echo", {"text": "back"})))
        self.assertEqual(home.reef("reload").code, 0)
        self.assertEqual(self.outcomes(home), [("back", 0)])

    def test_w6_a_reload_changes_nothing_for_those_that_did_not_change(self):
        home = self.with_fake([("fake__pid", {})])
        ((pid, _),) = self.outcomes(home)
        self.assertEqual(home.reef("reload").code, 0)
        self.assertTrue(alive(pid))
        self.assertEqual([m.int(11) for m in self.listed(home)], [CONNECTED])
        home.write("agents/scripted.toml", agent_file())
        self.assertEqual(home.reef("reload").code, 0)
        wait_for(lambda: not alive(pid), "the end of the process")

    def serve(self, word="over http"):
        """A server of revision 2026-07-28 with one tool; it keeps what it has seen."""
        seen = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                seen.append((asked["method"], self.headers["Authorization"], self.headers["Mcp-Method"]))
                results = {"server/discover": {"resultType": "complete", "supportedVersions": ["2026-07-28"],
                                               "capabilities": {"tools": {}}},
                           "tools/list": {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]},
                           "tools/call": {"content": [{"type": "text", "text": word}]}}
                body = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": results[asked["method"]]}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server, seen

    def test_a_server_over_http_with_its_token(self):
        server, seen = self.serve()
        home = self.home(start=False, script=calls(("web__t", {})))
        home.write("token.sh", f"#!/bin/sh\necho {SECRET}\n")
        home.write("agents/scripted.toml", agent_file(
            f'[mcps.web]\nurl = "http://127.0.0.1:{server.server_port}/mcp"\nauth = "cmd:sh {home.path}/token.sh"\n'))
        home.start()
        self.assertEqual(self.outcomes(home), [("over http", 0)])
        self.assertEqual({auth for _, auth, _ in seen}, {f"Bearer {SECRET}"})
        self.assertEqual([method for method, _, named in seen if named == method],
                         ["server/discover", "tools/list", "tools/call"])

    def test_a_component_comes_moves_and_goes_without_a_reload(self):
        home = self.home(script=calls(("notes__t", {})),
                         files={"agents/scripted.toml": 'model = "s/x"\npermission_mode = "allow-all"\nmcps = ["notes"]\n',
                                "agents/other.toml": 'model = "s/x"\n'})
        self.assertEqual(self.outcomes(home), [("tool not registered: notes__t", 1)], "it is not there yet")

        def place(text):
            home.write("run/notes.new", text)
            os.rename(home.file("run/notes.new"), home.file("run/notes.port"))

        def status():
            return [(m.str(1), m.int(11), m.int(10)) for m in self.listed(home)]

        first, _ = self.serve("first place")
        place(f"{first.server_port}\n")
        wait_for(lambda: status() == [("notes", CONNECTED, 3)], "the component to be connected")
        self.assertEqual(self.outcomes(home), [("first place", 0)])
        second, _ = self.serve("second place")
        place(f"{second.server_port}")
        wait_for(lambda: status() == [("notes", CONNECTED, 3)] and self.outcomes(home) == [("second place", 0)], "the move")
        for bad in ("", "0", "65536", "-1", "12x", "9" * 100, "\0"):
            place(bad)
            wait_for(lambda: status()[0][1] == DISCONNECTED, f"{bad!r} to be no port")
            place(f"{second.server_port}")
            wait_for(lambda: status()[0][1] == CONNECTED, "it to be back")
        # The component crashes and leaves its file; the daemon is not harmed.
        second.shutdown()
        second.server_close()
        ((said, wrong),) = self.outcomes(home)
        self.assertEqual(wrong, 1, said)
        os.unlink(home.file("run/notes.port"))
        wait_for(lambda: status()[0][1] == DISCONNECTED, "the component to be gone")
        self.assertTrue(home.ping())

    def fleet(self):
        """100 agents with one server each, of 10 distinct configurations, and one agent whose server hangs."""
        home = self.home(start=False, script=calls(("fake__pid", {})))
        marks = Path(home.base) / "marks"
        for i in range(100):
            home.write(f"agents/a{i}.toml", agent_file(table("fake", "--mark", str(marks), "--tools", f"kind{i % 10}")))
        home.write("agents/hung.toml", agent_file(table("hung", "--mark", str(marks), "--hang"), table("fake", "--tools", "h")))
        return home, marks

    def test_a_hundred_agents_with_ten_servers_and_one_that_hangs(self):
        home, marks = self.fleet()
        began = time.monotonic()
        home.start()
        took = time.monotonic() - began
        self.assertLess(took, 3, "servers do not delay the start")
        self.assertFalse(marks.exists(), "nothing is started before it is used")
        self.assertEqual(len(self.listed(home)), 102)

        slow = home.connect()
        slow.send(message({STREAM: message(turn("hung", "go"))}))
        pids = {}
        failures = []

        def ask(agent):
            try:
                ((text, wrong),) = self.outcomes(home, agent)
                pids[agent] = (text, wrong)
            except AssertionError as error:
                failures.append((agent, error))

        threads = [threading.Thread(target=ask, args=(f"a{i}",)) for i in range(100)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        self.assertEqual({wrong for _, wrong in pids.values()}, {0}, pids)
        for i in range(100):
            self.assertEqual(pids[f"a{i}"], pids[f"a{i % 10}"])
        servers = {int(text) for text, _ in pids.values()}
        self.assertEqual(len(servers), 10)
        started = {int(line) for line in marks.read_text().split()}
        self.assertEqual(len(started), 11, "ten, and the one that hangs")
        events = []
        while not events or events[-1].event != "end":
            events.append(slow.recv())
        self.assertEqual([e.detail.int(4) for e in events if e.event == "tool_result"], [0],
                         "the agent's other server works beside the one that hangs")

        home.stop()
        wait_for(lambda: not any(alive(pid) for pid in started), "the end of all servers after a stop")

    def test_no_server_outlives_a_killed_daemon(self):
        home, marks = self.fleet()
        home.start()
        for i in range(10):
            self.outcomes(home, f"a{i}")
        started = {int(line) for line in marks.read_text().split()}
        self.assertEqual(len(started), 10)
        self.assertTrue(all(alive(pid) for pid in started))
        home.kill9()
        wait_for(lambda: not any(alive(pid) for pid in started), "the end of all servers after kill -9")


if __name__ == "__main__":
    unittest.main()
