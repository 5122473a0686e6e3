#!/usr/bin/env python3
"""Checks that a name stands for one type in all of ptyche/.

usage: tools/check_names.py [ROOT]

Two types of one name in one namespace, in files that never meet, are compiled and linked without a word,
and the program may then use the functions of the one for the other. Types in an unnamed namespace belong
to their file. Prints each name that stands for two types, and exits with 1 where there is one.
"""
import collections
import pathlib
import re
import sys

OPENS = re.compile(r"(?:inline )?namespace(?: ([\w:]+))? \{")
CLOSES = re.compile(r"\}  // namespace")
TYPE = re.compile(r"(?:template <[^>]*> )?(?:struct|class|enum class|enum|union)\s+(?:alignas\([^)]*\)\s+)?"
                  r"(\w+)\b(?!::)(?:\s+final)?\s*(?::[^;{]*)?\{")


def types_in(text):
    """Yields (namespace and name, line) of each type that other files could mean."""
    inside = []
    for number, line in enumerate(text.splitlines(), 1):
        if opened := OPENS.match(line):
            inside.append(opened.group(1))
        elif CLOSES.match(line) and inside:
            inside.pop()
        elif (found := TYPE.match(line)) and None not in inside:
            yield "::".join([*inside, found.group(1)]), number


def main():
    default = pathlib.Path(__file__).resolve().parent.parent
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    places = collections.defaultdict(list)
    for path in sorted((root / "ptyche").rglob("*")):
        if path.suffix in {".h", ".cpp", ".cu", ".cuh"}:
            for name, line in types_in(path.read_text()):
                places[name].append(f"{path.relative_to(root)}:{line}")
    faults = {name: at for name, at in places.items() if len(at) > 1}
    for name, at in faults.items():
        print(f"{name} stands for {len(at)} types: {', '.join(at)}")
    print(f"{len(places)} types")
    sys.exit(1 if faults or not places else 0)


if __name__ == "__main__":
    main()
