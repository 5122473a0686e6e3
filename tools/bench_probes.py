#!/usr/bin/env python3
"""Scans without a probe: what the search finds, beside the true probe as a start.

  bench_probes.py [--half tune|report|fresh|later|newest] [--set plain|hard|aberrated|star] [--only TEXT] [--one-in K]
                  [--chain CHAIN] [--bars] [PTYCHE]

`plain`: 40 simulated scans, lenses out of focus and in focus, zone plates, electron probes with spherical
aberration, aberrated lenses, Gaussian beams, pinholes; N = 64, 128 and 256, 1e4 and 1e6 photons a pattern,
100 or 400 patterns, weak to strong objects. `hard`: 20 with structured or off-centre beams, a background, a
beam stop, wrong positions. `aberrated`: 20 with two defoci about an axis (1.2 to 3 times, or of opposite
signs) or 8 to 20 rad of spherical aberration at the rim. Every tenth pattern is held out; the deviance of
these after the default chain (--chain names a shorter one), from the probe that was found, is divided by that
from the true probe. Of a scan above its bar the ratios of two more splits are printed as well; the first one counts.
`report`, `fresh`, `later` and `newest` hold scans by which nothing of the search was chosen. `star`: the real star, where it is there, the
default chain, beside the file's probe.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from scipy import ndimage

from bench_lines import ROOT, SPLIT, STAR, cleared

SEEDS = {"tune": 11, "report": 22, "fresh": 33, "later": 44, "newest": 55}
PLAIN = ["lens"] * 12 + ["zone plate"] * 5 + ["electron"] * 5 + ["in focus"] * 6 + ["aberrated"] * 3 + \
    ["aberrated lens"] * 3 + ["gaussian"] * 3 + ["pinhole"] * 3
ABERRATED = ["astigmatic"] * 8 + ["astigmatic, saddle"] * 4 + ["spherical"] * 8
HARD = ["diffuser", "stripes", "speckle", "square", "off-centre"] * 4
LIMITS = {"plain": 1.1, "hard": 1.15, "aberrated": 1.15, "star": 1.0}
# A short chain from a flat object stops now here, now there: from the true probe, changed by a thousandth, between
# .0068 and .0090 in one scan. What misses its bar is measured on two more splits, for the reader; the first one counts.
OTHER_SPLITS = (2, 3)
SEED_OF_SET = {"plain": 0, "hard": 1000, "aberrated": 2000}


def table(half, which):
    """The scans of a set: a dict each."""
    if which == "star":
        return [{"name": f"star-{size}", "beam": "measured", "N": size, "photons": 4e5, "frames": 516,
                 "contrast": "", "overlap": 0., "file": STAR / f"siemens-star{end}.npz"}
                for size, end in ((64, "-64-counts"), (128, "-counts"))]
    rng = np.random.default_rng(SEEDS[half] + SEED_OF_SET[which])
    beams = {"plain": PLAIN, "hard": HARD, "aberrated": ABERRATED}[which]
    scans = []
    for i, beam in enumerate(beams):
        size = 256 if which != "aberrated" and i in (5, 20) else int(rng.choice([64, 64, 128]))
        scan = {"name": f"{which}-{half}-{i:02d}", "beam": beam, "N": size,
                "photons": float(rng.choice([1e4, 1e6])), "frames": int(rng.choice([100, 400])),
                "overlap": float(rng.uniform(.6, .85)), "object": str(rng.choice(["leaves", "pictures"])),
                "contrast": str(rng.choice(["weak", "middle", "strong"])), "seed": int(rng.integers(1, 9999)),
                "in_focus": beam == "in focus", "background": 0., "stop": False, "position_error": 0.}
        if which == "aberrated":
            scan["contrast"] = str(rng.choice(["weak", "middle", "middle", "strong"]))
        if which == "hard":
            fault = ("none", "background", "stop", "positions")[i // 5]
            scan.update(background=.05 if fault == "background" else 0., stop=fault == "stop",
                        position_error=.3 if fault == "positions" else 0.)
            scan["contrast"] = str(rng.choice(["middle", "strong"]))
            scan["in_focus"] = bool(rng.uniform() < .4)
        scans.append(scan)
    return scans


def smooth(rng, shape, radius):
    field = ndimage.gaussian_filter(rng.normal(size=shape), radius, mode="wrap")
    return field / field.std()


def astigmatic(rng, farthest, rim, saddle):
    """Coefficients of yy, xx and yx in a phase of two defoci about an axis; a ray lands up to `farthest` px out."""
    large = np.pi * farthest / (2 * rim) * rng.choice([-1, 1])
    small = large / rng.uniform(1.2, 3) * (-1 if saddle else 1)
    angle = rng.uniform(0, np.pi)
    c, s = np.cos(angle), np.sin(angle)
    return large * c * c + small * s * s, large * s * s + small * c * c, 2 * (large - small) * c * s


def spherical(rng, size, rim):
    """Coefficients of (q/rim)^2 and (q/rim)^4: 8 to 20 rad at the rim and any defocus that leaves no ray beyond .28 N."""
    u = np.linspace(0, 1, 50)
    while True:
        cs = rng.uniform(8, 20) * rng.choice([-1, 1])
        defocus = cs * rng.uniform(-2, 1)
        if abs(2 * defocus * u + 4 * cs * u ** 3).max() / (np.pi * rim) < .28 * size:
            return defocus, cs


def far_field(scan, rng):
    """The beam at the detector, its edge at q = 1, or in the sample's plane."""
    size, beam = scan["N"], scan["beam"]
    y, x = (np.mgrid[:size, :size] - size // 2) / (size / 2)
    rim = rng.uniform(.26, .56)
    spot = rng.uniform(.1, .25) * size
    sign = rng.choice([-1, 1])
    if beam == "off-centre":
        angle = rng.uniform(0, 2 * np.pi)
        y, x = y - .3 * rng.uniform(.4, 1) * np.sin(angle), x - .3 * rng.uniform(.4, 1) * np.cos(angle)
        rim = min(rim, .4)
    q = np.hypot(y, x)
    soft = lambda r: 1 / (1 + np.exp(np.clip((q - r) / (.04 * r), -50, 50)))
    lens = np.pi * spot / (2 * rim) * sign                        # phase c q^2 throws the rim to `spot` px
    if scan["in_focus"]:
        lens = 0.
    aperture, phase = soft(rim), lens * q * q
    angle = np.arctan2(y, x)
    if beam == "zone plate":
        aperture = aperture - soft(rim * rng.uniform(.3, .5))
    elif beam == "electron":
        phase = phase + rng.uniform(2, 8) * sign * (q / rim) ** 4
    elif beam in ("aberrated", "aberrated lens"):
        u = q / rim
        modes = [u * u * np.cos(2 * angle), u * u * np.sin(2 * angle), (3 * u ** 3 - 2 * u) * np.cos(angle),
                 (3 * u ** 3 - 2 * u) * np.sin(angle), u ** 3 * np.cos(3 * angle)]
        extra = sum(w * m for w, m in zip(rng.normal(size=5), modes))
        extra *= rng.uniform(.25, .5) / extra[u < 1].std()
        phase = extra + (phase if beam == "aberrated lens" else 0)
    elif beam.startswith("astigmatic"):
        yy, xx, yx = astigmatic(rng, spot, rim, beam.endswith("saddle"))
        phase = yy * y * y + xx * x * x + yx * y * x
    elif beam == "spherical":
        defocus, cs = spherical(rng, size, rim)
        phase = defocus * (q / rim) ** 2 + cs * (q / rim) ** 4
    elif beam == "diffuser":
        phase = phase + rng.uniform(.5, 1.5) * smooth(rng, q.shape, size / 24)
    elif beam == "stripes":
        square = lambda v: 1 / (1 + np.exp(np.clip((abs(v) - rim) / (.03 * rim), -50, 50)))
        stripe = lambda v: 1 + .35 * ndimage.gaussian_filter1d(rng.normal(size=4 * size), 2)[:size][None] * 2
        aperture = square(y) * square(x) * np.clip(stripe(x), .2, 3) * np.clip(stripe(y).T, .2, 3)
    elif beam == "speckle":
        aperture = aperture * abs(smooth(rng, q.shape, size / 40) + 1j * smooth(rng, q.shape, size / 40))
    elif beam == "square":
        square = lambda v: 1 / (1 + np.exp(np.clip((abs(v) - rim) / (.03 * rim), -50, 50)))
        aperture = square(y) * square(x)
    return aperture * np.exp(1j * phase)


def probe_of(scan, rng):
    size = scan["N"]
    y, x = np.mgrid[:size, :size] - size // 2
    if scan["beam"] == "gaussian":
        probe = np.exp(-(y * y + x * x) / (2 * (rng.uniform(.04, .1) * size) ** 2)).astype(complex)
    elif scan["beam"] == "pinhole":
        radius = rng.uniform(.08, .18) * size
        probe = (1 / (1 + np.exp(np.clip((np.hypot(y, x) - radius) / .7, -50, 50)))).astype(complex)
    else:
        wave = far_field(scan, rng)
        probe = np.fft.fftshift(np.fft.ifft2(np.fft.ifftshift(wave), norm="ortho"))
    return probe * np.sqrt(scan["photons"] / (abs(probe) ** 2).sum())


def diameter(probe, share=.9):
    power = abs(probe) ** 2 / (abs(probe) ** 2).sum()
    y, x = np.mgrid[:len(power), :len(power)]
    radius = np.hypot(y - (power * y).sum(), x - (power * x).sum()).ravel()
    order = np.argsort(radius)
    return 2 * radius[order][np.searchsorted(np.cumsum(power.ravel()[order]), share)]


def leaves(rng, side):
    """Discs of many sizes, each over those before it."""
    image = np.zeros((side, side))
    y, x = np.mgrid[:side, :side]
    for radius in np.sort(1 / rng.uniform(1 / 30, 1 / 2, 500))[::-1]:
        r, c = rng.uniform(0, side, 2)
        box = np.s_[max(int(r - radius), 0):int(r + radius) + 2, max(int(c - radius), 0):int(c + radius) + 2]
        image[box][(y[box] - r) ** 2 + (x[box] - c) ** 2 < radius ** 2] = rng.uniform()
    return image


def picture(rng, side):
    """Like a photograph: edges of many sizes and a texture whose power falls as 1/k^2."""
    k = np.hypot(np.fft.fftfreq(side)[:, None], np.fft.fftfreq(side)[None])
    fields = [np.fft.ifft2(np.fft.fft2(rng.normal(size=(side, side))) / (k + 2 / side) ** power).real
              for power in (1., 1., 1.6)]
    mixed = np.where(fields[2] > np.median(fields[2]), fields[0], .6 * fields[1] - fields[1].std())
    low, high = np.percentile(mixed, (1, 99))
    return np.clip((mixed - low) / (high - low), 0, 1)


def make(scan, folder):
    """The scan with its true probe, and without one."""
    if "file" in scan:
        none = folder / f"{scan['name']}-none.npz"
        np.savez(none, **{key: value for key, value in np.load(scan["file"]).items() if key != "probeGuess"})
        return scan["file"], none
    true, none = folder / f"{scan['name']}-true.npz", folder / f"{scan['name']}-none.npz"
    if none.exists():
        return true, none
    rng = np.random.default_rng(scan["seed"])
    probe, size = probe_of(scan, rng), scan["N"]
    step = max((1 - scan["overlap"]) * diameter(probe), 1.)
    across = int(np.ceil(np.sqrt(scan["frames"])))
    grid = np.stack(np.mgrid[:across, :across], -1).reshape(-1, 2)[:scan["frames"]] * step
    positions = grid + rng.uniform(-.25, .25, grid.shape) * step
    positions -= positions.min(0)
    side = int(np.ceil(positions.max())) + size + 2
    draw = leaves if scan["object"] == "leaves" else picture
    low, phase = {"weak": (.96, .3), "middle": (.6, 1.2), "strong": (.7, 3.)}[scan["contrast"]]
    first = draw(rng, side)
    second = first if scan["object"] == "leaves" and rng.uniform() < .5 else draw(rng, side)
    sample = (1 - (1 - low) * first) * np.exp(1j * phase * (second - .5))
    k = np.fft.fftfreq(size)
    wave = np.fft.fft2(probe)
    counts = np.zeros((len(positions), size, size), np.float32)
    for j, (r, c) in enumerate(positions):
        i, l = int(np.floor(r)), int(np.floor(c))
        moved = np.fft.ifft2(wave * np.exp(-2j * np.pi * (k[:, None] * (r - i) + k[None] * (c - l))))
        power = abs(np.fft.fftshift(np.fft.fft2(moved * sample[i:i + size, l:l + size], norm="ortho"))) ** 2
        counts[j] = rng.poisson(power + scan["background"] * scan["photons"] / size ** 2)
    mask = np.ones((size, size), bool)
    if scan["stop"]:
        y, x = np.mgrid[:size, :size] - size // 2
        mask[np.hypot(y, x) < .05 * size] = False
        counts *= mask
    given = positions + rng.normal(size=positions.shape) * scan["position_error"]
    arrays = dict(diffraction=counts, xcoords=given[:, 1] + size, ycoords=given[:, 0] + size, mask=mask)
    np.savez(true, probeGuess=probe.astype(np.complex64), **arrays)
    np.savez(none, **arrays)
    return true, none


def solve(program, scan, out, options):
    run = subprocess.run([program, *cleared(["solve", scan, "-o", out, "--domain", "counts", "--no-check",
                                             "--no-verdict", *options])], capture_output=True, text=True)
    scores = out / "scores.json"
    if not scores.exists():
        return {}, run.stderr
    found = json.loads(scores.read_text())
    scores.unlink()
    return {k: v for k, v in found.items() if isinstance(v, (int, float))}, run.stderr


def both(program, true, none, folder, more, kept):
    """Scores from the true probe (kept for the next run) and from the found one, and what was said with it."""
    if kept.exists():
        best = json.loads(kept.read_text())
    else:
        best, _ = solve(program, true, folder / "out", (*more, "--probe", "scan"))
        kept.write_text(json.dumps(best))
    return best, *solve(program, none, folder / "out", (*more, "--probe", "auto"))


def again(program, true, none, folder, more, seed):
    """The ratio of another split into used and held-out patterns."""
    of_true, _ = solve(program, true, folder / "out", (*more, "--probe", "scan", "--seed", str(seed)))
    of_found, _ = solve(program, none, folder / "out", (*more, "--probe", "auto", "--seed", str(seed)))
    return deviance(of_found) / deviance(of_true)


def deviance(scores):
    return scores.get("held_out.deviance_per_photon", np.inf)


def line_of(stderr, begins):
    return next((line for line in stderr.splitlines() if line.startswith(begins)), "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?", default=ROOT / "build/release/ptyche")
    parser.add_argument("--half", choices=SEEDS, default="report")
    parser.add_argument("--set", choices=LIMITS, default="plain")
    parser.add_argument("--only", default="")
    parser.add_argument("--one-in", type=int, default=1, help="of the scans so chosen")
    parser.add_argument("--chain", default="auto", help="as --solver of solve; default %(default)s")
    parser.add_argument("--work", type=pathlib.Path)
    parser.add_argument("--bars", action="store_true", help="exit with 1 where a scan misses its bar")
    a = parser.parse_args()
    if a.set == "star" and not STAR.exists():
        print(f"skipped: {STAR} is not there")
        return 77
    with tempfile.TemporaryDirectory() as temporary:
        folder = a.work or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        rows = []
        chosen = [scan for scan in table(a.half, a.set) if a.only in scan["name"]]
        for scan in chosen[::a.one_in]:
            true, none = make(scan, folder)
            more = ("--hold-out", "0.1", "--solver", a.chain)
            if a.set == "hard" and a.chain != "auto":
                more += ("--background",)
            if a.set == "star":
                more = ("--hold-out-file", SPLIT, "--mask", "none")
            kept = folder / f"{scan['name']}-true-{a.chain}.json"
            best, found, said = both(a.program, true, none, folder, more, kept)
            splits = [deviance(found) / deviance(best)]
            if splits[0] > LIMITS[a.set] and a.set != "star":
                splits += [again(a.program, true, none, folder, more, seed) for seed in OTHER_SPLITS]
            floor, mean = (best.get(f"held_out.{key}", 0) for key in
                           ("deviance_per_photon_floor", "mean_pattern_deviance_per_photon"))
            sure = found.get("probe.sure", 0) > 0
            seconds = found.get("probe.seconds", np.nan)
            rows.append((splits[0], sure, seconds, scan["N"]))
            print(f"{scan['name']} {scan['beam']:18} N {scan['N']:3} {scan['photons']:.0e} {scan['frames']} "
                  f"{scan['contrast']:6} overlap {scan['overlap']:.2f}  "
                  f"ratio {'/'.join(f'{each:.3f}' for each in splits)} "
                  f"(true {deviance(best):.5f} found {deviance(found):.5f} mean {mean:.5f} noise {floor:.5f}) "
                  f"{'sure' if sure else 'UNSURE'} {seconds:.2f} s  {line_of(said, 'probe:')}", flush=True)
        limit = LIMITS[a.set]
        ratios = np.array([row[0] for row in rows])
        wrong = sum(row[0] > limit and row[1] for row in rows)
        quick = [row[2] for row in rows if row[3] <= 128]
        print(f"{(ratios <= limit).sum()} of {len(rows)} within {limit} ({(ratios <= 1.1).sum()} within 1.1), "
              f"{wrong} of the others called sure; "
              f"median {np.median(quick):.2f} s, longest {np.max(quick):.2f} s at N <= 128")
        missed = wrong or (ratios > limit).sum() > len(rows) / 10
        return 1 if a.bars and missed else 0


if __name__ == "__main__":
    sys.exit(main())
