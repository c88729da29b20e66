"""A backend that speaks Chat Completions and says what a test tells it; it keeps every request."""

import json
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def piece(delta, reason=None):
    return {"id": "c", "object": "chat.completion.chunk", "model": "big",
            "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}


class FakeModel:
    """`answers`: one for each request, the last one repeated. Each is a list of deltas; "hang" among them waits
    until the client leaves. An answer that is a dict refuses: its "status", "headers" and "error".
    `usage`: the token counts each answer reports; none are reported when it is missing. `told`: answers that are sent."""

    def __init__(self, *answers, usage=None):
        self.answers, self.asked, self.told = list(answers), [], 0
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                data = b'{"data": [{"id": "big"}]}'
                self.send_response(200)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_POST(self):
                fake.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                answer = fake.answers[min(len(fake.asked), len(fake.answers)) - 1]
                if isinstance(answer, dict):
                    self.refuse(**answer)
                    fake.told += 1
                    return
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()

                def say(text):
                    data = f"data: {text}\n\n".encode()
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

                for delta in answer:
                    if delta == "hang":
                        while self.connection.recv(1, socket.MSG_PEEK):
                            time.sleep(0.001)
                        self.close_connection = True
                        return
                    say(json.dumps(piece(delta)))
                say(json.dumps(piece({}, "stop") | ({"usage": usage} if usage else {})))
                say("[DONE]")
                self.wfile.write(b"0\r\n\r\n")
                fake.told += 1

            def refuse(self, status, error, headers=()):
                data = json.dumps({"error": {"message": error}}).encode()
                self.send_response(status)
                for name, value in dict(headers).items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def config(self):
        return (f'[providers.fake]\nkind = "openai"\nbase_url = "http://127.0.0.1:{self.server.server_port}/v1"\n'
                'key = "k"\nmodels = ["big"]\n')

    def close(self):
        self.server.shutdown()
        self.server.server_close()
