"""Every backend against a mock of its API that we did not write: @copilotkit/aimock from the npm registry.

The mock speaks Chat Completions, Responses, Messages, Gemini, Azure and Bedrock's binary frames (npm.py installs it).
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "blackbox"))

import npm  # noqa: E402
from reefbox import Home, read_lines  # noqa: E402

PACKAGE, VERSION = "@copilotkit/aimock", "1.43.0"
START_SECONDS = 30
HELLO = "Hello from the mock, with ünicode and \"quotes\"."

FIXTURES = [
    {"match": {"userMessage": "say hello"}, "response": {"content": HELLO}},
    {"match": {"userMessage": "think"}, "response": {"content": "42", "reasoning": "Let me think about it."}},
    {"match": {"userMessage": "use two tools", "hasToolResult": True}, "response": {"content": "I have looked."}},
    {"match": {"userMessage": "use two tools", "hasToolResult": False}, "response": {"content": "Looking.", "toolCalls": [
        {"name": "recall", "arguments": {"query": "a b", "limit": 3}}, {"name": "paint", "arguments": {"file": "c"}}]}},
    {"match": {"userMessage": "fail 401"}, "response": {
        "error": {"message": "Bad key says the mock", "type": "authentication_error"}, "status": 401}},
    {"match": {"userMessage": "fail 429"}, "response": {
        "error": {"message": "Rate limited says the mock", "type": "rate_limit_error"}, "status": 429}},
    {"match": {"userMessage": "fail 500"}, "response": {
        "error": {"message": "Broken says the mock", "type": "server_error"}, "status": 500}},
    {"match": {"userMessage": "too long for google"}, "response": {"error": {
        "message": "The input token count (9) exceeds the maximum number of tokens allowed (8).",
        "type": "INVALID_ARGUMENT"}, "status": 400}},
    {"match": {"userMessage": "too long"}, "response": {"error": {
        "message": "prompt is too long: 9 tokens > 8 maximum", "type": "invalid_request_error"}, "status": 400}},
]

# Provider of the test -> its lines in config.toml; {url} is the mock.
BACKENDS = {
    "chat": 'kind = "openai"\nbase_url = "{url}"\nmodels = ["gpt-4o"]\n',
    "responses": 'kind = "openai-responses"\nbase_url = "{url}"\ndefault_model = "gpt-4o"\n',
    "azure": 'kind = "azure"\nbase_url = "{url}"\napi_version = "2024-10-21"\ndefault_model = "gpt-4o"\n',
    "anthropic": 'kind = "anthropic"\nbase_url = "{url}"\nmodels = ["claude-sonnet-4-5"]\n',
    "google": 'kind = "google"\nbase_url = "{url}"\nmodels = ["gemini-2.5-flash"]\n',
    "bedrock": 'kind = "bedrock"\nbase_url = "{url}"\nregion = "us-east-1"\n'
               'models = ["anthropic.claude-3-5-sonnet-20241022-v2:0"]\n',
}
KEYS = {"bedrock": "AKIDEXAMPLE:secret"}

mock = None  # the one Mock of this run


class Mock:
    def __init__(self, node, cache):
        self.folder = tempfile.mkdtemp(prefix="aimock", dir="/tmp")
        fixtures = os.path.join(self.folder, "fixtures.json")
        with open(fixtures, "w", encoding="utf-8") as out:
            json.dump({"fixtures": FIXTURES}, out)
        self.log = os.path.join(self.folder, "log")
        program = cache / "node_modules" / ".bin" / "llmock"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [node, str(program.resolve()), "--port", "0", "--fixtures", fixtures, "--chunk-size", "7"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder,
                env=dict(os.environ, HOME=self.folder))
        deadline = time.monotonic() + START_SECONDS
        while True:
            with open(self.log, encoding="utf-8", errors="replace") as log:
                text = log.read()
            found = re.search(r"http://127\.0\.0\.1:\d+", text)
            if found:
                self.url = found[0]
                return
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.close()
                raise npm.Unavailable("the mock does not start: " + text[-1000:])
            time.sleep(0.02)

    def close(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def setUpModule():
    global mock
    try:
        mock = Mock(npm.node(), npm.installed(f"aimock-{VERSION}", f"{PACKAGE}@{VERSION}"))
    except npm.Unavailable as why:
        npm.skip_loudly("INTEROP WITH AIMOCK", why)


def tearDownModule():
    if mock:
        mock.close()


class AimockTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        config, agents = "", {}
        for name, lines in BACKENDS.items():
            key = KEYS.get(name, "sk-test")
            config += f'[providers.{name}]\nkey = "{key}"\nretries_max = 0\n' + lines.replace("{url}", mock.url)
            agents[f"agents/{name}.toml"] = f'model = "{name}"\n'
        cls.home = Home(config, files=agents)
        cls.home.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.home.__exit__()

    def ask(self, backend, words, sender):
        """The command, and the last message of the conversation's transcript."""
        done = self.home.reef("chat", "-a", backend, "-s", sender, "-p", words)
        sessions = self.home.reef("sessions", "--agent", backend, "--sender", sender, "--json").json
        lines = read_lines(self.home.file(f"sessions/{sessions[0]['id']}/session.jsonl"))
        return done, [line["message"] for line in lines if line["type"] == "message"][-1]

    def test_text(self):
        for backend in BACKENDS:
            with self.subTest(backend=backend):
                done, reply = self.ask(backend, "say hello", "text")
                self.assertEqual(done.out.strip(), HELLO, done)
                self.assertEqual(reply["stopReason"], "stop")
                if backend in ("chat", "azure"):  # for the others the mock counts nothing
                    self.assertGreater(reply["usage"]["output"], 0)

    def test_tools_and_what_follows(self):
        for backend in BACKENDS:
            with self.subTest(backend=backend):
                done, reply = self.ask(backend, "use two tools", "tools")
                self.assertEqual(done.code, 0, done)
                self.assertEqual(done.out.splitlines(), ["Looking.", "I have looked."])
                self.assertEqual(reply["stopReason"], "stop")
                id_ = self.home.reef("sessions", "--agent", backend, "--sender", "tools", "--json").json[0]["id"]
                lines = read_lines(self.home.file(f"sessions/{id_}/session.jsonl"))
                messages = [line["message"] for line in lines if line["type"] == "message"]
                calls = [(b["name"], b["arguments"]) for b in messages[1]["content"] if b["type"] == "toolCall"]
                self.assertEqual(calls, [("recall", {"query": "a b", "limit": 3}), ("paint", {"file": "c"})])
                self.assertEqual(messages[1]["stopReason"], "toolUse")
                results = {m["toolName"]: (m["content"][0]["text"], m["isError"]) for m in messages[2:4]}
                self.assertEqual(results, {"recall": ("no memories found", False),
                                           "paint": ("tool not registered: paint", True)})
                done, _ = self.ask(backend, "say hello", "tools")
                self.assertEqual(done.out.strip(), HELLO, "the calls are in the history now")

    def test_thinking(self):
        for backend in BACKENDS:
            with self.subTest(backend=backend):
                if backend == "azure":
                    continue  # the mock of Azure does not think
                done, reply = self.ask(backend, "think", "thinking")
                self.assertEqual(done.out.strip(), "42", done)
                thoughts = "".join(b["thinking"] for b in reply["content"] if b["type"] == "thinking")
                self.assertEqual(thoughts, "Let me think about it.")

    def test_errors(self):
        for backend in BACKENDS:
            with self.subTest(backend=backend):
                for words, kind in (("fail 401", "auth"), ("fail 429", "rate_limit"), ("fail 500", "server"),
                                    (f"too long for {backend}", "context_overflow")):
                    done, reply = self.ask(backend, words, words.replace(" ", "-"))
                    self.assertNotEqual(done.code, 0, done)
                    self.assertEqual(reply["stopReason"], "error")
                    self.assertIn(f"failed ({kind}", reply["errorMessage"], words)

    def test_a_model_list_comes_where_there_is_one(self):
        listed = self.home.reef("models", "chat", "--json").json
        self.assertIn("chat/gpt-4o", [model["name"] for model in listed["models"]])

    def test_the_verdict_is_plain(self):
        for backend in BACKENDS:
            with self.subTest(backend=backend):
                # The mock has no answer to the test's question.
                verdict = self.home.reef("providers", "test", backend)
                self.assertIn(f"{backend} does not work", verdict.out)


if __name__ == "__main__":
    unittest.main()
