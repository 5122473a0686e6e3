#!/usr/bin/env python3
"""Our solvers beside pty-chi and CDTools on the same patterns: patterns x passes per second, in turn.

  bench_peers.py --peers PYTHON [--rounds N] [--size N] [--patterns N] [--work FOLDER] [PTYCHE]

PYTHON is that of an environment with ptychi, cdtools-py or both (`python3 -m venv peers`;
`peers/bin/pip install ptychi cdtools-py`); they run by their own defaults but for what the rows name.
A rate is that of more passes: of the time of 2 + K less that of 2, so that no start is in it.
"""
import argparse
import csv
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FEW, BAR = 2, {1: 12.0, 3: 10.0}
# Program, algorithm there, our solver; passes beyond FEW of theirs, of ours.
PAIRS = (("ptychi", "LSQML", "lsqml", 4, 40), ("ptychi", "EPIE", "epie", 3, 60),
         ("cdtools", "Adam", "ml", 4, 40))
THREE_MODES = ("LSQML", "Adam")


# What runs in the peers' Python: `bench_peers.py --inside PROGRAM ALGORITHM NPZ MODES PASSES`.

def first_probe(npz, modes):
    """The file's probe and modes of a twentieth of its power, (modes, N, N)."""
    import numpy as np
    probe = npz["probeGuess"].astype("complex64")
    ramp = np.exp(2j * np.pi * np.arange(probe.shape[0]) / probe.shape[0])
    return np.stack([probe] + [0.22 * probe * ramp ** k for k in range(1, modes)]).astype("complex64")


def ptychi_runs(algorithm, npz, modes):
    import numpy as np
    import ptychi.api as api
    from ptychi.api.task import PtychographyTask
    size = npz["diffraction"].shape[-1]
    x, y = (npz[axis] - npz[axis].mean() for axis in ("xcoords", "ycoords"))
    side = [int(np.ptp(axis)) + size + 20 for axis in (y, x)]
    options = getattr(api, algorithm + "Options")()
    options.data_options.data = npz["diffraction"]
    options.object_options.initial_guess = np.ones([1, *side], dtype="complex64")
    options.object_options.pixel_size_m = 1
    options.probe_options.initial_guess = first_probe(npz, modes)[None]
    options.probe_position_options.position_x_px = x
    options.probe_position_options.position_y_px = y
    options.reconstructor_options.batch_size = 50
    options.reconstructor_options.default_device = api.Devices.CPU
    options.reconstructor_options.num_epochs = 10000
    task = PtychographyTask(options)
    return task.run


def cdtools_runs(npz, modes):
    import numpy as np
    import cdtools
    size, pixel = npz["diffraction"].shape[-1], 1e-8
    wavelength, distance = 1.5e-10, 1.0
    step = wavelength * distance / (size * pixel)  # of the detector, so that an object pixel is `pixel`
    places = np.stack([npz["xcoords"], npz["ycoords"], 0 * npz["xcoords"]], axis=1) * pixel
    geometry = {"distance": distance, "corner": None,
                "basis": np.array([[0, -step], [-step, 0], [0, 0]])}
    scan = cdtools.datasets.Ptycho2DDataset(places.astype("float32"), npz["diffraction"].astype("float32"),
                                            wavelength=wavelength, detector_geometry=geometry)
    model = cdtools.models.FancyPtycho.from_dataset(scan, n_modes=modes, obj_padding=20)
    return lambda passes: [None for _ in model.Adam_optimize(passes, scan, batch_size=15)]


def inside(program, algorithm, file, modes, passes):
    import time
    import numpy as np
    import torch
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    npz = np.load(file)
    run = ptychi_runs(algorithm, npz, modes) if program == "ptychi" else cdtools_runs(npz, modes)
    run(FEW)
    start = time.perf_counter()
    run(passes)
    print(json.dumps({"seconds": time.perf_counter() - start}))


# What runs here.

def their_rate(options, pair, npz, modes):
    program, algorithm, _, passes, _ = pair
    words = [options.peers, __file__, "--inside", program, algorithm, npz, modes, passes]
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, env=dict(os.environ, OMP_NUM_THREADS="2"))
    if done.returncode:
        print(f"{program} did not run: {done.stderr.strip().splitlines()[-1]}")
        return None
    return options.patterns * passes / json.loads(done.stdout.strip().splitlines()[-1])["seconds"]


def our_seconds(options, npz, solver, passes, modes):
    folder = options.work / "ours"
    shutil.rmtree(folder, ignore_errors=True)
    words = [options.ptyche, "solve", npz, "-o", folder, "--solver", f"{solver}:{passes}", "--probe-modes",
             modes, "--every", 100000, "--threads", 2, "--hold-out", 0, "--no-check", "--no-verdict",
             "--mask", "none"]
    subprocess.run([str(word) for word in words], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    with open(folder / "progress.csv") as file:
        return float(list(csv.DictReader(file))[-1]["seconds"])


def our_rate(options, pair, npz, modes):
    _, _, solver, _, passes = pair
    few, many = (our_seconds(options, npz, solver, n, modes) for n in (FEW, FEW + passes))
    return options.patterns * passes / (many - few)


def scan_of(options):
    file = options.work / "scan.npz"
    words = [options.ptyche, "simulate", "-o", file, "--N", options.size, "--frames", options.patterns]
    subprocess.run([str(word) for word in words], check=True, stdout=subprocess.DEVNULL)
    return file


def compare(options):
    npz, missed, ran = scan_of(options), 0, False
    print(f"{options.patterns} patterns of {options.size} x {options.size}, two threads, patterns x passes/s")
    for modes in (1, 3):
        for pair in (p for p in PAIRS if modes == 1 or p[1] in THREE_MODES):
            rates = [(our_rate(options, pair, npz, modes), their_rate(options, pair, npz, modes))
                     for _ in range(options.rounds)]
            if any(theirs is None for _, theirs in rates):
                continue
            ran = True
            ours, theirs = (max(rate) for rate in zip(*rates))
            missed += ours < BAR[modes] * theirs
            print(f"{pair[2]}, {modes} mode{'s' * (modes > 1)}: {ours:8.0f}   {pair[0]} {pair[1]} "
                  f"{theirs:7.0f}   ratio {ours / theirs:5.1f} (bar {BAR[modes]:.0f})", flush=True)
    if not ran:
        sys.exit("no peer ran: nothing was compared")
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--peers", required=True, help="Python with ptychi, cdtools-py or both")
    parser.add_argument("--rounds", type=int, default=2, help="the fastest counts, of each")
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--patterns", type=int, default=400)
    parser.add_argument("--work", type=pathlib.Path)
    parser.add_argument("ptyche", nargs="?", default=ROOT / "build" / "release" / "ptyche")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        options.work = options.work or pathlib.Path(folder)
        sys.exit(1 if compare(options) else 0)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        inside(sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5]), int(sys.argv[6]))
    else:
        main()
