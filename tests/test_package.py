import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import acer_tf

ROOT = Path(acer_tf.__file__).parent.parent


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT).stdout


@pytest.mark.parametrize(
    "module",
    [
        "acer_tf",
        "acer_tf.callbacks",
        "acer_tf.cli.parsing",
        "acer_tf.enjoy",
        "acer_tf.envs.make",
        "acer_tf.envs.atari.pool",
        "acer_tf.evaluate",
        "acer_tf.evaluation.episodes",
        "acer_tf.plot",
        "acer_tf.run",
        "acer_tf.run_atari",
        "acer_tf.training.run",
    ],
)
def test_imports_neither_tensorflow_nor_keras(module: str) -> None:
    loaded = run(f"import sys, {module}; print([name for name in ('tensorflow', 'keras') if name in sys.modules])")
    assert loaded.strip() == "[]"


def test_learn_and_register_come_on_first_use() -> None:
    from acer_tf.learning import learn
    from acer_tf.networks.registry import register

    assert acer_tf.learn is learn
    assert acer_tf.register is register


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="'acer_tf' has no attribute 'lern'"):
        acer_tf.lern  # noqa: B018


def test_installed_version_is_that_of_the_source() -> None:
    try:
        installed = importlib.metadata.version("acer_tf")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("not installed")
    assert installed == acer_tf.__version__


def test_the_version_is_that_of_changelog_and_citation() -> None:
    released = re.findall(
        r"^## \[(\d.*?)\] - (\S+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert released[0] == (acer_tf.__version__, str(citation["date-released"]))
    assert citation["version"] == acer_tf.__version__
