import base64
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from acer_tf.errors import InputError
from acer_tf.plots.html import page, read_records, scores
from tests.plots.samples import write_run
from tests.saved import make_buffer, make_checkpoints, save

PONG = "PongNoFrameskip-v4"
HOSTILE = "<script>alert(1)</script> \"'><img src=x onerror=alert(1)> {{ 7 * 7 }} $x"


def report(folders: list[Path]) -> str:
    return page(read_records(folders))


def test_scores_are_means_over_seeds_with_an_interval_from_three_on(tmp_path: Path) -> None:
    returns = {0: -20.0, 1: -10.0, 2: 12.0}
    runs = [write_run(tmp_path / str(s), [r], env=PONG, network="cnn", lr=0.1, seed=s) for s, r in returns.items()]
    runs.append(write_run(tmp_path / "other", [-3.05], env=PONG, network="cnn", lr=0.2, seed=0))
    first, second = scores(read_records(runs))
    assert (first.env, first.setting, first.seeds, first.mean, first.human) == (PONG, "lr=0.1", 3, -6, "0.42")
    low, high = map(float, first.interval.split(" to "))
    assert (low, high) == pytest.approx((-46.67, 34.67), abs=0.01)  # t(0.975) with two degrees of freedom is 4.303
    assert (second.setting, second.seeds, second.interval, second.human) == ("lr=0.2", 1, "none below 3 seeds", "0.50")


def test_a_page_has_curves_settings_scores_commands_and_versions(tmp_path: Path) -> None:
    common = {"network": "mlp", "gamma": 0.987, "trust_region": True, "versions": {"numpy": "9.9"}}
    whole: dict[str, Any] = {"total_timesteps": 10_000}
    runs = [
        write_run(tmp_path / "a", [1.0, 2.0], env="A-v0", lr=0.1, seed=1, command="acer run --env A-v0", **common),
        write_run(tmp_path / "b", [5.0], env="A-v0", lr=0.2, seed=1, command="acer run --lr 0.2", **common, **whole),
        write_run(tmp_path / "c", [7.0], env="B-v0", lr=0.3, seed=2, command="acer run --env B-v0", **common),
    ]
    for run in runs[:2]:  # the second one has been stopped
        (run / "model.zip").touch()
    save(make_checkpoints(runs[0] / "checkpoints"), 12_345, make_buffer())  # after the last episode's end
    text = report(runs)
    pictures = re.findall(r'(?:src|srcset)="data:image/svg\+xml;base64,([^"]+)"', text)
    assert len(pictures) == 4  # two environments, on light and on dark
    for picture in pictures:
        assert ElementTree.fromstring(base64.b64decode(picture)).tag.endswith("svg")
    settings, _, common_ones = text.partition("<details>")
    for shown in ("A-v0, B-v0", "lr=0.1", "12,345", "1 min 0 s", "2 min 0 s", "finished", "in progress or stopped"):
        assert shown in settings
    assert "gamma" not in settings and "0.987" in common_ones and '<td class="long">yes</td>' in common_ones
    for shown in ("acer run --env B-v0", "numpy&nbsp;9.9"):
        assert shown in common_ones
    assert re.findall(r">(finished|in progress or stopped)<", text) == ["finished", *["in progress or stopped"] * 2]
    assert "Evaluations" not in text


def test_steps_that_are_no_number_leave_a_run_with_an_agent_finished(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a", [1.0], env="A-v0", total_timesteps="many")
    (run / "model.zip").touch()
    assert ">finished<" in report([run])


def test_runs_without_steps_in_common_are_drawn_one_by_one_and_others_as_their_mean(tmp_path: Path) -> None:
    runs = [
        write_run(tmp_path / f"{env}-{seed}", [1.0, 2.0], env=env, network="mlp", seed=seed)
        for env in ("A-v0", "B-v0")
        for seed in range(3)
    ]
    episodes = (runs[2] / "episodes.csv").read_text().splitlines()
    (runs[2] / "episodes.csv").write_text("\n".join([episodes[0], *(f"9{line}" for line in episodes[1:])]) + "\n")
    text = report(runs)
    assert text.count("<picture>") == 2 and "A-v0" in text
    pictures = [base64.b64decode(found) for found in re.findall(r"svg\+xml;base64,([^\"]+)", text)]
    assert [b"PolyCollection" in picture for picture in pictures] == [False, False, True, True]  # bands of means


def test_evaluations_are_drawn_where_they_exist(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a", [1.0], env="A-v0", network="mlp")
    (run / "evaluations.csv").write_text("steps,mean_return\n100,7\n200,8\n")
    text = report([run])
    assert "Evaluations during training" in text and text.count("<picture>") == 2


def test_a_run_without_an_episode_is_told(tmp_path: Path) -> None:
    text = report([write_run(tmp_path / "a", [], env="A-v0", network="mlp")])
    assert "No episode has finished yet." in text and "<picture>" not in text


def test_what_a_run_contains_is_text(tmp_path: Path) -> None:
    settings = {
        "env": HOSTILE,
        "network": HOSTILE,
        HOSTILE: HOSTILE,
        "command": HOSTILE,
        "versions": {HOSTILE: HOSTILE},
    }
    text = report([write_run(tmp_path / "a", [1.0], **settings), write_run(tmp_path / "b", [1.0], env=HOSTILE)])
    assert "<script" not in text and "<img src=x" not in text and "{{ 7 * 7 }}" in text
    assert text.count("<img") == text.count("</picture>") == 1
    assert "default-src 'none'" in text
    assert not re.findall(r"(?:https?:)?//", re.sub(r"base64,[^\"]+", "", text))


def test_control_characters_reach_neither_page_nor_picture(tmp_path: Path) -> None:
    hostile = "\x1b]0;title\x07\x1b[31m\u202e"
    runs = [
        write_run(tmp_path / name, [1.0], env=hostile, network=hostile, lr=lr, command=hostile)
        for name, lr in (("a", 0.1), ("b", 0.2))
    ]
    text = report(runs)
    assert not {c for c in text if not c.isprintable()} - {"\n", "\xa0"}
    assert "\\x1b]0;title\\x07\\x1b[31m\\u202e" in text
    (record, _) = read_records(runs)
    assert record.env.isprintable() and record.setting.isprintable()


def test_a_run_is_known_by_its_files(tmp_path: Path) -> None:
    finished = write_run(tmp_path / "a", [1.0, 2.0], env="A-v0", network="mlp", lr=0.1, seed=3)
    (finished / "model.zip").touch()
    (finished / "evaluations.csv").write_text("steps,mean_return\n100,7\n")
    running = write_run(tmp_path / "b", [], env="A-v0", network="mlp", lr=0.2)
    first, second = read_records([finished, running])
    assert (first.env, first.setting) == ("A-v0", "lr=0.1")
    assert (first.seconds, first.is_finished) == (120, True)
    assert first.episodes is not None and first.episodes.values.tolist() == [1, 2]
    assert first.evaluations is not None and first.evaluations.values.tolist() == [7]
    assert (second.setting, second.seconds, second.is_finished) == ("lr=0.2", None, False)
    assert second.episodes is None and second.evaluations is None


def test_the_score_is_that_of_the_last_hundred_episodes(tmp_path: Path) -> None:
    (found,) = scores(read_records([write_run(tmp_path / "a", [0.0] * 50 + [3.0] * 100, env="A-v0")]))
    assert found.mean == 3


def test_a_run_that_has_only_begun_has_its_settings(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "a", [1.0], env="A-v0")
    for name in ("episodes.csv", "monitor.csv"):
        (folder / name).unlink()
    assert read_records([folder])[0].settings == {"env": "A-v0"}


def test_other_folders_are_input_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a run; expected the folder of one"):
        read_records([tmp_path])


def test_a_folder_of_runs_stands_for_all_of_them(tmp_path: Path) -> None:
    for seed in (0, 1):
        write_run(tmp_path / "sweep" / f"seed-{seed}", [1.0] * seed, env="A-v0", seed=seed)
    first, second = read_records([tmp_path / "sweep"])
    assert first.episodes is None and second.episodes is not None
