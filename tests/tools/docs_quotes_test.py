#!/usr/bin/env python3
"""What the documentation quotes from the sources must stand there."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FILE = r"`((?:ptyche|tests|tools)/[\w./]+\.\w+)`"


def found(pattern):
    """(page, groups...) of every match of `pattern` in the pages, line breaks read as spaces."""
    for page in PAGES:
        for match in re.finditer(pattern, re.sub(r"\s+", " ", page.read_text())):
            yield (page.name, *match.groups())


class DocumentationQuotes(unittest.TestCase):
    def test_names_only_files_that_are_there(self):
        for page, file in found(FILE):
            self.assertTrue((ROOT / file).is_file(), f"{page} names {file}")

    def test_quotes_only_lines_that_stand_in_the_file_named(self):
        quotes = list(found(FILE + r" that reads `([^`]+)`"))
        self.assertGreaterEqual(len(quotes), 2)
        for page, file, line in quotes:
            self.assertIn(line, (ROOT / file).read_text(), f"{page} quotes {file}")

    def test_names_only_functions_that_stand_in_the_file_named(self):
        for page, one, other, file in found(r"`(\w+)` and `(\w+)` in " + FILE):
            text = (ROOT / file).read_text()
            for function in (one, other):
                self.assertIn(f" {function}(", text, f"{page} names {function} in {file}")

    def test_shows_only_code_that_stands_in_the_test_named_before_it(self):
        page = (ROOT / "docs" / "extend.md").read_text()
        blocks = re.findall(r"```cpp\n(.*?)```", page, re.S)
        quotes = re.findall(r"From\s`([^`]+)`:\n\n```cpp\n(.*?)```", page, re.S)
        self.assertEqual(len(quotes), len(blocks), "a block without the file that it is from")
        for file, code in quotes:
            self.assertIn(code, (ROOT / file).read_text(), f"extend.md shows code that {file} lacks")


if __name__ == "__main__":
    unittest.main()
