"""The model: a policy, its average, acting, and ACER's train step with its two gradients."""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from acer_tf.allocator import keep_freed_memory
from acer_tf.config import Config
from acer_tf.errors import InputError, NotFiniteError
from acer_tf.maths.diagnostics import mean_row_norm, share
from acer_tf.maths.trust_region import Projection, project
from acer_tf.optimizers import make_optimizer, named_slots
from acer_tf.persistence.arrays import load_arrays, save_arrays
from acer_tf.segment import Action, Segment
from acer_tf.sequence import SequencePolicy
from acer_tf.traced import Traced

NOT_FINITE = "the gradient is not finite"


class TrustRegion(NamedTuple):
    """The trust region's quantities for a segment.

    Attributes:
        f_avg: [N, T, A] float32, the average policy's statistics.
        k: [N, T, A] float32, gradient of the divergence from it.
        projection: the gradient after the projection.
    """

    f_avg: tf.Tensor
    k: tf.Tensor
    projection: Projection


class Gradients(NamedTuple):
    """Everything about one update up to the optimiser.

    Attributes:
        evaluation: what the networks said, as the policy's `evaluate` gives it.
        losses: the losses, as the policy's `losses` gives them.
        g: [N, T, A] float32, ascent direction with respect to f before the trust region, times N * T.
        trust_region: its quantities; None where it is switched off.
        grad_f: [N, T, A] float32, what is sent back through f.
        raw: gradient of each parameter.
        clipped: the same after clipping.
        norm: [] float32, global norm of `raw`.
        policy: the part of `raw` that came through f, None for parameters it does not reach; empty unless asked for.
        critic: the part that came through q, likewise.
    """

    evaluation: Any
    losses: Any
    g: tf.Tensor
    trust_region: TrustRegion | None
    grad_f: tf.Tensor
    raw: list[tf.Tensor]
    clipped: list[tf.Tensor]
    norm: tf.Tensor
    policy: list[tf.Tensor | None]
    critic: list[tf.Tensor | None]


class Model:
    """Policy, average policy and optimiser: baselines' `Model`.

    Attributes:
        policy: the policy object.
        config: hyper-parameters.
        params: trainable variables, in baselines' order.
        averages: the average policy: their exponential moving averages, in the same order.
        optimizer: as the configuration says; its slots are in the same order.
    """

    def __init__(self, policy: SequencePolicy, config: Config, seed: int) -> None:
        """Makes the average, equal to the parameters, and the optimiser's slots.

        Args:
            policy: a freshly built policy.
            config: hyper-parameters.
            seed: of the stream that actions are sampled from, in acting and in training.

        Raises:
            InputError: a setting asks for states that the policy does not have.
        """
        policy.check_config(config)
        keep_freed_memory()
        self.policy = policy
        self.config = config
        self.params: list[tf.Variable] = [variable.value for variable in policy.params.values()]
        self._ema = tf.train.ExponentialMovingAverage(config.alpha)
        self._ema.apply(self.params)
        self.averages: list[tf.Variable] = [self._ema.average(param) for param in self.params]
        self.optimizer = make_optimizer(config)
        self.optimizer.build(list(policy.params.values()))
        self._random = tf.random.Generator.from_seed(seed, alg="philox")
        self._act = Traced(self._sample)
        self._values = Traced(policy.values)
        self._train = Traced(self._update)
        self._train_and_report = Traced(self._update_and_report)
        self._gradients = Traced(self._both_gradients)

    def initial_state(self, nenvs: int) -> NDArray[np.float32]:
        """Returns the policy's state before the first step, [N, S] float32; S is 0 for a feed-forward network."""
        return self.policy.initial_state(nenvs)

    def reseed(self, seed: int) -> None:
        """Begins the stream that actions are sampled from anew."""
        self._random.reset_from_seed(seed)

    def act(self, obs: NDArray[Any], state: NDArray[np.float32], mask: NDArray[np.bool_]) -> Action:
        """Samples an action for each environment.

        Args:
            obs: [N, *observation], in the space's dtype.
            state: [N, S] float32, from the step before or from `initial_state`.
            mask: [N] bool, True where an episode just ended and the state starts anew.

        Raises:
            InputError: the state has another shape.
        """
        self.policy.check_state(state, len(obs))
        actions, mus, new_state = self._act(obs, state, mask)
        return Action(actions.numpy(), mus.numpy(), new_state.numpy())

    def values(self, obs: NDArray[Any], state: NDArray[np.float32]) -> NDArray[np.float32]:
        """Returns V of observations within an episode, [N] float32; arguments as of `act`. Draws nothing."""
        values: NDArray[np.float32] = self._values(obs, state).numpy()
        return values

    def train(self, segment: Segment, lr: float) -> None:
        """Updates parameters, slots and average on one segment; computes nothing that only a report needs.

        Raises:
            NotFiniteError: the gradient is not finite; nothing has been updated.
        """
        with self._not_finite_told(segment):
            self._train(*_inputs(segment), np.asarray(lr, np.float32))

    def train_and_report(self, segment: Segment, lr: float) -> dict[str, float]:
        """Does what `train` does, to the bit, and returns its statistics: baselines', under its names, then ours."""
        with self._not_finite_told(segment):
            report = self._train_and_report(*_inputs(segment), np.asarray(lr, np.float32))
        return {name: float(value) for name, value in report.items()}

    def report(self, segment: Segment) -> dict[str, float]:
        """Returns the same statistics of an update that is not made."""
        return {name: float(value) for name, value in self._report(self.gradients(segment)).items()}

    def gradients(self, segment: Segment) -> Gradients:
        """Computes the gradients of one update, both parts of them, and all that leads to them; updates nothing."""
        gradients: Gradients = self._gradients(*_inputs(segment))
        return gradients

    def save(self, path: str | Path) -> None:
        """Writes parameters, average and slots to one npz file; an old file is replaced in one step or not at all."""
        save_arrays(path, {name: variable.numpy() for name, variable in self._variables().items()})

    def load(self, path: str | Path) -> None:
        """Reads what `save` wrote.

        Raises:
            InputError: no such file, or it was saved from another network; nothing has been changed then.
        """
        _assign(self._variables(), load_arrays(path), str(path))

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """Returns everything that training changes, and the state of the stream that actions are sampled from."""
        return {name: np.asarray(variable.numpy()) for name, variable in self._training_state().items()}

    def load_state_dict(self, state: Mapping[str, NDArray[Any]], source: str = "the checkpoint") -> None:
        """Takes what `state_dict` returned; errors name the source.

        Raises:
            InputError: it is of another network; nothing has been changed then.
        """
        _assign(self._training_state(), state, source)

    @contextlib.contextmanager
    def _not_finite_told(self, segment: Segment) -> Iterator[None]:
        try:
            yield
        except tf.errors.InvalidArgumentError as error:
            if NOT_FINITE not in str(error):
                raise
            name = _first_not_finite(segment, self.gradients(segment), list(self.policy.params))
            batch = {name: array for name, array in segment._asdict().items() if name != "enc_obs"}
            raise NotFiniteError(f"{name} is not finite, so the update was not made.", batch) from error

    def _training_state(self) -> dict[str, tf.Variable]:
        return self._variables() | {"random": self._random.state}

    def _variables(self) -> dict[str, tf.Variable]:
        names = list(self.policy.params)
        params = {f"param/{name}": variable for name, variable in zip(names, self.params, strict=True)}
        averages = {f"average/{name}": variable for name, variable in zip(names, self.averages, strict=True)}
        return params | averages | named_slots(self.optimizer, names)

    def _sample(self, obs: tf.Tensor, state: tf.Tensor, mask: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        return self.policy.act(obs, state, mask, self._draw_seed())

    def _draw_seed(self) -> tf.Tensor:
        return self._random.uniform_full_int([2], tf.int32)

    def _update(self, *inputs: tf.Tensor) -> None:
        *tensors, lr = inputs
        self._apply(self._two_stage_gradients(_segment(*tensors)), lr)

    def _update_and_report(self, *inputs: tf.Tensor) -> dict[str, tf.Tensor]:
        *tensors, lr = inputs
        gradients = self._two_stage_gradients(_segment(*tensors), parts=True)
        self._apply(gradients, lr)
        return self._report(gradients)

    def _both_gradients(self, *inputs: tf.Tensor) -> Gradients:
        return self._two_stage_gradients(_segment(*inputs), parts=True)

    def _two_stage_gradients(self, segment: Segment, parts: bool = False) -> Gradients:
        """Computes the gradient of every parameter in the two stages of the paper (section 3.3).

        First the gradient with respect to the policy's statistics f (and to q), corrected by the trust region; then, in
        one backward pass, what it means for the weights: the policy's part comes back through f, the critic's
        through q.
        """
        with tf.GradientTape(persistent=parts) as tape:
            evaluation = self.policy.evaluate(segment, self.config, self._draw_seed)
        f, q = evaluation.f, evaluation.q
        trained = self.policy.trained_part(segment, self.config)

        with tf.GradientTape() as output_tape:
            output_tape.watch((f, q))
            losses = self.policy.losses(evaluation, trained, self.config)
        grad_f, grad_q = output_tape.gradient(losses.loss, (f, q))

        steps = float(np.prod(trained.rewards.shape))  # the original's g is of the sum over steps, its losses are means
        g = -steps * grad_f
        trust_region = None
        if self.config.trust_region:
            f_avg = self.policy.average_statistics(segment, self.averages, self.config)
            k = self.policy.kl_gradient(f_avg, f)
            trust_region = TrustRegion(f_avg, k, project(g, k, self.config.delta))
            grad_f = -trust_region.projection.g / steps

        raw = tape.gradient((f, q), self.params, (grad_f, grad_q), tf.UnconnectedGradients.ZERO)
        clipped, norm = raw, tf.linalg.global_norm(raw)
        if self.config.max_grad_norm is not None:
            clipped, _ = tf.clip_by_global_norm(raw, self.config.max_grad_norm, use_norm=norm)
        policy = tape.gradient(f, self.params, grad_f) if parts else []
        critic = tape.gradient(q, self.params, grad_q) if parts else []
        return Gradients(evaluation, losses, g, trust_region, grad_f, raw, clipped, norm, policy, critic)

    def _report(self, gradients: Gradients) -> dict[str, tf.Tensor]:
        losses, trust_region = gradients.losses, gradients.trust_region
        report = _baselines_report(gradients) | {
            "mean_rho": tf.reduce_mean(losses.rho_i),
            "truncated_share": share(losses.rho_i > self.config.c),
        }
        if trust_region is not None:
            report |= {
                "trust_region_share": share(trust_region.projection.adj > 0),
                "average_kl": tf.reduce_mean(self.policy.kl(trust_region.f_avg, gradients.evaluation.f)),
            }
        return report

    def _apply(self, gradients: Gradients, lr: tf.Tensor) -> None:
        """Takes the optimiser's step, then moves the average: the order that baselines means but does not enforce."""
        with tf.control_dependencies([tf.debugging.check_numerics(gradients.norm, NOT_FINITE)]):
            self.optimizer.learning_rate.assign(lr)
            self.optimizer.apply(gradients.clipped)
            self._ema.apply(self.params)


def _first_not_finite(segment: Segment, gradients: Gradients, names: list[str]) -> str:
    """Names the first quantity of an update that is not finite, in the order in which they are computed."""
    quantities = {
        "the reward": segment.rewards,
        "the value at a time limit": segment.final_values,
        "the behaviour policy mu": segment.mus,
        "the policy f": gradients.evaluation.f,
        "the critic q": gradients.evaluation.q,
        "the importance ratio rho": gradients.losses.rho_i,
        "the Retrace target q_ret": gradients.losses.q_ret,
        "the loss": gradients.losses.loss,
        **{f"the gradient of {name}": gradient for name, gradient in zip(names, gradients.raw, strict=True)},
    }
    wrong = (name for name, value in quantities.items() if not np.isfinite(np.asarray(value)).all())
    return next(wrong, "the norm of the gradient")


def _assign(variables: Mapping[str, tf.Variable], arrays: Mapping[str, NDArray[Any]], source: str) -> None:
    expected = {name: tuple(variable.shape) for name, variable in variables.items()}
    found = {name: array.shape for name, array in arrays.items()}
    if found != expected:
        name = min(name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name))
        raise InputError(
            f"{source} is of another network: {name} has shape {found.get(name, 'none')} there, "
            f"{expected.get(name, 'none')} here."
        )
    for name, variable in variables.items():
        variable.assign(arrays[name])


def _inputs(segment: Segment) -> tuple[NDArray[Any], ...]:
    """Picks what the train step reads, so that nothing else is copied into a tensor."""
    names = ("obs", "actions", "rewards", "mus", "masks", "states", "final_values")
    return tuple(getattr(segment, name) for name in names)


def _segment(*inputs: tf.Tensor) -> Segment:
    """Is the other end of `_inputs`: a segment of tensors, without the unstacked frames."""
    obs, actions, rewards, mus, masks, *others = inputs
    return Segment(None, obs, actions, rewards, mus, masks[:, 1:], masks, *others)  # type: ignore[arg-type]


def _baselines_report(gradients: Gradients) -> dict[str, tf.Tensor]:
    """Names statistics as baselines does; those from `norm_grads_q` on only with trust region."""
    losses, trust_region = gradients.losses, gradients.trust_region
    report = {
        "loss": losses.loss,
        "loss_q": losses.loss_q,
        "entropy": losses.entropy,
        "loss_policy": losses.loss_policy,
        "loss_f": losses.loss_f,
        "loss_bc": losses.loss_bc,
        "explained_variance": losses.explained_variance,
        "norm_grads": gradients.norm,
    }
    if trust_region is not None:
        report |= {
            "norm_grads_q": tf.linalg.global_norm(gradients.critic),
            "norm_grads_policy": tf.linalg.global_norm(gradients.policy),
            "avg_norm_grads_f": mean_row_norm(trust_region.projection.g),
            "avg_norm_k": mean_row_norm(trust_region.k),
            "avg_norm_g": mean_row_norm(gradients.g),
            "avg_norm_k_dot_g": tf.reduce_mean(tf.abs(trust_region.projection.k_dot_g)),
            "avg_norm_adj": tf.reduce_mean(tf.abs(trust_region.projection.adj)),
        }
    return report
