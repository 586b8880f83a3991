from pathlib import Path

import pytest

from acer_tf.cli.parsing import parse
from acer_tf.cli.play import PlayFlags
from acer_tf.errors import InputError


def test_flags(tmp_path: Path) -> None:
    run = Path("run")
    PlayFlags(run, video=tmp_path / "video.mp4").check()
    assert PlayFlags(run, video=tmp_path / "video.mp4").video_file() == tmp_path / "video.mp4"
    assert (PlayFlags(run).actions, PlayFlags(run, deterministic=True).actions) == ("stochastic", "deterministic")
    with pytest.raises(InputError, match="episodes is 0; expected a whole number >= 1"):
        PlayFlags(run, episodes=0).check()
    with pytest.raises(InputError, match="--deterministic and --stochastic exclude each other"):
        PlayFlags(run, deterministic=True, stochastic=True).check()
    (tmp_path / "old.mp4").touch()
    with pytest.raises(InputError, match=r"old\.mp4 exists; choose another name"):
        PlayFlags(run, video=tmp_path / "old.mp4").check()


@pytest.mark.parametrize("words", [["RUN", "--video"], ["--video", "RUN"], ["RUN", "--video", "--episodes", "3"]])
def test_a_video_without_a_name_is_with_the_agent_and_replaces_nothing(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "run").mkdir()
    agent = tmp_path / "run" / "agent-0.5.zip"
    agent.touch()

    def file(run: Path) -> Path | None:
        flags = parse("acer_tf.some", PlayFlags, [str(run) if word == "RUN" else word for word in words])
        flags.check()
        return flags.video_file()

    for run, first, second in ((tmp_path / "run", "video", "video-2"), (agent, "agent-0.5", "agent-0.5-2")):
        assert file(run) == tmp_path / "run" / f"{first}.mp4"
        (tmp_path / "run" / f"{first}.mp4").touch()
        assert file(run) == tmp_path / "run" / f"{second}.mp4"


def test_a_video_may_have_a_name_and_there_may_be_none() -> None:
    for words, video in {(): None, ("--video", "None"): None, ("--video", "a.mp4"): Path("a.mp4")}.items():
        flags = parse("acer_tf.some", PlayFlags, ["run", *words])
        assert (flags.run, flags.video_file()) == (Path("run"), video)
