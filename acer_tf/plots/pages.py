"""Pages from templates: HTML, with escaped values, and Markdown."""

from pathlib import Path
from typing import Any

from acer_tf.errors import require
from acer_tf.system.console import printable


def require_packages() -> None:
    """Checks that a page can be made, before hours of training for it.

    Raises:
        InputError: jinja2, matplotlib or scipy is not installed.
    """
    for module in ("jinja2", "matplotlib", "scipy"):
        require(module, "reports need", "plots")


def render(template: Path, **values: Any) -> str:
    """Fills in a Jinja template, which fails if a value is missing.

    Raises:
        InputError: a package that pages need is not installed.
    """
    require_packages()
    import jinja2

    environment = jinja2.Environment(
        autoescape=template.suffix == ".html",
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        # Macros return marked-up text.
        finalize=lambda value: printable(value) if type(value) is str else value,
    )
    return environment.from_string(template.read_text(encoding="utf-8")).render(**values)
