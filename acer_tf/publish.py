"""Publishes a trained agent: `acer publish RUN REPO`."""

import dataclasses
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from acer_tf import hub
from acer_tf.cli.command import command
from acer_tf.cli.parsing import Positional
from acer_tf.cli.trained import find_trained
from acer_tf.envs.ids import typed_env_id
from acer_tf.errors import InputError
from acer_tf.schema import Number, Text, validated
from acer_tf.storage.durable import read_bounded
from acer_tf.system.console import say

LARGEST_REPORT = 2**24
"""Most bytes of an evaluation's file, which has a line for each episode."""
REPORT = {"env": Text, "fingerprint": Text, "mean": Number, "std": Number}
"""Entries read from it, and their types."""


@dataclasses.dataclass(frozen=True)
class Publish:
    """Publishes an agent, with a model card and the settings of its run, on the Hugging Face Hub or in a folder."""

    run: Positional[Path]
    """Run folder, one of its checkpoints, or a file that ACER.save wrote."""
    repo: Positional[str]
    """Repository OWNER/NAME on the Hub, where you are logged in; or a new local folder, such as ./agents/pong."""
    evaluation: Path | None = None
    """File written by `acer evaluate --json`; its score goes into the model card."""
    env: str | None = None
    """Environment id, or module:id if a module registers it when imported; None takes the run's."""
    with_env_kwargs: bool = False
    """Also publish the arguments of the environment, without which others cannot play the agent as in training."""

    def publish(self) -> None:
        """Publishes the agent.

        Raises:
            InputError: there is no such agent or evaluation, or the repository cannot be written.
        """
        trained = find_trained(self.run, None if self.env is None else typed_env_id(self.env))
        report = None if self.evaluation is None else _read_report(self.evaluation)
        if report is not None and report["env"] != trained.env_id:
            raise InputError(
                f"{self.evaluation} is an evaluation in {report['env']}; the agent plays {trained.env_id}."
            )
        if report is not None and report["fingerprint"] != trained.saved.fingerprint():
            raise InputError(
                f"{self.evaluation} is an evaluation of another agent; evaluate {trained.name} with acer evaluate "
                "--json."
            )
        settings = {**trained.settings, "env": trained.env_id}
        where = hub.publish(trained.saved, settings, self.repo, report, self.with_env_kwargs)
        say(f"published: {where}")
        if settings.get(hub.ENV_KWARGS) and not self.with_env_kwargs:
            say(f"left out: {hub.ENV_KWARGS}, which may be private; --with_env_kwargs publishes them")


def _read_report(path: Path) -> Mapping[str, Any]:
    """Reads an evaluation: its environment, the fingerprint of its agent, its mean and its standard deviation."""
    try:
        report = json.loads(read_bounded(path, LARGEST_REPORT))
        if "mean" in report and "fingerprint" not in report:
            raise InputError(f"{path} is from an earlier version, which did not record the agent; evaluate it again.")
        return {name: validated(f"{path}: {name}", report[name], kind) for name, kind in REPORT.items()}
    except InputError:
        raise
    except (ArithmeticError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{path} is not what `acer evaluate --json` writes ({error!r:.200}).") from error


main = command("acer_tf.publish", Publish, Publish.publish)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
