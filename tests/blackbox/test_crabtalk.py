"""CrabTalk's own clients of four generations, each answer read as strictly as their decoders read it."""

import json
import os
import socket
import time
import unittest

from crabtalk_client import *

REPLY_TO_TOOL, RECONNECT_MCP, GET_SKILL, FIND_SESSIONS, CANCEL_STREAM, CREATE_SESSION = range(53, 59)
LIST_AGENTS, GET_AGENT, CREATE_AGENT, UPDATE_AGENT, DELETE_AGENT, RENAME_AGENT = 15, 16, 17, 18, 19, 51
AGENT_INFO, AGENT_LIST, SKILL_BODY, SESSION_HITS, MCP_INFO = 11, 12, 31, 32, 29

ASK = {"questions": [{"question": "Which colour?", "header": "Colour", "options": [{"label": "red"}, {"label": "blue"}]}]}
BUSY = {"calls": [{"name": "bash", "arguments": {"command": "echo one; echo two; sleep 0.2; echo three"}}]}
ALLOWED = {"agents/scripted.toml": 'model = "s/x"\npermission_mode = "allow-all"\n'}
HANG = {"text": "so far", "hang": True}


def tool(name, description="of the client"):
    return message({1: name, 2: description, 3: '{"type": "object", "properties": {"command": {"type": "string"}}}'})


def stream_of(content, agent="scripted", tools=(), **more):
    body = message({1: agent, 2: content} | {int(k[1:]): v for k, v in more.items()})
    return request(STREAM, body + b"".join(field(8, one) for one in tools))


class Case(unittest.TestCase):
    def home(self, *replies, **options):
        home = Home(script=script(*replies), **options)
        self.addCleanup(home.cleanup)
        home.start()
        return home

    def client(self, home, generation):
        link = Client.of(home, generation)
        self.addCleanup(link.close)
        return link

    def until(self, link, name):
        seen = [link.recv()]
        while seen[-1].event != name:
            self.assertEqual(seen[-1].tag, STREAM_EVENT, seen)
            self.assertNotEqual(seen[-1].event, "end", seen)
            seen.append(link.recv())
        return seen

    def said(self, home):
        return [t for e in read_lines(home.transcript()) if e.get("type") == "message"
                for t in [e["message"]["role"]]]


class Events(Case):
    def test_nothing_unknown_reaches_a_client_that_has_not_asked(self):
        home = self.home(BUSY, {"text": "done"}, files=ALLOWED)
        for generation, more in (("0.0.21", {}), ("0.0.22", {"tools": [tool("other")]}), ("0.0.24", {"_11": "h"})):
            with self.subTest(generation):
                link = self.client(home, generation)
                link.send(stream_of("go", _4=generation, **more))
                events = link.events()
                self.assertEqual(spoken(events), "done")
                self.assertIn("tool_result", [e.event for e in events])

    def test_words_said_meanwhile_are_told_where_there_is_a_word_for_it(self):
        for generation, event, more in (("0.0.21", "ask_user", {}), ("0.0.24", "chunk", {"_11": "h"})):
            with self.subTest(generation):
                home = self.home({"calls": [{"name": "ask_user", "arguments": ASK}]}, {"text": "done"})
                link = self.client(home, generation)
                link.send(stream_of("go", **more))
                self.until(link, event)
                with home.connect() as other:
                    key = {200: "handle:h"} if more else {}
                    self.assertEqual(other.call(STEER_SESSION, {1: "scripted", 2: "user", 3: "hurry"} | key).tag, PONG)
                    answer = {1: "scripted", 2: "user", 3: "red"} | ({201: "handle:h"} if more else {})
                    self.assertEqual(other.call(3, answer).tag, PONG)
                    # The script begins again with each new message.
                    wait_for(lambda: other.call(3, answer).tag == PONG, "the question once more")
                names = [e.event for e in link.events()]
                self.assertEqual("user_steered" in names, not more, names)
                self.assertEqual(texts(read_lines(home.transcript()), "user"), ["go", "hurry"])

    def test_a_client_with_hello_or_a_request_id_gets_all_events(self):
        home = self.home(BUSY, {"text": "done"}, files=ALLOWED)
        with home.connect(hello=False) as link:
            self.assertIn("tool_progress", [e.event for e in link.stream(turn("scripted", "go", "a"), request_id=1)])
            self.assertIn("tool_progress", [e.event for e in link.stream(turn("scripted", "go", "b"))], "it knows us")
        with home.connect() as link:
            self.assertIn("tool_progress", [e.event for e in link.stream(turn("scripted", "go", "c"))])

    def test_an_unknown_operation_is_named(self):
        home = self.home({"text": "x"})
        for tag in (60, 99, 199, 4000):
            reply = self.client(home, "0.0.24").call(tag)
            self.assertEqual((reply.code, reply.text), (400, f"unknown operation {tag}"))
        link = self.client(home, "0.0.24")
        link.send(b"")
        self.assertEqual(link.recv().text, "empty client message")

    def test_every_answer_is_one_the_generation_knows(self):
        home = self.home(BUSY, {"text": "done"}, {"text": "done"}, config='default_agent = "scripted"\n', files=ALLOWED | {
            "skills/knots/SKILL.md": "---\nname: knots\ndescription: Ties knots.\n---\nOver, under.\n",
            "agents/served.toml": 'model = "s/x"\n[[mcps]]\nname = "none"\ncommand = "false"\n'})
        watching = {generation: self.client(home, generation) for generation in GENERATIONS}
        for link in watching.values():
            link.send(request(34))
            self.assertEqual(link.call(PING).tag, PONG, "it watches now")
        self.assertEqual(home.say("hi", "scripted", "joe").tag, RESPONSE)
        # The client reads strictly, so any answer it returns was understood.
        for generation in GENERATIONS:
            link = self.client(home, generation)
            session = Message(link.call(LIST_CONVERSATIONS).body.fields[1][0]).str(5)
            pair = {1: "scripted", 2: "joe"}
            asked = [(3, pair | {3: "x"}), (4, {}), (KILL, pair), (6, pair), (7, {1: "crab"}), (11, {1: "s/x"}), (13, {}),
                     (13, {1: "served"}), (15, {}), (16, {1: "served"}), (19, {1: "nobody"}), (23, {}), (RELOAD, {}), (GET_STATS, {}),
                     (GET_CONFIG, {}), (36, {}), (GET_HISTORY, {1: session}), (40, {1: "never", 2: "crab"}), (42, {}), (41, {1: 99}),
                     (43, {1: "a", 2: "b"}), (44, pair | {3: "x"}), (46, {1: "none", 2: "nobody"}), (100, b"x")]
            asked += {"0.0.21": [(n, {1: "x"}) for n in (20, 21, 22, 24, 25, 26, 37)],
                      "0.0.24": [(55, {1: "knots"}), (56, {1: "hi"}), (57, {3: "x"})]}.get(generation, [])
            for tag, fields in asked:
                with self.subTest(generation, tag=tag):
                    self.assertIsNotNone(link.call(tag, fields))
            kinds = []
            while 5 not in kinds:
                kinds.append(watching[generation].recv().body.int(3))
            self.assertIn(3, kinds)


class Leaving(Case):
    def test_a_client_that_leaves_cancels_its_turn(self):
        home = self.home(HANG, {"text": "next"})
        link = self.client(home, "0.0.21")
        link.send(stream_of("go"))
        self.until(link, "chunk")
        link.close()
        wait_for(lambda: home.ask(GET_STATS).body.int(2) == 0, "the turn's end")
        self.assertEqual([e["message"]["stopReason"] for e in read_lines(home.transcript())
                          if e.get("type") == "message" and e["message"]["role"] == "assistant"], ["aborted"])
        self.assertEqual(home.say("again", "scripted").body.str(2), "next")

    def test_whatever_its_turn_is_waiting_for(self):
        sleep = {"calls": [{"name": "bash", "arguments": {"command": "sleep 600"}}]}
        ask = {"calls": [{"name": "ask_user", "arguments": ASK}]}
        tcp = '[tcp]\nenabled = true\nport = 0\ntrust_loopback = true\n'
        for over_tcp in (False, True):
            for name, reply, tools in (("chunk", HANG, ()), ("tool_start", sleep, ()), ("ask_user", ask, ()),
                                       ("tool_call_forward", sleep, ["bash"]), ("tool_call_forward", ask, ["bash"])):
                with self.subTest(name, tcp=over_tcp):
                    home = self.home(reply, {"text": "went on"}, files=ALLOWED, config=tcp)
                    link = Client.tcp(home.read("run/reefd.tcp").strip()) if over_tcp else self.client(home, "0.0.21")
                    link.generation = "0.0.22" if tools else "0.0.21"
                    link.send(stream_of("go", tools=[tool(one) for one in tools]))
                    self.until(link, name)
                    link.close()
                    wait_for(lambda: home.ask(GET_STATS).body.int(2) == 0, "the turn's end")
                    self.assertEqual(home.ask(LIST_QUESTIONS).body.fields, {})
                    self.assertNotIn("went on", home.read(home.transcript()))

    def test_one_whose_turn_has_not_begun_gets_none(self):
        home = self.home(HANG, {"text": "for nobody"})
        first = home.connect()
        self.addCleanup(first.close)
        first.send(request(STREAM, turn("scripted", "first"), request_id=1))
        while first.recv().event != "chunk":
            pass
        link = self.client(home, "0.0.21")
        link.send(stream_of("second"))
        watch = home.connect()
        self.addCleanup(watch.close)
        wait_for(lambda: watch.call(302, {2: "scripted"}).body.int(12) == 1, "the second to wait")
        link.close()
        wait_for(lambda: watch.call(GET_STATS).body.int(203) == 2, "the end of its connection")
        self.assertEqual(home.reef("kill", "-a", "scripted").code, 0)
        self.assertEqual(first.events(1)[-1].detail.str(2), "cancelled")
        wait_for(lambda: home.ask(GET_STATS).body.int(2) == 0, "the end of all turns")
        entries = read_lines(home.transcript())
        self.assertEqual((texts(entries, "user"), texts(entries, "assistant")), (["first", "second"], ["so far"]))

    def test_a_side_that_is_closed_is_no_leaving_but_over_tcp(self):
        home = self.home({"text": "done"}, config='[tcp]\nenabled = true\nport = 0\ntrust_loopback = true\n')
        link = self.client(home, "0.0.21")
        link.send(stream_of("go"))
        link.half_close()
        self.assertEqual(spoken(link.events()), "done")
        link = Client.tcp(home.read("run/reefd.tcp").strip())
        self.addCleanup(link.close)
        link.send(request(SEND, turn("scripted", "go")))
        link.half_close()
        self.assertEqual(link.recv().tag, RESPONSE, "a Send has no client that could leave it")

    def test_not_when_others_read_along_or_it_knows_us(self):
        home = self.home(HANG)
        link = self.client(home, "0.0.21")
        link.send(stream_of("go"))
        self.until(link, "chunk")
        other = home.connect()
        self.addCleanup(other.close)
        other.send(request(280, {1: "scripted"}, request_id=1))
        while other.recv().event != "chunk":
            pass
        link.close()
        home.ping()
        self.assertEqual(home.ask(GET_STATS).body.int(2), 1, "somebody reads it")
        self.assertEqual(home.reef("kill", "-a", "scripted").code, 0)
        self.assertEqual(other.events(1)[-1].detail.str(2), "cancelled")


class Tools(Case):
    """0.0.22 and 0.0.23: tools of the client."""

    def forward(self, link, name):
        got = self.until(link, "tool_call_forward")[-1].detail
        self.assertEqual(got.str(2), name)
        return got

    def reply(self, home, forward, output, is_error=False, call=None):
        with Client.of(home, "0.0.23") as link:
            return link.call(REPLY_TO_TOOL, {1: call or forward.str(1), 2: output, 3: is_error, 4: forward.int(4)})

    def test_calls_are_forwarded_and_their_outcome_is_the_result(self):
        calls = {"calls": [{"name": "bash", "arguments": {"command": "make"}}, {"name": "lens", "arguments": {"at": 1}}]}
        home = self.home(calls, {"text": "done"}, files=ALLOWED)
        link = self.client(home, "0.0.23")
        link.send(stream_of("go", tools=[tool("bash"), tool("lens")]))
        for _ in range(2):
            got = self.until(link, "tool_call_forward")[-1].detail
            self.assertEqual(json.loads(got.str(3)), {"command": "make"} if got.str(2) == "bash" else {"at": 1})
            self.assertEqual(self.reply(home, got, "no such call", call="x").code, 404)
            self.assertEqual(self.reply(home, got, f"{got.str(2)} says so", got.str(2) == "lens").tag, PONG)
        events = link.events()
        self.assertEqual(spoken(events), "done")
        results = [(e.detail.str(2), e.detail.int(4)) for e in events if e.event == "tool_result"]
        self.assertIn(("lens says so", 1), results)
        entries = [e["message"] for e in read_lines(home.transcript()) if e.get("type") == "message"]
        self.assertEqual(sorted(e["content"][0]["text"] for e in entries if e["role"] == "toolResult"),
                         ["bash says so", "lens says so"])

    def test_calls_of_two_conversations_are_told_apart(self):
        home = self.home({"calls": [{"id": "same", "name": "lens", "arguments": {}}]}, {"text": "done"}, files=ALLOWED)
        links = {name: self.client(home, "0.0.22") for name in ("one", "two")}
        calls = {}
        for name, link in links.items():
            link.send(stream_of("go", tools=[tool("lens")], _4=name))
            calls[name] = self.forward(link, "lens")
        self.assertEqual(calls["one"].str(1), calls["two"].str(1))
        self.assertNotEqual(calls["one"].int(4), calls["two"].int(4))
        with Client.of(home, "0.0.22") as link:
            stray = {1: calls["one"].str(1), 2: "astray", 4: calls["one"].int(4) + calls["two"].int(4)}
            self.assertEqual(link.call(REPLY_TO_TOOL, stray).code, 404)
        for name in ("two", "one"):
            self.assertEqual(self.reply(home, calls[name], f"for {name}").tag, PONG)
            self.assertEqual(self.reply(home, calls[name], "again").code, 404)
        for name, link in links.items():
            self.assertEqual([e.detail.str(2) for e in link.events() if e.event == "tool_result"], [f"for {name}"])

    def test_a_permission_is_asked_through_the_client(self):
        home = self.home({"calls": [{"name": "bash", "arguments": {"command": "touch /tmp/x"}}]}, {"text": "done"})
        link = self.client(home, "0.0.22")
        link.send(stream_of("go", tools=[tool("bash")]))
        ask = self.forward(link, "ask_user")
        (question,) = json.loads(ask.str(3))["questions"]
        self.assertIn("touch /tmp/x", question["question"])
        self.assertEqual([o["label"] for o in question["options"]][0], "Allow once")
        self.assertEqual(self.reply(home, ask, "Allow once").tag, PONG)
        self.assertEqual(self.reply(home, self.forward(link, "bash"), "touched").tag, PONG)
        self.assertEqual(spoken(link.events()), "done")

    def test_a_question_comes_as_a_forward_and_is_answered_by_one(self):
        home = self.home({"calls": [{"name": "ask_user", "arguments": ASK}]}, {"text": "done"})
        link = self.client(home, "0.0.23")
        link.send(stream_of("go", tools=[tool("bash"), tool("ask_user")]))
        ask = self.forward(link, "ask_user")
        self.assertEqual(json.loads(ask.str(3))["questions"][0]["question"], "Which colour?")
        self.assertEqual(self.reply(home, ask, '{"Colour": "blue"}').tag, PONG)
        events = link.events()
        self.assertEqual([e.detail.str(2) for e in events if e.event == "tool_result"], ["blue"])

    def test_answers_of_the_window_for_questions_are_understood(self):
        # The answer is one object for all questions, by their texts; several choices are one text.
        two = {"questions": ASK["questions"] + [{"question": "Which sizes?", "header": "Size", "multi_select": True,
                                                 "options": [{"label": "s"}, {"label": "m"}, {"label": "l"}]}]}
        chosen = json.dumps({"Which colour?": "blue", "Which sizes?": "s, l"})
        for generation in ("0.0.21", "0.0.22"):
            with self.subTest(generation):
                home = self.home({"calls": [{"name": "ask_user", "arguments": two}]}, {"text": "done"})
                link = self.client(home, generation)
                if generation == "0.0.21":
                    link.send(stream_of("go", _4="joe"))
                    self.until(link, "ask_user")
                    self.assertEqual(self.client(home, generation).call(3, {1: "scripted", 2: "joe", 3: chosen}).tag, PONG)
                else:
                    link.send(stream_of("go", tools=[tool("ask_user")], _4="joe"))
                    ask = self.forward(link, "ask_user")
                    for question in json.loads(ask.str(3))["questions"]:
                        self.assertEqual(sorted(question), ["header", "multi_select", "options", "question"])
                    self.assertEqual(self.reply(home, ask, chosen).tag, PONG)
                results = [e.detail.str(2) for e in link.events() if e.event == "tool_result"]
                self.assertEqual(results, ["Colour: blue\nSize: s, l"])

    def test_a_client_that_cannot_put_a_question_says_so(self):
        bash = {"calls": [{"name": "bash", "arguments": {"command": "touch /tmp/x"}}]}
        for call, said in (({"calls": [{"name": "ask_user", "arguments": ASK}]}, "no such tool here"), (bash, "")):
            home = self.home(call, {"text": "done"})
            link = self.client(home, "0.0.22")
            link.send(stream_of("go", tools=[tool("bash")]))
            self.assertEqual(self.reply(home, self.forward(link, "ask_user"), said, is_error=True).tag, PONG)
            (result,) = [e.detail for e in link.events() if e.event == "tool_result"]
            self.assertEqual(result.int(4), 1)
            self.assertIn("the client could not put the question", result.str(2))
            self.assertIn(said, result.str(2))

    def test_client_tools_are_judged_for_every_sender(self):
        for sender, command, mode, happens in (
                ("tg:7", "touch /tmp/x", "allow-all", "tool_result"), ("tg:7", "ls", "allow-all", "tool_call_forward"),
                ("joe", "touch /tmp/x", "safe", "tool_result"), ("joe", "ls", "safe", "tool_call_forward"),
                ("joe", "touch /tmp/x", "allow-all", "tool_call_forward")):
            with self.subTest(sender=sender, command=command, mode=mode):
                home = self.home({"calls": [{"name": "bash", "arguments": {"command": command}}]}, {"text": "done"},
                                 files={"agents/scripted.toml": f'model = "s/x"\npermission_mode = "{mode}"\n'})
                link = self.client(home, "0.0.23")
                link.send(stream_of("go", tools=[tool("bash")], _4=sender))
                seen = self.until(link, happens)
                self.assertEqual([e.event for e in seen if e.event in ("tool_result", "tool_call_forward")], [happens])

    def test_a_tool_outside_the_agents_scope_is_not_offered(self):
        home = self.home({"calls": [{"name": "bash", "arguments": {"command": "id"}}]}, {"text": "done"},
                         files={"agents/scripted.toml": 'model = "s/x"\ntools = ["recall"]\n'})
        link = self.client(home, "0.0.23")
        link.send(stream_of("go", tools=[tool("bash")]))
        results = [e.detail for e in link.events() if e.event == "tool_result"]
        self.assertEqual([(r.str(2), r.int(4)) for r in results], [("tool not available: bash", 1)])

    def test_the_first_generation_gets_questions_as_ever(self):
        home = self.home({"calls": [{"name": "ask_user", "arguments": ASK}]}, {"text": "done"})
        link = self.client(home, "0.0.21")
        link.send(stream_of("go"))
        self.until(link, "ask_user")
        with Client.of(home, "0.0.21") as other:
            self.assertEqual(other.call(3, {1: "scripted", 2: "user", 3: "red"}).tag, PONG)
        self.assertEqual(spoken(link.events()), "done")

    def test_an_ephemeral_turn_is_never_stored(self):
        home = self.home(BUSY, {"text": "done"}, files=ALLOWED)
        before = home.listing()
        link = self.client(home, "0.0.23")
        link.send(stream_of("a secret", _9=True, _10=7))
        events = link.events()
        self.assertEqual(spoken(events), "done")
        self.assertFalse(events[-1].detail.str(2), events[-1].detail)
        self.assertEqual(home.transcripts(), [])
        self.assertEqual(home.listing() - before, set())
        self.assertEqual(home.say("next", "scripted").tag, RESPONSE)
        self.assertEqual(texts(read_lines(home.transcript()), "user"), ["next"])

    def test_an_ephemeral_turn_leaves_nothing(self):
        word = "zanzibar"
        calls = {"calls": [{"name": name, "arguments": arguments} for name, arguments in (
            ("remember", {"name": word, "content": word}), ("submit_plan", {"name": word, "content": word}),
            ("delegate", {"tasks": [{"message": word}]}), ("set_title", {"title": word}), ("search_sessions", {"query": word}),
            ("write", {"path": f"/tmp/{word}", "content": word}), ("bash", {"command": f"echo {word}"}))]}
        home = self.home({"text": "done"}, config='[providers.t]\nkind = "scripted"\nscript = "t.json"\n[log]\nlevel = "debug"\n',
                         files={"t.json": script(calls, {"text": word}), "agents/eph.toml": 'model = "t/x"\npermission_mode = "allow-all"\n'})
        with home.connect() as link:
            link.call(40, {1: "agent:*:done", 2: "scripted"})
        self.assertEqual(home.say("hi", "scripted").tag, RESPONSE, "there is a session already")
        for sender in (None, "joe"):
            link = self.client(home, "0.0.23")
            link.send(stream_of(word, "eph", _4=sender, _9=True, _10=7))
            events = link.events()
            self.assertEqual((spoken(events), events[-1].detail.str(2)), (word, ""))
            results = [e.detail.str(2).strip() for e in events if e.event == "tool_result"]
            self.assertIn(word, results, "it may look")
        self.assertEqual(home.stop(), 0)
        found = []
        for folder, _, files in os.walk(home.path):
            for name in files:
                with open(os.path.join(folder, name), "rb") as data:
                    if word.encode() in data.read() or word in name:
                        found.append(name)
        self.assertEqual(found, ["t.json"])


class Handles(Case):
    """0.0.24: agents by id, sessions by handle."""

    def agents(self, home):
        reply = self.client(home, "0.0.24").call(LIST_AGENTS)
        return {a.str(1): a for a in map(Message, reply.body.fields[1])}

    def test_a_handle_names_one_conversation(self):
        home = self.home({"text": "first"}, {"text": "second"}, files={"agents/other.toml": 'model = "s/x"\n'})
        ids = {name: agent.str(12) for name, agent in self.agents(home).items()}
        link = self.client(home, "0.0.24")
        odd = "a/b ../ü:1"
        for handle in ("one", "two", odd):
            link.send(stream_of("hi", ids["scripted"], _11=handle))
            self.assertEqual(spoken(link.events()), "first", handle)
        self.assertEqual(len(home.transcripts()), 3)
        link.send(stream_of("again", ids["other"], _11=odd, _4="somebody"))
        events = link.events()
        self.assertEqual(spoken(events), "second")
        self.assertEqual(events[0].detail.str(1), "scripted", "who it belongs to was said the first time")
        reply = link.call(SEND, {1: ids["scripted"], 2: "hi", 9: "two"})
        self.assertEqual(reply.body.str(2), "second")
        reply = link.call(6, {3: "keep the numbers", 4: "never seen"})
        self.assertEqual(reply.code, 404, reply)

    def test_kill_and_cancel_reach_the_handle_and_no_other(self):
        home = self.home(HANG)
        links = {}
        for handle in ("one", "two"):
            links[handle] = self.client(home, "0.0.24")
            links[handle].send(stream_of("hi", _11=handle))
            self.until(links[handle], "chunk")
        asked = self.client(home, "0.0.24")
        self.assertEqual(asked.call(CANCEL_STREAM, {3: "never seen"}).code, 404)
        active = [Message(raw) for raw in asked.call(LIST_ACTIVE).body.fields[1]]
        self.assertEqual(sorted(a.str(8) for a in active), ["one", "two"])
        self.assertEqual({a.str(7) for a in active}, {"scripted"})
        self.assertEqual({a.str(6) for a in active}, {self.agents(home)["scripted"].str(12)})
        self.assertEqual(asked.call(CANCEL_STREAM, {3: "two"}).tag, PONG)
        self.assertEqual(links["two"].events()[-1].detail.str(2), "cancelled")
        self.assertEqual(home.ask(GET_STATS).body.int(2), 1)
        self.assertEqual(asked.call(KILL, {3: "one"}).tag, PONG)
        self.assertEqual(links["one"].events()[-1].detail.str(2), "cancelled")

    def test_compact_reaches_the_handle_and_no_other(self):
        home = self.home({"text": "a word " * 300})
        link = self.client(home, "0.0.24")
        for handle in ("one", "two"):
            for words in ("first", "second"):
                link.send(stream_of(words, _11=handle))
                link.events()
        reply = link.call(6, {3: "keep the numbers", 4: "two"})
        self.assertEqual(reply.tag, 6, reply)
        self.assertIn("a word", reply.body.str(1))
        compacted = [any(e.get("type") == "compaction" for e in read_lines(path)) for path in home.transcripts()]
        self.assertEqual(sorted(compacted), [False, True])

    def test_a_session_is_made_with_its_root_and_found_again(self):
        home = self.home({"text": "about marmalade"})
        link = self.client(home, "0.0.24")
        agent = self.agents(home)["scripted"].str(12)
        self.assertEqual(link.call(CREATE_SESSION, {1: "made", 2: agent, 4: "/usr"}).tag, PONG)
        self.assertEqual(link.call(CREATE_SESSION, {1: "made", 2: agent}).code, 409)
        self.assertEqual(link.call(CREATE_SESSION, {1: "bad", 2: agent, 4: "/nowhere"}).code, 400)
        link.send(stream_of("hello", agent, _11="made"))
        self.assertEqual(spoken(link.events()), "about marmalade")
        self.assertEqual(read_lines(home.transcript())[0]["cwd"], "/usr")
        hits = wait_for(lambda: link.call(FIND_SESSIONS, {1: "marmalade"}).body.fields.get(1), "the index")
        hit = Message(hits[0])
        self.assertEqual((hit.str(1), hit.str(10), hit.str(11)), ("made", agent, "scripted"))
        self.assertIn("marmalade", "".join(Message(raw).str(3) for raw in hit.fields[9]))
        self.assertEqual(len(link.call(GET_HISTORY, {1: "made"}).body.fields[1]), 2)
        self.assertEqual(link.call(FIND_SESSIONS, {1: "marmalade", 5: "nobody"}).body.fields, {})

    def test_agents_keep_their_ids(self):
        home = self.home({"text": "hi"})
        link = self.client(home, "0.0.24")
        made = link.call(CREATE_AGENT, {1: "scout", 2: '{"description": "You look around."}'})
        self.assertEqual(made.tag, AGENT_INFO, made)
        id_ = made.body.str(12)
        self.assertRegex(id_, "^[0-7][0-9A-HJKMNP-TV-Z]{25}$")
        self.assertEqual(made.body.str(200), "You look around.", "there is no other prompt")
        self.assertEqual(link.call(UPDATE_AGENT, {4: id_, 2: '{"compact_tool_max_len": 2048}'}).body.int(11), 2048)
        renamed = link.call(RENAME_AGENT, {3: id_, 2: "ranger"})
        self.assertEqual((renamed.body.str(1), renamed.body.str(12)), ("ranger", id_))
        self.assertEqual(link.call(UPDATE_AGENT, {4: "0" * 26, 2: '{"model": "s/x"}'}).code, 404)
        again = link.call(CREATE_AGENT, {1: "scout", 2: '{"description": "Another."}'})
        self.assertNotEqual(again.body.str(12), id_)
        home.stop()
        home.start()
        ids = {name: agent.str(12) for name, agent in self.agents(home).items()}
        self.assertEqual(ids["ranger"], id_)
        self.assertEqual(len(set(ids.values())), len(ids))
        link = self.client(home, "0.0.24")
        self.assertEqual(link.call(DELETE_AGENT, {2: id_}).tag, PONG)
        self.assertEqual(link.call(GET_AGENT, {1: "ranger"}).code, 404)

    def test_any_text_is_a_handle(self):
        home = self.home({"text": "first"}, {"text": "second"})
        link = self.client(home, "0.0.24")
        handles = ["x" * 300, "\u00fc" * 150, "%41", "A", "..", "/", "a b", "handle:A"]
        for handle in handles:
            link.send(stream_of("hi", _11=handle))
            self.assertEqual(spoken(link.events()), "first", handle)
        self.assertEqual(len(home.transcripts()), len(handles))
        for handle in handles:
            self.assertEqual(len(link.call(GET_HISTORY, {1: handle}).body.fields[1]), 2, handle)
        self.assertEqual(link.call(SEND, {2: "x", 9: "x" * 301}).code, 400)
        # The name that a list gives a session also works as a handle.
        listed = {Message(raw).str(5) for raw in link.call(LIST_CONVERSATIONS).body.fields[1]}
        self.assertEqual(len(listed), len(handles))
        link.send(stream_of("again", _11=listed.pop()))
        self.assertEqual(spoken(link.events()), "second")
        self.assertEqual(len(home.transcripts()), len(handles))
        self.assertEqual(link.call(DELETE_CONVERSATION, {1: "A"}).tag, PONG)
        self.assertEqual(link.call(GET_HISTORY, {1: "A"}).code, 404)
        self.assertEqual(len(link.call(GET_HISTORY, {1: "%41"}).body.fields[1]) % 2, 0)

    def test_an_id_will_do_wherever_an_agent_is_named(self):
        home = self.home({"text": "marmalade"}, files={"agents/other.toml": 'model = "s/x"\n'})
        link = self.client(home, "0.0.24")
        ids = {name: agent.str(12) for name, agent in self.agents(home).items()}
        id_, other = ids["scripted"], ids["other"]
        link.send(stream_of("hi", id_, _11="h"))
        self.assertEqual(spoken(link.events()), "marmalade")
        link.send(stream_of("and you?", id_, _11="h", _6=other))
        self.assertEqual(link.events()[0].detail.str(1), "other", "the guest")
        self.assertEqual(link.call(GET_AGENT, {1: id_}).body.str(1), "scripted")
        for agent, sessions in ((id_, 1), (other, 0)):
            self.assertEqual(len(link.call(LIST_CONVERSATIONS, {1: agent}).body.fields.get(1, [])), sessions)
        row = Message(link.call(LIST_CONVERSATIONS).body.fields[1][0])
        self.assertEqual((row.str(9), row.str(10)), (id_, "scripted"))
        history = link.call(GET_HISTORY, {1: "h"}).body
        self.assertEqual((history.str(4), history.str(5)), (id_, "scripted"))
        self.assertTrue(link.call(GET_STATS).body.str(5), "the daemon's version")
        wait_for(lambda: link.call(FIND_SESSIONS, {1: "marmalade", 5: id_}).body.fields.get(1), "the index")
        self.assertEqual(link.call(FIND_SESSIONS, {1: "marmalade", 5: other}).body.fields, {})
        self.assertEqual(link.call(45, {1: '{"name": "far", "url": "http://127.0.0.1:9/mcp"}', 2: id_}).body.str(7), "scripted")
        subscribed = link.call(40, {1: f"agent:{other}:done", 2: id_})
        self.assertEqual((subscribed.body.str(2), subscribed.body.str(3)), ("agent:other:done", "scripted"))
        self.assertEqual(link.call(46, {1: "far", 2: id_}).tag, PONG)

    def test_an_agent_comes_back_as_it_went(self):
        config = {"id": "0" * 26, "description": "Looks.", "model": "s/x", "max_iterations": 7, "tool_choice": "auto",
                  "thinking": True, "skills": [], "compact_tool_max_len": 512,
                  "mcps": [{"name": "far", "command": "", "args": [], "env": {}, "url": "http://127.0.0.1:9/mcp",
                            "auth": "Bearer secret", "auto_restart": True}],
                  "hooks": {"bash": {"disabled": False, "deny": []}, "memory": {"recall_limit": 5}}}
        home = self.home({"text": "hi"})
        for generation in GENERATIONS:
            with self.subTest(generation):
                link = self.client(home, generation)
                last, name = generation == "0.0.24", f"a{generation[-2:]}"
                made = link.call(CREATE_AGENT, {1: name, 2: json.dumps(config), 3: None if last else "You look."}).body
                self.assertEqual((made.int(11), made.int(5), made.int(6), made.str(4)), (512, 7, 1, "s/x"))
                where = {4: made.str(12)} if last else {1: name}
                again = link.call(UPDATE_AGENT, where | {2: made.str(3)})
                self.assertEqual((again.tag, again.body.str(3), again.body.str(12)), (AGENT_INFO, made.str(3), made.str(12)))
                self.assertIn("Bearer secret", home.read(f"agents/{name}.toml"), "and no mask in its place")
        self.assertEqual(self.client(home, "0.0.21").call(GET_AGENT, {1: "scripted"}).body.int(11), 1024, "CrabTalk's own default")

    def test_a_question_is_told_in_words(self):
        home = self.home({"calls": [{"name": "ask_user", "arguments": ASK}]}, {"text": "done"})
        link = self.client(home, "0.0.24")
        link.send(stream_of("go", _11="h"))
        words = self.until(link, "chunk")[-1].detail.str(1)
        self.assertIn("Which colour?", words)
        id_ = words.split("reef answer ")[1].split()[0]
        self.assertEqual(home.reef("answer", id_, "red").code, 0)
        self.assertEqual(spoken(link.events()), "done")

    def test_skills_and_servers(self):
        home = self.home({"text": "hi"}, files={
            "skills/knots/SKILL.md": "---\nname: knots\ndescription: Ties knots.\n---\nOver, under.\n",
            "agents/served.toml": 'model = "s/x"\n[[mcps]]\nname = "none"\ncommand = "false"\n'})
        link = self.client(home, "0.0.24")
        body = link.call(GET_SKILL, {1: "knots"})
        self.assertEqual((body.tag, body.body.str(1)), (SKILL_BODY, "knots"))
        self.assertIn("Over, under.", body.body.str(2))
        self.assertEqual(link.call(GET_SKILL, {1: "none"}).code, 404)
        (skill,) = [Message(raw) for raw in link.call(23).body.fields[1]]
        self.assertEqual(skill.str(5), "Ties knots.")
        self.assertEqual(link.call(RECONNECT_MCP, {1: "other", 2: "served"}).code, 404)
        self.assertEqual(link.call(RECONNECT_MCP, {1: "none", 2: "served"}).tag, ERROR, "it cannot be had")


class Alias(Case):
    def test_crab_is_the_default_agent_in_every_operation(self):
        home = self.home({"text": "hi"}, config='default_agent = "scripted"\n')
        link = self.client(home, "0.0.21")
        link.send(stream_of("hello", "crab"))
        self.assertEqual(spoken(link.events()), "hi")
        self.assertEqual(link.call(GET_AGENT, {1: "crab"}).body.str(1), "scripted")
        self.assertEqual(link.call(UPDATE_AGENT, {1: "crab", 2: '{"description": "x"}'}).body.str(1), "scripted")
        self.assertEqual(link.call(13, {1: "crab"}).tag, 10, "ListMcps")
        added = link.call(45, {1: '{"name": "far", "url": "http://127.0.0.1:9/mcp"}', 2: "crab"})
        self.assertEqual((added.tag, added.body.str(7)), (MCP_INFO, "scripted"))
        self.assertEqual(link.call(46, {1: "far", 2: "crab"}).tag, PONG)
        subscribed = link.call(40, {1: "morning", 2: "crab"})
        self.assertEqual(subscribed.body.str(3), "scripted")
        done = link.call(40, {1: "agent:crab:done", 2: "crab", 3: True})
        self.assertEqual(done.body.str(2), "agent:scripted:done", "as its events are called")
        self.assertEqual(len(link.call(LIST_CONVERSATIONS, {1: "crab"}).body.fields[1]), 1)
        self.assertEqual(link.call(KILL, {1: "crab", 2: "user"}).tag, PONG)
        for tag in (STEER_SESSION, 3):
            self.assertIn("scripted", link.call(tag, {1: "crab", 2: "user", 3: "x"}).text)
        self.assertEqual(link.call(6, {1: "crab", 2: "user"}).code, 409, "there is a conversation, and nothing to compact")
        self.assertEqual(link.call(DELETE_AGENT, {1: "crab"}).code, 409, "the default agent")
        self.assertEqual(link.call(RENAME_AGENT, {1: "crab", 2: "lobster"}).body.str(1), "lobster")


    def test_it_speaks_is_invited_and_is_found_as_the_default_agent(self):
        home = self.home({"text": "about marmalade"}, config='default_agent = "scripted"\n',
                         files={"agents/other.toml": 'model = "s/x"\n[[mcps]]\nname = "none"\ncommand = "false"\n',
                                "agents/scripted.toml": 'model = "s/x"\n[[mcps]]\nname = "gone"\ncommand = "false"\n'})
        for generation in GENERATIONS:
            with self.subTest(generation):
                link = self.client(home, generation)
                handle = {9: "h"} if generation == "0.0.24" else {4: generation}
                said = link.call(SEND, {1: "crab", 2: "hello"} | handle)
                self.assertEqual((said.tag, said.body.str(2)), (RESPONSE, "about marmalade"))
                if generation != "0.0.24":
                    self.assertEqual(said.body.str(1), "scripted", "it is told by its own name")
        # As a guest in another agent's conversation, by Send and by Stream.
        link = self.client(home, "0.0.21")
        self.assertEqual(link.call(SEND, {1: "other", 2: "both of you?", 4: "joe", 6: "crab"}).tag, RESPONSE)
        link.send(stream_of("and now?", "other", _4="joe", _6="crab"))
        self.assertEqual(link.events()[0].detail.str(1), "scripted", "the guest speaks")
        (guests,) = [path for path in home.transcripts() if "both of you?" in home.read(path)]
        said = [(e["message"]["role"], e.get("agent")) for e in read_lines(guests) if e.get("type") == "message"]
        self.assertEqual(said, [("user", None), ("assistant", "scripted")] * 2)
        # A server of its, by name: found, and it cannot be had. Another agent has none of that name.
        wanted = link.call(RECONNECT_MCP, {1: "gone", 2: "crab"})
        self.assertEqual((wanted.tag, wanted.code == 404), (ERROR, False), wanted)
        self.assertEqual(link.call(RECONNECT_MCP, {1: "none", 2: "crab"}).code, 404)
        # Its sessions: found by words, made anew, and read.
        late = self.client(home, "0.0.24")
        self.assertEqual(late.call(CREATE_SESSION, {1: "made", 2: "crab"}).tag, PONG)
        late.send(stream_of("hello", "crab", _11="made"))
        self.assertEqual(late.events()[0].detail.str(1), "scripted")

        def found(agent):
            return {(Message(hit).str(1), Message(hit).str(11)) for hit in
                    late.call(FIND_SESSIONS, {1: "marmalade", 2: 50, 5: agent}).body.fields.get(1, [])}

        wait_for(lambda: {agent for _, agent in found("")} == {"scripted", "other"}, "the index")
        wait_for(lambda: ("made", "scripted") in found("crab"), "the index")
        self.assertEqual({agent for _, agent in found("crab")}, {"scripted"})
        self.assertEqual(found("crab"), found("scripted"))
        history = late.call(GET_HISTORY, {1: "made"}).body
        self.assertEqual((history.str(5), len(history.fields[1])), ("scripted", 2))
        (listed,) = [c for c in map(Message, link.call(LIST_CONVERSATIONS, {1: "crab", 2: "0.0.22"}).body.fields[1])]
        self.assertEqual((listed.str(1), listed.str(2)), ("scripted", "0.0.22"))
        told = link.call(GET_HISTORY, {1: listed.str(5)}).body
        self.assertEqual((told.str(3), len(told.fields[1])), ("scripted", 2))

    def test_an_agent_called_crab_is_itself(self):
        home = self.home({"text": "hi"}, config='default_agent = "scripted"\n', files={"agents/crab.toml": 'model = "s/x"\n'})
        link = self.client(home, "0.0.21")
        self.assertEqual(link.call(SEND, {1: "crab", 2: "hello"}).body.str(1), "crab")
        self.assertEqual([r["agent"] for r in home.reef("sessions", "--json").json], ["crab"])


class Door(Case):
    """[crabtalk] listen = true: Reef at CrabTalk's own address."""

    CONFIG = '[crabtalk]\nlisten = true\n[tcp]\nenabled = true\nport = 0\ntrust_loopback = true\n'

    def home_of_user(self, config=CONFIG):
        home = Home(script=script({"text": "hi"}), config=config)
        self.addCleanup(home.cleanup)
        user = os.path.join(home.base, "user")
        os.makedirs(user)
        before = os.environ["HOME"] if "HOME" in os.environ else None
        os.environ["HOME"] = user
        self.addCleanup(lambda: os.environ.__setitem__("HOME", before) if before else os.environ.pop("HOME"))
        return home, os.path.join(user, ".crabtalk/run/crabtalk.sock"), os.path.join(user, ".crabtalk/run/crabtalk.port")

    def test_its_clients_find_us_and_we_leave_nothing(self):
        home, sock, port = self.home_of_user()
        home.start()
        with Client.of(home, "0.0.21", sock) as link:
            link.send(stream_of("hello", "scripted"))
            self.assertEqual(spoken(link.events()), "hi")
        with open(port, encoding="ascii") as text:
            number = text.read()
        with Client.tcp(f"127.0.0.1:{number}") as link:
            self.assertEqual(link.call(PING).tag, PONG, "without a token")
        self.assertEqual(home.stop(), 0)
        self.assertEqual(os.listdir(os.path.dirname(sock)), [])

    def test_the_port_of_a_daemon_that_was_killed_leads_nobody_astray(self):
        home, sock, port = self.home_of_user(config="[crabtalk]\nlisten = true\n")
        os.makedirs(os.path.dirname(port))
        with open(port, "w", encoding="ascii") as text:
            text.write("4321")
        home.start()
        with Client.of(home, "0.0.21", sock) as link:
            self.assertEqual(link.call(PING).tag, PONG)
        self.assertFalse(os.path.exists(port), "we listen on no port")

    def test_not_unless_asked(self):
        home, sock, _ = self.home_of_user(config="")
        home.start()
        self.assertTrue(home.ping())
        self.assertFalse(os.path.exists(os.path.dirname(os.path.dirname(sock))))

    def test_a_living_daemon_is_left_alone(self):
        home, sock, port = self.home_of_user()
        os.makedirs(os.path.dirname(sock))
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as crab:
            crab.bind(sock)
            crab.listen()
            inode = os.stat(sock).st_ino
            home.start()
            self.assertTrue(home.ping())
            self.assertIn("another daemon listens", home.read("logs/reefd.log"))
            self.assertFalse(os.path.exists(port))
            home.stop()
            self.assertEqual(os.stat(sock).st_ino, inode)
        home.start()  # nobody is there any more: its socket is abandoned
        with Client.of(home, "0.0.21", sock) as link:
            self.assertEqual(link.call(PING).tag, PONG)


if __name__ == "__main__":
    unittest.main()
