#!/usr/bin/env python3
"""What a pattern costs in small and in large scans: processor time of a pass, of scores, memory; and the passes
that the default's solver needs on a canvas of four times the area.

  bench_scale.py [--patterns 500,4000,16000] [--solvers ml,lsqml,lbfgs,rpie] [--work FOLDER] [PTYCHE]

Simulated scans of 64 x 64 pixels. The time of a pass is the difference of two runs with more and fewer
passes, user and system time of all threads; every row is a ratio to the smallest scan of the same run.
Passes: of L-BFGS after `rpie:5` until the error against the truth is 1.1 times the one after 80, between whole
passes by interpolation; 100 and 400 patterns, 8 px apart, 1e5 photons.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import time

import h5py
import numpy as np

from bench_defaults import error

ROOT = pathlib.Path(__file__).resolve().parent.parent
FEW, MORE = 2, 8
QUIET = ("--no-check", "--no-verdict", "--probe", "scan", "--quiet", "--overwrite")


class Cost:
    """Processor seconds and peak memory (bytes) of one run."""

    def __init__(self, *command):
        pid = os.posix_spawn(command[0], [str(word) for word in command], os.environ,
                             file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                                           (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)])
        self.memory = 0  # ru_maxrss begins with that of this program
        while True:
            try:
                said = pathlib.Path(f"/proc/{pid}/status").read_text()
                self.memory = max([self.memory, *(int(line.split()[1]) * 1024 for line in said.splitlines()
                                                  if line.startswith("VmHWM"))])
            except OSError:
                pass
            done, status, usage = os.wait4(pid, os.WNOHANG)
            if done:
                break
            time.sleep(.01)
        if os.waitstatus_to_exitcode(status) not in (0, 4):
            sys.exit(f"{' '.join(map(str, command))}: exit code {os.waitstatus_to_exitcode(status)}")
        self.seconds = usage.ru_utime + usage.ru_stime


def scan_of(options, patterns):
    path = options.work / f"scale-{patterns}.npz"
    if not path.exists():
        subprocess.run([options.ptyche, "simulate", "-o", path, "--n-patterns", str(patterns),
                        "--seed", "3"], check=True, stdout=subprocess.DEVNULL)
        with np.load(path) as file:  # no truth: comparing images is not what is measured
            arrays = {name: file[name] for name in file if name != "objectGuess"}
        np.savez(path, **arrays)
    return path


def solved(options, patterns):
    return options.work / f"scale-solved-{patterns}"


def pass_cost(options, scan, solver, patterns):
    """Microseconds of a pattern in a pass, and the peak memory."""
    few, more = (Cost(options.ptyche, "solve", scan, "--solver", f"{solver}:{passes}", *QUIET,
                      "-o", solved(options, patterns)) for passes in (FEW, MORE))
    return 1e6 * (more.seconds - few.seconds) / (MORE - FEW) / patterns, more.memory


def score_cost(options, scan, patterns):
    """Microseconds of a pattern in `evaluate`, reading included, the program's start left out."""
    image = solved(options, patterns) / "reconstruction.h5"
    start = Cost(options.ptyche, "--version").seconds
    return 1e6 * (Cost(options.ptyche, "evaluate", image, scan).seconds - start) / patterns


def row(name, costs):
    first = next(iter(costs.values()))
    print(f"{name:<24}" + "".join(f"{cost:>9.1f} ({cost / first:4.2f})" for cost in costs.values()),
          flush=True)


PASSES = (3, 5, 7, 9, 11, 13, 15, 18, 21, 25, 30, 40, 80)


def passes_to_image(options, kind, seed, patterns, words):
    """Passes to 1.1 times the last error, and that error."""
    scan = options.work / f"passes-{kind}-{patterns}-{seed}.cxi"
    if not scan.exists():
        subprocess.run([options.ptyche, "simulate", "-o", scan, "--object", kind, "--n-patterns", str(patterns),
                        "--step", "8", "--seed", str(seed)], check=True, stdout=subprocess.DEVNULL)
    with h5py.File(scan) as file:
        truth = file["ptyche/truth"][()]
    errors = []
    for count in PASSES:
        Cost(options.ptyche, "solve", scan, "--solver", f"rpie:5,lbfgs:{count}", "--background", "--plateau", 0,
             "--hold-out", 0, *words, *QUIET, "-o", solved(options, "passes"))
        errors.append(error(truth, solved(options, "passes") / "reconstruction.h5"))
    aim = 1.1 * errors[-1]
    there = next(i for i, found in enumerate(errors) if found <= aim)
    if there == 0:
        return PASSES[0], errors[-1]
    share = (errors[there - 1] - aim) / (errors[there - 1] - errors[there])
    return PASSES[there - 1] + share * (PASSES[there] - PASSES[there - 1]), errors[-1]


def compare_canvases(options, words):
    for kind in ("dead-leaves", "photograph", "random-field"):
        for seed in (5, 6, 7):
            (few, small), (many, large) = (passes_to_image(options, kind, seed, patterns, words)
                                           for patterns in (100, 400))
            print(f"{kind:14} seed {seed}: {few:4.1f} | {many:4.1f} passes ({many / few:4.2f} times) to 1.1 times "
                  f"{small:.3f} | {large:.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ptyche", nargs="?", default=str(ROOT / "build" / "release" / "ptyche"))
    parser.add_argument("--patterns", default="500,4000,16000")
    parser.add_argument("--solvers", default="ml,lsqml,lbfgs,rpie")
    parser.add_argument("--passes", nargs="*", metavar="OPTION",
                        help="only the passes, with these options of solve")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "out" / "bench")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    if options.passes is not None:
        return compare_canvases(options, options.passes)
    sizes = [int(size) for size in options.patterns.split(",")]
    scans = {size: scan_of(options, size) for size in sizes}
    print(f"{'patterns':<24}" + "".join(f"{size:>16}" for size in sizes))
    memory = {}
    for solver in options.solvers.split(","):
        found = {size: pass_cost(options, scan, solver, size) for size, scan in scans.items()}
        row(f"{solver}, us a pass", {size: cost for size, (cost, _) in found.items()})
        memory[solver] = {size: peak for size, (_, peak) in found.items()}
    row("read and scored, us", {size: score_cost(options, scan, size) for size, scan in scans.items()})
    for solver, peaks in memory.items():
        row(f"{solver}, peak memory (MB)", {size: peak / 1e6 for size, peak in peaks.items()})
    return compare_canvases(options, [])


main()
