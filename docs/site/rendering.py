"""How the site shows equations and the picture of the layers: without scripts, and nothing is loaded from elsewhere."""

import re
from html import unescape
from typing import Any

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError

EQUATION = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.+?)\\[)\]]</\1>', re.DOTALL)
LOADED = re.compile(r'<(?:script|img|link|iframe)\b[^>]*? (?:src|href)="((?:https?:)?//[^"]+)"')
LAYER = re.compile(r'^ *\w+\["(.+)"\]$', re.MULTILINE)


def on_config(config: MkDocsConfig) -> None:
    """Draws blocks marked `mermaid` with `layers`."""
    fence = {"name": "mermaid", "class": "layers", "format": layers}
    config.mdx_configs["pymdownx.superfences"] = {"custom_fences": [fence]}


def on_page_content(html: str, **_: Any) -> str:
    """Turns equations into MathML, which browsers draw by themselves."""
    return EQUATION.sub(
        lambda match: convert(unescape(match[2]), display="block" if match[1] == "div" else "inline"), html
    )


def on_post_page(output: str, **_: Any) -> None:
    """Checks that a page loads nothing from other hosts.

    Raises:
        PluginError: it does.
    """
    if found := LOADED.search(output):
        raise PluginError(f"a page loads {found[1]}; expected files of the site alone")


def layers(source: str, *_: Any, **__: Any) -> str:
    """Draws a Mermaid flowchart that is a single column as boxes below each other."""
    return "<ol class='layers'>" + "".join(f"<li>{box}</li>" for box in LAYER.findall(source)) + "</ol>"
