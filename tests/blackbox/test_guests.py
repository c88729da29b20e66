"""Several agents in one conversation, from the outside."""

import os
import unittest

from reefbox import *
from test_providers import Backend

GUEST = 6


class Guests(unittest.TestCase):
    def home(self, **options):
        home = Home(**options)
        self.addCleanup(home.cleanup)
        return home

    def spoken(self, home):
        """role, who, text of every message in the only transcript."""
        return [(e["message"]["role"], e.get("agent", ""), e["message"]["content"][0]["text"])
                for e in read_lines(home.transcript()) if e["type"] == "message"]

    def test_a_guest_answers_in_the_hosts_conversation(self):
        home = self.home()
        backend = self.enterContext(Backend())
        home.write("config.toml", f'[providers.b]\nkind = "openai"\nkey = "k"\nbase_url = "{backend.url}"\nmodels = ["m"]\n')
        for name in ("host", "critic"):
            home.write(f"agents/{name}.toml", 'model = "b/m"\n')
            home.write(f"agents/{name}.md", f"You are the {name}.")
        home.start()
        link = home.connect()
        backend.behave = lambda body: ["fine"]
        link.stream(turn("host", "one"))
        backend.behave = lambda body: ["I ", "disagree"]
        events = link.stream({**turn("host", "two"), GUEST: "critic"})
        self.assertEqual(events[0].detail.str(1), "critic")
        self.assertEqual((events[-1].detail.str(1), events[-1].detail.str(2)), ("critic", ""))
        self.assertEqual(spoken(events), "I disagree")
        asked = backend.requests[-1][2]
        self.assertNotIn("tools", asked)
        self.assertTrue(asked["messages"][0]["content"].startswith("You are the critic."))
        self.assertIn("'host'", asked["messages"][0]["content"])
        self.assertNotIn("<memory>", asked["messages"][0]["content"])
        backend.behave = lambda body: ["well"]
        link.stream(turn("host", "three"))
        asked = backend.requests[-1][2]
        self.assertIn("tools", asked)
        self.assertIn({"role": "assistant", "content": '<from agent="critic">\nI disagree\n</from>'},
                      [{k: m[k] for k in ("role", "content")} for m in asked["messages"] if m["role"] == "assistant"])
        self.assertEqual(self.spoken(home), [("user", "", "one"), ("assistant", "", "fine"), ("user", "", "two"),
                                             ("assistant", "critic", "I disagree"), ("user", "", "three"),
                                             ("assistant", "", "well")])
        (session,) = home.reef("sessions", "--json").json
        self.assertEqual((session["agent"], session["key"]), ("host", "agent:host:user"))
        self.assertIn("guest critic", home.reef("show", session["id"]).out)
        # Other views of the session also say who spoke.
        told = [("user", ""), ("assistant", "host"), ("user", ""), ("assistant", "critic"), ("user", ""), ("assistant", "host")]
        history = link.call(GET_HISTORY, {1: session["id"]}).body
        self.assertEqual([(m.str(1), m.str(200)) for m in map(Message, history.fields[1])], told)
        listed = link.call(251, {1: session["id"]}).body
        self.assertEqual([(m.str(2), m.str(9)) for m in map(Message, listed.fields[1])], told)
        hits = home.reef("search", "disagree", "--json").json["hits"]
        (hit,) = [one for one in hits if one["items"][one["hit"]]["snippet"] == "I disagree"]
        self.assertEqual(hit["items"][hit["hit"]]["agent"], "critic")
        around = [(item["role"], item.get("agent", "")) for item in hit["items"] if item["role"] in ("user", "assistant")]
        self.assertEqual(around, told)
        self.assertIn("critic: I disagree", home.reef("search", "disagree").out)
        # The speaker survives a restart and an export to CrabTalk's format.
        self.assertEqual(home.stop(), 0)
        home.start()
        home.connect().stream(turn("host", "four"))
        self.assertIn('<from agent="critic">', str(backend.requests[-1][2]["messages"]))
        self.assertIn('"agent":"critic"', home.reef("export", session["id"], "--to", "crabtalk").out)

    def test_C2_no_user_line_is_lost_when_the_framing_changes(self):
        home = self.home(script=script({"text": "ok"}))
        home.write("agents/critic.toml", 'model = "s/x"\n')
        os.makedirs(home.base + "/p")
        with open(home.base + "/p/AGENTS.md", "w", encoding="utf-8") as out:
            out.write("instructions")
        home.start()
        link = home.connect()
        wanted = []
        for number, (guest, cwd) in enumerate([("", "/p"), ("critic", "/p"), ("critic", ""), ("", "/p"), ("", ""),
                                               ("critic", "/p"), ("critic", "/p"), ("", "")]):
            words = f"line {number}"
            fields = {1: "scripted", 2: words, 5: home.base + cwd if cwd else "/", GUEST: guest or None}
            self.assertEqual(link.stream(fields)[-1].detail.str(2), "")
            wanted += [("user", "", words), ("assistant", guest, "ok")]
        self.assertEqual(self.spoken(home), wanted)

    def test_W5_send_and_stream_are_alike_for_guests(self):
        home = self.home(script=script({"text": "from the guest"}))
        home.write("agents/critic.toml", 'model = "s/x"\n')
        home.start()
        answer = home.connect().call(SEND, {**turn("reef", "one"), GUEST: "critic"})
        self.assertEqual((answer.tag, answer.body.str(1), answer.body.str(2)), (RESPONSE, "critic", "from the guest"))
        self.assertEqual(self.spoken(home), [("user", "", "one"), ("assistant", "critic", "from the guest")])
        said = home.reef("chat", "-a", "reef", "-g", "critic", "-p", "two")
        self.assertEqual((said.code, said.out), (0, "from the guest\n"))
        for tag in (SEND, STREAM):
            answer = home.connect().call(tag, {**turn("reef", "x"), GUEST: "nobody"})
            self.assertEqual((answer.code, answer.text), (404, "guest agent 'nobody' not registered"))

    def test_a_killed_guest_leaves_the_users_words_alone(self):
        home = self.home(script=script({"text": "half an answer", "hang": True}, {"text": "whole"}))
        home.write("agents/critic.toml", 'model = "s/x"\n')
        home.start()
        with home.connect() as link:
            link.send(request(STREAM, {**turn("reef", "one"), GUEST: "critic"}))
            while link.recv().event != "chunk":
                pass
            self.assertEqual(home.connect().call(KILL, {1: "reef", 2: "user"}).tag, PONG)
            self.assertEqual(link.events()[-1].detail.str(2), "cancelled")
        self.assertEqual(self.spoken(home), [("user", "", "one")])
        self.assertEqual(home.connect().stream({**turn("reef", "two"), GUEST: "critic"})[-1].detail.str(2), "")
        self.assertEqual(self.spoken(home), [("user", "", "one"), ("user", "", "two"), ("assistant", "critic", "whole")])

    def test_a_guests_tool_calls_are_rejected(self):
        home = self.home(script=script({"calls": [{"name": "remember", "arguments": {"name": "a", "content": "b"}}]},
                                       {"text": "words", "calls": [{"name": "recall", "arguments": {"query": "x"}}]}))
        home.write("agents/critic.toml", 'model = "s/x"\n')
        home.start()
        events = home.connect().stream({**turn("reef", "one"), GUEST: "critic"})
        self.assertIn("wanted to call tools", events[-1].detail.str(2))
        events = home.connect().stream({**turn("reef", "two"), GUEST: "critic"})
        self.assertEqual(events[-1].detail.str(2), "")
        self.assertFalse([e for e in events if (e.event or "").startswith("tool")])
        self.assertEqual(self.spoken(home), [("user", "", "one"), ("user", "", "two"), ("assistant", "critic", "words")])
        self.assertNotIn("toolCall", home.read(os.path.relpath(home.transcript(), home.path)))


if __name__ == "__main__":
    unittest.main()
