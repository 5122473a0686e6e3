"""The checked-in type stubs: what the program says of itself, and types that mypy --strict takes."""
import os
import pathlib
import shutil
import subprocess
import textwrap

import pytest

import ptyche
from ptyche import _stubs

PACKAGE = pathlib.Path(ptyche.__file__).parent
CONFIG = pathlib.Path(__file__).resolve().parents[2] / "pyproject.toml"
OLDEST, NEWEST = 10, 14  # of Python 3
PTYCHODUS, OLDEST_OF_PTYCHODUS = CONFIG.parent / "integrations" / "ptychodus" / "src", 11

USE = """
    import numpy as np
    import ptyche

    scan = ptyche.Scan(np.zeros((2, 8, 8)), np.zeros((2, 2)), energy_eV=8000)
    image: ptyche.Reconstruction = ptyche.solve(scan, "ml:3", refine_positions=True, batch=4)
    job: ptyche.Job[ptyche.Model] = ptyche.train.start(scan, epochs=3)
    model = job.result(on_progress=print)
    other = ptyche.infer(scan, model, threads=1)
    error: float = ptyche.compare(image, other.object).scores["nrmse_contrast"]
    ptyche.reconstruct("a.cxi", "b.cxi", energy="8keV", mask=np.zeros((8, 8), bool))
"""
WRONG = {
    'ptyche.solve("a.cxi", "ml:3", refine_positions="sideways")': "arg-type",
    'ptyche.solve("a.cxi", "ml:3", batch=[1])': "arg-type",
    'ptyche.solve("a.cxi", "ml:3", solvr="x")': "call-arg",
    'ptyche.train("a.cxi").object': "attr-defined",
}


def test_the_stubs_are_what_the_program_says():
    assert (PACKAGE / "__init__.pyi").read_text() == _stubs.stubs(), (
        "to renew them: PYTHONPATH=python python3 -m ptyche._stubs > python/ptyche/__init__.pyi")


def test_the_stubs_have_every_public_name():
    text = (PACKAGE / "__init__.pyi").read_text()
    for name in dir(ptyche):
        assert f"\n{name}: " in text or f" as {name}\n" in text, name


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("mypy")


def mypy(cache, minor, *words, **how):
    if shutil.which("mypy") is None:
        pytest.skip("mypy is not installed")
    env = dict(os.environ, MYPYPATH=f"{PACKAGE.parent}:{PTYCHODUS}")
    return subprocess.run(["mypy", "--config-file", CONFIG, "--strict", "--cache-dir", cache,
                           "--python-version", f"3.{minor}", *words], capture_output=True, text=True,
                          env=env, check=False, **how)


@pytest.mark.parametrize("minor", [OLDEST] + [pytest.param(minor, marks=pytest.mark.slow)
                                              for minor in range(OLDEST + 1, NEWEST + 1)])
def test_the_package_is_typed(minor, cache):
    done = mypy(cache, minor, "-p", "ptyche")
    assert done.returncode == 0, done.stdout


def test_the_command_for_ptychodus_is_typed(cache):
    done = mypy(cache, OLDEST_OF_PTYCHODUS, "-p", "ptyche_ptychodus")
    assert done.returncode == 0, done.stdout


def test_right_use_is_right_and_wrong_use_is_wrong(tmp_path, cache):
    (tmp_path / "use.py").write_text(textwrap.dedent(USE))
    (tmp_path / "wrong.py").write_text("import ptyche\n" + "\n".join(WRONG) + "\n")
    done = mypy(cache, OLDEST, "use.py", "wrong.py", cwd=tmp_path)
    assert "use.py" not in done.stdout
    for line, (call, code) in enumerate(WRONG.items(), 2):
        assert any(text.startswith(f"wrong.py:{line}: error") and text.endswith(f"[{code}]")
                   for text in done.stdout.splitlines()), (call, done.stdout)
