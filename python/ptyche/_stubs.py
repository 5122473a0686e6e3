"""Prints __init__.pyi: the types of all verbs, out of what the program says of itself.

python3 -m ptyche._stubs > python/ptyche/__init__.pyi
"""
from __future__ import annotations

from ._program import Argument, Command, Option, description, python_name, shown_options
from ._verbs import SECOND, option_help

HEAD = '''\
# Printed by `python3 -m ptyche._stubs`; not edited by hand.
import os
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, SupportsFloat, SupportsIndex

from ._job import Event as Event
from ._job import Job as Job
from ._program import description as description
from ._program import program as program
from ._values import Check as Check
from ._values import Comparison as Comparison
from ._values import Model as Model
from ._values import Output as Output
from ._values import Reconstruction as Reconstruction
from ._values import Scan as Scan
from ._verbs import load as load
from ._verbs import names as names
from ._verbs import read as read
from ._verbs import start as start
from .errors import Crashed as Crashed
from .errors import Diverged as Diverged
from .errors import Error as Error
from .errors import Interrupted as Interrupted
from .errors import InvalidInput as InvalidInput
from .errors import PtycheWarning as PtycheWarning

__version__: str

class _Array(Protocol):
    def __array__(self) -> Any: ...

class _Tensor(Protocol):
    def __dlpack__(self) -> Any: ...

_Path = str | os.PathLike[str]
_File = _Path | Scan | Reconstruction | Model | _Array | _Tensor
_Files = _File | Sequence[_File]
_OnProgress = Callable[[Event], object] | None
'''

RETURNS = {"reconstruct": "Reconstruction", "solve": "Reconstruction", "infer": "Reconstruction",
           "train": "Model", "simulate": "Scan", "compare": "Comparison",
           "evaluate": "dict[str, Any]"}
TYPES = {"flag": "bool", "integer": "SupportsIndex", "number": "SupportsFloat | str",
         "number or auto": "SupportsFloat | str", "path": "_File", "text": "str | _File",
         "numbers": "Sequence[float] | str", "integers": "Sequence[int] | str"}


def option_type(option: Option) -> str:
    if option["choices"]:
        words = f"Literal[{', '.join(map(repr, option['choices']))}]"
        may_be_bool = option["implied"] or "none" in option["choices"] or "true" in option["choices"]
        return f"{words} | bool | None" if may_be_bool else f"{words} | None"
    plain = TYPES[option["type"]]
    return f"{plain} | bool | None" if option["implied"] else f"{plain} | None"


def argument_line(argument: Argument) -> str:
    name, kind = argument["name"].lower(), "_Files" if argument["type"] == "path" else "str"
    if argument["repeatable"]:
        return f"        *{name}s: {kind},"
    return f"        {name}: {kind}{'' if argument['required'] else ' | None = ...'},"


def parameters(of: Command) -> list[str]:
    """Of the call and of `start`. What is required for a terminal (where results go) is not here."""
    lines = [argument_line(each) for each in of["arguments"]]
    repeatable = any(each["repeatable"] for each in of["arguments"])
    positional = not repeatable and lines != []
    lines += ["        /,"] if positional and of["name"] not in SECOND else []
    second = SECOND.get(of["name"])
    options = shown_options(of)
    if second is not None:
        option = next(each for each in options if python_name(each) == second)
        lines.append(f"        {second}: {option_type(option)} = ...,")
    if not repeatable:
        lines.append("        *,")
    for option in options:
        if python_name(option) != second:
            lines.append(f"        {python_name(option)}: {option_type(option)} = ...,")
    return lines


def verb_class(of: Command) -> str:
    name = "_" + "".join(word.capitalize() for word in of["name"].split("-"))
    gives, lines = RETURNS.get(of["name"], "Output"), parameters(of)
    call = "\n".join([*lines, "        on_progress: _OnProgress = ...,"])
    start = "\n".join(lines)
    doc = "\n".join(f"    {python_name(option)}: {option_help(option)}".replace("\\", "\\\\")
                    for option in shown_options(of))
    return (f'class {name}(Protocol):\n    """{of["summary"][:1].upper()}{of["summary"][1:]}.\n\n'
            f'{doc}\n    """\n'
            f"    def __call__(\n        self,\n{call}\n    ) -> {gives}: ...\n"
            f"    def start(\n        self,\n{start}\n    ) -> Job[{gives}]: ...\n\n"
            f"{of['name'].replace('-', '_')}: {name}\n")


def stubs() -> str:
    return "\n".join([HEAD, *(verb_class(each) for each in description()["commands"])])


if __name__ == "__main__":
    print(stubs(), end="")
