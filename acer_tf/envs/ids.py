"""Accepted environment ids, from gymnasium's registry, and the Atari games among them."""

import contextlib
import importlib
import re
import traceback
from types import ModuleType
from typing import Any

import ale_py  # noqa: F401  (registers the Atari ids)
import gymnasium
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import SyncVectorEnv, VectorEnv

from acer_tf.envs import registered  # noqa: F401  (registers MaskedCartPole-v1 and MinAtar's games)
from acer_tf.errors import InputError, StoppedError, exception_in_words, install, with_own_extra
from acer_tf.suggestions import likeness, suggestion

SUITE = "dm_control/"
"""Prefix of the ids of DeepMind's control suite, which shimmy registers."""

_MAKES_ANOTHER = re.compile(r"GymV2[16]Environment-v0|.*/compatibility-env-v0")
"""Ids from shimmy that make whatever environment their arguments name."""
_OF_A_MODULE = re.compile(r".+(?<!NoFrameskip)-v\d+")
_IS_PATH = re.compile(r"\..*|.*[/\\].*|.+\.py")


def is_atari(env_id: str) -> bool:
    """Returns whether an id, of any origin, is the id of an Atari game."""
    return _rom(env_id) is not None


def atari_game(env_id: str) -> str:
    """Returns the name of the game's ROM.

    Raises:
        InputError: the id is not accepted, or is not an Atari game.
    """
    check_env_id(env_id)
    if (rom := _rom(env_id)) is None:
        raise InputError(f"environment '{env_id}' is not an Atari game; expected an id such as BreakoutNoFrameskip-v4.")
    return rom


def env_id(env: VectorEnv[Any, Any, Any]) -> str | None:
    """Returns the id from which the environments were made, or None if they have no spec."""
    base = env.unwrapped
    spec = base.envs[0].unwrapped.spec if isinstance(base, SyncVectorEnv) else base.spec
    return None if spec is None else spec.id


def full_env_id(name: str) -> str:
    """Returns the id of an Atari game given by its bare name, such as Pong or pong; other names unchanged."""
    ids = {env_id.lower(): env_id for env_id in gymnasium.registry if env_id.endswith("NoFrameskip-v4")}
    return ids.get(f"{name}NoFrameskip-v4".lower(), name)


def typed_env_id(text: str) -> str:
    """Imports the module of an id typed as `module:id`, gymnasium's form for ids that a module registers.

    Use it only for ids that a user has typed: ids from files must not import code (see `check_env_id`).

    Returns:
        The id without the module.

    Raises:
        InputError: the module cannot be imported, or does not register the id.
    """
    name, colon, env_id = text.rpartition(":")
    if not colon:
        return full_env_id(text)
    if _IS_PATH.fullmatch(name):
        stem = re.split(r"[/\\]", name)[-1].removesuffix(".py").lstrip(".")
        raise InputError(
            f"environment '{text}': '{name}' is a path; expected the name of a module: {stem}:{env_id}, in its folder."
        )
    try:
        module = importlib.import_module(name)
    except (KeyboardInterrupt, StoppedError):
        raise
    except BaseException as error:  # from arbitrary code, even sys.exit()
        if (advice := with_own_extra(str(error))) != str(error):
            raise InputError(f"environment '{text}': {advice}") from error
        cause = f"{exception_in_words(error)}{_place_in(name, error)}"
        raise InputError(f"environment '{text}': module '{name}' cannot be imported ({cause}).") from error
    if env_id not in gymnasium.registry and not env_id.startswith(SUITE):
        raise InputError(f"environment '{text}' does not exist: {_registers_no(env_id, module)}.")
    return env_id


def _registers_no(env_id: str, module: ModuleType) -> str:
    name, file = module.__name__, getattr(module, "__file__", None)
    own = [f"{name}:{i}" for i, spec in gymnasium.registry.items() if f"{_place(spec)}.".startswith(f"{name}.")]
    where = f" ({file})" if file else ""  # it may be another module of that name
    return f"module '{name}'{where} registers no '{env_id}'{suggestion(f'{name}:{env_id}', own)}"


def _place(spec: EnvSpec) -> str:
    """Returns the module in which an environment is defined."""
    entry_point = spec.entry_point
    return entry_point.__module__ if callable(entry_point) else str(entry_point).partition(":")[0]


def _place_in(module: str, error: BaseException) -> str:
    """Returns the last line of the user's module through which an error came; an empty text if there is none."""
    for frame, line in reversed([*traceback.walk_tb(error.__traceback__)]):
        if f"{frame.f_globals.get('__name__')}.".startswith(f"{module}."):
            return f", in line {line} of {frame.f_code.co_filename}"
    return ""


def check_env_id(env_id: str) -> None:
    """Checks that an id is in gymnasium's registry or DeepMind's control suite (`dm_control/cartpole-swingup-v0`).

    Atari ids must not skip frames themselves, since baselines' MaxAndSkip does: accepted are the `NoFrameskip-v4` ids,
    and `ALE/<Game>-v5` for a game without such an id (such as Surround).

    Raises:
        InputError: it is any other id; the message names the nearest accepted ids, or what must be installed.
    """
    if ":" in env_id:
        raise InputError(
            f"environment '{env_id}' would import a module; import it yourself and give the id after the colon."
        )
    if env_id.startswith(SUITE):
        register_suite(env_id)
    accepted = accepted_ids()
    if env_id in accepted:
        return
    if _MAKES_ANOTHER.fullmatch(env_id):
        raise InputError(
            f"environment '{env_id}' makes another one, named in its arguments; register that one under its own id."
        )
    if (rom := _rom(env_id)) is not None:
        proper = next((i for i in accepted if _rom(i) == rom), None)
        own = "register its game, with frameskip=1, as an id that ends in NoFrameskip-v4"
        way_out = f"use {proper}" if proper else own
        raise InputError(f"environment '{env_id}' is not what baselines wraps; {way_out}.")
    otherwise = suggestion(env_id, reversed(accepted), "`acer envs` lists all", alike=_likeness)
    may_be_own = _OF_A_MODULE.fullmatch(env_id) and not env_id.startswith((SUITE, "ALE/"))
    module = f" If a module of yours registers it, give MODULE:{env_id}." if may_be_own else ""
    raise InputError(f"environment '{env_id}' does not exist{otherwise}.{module}")


def register_suite(env_id: str) -> None:
    """Registers the control suite; only on demand, since that takes seconds.

    Args:
        env_id: the id that the user asked for, for the message.

    Raises:
        InputError: the suite is not installed.
    """
    with contextlib.suppress(ImportError):
        import shimmy  # noqa: F401  (registers the suites that are installed)
    if not any(name.startswith(SUITE) for name in gymnasium.registry):
        raise InputError(
            f"environment '{env_id}' needs DeepMind's control suite; install it with: {install('dm-control')} "
            "(Python 3.11 or 3.12)."
        )


def _likeness(env_id: str, choice: str) -> float:
    """Compares both full ids and bare names, so that `Breakot` is like BreakoutNoFrameskip-v4."""
    return max(likeness(env_id, choice), likeness(_bare_name(env_id), _bare_name(choice)))


def _bare_name(env_id: str) -> str:
    return re.sub(r"(NoFrameskip)?-v\d+$", "", env_id).removeprefix("ALE/").removeprefix(SUITE)


def accepted_ids() -> list[str]:
    """Returns every id that `check_env_id` accepts, in the order of the registry."""
    atari = {i: rom for i in gymnasium.registry if (rom := _rom(i)) is not None}
    without_skip = {i: rom for i, rom in atari.items() if rom and i.endswith("NoFrameskip-v4")}
    others = {i for i, rom in atari.items() if rom and i.startswith("ALE/") and rom not in without_skip.values()}
    excluded = atari.keys() - without_skip.keys() - others
    return [i for i in gymnasium.registry if i not in excluded and not _MAKES_ANOTHER.fullmatch(i)]


def _rom(env_id: str) -> str | None:
    """Returns the name of an Atari game's ROM, which a user's entry may leave empty; None for other ids."""
    spec = gymnasium.registry.get(env_id)
    if spec is None or not str(spec.entry_point).startswith("ale_py"):
        return None
    return str(spec.kwargs.get("game", ""))
