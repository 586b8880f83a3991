"""The space of settings to search, read from a file with one line per flag."""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from msgspec import Meta

from acer_tf.errors import InputError
from acer_tf.schema import Number, read, validated
from acer_tf.storage.yaml_text import load_settings
from acer_tf.trials.flags import check_flags, words

if TYPE_CHECKING:
    from optuna.trial import Trial

Value = bool | int | float | str | None
"""Value of a flag."""
Choice = Annotated[Value, Meta(description="a number, a word, true, false or null")]


class Parameter(NamedTuple):
    """A flag to search.

    Attributes:
        name: name of the flag.
        choices: values to choose from; without any, the value is a number between `low` and `high`.
        low: smallest value.
        high: largest value.
        log: whether to search on a logarithmic scale.
        int: whether values are whole numbers.
        when: values of earlier flags for which this one is set; for others, it is left out.
    """

    name: str
    choices: Annotated[tuple[Any, ...], Meta(min_length=1, description="a list of values")] = ()
    low: Number = 0.0
    high: Number = 0.0
    log: bool = False
    int: bool = False
    when: Mapping[str, Any] = {}

    def applies(self, values: Mapping[str, Value]) -> bool:
        """Returns whether the flag is set, given the values of earlier flags."""
        return all(name in values and values[name] in allowed for name, allowed in self.when.items())

    def suggest(self, trial: "Trial") -> Value:
        """Returns the value that a trial of Optuna suggests."""
        value: Value
        if self.choices:
            value = trial.suggest_categorical(self.name, self.choices)
        elif self.int:
            value = trial.suggest_int(self.name, round(self.low), round(self.high), log=self.log)
        else:
            value = trial.suggest_float(self.name, self.low, self.high, log=self.log)
        return value

    @property
    def extremes(self) -> Sequence[Value]:
        """The values to check: all choices, or the smallest, the largest and a fractional one in between."""
        if self.choices:
            return self.choices
        if self.int:
            return [round(self.low), round(self.high)]
        return [self.low, self.high, float(f"{self.low + 0.382 * (self.high - self.low):.12g}")]


Space = Sequence[Parameter]


def read_space(path: Path, taken: Collection[str]) -> Space:
    """Reads a space.

    Args:
        path: YAML; an entry is `lr: {low: 1e-4, high: 1e-2, log: true}`, `num_env: {low: 4, high: 32, int: true}` or
            `nlstm: {choices: [64, 128], when: {network: lstm}}`.
        taken: names of flags that already have a value.

    Raises:
        InputError: the file cannot be read, or an entry cannot work.
    """
    source = f"search space {path}"
    entries = load_settings(source, path)
    if not entries:
        raise InputError(f"{source} is empty; expected lines such as lr: {{low: 1e-4, high: 1e-2}}.")
    space: list[Parameter] = []
    for key, entry in entries.items():
        name = _flag(key)
        check_flags(source, [name], has_command_line=True)
        if name in taken:
            raise InputError(f"{source}: {name} is set by another flag of this command; leave out one of them.")
        space.append(_parameter(f"{source}: {name}", name, entry, space))
    return space


def suggested(space: Space, trial: "Trial") -> dict[str, Value]:
    """Returns the values that a trial of Optuna suggests, by flag."""
    values: dict[str, Value] = {}
    for parameter in space:
        if parameter.applies(values):
            values[parameter.name] = parameter.suggest(trial)
    return values


def check_space(path: Path, space: Space, check: Callable[[Sequence[str]], object]) -> None:
    """Checks the smallest and the largest value, or every choice, of each flag, with other flags as without a search.

    `check` raises an `InputError` if a training command cannot work with these words.

    Raises:
        InputError: a value cannot work.
    """
    for parameter in space:
        for value in parameter.extremes:
            try:
                check(words({**_conditions(space, parameter), parameter.name: value}))
            except InputError as error:
                raise InputError(f"search space {path}: {parameter.name} {value} cannot work: {error}") from error


def _conditions(space: Space, parameter: Parameter) -> dict[str, Value]:
    """Returns values of earlier flags for which this one is set."""
    values: dict[str, Value] = {}
    for earlier in space:
        if earlier.name in parameter.when:
            values |= _conditions(space, earlier) | {earlier.name: parameter.when[earlier.name][0]}
    return values


def _flag(key: object) -> str:
    return str(key).replace("-", "_")


def _parameter(where: str, name: str, entry: Any, earlier: Space) -> Parameter:
    if not isinstance(entry, dict):
        raise InputError(f"{where} is {entry!r:.200}; expected {{low: ..., high: ...}} or {{choices: [...]}}.")
    found = read(where, entry, Parameter, name=name)
    when = _when(where, found.when, {parameter.name: parameter for parameter in earlier})
    if "choices" not in entry:
        _check_range(where, entry, found)
    elif others := entry.keys() - {"choices", "when"}:
        raise InputError(f"{where} has choices and {min(others)}; expected one or the other.")
    return found._replace(choices=_choices(where, found.choices), when=when)


def _check_range(where: str, entry: Mapping[str, Any], found: Parameter) -> None:
    if not {"low", "high"} <= entry.keys():
        raise InputError(f"{where} lacks low or high; expected both, or choices.")
    for name, bound in (("low", found.low), ("high", found.high)):
        if found.int and not bound.is_integer():
            raise InputError(f"{where} has {name} {bound:g}; expected a whole number where int is true.")
    if found.low >= found.high:
        raise InputError(f"{where} has low {found.low:g} and high {found.high:g}; expected low < high.")
    if found.log and found.low <= 0:
        raise InputError(f"{where} has low {found.low:g}; expected a number > 0 where log is true.")


def _choices(where: str, values: Sequence[Any]) -> tuple[Value, ...]:
    choices = tuple(validated(f"{where}: a choice", value, Choice) for value in values)
    if len({str(choice) for choice in choices}) < len(choices):
        raise InputError(f"{where} has a choice twice.")
    return choices


def _when(where: str, conditions: Mapping[str, Any], earlier: Mapping[str, Parameter]) -> dict[str, Sequence[Value]]:
    when: dict[str, Sequence[Value]] = {}
    for key, value in conditions.items():
        name = _flag(key)
        if name not in earlier:
            raise InputError(f"{where} depends on {name}; expected a flag that has a line above.")
        choices = earlier[name].choices
        when[name] = _choices(where, value if isinstance(value, list) else [value])
        if foreign := [choice for choice in when[name] if choice not in choices]:
            listed = f": {', '.join(map(str, choices))}" if choices else ", which has none"
            raise InputError(f"{where} depends on {name} {foreign[0]}; expected one of the choices of {name}{listed}.")
    return when
