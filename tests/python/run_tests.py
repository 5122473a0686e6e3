#!/usr/bin/env python3
"""Runs the tests of the Python package, with the program that was built; for ctest.

  run_tests.py PROGRAM PYTEST-WORDS...

Exits with 77, "skipped", where pytest or NumPy is not installed (tools/packages.txt).
"""
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
missing = [name for name in ("pytest", "numpy") if importlib.util.find_spec(name) is None]
if missing:
    print(f"skipped: {', '.join(missing)} of {sys.executable} is not installed (tools/packages.txt)")
    sys.exit(77)
os.environ["PTYCHE_PROGRAM"] = os.path.abspath(sys.argv[1])
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, [str(ROOT / "python"), os.environ.get("PYTHONPATH")]))
os.chdir(ROOT)
# A temporary folder of its own: tests that look for what is left there run beside others.
with tempfile.TemporaryDirectory(prefix="ptyche python ") as folder:
    os.environ["TMPDIR"] = folder
    sys.exit(subprocess.run([sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider",
                             *sys.argv[2:]]).returncode)
