"""What a notebook shows, executed without a window."""
import pathlib
import sys

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

CELLS = (
    "import sys\nsys.path[:0] = {paths!r}\nimport ptyche\n"
    "scan = ptyche.simulate(n_patterns=150, N=32, probe_diameter=12, seed=3)",
    "image = ptyche.solve(scan, 'ml:300', every=20, no_verdict=True)\nassert image.loss[-1] < image.loss[0]",
    "image",
    "scan.check()",
    "ptyche.compare(image, scan)",
)


@pytest.fixture(scope="module")
def outputs():
    """Of each cell: what it displayed, as HTML."""
    paths = [path for path in sys.path if pathlib.Path(path, "ptyche").is_dir()]
    notebook = nbformat.v4.new_notebook(cells=[
        nbformat.v4.new_code_cell(cell.format(paths=paths)) for cell in CELLS])
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    return [[output["data"].get("text/html", "") for output in cell["outputs"] if "data" in output]
            for cell in notebook["cells"]]


@pytest.mark.slow
def test_a_long_call_shows_a_bar_with_the_loss_and_the_newest_phase(outputs):
    shown, = outputs[1]
    assert "<progress" in shown and "loss" in shown and "data:image/png;base64," in shown


@pytest.mark.slow
def test_results_show_themselves(outputs):
    (image,), (check,), (compared,) = outputs[2:]
    assert image.count("data:image/png;base64,") == 3 and "held_out.deviance_per_photon" in image
    assert "<pre>" in check and "checked" in check
    assert "data:image/png;base64," in compared and "nrmse_contrast" in compared
