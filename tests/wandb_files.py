"""What Weights & Biases would show."""

import json
import struct
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

BLOCK = 32768
"""Bytes of a block of wandb's file, which has the format of LevelDB's log behind a header."""
HEADER = 7
"""Bytes of the header of the file, and of each piece: checksum, length, and kind."""
FULL, LAST = 1, 4


def wandb_runs(folder: Path) -> list[dict[str, Any]]:
    """Id, name, project, exit code, config and curves of each offline file in a run folder, oldest first."""
    import wandb

    wandb.teardown()  # finish() does not wait until the last block of a file is written, teardown() does
    return [_wandb_run(path) for path in sorted(folder.glob("wandb/offline-run-*/*.wandb"))]


def _wandb_run(path: Path) -> dict[str, Any]:
    from wandb.proto.wandb_internal_pb2 import Record

    found: dict[str, Any] = {"config": {}, "curves": defaultdict(list)}
    for data in _records(path.read_bytes()):
        record = Record.FromString(data)
        kind = record.WhichOneof("record_type")
        if kind == "run":
            run = record.run
            found |= {"id": run.run_id, "name": run.display_name, "project": run.project}
            found["config"] |= {item.key: json.loads(item.value_json) for item in run.config.update}
        elif kind == "exit":
            found["exit"] = record.exit.exit_code
        elif kind == "history":
            row = {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in record.history.item}
            for name in row.keys() - {"_step", "_runtime", "_timestamp"}:
                found["curves"][name].append((row["_step"], row[name]))
    return found


def _records(data: bytes) -> Iterator[bytes]:
    place, record = HEADER, b""
    while place + HEADER <= len(data):
        if (left := BLOCK - place % BLOCK) < HEADER:
            place += left
            continue
        _, size, kind = struct.unpack_from("<IHB", data, place)
        place += HEADER + size
        record += data[place - size : place]
        if kind in (FULL, LAST):
            yield record
            record = b""
