#!/usr/bin/env python3
"""Raw stacks of an electron microscope, no positions and no probe: is the raster's rotation found, and the image right?

  bench_stem.py [--half tune|report|third|...|eighth] [--only TEXT] [--rotation-only] [--work FOLDER] [--bars] [PTYCHE]

Twelve rasters of a half, turned by any angle, half of them seen by a transposed detector: atoms, photographs and leaves
under aberrated beams, 3e2 to 1e5 electrons a pattern. `reconstruct --scan-rotation auto` with the microscope's numbers;
the angle beside the true one (the opposite one is the twin image), and of an image the error over the truth's contrast
beside that with the true angle given. Thresholds were chosen on `tune`; failures of `report`, `third` and `fourth` were looked at. --bars: exit code 1 if
fewer than 11 of 12 angles are within a degree.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import h5py
import numpy as np

from bench_defaults import error
from bench_lines import ROOT, cleared
from bench_probes import leaves, picture

SEEDS = {"tune": 31, "report": 42, "third": 101, "fourth": 102, "fifth": 201, "sixth": 202, "seventh": 301, "eighth": 302}
VOLTAGE, WAVELENGTH, ANGLE = "300kV", 1.96875e-12, 0.0214


def table(half):
    """The scans of a half: a dict each."""
    rng = np.random.default_rng(SEEDS[half])
    objects = rng.permutation(["atoms", "atoms", "lattice", "lattice", "picture", "leaves"] * 2)
    doses = rng.permutation([3e2, 1e3, 3e3, 1e4, 1e4, 1e5] * 2)
    return [{"name": f"{half}-{i:02d}", "object": str(objects[i]), "dose": float(doses[i]),
             "degrees": float(rng.uniform(-180, 180)), "transposed": bool(i % 2), "N": int(rng.choice([48, 64])),
             "side": int(rng.choice([14, 18, 24])), "rim": float(rng.uniform(.3, .5)),
             "spot": float(rng.uniform(.1, .22)) * bool(i % 4), "sign": int(rng.choice([-1, 1])),
             "spherical": float(rng.choice([0, 0, 3])), "overlap": float(rng.uniform(.65, .85)),
             "phase": float(rng.choice([.3, .8, 1.5])), "seed": int(rng.integers(1, 9999))} for i in range(12)]


def beam(scan):
    """A disk in the detector's plane with the phase of a defocus and of spherical aberration."""
    size = scan["N"]
    y, x = (np.mgrid[:size, :size] - size // 2) / (size / 2)
    q = np.hypot(y, x)
    lens = np.pi * scan["spot"] * size / (2 * scan["rim"]) * scan["sign"]
    phase = lens * q * q + scan["spherical"] * (q / scan["rim"]) ** 4
    # Half of the intensity at the rim, which is what a semi-angle means.
    disk = 1 / (1 + np.exp(np.clip((q - scan["rim"]) * size + np.log(np.sqrt(2) - 1), -50, 50)))
    wave = disk * np.exp(1j * phase)
    probe = np.fft.fftshift(np.fft.ifft2(np.fft.ifftshift(wave), norm="ortho"))
    return probe * np.sqrt(scan["dose"] / (abs(probe) ** 2).sum())


def sample(scan, rng, side):
    """Transmission (side, side): phase and, of pictures and leaves, some absorption."""
    if scan["object"] in ("picture", "leaves"):
        draw = picture if scan["object"] == "picture" else leaves
        return (1 - .2 * draw(rng, side)) * np.exp(1j * scan["phase"] * (draw(rng, side) - .5))
    y, x = np.mgrid[:side, :side]
    if scan["object"] == "atoms":
        places = rng.uniform(0, side, (side * side // 150, 2))
    else:
        turn, step = rng.uniform(0, np.pi), rng.uniform(9, 13)
        grid = np.stack(np.mgrid[-60:60, -60:60], -1).reshape(-1, 2) * step
        grid = grid @ np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]]) + side / 2
        places = grid[(abs(grid - side / 2) < side / 2).all(1)]
        places = places[rng.uniform(size=len(places)) < .85]
    phase, width = np.zeros((side, side)), rng.uniform(1.6, 3)
    for row, col in places:
        top, left = max(int(row) - 12, 0), max(int(col) - 12, 0)
        box = np.s_[top:top + 26, left:left + 26]
        phase[box] += np.exp(-((y[box] - row) ** 2 + (x[box] - col) ** 2) / (2 * width ** 2))
    return np.exp(1j * scan["phase"] * phase)


def places_of(scan, step):
    """Positions (n, 2) in pixels on the detector's axes, as read with --scan-rotation."""
    line = (np.arange(scan["side"]) - (scan["side"] - 1) / 2) * step
    row, col = (each.ravel() for each in np.meshgrid(line, line, indexing="ij"))
    angle = np.radians(scan["degrees"])
    turned = np.stack([row * np.cos(angle) + col * np.sin(angle), col * np.cos(angle) - row * np.sin(angle)], 1)
    return turned[:, ::-1] if scan["transposed"] else turned


def make(scan, folder):
    """The stack, the words that a user gives, and the truth."""
    rng = np.random.default_rng(scan["seed"])
    probe, size = beam(scan), scan["N"]
    y, x = np.mgrid[:size, :size] - size // 2
    power = abs(probe) ** 2 / (abs(probe) ** 2).sum()
    order = np.argsort(np.hypot(y, x).ravel())
    wide = 2 * np.hypot(y, x).ravel()[order][np.searchsorted(np.cumsum(power.ravel()[order]), .9)]
    step = max((1 - scan["overlap"]) * wide, 1.5)
    places = places_of(scan, step)
    places = places - places.min(0) + 4
    side = int(np.ceil(places.max())) + size + 8
    truth = sample(scan, rng, side)
    k, wave = np.fft.fftfreq(size), np.fft.fft2(probe)
    counts = np.zeros((len(places), size, size), np.uint32)
    for j, (r, c) in enumerate(places):
        i, l = int(np.floor(r)), int(np.floor(c))
        moved = np.fft.ifft2(wave * np.exp(-2j * np.pi * (k[:, None] * (r - i) + k[None] * (c - l))))
        counts[j] = rng.poisson(abs(np.fft.fftshift(np.fft.fft2(moved * truth[i:i + size, l:l + size], norm="ortho"))) ** 2)
    np.save(folder / f"{scan['name']}.npy", counts.astype(np.float32))
    # The aperture's radius is rim N / 2 detector pixels: an object pixel is wavelength / (N angle of a pixel).
    pixel_m = WAVELENGTH / (size * ANGLE / (scan["rim"] * size / 2))
    words = ["--scan-shape", f"{scan['side']}x{scan['side']}", "--scan-step", f"{step * pixel_m:.6e}",
             "--voltage", VOLTAGE, "--semi-angle", f"{ANGLE * 1e3}mrad", "--domain", "counts"]
    return folder / f"{scan['name']}.npy", words, truth


def image_error(truth, out, twin):
    """Of the image, or of the twin: conj P(-r) and conj O(-r) give the same patterns."""
    if not (out / "reconstruction.h5").exists():
        return float("inf")
    return error(np.conj(truth[::-1, ::-1]) if twin else truth, out / "reconstruction.h5", anywhere=True)


def reconstruct(program, file, out, words):
    done = subprocess.run([str(program), *cleared(["reconstruct", file, "-o", out, *words])], capture_output=True, text=True)
    return done.stdout.split(":")[0] if done.returncode in (0, 4) else "refused", done.stdout + done.stderr


def found_angle(said):
    found = re.search(r"raster is turned by (-?[0-9.]+) degrees( against a transposed)?", said)
    return (float(found[1]), bool(found[2])) if found else (float("nan"), False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?", default=ROOT / "build/release/ptyche")
    parser.add_argument("--half", choices=SEEDS, default="report")
    parser.add_argument("--only", default="")
    parser.add_argument("--rotation-only", action="store_true", help="read and look, no image")
    parser.add_argument("--work", type=pathlib.Path)
    parser.add_argument("--bars", action="store_true")
    a = parser.parse_args()
    right, rows = 0, []
    with tempfile.TemporaryDirectory() as temporary:
        folder = a.work or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for scan in table(a.half):
            if a.only not in scan["name"] + " " + scan["object"]:
                continue
            file, words, truth = make(scan, folder)
            auto = [*words, "--scan-rotation", "auto"]
            if a.rotation_only:
                done = subprocess.run([str(a.program), "info", str(file), "--check", "--verbose", *auto], capture_output=True, text=True)
                verdict, said = "", done.stdout + done.stderr
            else:
                verdict, said = reconstruct(a.program, file, folder / "out", auto)
            degrees, transposed = found_angle(said)
            off = abs((degrees - scan["degrees"] + 90) % 180 - 90)
            is_twin = abs((degrees - scan["degrees"] + 180) % 360 - 180) > 90
            ok = off <= 1 and transposed == scan["transposed"]
            right += ok
            text = ""
            if not a.rotation_only:
                of_image = min(image_error(truth, folder / "out", twin) for twin in (False, True))
                text = f" error {of_image:.3f} {verdict}"
            rows.append(ok)
            print(f"{scan['name']} {scan['object']:8} {scan['dose']:6.0e} N {scan['N']} {scan['side']}^2 overlap "
                  f"{scan['overlap']:.2f} phase {scan['phase']} Cs {scan['spherical']:.0f}: {scan['degrees']:7.1f} {'T' if scan['transposed'] else ' '} found "
                  f"{degrees:7.1f} {'T' if transposed else ' '} {'ok' if ok else 'WRONG'}{' twin' if ok and is_twin else ''}{text}", flush=True)
            if not ok:
                print("   " + next((line for line in said.splitlines() if "rotation" in line or "raster" in line), said[-200:]))
    print(f"{right} of {len(rows)} angles within a degree")
    return 1 if a.bars and right * 12 < 11 * len(rows) else 0


if __name__ == "__main__":
    sys.exit(main())
