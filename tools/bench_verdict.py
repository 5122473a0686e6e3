#!/usr/bin/env python3
"""The verdict of `ptyche reconstruct` beside the truth that it does not know.

  bench_verdict.py [--half tune|report|fresh|last|next|after|newest|crystals|sixth] [--only TEXT] [--rows FILE.json] [PTYCHE]

Simulated scans without a fault (objects, probes, doses, overlaps, small errors drawn independently) and
failures of all kinds. A result is right up to an error over contrast of .3 and a failure above .5.
Constants of the verdict were fitted on `tune`; `report` was looked at once. --bars: exit code 1 where a
failure is called good, more than 2 of 30 right ones are called failed, or the expected error is far from
the true one. `sixth` is a fixed part of `report` for CI, `crystals` are scans of electron
microscopes. On the real star, where it is there: the verdict
with the measured positions and with altered ones. --rows keeps all numbers.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import h5py
import numpy as np

import bench_defaults
from bench_lines import ROOT, STAR, cleared

SEEDS = {"tune": 1404, "report": 1505, "fresh": 1606, "last": 1707, "next": 1808, "after": 1909, "newest": 2010,
         "crystals": 2313}
PLACES = ("entry_1/data_1/translation", "entry_1/sample_1/geometry_1/translation")
COUNTS = "entry_1/data_1/data"
PROBE = "entry_1/instrument_1/source_1/illumination"
RIGHT, FAILURE = 0.3, 0.5
FAULTS = ("noise", "noise", "noise of the mean", "noise of the mean", "wrong probe", "wrong probe",
          "shuffled", "shuffled", "30 % shuffled", "30 % shuffled", "axis flipped", "axis flipped",
          "axis flipped, few photons", "axes swapped", "positions x 1.3", "positions x 1.3",
          "positions x 2", "30 % off by 4 px", "30 % off by 4 px", "30 % off by 4 px",
          "100 photons", "100 photons", "100 photons", "too few patterns", "too few patterns",
          "too few patterns", "N = 256", "N = 256", "two layers", "two layers")


def table(half):
    """The scans of a half: a dict each, 32 without a fault, then one for every entry of FAULTS."""
    if half == "crystals":
        return crystals()
    rng = np.random.default_rng(SEEDS[half])
    doses = rng.permutation([300, 1e3, 1e3, 3e3, 3e3, 1e4, 1e4, 1e5, 1e5, 1e5, 1e5, 1e6, 1e6, 1e6, 1e6, 1e5] * 2)
    overlaps = rng.permutation([0.4, 0.5, 0.6, 0.6, 0.7, 0.7, 0.8, 0.8] * 4)
    frames = rng.permutation([60, 100, 100, 150, 200, 300, 400, 600] * 4)
    sides = rng.permutation([64] * 14 + [128] * 2)
    sides = np.concatenate([sides, sides])
    objects = rng.permutation(["picture", "picture", "dead-leaves", "random-field", "picture", "bars",
                               "siemens-star", "dead-leaves"] * 4)
    scans = []
    for i in range(32 + len(FAULTS)):
        fault = FAULTS[i - 32] if i >= 32 else ""
        probe = str(rng.choice(["defocused", "defocused", "disk", "zernike"]))
        scan = {"name": f"{half}-{i:02d}", "fault": fault, "object": str(objects[i % 32]),
                "dose": float(doses[i]) if not fault else float(rng.choice([1e4, 1e5, 1e6])),
                "overlap": float(overlaps[i]) if not fault else float(rng.choice([0.6, 0.7, 0.8])),
                "frames": int(frames[i]) if not fault else int(rng.choice([80, 120, 200])),
                "N": int(sides[i]) if not fault else 64, "probe": probe,
                "defocus_error": float(rng.choice([0, 0.2])) if probe == "defocused" else 0.0,
                "position_error": float(rng.choice([0, 0, 0.3])), "blur": float(rng.choice([0, 0, 0.5])),
                "background": float(rng.choice([0, 0, 0.05])), "seed": int(rng.integers(1, 9999))}
        if scan["N"] == 128:
            scan["frames"] = min(scan["frames"], 200)
        if "photons" in fault:
            scan.update(dose=1e2 if fault.startswith("100") else 1e3, overlap=0.2 if fault.startswith("100") else 0.7)
        if fault == "too few patterns":
            scan.update(frames=int(rng.choice([12, 16, 20])), overlap=0.4)
        if fault == "N = 256":
            scan.update(N=256, frames=64, overlap=0.6, blur=0.0)
        scans.append(scan)
    return scans


def crystals():
    """Crystals under a lens in focus or nearly so, in steps as small as electron microscopes take, so many
    that the truth's central half is scanned."""
    rng = np.random.default_rng(SEEDS["crystals"])
    faults = [""] * 20 + ["noise of the mean", "wrong probe", "shuffled", "30 % shuffled", "axis flipped",
                          "axes swapped", "positions x 1.3", "positions x 2"]
    scans = []
    for i, fault in enumerate(faults):
        step = float(rng.choice([1.5, 2, 2, 3]))
        dose = float(rng.choice([3e2, 1e3, 3e3, 1e4, 1e5, 1e6] if not fault else [3e3, 1e4, 1e5]))
        scans.append({
            "name": f"crystals-{i:02d}", "fault": fault, "object": "crystal", "dose": dose, "overlap": 0.8,
            "step": step, "frames": int(np.ceil(64 / step)) ** 2, "N": 64, "probe": "defocused",
            "defocus_error": 0.0, "position_error": float(rng.choice([0, 0.1])), "blur": 0.0,
            "background": float(rng.choice([0, 0, 0.05])), "seed": int(rng.integers(1, 9999)),
            "words": ["--relative-defocus", float(rng.choice([0, 0, 0.1, 0.3])), "--trajectory", "raster",
                      "--phase-range", float(rng.choice([0.3, 1, 2])), "--amplitude-min", 0.9]})
    return scans


def moved_to(cxi, places):
    for name in PLACES:
        cxi[name][...] = places


def spoilt(scan, file):
    """Puts the scan's fault into its file."""
    rng = np.random.default_rng(scan["seed"] + 1)
    fault = scan["fault"]
    with h5py.File(file, "r+") as cxi:
        counts, places, probe = cxi[COUNTS], cxi[PLACES[0]][()], cxi[PROBE]
        n = len(places)
        if fault == "noise":
            counts[...] = rng.poisson(np.full(counts.shape, max(counts[()].mean(), 0.05))).astype(counts.dtype)
        elif fault == "noise of the mean":
            data = counts[()].astype(float)
            mean = data.mean(0) / data.mean(0).sum()
            counts[...] = rng.poisson(mean * data.sum((1, 2))[:, None, None]).astype(counts.dtype)
        elif fault == "wrong probe":
            side = probe.shape[-1]
            row, col = np.indices((side, side)) - side / 2
            wave = np.exp(-(row ** 2 + col ** 2) / (2 * (side / 5) ** 2)) * np.exp(3j * row * col / side)
            power = (abs(probe[()]) ** 2).sum()
            probe[...] = (wave * np.sqrt(power / (abs(wave) ** 2).sum())).reshape(probe.shape)
        elif fault == "shuffled":
            moved_to(cxi, places[rng.permutation(n)])
        elif fault == "30 % shuffled":
            some = rng.permutation(n)[:int(0.3 * n)]
            moved = places.copy()
            moved[some] = moved[rng.permutation(some)]
            moved_to(cxi, moved)
        elif fault.startswith("axis flipped"):
            moved = places.copy()
            moved[:, 0] = moved[:, 0].max() + moved[:, 0].min() - moved[:, 0]
            moved_to(cxi, moved)
        elif fault == "axes swapped":
            moved = places.copy()
            moved[:, :2] = moved[:, 1::-1]
            moved_to(cxi, moved)
        elif fault.startswith("positions x"):
            moved_to(cxi, places * float(fault.split()[-1]))
        elif fault == "30 % off by 4 px":
            some, moved = rng.permutation(n)[:int(0.3 * n)], places.copy()
            angle = rng.uniform(0, 2 * np.pi, len(some))
            moved[some, 0] += 4 * np.cos(angle)
            moved[some, 1] += 4 * np.sin(angle)
            moved_to(cxi, moved)
        elif fault == "two layers":
            counts[...] = two_layers(cxi, rng, scan["dose"]).astype(counts.dtype)


def two_layers(cxi, rng, dose):
    """Patterns of a second object behind the first one, so far away that no product of the two stands
    for both."""
    truth, places, probe = cxi["ptyche/truth"][()], cxi[PLACES[0]][()], cxi[PROBE][()]
    side = probe.shape[-1]
    probe = probe.reshape(-1, side, side)[0]
    second = np.roll(truth[::-1, ::-1], (7, 5), (0, 1))
    k = np.fft.fftfreq(side)
    travel = np.exp(-1j * np.pi * 60 * (k[:, None] ** 2 + k ** 2))
    patterns = []
    for col, row in places[:, :2]:
        top, left = int(round(row)) - side // 2, int(round(col)) - side // 2
        window = np.s_[top:top + side, left:left + side]
        wave = np.fft.ifft2(np.fft.fft2(probe * truth[window]) * travel) * second[window]
        patterns.append(abs(np.fft.fftshift(np.fft.fft2(wave)) / side) ** 2)
    patterns = np.array(patterns)
    return rng.poisson(patterns * dose / (abs(probe) ** 2).sum())


def made(program, scan, folder):
    """The scan's file and its truth."""
    file = folder / f"{scan['name']}.cxi"
    if not file.exists():
        kept = {**scan, "fault": ""}
        if scan["fault"] == "two layers":
            file, truth = bench_defaults.make(program, kept, folder, keep_truth=True)
        else:
            file, truth = bench_defaults.make(program, kept, folder)
        spoilt(scan, file)
        if scan["fault"] == "two layers":
            with h5py.File(file, "r+") as cxi:
                del cxi["ptyche/truth"]
    return file, np.load(folder / f"{scan['name']}.npy")


def judged(program, file, truth, folder, *words):
    """Runs reconstruct; its verdict's numbers, the true error and the seconds."""
    out = folder / "judged"
    begin = time.time()
    done = subprocess.run([str(program),
                           *cleared(["reconstruct", file, "-o", out, "--threads", "1", *words])],
                          capture_output=True, text=True)
    if done.returncode not in (0, 4):
        return {"verdict": "refused", "said": done.stderr[-300:]}
    scores = json.loads((out / "scores.json").read_text())
    row = {key.removeprefix("verdict."): value for key, value in scores.items()
           if key.startswith("verdict.") or key == "verdict"}
    row["took"] = time.time() - begin
    row["code"], said = done.returncode, done.stderr
    if truth is not None:
        row["error"] = min(bench_defaults.error(each, out / "reconstruction.h5", anywhere="corrected: positions" in said)
                           for each in (truth, np.conj(truth[::-1, ::-1])))
    return row


def ranks(values):
    return np.argsort(np.argsort(values))


def summary(rows):
    """Prints what the table says; whether the bars hold."""
    rows = [row for row in rows if "error" in row]
    failures = [row for row in rows if row["error"] > FAILURE]
    right = [row for row in rows if row["error"] <= RIGHT]
    good_failures = [row["name"] for row in failures if row["verdict"] == "good"]
    failed_right = [row["name"] for row in right if row["verdict"] == "failed"]
    print(f"failures {len(failures)}: called good {len(good_failures)} {good_failures}, doubtful "
          f"{sum(row['verdict'] == 'doubtful' for row in failures)}")
    print(f"right {len(right)}: called good {sum(row['verdict'] == 'good' for row in right)}, failed "
          f"{len(failed_right)} {failed_right}")
    plain = [row for row in rows if not row["fault"]]
    rank = ratio_share = 1.0
    if len(plain) > 3:
        true, expected = (np.array([row[key] for row in plain]) for key in ("error", "expected_error"))
        rank = float(np.corrcoef(ranks(true), ranks(expected))[0, 1])
        ratio = true / expected
        ratio_share = float(np.mean((ratio < 1.5) & (ratio > 1 / 1.5)))
        print(f"without a fault {len(plain)}: rank correlation {rank:.3f}, true over expected median "
              f"{np.median(ratio):.2f} (10 to 90 % {np.quantile(ratio, 0.1):.2f} to {np.quantile(ratio, 0.9):.2f}), "
              f"within 1.5: {ratio_share:.2f}")
    share = [row["seconds"] / max(row["took"] - row["seconds"], 1e-9) for row in rows]
    print(f"the verdict's time: median {np.median([row['seconds'] for row in rows]):.2f} s, of the rest's "
          f"{np.median(share):.2f}, longest {max(row['seconds'] for row in rows):.2f} s")
    return not good_failures and len(failed_right) <= max(2 * len(right) // 30, 1), rank, ratio_share


def star(program, folder):
    """Verdicts on the real star with its positions and with altered ones."""
    source = STAR / "siemens-star-64-counts.npz"
    if not source.exists():
        print("the real star is not there: skipped")
        return
    arrays = dict(np.load(source))
    rng = np.random.default_rng(3)
    x, y = arrays["xcoords"], arrays["ycoords"]
    some = rng.permutation(len(x))[:int(0.3 * len(x))]
    angle, order = rng.uniform(0, 2 * np.pi, len(some)), rng.permutation(len(x))
    off_x, off_y = x.copy(), y.copy()
    off_x[some] += 4 * np.cos(angle)
    off_y[some] += 4 * np.sin(angle)
    for name, (new_x, new_y) in {"as measured": (x, y), "flipped": (-x, y), "x 1.3": (1.3 * x, 1.3 * y),
                                 "30 % off by 4 px": (off_x, off_y),
                                 "shuffled": (x[order], y[order])}.items():
        file = folder / "star.npz"
        np.savez(file, **{**arrays, "xcoords": new_x, "ycoords": new_y})
        row = judged(program, file, None, folder, "--mask", "none")
        print(f"real star, {name:18}", " ".join(
            f"{key} {value:.3g}" if isinstance(value, float) else f"{key} {value}" for key, value in row.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ptyche", nargs="?", default=str(ROOT / "build" / "release" / "ptyche"))
    parser.add_argument("--half", choices=[*SEEDS, "sixth"])
    parser.add_argument("--only", default="")
    parser.add_argument("--work", help="folder that keeps the scans")
    parser.add_argument("--rows", help="file for all numbers, JSON")
    parser.add_argument("--no-star", action="store_true")
    parser.add_argument("--bars", action="store_true")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(options.work or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for half in [options.half] if options.half else list(SEEDS):
            scans = table("report")[::6] if half == "sixth" else table(half)
            for scan in scans:
                if options.only not in scan["name"] + " " + scan["fault"]:
                    continue
                row = {**scan, **judged(options.ptyche, *made(options.ptyche, scan, folder), folder)}
                rows.append(row)
                print(" ".join(f"{key} {row[key]:.3g}" if isinstance(row[key], float) else f"{row[key]}"
                               for key in ("name", "verdict", "error", "expected_error", "starts", "again", "misfit",
                                           "told", "dose", "overlap", "frames", "N", "object", "probe", "seconds",
                                           "took", "fault", "said") if key in row), flush=True)
        if not options.half and not options.only and not options.no_star:
            star(options.ptyche, folder)
    if options.rows:
        pathlib.Path(options.rows).write_text(json.dumps(rows))
    right, rank, share = summary(rows)
    sys.exit(1 if options.bars and not (right and rank >= 0.8 and share >= 0.6) else 0)


if __name__ == "__main__":
    main()
