"""Pages from templates: HTML, in which values are escaped, and Markdown."""

from pathlib import Path
from typing import Any

from acer_tf.errors import InputError
from acer_tf.system.console import printable


def render(template: Path, **values: Any) -> str:
    """Fills in a template of Jinja, which fails without a value that it needs.

    Raises:
        InputError: jinja2 is not installed.
    """
    try:
        import jinja2
    except ImportError as error:
        raise InputError('reports need jinja2; install it with: pip install -e ".[plots]".') from error
    environment = jinja2.Environment(
        autoescape=template.suffix == ".html",
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=lambda value: (
            printable(value) if type(value) is str else value
        ),  # macros return text that is marked up
    )
    return environment.from_string(template.read_text(encoding="utf-8")).render(**values)
