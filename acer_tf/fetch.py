"""Fetches a published agent: `acer fetch REPO`."""

import dataclasses
import shlex
import sys
from pathlib import Path

from acer_tf import hub
from acer_tf.cli.command import command
from acer_tf.cli.parsing import Positional
from acer_tf.system.command_line import program
from acer_tf.system.console import say


@dataclasses.dataclass(frozen=True)
class Fetch:
    """Fetches an agent that `acer publish` published, checks it, and puts it into a run folder."""

    repo: Positional[str]
    """Repository OWNER/NAME on the Hub, or a local folder, such as ./agents/pong."""
    revision: str | None = None
    """Commit, branch or tag on the Hub; None takes the newest commit. Only a commit is sure to stay the same."""
    logdir: Path | None = None
    """Folder to make for the agent; it must not exist yet. None makes runs/NAME."""

    def fetch(self) -> None:
        """Fetches the agent.

        Raises:
            InputError: the agent cannot be fetched or is damaged, or the folder exists or cannot be written.
        """
        folder = self.logdir or Path("runs") / hub.name_of(self.repo)
        hub.fetch(self.repo, self.revision, folder)
        say(f"fetched: {folder}\nto watch it: {program('acer_tf.enjoy')} {shlex.quote(str(folder))}")


main = command("acer_tf.fetch", Fetch, Fetch.fetch)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
