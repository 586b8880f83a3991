from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv
from gymnasium.wrappers import RecordEpisodeStatistics, TimeLimit, TransformReward

from acer_tf.envs.adapt import as_vector_env
from acer_tf.envs.make import make_training_env, make_vec_env
from acer_tf.errors import InputError
from acer_tf.evaluation.episodes import Moment, evaluate_policy, play, said_of_cuts, summarize
from tests.counter import Always, Counter, Lives, counters


class Recorder:
    """Acts at random by its own count, keeps what it was asked, and has a state that counts calls since the mask."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, Any, bool]] = []

    def predict(self, observation: Any, state: Any = None, mask: Any = None, deterministic: bool = False) -> Any:
        before = np.zeros((len(observation), 1), np.float32) if state is None else state
        self.asked.append((np.copy(observation), None if mask is None else mask.copy(), deterministic))
        state = np.where(mask[:, np.newaxis], 0, before) + 1
        # The state counts the steps of an episode if, and only if, it is carried along and reset by the mask.
        np.testing.assert_array_equal(state[:, 0], observation[:, 0] + 1)
        return np.zeros(len(observation), np.int64), state


def test_every_environment_plays_its_share_however_long_its_episodes_are() -> None:
    returns, lengths = evaluate_policy(Recorder(), counters(4), 10, return_episode_rewards=True)
    # Shares 2, 2, 3, 3; the first to end are not the ones that count.
    assert sorted(returns) == [0, 0, 10, 10, 20, 20, 20, 30, 30, 30]
    assert sorted(lengths) == [1, 1, 2, 2, 3, 3, 3, 4, 4, 4]


def test_mean_and_standard_deviation() -> None:
    mean, std = evaluate_policy(Recorder(), counters(4), 8)
    assert mean == 15
    assert std == pytest.approx(np.std([0, 10, 20, 30]))


def test_fewer_episodes_than_environments() -> None:
    returns, _ = evaluate_policy(Recorder(), counters(4), 2, return_episode_rewards=True)
    assert returns == [20, 30]


@pytest.mark.parametrize("deterministic", [True, False])
def test_asks_for_what_is_wanted_and_begins_with_a_fresh_state(deterministic: bool) -> None:
    agent = Recorder()
    evaluate_policy(agent, counters(2), 2, deterministic)
    assert agent.asked[0][1].tolist() == [True, True]
    assert {asked[2] for asked in agent.asked} == {deterministic}


def test_a_single_environment_will_do() -> None:
    env = Counter(3)
    assert evaluate_policy(Recorder(), env, 3, render=True, seed=5) == (30, 0)
    assert env.renders == 12
    assert env.seeds[0] is not None and env.seeds[1:] == [None, None, None]


def test_without_a_seed_the_environments_go_on_with_their_streams() -> None:
    env = Counter(0)
    evaluate_policy(Recorder(), env, 2)
    assert set(env.seeds) == {None}


def test_recorded_returns_are_before_a_transform_of_rewards() -> None:
    def make() -> gymnasium.Env[Any, Any]:
        return TransformReward(RecordEpisodeStatistics(Counter(3)), lambda reward: reward / 10)

    assert evaluate_policy(Recorder(), make(), 2) == (30, 0)


def test_a_time_limit_outside_of_the_statistics_ends_episodes_too() -> None:
    env = TimeLimit(RecordEpisodeStatistics(Counter(9)), 4)
    assert evaluate_policy(Always(1), env, 2, return_episode_rewards=True) == ([4, 4], [4, 4])


def test_a_time_limit_begins_a_fresh_state_too() -> None:
    assert evaluate_policy(Recorder(), TimeLimit(Counter(9), 4), 3, return_episode_rewards=True)[1] == [4, 4, 4]


def test_the_end_of_a_life_is_no_episode() -> None:
    env = Lives(RecordEpisodeStatistics(Counter(3)), 1)
    assert evaluate_policy(Always(), env, 2, return_episode_rewards=True) == ([30, 30], [4, 4])


def test_atari_games_are_whole_and_begin_anew_at_every_call() -> None:
    env = make_training_env("BreakoutNoFrameskip-v4", 2, num_workers=0)
    agent = Always()
    first = evaluate_policy(agent, env, 2, return_episode_rewards=True, seed=3)
    assert agent.ends >= 8  # five lives a game, the last of each game that ends last is not seen
    for _ in range(40):
        env.step(np.array([0, 0]))  # leaves the games somewhere in the middle
    assert evaluate_policy(Always(), env, 2, return_episode_rewards=True, seed=3) == first
    lost = np.zeros(2)
    while (lost < 3).any():
        lost += env.step(np.array([0, 0]))[2]
    agent = Always()
    evaluate_policy(agent, env, 2)
    assert agent.ends >= 8  # games that went on from the middle would not have so many left
    env.close()


def test_atari_scores_are_not_clipped() -> None:
    env = make_training_env("SpaceInvadersNoFrameskip-v4", 1, num_workers=0, max_episode_frames=2000)
    mean, _ = evaluate_policy(Always(1), env, 1, seed=0)
    assert mean >= 5 and mean % 5 == 0  # an invader is worth 5 points at least, the agent sees 1
    env.close()


def test_the_callback_is_called_after_every_step() -> None:
    seen: list[dict[str, Any]] = []
    names = ("obs", "action", "state", "reward", "done")

    def callback(here: dict[str, Any], _: Any) -> None:
        seen.append({name: here[name].ravel().tolist() for name in names} | {"lengths": [*here["episode_lengths"]]})
        assert here["n_eval_episodes"] == 3 and "final_obs" in here["info"]

    agent = Recorder()
    evaluate_policy(model=agent, env=counters(3), n_eval_episodes=3, callback=callback)
    assert [step["lengths"] for step in seen] == [[1], [1, 2], [1, 2, 3]]
    assert seen[1] == {
        "obs": [0, 0, 2], "action": [0, 0, 0], "state": [1, 2, 2], "reward": [0, 10, 0], "done": [True, True, False],
        "lengths": [1, 2],
    }  # fmt: skip


def test_a_threshold_that_is_not_reached() -> None:
    evaluate_policy(Recorder(), counters(4), 8, reward_threshold=15)
    with pytest.raises(AssertionError, match=r"the mean return is 15\.00; expected at least 15\.10\."):
        evaluate_policy(Recorder(), counters(4), 8, reward_threshold=15.1)
    with pytest.raises(InputError, match="reward_threshold is '15'; expected a number, or None"):
        evaluate_policy(Recorder(), counters(4), 8, reward_threshold="15")  # type: ignore[arg-type]


class Endless(Counter):
    """Pays 1 a step, and ends only the first episode after each reset that the player asks for."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.lasts = 3 if seed is not None else 10**9
        return super().reset(seed=seed)

    def step(self, action: int) -> Any:
        obs, _, _, _, info = super().step(action)
        return obs, 1.0, self.t == self.lasts, False, info


def test_an_episode_without_end_is_cut_and_marked() -> None:
    steps = play(Recorder(), as_vector_env(Endless(0)), 4, True, max_episode_steps=7, seed=5)
    played = [episode for ended in steps for episode in ended]
    # Seeded resets follow the cuts, so that a whole episode comes next.
    assert [episode[1:] for episode in played] == [(3, 3, False), (7, 7, True), (3, 3, False), (7, 7, True)]
    assert said_of_cuts(played) == "2 of 4 episodes cut after 7 steps"
    assert said_of_cuts(played[:1]) is None


def test_environments_wait_for_those_whose_episodes_were_not_cut(capsys: pytest.CaptureFixture[str]) -> None:
    returns, lengths = evaluate_policy(Recorder(), counters(4), 8, return_episode_rewards=True, max_episode_steps=3)
    assert sorted(lengths) == [1, 1, 2, 2, 3, 3, 3, 3]
    assert sorted(returns) == [0, 0, 0, 0, 10, 10, 20, 20]  # the longest pays at its end alone
    assert capsys.readouterr().out == "2 of 8 episodes cut after 3 steps; max_episode_steps sets the limit\n"


def test_zero_is_no_limit() -> None:
    long = evaluate_policy(Always(), Counter(30_000), 1, return_episode_rewards=True, max_episode_steps=0)
    assert long == ([300_000], [30_001])


def test_statistics_begin_anew_after_a_cut() -> None:
    env = RecordEpisodeStatistics(Endless(0))
    played = [e for ended in play(Recorder(), as_vector_env(env), 3, True, max_episode_steps=5, seed=1) for e in ended]
    assert [episode[1:] for episode in played] == [(3, 3, False), (5, 5, True), (3, 3, False)]


def test_an_atari_game_is_cut_by_its_own_limit_first() -> None:
    env = make_vec_env("PongNoFrameskip-v4", 1, num_workers=0, max_episode_frames=400)
    ((game,),) = [ended for ended in play(Always(), env, 1, True, seed=0, max_episode_steps=100) if ended]
    env.close()
    assert game.l <= 100 and not game.is_cut


def test_bad_input() -> None:
    with pytest.raises(InputError, match="max_episode_steps is -1; expected a whole number >= 0"):
        evaluate_policy(Recorder(), counters(1), 1, max_episode_steps=-1)
    with pytest.raises(InputError, match="the number of episodes is 0; expected a whole number >= 1"):
        evaluate_policy(Recorder(), counters(1), 0)
    with pytest.raises(InputError, match=r"is the id .CartPole-v1.; give environments: acer_tf\.envs\.make"):
        evaluate_policy(Recorder(), "CartPole-v1", 1)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="autoreset mode is NEXT_STEP"):
        evaluate_policy(Recorder(), SyncVectorEnv([lambda: Counter(0)]), 1)


def test_summary() -> None:
    summary = summarize([1, 2, 3, 4, 5, 6, 7, 8], [10] * 7 + [18])
    assert summary[:3] == (8, 4.5, pytest.approx(np.std(range(8))))
    assert summary.mean_length == 11
    standard_error = np.std(range(8)) / np.sqrt(8)
    assert summary.low == pytest.approx(4.5 - 1.96 * standard_error, abs=0.1)
    assert summary.high == pytest.approx(4.5 + 1.96 * standard_error, abs=0.1)


def test_a_single_episode_has_no_interval() -> None:
    assert summarize([3], [7]) == (1, 3, 0, None, None, 7)
    assert summarize([3, 3], [7, 7]) == (2, 3, 0, 3, 3, 7)


def test_the_interval_covers_the_mean_as_often_as_it_says() -> None:
    random = np.random.default_rng(0)
    hits = 0
    for _ in range(40):
        summary = summarize(random.normal(size=40).tolist(), [1] * 40)
        hits += summary.low < 0 < summary.high
    assert 34 <= hits <= 40


def test_a_step_is_shown_with_its_actions_and_the_return_so_far() -> None:
    moments: list[Moment] = []
    for _ in play(Always(1), as_vector_env(Counter(2)), 2, True, moments.append):
        pass
    assert [moment.actions.tolist() for moment in moments] == [[1]] * 6
    assert [moment.returns.tolist() for moment in moments] == [[0], [1], [2]] * 2
    assert [moment.observation.tolist() for moment in moments] == [[[0]], [[1]], [[2]]] * 2
    assert [moment.mask.tolist() for moment in moments] == [[True], [False], [False]] * 2


def test_the_return_so_far_of_an_atari_game_is_its_score() -> None:
    env = make_vec_env("PongNoFrameskip-v4", 1, render_mode="rgb_array", max_episode_frames=1600)
    last: list[float] = []
    (game,) = [
        episode
        for ended in play(Always(), env, 1, True, lambda moment: last.append(moment.returns[0]), 0)
        for episode in ended
    ]
    env.close()
    assert last[0] == 0 and game.r <= last[-1] == min(last) < -1
