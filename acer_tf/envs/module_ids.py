"""Environments as `module:id`, gymnasium's form for ids that a module registers when it is imported.

Files keep this form, but only an id that was typed imports the module.
"""

import shlex

from acer_tf.system.command_line import command_line


def bare_env_id(env: str) -> str:
    """Returns the id without the module."""
    return env.rpartition(":")[2]


def module_refused(source: str, env: str) -> str:
    """Returns a sentence that says which module a file names, with the command that allows its import."""
    command = shlex.join([*command_line(), "--env", env])
    return f"{source} names the environment {env}, whose module no file may import; allow it with: {command}"
