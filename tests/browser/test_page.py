"""The exported HTML page in headless Chromium: opens from a file, search, theme and folds work, nothing is fetched and
nothing somebody wrote can run.

REEF_SHOTS=DIR keeps screenshots there.
"""

import json
import os
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../blackbox"))
import cdp  # noqa: E402
from reefbox import (WRITTEN_AT, Home, assistant_entry, bind_entry, entry, header_entry, jsonl, user_entry)  # noqa: E402

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
MANY = 10_000
OUT = "window.__out"

# Everything tries to set window.__out, to leave its element, or to fetch something.
HOSTILE = [
    f"</script><script>{OUT}=1</script>", f"<img src=x onerror='{OUT}=2'>", f"[click](javascript:{OUT}=3)",
    f"[click](JaVaScRiPt&#58;{OUT}=4)", f"[click](java\tscript:{OUT}=5)", f"<a href='javascript:{OUT}=6'>x</a>",
    f"<svg/onload={OUT}=7>", "<iframe src=https://example.com></iframe>", "![pic](https://example.com/x.png)",
    "![pic](data:text/html;base64,PHNjcmlwdD4=)", "[d](data:text/html,<script>1</script>)", "<style>*{display:none}</style>",
    "</div></article></main><h1>escaped</h1>", "<!-- comment", "]]>", "<base href=https://example.com>",
    "<meta http-equiv=refresh content='0;url=https://example.com'>", "```html\n</pre></script><script>1</script>\n```",
    "```\"><script>\nx\n```", "`</code><script>1</script>`", "| a | <b onclick=1> |\n|---|---|\n| `</td>` | x |",
    "\u202eright to left\u202c \u2066isolated \U0001f41a\u200d \ufeff \u0000 \u2028 \u2029", "a\u0301" * 500 + "Z\u0321" * 200,
    "<https://example.com/\"onmouseover=\"" + OUT + "=8>", "&lt;script&gt;" + OUT + "=9&lt;/script&gt;", "> " * 500 + "deep",
    "[" * 5000, "*" * 5000 + "a", "|a" * 300 + "|\n" + "|-" * 300 + "|\n" + "|b\n" * 300,
    "&#106;avascript:x [x](&#106;avascript:x)", "<details open ontoggle=" + OUT + "=10>",
]


def hostile_session():
    nasty = HOSTILE[0] + '" onclick="' + OUT + '=11'
    lines = [header_entry("nasty"), bind_entry("e0", None, "reef", "bob"),
             entry("custom", "e1", "e0", customType="reef.meta", data={"name": nasty, "labels": [nasty]})]
    parent = "e1"
    for i, text in enumerate(HOSTILE):
        lines.append(user_entry(f"u{i}", parent, text))
        lines.append(entry("message", f"a{i}", f"u{i}", message={
            "role": "assistant", "content": [
                {"type": "thinking", "thinking": text}, {"type": "text", "text": text},
                {"type": "image", "data": PIXEL + '" onerror="1', "mimeType": "image/png"},
                {"type": "image", "data": PIXEL, "mimeType": 'image/png" onerror="1'},
                {"type": "image", "data": "PHN2Zy8+", "mimeType": "image/svg+xml"},
                {"type": "toolCall", "id": f"c{i}", "name": text, "arguments": {text: text, "list": [text]}},
                {"type": text, "x": text}],
            "api": "t", "provider": "p", "model": text, "usage": {}, "stopReason": "error", "errorMessage": text}))
        lines.append(entry("message", f"r{i}", f"a{i}", message={
            "role": "toolResult", "toolCallId": f"c{i}", "toolName": text, "isError": True,
            "content": [{"type": "text", "text": text + "\x1b[31m\x07"}]}))
        lines.append(entry("message", f"o{i}", f"r{i}", message={"role": text, "content": text}))
        lines.append(entry("label", f"l{i}", f"o{i}", targetId=f"u{i}", label=text))
        parent = f"l{i}"
    return jsonl(*lines)


def story():
    """Two branches, a tool, a picture, code in a fold."""
    def reply(name, parent, *content, at=WRITTEN_AT):
        return entry("message", name, parent, at, message={
            "role": "assistant", "content": list(content), "api": "t", "provider": "p", "model": "m-1",
            "usage": {"input": 10, "output": 5}, "stopReason": "stop", "timestamp": at})
    return jsonl(
        header_entry("story"), bind_entry("e0", None, "reef", "bob"),
        entry("custom", "e1", "e0", customType="reef.meta", data={"name": "A Story", "labels": ["bug"]}),
        user_entry("u1", "e1", "where is the **walrus**?"),
        reply("a1", "u1", {"type": "thinking", "thinking": "the ZEBRA is hidden in thought"},
              {"type": "text", "text": "look:\n\n```python\ndef find(x):\n    return 'walrus'  # here\n```"},
              {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "ls -la"}}),
        entry("message", "r1", "a1", message={"role": "toolResult", "toolCallId": "c1", "toolName": "bash",
                                              "content": [{"type": "text", "text": "OKAPI.txt"}], "isError": False}),
        user_entry("u2", "r1", "the branch that was left, with a GIRAFFE"), assistant_entry("a2", "u2", "left"),
        user_entry("u3", "r1", "the branch that was taken", at=WRITTEN_AT + 86_400_000),
        reply("a3", "u3", {"type": "image", "data": PIXEL, "mimeType": "image/png"},
              {"type": "text", "text": "see [docs](https://example.com/a?b=1&c=2)"}, at=WRITTEN_AT + 86_400_000))


def long_story():
    lines = [header_entry("long"), bind_entry("e0", None, "reef", "bob")]
    for i in range(MANY):
        make = user_entry if i % 2 == 0 else assistant_entry
        lines.append(make(f"m{i}", f"m{i - 1}" if i else "e0", f"message {i} about `thing {i % 7}`\n\n- one\n- two"))
    return jsonl(*lines)


@unittest.skipUnless(cdp.program(), "")
class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = Home(files={"sessions/story/session.jsonl": story(), "sessions/nasty/session.jsonl": hostile_session(),
                               "sessions/long/session.jsonl": long_story()})
        cls.addClassCleanup(cls.home.cleanup)
        cls.home.start()
        cls.out = os.path.join(cls.home.base, "pages")
        done = cls.home.reef("export", "--all", "--to", "html", cls.out)
        assert done.code == 0, done
        cls.browser = cdp.Browser()
        cls.addClassCleanup(cls.browser.close)

    def page(self, name):
        (path,) = [n for n in os.listdir(self.out) if n.startswith(name) and n.endswith(".html")]
        self.browser.open(os.path.join(self.out, path))
        return self.browser

    def nothing_fetched(self):
        """Only the page itself and pictures inside it were loaded; nothing else was even tried."""
        self.browser.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        urls = [e["params"]["request"]["url"] for e in self.browser.events if e.get("method") == "Network.requestWillBeSent"]
        self.assertTrue(urls and urls[0].startswith("file://"))
        self.assertEqual([u for u in urls[1:] if not u.startswith("data:image/png;base64,")], [])
        complaints = [e["params"] for e in self.browser.events if e.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown")]
        self.assertEqual(complaints, [])

    def search(self, words):
        self.browser.run("document.getElementById('find').value = ''; document.getElementById('find').focus()")
        self.browser.type(words)
        self.browser.run("new Promise(done => setTimeout(done, 0))")
        return self.browser.run("[...document.querySelectorAll('.said:not([hidden])')].length")

    def test_it_opens_and_shows_the_conversation(self):
        page = self.page("story")
        self.assertEqual(page.run("document.title"), "A Story")
        self.assertEqual(page.run("document.querySelectorAll('.said').length"), 6)
        self.assertEqual(page.run("document.querySelector('strong').textContent"), "walrus")
        self.assertEqual(page.run("document.querySelector('pre .k').textContent"), "def")
        self.assertEqual(page.run("document.querySelector('img').naturalWidth"), 1)
        self.assertEqual(page.run("document.querySelector('.body a').href"), "https://example.com/a?b=1&c=2")
        self.assertEqual(page.run("[...document.querySelectorAll('details')].some(d => d.open)"), False)
        self.assertEqual(page.run("document.querySelectorAll('details.branch .said').length"), 2)
        self.assertIn("OKAPI", page.run("document.querySelector('details.tool').textContent"))
        self.nothing_fetched()

    def test_the_search_box_filters_unfolds_and_goes_back(self):
        page = self.page("story")
        self.assertEqual(self.search("walrus"), 2)
        self.assertEqual(page.run("document.getElementById('found').textContent"), "2 of 6")
        self.assertEqual(page.run("CSS.highlights.get('hit').size"), 2)
        self.assertEqual(self.search("zEbRa"), 1, "in folded thought, whatever the case")
        self.assertTrue(page.run("document.querySelector('details.thinking').open"))
        self.assertEqual(self.search("giraffe"), 1)
        self.assertTrue(page.run("document.querySelector('details.branch').open"))
        self.assertEqual(self.search("no such words"), 0)
        self.assertFalse(page.run("document.getElementById('nothing').hidden"))
        page.press("Escape", 27)
        self.assertEqual(page.run("document.querySelectorAll('.said[hidden]').length"), 0)
        self.assertEqual(page.run("[...document.querySelectorAll('details')].some(d => d.open)"), False)
        page.press("/", 191, "/")
        self.assertEqual(page.run("document.activeElement.id"), "find")
        self.assertEqual(page.run("document.activeElement.value"), "")

    def test_theme_and_folds(self):
        page = self.page("story")
        ground = "getComputedStyle(document.body).backgroundColor"
        before = page.run(ground)
        page.run("document.getElementById('theme').click()")
        after = page.run(ground)
        self.assertNotEqual(before, after)
        page.run("document.getElementById('theme').click()")
        self.assertEqual(page.run(ground), before)
        for scheme, color in (("dark", min(before, after, key=brightness)), ("light", max(before, after, key=brightness))):
            page.run("delete document.documentElement.dataset.theme")
            page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            self.assertEqual(page.run(ground), color, scheme)
        page.run("document.getElementById('unfold').click()")
        self.assertTrue(page.run("[...document.querySelectorAll('details')].every(d => d.open)"))
        page.run("document.getElementById('unfold').click()")
        self.assertFalse(page.run("[...document.querySelectorAll('details')].some(d => d.open)"))

    def test_nothing_that_was_said_can_do_anything(self):
        page = self.page("nasty")
        page.run("for (const d of document.querySelectorAll('details')) d.open = true")
        page.run("for (const a of document.querySelectorAll('.body *')) a.dispatchEvent(new MouseEvent('mouseover'))")
        self.assertEqual(page.run("typeof window.__out"), "undefined")
        self.assertEqual(page.run("document.scripts.length"), 1)
        self.assertEqual(page.run("document.querySelectorAll('style').length"), 1)
        self.assertEqual(page.run("document.querySelectorAll('iframe, object, embed, svg, base, form, link').length"), 0)
        self.assertEqual(page.run("document.querySelectorAll('main').length"), 1)
        self.assertEqual(page.run("document.querySelectorAll('h1').length"), 1)
        self.assertEqual(page.run("document.querySelectorAll('main > .said').length"), 3 * len(HOSTILE))
        handlers = page.run("[...document.querySelectorAll('*')].flatMap(e => e.getAttributeNames())"
                            ".filter(n => n.startsWith('on') || n === 'style')")
        self.assertEqual(handlers, [])
        links = page.run("[...document.querySelectorAll('a[href]')].map(a => a.getAttribute('href'))")
        self.assertEqual([u for u in links if not u.startswith(("#", "https://example.com/"))], [])
        self.assertEqual(page.run("document.querySelectorAll('img').length"), 0)
        for i, text in enumerate(HOSTILE[:8]):
            shown = page.run(f"document.querySelectorAll('.said.user')[{i}].querySelector('.body').textContent")
            self.assertTrue(shown, text)
        self.nothing_fetched()

    def test_ten_thousand_messages(self):
        started = time.monotonic()
        page = self.page("long")
        loaded = time.monotonic() - started
        self.assertEqual(page.run("document.querySelectorAll('.said').length"), MANY)
        spent = page.run("(() => { const t = performance.now(); const f = document.getElementById('find');"
                         "f.value = 'thing 3'; f.dispatchEvent(new Event('input'));"
                         "return new Promise(done => { const look = () => document.getElementById('found').textContent ?"
                         "requestAnimationFrame(() => done(performance.now() - t)) : setTimeout(look, 5); look(); }); })()")
        found = page.run("document.getElementById('found').textContent")
        self.assertEqual(found, f"{len([i for i in range(MANY) if i % 7 == 3])} of {MANY}")
        print(f"\n{MANY} messages: loaded in {loaded:.2f} s, searched in {spent:.0f} ms", file=sys.stderr)
        self.assertLess(loaded, 30)
        self.assertLess(spent, 15_000)

    def test_the_list_of_pages(self):
        page = self.page("index")
        self.assertEqual(page.run("document.querySelectorAll('.session a').length"), 3)
        names = page.run("[...document.querySelectorAll('.session a')].map(a => a.getAttribute('href'))")
        self.assertEqual(sorted(names), sorted(n for n in os.listdir(self.out) if n != "index.html"))
        self.assertEqual(self.search("a story"), 1)
        self.nothing_fetched()

    def test_screenshots(self):
        folder = os.environ.get("REEF_SHOTS") or self.home.base
        page = self.page("story")
        for scheme in ("light", "dark"):
            page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            page.run("for (const d of document.querySelectorAll('details')) d.open = true")
            path = os.path.join(folder, f"story-{scheme}.png")
            page.screenshot(path)
            with open(path, "rb") as source:
                self.assertEqual(source.read(8), b"\x89PNG\r\n\x1a\n")
            # A file of this size means that something is drawn, not a page of one colour.
            self.assertGreater(os.path.getsize(path), 20_000)


def brightness(color):
    return sum(int(n) for n in color[color.index("(") + 1:-1].split(",")[:3])


if __name__ == "__main__":
    if not cdp.program():
        print("THE PAGE WAS NOT CHECKED: there is no chromium (scripts/install-packages browser)")
        sys.exit(0)
    unittest.main(verbosity=2)
