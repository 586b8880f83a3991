"""Reads videos back."""

from pathlib import Path

import imageio.v2
import numpy as np
from numpy.typing import NDArray


def frames(path: Path) -> list[NDArray[np.uint8]]:
    """All frames of a video, each [H, W, 3]."""
    return [np.asarray(frame) for frame in imageio.v2.get_reader(path, format="FFMPEG")]  # type: ignore[call-overload]
