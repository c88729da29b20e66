"""The tools of agents, from the outside: their memory, earlier conversations, and who may see what."""

import json
import unittest

from reefbox import *
from test_search import transcript

CALL_ID = 200


def calls(*wanted):
    """A script that calls these tools, one step, and then says so."""
    return script({"calls": [{"name": name, "arguments": arguments} for name, arguments in wanted]}, {"text": "done"})


class Tools(unittest.TestCase):
    def home(self, **options):
        home = Home(**options)
        self.addCleanup(home.cleanup)
        home.start()
        return home

    def results(self, home, content="go", agent="scripted", sender=None):
        """The outputs of the tools of a turn, by their order in the transcript."""
        self.assertEqual(home.say(content, agent=agent, sender=sender).tag, RESPONSE)
        key = f"agent:{agent}:{sender or 'user'}"
        id_ = next(s["id"] for s in home.reef("sessions", "--json").json if s["key"] == key)
        entries = read_lines(f"{home.path}/sessions/{id_}/session.jsonl")
        return [e["message"]["content"][0]["text"] for e in entries
                if e["type"] == "message" and e["message"]["role"] == "toolResult"]

    def test_the_local_agent_answers_from_the_past(self):
        home = self.home()
        home.say("The deploy key is in the blue vault behind the harbour office")
        home.reef("new")
        answer = home.say("What did we say about the deploy key?").body.str(2)
        self.assertIn('"The deploy key is in the blue vault behind the harbour office"', answer)
        self.assertRegex(answer, r"\d{4}-\d\d-\d\d, session \d{6}-")
        self.assertIn("Nothing I know answers that", home.say("Who won the chess tournament in Reykjavik?").body.str(2))

    def test_remember_and_forget_in_plain_words(self):
        home = self.home()
        home.say("Remember that the printer likes thick paper")
        self.assertIn("thick paper", home.reef("memory", "recall", "printer").out)
        self.assertIn("thick paper", home.say("Which paper does the printer like?", sender="other").body.str(2),
                      "memory belongs to the agent")
        self.assertIn("Forgotten", home.say("Forget that the printer likes thick paper").body.str(2))
        self.assertNotIn("thick paper", home.reef("memory", "recall", "printer").out)

    def test_events_of_a_turn_with_tools(self):
        home = self.home(script=calls(("recall", {"query": "x"}), ("nonsense", {})))
        events = home.connect().stream(turn("scripted", "go"))
        (start,) = [e.detail for e in events if e.event == "tool_start"]
        told = [Message(raw) for raw in start.fields[1]]
        self.assertEqual([call.str(1) for call in told], ["recall", "nonsense"])
        self.assertEqual([json.loads(call.str(2)) for call in told], [{"query": "x"}, {}])
        results = {e.detail.str(1): (e.detail.str(2), e.detail.int(4)) for e in events if e.event == "tool_result"}
        self.assertEqual(results, {told[0].str(CALL_ID): ("no memories found", 0),
                                   told[1].str(CALL_ID): ("tool not registered: nonsense", 1)})
        names = [e.event for e in events]
        self.assertEqual([n for n in names if n.startswith("tool") or n == "chunk"],
                         ["tool_start", "tool_result", "tool_result", "tools_complete", "chunk"])

    def test_tools_see_only_their_own_agent_and_sender(self):
        search = calls(("search_sessions", {"query": "walnut"}))
        for sight, wanted in (("own", {"mine"}), ("agent", {"mine", "theirs"}), ("all", {"mine", "theirs", "others"})):
            with self.subTest(sight):
                home = self.home(script=search)
                home.write("agents/scripted.toml", f'model = "s/x"\nsearch = "{sight}"\n')
                home.write("agents/scribe.toml", 'model = "s/x"\n')
                self.assertEqual(home.reef("reload").code, 0)
                home.say("walnut mine", agent="scripted")
                home.say("walnut theirs", agent="scripted", sender="ann")
                home.say("walnut others", agent="scribe")
                self.assertEqual(home.reef("new", "--agent", "scripted").code, 0)
                found = self.results(home)[0]
                self.assertEqual({word for word in ("mine", "theirs", "others") if f"walnut {word}" in found}, wanted)

    def test_archives_are_seen_by_those_who_may_see_the_conversation(self):
        recall = calls(("recall", {"query": "walnut", "limit": 20}))
        for sight, wanted in (("own", {"mallory"}), ("agent", {"user", "zed", "mallory"})):
            with self.subTest(sight):
                home = Home(script=recall)
                self.addCleanup(home.cleanup)
                home.write("agents/scripted.toml", 'model = "local"\n')
                senders = ("user", "zed", "telegram:mallory")
                for n, sender in enumerate(senders):
                    id_ = f"260301-talk-{n}"
                    head, rest = transcript(id_, *[("user", f"The walnut of {sender} is number {i}. " + "Wave after wave. " * 200)
                                                   for i in range(60)]).split("\n", 1)
                    meta = {"type": "custom", "customType": "reef.meta", "id": "aaaaaaaa", "parentId": None,
                            "timestamp": "2026-03-02T10:00:00.000Z",
                            "data": {"agent": "scripted", "sender": sender, "key": f"agent:scripted:{sender}", "boundAt": n}}
                    rest = rest.replace('"parentId": null', '"parentId": "aaaaaaaa"', 1)
                    home.write(f"sessions/{id_}/session.jsonl", f"{head}\n{json.dumps(meta)}\n{rest}")
                home.start()
                for n in range(len(senders)):
                    self.assertTrue(home.reef("compact", f"260301-talk-{n}", "--json").json["archive"])
                self.assertEqual(len(home.reef("archives", "ls", "-a", "scripted", "--json").json), 3, "clients see all")
                home.write("agents/scripted.toml", f'model = "s/x"\nsearch = "{sight}"\n')
                self.assertEqual(home.reef("reload").code, 0)
                self.assertEqual(home.reef("new", "--agent", "scripted", "-s", "telegram:mallory").code, 0)
                found = self.results(home, sender="telegram:mallory")[0]
                self.assertEqual({who for who in ("user", "zed", "mallory") if f"walnut of {who}" in found or
                                  f"walnut of telegram:{who}" in found}, wanted, found[:300])

    def test_list_messages_refuses_ids_that_are_no_session(self):
        files = {"sessions/260302-old-pump/session.jsonl":
                 transcript("260302-old-pump", *[("user", f"walnut {n}") for n in range(5)])}
        home = self.home(script=calls(("list_messages", {"id": "260302-old-pump", "offset": 3}),
                                      ("list_messages", {"id": "../../etc"}), ("list_messages", {})), files=files)
        page, hostile, missing = sorted(self.results(home), key=lambda text: text.startswith(("no", "invalid")))
        self.assertIn("- [user #3] walnut 3\n- [user #4] walnut 4\n(3 to 4 of 5 messages)", page,
                      "what has no agent and no sender is the local user's own")
        self.assertEqual(hostile, "no session: ../../etc")
        self.assertEqual(missing, "invalid arguments: 'id' must be a text")
        page, _, _ = self.results(home, sender="telegram:7")
        self.assertEqual(page, "no session: 260302-old-pump")

    def test_bad_configuration_is_named(self):
        home = self.home()
        home.write("agents/odd.toml", 'search = "everything"\n')
        home.reef("reload")
        self.assertIn("must be one of: own, agent, all", home.read("logs/reefd.log"))


if __name__ == "__main__":
    unittest.main()
