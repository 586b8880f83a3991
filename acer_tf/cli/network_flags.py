"""Flags of the network: all flags that the command itself does not know."""

from collections.abc import Collection, Sequence
from typing import Any

from acer_tf.cli.flag_names import flag_name, instead_of, stray
from acer_tf.errors import InputError
from acer_tf.networks.names import NETWORKS, check_network
from acer_tf.storage.yaml_text import parse_typed


def network_arguments(words: Sequence[str], own: Collection[str], network: str) -> dict[str, Any]:
    """Reads words that are not the command's own flags: `--name=value`, `--name value` or, for switches, `--[no_]name`.

    Args:
        words: the words. Values are YAML, such as 2, 1e-3, true or [16, 32].
        own: names of the command's own flags, to recognise misspelt ones.
        network: name of the network.

    Raises:
        InputError: the network does not exist, a word follows no flag, a flag has no value or one that is not valid
            YAML, or neither the command nor the network has the flag.
    """
    check_network(network)
    switches = {name for name, argument in NETWORKS[network].items() if argument.kind is bool}
    arguments: dict[str, Any] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        flag, equals, text = word.partition("=")
        name = flag_name(word)
        if word.startswith("--") and not equals and name in {f"no_{switch}" for switch in switches}:
            arguments[name.removeprefix("no_")] = False
            continue
        _check_name(word, name, own, network)
        if not equals and rest and not rest[0].startswith("--"):
            text = rest.pop(0)
        elif not equals and name in switches:
            text = "true"
        elif not equals:
            raise InputError(f"{flag} has no value; expected {flag}=VALUE.")
        arguments[name] = parse_typed(f"{flag}={text}", text)
    return arguments


def _check_name(word: str, name: str, own: Collection[str], network: str) -> None:
    if not word.startswith("--") or not name.isidentifier():
        raise InputError(stray(word, own))
    if name not in NETWORKS[network]:
        instead = instead_of(name, [*own, *NETWORKS[network]])
        raise InputError(f"--{name} is not a flag, nor an argument of network '{network}'; {instead}.")
