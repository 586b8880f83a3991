"""The results of a search: a table, the best settings as a preset, and pictures."""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from acer_tf.config import CONTINUOUS, Config
from acer_tf.configs.presets import COMMAND, load_preset
from acer_tf.envs.ids import is_atari
from acer_tf.envs.module_ids import bare_env_id
from acer_tf.envs.saved_kwargs import check_saved_kwargs
from acer_tf.errors import InputError, install
from acer_tf.logs.files import csv_lines
from acer_tf.networks.names import NETWORKS
from acer_tf.plots.style import save
from acer_tf.search.space import Space
from acer_tf.storage.durable import replace
from acer_tf.storage.run_folder import read_settings
from acer_tf.system.console import say

if TYPE_CHECKING:
    import optuna

TABLE, PRESET = "search.csv", "best.yml"
ENV_KWARGS = "env_kwargs"


def write_table(path: Path, study: "optuna.Study", space: Space) -> None:
    """Writes a row for each trial: number, state, mean return, returns of its seeds, and settings."""
    names = [parameter.name for parameter in space]
    rows: list[list[Any]] = [["trial", "state", "mean_return", "seed_returns", *names]]
    for trial in study.get_trials(deepcopy=False):
        value = "" if trial.value is None else f"{trial.value:.6g}"
        returns = " ".join(f"{value:.6g}" for value in trial.user_attrs.get("returns", ()))
        settings = [trial.params.get(name, "") for name in names]
        rows.append([trial.number, trial.state.name.lower(), value, returns, *settings])
    replace(path, csv_lines(rows))


def write_preset(path: Path, run: Path, note: str) -> Collection[str]:
    """Writes the settings of a run as a preset, with a comment in the first line, and reads it back.

    Returns:
        The names of the run's settings that a preset cannot hold.

    Raises:
        InputError: the run's settings cannot be read.
    """
    settings = read_settings(run)
    if settings is None:
        raise InputError(f"{run} lacks its settings, config.yml; run the trial's command in sweep.csv again.")
    preset = _preset(settings)
    if ENV_KWARGS in preset:
        try:
            check_saved_kwargs(preset[ENV_KWARGS])
        except InputError as error:  # the user typed them, but no file may hold them
            del preset[ENV_KWARGS]
            say(f"{path} leaves {ENV_KWARGS} out ({error}); give --{ENV_KWARGS} with it", is_error=True)
    replace(path, f"# {note}\n{yaml.safe_dump(preset, sort_keys=False)}".encode())
    load_preset(path)
    return set(settings) - set(preset) - set(preset.get("network_kwargs", ()))


def _preset(settings: dict[str, Any]) -> dict[str, Any]:
    """Returns the settings in a run's config.yml that a preset can hold."""
    network = settings["network"]
    kept = {name: settings[name] for name in COMMAND if settings.get(name) is not None}
    if arguments := {name: settings[name] for name in NETWORKS[network] if name in settings}:
        kept["network_kwargs"] = arguments
    kept |= {name: settings[name] for name in vars(Config()) if name in settings and name != "log_interval"}
    if not is_atari(bare_env_id(settings["env"])):
        kept |= {name: settings[name] for name, value in vars(CONTINUOUS).items() if settings[name] != value}
    return kept


def draw(folder: Path, study: "optuna.Study") -> Sequence[Path]:
    """Draws Optuna's pictures: values over trials, importances of settings, values over each setting.

    A picture that needs more finished trials is left out, with a message.

    Returns:
        The files.
    """
    try:
        import matplotlib
        import optuna.visualization.matplotlib as plots
    except ImportError:
        say(f"pictures need matplotlib; install it with: {install('plots')}.", is_error=True)
        return []
    matplotlib.use("Agg")
    drawings: dict[str, Callable[[optuna.Study], Any]] = {
        "history": plots.plot_optimization_history,
        "importances": plots.plot_param_importances,
        "slices": plots.plot_slice,
    }
    return [path for name, drawing in drawings.items() if _drawn(path := folder / f"{name}.png", drawing, study)]


def _drawn(path: Path, drawing: Callable[["optuna.Study"], Any], study: "optuna.Study") -> bool:
    import warnings

    import numpy as np
    from matplotlib import pyplot

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Optuna warns each time that its pictures are experimental
            figure = np.atleast_1d(drawing(study)).flat[0].figure
        save(figure, path)
    except (ValueError, RuntimeError, OSError) as error:
        say(f"no picture {path.name}: {error}", is_error=True)
        return False
    pyplot.close(figure)
    return True
