import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acer_tf.compare_baselines import main
from acer_tf.system.compute import ONEDNN_VARIABLE
from tests.recordings.recordings import GOLDEN, Arrays, altered

QUICK = ("buffer", "episode_stats", "runner_rgb", "schedules")


def golden(*names: str) -> list[str]:
    return [str(GOLDEN / f"{name}.npz") for name in names]


def _wrong(arrays: Arrays, config: dict[str, Any]) -> None:
    arrays["value_steps/linear"][3] = np.inf


def test_a_line_per_case(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*golden(*QUICK, "curves_cartpole", "runner_recurrent"), str(GOLDEN / "curve_breakout.csv")]) == 0
    first, *rows = capsys.readouterr().out.splitlines()
    assert first.startswith("computing with ")
    lines = [line.split() for line in rows]
    assert [line[:3] for line in lines[:-1]] == [
        ["pass", "buffer", "buffer"],
        ["pass", "episode_stats", "episode_stats"],
        ["pass", "runner_rgb", "runner"],
        ["pass", "schedules", "schedules"],
        ["skipped", "curves_cartpole", "curves"],
        ["pass", "runner_recurrent", "runner"],
        ["skipped", "curve_breakout", "curves"],
    ]
    assert lines[0][4:] == ["error", "0.0e+00", "tolerance", "0e+00"]
    assert " ".join(lines[-1]) == "5 pass, 0 fail, 0 unsupported, 2 skipped"


def test_strict_fails_on_what_is_unsupported(tmp_path: Path) -> None:
    unknown = str(altered(tmp_path, "mlp_discrete", lambda arrays, config: config.update(network="unheard_of")))
    assert main([unknown]) == 0
    assert main([unknown, "--strict"]) == 1
    curves = [*golden("curves_cartpole"), str(GOLDEN / "curve_breakout.csv")]
    assert main([*golden("schedules", "runner_recurrent"), *curves, "--strict"]) == 0


def test_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in QUICK:
        (tmp_path / f"{name}.npz").write_bytes((GOLDEN / f"{name}.npz").read_bytes())
    (tmp_path / "README.md").write_text("words")
    (tmp_path / "curve.csv").write_text("steps,return\n")
    assert main([str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "4 pass, 0 fail, 0 unsupported, 1 skipped"


def test_a_wrong_number_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = tmp_path / "results.json"
    path = altered(tmp_path, "schedules", _wrong)
    assert main([str(path), *golden("episode_stats"), "--json", str(results)]) == 1
    assert "fail         another-name" in capsys.readouterr().out
    content = json.loads(results.read_text())
    assert content["ok"] is False
    assert content["cases"][0] == {
        "case": "another-name",
        "kind": "schedules",
        "status": "fail",
        "worst": {"quantity": "value_steps/linear", "error": "inf", "tolerance": 1e-9},
    }


def test_json(tmp_path: Path) -> None:
    results = tmp_path / "results.json"
    unknown = str(altered(tmp_path, "mlp_discrete", lambda arrays, config: config.update(network="unheard_of")))
    assert main([*golden(*QUICK, "curves_cartpole"), unknown, "--json", str(results)]) == 0
    content = json.loads(results.read_text())
    assert content.keys() == {"ok", "cases"}
    assert content["ok"] is True
    for case in content["cases"]:
        assert case.keys() == {"case", "kind", "status", "worst"}
        if case["status"] == "pass":
            assert case["worst"].keys() == {"quantity", "error", "tolerance"}
            assert 0 <= case["worst"]["error"] <= case["worst"]["tolerance"]
        else:
            assert case["worst"] is None
    assert main([unknown, "--strict", "--json", str(results)]) == 1
    assert json.loads(results.read_text())["ok"] is False


def test_verbose_shows_every_quantity(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(altered(tmp_path, "schedules", _wrong)), "--verbose"])
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[2:-1]]
    assert len(rows) == 10
    assert [row[1] for row in rows if row[0] == "FAIL"] == ["value_steps/linear"]
    assert [row[0] for row in rows].count("pass") == 9


def _garbage(folder: Path) -> Path:
    (folder / "garbage.npz").write_bytes(b"no zip at all")
    return folder / "garbage.npz"


def _misshapen(folder: Path) -> Path:
    def cut(arrays: Arrays, config: dict[str, Any]) -> None:
        arrays["retrace/1/v"] = arrays["retrace/1/v"][:-1]
        config["retrace"][1]["nenvs"] = 7

    return altered(folder, "small_math", cut)


def _empty(folder: Path) -> Path:
    def drop(arrays: Arrays, config: dict[str, Any]) -> None:
        del arrays["1/frames"]

    return altered(folder, "vec_frame_stack", drop)


def _table(folder: Path) -> Path:
    (folder / "mine.csv").write_text("steps,return\n10,1\n")
    return folder / "mine.csv"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (_garbage, "not a readable npz file"),
        (_misshapen, "arrays that do not fit"),
        (_table, "is a table of curves; expected an npz file of recorded numerics"),
        (_empty, "lacks the array 1/frames"),
        (lambda folder: folder / "missing.npz", "does not exist"),
        (lambda folder: folder, "holds no npz file"),
    ],
)
def test_bad_input_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], make, message: str) -> None:
    assert main([str(make(tmp_path))]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.startswith("error: ")
    assert error.count("\n") == 1


def test_no_path_and_no_place_for_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "PATHS is missing: Recordings (npz), or folders of them." in capsys.readouterr().err
    assert main([*golden("schedules"), "--json", str(tmp_path)]) == 2
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (None, "computing with TensorFlow's plain kernels (TF_ENABLE_ONEDNN_OPTS=0)"),
        ("0", "computing with TensorFlow's plain kernels (TF_ENABLE_ONEDNN_OPTS=0)"),
        (
            "1",
            "computing with oneDNN's kernels, which round differently; TF_ENABLE_ONEDNN_OPTS=0 selects the plain ones",
        ),
    ],
)
def test_the_plain_kernels_are_used_unless_the_user_says_otherwise(
    given: str | None, line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "tensorflow", raising=False)  # which decides when it is imported
    monkeypatch.setenv(ONEDNN_VARIABLE, given or "")
    if given is None:
        monkeypatch.delenv(ONEDNN_VARIABLE)
    assert main(golden("curves_cartpole")) == 0
    assert capsys.readouterr().out.splitlines()[0] == line
