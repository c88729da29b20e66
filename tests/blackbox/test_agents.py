"""Agents as files, from the outside: CrabTalk's operations, `reef agents`, scope, titles, instructions."""

import json
import os
import threading
import unittest

from reefbox import *
from test_providers import Backend

LIST_AGENTS, GET_AGENT, CREATE_AGENT, UPDATE_AGENT, DELETE_AGENT, RENAME_AGENT = 15, 16, 17, 18, 19, 51
AGENT_INFO, AGENT_LIST = 11, 12
NAME, DESCRIPTION, CONFIG, MODEL, ITERATIONS, SKILLS, MCPS, PROMPT, TOOLS = 1, 2, 3, 4, 5, 8, 9, 200, 201

HOSTILE = ["", "..", "../evil", "a/b", "/etc/passwd", "a\0b", "a\nb", ".x", "a:b", 'a"b', "x" * 10240]


class Agents(unittest.TestCase):
    def home(self, **options):
        home = Home(**options)
        self.addCleanup(home.cleanup)
        home.start()
        return home

    def ask(self, home, tag, fields):
        with home.connect() as link:
            return link.call(tag, fields)

    def backend(self, home):
        backend = self.enterContext(Backend())
        home.write("config.toml", f'[providers.b]\nkind = "openai"\nkey = "k"\nbase_url = "{backend.url}"\nmodels = ["m"]\n')
        return backend

    def test_create_get_list_update_delete_over_the_wire(self):
        home = self.home()
        made = self.ask(home, CREATE_AGENT, {1: "scout", 2: '{"description":"Looks","skills":["feeds"]}', 3: "You look."})
        self.assertEqual(made.tag, AGENT_INFO, made)
        self.assertEqual((made.body.str(NAME), made.body.str(DESCRIPTION), made.body.str(MODEL), made.body.int(ITERATIONS)),
                         ("scout", "Looks", "local", 16))
        self.assertEqual(made.body.strs(SKILLS), ["feeds"])
        self.assertEqual(made.body.str(PROMPT), "You look.")
        self.assertEqual(self.ask(home, CREATE_AGENT, {1: "scout"}).code, 409)
        listed = self.ask(home, LIST_AGENTS, {})
        self.assertEqual([Message(a).str(NAME) for a in listed.body.fields[1]], ["reef", "scout"])
        changed = self.ask(home, UPDATE_AGENT, {1: "scout", 2: 'max_iterations = 3\ntools = ["recall"]', 3: ""})
        self.assertEqual((changed.body.int(ITERATIONS), changed.body.strs(TOOLS), changed.body.str(PROMPT)),
                         (3, ["recall"], "You look."))
        self.assertEqual(self.ask(home, GET_AGENT, {1: "scout"}).body.str(DESCRIPTION), "Looks")
        self.assertEqual(self.ask(home, UPDATE_AGENT, {1: "fresh", 2: '{"description":"d"}'}).tag, AGENT_INFO,
                         "CrabTalk's update creates")
        home.say("hello", agent="scout")
        self.assertEqual(self.ask(home, DELETE_AGENT, {1: "scout"}).tag, PONG)
        self.assertEqual(self.ask(home, GET_AGENT, {1: "scout"}).code, 404)
        self.assertEqual(self.ask(home, DELETE_AGENT, {1: "scout"}).code, 404)
        self.assertEqual(home.say("x", agent="scout").code, 404)
        self.assertEqual([s["agent"] for s in home.reef("sessions", "--json").json], ["scout"], "history stays")
        # The agent is still there after a restart.
        self.assertEqual(home.stop(), 0)
        home.start()
        self.assertEqual(self.ask(home, GET_AGENT, {1: "fresh"}).body.str(DESCRIPTION), "d")

    def test_hostile_input_is_refused_and_the_daemon_goes_on(self):
        home = self.home()
        before = home.listing()
        for name in HOSTILE:
            with self.subTest(name=name[:20]):
                self.assertEqual(self.ask(home, CREATE_AGENT, {1: name}).code, 400)
                self.assertEqual(self.ask(home, UPDATE_AGENT, {1: name, 2: "model = 'local'"}).code, 400)
                self.assertEqual(self.ask(home, DELETE_AGENT, {1: name}).code, 400)
                self.assertIn(self.ask(home, RENAME_AGENT, {1: name, 2: "x"}).code, (400, 404))
        for config, words in (('{"colour":1}', "unknown field 'colour'"), ("model = [", "invalid agent configuration"),
                              ("{", "invalid agent configuration"), ('{"tools":"bash"}', "tools: must be a list"),
                              ('{"model":"gpt-typo"}', "model:")):
            answer = self.ask(home, CREATE_AGENT, {1: "scout", 2: config})
            self.assertEqual(answer.code, 400, answer)
            self.assertIn(words, answer.text)
        self.assertEqual(self.ask(home, CREATE_AGENT, {1: "scout", 3: "x" * (10 << 20)}).code, 413)
        self.assertEqual(home.listing(), before)
        self.assertTrue(home.ping())

    def test_concurrent_updates_all_count(self):
        home = self.home()
        self.ask(home, CREATE_AGENT, {1: "scout"})
        fields = ["description=\"d\"", "max_iterations=3", "idle_minutes=7", "search=\"agent\"", "tools=[\"recall\"]",
                  "skills=[\"s\"]", "fallback=[\"local\"]", "thinking=\"low\""]
        answers = []
        threads = [threading.Thread(target=lambda f=f: answers.append(self.ask(home, UPDATE_AGENT, {1: "scout", 2: f})))
                   for f in fields]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([a.tag for a in answers], [AGENT_INFO] * len(fields))
        config = json.loads(self.ask(home, GET_AGENT, {1: "scout"}).body.str(CONFIG))
        self.assertEqual(set(config), {f.split("=")[0] for f in fields})

    def test_the_command(self):
        home = self.home()
        run = home.reef("agents", "create", "scout", "description=Looks things up", "tools=recall,search_sessions",
                        "parameters.temperature=0.2", "--prompt-file", "-", stdin="You look.\n")
        self.assertEqual((run.code, run.out), (0, "scout created\n"), run)
        shown = home.reef("agents", "show", "scout", "--json").json
        self.assertEqual((shown["tools"], shown["prompt"], shown["config"]["parameters"]),
                         (["recall", "search_sessions"], "You look.\n", {"temperature": 0.2}))
        home.write("agents/scout.toml", "# mine\n" + home.read("agents/scout.toml"))
        self.assertEqual(home.reef("agents", "set", "scout", "tools=", "max_iterations=4").code, 0)
        self.assertEqual(home.read("agents/scout.toml"),
                         '# mine\ndescription = "Looks things up"\nparameters = { temperature = 0.2 }\nmax_iterations = 4\n')
        self.assertRegex(home.reef("agents").out, r"(?m)^scout\s+local\s+Looks things up$")
        self.assertIn("You look.", home.reef("agents", "show", "scout").out)
        self.assertEqual(home.reef("agents", "set", "scout", "--prompt", "").code, 0)
        self.assertFalse(os.path.exists(home.file("agents/scout.md")))
        self.assertEqual(home.reef("agents", "rename", "scout", "ranger").out, "scout is ranger now\n")
        self.assertEqual([a["name"] for a in home.reef("agents", "ls", "--json").json], ["ranger", "reef"])
        self.assertEqual(home.reef("agents", "rm", "ranger").code, 0)
        self.assertTrue(os.path.exists(home.file("agents/removed/ranger.toml")))
        bad = home.reef("agents", "set", "reef", "colour=red")
        self.assertNotEqual(bad.code, 0)
        self.assertIn("unknown field 'colour'", bad.err)
        self.assertEqual(home.reef("agents", "set", "reef", "nonsense").code, 2)
        self.assertNotEqual(home.reef("agents", "show", "nobody").code, 0)

    def test_by_hand_with_reload(self):
        home = self.home()
        home.write("agents/scout.toml", 'description = "by hand"\n')
        home.write("agents/scout.md", "You look.")
        self.assertEqual(home.reef("reload").code, 0)
        self.assertEqual(self.ask(home, GET_AGENT, {1: "scout"}).body.str(PROMPT), "You look.")
        home.write("agents/scout.md", "x" * (2 << 20))
        self.assertEqual(home.reef("reload").code, 0)
        self.assertEqual(self.ask(home, GET_AGENT, {1: "scout"}).code, 404)
        self.assertIn("scout.md: a prompt has at most", home.read("logs/reefd.log"))

    def test_C10_a_session_in_the_trash_follows_when_it_comes_back(self):
        home = self.home()
        self.ask(home, CREATE_AGENT, {1: "scout", 3: "You look."})
        home.say("The deploy key is in the blue vault", agent="scout")
        (session,) = home.reef("sessions", "--json").json
        self.assertEqual(home.reef("rm", session["id"]).code, 0)
        self.assertEqual(home.reef("agents", "rename", "scout", "ranger").code, 0)
        home.kill9()
        home.start()
        self.assertEqual(home.reef("restore", session["id"]).code, 0)
        (back,) = home.reef("sessions", "--json").json
        self.assertEqual((back["agent"], back["key"]), ("ranger", "agent:ranger:user"))
        self.assertNotEqual(home.say("go on", agent="ranger").tag, ERROR)
        self.assertEqual(home.reef("fsck", "--json").code, 0)

    def test_C10_history_follows_a_new_name(self):
        home = self.home()
        self.ask(home, CREATE_AGENT, {1: "scout", 3: "You look."})
        home.write("config.toml", '# mine\ndefault_agent = "scout"\n')
        self.assertEqual(home.reef("reload").code, 0)
        home.say("The deploy key is in the blue vault", agent="scout")
        home.say("Remember that the printer likes thick paper", agent="scout", sender="ann")
        before = {s["id"]: s["key"] for s in home.reef("sessions", "--json").json}
        renamed = self.ask(home, RENAME_AGENT, {1: "scout", 2: "ranger"})
        self.assertEqual((renamed.tag, renamed.body.str(NAME), renamed.body.str(PROMPT)), (AGENT_INFO, "ranger", "You look."))
        self.assertEqual(home.read("config.toml"), '# mine\ndefault_agent = "ranger"\n')
        for _ in range(2):
            after = {s["id"]: s["key"] for s in home.reef("sessions", "--json").json}
            self.assertEqual(after, {id_: key.replace("scout", "ranger") for id_, key in before.items()})
            self.assertIn("thick paper", home.reef("memory", "recall", "-a", "ranger", "printer").out)
            self.assertEqual(home.say("x", agent="scout").code, 404)
            answer = home.connect().stream(turn("", "and now?"))
            self.assertIn(answer[-1].detail.str(200), before, "the conversation goes on")
            self.assertEqual(home.stop(), 0)
            home.start()

    def test_a_running_turn_keeps_what_it_has_and_its_agent_its_name(self):
        home = self.home(script=script({"text": "so far", "hang": True}))
        with home.connect() as link:
            link.send(request(STREAM, turn("scripted", "go")))
            while link.recv().event != "chunk":
                pass
            self.assertEqual(self.ask(home, RENAME_AGENT, {1: "scripted", 2: "other"}).code, 429)
            self.assertEqual(self.ask(home, UPDATE_AGENT, {1: "scripted", 2: "description = 'new'"}).tag, AGENT_INFO)
            self.assertEqual(self.ask(home, DELETE_AGENT, {1: "scripted"}).tag, PONG)
            self.assertEqual(self.ask(home, KILL, {1: "scripted", 2: "user"}).tag, PONG)
            self.assertEqual(link.events()[-1].detail.str(2), "cancelled")

    def test_S5_secrets_are_never_shown(self):
        home = self.home()
        config = {"parameters": {"api_key": "sk-very-secret"},
                  "mcps": [{"name": "files", "command": "mcp", "env": {"PIN": "secret-pin"}, "auth": "Bearer secret-auth"}]}
        made = self.ask(home, CREATE_AGENT, {1: "scout", 2: json.dumps(config)})
        self.assertEqual(made.tag, AGENT_INFO, made)
        self.assertEqual(made.body.strs(MCPS), ["files"])
        shown = made.body.str(CONFIG)
        everything = shown + home.reef("agents", "show", "scout", "--json").out + home.reef("agents", "show", "scout").out \
            + home.reef("agents", "ls", "--json").out + home.read("logs/reefd.log")
        self.assertNotIn("secret", everything.replace("env", ""))
        # The client sends back what it was shown, with one change.
        patch = json.loads(shown)
        patch["description"] = "d"
        self.assertEqual(self.ask(home, UPDATE_AGENT, {1: "scout", 2: json.dumps(patch)}).tag, AGENT_INFO)
        for secret in ("sk-very-secret", "secret-pin", "Bearer secret-auth"):
            self.assertIn(secret, home.read("agents/scout.toml"))
        self.assertEqual(os.stat(home.file("agents/scout.toml")).st_mode & 0o777, 0o600)

    def test_scope_is_enforced_and_violations_are_security_events(self):
        wanted = [{"name": "recall", "arguments": {"query": "x"}}, {"name": "search_sessions", "arguments": {"query": "x"}},
                  {"name": "bash", "arguments": {"command": "rm -rf /tmp/nothing"}}]
        home = self.home(script=script({"calls": wanted}, {"text": "done"}))
        self.ask(home, UPDATE_AGENT, {1: "scripted", 2: 'tools = ["recall"]'})
        events = home.connect().stream(turn("scripted", "go", "tg:7"))
        results = {e.detail.str(2): e.detail.int(4) for e in events if e.event == "tool_result"}
        self.assertEqual(results, {"no memories found": 0, "tool not available: search_sessions": 1,
                                   "tool not available: bash": 1})
        self.assertNotIn("ask_user", [e.event for e in events], "nobody is asked about what is refused anyway")
        self.assertEqual(events[-1].detail.str(2), "")
        lines = [l[l.index("security {") + 9:] for l in home.read("logs/reefd.log").splitlines() if "security {" in l]
        (event, _) = sorted(map(json.loads, lines), key=lambda e: e["name"], reverse=True)
        self.assertEqual({k: event[k] for k in ("event", "agent", "sender", "kind", "name")},
                         {"event": "scope_violation", "agent": "scripted", "sender": "tg:7", "kind": "tool",
                          "name": "search_sessions"})
        self.assertEqual(event["session"], events[-1].detail.str(200))

    # CrabTalk's S-6: search_sessions and recall crossed senders and agents.
    def test_S6_another_senders_words_are_not_found_by_a_scoped_agent(self):
        home = self.home(script=script({"calls": [{"name": "search_sessions", "arguments": {"query": "walnut"}}]}, {"text": "done"}))
        home.say("walnut of the owner", agent="scripted")
        events = home.connect().stream(turn("scripted", "go", "tg:7"))
        self.assertEqual([e.detail.str(2) for e in events if e.event == "tool_result"], ["no sessions found"])

    def test_the_title_tool(self):
        home = self.home(script=script(
            {"calls": [{"name": "set_title", "arguments": {"title": "x"}}]},
            {"calls": [{"name": "set_title", "arguments": {"title": "Where the keys are"}}]}, {"text": "done"}))
        events = home.connect().stream(turn("scripted", "go"))
        self.assertEqual([(e.detail.str(2), e.detail.int(4)) for e in events if e.event == "tool_result"],
                         [("a title has three to six words, this one 1", 1), ("title: Where the keys are", 0)])
        (session,) = home.reef("sessions", "--json").json
        self.assertEqual(session["name"], "Where the keys are")
        self.assertIn({"type": "session_info", "name": "Where the keys are"},
                      [{k: e.get(k) for k in ("type", "name")} for e in read_lines(home.transcript())])

    def test_the_model_is_told_scope_and_instructions_and_none_of_it_is_kept(self):
        home = Home()
        self.addCleanup(home.cleanup)
        backend = self.backend(home)
        home.write("agents/scout.toml", 'model = "b/m"\ntools = ["recall"]\nskills = ["feeds"]\n')
        home.write("agents/scout.md", "You are the scout.")
        home.write("Reef.md", "of the home")
        project = os.path.join(home.base, "project")
        os.makedirs(project + "/deep")
        for name, text in (("AGENTS.md", "of the project"), ("deep/CLAUDE.md", "not configured"), ("Crab.md", "neither")):
            with open(f"{project}/{name}", "w", encoding="utf-8") as out:
                out.write(text)
        home.start()

        def system(cwd):
            backend.requests.clear()
            with home.connect() as link:
                self.assertEqual(link.call(SEND, {1: "scout", 2: "hello", 5: cwd}).tag, RESPONSE)
            (body,) = [r[2] for r in backend.requests if r[2]]
            self.assertEqual([t["function"]["name"] for t in body["tools"]], ["recall", "skill"])
            return body["messages"][0]["content"]

        told = system(project + "/deep")
        self.assertTrue(told.startswith("You are the scout."), told)
        self.assertIn("<scope>\ntools: recall, skill\nskills: feeds\n</scope>", told)
        self.assertIn(f'<file path="{project}/AGENTS.md">\nof the project\n</file>', told)
        self.assertIn("of the home", told)
        self.assertNotIn("not configured", told)
        with open(f"{project}/AGENTS.md", "w", encoding="utf-8") as out:
            out.write("written anew")
        self.assertIn("written anew", system(project + "/deep"))
        self.assertNotIn("written anew", system("/"))
        home.write("config.toml", home.read("config.toml") + '[instructions]\nfiles = ["CLAUDE.md", "Crab.md"]\n')
        self.assertEqual(home.reef("reload").code, 0)
        told = system(project + "/deep")
        self.assertIn("not configured", told)
        self.assertIn("neither", told)
        self.assertNotIn("of the home", told)
        with open(home.transcript(), encoding="utf-8") as source:
            kept = source.read()
        for words in ("<instructions>", "of the project", "<scope>", "of the home"):
            self.assertNotIn(words, kept)
        home.write("config.toml", home.read("config.toml").replace('"Crab.md"', '"../Crab.md"'))
        bad = home.reef("reload")
        self.assertIn("instructions.files: must be names of files", bad.err)


class Scopes(unittest.TestCase):
    def test_names_that_mean_nothing_are_in_the_status_until_they_are_put_right(self):
        with Home(files={"agents/scout.toml": 'tools = ["read", "raed", "memory", "g*"]\nskills = ["no-such-*"]\n'
                                              'delegate_to = ["re*", "nobody"]\nmcps = ["nowhere"]\n'}) as home:
            problems = home.reef("status", "--json").json["problems"]
            self.assertEqual(len(problems), 4, problems)
            self.assertIn("agent scout: delegate_to: 'nobody'", problems[2])
            self.assertIn("agent scout: mcps: 'nowhere'", problems[3])
            self.assertIn("agent scout: tools: 'raed'", problems[0])
            self.assertIn("agent scout: skills: 'no-such-*'", problems[1])
            self.assertEqual(home.reef("agents", "set", "scout", "tools=read,memory,g*", "skills=", "delegate_to=re*",
                                       "mcps=").code, 0)
            self.assertEqual(home.reef("status", "--json").json["problems"], [])

    def test_declared_skills_and_servers_are_offered_beside_the_whitelist(self):
        skill = "---\nname: web-search\ndescription: Looks things up.\n---\nDo it.\n"
        calls = {"calls": [{"name": "skill", "arguments": {"name": "web-search"}}, {"name": "recall", "arguments": {"query": "x"}},
                           {"name": "bash", "arguments": {"command": "true"}}]}
        with Home(script=script(calls, {"text": "done"}), start=False,
                  files={"skills/web-search/SKILL.md": skill}) as home:
            home.write("agents/scripted.toml", 'model = "s/x"\ntools = ["read", "memory"]\nskills = ["web-*"]\n')
            home.start()
            with home.connect() as link:
                events = link.stream(turn("scripted", "go"))
            calls = [Message(raw) for e in events if e.event == "tool_start" for raw in e.detail.fields[1]]
            by_id = {call.str(200): call.str(1) for call in calls}
            wrong = {by_id[e.detail.str(1)]: bool(e.detail.int(4)) for e in events if e.event == "tool_result"}
            self.assertEqual(wrong, {"skill": False, "recall": False, "bash": True})

    def test_the_worker_is_there_for_everybody(self):
        with Home() as home:
            done = home.reef("chat", "-a", "worker", "-p", "hello")
            self.assertEqual(done.code, 0, done)
            self.assertIn("agent:worker:user", [row["key"] for row in home.reef("sessions", "--json").json])
            self.assertEqual(home.reef("agents", "show", "worker", "--json").json["name"], "worker")
            self.assertEqual(home.reef("events", "subscribe", "build:failed", "worker").code, 0)
            self.assertEqual(home.reef("events", "publish", "build:failed", "look into it").code, 0)
            wait_for(lambda: "agent:worker:event:build:failed" in [row["key"] for row in home.reef("sessions", "--json").json],
                     "the worker's conversation")
            # The worker follows the default agent's thinking, also when that changes.
            self.assertFalse(home.reef("agents", "show", "worker", "--json").json["thinking"])
            self.assertEqual(home.reef("agents", "set", "reef", "thinking=high").code, 0)
            self.assertTrue(home.reef("agents", "show", "worker", "--json").json["thinking"])
            self.assertEqual(home.reef("reload").code, 0)
            self.assertTrue(home.reef("agents", "show", "worker", "--json").json["thinking"])
            # A configured agent of that name takes the place of the built-in one.
            home.write("agents/worker.toml", 'description = "Mine"\n')
            self.assertEqual(home.reef("reload").code, 0)
            self.assertEqual(home.reef("agents", "show", "worker", "--json").json["description"], "Mine")


if __name__ == "__main__":
    unittest.main()
