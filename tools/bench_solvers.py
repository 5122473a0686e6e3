#!/usr/bin/env python3
"""The iterative solvers: image, speed and what the network's image is worth to them, with bars.

  bench_solvers.py [--only NAME] [--no-seconds] [--work FOLDER] [PTYCHE]

Runs `ptyche solve` on the real Siemens star (where the shared material is: $PTYCHE_SHARED, else
../shared) and on simulated scans that are given a wrong probe or wrong positions.
"""
import csv
import json
import re
import subprocess
import sys

from bench_lines import ROOT, SHARED, SPLIT, STAR, main

STAR_128 = STAR / "siemens-star-counts.npz"
STAR_64 = STAR / "siemens-star-64-counts.npz"
HELD_OUT = ("--mask", "none", "--hold-out-file", SPLIT)
EVERYTHING = ("--probe-modes", 3, "--background", "--refine-positions", "jitter")
NEVER = 100000  # passes between two looks: none but the last


def solve(bench, scan, name, *words):
    """Scores of `ptyche solve`, and the rows of its progress.csv."""
    folder = bench.options.work / name
    bench.ptyche("solve", scan, "-o", folder, *words)
    with open(folder / "progress.csv") as file:
        rows = list(csv.DictReader(file))
    return folder, json.loads((folder / "scores.json").read_text()), rows


def best(bench):
    """The best image that a cold start reaches: three modes, positions, background."""
    for name, scan, chain, bars in (("star 128", STAR_128, "ml:60", (0.036, None, 60)),
                                    ("star 64", STAR_64, "ml:60", (0.021, 0.068, 20))):
        _, s, _ = solve(bench, scan, "best", *HELD_OUT, *EVERYTHING, "--solver", chain)
        bench.line(f"{name}: held-out deviance per photon", s["held_out.deviance_per_photon"],
                   bars[0])
        bench.line(f"{name}: held-out R", s["held_out.r_factor"], bars[1])
        bench.line(f"{name}: R of photon noise alone", s["held_out.r_factor_floor"])
        bench.line(f"{name}: R of the trivial predictor", s["held_out.trivial_r_factor"])
        bench.seconds(f"{name}: time", s, bars[2])


def speed(bench):
    """Patterns x passes per second at 128 x 128, one mode, probe refined, two threads."""
    least = (lambda bar: None) if bench.options.no_seconds else (lambda bar: bar)
    done = subprocess.run([ROOT / "tools" / "bench_projections.sh"], stdout=subprocess.PIPE,
                          text=True)
    rates = {line.split()[0]: float(line.split()[1]) for line in done.stdout.splitlines()[1:]}
    if "two_ffts" not in rates:
        sys.exit("the bench of the projection solvers did not run")
    limit = rates["two_ffts"]
    passes = 30
    _, _, rows = solve(bench, STAR_128, "speed", *HELD_OUT, "--solver", f"lsqml:{passes}",
                       "--interpolation", "bilinear", "--threads", 2, "--every", NEVER)
    rates["lsqml"] = 464 * passes / float(rows[-1]["seconds"])
    bench.line("two FFTs per pattern, nothing else", limit, unit="1/s")
    for name, bar in (("epie", 8000), ("rpie", 8000), ("dm", 8000), ("lsqml", 5000)):
        bench.line(f"{name}: patterns x passes per second", rates[name], unit="1/s",
                   least=least(bar))
        bench.line(f"{name}: share of the limit of two FFTs", rates[name] / limit)


def half_sets(bench):
    """Two halves of the real scan, each with its own first probe and network."""
    folder = bench.options.work / "half-sets"
    bench.ptyche("reconstruct", STAR_128, "-o", folder, "--mask", "none", "--half-sets")
    s = json.loads((folder / "scores.json").read_text())
    bench.line("star 128: half-set FRC, half-bit crossing",
               s["half_sets.frc_half_bit_cycles_per_px"], unit="1/px", least=0.24)


def spokes(bench):
    """How much of the star's modulation is left where its spokes are narrow, with a prior that is
    weaker than usual (.68 with the usual one, which simulated scans and the star at N = 64 prefer)."""
    folder, s, _ = solve(bench, STAR_128, "spokes", *HELD_OUT, "--probe-modes", 6, "--background",
                         "--refine-positions", "jitter", "--solver", "ml:100",
                         "--object-slope", 0.25)
    done = subprocess.run([sys.executable, SHARED / "check" / "spokes.py",
                           folder / "reconstruction.h5"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    found = re.search(r"mod36 ([\d.]+)", done.stdout)
    if not found:
        print("python3-numpy, -scipy, -h5py are needed, skipped\n" + done.stderr)
        return
    bench.line("star 128: modulation at radius 36 px over the full one", float(found[1]),
               least=0.70)
    bench.line("star 128, the same image: held-out deviance per photon",
               s["held_out.deviance_per_photon"])


def network_to_solver(bench):
    """How soon a solver that starts from the network's image is where a cold one ends: by `ml`, which
    `reconstruct` runs, and, for comparison, by the cold solver itself. All fit a background, as the
    network does."""
    network, n = bench.reconstruct(STAR_128, "network", 1, *HELD_OUT)
    start = ("--background", "--start", network / "reconstruction.h5")
    deviance = "held_out_deviance_per_photon"
    _, _, cold = solve(bench, STAR_128, "cold", *HELD_OUT, "--background", "--solver", "lsqml:50",
                       "--every", NEVER)
    _, _, same = solve(bench, STAR_128, "same", *HELD_OUT, *start, "--solver", "lsqml:50",
                       "--every", 1)
    _, _, warm = solve(bench, STAR_128, "warm", *HELD_OUT, *start, "--solver", "ml:3", "--every",
                       NEVER)
    aim, seconds = float(cold[-1][deviance]), float(cold[-1]["seconds"])
    bench.line("star 128: held-out deviance after 50 cold passes of lsqml", aim)
    bench.line("star 128: of the network's image", n["held_out.deviance_per_photon"])
    bench.line("star 128: of 3 passes of ml from it", float(warm[-1][deviance]), aim)
    bench.line("star 128: time of the cold start", seconds, unit="s")
    bench.line("star 128: time of these 3 passes over it", float(warm[-1]["seconds"]) / seconds,
               None if bench.options.no_seconds else 0.25)
    there = [int(row["pass"]) for row in same if float(row[deviance]) <= aim]
    bench.line("star 128: passes of lsqml from the network's image over the cold 50",
               there[0] / 50 if there else float("inf"))


def simulated(bench):
    """Known truth, the given probe's defocus off by half of it; the same dose per object pixel.
    At 1e3 photons the solver is told what a user knows: a smooth sample, a beam of limited size."""
    for size in (64, 128):
        for photons in (1e3, 1e5, 1e7):
            name = f"simulated {size}, {photons:.0e} photons"
            scan = bench.options.work / f"solve-{size}-{photons:.0e}.cxi"
            bench.ptyche("simulate", "-o", scan, "--N", size, "--probe-diameter", 20 * size // 64,
                         "--photons", photons, "--probe-defocus-error", 0.5)
            known = ("--object-slope", 0.12, "--probe-support", 0.4) if photons == 1e3 else ()
            name += f" ({' '.join(map(str, known))})" if known else ""
            _, s, _ = solve(bench, scan, "simulated", "--solver", "ml:100", *known)
            tiles = s["truth.nrmse_contrast_tiles"]
            bar = 0.5 if photons == 1e3 else s["truth.blurred_nrmse_contrast_tiles"]
            bench.line(f"{name}: error per tile over contrast", tiles, bar)
            bench.line(f"{name}: error as a whole over contrast", s["truth.nrmse_contrast"])
            bench.line(f"{name}: slow phase error",
                       s["truth.low_frequency_phase_error_rad"], unit="rad")


def positions(bench):
    """Positions that jitter, a grid that is too large and turned. The object has features
    everywhere: where it has none, no pattern can tell where it was taken."""
    scan = bench.options.work / "positions.cxi"
    bench.ptyche("simulate", "-o", scan, "--object", "random-field", "--phase-range", 3,
                 "--amplitude-min", 0.3, "--probe-diameter", 32, "--position-error", 1,
                 "--position-scale-error", 0.01, "--position-rotation", 1)
    _, s, _ = solve(bench, scan, "positions", "--solver", "ml:100", "--refine-positions", "affine",
                    "--position-step", 0.2)
    bench.line("positions: error as given", s["truth.given_position_rmse_px"], unit="px")
    bench.line("positions: error after refinement", s["truth.position_rmse_px"], 0.1, "px")


CHECKS = {"best": best, "speed": speed, "half_sets": half_sets, "spokes": spokes,
          "network_to_solver": network_to_solver, "simulated": simulated, "positions": positions}
NEED_SHARED = {"best", "speed", "half_sets", "spokes", "network_to_solver"}


if __name__ == "__main__":
    main(__doc__, CHECKS, NEED_SHARED)
