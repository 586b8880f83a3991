import importlib
import re
import shlex
from pathlib import Path

import pytest

from acer_tf.cli import parse, parse_known
from acer_tf.enjoy import Enjoy
from acer_tf.evaluate import Evaluate
from acer_tf.presets import with_preset
from acer_tf.run import Run, network_arguments
from acer_tf.run_atari import RunAtari
from acer_tf.train import given_preset

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
LINK = re.compile(r"\]\(([^)\s]+)\)")
NAME = re.compile(r"\bacer_tf(?:\.\w+)+")
FILE = re.compile(r"`((?:\w+/)+\w+\.\w+)`")
COMMAND = re.compile(r"python -m ((?:acer_tf|benchmarks)[\w.]*)")
FLAGS = {"acer_tf.run_atari": RunAtari, "acer_tf.evaluate": Evaluate, "acer_tf.enjoy": Enjoy}
BASELINES = ("acer/", "a2c/", "bench/", "common/")


def anchors(page: Path) -> set[str]:
    """What GitHub makes of the headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def exists(name: str) -> bool:
    """Whether a dotted name is a module, or an attribute of one."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


@pytest.mark.parametrize("page", [*PAGES, *NOTEBOOKS], ids=lambda page: page.name)
def test_relative_links_resolve(page: Path) -> None:
    broken = []
    for link in LINK.findall(page.read_text(encoding="utf-8")):
        path, _, anchor = link.partition("#")
        if "://" in path:
            continue
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("page", [*PAGES, *NOTEBOOKS], ids=lambda page: page.name)
def test_names_of_code_exist(page: Path) -> None:
    names = set(NAME.findall(page.read_text(encoding="utf-8")))
    assert sorted(name for name in names if not exists(name)) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_are_named_exist(page: Path) -> None:
    named = {name for name in FILE.findall(page.read_text(encoding="utf-8")) if not name.startswith(BASELINES)}
    places = (ROOT, ROOT / "acer_tf")
    assert sorted(name for name in named if not any((place / name).exists() for place in places)) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_take_their_flags(page: Path) -> None:
    for line in re.findall(
        r"^ {4}(?:\S.* && )?(python -m acer_tf\..*)$", page.read_text(encoding="utf-8"), re.MULTILINE
    ):
        _, _, module, *argv = shlex.split(line, comments=True)
        if module == "acer_tf.run":
            _, rest = parse_known(module, Run, argv, with_preset(Run(), given_preset(argv)))
            network_arguments(rest)
        elif module in FLAGS:
            flags = FLAGS[module]
            default = with_preset(RunAtari(), given_preset(argv)) if flags is RunAtari else None
            parse(module, flags, argv, default)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_exist(page: Path) -> None:
    for module in set(COMMAND.findall(page.read_text(encoding="utf-8"))):
        assert hasattr(importlib.import_module(module), "main"), module


def test_a_name_that_does_not_exist_is_noticed() -> None:
    assert exists("acer_tf.maths.retrace.retrace") and exists("acer_tf.model.Model.act")
    assert not exists("acer_tf.maths.retrace.retrac") and not exists("acer_tf.nothing")
    assert "kept" in anchors(ROOT / "docs" / "fidelity.md")
