"""Models over HTTP, from the outside: config.toml, a little server that speaks Chat Completions, the programs."""

import json
import os
import re
import socket
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from reefbox import Home, request, wait_for

KEY = "sk-very-secret-0815"
SET_ACTIVE_MODEL, LIST_MODELS, PONG, MODEL_LIST = 11, 36, 2, 22


def chunk(delta, finish=None):
    return {"id": "x", "model": "used", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


class Backend:
    """Answers as `behave` says: a list of words, an int for a status, "hang", or "cut"."""

    def __init__(self):
        self.requests = []
        self.behave = lambda body: ["pong"]
        self.closed = threading.Event()
        backend = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def finish_json(self, status, body):
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_GET(self):
                backend.requests.append((self.path, dict(self.headers), None))
                self.finish_json(200, {"data": [{"id": "big"}, {"id": "small", "context_length": 4096}]})

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                backend.requests.append((self.path, dict(self.headers), body))
                action = backend.behave(body)
                if isinstance(action, int):
                    self.finish_json(action, {"error": {"message": "so says the backend"}})
                    return
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()

                def say(text):
                    data = f"data: {text}\n\n".encode()
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

                if action == "hang":
                    say(json.dumps(chunk({"content": "so far"})))
                    while self.connection.recv(1, socket.MSG_PEEK):
                        time.sleep(0.001)
                    backend.closed.set()
                    self.close_connection = True
                    return
                for word in action:
                    say(json.dumps(chunk({"content": word})))
                say(json.dumps(chunk({}, "stop")))
                say(json.dumps({"choices": [], "usage": {"prompt_tokens": 1000, "completion_tokens": 100}}))
                say("[DONE]")
                self.wfile.write(b"0\r\n\r\n")

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def config(backend, more=""):
    return (f'default_model = "work/big"\n# keep me\n[providers.work]\nkind = "openai"\nbase_url = "{backend.url}"\n'
            f'key = "{KEY}"\nmodels = ["big"]\n{more}'
            '[providers.work.facts.big]\nprice_input = 2\nprice_output = 10\ncontext_window = 1234\n')


class ProvidersTest(unittest.TestCase):
    def test_a_turn_goes_to_the_backend_and_its_reply_is_kept_with_its_cost(self):
        with Backend() as backend, Home(config(backend)) as home:
            backend.behave = lambda body: ["Hello", ", ", "there"]
            self.assertEqual(home.reef("chat", "-p", "hi").out.strip(), "Hello, there")
            path, headers, body = backend.requests[-1]
            self.assertEqual(path, "/v1/chat/completions")
            self.assertEqual(headers["Authorization"], f"Bearer {KEY}")
            self.assertEqual(body["model"], "big")
            self.assertEqual(body["messages"][-1], {"role": "user", "content": "hi"})
            with open(home.transcript(), encoding="utf-8") as file:
                reply = [json.loads(line) for line in file][-1]["message"]
            self.assertEqual((reply["provider"], reply["model"], reply["api"]),
                             ("work", "used", "openai-completions"))
            self.assertAlmostEqual(reply["usage"]["cost"]["total"], (1000 * 2 + 100 * 10) / 1e6)

    def test_transient_failures_are_tried_again_and_others_are_reported(self):
        with Backend() as backend, Home(config(backend)) as home:
            backend.behave = lambda body: 503 if len(backend.requests) < 3 else ["at last"]
            self.assertEqual(home.reef("chat", "-p", "hi").out.strip(), "at last")
            self.assertEqual(len(backend.requests), 3)
            backend.behave = lambda body: 401
            before = len(backend.requests)
            failed = home.reef("chat", "-p", "again")
            self.assertNotEqual(failed.code, 0)
            self.assertIn("auth", failed.err)
            self.assertIn("so says the backend", failed.err)
            self.assertEqual(len(backend.requests) - before, 1)

    def test_a_kill_closes_the_backends_socket(self):
        with Backend() as backend, Home(config(backend)) as home:
            backend.behave = lambda body: "hang"
            with home.connect() as connection:
                connection.send(request(2, {1: "reef", 2: "hi"}))
                wait_for(lambda: backend.requests, "the request at the backend")
                wait_for(lambda: connection.recv().event == "chunk", "the first words")
                self.assertEqual(home.reef("kill").code, 0)
                self.assertTrue(backend.closed.wait(5))

    def test_another_model_is_asked_when_one_cannot_be_had(self):
        with Backend() as backend, Home(config(backend), files={
                "agents/careful.toml": 'models = ["work/broken", "work/big"]\n'}) as home:
            backend.behave = lambda body: 500 if body["model"] == "broken" else ["from big"]
            self.assertEqual(home.reef("chat", "-a", "careful", "-p", "hi").out.strip(), "from big")

    def test_models_are_listed_with_what_is_known(self):
        with Backend() as backend, Home(config(backend)) as home:
            self.assertEqual(backend.requests, [], "nobody asks before somebody wants to know")
            listed = home.reef("models", "--json").json
            models = {model["name"]: model for model in listed["models"]}
            self.assertEqual(set(models), {"local/local", "work/big", "work/small"})
            self.assertTrue(models["work/big"]["active"])
            self.assertEqual(models["work/big"]["contextWindow"], 1234)
            self.assertEqual(models["work/small"]["contextWindow"], 4096)
            self.assertEqual(listed["problems"], [])
            self.assertIn("* work/big", home.reef("models").out)
            self.assertEqual(len([r for r in backend.requests if r[0] == "/v1/models"]), 1)

    def test_the_default_model_changes_at_run_time_and_stays(self):
        with Backend() as backend, Home(config(backend)) as home:
            self.assertEqual(home.reef("models", "--use", "work/small").code, 0)
            home.reef("chat", "-p", "hi")
            self.assertEqual(backend.requests[-1][2]["model"], "small")
            text = home.read("config.toml")
            self.assertIn('default_model = "work/small"', text)
            self.assertIn("# keep me", text)
            home.stop()
            home.start()
            home.reef("chat", "-p", "hi")
            self.assertEqual(backend.requests[-1][2]["model"], "small")
            refused = home.reef("models", "--use", "ghost/x")
            self.assertNotEqual(refused.code, 0)
            with home.connect() as connection:
                self.assertEqual(connection.call(SET_ACTIVE_MODEL, {1: "work/big"}).tag, PONG)
                self.assertEqual(connection.call(LIST_MODELS).tag, MODEL_LIST)

    def test_providers_are_listed_and_tested_and_keys_stay_where_they_are(self):
        with Backend() as backend, Home(config(backend)) as home:
            listed = home.reef("providers", "--json").json
            work = next(p for p in listed["providers"] if p["name"] == "work")
            self.assertEqual(work["key"], "set")
            verdict = home.reef("providers", "test", "work", "--json").json
            self.assertTrue(verdict["ok"])
            self.assertEqual(verdict["modelUsed"], "used")
            backend.behave = lambda body: 401
            failed = home.reef("providers", "test", "work")
            self.assertNotEqual(failed.code, 0)
            self.assertIn("does not work (auth, HTTP 401", failed.out)
            self.assertIn("check the key", failed.out)
            everything = home.reef("providers").out + json.dumps(listed) + failed.out + failed.err + home.stderr()
            for folder, _, files in os.walk(home.file("logs")):
                for name in files:
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        everything += file.read()
            self.assertNotIn(KEY, everything)

    def test_setup_asks_tests_and_writes(self):
        with Backend() as backend, Home("# mine\n[log]\nlevel = \"debug\"\n") as home:
            answers = f"openai\n{backend.url}\n{KEY}\nbig\n"
            done = home.reef("setup", stdin=answers.encode())
            self.assertEqual(done.code, 0, done)
            self.assertNotIn(KEY, done.out + done.err)
            text = home.read("config.toml")
            self.assertIn("# mine\n[log]\nlevel = \"debug\"\n", text)
            self.assertIn(f'key = "{KEY}"', text)
            self.assertEqual(os.stat(home.file("config.toml")).st_mode & 0o777, 0o600)
            self.assertEqual(home.reef("chat", "-p", "hi").out.strip(), "pong")

            backend.behave = lambda body: 401
            before = home.read("config.toml")
            failed = home.reef("setup", "--kind", "openai", "--name", "other", "--base-url", backend.url,
                               "--key", "bad", "--model", "big")
            self.assertNotEqual(failed.code, 0)
            self.assertEqual(home.read("config.toml"), before)
            forced = home.reef("setup", "--kind", "openai", "--name", "other", "--base-url", backend.url,
                               "--key", "bad", "--model", "big", "--no-test", "--keep-default")
            self.assertEqual(forced.code, 0)
            self.assertIn("[providers.other]", home.read("config.toml"))
            self.assertEqual(home.reef("providers", "rm", "other").code, 0)
            self.assertNotIn("other", home.read("config.toml"))

    def test_a_change_that_does_not_work_is_put_back(self):
        with Backend() as backend, Home(config(backend)) as home:
            before = home.read("config.toml")
            refused = home.reef("providers", "rm", "work")  # the default model belongs to it
            self.assertNotEqual(refused.code, 0)
            self.assertEqual(home.read("config.toml"), before)
            self.assertEqual(home.reef("chat", "-p", "hi").out.strip(), "pong")

    def test_keys_from_the_environment_and_from_commands(self):
        with Backend() as backend:
            text = config(backend).replace(KEY, "cmd:cat $KEY_FOLDER_UNDER_TEST/key")
            with Home(text, start=False) as home:
                home.write("key", "first\n")
                os.environ["KEY_FOLDER_UNDER_TEST"] = home.path
                try:
                    home.start()
                finally:
                    del os.environ["KEY_FOLDER_UNDER_TEST"]
                home.reef("chat", "-p", "hi")
                self.assertEqual(backend.requests[-1][1]["Authorization"], "Bearer first")
                # When a key is refused, its source is read again.
                home.write("key", "second\n")
                backend.behave = lambda body: (["ok"] if backend.requests[-1][1]["Authorization"] == "Bearer second"
                                               else 401)
                self.assertEqual(home.reef("chat", "-p", "hi").out.strip(), "ok")

    def test_bad_configuration_is_refused_with_its_place(self):
        with Backend() as backend, Home(config(backend)) as home:
            home.write("config.toml", config(backend) + '[providers.two]\nkind = "ollama"\nmodels = ["big"]\n')
            refused = home.reef("reload")
            self.assertNotEqual(refused.code, 0)
            self.assertRegex(refused.err, r"config\.toml:\d+: providers\.(two|work).*'big'.*(two|work)")
            self.assertEqual(home.reef("chat", "-p", "hi").out.strip(), "pong")
            home.write("config.toml", config(backend) + '[providers.three]\nkind = "ollama"\n')
            self.assertEqual(home.reef("reload").code, 0)
            self.assertTrue(re.search(r"three +ollama", home.reef("providers").out))


if __name__ == "__main__":
    unittest.main()
