#!/usr/bin/env python3
"""Checks that no #include points right in the order of stages (DESIGN: core < data < ... < commands).

usage: tools/check_layers.py [ROOT]

The order is PTYCHE_STAGES in ROOT/CMakeLists.txt. Prints "file:line: what" for every violation and
exits with 1 if there is one.
"""
import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SOURCES = {".h", ".cpp", ".cu", ".cuh"}


def stages_of(root):
    """The stages from left to right."""
    text = re.sub(r"#.*", "", (root / "CMakeLists.txt").read_text())
    match = re.search(r"set\(PTYCHE_STAGES\s+([^)]*)\)", text)
    if not match:
        sys.exit(f"{root}/CMakeLists.txt: no set(PTYCHE_STAGES ...)")
    return match.group(1).split()


def fault_of(stages, stage, target, beside):
    """What is wrong with including `target` from `stage`; None if nothing is.

    beside  the folder that a quoted include is looked up in first, None for <...>
    """
    parts = pathlib.PurePosixPath(target).parts
    if parts[0] != "ptyche":
        if beside and (beside / target).is_file():
            return f'"{target}" must be included from the root, as "ptyche/..."'
        return None
    if len(parts) < 3 or parts[1] not in stages:
        return f'"{target}" is in no stage'
    if stages.index(parts[1]) > stages.index(stage):
        return f'{stage} must not include {parts[1]} ("{target}"), which stands to its right'
    return None


def faults_in(root):
    """All violations under ROOT/ptyche as lines of text."""
    stages = stages_of(root)
    faults = []
    for path in sorted((root / "ptyche").glob("*/**/*")):
        if path.suffix not in SOURCES:
            continue
        stage = path.relative_to(root / "ptyche").parts[0]
        where = path.relative_to(root)
        if stage not in stages:
            faults.append(f"{where}:1: folder '{stage}' is not one of PTYCHE_STAGES")
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            beside = path.parent if match.group(1) == '"' else None
            fault = fault_of(stages, stage, match.group(2), beside)
            if fault:
                faults.append(f"{where}:{number}: {fault}")
    return faults


def main():
    default = pathlib.Path(__file__).resolve().parent.parent
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    faults = faults_in(root)
    for fault in faults:
        print(fault)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
