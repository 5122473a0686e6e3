#!/usr/bin/env python3
"""What can go wrong around a run: the disk, the terminal, signals, other runs, hostile files.

  faults_test.py [--all] PTYCHE [NAME ...]

Each test states a property of the program as a user runs it. Without --all the kills and the failing
writes are a few; with it they are many (docs/reliability.md has the figures).
"""
import argparse
import errno
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

try:
    import h5py
    import numpy as np
except ImportError:
    print("python3-numpy and -h5py are needed, skipped")
    sys.exit(77)

HERE = pathlib.Path(__file__).resolve().parent
PTYCHE = None
MANY = False
HUNG = 180  # seconds; every run here takes a few, beside other work more

SOLVE = ["--solver", "ml:6000", "--plateau", "0", "--no-check", "--threads", "1", "--no-verdict",
         "--every", "2000"]
TRAIN = ["--epochs", "3", "--group-size", "8", "--merged", "4", "--threads", "1", "--precision",
         "float32", "--probe-start", "guess"]

# What a run that ended early leaves so that --resume need not begin anew.
KEPT_FOR_RESUME = {"checkpoint.ptyche", "solve_checkpoint.h5", "first_probe.h5"}


def ptyche(*words, **how):
    how.setdefault("timeout", HUNG)
    how.setdefault("stdout", subprocess.PIPE)
    how.setdefault("stderr", subprocess.PIPE)
    return subprocess.run([PTYCHE, *map(str, words)], stdin=subprocess.DEVNULL,
                          encoding="utf-8", errors="surrogateescape", **how)


class Faults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.TemporaryDirectory(prefix="ptyche faults ")
        cls.common = pathlib.Path(cls.kept.name)
        cls.scan = cls.common / "scan.cxi"
        ptyche("simulate", "-o", cls.scan, "--N", 32, "--n-patterns", 36, "--probe-diameter", 12,
               "--step", 4)
        assert cls.scan.exists()

    @classmethod
    def tearDownClass(cls):
        cls.kept.cleanup()

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=self.common))

    def says(self, run, code, *texts):
        """Exit code and words of an error that names what is wrong; never an internal one."""
        self.assertEqual(run.returncode, code, run.stderr)
        self.assertNotIn("internal error", run.stderr or "")
        for text in texts:
            self.assertIn(text, run.stderr)

    def solve(self, out, *words, passes=20, **how):
        return ptyche("solve", self.scan, "-o", out, "--solver", f"ml:{passes}", "--no-check",
                      "--no-verdict", "--threads", 1, *words, **how)


class Streams(Faults):
    def test_a_closed_or_full_stderr_ends_no_run(self):
        for name in ("/dev/full", None):
            out = self.folder / f"of {name is None}"
            before = {"stderr": open(name, "w")} if name else {"preexec_fn": lambda: os.close(2)}
            run = self.solve(out, **before)
            self.assertEqual(run.returncode, 0)
            self.assertTrue((out / "reconstruction.h5").exists())

    def test_lost_output_is_exit_code_one_and_the_files_are_there(self):
        self.solve(self.folder / "image")
        image = self.folder / "image" / "reconstruction.h5"
        for lost in ({"stdout": open("/dev/full", "w")}, {"preexec_fn": lambda: os.close(1)}):
            run = ptyche("evaluate", image, self.scan, "-o", self.folder / "scores.json", **lost)
            self.says(run, 1, "the output could not be written")
            self.assertGreater((self.folder / "scores.json").stat().st_size, 100)

    def test_a_closed_stdin_and_stdout_do_not_get_into_a_file(self):
        def close():
            for stream in (0, 1, 2):
                os.close(stream)
        self.solve(self.folder / "out", preexec_fn=close)
        h5py.File(self.folder / "out" / "reconstruction.h5").close()
        self.assertTrue((self.folder / "out" / "report.html").read_text().startswith("<!"))

    def test_a_reader_that_goes_away_ends_no_run(self):
        out = self.folder / "out"
        read, write = os.pipe()
        os.close(read)
        run = self.solve(out, stdout=write)
        self.says(run, 1, "Broken pipe")
        self.assertTrue((out / "report.html").exists())

    def test_escape_sequences_of_a_file_do_not_reach_the_terminal(self):
        self.solve(self.folder / "image")
        image = self.folder / "image" / "reconstruction.h5"
        with h5py.File(image, "r+") as file:
            file["ptyche"].attrs["source"] = "\x1b]0;owned\x07\x1b[2J\x9b31m"
        run = ptyche("info", image)
        self.says(run, 0)
        self.assertNotRegex(run.stdout, "[\x1b\x07\x9b]")
        self.assertIn("\\x1b]0;owned", run.stdout)


class Folders(Faults):
    def test_a_finished_folder_is_refused_kept_and_moved(self):
        out = self.folder / "out"
        self.says(self.solve(out), 0)
        first = (out / "reconstruction.h5").read_bytes()
        for words, text in (((), "expected a folder without results"),
                            (("--resume",), "has come to its end")):
            self.says(self.solve(out, *words), 1, str(out), text, "--overwrite")
            self.assertTrue((out / "reconstruction.h5").read_bytes() == first)
        self.says(self.solve(out, "--overwrite", passes=3), 0)
        self.assertTrue((self.folder / "out.old" / "reconstruction.h5").read_bytes() == first)
        self.assertFalse((out / "reconstruction.h5").read_bytes() == first)

    def test_an_image_may_be_inferred_beside_its_model(self):
        out = self.folder / "out"
        self.says(ptyche("train", self.scan, "-o", out, *TRAIN), 0)
        self.says(ptyche("infer", self.scan, "-m", out, "-o", out, "--threads", 1), 0)
        self.says(ptyche("train", self.scan, "-o", out, *TRAIN), 1, "model.ptyche")

    def test_two_runs_in_one_folder_are_one_too_many(self):
        out = self.folder / "out"
        first = subprocess.Popen([PTYCHE, "solve", self.scan, "-o", out, *SOLVE],
                                 stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        try:
            self.wait_for(out / ".ptyche.lock")
            for words in ((), ("--overwrite",), ("--resume",)):
                self.says(self.solve(out, *words), 1, "another run of ptyche is at work",
                          f"process {first.pid} on")
        finally:
            first.send_signal(signal.SIGINT)
            self.assertEqual(first.wait(HUNG), 130)
        self.assertFalse((out / ".ptyche.lock").exists())

    def wait_for(self, file):
        end = time.time() + HUNG
        while not (file.exists() and file.stat().st_size > 0) and time.time() < end:
            time.sleep(0.02)

    def test_a_checkpoint_is_never_replaced_by_a_new_run(self):
        out = self.folder / "out"
        run = subprocess.Popen([PTYCHE, "solve", self.scan, "-o", out, *SOLVE],
                               stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.wait_for(out / ".ptyche.lock")
        time.sleep(1)
        run.send_signal(signal.SIGTERM)
        self.assertEqual(run.wait(HUNG), 130)
        kept = (out / "solve_checkpoint.h5").read_bytes()
        self.says(self.solve(out), 1, "--resume")
        self.says(self.solve(out, "--resume"), 1, "checkpoint is of another run")
        self.assertTrue((out / "solve_checkpoint.h5").read_bytes() == kept)

    def test_a_folder_that_cannot_be_written_to_is_named(self):
        file = self.folder / "file"
        file.write_text("")
        for out in (file, file / "below", pathlib.Path("/proc/out"), self.folder / ("n" * 300)):
            self.says(self.solve(out), 1, str(out))
        loop = self.folder / "loop"
        loop.symlink_to(loop)
        self.says(self.solve(loop), 1, str(loop))

    def test_a_folder_that_goes_away_is_an_error_that_names_the_file(self):
        out = self.folder / "out"
        run = subprocess.Popen([PTYCHE, "solve", self.scan, "-o", out, *SOLVE],
                               stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        self.wait_for(out / ".ptyche.lock")
        time.sleep(0.5)
        shutil.rmtree(out)
        run.send_signal(signal.SIGINT)
        error = run.communicate(timeout=HUNG)[1]
        self.assertEqual(run.returncode, 1)
        self.assertIn(str(out), error)
        self.assertNotIn("internal error", error)


class Files(Faults):
    def read_with_every_verb(self, file):
        for words in (("info", file), ("evaluate", file, self.scan), ("compare", file, self.scan),
                      ("solve", file, "-o", self.folder / "o"),
                      ("solve", self.scan, "-o", self.folder / "o", "--start", file, "--solver", "ml:1"),
                      ("infer", self.scan, "-m", file, "-o", self.folder / "o")):
            run = ptyche(*words, timeout=20)
            self.says(run, 1, str(file))

    def test_what_is_no_file_is_named_by_every_verb(self):
        fifo, loop = self.folder / "fifo", self.folder / "loop"
        os.mkfifo(fifo)
        loop.symlink_to(loop)
        for file in (fifo, loop, self.folder / ("n" * 300), self.folder / "none"):
            self.read_with_every_verb(file)

    def test_a_zip_bomb_is_refused_before_memory_is_taken(self):
        import zipfile
        bomb = self.folder / "bomb.npz"
        header = np.lib.format.header_data_from_array_1_0(np.zeros(1, np.float32))
        header["shape"] = (400, 1024, 1024)
        with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
            with archive.open("diffraction.npy", "w", force_zip64=True) as out:
                np.lib.format.write_array_header_1_0(out, header)
                for _ in range(400):
                    out.write(bytes(4 << 20))
            for name in ("xcoords", "ycoords"):
                with archive.open(f"{name}.npy", "w") as out:
                    np.lib.format.write_array(out, np.arange(400.0))
        run = self.with_memory(2000, "info", bomb)
        self.says(run, 1, "bomb.npz: diffraction:", "archive made to fill the memory")

    def with_memory(self, megabytes, *words):
        return subprocess.run(["sh", "-c", f'ulimit -v {megabytes * 1024}; exec "$@"', "sh", PTYCHE,
                               *map(str, words)], capture_output=True, text=True, timeout=HUNG)

    def test_too_little_memory_is_said_with_the_file(self):
        big = self.folder / "big.npz"
        np.savez(big, diffraction=np.random.default_rng(1).poisson(3.0, (700, 256, 256)).astype(
            np.float32), xcoords=np.arange(700.0), ycoords=np.arange(700.0))
        run = self.with_memory(1000, "info", big)
        self.assertNotEqual(run.returncode, 3, run.stderr)
        self.assertNotIn("internal error", run.stderr)

    def test_an_empty_truth_is_named(self):
        file = self.folder / "empty.npz"
        np.savez(file, diffraction=np.ones((9, 16, 16)), xcoords=np.arange(9.0),
                 ycoords=np.arange(9.0), objectGuess=np.ones((3, 0), complex))
        self.says(ptyche("info", file), 1, "empty.npz: objectGuess: expected (rows, cols)")

    def test_deep_json_is_refused(self):
        file = self.folder / "deep.json"
        file.write_text('{"heldout_indices": ' + "[" * 200000)
        self.says(self.solve(self.folder / "o", "--hold-out-file", file), 1, str(file))

    def test_damaged_attributes_of_a_foreign_file_crash_nothing(self):
        file = self.folder / "foreign.h5"
        with h5py.File(file, "w") as out:
            out["object"] = np.ones((20, 20), complex)
            out["probe"] = np.ones((16, 16), complex)
            for axis in "xy":
                out[f"probe_position_{axis}_m"] = np.arange(9.0)
                out["object"].attrs[f"center_{axis}_m"] = 0.0
            out["object"].attrs["pixel_width_m"] = out["object"].attrs["pixel_height_m"] = 1.0
            out.create_group("ptyche").attrs["source"] = "a text of variable length" * 3
        whole = file.read_bytes()
        heap = whole.index(b"GCOL")
        places = range(heap, heap + 200, 1 if MANY else 23)
        for place in places:
            file.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1:])
            run = ptyche("info", file, timeout=20)
            self.assertIn(run.returncode, (0, 1), run.stderr)
            if run.returncode:
                self.says(run, 1, str(file))


class OtherFormats(Faults):
    """Files of other programs that are damaged, or made to do harm; each within ten seconds."""

    def refused(self, file, *words, within=10, beyond=400 << 20):
        """The error names the file; `beyond` bytes of memory beside what the program takes anyway."""
        begin = time.time()
        run = subprocess.Popen([PTYCHE, *map(str, words or ("info", file))], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        error = run.stderr.read()
        _, state, used = os.wait4(run.pid, 0)
        run.stderr.close()
        run.returncode = os.waitstatus_to_exitcode(state)
        self.assertEqual(run.returncode, 1, error)
        self.assertIn(pathlib.Path(file).name, error)
        self.assertNotIn("internal error", error)
        self.assertLess(time.time() - begin, within if MANY else 3 * within)
        self.assertLess(used.ru_maxrss << 10, beyond + (200 << 20))

    def options_that_take_a_file(self, file):
        scan, out = self.scan, self.folder / "o"
        return (("info", scan, "--mask", file), ("info", scan, "--positions", f"{file}:x,{file}:y"),
                ("solve", scan, "-o", out, "--hold-out-file", file), ("info", file, "--patterns", "data"),
                ("info", scan, "--format", file),
                ("solve", scan, "-o", out, "--no-check", "--probe", file),
                ("solve", scan, "-o", out, "--config", file),
                ("simulate", "-o", self.folder / "s.cxi", "--object", "image", "--object-file", file))

    def test_fifos_devices_and_loops_hold_no_option_up(self):
        fifo, loop = self.folder / "fifo.toml", self.folder / "loop.toml"
        os.mkfifo(fifo)
        loop.symlink_to(loop)
        others = (loop, "/dev/zero", self.folder / ("n" * 300 + ".toml"))
        for file in (fifo, *(others if MANY else ())):
            for words in self.options_that_take_a_file(file):
                if "--format" in words and str(file) == "/dev/zero":
                    continue  # a name of a format, which is not known
                with self.subTest(words=words):
                    self.refused(file, *words)

    def test_links_of_hdf5_to_fifos_are_not_followed(self):
        os.mkfifo(self.folder / "fifo.h5")
        shape, source = (2, 3), h5py.VirtualSource("fifo.h5", "data", shape=(2, 3))
        layout = h5py.VirtualLayout(shape, float)
        layout[:] = source
        def external(file): file["entry/data/data"] = h5py.ExternalLink("fifo.h5", "/data")
        def virtual(file): file.create_virtual_dataset("entry/data/data", layout)
        def raw(file):
            file.create_dataset("entry/data/data", shape, float, external=[("fifo.h5", 0, 48)])
        def nested(file):
            with h5py.File(self.folder / "between.h5", "w") as between:
                external(between)
            file["entry/data"] = h5py.ExternalLink("between.h5", "/entry/data")
        for make in (external, virtual, raw, nested):
            with self.subTest(kind=make.__name__):
                path = self.folder / f"{make.__name__}.h5"
                with h5py.File(path, "w") as file:
                    make(file)
                self.refused(path)

    def test_damage_in_a_file_that_another_one_links_to_crashes_nothing(self):
        data, master = self.folder / "data_000001.h5", self.folder / "scan_master.h5"
        with h5py.File(data, "w") as file:
            file["data"] = np.ones((9, 8, 8), np.uint16)
            file["data"].attrs["text"] = ["a text of variable length" * 3, "and another"]
        with h5py.File(master, "w") as file:
            file["entry/data/data_000001"] = h5py.ExternalLink(data.name, "/data")
        whole = data.read_bytes()
        heap = whole.index(b"GCOL")
        for place in range(heap, heap + 120, 5 if MANY else 50):
            data.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1:])
            run = ptyche("info", master, timeout=20)
            self.says(run, 1, "scan_master.h5")

    def test_damaged_bytes_of_detector_files_crash_nothing(self):
        corpus = HERE.parent / "fuzz" / "corpus"
        luck = random.Random(11)
        files = [(corpus / "arrays" / name, ending) for name, ending in
                 (("tiff_u2", ".tif"), ("mib_U16", ".mib"), ("empad.xml", ".xml"), ("columns", ".txt"))]
        files += [(corpus / "matlab" / name, ".mat") for name in ("plain", "packed")]
        for source, ending in files:
            whole = source.read_bytes()
            for number in range(12 if MANY else 1):
                damaged = bytearray(whole)
                for _ in range(luck.randint(1, 16)):
                    damaged[luck.randrange(len(damaged))] = luck.randrange(256)
                file = self.folder / f"damaged {number}{ending}"
                file.write_bytes(damaged if number % 4 else damaged[:luck.randrange(len(damaged))])
                run = ptyche("info", file, timeout=20)
                self.says(run, 1, file.name)

    def test_files_that_declare_more_than_they_hold_take_no_memory(self):
        import struct
        tiff = self.folder / "large.tif"
        tags = [(256, 100000), (257, 100000), (258, 16), (259, 1), (262, 1), (273, 8), (277, 1),
                (278, 100000), (279, 1 << 30), (339, 1)]
        tiff.write_bytes(struct.pack("<2sHIH", b"II", 42, 8, len(tags)) +
                         b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags) +
                         bytes(4))
        mib = self.folder / "large.mib"
        mib.write_bytes(b"MQ1,000001,00384,01,65000,65000,U32,".ljust(384) + bytes(1000))
        table = self.folder / "table.txt"
        table.write_text("1 " * (17 << 20))
        recipe = self.folder / "deep.toml"
        recipe.write_text("[scan]\npatterns = " + "[" * 100000)
        stars = self.folder / "stars.toml"
        stars.write_text(f'[scan]\npatterns = "{"*a" * 60}b"\n')
        for file in (tiff, mib):
            self.refused(file)
        self.refused(table, "info", self.scan, "--positions", f"{table}:1,{table}:2")
        self.refused(recipe, "info", self.scan, "--format", recipe)
        many = self.folder / "many.h5"
        with h5py.File(many, "w") as file:
            for number in range(20):
                file["a" * 200 + str(number)] = 1
        self.refused(many, "info", many, "--format", stars)

    def test_a_picture_that_declares_more_than_it_holds_takes_no_memory(self):
        import struct
        import zlib
        def chunk(name, data):
            return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        bomb = self.folder / "bomb.png"
        bomb.write_bytes(b"\x89PNG\r\n\x1a\n" +
                         chunk(b"IHDR", struct.pack(">IIBBBBB", 2**31 - 1, 2**31 - 1, 16, 6, 0, 0, 0)) +
                         chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b""))
        self.refused(bomb, "simulate", "-o", self.folder / "s.cxi", "--object", "image",
                     "--object-file", bomb)


class Writes(Faults):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.kept_shim = tempfile.TemporaryDirectory(prefix="ptyche_shim_")  # without a blank
        cls.shim = pathlib.Path(cls.kept_shim.name) / "failing_disk.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", cls.shim, HERE / "failing_disk.c",
                        "-ldl"], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.kept_shim.cleanup()
        super().tearDownClass()

    def failing(self, at, error, *words):
        environment = dict(os.environ, LD_PRELOAD=str(self.shim), PTYCHE_FAIL_AT=str(at),
                           PTYCHE_FAIL_WITH=str(error),
                           PTYCHE_FAIL_COUNT=str(self.common / "writes"))
        return ptyche(*words, env=environment)

    def every_write_fails(self, words, few):
        out = self.folder / "counted"
        self.says(self.failing(0, 0, *words(out)), 0)
        whole = {file.name for file in out.iterdir()} | KEPT_FOR_RESUME
        count = int((self.common / "writes").read_text())
        some = random.Random(1).sample(range(1, count + 1), min(24 if MANY else few, count))
        places = sorted({1, 2, count, *some})
        for place in places:
            for error in (errno.ENOSPC, errno.EIO) if MANY else (errno.ENOSPC,):
                out = self.folder / f"{place} {error}"
                run = self.failing(place, error, *words(out))
                self.assertIn(run.returncode, (0, 1), f"write {place}: {run.stderr}")
                self.assertNotIn("internal error", run.stderr)
                if run.returncode == 1:
                    self.assertIn(os.strerror(error), run.stderr)
                for file in out.iterdir() if out.exists() else ():
                    self.assertTrue(file.name in whole, f"write {place} leaves {file.name}")
                    self.assertGreater(file.stat().st_size, 0)
                    if file.suffix in (".h5", ".ptyche"):
                        h5py.File(file).close()

    def test_of_solve_fail_with_a_message_and_leave_no_half_file(self):
        self.every_write_fails(lambda out: ("solve", self.scan, "-o", out, "--solver", "ml:4",
                                            "--every", 2, "--no-check", "--threads", 1,
                                            "--no-verdict"), 4)

    def test_of_train_fail_with_a_message_and_leave_no_half_file(self):
        self.every_write_fails(lambda out: ("train", self.scan, "-o", out, *TRAIN), 3)


class Kills(Faults):
    """A checkpoint every 0.1 s instead of every 30, so that short runs have many."""
    OFTEN = dict(os.environ, PTYCHE_CHECKPOINT_SECONDS="0.1")

    def ended(self, verb, words, out, sign, after):
        """Runs on in `out` and is ended after so many seconds, unless it finishes before. True when it has."""
        run = subprocess.Popen([PTYCHE, verb, str(self.scan), "-o", str(out), *words, "--resume"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               env=self.OFTEN)
        try:
            run.wait(after)
        except subprocess.TimeoutExpired:
            run.send_signal(sign)
        error = run.communicate(timeout=HUNG)[1]
        self.assertNotIn("internal error", error)
        # A signal may come when all is written: then there is nothing to resume.
        if run.returncode == 0 or "has come to its end" in error:
            return True
        self.assertIn(run.returncode, (130, -sign), error)
        for file in out.rglob("*") if out.exists() else ():
            if file.suffix in (".h5", ".ptyche"):
                h5py.File(file).close()
        return False

    def killed_and_resumed(self, verb, words, result, sign, kills, ends=3):
        """So many signals at random moments, at most `ends` in one folder; then the run may finish, and its
        result is that of a run that nobody has ended."""
        straight = self.folder / "straight"
        length = HUNG
        for again in ([], ["--overwrite"]):
            begin = time.time()
            self.says(ptyche(verb, self.scan, "-o", straight, *words, *again), 0)
            length = min(length, time.time() - begin)
        luck = random.Random(7)
        made = folders = 0
        while made < kills and folders < 3 * kills:
            folders += 1
            out = self.folder / f"killed {folders}"
            done = False
            for _ in range(min(ends, kills - made)):
                done = self.ended(verb, words, out, sign, luck.uniform(0.02, 0.9 * length))
                if done:
                    # Other work may have slowed the runs that were timed: earlier signals reach this one.
                    length *= 0.8
                    break
                made += 1
            if not done:
                self.assertTrue(self.ended(verb, words, out, sign, HUNG))
            self.assertTrue(self.content(out / result) == self.content(straight / result), out)
            left = [file.name for file in out.iterdir()
                    if file.name.startswith(".ptyche") or "checkpoint" in file.name]
            self.assertEqual(left, [])
            shutil.rmtree(out)
        self.assertEqual(made, kills)

    def content(self, file):
        """The bytes of a model; of a product its arrays (its options name the folder)."""
        if file.suffix == ".ptyche":
            return file.read_bytes()
        with h5py.File(file) as found:
            return [found[name][()].tobytes() for name in
                    ("object", "probe", "probe_position_x_m", "loss_values")]

    SOLVER = ["--solver", "ml:300,rpie:20", "--plateau", "0", "--no-check", "--threads", "1",
              "--no-verdict", "--refine-positions", "--every", "50"]
    AUTOMATIC = ["--no-check", "--threads", "1"]

    def test_by_sigkill_of_solve_resume_bit_for_bit(self):
        self.killed_and_resumed("solve", self.SOLVER, "reconstruction.h5", signal.SIGKILL,
                                30 if MANY else 2)

    def test_by_sigterm_of_solve_resume_bit_for_bit(self):
        self.killed_and_resumed("solve", self.SOLVER, "reconstruction.h5", signal.SIGTERM,
                                10 if MANY else 1)

    def test_by_sighup_of_train_resume_bit_for_bit(self):
        self.killed_and_resumed("train", TRAIN, "model.ptyche", signal.SIGHUP, 10 if MANY else 1)

    def test_by_sigkill_of_train_resume_bit_for_bit(self):
        self.killed_and_resumed("train", TRAIN, "model.ptyche", signal.SIGKILL, 30 if MANY else 2)

    def test_by_sigkill_of_reconstruct_resume_bit_for_bit(self):
        self.killed_and_resumed("reconstruct", self.AUTOMATIC, "reconstruction.h5", signal.SIGKILL,
                                30 if MANY else 2, ends=6)

    def test_by_sigint_of_reconstruct_resume_bit_for_bit(self):
        self.killed_and_resumed("reconstruct", self.AUTOMATIC, "reconstruction.h5", signal.SIGINT,
                                10 if MANY else 1, ends=6)

    def test_by_sigkill_of_the_automatic_solver_resume_bit_for_bit(self):
        self.killed_and_resumed("solve", [*self.AUTOMATIC, "--no-verdict"], "reconstruction.h5",
                                signal.SIGKILL, 10 if MANY else 1, ends=6)

    def test_by_sigkill_of_a_training_and_its_refinement_resume_bit_for_bit(self):
        words = ["--train", "2", *TRAIN[2:], "--refine", "60", "--no-check", "--no-verdict"]
        self.killed_and_resumed("reconstruct", words, "reconstruction.h5", signal.SIGKILL,
                                10 if MANY else 1, ends=5)


class Surroundings(Faults):
    THREADS = (1, 2, 7, 64)
    MANY_WAIT = 900  # seconds: 64 threads on two busy processors wait for each other for minutes

    def image(self, name, **environment):
        out = self.folder / name
        threads, solver = environment.pop("threads", 1), environment.pop("solver", "ml")
        env = {key: value for key, value in {**os.environ, **environment}.items() if value is not None}
        run = ptyche("solve", self.scan, "-o", out, "--solver", f"{solver}:10", "--no-check",
                     "--no-verdict", "--threads", threads, env=env, timeout=self.MANY_WAIT)
        self.says(run, 0)
        with h5py.File(out / "reconstruction.h5") as file:
            return file["object"][()]

    def test_like_a_home_or_another_locale_change_no_bit(self):
        usual = self.image("usual")
        for name, change in (("no home", {"HOME": None}), ("home", {"HOME": "/nowhere"}),
                             ("german", {"LC_ALL": "de_DE.UTF-8"}), ("bytes", {"LC_ALL": "C"}),
                             ("tmp", {"TMPDIR": "/nowhere"})):
            self.assertTrue(np.array_equal(self.image(name, **change), usual), name)

    def test_like_the_number_of_threads_change_no_bit_of_solvers_that_promise_it(self):
        for solver in ("rpie", "epie", "dm", "raar"):
            images = [self.image(f"{solver} {threads}", solver=solver, threads=threads)
                      for threads in self.THREADS]
            for image in images[1:]:
                self.assertTrue(np.array_equal(image, images[0]), solver)

    def test_like_the_number_of_threads_change_rounding_alone(self):
        usual = self.image("usual")
        for threads in self.THREADS:
            again = self.image(f"threads {threads}", threads=threads)
            same = self.image(f"threads {threads} again", threads=threads)
            self.assertTrue(np.array_equal(again, same), threads)
            self.assertLess(np.abs(again - usual).max(), 1e-2 * np.abs(usual).max(), threads)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("ptyche")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    PTYCHE, MANY = os.path.abspath(options.ptyche), options.all
    unittest.main(argv=[sys.argv[0], *options.names], verbosity=1)
