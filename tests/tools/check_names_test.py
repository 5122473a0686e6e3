#!/usr/bin/env python3
"""Plants types of one name in a small tree and expects tools/check_names.py to find exactly those."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def check(files):
    """Exit code and output of the check on a tree of the given files' texts."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder) / "ptyche" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        command = [sys.executable, str(ROOT / "tools" / "check_names.py"), folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout


def named(text):
    """The text in the program's namespace."""
    return f"namespace ptyche {{\n{text}\n}}  // namespace ptyche\n"


HIDDEN = "namespace {\nstruct Place {\n};\n}  // namespace\n"


class CheckNames(unittest.TestCase):
    def test_names_both_lines_of_two_types_of_one_name(self):
        code, output = check({"a/x.h": named("struct Place {\n};"), "b/y.h": named("enum class Place {\n};")})
        self.assertEqual(code, 1)
        self.assertIn("ptyche::Place stands for 2 types: ptyche/a/x.h:2, ptyche/b/y.h:2", output)

    def test_a_type_in_an_unnamed_or_another_namespace_is_another(self):
        code, _ = check({"a/x.h": named("class Place final : public Base {\n};"), "b/y.cpp": named(HIDDEN),
                         "b/z.h": "namespace ptyche::mpi {\nstruct Place {\n};\n}  // namespace ptyche::mpi\n"})
        self.assertEqual(code, 0)

    def test_a_declaration_or_what_is_inside_a_type_counts_for_nothing(self):
        code, _ = check({"a/x.h": named("struct Place {\n  struct Inner {\n  };\n};\nstruct Other {\n};"),
                         "a/x.cpp": named("struct Place::Inner {\n};"),
                         "b/y.h": named("struct Place;\nstruct Only {\n  struct Inner {\n  };\n};")})
        self.assertEqual(code, 0)


if __name__ == "__main__":
    unittest.main()
