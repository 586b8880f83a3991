import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
import tensorflow as tf

from acer_tf.networks.names import NETWORKS
from acer_tf.system import compute
from acer_tf.system.compute import (
    ONEDNN_VARIABLE,
    VARIABLES,
    bfloat16_slowdown,
    cores,
    device,
    is_for_images,
    prepare_tensorflow,
    tensorflow_threads,
)
from acer_tf.system.provenance import origin


@pytest.fixture
def before_tensorflow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "tensorflow", raising=False)
    for variable in (*VARIABLES, ONEDNN_VARIABLE):
        monkeypatch.setenv(variable, "")  # restored afterwards, also where it was not set
        monkeypatch.delenv(variable)


def chosen() -> list[str | None]:
    return [os.environ.get(variable) for variable in VARIABLES]


def test_networks_with_convolutions() -> None:
    small = {"mlp", "lstm", "lnlstm", "MlpPolicy", "MlpLstmPolicy", "MlpLnLstmPolicy"}
    assert {network for network in NETWORKS if not is_for_images(network)} == small


@pytest.mark.usefixtures("before_tensorflow")
def test_all_cores_for_images(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compute, "cores", lambda: 8)
    prepare_tensorflow("cnn_lstm", None)
    assert chosen() == ["8", "8"]
    assert tensorflow_threads() == 8


@pytest.mark.usefixtures("before_tensorflow")
@pytest.mark.parametrize("network", ["lstm", "cnn_minatar", "MlpPolicy"])
def test_small_operations_run_whole_two_at_a_time(network: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compute, "cores", lambda: 8)
    prepare_tensorflow(network, None)
    assert chosen() == ["1", "2"]
    assert tensorflow_threads() == 1


@pytest.mark.usefixtures("before_tensorflow")
def test_no_more_threads_than_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compute, "cores", lambda: 1)
    prepare_tensorflow("mlp", None)
    assert chosen() == ["1", "1"]


@pytest.mark.usefixtures("before_tensorflow")
@pytest.mark.parametrize("network", ["mlp", "cnn"])
def test_the_user_decides(network: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLES[0], "3")
    prepare_tensorflow(network, None)
    assert os.environ[VARIABLES[0]] == "3"
    prepare_tensorflow(network, 5)
    assert chosen() == ["5", "5"]
    assert tensorflow_threads() == 5


@pytest.mark.usefixtures("before_tensorflow")
@pytest.mark.parametrize(("network", "value"), [("mlp", "0"), ("lnlstm", "0"), ("cnn", "1"), ("impala_cnn_lstm", "1")])
def test_only_networks_with_convolutions_get_onednn(network: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare_tensorflow(network)
    assert os.environ[ONEDNN_VARIABLE] == value


@pytest.mark.usefixtures("before_tensorflow")
@pytest.mark.parametrize("given", ["0", "1"])
def test_what_the_user_says_of_onednn_stays(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ONEDNN_VARIABLE, given)
    for network in ("mlp", "cnn"):
        prepare_tensorflow(network)
        assert os.environ[ONEDNN_VARIABLE] == given


@pytest.mark.usefixtures("before_tensorflow")
@pytest.mark.parametrize("value", ["", "0", "x"])
def test_variables_that_say_nothing(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLES[0], value)
    assert tensorflow_threads() == cores()


@pytest.mark.usefixtures("before_tensorflow")
def test_once_tensorflow_is_there_nothing_is_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorflow", sys)
    prepare_tensorflow("mlp", 2)
    assert chosen() == [None, None]
    assert ONEDNN_VARIABLE not in os.environ


def test_cores_are_those_that_this_process_may_use() -> None:
    assert 1 <= cores() <= (os.cpu_count() or 1)
    if hasattr(os, "sched_getaffinity"):
        allowed = os.sched_getaffinity(0)
        try:
            os.sched_setaffinity(0, {min(allowed)})
            assert cores() == 1
        finally:
            os.sched_setaffinity(0, allowed)


def test_names_the_graphics_processors_or_counts_threads() -> None:
    if tf.config.list_physical_devices("GPU"):
        assert device().startswith("GPU ")
    else:
        assert device().startswith("CPU, ") and device().endswith(" (no GPU found)")


@pytest.mark.skipif(bool(tf.config.list_physical_devices("GPU")), reason="speaks of the GPU")
@pytest.mark.parametrize(("network", "threads"), [("mlp", min(2, cores())), ("cnn", cores())])
def test_tells_of_the_threads_that_were_chosen(network: str, threads: int) -> None:
    code = (
        f"from acer_tf.system.compute import prepare_tensorflow; prepare_tensorflow({network!r}, None)\n"
        "from acer_tf.system.compute import device; print(device())"
    )
    env = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    told = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True).stdout
    plural = "s" if threads > 1 else ""
    assert told.splitlines()[-1] == f"CPU, {threads} thread{plural} (no GPU found)"


@pytest.mark.skipif(bool(tf.config.list_physical_devices("GPU")), reason="a GPU computes in bfloat16")
@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("processor : 0\nflags\t\t: fpu avx512f avx512_bf16\nbugs\t\t:\n", 1),
        ("flags\t\t: avx512f amx_bf16\n", 1),
        ("Features\t: fp asimd bf16\n", 1),
        ("flags\t\t: fpu avx512f avx512_vnni\nbugs\t\t: bf16\n", 2),
        ("flags\t\t: fpu avx2\n", 8),
        (None, 8),
    ],
)
def test_bfloat16_is_slow_without_instructions_for_it(
    text: str | None, times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compute, "CPU_INFO", tmp_path / "cpuinfo")
    if text is not None:
        (tmp_path / "cpuinfo").write_text(text)
    assert bfloat16_slowdown() == times


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("processor\t: 0\nmodel name\t: AMD EPYC 9R14 \nprocessor\t: 1\nmodel name\t: other\n", "AMD EPYC 9R14"),
        ("processor\t: 0\nBogoMIPS\t: 50.00\n", platform.machine()),
        (None, platform.machine()),
    ],
)
def test_the_processor_is_named_by_its_model_where_that_is_known(
    text: str | None, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compute, "CPU_INFO", tmp_path / "cpuinfo")
    if text is not None:
        (tmp_path / "cpuinfo").write_text(text)
    assert compute.processor_name() == name
    assert origin()["processor"] == name
