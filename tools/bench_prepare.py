#!/usr/bin/env python3
"""What `ptyche info --check` says of good scans and of scans with one fault planted, and what becomes of them.

  bench_prepare.py [--only checks|images|unknown] [--half tune|second|third|report|fourth|fifth|few] [--scans N] [--fault TEXT]
                   [--good] [--say] [--keep FOLDER] [PTYCHE]

Simulated scans of many kinds (objects, probes, doses, overlaps, position and probe errors, background,
detector gaps drawn independently), and the real star where it is there, are altered in one way each.
Thresholds were chosen on `tune`, some changed after `second` and `third`; no constant was chosen by `report`;
`few` is a fixed sixth of its scans, each fault on two of them. "Named" is the right cause among the findings or in the message of a refusal, "other" another finding above a note.
`--only images`: `reconstruct` without options makes an image of each; beside that of the undamaged scan it is
"right" (at most .25 of the contrast away from it), or the scan is "refused", or its cause is "warned" of, or the image is
called "failed"; what is none of these is "silent", of which the "twin" that patterns alone cannot tell from the right
image is counted apart (as an image called doubtful is).
`--only unknown`: the scans of `bench_probes` (N up to 128), which hold no probe, with the faults that can be told without one,
through `solve`, whose short solves tell what casts no shadow. Turned frames count where the result's positions are
the true ones or their twin, the others where the cause is named.
Exits with 1 if more than one good scan in 60 gets an alarm, or a fault is named of fewer of the scans with a
curved probe than the share that stands beside it, or an image of --only images is silent or a twin.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import h5py
import numpy as np

import bench_probes
from bench_defaults import picture
from bench_faults import FAULTS, NEEDS
from bench_lines import ROOT, STAR

SEEDS = {"tune": 7101, "second": 8202, "third": 9303, "report": 10404, "fourth": 11505, "fifth": 12606}
COUNT = {"tune": 30, "second": 60, "third": 60, "report": 60, "fourth": 60, "fifth": 60}
FINDING = re.compile(r"^(refuse|correct|warn|note)\s+(.*)$", re.M)


def table(half):
    """The scans of a half: a dict each."""
    rng = np.random.default_rng(SEEDS[half])
    scans = []
    for i in range(COUNT[half]):
        size = int(rng.choice([64, 64, 64, 128]))
        probe = str(rng.choice(["defocused", "defocused", "defocused", "zernike", "disk", "gaussian"]))
        diameter = float(rng.uniform(14, 30) * size / 64)
        scans.append({
            "name": f"{half}-{i:02d}", "size": size, "probe": probe, "diameter": round(diameter, 1),
            "defocus": float(rng.choice([1, 1, -1, 0.7])),
            "object": str(rng.choice(["picture", "dead-leaves", "lines", "random-field", "siemens-star",
                                      "bars"])),
            "material": str(rng.choice(["one", "independent"])),
            "phase": round(float(rng.choice([0.3, 1, 1.5, 3, 6]) * rng.uniform(0.8, 1)), 2),
            "absorbs": round(float(rng.choice([0.6, 0.8, 1.0])), 2),
            "dose": float(10 ** rng.uniform(3, 6)), "overlap": float(rng.choice([0.5, 0.6, 0.7, 0.8])),
            "frames": int(rng.choice([60, 100, 200, 400])),
            "scan": str(rng.choice(["jittered", "jittered", "fermat", "raster"])),
            "defocus_error": float(rng.choice([0, 0, 0.1, -0.1])),
            "position_error": float(rng.choice([0, 0, 0.3])),
            "background": float(rng.choice([0, 0, 0.05, 0.2])), "gaps": bool(rng.random() < 0.25),
            "seed": int(rng.integers(1, 99999))})
    return scans


class Scan:
    """Arrays of a scan as a file holds them."""

    def __init__(self, patterns, positions, probe, mask):
        self.patterns, self.positions, self.probe, self.mask = patterns, positions, probe, mask

    def copy(self, **changes):
        new = Scan(self.patterns, self.positions, self.probe, self.mask)
        for name, value in changes.items():
            setattr(new, name, value)
        return new

    def write(self, file):
        if file.exists():
            file.unlink()
        with h5py.File(file, "w") as cxi:
            cxi["cxi_version"] = 160
            cxi["entry_1/data_1/data"] = self.patterns
            place = np.concatenate([self.positions[:, ::-1], np.zeros((len(self.positions), 1))], 1)
            for name in ("entry_1/data_1/translation", "entry_1/sample_1/geometry_1/translation"):
                cxi[name] = place
                cxi[name].attrs["units"] = "object pixel"
            cxi["entry_1/instrument_1/detector_1/mask"] = (~self.mask).astype(np.int32)
            if self.probe is not None:
                cxi["entry_1/instrument_1/source_1/illumination"] = self.probe.astype(np.complex64)


def make(program, scan, folder):
    """The scan, from the folder where it was made before."""
    kept = folder / f"{scan['name']}.npz"
    if kept.exists():
        return load(kept)
    file = folder / f"{scan['name']}.cxi"
    words = ["--N", scan["size"], "--frames", scan["frames"], "--photons", 1e9, "--probe", scan["probe"],
             "--probe-diameter", min(scan["diameter"], scan["size"] * 28 / 64), "--scan", scan["scan"], "--seed", scan["seed"],
             "--step", round((1 - scan["overlap"]) * scan["diameter"], 2),
             "--position-error", scan["position_error"], "--material", scan["material"],
             "--phase-range", scan["phase"], "--amplitude-min", scan["absorbs"]]
    if scan["probe"] in ("defocused", "zernike"):
        words += ["--defocus", scan["defocus"]]
    if scan["probe"] == "defocused":
        words += ["--probe-defocus-error", scan["defocus_error"]]
    if scan["probe"] == "zernike":
        words += ["--zernike", ".8,.4,-.3,.3,.2"]
    if scan["object"] == "picture":
        for option, seed in (("--object-file", scan["seed"]), ("--object-phase-file", scan["seed"] + 1)):
            np.save(folder / f"picture-{seed}.npy", picture(seed))
            words += [option, folder / f"picture-{seed}.npy"]
    words += ["--object", "image" if scan["object"] == "picture" else scan["object"]]
    done = run(program, "simulate", "-o", file, *words)
    if done.returncode:
        raise RuntimeError(f"{scan}\n{done.stderr[-400:]}")
    made = with_nature(file, scan)
    np.savez_compressed(kept, patterns=made.patterns, positions=made.positions, probe=made.probe,
                        mask=made.mask)
    file.unlink()
    return made


def load(kept):
    arrays = np.load(kept)
    return Scan(arrays["patterns"], arrays["positions"], arrays["probe"], arrays["mask"])


def with_nature(file, scan):
    """Photons, a background and gaps of the detector."""
    rng = np.random.default_rng(scan["seed"])
    with h5py.File(file) as cxi:
        expected = cxi["entry_1/data_1/data"][()].astype(float) * (scan["dose"] / 1e9)
        positions = cxi["entry_1/data_1/translation"][()][:, 1::-1]
        probe = cxi["entry_1/instrument_1/source_1/illumination"][()] * np.sqrt(scan["dose"] / 1e9)
    size = expected.shape[1]
    row, col = np.indices((size, size)) / size - 0.5
    light = 1 + col + 0.5 * np.cos(6 * row)
    expected += scan["background"] * scan["dose"] * light / light.sum()
    patterns = rng.poisson(expected).astype(np.int32)
    mask = np.ones((size, size), bool)
    if scan["gaps"]:
        mask[size // 3:size // 3 + 2] = mask[:, 5 * size // 8:5 * size // 8 + 2] = False
        hot = rng.integers(0, size, (4, 2))
        mask[hot[:, 0], hot[:, 1]] = False
        patterns[:, ~mask] = 0
        patterns[:, hot[:, 0], hot[:, 1]] = 60000
    return Scan(patterns, positions, probe, mask)


def real(size):
    """The real Siemens star; nothing where it is not there."""
    file = STAR / f"siemens-star{'-64' if size == 64 else ''}-counts.npz"
    if not file.exists():
        return None
    z = np.load(file)
    return Scan(z["diffraction"].astype(np.int32), np.stack([z["ycoords"], z["xcoords"]], 1),
                np.squeeze(z["probeGuess"])[None] * 100, z["mask"])


def run(program, *words):
    return subprocess.run([str(program), *map(str, words)], capture_output=True, text=True,
                          env={**os.environ, "OMP_NUM_THREADS": "1"})


def check(program, scan, file):
    """Findings above a note as text, all that was said, and the seconds."""
    scan.write(file)
    done = run(program, "info", file, "--check")
    said = [text for level, text in FINDING.findall(done.stdout) if level != "note"]
    if done.returncode not in (0, 1):
        said.append(f"crashed: {done.stderr[-200:]}")
    elif done.returncode == 1 and not said:
        said.append(done.stderr.strip().splitlines()[-1])
    seconds = re.search(r"checked.* ([0-9.]+) s$", done.stdout, re.M)
    return said, done.stdout + done.stderr, float(seconds[1]) if seconds else 0.0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=["checks", "images", "unknown"], default="checks")
    parser.add_argument("--half", choices=[*SEEDS, "few"], default="report")
    parser.add_argument("--scans", type=int, default=0)
    parser.add_argument("--fault", default="")
    parser.add_argument("--good", action="store_true", help="only the undamaged scans")
    parser.add_argument("--keep", type=pathlib.Path, help="folder of the simulated scans")
    parser.add_argument("--say", action="store_true", help="print what is said of each")
    parser.add_argument("program", nargs="?", default=ROOT / "build/release/ptyche")
    asked = parser.parse_args()
    half = "report" if asked.half == "few" else asked.half
    listed = table(half)
    if asked.half == "few":
        listed = listed[::6]
    if asked.scans:
        listed = listed[:asked.scans]
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        if asked.only == "unknown":
            sys.exit(1 if unknown_table(asked, folder) else 0)
        scans = [(each["name"], make(asked.program, each, folder)) for each in listed]
        # The real scan at one size was seen while thresholds were chosen, the other was not.
        star = real(128 if half == "report" else 64)
        if star and not asked.scans and asked.half != "few":
            scans.append(("real star", star))
        if asked.only == "images":
            sys.exit(1 if image_table(asked, scans, folder) else 0)
        bad = good_table(asked, scans, folder)
        if not asked.good:
            bad += fault_table(asked, scans, folder, {each["name"] for each in listed if each["probe"] in ("disk", "gaussian")})
    sys.exit(1 if bad else 0)


def good_table(asked, scans, folder):
    alarms, times = 0, []
    for name, scan in scans:
        said, text, seconds = check(asked.program, scan, folder / "now.cxi")
        times.append(seconds)
        alarms += bool(said)
        if said or asked.say:
            print(f"good {name}: {said}", flush=True)
    print(f"good scans: {alarms} alarms of {len(scans)}; seconds median {np.median(times):.2f}, most "
          f"{max(times):.2f}", flush=True)
    return ["alarms"] if alarms > max(1, round(len(scans) / 60)) else []


def fault_table(asked, scans, folder, in_focus):
    bad = []
    print(f"{'fault':30s} {'curved probe':>13s} {'in focus':>10s} {'other':>6s} {'silent':>7s}  said instead",
          flush=True)
    for number, (fault, least, cause, alter) in enumerate(FAULTS):
        if asked.fault and asked.fault not in fault:
            continue
        other = silent = 0
        named, tried = [0, 0], [0, 0]  # curved probe, in focus
        instead = {}
        for place, (name, scan) in enumerate(scans):
            if asked.half == "few" and (place + number) % 5:
                continue  # two of the ten scans a fault, others for the next one
            if fault in NEEDS and not NEEDS[fault](scan):
                continue
            focus = name in in_focus
            tried[focus] += 1
            rng = np.random.default_rng(1000 * number + place)
            said, text, _ = check(asked.program, alter(scan, rng), folder / "now.cxi")
            is_named = bool(re.search(cause, "\n".join(said))) or bool(re.search(cause, text) and re.search("left out|are masked|become photons|are multiplied by it", text))
            named[focus] += is_named
            other += bool(said) and not is_named
            silent += not said and not is_named
            if not is_named:
                for each in said or ["-"]:
                    key = ": ".join(each.split(": ")[:2])
                    instead[key] = instead.get(key, 0) + 1
            if asked.say:
                print(f"  {name}: {'named' if is_named else 'MISSED'} {said}", flush=True)
        # Of two scans a share says little: one may be missed wherever some may.
        if named[0] < (int(least * tried[0]) if asked.half == "few" else least * tried[0] - 1e-9):
            bad.append(fault)
        print(f"{fault:30s} {named[0]:8d}/{tried[0]:<4d} {named[1]:5d}/{tried[1]:<4d} {other:6d} {silent:7d}  "
              + ", ".join(f"{k} {v}" for k, v in sorted(instead.items(), key=lambda x: -x[1])[:4])
              + ("  BELOW" if fault in bad else ""), flush=True)
    return bad


def image_of(program, scan, folder, name):
    """What `reconstruct` says and makes of a scan: its exit code, verdict, text and folder."""
    scan.write(folder / "now.cxi")
    out = folder / name
    shutil.rmtree(out, ignore_errors=True)
    done = run(program, "reconstruct", folder / "now.cxi", "-o", out)
    verdict = done.stdout.split(":")[0].strip() if done.returncode in (0, 4) else "refused"
    return done.returncode, verdict, done.stdout + done.stderr, out


def twin_of(result, turned):
    """What the same patterns give at positions that are flipped along both axes about their mean, conj O(-r); or what the
    patterns turned by 180 degrees give at the same positions, conj O(r)."""
    twin = result.with_name(f"twin-{turned}.h5")
    if twin.exists():
        return twin
    shutil.copy(result, twin)
    with h5py.File(twin, "r+") as file:
        for name in ("object", "ptyche/coverage"):
            file[name][()] = np.conj(file[name][()] if turned else file[name][()][::-1, ::-1])
        for axis in () if turned else "yx":
            mean = file[f"probe_position_{axis}_m"][()].mean()
            file["object"].attrs[f"center_{axis}_m"] = 2 * mean - file["object"].attrs[f"center_{axis}_m"]
            file[f"probe_position_{axis}_m"][()] = 2 * mean - file[f"probe_position_{axis}_m"][()]
    return twin


def distance(program, image, good):
    """Error over contrast of an image against another one."""
    if not (image / "reconstruction.h5").exists():
        return float("inf")
    done = run(program, "compare", image / "reconstruction.h5", good)
    found = re.search(r"^nrmse_contrast\s+([0-9.e+-]+)", done.stdout, re.M)
    return float(found[1]) if found else float("inf")


def image_table(asked, scans, folder):
    silent = []
    print(f"{'fault':30s} {'right':>6s} {'refused':>8s} {'warned':>7s} {'failed':>7s} {'doubtful':>9s} {'twin':>5s} {'silent':>7s}", flush=True)
    good = {}
    for name, scan in scans:
        code, verdict, text, good[name] = image_of(asked.program, scan, folder, f"good-{name}")
        print(f"undamaged {name}: {text.strip().splitlines()[0] if text.strip() else code}", flush=True)
        if verdict != "good":
            del good[name]  # too few photons or patterns: nothing to compare with
    scans = [each for each in scans if each[0] in good]
    for number, (fault, _, cause, alter) in enumerate(FAULTS):
        if asked.fault and asked.fault not in fault:
            continue
        ends = {}
        for place, (name, scan) in enumerate(scans):
            if fault in NEEDS and not NEEDS[fault](scan):
                continue
            altered = alter(scan, np.random.default_rng(1000 * number + place))
            code, verdict, text, image = image_of(asked.program, altered, folder, "image")
            undamaged = good[name] / "reconstruction.h5"
            error = distance(asked.program, image, undamaged)
            end = ("refused" if code == 1 else "right" if error <= 0.25 else "failed" if code == 4
                   else "warned" if re.search(cause, text) else verdict if verdict == "doubtful" else "silent")
            if end == "silent" and distance(asked.program, image, twin_of(undamaged, "turned by 180" in fault)) <= 0.25:
                end = "twin"
            ends[end] = ends.get(end, 0) + 1
            if end in ("silent", "twin", "doubtful") or asked.say or code not in (0, 1, 4):
                print(f"  {fault}, {name}: {end}, error {error:.2f}, exit code {code}: "
                      f"{text.strip().splitlines()[0] if text.strip() else ''}", flush=True)
            if end in ("silent", "twin") or code not in (0, 1, 4):
                silent.append((fault, name))
        print(f"{fault:30s} " + " ".join(f"{ends.get(end, 0):{width}d}" for end, width in
              (("right", 6), ("refused", 8), ("warned", 7), ("failed", 7), ("doubtful", 9), ("twin", 5), ("silent", 7))), flush=True)
    return silent


# With the matrix that brings the true positions to the patterns as altered.
TURNED = {"none": np.eye(2), "rows flipped": np.eye(2), "axes swapped": np.eye(2),
          "patterns turned by 90": np.array([[0, 1], [-1, 0]])}
TOLD_WITHOUT_PROBE = ("zero frequency at the corner", "centre off by 3.6 px", "amplitudes as counts", "log of counts",
                      "mask inverted", "positions x 1e6", "positions x 1e-6")


def without_probe(folder, half):
    """The scans of bench_probes that are not larger than 128 pixels: name, counts per pattern, Scan."""
    of_probes = {"report": "report", "fourth": "later", "fifth": "newest"}.get(half, "tune")
    for which in ("plain", "hard"):
        for each in bench_probes.table(of_probes, which):
            if each["N"] <= 128:
                z = np.load(bench_probes.make(each, folder)[1])
                yield each["name"], each["photons"], Scan(z["diffraction"].astype(np.int32),
                                                          np.stack([z["ycoords"], z["xcoords"]], 1), None, z["mask"])


def solved_positions(program, folder):
    """Where `solve` has put the patterns, and what it said."""
    shutil.rmtree(folder / "out", ignore_errors=True)
    done = run(program, "solve", folder / "now.cxi", "-o", folder / "out", "--solver", "rpie:1", "--no-verdict")
    if done.returncode:
        return None, done.stderr
    with h5py.File(folder / "out" / "reconstruction.h5") as result:
        return np.stack([result[f"probe_position_{axis}_m"][()] for axis in "yx"], 1), done.stderr


def stands_right(found, true):
    """Whether positions are the true ones, or turned by 180 degrees, but for a shift, a unit and a few pixels."""
    if found is None or len(found) != len(true):
        return False
    matrix = np.linalg.lstsq(true - true.mean(0), found - found.mean(0), rcond=None)[0]
    matrix /= np.sqrt(abs(np.linalg.det(matrix))) + 1e-30
    return min(abs(matrix - np.eye(2)).max(), abs(matrix + np.eye(2)).max()) < .1


def unknown_table(asked, folder):
    missed = []
    faults = {fault: (cause, alter) for fault, _, cause, alter in FAULTS}
    scans = list(without_probe(folder, asked.half))
    scans = scans[:asked.scans] if asked.scans else scans
    print(f"{'fault':30s} {'right':>9s} {'of 1e6 counts':>14s}", flush=True)
    for number, fault in enumerate([*TURNED, *TOLD_WITHOUT_PROBE]):
        if asked.fault not in fault:
            continue
        right, bright = [], []
        for place, (name, photons, scan) in enumerate(scans):
            cause, alter = faults.get(fault, ("", lambda s, rng: s))
            altered = alter(scan, np.random.default_rng(1000 * number + place))
            altered.write(folder / "now.cxi")
            found, said = solved_positions(asked.program, folder)
            is_right = (stands_right(found, scan.positions @ TURNED[fault]) if fault in TURNED
                        else bool(re.search(cause, said)))
            right.append(is_right)
            bright += [is_right] if photons > 1e5 else []
            if not is_right or asked.say:
                print(f"  {fault}, {name}: {'right' if is_right else 'MISSED'} "
                      f"{[line for line in said.splitlines() if re.match('(corrected|warning|note): ', line)]}", flush=True)
        print(f"{fault:30s} {sum(right):4d}/{len(right):<4d} {sum(bright):9d}/{len(bright):<4d}", flush=True)
        if np.mean(right) < (.95 if fault in TURNED else .98):
            missed.append(fault)
    return missed


if __name__ == "__main__":
    started = time.time()
    main()
