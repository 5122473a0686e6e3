"""The command `ptyche` of the wheel. A module of its own: `import ptyche` would import NumPy first."""
import os
import sys


def main() -> None:
    """Becomes the program: the interpreter is gone before that begins."""
    here = os.path.dirname(os.path.abspath(__file__))
    program = os.path.join(here, "ptyche", "program", "bin", "ptyche")
    os.execv(program, ["ptyche", *sys.argv[1:]])
