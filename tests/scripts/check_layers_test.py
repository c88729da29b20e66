"""The layer check must find what it is there for."""
import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import check_layers  # noqa: E402
import include_graph  # noqa: E402


class CheckLayers(unittest.TestCase):
    def check(self, path, text, whole=False):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            file = root / path
            file.parent.mkdir(parents=True)
            file.write_text(text)
            return check_layers.problems(root, whole)

    def test_an_upward_include_is_found(self):
        found = self.check("src/session/x.cpp", '#include "runtime/runtime.h"\n')
        self.assertEqual(len(found), 1)
        self.assertIn("src/session/x.cpp:1", found[0])

    def test_a_downward_include_is_fine(self):
        self.assertEqual(self.check("src/session/x.cpp", '#include "base/result.h"\n'), [])

    def test_a_restricted_include_is_found(self):
        self.assertEqual(len(self.check("src/base/x.cpp", "#include <regex>\n")), 1)
        beast = "#include <boost/beast/http/parser.hpp>\n"
        self.assertEqual(len(self.check("src/component/x.cpp", beast)), 1)
        self.assertEqual(self.check("src/http_server/x.cpp", beast), [])

    def test_an_unknown_room_is_found(self):
        self.assertEqual(len(self.check("src/utils/x.cpp", "")), 1)

    def test_a_room_that_opens_files_is_found(self):
        for line in (
            '#include "base/files.h"',
            "#include <fstream>",
            "#include <filesystem>",
            "  PosixFiles files;",
            "  std::ifstream in(path);",
            "  auto text = read_all(disk, path);",
            "  const int fd = ::open(path, 0);",
            "  auto* file = std::fopen(path, mode);",
            "int f(Files& files);",
            "  const auto text = use(needs_.files, path);",
        ):
            found = self.check("src/bus/x.cpp", line + "\n")
            self.assertEqual(len(found), 1, line)
            self.assertIn("src/bus/x.cpp:1: opens files", found[0])

    def test_words_that_open_nothing_are_fine(self):
        for line in (
            "  // replace_atomically( was here",
            "  co_await listener.open(path);",
            "  Listener::open(path);",
            "  context::Files& known = other;",
            "  void list(const ListFiles& request);",
        ):
            self.assertEqual(self.check("src/bus/x.cpp", line + "\n"), [], line)

    def test_a_named_exception_may_open_files_and_must(self):
        place = "src/daemon/config.cpp"
        self.assertEqual(self.check(place, '#include "base/files.h"\n'), [])
        unneeded = "nothing in src/daemon/config. opens files"
        self.assertFalse([one for one in self.check(place, '#include "base/files.h"\n', whole=True) if unneeded in one])
        self.assertTrue([one for one in self.check(place, "int f();\n", whole=True) if unneeded in one])

    def test_a_program_is_fenced_too(self):
        self.assertEqual(self.check("apps/reefd/x.cpp", '#include "daemon/daemon.h"\n#include "x.h"\n'), [])
        found = self.check("apps/reefd/x.cpp", '#include "session/ids.h"\n')
        self.assertEqual(len(found), 1)
        self.assertIn("apps/reefd/ must not include session/ids.h", found[0])
        self.assertEqual(len(self.check("apps/stray/x.cpp", "")), 1)

    def test_an_edge_nobody_uses_is_found(self):
        unused = "store/ includes nothing of session/"
        self.assertTrue([one for one in self.check("src/store/x.cpp", "", whole=True) if unused in one])
        used = self.check("src/store/x.cpp", '#include "session/ids.h"\n', whole=True)
        self.assertFalse([one for one in used if unused in one])

    def test_the_page_with_another_graph_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "src/base").mkdir(parents=True)
            (root / "src/session").mkdir()
            (root / "docs").mkdir()
            (root / "src/base/a.h").write_text("#pragma once\n")
            (root / "src/session/b.cpp").write_text('#include "base/a.h"\n')
            page = root / "docs/architecture.md"
            page.write_text(f"# Map\n{include_graph.BEGIN}{include_graph.END}rest\n")
            with contextlib.redirect_stdout(io.StringIO()):
                self.assertEqual(include_graph.main(["--check", folder]), 1)
                self.assertEqual(include_graph.main(["--write", folder]), 0)
                self.assertEqual(include_graph.main(["--check", folder]), 0)
            self.assertIn("| base | 1 | 0 | `base/a.h` | 1 |", page.read_text())
            self.assertTrue(page.read_text().endswith("rest\n"))

    def test_every_exception_says_why(self):
        for place, why in check_layers.FILES.items():
            self.assertTrue(place.startswith("src/") and len(why) > 10, place)

    def test_a_header_without_pragma_once_is_found(self):
        self.assertEqual(len(self.check("src/base/x.h", "int f();\n")), 1)


if __name__ == "__main__":
    unittest.main()
