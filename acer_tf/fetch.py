"""Fetches a published agent: `acer fetch REPO`."""

import dataclasses
import sys
import tempfile
from pathlib import Path

import tyro

from acer_tf.cli.parsing import command, writing
from acer_tf.cli.play import require_free
from acer_tf.hub.published import take_agent
from acer_tf.hub.repository import repository
from acer_tf.storage.durable import publish


@dataclasses.dataclass(frozen=True)
class Fetch:
    """Fetches an agent that `acer publish` published, checks it, and makes a run folder of it."""

    repo: tyro.conf.Positional[str]
    """Repository OWNER/NAME on the Hub, or a local folder, such as ./agents/pong."""
    revision: str | None = None
    """Commit, branch or tag on the Hub; None is the newest. Only a commit is sure to stay the same."""
    logdir: Path | None = None
    """Folder for the agent, which must not exist; None makes runs/NAME."""

    def fetch(self) -> None:
        """Takes the files, and moves them to their place when all are checked.

        Raises:
            InputError: the agent cannot be fetched or is damaged, or the folder exists or cannot be written.
        """
        source = repository(self.repo, self.revision)
        folder = self.logdir or Path("runs") / source.name
        require_free(folder)
        with writing(folder):
            folder.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as temporary:
                fetched = Path(temporary) / folder.name
                fetched.mkdir()
                take_agent(source, fetched)
                publish(fetched, folder)
        print(f"fetched: {folder}\nto watch it: acer enjoy {folder}")


main = command("acer_tf.fetch", Fetch, Fetch.fetch)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
