#!/usr/bin/env python3
"""Two programs, before and after a change of the code, on the same scans.

  bench_before.py [--scores] [--only TEXT] [--work FOLDER] BEFORE [AFTER]

Without --scores: every verb that writes a result runs with both on one thread, and all arrays and
attributes of the products are compared bit by bit; exit code 1 if one differs.
With --scores: solvers and networks on the real Siemens star (where the shared material is) and on six
simulated scans; exit code 1 where a score is more than 1 % worse than before.
AFTER is build/release/ptyche unless it is named.
"""
import argparse
import json
import pathlib
import subprocess
import sys

import h5py
import numpy as np

from bench_lines import ROOT, SPLIT, STAR, cleared

# What may differ: who wrote the file and when, and how long it took.
VOLATILE = {"version", "commit", "options", "created", "command", "key"}

# Name, verb, words; {scan} and {folder NAME} are filled in. A run may build on one further up.
RUNS = (
    ("near", "simulate", ("-o", "{here}/scan.cxi", "--frames", 64, "--near-field", "--energy", 8000,
                          "--distance", 0.02, "--detector-pixel", 1e-6)),
    ("fermat", "simulate", ("-o", "{here}/scan.cxi", "--frames", 80, "--scan", "fermat",
                            "--object", "lines", "--probe", "gaussian")),
    ("scan", "simulate", ("-o", "{here}/scan.cxi", "--frames", 100, "--N", 48,
                          "--probe-diameter", 16, "--position-error", 0.5)),
    ("scan-64", "simulate", ("-o", "{here}/scan.cxi", "--frames", 49)),
    ("ml", "solve", ("{scan}", "--solver", "ml:6", "--probe-modes", 2, "--background",
                     "--refine-positions", "affine", "--hold-out", 0.05)),
    ("ml-bilinear", "solve", ("{scan}", "--solver", "ml:4", "--interpolation", "bilinear",
                              "--refine-positions")),
    ("ml-amplitude", "solve", ("{scan}", "--solver", "ml:4", "--likelihood", "amplitude")),
    ("ml-reference", "solve", ("{scan}", "--solver", "ml:2", "--engine", "reference")),
    ("lsqml", "solve", ("{scan}", "--solver", "lsqml:5", "--refine-positions", "jitter")),
    ("lbfgs", "solve", ("{scan}", "--solver", "rpie:3,lbfgs:4", "--background")),
    ("epie", "solve", ("{scan}", "--solver", "epie:5", "--momentum", 0.3)),
    ("rpie", "solve", ("{scan}", "--solver", "rpie:5", "--probe-modes", 2, "--refine-positions")),
    ("dm", "solve", ("{scan}", "--solver", "dm:5,raar:5", "--interpolation", "bilinear")),
    ("raar", "solve", ("{scan}", "--solver", "raar:5", "--fixed-probe")),
    ("automatic", "reconstruct", ("{scan-64}",)),
    ("train", "train", ("{scan}", "--epochs", 2, "--probe-start-epochs", 3)),
    ("train-moved", "train", ("{scan}", "--epochs", 2, "--probe-start", "guess",
                              "--refine-positions", "--group-size", 6)),
    ("train-ptychopinn", "train", ("{scan-64}", "--epochs", 1, "--network",
                                   "ptychopinn", "--gridsize", 1)),
    ("infer", "infer", ("--model", "{train}/model.ptyche", "{scan}")),
)


def run(program, verb, words):
    done = subprocess.run([str(program), *cleared([verb, *words])], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    if done.returncode not in (0, 4):  # 4: all is written, the image is judged a failure
        sys.exit(f"{program} {verb} {' '.join(map(str, words))}\n{done.stderr}")
    return done


def lasting(value):
    """JSON without who made the file, when, and how long it took."""
    if isinstance(value, dict):
        return {key: lasting(each) for key, each in value.items()
                if key not in ("version", "date", "machine", "seconds")}
    return [lasting(each) for each in value] if isinstance(value, list) else value


def same(a, b):
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    return a.tobytes() == b.tobytes() if a.dtype.kind != "O" else bool(np.all(a == b))


def contents(path):
    """Name -> array of everything in an HDF5 file that a result depends on."""
    found = {}

    def attributes(name, item):
        for key, value in item.attrs.items():
            if key not in VOLATILE and not key.endswith("seconds"):
                found[f"{name}@{key}"] = np.asarray(
                    json.dumps(lasting(json.loads(value))) if key == "run" else value)

    def visit(name, item):
        attributes(name, item)
        if isinstance(item, h5py.Dataset) and name != "ptyche/scores":  # text of its attributes
            found[name] = np.asarray(item[()])

    with h5py.File(path, "r") as file:
        attributes("", file)
        file.visititems(visit)
    return found


def differences(before, after):
    """Names in two folders of results whose bits differ."""
    found = []
    for path in sorted(before.rglob("*")):
        if path.suffix not in (".h5", ".cxi", ".ptyche"):
            continue
        old, new = contents(path), contents(after / path.relative_to(before))
        for name in sorted(old.keys() | new.keys()):
            if name not in old or name not in new:
                found.append(f"{path.name}:{name} (only {'before' if name in old else 'after'})")
            elif not same(old[name], new[name]):
                found.append(f"{path.name}:{name}")
    return found


def compare_bits(options):
    faults = 0
    for name, verb, words in RUNS:
        if options.only not in name and verb != "simulate" and name != "train":
            continue
        for label, program in (("before", options.before), ("after", options.after)):
            folder = options.work / label
            places = {n: folder / n for n, _, _ in RUNS}
            scans = options.work / "before"
            places.update({"scan": scans / "scan" / "scan.cxi", "scan-64": scans / "scan-64" / "scan.cxi",
                           "here": folder / name})
            (folder / name).mkdir(parents=True, exist_ok=True)
            filled = [str(word).format(**places) for word in words]
            if verb != "simulate":
                filled += ["-o", folder / name, "--threads", 1]
            run(program, verb, filled)
        found = differences(options.work / "before" / name, options.work / "after" / name)
        faults += bool(found)
        print(f"{name:18}{'the same bits' if not found else 'DIFFERS: ' + ', '.join(found)}",
              flush=True)
    return faults

# Six scans that differ in sample, probe, overlap, dose, size and layout.
SCANS = (
    ("leaves", ("--frames", 225)),
    ("low dose", ("--frames", 225, "--photons", 3000, "--seed", 2)),
    ("low overlap", ("--frames", 144, "--step", 7, "--seed", 3)),
    ("two materials", ("--frames", 225, "--material", "independent", "--scan", "fermat", "--seed", 4)),
    ("wide phase", ("--frames", 225, "--phase-range", 3, "--object", "lines", "--seed", 5)),
    ("N = 96", ("--frames", 144, "--N", 96, "--probe-diameter", 33, "--step", 6,
                "--probe-defocus-error", 0.2, "--position-error", 0.5, "--seed", 6)),
)
CHAINS = (
    ("ml:30", ()), ("ml:20,lbfgs:10", ()), ("lsqml:30", ()), ("epie:30", ()), ("rpie:30", ()),
    ("dm:40", ()), ("raar:40", ()),
    ("ml:30", ("--probe-modes", "2", "--background", "--refine-positions")),
)
KEYS = ("truth.nrmse_contrast", "held_out.r_factor", "held_out.deviance_per_photon")


def row_words(options):
    """Name -> verb, scan and options of every scan by every chain and by the network."""
    scans = []
    for name, words in SCANS:
        scan = options.work / f"{name.replace(' ', '_')}.cxi"
        if not scan.exists():
            run(options.before, "simulate", ("-o", scan, *words))
        scans.append((name, scan, ("--hold-out", 0.05)))
    if STAR.exists():
        scans.append(("star 64", STAR / "siemens-star-64-counts.npz",
                      ("--mask", "none", "--hold-out-file", SPLIT)))
    rows = {}
    for name, scan, held_out in scans:
        for chain, words in CHAINS:
            rows[f"{name}, {chain} {' '.join(words)}".strip()] = (
                "solve", scan, ("--solver", chain, *words, *held_out))
        rows[f"{name}, network"] = ("train", scan, ("--epochs", 6, "--do-stitching", *held_out))
    return rows


def score_rows(options, program, label, names):
    scores = {}
    for row, (verb, scan, words) in row_words(options).items():
        if row in names:
            folder = options.work / f"{label}-scores"
            run(program, verb, (scan, "-o", folder, *words))
            found = json.loads((folder / "scores.json").read_text())
            scores[row] = {key: found[key] for key in KEYS if key in found}
    return scores


def kept_scores(options):
    """Those of the program before, which are the same every time: computed once a work folder."""
    kept = options.work / "scores-before.json"
    known = json.loads(kept.read_text()) if kept.exists() else {}
    rows = known.get(str(options.before), {})
    missing = [row for row in row_words(options) if options.only in row and row not in rows]
    rows.update(score_rows(options, options.before, "scores-before", missing))
    kept.write_text(json.dumps({str(options.before): rows}))
    return {row: scores for row, scores in rows.items() if options.only in row}


def compare_scores(options):
    before = kept_scores(options)
    after = score_rows(options, options.after, "scores-after", before)
    faults = 0
    for row, old in before.items():
        for key, value in old.items():
            ratio = after[row][key] / value
            faults += ratio > 1.01
            print(f"{row:75} {key:30} {value:10.5f} {after[row][key]:10.5f} {100 * ratio - 100:+7.2f} %"
                  f"{'  WORSE' if ratio > 1.01 else ''}", flush=True)
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=pathlib.Path)
    parser.add_argument("after", type=pathlib.Path, nargs="?",
                        default=ROOT / "build" / "release" / "ptyche")
    parser.add_argument("--scores", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "out" / "before")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    faults = compare_scores(options) if options.scores else compare_bits(options)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
