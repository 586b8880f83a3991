import sys
from pathlib import Path
from typing import Any

import imageio.v2
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from acer_tf.envs.make import make_vec_env
from acer_tf.errors import EnvironmentFailedError, InputError
from acer_tf.evaluation.explanation import Explanation
from acer_tf.evaluation.video import check_video, record_video
from tests.counter import Always, Counter, counters
from tests.registered import registered
from tests.videos import frames


def test_one_frame_for_every_step_and_what_it_shows(tmp_path: Path) -> None:
    path = tmp_path / "new" / "video.mp4"
    played = record_video(Always(), Counter(4), path, n_episodes=2)
    assert [(episode.r, episode.l) for episode in played] == [(40.0, 5)] * 2
    pictures = frames(path)
    assert [picture.shape for picture in pictures] == [(32, 48, 3)] * 10
    np.testing.assert_allclose([picture.mean() for picture in pictures], [0, 40, 80, 120, 160] * 2, atol=6)
    metadata: Any = imageio.v2.get_reader(path, format="FFMPEG").get_meta_data()  # type: ignore[call-overload]
    assert metadata["fps"] == 10
    assert [file.name for file in path.parent.iterdir()] == ["video.mp4"]


def test_an_atari_game_in_colour_and_full_size(tmp_path: Path) -> None:
    env = make_vec_env("BreakoutNoFrameskip-v4", 1, render_mode="rgb_array")
    agent = Always()
    (game,) = record_video(agent, env, tmp_path / "video.mp4", seed=1)
    env.close()
    pictures = frames(tmp_path / "video.mp4")
    assert len(pictures) == agent.steps <= game.l
    assert {picture.shape for picture in pictures} == {(210, 160, 3)}
    # The bricks are coloured: no grey.
    assert np.ptp(pictures[0].astype(int), axis=-1).max() > 50
    assert any((picture != pictures[0]).any() for picture in pictures)


def test_a_size_that_the_codec_does_not_take_is_adapted(tmp_path: Path) -> None:
    record_video(Always(), Counter(2, size=(33, 47)), tmp_path / "video.mp4")
    assert len(frames(tmp_path / "video.mp4")) == 3


def test_says_that_it_replaces_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "video.mp4"
    record_video(Always(), Counter(1), path)
    assert "replaced" not in capsys.readouterr().out
    record_video(Always(), Counter(3), path)
    assert f"{path} is replaced" in capsys.readouterr().out
    assert len(frames(path)) == 4


class Failing(Counter):
    def step(self, action: int) -> Any:
        if self.t == 2:
            raise ValueError("broken")
        return super().step(action)


class Dark(Counter):
    def render(self) -> Any:
        raise RuntimeError("no OpenGL here")


def test_leaves_nothing_half_written(tmp_path: Path) -> None:
    path = tmp_path / "video.mp4"
    path.write_bytes(b"old")
    with pytest.raises(EnvironmentFailedError, match="broken"):
        record_video(Always(), Failing(4), path)
    assert [file.name for file in tmp_path.iterdir()] == ["video.mp4"]
    assert path.read_bytes() == b"old"


def test_explains_what_the_agent_does_where_it_can(tmp_path: Path) -> None:
    class Explaining(Always):
        def explain(self, observation: Any, state: Any = None, mask: Any = None) -> Explanation:
            return Explanation(np.array([[0.25, 0.75]]), observation[:, 0], np.array([[1.0, 2.0]]))

    record_video(Explaining(1), Counter(2), tmp_path / "video.mp4", explain=True)
    assert [picture.shape for picture in frames(tmp_path / "video.mp4")] == [(440, 720, 3)] * 3
    with pytest.raises(InputError, match="the agent is an Always without the method explain"):
        record_video(Always(), Counter(2), tmp_path / "video.mp4", explain=True)


class Drawn(Counter):
    def __init__(self, picture: Any) -> None:
        super().__init__(1)
        self.picture = picture

    def render(self) -> Any:
        return self.picture


@pytest.mark.parametrize(
    "picture",
    [np.zeros((32, 48, 4), np.uint8), np.zeros((32, 48, 3), np.float32), np.zeros((32, 48), np.uint8)],
)
def test_pictures_that_are_not_in_colour_are_told(tmp_path: Path, picture: np.ndarray) -> None:
    with pytest.raises(InputError) as caught:
        record_video(Always(), Drawn(picture), tmp_path / "video.mp4")
    told = f"the environment's pictures are of shape {picture.shape} and type {picture.dtype}"
    assert str(caught.value) == f"{told}; expected [height, width, 3] in uint8."
    with pytest.raises(InputError, match=r"^the environment gives no pictures; make it with render_mode="):
        record_video(Always(), Drawn([picture]), tmp_path / "video.mp4")


def test_pictures_of_vector_environments_of_ones_own(tmp_path: Path) -> None:
    class Stacked(SyncVectorEnv):
        def render(self) -> Any:
            return np.stack(super().render())

    stacked = Stacked([lambda: Counter(2)], autoreset_mode=AutoresetMode.SAME_STEP)
    record_video(Always(), stacked, tmp_path / "video.mp4")
    assert len(frames(tmp_path / "video.mp4")) == 3
    dark = SyncVectorEnv([lambda: Dark(1)], autoreset_mode=AutoresetMode.SAME_STEP)
    with pytest.raises(InputError, match=r"^the environment cannot be rendered: no OpenGL here"):
        record_video(Always(), dark, tmp_path / "dark.mp4")


def test_bad_input(tmp_path: Path) -> None:
    path = tmp_path / "video.mp4"
    with pytest.raises(InputError, match="a video shows one environment; expected num_envs 1, not 2"):
        record_video(Always(), counters(2), path)
    with pytest.raises(InputError, match='gives no pictures; make it with render_mode="rgb_array"'):
        record_video(Always(), Counter(1, render_mode=None), path)
    with pytest.raises(InputError, match=r"the video v\.gif is not an mp4 file; expected v\.mp4\."):
        check_video(Path("v.gif"))
    with pytest.raises(InputError, match="the environment cannot be rendered: no OpenGL here"):
        record_video(Always(), Dark(1), path)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be written"):
        record_video(Always(), Counter(1), tmp_path / "file" / "video.mp4")
    assert not path.exists()


def test_without_ffmpeg_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(InputError, match=r'videos need imageio and ffmpeg; .* pip install -e "\.\[video\]"'):
        check_video(Path("video.mp4"))


def test_environments_that_cannot_be_rendered() -> None:
    with (
        registered("Blind-v0", lambda: Counter(1, render_mode=None)),
        registered("Sighted-v0", lambda render_mode=None: Counter(1, render_mode)),
    ):
        with pytest.raises(InputError, match="environment 'Blind-v0' cannot be rendered"):
            make_vec_env("Blind-v0", 1, render_mode="rgb_array")
        assert make_vec_env("Blind-v0", 1).render_mode is None
        assert make_vec_env("Sighted-v0", 1, render_mode="rgb_array").render_mode == "rgb_array"
