import numpy as np

from acer_tf.recordings.scripted import NotedRandom, ScriptedActor, ScriptedEnv


def test_env_emits_entry_by_entry() -> None:
    frames = np.arange(4 * 2 * 3, dtype=np.uint8).reshape(4, 2, 3)
    dones = np.array([[False, False], [False, False], [True, False], [False, True]])
    rewards = np.arange(8, dtype=np.float32).reshape(4, 2)
    env = ScriptedEnv(frames, dones, rewards)
    assert (env.num_envs, env.single_observation_space.shape) == (2, (3,))
    assert env.single_observation_space.dtype == np.uint8
    env.reset(seed=1)
    np.testing.assert_array_equal(env.reset()[0], frames[1])
    obs, reward, terminations, truncations, infos = env.step(np.zeros(2))
    np.testing.assert_array_equal(obs, frames[2])
    np.testing.assert_array_equal(reward, [4, 5])
    assert (terminations.tolist(), truncations.tolist(), infos) == ([True, False], [False, False], {})
    assert (env.reset_at, env.emitted) == ([0, 1], 3)


def test_actor_keeps_copies_of_what_it_saw() -> None:
    actions, mus = np.array([[1, 0], [0, 1]]), np.full((2, 2, 2), 0.5, np.float32)
    states = np.arange(8.0).reshape(2, 2, 2)
    actor = ScriptedActor(actions, mus, states)
    obs, mask = np.ones((2, 3)), np.array([True, False])
    first = actor.initial_state(2).copy()
    action = actor.act(obs, first, mask)
    np.testing.assert_array_equal(action.actions, [1, 0])
    np.testing.assert_array_equal(action.state, states[1])
    obs[:], mask[:], first[:] = 0, False, 7
    np.testing.assert_array_equal(actor.act(obs, action.state, mask).actions, [0, 1])
    np.testing.assert_array_equal(actor.states, states)
    assert [seen.sum() for seen in actor.obs] == [6, 0]
    assert [seen.sum() for seen in actor.masks] == [1, 0]


def test_noted_random_is_numpys_generator() -> None:
    noted, plain = NotedRandom(3), np.random.RandomState(3)
    np.testing.assert_array_equal(noted.normal(size=4), plain.normal(size=4))
    assert noted.poisson(4) == plain.poisson(4)
    drawn = noted.randint(0, 9, 5)
    np.testing.assert_array_equal(drawn, plain.randint(0, 9, 5))
    assert noted.drawn[0] is drawn
