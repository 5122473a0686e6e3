#!/usr/bin/env python3
"""Live runs beside real senders: what is received, how fast the image follows, what the page costs.

usage: bench_live.py [--only NAME] [--seconds S] [--bars] PTYCHE

Needs python3-zmq and python3-cbor2, and the Siemens star for all but `receive`. With --bars a miss exits with 1.
"""
import argparse
import json
import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

try:
    import cbor2  # noqa: F401
    import h5py  # noqa: F401
    import numpy as np
    import zmq
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "live"))
import senders  # noqa: E402

SHARED = pathlib.Path(os.environ.get("PTYCHE_SHARED", ROOT.parent / "shared"))
STAR = SHARED / "data" / "siemens-star" / "siemens-star-64-counts.npz"


class Bench:
    def __init__(self, ptyche, folder, seconds):
        self.ptyche, self.folder, self.seconds, self.missed = ptyche, folder, seconds, []

    def say(self, name, value, bar, good):
        print(f"{name:58} {value:>16}   {bar:>12}   {'' if good is None else 'good' if good else 'MISSED'}", flush=True)
        if good is False:
            self.missed.append(name)

    def run(self, *words):
        done = subprocess.run([self.ptyche, *map(str, words)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done

    def start(self, *words):
        return subprocess.Popen([self.ptyche, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def live_json(self, name):
        return json.loads((self.folder / name / "live.json").read_text())


def send(port_at, messages, rate, seconds, ended):
    """A process: sends the messages in turn, each under the index of its turn; `messages` are (head, index, tail)."""
    context = zmq.Context()
    socket = context.socket(zmq.PUSH)
    socket.set(zmq.SNDHWM, 2000)
    port_at.send(socket.bind_to_random_port("tcp://127.0.0.1"))
    socket.send(senders.eiger2_start(0))
    begin, index = time.time(), 0
    while time.time() - begin < seconds:
        socket.send(messages(index))
        index += 1
        if rate and index / rate > time.time() - begin:
            time.sleep(max(0, index / rate - (time.time() - begin)))
    socket.send(senders.eiger2_end())
    socket.close(linger=60000)
    context.term()
    ended.send((index, time.time() - begin))


def encoded(images):
    """Messages that are ready but for their index, which has a fixed width in CBOR."""
    mark = 0x12345678
    ready = [senders.eiger2_image(mark, image).split(mark.to_bytes(4, "big")) for image in images]
    return lambda i: ready[i % len(ready)][0] + i.to_bytes(4, "big") + ready[i % len(ready)][1]


def sender(images, rate, seconds):
    here, there = multiprocessing.Pipe(False)
    ended, end = multiprocessing.Pipe(False)
    process = multiprocessing.Process(target=send, args=(there, encoded(images), rate, seconds, end))
    process.start()
    return here.recv(), ended, process


def memory_mb(pid):
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * 4096 / 1e6


def receive(bench, record):
    rng = np.random.default_rng(1)
    radius = np.hypot(*np.mgrid[-128:128, -128:128])
    images = [rng.poisson(30 * np.exp(-radius / 12)).astype(np.uint16) for _ in range(64)]
    port, ended, process = sender(images, 0, bench.seconds)
    name = "recorded" if record else "received"
    words = ["--record", bench.folder / "record.h5"] if record else []
    live = bench.start("live", f"zmq+eiger2://127.0.0.1:{port}", "-o", bench.folder / name, "--only-receive", "--patience", 0.5, *words)
    memory = []
    while live.poll() is None:
        time.sleep(0.5)
        if live.poll() is None:
            memory.append(memory_mb(live.pid))
    sent, seconds = ended.recv()
    process.join()
    found = bench.live_json(name)
    rate = found["frames"] / seconds
    what = "receive, decode, join" + (", record" if record else "")
    bench.say(f"{what}: 256 x 256 uint16 bslz4, frames/s", f"{rate:.0f}", ">= 2000", rate >= 2000)
    bench.say(f"{what}: lost of {sent}", str(sent - found["frames"]), "0", sent == found["frames"])
    half = memory[len(memory) // 2] if memory else 0
    bench.say(f"{what}: memory at half time and at the end, MB", f"{half:.0f} {memory[-1]:.0f}", "", None)


def star_copies(bench, copies):
    """The star `copies` times side by side: frames, positions (px), and a scan file of them."""
    data = np.load(STAR)
    counts = np.tile(data["diffraction"].astype(np.uint16), (copies, 1, 1))
    xy = np.concatenate([np.stack([data["xcoords"] + 180 * (k % 8), data["ycoords"] + 180 * (k // 8)], 1) for k in range(copies)])
    file = bench.folder / f"star{copies}.npz"
    np.savez(file, diffraction=counts.astype(np.float32), xcoords=xy[:, 0], ycoords=xy[:, 1], probeGuess=data["probeGuess"])
    return counts, xy, file


def prepare_star(bench):
    like = bench.folder / "like"
    if not like.exists():
        bench.run("solve", STAR, "-o", like, "--solver", "rpie:30", "--mask", "none", "--no-verdict", "--no-check")
        bench.run("train", STAR, "-o", bench.folder / "model", "--epochs", 1, "--mask", "none")
    return like / "reconstruction.h5", bench.folder / "model"


def seconds_of(work):
    begin = time.time()
    work()
    return time.time() - begin


def network(bench):
    """What `infer` takes for a pattern is the difference of a large and a small scan: no start of the program."""
    like, model = prepare_star(bench)
    large, small = 16, 2
    files = {copies: star_copies(bench, copies) for copies in (large, small)}

    def infer(copies):
        words = ["infer", files[copies][2], "-m", model, "-o", bench.folder / "infer", "--overwrite"]
        return seconds_of(lambda: bench.run(*words))
    infer_rate = 516 * (large - small) / (infer(large) - infer(small))
    bench.say("network: infer alone, patterns/s", f"{infer_rate:.0f}", "", None)

    def live(name, rate, seconds, viewers=0):
        """Patterns a second that the canvas gets between two looks, and what live.json says at the end."""
        counts, xy, _ = files[large]
        port, ended, process = sender(counts, rate, seconds + 20)
        socket = zmq.Context.instance().socket(zmq.PUSH)
        places = socket.bind_to_random_port("tcp://127.0.0.1")
        run = bench.start("live", f"zmq+eiger2://127.0.0.1:{port}", f"zmq+json://127.0.0.1:{places}", "-o", bench.folder / name,
                          "--model", model, "--like", like, "--at-end", "none", "--background-solver", "false", "--overwrite",
                          "--keep-scan", "false", "--view", 0)
        for first in range(0, 10 * len(xy), len(xy)):  # the same places again and again
            socket.send_multipart(senders.json_positions(first, xy, "px"))
        address, stop = run.stdout.readline().split(" ")[0], threading.Event()
        crowd = [threading.Thread(target=watch, args=(address, stop), daemon=True) for _ in range(viewers)]
        for each in crowd:
            each.start()

        def shown():
            state = json.load(urllib.request.urlopen(address + "api/state", timeout=10))
            image = state["network"]
            return (image["frames"], image["seconds"]) if image else (0, state["seconds"])
        while shown()[0] == 0:
            time.sleep(0.2)
        frames, at = shown()
        time.sleep(seconds)
        more, then = shown()
        run.send_signal(signal.SIGINT)
        run.communicate()
        stop.set()
        process.terminate()
        process.join()
        socket.close(linger=0)
        held_out = 16 / 15  # patterns that are joined and judge, but are not drawn
        return held_out * (more - frames) / (then - at), bench.live_json(name)

    rate, _ = live("fast", 0, bench.seconds / 4)
    bench.say("network: live, patterns/s", f"{rate:.0f}", f">= {0.8 * infer_rate:.0f}", rate >= 0.8 * infer_rate)
    _, found = live("half", rate / 2, bench.seconds / 4)
    late = found["latency_ms"]
    bench.say("network: frame to canvas at half of that, ms (median)", f"{late['median']:.0f}", "<= 100", late["median"] <= 100)
    bench.say("network: frame to canvas at half of that, ms (99 %)", f"{late['p99']:.0f}", "<= 300", late["p99"] <= 300)
    seen, _ = live("viewers", 0, bench.seconds / 4, viewers=10)
    bench.say("network: live with 10 viewers, patterns/s", f"{seen:.0f}", f">= {0.9 * rate:.0f}", seen >= 0.9 * rate)


def watch(address, stop):
    """A viewer as the page is one: listens, and asks for a tile and the curves after each change."""
    try:
        events = urllib.request.urlopen(address + "api/events", timeout=10)
        while not stop.is_set():
            if not events.readline().startswith(b"data:"):
                continue
            for path in ("api/tile?image=shown&what=phase&level=0&row=0&col=0", "api/curves", "api/pattern"):
                try:
                    urllib.request.urlopen(address + path, timeout=5).read()
                except urllib.error.HTTPError:
                    pass
    except OSError:
        pass


def star(bench):
    """Replayed at 200 frames/s; its own final image beside that of `reconstruct`."""
    like, _ = prepare_star(bench)
    bench.run("reconstruct", STAR, "-o", bench.folder / "reconstruct", "--no-verdict")
    scores = json.loads((bench.folder / "reconstruct" / "scores.json").read_text())
    wanted = scores["held_out.deviance_per_photon"]
    bench.say("star: reconstruct, deviance", f"{wanted:.4f}", "", None)
    process = bench.start("live", f"replay:{STAR}?rate=200", "--like", like, "-o", bench.folder / "star", "--view", 0)
    address, first, begin = process.stdout.readline().split(" ")[0], None, None
    while process.poll() is None and first is None:
        try:
            state = json.load(urllib.request.urlopen(address + "api/state", timeout=2))
        except OSError:
            break
        if begin is None and state["counts"]["joined"] >= 50:
            begin = time.time()
        shown = state["shown"]
        if begin is not None and shown and shown["deviance"] and shown["deviance"] <= .10:
            first = time.time() - begin
        time.sleep(0.02)
    process.communicate()
    total = json.loads((bench.folder / "star" / "scores.json").read_text())
    after = total["time.seconds"] - bench.live_json("star")["seconds"]
    bench.say("star at 200/s: final deviance", f"{total['held_out.deviance_per_photon']:.4f}", f"<= {1.02 * wanted:.4f}",
              total["held_out.deviance_per_photon"] <= 1.02 * wanted)
    bench.say("star at 200/s: from the last frame to the image, s", f"{after:.1f}", "<= 5", after <= 5)
    bench.say("star: s after 50 frames to a deviance of .10", "never" if first is None else f"{first:.1f}", "<= 2",
              first is not None and first <= 2)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ptyche")
    parser.add_argument("--only", default="receive,network,star")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--bars", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ptyche live ") as folder:
        bench = Bench(os.path.abspath(options.ptyche), pathlib.Path(folder), options.seconds)
        wanted = options.only.split(",")
        if "receive" in wanted:
            receive(bench, record=True)
            receive(bench, record=False)
        if not STAR.exists():
            print(f"skipped the rest: no {STAR}")
            return 0
        if "network" in wanted:
            network(bench)
        if "star" in wanted:
            star(bench)
    return 1 if options.bars and bench.missed else 0


if __name__ == "__main__":
    sys.exit(main())
