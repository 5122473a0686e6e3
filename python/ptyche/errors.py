"""What can go wrong, as exceptions: the sentence is the program's own."""
from __future__ import annotations

from typing import Any


class Error(Exception):
    """What all others are.

    image   the image so far, where there is one (a Reconstruction)
    folder  where the run has left its files, while they are kept
    """

    image: Any = None
    folder: str | None = None


class InvalidInput(Error, ValueError):
    """A file, a value or a combination of options that the program refuses."""


class Diverged(Error, ArithmeticError):
    """A solver left the scan behind; `image` is its best state."""


class Interrupted(Error):
    """Stopped by Ctrl-C or cancel(); `image` is the image so far."""


class Crashed(Error, RuntimeError):
    """The program ended as it should not: by a signal, or by an error of its own."""


class PtycheWarning(UserWarning):
    """Something the user should know although there is a result."""
