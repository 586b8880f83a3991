"""Environment ids: which exist, which are Atari games, and what a misspelt one might have meant."""

import re

import ale_py  # noqa: F401  (registers the Atari ids)
import gymnasium as gym

from acer_tf.errors import InputError, nearest

_SURROUND = "ALE/Surround-v5"  # the one game of the standard 57 without a NoFrameskip id


def atari_game(env_id: str) -> str | None:
    """Returns the ROM's name of an Atari id that this package accepts, else None."""
    spec = gym.registry.get(env_id)
    if spec is None or not (_is_atari(spec) and (env_id.endswith("NoFrameskip-v4") or env_id == _SURROUND)):
        return None
    return str(spec.kwargs["game"])


def check_env_id(env_id: str) -> None:
    """Checks that an id can be trained on, as far as its name tells.

    Raises:
        InputError: no such id, with the three nearest; an id that would import code; or an Atari id in another wrapping.
    """
    if ":" in env_id:
        raise InputError(f"environment '{env_id}' would import a module; import it yourself and call acer_tf.learn.")
    spec = gym.registry.get(env_id)
    if spec is None:
        usable = [name for name, spec in gym.registry.items() if not _is_atari(spec) or atari_game(name)]
        stems = {_stem(name): name for name in usable}
        closest = ", ".join(stems[stem] for stem in nearest(_stem(env_id), stems))
        raise InputError(f"environment '{env_id}' does not exist; the nearest are {closest}.")
    if _is_atari(spec) and atari_game(env_id) is None:
        game = _stem(env_id).removeprefix("ALE/")
        usable_id = _SURROUND if game == "Surround" else f"{game}NoFrameskip-v4"
        raise InputError(f"environment '{env_id}' is not wrapped as in baselines; use {usable_id}.")


def _is_atari(spec: gym.envs.registration.EnvSpec) -> bool:
    return spec.entry_point == "ale_py.env:AtariEnv"


def _stem(env_id: str) -> str:
    return re.sub(r"(NoFrameskip|Deterministic|-ram)*(-v\d+)?$", "", env_id)
