from typing import Any

import pytest

from acer_tf.callbacks import BaseCallback, EventCallback, EveryNTimesteps
from acer_tf.errors import InputError
from tests.callbacks.scripted_agent import ScriptedAgent


class EveryThird(EventCallback):
    def _on_step(self) -> bool:
        return self.n_calls % 3 != 0 or self._on_event()


def test_the_other_callback_counts_events() -> None:
    seen = []

    class Other(BaseCallback):
        def _on_step(self) -> None:
            seen.append((self.n_calls, self.num_timesteps))

    other = Other()
    event = EveryThird(other)
    ScriptedAgent().learn(2, event)
    assert seen == [(1, 6), (2, 12), (3, 18)]
    assert other.parent is event and other.locals is event.locals


def test_its_answer_counts() -> None:
    event = EveryThird(lambda here, there: False)
    ScriptedAgent().learn(2, event)
    assert event.n_calls == 3
    alone = EveryThird()
    ScriptedAgent().learn(2, alone)
    assert alone.n_calls == 10


@pytest.mark.parametrize("n_steps, expected", [(4, [4, 8, 12, 16, 20]), (5, [6, 12, 18]), (1, list(range(2, 21, 2)))])
def test_every_n_agent_steps_since_the_last_time(n_steps: int, expected: list[int]) -> None:
    seen: list[int] = []
    ScriptedAgent().learn(2, EveryNTimesteps(n_steps, lambda here, _: seen.append(here["self"].num_timesteps)))
    assert seen == expected


def test_a_second_training_counts_from_where_it_begins() -> None:
    seen: list[int] = []
    every = EveryNTimesteps(6, lambda here, _: seen.append(here["self"].num_timesteps))
    agent = ScriptedAgent()
    agent.learn(1, every)
    agent.learn(1, every)
    agent.num_timesteps = 0
    agent.learn(1, every)
    assert seen == [6, 16, 6]


@pytest.mark.parametrize("wrong", [0, -1, 2.5, True])
def test_bad_input(wrong: Any) -> None:
    with pytest.raises(InputError, match=f"n_steps is {wrong}; expected a whole number >= 1"):
        EveryNTimesteps(wrong, BaseCallback())
    with pytest.raises(InputError, match="the callback is a int"):
        EveryNTimesteps(5, 3)
