"""The layer check must find what it is there for."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import check_layers  # noqa: E402


class CheckLayers(unittest.TestCase):
    def check(self, path, text):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            file = root / path
            file.parent.mkdir(parents=True)
            file.write_text(text)
            return check_layers.problems(root)

    def test_an_upward_include_is_found(self):
        found = self.check("src/session/x.cpp", '#include "runtime/runtime.h"\n')
        self.assertEqual(len(found), 1)
        self.assertIn("src/session/x.cpp:1", found[0])

    def test_a_downward_include_is_fine(self):
        self.assertEqual(self.check("src/session/x.cpp", '#include "base/result.h"\n'), [])

    def test_a_restricted_include_is_found(self):
        self.assertEqual(len(self.check("src/base/x.cpp", "#include <regex>\n")), 1)

    def test_an_unknown_room_is_found(self):
        self.assertEqual(len(self.check("src/utils/x.cpp", "")), 1)

    def test_a_header_without_pragma_once_is_found(self):
        self.assertEqual(len(self.check("src/base/x.h", "int f();\n")), 1)


if __name__ == "__main__":
    unittest.main()
