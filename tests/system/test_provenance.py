import importlib.metadata
import subprocess
from pathlib import Path

import pytest

from acer_tf.system import provenance
from acer_tf.system.provenance import commit, origin

GIT = ["git", "-c", "user.name=A", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]


def test_the_commit_of_a_repository_and_whether_files_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    assert commit() is None
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "a"]):
        (tmp_path / "acer_tf").mkdir(exist_ok=True)
        (tmp_path / "acer_tf" / "file").write_text("a")
        (tmp_path / "results").write_text("a")
        subprocess.run([*GIT, *words], cwd=tmp_path, check=True)
    subprocess.run([*GIT, "tag", "v1"], cwd=tmp_path, check=True)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert commit() == head[:10]
    (tmp_path / "results").write_text("b")
    assert commit() == head[:10]
    (tmp_path / "acer_tf" / "file").write_text("b")
    assert commit() == f"{head[:10]}-dirty"


def test_a_repository_around_an_installed_package_is_not_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "site-packages").mkdir()
    monkeypatch.setattr(provenance, "ROOT", tmp_path / "site-packages")
    assert commit() is None


def test_without_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    assert commit() is None  # git fails
    monkeypatch.setenv("PATH", str(tmp_path))
    assert commit() is None  # there is none


def test_versions_of_the_simulators_that_are_installed_are_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    versions = origin()["versions"]
    for name in ("ale-py", "box2d", "minatar", "mujoco"):
        assert versions[name] == importlib.metadata.version(name)
    monkeypatch.setattr(provenance, "SIMULATORS", ("mujoco", "not-installed"))
    assert "not-installed" not in origin()["versions"]
