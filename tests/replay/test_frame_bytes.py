import pytest

from acer_tf.envs.atari.game import AtariGame
from acer_tf.envs.ids import atari_game, atari_ids
from acer_tf.errors import InputError
from acer_tf.replay.frame_bytes import FrameBytes, frame_bytes


def test_every_game_that_can_be_played_is_in_the_table() -> None:
    games = {atari_game(env_id) for env_id in atari_ids()}
    assert frame_bytes().keys() < games
    for game in games - frame_bytes().keys():
        with pytest.raises(InputError, match="is not NOOP"):
            AtariGame(game)


def test_sizes_are_possible() -> None:
    for game, size in frame_bytes().items():
        assert 0 < size.later < size.first < 84 * 84, game


def test_rows_of_frames() -> None:
    assert FrameBytes(first=100.0, later=7.0).of(1) == 100
    assert FrameBytes(first=100.0, later=7.0).of(24) == 261
