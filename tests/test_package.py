import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from packaging.version import Version

import acer_tf

ROOT = Path(acer_tf.__file__).parent.parent


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT).stdout


WITHOUT_TENSORFLOW = [
    "acer_tf",
    "acer_tf.callbacks",
    "acer_tf.cli.parsing",
    "acer_tf.compare_baselines",
    "acer_tf.enjoy",
    "acer_tf.envs.make",
    "acer_tf.envs.atari.pool",
    "acer_tf.evaluate",
    "acer_tf.evaluation.episodes",
    "acer_tf.plot",
    "acer_tf.run",
    "acer_tf.run_atari",
    "acer_tf.training.run",
]


def test_imports_neither_tensorflow_nor_keras() -> None:
    code = f"""
import importlib, sys
for module in {WITHOUT_TENSORFLOW}:
    importlib.import_module(module)
    print(module, *{{"tensorflow", "keras"}} & {{*sys.modules}})
"""
    assert run(code).splitlines() == WITHOUT_TENSORFLOW


def test_learn_and_register_come_on_first_use() -> None:
    from acer_tf.learning import learn
    from acer_tf.networks.registry import register

    assert acer_tf.learn is learn
    assert acer_tf.register is register


def test_keras_is_that_of_tensorflow_whatever_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    assert run("import acer_tf, keras; print(keras.config.backend())").split()[-1] == "tensorflow"


def test_keras_that_was_imported_with_another_backend() -> None:
    code = """
import sys
from types import SimpleNamespace
sys.modules["keras"] = SimpleNamespace(config=SimpleNamespace(backend=lambda: "torch"))
try:
    import acer_tf
except ValueError as error:
    print(error)
"""
    assert run(code) == (
        "Keras has been imported with the backend torch, but acer_tf is for TensorFlow; import acer_tf before keras, "
        "or set KERAS_BACKEND=tensorflow.\n"
    )


def test_a_script_without_tensorflows_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TF_CPP_MIN_LOG_LEVEL", raising=False)
    code = "import acer_tf; acer_tf.quiet(); acer_tf.ACER('MlpPolicy', 'CartPole-v1', n_steps=5).learn(20)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stderr == ""


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="'acer_tf' has no attribute 'lern'"):
        acer_tf.lern  # noqa: B018


def test_installed_version_is_that_of_the_source() -> None:
    try:
        installed = importlib.metadata.version("acer_tf")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("not installed")
    assert installed == acer_tf.__version__


def test_the_version_follows_that_of_changelog_and_citation() -> None:
    released = re.findall(
        r"^## \[(\d.*?)\] - (\S+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert released[0] == (citation["version"], str(citation["date-released"]))
    # What is under Unreleased belongs to the next version, and results name the version that they were made with.
    assert Version(acer_tf.__version__).is_devrelease
    assert Version(acer_tf.__version__) > Version(citation["version"])
