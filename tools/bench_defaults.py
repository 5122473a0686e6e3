#!/usr/bin/env python3
"""`ptyche reconstruct` without options beside the best of twelve chains of the first solvers.

  bench_defaults.py [--half tune|report|few|low|faults|...] [--only TEXT] [--renew OLD_PTYCHE] [PTYCHE]

On simulated scans (objects, probes, doses, overlaps, faults drawn independently) the error over contrast
of the default is divided by the least of ml:60, ml:200, lsqml:60, lbfgs:60, dm:60,ml:60 and
epie:60,ml:60, each plain and with three modes and a background, as the program was before its solvers
were repaired: those figures are kept in bench_defaults.json, and --renew makes them anew with that
program. `report` holds scans that no constant was chosen by, `few` those below 5e3 photons, `low` those of
little overlap, `last`, `last-few` and `last-low` the same three kinds, drawn after all rules were made;
`tune-faults` ... `last-low-faults` are the scans of these halves with one or two of four faults
each. On the real star, where it is there, deviance and R of the held-out patterns and the time.
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
from scipy import ndimage, optimize

from bench_lines import ROOT, SPLIT, STAR, cleared

KNOWN = ("ml:60", "ml:200", "lsqml:60", "lbfgs:60", "dm:60,ml:60", "epie:60,ml:60")
PLAIN, FREE = (), ("--probe-modes", 3, "--background")
FIGURES = pathlib.Path(__file__).with_suffix(".json")
HELD_OUT = ("--hold-out", 0.1, "--threads", 1)
SEEDS = {"tune": 101, "report": 202, "few": 303, "low": 404, "last": 505, "last-few": 606, "last-low": 707}
DOSES = {"few": (300, 1000, 3000) * 4, "low": (1e4, 1e5, 1e5) * 4}
OVERLAPS = {"few": (0.3, 0.4, 0.5, 0.6) * 3, "low": (0.2, 0.3, 0.4) * 4}
FAULTS = {"defocus_error": 0.2, "position_error": 0.3, "blur": 0.5, "background": 0.05}
HALVES = [*SEEDS, *(f"{half}-faults" for half in SEEDS)]


def table(half):
    """The scans of a half: a dict each."""
    return with_faults(half) if half.endswith("-faults") else drawn(half)


def with_faults(half):
    """The scans of a half with one or two faults each, whatever faults they had; only a defocused probe has
    a wrong defocus."""
    rng = np.random.default_rng(SEEDS[half.removesuffix("-faults")] + 1000)
    scans = drawn(half.removesuffix("-faults"))
    for i, scan in enumerate(scans):
        possible = [fault for fault in FAULTS if fault != "defocus_error" or scan["probe"] == "defocused"]
        has = rng.choice(possible, rng.integers(1, 3), replace=False)
        scan.update({"name": f"{half}-{i:02d}"} | {fault: FAULTS[fault] * (fault in has) for fault in FAULTS})
    return scans


def drawn(half):
    rng, kind = np.random.default_rng(SEEDS[half]), half.removeprefix("last-")
    doses = DOSES.get(kind, (1e4, 1e4, 1e5, 1e5, 1e5, 1e6) * 2)
    overlaps = OVERLAPS.get(kind, (0.4, 0.6, 0.6, 0.8) * 3)
    objects = ("picture", "dead-leaves", "picture", "random-field") * 3
    doses, overlaps, objects = (rng.permutation(each) for each in (doses, overlaps, objects))
    scans = []
    for i in range(12):
        probe = str(rng.choice(["defocused", "defocused", "disk", "zernike"]))
        scans.append({
            "name": f"{half}-{i:02d}", "object": str(objects[i]), "dose": float(doses[i]),
            "overlap": float(overlaps[i]), "frames": int(rng.choice([80, 120, 200])), "probe": probe,
            "defocus_error": float(rng.choice([0, 0.2])) if probe == "defocused" else 0.0,
            "position_error": float(rng.choice([0, 0, 0.3])), "blur": float(rng.choice([0, 0, 0.5])),
            "background": float(rng.choice([0, 0, 0.05])), "seed": int(rng.integers(1, 9999))})
    return scans


def picture(seed, side=400):
    """Like a photograph: edges of many sizes and a texture whose power falls as 1/k^2."""
    rng = np.random.default_rng(seed)
    k = np.hypot(np.fft.fftfreq(side)[:, None], np.fft.fftfreq(side)[None])
    smooth = [np.fft.ifft2(np.fft.fft2(rng.normal(size=(side, side))) / (k + 2 / side) ** power).real
              for power in (1.0, 1.0, 1.6)]
    mixed = np.where(smooth[2] > np.median(smooth[2]), smooth[0], 0.6 * smooth[1] - smooth[1].std())
    low, high = np.percentile(mixed, (1, 99))
    return np.clip((mixed - low) / (high - low), 0, 1).astype(np.float32)


def make(program, scan, folder, keep_truth=False):
    """The scan as CXI, without its truth unless it is to be kept, and the truth beside it."""
    side = scan.get("N", 64)
    file, truth = folder / f"{scan['name']}.cxi", folder / f"{scan['name']}.npy"
    if file.exists() and truth.exists():
        return file, np.load(truth)
    words = ["--N", side, "--frames", scan["frames"], "--probe-diameter", 22 * side / 64,
             "--step", scan.get("step", round((1 - scan["overlap"]) * 25.3 * side / 64, 2)),
             *scan.get("words", []),
             "--photons", 1e9, "--probe", scan["probe"], "--seed", scan["seed"],
             "--probe-defocus-error", scan["defocus_error"],
             "--position-error", scan["position_error"]]
    if scan["probe"] == "zernike":
        words += ["--zernike", "1.5,.4,-.3,.3,.2"]
    if scan["object"] == "picture":
        for option, seed in (("--object-file", scan["seed"]), ("--object-phase-file", scan["seed"] + 1)):
            np.save(folder / f"picture-{seed}.npy", picture(seed))
            words += [option, folder / f"picture-{seed}.npy"]
        words += ["--object", "image"]
    else:
        words += ["--object", scan["object"], "--material", "independent"]
    run(program, "simulate", "-o", file, *words)
    rng = np.random.default_rng(scan["seed"])
    with h5py.File(file, "r+") as cxi:
        counts = cxi["entry_1/data_1/data"]
        expected = counts[()].astype(float) * (scan["dose"] / 1e9)
        if scan["blur"]:
            expected = ndimage.gaussian_filter(expected, (0, scan["blur"], scan["blur"]))
        row, col = np.indices(expected.shape[1:]) / expected.shape[1] - 0.5
        light = 1 + col + 0.5 * np.cos(6 * row)
        expected += scan["background"] * scan["dose"] * light / light.sum()
        counts[...] = rng.poisson(expected).astype(counts.dtype)
        probe = cxi["entry_1/instrument_1/source_1/illumination"]
        probe[...] = probe[()] * np.sqrt(scan["dose"] / 1e9)
        true_object = cxi["ptyche/truth"][()]
        for name in ("truth", "true_positions"):
            if name in cxi["ptyche"] and not (keep_truth and name == "truth"):
                del cxi["ptyche"][name]
    np.save(truth, true_object)
    return file, true_object


def run(program, *words):
    done = subprocess.run([str(program), *cleared(words)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, words))}\n{done.stderr[-400:]}")


def lit_part(truth, coverage):
    """The truth's central half, less the borders that the scan does not light."""
    top, bottom, left, right = (truth.shape[0] // 4, 3 * truth.shape[0] // 4, truth.shape[1] // 4,
                                3 * truth.shape[1] // 4)
    while coverage[top:bottom, left:right].mean() < 0.99 and min(bottom - top, right - left) > 32:
        dark = np.argmin([coverage[top, left:right].mean(), coverage[bottom - 1, left:right].mean(),
                          coverage[top:bottom, left].mean(), coverage[top:bottom, right - 1].mean()])
        top, bottom, left, right = (top + (dark == 0), bottom - (dark == 1), left + (dark == 2),
                                    right - (dark == 3))
    return slice(top, bottom), slice(left, right)


def error(truth, product, anywhere=False):
    """Over the truth's contrast, after one shift of at most six pixels, one ramp and one factor; `anywhere`:
    after any shift, for positions that were moved or come from a raster's middle."""
    with h5py.File(product) as file:
        image, lit = file["object"][()], file["ptyche/coverage"][()] > 0.1
        corner = [int(round(file["object"].attrs[f"center_{axis}_m"] - length / 2))
                  for axis, length in zip("yx", image.shape)]
    corners = [corner] if not anywhere else corners_of(truth, image, lit)
    return min(error_at(truth, image, lit, each) for each in corners)


def corners_of(truth, image, lit):
    """Where the image's corner may lie in the truth: the best four places of its middle, by the correlation of
    what differs from the mean, in windows of equal power."""
    rows, cols = (slice(n // 4, 3 * n // 4) for n in image.shape)
    middle = np.where(lit, image, 1)[rows, cols]
    middle = np.clip(abs(middle), 0, 4 * np.median(abs(middle))) * np.exp(1j * np.angle(middle))
    middle = middle - middle.mean()
    wide = [n + m for n, m in zip(truth.shape, middle.shape)]
    spectrum = np.fft.fft2(truth - truth.mean(), wide)
    like = abs(np.fft.ifft2(spectrum * np.fft.fft2(middle, wide).conj()))
    inside = like[:truth.shape[0] - middle.shape[0] + 1, :truth.shape[1] - middle.shape[1] + 1].copy()
    corners = []
    for _ in range(4):
        r, c = np.unravel_index(np.argmax(inside), inside.shape)
        corners.append([int(r) - rows.start, int(c) - cols.start])
        inside[max(r - 6, 0):r + 7, max(c - 6, 0):c + 7] = 0
    return corners


def error_at(truth, image, lit, corner):
    placed, where = np.zeros_like(truth), np.zeros(truth.shape, bool)
    rows, cols = (slice(max(c, 0), min(c + n, t)) for c, n, t in zip(corner, image.shape, truth.shape))
    inside = (slice(rows.start - corner[0], rows.stop - corner[0]),
              slice(cols.start - corner[1], cols.stop - corner[1]))
    placed[rows, cols], where[rows, cols] = image[inside], lit[inside]
    window = lit_part(truth, where)
    return aligned_error(truth[window], placed, window)


def aligned_error(part, image, window, margin=8):
    contrast = np.sqrt((abs(part - part.mean()) ** 2).mean())
    wide = np.pad(image, margin, mode="edge")[window[0].start:window[0].stop + 2 * margin,
                                              window[1].start:window[1].stop + 2 * margin]
    most = 4 * np.median(abs(wide)) + 1e-9
    wide = np.where(abs(wide) > most, wide * most / np.maximum(abs(wide), 1e-12), wide)
    spectrum = np.fft.fft2(wide)
    down, right = np.fft.fftfreq(wide.shape[0])[:, None], np.fft.fftfreq(wide.shape[1])[None]
    row, col = np.indices(part.shape) - np.array(part.shape)[:, None, None] / 2
    power = (abs(part) ** 2).sum()

    def cost(gauge):
        if max(abs(gauge[0]), abs(gauge[1])) > 6:
            return 1e3
        moved = np.fft.ifft2(spectrum * np.exp(-2j * np.pi * (down * gauge[0] + right * gauge[1])))
        cut = moved[margin:margin + part.shape[0], margin:margin + part.shape[1]]
        cut = cut * np.exp(2j * np.pi * (row * gauge[2] + col * gauge[3]) / 100)
        overlap = abs((cut.conj() * part).sum()) ** 2 / max((abs(cut) ** 2).sum(), 1e-30)
        return np.sqrt(max(0, (power - overlap) / part.size)) / contrast

    def refined(start):
        simplex = np.array([start] + [start + step for step in np.eye(4) * [0.4, 0.4, 0.15, 0.15]])
        return optimize.minimize(cost, start, method="Nelder-Mead", options={
            "maxfev": 300, "xatol": 2e-3, "fatol": 2e-4, "initial_simplex": simplex}).fun

    shifts = [(y, x) for y in range(-3, 4) for x in range(-3, 4)]
    best = min(shifts, key=lambda shift: cost((*shift, 0, 0)))
    return float(min(refined(np.zeros(4)), refined(np.array([*best, 0.0, 0.0]))))


def known(program, file, truth, folder):
    """The least error of the known chains, the chain and its seconds."""
    best = (9.0, "none", 0.0)
    for chain in KNOWN:
        for words in (PLAIN, FREE):
            begin = time.time()
            try:
                run(program, "solve", file, "-o", folder / "known", "--solver", chain, *words, *HELD_OUT)
            except RuntimeError:  # it diverged
                continue
            found = error(truth, folder / "known" / "reconstruction.h5")
            best = min(best, (found, chain + (" + modes, background" if words else ""),
                              time.time() - begin))
    return {"error": round(best[0], 4), "chain": best[1], "seconds": round(best[2], 1)}


def star(program, folder):
    if not STAR.exists():
        print("the real star is not there: skipped")
        return
    for name, deviance, r_factor, seconds in (("siemens-star-64-counts", 0.0188, 0.0630, 5),
                                              ("siemens-star-counts", 0.0348, 0.160, 10)):
        begin = time.time()
        run(program, "reconstruct", STAR / f"{name}.npz", "-o", folder / "star", "--mask", "none",
            "--hold-out-file", SPLIT, "--no-verdict")
        took = time.time() - begin
        scores = json.loads((folder / "star" / "scores.json").read_text())
        print(f"{name:24} deviance {scores['held_out.deviance_per_photon']:.4f} (bar {deviance}, mean pattern "
              f"{scores['held_out.mean_pattern_deviance_per_photon']:.4f}), R "
              f"{scores['held_out.r_factor']:.4f} (bar {r_factor}), {took:.1f} s (bar {seconds})")


def compare(program, half, only, figures, folder):
    """Ratio of the default's error to that of the best known chain, for every scan of a half."""
    ratios = []
    for scan in table(half):
        if only not in scan["name"] or scan["name"] not in figures:
            continue
        file, truth = make(program, scan, folder)
        begin = time.time()
        run(program, "reconstruct", file, "-o", folder / "default", "--no-verdict", *HELD_OUT)
        took, best = time.time() - begin, figures[scan["name"]]
        found = error(truth, folder / "default" / "reconstruction.h5")
        ratios.append(found / best["error"])
        faults = " ".join(f"{key} {scan[key]:g}" for key in ("defocus_error", "position_error", "blur",
                                                             "background") if scan[key])
        print(f"{scan['name']:10} {scan['object']:12} {scan['dose']:<7g} overlap {scan['overlap']:g} "
              f"{scan['probe']:9} {faults:36} {found:.3f} in {took:4.1f} s, best known {best['error']:.3f} "
              f"({best['chain']}, {best['seconds']} s): {ratios[-1]:.2f}", flush=True)
    return ratios


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ptyche", nargs="?", default=str(ROOT / "build" / "release" / "ptyche"))
    parser.add_argument("--half", choices=HALVES)
    parser.add_argument("--only", default="")
    parser.add_argument("--renew", metavar="OLD_PTYCHE")
    parser.add_argument("--bars", action="store_true",
                        help="exit code 1 where it is worse than it was: median .9 (few photons 1), worst 1.15")
    options = parser.parse_args()
    figures = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    missed = False
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for half in [options.half] if options.half else HALVES:
            if options.renew:
                for scan in table(half):
                    if options.only in scan["name"]:
                        figures[scan["name"]] = known(options.renew, *make(options.ptyche, scan, folder), folder)
                        FIGURES.write_text(json.dumps(figures, indent=1) + "\n")
                continue
            ratios = compare(options.ptyche, half, options.only, figures, folder)
            if not ratios:
                continue
            median, worst = float(np.median(ratios)), max(ratios)
            bar, was = (0.93, 1.0) if "few" in half or "low" in half else (0.80, 0.90)
            print(f"{half}: median {median:.2f} (bar {bar}), worst {worst:.2f} (bar 1.1)")
            missed = missed or median > was or worst > 1.15
        if not options.half and not options.renew and not options.only:
            star(options.ptyche, folder)
    sys.exit(1 if missed and options.bars else 0)


if __name__ == "__main__":
    main()
