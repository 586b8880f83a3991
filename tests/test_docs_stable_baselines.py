"""The examples of the pages for users of Stable Baselines, run with fewer steps."""

import re
import runpy
from pathlib import Path

import pytest

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
)


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
