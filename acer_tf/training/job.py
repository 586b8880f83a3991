"""A training run as one typed value: commands make it from their flags, and `train` runs it."""

import dataclasses
import typing
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from acer_tf.config import MAX_EPISODE_FRAMES, MAX_EPISODE_STEPS, Collecting, Config, Continuous, Preprocessing
from acer_tf.configs.presets import BASELINES
from acer_tf.distributed.access import check_address
from acer_tf.envs.module_ids import bare_env_id
from acer_tf.errors import InputError, require
from acer_tf.networks.names import arguments_from_outside, check_network
from acer_tf.schema import Count, CountOrZero, Positive, SmallCount, Validated
from acer_tf.storage.agent_file import with_suffix
from acer_tf.storage.durable import reading
from acer_tf.storage.paths import path_text


@dataclasses.dataclass(frozen=True)
class RunSettings(Validated):
    """General settings of the run."""

    preset: str = BASELINES
    """Settings to use where no flag says otherwise: a name (acer presets lists them) or your own file (.yml)."""
    seed: int | None = None
    """Seed for environments, weights and sampling; None draws one."""
    logdir: Path | None = None
    """Folder of the run; None makes runs/<env>-<date>-<time>."""
    load_path: Path | None = None
    """Agent whose weights to start from: an earlier run's folder, one of its checkpoints, or a file that ACER.save
    wrote."""
    restart_behavior: Literal["resume", "restart", "overwrite"] = "resume"
    """What to do if logdir already holds a run: continue it, start anew and keep it under another name, or delete
    it."""
    force: bool = False
    """Resume even if hyper-parameters have changed."""


@dataclasses.dataclass(frozen=True)
class EnvironmentSettings(Validated):
    """Environments to learn in."""

    env: str = "CartPole-v1"
    """Environment id (acer envs lists them), or module:id if a module registers it when imported."""
    num_env: Count = 1
    """Environments that run side by side."""
    num_workers: CountOrZero | None = None
    """Processes that run Atari games; None starts one per core, 0 none."""
    max_episode_frames: CountOrZero = MAX_EPISODE_FRAMES
    """Longest Atari game, in raw frames (four per agent step); 0 sets no limit."""

    @property
    def env_id(self) -> str:
        """Id of the environment, without the module that registers it."""
        return bare_env_id(self.env)


@dataclasses.dataclass(frozen=True)
class GymnasiumSettings(Preprocessing):
    """Settings for environments other than Atari games."""

    env_kwargs: Mapping[str, Any] | None = None
    """Arguments of the environment, such as gravity:5.0 enable_wind:true, or as a mapping '{gravity: 5.0}'."""
    vectorization: Literal["sync", "async"] = "sync"
    """Step environments in this process (sync) or each in its own (async), which pays if a step takes a millisecond or
    more."""


@dataclasses.dataclass(frozen=True)
class CheckpointSettings(Validated):
    """When to save the state of the run, from which it can resume."""

    checkpoint_every: Count | None = None
    """Agent steps between two checkpoints; None makes one every 10 minutes."""
    exact_resume: bool | None = None
    """Start new episodes at every checkpoint, so that a resumed run is identical bit for bit; None does so if
    checkpoint_every is given."""
    keep_checkpoints: Count = 3
    """Newest checkpoints to keep; the best one is kept as well."""
    keep_every: Count | None = None
    """Keep one checkpoint for good per this many agent steps."""


@dataclasses.dataclass(frozen=True)
class EvaluationSettings(Validated):
    """Evaluations during training, in environments of their own; they do not affect training."""

    eval_every: Count | None = None
    """Agent steps between two evaluations, which write evaluations.csv and best.zip; None never evaluates."""
    eval_episodes: Count = 10
    """Episodes per evaluation, played as the command evaluate plays them."""
    eval_deterministic: bool = False
    """In evaluations, take the most probable action (the mean, if actions are continuous) instead of sampling."""
    eval_max_episode_steps: CountOrZero = MAX_EPISODE_STEPS
    """Cut an evaluation's episode after this many agent steps and report it; 0 sets no limit."""


@dataclasses.dataclass(frozen=True)
class LoggingSettings(Validated):
    """Output on the terminal and to trackers."""

    verbose: Literal[0, 1, 2] = 1
    """0 prints warnings and the result, 1 also progress and the main metrics, 2 all metrics, as baselines does."""
    track: Literal["wandb"] | None = None
    """Experiment tracker that also receives the metrics; it works offline, in the run folder, unless its environment
    variables say otherwise."""


@dataclasses.dataclass(frozen=True)
class MachineSettings(Validated):
    """Settings of the process that trains."""

    threads: SmallCount | None = None
    """TensorFlow's threads; None takes TF_NUM_INTRAOP_THREADS if set, else one per core for networks on Atari images
    and two for other networks, each thread running whole operations by itself."""
    tune_malloc: bool = True
    """Let the C library keep freed memory for the next update instead of returning it to the system."""
    stall_seconds: Positive = 600.0
    """Seconds without progress (while starting, in an iteration, saving, closing) after which the process shows where
    it is stuck and ends with status 142 (SIGALRM)."""


@dataclasses.dataclass(frozen=True)
class Job:
    """A training run: groups of settings, each validated when it is made, and the network.

    Attributes:
        run: general settings of the run.
        environment: the environments.
        gymnasium: settings for environments other than Atari games.
        config: hyper-parameters.
        continuous: settings for continuous actions only.
        collecting: collectors on Ray, if any.
        checkpoints: when to save the run.
        evaluation: evaluations during training.
        logging: what to print and write.
        machine: settings of the process that trains.
        network: name of the network.
        network_kwargs: its arguments.
        advice: lines to print at the start, on settings that were not chosen.

    Raises:
        InputError: settings contradict each other, or the environment, the network or a package does not exist.
    """

    run: RunSettings
    environment: EnvironmentSettings
    gymnasium: GymnasiumSettings
    config: Config
    continuous: Continuous
    collecting: Collecting
    checkpoints: CheckpointSettings
    evaluation: EvaluationSettings
    logging: LoggingSettings
    machine: MachineSettings
    network: str
    network_kwargs: Mapping[str, Any]
    advice: Sequence[str] = ()

    @classmethod
    def of(
        cls,
        settings: Mapping[str, Any],
        network: str,
        network_kwargs: Mapping[str, Any] = MappingProxyType({}),
        advice: Sequence[str] = (),
    ) -> "Job":
        """Returns the job with the given settings by name, and defaults for the others.

        Raises:
            InputError: a value cannot work.
        """
        groups: dict[str, Any] = {}
        for name, kind in GROUPS.items():
            fields = [field.name for field in dataclasses.fields(kind)]
            groups[name] = kind(**{field: settings[field] for field in fields if field in settings})
        return cls(**groups, network=network, network_kwargs=network_kwargs, advice=advice)

    def __post_init__(self) -> None:
        """Checks what depends on several groups or on installed packages; does not import TensorFlow."""
        from acer_tf.envs.ids import check_env_id  # imports gymnasium: after the settings are known to be right

        check_env_id(self.environment.env_id)
        check_network(self.network)
        own = {name: value for name, value in self.network_kwargs.items() if name != "value_network"}
        checked = arguments_from_outside(self.network, own)
        object.__setattr__(self, "network_kwargs", {**self.network_kwargs, **checked})
        path = self.run.load_path
        if path is not None:
            with reading(path):
                if not (path.exists() or with_suffix(path).is_file()):
                    raise InputError(f"load_path {path} does not exist; expected a run folder or a file of an agent.")
        if self.logging.track is not None:
            require("wandb", "--track wandb needs", "wandb")
        self.collecting.check(overlap=self.config.overlap, preprocessing=self.gymnasium)
        if self.collecting.actors:
            require("ray", "--actors needs", "ray")
        if self.collecting.ray_address is not None:
            check_address(self.collecting.ray_address)
        self._check_exact_resume()

    @property
    def is_exact(self) -> bool:
        """Whether a resumed run equals an uninterrupted one bit for bit, which needs environments in this process."""
        if self.checkpoints.exact_resume is None:
            return self.checkpoints.checkpoint_every is not None and not self.collecting.actors
        return self.checkpoints.exact_resume

    def without_effect(self) -> Iterator[str]:
        """Yields a line for each setting that differs from its default but has no effect here."""
        from acer_tf.envs.ids import is_atari

        if not is_atari(env_id := self.environment.env_id):
            for name in ("num_workers", "max_episode_frames"):
                if getattr(self.environment, name) != getattr(EnvironmentSettings, name):
                    yield f"--{name} has no effect: {env_id} is not an Atari game"
        if self.evaluation.eval_every is None:
            changed = [
                name for name, value in vars(self.evaluation).items() if value != getattr(EvaluationSettings, name)
            ]
            yield from (f"--{name} has no effect without --eval_every" for name in changed)

    def settings(self) -> dict[str, Any]:
        """Returns all settings as plain values by name, as the run folder records them."""
        from acer_tf.envs.ids import is_atari

        groups = [name for name in GROUPS if name != "gymnasium" or not is_atari(self.environment.env_id)]
        values = {name: value for group in groups for name, value in vars(getattr(self, group)).items()}
        del values["restart_behavior"], values["force"]
        plain = {name: path_text(value) if isinstance(value, Path) else value for name, value in values.items()}
        return {**plain, "network": self.network, **self.network_kwargs}

    def _check_exact_resume(self) -> None:
        if self.checkpoints.exact_resume and self.collecting.actors:
            raise InputError(
                "exact_resume needs segments in a fixed order, but those of actors come as they are ready; leave one "
                "out."
            )
        if self.checkpoints.exact_resume and self.checkpoints.checkpoint_every is None:
            raise InputError(
                "exact_resume needs checkpoint_every, in agent steps: minutes are not the same in two runs."
            )
        if self.is_exact and self.config.overlap:
            raise InputError(
                "overlap has a segment in the making at every moment, which no checkpoint holds, so no run can resume "
                "bit for bit; give --exact_resume False, or leave overlap out."
            )


GROUPS: dict[str, type[Any]] = {
    name: kind
    for name, kind in typing.get_type_hints(Job).items()
    if isinstance(kind, type) and dataclasses.is_dataclass(kind)
}
"""Dataclasses of settings, by the field of `Job` that holds them."""
DEFAULTS: dict[str, Any] = {field.name: field.default for kind in GROUPS.values() for field in dataclasses.fields(kind)}
"""The default of each setting."""
