#!/usr/bin/env python3
"""Checks that files and rooms of ptyche/ have a size that a reader can take in.

usage: tools/check_sizes.py [ROOT]

A file is one concept that a reader wants to see whole: the median file has 100 lines or more, at most
15 % have fewer than 40, none has more than 600; no room holds more than a fifth of all lines. Prints the
figures, and exits with 1 where one is out of bounds.
"""
import collections
import pathlib
import statistics
import sys

SOURCES = {".h", ".cpp", ".cu", ".cuh"}
LEAST_MEDIAN, MOST_SMALL, MOST_LINES, MOST_IN_A_ROOM = 100, 0.15, 600, 0.20


def main():
    default = pathlib.Path(__file__).resolve().parent.parent
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    lines = {path.relative_to(root / "ptyche"): len(path.read_text().splitlines())
             for path in sorted((root / "ptyche").rglob("*")) if path.suffix in SOURCES}
    rooms = collections.Counter()
    for path, count in lines.items():
        rooms[path.parts[0]] += count
    total = sum(lines.values())
    room, most = rooms.most_common(1)[0]
    median = statistics.median(lines.values())
    small = sum(count < 40 for count in lines.values()) / len(lines)
    print(f"{len(lines)} files, {total} lines; median file {median:g} lines; "
          f"{100 * small:.0f} % under 40; largest room {room} with {100 * most / total:.0f} %")
    faults = [f"{path}: {count} lines" for path, count in lines.items() if count > MOST_LINES]
    if median < LEAST_MEDIAN:
        faults.append(f"median file: expected {LEAST_MEDIAN} lines or more, found {median:g}")
    if small > MOST_SMALL:
        faults.append(f"files under 40 lines: expected {MOST_SMALL:.0%} at most, found {small:.0%}")
    if most / total > MOST_IN_A_ROOM:
        faults.append(f"{room}: expected {MOST_IN_A_ROOM:.0%} of all lines at most, found "
                      f"{most / total:.0%}")
    for fault in faults:
        print(fault)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
