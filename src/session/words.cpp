#include "session/words.h"

namespace reef::session {
namespace {

constexpr std::string_view kAdjectives[] = {
    "able",   "agile",    "airy",     "alert",   "amber",    "ample",   "apt",      "azure",
    "balmy",  "bold",     "brave",    "breezy",  "bright",   "brisk",   "broad",    "bronze",
    "calm",   "candid",   "careful",  "cheery",  "chill",    "civil",   "clean",    "clear",
    "clever", "close",    "cloudy",   "coastal", "cobalt",   "cool",    "copper",   "coral",
    "cosy",   "crimson",  "crisp",    "curious", "dapper",   "daring",  "deep",     "deft",
    "dewy",   "dry",      "dusky",    "eager",   "early",    "earnest", "easy",     "even",
    "fabled", "fair",     "famous",   "fast",    "fine",     "firm",    "fleet",    "flint",
    "fluent", "fond",     "frank",    "free",    "fresh",    "frosty",  "gentle",   "giant",
    "gifted", "glad",     "gleaming", "golden",  "good",     "grand",   "grassy",   "great",
    "green",  "hale",     "handy",    "happy",   "hardy",    "hazel",   "hearty",   "hidden",
    "high",   "honest",   "humble",   "icy",     "idle",     "indigo",  "inner",    "ivory",
    "jade",   "jolly",    "jovial",   "just",    "keen",     "kind",    "large",    "lasting",
    "late",   "leafy",    "level",    "light",   "lilac",    "limber",  "lively",   "lone",
    "long",   "loyal",    "lucid",    "lucky",   "lunar",    "lush",    "major",    "marble",
    "mellow", "merry",    "mild",     "mindful", "misty",    "modest",  "mossy",    "narrow",
    "neat",   "new",      "nimble",   "noble",   "northern", "novel",   "oaken",    "olive",
    "opal",   "open",     "patient",  "pearly",  "placid",   "plain",   "pleasant", "plucky",
    "polar",  "polite",   "prime",    "proud",   "pure",     "quaint",  "quick",    "quiet",
    "rapid",  "rare",     "ready",    "red",     "regal",    "rich",    "rosy",     "round",
    "royal",  "ruby",     "rustic",   "sandy",   "scarlet",  "serene",  "sharp",    "shining",
    "silent", "silken",   "silver",   "simple",  "sincere",  "sleek",   "slender",  "smart",
    "smooth", "snowy",    "snug",     "soft",    "solar",    "solid",   "sound",    "southern",
    "spare",  "spry",     "stable",   "steady",  "stellar",  "still",   "stout",    "strong",
    "sturdy", "subtle",   "sunny",    "supple",  "sure",     "swift",   "tall",     "tame",
    "tawny",  "teal",     "tender",   "tidal",   "tidy",     "tiny",    "tranquil", "true",
    "trusty", "twilight", "upbeat",   "urban",   "valiant",  "vast",    "verdant",  "vivid",
    "warm",   "wary",     "western",  "white",   "whole",    "wide",    "wild",     "windy",
    "wise",   "witty",    "woven",    "young",   "zesty",
};

constexpr std::string_view kNouns[] = {
    "acorn",    "alder",      "anchor",  "apple",      "arbor",    "arch",    "aspen",   "atlas",
    "atoll",    "badger",     "bamboo",  "banyan",     "barley",   "basin",   "bay",     "beach",
    "beacon",   "bear",       "beaver",  "beech",      "bell",     "birch",   "bison",   "blossom",
    "bluff",    "boat",       "boulder", "branch",     "breeze",   "bridge",  "brook",   "buoy",
    "cabin",    "canal",      "candle",  "canoe",      "canyon",   "cape",    "castle",  "cave",
    "cedar",    "chalk",      "cherry",  "cinder",     "cliff",    "cloud",   "clover",  "coast",
    "comet",    "compass",    "copse",   "coral",      "cove",     "crab",    "crane",   "creek",
    "crest",    "cricket",    "crow",    "current",    "cypress",  "dale",    "dawn",    "deer",
    "delta",    "desert",     "dolphin", "dove",       "dune",     "eagle",   "echo",    "egret",
    "elk",      "elm",        "ember",   "estuary",    "falcon",   "fern",    "ferry",   "field",
    "finch",    "fir",        "fjord",   "flame",      "fleet",    "flint",   "forest",  "forge",
    "fox",      "frost",      "garden",  "garnet",     "gate",     "geyser",  "glacier", "glade",
    "glen",     "goose",      "gorge",   "granite",    "grove",    "gull",    "harbor",  "hare",
    "hawk",     "hazel",      "heath",   "hedge",      "heron",    "hill",    "hollow",  "horizon",
    "ibis",     "inlet",      "iris",    "island",     "ivy",      "jetty",   "juniper", "kelp",
    "kestrel",  "kingfisher", "lagoon",  "lake",       "lantern",  "larch",   "lark",    "lava",
    "leaf",     "ledge",      "lichen",  "lighthouse", "lily",     "linden",  "lotus",   "lynx",
    "magpie",   "mango",      "manta",   "maple",      "marble",   "marlin",  "marsh",   "meadow",
    "mesa",     "meteor",     "mill",    "mint",       "mist",     "moon",    "moor",    "moss",
    "mountain", "mussel",     "nebula",  "nest",       "oak",      "oasis",   "ocean",   "orbit",
    "orchard",  "orchid",     "osprey",  "otter",      "owl",      "palm",    "panda",   "pearl",
    "pebble",   "pelican",    "penguin", "perch",      "pier",     "pigeon",  "pike",    "pine",
    "plateau",  "plover",     "pond",    "poplar",     "poppy",    "prairie", "quail",   "quartz",
    "quay",     "rain",       "rapids",  "raven",      "reed",     "reef",    "ridge",   "river",
    "robin",    "rock",       "rowan",   "sable",      "sail",     "salmon",  "sand",    "sapling",
    "seal",     "sequoia",    "shell",   "shoal",      "shore",    "sky",     "slate",   "sparrow",
    "spring",   "spruce",     "squall",  "star",       "starling", "stone",   "storm",   "strait",
    "stream",   "summit",     "swallow", "swan",       "tern",     "thicket", "thistle", "thrush",
    "tide",     "timber",     "trail",   "trout",      "tulip",    "tundra",  "turtle",  "valley",
    "vine",     "violet",     "wave",    "whale",      "willow",   "wind",    "wolf",    "wood",
    "wren",     "yarrow",     "zephyr",
};

static_assert(std::size(kAdjectives) * std::size(kNouns) >= 20'000);

}  // namespace

std::span<const std::string_view> adjectives() {
  return kAdjectives;
}
std::span<const std::string_view> nouns() {
  return kNouns;
}

}  // namespace reef::session
