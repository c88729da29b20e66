"""Logging in to MCP servers, from the outside, against servers that behave and others that do not."""

import json
import os
import socket
import stat
import subprocess
import threading
import unittest
import urllib.parse

from fake_oauth import Town, get
from reefbox import *
from test_providers import Backend

LIST_MCPS, SUBSCRIBE_MCP_EVENTS, LOGIN_MCP, FINISH_MCP_LOGIN, LOGOUT_MCP = 13, 52, 303, 304, 305
MCP_LOGIN = 303
FAILED = 3
COMMAND = "reef mcp login town -a scripted"


def calls(*names):
    return script({"calls": [{"name": name, "arguments": {}} for name in names]}, {"text": "done"})


class Oauth(unittest.TestCase):
    def setUp(self):
        self.town = Town()
        self.addCleanup(self.town.close)

    def home(self, *tools, oauth="", config=""):
        agent = f'model = "s/x"\npermission_mode = "allow-all"\n[mcps.town]\nurl = "{self.town.url}"\n{oauth}'
        home = Home(config=config, script=calls(*(tools or ["town__look"])), files={"agents/scripted.toml": agent})
        self.addCleanup(home.cleanup)
        home.start()
        return home

    def begin(self, home, *more):
        """`reef mcp login`, with the page it printed."""
        head = [binary("reef"), "--home", home.path, "mcp", "login", "town", "-a", "scripted", "--json", *more]
        run = subprocess.Popen(head, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
        self.addCleanup(self.end, run)
        line = run.stdout.readline()
        return run, json.loads(line) if line.startswith(b"{") else line

    @staticmethod
    def end(run):
        run.kill()
        run.communicate()

    def finish(self, run):
        out, err = run.communicate(timeout=20)
        return run.returncode, json.loads(out) if out else {}, err.decode()

    def log_in(self, home):
        run, page = self.begin(home)
        _, back = get(page["url"])
        self.assertEqual(get(back)[0], 200)
        code, end, err = self.finish(run)
        self.assertEqual(code, 0, err)
        return end

    def use(self, home):
        """The tools' answers of one turn."""
        with home.connect() as link:
            events = link.stream(turn("scripted", "go"))
        (start,) = [e.detail for e in events if e.event == "tool_start"]
        by_id = {e.detail.str(1): (e.detail.str(2), e.detail.int(4)) for e in events if e.event == "tool_result"}
        return [by_id[Message(raw).str(200)] for raw in start.fields[1]]

    def listed(self, home):
        (one,) = home.reef("mcp", "ls", "--json").json
        return one

    def first_event(self, home):
        with home.connect() as link:
            link.send(message({SUBSCRIBE_MCP_EVENTS: b""}))
            return link.recv().body

    def secrets(self):
        seen = [*self.town.access, *self.town.refresh]
        for where in ("/token", "/revoke"):
            for given in self.town.requests("oauth", where):
                seen += [given[key] for key in ("code", "code_verifier", "refresh_token", "token", "client_secret") if key in given]
        return set(seen)

    def check_nothing_secret_is_shown(self, home, *texts):
        texts = [*texts, home.read("logs/reefd.log"), home.stderr(), home.reef("mcp", "ls").out, home.reef("mcp", "ls", "--json").out,
                 repr(home.ask(LIST_MCPS, {}).body.fields),
                 home.reef("agents", "show", "scripted", "--json").out]
        for secret in self.secrets():
            for text in texts:
                self.assertNotIn(secret, text)

    # ---- the way it should go

    def test_a_server_that_wants_a_login_says_so_everywhere(self):
        home = self.home()
        test = home.reef("mcp", "test", "town", "-a", "scripted")
        self.assertNotEqual(test.code, 0)
        self.assertIn(COMMAND, test.err)
        self.use(home)  # the first turn tries the server
        listed = wait_for(lambda: (one := self.listed(home))["status"] == "needs login" and one, "the state")
        self.assertEqual(listed["error"], COMMAND)
        event = self.first_event(home)
        self.assertEqual((event.int(1), event.int(200), event.str(4)), (FAILED, 1, COMMAND))
        self.assertEqual(self.town.requests("oauth", "/register"), [], "nothing is begun before somebody wants it")

    def test_the_agent_knows_so_that_it_can_tell_its_user(self):
        backend = self.enterContext(Backend())
        home = Home(config=f'[providers.b]\nkind = "openai"\nkey = "k"\nbase_url = "{backend.url}"\nmodels = ["m"]\n',
                    files={"agents/scripted.toml": f'model = "b/m"\n[mcps.town]\nurl = "{self.town.url}"\n'})
        self.addCleanup(home.cleanup)
        home.start()

        def told():
            home.say("hello", agent="scripted")
            asked = [body for path, _, body in backend.requests if path.endswith("/chat/completions")]
            return COMMAND in json.dumps(asked[-1])
        wait_for(told, "the command in the prompt")
        self.log_in(home)
        wait_for(lambda: not told(), "it is gone")

    def test_login_use_and_restart(self):
        home = self.home()
        end = self.log_in(home)
        self.assertEqual((end["issuer"], end["scopes"], end["renewable"]), (self.town.issuer.address, ["read"], True))
        self.assertEqual(self.use(home), [("look done", 0)])
        self.assertEqual(self.listed(home)["login"], self.town.issuer.address)
        (asked,) = self.town.requests("oauth", "/authorize")
        self.assertEqual(asked["resource"], self.town.url)
        self.assertEqual(asked["code_challenge_method"], "S256")
        self.assertEqual(self.town.requests("oauth", "/token")[0]["resource"], self.town.url)
        self.assertEqual(stat.S_IMODE(os.stat(home.file("logins.json")).st_mode), 0o600)
        self.check_nothing_secret_is_shown(home, json.dumps(end), repr(self.first_event(home).fields))
        home.stop()
        home.start()
        self.assertEqual(self.use(home), [("look done", 0)])
        self.assertEqual(len(self.town.requests("oauth", "/authorize")), 1, "the login was kept")
        archive = os.path.join(home.base, "b.tar.zst")
        self.assertEqual(home.reef("backup", archive).code, 0)
        packed = subprocess.run(["zstd", "-dc", archive], check=True, stdout=subprocess.PIPE).stdout
        self.assertIn(b"agents/scripted.toml", packed)
        self.assertNotIn(b"logins.json", packed)

    def test_a_login_makes_the_waiting_server_usable_at_once(self):
        home = self.home()
        self.use(home)
        wait_for(lambda: self.listed(home)["status"] == "needs login", "the state")
        self.log_in(home)
        wait_for(lambda: self.listed(home)["status"] == "connected", "the connection")

    def test_the_address_may_be_pasted(self):
        home = self.home()
        run, page = self.begin(home)
        _, back = get(page["url"])
        run.stdin.write(b"http://127.0.0.1:1/callback?code=x&state=wrong\n")
        run.stdin.write(back.encode() + b"\n")
        run.stdin.flush()
        run.wait(20)
        code, end, err = self.finish(run)
        self.assertEqual((code, end["event"]), (0, "done"), err)
        self.assertIn("not the answer to the login", err)

    def test_people_are_shown_the_page(self):
        home = self.home()
        run = subprocess.Popen([binary("reef"), "--home", home.path, "mcp", "login", "town", "-a", "scripted"], env=environment(),
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.end, run)
        lines = iter(run.stdout.readline, b"")
        (page,) = [line.decode().strip() for line, _ in zip(lines, range(3)) if b"/authorize" in line]
        get(get(page)[1])
        out, err = run.communicate(timeout=20)
        self.assertEqual(run.returncode, 0, err)
        self.assertIn(f"logged in to town with {self.town.issuer.address}", out.decode())
        self.assertIn("renewed by itself", out.decode())

    def test_the_same_port_is_used_again_and_nothing_is_registered_twice(self):
        home = self.home()
        self.log_in(home)
        self.log_in(home)
        first, second = self.town.requests("oauth", "/authorize")
        self.assertEqual(first["redirect_uri"], second["redirect_uri"])
        self.assertEqual(len(self.town.requests("oauth", "/register")), 1)
        # The browser never comes back, so the issuer may have forgotten this client.
        run, _ = self.begin(home)
        run.kill()
        run.wait()
        wait_for(lambda: json.loads(home.read("logins.json"))["clients"] == [], "another client")
        self.log_in(home)
        self.assertEqual(len(self.town.requests("oauth", "/register")), 2)

    def test_a_client_registered_by_hand(self):
        home = self.home(oauth='oauth = { client_id = "byhand", client_secret = "hunter2-hunter2", scopes = ["a", "b"] }\n')
        self.town.metadata = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
        self.log_in(home)
        (asked,) = self.town.requests("oauth", "/authorize")
        self.assertEqual((asked["client_id"], asked["scope"]), ("byhand", "a b"))
        self.assertEqual(self.town.requests("oauth", "/token")[0]["client_secret"], "hunter2-hunter2")
        self.assertEqual(self.listed(home)["oauth"], {"client_id": "byhand", "client_secret": "***", "scopes": "a b"})
        self.check_nothing_secret_is_shown(home)
        shown = home.reef("agents", "show", "scripted", "--json").out
        self.assertIn("byhand", shown)
        self.assertNotIn("hunter2", home.read("logins.json"), "it stays where it is configured")

    def test_client_credentials_need_nobody(self):
        home = self.home(oauth='oauth = { grant = "client_credentials", client_id = "me", client_secret = "env:HOME" }\n')
        self.assertEqual(self.use(home), [("look done", 0)])
        self.town.revoke_access()
        self.assertEqual(self.use(home), [("look done", 0)])
        self.assertEqual(len(self.town.requests("oauth", "/token")), 2)

    # ---- renewing

    def test_it_is_renewed_before_it_expires(self):
        self.town.lifetime = 1  # renewed when three quarters of it are over
        home = self.home()
        self.log_in(home)
        self.assertEqual(self.use(home), [("look done", 0)])
        first = dict(self.town.access)
        wait_for(lambda: self.use(home) and len(self.town.access) > len(first), "a renewal")
        refused = [one for one in self.town.requests("mcp", "/mcp") if "Authorization" not in one]
        self.assertLessEqual(len(refused), 1, "only who asked for the login was ever refused")

    def test_one_renewal_for_all_who_need_it(self):
        home = self.home(*["town__look"] * 8)
        self.log_in(home)
        self.assertEqual(len(self.use(home)), 8)
        self.town.revoke_access()
        self.town.hold_refresh = threading.Event()
        out = []
        used = threading.Thread(target=lambda: out.extend(self.use(home)))
        used.start()
        wait_for(lambda: len([g for g in self.town.requests("oauth", "/token") if g["grant_type"] == "refresh_token"]) == 1, "it")
        self.town.hold_refresh.set()
        used.join(20)
        self.assertEqual(out, [("look done", 0)] * 8)
        renewals = [g for g in self.town.requests("oauth", "/token") if g["grant_type"] == "refresh_token"]
        self.assertEqual(len(renewals), 1)
        self.town.revoke_access()
        self.assertEqual(len(self.use(home)), 8)
        renewals = [g["refresh_token"] for g in self.town.requests("oauth", "/token") if g["grant_type"] == "refresh_token"]
        self.assertEqual(len(set(renewals)), 2, "the one it was replaced by")
        self.check_nothing_secret_is_shown(home)

    def test_a_login_that_was_revoked_is_asked_for_again(self):
        home = self.home()
        self.log_in(home)
        self.assertEqual(self.use(home), [("look done", 0)])
        self.town.revoke_access()
        self.town.refresh.clear()
        ((said, failed),) = self.use(home)
        self.assertEqual(failed, 1)
        self.assertIn(COMMAND, said)
        self.assertEqual(self.listed(home)["status"], "needs login")
        self.check_nothing_secret_is_shown(home, said)
        self.log_in(home)
        self.assertEqual(self.use(home), [("look done", 0)])

    def test_more_rights_are_asked_for_and_what_was_had_is_kept(self):
        home = self.home("town__look", "town__write")
        self.log_in(home)
        looked, (said, failed) = self.use(home)
        self.assertEqual((looked, failed), (("look done", 0), 1))
        self.assertIn("more rights", said)
        self.assertIn(COMMAND, said)
        self.assertEqual(self.listed(home)["status"], "connected", "the rest works")
        self.log_in(home)
        self.assertEqual(self.town.requests("oauth", "/authorize")[-1]["scope"], "read write")
        self.assertEqual(self.use(home), [("look done", 0), ("write done", 0)])

    def test_rights_that_are_never_enough_are_not_asked_for_for_ever(self):
        self.town.stubborn = True
        home = self.home("town__write")
        self.log_in(home)
        self.assertIn("more rights", self.use(home)[0][0])
        self.log_in(home)
        said = self.use(home)[0][0]
        self.assertIn("although they were asked for", said)
        self.assertNotIn("reef mcp login", said)

    def test_logout_forgets_and_revokes(self):
        home = self.home()
        self.log_in(home)
        self.assertEqual(self.use(home), [("look done", 0)])
        left = home.reef("mcp", "logout", "town", "-a", "scripted", "--json").json
        self.assertEqual(left, {"name": "town", "wasLoggedIn": True, "revoked": True})
        self.assertEqual(self.town.refresh, {})
        self.assertNotIn("-secret", home.read("logins.json"))
        self.assertEqual(self.listed(home)["status"], "needs login")
        self.assertIn(COMMAND, self.use(home)[0][0])
        again = home.reef("mcp", "logout", "town", "-a", "scripted")
        self.assertIn("nobody was logged in", again.out)

    # ---- the ways it should not go

    def fails(self, home, what):
        """A login that does not get to a page."""
        done = home.reef("mcp", "login", "town", "-a", "scripted", timeout=60)
        self.assertNotEqual(done.code, 0, done)
        self.assertIn(what, done.err)
        self.assertEqual(self.town.requests("oauth", "/token"), [])

    def test_the_answer_to_another_login_is_not_taken(self):
        home = self.home()
        run, page = self.begin(home)
        self.assertEqual(get(page["redirectUri"] + "?code=stolen&state=guessed")[0], 400)
        self.assertEqual(get(page["redirectUri"].replace("/callback", "/other"))[0], 404)
        self.assertEqual(home.ask(FINISH_MCP_LOGIN, {1: page["id"], 2: "http://x/?code=stolen&state=guessed"}).code, 400)
        self.assertEqual(home.ask(FINISH_MCP_LOGIN, {1: "nobody", 2: "x"}).code, 404)
        self.assertEqual(self.town.requests("oauth", "/token"), [])
        get(get(page["url"])[1])
        self.assertEqual(self.finish(run)[0], 0, "the right one still is")

    def test_the_answer_of_another_issuer_is_not_taken(self):
        self.town.iss = "https://evil.example.com"
        home = self.home()
        run, page = self.begin(home)
        get(get(page["url"])[1])
        code, _, err = self.finish(run)
        self.assertNotEqual(code, 0)
        self.assertIn("evil.example.com", err)
        self.assertEqual(self.town.requests("oauth", "/token"), [])

    def test_a_refusal_of_the_user_is_told(self):
        home = self.home()
        run, page = self.begin(home)
        state = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(page["url"]).query))["state"]
        get(page["redirectUri"] + "?" + urllib.parse.urlencode(
            {"error": "access_denied", "error_description": "no\x1b[31m!", "state": state, "iss": self.town.issuer.address}))
        code, _, err = self.finish(run)
        self.assertNotEqual(code, 0)
        self.assertIn("access_denied", err)
        self.assertNotIn("\x1b", err)

    def test_metadata_that_is_not_to_be_trusted(self):
        home = self.home()
        for metadata, what in [
                ({"issuer": "https://evil.example.com"}, "says it is https://evil.example.com"),
                ({"code_challenge_methods_supported": ["plain"]}, "does not support PKCE"),
                ({"token_endpoint": None}, "names no place that gives tokens"),
                ({"authorization_endpoint": "javascript:alert(1)"}, "is no address"),
                ({"authorization_endpoint": "http://198.51.100.1/authorize"}, "is not https"),
                ({"registration_endpoint": "http://169.254.169.254/latest"}, "is not https"),
                ({"registration_endpoint": None}, "oauth.client_id"),
        ]:
            with self.subTest(what):
                self.town.metadata = metadata
                self.fails(home, what)
        self.town.metadata = {}
        self.town.resource = "https://evil.example.com/mcp"
        self.fails(home, "is about https://evil.example.com/mcp")
        self.town.resource = None
        self.town.raw_metadata = b'{"issuer": "' + b"x" * 1_000_000 + b'"}'
        self.fails(home, "more than 262144 bytes")
        self.town.raw_metadata = b"[" * 100_000
        self.fails(home, "does not say how to log in")
        self.town.raw_metadata = None
        self.town.challenge = 'Bearer resource_metadata="http://10.0.0.1/x"'
        home.reef("mcp", "test", "town", "-a", "scripted")
        self.fails(home, "not https")

    def test_tokens_go_to_nobody_else(self):
        home = self.home()
        self.log_in(home)
        self.assertEqual(self.use(home), [("look done", 0)])
        with Town() as other:
            self.town.mcp_redirect = other.url
            home.stop()
            home.start()
            self.use(home)
            self.assertEqual(other.requests("mcp", "/mcp"), [], "redirects are not followed")

    def test_a_client_that_leaves_ends_the_login(self):
        home = self.home()
        run, page = self.begin(home)
        port = urllib.parse.urlsplit(page["redirectUri"]).port
        socket.create_connection(("127.0.0.1", port), 5).close()
        run.kill()
        run.wait()

        def closed():
            try:
                socket.create_connection(("127.0.0.1", port), 5).close()
                return False
            except OSError:
                return True
        wait_for(closed, "nobody listens there any more")
        self.assertEqual(home.ask(FINISH_MCP_LOGIN, {1: page["id"], 2: "x"}).code, 404)

    def test_a_silent_visitor_disturbs_nobody(self):
        home = self.home()
        run, page = self.begin(home)
        port = urllib.parse.urlsplit(page["redirectUri"]).port
        silent = [socket.create_connection(("127.0.0.1", port), 5) for _ in range(5)]
        silent[0].sendall(b"GET /" + b"x" * 100_000)
        get(get(page["url"])[1])
        self.assertEqual(self.finish(run)[0], 0)
        for one in silent:
            one.close()

    def test_settings_that_make_no_sense_are_named(self):
        home = self.home()
        for given, what in [("grant=nonsense", "oauth.grant"), ("client_secret=x", "oauth.client_id"), ("nonsense=1", "no such setting"),
                            ("client_metadata_url=http://x/y", "client_metadata_url"), ("redirect_port=99999", "oauth.redirect_port"),
                            ("grant=client_credentials", "needs client_id"), ("auth_method=magic", "oauth.auth_method")]:
            with self.subTest(given):
                done = home.reef("mcp", "add", "other", "-a", "scripted", "--url", self.town.url, "--oauth", given)
                self.assertNotEqual(done.code, 0)
                self.assertIn(what, done.err)
        done = home.reef("mcp", "add", "other", "-a", "scripted", "--oauth", "client_id=x", "--", "true")
        self.assertIn("oauth is for servers with a url", done.err)
        done = home.reef("mcp", "add", "other", "-a", "scripted", "--url", self.town.url, "--auth", "x", "--oauth", "client_id=x")
        self.assertIn("not both", done.err)
        done = home.reef("mcp", "add", "other", "-a", "scripted", "--url", self.town.url, "--oauth", "scopes=a b", "--oauth",
                         "redirect_port=0", "--oauth", "client_id=x")
        self.assertEqual(done.code, 0, done)
        self.assertEqual(home.reef("mcp", "login", "nobody", "-a", "scripted").code, home.reef("mcp", "rm", "nobody").code)

    def test_logins_that_cannot_be_read_are_kept_aside(self):
        home = self.home()
        self.log_in(home)
        home.stop()
        home.write("logins.json", "{ torn")
        home.start()
        self.assertEqual(home.read("logins.json.broken"), "{ torn")
        self.assertIn("logins.json", home.read("logs/reefd.log"))
        self.log_in(home)
        self.assertEqual(self.use(home), [("look done", 0)])

    def test_a_login_that_cannot_be_kept_is_reported(self):
        home = self.home()
        os.makedirs(os.path.join(home.path, "logins.json", "in the way"))
        run, page = self.begin(home)
        _, back = get(page["url"])
        get(back)
        code, _, err = self.finish(run)
        self.assertNotEqual(code, 0)
        self.assertIn("only until the daemon stops", err)
        self.assertIn("logins.json", err)
        self.assertEqual(self.use(home), [("look done", 0)])


if __name__ == "__main__":
    unittest.main()
