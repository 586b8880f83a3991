import os
import re
import shutil
import subprocess
import venv
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SHORT = 2000
NOT_COPIED = shutil.ignore_patterns(".*", "*.egg-info", "__pycache__", "build", "dist", "runs")


def read(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=4)


def execute(path: Path) -> nbformat.NotebookNode:
    notebook = read(path)
    NotebookClient(
        notebook,
        timeout=1200,
        kernel_name="python3",
        resources={"metadata": {"path": str(ROOT)}},
        coalesce_streams=True,  # the kernel sends what a cell prints in one piece or in several
    ).execute()
    return notebook


def outputs(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]


def kinds(notebook: nbformat.NotebookNode) -> list[list[str]]:
    """What each cell shows: text, values, plots; without messages and the progress bar."""
    cells = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]
    return [[kind for output in cell if (kind := shown_as(output))] for cell in cells]


def shown_as(output: nbformat.NotebookNode) -> str | None:
    if output.output_type == "stream":
        return "text" if output.name == "stdout" else None
    if output.output_type == "display_data":
        return "plot" if "image/png" in output.data else None
    return str(output.output_type)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_is_kept_with_small_outputs_and_installs_itself(path: Path) -> None:
    notebook = read(path)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == [*range(1, len(cells) + 1)]
    assert "acer_tf-*.whl" in cells[0].source and "%pip install" in cells[0].source and cells[0].outputs == []
    assert path.stat().st_size < 600_000 and set(notebook.metadata) == {"kernelspec", "language_info"}
    assert not any(output.get("name") == "stderr" for output in outputs(notebook))


@pytest.mark.timeout(600)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACER_NOTEBOOK_STEPS", str(SHORT))
    notebook = execute(path)
    shown = outputs(notebook)
    assert kinds(notebook) == kinds(read(path))  # those that are stored are of the same cells
    assert [output for output in shown if output.output_type == "error"] == []  # a figure's errors stop no cell
    assert any("image/png" in output.get("data", {}) for output in shown)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_quick_start_learns_cartpole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ACER_NOTEBOOK_STEPS", raising=False)
    text = "".join(output.get("text", "") for output in outputs(execute(ROOT / "notebooks" / "quick_start.ipynb")))
    for mean in (re.search(r"at the end: ([\d.]+)", text), re.search(r"mean return ([\d.]+),", text)):
        assert mean is not None and 450 <= float(mean[1]) <= 500


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_installs_what_it_needs_and_prints_no_noise(tmp_path: Path) -> None:
    """In a new environment with a kernel alone."""
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "DISPLAY")}
    environment |= {"ACER_NOTEBOOK_STEPS": str(SHORT), "PATH": f"{python.parent}{os.pathsep}{environment['PATH']}"}
    kernel = [python, "-m", "pip", "install", "--quiet", "ipykernel", "nbconvert"]
    if subprocess.run(kernel, env=environment, capture_output=True).returncode:
        pytest.skip("there is no package index")
    folder = Path(shutil.copytree(ROOT, tmp_path / "repository", ignore=NOT_COPIED)) / "notebooks"
    for path in NOTEBOOKS:
        convert = [python, "-m", "nbconvert", "--to", "notebook", "--execute", "--inplace", folder / path.name]
        subprocess.run(convert, env=environment, check=True, capture_output=True)
        done = read(folder / path.name)
        cells = [cell for cell in done.cells if cell.cell_type == "code"][1:]  # pip may have something to say
        assert [output for cell in cells for output in cell.outputs if output.get("name") == "stderr"] == []
        assert kinds(done)[1:] == kinds(read(path))[1:]
