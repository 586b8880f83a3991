"""Several Atari games that live in one process and write into their rows."""

from acer_tf.envs.atari import AtariEnv
from acer_tf.envs.shared_rows import Rows


class Games:
    """Steps its games one after the other; a game whose episode ended is reset in the same step."""

    def __init__(self, game: str, rows: Rows, max_episode_frames: int | None) -> None:
        """Loads the games, seeded from `rows.seeds`."""
        self._rows = rows
        self._frames = list(rows.frames)
        self._envs = [AtariEnv(game, seed, max_episode_frames) for seed in rows.seeds.tolist()]

    def seed(self) -> None:
        """Seeds every game from `rows.seeds`; the next reset starts a new game."""
        for env, seed in zip(self._envs, self._rows.seeds.tolist(), strict=True):
            env.seed(seed)

    def reset(self) -> None:
        """Resets every game and writes the frames."""
        for env, frame in zip(self._envs, self._frames, strict=True):
            env.reset(frame)

    def step(self) -> None:
        """Plays `rows.actions` and writes all other rows."""
        rows = self._rows
        for i, action in enumerate(rows.actions.tolist()):
            env = self._envs[i]
            step = env.step(action, self._frames[i])
            if step.terminated or step.truncated:
                env.reset(self._frames[i])
            rows.rewards[i], rows.terminations[i], rows.truncations[i] = step
            game = env.take_game()
            rows.game_overs[i] = game is not None
            if game is not None:
                rows.scores[i], rows.lengths[i] = game
