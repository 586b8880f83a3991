import csv
from pathlib import Path

import pytest

from acer_tf.networks.names import ARGUMENTS
from acer_tf.storage.checkpoint import FORMAT, checkpoint_folders
from acer_tf.storage.lock import locked
from acer_tf.sweep import PARSER, Sweep, _check_spelling, main
from tests.saved import forge_manifest


def commands(*rest: str, **flags: object) -> list[str]:
    return [" ".join(trial.command) for trial in Sweep(**flags).planned(rest)]  # type: ignore[arg-type]


def test_every_environment_with_every_seed_those_of_the_first_seed_first() -> None:
    out = Path("x")
    assert commands("--nsteps", "5", envs=("Pong", "CartPole-v1"), seeds=(2,), out=out) == [
        "acer_tf.run_atari --env PongNoFrameskip-v4 --seed 0 --logdir x/PongNoFrameskip-v4/seed-0 --nsteps 5",
        "acer_tf.run --env CartPole-v1 --seed 0 --logdir x/CartPole-v1/seed-0 --nsteps 5",
        "acer_tf.run_atari --env PongNoFrameskip-v4 --seed 1 --logdir x/PongNoFrameskip-v4/seed-1 --nsteps 5",
        "acer_tf.run --env CartPole-v1 --seed 1 --logdir x/CartPole-v1/seed-1 --nsteps 5",
    ]


def test_several_numbers_are_the_seeds_themselves() -> None:
    assert [trial.seed for trial in Sweep(envs=("CartPole-v1",), seeds=(3, 4, 5)).planned(())] == [3, 4, 5]


def test_arguments_of_networks_are_no_misspelt_flags_of_the_sweep() -> None:
    for words in (["--network", "MlpPolicy", "--net_arch=[64]"], ["--network", "conv_only", "--convs=[[8, 3, 1]]"]):
        given, rest = PARSER.read(["--envs", "CartPole-v1", *words])
        assert Sweep(**given).planned(rest)
    for name in ARGUMENTS:
        _check_spelling({name})


def test_presets_bring_their_environment() -> None:
    assert commands(presets=("Acrobot-v1", "coach-atari"), seeds=(1,), out=Path("x")) == [
        "acer_tf.run --preset Acrobot-v1 --seed 0 --logdir x/Acrobot-v1/seed-0",
        "acer_tf.run_atari --preset coach-atari --seed 0 --logdir x/coach-atari/seed-0",
    ]


def test_trials_side_by_side_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acer_tf.trials.execution.cores", lambda: 9)
    pong, cartpole = commands(envs=("Pong", "CartPole-v1"), seeds=(1,), workers=2)
    assert "--threads 4 --num_workers 4" in pong
    assert cartpole.endswith("--threads 4")
    assert commands("--threads", "1", envs=("CartPole-v1",), seeds=(1,), workers=2)[0].endswith("seed-0 --threads 1")
    assert "--threads 1" in commands(envs=("CartPole-v1",), seeds=(1,), workers=20)[0]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "error: nothing to train on; expected either --envs ID [ID ...] or --presets NAME [NAME ...]."),
        ("--envs Pong --presets CartPole-v1", "error: nothing to train on;"),
        ("--envs Breakot", "the nearest are BreakoutNoFrameskip-v4"),
        ("--presets Cartpole-v1", "error: preset 'Cartpole-v1' does not exist; the nearest are CartPole-v1"),
        ("--envs CartPole-v1 --seeds 0", "error: seeds is 0; expected a whole number >= 1."),
        ("--envs CartPole-v1 --seed 3", "error: --seed is set by the sweep itself"),
        ("--envs CartPole-v1 --restart_behavior overwrite", "error: --restart_behavior is set by the sweep itself"),
        ("--presets C:/own.yml", "error: C:/own.yml cannot be read"),
        (
            "--envs CartPole-v1 --gama 0.9",
            "of network 'mlp'; the nearest is --gamma.",
        ),
        ("--envs CartPole-v1 --workrs 2", "error: --workrs is not a flag; the nearest is --workers."),
        ("--envs CartPole-v1 --seeds 1 x", "error: --seeds: expected a whole number >= 0, such as 16 or 1e6, got 'x'."),
        ("--envs CartPole-v1 --num_env 0", "error: num_env is 0; expected a whole number >= 1."),
        ("--envs CartPole-v1 --reward_scale 0", "error: reward_scale is 0.0; expected a finite number > 0."),
        ("--envs CartPole-v1 --gamma 2", "error: gamma is 2.0; expected a number between 0 and 1."),
        (
            "--envs CartPole-v1 --num_hiden 3",
            "of network 'mlp'; the nearest is --num_hidden.",
        ),
        (
            "--envs CartPole-v1 --num_layers 1e9",
            "error: num_layers is 1000000000.0; expected a whole number from 0 to ",
        ),
        ("--envs CartPole-v1 --seeds 20240101", "error: seeds is 20240101, a number of seeds; expected at most 1000."),
        ("--envs CartPole-v1 --seeds 1e30", "a number of seeds; expected at most 1000."),
        ("--envs CartPole-v1 --seeds 5000000000 1", "error: seed is 5000000000; expected a whole number from 0 to"),
        ("--envs CartPole-v1 --network mlpp", "error: network 'mlpp' does not exist; the nearest are mlp"),
    ],
)
def test_bad_input_is_one_sentence_and_starts_nothing(
    tmp_path: Path, words: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words.split(), "--out", str(tmp_path / "sweep")]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "sweep").exists()


def test_a_preset_of_an_unknown_environment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.yml").write_text("env: CartPol-v1\n")
    assert main(["--presets", str(tmp_path / "mine.yml"), "--out", str(tmp_path / "sweep")]) == 2
    assert "environment 'CartPol-v1' does not exist; the nearest are CartPole-v1" in capsys.readouterr().err


def test_a_folder_that_cannot_be_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert main(["--envs", "CartPole-v1", "--out", str(tmp_path / "file" / "sweep")]) == 2
    assert capsys.readouterr().err.endswith("cannot be written (Not a directory); choose another folder with --out.\n")


def test_trains_and_goes_on_where_one_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "sweep"
    damaged = out / "CartPole-v1" / "seed-0"
    damaged.mkdir(parents=True)
    (damaged / "progress.csv").touch()
    (damaged / "model.zip").touch()
    flags = ["--seeds", "2", "--out", str(out), "--total_timesteps", "100", "--nsteps", "5", "--num_layers=1"]
    assert main(["--envs", "CartPole-v1", *flags]) == 1
    printed = capsys.readouterr().out
    assert "failed CartPole-v1 seed 0: error: " in printed
    assert "holds a run without checkpoints" in printed
    assert "done CartPole-v1 seed 1: " in printed
    with (out / "sweep.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["status"] for row in rows] == ["failed", "done"]
    assert (out / "CartPole-v1" / "seed-1" / "model.zip").is_file()
    returns = [float(r["return"]) for r in csv.DictReader((out / "CartPole-v1/seed-1/episodes.csv").open())]
    assert float(rows[1]["mean_return"]) == pytest.approx(sum(returns) / len(returns), rel=1e-5)
    assert int(rows[1]["episodes"]) == len(returns) < 100


def test_a_changed_setting_is_refused_before_any_trial_runs_or_loses_its_row(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def sweep(*flags: str, seeds: str = "2") -> tuple[int, str]:
        common = ["--envs", "CartPole-v1", "--out", str(out), "--total_timesteps", "100", "--nsteps", "5"]
        status = main([*common, "--seeds", seeds, *flags])
        printed = capsys.readouterr()
        return status, printed.out + printed.err

    out = tmp_path / "sweep"
    run = out / "CartPole-v1" / "seed-0"
    assert sweep()[0] == 0
    table = (out / "sweep.csv").read_bytes()
    for changed, message in (
        ("--lr=0.1", f"the run in {run} has lr 0.0007 (now 0.1); give the same, or --force to change."),
        ("--num_hidden=9", f"the run in {run} has num_hidden 64 (now 9), which cannot change; choose another folder"),
    ):
        status, said = sweep(changed)
        assert status == 2 and message in said
        assert (out / "sweep.csv").read_bytes() == table
    with locked(out):
        assert sweep("--lr=0.1")[0] == 69  # the lock counts first
    status, said = sweep("--num_hidden=64")
    assert status == 0 and "2 trials, 0 done before" in said and "done CartPole-v1 seed 1" in said
    forge_manifest(checkpoint_folders(run / "checkpoints")[0], format=FORMAT - 1)
    status, said = sweep("--num_hidden=64")
    assert status == 0 and "2 trials, 2 done before" in said  # which are not looked at
    status, said = sweep("--lr=0.1", seeds="1")
    assert status == 2 and "begin anew in another folder" in said
    status, said = sweep("--lr=0.1", "--force", "--seeds", "1", "1")
    assert status == 0 and "done CartPole-v1 seed 1" in said
