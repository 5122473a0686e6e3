"""What the benches of quality share: runs of ptyche, lines with a bar, the shared scorer.

A check is a function of a Bench; `main` runs those that the command line asks for. Exit code 1 if a
line misses its bar, 77 if nothing could be run. --no-seconds leaves the time bars out: a shared CI
machine is no clock.
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHARED = pathlib.Path(os.environ.get("PTYCHE_SHARED", ROOT / ".." / "shared"))
STAR = SHARED / "data" / "siemens-star"
SPLIT = SHARED / "check" / "split.json"


OF_STUDIES = {"datasets", "recons", "reports", "runs", "visuals"}


def cleared(words):
    """The words of a run; the results of an earlier one in its folder (-o) are removed, unless it
    resumes. A folder that holds anything else is left as it is."""
    words = [str(word) for word in words]
    option = "--output-dir" if "--output-dir" in words else "-o"
    if words[0] == "simulate" or option not in words or "--resume" in words:
        return words
    folder = pathlib.Path(words[words.index(option) + 1])
    inside = any(word.startswith(f"{folder}/") for word in words)
    if folder.is_dir() and not inside and all(
            entry.is_file() or entry.name in OF_STUDIES for entry in folder.iterdir()):
        shutil.rmtree(folder)
    return words


class Bench:
    def __init__(self, options):
        self.options = options
        self.failed = 0
        self.lines = 0

    def ptyche(self, *words):
        """Runs ptyche; returns its stdout. A failure ends the bench with the program's own message."""
        command = [self.options.ptyche, *cleared(words)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode not in (0, 4):  # 4: all is written, the image is judged a failure
            sys.exit(f"{' '.join(command)}\n{done.stderr}")
        return done.stdout

    def interrupt(self, sign, *words):
        """Runs ptyche and sends Ctrl-C as soon as `sign`, which --verbose says, stands on its stderr."""
        command = [self.options.ptyche, *cleared(words), "--verbose"]
        running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   text=True)
        said = ""
        for line in running.stderr:
            if sign in line and sign not in said:
                running.send_signal(signal.SIGINT)
            said += line
        if running.wait() != 130:
            sys.exit(f"{' '.join(command)}\nexpected exit code 130 after Ctrl-C\n{said}")

    def reconstruct(self, scan, name, seed, *words):
        """The network alone: no solver after it."""
        folder = self.options.work / f"{name}-{seed}"
        self.ptyche("reconstruct", scan, "-o", folder, "--train", "--seed", seed, "--refine", "none", *words)
        return folder, json.loads((folder / "scores.json").read_text())

    def line(self, what, value, bar=None, unit="", least=None):
        """Prints one number; `bar` is the largest value that is good enough, `least` the smallest."""
        good = (bar is None or value <= bar) and (least is None or value >= least)
        limit = bar if least is None else least
        verdict = "" if limit is None else f"bar {limit:<8g} " + ("ok" if good else "MISSED")
        self.failed += not good
        self.lines += 1
        print(f"{what:<58} {value:>10.5g} {unit:<8} {verdict}", flush=True)

    def seconds(self, what, scores, bar):
        self.line(what, scores["time.seconds"], None if self.options.no_seconds else bar, "s")


def score(*words):
    """What the shared scorer prints, or None where it cannot run."""
    done = subprocess.run([sys.executable, SHARED / "check" / "score.py", *map(str, words)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode == 0:
        return json.loads(done.stdout)
    print("python3-numpy, -scipy, -h5py are needed, skipped\n" + done.stderr)
    return None


def main(description, checks, need_shared, seeds=1):
    parser = argparse.ArgumentParser(description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ptyche", nargs="?", default=str(ROOT / "build" / "release" / "ptyche"))
    parser.add_argument("--only", choices=checks)
    if seeds > 1:
        parser.add_argument("--seeds", type=int, default=seeds)
    parser.add_argument("--no-seconds", action="store_true")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "out" / "bench")
    bench = Bench(parser.parse_args())
    bench.options.work.mkdir(parents=True, exist_ok=True)
    for name in [bench.options.only] if bench.options.only else checks:
        if name in need_shared and not STAR.is_dir():
            print(f"{name}: skipped, {STAR} is not there (PTYCHE_SHARED names its folder)")
            continue
        checks[name](bench)
    if bench.lines == 0:
        sys.exit(77)
    print(f"{bench.lines} lines, {bench.failed} missed their bar")
    sys.exit(1 if bench.failed else 0)
