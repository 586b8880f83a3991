import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SHORT = 2000


def read(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=4)


def execute(path: Path) -> nbformat.NotebookNode:
    notebook = read(path)
    NotebookClient(notebook, timeout=1200, kernel_name="python3", resources={"metadata": {"path": str(ROOT)}}).execute()
    return notebook


def outputs(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_is_kept_without_outputs(path: Path) -> None:
    notebook = read(path)
    assert outputs(notebook) == []
    assert all(cell.execution_count is None for cell in notebook.cells if cell.cell_type == "code")
    assert set(notebook.metadata) == {"kernelspec", "language_info"}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACER_NOTEBOOK_STEPS", str(SHORT))
    shown = outputs(execute(path))
    assert [output for output in shown if output.output_type == "error"] == []  # a figure's errors stop no cell
    assert any("image/png" in output.get("data", {}) for output in shown)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_quick_start_learns_cartpole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ACER_NOTEBOOK_STEPS", raising=False)
    text = "".join(output.get("text", "") for output in outputs(execute(ROOT / "notebooks" / "quick_start.ipynb")))
    mean = re.search(r"mean return ([\d.]+),", text)
    assert mean is not None and float(mean[1]) >= 450
