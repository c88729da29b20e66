"""kill -9 during indexing and merging: whatever the moment, the next start finds everything that was acknowledged, and
the index on disk can be trusted."""

import json
import os
import random
import unittest

from reefbox import Home
from test_search import transcript

ROUNDS = 20
SENDS = 6


class IndexCrashes(unittest.TestCase):
    def found(self, home, word):
        done = home.reef("search", "--json", word)
        self.assertEqual(done.code, 0, done.err)
        return {hit["session"] for hit in json.loads(done.out)["hits"]}

    def test_kills_lose_nothing_that_was_said(self):
        chance = random.Random(7)
        # Many small sessions, and more in each round, so that segments are written and merged during the kills.
        def imported(round_):
            return {f"sessions/26{1 + round_ // 28:02}{1 + round_ % 28:02}-bulk-{n}/session.jsonl":
                    transcript(f"26{1 + round_ // 28:02}{1 + round_ % 28:02}-bulk-{n}",
                               *[("user", f"bulk{round_}x{n}y{m} " + "ballast " * 40) for m in range(36)])
                    for n in range(30)}
        home = Home(files=imported(0), start=False)
        self.addCleanup(home.cleanup)
        said = {}
        for round_ in range(1, ROUNDS + 1):
            home.start()
            for n in range(SENDS):
                word = f"said{round_}n{n}"
                home.say(f"please keep {word} in mind", sender=f"s{chance.randrange(3)}")
                said[word] = True
            if chance.random() < 0.5:
                self.found(home, f"said{round_}n0")  # so that the index is in use
            home.kill9()
            for path, text in imported(round_).items():
                target = os.path.join(home.path, path)
                os.makedirs(os.path.dirname(target), exist_ok=True)
                with open(target, "w") as out:
                    out.write(text)
            if chance.random() < 0.3:
                # A crash of the machine leaves a half-written file.
                segments = [f for f in os.listdir(os.path.join(home.path, "index")) if f.endswith(".seg")] \
                    if os.path.isdir(os.path.join(home.path, "index")) else []
                if segments:
                    victim = os.path.join(home.path, "index", chance.choice(segments))
                    os.truncate(victim, chance.randrange(os.path.getsize(victim) + 1))  # a kill leaves empty ones too
        home.start()
        for word in said:
            self.assertEqual(len(self.found(home, word)), 1, word)
        for round_ in range(ROUNDS + 1):
            self.assertEqual(len(self.found(home, f"bulk{round_}x3y5")), 1, round_)
        self.assertEqual(home.reef("fsck").code, 0)


if __name__ == "__main__":
    unittest.main()
