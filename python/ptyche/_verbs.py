"""The program's verbs as functions: arguments and options are what the program says of itself."""
from __future__ import annotations

import inspect
import json
import os
import pathlib
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import errors
from ._folder import Folder
from ._job import Event, Job
from ._live import shown_live
from ._program import (Command, Option, command, description, has_option, python_name, shown_options,
                       words_for)
from ._values import Check, Comparison, Model, Output, Reconstruction, Scan, several

# What a verb gives, by its name; all others: Output. And the option that a second positional argument is.
SECOND = {"solve": "solver", "infer": "model"}
LIVE = ("reconstruct", "solve", "train", "infer")


class Verb:
    """Callable; `verb.start(...)` is the same in the background. The signature and the help are the
    program's own."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def command(self) -> Command:
        return command(self.name)

    def start(self, *arguments: Any, **options: Any) -> Job[Any]:
        """Begins the work and returns at once."""
        return _start(self.command, arguments, options)

    def __call__(self, *arguments: Any, on_progress: Callable[[Event], object] | None = None,
                 **options: Any) -> Any:
        job = self.start(*arguments, **options)
        if on_progress is None and self.name in LIVE:
            with shown_live(job) as shown:
                return job.result(on_progress=shown)
        return job.result(on_progress=on_progress)

    @property
    def __name__(self) -> str:
        return self.name.replace("-", "_")

    @property
    def __signature__(self) -> inspect.Signature:
        kind = inspect.Parameter
        arguments = [kind(each["name"].lower(), kind.POSITIONAL_ONLY,
                          default=kind.empty if each["required"] else None)
                     for each in self.command["arguments"] if not each["repeatable"]]
        lists = [kind(each["name"].lower() + "s", kind.VAR_POSITIONAL)
                 for each in self.command["arguments"] if each["repeatable"]]
        options = [kind(python_name(each), kind.KEYWORD_ONLY, default=each["default"])
                   for each in shown_options(self.command)]
        return inspect.Signature([*arguments, *lists,
                                  kind("on_progress", kind.KEYWORD_ONLY, default=None), *options])

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        return help_of(self.command)

    def __repr__(self) -> str:
        return f"<ptyche.{self.__name__}: {self.command['summary']}>"


def help_of(of: Command) -> str:
    """The help page in Python's words."""
    lines = [f"{of['summary'][:1].upper()}{of['summary'][1:]}.", ""]
    lines += textwrap.wrap(of["description"], 95) + ["", "Arguments", ""]
    lines += [f"    {each['name'].lower():<22} {each['help']}" for each in of["arguments"]]
    lines += ["", "Options", ""]
    return "\n".join(lines + [f"    {python_name(each):<22} {option_help(each)}"
                              for each in shown_options(of)])


def option_help(option: Option) -> str:
    facts = []
    if option["choices"]:
        facts.append(" | ".join(map(repr, option["choices"])))
    if option["low"] is not None or option["high"] is not None:
        facts.append(f"{_bound(option['low'])}..{_bound(option['high'])}")
    if option["unit"]:
        facts.append(option["unit"])
    facts.append("required" if option["required"] else f"default {option['default']!r}")
    return f"{option['help']} ({', '.join(facts)})"


def _bound(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def _flat(of: Command, arguments: Sequence[Any]) -> list[Any]:
    """A list of scans where several may be given is several arguments."""
    if of["arguments"] and of["arguments"][-1]["repeatable"]:
        return [each for value in arguments
                for each in (value if isinstance(value, (list, tuple)) else [value])]
    return [value[0] if isinstance(value, (list, tuple)) and len(value) == 1 else value
            for value in arguments]


def _start(of: Command, arguments: Sequence[Any], options: Mapping[str, Any]) -> Job[Any]:
    chosen, values = dict(options), _flat(of, arguments)
    second = SECOND.get(of["name"])
    if second is not None and len(values) == 2:
        if second in chosen:
            raise TypeError(f"{of['name']}() got multiple values for argument '{second}'")
        chosen[second] = values.pop()
    _require_count(of, values)
    folder = _folder_for(of, chosen)
    words = words_for(of, values, chosen)
    if has_option(of, "arrays"):
        words.add_own("arrays", "true")
    return Job(words, folder, lambda job: _outcome(of, values, job))


def _require_count(of: Command, values: Sequence[Any]) -> None:
    name, most = of["name"].replace("-", "_"), len(of["arguments"])
    for value in values:
        if isinstance(value, (list, tuple)):
            raise errors.InvalidInput(f"{name}: expected one scan, found a list of {len(value)}")
    if len(values) > most and not (most and of["arguments"][-1]["repeatable"]):
        raise TypeError(f"{name}() takes {most} positional arguments but {len(values)} were given")


def _folder_for(of: Command, options: dict[str, Any]) -> Folder | None:
    """Where the results lie: as the user says, else in a temporary folder where the verb needs one."""
    if options.get("output_dir") is not None:
        return Folder(os.path.abspath(os.fspath(options["output_dir"])))
    wanted = has_option(of, "output_dir") and (of["name"] != "info" or bool(options.get("check")))
    if wanted:
        folder = Folder()
        options["output_dir"] = folder.path
        return folder
    if of["name"] == "simulate" and options.get("output") is None:
        folder = Folder()
        folder.path.mkdir()
        options["output"] = folder.path / "scan.cxi"
        return folder
    return None


def _outcome(of: Command, values: Sequence[Any], job: Job[Any]) -> Any:
    name, folder = of["name"], job.folder
    if name == "evaluate":
        return json.loads(job.output)
    if name == "simulate":
        return Scan._of_file(_option_in(job, "output"), {}, folder)
    if folder is not None and name == "reconstruct" and (folder.path / "scans.csv").is_file():
        return several(folder)
    if folder is not None and name in ("reconstruct", "solve", "infer"):
        return Reconstruction(folder, "reconstruction.h5")
    if folder is not None and name == "train":
        return Model(folder, "model.ptyche")
    if folder is not None and name == "compare":
        return Comparison(folder, "compare.json")
    return Output(job.output, folder)


def _option_in(job: Job[Any], name: str) -> str:
    start = f"--{name}="
    return next(word for word in job.command if word.startswith(start)).removeprefix(start)


def run_check(scan: Any, options: Mapping[str, Any]) -> Check:
    """`info --check`; a scan that is not fit to be solved is a finding and no error."""
    job = _start(command("info"), [scan], {**options, "check": True})
    fit = True
    try:
        job.result()
    except errors.InvalidInput:
        assert job.folder is not None
        if not (job.folder.path / "checks.json").is_file():
            raise
        fit = False
    assert job.folder is not None
    return Check(job.folder, "checks.json", job.output, fit)


def names() -> list[str]:
    """Of all verbs."""
    return [each["name"] for each in description()["commands"]]


reconstruct, solve, train, infer = Verb("reconstruct"), Verb("solve"), Verb("train"), Verb("infer")
simulate, evaluate, compare, info = Verb("simulate"), Verb("evaluate"), Verb("compare"), Verb("info")
export = Verb("export")


def verb(name: str) -> Verb:
    """Any verb by its name; AttributeError where there is none."""
    if name.replace("_", "-") not in names():
        raise AttributeError(f"module 'ptyche' has no attribute '{name}'")
    return Verb(name.replace("_", "-"))


def start(name: str, *arguments: Any, **options: Any) -> Job[Any]:
    """Begins a verb in the background: start("solve", scan, "ml:60")."""
    return _start(command(name), arguments, options)


def read(path: str | os.PathLike[str], **options: Any) -> Scan:
    """A scan in a file (or a folder) of any format that the program reads; options as of `info`."""
    if not pathlib.Path(path).exists():
        raise errors.InvalidInput(f"{os.fspath(path)}: expected a file, found none")
    return Scan._of_file(path, options)


def load(path: str | os.PathLike[str]) -> Reconstruction | Model:
    """A result: reconstruction.h5 or another program's, or a model.ptyche."""
    file = pathlib.Path(path).resolve()
    if file.suffix == ".ptyche":
        return Model(Folder(file.parent), file.name)
    folder = Folder()
    folder.path.mkdir()
    os.symlink(file, folder.path / file.name)
    if (file.parent / "scores.json").is_file() and file.name == "reconstruction.h5":
        os.symlink(file.parent / "scores.json", folder.path / "scores.json")
    image = Reconstruction(folder, file.name)
    image._unpack()
    return image


