"""Headless Chromium over its debugging pipe: no port, no library. Messages are JSON, each ended by a NUL byte."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

TIMEOUT = 60.0
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
         "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
         "--hide-scrollbars", "--remote-debugging-pipe"]


class Silent(AssertionError):
    pass


def program():
    return shutil.which("chromium")


class Browser:
    def __init__(self):
        # On a busy machine Chromium sometimes hangs before it reads its first command, so the start is repeated.
        for _ in range(2):
            try:
                return self.start()
            except Silent:
                self.close()
        self.start()

    def start(self):
        self.profile = tempfile.mkdtemp(prefix="rbchrome", dir="/tmp")
        from_us, to_browser = os.pipe()
        from_browser, to_us = os.pipe()

        def take_pipe():
            # The browser reads commands from 3 and writes answers to 4, so the pipes move out of the way first.
            reading, writing = os.dup2(from_us, 100), os.dup2(to_us, 101)
            os.dup2(reading, 3)
            os.dup2(writing, 4)

        self.process = subprocess.Popen(
            [program(), *FLAGS, f"--user-data-dir={self.profile}", "about:blank"], preexec_fn=take_pipe, close_fds=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(from_us)
        os.close(to_us)
        self.reading, self.writing = from_browser, to_browser
        self.buffer, self.last, self.session, self.events = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.reading)
        os.close(self.writing)
        shutil.rmtree(self.profile, ignore_errors=True)

    def receive(self, deadline):
        while b"\0" not in self.buffer:
            if not select.select([self.reading], [], [], max(0, deadline - time.monotonic()))[0]:
                raise Silent(f"Chromium said nothing for {TIMEOUT} s")
            piece = os.read(self.reading, 1 << 20)
            if not piece:
                raise AssertionError("Chromium is gone")
            self.buffer += piece
        line, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(line)

    def call(self, method, **params):
        self.last += 1
        message = {"id": self.last, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.writing, data):]
        deadline = time.monotonic() + TIMEOUT
        while True:
            answer = self.receive(deadline)
            if answer.get("id") == self.last:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def wait_for_event(self, method):
        deadline = time.monotonic() + TIMEOUT
        while True:
            for event in self.events:
                if event.get("method") == method:
                    return event["params"]
            self.events.append(self.receive(deadline))

    def open(self, path):
        """Loads a file; the events from then on are in `events`."""
        self.events = []
        self.call("Page.navigate", url=f"file://{path}")
        self.wait_for_event("Page.loadEventFired")

    def run(self, script):
        """The value of an expression in the page, promises awaited."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise AssertionError(f"{script}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def press(self, key, code=0, text=""):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code,
                      **({"text": text} if text and kind == "keyDown" else {}))

    def type(self, text):
        self.call("Input.insertText", text=text)

    def screenshot(self, path, width=1200, height=1600):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        with open(path, "wb") as out:
            out.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
