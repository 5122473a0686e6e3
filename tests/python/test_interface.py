"""The interface as a user has it: scans in, images out, keywords, errors."""
import inspect
import json
import pathlib
import pickle
import re
import shutil
import subprocess

import numpy as np
import pytest

import ptyche
from ptyche import _memory, _program, _verbs


def test_an_image_has_its_arrays_scores_and_files(scan, image, tmp_path):
    rows, cols = image.object.shape
    assert image.object.dtype == np.complex64 and min(rows, cols) > 32
    assert image.probe.shape == (1, 32, 32)
    assert image.positions.shape == (150, 2)
    # The whole patch under each position lies in the object.
    assert (image.positions.min(0) >= 15).all()
    assert (image.positions.max(0) <= np.array([rows, cols]) - 15).all()
    assert image.coverage.shape == (rows, cols) and image.coverage.max() == pytest.approx(1)
    assert image.used.sum() == 142  # a twentieth is held out, at least 8
    assert len(image.loss) == 15 and image.loss[-1] < image.loss[0]
    assert image.scores["truth.nrmse_contrast"] < 0.5
    assert image.verdict is None  # it was not asked for
    with pytest.raises(ValueError):
        image.object[0, 0] = 0  # of the file


def test_a_copy_of_the_file_is_the_same_image(image, tmp_path):
    image.save(tmp_path / "x.h5")
    again = ptyche.load(tmp_path / "x.h5")
    for name in ("object", "probe", "positions", "coverage", "used"):
        np.testing.assert_array_equal(getattr(again, name), getattr(image, name))
    assert list(tmp_path.iterdir()) == [tmp_path / "x.h5"]


def test_an_image_goes_to_other_layouts(image, tmp_path):
    image.to("npy", tmp_path / "object.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "object.npy"), image.object)
    image.to("tiff", tmp_path / "pictures")
    assert any(path.suffix in (".tif", ".tiff") for path in (tmp_path / "pictures").iterdir())


def test_one_picture_alone(image, tmp_path):
    image.to("tiff", tmp_path / "pictures")
    image.to("tiff", tmp_path / "phase.tif")
    assert (tmp_path / "phase.tif").read_bytes() == (tmp_path / "pictures" / "phase.tif").read_bytes()
    image.to("png", tmp_path / "0042_Amplitude.png")
    assert (tmp_path / "0042_Amplitude.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ptyche.InvalidInput, match="'phase' or 'amplitude' in the picture's name"):
        image.to("tiff", tmp_path / "x.tif")


def test_copies_go_to_other_libraries_without_copying_again(image):
    mine = image.object.copy()
    other = np.from_dlpack(mine)  # as torch.from_dlpack
    assert np.shares_memory(other, mine) and mine.flags.writeable
    np.testing.assert_array_equal(other, image.object)


def test_results_stay_where_output_dir_says(scan, tmp_path):
    out = tmp_path / "out"
    image = ptyche.solve(scan, "ml:2", no_verdict=True, output_dir=out)
    assert image.path == out / "reconstruction.h5"
    del image
    assert (out / "report.html").is_file()
    with pytest.raises(ptyche.InvalidInput, match="overwrite"):
        ptyche.solve(scan, "ml:2", output_dir=out)


def test_temporary_results_go_with_the_object(scan):
    image = ptyche.solve(scan, "ml:2", no_verdict=True)
    folder, held = image.folder, image.object
    del image
    assert not folder.exists() and not folder.parent.exists()
    assert np.isfinite(held).all()  # what is mapped stays readable


def test_arrays_give_the_image_that_their_file_gives(arrays, tmp_path):
    counts, positions, probe = arrays
    np.savez(tmp_path / "scan.npz", diffraction=counts, ycoords=positions[:, 0],
             xcoords=positions[:, 1], probeGuess=probe)
    by_file = ptyche.solve(ptyche.read(tmp_path / "scan.npz"), "ml:3", no_verdict=True)
    by_arrays = ptyche.solve(ptyche.Scan(counts, positions, probe=probe), "ml:3", no_verdict=True)
    np.testing.assert_array_equal(by_arrays.object, by_file.object)


def test_positions_in_metres_are_those_in_pixels(arrays):
    counts, positions, probe = arrays
    wavelength, distance, detector = 1.23984198433e-9, 2.0, 1e-4  # of 1 keV
    pixel = wavelength * distance / (32 * detector)
    metres = ptyche.Scan(counts, positions_m=positions * pixel, probe=probe, energy_eV=1000,
                         distance_m=distance, detector_pixel_m=detector)
    image = ptyche.solve(metres, "ml:3", no_verdict=True)
    assert image.pixel_m == pytest.approx(pixel, rel=1e-6)
    expected = positions - positions.mean(0)
    np.testing.assert_allclose(image.positions - image.positions.mean(0), expected, atol=1e-4)


class OnlyArray:
    def __init__(self, values):
        self._values = values

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self._values, dtype)


class OnlyDlpack:
    def __init__(self, values):
        self._values = values

    def __dlpack__(self, **how):
        return self._values.__dlpack__(**how)

    def __dlpack_device__(self):
        return self._values.__dlpack_device__()


@pytest.mark.parametrize("wrap", [OnlyArray, OnlyDlpack, np.asfortranarray,
                                  lambda a: a[::1][:, ::-1][:, ::-1], lambda a: a.astype(">u2")])
def test_any_kind_of_array_goes_in_as_it_is(arrays, wrap):
    counts, positions, _ = arrays
    file = _memory.MemoryFile.of_arrays({"diffraction": wrap(counts)})
    with open(file.path, "rb") as stream, np.load(stream) as data:
        np.testing.assert_array_equal(data["diffraction"], counts)
    assert "150" in ptyche.Scan(wrap(counts), positions).info()


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int16, np.int64, np.float32, ">i2"])
def test_an_image_does_not_depend_on_the_arrays_type(arrays, dtype):
    counts, positions, probe = arrays
    few = np.minimum(counts, 100)
    images = [ptyche.solve(ptyche.Scan(few.astype(kind), positions, probe=probe), "ml:2", no_verdict=True)
              for kind in (np.int32, dtype)]
    np.testing.assert_array_equal(images[0].object, images[1].object)


def test_messages_speak_of_the_array_and_not_of_its_file(arrays):
    counts, positions, _ = arrays
    with pytest.raises(ptyche.InvalidInput, match="^the given array: ") as said:
        ptyche.Scan(np.where(counts > 3, np.nan, counts), positions).check()
    assert "/proc" not in str(said.value)


def test_arrays_are_copied_in_pieces(monkeypatch):
    monkeypatch.setattr(_memory, "CHUNK", 1000)
    for array in (np.arange(30000, dtype=np.int32).reshape(30, 100, 10), np.array(3.5),
                  np.zeros((0, 4, 4)), np.arange(24.).reshape(2, 3, 4).T):
        file = _memory.MemoryFile.of_array(array)
        with open(file.path, "rb") as stream:
            np.testing.assert_array_equal(np.load(stream), array)


def test_a_mask_of_numbers_beside_positions_in_metres_is_used(arrays):
    counts, positions, probe = arrays
    mask = np.ones((32, 32), np.uint8)
    mask[:2] = 0
    scan = ptyche.Scan(counts, positions_m=positions * 3e-8, probe=probe, mask=mask, energy_eV=8000,
                       distance_m=2, detector_pixel_m=75e-6)
    assert "64" in ptyche.info(scan).text.split("masked pixels")[1].splitlines()[0]


def test_numbers_that_no_instrument_has_are_asked_for(arrays):
    counts, positions, _ = arrays
    scan = ptyche.Scan(counts, positions, energy_eV=8.8)
    with pytest.raises(ptyche.Error, match="8.8keV"):
        scan.info()


def test_a_mask_and_a_start_may_be_arrays_and_objects(scan, image):
    mask = np.ones((32, 32), bool)
    mask[:2] = False
    again = ptyche.solve(scan, "ml:1", start=image, mask=mask, no_verdict=True)
    assert again.loss[0] < 0.5 * image.loss[0]  # it began where the first one ended
    assert "64" in ptyche.info(scan, mask=mask).text.split("masked pixels")[1].splitlines()[0]


def test_numbers_lists_and_truths_become_words(scan):
    of = _program.command("solve")
    words = _program.Words(of)
    for name, value in (("refine_positions", True), ("center", (15.5, np.float32(16))), ("batch", np.int64(8)),
                        ("no_verdict", np.True_), ("resume", False), ("seed", None)):
        words.add(name, value)
    assert words.options == ["--refine-positions", "--center=15.5,16.0", "--batch=8",
                             "--no-verdict=true", "--resume=false"]


def test_every_verb_and_option_is_reachable():
    """Walks what the program says of itself: each is a function with that keyword and that help."""
    for each in ptyche.description()["commands"]:
        verb = getattr(ptyche, each["name"].replace("-", "_"))
        signature = inspect.signature(verb)
        for option in each["options"]:
            if option["keyword"] in _program.OWN:
                continue
            name = _program.python_name(option)
            assert signature.parameters[name].default == option["default"], (each["name"], name)
            assert option["help"] in verb.__doc__
            words = _program.Words(_program.command(each["name"]))
            words.add(name, option["choices"][0] if option["choices"] else "1")
            assert words.options == [f"--{option['name']}={option['choices'][0] if option['choices'] else 1}"]
        for argument in each["arguments"]:
            assert any(argument["name"].lower() in name for name in signature.parameters)
        assert each["name"].replace("-", "_") in dir(ptyche)


def test_the_description_is_that_of_the_help_pages():
    for each in ptyche.description()["commands"]:
        page = subprocess.run([ptyche.program(), each["name"], "--help-all"], capture_output=True,
                              text=True, check=True).stdout
        assert {f"--{option['name']}" for option in each["options"]} <= set(page.replace(",", " ").split())


def test_unknown_words_are_refused_as_python_does(scan):
    with pytest.raises(TypeError, match="unexpected keyword argument 'solvr'; did you mean 'solver'"):
        ptyche.solve(scan, solvr="ml:3")
    with pytest.raises(TypeError, match="multiple values"):
        ptyche.solve(scan, "ml:3", solver="ml:3")
    with pytest.raises(TypeError, match="positional"):
        ptyche.evaluate(scan, scan, scan)
    with pytest.raises(AttributeError, match="slove"):
        ptyche.slove
    with pytest.raises(TypeError, match="'crp'; did you mean 'crop'"):
        ptyche.Scan(np.zeros((2, 8, 8)), np.zeros((2, 2)), crp=8)
    with pytest.raises(TypeError, match="events"):
        ptyche.solve(scan, "ml:3", events="none")


def test_refusals_are_the_programs_own_sentences(scan, tmp_path):
    for call, sentence in (
            (lambda: ptyche.solve(scan, "nope:3"), 'expected one of ml, lbfgs'),
            (lambda: ptyche.solve(scan, "ml:3", batch=-3), "--batch: expected a number"),
            (lambda: ptyche.solve(tmp_path / "no.cxi"), "no.cxi: expected a file, found none"),
            (lambda: ptyche.read(tmp_path / "no.cxi"), "no.cxi: expected a file, found none"),
            (lambda: ptyche.Scan(np.zeros((3, 8, 8)), np.zeros((2, 2))), r"expected \(n, N, N\) with n = 2"),
            (lambda: ptyche.infer([scan, scan], model=tmp_path), "expected one scan, found a list of 2")):
        with pytest.raises(ptyche.InvalidInput, match=sentence) as caught:
            call()
        assert isinstance(caught.value, ValueError)
        assert "ptyche:" not in str(caught.value) and "--help" not in str(caught.value)
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_solver_that_diverges_gives_its_best_image(scan, image):
    with pytest.warns(ptyche.PtycheWarning, match="diverged"):
        with pytest.raises(ptyche.Diverged, match="smaller steps") as caught:
            ptyche.solve(scan, "ml:30", start=image, object_step=10, no_verdict=True)
    assert np.isfinite(caught.value.image.object).all()


@pytest.mark.slow
def test_a_failed_image_is_a_result_with_a_warning(arrays):
    counts, positions, _ = arrays
    noise = np.random.default_rng(1).poisson(2, counts.shape).astype(np.uint16)
    with pytest.warns(ptyche.PtycheWarning, match="the image failed"):
        image = ptyche.solve(ptyche.Scan(noise, positions, probe=arrays[2]), "ml:5", no_check=True)
    assert image.verdict == "failed"


def test_an_image_says_what_was_corrected_in_its_scan(arrays):
    counts, positions, probe = arrays
    wrong = ptyche.Scan(counts, positions * 1e6, probe=probe)
    image = ptyche.solve(wrong, "ml:5", no_verdict=True)
    (unit,) = (each for each in image.corrections if each["cause"] == "positions: unit")
    assert unit["before"] and unit["after"]
    assert image.scores["remarks"] == image.remarks
    assert "positions: unit" in image._repr_html_()
    assert ptyche.solve(ptyche.Scan(counts, positions, probe=probe), "ml:5", no_verdict=True).corrections == []


def test_the_doctors_findings(scan, arrays):
    check = scan.check()
    assert check.fit and "checked" in str(check)
    counts, positions, probe = arrays
    broken = counts.copy()
    broken[:, 16, 16] = 60000  # a hot pixel
    assert "60000" in str(ptyche.Scan(broken, positions, probe=probe).check()) or (
        "hot" in str(ptyche.Scan(broken, positions, probe=probe).check()))


def test_simulate_evaluate_compare(scan, image):
    scores = ptyche.evaluate(image, scan)
    assert scores["truth.nrmse_contrast"] == pytest.approx(image.scores["truth.nrmse_contrast"])
    compared = ptyche.compare(image, scan)
    assert 0 < compared.scores["nrmse_contrast"] < compared.scores["flat_nrmse_contrast"]
    assert set(compared.rings) == {"cycles_per_px", "correlation", "half_bit", "one_bit"}
    same = ptyche.compare(image, np.array(image.object))
    assert same.scores["nrmse_contrast"] < 1e-3


@pytest.mark.slow
def test_train_and_infer(scan):
    model = ptyche.train([scan], epochs=1)
    assert [row["epoch"] for row in model.history] == [1]
    other = ptyche.simulate(n_patterns=100, N=32, probe_diameter=12, seed=4)
    assert len(model.infer(other).positions) == 100
    both = ptyche.train([scan, other], epochs=1)
    assert len(both.infer(other).positions) == 100


@pytest.mark.slow
def test_the_lines_of_the_documentation_run(scan, arrays, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib").use("Agg")
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "python.md").read_text()
    code = page.split("```python\n")[1].split("```")[0]
    monkeypatch.chdir(tmp_path)
    for name in ("scan.cxi", "next.cxi"):
        shutil.copyfile(scan.path, name)
    known = dict(zip(("counts", "positions", "probe"), arrays), truth=scan)
    for line in code.splitlines():
        exec(line, known)
    assert {path.name for path in tmp_path.iterdir()} == {"scan.cxi", "next.cxi", "x.h5", "phase.tif"}


@pytest.mark.slow
def test_several_scans_give_several_images(tmp_path):
    for seed in (5, 6):
        ptyche.simulate(output=tmp_path / f"{seed}.cxi", n_patterns=120, N=32, probe_diameter=12, seed=seed)
    images = ptyche.reconstruct([tmp_path / "5.cxi", tmp_path / "6.cxi"], no_verdict=True)
    assert [image.path.parent.name for image in images] == ["5", "6"]
    assert all(np.isfinite(image.object).all() for image in images)


def test_what_a_notebook_shows(scan, image):
    from ptyche import _live
    assert image._repr_html_().count("data:image/png;base64,") == 3
    assert "held_out.deviance_per_photon" in image._repr_html_()
    assert "<pre>" in scan.check()._repr_html_()
    event = ptyche.Event(event="progress", what="<solve>", done=2, total=5, detail="", seconds_left=None)
    assert 'value="5" max="5"' in _live.live_html(event, None, full=True)
    assert 'value="2" max="5"' in _live.live_html(event, b"x") and "&lt;solve&gt;" in _live.live_html(event, None)


def test_verbs_without_a_line_of_their_own(scan, tmp_path):
    out = ptyche.convert(scan, tmp_path / "scan.npz")
    assert "PtychoPINN" in out.text and (tmp_path / "scan.npz").is_file()
    assert "complete" in ptyche.completion("bash").text
    assert json.loads(json.dumps(ptyche.names()))[0] == "reconstruct"


def test_another_version_of_the_program_is_refused(tmp_path, monkeypatch):
    other = tmp_path / "ptyche"
    other.write_text('#!/bin/sh\necho \'{"layout": 99}\'\n')
    other.chmod(0o755)
    monkeypatch.setenv("PTYCHE_PROGRAM", str(other))
    with pytest.raises(ptyche.Error, match="layout 99, expected 1"):
        ptyche.description()
    assert _verbs.names.__doc__ and pathlib.Path(other).exists()


def test_a_program_that_may_not_be_started_is_named(tmp_path, monkeypatch):
    (tmp_path / "ptyche").write_text("")
    monkeypatch.setenv("PTYCHE_PROGRAM", str(tmp_path / "ptyche"))
    with pytest.raises(ptyche.Error, match="ptyche may not be started; is it on .* noexec"):
        ptyche.info("scan.cxi")


def test_masked_arrays_are_used_or_refused(arrays):
    counts, positions, probe = arrays
    always, sometimes = np.zeros(counts.shape, bool), np.zeros(counts.shape, bool)
    always[:, 3:5, 7] = True
    sometimes[4, 10:14, 10:14] = True
    spoilt = np.where(always | sometimes, 60000, counts).astype(counts.dtype)
    for mask in (None, np.ones(counts.shape[1:], bool)):
        facts = ptyche.Scan(np.ma.masked_array(spoilt, always), positions, probe=probe, mask=mask).info()
        assert re.search(r"masked pixels +2\n", facts) and "60000" not in facts
    scan = ptyche.Scan(np.ma.masked_array(spoilt, always | sometimes), positions, probe=probe)
    assert "60000" not in scan.info(full=True)
    places = np.ma.masked_array(positions, np.zeros(positions.shape, bool))
    places[7, 1] = np.ma.masked
    assert re.search(rf"patterns +{len(counts) - 1} of", ptyche.Scan(counts, places, probe=probe).info())
    with pytest.raises(ptyche.InvalidInput, match="probe: expected an array without masked values"):
        ptyche.Scan(counts, positions, probe=np.ma.masked_less(np.abs(probe), 1))
