"""Defaults of hyper-parameters on the API pages: their values, in place of names such as `Config.gamma`."""

import re
from typing import Any

from griffe import Attribute, Extension, Function

from acer_tf.config import Config

NAME = re.compile(r"Config\.(\w+)")


class Defaults(Extension):
    """Looks the fields of `Config` up."""

    def on_function(self, *, func: Function, **_: Any) -> None:
        """Replaces the defaults of parameters."""
        for parameter in func.parameters:
            parameter.default = _value(parameter.default)

    def on_attribute(self, *, attr: Attribute, **_: Any) -> None:
        """Replaces the defaults of dataclasses' fields."""
        attr.value = _value(attr.value)


def _value(default: Any) -> Any:
    named = NAME.fullmatch(str(default))
    return repr(getattr(Config, named[1])) if named else default
