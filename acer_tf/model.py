"""The model: a policy, its average, acting, and ACER's train step with its two-stage gradient."""

import contextlib
import functools
import weakref
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from acer_tf.config import Config
from acer_tf.errors import NotFiniteError
from acer_tf.gradients import Gradients, first_not_finite, metrics, two_stage_gradients
from acer_tf.optimizers import make_optimizer, named_slots
from acer_tf.policies.actor import Actor
from acer_tf.policies.base import Policy
from acer_tf.segment import Action, Segment
from acer_tf.storage.arrays import check_arrays, load_arrays, save_arrays
from acer_tf.system.traced import Traced, clear_kernels

NOT_FINITE = "the gradient is not finite"


class Model:
    """Policy, average policy and optimiser: baselines' `Model`.

    Attributes:
        policy: the policy object.
        config: hyper-parameters.
        actor: acts with the policy.
        params: trainable variables, in baselines' order.
        averages: the average policy: exponential moving averages of `params`, in the same order.
        optimizer: the configured optimiser; its slots are in the same order.
        updates: number of updates made with this object.
    """

    def __init__(self, policy: Policy, config: Config, seed: int) -> None:
        """Creates the average policy, equal to the policy, and the optimiser's slots.

        Args:
            policy: a freshly built policy.
            config: hyper-parameters.
            seed: seed of the stream from which actions are sampled, both in acting and in training.

        Raises:
            InputError: a setting requires a state, which the policy does not have.
        """
        policy.check_config(config)
        self.policy = policy
        self.config = config
        # The TensorFlow variables of the Keras network, shared by the tape, the average and the optimiser.
        self.params: list[tf.Variable] = [variable.value for variable in policy.params.values()]
        # θ_avg ← α θ_avg + (1 − α) θ (section 3.3); the first apply() creates the averages, as copies.
        self._ema = tf.train.ExponentialMovingAverage(config.alpha)
        self._ema.apply(self.params)
        # It also records the parameters in TensorFlow's global graph, where they would outlive the model.
        del tf.compat.v1.get_collection_ref(tf.compat.v1.GraphKeys.MOVING_AVERAGE_VARIABLES)[-len(self.params) :]
        self.averages: list[tf.Variable] = [self._ema.average(param) for param in self.params]
        self.optimizer = make_optimizer(config)
        # Slots are created now, not in the first update: a checkpoint of step 0 includes them.
        self.optimizer.build(list(policy.params.values()))
        # One counter-based stream for acting and for sampling in updates: three numbers in a checkpoint.
        self._random = tf.random.Generator.from_seed(seed, alg="philox")
        self.updates = 0
        self.actor = Actor(policy, self._random)
        self._made = tf.Variable(0, dtype=tf.int32)  # updates made so far in the current call of `train_many`
        # Fields that the train step does not read; passing an array to a call takes time. The masks include the dones.
        self._unread: dict[str, Any] = dict.fromkeys(("enc_obs", "dones", *config.unread), ())
        self._train = Traced(self._update, keeps_inputs=True)
        self._train_many = Traced(self._updates, is_stacked=True, keeps_inputs=True)
        both_parts = functools.partial(self._two_stage_gradients, parts=True)
        self._metrics = Traced(lambda segment: metrics(both_parts(segment), policy, config))
        self._gradients = Traced(both_parts)
        weakref.finalize(self, clear_kernels).atexit = False  # otherwise each agent would leave 5 MB behind

    def initial_state(self, nenvs: int) -> NDArray[np.float32]:
        """Returns the policy's state before the first step, [N, P] float32; P is 0 for a feed-forward network."""
        return self.actor.initial_state(nenvs)

    def act(self, obs: NDArray[Any], state: NDArray[np.float32], mask: NDArray[np.bool_]) -> Action:
        """Samples an action for each environment; arguments and errors as in `Actor.act`."""
        return self.actor.act(obs, state, mask)

    def reseed(self, seed: int) -> None:
        """Restarts the stream from which actions are sampled."""
        self._random.reset_from_seed(seed)

    def draw_seed(self) -> int:
        """Draws a seed for another stream from the stream from which actions are sampled."""
        return int(self._random.uniform_full_int([], tf.uint32).numpy())

    def train(self, segment: Segment, lr: float) -> None:
        """Updates parameters, slots and averages on one segment; computes nothing that only a report needs.

        Raises:
            NotFiniteError: the gradient is not finite; nothing has been updated.
        """
        with self._not_finite_errors([segment]):
            self._train(self._read_part(segment), np.asarray(lr, np.float32))
        self.updates += 1

    def train_many(self, segments: Sequence[Segment], lr: float) -> None:
        """Does what `train` does on one segment after the other, bit for bit, in a single call of TensorFlow.

        Args:
            segments: segments of equal shapes; they are copied into one stack.
            lr: learning rate for all of them.

        Raises:
            NotFiniteError: a gradient is not finite; the updates on the segments before it have been made.
        """
        if len(segments) == 1:
            self.train(segments[0], lr)
            return
        fields = zip(*map(self._read_part, segments), strict=True)
        stack: list[Any] = [np.stack(arrays) if len(arrays[0]) else () for arrays in fields]
        with self._not_finite_errors(segments):
            self._train_many(Segment(*stack), np.full(len(segments), lr, np.float32))
        self.updates += len(segments)

    def train_and_report(self, segment: Segment, lr: float) -> dict[str, float]:
        """Does what `train` does, and returns its metrics: baselines', under its names, then ours.

        Metrics take a separate call: in the same call, TensorFlow would rearrange the update's arithmetic.
        """
        report = self.report(segment)
        self.train(segment, lr)
        return report

    def report(self, segment: Segment) -> dict[str, float]:
        """Returns the metrics of an update without applying it; random draws are taken back."""
        # Reporting must not change what is learned.
        stream = self._random.state.numpy()
        report = self._metrics(self._read_part(segment))
        self._random.state.assign(stream)
        return {name: float(value) for name, value in report.items()}

    def gradients(self, segment: Segment) -> Gradients:
        """Computes the gradients of one update, their two parts and all that leads to them; changes no weight."""
        gradients: Gradients = self._gradients(self._read_part(segment))
        return gradients

    def save(self, path: str | Path) -> None:
        """Writes parameters, averages and slots to one npz file; an old file is replaced in one step or not at all.

        Raises:
            OSError: the file cannot be written.
        """
        save_arrays(path, {name: variable.numpy() for name, variable in self._variables().items()})

    def load(self, path: str | Path) -> None:
        """Reads what `save` wrote.

        Raises:
            InputError: the file does not exist, is damaged or belongs to another network; nothing has been changed.
        """
        _assign(self._variables(), load_arrays(path), str(path))

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """Returns everything that training changes, including the state of the stream that samples actions."""
        return {name: np.asarray(variable.numpy()) for name, variable in self._training_state().items()}

    def load_state_dict(self, state: Mapping[str, NDArray[Any]], source: str = "the checkpoint") -> None:
        """Restores what `state_dict` returned.

        Args:
            state: arrays by name.
            source: where they come from, for error messages.

        Raises:
            InputError: the state is damaged or belongs to another network; nothing has been changed.
        """
        _assign(self._training_state(), state, source)

    @contextlib.contextmanager
    def _not_finite_errors(self, segments: Sequence[Segment]) -> Iterator[None]:
        """Turns TensorFlow's error about an update into an error that names the first quantity that is not finite."""
        try:
            yield
        except tf.errors.InvalidArgumentError as error:
            if NOT_FINITE not in str(error):
                raise
            # The updates before the first failure have been applied.
            made = int(self._made.numpy()) if len(segments) > 1 else 0  # `train` does not count
            self.updates += made
            segment = segments[made]
            name = first_not_finite(segment, self.gradients(segment), list(self.policy.params))
            fields = segment._asdict().items()
            batch = {name: array for name, array in fields if name != "enc_obs" and isinstance(array, np.ndarray)}
            raise NotFiniteError(f"{name} is not finite, so the update was not made.", batch) from error

    def _training_state(self) -> dict[str, tf.Variable]:
        return self._variables() | {"random": self._random.state}

    def _variables(self) -> dict[str, tf.Variable]:
        names = list(self.policy.params)
        # Every file format uses these names (docs/architecture.md).
        params = {f"param/{name}": variable for name, variable in zip(names, self.params, strict=True)}
        averages = {f"average/{name}": variable for name, variable in zip(names, self.averages, strict=True)}
        return params | averages | named_slots(self.optimizer, names)

    def _update(self, segment: Segment, lr: tf.Tensor) -> None:
        self._apply(self._two_stage_gradients(segment), lr)

    def _updates(self, stack: Segment, lrs: tf.Tensor) -> None:
        """Makes an update on each segment of a stack, in order: each iteration waits for the one before."""

        # As a separate function it is optimised by itself with known shapes, as in `train`, and gives the same bits.
        update = tf.function(self._update, autograph=False, experimental_attributes={"_noinline": True})

        def body(i: tf.Tensor) -> list[tf.Tensor]:
            self._made.assign(i)
            update(*tf.nest.map_structure(lambda array: tf.ensure_shape(array[i], array.shape[1:]), (stack, lrs)))
            return [i + 1]

        number = tf.shape(lrs)[0]
        tf.while_loop(lambda i: i < number, body, [tf.constant(0)], parallel_iterations=1)

    def _two_stage_gradients(self, segment: Segment, parts: bool = False) -> Gradients:
        # Dones are the masks shifted by one, so they need not be copied into the call.
        segment = segment._replace(dones=segment.masks[:, 1:])
        draw_seed = functools.partial(self._random.uniform_full_int, [2], tf.int32)
        return two_stage_gradients(self.policy, self.averages, segment, self.config, draw_seed, parts)

    def _read_part(self, segment: Segment) -> Segment:
        """Replaces the fields that the train step does not read with `()`, which has no leaves."""
        return segment._replace(**self._unread)

    def _apply(self, gradients: Gradients, lr: tf.Tensor) -> None:
        """Applies the optimiser, then updates the averages: the order that baselines intends but does not enforce."""
        # Checked before anything is assigned: a bad batch leaves weights, slots and averages untouched.
        with tf.control_dependencies([tf.debugging.check_numerics(gradients.norm, NOT_FINITE)]):
            self.optimizer.learning_rate.assign(lr)
            # The optimiser first: the averages are of the weights after the update.
            self.optimizer.apply(gradients.clipped)
            self._ema.apply(self.params)


def _assign(variables: Mapping[str, tf.Variable], arrays: Mapping[str, NDArray[Any]], source: str) -> None:
    check_arrays(source, arrays, {name: np.asarray(variable.numpy()) for name, variable in variables.items()})
    for name, variable in variables.items():
        variable.assign(arrays[name])
