"""Components beside the daemon: the port file, the tools over MCP, and reef-cron's jobs."""

import json
import os
import signal
import shutil
import socket
import stat
import subprocess
import unittest
import sys
import urllib.error
import urllib.request

from reefbox import *


class Component:
    """A reef-cron on a home."""

    def __init__(self, home):
        self.home = home
        self.log = home.path + ".cron.log"
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([binary("reef-cron"), "--home", home.path], stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, env=environment(), cwd="/")
        self.port = wait_for(self.answering, "a port that answers")

    def answering(self):
        if self.process.poll() is not None:
            raise AssertionError(f"reef-cron ended: {open(self.log).read()}")
        try:
            port, self.token = self.home.read("run/cron.port").split()
            port = int(port)
            socket.create_connection(("127.0.0.1", port), TIMEOUT).close()
            return port
        except (FileNotFoundError, ConnectionRefusedError):
            return None

    def call(self, tool, *, token=None, **arguments):
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/mcp", json.dumps(body).encode(),
                                         {"Content-Type": "application/json",
                                          **({"Authorization": "Bearer " + (token or self.token)} if token != "" else {})})
        with urllib.request.urlopen(request, timeout=TIMEOUT) as reply:
            return json.load(reply)["result"]

    def end(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        self.process.wait(TIMEOUT)
        if os.path.exists(self.log):
            os.unlink(self.log)


class Components(unittest.TestCase):
    def setUp(self):
        self.home = Home(script=script({"text": "as you say"}))
        self.addCleanup(self.home.cleanup)
        self.home.start()
        self.cron = Component(self.home)
        self.addCleanup(lambda: self.cron.end())

    def test_the_port_file_comes_and_goes_with_it(self):
        self.cron.end()
        self.assertFalse(os.path.exists(self.home.file("run/cron.port")))
        self.cron = Component(self.home)
        self.cron.end(signal.SIGKILL)
        self.assertTrue(os.path.exists(self.home.file("run/cron.port")), "nobody could take it away")
        self.cron = Component(self.home)
        self.assertIn("no jobs", self.cron.call("cron_list")["content"][0]["text"])

    def test_its_tools_are_for_users_who_may_read_the_port_file(self):
        self.assertEqual(stat.S_IMODE(os.stat(self.home.file("run/cron.port")).st_mode), 0o600)
        self.assertGreaterEqual(len(self.cron.token), 32)
        for token in ("", "x", self.cron.token[:-1], self.cron.token + "x", "Bearer"):
            with self.assertRaises(urllib.error.HTTPError) as refused:
                self.cron.call("cron_add", token=token, name="evil", schedule="@daily", message="m")
            self.assertEqual(refused.exception.code, 401)
            refused.exception.close()
        self.assertEqual(self.cron.call("cron_list")["structuredContent"]["jobs"], [])
        first = self.cron.token
        self.cron.end()
        self.cron = Component(self.home)
        self.assertNotEqual(self.cron.token, first, "another every time")

    def test_a_job_speaks_in_a_conversation_of_its_own(self):
        done = self.cron.call("cron_add", name="tick", schedule="@every 1s", message="what time is it?")
        self.assertFalse(done["isError"], done)
        listed = wait_for(lambda: json.loads(self.home.reef("sessions", "--key", "cron:tick", "--json").out), "a session")
        self.assertEqual(listed[0]["preview"], "what time is it?")
        self.assertFalse(self.cron.call("cron_remove", name="tick")["isError"])
        self.assertEqual(self.cron.call("cron_list")["structuredContent"]["jobs"], [])

    def test_jobs_outlive_the_component(self):
        self.cron.call("cron_add", name="tea", schedule="0 16 * * 1-5", message="tea?")
        self.cron.end(signal.SIGKILL)
        self.cron = Component(self.home)
        jobs = self.cron.call("cron_list")["structuredContent"]["jobs"]
        self.assertEqual([(j["name"], j["schedule"], j["message"]) for j in jobs], [("tea", "0 16 * * 1-5", "tea?")])

    def test_mistakes_are_told_to_the_model(self):
        for arguments, part in (({"name": "x", "schedule": "61 * * * *", "message": "m"}, "minute: '61'"),
                                ({"name": "../x", "schedule": "@daily", "message": "m"}, "name:"),
                                ({"name": "x", "schedule": "@daily", "message": " "}, "message:"),
                                ({}, "name:")):
            answer = self.cron.call("cron_add", **arguments)
            self.assertTrue(answer["isError"])
            self.assertIn(part, answer["content"][0]["text"])

    def test_a_daemon_that_is_away_is_a_line_in_the_list(self):
        self.home.stop()
        self.cron.call("cron_add", name="tick", schedule="@every 1s", message="hello?")
        wait_for(lambda: [j for j in self.cron.call("cron_list")["structuredContent"]["jobs"] if j["lastError"]],
                          "the error")
        self.home.start()
        wait_for(lambda: [j for j in self.cron.call("cron_list")["structuredContent"]["jobs"] if not j["lastError"]],
                 "a turn that went well")


class ForAgents(unittest.TestCase):
    """A component's tools in turns: it comes, crashes and comes again, and nothing is reloaded."""

    def setUp(self):
        look = {"calls": [{"name": "cron__cron_list", "arguments": {}}]}
        self.home = Home(script=script(*[look, {"text": "looked"}] * 200))
        self.addCleanup(self.home.cleanup)
        self.home.write("agents/scripted.toml", 'model = "s/x"\nmcps = ["cron"]\n')
        self.home.start()

    def looked(self):
        """The answer of the tool in one more turn."""
        self.assertEqual(self.home.say("what is planned?", agent="scripted").tag, RESPONSE)
        results = [e["message"] for e in read_lines(self.home.transcript())
                   if e["type"] == "message" and e["message"]["role"] == "toolResult"]
        return results[-1]["content"][0]["text"]

    def test_it_comes_crashes_and_comes_again(self):
        self.assertNotIn("no jobs", self.looked(), "it is not there yet")
        cron = Component(self.home)
        wait_for(lambda: "no jobs" in self.looked(), "its tools")
        cron.end(signal.SIGKILL)
        self.assertNotIn("no jobs", self.looked())
        self.assertTrue(self.home.ping(), "the daemon does not care")
        cron = Component(self.home)
        self.addCleanup(cron.end)
        self.assertFalse(cron.call("cron_add", name="tea", schedule="@daily", message="tea?")["isError"])
        wait_for(lambda: "tea" in self.looked(), "its tools at another port")

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "needs root, to become another user")
    def test_another_user_who_took_its_port_is_told_nothing(self):
        # The component was killed and left its file; at the port another user answers now.
        code = ("import http.server\n"
                "class Ears(http.server.BaseHTTPRequestHandler):\n"
                "    def do_POST(self):\n"
                "        print('heard', self.headers.get('Authorization'), flush=True); self.send_error(500)\n"
                "    do_GET = do_DELETE = do_POST\n"
                "server = http.server.HTTPServer(('127.0.0.1', 0), Ears); print(server.server_port, flush=True); server.serve_forever()")
        thief = subprocess.Popen(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", sys.executable, "-c", code],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd="/")
        self.addCleanup(thief.stdout.close)
        self.addCleanup(thief.stderr.close)
        self.addCleanup(thief.wait)
        self.addCleanup(thief.kill)
        port = thief.stdout.readline().strip()
        self.assertTrue(port, port or thief.stderr.read())
        path = self.home.file("run/cron.port")
        with open(os.open(path + ".new", os.O_WRONLY | os.O_CREAT, 0o600), "w") as out:
            out.write(f"{port}\nsecret\n")
        os.rename(path + ".new", path)
        self.assertIn("not registered", self.looked())
        wait_for(lambda: "another user listens" in self.home.reef("mcp", "ls").out + self.home.read("logs/reefd.log"),
                 "word of it")
        thief.kill()
        self.assertEqual(thief.stdout.read(), "")

    def test_a_port_file_others_could_have_written_or_read_is_none(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.settimeout(0.05)
            for mode, text in ((0o666, "{port}\n"), (0o620, "{port}\n"), (0o644, "{port}\ntoken\n"), (0o640, "{port}\ntoken\n")):
                path = self.home.file("run/cron.port")
                with open(path + ".new", "w") as out:
                    out.write(text.format(port=listener.getsockname()[1]))
                os.chmod(path + ".new", mode)
                os.rename(path + ".new", path)
                self.assertIn("tool not registered", self.looked(), oct(mode))
                with self.assertRaises(TimeoutError):
                    listener.accept()


if __name__ == "__main__":
    unittest.main()
