"""What the tests share. They use the package as it is found (PYTHONPATH, or installed) and the program
that PTYCHE_PROGRAM names. PTYCHE_IMPORTED_FIRST lists modules that the interpreter has loaded before:
torch, with libraries of its own that have the names of the program's."""
import importlib
import os
import pathlib
import signal
import threading
import time

import numpy as np
import pytest

for name in os.environ.get("PTYCHE_IMPORTED_FIRST", "").split():
    importlib.import_module(name)

import ptyche

# What a shell runs in the background ignores Ctrl-C, and the tests press it.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def scan():
    """Small enough to be solved in a second."""
    return ptyche.simulate(n_patterns=150, N=32, probe_diameter=12, seed=3)


@pytest.fixture(scope="session")
def arrays(tmp_path_factory):
    """The arrays of such a scan, as a user has them: counts, positions (row, column), probe."""
    file = tmp_path_factory.mktemp("arrays") / "scan.npz"
    ptyche.simulate(output=file, n_patterns=150, N=32, probe_diameter=12, seed=3)
    with np.load(file) as data:
        counts = data["diff3d"] if "diff3d" in data else data["diffraction"]
        return (np.round(counts.astype(np.float64) ** 2).astype(np.uint16),
                np.stack([data["ycoords"], data["xcoords"]], 1), data["probeGuess"])


@pytest.fixture(scope="session")
def image(scan):
    return ptyche.solve(scan, "ml:15", no_verdict=True)


@pytest.fixture()
def long_job(scan):
    """One that would take minutes."""
    job = ptyche.start("solve", scan, "ml:100000", no_verdict=True, threads=1)
    yield job
    job.kill()
    job.wait(10)


def wait_for(what, seconds=20):
    """Whether it comes true in that time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if what():
            return True
        time.sleep(0.02)
    return False


def first_progress(job):
    return next(event for event in job if event["event"] == "progress")


def exists(process):
    """Whether a process is there and no zombie."""
    try:
        return ") Z" not in pathlib.Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False


def open_descriptors():
    return len(os.listdir("/proc/self/fd"))


def own_threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("ptyche ")]
