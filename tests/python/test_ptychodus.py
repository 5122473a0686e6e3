"""Ptyche inside ptychodus (integrations/ptychodus).

The quick tests need h5py alone. The slow ones need a Python that has ptychodus 1.7.0 with PyQt5 and h5py,
which PTYCHE_PTYCHODUS_PYTHON names: pip install "ptychodus[gui]==1.7.0" in an environment of its own
(1.2 GB; no PyTorch). They use a copy of its package, with the plug-in, and with the patch.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest

import ptyche

h5py = pytest.importorskip("h5py")
ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / "integrations" / "ptychodus"
PATCH = HERE / "ptychodus-1.7.0.patch"
SHARED = pathlib.Path(os.environ.get("PTYCHE_SHARED") or ROOT.parent / "shared")
STAR = SHARED / "data" / "siemens-star" / "siemens-star-64.npz"
INSIDE = os.environ.get("PTYCHE_PTYCHODUS_PYTHON")
SECONDS = 300  # of one child

sys.path.append(str(HERE / "src"))
import ptyche_ptychodus  # the line above has made it known

inside_ptychodus = [pytest.mark.slow, pytest.mark.skipif(
    not INSIDE, reason="PTYCHE_PTYCHODUS_PYTHON names no Python with ptychodus 1.7.0")]


@pytest.fixture(scope="module")
def small_npz(tmp_path_factory):
    file = tmp_path_factory.mktemp("small") / "scan.npz"
    ptyche.simulate(output=file, n_patterns=150, N=32, probe_diameter=12, seed=3)
    return file


@pytest.fixture()
def folder(small_npz, tmp_path):
    """ptychodus' standard folder: its own scan indexes, positions in another order, one pattern without."""
    made = tmp_path / "input"
    ptyche.convert(small_npz, made, as_="ptychodus", energy=8800, distance=2, detector_pixel="75um")
    with h5py.File(made / "diffraction.h5", "r+") as file:
        file["indexes"][...] = 7 + 3 * np.arange(150)
    with h5py.File(made / "product.h5", "r+") as file:
        rows = np.arange(150)[::-1][:-1]  # all but the first pattern
        for name in ("indexes", "x_m", "y_m"):
            values = file[f"probe_position_{name}"][()][rows]
            del file[f"probe_position_{name}"]
            file[f"probe_position_{name}"] = values * 3 + 7 if name == "indexes" else values
        file.attrs.update({"name": "leaf", "comments": "mine", "tomography_angle_deg": 12.5})
    return made


def opened(path):
    """All datasets and attributes of the root, in memory."""
    with h5py.File(path) as file:
        arrays = {name: each[()] for name, each in file.items() if isinstance(each, h5py.Dataset)}
        places = {f"object.{name}": value for name, value in file["object"].attrs.items()}
        return {**arrays, **dict(file.attrs), **places}


def command(*words):
    env = dict(os.environ, PYTHONPATH=os.pathsep.join([str(HERE / "src"), str(ROOT / "python")]))
    return subprocess.run([sys.executable, "-m", "ptyche_ptychodus", *map(str, words)], env=env,
                          capture_output=True, text=True, timeout=SECONDS, check=False)


def test_a_folder_of_ptychodus_becomes_its_next_product(folder, tmp_path):
    out = tmp_path / "output"
    ran = command("-i", folder, "-o", out, "--verb", "solve", "--", "--solver", "ml:5", "--no-verdict")
    assert ran.returncode == 0, ran.stderr
    before, after = opened(folder / "product.h5"), opened(out / "product.h5")
    alone = ptyche.solve(folder, "ml:5", no_verdict=True)
    assert np.array_equal(after["object"], alone.object) and np.array_equal(after["probe"], alone.probe)
    assert list(after["probe_position_indexes"]) == list(7 + 3 * np.arange(1, 150))
    order = np.argsort(before["probe_position_indexes"])
    for axis in ("x", "y"):
        np.testing.assert_allclose(after[f"probe_position_{axis}_m"],
                                   before[f"probe_position_{axis}_m"][order], atol=1e-13)
    assert (after["name"], after["tomography_angle_deg"]) == ("leaf", 12.5)
    deviance = json.loads((out / "ptyche" / "scores.json").read_text())["held_out.deviance_per_photon"]
    assert deviance == alone.scores["held_out.deviance_per_photon"]
    assert after["comments"] == f"mine\nPtyche: held-out deviance {deviance:.5g} per photon"
    assert len(after["loss_values"]) == 5


def test_what_is_refused_is_named_and_leaves_no_product(folder, tmp_path):
    out = tmp_path / "output"
    ran = command("-i", folder, "-o", out, "--", "--no-such-option")
    assert ran.returncode == 2 and "--no-such-option" in ran.stderr
    ran = command("-i", tmp_path, "-o", out)
    assert ran.returncode == 1 and f"{tmp_path / 'diffraction.h5'}: expected a file" in ran.stderr
    assert not (out / "product.h5").exists()
    with h5py.File(folder / "product.h5", "r+") as file:
        file.attrs["far_field"] = False
    ran = command("-i", folder, "-o", out)
    assert ran.returncode == 1 and "far_field: expected true, found false" in ran.stderr
    with h5py.File(folder / "product.h5", "r+") as file:
        del file["probe_position_indexes"]
    ran = command("-i", folder, "-o", out)
    assert "expected a dataset 'probe_position_indexes', found none" in ran.stderr


def test_a_result_of_other_patterns_is_refused(folder, tmp_path):
    alone = ptyche.solve(folder, "ml:2", no_verdict=True)
    with pytest.raises(ValueError, match="expected 3, one for each pattern with a position, found 149"):
        ptyche_ptychodus.write_product(alone.path, folder / "product.h5", np.arange(3), tmp_path / "p.h5")
    assert not list(tmp_path.glob("*p.h5*"))


def files_of_patch():
    """The text that the patch adds, by file; and the lines that it takes away."""
    added, taken, name = {}, [], ""
    for line in PATCH.read_text().splitlines():
        if line.startswith("+++ b/"):
            name = line.removeprefix("+++ b/")
        elif line.startswith("+"):
            added.setdefault(name, []).append(line[1:])
        elif line.startswith("-") and not line.startswith("---"):
            taken.append(line)
    return {name: "\n".join(lines) + "\n" for name, lines in added.items()}, taken


def test_the_patch_only_adds():
    added, taken = files_of_patch()
    assert taken == []
    assert {"ptychodus/model/core.py", "ptychodus/controller/core.py"} <= set(added)
    for name, text in added.items():
        if "/ptyche" in name:  # whole files
            compile(text, name, "exec")


# With ptychodus itself.


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """ptychodus as it is, and the plug-in."""
    place = tmp_path_factory.mktemp("released")
    found = subprocess.run([INSIDE, "-c", "import ptychodus; print(ptychodus.__file__)"], text=True,
                           capture_output=True, check=True, cwd=place).stdout.split()[-1]
    shutil.copytree(pathlib.Path(found).parent, place / "ptychodus",
                    ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(HERE / "src" / "ptychodus" / "plugins" / "ptyche.py", place / "ptychodus" / "plugins")
    return place


@pytest.fixture(scope="module")
def patched(released, tmp_path_factory):
    place = tmp_path_factory.mktemp("patched")
    shutil.copytree(released / "ptychodus", place / "ptychodus")
    subprocess.run(["patch", "-p1", "-s", "-i", PATCH], cwd=place, check=True)
    return place


@pytest.fixture()
def environment(tmp_path):
    """A home without the user's settings, and a folder for what is temporary."""
    for name in ("home", "tmp"):
        (tmp_path / name).mkdir()
    return dict(os.environ, HOME=str(tmp_path / "home"), TMPDIR=str(tmp_path / "tmp"),
                QT_QPA_PLATFORM="offscreen")


def run_python(place, environment, *words):
    paths = [place, HERE / "src", ROOT / "python"]
    ran = subprocess.run([INSIDE, "-B", *map(str, words)], text=True, capture_output=True, timeout=SECONDS,
                         env=dict(environment, PYTHONPATH=os.pathsep.join(map(str, paths))), check=False)
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-3000:]
    return ran.stdout


def inside(place, environment, *words):
    """What a function of ptychodus_inside.py has found."""
    script = pathlib.Path(__file__).parent / "ptychodus_inside.py"
    return json.loads(run_python(place, environment, script, *words).splitlines()[-1])


def batch(place, environment, action, source, target, settings):
    (source / "settings.ini").write_text(settings)
    return run_python(place, environment, "-m", "ptychodus", "-b", action, "-i", source, "-o", target)


def star_folder(place, environment, target):
    if not STAR.is_file():
        pytest.skip(f"{STAR} is not there")
    inside(place, environment, "folder", STAR, target)
    return target


class TestReleased:
    """The plug-in in ptychodus as it is."""

    pytestmark = inside_ptychodus

    def test_readers_and_the_workflow_are_listed(self, released, environment):
        for kind, names in inside(released, environment, "listed").items():
            expected = {"file_based_workflows": "Ptyche", "diffraction_file_readers": "Ptyche_Scan"}
            assert expected.get(kind, "Ptyche_Result" if kind != "probe_position_file_readers"
                                else "Ptyche_Scan") in names, kind

    def test_results_and_scans_of_other_programs_are_read(self, released, environment, small_npz, tmp_path):
        cxi = tmp_path / "scan.cxi"
        ptyche.convert(small_npz, cxi, energy=8800, distance=2, detector_pixel="75um")
        result = ptyche.solve(cxi, "ml:5", no_verdict=True)
        ptyche.export(result, tmp_path / "result.ptyr")
        found = inside(released, environment, "read", tmp_path / "result.ptyr", cxi, tmp_path / "loaded.h5")
        loaded = opened(tmp_path / "loaded.h5")
        assert np.array_equal(loaded["object"][0], result.object)
        own = opened(result.path)
        pixel = own["object.pixel_width_m"]
        assert loaded["object.pixel_width_m"] == pytest.approx(pixel, rel=1e-6)
        for axis in ("x", "y"):  # PtyPy's origin is another
            places = [each[f"probe_position_{axis}_m"] - each[f"object.center_{axis}_m"]
                      for each in (loaded, own)]
            np.testing.assert_allclose(*places, atol=1e-3 * pixel)
        assert found["name"] == "result"
        with np.load(small_npz) as data:
            assert found["sum"] == int(np.round(data["diffraction"].astype(np.float64) ** 2).sum())
        assert (found["patterns"], found["energy"], found["distance"]) == ([150, 32, 32], 8800, 2)
        assert found["pixel"] == pytest.approx(75e-6) and found["bad"] == 0
        np.testing.assert_allclose(found["x"], own["probe_position_x_m"], atol=1e-12)
        np.testing.assert_allclose(found["y"], own["probe_position_y_m"], atol=1e-12)

    def test_an_image_without_lengths_is_refused(self, released, environment, small_npz):
        result = ptyche.solve(small_npz, "ml:2", no_verdict=True)
        message = inside(released, environment, "refusal", result.path)["message"]
        assert str(result.path) in message and "expected lengths in metres, found 'object pixel'" in message

    def test_its_forward_model_foretells_the_patterns_from_our_product(self, released, environment, tmp_path):
        """Rows, columns, signs, the half pixel of the centre and the scale in one number."""
        source = star_folder(released, environment, tmp_path / "input")
        ours = ptyche.solve(source, "ml:20", no_verdict=True)
        found = inside(released, environment, "foretell", ours.path, source / "diffraction.h5")
        assert found["as it is"] == pytest.approx(ours.scores["used.r_factor"], rel=0.02)
        assert min(value for name, value in found.items() if name != "as it is") > 1.5 * found["as it is"]

    def test_a_scan_without_a_probe_becomes_a_folder_that_loads(self, released, environment, small_npz, tmp_path):
        with np.load(small_npz) as data:
            np.savez(tmp_path / "alone.npz", **{name: data[name] for name in data if name != "probeGuess"})
        ptyche.convert(tmp_path / "alone.npz", tmp_path / "folder", as_="ptychodus", energy=8800, distance=2,
                       detector_pixel="75um")
        product = tmp_path / "folder" / "product.h5"
        shape = run_python(released, environment, "-c", "import pathlib, sys; from ptychodus.api.io import *; "
                           "print(list(load_product(pathlib.Path(sys.argv[1])).object_.get_array().shape))", product)
        assert json.loads(shape) == [1, *opened(product)["object"].shape]
        assert "none in the file" in str(ptyche.info(tmp_path / "folder"))

    def test_the_workflow_reconstructs_and_loads(self, released, environment, small_npz, tmp_path):
        source = tmp_path / "leaf" / "input"
        inside(released, environment, "folder", small_npz, source)
        (source / "ptyche.toml").write_text("no-verdict = true\n")
        found = inside(released, environment, "workflow", source / "product.h5")
        product = opened(tmp_path / "leaf" / "output" / "product.h5")
        assert found["name"] == "star" and "Ptyche: held-out deviance" in found["comments"]
        assert found["object"] == [1, *product["object"].shape]
        assert product["probe_position_indexes"][0] == 100


class TestPatched:
    """The library in a patched copy."""

    pytestmark = inside_ptychodus

    def test_its_batch_mode_gives_what_the_command_line_gives(self, patched, environment, tmp_path):
        source = star_folder(patched, environment, tmp_path / "input")
        settings = ("[Processing]\nAlgorithm = Ptyche_Solve\n[PtycheSolve]\nSolver = ml:20\nNoVerdict = True\n"
                    f"ResultFolder = {tmp_path / 'kept'}\n")
        batch(patched, environment, "reconstruct", source, tmp_path / "output", settings)
        alone = ptyche.solve(source, "ml:20", no_verdict=True)
        product = opened(tmp_path / "output" / "product.000100.h5")
        assert np.array_equal(product["object"][0], alone.object)
        assert np.array_equal(product["probe"][0], alone.probe)
        np.testing.assert_array_equal(product["loss_values"], opened(alone.path)["loss_values"])
        kept = ptyche.load(tmp_path / "kept" / "reconstruction.h5")
        deviance = alone.scores["held_out.deviance_per_photon"]
        assert kept.scores["held_out.deviance_per_photon"] == deviance < 0.05
        assert f"held-out deviance {deviance:.5g} per photon" in product["comments"]
        assert ptyche.evaluate(kept, source, hold_out="auto")["held_out.deviance_per_photon"] == (
            pytest.approx(deviance, rel=1e-9))
        before = opened(source / "product.h5")
        for name in ("object.pixel_width_m", "probe_position_indexes", "tomography_angle_deg"):
            np.testing.assert_array_equal(product[name], before[name])
        first = opened(min((tmp_path / "output").glob("product.0*.h5")))  # a picture on the way
        assert first["object.center_x_m"] == pytest.approx(product["object.center_x_m"], rel=1e-9)

    def test_a_run_may_start_from_the_product(self, patched, environment, small_npz, tmp_path):
        inside(patched, environment, "folder", small_npz, tmp_path / "input")
        losses = {}
        for start in ("False", "True"):
            out = tmp_path / start
            batch(patched, environment, "reconstruct", tmp_path / "input", out,
                  "[Processing]\nAlgorithm = Ptyche_Solve\n[PtycheSolve]\nSolver = ml:5\nNoVerdict = True\n"
                  f"StartFromProduct = {start}\n")
            losses[start] = opened(out / "product.000100.h5")["loss_values"]
            shutil.copy(out / "product.000100.h5", tmp_path / "input" / "product.h5")
        assert losses["True"][0] < losses["False"][0]

    def test_it_trains_and_infers(self, patched, environment, small_npz, tmp_path):
        source = tmp_path / "input"
        inside(patched, environment, "folder", small_npz, source)
        settings = "[Processing]\nAlgorithm = Ptyche_Infer\n[PtycheTrain]\nEpochs = 2\n"
        batch(patched, environment, "train", source, tmp_path / "trained", settings)
        shutil.copy(tmp_path / "trained" / "model.ptyche", source)
        batch(patched, environment, "reconstruct", source, tmp_path / "output", settings)
        alone = ptyche.infer(source, source / "model.ptyche")
        assert np.array_equal(opened(tmp_path / "output" / "product.000100.h5")["object"][0], alone.object)

    def test_a_stopped_run_leaves_nothing_behind(self, patched, environment, small_npz, tmp_path):
        inside(patched, environment, "folder", small_npz, tmp_path / "input")
        found = inside(patched, environment, "cancel", tmp_path / "input")
        assert found["during"] == 1 and found["progress"] < 100
        assert (found["after"], found["left"]) == (0, [])

    def test_refusals_say_what_was_expected(self, patched, environment, small_npz, tmp_path):
        inside(patched, environment, "folder", small_npz, tmp_path / "input")
        near, solver, model = inside(patched, environment, "refused", tmp_path / "input")["messages"]
        assert "expected a far field, found a near field" in near
        assert "wizard" in solver
        assert "expected a model (model.ptyche), found none loaded" in model

    def test_its_window_has_the_library_and_the_workflow(self, patched, environment, tmp_path):
        """Without a screen. PTYCHE_PICTURES names a folder where the picture is kept."""
        source = star_folder(patched, environment, tmp_path / "input")
        result = ptyche.solve(source, "ml:5", no_verdict=True)
        picture = pathlib.Path(os.environ.get("PTYCHE_PICTURES", tmp_path)) / "ptychodus.png"
        picture.parent.mkdir(parents=True, exist_ok=True)
        found = inside(patched, environment, "window", result.path, source / "diffraction.h5", picture)
        assert found["algorithms"] == ["ptyche_reconstruct", "ptyche_solve", "ptyche_infer"]
        assert "Ptyche" in found["workflows"]
        assert {"Solver:", "Probe Modes:", "Refine Positions:", "Start From Product:"} <= set(found["labels"])
        assert picture.stat().st_size > 20_000  # not an empty window
