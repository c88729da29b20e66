"""An MCP server that does what a test tells it, over standard input and output. Shares nothing with the client.

usage: fake_server.py [--era legacy|modern] [--version V] [--mark FILE] [--hang] [--junk] [--dies-at METHOD]
                      [--pages N] [--tools NAME,...] [--slow-start SECONDS]
"""

import argparse
import json
import os
import sys
import threading
import time

MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

options = argparse.ArgumentParser()
options.add_argument("--era", default="legacy")
options.add_argument("--version", default="2025-11-25")
options.add_argument("--mark")
options.add_argument("--hang", action="store_true")
options.add_argument("--junk", action="store_true")
options.add_argument("--dies-at", default="")
options.add_argument("--pages", type=int, default=1)
options.add_argument("--tools", default="")
options.add_argument("--slow-start", type=float, default=0)
options.add_argument("--token")
options = options.parse_args()

lock = threading.Lock()
waiting = {}
cancelled = []
released = threading.Event()
levels = []
extra = [name for name in options.tools.split(",") if name]
SCHEMA = {"type": "object", "properties": {}}


def send(message):
    message["jsonrpc"] = "2.0"
    with lock:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


def tool(called, read_only=False, **properties):
    return {"name": called, "description": f"The tool {called}.", "annotations": {"readOnlyHint": read_only},
            "inputSchema": {"type": "object", "properties": properties}}


def tools():
    text = {"type": "string"}
    fixed = [tool("echo", True, text=text), tool("env", True, name=text), tool("slow", False, seconds={"type": "number"}),
             tool("progress"), tool("ask"), tool("image", True), tool("structured", True), tool("fail"), tool("crash"),
             tool("grow"), tool("cancelled", True), tool("pid", True), tool("big", True), tool("whine"),
             tool("asks", True, method=text), tool("log", True), tool("level", True)]
    return fixed + [tool(name) for name in extra]


def text(words, **more):
    return dict({"content": [{"type": "text", "text": words}]}, **more)


def ask(id_, params, method="elicitation/create", question=None):
    """Puts a question to the client and returns its answer."""
    if options.era == "modern":
        given = params.get("inputResponses")
        if not given:
            return None
        return given["q"]
    number = f"ask-{id_}"
    done = threading.Event()
    waiting[number] = [done, None]
    send({"id": number, "method": method, "params": QUESTION if question is None else question})
    done.wait(30)
    return waiting[number][1]


QUESTION = {"message": "Who are you?", "requestedSchema": {
    "type": "object", "required": ["name"],
    "properties": {"name": {"type": "string", "title": "Name"}, "age": {"type": "integer", "default": 7},
                   "sure": {"type": "boolean"}, "colour": {"type": "string", "enum": ["red", "green"]}}}}


def call(id_, params):
    name, arguments = params["name"], params.get("arguments", {})
    if name == "echo":
        return text(arguments.get("text", ""))
    if name == "env":
        return text(os.environ.get(arguments.get("name", ""), "(not set)"))
    if name == "slow":  # for so many seconds, or until `release`
        deadline = time.monotonic() + arguments.get("seconds", 3600)
        while time.monotonic() < deadline and id_ not in cancelled and not released.wait(0.005):
            pass
        return text("slept")
    if name == "release":
        released.set()
        return text("released")
    if name == "progress":
        token = params.get("_meta", {}).get("progressToken")
        for step in range(1, 5):
            send({"method": "notifications/progress",
                  "params": {"progressToken": token, "progress": step, "total": 4, "message": f"step {step}"}})
        return text("done")
    if name == "ask":
        answer = ask(id_, params)
        if answer is None:
            return {"resultType": "input_required", "requestState": "state of the server",
                    "inputRequests": {"q": {"method": "elicitation/create", "params": QUESTION}}}
        if options.era == "modern" and params.get("requestState") != "state of the server":
            return text("the state was not given back", isError=True)
        return text(json.dumps(answer, sort_keys=True))
    if name == "asks":
        method, question = arguments["method"], arguments.get("params", {})
        answer = ask(id_, params, method, question)
        if answer is None:
            return {"resultType": "input_required", "inputRequests": {"q": {"method": method, "params": question}}}
        return text(json.dumps(answer, sort_keys=True))
    if name == "log":
        send({"method": "notifications/message",
              "params": {"level": "warning", "logger": "fake", "data": f"all is not well, {options.token}"}})
        return text("logged")
    if name == "level":
        return text(levels[-1] if levels else "(none)")
    if name == "image":
        return {"content": [{"type": "text", "text": "look"}, {"type": "image", "data": PIXEL, "mimeType": "image/png"}]}
    if name == "structured":
        return {"content": [], "structuredContent": {"answer": 42}}
    if name == "fail":
        return text("it went wrong", isError=True)
    if name == "crash":
        sys.stderr.write(f"the token was {options.token}\n")
        sys.stderr.flush()
        os._exit(3)
    if name == "grow":
        extra.append("grown")
        send({"method": "notifications/tools/list_changed"})
        return text("grown")
    if name == "cancelled":
        return text(json.dumps(cancelled))
    if name == "pid":
        return text(str(os.getpid()))
    if name == "big":
        return text("x" * (1 << 20))
    if name == "whine":
        return "not an object"
    raise KeyError(name)


def answer(message):
    method, params, id_ = message["method"], message.get("params", {}), message["id"]
    if method == options.dies_at:
        os._exit(4)
    if method == "initialize" and options.era == "legacy":
        return {"protocolVersion": options.version, "serverInfo": {"name": "fake", "version": "1"},
                "capabilities": {"tools": {"listChanged": True}, "resources": {}, "prompts": {}, "logging": {}},
                "instructions": "Be kind to the fake."}
    if method == "server/discover" and options.era == "modern":
        return {"resultType": "complete", "supportedVersions": [MODERN], "capabilities": {"tools": {}, "resources": {}},
                "_meta": {META + "serverInfo": {"name": "fake", "version": "2"}}}
    if options.era == "modern" and META + "protocolVersion" not in params.get("_meta", {}):
        raise ValueError("no protocolVersion")
    if method == "tools/list":
        everything = tools()
        size = -(-len(everything) // options.pages)
        page = int(params.get("cursor", "0"))
        result = {"tools": everything[page * size:(page + 1) * size]}
        if page + 1 < options.pages:
            result["nextCursor"] = str(page + 1)
        return result
    if method == "tools/call":
        return call(id_, params)
    if method == "resources/list":
        return {"resources": [{"uri": "fake://note", "name": "a note"}]}
    if method == "resources/templates/list":
        return {"resourceTemplates": [{"uriTemplate": "fake://{x}", "name": "any"}]}
    if method == "resources/read":
        return {"contents": [{"uri": params["uri"], "text": "words of " + params["uri"]}]}
    if method == "prompts/list":
        return {"prompts": [{"name": "greet", "arguments": [{"name": "who", "required": True}]}]}
    if method == "prompts/get":
        return {"messages": [{"role": "user", "content": {"type": "text", "text": "Hello " + params["arguments"]["who"]}}]}
    if method == "ping":
        return {}
    if method == "logging/setLevel":
        levels.append(params["level"])
        return {}
    raise KeyError(method)


def serve(message):
    try:
        send({"id": message["id"], "result": answer(message)})
    except KeyError as error:
        send({"id": message["id"], "error": {"code": -32601, "message": f"no {error}"}})
    except ValueError as error:
        send({"id": message["id"], "error": {"code": -32602, "message": str(error)}})


def main():
    if options.mark:
        with open(options.mark, "a", encoding="utf-8") as mark:
            mark.write(f"{os.getpid()}\n")
    if options.hang:
        while True:
            time.sleep(60)
    time.sleep(options.slow_start)
    if options.junk:
        sys.stdout.write("Welcome to the fake!\n[1, 2]\n{\"jsonrpc\": \"2.0\"}\n\n\xff\n")
        sys.stdout.flush()
    for line in sys.stdin:
        message = json.loads(line)
        if "method" in message and "id" in message:
            threading.Thread(target=serve, args=(message,), daemon=True).start()
        elif message.get("method") == "notifications/cancelled":
            cancelled.append(message["params"]["requestId"])
        elif message.get("id") in waiting:
            waiting[message["id"]][1] = message.get("result", message.get("error"))
            waiting[message["id"]][0].set()


main()
