"""What the black-box tests share: a throw-away home with its daemon, protobuf wire format, frames.

Nothing here knows Reef's sources: only the documented protocol, files and commands.
"""

import json
import os
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
from pathlib import Path

BIN = Path(os.environ.get("REEF_BIN") or Path(__file__).resolve().parent / "../../build/dev/bin").resolve()
TIMEOUT = float(os.environ.get("REEF_TIMEOUT", "10"))  # seconds; more under sanitizers
MAX_FRAME = 16 * 1024 * 1024


def binary(name):
    """Path of a program; waits a moment for one that is being rebuilt."""
    path = BIN / name
    wait_for(lambda: os.access(path, os.X_OK), f"program {path}", 30)
    return str(path)


def sanitized():
    """Whether the daemon was built with a sanitizer, which holds memory of its own and keeps what was freed."""
    with open(binary("reefd"), "rb") as program:
        content = program.read()
    return b"__tsan_init" in content or b"__asan_init" in content


def wait_for(condition, what, timeout=TIMEOUT):
    """Poll `condition` until it is true (its value is returned) or fail after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {timeout} s for: {what}")
        time.sleep(0.005)


# ---------------------------------------------------------------- protobuf

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


def varint(value):
    out = bytearray()
    while True:
        low = value & 0x7F
        value >>= 7
        if value:
            out.append(low | 0x80)
        else:
            out.append(low)
            return bytes(out)


def field(number, value):
    """One encoded field: int and bool as varint, str and bytes length-delimited."""
    if isinstance(value, (bool, int)):
        return varint(number << 3 | VARINT) + varint(int(value))
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | BYTES) + varint(len(value)) + bytes(value)


def message(fields):
    """An encoded message from {number: value}; None is left out."""
    return b"".join(field(n, v) for n, v in fields.items() if v is not None)


def read_varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data):
            raise ValueError("truncated varint")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return value, at
        if shift >= 70:
            raise ValueError("varint too long")


class Message:
    """A decoded message: raw values by field number."""

    def __init__(self, data):
        self.fields = {}
        at = 0
        while at < len(data):
            key, at = read_varint(data, at)
            number, wire = key >> 3, key & 7
            if wire == VARINT:
                value, at = read_varint(data, at)
            elif wire in (FIXED64, FIXED32):
                size = 8 if wire == FIXED64 else 4
                value, at = data[at:at + size], at + size
            elif wire == BYTES:
                size, at = read_varint(data, at)
                value, at = data[at:at + size], at + size
                if len(value) != size:
                    raise ValueError("truncated field")
            else:
                raise ValueError(f"wire type {wire}")
            self.fields.setdefault(number, []).append(value)

    def has(self, number):
        return number in self.fields

    def int(self, number):
        return self.fields.get(number, [0])[-1]

    def str(self, number):
        return self.fields.get(number, [b""])[-1].decode()

    def strs(self, number):
        return [v.decode() for v in self.fields.get(number, [])]

    def sub(self, number):
        return Message(self.fields[number][-1]) if number in self.fields else None


# ---------------------------------------------------------------- protocol

SEND, STREAM, KILL, PING, GET_CONFIG, RELOAD, GET_STATS, EXTENSION, HELLO = 1, 2, 5, 30, 31, 32, 33, 100, 200
LIST_ACTIVE, LIST_CONVERSATIONS, GET_HISTORY, DELETE_CONVERSATION = 4, 7, 38, 39
LIST_SESSIONS, READ_SESSION, NEW_SESSION, RESUME_SESSION, FORK_SESSION, REWIND_SESSION = 201, 202, 204, 205, 206, 207
PATCH_SESSION, TRASH_SESSION, RESTORE_SESSION, LABEL_ENTRY, CHECK_SESSIONS, FOLLOW_SESSION = 208, 209, 210, 211, 212, 213
LIST_TRASH = 214
SEARCH_SESSIONS = 250
LIST_MEMORIES, GET_MEMORY, RECALL, REMEMBER, FORGET, RENAME_MEMORY, ALIAS_MEMORY, READ_MEMORY, LOAD_MEMORY = range(270, 279)
MEMORY_LIST, MEMORY_INFO, MEMORY_DATA, MEMORY_LOADED = 270, 271, 277, 278
ERROR, PONG, RESPONSE, STREAM_EVENT, STATS, HELLO_REPLY = 1, 2, 3, 4, 20, 200
ACTIVE_LIST, CONVERSATION_LIST, HISTORY, SESSION_LIST, SESSION_DATA, SESSION_INFO = 5, 7, 24, 201, 202, 203
CHECK_REPORT, TRASH_LIST = 204, 205
REPLY_TO_ASK, STEER_SESSION, ATTACH_RUN, LIST_QUESTIONS, QUESTION_LIST = 3, 44, 280, 281, 281
REQUEST_ID = 101
EVENTS = {1: "start", 2: "chunk", 3: "thinking", 4: "tool_start", 5: "tool_result", 6: "tools_complete", 7: "end",
          8: "ask_user", 9: "user_steered", 10: "text_start", 11: "text_end", 12: "thinking_start",
          13: "thinking_end", 14: "context_usage", 200: "tool_progress"}


def request(tag, fields=None, request_id=None):
    """An encoded ClientMessage."""
    body = fields if isinstance(fields, bytes) else message(fields or {})
    out = field(tag, body)
    if request_id is not None:
        out += field(REQUEST_ID, request_id)
    return out


def turn(agent="reef", content="hello", sender=None):
    """The fields of Send and Stream."""
    return {1: agent, 2: content, 4: sender}


class Reply:
    """A decoded ServerMessage: `tag` of the one variant, its `body`, `request_id` or None."""

    def __init__(self, payload):
        envelope = Message(payload)
        self.request_id = envelope.int(REQUEST_ID) if envelope.has(REQUEST_ID) else None
        tags = [n for n in envelope.fields if n != REQUEST_ID]
        if len(tags) != 1:
            raise AssertionError(f"a ServerMessage carries exactly one variant, this one {tags}")
        self.tag = tags[0]
        self.body = envelope.sub(self.tag)

    @property
    def code(self):
        return self.body.int(1) if self.tag == ERROR else None

    @property
    def text(self):
        return self.body.str(2) if self.tag == ERROR else ""

    @property
    def event(self):
        """Name of the stream event, or None."""
        if self.tag != STREAM_EVENT:
            return None
        (number,) = self.body.fields
        return EVENTS[number]

    @property
    def detail(self):
        """Body of the stream event."""
        (number,) = self.body.fields
        return self.body.sub(number)

    def __repr__(self):
        kind = self.event or {ERROR: f"error {self.code} {self.text!r}", PONG: "pong", RESPONSE: "response"}.get(
            self.tag, f"tag {self.tag}")
        return f"<{kind} id={self.request_id}>"


class Connection:
    """A client's socket that speaks frames."""

    def __init__(self, sock):
        self.sock = sock
        self.sock.settimeout(TIMEOUT)

    @classmethod
    def unix(cls, path):
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        # A short alias: sun_path holds 107 characters, a home may be longer.
        directory = os.open(os.path.dirname(path), os.O_PATH)
        try:
            sock.connect(f"/proc/self/fd/{directory}/{os.path.basename(path)}")
        except OSError:
            sock.close()
            raise
        finally:
            os.close(directory)
        return cls(sock)

    @classmethod
    def tcp(cls, address):
        host, port = address.rsplit(":", 1)
        sock = socket.create_connection((host, int(port)), timeout=TIMEOUT)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return cls(sock)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.sock.close()

    def half_close(self):
        self.sock.shutdown(socket.SHUT_WR)

    def send_raw(self, data):
        self.sock.sendall(data)

    def send(self, payload):
        self.send_raw(struct.pack(">I", len(payload)) + payload)

    def read_exactly(self, size):
        """`size` bytes; None at an end before the first; AssertionError at an end in the middle."""
        data = bytearray()
        while len(data) < size:
            try:
                piece = self.sock.recv(min(size - len(data), 1 << 20))
            except ConnectionResetError:
                piece = b""
            except TimeoutError:
                raise AssertionError(f"no answer within {TIMEOUT} s") from None
            if not piece:
                if data:
                    raise AssertionError("the daemon closed in the middle of a frame")
                return None
            data += piece
        return bytes(data)

    def recv_payload(self):
        """The next frame's bytes, or None when the other side closed the connection."""
        header = self.read_exactly(4)
        if header is None:
            return None
        (size,) = struct.unpack(">I", header)
        if size > MAX_FRAME:
            raise AssertionError(f"the daemon announces a frame of {size} bytes")
        payload = self.read_exactly(size) if size else b""
        if payload is None:
            raise AssertionError("the daemon closed between header and payload")
        return payload

    def recv(self):
        """The next Reply, or None when the daemon closed the connection."""
        payload = self.recv_payload()
        return None if payload is None else Reply(payload)

    def call(self, tag, fields=None, request_id=None):
        """Send one request, return the first answer."""
        self.send(request(tag, fields, request_id))
        reply = self.recv()
        if reply is None:
            raise AssertionError(f"the daemon closed instead of answering request {tag}")
        return reply

    def events(self, request_id=None):
        """The replies of one stream, up to its `end` or to an Error."""
        out = []
        while True:
            reply = self.recv()
            if reply is None:
                raise AssertionError(f"the daemon closed in the middle of a stream, after {out}")
            if reply.request_id != request_id:
                raise AssertionError(f"a stream event for request {request_id} carries {reply.request_id}: {reply}")
            out.append(reply)
            if reply.event == "end" or reply.tag == ERROR:
                return out

    def stream(self, fields, request_id=None):
        self.send(request(STREAM, fields, request_id))
        return self.events(request_id)

    def hello(self, token=None, client="blackbox", version=1):
        return self.call(HELLO, {1: client, 2: version, 3: token})


def spoken(events):
    """The text of all chunks."""
    return "".join(e.detail.str(1) for e in events if e.event == "chunk")


def script(*replies):
    """The text of a script for the scripted provider."""
    return json.dumps({"replies": list(replies)})


SCRIPTED = '[providers.s]\nkind = "scripted"\nscript = "s.json"\n'


# ---------------------------------------------------------------- home and daemon

class Result:
    """A finished command: exit code, and what it printed, as bytes and as text."""

    def __init__(self, done):
        self.code = done.returncode
        self.out_bytes, self.err_bytes = done.stdout, done.stderr
        self.out = done.stdout.decode("utf-8")
        self.err = done.stderr.decode("utf-8")

    @property
    def json(self):
        return json.loads(self.out)

    def __repr__(self):
        return f"exit {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


def environment(home=None):
    env = {k: v for k, v in os.environ.items() if not k.startswith("REEF") and k not in ("NOTIFY_SOCKET", "NO_COLOR")}
    if home is not None:
        env["REEF_HOME"] = str(home)
    return env


class Home:
    """A temporary home under /tmp; `with Home() as home:` starts its daemon and always cleans up.

    config: text of config.toml; script: text of s.json, played by the agent "scripted";
    files: {relative path: text or bytes}; name: directory name (default "h"); start: False leaves the daemon alone.
    """

    def __init__(self, config="", script=None, files=None, name="h", start=True):
        self.base = tempfile.mkdtemp(prefix="rb", dir="/tmp")
        self.path = os.path.join(self.base, name)
        os.makedirs(self.path, mode=0o700)
        self.process = None
        self.start_at_enter = start
        self.log = os.path.join(self.base, "stderr")
        if script is not None:
            config += SCRIPTED
            self.write("s.json", script)
            self.write("agents/scripted.toml", 'model = "s/x"\n')
        if config:
            self.write("config.toml", config)
        for relative, text in (files or {}).items():
            self.write(relative, text)

    def __enter__(self):
        try:
            if self.start_at_enter:
                self.start()
        except BaseException:
            self.cleanup()
            raise
        return self

    def __exit__(self, *_):
        self.cleanup()

    # files

    def file(self, relative):
        return os.path.join(self.path, relative)

    def write(self, relative, text):
        path = self.file(relative)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as out:
            out.write(text if isinstance(text, bytes) else text.encode())

    def read(self, relative):
        with open(self.file(relative), encoding="utf-8") as source:
            return source.read()

    def listing(self):
        """Every path below the home but logs, run and index, whose files come and go by themselves."""
        found = set()
        for directory, names, files in os.walk(self.path):
            for name in names + files:
                relative = os.path.relpath(os.path.join(directory, name), self.path)
                if relative.split("/")[0] not in ("logs", "run", "index"):
                    found.add(relative)
        return found

    def transcripts(self):
        """Paths of every session.jsonl."""
        return sorted(str(p) for p in Path(self.path).rglob("session.jsonl"))

    def transcript(self):
        """Path of the only session.jsonl."""
        found = self.transcripts()
        if len(found) != 1:
            raise AssertionError(f"exactly one transcript expected, found {found}")
        return found[0]

    # daemon

    def start(self, policy=False):
        """Start reefd, wait for "ready" on its --ready-fd. Without policy nothing happens by itself."""
        reading, writing = os.pipe()
        try:
            with open(self.log, "ab") as log:
                self.process = subprocess.Popen(
                    [binary("reefd"), "--home", self.path, "--ready-fd", str(writing)] + ([] if policy else ["--no-policy"]),
                    pass_fds=[writing],
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment(), cwd="/")
            os.close(writing)
            writing = None
            got = b""
            deadline = time.monotonic() + TIMEOUT
            while not got.endswith(b"\n"):
                if not select.select([reading], [], [], max(0, deadline - time.monotonic()))[0]:
                    raise AssertionError(f"reefd was not ready within {TIMEOUT} s:\n{self.stderr()}")
                piece = os.read(reading, 64)
                if not piece:
                    break
                got += piece
            if got != b"ready\n":
                raise AssertionError(f"reefd wrote {got!r} to --ready-fd:\n{self.stderr()}")
        finally:
            os.close(reading)
            if writing is not None:
                os.close(writing)

    @property
    def pid(self):
        return self.process.pid

    def stderr(self):
        try:
            with open(self.log, encoding="utf-8", errors="replace") as source:
                return source.read()
        except FileNotFoundError:
            return ""

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def stop(self):
        """SIGTERM; the exit code. A daemon has 5 s to go."""
        self.process.send_signal(signal.SIGTERM)
        return self.wait()

    def kill9(self):
        self.process.kill()
        return self.wait()

    def wait(self):
        code = self.process.wait(TIMEOUT)
        self.process = None
        return code

    def stray_pid(self):
        """Pid of a daemon on this home that `reef` started, from the lock file; None when there is none."""
        try:
            pid = int(re.match(r"\s*(\d+)", self.read("run/reefd.lock")).group(1))
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except (OSError, ValueError, AttributeError):
            return None
        return pid if words and words[0].endswith(b"reefd") and self.path.encode() in b" ".join(words) else None

    def cleanup(self):
        if self.process is not None:
            if self.process.poll() is None:
                self.process.kill()
            self.process.wait()
            self.process = None
        stray = self.stray_pid()
        if stray:
            try:
                os.kill(stray, signal.SIGKILL)
            except ProcessLookupError:
                pass
            # Not our child: wait until it is gone (or a zombie of whoever adopts it).
            wait_for(lambda: self.stray_pid() is None, f"end of daemon {stray}")
        shutil.rmtree(self.base, ignore_errors=True)

    # clients

    def connect(self, hello=True):
        """A client that knows Reef; without Hello it is one of CrabTalk's."""
        link = Connection.unix(self.file("run/reefd.sock"))
        if hello:
            link.hello()
        return link

    def say(self, content="hello", agent="reef", sender=None):
        """One Send on a connection of its own; its Reply."""
        with self.connect() as link:
            return link.call(SEND, turn(agent, content, sender))

    def ask(self, tag, fields=None):
        """One request on a connection of its own; its first answer."""
        with self.connect() as link:
            return link.call(tag, fields)

    def ping(self):
        """True when a new connection gets a Pong."""
        with self.connect() as link:
            return link.call(PING).tag == PONG

    def reef(self, *args, stdin=b"", home_by="option", env=None, cwd="/", timeout=30):
        """Run `reef`; the home is given by the option --home or by the environment (home_by="env")."""
        head = [binary("reef")] + (["--home", self.path] if home_by == "option" else [])
        variables = environment(self.path if home_by == "env" else None)
        variables.update(env or {})
        if isinstance(stdin, str):
            stdin = stdin.encode()
        return Result(subprocess.run(head + list(args), input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                     env=variables, cwd=cwd, timeout=timeout))


# ---------------------------------------------------------------- transcripts

def read_lines(path):
    """The lines of a transcript as objects; fails on one that is not JSON or on a missing last newline."""
    with open(path, "rb") as source:
        data = source.read()
    if not data.endswith(b"\n"):
        raise AssertionError(f"{path} does not end in a newline: ...{data[-80:]!r}")
    out = []
    for number, line in enumerate(data[:-1].split(b"\n"), 1):
        try:
            out.append(json.loads(line.decode("utf-8")))
        except ValueError as error:
            raise AssertionError(f"{path}:{number}: {error}: {line[:120]!r}") from None
    return out


def texts(entries, role):
    """The texts of all messages of a role."""
    out = []
    for entry in entries:
        if entry.get("type") == "message" and entry["message"]["role"] == role:
            content = entry["message"]["content"]
            out.append(content if isinstance(content, str) else "".join(
                block["text"] for block in content if block["type"] == "text"))
    return out


# ---------------------------------------------------------------- transcripts written by hand

USAGE = {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2,
         "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}}
WRITTEN_AT = 1767323046000  # milliseconds: 2026-01-02T03:04:06Z


def iso(ms):
    """2026-01-02T03:04:06.000Z"""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(ms // 1000)) + f".{ms % 1000:03d}Z"


def header_entry(session, at=WRITTEN_AT, **more):
    return {"type": "session", "version": 3, "id": session, "timestamp": iso(at), "cwd": "/", **more}


def entry(kind, id_, parent, at=WRITTEN_AT, **more):
    return {"type": kind, "id": id_, "parentId": parent, "timestamp": iso(at), **more}


def bind_entry(name, parent, agent, sender, at=WRITTEN_AT, **more):
    """The reef.meta entry that binds a session to its pair."""
    data = {"key": f"agent:{agent}:{sender}", "boundAt": at, "agent": agent, "sender": sender, "source": "native", **more}
    return entry("custom", name, parent, at, customType="reef.meta", data=data)


def user_entry(name, parent, text, at=WRITTEN_AT):
    return entry("message", name, parent, at, message={
        "role": "user", "content": [{"type": "text", "text": text}], "timestamp": at})


def assistant_entry(name, parent, text, at=WRITTEN_AT, **more):
    return entry("message", name, parent, at, message={
        "role": "assistant", "content": [{"type": "text", "text": text}], "api": "test", "provider": "s", "model": "x",
        "usage": USAGE, "stopReason": "stop", "timestamp": at, **more})


def jsonl(*entries):
    """Lines from objects, text or bytes."""
    return b"".join((e if isinstance(e, bytes) else e.encode() if isinstance(e, str) else json.dumps(
        e, ensure_ascii=False, separators=(",", ":")).encode()) + b"\n" for e in entries)


def snapshot(home):
    """{path: bytes, or None for a folder} of everything below sessions/ and trash/."""
    found = {}
    for top in ("sessions", "trash"):
        for directory, names, files in os.walk(home.file(top)):
            for name in names + files:
                path = os.path.join(directory, name)
                if name in names:
                    found[os.path.relpath(path, home.path)] = None
                    continue
                with open(path, "rb") as source:
                    found[os.path.relpath(path, home.path)] = source.read()
    return found
