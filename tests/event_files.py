"""What TensorBoard would show."""

from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator


def read_settings(folder: Path) -> tuple[dict[str, bool | float | str], str]:
    """The hyper-parameters, and the text `config`."""
    from tensorboard.plugins.hparams import metadata

    events = EventAccumulator(str(folder)).Reload()
    content = events.PluginTagToContent("hparams")[metadata.SESSION_START_INFO_TAG]
    values = metadata.parse_session_start_info_plugin_data(content).hparams
    (text,) = events.Tensors("config")
    found = {name: getattr(value, value.WhichOneof("kind")) for name, value in values.items()}
    return found, text.tensor_proto.string_val[0].decode()


def read(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """Every curve: steps and values."""
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0}).Reload()
    return {tag: [(e.step, e.value) for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]}
