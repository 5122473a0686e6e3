"""What can happen to a run: cancelled, killed, forked, dropped. Nothing is left behind."""
import asyncio
import gc
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time

import numpy as np
import pytest

import ptyche
from conftest import exists, first_progress, open_descriptors, own_threads, wait_for


def temporary_folders():
    return set(pathlib.Path(tempfile.gettempdir()).glob("ptyche-run-*"))


def in_another_interpreter(code, tmp_path, **how):
    """Runs `code`, which may print; its temporary files go to tmp_path."""
    env = dict(os.environ, TMPDIR=str(tmp_path), PYTHONPATH=os.pathsep.join(sys.path))
    return subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, env=env, **how)


LONG = """
    import ptyche, sys
    job = ptyche.start("solve", {scan!r}, "ml:100000", no_verdict=True, threads=1)
    next(event for event in job if event["event"] == "progress")
    print(job.process, flush=True)
"""


def test_events_come_in_order_and_again_for_who_comes_later(scan):
    job = ptyche.start("solve", scan, "ml:12", no_verdict=True)
    names = [event["event"] for event in job]
    assert names[0] == "started" and names[-1] == "finished"
    assert {"progress", "preview"} <= set(names)
    assert [event["event"] for event in job] == names
    done = [event.done for event in job if event["event"] == "progress"]
    assert done == sorted(done) and done[-1] == 12
    assert all(np.isfinite(event.loss) for event in job if event["event"] == "progress")
    assert job.exit_code == 0 and "ml 12/12" not in job.output


def test_events_have_the_keys_that_the_page_lists(scan):
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "events.md").read_text()
    rows = [line.split("|") for line in page.splitlines() if line.startswith("| `")]
    listed = {row[1].strip(" `"): set(re.findall("`([a-z_]+)`", row[3])) for row in rows}
    assert set(listed) == {"started", "progress", "preview", "checkpoint", "correction", "warning",
                           "note", "cancelling", "finished", "error"}
    job = ptyche.start("solve", scan, "ml:30", no_verdict=True)
    refused = ptyche.start("solve", "none.cxi")
    for event in [*job, *refused]:
        assert set(event) - {"event", "time"} <= listed[event["event"]], event


def test_progress_is_told_and_the_newest_image_is_there_meanwhile(scan):
    seen = []
    job = ptyche.start("solve", scan, "ml:100000", every=1, no_verdict=True)
    try:
        assert wait_for(lambda: job.preview is not None)
        assert job.preview.dtype == np.complex64 and job.preview.ndim == 2
        assert job.progress.total == 100000 and not job.done()
    finally:
        job.kill()
    ptyche.solve(scan, "ml:6", no_verdict=True, on_progress=seen.append)
    assert seen[-1].done == 6 and str(seen[-1]).startswith("solve 6/6  ml  loss")


def test_cancel_gives_the_image_so_far(long_job):
    first_progress(long_job)
    start = time.monotonic()
    long_job.cancel()
    with pytest.raises(ptyche.Interrupted, match="stopped during the solver") as caught:
        long_job.result()
    assert time.monotonic() - start < 10
    assert np.isfinite(caught.value.image.object).all()
    assert caught.value.image.probe.shape == (1, 32, 32)
    names = [event["event"] for event in long_job]
    assert "cancelling" in names and "checkpoint" in names and names[-1] == "finished"
    assert long_job.exit_code == 130 and not exists(long_job.process)
    long_job.cancel()  # of a job that has ended: nothing


def test_a_state_that_was_kept_is_gone_on_from(scan, tmp_path):
    job = ptyche.start("solve", scan, "ml:400", no_verdict=True, output_dir=tmp_path / "out", threads=1)
    first_progress(job)
    job.cancel()
    with pytest.raises(ptyche.Interrupted, match="--resume goes on"):
        job.result()
    again = ptyche.start("solve", scan, "ml:400", no_verdict=True, resume=True,
                         output_dir=tmp_path / "out", threads=1)
    assert first_progress(again).done > 1
    again.kill()


def test_cancel_before_the_work_has_begun(scan):
    job = ptyche.start("solve", scan, "ml:100000", no_verdict=True)
    job.cancel()
    with pytest.raises(ptyche.Interrupted) as caught:
        job.result()
    assert caught.value.image is None or caught.value.image.object.ndim == 2
    assert not exists(job.process)


def test_cancel_where_the_interpreter_ignores_interrupts(scan, tmp_path):
    """As a script does that a shell has started in the background: the child has it from there."""
    code = """
        import signal
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        import ptyche
        job = ptyche.start("solve", SCAN, "ml:100000", no_verdict=True, threads=1)
        job.cancel()
        try:
            job.result(timeout=60)
        except ptyche.Interrupted:
            print("stopped")
    """.replace("SCAN", repr(scan.path))
    other = in_another_interpreter(code, tmp_path)
    assert other.communicate(timeout=90)[0] == "stopped\n"


def test_a_killed_child_is_an_exception_with_its_last_words(long_job):
    first_progress(long_job)
    os.kill(long_job.process, signal.SIGKILL)
    with pytest.raises(ptyche.Crashed, match="SIGKILL"):
        long_job.result()


def test_a_child_that_crashes_says_its_last_words(monkeypatch, tmp_path):
    """A program that writes half an event and dies by a fault of memory."""
    words, fault, crash = ptyche.program(), tmp_path / "fault.py", tmp_path / "ptyche"
    crash.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{fault}" "$@"\n')
    fault.write_text(f"""import os, signal, sys
if sys.argv[1] == "__describe":
    os.execv({words!r}, ["ptyche", "__describe"])
fd = next(int(word.split("=")[1]) for word in sys.argv if word.startswith("--events-fd="))
os.write(fd, b'{{"event": "started"}}\\n{{"event": "prog')
sys.stderr.write("something is wrong here\\n")
sys.stderr.flush()
os.kill(os.getpid(), signal.SIGSEGV)
""")
    crash.chmod(0o755)
    monkeypatch.setenv("PTYCHE_PROGRAM", str(crash))
    with pytest.raises(ptyche.Crashed, match="SIGSEGV.*something is wrong here"):
        ptyche.solve("any.cxi", "ml:3")


def test_an_exception_in_on_progress_ends_the_child_and_is_raised(long_job):
    def fail(event):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        long_job.result(on_progress=fail)
    assert long_job.done() and not exists(long_job.process)


def test_ctrl_c_gives_the_image_so_far(scan):
    def press(event):
        if event.done > 3:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(ptyche.Interrupted) as caught:
        ptyche.solve(scan, "ml:100000", no_verdict=True, on_progress=press)
    assert isinstance(caught.value.__cause__, KeyboardInterrupt)
    assert np.isfinite(caught.value.image.object).all()


def test_a_timeout_leaves_the_job_at_work(long_job):
    first_progress(long_job)
    with pytest.raises(TimeoutError):
        for _ in range(100):  # an event may come in time
            long_job.result(timeout=0.001)
    assert not long_job.done()


def test_a_job_is_awaited(scan):
    async def two():
        return await asyncio.gather(*(ptyche.start("solve", scan, "ml:2", no_verdict=True, threads=1)
                                      for _ in range(2)))

    first, second = asyncio.run(two())
    np.testing.assert_array_equal(first.object, second.object)


def test_an_awaiting_task_that_is_cancelled_cancels_the_job(long_job):
    async def short():
        await asyncio.wait_for(long_job, 0.5)

    with pytest.raises(asyncio.TimeoutError):
        asyncio.run(short())
    assert long_job.wait(10) and long_job.exit_code in (130, -signal.SIGINT)


def test_no_child_outlives_an_interpreter_that_ends(scan, tmp_path):
    other = in_another_interpreter(LONG.format(scan=scan.path), tmp_path)
    process = int(other.stdout.readline())
    assert other.wait(20) == 0, other.stderr.read()
    assert not exists(process)
    assert list(tmp_path.iterdir()) == []


def test_no_child_outlives_an_interpreter_that_is_killed(scan, tmp_path):
    other = in_another_interpreter(LONG.format(scan=scan.path) + "    import time; time.sleep(60)",
                                   tmp_path)
    process = int(other.stdout.readline())
    assert exists(process)
    other.kill()
    other.wait()
    assert wait_for(lambda: not exists(process), 10)
    # What it left on the disk goes with the next run.
    assert len(list(tmp_path.glob("ptyche-run-*"))) == 1
    again = in_another_interpreter("import ptyche; print(ptyche.simulate(n_patterns=60, N=32, "
                                   "probe_diameter=12))", tmp_path)
    assert again.wait(20) == 0, again.stderr.read()
    assert list(tmp_path.iterdir()) == []


def test_a_fork_that_lives_on_keeps_no_child_alive(scan, tmp_path):
    """Its copies of the pipes are open when the interpreter is killed."""
    code = LONG.format(scan=scan.path).replace("print(job.process", """import os, time
    forked = os.fork()
    if forked == 0:
        time.sleep(60)
        os._exit(0)
    print(job.process, forked""") + "    time.sleep(60)"
    other = in_another_interpreter(code, tmp_path)
    process, forked = map(int, other.stdout.readline().split())
    try:
        other.kill()
        other.wait()
        assert wait_for(lambda: not exists(process), 10)
        assert exists(forked)
    finally:
        os.kill(forked, signal.SIGKILL)


def test_a_fork_leaves_its_parents_job_and_files_alone(long_job):
    first_progress(long_job)
    forked = os.fork()
    if forked == 0:  # pytest's own exit must not run here, the package's must
        try:
            long_job.cancel()
        except ptyche.Error:
            import atexit
            atexit._run_exitfuncs()
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(forked, 0)[1]) == 7
    time.sleep(0.3)
    assert not long_job.done() and long_job.folder.path.is_dir()


def test_jobs_run_in_several_threads(scan):
    images, threads = [], []
    for _ in range(3):
        threads.append(threading.Thread(target=lambda: images.append(
            ptyche.solve(scan, "ml:2", no_verdict=True, threads=1))))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(images) == 3
    for image in images[1:]:
        np.testing.assert_array_equal(image.object, images[0].object)


def shared_memory():
    """Of the program or its libraries; others may work on this machine."""
    return {name for name in os.listdir("/dev/shm") if name.startswith(("ptyche", "torch"))}


@pytest.mark.parametrize("rounds", [2, pytest.param(50, marks=pytest.mark.slow)])
def test_nothing_is_left_of_many_jobs(arrays, rounds):
    counts, positions, probe = arrays
    gc.collect()
    before = None
    for number in range(rounds + 1):
        scan = ptyche.Scan(counts, positions, probe=probe)
        scan.check()
        with pytest.raises(ptyche.InvalidInput):
            ptyche.info("nothing.cxi")
        del scan
        if number == 0:  # what is made once is made now
            gc.collect()
            before = (open_descriptors(), temporary_folders(), shared_memory())
    gc.collect()
    assert wait_for(lambda: not own_threads())
    assert (open_descriptors(), temporary_folders(), shared_memory()) == before


def test_a_large_scan_is_copied_once(tmp_path):
    """512 MB of counts: the interpreter's own memory stays as it is, the memory file is their size, and
    the program uses them where they lie."""
    code = """
        import resource, numpy as np, ptyche
        place = np.indices((128, 128)) - 64
        beam = 4000 * np.exp(-np.square(place).sum(0) / 200)
        counts = np.random.default_rng(1).poisson(beam, (256, 128, 128)).astype(np.uint16)
        counts = np.concatenate([np.roll(counts, number, 0) + np.uint16(number) for number in range(64)])
        positions = np.random.default_rng(2).uniform(0, 2000, (len(counts), 2))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        scan = ptyche.Scan(counts, positions)
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print((after - before) * 1024, scan.nbytes - counts.nbytes)
        ptyche.Scan(counts[:300], positions[:300]).check()
        small = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        scan.check()
        print((resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss - small) * 1024 / counts.nbytes)
    """
    other = in_another_interpreter(code, tmp_path)
    out, error = other.communicate(timeout=120)
    more, beside, child = map(float, out.split() or [1 << 40, 0, 0])
    assert more < 32 << 20 and beside < 1 << 20, (out, error)
    assert child < 1.1, (out, error)  # all of it is what the pages of the memory file count
