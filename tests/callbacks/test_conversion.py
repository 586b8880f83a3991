from typing import Any

import numpy as np
import pytest

from acer_tf.callbacks import BaseCallback, CallbackList, ConvertCallback, EvalCallback, EventCallback, as_callback
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
    assert as_callback(None) is None
    assert as_callback(callback) is callback
    assert as_callback(own) is own
    assert isinstance(as_callback([]), CallbackList)
    assert isinstance(as_callback(lambda here, there: True), ConvertCallback)


@pytest.mark.parametrize(
    "wrong, message",
    [
        (3, "the callback is a int; expected a BaseCallback, a function"),
        (lambda here: True, "the callback is a function; expected a BaseCallback, a function of two arguments"),
        ("checkpoint", "the callback is a str; expected a BaseCallback, a function"),
        ([BaseCallback(), 3], "the callback is a int; expected a BaseCallback, a function"),
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
