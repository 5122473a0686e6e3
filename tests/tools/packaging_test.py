#!/usr/bin/env python3
"""What stands in packaging/, as far as a machine without Docker, Slurm and conda can tell.

  packaging_test.py PTYCHE
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"
PTYCHE = None

# Slurm's srun for one process: without its own options.
SRUN = """#!/bin/bash
while [[ $1 == --* ]]; do shift; done
exec "$@"
"""


class Versions(unittest.TestCase):
    def test_are_those_of_the_program(self):
        version = re.search(r"project\(ptyche VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
        named = {name: re.search(pattern, (PACKAGING / name).read_text(), re.M)[1] for name, pattern in {
            "Dockerfile": r"^ARG VERSION=(\S+)", "ptyche.def": r"VERSION=(\S+)", "modulefile": r"^set version (\S+)",
            "compose.yaml": r"image: ptyche:(\S+)", "conda/recipe.yaml": r"^  version: ([0-9.]+)"}.items()}
        named["CITATION.cff"] = re.search(r"^version: (\S+)", (ROOT / "CITATION.cff").read_text(), re.M)[1]
        self.assertEqual(named, dict.fromkeys(named, version))

    def test_of_libtorch_is_the_pinned_one(self):
        pinned = re.search(r"^torch==(\d+\.\d+)", (ROOT / "tools/requirements.txt").read_text(), re.M)[1]
        self.assertIn(f"libtorch {pinned}.*", (PACKAGING / "conda/recipe.yaml").read_text())
        self.assertIn(f"py-torch@{pinned}~cuda", (PACKAGING / "spack/ptyche/package.py").read_text())


class Scripts(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory(prefix="ptyche packaging ")
        self.addCleanup(kept.cleanup)
        self.folder = pathlib.Path(kept.name)
        (self.folder / "srun").write_text(SRUN)
        (self.folder / "srun").chmod(0o755)
        (self.folder / "ptyche").symlink_to(PTYCHE)
        self.how = {"cwd": self.folder, "env": {"PATH": f"{self.folder}:/usr/bin:/bin"}, "capture_output": True,
                    "encoding": "utf-8", "check": False, "stdin": subprocess.DEVNULL}
        self.ok("ptyche", "simulate", "-o", "a scan.cxi", "--N", "32", "--n-patterns", "100", "--probe-diameter", "12",
                "--step", "3")

    def ok(self, *words):
        done = subprocess.run(words, **self.how)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_for_slurm_make_an_image(self):
        self.ok("bash", PACKAGING / "ptyche.sbatch", "a scan.cxi", "out")
        self.assertTrue((self.folder / "out/reconstruction.h5").exists())
        self.ok("bash", PACKAGING / "ptyche-ranks.sbatch", "a scan.cxi", "ranks")
        self.assertTrue((self.folder / "ranks/reconstruction.h5").exists())

    def test_for_slurm_say_what_is_missing(self):
        for name in ("ptyche.sbatch", "ptyche-ranks.sbatch"):
            done = subprocess.run(["bash", PACKAGING / name, "a scan.cxi"], **self.how)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(f"usage: sbatch {name} SCAN FOLDER", done.stderr)

    @unittest.skipUnless(shutil.which("modulecmd"), "no Environment Modules here")
    def test_the_module_finds_the_program(self):
        modules, root = self.folder / "modules", self.folder / "opt"
        (modules / "ptyche").mkdir(parents=True)
        text = (PACKAGING / "modulefile").read_text()
        text, changed = re.subn(r"(?m)^set root .*", f'set root "{root}"', text)
        self.assertEqual(changed, 1)
        (modules / "ptyche/0.1.0").write_text(text)
        said = subprocess.run(["modulecmd", "bash", "load", "ptyche"], capture_output=True, encoding="utf-8", check=True,
                              env={"MODULEPATH": str(modules), "PATH": os.environ["PATH"]}).stdout
        self.assertIn(f"PATH={root}/bin:".replace(" ", r"\ "), said)


if __name__ == "__main__":
    PTYCHE = pathlib.Path(sys.argv[1]).resolve()
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
