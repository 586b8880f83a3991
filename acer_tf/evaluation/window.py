"""A window that shows pictures at their speed."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acer_tf.errors import InputError


@contextlib.contextmanager
def window(title: str, frames_per_second: float) -> Iterator[Callable[[NDArray[np.uint8]], None]]:
    """Opens a window at the first picture; yields a function that shows one, [H, W, 3].

    It waits so that there are no more than `frames_per_second`. Closing the window ends the program.

    Raises:
        InputError: pygame is not installed, or there is no display.
    """
    try:
        import pygame
    except ImportError as error:
        raise InputError('a window needs pygame; install it with: pip install "gymnasium[classic-control]".') from error
    clock = pygame.time.Clock()
    screen: Any = None

    def show(picture: NDArray[np.uint8]) -> None:
        nonlocal screen
        if screen is None:
            screen = _opened(title, picture)
        if any(event.type == pygame.QUIT for event in pygame.event.get()):
            raise SystemExit
        screen.blit(pygame.surfarray.make_surface(picture.swapaxes(0, 1)), (0, 0))
        pygame.display.flip()
        clock.tick(frames_per_second)

    try:
        yield show
    finally:
        pygame.display.quit()


def _opened(title: str, picture: NDArray[np.uint8]) -> Any:
    import pygame

    try:
        pygame.display.init()
        screen = pygame.display.set_mode(picture.shape[1::-1])
    except pygame.error as error:
        raise InputError(f"no window can be opened ({error}); for a video add --video.") from error
    pygame.display.set_caption(title)
    return screen
