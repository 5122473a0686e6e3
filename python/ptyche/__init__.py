"""Ptyche: images from ptychography scans. Every function runs the program `ptyche` as a child process.

    scan = ptyche.read("scan.cxi")            # or ptyche.Scan(counts, positions, probe=...)
    scan.check()
    image = ptyche.reconstruct(scan, on_progress=print)
    image = ptyche.solve(scan, "ml:60", start=image, refine_positions=True)
    image.object, image.probe, image.scores, image.save("x.h5")

docs/python.md has the interface on one page; help(ptyche.solve) every option.
"""
from ._job import Event, Job
from ._program import description, program
from ._values import Check, Comparison, Model, Output, Reconstruction, Scan
from ._verbs import (Verb, compare, evaluate, export, infer, info, load, names, read, reconstruct,
                     simulate, solve, start, train, verb)
from .errors import Crashed, Diverged, Error, Interrupted, InvalidInput, PtycheWarning

__all__ = ["Check", "Comparison", "Crashed", "Diverged", "Error", "Event", "Interrupted", "InvalidInput",
           "Job", "Model", "Output", "PtycheWarning", "Reconstruction", "Scan", "compare",
           "description", "evaluate", "export", "infer", "info", "load", "names", "program", "read",
           "reconstruct", "simulate", "solve", "start", "train"]


def __getattr__(name: str) -> Verb | str:
    """The verbs that have no line of their own, and the version, when they are asked for."""
    if name == "__version__":
        return str(description()["version"])
    if name.startswith("_"):
        raise AttributeError(f"module 'ptyche' has no attribute '{name}'")
    return verb(name)


def __dir__() -> list[str]:
    return sorted({*__all__, *(each.replace("-", "_") for each in names())})
