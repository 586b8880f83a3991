from pathlib import Path

import numpy as np
import pytest

from acer_tf.errors import InputError
from acer_tf.plots.csv_files import write_curves
from acer_tf.plots.figures import View
from acer_tf.plots.references import read_references
from tests.plots.samples import some_curve

PONG = "PongNoFrameskip-v4"


def file(tmp_path: Path, text: str) -> str:
    (tmp_path / "other.csv").write_text(text)
    return str(tmp_path / "other.csv")


def test_a_file_needs_steps_and_means(tmp_path: Path) -> None:
    (found,) = read_references([file(tmp_path, "steps,mean_return\n10,1\n20,3\n")], ["A-v0"], "steps")
    assert (found.env, found.label) == ("A-v0", "other")
    np.testing.assert_array_equal(found.x, [10, 20])
    np.testing.assert_array_equal(found.mean, [1, 3])
    assert found.band is None


def test_a_file_may_have_labels_environments_and_bands(tmp_path: Path) -> None:
    rows = "B-v0,x,10,1,0,2\nA-v0,x,10,2,1,3\nA-v0,y,10,3,2,4\nA-v0,x,20,5,4,6\n"
    path = file(tmp_path, f"environment,label,steps,mean_return,low,high\n{rows}")
    found = read_references([path], ["A-v0", "B-v0"], "steps")
    assert [(r.env, r.label, r.mean.tolist()) for r in found] == [
        ("B-v0", "x", [1]),
        ("A-v0", "x", [2, 5]),
        ("A-v0", "y", [3]),
    ]
    np.testing.assert_array_equal(found[1].band, [[1, 4], [3, 6]])


def test_what_this_package_plots_is_a_reference(tmp_path: Path) -> None:
    write_curves(tmp_path / "ours.csv", [some_curve(PONG, "mlp", seeds=3)], View())
    (found,) = read_references([str(tmp_path / "ours.csv")], [PONG], "frames")
    assert (found.env, found.label) == (PONG, "mlp")
    np.testing.assert_array_equal(found.x, [40, 80])
    np.testing.assert_array_equal(found.band, [[1, 9.5], [3, 11.5]])


def test_progress_of_baselines_is_a_reference(tmp_path: Path) -> None:
    path = file(tmp_path, "fps,mean_episode_reward,total_timesteps\n9,-20.5,80\n9,-20,160\n")
    (found,) = read_references([path], [PONG], "steps")
    np.testing.assert_array_equal([found.x, found.mean], [[80, 160], [-20.5, -20]])


def test_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    paths = [tmp_path / name / "progress.csv" for name in ("a", "b")]
    for path in paths:
        path.parent.mkdir()
        path.write_text("mean_episode_reward,total_timesteps\n-20.5,80\n")
    found = read_references([*map(str, paths), file(tmp_path, "steps,mean_return\n1,2\n")], [PONG], "steps")
    assert [reference.label for reference in found][:2] == [*map(str, paths)] and "/" not in found[2].label


def test_a_monitor_file_of_baselines_is_a_reference_in_the_order_of_time(tmp_path: Path) -> None:
    path = file(tmp_path, f'#{{"t_start": 1.0, "env_id": "{PONG}"}}\nr,l,t\n-20,100,2.5\n-21,50,1.5\n')
    (found,) = read_references([path], ["A-v0", PONG], "steps")
    assert found.env == PONG
    np.testing.assert_array_equal([found.x, found.mean], [[51, 150], [-21, -20]])  # bins of 1.5 steps


def test_levels_are_those_of_each_game() -> None:
    human, random = read_references(["human", "random"], [PONG], "hours")
    assert (human.label, human.mean.tolist(), random.label, random.mean.tolist()) == (
        *("human", [14.6]),
        *("random play", [-20.7]),
    )
    assert not len(human.x)


@pytest.mark.parametrize(
    ("text", "envs", "message"),
    [
        ("steps,score\n1,2\n", ["A-v0"], "lacks a column steps or mean_return"),
        ("steps,mean_return\n1,x\n", ["A-v0"], "not a number"),
        ("steps,mean_return\n", ["A-v0"], "has no row"),
        ("r,l,t\n", ["A-v0"], "no finished episode"),
        ("steps,mean_return\n1,2\n", ["A-v0", "B-v0"], "does not name its environment"),
        ("steps,mean_return,environment\n1,2,C-v0\n", ["A-v0"], "is about C-v0; expected one of A-v0"),
        ('#{"env_id": "C-v0"}\nr,l,t\n1,2,3\n', ["A-v0"], "is about C-v0"),
        ("#[1]\nr,l,t\n1,2,3\n", ["A-v0", "B-v0"], "does not name its environment"),
    ],
)
def test_other_files_are_input_errors(tmp_path: Path, text: str, envs: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_references([file(tmp_path, text)], envs, "steps")


def test_references_that_do_not_fit_are_input_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"human needs an Atari game .* CartPole-v1 has none"):
        read_references(["human"], ["CartPole-v1"], "steps")
    with pytest.raises(InputError, match="counts agent steps; expected --x steps or frames"):
        read_references([file(tmp_path, "steps,mean_return\n1,2\n")], ["A-v0"], "hours")
    with pytest.raises(InputError, match="humans does not exist; expected a reference"):
        read_references(["humans"], ["A-v0"], "steps")
