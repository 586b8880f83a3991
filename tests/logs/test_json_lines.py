import json
from pathlib import Path

import numpy as np

from acer_tf.logs.json_lines import JsonLinesSink


def test_rows_have_full_names_and_null_where_there_is_no_number(tmp_path: Path) -> None:
    sink = JsonLinesSink(tmp_path / "progress.jsonl")
    sink.write({"total_timesteps": 320, "loss": np.float32(0.5), "replay_loss": float("nan"), "my/own": float("-inf")})
    sink.write({"total_timesteps": 640, "loss": 1e-300, "replay_loss": 2.0, "my/own": 3})
    lines = (tmp_path / "progress.jsonl").read_text().splitlines()
    assert [json.loads(line, parse_constant=lambda name: 1 / 0) for line in lines] == [
        {"time/total_timesteps": 320, "train/loss": 0.5, "replay/loss": None, "my/own": None},
        {"time/total_timesteps": 640, "train/loss": 1e-300, "replay/loss": 2.0, "my/own": 3},
    ]
    assert '"time/total_timesteps": 320,' in lines[0]
    sink.close()
    sink.close()


def test_a_resumed_file_goes_on_where_the_checkpoint_was(tmp_path: Path) -> None:
    path = tmp_path / "progress.jsonl"
    sink = JsonLinesSink(path)
    sink.write({"loss": 1})
    state = sink.state_dict()
    assert state == {"progress.jsonl": len('{"train/loss": 1}\n')}
    sink.write({"loss": 2})
    sink.close()
    again = JsonLinesSink(path)
    again.load_state_dict(state)
    again.write({"loss": 3})
    again.close()
    assert path.read_text() == '{"train/loss": 1}\n{"train/loss": 3}\n'


def test_a_run_without_statistics_leaves_no_file(tmp_path: Path) -> None:
    JsonLinesSink(tmp_path / "progress.jsonl").close()
    assert list(tmp_path.iterdir()) == []
