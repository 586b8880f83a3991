"""Batches exchanged by Runner, Buffer and Model.

Letters used everywhere: `N` environments, `T` steps of a segment, `A` actions, `C` channels of one frame, `S` frames
in a stack, `P` numbers in a policy's state. Arrays are env-major: flattened, row = env * T + t.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import NDArray


class Segment(NamedTuple):
    """`T` consecutive steps of each of `N` environments; baselines' fields in its Runner's order, then ours.

    Attributes:
        enc_obs: [N, T + S, *frame], the unstacked frames, each once, as the buffer stores them; or the compressed form
            in which it keeps them, `replay.columns.CompressedFrames`.
        obs: [N, T + 1, *observation], as the network sees them, including the bootstrap step.
        actions: [N, T] int64; continuous ones [N, T, D] float32, in units of half the range, not clipped.
        rewards: [N, T] float32.
        mus: [N, T, A] float32, the behaviour policy's probabilities; for continuous actions its means [N, T, D], or its
            means and log sigmas [N, T, 2D].
        dones: [N, T] bool, the episode ended at this step.
        masks: [N, T + 1] bool, the episode ended before this step; `masks[:, 1:] == dones`.
        states: [N, P] float32, the policy's state before the first step, to which the first mask has not been applied
            yet; empty (P = 0) for a feed-forward network. Baselines does not keep it.
        final_values: [N, T] float32, the value of the state in which a time limit cut the episode short at this step
            (truncated, not terminated); 0 elsewhere, and everywhere without `bootstrap_truncated`. Computed when the
            segment was collected, so in replay it is as old as `mus`.
        action_masks: [N, T + 1, A] bool, the actions possible in each state, including the bootstrap step; `()` if the
            environments give no masks. Baselines has none.
    """

    enc_obs: Any
    obs: NDArray[Any]
    actions: NDArray[Any]
    rewards: NDArray[np.float32]
    mus: NDArray[np.float32]
    dones: NDArray[np.bool_]
    masks: NDArray[np.bool_]
    states: NDArray[np.float32]
    final_values: NDArray[np.float32]
    action_masks: NDArray[np.bool_] | tuple[()] = ()


def is_given(field: Any) -> TypeGuard[Any]:
    """Returns whether a field of a segment has values, rather than `()` in their place."""
    return not isinstance(field, tuple)


def joined(segments: Sequence[Segment]) -> Segment:
    """Joins segments along the environments into the batch of one update; a single segment is returned as it is.

    The batch leaves out `enc_obs`, which updates do not read.
    """
    # The common case costs no copy.
    if len(segments) == 1:
        return segments[0]
    # Field by field along axis 0, the environments: N grows, T stays.
    fields = zip(*(segment._replace(enc_obs=()) for segment in segments), strict=True)
    batch: list[Any] = [np.concatenate(rows) if is_given(rows[0]) else () for rows in fields]
    return Segment(*batch)


class Action(NamedTuple):
    """Actions in `N` environments.

    Attributes:
        actions: [N] int64; continuous ones [N, D] float32.
        mus: [N, A] float32, the probabilities from which they were drawn; for continuous actions as in `Segment`.
        state: [N, P] float32, the policy's state after the step.
    """

    actions: NDArray[Any]
    mus: NDArray[np.float32]
    state: NDArray[np.float32]


class Episode(NamedTuple):
    """A complete episode as the user counts it: unclipped, over all lives.

    Attributes:
        env: index of the environment.
        r: raw return.
        l: length in agent steps.
        t: seconds since training began.
    """

    env: int
    r: float
    l: int  # noqa: E741  (the column's name in baselines' monitor files)
    t: float
