"""The command `ptyche` of the wheel. A module of its own: `import ptyche` would import NumPy first."""
import os
import sys


def main() -> None:
    """Becomes the program: the interpreter is gone before that begins."""
    here = os.path.dirname(os.path.abspath(__file__))
    program = os.path.join(here, "ptyche", "program", "bin", "ptyche")
    try:
        os.execv(program, ["ptyche", *sys.argv[1:]])
    except PermissionError:
        sys.exit(f"ptyche: error: {program} may not be started; is it on a file system that is mounted with noexec?")
