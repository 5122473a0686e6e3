"""The lessons in examples/: executed without a window, and committed without outputs."""
import json
import pathlib

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
MOST_BYTES = 20_000  # pictures in outputs would be many times that
MOST_SECONDS = 300   # a cell


def test_there_are_five():
    assert [path.name[:2] for path in NOTEBOOKS] == ["01", "02", "03", "04", "05"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_clean(path):
    """So that a change of a lesson shows as the lines that were changed."""
    notebook = json.loads(path.read_text())
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert set(notebook["metadata"]) == {"kernelspec", "language_info"}
    assert [cell["id"] for cell in notebook["cells"]] == [
        f"cell-{number:02}" for number in range(1, len(notebook["cells"]) + 1)]
    for cell in notebook["cells"]:
        assert cell["metadata"] == {}
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None
    assert "assert " in "".join(notebook["cells"][-1]["source"])
    assert path.stat().st_size < MOST_BYTES


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_reaches_its_score(path, tmp_path, monkeypatch):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    for name in ("ipykernel", "matplotlib", "h5py"):
        pytest.importorskip(name)
    monkeypatch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")  # a warning of the kernel's debugger
    notebook = nbformat.read(path, as_version=4)
    kernel = nbclient.NotebookClient(notebook, timeout=MOST_SECONDS, kernel_name="python3",
                                     resources={"metadata": {"path": str(tmp_path)}})
    try:
        kernel.execute()
    except nbclient.exceptions.CellExecutionError as error:
        pytest.fail(f"{path.name}: {error}", pytrace=False)
    assert list(tmp_path.iterdir()) == []  # nothing is left where the notebook lies
    drawn = sum("image/png" in output.get("data", {}) for cell in notebook["cells"]
                for output in cell.get("outputs", []))
    assert drawn >= 1
