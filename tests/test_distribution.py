"""Source distribution and wheel: what is in them, and that the wheel trains elsewhere, without a network."""

import email
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from acer_tf import __version__

ROOT = Path(__file__).parent.parent
NOT_IN_GIT = shutil.ignore_patterns(".*", "*.egg-info", "__pycache__", "build", "dist", "runs", "MUJOCO_LOG.TXT")
BUILD = [sys.executable, "-m", "build", "--no-isolation", "--outdir"]
INSTALL = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target"]
NO_NETWORK = ["unshare", "--map-root-user", "--net"]


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository, where a build may leave files."""
    return Path(shutil.copytree(ROOT, tmp_path_factory.mktemp("source") / "acer_tf", ignore=NOT_IN_GIT))


@pytest.fixture(scope="module")
def kept(source: Path) -> set[str]:
    return files(source)


@pytest.fixture(scope="module")
def built(source: Path, kept: set[str]) -> Path:
    """Where `python -m build` left the source distribution, and the wheel that it made of that."""
    subprocess.run([*BUILD, str(source / "dist"), str(source)], check=True, capture_output=True)
    return source / "dist"


def test_the_source_distribution_is_the_repository(built: Path, kept: set[str]) -> None:
    with tarfile.open(built / f"acer_tf-{__version__}.tar.gz") as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"docs/api.md", "notebooks/quick_start.ipynb", "tests/golden/README.md", "mkdocs.yml"} < kept
    assert sorted(kept - names) == []


def test_the_wheel_is_the_package_with_its_data(built: Path, kept: set[str]) -> None:
    with zipfile.ZipFile(built / f"acer_tf-{__version__}-py3-none-any.whl") as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        metadata = email.message_from_bytes(archive.read(f"acer_tf-{__version__}.dist-info/METADATA"))
    assert sorted(names) == sorted(name for name in kept if name.startswith("acer_tf/"))
    assert metadata.get_payload().strip() == (ROOT / "README.md").read_text(encoding="utf-8").strip()
    assert (metadata["Description-Content-Type"], metadata["Requires-Python"]) == ("text/markdown", ">=3.11")
    assert metadata["Author"] == "acer_tf contributors" and metadata["Keywords"]
    assert [name for name in metadata.get_all("Classifier") if name.endswith(" 3.13")]


@pytest.mark.timeout(400)
def test_the_installed_wheel_trains_without_a_network(built: Path, tmp_path: Path) -> None:
    (wheel,) = built.glob("*.whl")
    place = tmp_path / "installed"
    subprocess.run([*INSTALL, str(place), str(wheel)], check=True)
    environment = os.environ | {"PYTHONPATH": str(place)}

    def run(*words: str) -> str:
        done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    # Some containers permit no namespaces; the wheel is tried there all the same.
    is_permitted = shutil.which("unshare") and subprocess.run([*NO_NETWORK, "true"], check=False).returncode == 0
    isolated = NO_NETWORK if is_permitted else []
    assert Path(run(sys.executable, "-c", "import acer_tf; print(acer_tf.__file__)").strip()).is_relative_to(place)
    assert run(str(place / "bin" / "acer"), "--version") == f"acer_tf {__version__}\n"
    words = "-m acer_tf run-atari --preset atari --env BreakoutNoFrameskip-v4 --num_env 2 --total_timesteps 80".split()
    size = "--buffer_size 2000 --logdir run".split()
    run(*isolated, sys.executable, *words, *size)
    assert (tmp_path / "run" / "model.zip").exists()
