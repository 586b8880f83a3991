"""The examples of the pages for users of Stable Baselines, run with fewer steps."""

import inspect
import re
import runpy
from pathlib import Path

import pytest

from acer_tf.agent import ACER

DOCS = Path(__file__).parent.parent / "docs"
PAGES = ("from-stable-baselines.md", "from-stable-baselines3.md")
BLOCK = re.compile(r"^```python\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
TESTED_ELSEWHERE = ("FrameStack(", "LstmPolicy", "Pong", "async", "pretrain(", "record_video", 'tensorboard_log="tb"')
"""Parts of examples whose features have fast tests of their own."""
EXAMPLES = [
    pytest.param(
        code, id=f"{page}-{number}", marks=[pytest.mark.slow] if any(map(code.__contains__, TESTED_ELSEWHERE)) else []
    )
    for page in PAGES
    for number, code in enumerate(BLOCK.findall((DOCS / page).read_text(encoding="utf-8")))
    if "generation" not in code  # the evolution strategy has a test of its own
]
FEWER = (
    (r"total_timesteps=[\d_]+", "total_timesteps=20"),
    (r"(eval_freq=|n_steps=|CheckpointCallback\()\d[\d_]+", r"\g<1>5"),
    (r"% 1000 ==", "% 5 =="),
    (r"range\(1000\)", "range(5)"),
    (r"n_eval_episodes=\d+", "n_eval_episodes=1"),
    (r"n_epochs=\d+", "n_epochs=1"),
    (r"reward_threshold=475", "reward_threshold=501"),  # an untrained agent may balance the pole for a whole episode
)


ARGUMENT = re.compile(r"^\| `(\w+)` \| `([^`]+)` \|", flags=re.MULTILINE)


def test_the_arguments_in_the_table_have_their_defaults() -> None:
    text = (DOCS / "from-stable-baselines.md").read_text(encoding="utf-8")
    parameters = inspect.signature(ACER.__init__).parameters
    table = dict(ARGUMENT.findall(text.partition("## Arguments")[2].partition("Those of `learn`")[0]))
    positional = [p.name for p in parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD][3:]
    without_use = {"num_procs", "_init_setup_model", "full_tensorboard_log"}
    assert set(positional) - without_use == set(table)
    assert {name: repr(parameters[name].default) for name in table} == table
    of_learn = inspect.signature(ACER.learn).parameters
    for name, default in re.findall(r"`(\w+)=([^`]+)`", text.partition("Those of `learn`")[2].partition("\n\n")[0]):
        assert str(of_learn[name].default) == default.strip('"')


def test_all_are_found() -> None:
    assert len(EXAMPLES) == 17


@pytest.mark.parametrize("code", EXAMPLES)
def test_an_example_runs(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if "stable_baselines3" in code:
        pytest.importorskip("stable_baselines3", reason="stable-baselines3 is not installed; pip install -e '.[sb3]'")
    for pattern, fewer in FEWER:
        code = re.sub(pattern, fewer, code)
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "example.py"
    script.write_text(code, encoding="utf-8")
    variables = runpy.run_path(str(script), run_name="__main__")
    assert variables["model"].num_timesteps >= 20
