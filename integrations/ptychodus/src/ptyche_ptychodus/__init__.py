"""Ptyche on the folder that ptychodus works in: diffraction.h5 and product.h5 in, product.h5 out.

Needs the package `ptyche` and h5py, and not ptychodus itself. From Python:

    code = reconstruct("in", "out", "solve", ["--solver", "ml:60"])
"""
from __future__ import annotations

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence

import h5py
import numpy as np
import numpy.typing as npt

import ptyche

DIFFRACTION, PRODUCT = "diffraction.h5", "product.h5"
OWN_FOLDER = "ptyche"  # of the output: all that the program writes, its report among it
VERBS = ("reconstruct", "solve", "infer")
WRITTEN = (0, 4)  # exit codes: the image is good or doubtful; it is there and has failed its verdict
Indexes = npt.NDArray[np.int64]

# What Ptyche does not know of a sample and its product, and hands on.
HANDED_ON = ("name", "comments", "exposure_time_s", "mass_attenuation_m2_per_kg", "tomography_angle_deg",
             "tilt_angle_deg", "polarization", "focus_object_distance_m")


def reconstruct(input_folder: str | os.PathLike[str], output_folder: str | os.PathLike[str],
                verb: str = "reconstruct", words: Sequence[str] = ()) -> int:
    """Runs the program and writes OUTPUT/product.h5 where it has made an image. Gives the program's exit
    code; `words` are its options. Raises ValueError for a folder that is not ptychodus'."""
    source, target = pathlib.Path(input_folder), pathlib.Path(output_folder)
    indexes = pattern_indexes(source)
    target.mkdir(parents=True, exist_ok=True)
    run = target / OWN_FOLDER
    code = subprocess.run([ptyche.program(), verb, source, "--output-dir", run, *words],
                          stdin=subprocess.DEVNULL, check=False).returncode
    if code in WRITTEN:
        write_product(run / "reconstruction.h5", source / PRODUCT, indexes, target / PRODUCT)
    return code


def pattern_indexes(folder: pathlib.Path) -> Indexes:
    """The scan indexes of the patterns that Ptyche takes, in its order: that of diffraction.h5, without
    those that product.h5 has no position for."""
    patterns = _read(folder / DIFFRACTION, "indexes")
    positions = _read(folder / PRODUCT, "probe_position_indexes")
    with h5py.File(folder / PRODUCT) as product:
        if not product.attrs.get("far_field", True):
            raise ValueError(f"{folder / PRODUCT}: far_field: expected true, found false; for a scan in "
                             "the near field use `ptyche solve --near-field` by itself")
    return patterns[np.isin(patterns, positions)]


def _read(path: pathlib.Path, name: str) -> Indexes:
    if not path.is_file():
        raise ValueError(f"{path}: expected a file, found none")
    with h5py.File(path) as file:
        if name not in file:
            raise ValueError(f"{path}: expected a dataset '{name}', found none")
        values: Indexes = file[name][()]
        return values


def write_product(result: pathlib.Path, before: pathlib.Path, indexes: Indexes,
                  target: pathlib.Path) -> None:
    """Ptyche's reconstruction.h5 as what has become of the product `before`: under its name, with its
    scan indexes. Whole or not at all."""
    handle, beside = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    os.close(handle)
    try:
        shutil.copyfile(result, beside)
        with h5py.File(beside, "r+") as product, h5py.File(before) as old:
            _number(product, indexes, result)
            for name in HANDED_ON:
                if name in old.attrs:
                    product.attrs[name] = old.attrs[name]
            product.attrs["comments"] = commented(product, str(old.attrs.get("comments", "")))
        os.replace(beside, target)
    except BaseException:
        os.unlink(beside)
        raise


def _number(product: h5py.File, indexes: Indexes, result: pathlib.Path) -> None:
    """Ptyche numbers the patterns from 0; ptychodus joins by its own numbers."""
    found = len(product["probe_position_indexes"])
    if found != len(indexes):
        raise ValueError(f"{result}: probe_position_indexes: expected {len(indexes)}, one for each pattern "
                         f"with a position, found {found}")
    product["probe_position_indexes"][...] = indexes


def commented(product: h5py.File, before: str = "") -> str:
    """What was said of the product, and how good Ptyche finds its image."""
    scores = product.get("ptyche/scores")
    told = dict(scores.attrs) if scores is not None else {}
    words = [str(told["verdict"])] if "verdict" in told else []
    if "held_out.deviance_per_photon" in told:
        words.append(f"held-out deviance {told['held_out.deviance_per_photon']:.5g} per photon")
    line = f"Ptyche: {', '.join(words)}" if words else ""
    return "\n".join(filter(None, [before, line]))


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="ptychodus-reconstruct-ptyche",
        description="Reconstructs ptychodus' folder (diffraction.h5, product.h5) with Ptyche. Writes "
                    "product.h5, which ptychodus loads, and beside it the folder ptyche/ with all else. "
                    "Ends with Ptyche's exit code: 0 done, 1 refused, 2 not understood, 4 the image is "
                    "written but failed its verdict, 130 interrupted.",
        epilog="What follows -- are options of Ptyche: -- --solver ml:60 --refine-positions")
    parser.add_argument("-i", "--input-directory", required=True, metavar="INPUT_DIR")
    parser.add_argument("-o", "--output-directory", required=True, metavar="OUTPUT_DIR")
    parser.add_argument("--verb", choices=VERBS, default=VERBS[0],
                        help="reconstruct: without options; solve: with a chain of solvers; infer: with a "
                             "trained network (-- --model FILE)")
    parser.add_argument("words", nargs="*", metavar="-- OPTION", help="of Ptyche")
    given = parser.parse_args()
    try:
        return reconstruct(given.input_directory, given.output_directory, given.verb, given.words)
    except KeyboardInterrupt:
        return 130
    except (OSError, ValueError, ptyche.Error) as error:
        print(f"{parser.prog}: error: {error}", file=sys.stderr)
        return 1
