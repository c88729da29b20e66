"""An MCP server that wants a login, and the authorization server it trusts, on ports of loopback.

    with Town() as town: town.url is the server's address. A test changes the behaviour while they run, by the attributes.
"""

import base64
import hashlib
import http.client
import http.server
import itertools
import json
import threading
import urllib.parse

TOOLS = [{"name": "look", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
         {"name": "write", "inputSchema": {"type": "object"}}]


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, answer):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer = answer
        self.address = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def close(self):
        self.shutdown()
        self.server_close()

    def handle_error(self, *_):
        pass  # clients go away


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def handle_one(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status, headers, out = self.server.answer(self.command, self.path, self.headers, body)
        if not isinstance(out, bytes):
            out = json.dumps(out).encode() if out is not None else b""
            headers = {"Content-Type": "application/json", **headers}
        try:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(out)))
            self.end_headers()
            self.wfile.write(out)
        except OSError:
            pass

    do_GET = do_POST = do_DELETE = handle_one

    def log_message(self, *_):
        pass


class Town:
    def __init__(self):
        self.lock = threading.Lock()
        self.numbers = itertools.count(1)
        self.seen = []          # (where, method, path, parameters or headers)
        self.codes = {}         # code -> the request it answers
        self.access = {}        # tokens that are good -> scopes
        self.refresh = {}       # refresh tokens that are good -> scopes
        self.lifetime = 3600
        self.rotate = True
        self.gives_refresh = True
        self.iss = None         # when set, answers carry it in place of the right one
        self.metadata = {}      # fields that replace the right ones of the authorization server
        self.raw_metadata = None
        self.resource = None    # in place of the right one
        self.challenge = None   # in place of the right one
        self.stubborn = False   # refuses `write` whatever the scopes
        self.mcp_redirect = None
        self.hold_refresh = None  # an Event a refresh waits for
        self.server = Server(self.answer_mcp)
        self.issuer = Server(self.answer_oauth)
        self.url = self.server.address + "/mcp"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self.hold_refresh:
            self.hold_refresh.set()
        self.server.close()
        self.issuer.close()

    def note(self, *what):
        with self.lock:
            self.seen.append(what)

    def requests(self, where, path):
        with self.lock:
            return [one[3] for one in self.seen if one[0] == where and one[2] == path]

    def revoke_access(self):
        self.access.clear()

    # ---- the MCP server

    def answer_mcp(self, method, path, headers, body):
        self.note("mcp", method, path, dict(headers))
        if path.startswith("/.well-known/oauth-protected-resource"):
            return 200, {}, {"resource": self.resource or self.url, "authorization_servers": [self.issuer.address],
                             "scopes_supported": ["read"]}
        if self.mcp_redirect:
            return 307, {"Location": self.mcp_redirect}, None
        place = f'{self.server.address}/.well-known/oauth-protected-resource/mcp'
        token = (headers.get("Authorization") or "").removeprefix("Bearer ")
        if token not in self.access:
            said = self.challenge or f'Bearer resource_metadata="{place}", scope="read"'
            return 401, {"WWW-Authenticate": said}, {"error": "invalid_token", "echo": token}
        if method != "POST":
            return 405, {}, None
        call = json.loads(body)
        answer = {"jsonrpc": "2.0", "id": call.get("id")}
        if call["method"] == "initialize":
            result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "town", "version": "1"}}
        elif call["method"] == "tools/list":
            result = {"tools": TOOLS}
        elif call["method"] == "tools/call":
            name = call["params"]["name"]
            if name == "write" and (self.stubborn or "write" not in self.access[token]):
                return 403, {"WWW-Authenticate": 'Bearer error="insufficient_scope", scope="write"'}, {}
            result = {"content": [{"type": "text", "text": f"{name} done"}]}
        elif "id" not in call:
            return 202, {}, None
        else:
            return 200, {}, {**answer, "error": {"code": -32601, "message": "unknown"}}
        return 200, {}, {**answer, "result": result}

    # ---- the authorization server

    def answer_oauth(self, method, path, headers, body):
        place, _, query = path.partition("?")
        text = body.decode() if method == "POST" else query
        given = json.loads(text) if text.startswith("{") else dict(urllib.parse.parse_qsl(text))
        self.note("oauth", method, place, given)
        here = self.issuer.address
        if place == "/.well-known/oauth-authorization-server":
            if self.raw_metadata is not None:
                return 200, {"Content-Type": "application/json"}, self.raw_metadata
            return 200, {}, {"issuer": here, "authorization_endpoint": here + "/authorize", "token_endpoint": here + "/token",
                             "registration_endpoint": here + "/register", "revocation_endpoint": here + "/revoke",
                             "code_challenge_methods_supported": ["S256"], "token_endpoint_auth_methods_supported": ["none"],
                             "authorization_response_iss_parameter_supported": True, **self.metadata}
        if place == "/register":
            return 201, {}, {"client_id": f"client-{next(self.numbers)}", "redirect_uris": given["redirect_uris"]}
        if place == "/authorize":
            code = f"code-{next(self.numbers)}-secret"
            self.codes[code] = given
            back = {"code": code, "state": given["state"], "iss": self.iss or here}
            return 302, {"Location": given["redirect_uri"] + "?" + urllib.parse.urlencode(back)}, None
        if place == "/revoke":
            self.refresh.pop(given["token"], None)
            return 200, {}, {}
        if place == "/token":
            return self.give_token(given)
        return 404, {}, {}

    def give_token(self, given):
        if given["grant_type"] == "authorization_code":
            asked = self.codes.pop(given["code"], None)
            proof = base64.urlsafe_b64encode(hashlib.sha256(given["code_verifier"].encode()).digest()).decode().rstrip("=")
            if not asked or asked["code_challenge"] != proof or asked["redirect_uri"] != given["redirect_uri"]:
                return 400, {}, {"error": "invalid_grant"}
            scopes = asked.get("scope", "")
        elif given["grant_type"] == "refresh_token":
            if self.hold_refresh:
                self.hold_refresh.wait(20)
            with self.lock:
                scopes = self.refresh.pop(given["refresh_token"], None)
                if scopes is not None and not self.rotate:
                    self.refresh[given["refresh_token"]] = scopes
            if scopes is None:
                return 400, {}, {"error": "invalid_grant", "error_description": f"not known: {given['refresh_token']}"}
        elif given["grant_type"] == "client_credentials":
            scopes = given.get("scope", "")
        else:
            return 400, {}, {"error": "unsupported_grant_type"}
        number = next(self.numbers)
        out = {"access_token": f"access-{number}-secret", "token_type": "Bearer", "expires_in": self.lifetime, "scope": scopes}
        self.access[out["access_token"]] = scopes.split()
        if self.gives_refresh and given["grant_type"] != "client_credentials":
            if self.rotate or given["grant_type"] == "authorization_code":
                out["refresh_token"] = f"refresh-{number}-secret"
                self.refresh[out["refresh_token"]] = scopes
        return 200, {}, out


def get(url):
    """A browser that follows no redirect; returns (status, Location)."""
    parts = urllib.parse.urlsplit(url)
    link = http.client.HTTPConnection(parts.hostname, parts.port, timeout=10)
    try:
        link.request("GET", parts.path + ("?" + parts.query if parts.query else ""))
        answer = link.getresponse()
        answer.read()
        return answer.status, answer.getheader("Location")
    finally:
        link.close()
