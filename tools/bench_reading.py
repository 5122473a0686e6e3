#!/usr/bin/env python3
"""How fast scans are read, beside the decoder alone, on the same files with a warm cache.

  bench_reading.py [--mb 524] [--eiger-mb 2000] [--keep FOLDER] [--rounds 3] [PTYCHE]

Writes a scan in several files and prints, for each, seconds of `ptyche info` (headers and a few patterns) and its
resident memory, seconds of `ptyche info --full` (all patterns read, checked and counted, SHA-256 of the file) and its
memory and seconds of the cores' time, the decoder alone on one core or on all, and the share of its speed that is reached: of one core for the
bitshuffle-LZ4 master, of all cores for gzip, of a plain read of the file for what is not packed. The best of some
rounds counts, the program and the decoder taking turns. Exits with 1 where info takes more than 300 MB or reading
more than 1 GB of memory; seconds are not judged, for they are the machine's.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib

import h5py
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
N = 128
INFO_MB, FULL_MB = 300, 1000  # measured: 180 | 800 (float32 of 524 MB), 300 (an EIGER master of 2 GB)


def pattern_bank(rows, cols, peak, width, count, rng):
    y, x = np.mgrid[:rows, :cols]
    mean = peak * np.exp(-np.hypot(y - rows / 2, x - cols / 2) / width) + 0.03
    return [rng.poisson(mean).astype(np.uint16) for _ in range(count)]


def stack(frames, rng):
    bank = pattern_bank(N, N, 100, 8, 50, rng)
    return np.stack([bank[i % 50] for i in range(frames)])


def positions(frames, rng):
    return (np.arange(frames) % 90) * 4 + rng.normal(0, 0.3, frames), (np.arange(frames) // 90) * 4.0


def write_cxi(path, data, places, **storage):
    with h5py.File(path, "w") as f:
        f["cxi_version"] = 160
        detector = f.create_group("entry_1/instrument_1/detector_1")
        detector.create_dataset("data", data=data, **storage)
        f["entry_1/data_1/data"] = h5py.SoftLink("/entry_1/instrument_1/detector_1/data")
        f["entry_1/sample_1/geometry_1/translation"] = np.stack([places[0], places[1], 0 * places[0]], 1) * 1e-7
        detector["distance"] = 2.0
        detector["x_pixel_size"] = detector["y_pixel_size"] = 75e-6
        f["entry_1/instrument_1/source_1/energy"] = 8800 * 1.602176634e-19


def write_virtual(folder, data, places):
    """A CXI whose patterns lie in four files beside it, packed by gzip."""
    folder.mkdir(exist_ok=True)
    layout = h5py.VirtualLayout(data.shape, data.dtype)
    cuts = [part * len(data) // 4 for part in range(5)]
    for begin, end in zip(cuts, cuts[1:]):
        name = f"part_{begin}.h5"
        with h5py.File(folder / name, "w") as f:
            f.create_dataset("data", data=data[begin:end], chunks=(1, N, N), compression="gzip", shuffle=True)
        layout[begin:end] = h5py.VirtualSource(name, "data", shape=(end - begin, N, N))
    write_cxi(folder / "scan.cxi", np.zeros((len(data), 2, 2), np.uint8), places)
    with h5py.File(folder / "scan.cxi", "a") as f:
        del f["entry_1/instrument_1/detector_1/data"]
        f.create_virtual_dataset("entry_1/instrument_1/detector_1/data", layout)


def write_eiger(folder, megabytes, rng):
    """A master file, four data files of 16-bit frames of 1030 x 1065 (a 1M detector), positions."""
    import hdf5plugin
    rows, cols = 1030, 1065
    frames = int(megabytes * 1e6 / (2 * rows * cols)) // 4 * 4
    bank = pattern_bank(rows, cols, 200, 40, 20, rng)
    folder.mkdir(exist_ok=True)
    for part in range(4):
        with h5py.File(folder / f"scan_data_{part + 1:06d}.h5", "w") as f:
            data = f.create_dataset("entry/data/data", (frames // 4, rows, cols), np.uint16, chunks=(1, rows, cols),
                                    **hdf5plugin.Bitshuffle())
            for i in range(frames // 4):
                data[i] = np.roll(bank[i % 20], i // 20, 0)
    with h5py.File(folder / "scan_master.h5", "w") as f:
        for part in range(4):
            f[f"entry/data/data_{part + 1:06d}"] = h5py.ExternalLink(f"scan_data_{part + 1:06d}.h5", "/entry/data/data")
        detector = f.create_group("entry/instrument/detector")
        for name, value, unit in (("x_pixel_size", 75e-6, "m"), ("y_pixel_size", 75e-6, "m"),
                                  ("detector_distance", 2.0, "m"), ("beam_center_x", cols / 2, "pixel"),
                                  ("beam_center_y", rows / 2, "pixel")):
            detector[name] = value
            detector[name].attrs["units"] = unit
        detector["detectorSpecific/photon_energy"] = 8800.0
        detector["detectorSpecific/photon_energy"].attrs["units"] = "eV"
        detector["detectorSpecific/pixel_mask"] = np.zeros((rows, cols), np.uint32)
    np.savetxt(folder / "pos.csv", np.stack(positions(frames, rng), 1) * 1e-7, delimiter=",", header="x,y", comments="")
    return folder / "scan_master.h5"


# A process begins with the peak of the one that forked it: a small one starts the program.
STARTER = """import resource, subprocess, sys, time
begin = time.perf_counter()
done = subprocess.run(sys.argv[1:], capture_output=True, text=True)
print(time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
print(done.stdout, done.stderr)
sys.exit(done.returncode)"""


def measured(words):
    """Seconds and MB of a process, and what it printed."""
    done = subprocess.run([sys.executable, "-c", STARTER, *(str(word) for word in words)], capture_output=True,
                          text=True)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    numbers, text = done.stdout.split("\n", 1)
    return *(float(number) for number in numbers.split()), text


def plain_read(path):
    """Reads the file by 4 MB, as many threads as cores."""
    size, piece = path.stat().st_size, 4 << 20
    with open(path, "rb", buffering=0) as f, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda at: len(os.pread(f.fileno(), piece, at)), range(0, size, piece)))


def gzip_chunks(path, threads):
    """zlib alone on the chunks of a dataset."""
    with h5py.File(path) as f:
        dataset = f["entry_1/data_1/data"].id
        chunks = [dataset.read_direct_chunk(dataset.get_chunk_info(i).chunk_offset)[1]
                  for i in range(dataset.get_num_chunks())]
    begin = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        list(pool.map(zlib.decompress, chunks))
    return time.perf_counter() - begin


def deflated_member(path):
    """zlib alone on one stream."""
    with zipfile.ZipFile(path) as archive:
        info = archive.getinfo("diffraction.npy")
        with open(path, "rb") as f:
            f.seek(info.header_offset + 26)
            name, extra = np.frombuffer(f.read(4), "<u2")
            f.seek(int(name) + int(extra), 1)
            packed = f.read(info.compress_size)
    begin = time.perf_counter()
    zlib.decompress(packed, -15, info.file_size)
    return time.perf_counter() - begin


def bitshuffle_frames(folder):
    """The reference decoder of bitshuffle (hdf5plugin), one thread, into one frame's buffer."""
    import hdf5plugin  # noqa: F401
    seconds = 0
    for path in sorted(folder.glob("scan_data_*.h5")):
        with h5py.File(path) as f:
            data = f["entry/data/data"]
            frame = np.empty(data.shape[1:], data.dtype)
            begin = time.perf_counter()
            for i in range(data.shape[0]):
                data.read_direct(frame, np.s_[i])
            seconds += time.perf_counter() - begin
    return seconds


def timed(work, *arguments):
    begin = time.perf_counter()
    result = work(*arguments)
    return result if isinstance(result, float) else time.perf_counter() - begin


def compare(name, program, file, options, gigabytes, decoder, rounds):
    """One line: the best of the rounds."""
    quick = min((measured([program, "info", file, *options])[:2] for _ in range(rounds)), key=lambda one: one[0])
    best, work, memory, raw = 1e9, 1e9, 0, 1e9
    for _ in range(rounds):
        _, memory, text = measured([program, "info", "--full", file, *options])
        found = re.search(r"read in +([0-9.]+) s \(([0-9.]+) s", text)
        best, work = min(best, float(found.group(1))), min(work, float(found.group(2)))
        raw = min(raw, decoder())
    print(f"{name:28} {quick[0]:7.2f} {quick[1]:6.0f} {best:8.2f} {work:7.2f} {memory:6.0f} {gigabytes / best:7.2f} "
          f"{raw:8.2f} {gigabytes / raw:7.2f} {100 * raw / best:6.0f} %", flush=True)
    if quick[1] > INFO_MB or memory > FULL_MB:
        sys.exit(f"expected at most {INFO_MB} MB for info and {FULL_MB} MB for all patterns")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ptyche", nargs="?", default=ROOT / "build/release/ptyche")
    parser.add_argument("--mb", type=float, default=524)
    parser.add_argument("--eiger-mb", type=float, default=2000)
    parser.add_argument("--keep")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(args.keep or temporary)
        work.mkdir(parents=True, exist_ok=True)
        rng = np.random.default_rng(1)
        frames = int(args.mb * 1e6 / (4 * N * N))
        counts, places = stack(frames, rng), positions(frames, rng)
        size = counts.size
        arrays = {"xcoords": places[0], "ycoords": places[1], "probeGuess": np.ones((N, N), np.complex64)}
        amplitude = np.sqrt(counts).astype(np.float32)
        np.savez(work / "stored.npz", diffraction=amplitude, **arrays)
        np.savez_compressed(work / "deflated.npz", diffraction=amplitude, **arrays)
        write_cxi(work / "plain.cxi", counts.astype(np.float32), places)
        write_cxi(work / "gzip_frames.cxi", counts, places, chunks=(1, N, N), compression="gzip", shuffle=True)
        write_virtual(work / "virtual", counts, places)
        write_cxi(work / "gzip_h5py.cxi", counts, places, compression="gzip")
        print(f"{'':28} {'info':>14} {'all patterns':>16} {'':>14} {'decoder alone':>16} {'share':>7}")
        print(f"{'file':28} {'s':>7} {'MB':>6} {'s':>8} {'cores':>7} {'MB':>6} {'GB/s':>7} {'s':>8} {'GB/s':>7}")
        rounds, cores = args.rounds, os.cpu_count()

        def line(name, file, item_bytes, decoder):
            compare(name, args.ptyche, work / file, [], size * item_bytes / 1e9, decoder, rounds)

        line("NPZ, not packed", "stored.npz", 4, lambda: timed(plain_read, work / "stored.npz"))
        line("NPZ, deflated", "deflated.npz", 4, lambda: deflated_member(work / "deflated.npz"))
        line("CXI, float32", "plain.cxi", 4, lambda: timed(plain_read, work / "plain.cxi"))
        line("CXI, gzip and shuffle", "gzip_frames.cxi", 2, lambda: gzip_chunks(work / "gzip_frames.cxi", cores))
        line("the same in four files, VDS", "virtual/scan.cxi", 2,
             lambda: gzip_chunks(work / "gzip_frames.cxi", cores))
        line("CXI, gzip, h5py's chunks", "gzip_h5py.cxi", 2, lambda: gzip_chunks(work / "gzip_h5py.cxi", cores))
        try:
            master = write_eiger(work / "eiger", args.eiger_mb, rng)
        except ImportError as missing:
            print(f"EIGER master: not written: {missing}")
            return
        table = work / "eiger/pos.csv"
        gigabytes = sum(h5py.File(one)["entry/data/data"].size * 2 for one in (work / "eiger").glob("scan_data*")) / 1e9
        compare("EIGER master, --size 128", args.ptyche, master,
                ["--size", 128, "--positions", f"{table}:x,{table}:y"], gigabytes,
                lambda: bitshuffle_frames(work / "eiger"), rounds)


if __name__ == "__main__":
    main()
