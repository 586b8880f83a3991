"""The documentation as a site: which pages there are, where their links lead, and how equations are drawn."""

import re
from pathlib import Path
from types import ModuleType
from typing import Any

import griffe
import pytest
from mkdocs.config import load_config
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import Files, get_files
from mkdocs.structure.pages import Page

from acer_tf.config import Config

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def config() -> MkDocsConfig:
    loaded = load_config(str(ROOT / "mkdocs.yml"))
    return loaded.plugins.on_config(loaded)


@pytest.fixture(scope="module")
def files(config: MkDocsConfig) -> Files:
    return config.plugins.on_files(get_files(config), config=config)


@pytest.fixture
def rendering(config: MkDocsConfig) -> ModuleType:
    return config.hooks["docs/site/rendering.py"]


def markdown(uri: str, text: str | None, config: MkDocsConfig, files: Files) -> str:
    """A page's Markdown, or other text in its place, as the site gets it."""
    file = files.get_file_from_path(uri)
    page = Page(None, file, config)
    text = file.content_string if text is None else text
    return config.hooks["docs/site/pages.py"].on_page_markdown(text, page=page, config=config, files=files)


def test_readme_notebooks_and_modules_are_pages(files: Files) -> None:
    uris = set(files.src_uris)
    assert {"index.md", "changelog.md", "notebooks/quick_start.md"} < uris
    assert {"reference/acer_tf/model.md", "reference/acer_tf/agent/index.md", "reference/index.md"} < uris
    assert files.get_file_from_path("reference/acer_tf/model.md").content_string == "::: acer_tf.model\n"


@pytest.mark.parametrize(
    "uri, text, expected",
    [
        ("index.md", "[a](docs/metrics.md#metrics)", "[a](metrics.md#metrics)"),
        ("index.md", "[a](acer_tf/model.py)", "[a](reference/acer_tf/model.md)"),
        ("index.md", "[a](notebooks/quick_start.ipynb)", "[a](notebooks/quick_start.md)"),
        ("architecture.md", "[a](../acer_tf/agent)", "[a](reference/acer_tf/agent/index.md)"),
        ("results/README.md", "[a](../environments.md)", "[a](../environments.md)"),
        ("notebooks/quick_start.md", "[a](../docs/metrics.md)", "[a](../metrics.md)"),
        ("reliability.md", "[`test_a`](../tests/test_model.py)", "`test_a`"),
        ("measurements.md", "![a](growth.png)", "![a](growth.png)"),
        ("index.md", "![a](docs/growth.png)", "![a](growth.png)"),
        ("metrics.md", "[a](nothing.md) [b](https://a.org/x.md)", "[a](nothing.md) [b](https://a.org/x.md)"),
    ],
)
def test_links_lead_to_pages(uri: str, text: str, expected: str, config: MkDocsConfig, files: Files) -> None:
    assert markdown(uri, text, config, files) == expected


def test_no_link_of_the_home_page_leaves_the_site(config: MkDocsConfig, files: Files) -> None:
    links = re.findall(r"\]\(([^)#]+)", markdown("index.md", None, config, files))
    assert len(links) > 20 and all("://" in link or link in files.src_uris for link in links)


def test_equations_become_mathml(rendering: Any) -> None:
    inline, block = r"\(a &lt; b\)", r"\[\tilde Q\]"
    html = f'<p><span class="arithmatex">{inline}</span></p><div class="arithmatex">{block}</div>'
    shown = rendering.on_page_content(html)
    assert shown.count("<math") == 2 and 'display="block"' in shown and "arithmatex" not in shown
    assert "<mi>a</mi><mo>&#x0003C;</mo><mi>b</mi>" in shown


def test_the_picture_of_the_layers_has_a_box_for_each(rendering: Any) -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert rendering.layers(page).count("<li><b>") == page.count("<b>") > 15


def test_a_page_that_loads_something_from_another_host_is_refused(rendering: Any) -> None:
    rendering.on_post_page('<script src="a.js"></script><a href="https://a.org">a</a>')
    for tag in '<script src="https://a.org/a.js">', '<link rel="stylesheet" href="//a.org/a.css">':
        with pytest.raises(PluginError, match=r"loads .*a\.org"):
            rendering.on_post_page(f"<html>{tag}</html>")


def test_it_can_be_read_and_searched_from_disk(config: MkDocsConfig) -> None:
    """Links lead to files, the index is a script, and what stands in for a Worker is a file of the site."""
    assert not config.use_directory_urls and "material/offline" in config.plugins
    (shim,) = config.extra["polyfills"]
    assert (ROOT / "docs" / shim).is_file()


def test_defaults_are_shown_by_their_values() -> None:
    extensions = griffe.load_extensions(str(ROOT / "docs" / "site" / "defaults.py"))
    package = griffe.load("acer_tf", extensions=extensions, search_paths=[ROOT], docstring_parser="google")
    agent = package["agent.acer_class.ACER"]
    shown = {parameter.name: str(parameter.default) for parameter in agent["__init__"].parameters}
    assert shown["gamma"] == repr(Config.gamma) == "0.99"
    assert shown["lr_schedule"] == "'linear'" and shown["buffer_size"] == "5000" and shown["seed"] == "None"
    assert [name for name, default in shown.items() if "." in default and not default[0].isdigit()] == []
    (attributes,) = (section.value for section in agent.docstring.parsed if section.kind.value == "attributes")
    assert {str(attribute.annotation) for attribute in attributes if attribute.name == "seed"} == {"int"}
