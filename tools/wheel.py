#!/usr/bin/env python3
"""A wheel of the Python package and the program behind it, out of an installation of the program.

usage: tools/wheel.py FOLDER OUT   FOLDER as `cmake --install` lays it out

Also what `pip install .` calls (PEP 517): it builds the program first, as ./run wheel does. Needs nothing
but Python. Two wheels of one commit have the same bytes.
"""
import base64
import hashlib
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import time
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "python" / "ptyche"
COMMAND = ROOT / "python" / "_ptyche_command.py"
# It carries glibc, and runs without any: manylinux names the oldest that pip and Linux of Python 3.10 come with.
TAG = "py3-none-manylinux_2_17_x86_64.musllinux_1_1_x86_64"
LEVEL = 6  # of deflate: 9 takes three times as long for 0.3 %

ENTRY_POINTS = """[console_scripts]
ptyche = _ptyche_command:main
"""

METADATA = """Metadata-Version: 2.1
Name: ptyche
Version: {version}
Summary: Images from ptychography scans
License: BSD-3-Clause
License-File: LICENSE
Requires-Python: >=3.10
Requires-Dist: numpy>=1.23
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Classifier: Topic :: Scientific/Engineering
Classifier: Typing :: Typed
Description-Content-Type: text/markdown

{readme}"""


class Wheel:
    """Writes members and remembers what RECORD says of them."""

    def __init__(self, path, moment):
        self.archive = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL)
        self.moment, self.record = moment, []

    def add(self, name, data, executable=False):
        info = zipfile.ZipInfo(name, self.moment)
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = (stat.S_IFREG | (0o755 if executable else 0o644)) << 16
        self.archive.writestr(info, data, compresslevel=LEVEL)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(data)}\n")

    def add_folder(self, folder, name):
        for path in sorted(folder.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                self.add(f"{name}/{path.relative_to(folder).as_posix()}", path.read_bytes(),
                         os.access(path, os.X_OK))

    def close(self, info):
        name = f"{info}/RECORD"
        self.add(name, ("".join(self.record) + f"{name},,\n").encode())
        self.archive.close()


def version_of(folder):
    said = subprocess.run([folder / "bin" / "ptyche", "--version"], capture_output=True, text=True,
                          check=True).stdout
    return said.split()[1]


def moment_of_commit():
    seconds = os.environ.get("SOURCE_DATE_EPOCH") or subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True,
        check=False).stdout.strip()
    return time.gmtime(int(seconds or 315619200))[:6]  # a zip begins in 1980


def tag_lines():
    """WHEEL lists one by one what a name joins by dots."""
    *kind, platforms = TAG.split("-")
    return "".join(f"Tag: {'-'.join([*kind, platform])}\n" for platform in platforms.split("."))


def make(folder, out):
    """The path of the wheel."""
    version = version_of(folder)
    path, info = out / f"ptyche-{version}-{TAG}.whl", f"ptyche-{version}.dist-info"
    beside = path.with_suffix(".new")
    wheel = Wheel(beside, moment_of_commit())
    wheel.add_folder(PACKAGE, "ptyche")
    wheel.add_folder(folder / "lib" / "ptyche", "ptyche/program")
    wheel.add_folder(folder / "share" / "doc" / "ptyche" / "licences", "ptyche/program/licences")
    wheel.add(COMMAND.name, COMMAND.read_bytes())
    wheel.add(f"{info}/entry_points.txt", ENTRY_POINTS.encode())
    wheel.add(f"{info}/LICENSE", (ROOT / "LICENSE").read_bytes())
    wheel.add(f"{info}/METADATA", metadata(version).encode())
    wheel.add(f"{info}/WHEEL", (f"Wheel-Version: 1.0\nGenerator: ptyche tools/wheel.py\n"
                                f"Root-Is-Purelib: false\n{tag_lines()}").encode())
    wheel.close(info)
    os.replace(beside, path)
    return path


def metadata(version):
    return METADATA.format(version=version, readme=(ROOT / "docs" / "python.md").read_text())


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    """What pip asks first: told without a build."""
    version = re.search(r"project\(ptyche VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
    info = pathlib.Path(metadata_directory) / f"ptyche-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(metadata(version))
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    return info.name


def get_requires_for_build_wheel(config_settings=None):
    return []


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """What pip calls."""
    done = subprocess.run(["./run", "wheel"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    path = pathlib.Path(done.stdout.split()[0])
    shutil.copy(ROOT / path, wheel_directory)
    return path.name


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    print(make(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])))
