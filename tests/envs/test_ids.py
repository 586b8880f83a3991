import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import gymnasium
import pytest

from acer_tf.envs.ids import accepted_ids, atari_game, check_env_id, env_id, is_atari, typed_env_id
from acer_tf.envs.make import make_training_env, make_vec_env
from acer_tf.errors import InputError
from tests.counter import counters
from tests.registered import registered


@pytest.mark.parametrize("env_id", ["BreakoutNoFrameskip-v4", "ALE/Surround-v5", "ALE/Tetris-v5", "CartPole-v1"])
def test_accepts(env_id: str) -> None:
    check_env_id(env_id)


@pytest.mark.parametrize(
    ("env_id", "game"),
    [
        ("BreakoutNoFrameskip-v4", "breakout"),
        ("MsPacmanNoFrameskip-v4", "ms_pacman"),
        ("JamesbondNoFrameskip-v4", "jamesbond"),
        ("ALE/Surround-v5", "surround"),
    ],
)
def test_game_of_an_id(env_id: str, game: str) -> None:
    assert is_atari(env_id)
    assert atari_game(env_id) == game


def test_other_environments_are_no_atari_games() -> None:
    assert not is_atari("CartPole-v1")
    with pytest.raises(InputError, match="environment 'CartPole-v1' is not an Atari game"):
        atari_game("CartPole-v1")


@pytest.mark.parametrize(
    ("env_id", "nearest"),
    [
        ("Breakot", "BreakoutNoFrameskip-v4"),
        ("BreakoutNoFramskip-v4", "BreakoutNoFrameskip-v4"),
        ("breakoutnoframeskip-v4", "BreakoutNoFrameskip-v4"),
        ("MsPackman", "MsPacmanNoFrameskip-v4"),
        ("Suround", "ALE/Surround-v5"),
        ("CartPol-v1", "CartPole-v1"),
        ("CartPole", "CartPole-v1"),
        ("cartpole", "CartPole-v1"),
        ("ALE/Pong-v6", "PongNoFrameskip-v4"),
        ("SurroundNoFrameskip-v4", "ALE/Surround-v5"),
    ],
)
def test_unknown_ids_name_the_nearest_three(env_id: str, nearest: str) -> None:
    with pytest.raises(InputError) as caught:
        check_env_id(env_id)
    text = str(caught.value)
    assert text.startswith(f"environment '{env_id}' does not exist; the nearest are {nearest}, ")
    named = text.partition(".")[0].split("nearest are ")[1].split(", ")
    assert len(set(named)) == 3
    for name in named:
        check_env_id(name)


@pytest.mark.parametrize(
    ("env_id", "proper"),
    [
        ("Breakout-v4", "BreakoutNoFrameskip-v4"),
        ("Breakout-v0", "BreakoutNoFrameskip-v4"),
        ("BreakoutNoFrameskip-v0", "BreakoutNoFrameskip-v4"),
        ("ALE/Breakout-v5", "BreakoutNoFrameskip-v4"),
        ("ALE/MsPacman-v5", "MsPacmanNoFrameskip-v4"),
    ],
)
def test_other_atari_ids_name_the_one_to_use(env_id: str, proper: str) -> None:
    assert env_id in gymnasium.registry
    with pytest.raises(InputError, match=f"'{env_id}' is not what baselines wraps; use {proper}"):
        check_env_id(env_id)


@pytest.mark.parametrize("env_id", ["MyAle-v0", "MyAleNoFrameskip-v4", "ALE/My-v5"])
def test_an_entry_of_ones_own_without_a_known_game_says_how_it_is_registered(env_id: str) -> None:
    with registered(env_id, "ale_py.env:AtariEnv"):
        check_env_id("CartPole-v1")
        assert env_id not in accepted_ids()
        with pytest.raises(
            InputError, match=f"'{env_id}' is not what .*; register its game, with frameskip=1, as an id"
        ):
            check_env_id(env_id)


def test_module_prefix_is_refused_and_imports_nothing() -> None:
    sys.modules.pop("this", None)
    with pytest.raises(InputError, match="would import a module"):
        check_env_id("this:Env-v0")
    assert "this" not in sys.modules


def test_a_typed_module_is_imported_and_registers_its_ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cart_module.py").write_text(
        "import gymnasium\ngymnasium.register('TypedCart-v0', 'gymnasium.envs.classic_control:CartPoleEnv')\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert typed_env_id("cart_module:TypedCart-v0") == "TypedCart-v0"
    try:
        check_env_id("TypedCart-v0")
    finally:
        gymnasium.registry.pop("TypedCart-v0")
        sys.modules.pop("cart_module")


def test_a_typed_id_without_a_module_stays_as_it_is() -> None:
    assert typed_env_id("ALE/Surround-v5") == "ALE/Surround-v5"


@pytest.mark.parametrize(
    ("given", "module"),
    [("mye.py", "mye"), ("./mye", "mye"), ("envs/mye.py", "mye"), (r"C:\envs\mye.py", "mye"), (".mye", "mye")],
)
def test_a_path_in_place_of_a_module_gets_its_name(given: str, module: str) -> None:
    with pytest.raises(InputError) as caught:
        typed_env_id(f"{given}:Env-v0")
    told = f"'{given}' is a path; expected the name of a module: {module}:Env-v0, in its folder."
    assert str(caught.value) == f"environment '{given}:Env-v0': {told}"


@pytest.fixture
def two_envs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "two_envs.py").write_text(
        "import gymnasium\nclass Env(gymnasium.Env): pass\ngymnasium.register('Good-v0', Env)\n"
        "gymnasium.register('Other-v0', 'two_envs:Env')\ngymnasium.register('Cart-v0', 'two_envs_2:Env')\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path / "two_envs.py"
    sys.modules.pop("two_envs", None)
    for name in ("Good-v0", "Other-v0", "Cart-v0"):
        gymnasium.registry.pop(name, None)


def test_an_id_that_a_module_does_not_register_names_its_own_and_its_file(two_envs: Path) -> None:
    for _ in range(2):  # also when it has been imported before
        with pytest.raises(InputError) as caught:
            typed_env_id("two_envs:Goood-v0")
        assert str(caught.value) == (
            f"environment 'two_envs:Goood-v0' does not exist: module 'two_envs' ({two_envs}) registers no "
            "'Goood-v0'; the nearest are two_envs:Good-v0, two_envs:Other-v0."
        )


def test_a_module_of_another_library_of_that_name_is_told() -> None:
    with pytest.raises(InputError) as caught:
        typed_env_id("json:Good-v0")
    assert str(caught.value).endswith(f": module 'json' ({json.__file__}) registers no 'Good-v0'.")


@pytest.mark.parametrize("module", ["no_such_module", ""])
def test_a_module_that_does_not_exist_is_named(module: str) -> None:
    with pytest.raises(InputError, match=f"module '{re.escape(module)}' cannot be imported"):
        typed_env_id(f"{module}:Env-v0")


@pytest.mark.parametrize(
    "code", ["raise RuntimeError('no licence')", "import sys\n\nsys.exit('no licence')", "1 / 0", "assert not 1"]
)
def test_a_module_that_fails_while_it_is_imported_is_told_with_the_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    (tmp_path / "broken_module.py").write_text(f"\n{code}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    messages = {"1 / 0": r"\(ZeroDivisionError: division by zero", "assert not 1": r"\(AssertionError"}
    found = messages.get(code, "no licence")
    place = f"in line {1 + len(code.splitlines())} of {tmp_path / 'broken_module.py'}"
    with pytest.raises(InputError, match=f"'broken_module' cannot be imported .*{found}, {re.escape(place)}"):
        typed_env_id("broken_module:Env-v0")


def test_the_control_suite_is_registered_on_demand() -> None:
    pytest.importorskip("shimmy")
    code = "import sys, gymnasium, acer_tf.envs.ids as ids; at_first = 'shimmy' in sys.modules; "
    code += "ids.check_env_id('dm_control/cartpole-swingup-v0'); print(at_first, 'tensorflow' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


@pytest.mark.parametrize(
    ("env_id", "nearest"),
    [
        ("dm_control/cartpole-swingpu-v0", "dm_control/cartpole-swingup-v0"),
        ("dm_control/cheetah", "dm_control/cheetah-run-v0"),
    ],
)
def test_unknown_tasks_of_the_control_suite_name_the_nearest(env_id: str, nearest: str) -> None:
    pytest.importorskip("shimmy")
    with pytest.raises(InputError, match="does not exist; the nearest are ") as caught:
        check_env_id(env_id)
    named = str(caught.value).removesuffix(".").split("nearest are ")[1].split(", ")
    assert named[0].startswith(nearest)
    assert env_id not in named


@pytest.mark.parametrize(
    ("env_id", "is_own"),
    [("Camera-v0", True), ("my/Camera-v0", True), ("PongNoFrameskip-v9", False), ("Camera", False)],
)
def test_a_module_that_was_forgotten_is_thought_of(env_id: str, is_own: bool) -> None:
    with pytest.raises(InputError) as caught:
        check_env_id(env_id)
    assert str(caught.value).endswith(f" If a module of yours registers it, give MODULE:{env_id}.") == is_own


@pytest.mark.parametrize("env_id", ["GymV21Environment-v0", "GymV26Environment-v0", "dm_control/compatibility-env-v0"])
def test_ids_that_make_whatever_their_arguments_name_are_refused(env_id: str) -> None:
    if env_id.startswith("dm_control/"):
        pytest.importorskip("shimmy")
    with pytest.raises(InputError, match=f"'{env_id}' makes another one, named in its arguments; register that"):
        check_env_id(env_id)
    assert env_id not in accepted_ids()


def test_without_the_control_suite_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shimmy", None)
    for name in [name for name in gymnasium.registry if name.startswith("dm_control/")]:
        monkeypatch.delitem(gymnasium.registry, name)
    with pytest.raises(
        InputError, match=r"'dm_control/cartpole-swingup-v0' needs .* pip install -e \"\.\[dm-control\]\" \(Python 3"
    ):
        check_env_id("dm_control/cartpole-swingup-v0")


def test_environments_tell_their_id() -> None:
    for env in (make_vec_env("CartPole-v1", 2), make_training_env("CartPole-v1", 2), gymnasium.make_vec("CartPole-v1")):
        assert env_id(env) == "CartPole-v1"
    assert env_id(make_vec_env("PongNoFrameskip-v4", 1)) == "PongNoFrameskip-v4"
    assert env_id(counters(2)) is None
