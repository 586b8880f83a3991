"""Publishes a trained agent: `acer publish RUN REPO`."""

import dataclasses
import json
import sys
from collections.abc import Mapping
from pathlib import Path

from acer_tf import hub
from acer_tf.cli.command import command
from acer_tf.cli.parsing import Positional
from acer_tf.cli.trained import find_trained
from acer_tf.envs.ids import typed_env_id
from acer_tf.errors import InputError
from acer_tf.schema import Number, validated
from acer_tf.storage.durable import read_bounded
from acer_tf.system.console import say

LARGEST_REPORT = 2**24
"""Bytes of an evaluation's file, which has a line for each episode."""


@dataclasses.dataclass(frozen=True)
class Publish:
    """Publishes an agent on the Hugging Face Hub, or in a folder, with a model card and the settings of its run."""

    run: Positional[Path]
    """Run folder, one of its checkpoints, or a file that ACER.save wrote."""
    repo: Positional[str]
    """Repository OWNER/NAME on the Hub, where you are logged in; or a new local folder, such as ./agents/pong."""
    evaluation: Path | None = None
    """File that `acer evaluate --json` wrote, whose score goes into the model card."""
    env: str | None = None
    """Environment id, or module:id if importing a module registers it; None takes that of the run."""
    with_env_kwargs: bool = False
    """Publish the arguments of the environment, too; whoever fetches the agent needs them to play as in training."""

    def publish(self) -> None:
        """Publishes the agent.

        Raises:
            InputError: there is no such agent or evaluation, or the repository cannot be written.
        """
        trained = find_trained(self.run, None if self.env is None else typed_env_id(self.env))
        report = None if self.evaluation is None else _read_report(self.evaluation, trained.env_id)
        settings = {**trained.settings, "env": trained.env_id}
        where = hub.publish(trained.saved, settings, self.repo, report, self.with_env_kwargs)
        say(f"published: {where}")
        if settings.get(hub.ENV_KWARGS) and not self.with_env_kwargs:
            say(f"left out: {hub.ENV_KWARGS}, which may be private; --with_env_kwargs publishes them, too")


def _read_report(path: Path, env_id: str) -> Mapping[str, float]:
    """Reads mean and deviation of an evaluation in this environment."""
    try:
        report = json.loads(read_bounded(path, LARGEST_REPORT))
        if report["env"] != env_id:
            raise InputError(f"{path} is an evaluation in {report['env']!s:.80}; the agent plays {env_id}.")
        return {name: validated(f"{path}: {name}", report[name], Number) for name in ("mean", "std")}
    except InputError:
        raise
    except (ArithmeticError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{path} is not what `acer evaluate --json` writes ({error!r:.200}).") from error


main = command("acer_tf.publish", Publish, Publish.publish)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
