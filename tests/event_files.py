"""What TensorBoard would show."""

from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator


def read(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """Every curve: steps and values."""
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0}).Reload()
    return {tag: [(e.step, e.value) for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]}
