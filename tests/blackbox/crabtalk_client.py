"""CrabTalk's own clients, generation by generation, as strict as their decoders: written from CrabTalk's published
schemas, and from nothing of Reef's.

Their decoders skip unknown fields. They fail a whole stream on a message or event whose variant they do not know, on a
known field of another wire type, and on text that is not UTF-8. This decoder does the same. It also refuses a number of
an enumeration that has no name there (theirs would read it as the first one).
"""

from reefbox import *

# field number: what it holds. s text, u number (32 bits), U number (64 bits), b yes or no, d double, e<N> enumeration up
# to N, m a map of texts, anything else a message; a star: any number of them.
MESSAGES = {
    "Error": "1:u 2:s",
    "Pong": "",
    "Usage": "1:u 2:u 3:u 4:u 5:u 6:u",
    "Response": "1:s 2:s 5:s 6:Usage",
    "Active": "1:s 2:s 3:U 4:U 5:s",
    "ActiveList": "1:Active*",
    "Compact": "1:s",
    "Conversation": "1:s 2:s 3:u 4:s 5:s 6:U 7:U 8:s",
    "ConversationList": "1:Conversation*",
    "Mcp": "1:s 2:s 3:s* 4:m 5:s 6:s 7:s 8:b 10:e3 11:e4 12:s 13:u",
    "McpList": "1:Mcp*",
    "Agent": "1:s 2:s 3:s 4:s 5:u 6:b 8:s* 9:s* 11:u",
    "AgentList": "1:Agent*",
    "Words": "1:s",
    "PluginEvent": "1:Words 2:Words 3:Words 4:Words",
    "Plugin": "1:s 2:s 3:u 4:u 5:b 6:s",
    "PluginList": "1:Plugin*",
    "Skill": "1:s 3:s 4:e3",
    "SkillList": "1:Skill*",
    "Stats": "1:U 2:u 3:u 4:s",
    "AgentEvent": "1:s 2:s 3:e9 4:s 5:s 6:ToolCall* 7:s 8:b",
    "Model": "1:s 3:b",
    "ModelList": "1:Model*",
    "Said": "1:s 2:s",
    "History": "1:Said* 2:s 3:s",
    "Subscription": "1:U 2:s 3:s 4:b",
    "SubscriptionList": "1:Subscription*",
    "McpEvent": "1:e4 2:s 3:s* 4:s 5:s 6:s",
    "ToolCall": "1:s 2:s",
    "ToolStart": "1:ToolCall*",
    "ToolResult": "1:s 2:s 3:U 4:b",
    "End": "1:s 2:s 4:s 5:Usage",
    "Option": "1:s 2:s",
    "Question": "1:s 2:s 3:Option* 4:b",
    "Ask": "1:Question*",
    "ContextUsage": "1:Usage",
    # one of these:
    "StreamEvent": "1:Words 2:Words 3:Words 4:ToolStart 5:ToolResult 6:Pong 7:End 8:Ask 9:Words 10:Words 11:Words 12:Words "
                   "13:Words 14:ContextUsage",
    "ServerMessage": "1:Error 2:Pong 3:Response 4:StreamEvent 5:ActiveList 6:Compact 7:ConversationList 10:McpList 11:Agent "
                     "12:AgentList 13:PluginEvent 14:PluginList 15:SkillList 16:Words 19:Words 20:Stats 21:AgentEvent "
                     "22:ModelList 23:PluginList 24:History 25:Subscription 26:SubscriptionList 29:Mcp 30:McpEvent 100:s",
}
ONE_OF = ("ServerMessage", "StreamEvent", "PluginEvent")
WITHOUT_PLUGINS = " ".join(f for f in MESSAGES["ServerMessage"].split() if f.split(":")[0] not in ("13", "14", "16", "23"))
FORWARDS = {
    "ServerMessage": WITHOUT_PLUGINS,
    "Forward": "1:s 2:s 3:s 4:U",
    "StreamEvent": MESSAGES["StreamEvent"] + " 15:Forward",
}
HANDLES = {
    "ServerMessage": WITHOUT_PLUGINS + " 31:SkillBody 32:HitList",
    "StreamEvent": " ".join(f for f in MESSAGES["StreamEvent"].split() if f.split(":")[0] not in ("8", "9")),
    "Active": "2:s 3:U 4:U 5:s 6:s 7:s 8:s",
    "Conversation": "2:s 3:u 4:s 5:s 6:U 7:U 8:s 9:s 10:s",
    "History": "1:Said* 2:s 4:s 5:s",
    "Agent": MESSAGES["Agent"] + " 12:s",
    "AgentEvent": MESSAGES["AgentEvent"] + " 9:b",
    "Stats": MESSAGES["Stats"] + " 5:s",
    "Skill": "1:s 5:s",
    "SkillBody": "1:s 2:s",
    "Item": "1:s 2:u 3:s 4:b 5:s",
    "Hit": "1:s 2:u 3:d 4:s 6:s 7:s 8:s 9:Item* 10:s 11:s",
    "HitList": "1:Hit*",
}
GENERATIONS = {"0.0.21": {}, "0.0.22": FORWARDS, "0.0.23": FORWARDS, "0.0.24": HANDLES}
WIRE_TYPES = {"s": BYTES, "m": BYTES, "u": VARINT, "U": VARINT, "b": VARINT, "d": FIXED64}


def raw_fields(data):
    """(number, wire type, value) of every field, in order."""
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == VARINT:
            value, at = read_varint(data, at)
        elif wire in (FIXED64, FIXED32, BYTES):
            size = {FIXED64: 8, FIXED32: 4}.get(wire)
            if wire == BYTES:
                size, at = read_varint(data, at)
            value, at = data[at:at + size], at + size
            if len(value) != size:
                raise AssertionError(f"field {number} ends early")
        else:
            raise AssertionError(f"field {number} has wire type {wire}")
        yield number, wire, value


def decode(generation, name, data, where=""):
    """Reads a message as that generation would; AssertionError where it could not."""
    where = f"{where}/{name}" if where else f"{generation}: {name}"
    schema = GENERATIONS[generation].get(name) or MESSAGES[name]
    known = {int(number): kind for number, kind in (field.split(":") for field in schema.split())}
    seen = []
    for number, wire, value in raw_fields(data):
        kind = known.get(number, "").rstrip("*")
        if not kind:
            continue
        seen.append(number)
        expected = VARINT if kind[0] == "e" else WIRE_TYPES.get(kind, BYTES)
        if wire != expected:
            raise AssertionError(f"{where}: field {number} has wire type {wire} instead of {expected}")
        if kind == "s":
            value.decode()
        elif kind == "m":
            for _, kept, text in raw_fields(value):
                if kept != BYTES:
                    raise AssertionError(f"{where}: field {number} is no map of texts")
                text.decode()
        elif kind == "u" and value >= 1 << 32:
            raise AssertionError(f"{where}: field {number} is {value}, which 32 bits do not hold")
        elif kind[0] == "e" and value > int(kind[1:]):
            raise AssertionError(f"{where}: field {number} is {value}, which has no name")
        elif kind in MESSAGES or kind in GENERATIONS[generation]:
            decode(generation, kind, value, where)
    if name in ONE_OF and len(seen) != 1:
        raise AssertionError(f"{where}: {len(seen)} variants it knows: {[n for n, _, _ in raw_fields(data)]}")


EVENTS[15] = "tool_call_forward"


class Client(Connection):
    """A client of one generation: no Hello, no request_id, and every answer is read as that generation reads it."""

    generation = "0.0.21"

    @classmethod
    def of(cls, home, generation, path=None):
        link = cls.unix(path or home.file("run/reefd.sock"))
        link.generation = generation
        return link

    def recv(self):
        payload = self.recv_payload()
        if payload is None:
            return None
        decode(self.generation, "ServerMessage", payload)
        return Reply(payload)
