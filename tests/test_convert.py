"""The command that converts old agents."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from acer_tf import convert
from acer_tf.agent import ACER
from tests.agent.test_importing import assert_acts_as_recorded, moments, stable_baselines
from tests.importers.old_files import recording, write_joblib
from tests.importers.test_pickled import Call


def refused(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    assert convert.main([str(word) for word in words]) == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    return message


def test_agents_of_both_libraries(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_joblib(tmp_path / "baselines", recording("mlp_defaults"))
    stable_baselines(tmp_path / "stable.zip", "mlp_defaults")
    for old in ("baselines", "stable.zip"):
        new = tmp_path / "new" / f"{old}.zip"
        assert convert.main([str(tmp_path / old), str(new)]) == 0
        assert capsys.readouterr().out == f"converted: {new}\n"
        assert_acts_as_recorded(ACER.load(new), "mlp_defaults")


@pytest.mark.parametrize("ending", [".zip", ".pkl"])
def test_the_ending_of_the_old_file_may_be_left_out(tmp_path: Path, ending: str) -> None:
    """As in `load` of Stable Baselines."""
    stable_baselines(tmp_path / f"My.agent{ending}", "mlp_defaults")
    assert convert.main([str(tmp_path / "My.agent"), str(tmp_path / "new")]) == 0
    assert_acts_as_recorded(ACER.load(tmp_path / "new"), "mlp_defaults")


def test_environment_and_statistics(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, zoo = stable_baselines(tmp_path / "old", "mlp_defaults"), moments(tmp_path / "zoo", np.ones(4))
    words = [str(old), str(tmp_path / "new"), "--env", "CartPole-v1", "--statistics", str(zoo)]
    assert convert.main(words) == 0
    assert capsys.readouterr().out == f"converted: {tmp_path / 'new.zip'}\n"
    agent = ACER.load(tmp_path / "new.zip")
    assert agent.normalize_observations
    assert agent.observation_space.high[0] == pytest.approx(4.8)


def test_statistics_beside_the_agent_are_not_forgotten_silently(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As they lie in the zoo."""
    old = stable_baselines(tmp_path / "CartPole-v1.pkl", "mlp_defaults")
    zoo = moments(tmp_path / "CartPole-v1", np.ones(4))
    assert convert.main([str(old), str(tmp_path / "one.zip")]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        f"{zoo} holds normalisation that the new agent lacks; add it with --statistics {zoo}"
    ]
    assert convert.main([str(old), str(tmp_path / "two.zip"), "--statistics", str(zoo)]) == 0
    assert capsys.readouterr().out == f"converted: {tmp_path / 'two.zip'}\n"


@pytest.mark.parametrize("typed", ["new", "new.zip"])
def test_a_new_file_that_exists_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str], typed: str) -> None:
    (tmp_path / "new.zip").write_text("precious")
    message = refused(capsys, stable_baselines(tmp_path / "old"), tmp_path / typed)
    assert f"{tmp_path / 'new.zip'} exists; choose another name" in message
    assert (tmp_path / "new.zip").read_text() == "precious"


def test_files_with_other_endings_are_in_nobodys_way(tmp_path: Path) -> None:
    others = [tmp_path / "new", tmp_path / "new.zip.zip"]
    for other in others:
        other.write_text("precious")
    assert convert.main([str(stable_baselines(tmp_path / "old")), str(tmp_path / "new.zip")]) == 0
    assert [other.read_text() for other in others] == ["precious", "precious"]


def test_wrong_files_and_flags(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new, text = tmp_path / "new.zip", tmp_path / "text"
    text.write_text("no agent")
    baselines = write_joblib(tmp_path / "baselines", recording("mlp_defaults"))
    assert "missing does not exist; expected an agent of Stable Baselines 2 or base" in refused(
        capsys, tmp_path / "missing", new
    )
    assert "File name too long" in refused(capsys, "a" * 300, new)
    assert f"{text} does not hold an agent of Stable Baselines 2 or baselines" in refused(capsys, text, new)
    assert "expected settings and parameters, or" in refused(capsys, pickled(tmp_path / "list", [1]), new)
    assert "--statistics is for agents of Stable Baselines" in refused(capsys, baselines, new, "--statistics", tmp_path)
    assert "missing does not exist; expected a VecNormalize of Stable Baselines" in refused(
        capsys, stable_baselines(tmp_path / "stable"), new, "--statistics", tmp_path / "missing"
    )
    assert "the agent in" in refused(capsys, baselines, new, "--env", "Acrobot-v1")
    assert "cannot be written" in refused(capsys, baselines, text / "new.zip")
    assert not new.exists()


def pickled(path: Path, value: object) -> Path:
    path.write_bytes(pickle.dumps(value))
    return path


def test_a_malicious_file_is_refused_before_tensorflow_is_imported(tmp_path: Path) -> None:
    old = pickled(tmp_path / "old", Call(os.mkdir, str(tmp_path / "trace")))
    code = (
        "import sys; from acer_tf import convert; status = convert.main(sys.argv[1:]); "
        "sys.exit(status if 'tensorflow' not in sys.modules else 9)"
    )
    words = [sys.executable, "-c", code, str(old), str(tmp_path / "new")]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n"), done.stdout) == (2, 1, "")
    assert not (tmp_path / "trace").exists()
    assert not (tmp_path / "new.zip").exists()
