#!/usr/bin/env python3
"""Plants violations in a small tree and expects tools/check_layers.py to find exactly those."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def check(files):
    """Exit code and output of the check on a tree with stages a b c and the given files."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "CMakeLists.txt").write_text("set(PTYCHE_STAGES a b\n    c)  # order\n")
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        command = [sys.executable, str(ROOT / "tools" / "check_layers.py"), str(root)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout


class CheckLayers(unittest.TestCase):
    def test_accepts_includes_to_the_left_and_within_the_stage(self):
        text = '#include "ptyche/a/x.h"\n#include "ptyche/b/y.h"\n#include <vector>\n'
        self.assertEqual(check({"ptyche/b/y.cpp": text}), (0, ""))

    def test_names_file_and_line_of_an_include_that_points_right(self):
        code, output = check({"ptyche/a/x.cpp": '\n#include "ptyche/c/z.h"\n'})
        self.assertEqual(code, 1)
        self.assertIn("ptyche/a/x.cpp:2:", output)

    def test_looks_into_folders_beneath_a_stage(self):
        code, output = check({"ptyche/a/cpu/k.cpp": ' # include "ptyche/b/y.h"\n'})
        self.assertEqual(code, 1)
        self.assertIn("ptyche/a/cpu/k.cpp:1:", output)

    def test_refuses_a_folder_that_is_no_stage(self):
        code, output = check({"ptyche/d/q.h": "\n"})
        self.assertEqual(code, 1)
        self.assertIn("'d'", output)

    def test_refuses_an_include_that_does_not_start_at_the_root(self):
        code, output = check({"ptyche/b/y.cpp": '#include "y.h"\n', "ptyche/b/y.h": "\n"})
        self.assertEqual(code, 1)
        self.assertIn("ptyche/b/y.cpp:1:", output)


if __name__ == "__main__":
    unittest.main()
