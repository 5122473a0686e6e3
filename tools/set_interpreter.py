#!/usr/bin/env python3
"""Writes into a program that its dynamic linker is the one on descriptor 1023 (ptyche/dynamic_linker.h).

usage: tools/set_interpreter.py PROGRAM

Only an installed program is changed: one in a build folder starts without the launcher, too. The new name
takes the place of the old one, which must be as long or longer.
"""
import struct
import sys

NAME = b"/proc/self/fd/1023"
INTERPRETER = 3  # PT_INTERP


def place_of_interpreter(file):
    """Where the name stands in an ELF file of 64 bits, and how many bytes it has."""
    head = file.read(64)
    if head[:6] != b"\x7fELF\x02\x01":
        sys.exit(f"{file.name}: expected a program of 64 bits (ELF, little-endian)")
    start, = struct.unpack_from("<Q", head, 32)
    size, count = struct.unpack_from("<HH", head, 54)
    for i in range(count):
        file.seek(start + i * size)
        kind, _, offset, _, _, length = struct.unpack("<IIQQQQ", file.read(40))
        if kind == INTERPRETER:
            return offset, length
    sys.exit(f"{file.name}: names no dynamic linker, expected a program with shared libraries")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], "r+b") as file:
        offset, length = place_of_interpreter(file)
        if length <= len(NAME):
            sys.exit(f"{file.name}: the name of its dynamic linker has {length - 1} bytes, expected "
                     f"{len(NAME)} or more")
        file.seek(offset)
        file.write(NAME.ljust(length, b"\0"))


if __name__ == "__main__":
    main()
