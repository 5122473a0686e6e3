"""`mpirun -n RANKS ptyche`: solve, infer and train give what one process gives, and how a run ends where something fails.

usage: ranks_test.py PTYCHE [TEST...]
"""
import csv
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import h5py
import numpy

PTYCHE = pathlib.Path(sys.argv.pop(1))
if not (PTYCHE.parent / "libptyche_mpi.so").exists() or shutil.which("mpirun") is None:
    print("skipped: no mpirun, or the plug-in for it is not built (./run build mpi)")
    sys.exit(77)

FOLDER = tempfile.TemporaryDirectory(prefix="ptyche ranks ")
HERE = pathlib.Path(FOLDER.name)
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMP_NUM_THREADS": "1"}
ENVIRONMENT.pop("OMPI_COMM_WORLD_SIZE", None)


def solve(to, solver, *more):
    return [PTYCHE, "solve", HERE / "scan.npz", "-o", HERE / to, "--solver", solver, "--hold-out", ".1", "--no-check",
            "--no-verdict", "--quiet", *more]


def run(ranks, command, **more):
    start = ["mpirun", "-n", str(ranks), "--bind-to", "none"] if ranks > 1 else []
    return subprocess.run([*start, *command], capture_output=True, text=True, timeout=300,
                          env={**ENVIRONMENT, **more})


def deviance(of):
    with open(HERE / of / "progress.csv") as file:
        return float(list(csv.DictReader(file))[-1]["held_out_deviance_per_photon"])


class Scans(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        subprocess.run([PTYCHE, "simulate", "-o", HERE / "scan.npz", "--N", "32", "--n-patterns", "225",
                        "--probe-diameter", "14", "--step", "3", "--quiet"], check=True)
        subprocess.run([PTYCHE, "simulate", "-o", HERE / "scan64.npz", "--n-patterns", "100", "--quiet"], check=True)

    def ends_as_one_process(self, solver):
        name = solver.partition(":")[0]
        self.assertEqual(run(1, solve(name + "1", solver)).returncode, 0)
        for ranks in 2, 4:
            done = run(ranks, solve(f"{name}{ranks}", solver))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertLess(abs(deviance(f"{name}{ranks}") / deviance(name + "1") - 1), .01, solver)


class Quick(Scans):
    def test_solvers_that_follow_gradients_end_where_one_process_ends(self):
        for solver in "lbfgs:8", "ml:8", "lsqml:8":
            self.ends_as_one_process(solver)

    def test_each_rank_reads_its_own_patterns(self):
        with numpy.load(HERE / "scan.npz") as file:
            damaged = dict(file)
        name = "diffraction" if "diffraction" in damaged else "diff3d"
        damaged[name] = numpy.rint(damaged[name]**2).astype(numpy.int32)
        damaged[name][-1, 3, 3] = -1
        numpy.savez(HERE / "damaged.npz", **damaged)
        command = solve("damaged", "lbfgs:2")
        command[2] = HERE / "damaged.npz"
        done = run(2, command)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1 pixels hold no count in 1 of 225 patterns", done.stderr)

    def test_a_rank_that_cannot_read_its_patterns_is_named(self):
        scan = HERE / "chunk.cxi"
        subprocess.run([PTYCHE, "simulate", "-o", scan, "--N", "32", "--n-patterns", "225", "--probe-diameter", "14",
                        "--step", "3", "--quiet"], check=True)
        name, stored = "entry_1/data_1/data", "entry_1/instrument_1/detector_1/data"
        with h5py.File(scan, "r+") as file:
            counts = file[name][()]
            del file[name]
            file.create_dataset(stored, data=counts, chunks=(1, 32, 32), compression="gzip")
            file[name] = h5py.SoftLink("/" + stored)
            last = file[stored].id.get_chunk_info(224)
        with open(scan, "r+b") as file:
            file.seek(last.byte_offset + 2)
            file.write(b"\xff" * (last.size // 2))
        command = solve("chunk", "lbfgs:2")
        command[2] = scan
        done = run(2, command)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("rank 1 of 2", done.stderr)
        self.assertIn("damaged gzip chunk", done.stderr)

    def test_another_verb_is_refused(self):
        done = run(2, [PTYCHE, "info", HERE / "scan.npz"])
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("info runs in one process, found 2", done.stderr)

    def test_without_the_plug_in_no_process_writes_anything(self):
        done = run(2, solve("none", "lbfgs:2"), PTYCHE_MPI_PLUGIN=str(HERE / "nowhere.so"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("started as one of 2 processes", done.stderr)
        self.assertFalse((HERE / "none").exists())

    def test_a_killed_rank_ends_the_run_which_another_number_of_ranks_goes_on_with(self):
        command = solve("killed", "lbfgs:400", "--every", "1000", "--plateau", "0")
        running = subprocess.Popen(["mpirun", "-n", "3", "--bind-to", "none", *command], stderr=subprocess.PIPE, text=True,
                                   env={**ENVIRONMENT, "PTYCHE_CHECKPOINT_SECONDS": "0"})
        checkpoint = HERE / "killed" / "solve_checkpoint.h5"
        for _ in range(600):
            if checkpoint.exists():
                break
            time.sleep(.05)
        self.assertTrue(checkpoint.exists())
        children = subprocess.run(["pgrep", "-P", str(running.pid)], capture_output=True, text=True).stdout.split()
        os.kill(int(children[-1]), signal.SIGKILL)
        said = running.communicate(timeout=120)[1]
        self.assertNotEqual(running.returncode, 0)
        self.assertIn("signal 9", said)
        done = run(2, [*command, "--resume"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(run(1, solve("whole", "lbfgs:400", "--every", "1000", "--plateau", "0")).returncode, 0)
        self.assertLess(abs(deviance("killed") / deviance("whole") - 1), .01)


class Slow(Scans):
    def test_solvers_by_projections_end_where_one_process_ends(self):
        for solver in "rpie:60", "epie:60", "dm:10", "raar:10":
            self.ends_as_one_process(solver)

    def test_infer_gives_the_image_of_one_process(self):
        objects = []
        for ranks in 1, 2, 4:
            to = HERE / f"infer{ranks}"
            done = run(ranks, [PTYCHE, "infer", HERE / "scan64.npz", "-o", to, "--no-trust", "--probe", "scan",
                               "--precision", "float32", "--quiet"])
            self.assertEqual(done.returncode, 0, done.stderr)
            with h5py.File(to / "reconstruction.h5") as file:
                objects.append(file["object"][()])
        for other in objects[1:]:
            self.assertLess(abs(other - objects[0]).max(), 1e-6 * abs(objects[0]).max())

    def test_training_gives_the_losses_of_one_process(self):
        losses = []
        for ranks in 1, 2, 3:
            to = HERE / f"train{ranks}"
            done = run(ranks, [PTYCHE, "train", HERE / "scan.npz", "-o", to, "--epochs", "2", "--groups-per-batch", "4",
                               "--precision", "float32", "--refine-positions", "--quiet"])
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(to / "history.csv") as file:
                losses.append([float(line["loss"]) for line in csv.DictReader(file)])
        for other in losses[1:]:
            for a, b in zip(other, losses[0], strict=True):
                self.assertLess(abs(a / b - 1), 1e-3)


if __name__ == "__main__":
    unittest.main()
