"""Pages that the site makes of README.md, notebooks and modules, and links to these files."""

import re
from collections.abc import Iterable
from pathlib import Path
from posixpath import relpath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from nbconvert import MarkdownExporter

ROOT = Path(__file__).parent.parent.parent
PACKAGE = ROOT / "acer_tf"
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
}
LINK = re.compile(r"(!?)\[([^\[\]]+)\]\(([^)\s#]+)(#[^)\s]+)?\)")

page_of: dict[Path, str] = {}
"""The page that shows a file or folder of the repository."""
source_of: dict[str, Path] = {}
"""The file of the repository that a page shows, for its relative links."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages, and notes which file each page shows."""
    for file in files.documentation_pages():
        _note(Path(file.abs_src_path), file.src_uri)
    for name, uri in PAGES.items():
        files.append(File.generated(config, uri, abs_src_path=str(ROOT / name)))
        _note(ROOT / name, uri)
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        _add_notebook(path, files, config)
    modules = [path for path in sorted(PACKAGE.rglob("*.py")) if path.stem != "__main__"]
    for path in modules:
        _add_module(path, files, config)
    files.append(File.generated(config, "reference/index.md", content=_index(modules)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Points links to files of the repository to the pages that show them; of other files, leaves the text alone."""
    uri = page.file.src_uri
    if uri not in source_of:
        return markdown

    def pointed(link: re.Match[str]) -> str:
        image, text, path, anchor = link.groups(default="")
        target = (source_of[uri].parent / path).resolve()
        if target in page_of:
            return f"{image}[{text}]({relpath(page_of[target], Path(uri).parent)}{anchor})"
        if target.is_file() and target.is_relative_to(ROOT / "docs"):  # images and tables, copied beside the pages
            return f"{image}[{text}]({relpath(target.relative_to(ROOT / 'docs'), Path(uri).parent)})"
        return text if target.exists() else link[0]

    return LINK.sub(pointed, markdown)


def _note(path: Path, uri: str) -> None:
    page_of[path] = uri
    source_of[uri] = path


def _add_notebook(path: Path, files: Files, config: MkDocsConfig) -> None:
    """Adds a notebook with its stored outputs, and the images among them."""
    uri = f"notebooks/{path.stem}.md"
    text, resources = MarkdownExporter().from_filename(str(path), {"unique_key": path.stem})
    files.append(File.generated(config, uri, content=text))
    for name, image in resources["outputs"].items():
        files.append(File.generated(config, f"notebooks/{name}", content=image))
    _note(path, uri)


def _add_module(path: Path, files: Files, config: MkDocsConfig) -> None:
    uri = f"reference/{_name(path).replace('.', '/')}{'/index' if path.stem == '__init__' else ''}.md"
    files.append(File.generated(config, uri, content=f"::: {_name(path)}\n"))
    page_of[path] = uri
    if path.stem == "__init__":
        page_of[path.parent] = uri


def _name(path: Path) -> str:
    """Returns a module's dotted name."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _index(modules: Iterable[Path]) -> str:
    lines = [f"* [`{_name(path)}`]({relpath(page_of[path], 'reference')})" for path in modules]
    return "\n".join(["# All modules", "", "Generated from the docstrings.", "", *lines, ""])
