from typing import Any

import numpy as np
import pytest

from acer_tf.callbacks import (
    BaseCallback,
    CallbackList,
    ConvertCallback,
    EvalCallback,
    EventCallback,
    EveryNTimesteps,
    as_callback,
)
from acer_tf.errors import InputError
from tests.callbacks.scripted_agent import ScriptedAgent


class Diary(BaseCallback):
    """Writes down what is called."""

    def __init__(self, diary: list[str], name: str = "", last: int = 10**9, answer: Any = False) -> None:
        super().__init__()
        self.diary, self.name, self.last, self.answer = diary, name, last, answer

    def note(self, what: str) -> None:
        self.diary.append(self.name + what)

    def _init_callback(self) -> None:
        self.note("init")

    def _on_training_start(self) -> None:
        self.note("start")

    def _on_rollout_start(self) -> None:
        self.note("(")

    def _on_step(self) -> Any:
        self.note("step")
        return self.answer if self.n_calls == self.last else None

    def _on_rollout_end(self) -> None:
        self.note(")")

    def _on_training_end(self) -> None:
        self.note("end")


def test_hooks_come_in_order() -> None:
    diary: list[str] = []
    ScriptedAgent(nsteps=2).learn(2, Diary(diary))
    assert " ".join(diary) == "init start ( step step ) ( step step ) end"


def test_before_learning_there_is_no_agent() -> None:
    callback = BaseCallback()
    assert callback.model is callback.training_env is callback.logger is None
    agent = ScriptedAgent()
    agent.learn(1, callback)
    assert callback.model is agent and callback.training_env is agent.env


@pytest.mark.parametrize("answer", [False, np.False_, 0])
def test_false_of_any_kind_ends_training(answer: Any) -> None:
    diary: list[str] = []
    ScriptedAgent(nsteps=2).learn(2, Diary(diary, last=3, answer=answer))
    assert " ".join(diary) == "init start ( step step ) ( step end"


def test_attributes() -> None:
    agent, callback = ScriptedAgent(nenvs=3, nsteps=2), BaseCallback(verbose=1)
    agent.learn(2, callback)
    assert (callback.n_calls, callback.num_timesteps, callback.verbose) == (4, 12, 1)
    assert (callback.model, callback.training_env, callback.logger) == (agent, agent.env, agent.logger)
    assert callback.locals["self"] is agent and callback.globals == {"g": 1} and callback.parent is None


def test_num_timesteps_is_known_when_training_starts() -> None:
    seen = []

    class Start(BaseCallback):
        def _on_training_start(self) -> None:
            seen.append(self.num_timesteps)

    agent = ScriptedAgent()
    agent.learn(1, Start())
    agent.learn(1, Start())
    assert seen == [0, 10]


def test_a_list_calls_all_in_order_even_if_the_first_wants_to_stop() -> None:
    diary: list[str] = []
    ScriptedAgent(nsteps=2).learn(1, [Diary(diary, "a", last=1), Diary(diary, "b")])
    assert " ".join(diary) == "ainit binit astart bstart a( b( astep bstep aend bend"


def test_an_object_of_a_list_that_returns_nothing_goes_on() -> None:
    class Plain:
        calls = 0

        def __getattr__(self, name: str) -> Any:
            return lambda *_: None

        def on_step(self) -> None:
            self.calls += 1

    plain = Plain()
    ScriptedAgent(nsteps=2).learn(3, [plain])
    assert plain.calls == 6


def test_a_list_may_hold_functions_and_lists() -> None:
    calls: list[int] = []
    inner = Diary([])
    callbacks = CallbackList([lambda here, there: calls.append(here["self"].num_timesteps), None, [inner]])
    assert len(callbacks.callbacks) == 2
    ScriptedAgent(nsteps=2).learn(1, callbacks)
    assert calls == [2, 4] and inner.n_calls == 2


def test_a_function_gets_the_variables_and_stops_with_false_only() -> None:
    seen: list[Any] = []

    def function(here: dict[str, Any], there: dict[str, Any]) -> Any:
        seen.append((here["self"].num_timesteps, there))
        return {2: None, 4: True, 6: False}[here["self"].num_timesteps]

    ScriptedAgent().learn(1, function)
    assert seen == [(2, {"g": 1}), (4, {"g": 1}), (6, {"g": 1})]


class Own:
    """Has the methods, but not the base class."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *_: True


def test_kinds_that_are_accepted() -> None:
    callback, own = BaseCallback(), Own()
    assert isinstance(nothing := as_callback(None), CallbackList) and nothing.callbacks == []
    assert as_callback(callback) is callback
    assert as_callback(own) is own
    assert isinstance(as_callback([]), CallbackList)
    assert isinstance(as_callback(lambda here, there: True), ConvertCallback)


@pytest.mark.parametrize(
    "wrong, message",
    [
        (3, "the callback is an int; expected a BaseCallback, a function"),
        (lambda here: True, "the callback is a function; expected a BaseCallback, a function of two arguments"),
        ("checkpoint", "the callback is a str; expected a BaseCallback, a function"),
        ([BaseCallback(), 3], "the callback is an int; expected a BaseCallback, a function"),
        (EvalCallback, r"the callback is the class EvalCallback; expected an object of it, such as EvalCallback\(\)"),
    ],
)
def test_kinds_that_are_not(wrong: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        as_callback(wrong)


def test_a_list_belongs_to_what_its_owner_belongs_to() -> None:
    inner = BaseCallback()
    owner = EventCallback([inner])
    ScriptedAgent().learn(1, owner)
    assert inner.parent is owner


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
def test_bad_input_of_events(wrong: Any) -> None:
    with pytest.raises(InputError, match=f"n_steps is {wrong}; expected a whole number >= 1"):
        EveryNTimesteps(wrong, BaseCallback())
    with pytest.raises(InputError, match="the callback is an int"):
        EveryNTimesteps(5, 3)
