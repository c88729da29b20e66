"""The daemon's own children may ask nothing of it in the user's name, whichever way they connect."""

import os
import shutil
import subprocess
import sys
import unittest

from reefbox import *

REPLY = 3

# An agent's bash runs this. usage: attack.py WAY HOME OUT; WAY is how it connects, OUT gets the outcome.
ATTACK = '''
import os, socket, sys, time
sys.path.insert(0, {here!r})
from reefbox import *

way, home, out = sys.argv[1:]

def note(text):
    with open(out + ".new", "w") as file:
        file.write(text)
    os.rename(out + ".new", out)

def connect():
    if not way.startswith("tcp"):
        return Connection.unix(home + "/run/reefd.sock")
    with open(home + "/run/reefd.tcp") as file:
        address = file.read().strip()
    if way == "tcp-uid":  # the socket is another user's
        os.seteuid(65534)
        sock = socket.socket()
        sock.connect(("127.0.0.1", int(address.rsplit(":", 1)[1])))
        os.seteuid(0)
        link = Connection(sock)
    elif way == "tcp6":
        sock = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
        sock.connect(("::ffff:127.0.0.1", int(address.rsplit(":", 1)[1])))
        link = Connection(sock)
    else:
        link = Connection.tcp(address)
    with open(home + "/run/token") as file:
        assert link.hello(token=file.read().strip()).tag == HELLO_REPLY
    return link

def answer(link):
    return link.call(3, {{1: "scripted", 2: "user", 3: "Allow once"}}, 7)

def parents():
    pid = os.getpid()
    while pid > 1:
        with open(f"/proc/{{pid}}/stat") as file:
            pid = int(file.read().rsplit(")", 1)[1].split()[1])
        yield pid

if way in ("orphan", "keeper"):
    keeper = None
    for pid in parents():
        with open(f"/proc/{{pid}}/cmdline") as file:
            if "reef-keeper" in file.read():
                keeper = pid
                break
    if os.fork():
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)
    if way == "keeper":
        os.kill(keeper, 9)
        while os.path.exists(f"/proc/{{keeper}}"):
            time.sleep(0.01)
if way == "gone":
    # Whoever connected is gone before the request is made; its child has the socket.
    link = connect()
    if os.fork():
        os._exit(0)
    time.sleep(0.2)
else:
    link = connect()
reply = answer(link)
seen = ["reply %s" % (reply.code if reply.tag == ERROR else "ok"), reply.text if reply.tag == ERROR else ""]
for name, tag, fields in (("ping", PING, None), ("stats", GET_STATS, None), ("stream", STREAM, turn()), ("reload", RELOAD, None),
                          ("sessions", 201, None), ("patch", 208, {{1: "x"}}), ("questions", 281, None), ("shutdown", 203, None)):
    reply = link.call(tag, fields, 8)
    seen.append("%s %s" % (name, reply.code if reply.tag == ERROR else "ok"))
note("\\n".join(seen))
'''
TCP_UID = ("tcp-uid",) if os.geteuid() == 0 else ()  # only root can take another uid
REFUSED = ["stream 403", "reload 403", "sessions 403", "patch 403", "questions 403", "shutdown 403"]


def steps(*calls):
    return script(*[{"calls": [{"name": "bash", "arguments": {"command": command}} for command in call]} for call in calls],
                  {"text": "done"})


class Children(unittest.TestCase):
    def home(self, *calls, config="[tcp]\nenabled = true\nport = 0\n", **options):
        home = Home(config=config, script=script({"text": "-"}), **options)
        self.addCleanup(home.cleanup)
        home.work = os.path.join(home.base, "work")
        os.mkdir(home.work)
        with open(f"{home.work}/attack.py", "w") as out:
            out.write(ATTACK.format(here=os.path.dirname(os.path.abspath(__file__))))
        home.write("s.json", steps(*[[c.replace("HOME", home.path) for c in call] for call in calls]))
        home.write("agents/scripted.toml", 'model = "s/x"\npermission_mode = "allow-all"\n')
        home.start()
        return home

    def attacked(self, home, out):
        """The report of the attack, once it is there."""
        path = f"{home.work}/{out}"
        wait_for(lambda: os.path.exists(path), f"what came of {out}")
        with open(path) as source:
            return source.read().splitlines()

    def test_no_tool_answers_the_question_about_the_call_beside_it(self):
        ways = ("unix", "tcp", "tcp6", "orphan", "gone") + TCP_UID
        home = self.home(["rm -rf victim"] + [f"{sys.executable} attack.py {way} HOME {way}.out; while [ ! -e {way}.out ]; do sleep 0.02; done"
                                              for way in ways])
        os.mkdir(f"{home.work}/victim")
        with home.connect() as link:
            link.send(request(STREAM, {1: "scripted", 2: "go", 5: home.work}))
            while link.recv().event != "ask_user":
                pass
            for way in ways:
                with self.subTest(way=way):
                    seen = self.attacked(home, f"{way}.out")
                    self.assertEqual(seen[0], "reply 403")
                    self.assertEqual(seen[2:], ["ping ok", "stats ok"] + REFUSED)
                    self.assertIn("for the user", seen[1])
            with home.connect() as other:
                self.assertEqual(other.call(REPLY, {1: "scripted", 2: "user", 3: "Deny"}).tag, PONG, "the user may")
            link.events()
        self.assertTrue(os.path.isdir(f"{home.work}/victim"))

    def test_a_child_that_kills_its_keeper_is_no_user_and_leaves_no_zombie(self):
        home = self.home([f"{sys.executable} attack.py keeper HOME out; sleep 60"])
        with home.connect() as link:
            link.stream({1: "scripted", 2: "go", 5: home.work})
        seen = self.attacked(home, "out")
        self.assertEqual((seen[0], seen[2:]), ("reply 403", ["ping ok", "stats ok"] + REFUSED))

        def zombies():
            found = []
            for pid in filter(str.isdigit, os.listdir("/proc")):
                try:
                    with open(f"/proc/{pid}/stat") as source:
                        state, parent = source.read().rsplit(")", 1)[1].split()[:2]
                except OSError:
                    continue
                if state == "Z" and int(parent) == home.pid:
                    found.append(pid)
            return found
        wait_for(lambda: not zombies(), "an end of all zombies")

    def test_the_program_reef_is_refused_with_words_and_status_still_works(self):
        reef = binary("reef")
        home = self.home([f"{reef} --home HOME mode $(cat id) allow-all; {reef} --home HOME status > status; "
                          f"{reef} --home HOME send --key agent:reef:user hi; echo ended"])
        # The session has one mode, and the tool asks for another.
        id_ = home.reef("new", "-a", "scripted").out.strip()
        with open(f"{home.work}/id", "w") as out:
            out.write(id_)
        with home.connect() as link:
            link.send(request(STREAM, {1: "scripted", 2: "go", 5: home.work}))
            events = []
            while not events or events[-1].event != "end":
                events.append(link.recv())
                if events[-1].event == "ask_user":  # saying yes here would grant what only the user may grant
                    with home.connect() as other:
                        other.call(REPLY, {1: "scripted", 2: "user", 3: "Allow once"})
        (result,) = [e.detail.str(2) for e in events if e.event == "tool_result"]
        self.assertEqual(result.count("is for the user"), 2, result)
        self.assertEqual(home.reef("permissions", id_, "--json").json["mode"], "allow-all", "the agent's own, not set")
        self.assertNotIn("permissionMode", home.read(f"sessions/{id_}/session.jsonl"))
        with open(f"{home.work}/status") as source:
            self.assertIn("running", source.read())

    def test_users_come_in_whatever_way(self):
        home = self.home(["while [ ! -e go ]; do sleep 0.05; done"])
        # Clients over a Unix socket, TCP and IPv6 that are no children of the daemon are served, whether the daemon has
        # children or not.
        link = home.connect()
        self.addCleanup(link.close)
        for way in ("unix", "tcp", "tcp6", "orphan", *TCP_UID, "and now", "unix", "tcp", "tcp6", "orphan", *TCP_UID):
            if way == "and now":
                link.send(request(STREAM, {1: "scripted", 2: "go", 5: home.work}))
                while link.recv().event != "tool_start":
                    pass
                wait_for(lambda: open(f"/proc/{home.pid}/task/{home.pid}/children").read(), "a child")
                continue
            with self.subTest(way=way):
                if os.path.exists(f"{home.work}/user-{way}"):
                    os.unlink(f"{home.work}/user-{way}")
                code = ATTACK.format(here=os.path.dirname(os.path.abspath(__file__)))
                code = code.replace('reply = answer(link)', 'reply = link.call(201, None, 7)').split("for name, tag")[0] + 'note(seen[0])\n'
                with open(f"{home.work}/user.py", "w") as out:
                    out.write(code)
                subprocess.run([sys.executable, "user.py", way, home.path, f"user-{way}"], cwd=home.work, check=True, timeout=30)
                self.assertEqual(self.attacked(home, f"user-{way}"), ["reply ok"])
        open(f"{home.work}/go", "w").close()
        link.events()

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "needs root, to become another user")
    def test_a_daemon_of_an_ordinary_user_knows_its_own(self):
        home = Home(config="[tcp]\nenabled = true\nport = 0\n", start=False)
        self.addCleanup(home.cleanup)
        os.chmod(home.base, 0o755)
        for path, _, files in os.walk(home.path):
            for name in [path] + [os.path.join(path, f) for f in files]:
                os.chown(name, 65534, 65534)
        if subprocess.run(["setpriv", "--reuid", "65534", "--clear-groups", "test", "-x", binary("reefd")]).returncode:
            self.skipTest("another user cannot run the programs here")
        daemon = subprocess.Popen(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", binary("reefd"),
                                   "--home", home.path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for(lambda: os.path.exists(home.file("run/reefd.sock")), "the daemon")
            code = ("import sys; sys.path.insert(0, sys.argv[1]); from reefbox import *; h = sys.argv[2]\n"
                    "l = Connection.unix(h + '/run/reefd.sock'); print(l.call(201).tag)\n"
                    "l = Connection.tcp(open(h + '/run/reefd.tcp').read().strip()); l.hello(token=open(h + '/run/token').read().strip())\n"
                    "print(l.call(201).tag)")
            done = subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", sys.executable, "-c", code,
                                   os.path.dirname(os.path.abspath(__file__)), home.path], capture_output=True, text=True, timeout=30)
            self.assertEqual(done.stdout.split(), ["201", "201"], done.stderr)
        finally:
            daemon.terminate()
            daemon.wait(10)


if __name__ == "__main__":
    unittest.main()
