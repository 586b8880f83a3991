from pathlib import Path

from acer_tf.logs.run_files import run_files
from acer_tf.segment import Episode


def write(folder: Path, state: dict[str, int], step: int) -> dict[str, int]:
    files = run_files(folder, None)
    files.load_state_dict(state)
    files.episodes([Episode(0, 1.0, 2, 3.0)])
    files.progress(step)
    files.write({"loss": 0.5})
    files.close()
    return {path.name: path.stat().st_size for path in folder.iterdir()}


def test_what_is_there_goes_on(tmp_path: Path) -> None:
    sizes = write(tmp_path, {}, 20)
    assert sizes.keys() == {"progress.csv", "progress.jsonl", "monitor.csv", "episodes.csv"}
    monitor = (tmp_path / "monitor.csv").read_text()
    assert '"env_id": null' in monitor
    write(tmp_path, sizes, 40)
    assert (tmp_path / "progress.csv").read_text() == "loss\n0.5\n0.5\n"
    assert (tmp_path / "progress.jsonl").read_text() == '{"train/loss": 0.5}\n' * 2
    assert (tmp_path / "episodes.csv").read_text() == "steps,return,length,env\n20,1.0,2,0\n40,1.0,2,0\n"
    assert (tmp_path / "monitor.csv").read_text() == f"{monitor}1.0,2,3.0\n"
