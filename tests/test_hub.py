import json
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from huggingface_hub import HfApi, ModelCard, ModelInfo, constants

from acer_tf import ACER, fetch, publish
from acer_tf.cli.command import Main
from acer_tf.demos.cards import demo_file
from acer_tf.hub import FILES
from acer_tf.storage.agent_file import read_agent, write_agent
from acer_tf.storage.saved_agents import read_saved_agent

FINGERPRINT = read_saved_agent(demo_file("cartpole")).fingerprint()
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with the agent of a run, in the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    run = tmp_path / "run"
    run.mkdir()
    (run / "model.zip").write_bytes(demo_file("cartpole").read_bytes())
    settings = {"env": "CartPole-v1", "lr": 0.5, "logdir": "/home/me/run", "command": "x"}
    (run / "config.yml").write_text(yaml.safe_dump(settings))
    score = {"env": "CartPole-v1", "fingerprint": FINGERPRINT, "mean": 499.5, "std": 1.25, "returns": []}
    (tmp_path / "score.json").write_text(json.dumps(score))
    assert publish.main(["run", "./agents/cart", "--evaluation", "score.json"]) == 0
    return tmp_path / "agents" / "cart"


def failure(capsys: pytest.CaptureFixture[str], main: Main, *words: str) -> str:
    capsys.readouterr()
    assert main(list(words)) == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    return message


def test_what_was_published_is_fetched_as_a_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fetch.main(["./agents/cart", "--logdir", "my runs/cart", "--revision", "None"]) == 0
    fetched = Path("my runs/cart")
    assert f"to watch it: python -m acer_tf.enjoy '{fetched}'\n" in capsys.readouterr().out
    assert sorted(file.name for file in fetched.iterdir()) == ["config.yml", "model.zip"]
    assert yaml.safe_load((fetched / "config.yml").read_text()) == {"env": "CartPole-v1", "lr": 0.5}
    assert ACER.load(fetched / "model.zip").num_timesteps == ACER.load(demo_file("cartpole")).num_timesteps
    assert [file.name for file in fetched.parent.iterdir()] == ["cart"]


def test_the_model_card_is_what_the_hub_reads(folder: Path) -> None:
    card = ModelCard.load(folder / "README.md")
    assert (card.data.library_name, card.data.pipeline_tag) == ("acer_tf", "reinforcement-learning")
    (result,) = card.data.eval_results
    assert (result.dataset_name, result.metric_type, result.metric_value) == (
        "CartPole-v1",
        "mean_reward",
        "499.50 +/- 1.25",
    )
    assert "acer fetch ./agents/cart" in card.text


def test_a_local_folder_needs_no_hub(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    assert publish.main(["run", "./agents/second"]) == 0
    assert fetch.main(["./agents/second"]) == 0
    assert sorted(file.name for file in Path("agents/second").iterdir()) == ["README.md", "config.yml", "model.zip"]


def test_of_an_agent_that_ships_no_settings_of_this_folder_are_published(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "config.yml").write_text(yaml.safe_dump({"env": "CartPole-v1", "note": "mine"}))
    assert publish.main(["cartpole", "./agents/shipped"]) == 0
    assert "mine" not in Path("agents/shipped/config.yml").read_text()


def test_nothing_about_the_machine_is_published(tmp_path: Path, folder: Path) -> None:
    data, groups, *_ = read_agent(demo_file("cartpole"))
    earlier = {**data["settings"], "tensorboard_log": "/home/me/tb"}  # which an earlier version wrote
    write_agent(tmp_path / "logged.zip", {**data, "settings": earlier}, groups)
    assert publish.main(["logged.zip", "./agents/logged", "--env", "CartPole-v1"]) == 0
    assert "/home/me" not in str(read_agent(Path("agents/logged/model.zip"))[0])
    assert "/home/me" not in (folder / "config.yml").read_text()


def test_absolute_paths_and_arguments_of_the_environment_are_left_out_unless_asked_for(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Path("own")
    run.mkdir()
    (run / "model.zip").write_bytes(demo_file("cartpole").read_bytes())
    common = {"env": "CartPole-v1", "network": "mlp"}
    private = {
        "preset": "/home/me/own.yml",
        "other": "C:\\Users\\me",
        "home": "~/x",
        "env_kwargs": {"sutton_barto_reward": True},
    }
    (run / "config.yml").write_text(yaml.safe_dump(common | private))
    capsys.readouterr()
    assert publish.main(["own", "./agents/own"]) == 0
    left_out = "left out: env_kwargs, which may be private; --with_env_kwargs publishes them"
    assert capsys.readouterr().out.splitlines() == ["published: ./agents/own", left_out]
    assert yaml.safe_load(Path("agents/own/config.yml").read_text()) == common
    assert publish.main(["own", "./agents/whole", "--with_env_kwargs"]) == 0
    assert capsys.readouterr().out.splitlines() == ["published: ./agents/whole"]
    whole = yaml.safe_load(Path("agents/whole/config.yml").read_text())
    assert whole == common | {"env_kwargs": private["env_kwargs"]}


def test_a_folder_of_the_name_of_a_repository_is_not_taken_for_it(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert "agents/cart cannot be published" in failure(capsys, publish.main, "run", "agents/cart")
    assert "agents/cart cannot be fetched" in failure(capsys, fetch.main, "agents/cart")
    assert "agents is neither a folder nor a repository" in failure(capsys, fetch.main, "agents")


def test_what_is_too_large_to_be_fetched_is_not_published(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    size = (folder / "model.zip").stat().st_size
    for largest, status in ((size, 0), (size - 1, 2)):
        monkeypatch.setitem(FILES, "model.zip", largest)
        assert publish.main(["run", f"./agents/{largest}"]) == status
    assert f"model.zip of ./agents/{size - 1} has {size:,} bytes; expected at most" in capsys.readouterr().err
    assert {path.name for path in Path("agents").iterdir()} == {"cart", str(size)}


def test_nothing_is_overwritten(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (folder / "model.zip").read_bytes()
    assert "agents/cart exists; choose another name" in failure(capsys, publish.main, "run", "./agents/cart")
    assert (folder / "model.zip").read_bytes() == before
    assert "run exists; choose another name" in failure(capsys, fetch.main, "./agents/cart", "--logdir", "run")


def test_what_is_not_what_was_published_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = folder / "model.zip"
    whole = model.read_bytes()
    middle = len(whole) // 2
    model.write_bytes(whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :])
    assert "model.zip is not the file of a trained agent, or is incomplete" in failure(
        capsys, fetch.main, "./agents/cart"
    )
    monkeypatch.setitem(FILES, "model.zip", len(whole) - 1)
    assert f"has {len(whole):,} bytes; expected at most {len(whole) - 1:,}" in failure(
        capsys, fetch.main, "./agents/cart"
    )
    model.unlink()
    model.symlink_to("/etc/passwd")
    assert "model.zip is a link" in failure(capsys, fetch.main, "./agents/cart")
    model.unlink()
    assert "./agents/cart holds no model.zip" in failure(capsys, fetch.main, "./agents/cart")
    assert not list(Path("runs").iterdir())


def test_sizes_are_known_before_anything_is_downloaded(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def found(**sizes: int) -> None:
        files = [{"rfilename": name.replace("_", "."), "size": size} for name, size in sizes.items()]
        info = ModelInfo(id="me/cart", sha=COMMIT, private=False, downloads=0, likes=0, tags=[], siblings=files)
        monkeypatch.setattr(HfApi, "model_info", lambda *_, **__: info)

    def download(*_: object, **__: object) -> str:
        raise AssertionError("downloaded")

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    found(model_zip=2**31, config_yml=5)
    assert "model.zip of me/cart has 2,147,483,648 bytes" in failure(capsys, fetch.main, "me/cart")
    found(model_zip=5)
    assert "me/cart holds no config.yml" in failure(capsys, fetch.main, "me/cart")


def test_all_files_are_of_one_commit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [{"rfilename": file, "size": 5} for file in ("model.zip", "config.yml", "README.md", "../other")]
    info = ModelInfo(id="me/cart", sha=COMMIT, private=False, downloads=0, likes=0, tags=[], siblings=files)
    asked = []

    def download(repo_id: str, revision: str, allow_patterns: list[str]) -> str:
        asked.append((repo_id, revision, allow_patterns))
        return str(folder)

    monkeypatch.setattr(HfApi, "model_info", lambda *_, **__: info)
    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    assert fetch.main(["me/cart", "--revision", "main"]) == 0
    assert asked == [("me/cart", COMMIT, ["model.zip", "config.yml"])]
    assert sorted(file.name for file in Path("runs/cart").iterdir()) == ["config.yml", "model.zip"]


def test_without_a_network_what_was_fetched_before_is_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = Path("cache/models--me--cart")
    snapshot = repository / "snapshots" / COMMIT
    snapshot.parent.mkdir(parents=True)
    folder.rename(snapshot)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(COMMIT)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert fetch.main(["me/cart"]) == 0
    assert Path("runs/cart/model.zip").read_bytes() == (snapshot / "model.zip").read_bytes()
    # Not the bytes: the headers of npz members differ between patch releases of Python 3.11.
    (data, groups), (expected, arrays) = read_agent(Path("runs/cart/model.zip")), read_agent(demo_file("cartpole"))
    assert data == expected
    np.testing.assert_equal(groups, arrays)
    assert fetch.main(["me/cart", "--revision", COMMIT, "--logdir", "elsewhere"]) == 0
    assert Path("elsewhere/config.yml").is_file()


def test_an_unreachable_hub_is_told(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", "http://127.0.0.1:9/{repo_id}/{revision}/{filename}")
    assert "me/none cannot be fetched" in failure(capsys, fetch.main, "me/none")


def test_bad_input(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert "me/none cannot be fetched" in failure(capsys, fetch.main, "me/none")
    assert "me/ is neither a folder nor a repository OWNER/NAME" in failure(capsys, fetch.main, "me/")
    assert "a/b/c is neither a folder nor a repository OWNER/NAME" in failure(capsys, fetch.main, "a/b/c")
    assert "me/none cannot be published" in failure(capsys, publish.main, "run", "me/none")
    assert "which has no revisions" in failure(capsys, fetch.main, "./agents/cart", "--revision", "main")
    assert "nowhere does not exist" in failure(capsys, publish.main, "nowhere", "./agents/x")
    Path("score.json").write_text("{}")
    assert "is not what `acer evaluate --json` writes" in failure(
        capsys, publish.main, "run", "./agents/x", "--evaluation", "score.json"
    )
    Path("score.json").write_text('{"env": "CartPole-v1", "mean": 1, "std": 1}')
    assert "score.json is from an earlier version" in failure(
        capsys, publish.main, "run", "./agents/x", "--evaluation", "score.json"
    )
    score = {"env": "CartPole-v1", "fingerprint": FINGERPRINT, "mean": 1, "std": 1}
    for wrong, message in (
        ({"env": "Acrobot-v1"}, "score.json is an evaluation in Acrobot-v1; the agent plays CartPole-v1."),
        ({"fingerprint": "0" * 64}, "score.json is an evaluation of another agent; evaluate run"),
        ({"mean": float("nan")}, "score.json: mean is nan; expected a number."),
        ({"std": True}, "score.json: std is True; expected a number."),
    ):
        Path("score.json").write_text(json.dumps(score | wrong))
        assert message in failure(capsys, publish.main, "run", "./agents/x", "--evaluation", "score.json")
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    assert 'install it with: pip install -e ".[hub]"' in failure(capsys, fetch.main, "me/cart")
