"""The space of settings to search, read from a file: one line for each flag."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from acer_tf.errors import InputError, nearest
from acer_tf.storage.yaml_text import parse_settings, plain_number

if TYPE_CHECKING:
    from optuna.trial import Trial

KEYS = ("low", "high", "log", "int", "choices", "when")

Value = bool | int | float | str | None
"""Of a flag."""


class Parameter(NamedTuple):
    """A flag to search.

    Attributes:
        name: of the flag.
        choices: values to choose from; without any, the value is a number between `low` and `high`.
        low: smallest value.
        high: largest value.
        is_log: whether the search is even on a logarithmic scale.
        is_int: whether values are whole numbers.
        when: values of earlier flags with which this one is set; with others it is left out.
    """

    name: str
    choices: tuple[Value, ...] = ()
    low: float = 0.0
    high: float = 0.0
    is_log: bool = False
    is_int: bool = False
    when: Mapping[str, tuple[Value, ...]] = {}

    def applies(self, values: Mapping[str, Value]) -> bool:
        """Returns whether the flag is set beside those values of earlier flags."""
        return all(name in values and values[name] in allowed for name, allowed in self.when.items())

    def suggest(self, trial: "Trial") -> Value:
        """Returns the value that a trial of Optuna suggests."""
        value: Value
        if self.choices:
            value = trial.suggest_categorical(self.name, self.choices)
        elif self.is_int:
            value = trial.suggest_int(self.name, int(self.low), int(self.high), log=self.is_log)
        else:
            value = trial.suggest_float(self.name, self.low, self.high, log=self.is_log)
        return value

    @property
    def extremes(self) -> Sequence[Value]:
        """The values that are checked: all choices, or the smallest, the largest and one between that is not whole."""
        if self.choices:
            return self.choices
        if self.is_int:
            return [int(self.low), int(self.high)]
        return [self.low, self.high, round(self.low + 0.382 * (self.high - self.low), 12)]


Space = Sequence[Parameter]


def read_space(path: Path, known: Collection[str], taken: Collection[str]) -> Space:
    """Reads a space.

    Args:
        path: YAML; an entry is `lr: {low: 1e-4, high: 1e-2, log: true}`, `num_env: {low: 4, high: 32, int: true}` or
            `nlstm: {choices: [64, 128], when: {network: lstm}}`.
        known: names of all flags.
        taken: names of flags that have a value already.

    Raises:
        InputError: the file cannot be read, or an entry cannot work.
    """
    try:
        text = path.read_bytes()
    except OSError as error:
        raise InputError(f"search space {path} cannot be read ({error.strerror}).") from error
    entries = parse_settings(f"search space {path}", text)
    if not entries:
        raise InputError(f"search space {path} is empty; expected lines such as lr: {{low: 1e-4, high: 1e-2}}.")
    space: list[Parameter] = []
    for key, entry in entries.items():
        name = str(key).replace("-", "_")
        try:
            if name not in known:
                raise InputError(f"is not a flag; the nearest are {', '.join(nearest(name, known))}.")
            if name in taken:
                raise InputError("is set by another flag of this command; leave out one of them.")
            space.append(_parameter(name, entry, space))
        except InputError as error:
            raise InputError(f"search space {path}: {name} {error}") from None
    return space


def suggested(space: Space, trial: "Trial") -> dict[str, Value]:
    """Returns the values that a trial of Optuna suggests, by flag."""
    values: dict[str, Value] = {}
    for parameter in space:
        if parameter.applies(values):
            values[parameter.name] = parameter.suggest(trial)
    return values


def words(values: Mapping[str, Value]) -> list[str]:
    """Returns values as the words of a command line."""
    return [f"--{name}={value}" for name, value in values.items()]


def check_space(path: Path, space: Space, check: Callable[[Sequence[str]], object]) -> None:
    """Checks the smallest, the largest and every chosen value of each flag, the other flags being as without a search.

    Args:
        path: of the file, for the message.
        space: what it holds.
        check: raises an `InputError` if a training command cannot work with these words.

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
    """Returns values of earlier flags with which this one is set."""
    values: dict[str, Value] = {}
    for earlier in space:
        if earlier.name in parameter.when:
            values |= _conditions(space, earlier) | {earlier.name: parameter.when[earlier.name][0]}
    return values


def _parameter(name: str, entry: Any, earlier: Sequence[Parameter]) -> Parameter:
    if not isinstance(entry, dict):
        raise InputError(f"is {entry!r}; expected {{low: ..., high: ...}} or {{choices: [...]}}.")
    for key in entry:
        if key not in KEYS:
            raise InputError(f"has the key {key}; the nearest is {nearest(str(key), KEYS)[0]}.")
    when = _when(entry.get("when", {}), {parameter.name: parameter for parameter in earlier})
    if "choices" in entry:
        if others := entry.keys() - {"choices", "when"}:
            raise InputError(f"has choices and {min(others)}; expected one or the other.")
        return Parameter(name, _choices(entry["choices"]), when=when)
    return _range(name, entry)._replace(when=when)


def _range(name: str, entry: Mapping[str, Any]) -> Parameter:
    if not {"low", "high"} <= entry.keys():
        raise InputError("lacks low or high; expected both, or choices.")
    for key in ("log", "int"):
        if not isinstance(entry.get(key, False), bool):
            raise InputError(f"has {key} {entry[key]!r}; expected true or false.")
    is_log, is_int = entry.get("log", False), entry.get("int", False)
    low, high = (_bound(key, entry[key], is_int) for key in ("low", "high"))
    if low >= high:
        raise InputError(f"has low {low:g} and high {high:g}; expected low < high.")
    if is_log and low <= 0:
        raise InputError(f"has low {low:g}; expected a number > 0 where log is true.")
    return Parameter(name, low=low, high=high, is_log=is_log, is_int=is_int)


def _choices(values: Any) -> tuple[Value, ...]:
    if not isinstance(values, list) or not values:
        raise InputError(f"has choices {values!r}; expected a list of values.")
    choices = tuple(plain_number(value) for value in values)
    for choice in choices:
        if not isinstance(choice, Value):
            raise InputError(f"has the choice {choice!r}; expected a number, a word, true, false or null.")
    if len({str(choice) for choice in choices}) < len(choices):
        raise InputError("has a choice twice.")
    return choices


def _bound(key: str, value: Any, is_int: bool) -> float:
    number = plain_number(value)
    if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
        raise InputError(f"has {key} {value!r}; expected a number.")
    if is_int and number != int(number):
        raise InputError(f"has {key} {value!r}; expected a whole number where int is true.")
    return float(number)


def _when(conditions: Any, earlier: Mapping[str, Parameter]) -> dict[str, tuple[Value, ...]]:
    if not isinstance(conditions, dict):
        raise InputError(f"has when {conditions!r}; expected {{FLAG: VALUE}}.")
    when: dict[str, tuple[Value, ...]] = {}
    for key, value in conditions.items():
        name = str(key).replace("-", "_")
        if name not in earlier:
            raise InputError(f"depends on {name}; expected a flag that has a line above.")
        choices = earlier[name].choices
        when[name] = _choices(value if isinstance(value, list) else [value])
        if foreign := [choice for choice in when[name] if choice not in choices]:
            raise InputError(
                f"depends on {name} {foreign[0]}; expected one of the choices of {name}{_listed(choices)}."
            )
    return when


def _listed(choices: Iterable[Value]) -> str:
    return f": {', '.join(map(str, choices))}" if choices else ", which has none"
