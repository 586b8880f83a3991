"""Distributions and values that policy and critic assign to observations."""

from typing import Any, NamedTuple, Protocol, runtime_checkable

from numpy.typing import NDArray

from acer_tf.evaluation.episodes import Predictor


class Explanation(NamedTuple):
    """Distributions and values for N observations.

    Attributes:
        distribution: probabilities of the actions, [N, A]; for a Box, mean and standard deviation in the environment's
            units, [N, *action] each.
        v: state values, [N] float32, in units of the rewards that the agent was trained on.
        q: values of the actions, [N, A] float32; None for continuous actions.
    """

    distribution: NDArray[Any] | tuple[NDArray[Any], NDArray[Any]]
    v: NDArray[Any]
    q: NDArray[Any] | None


@runtime_checkable
class Explainer(Predictor, Protocol):
    """An agent that explains its decisions."""

    def explain(
        self, observation: Any, state: Any = None, mask: Any = None, *, action_masks: Any = None
    ) -> Explanation:
        """Returns what policy and critic make of a batch of observations; arguments as for `predict`."""
        ...
