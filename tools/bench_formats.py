#!/usr/bin/env python3
"""One simulated scan in the layouts of the field, as their writers write them, each read and solved.

  bench_formats.py [--only TEXT] [--quick] [--keep FOLDER] [PTYCHE]

Prints, for each layout, how far positions (in object pixels, after their mean is taken off), object pixel and
energy of the result are from those of the scan in Ptyche's own CXI file, and both held-out deviances. A layout
without a probe is compared with that file without its probe. --quick solves with three passes of rPIE instead
of the default chain. Exits with 1 where positions are off by more than 0.01 pixel, pixel or energy by more
than 1e-4 of themselves, or the deviance by more than 5 %.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import h5py
import numpy as np

from format_layouts import COLS, DISTANCE, ENERGY, LAYOUTS, N, PIXEL, ROWS, Data

ROOT = pathlib.Path(__file__).resolve().parent.parent


def run(words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def facts(product):
    with h5py.File(product) as f:
        pixel = f["probe"].attrs["pixel_width_m"]
        places = np.stack([f["probe_position_x_m"][()], f["probe_position_y_m"][()]])
        energy = f.attrs.get("photon_energy_eV", f.attrs.get("probe_energy_eV"))
        scores = dict(f["ptyche/scores"].attrs)
    return {"places": places, "pixel": pixel, "energy": energy,
            "deviance": scores["held_out.deviance_per_photon"]}


def solved(program, scan, out, options, quick):
    chain = ["--solver", "rpie:3"] if quick else []
    code, text = run([program, "solve", scan, "-o", out, "--threads", 1, *options, *chain])
    if not (out / "reconstruction.h5").exists():
        return None, text.strip().splitlines()[-1] if text.strip() else f"code {code}"
    return facts(out / "reconstruction.h5"), text


def simulated(program, folder, raster):
    path = folder / ("raster.cxi" if raster else "own.cxi")
    kind = ["--scan", "raster", "--jitter", 0] if raster else []
    code, text = run([program, "simulate", "-o", path, "--N", N, "--n-patterns", ROWS * COLS, "--step", 5, "--photons",
                      2e5, "--seed", 4, "--energy", ENERGY, "--distance", DISTANCE, "--detector-pixel", PIXEL, *kind])
    if code:
        sys.exit(text)
    with h5py.File(path, "a") as f:
        del f["ptyche/truth"]
    bare = path.with_name("bare_" + path.name)
    bare.write_bytes(path.read_bytes())
    with h5py.File(bare, "a") as f:
        del f["entry_1/instrument_1/source_1/illumination"]
    return path, bare


def compared(found, own):
    centred = [one["places"] - one["places"].mean(1, keepdims=True) for one in (found, own)]
    places = np.abs(centred[0] / found["pixel"] - centred[1] / own["pixel"]).max()
    energy = abs(found["energy"] / own["energy"] - 1) if found["energy"] else 0  # pixels only
    pixel = abs(found["pixel"] / own["pixel"] - 1) if found["pixel"] != 1 else 0
    return places, pixel, energy, found["deviance"] / own["deviance"] - 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ptyche", nargs="?", default=ROOT / "build/release/ptyche")
    parser.add_argument("--only", default="")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--keep")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(args.keep or temporary)
        work.mkdir(parents=True, exist_ok=True)
        bad, known = 0, {}
        scans = {raster: simulated(args.ptyche, work, raster) for raster in (False, True)}
        data = {raster: Data(scans[raster][0]) for raster in scans}
        print(f"{'layout':32} {'positions':>10} {'pixel':>9} {'energy':>9} {'deviance':>9} {'own':>9}")
        for number, (name, (write, probe, options, raster)) in enumerate(LAYOUTS.items()):
            if args.only.lower() not in name.lower():
                continue
            folder = work / f"layout_{number}"
            folder.mkdir(exist_ok=True)
            d = data[raster]
            try:
                scan = write(folder, d)
            except ImportError as missing:
                print(f"{name:32} not written: {missing}")
                continue
            own_file = scans[raster][0 if probe else 1]
            if own_file not in known:
                known[own_file] = solved(args.ptyche, own_file, work / own_file.stem, [], args.quick)[0]
            words = options.format(folder=folder, step=repr(float(abs(np.diff(d.x)[0])))).split()
            found, text = solved(args.ptyche, scan, folder / "out", words, args.quick)
            own = known[own_file]
            if found is None:
                bad += 1
                print(f"{name:32} {text[:150]}")
                continue
            places, pixel, energy, deviance = compared(found, own)
            wrong = places > 0.01 or pixel > 1e-4 or energy > 1e-4 or deviance > 0.05
            bad += wrong
            print(f"{name:32} {places:10.2g} {pixel:9.1g} {energy:9.1g} {found['deviance']:9.4g} {own['deviance']:9.4g}"
                  f"{'  <--' if wrong else ''}", flush=True)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
