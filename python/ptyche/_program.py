"""The program: where it is, what it says of its own commands, and its command line from keywords."""
from __future__ import annotations

import difflib
import functools
import json
import keyword
import os
import pathlib
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict

from . import errors
from ._memory import MemoryFile, is_array

HERE = pathlib.Path(__file__).resolve().parent
PLACES = (HERE / "program" / "bin" / "ptyche",  # of a wheel
          HERE.parents[1] / "build" / "release" / "ptyche")  # of a checkout


class Option(TypedDict):
    name: str
    keyword: str
    short: str | None
    type: str
    default: Any
    unit: str | None
    low: float | None
    high: float | None
    choices: list[str] | None
    implied: str | None
    help: str
    required: bool
    basic: bool
    affects_result: bool


class Argument(TypedDict):
    name: str
    help: str
    type: str
    required: bool
    repeatable: bool


class Command(TypedDict):
    name: str
    summary: str
    description: str
    usage: str
    references: list[str]
    arguments: list[Argument]
    options: list[Option]


# What the package itself tells the program.
OWN = frozenset({"events", "events_fd", "parent", "arrays"})


def program() -> str:
    """The command's path: PTYCHE_PROGRAM, else the package's own, a checkout's, or that on PATH.

    Raises errors.Error where there is none, or where the system does not let it be started.
    """
    path = _found_program()
    if os.path.isfile(path) and not os.access(path, os.X_OK):
        raise errors.Error(f"{path} may not be started; is it on a file system that is mounted with noexec?")
    return path


def _found_program() -> str:
    named = os.environ.get("PTYCHE_PROGRAM")
    if named:
        return named
    for place in PLACES:
        if place.is_file():
            return str(place)
    found = shutil.which("ptyche")
    if found is None:
        raise errors.Error("the program 'ptyche' is neither in the package nor on PATH; "
                           "PTYCHE_PROGRAM can name it")
    return found


@functools.lru_cache(maxsize=4)
def _described_by(path: str) -> dict[str, Any]:
    text = subprocess.run([path, "__describe"], stdin=subprocess.DEVNULL, capture_output=True,
                          check=True).stdout
    description: dict[str, Any] = json.loads(text)
    if description["layout"] != 1:
        raise errors.Error(f"{path} is of another version than this package: it describes itself "
                           f"in layout {description['layout']}, expected 1")
    return description


def description() -> dict[str, Any]:
    """What `ptyche __describe` prints: every command with its arguments and options."""
    return _described_by(program())


def command(name: str) -> Command:
    commands: list[Command] = description()["commands"]
    for each in commands:
        if each["name"] == name or each["name"] == name.replace("_", "-"):
            return each
    known = [each["name"] for each in commands]
    raise errors.InvalidInput(f"unknown command '{name}'{_did_you_mean(name, known)}")


def has_option(of: Command, name: str) -> bool:
    return any(option["keyword"] == name for option in of["options"])


def python_name(option: Option) -> str:
    """A word of Python's own gets a '_' at its end: as_."""
    return option["keyword"] + ("_" if keyword.iskeyword(option["keyword"]) else "")


def shown_options(of: Command) -> list[Option]:
    """Those that a user chooses."""
    return [option for option in of["options"] if option["keyword"] not in OWN]


def keyword_of(of: Command, name: str) -> Option:
    """Raises TypeError, as Python does, for a keyword that the command has not."""
    option = next((each for each in shown_options(of) if python_name(each) == name), None)
    if option is None:
        known = [python_name(each) for each in shown_options(of)]
        raise TypeError(f"{of['name'].replace('-', '_')}() got an unexpected keyword argument "
                        f"'{name}'{_did_you_mean(name, known)}")
    return option


def _did_you_mean(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, list(known), 1)
    return f"; did you mean '{near[0]}'?" if near else ""


class Words:
    """A command line, and what must be open while the program runs."""

    def __init__(self, of: Command) -> None:
        self.of = of
        self.arguments: list[str] = []
        self.options: list[str] = []
        self.given: set[str] = set()
        self.kept: list[Any] = []
        self.descriptors: list[int] = []

    def list(self) -> list[str]:
        return [self.of["name"], *self.options, *self.arguments]

    def keep_open(self, file: MemoryFile) -> str:
        self.kept.append(file)
        self.descriptors.append(file.descriptor)
        return file.path

    def path(self, value: Any) -> str:
        """What stands for a file: a path, one of the package's own objects, or an array."""
        if hasattr(value, "_file_for"):
            self.kept.append(value)
            return str(value._file_for(self))
        if isinstance(value, (str, os.PathLike)):
            text = os.fspath(value)
            return f"./{text}" if text.startswith("-") else text
        if is_array(value):
            return self.keep_open(MemoryFile.of_array(value))
        raise TypeError(f"expected a path or an array, found {type(value).__name__}")

    def add_argument(self, value: Any) -> None:
        self.arguments.append(self.path(value))

    def add(self, name: str, value: Any) -> None:
        """Raises TypeError for an unknown keyword; a value is judged by the program."""
        option = keyword_of(self.of, name)
        if value is None:
            return
        self.given.add(name)
        text = self._text(option, value)
        self.options.append(f"--{option['name']}" + ("" if text is None else f"={text}"))

    def add_own(self, name: str, value: str) -> None:
        """What the user does not choose."""
        self.options.append(f"--{name.replace('_', '-')}={value}")

    def _text(self, option: Option, value: Any) -> str | None:
        if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
            return _text_of_bool(option, bool(value))
        if option["type"] in ("numbers", "integers") and not isinstance(value, str):
            return ",".join(_text_of_number(each) for each in value)
        if isinstance(value, str) and option["type"] != "path":
            return value
        if option["type"] in ("path", "text") and not isinstance(value, (int, float)):
            return self.path(value)
        return _text_of_number(value)


def _text_of_bool(option: Option, value: bool) -> str | None:
    """True is the bare option where that means something, False its "none"."""
    if option["type"] != "flag" and value and option["implied"]:
        return None
    if option["type"] != "flag" and not value and "none" in (option["choices"] or [option["default"]]):
        return "none"
    return "true" if value else "false"


def _text_of_number(value: Any) -> str:
    if isinstance(value, str):
        return value
    item = value.item() if hasattr(value, "item") else value
    return repr(float(item)) if isinstance(item, float) else str(item)


def words_for(of: Command, arguments: Sequence[Any], options: Mapping[str, Any]) -> Words:
    """The command line of a call. Raises TypeError as a Python function would."""
    words = Words(of)
    for value in arguments:
        words.add_argument(value)
    for name, value in options.items():
        words.add(name, value)
    return words
