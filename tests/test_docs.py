import ast
import importlib
import importlib.util
import re
import runpy
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest

from acer_tf import run, run_atari, sweep
from acer_tf.__main__ import COMMANDS
from acer_tf.cli.network_flags import network_arguments
from acer_tf.cli.parsing import Parser, parse
from acer_tf.compare_baselines import CompareBaselines
from acer_tf.configs.presets import preset_names
from acer_tf.convert import Convert
from acer_tf.doctor import Doctor
from acer_tf.enjoy import Enjoy
from acer_tf.envs.__main__ import ListEnvs
from acer_tf.evaluate import Evaluate
from acer_tf.export import Export
from acer_tf.fetch import Fetch
from acer_tf.plot import Plot
from acer_tf.presets import ListPresets
from acer_tf.publish import Publish
from acer_tf.report import RunReport
from acer_tf.reproduce import Reproduce
from acer_tf.suggest import Suggest
from benchmarks.checkpoints import CheckpointCost
from benchmarks.collectors import Collectors
from benchmarks.compression import Compression
from benchmarks.continuous import ContinuousSpeed
from benchmarks.device import Device
from benchmarks.faults.__main__ import Faults
from benchmarks.gallery import Gallery
from benchmarks.growth import Growth
from benchmarks.memory import Memory
from benchmarks.operations import Operations
from benchmarks.original import Original
from benchmarks.original_curves import OriginalCurves
from benchmarks.peers import Peers
from benchmarks.precision import Precision
from benchmarks.scale import Scale
from benchmarks.throughput import Throughput

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
LINK = re.compile(r"\]\(([^)\s]+)\)")
NAME = re.compile(r"\bacer_tf(?:\.\w+)+")
FILE = re.compile(r"`((?:\w+/)+\w+\.\w+)`")
COMMAND = re.compile(r"python -m ((?:acer_tf|benchmarks)\.[\w.]+)")
MODULE_COMMANDS = {"README.md": 1, "commands.md": 1}
"""Pages that name a command's module: README.md to set up, commands.md to say that there are modules."""
COMMAND_LINE = re.compile(
    r"^(?: {4})?(?:\S.* && )?((?:python -m (?:acer_tf|benchmarks)\.|(?<=    )acer ).*)$", re.MULTILINE
)
FLAGS = {
    "acer_tf.evaluate": Evaluate,
    "acer_tf.enjoy": Enjoy,
    "acer_tf.publish": Publish,
    "acer_tf.doctor": Doctor,
    "acer_tf.fetch": Fetch,
    "acer_tf.plot": Plot,
    "acer_tf.report": RunReport,
    "acer_tf.reproduce": Reproduce,
    "acer_tf.convert": Convert,
    "acer_tf.export": Export,
    "acer_tf.compare_baselines": CompareBaselines,
    "acer_tf.envs.__main__": ListEnvs,
    "acer_tf.presets": ListPresets,
    "acer_tf.suggest": Suggest,
    "benchmarks.checkpoints": CheckpointCost,
    "benchmarks.collectors": Collectors,
    "benchmarks.compression": Compression,
    "benchmarks.continuous": ContinuousSpeed,
    "benchmarks.device": Device,
    "benchmarks.faults": Faults,
    "benchmarks.gallery": Gallery,
    "benchmarks.growth": Growth,
    "benchmarks.memory": Memory,
    "benchmarks.operations": Operations,
    "benchmarks.original": Original,
    "benchmarks.original_curves": OriginalCurves,
    "benchmarks.peers": Peers,
    "benchmarks.precision": Precision,
    "benchmarks.scale": Scale,
    "benchmarks.throughput": Throughput,
}
BASELINES = ("acer/", "a2c/", "bench/", "common/")
PERMALINK = re.compile(
    r"\[([\w/.]*)(?::(\d+))?\]\(https://github\.com/openai/baselines/blob/(\w+)/baselines/([\w/]+\.py)(?:#L(\d+))?\)"
)
TESTS = re.compile(r"((?:`test_\w+`(?:, )?)+)\]\(([^)]+\.py)\)")
BOX = re.compile(r"<b>([^<]+)</b>")
FROM_AN_INDEX = re.compile(r"pip install [^\n&]*?(?<![/\w])acer[_-]tf\b.*")


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


def test_lines_of_baselines_are_those_that_are_linked() -> None:
    pages = [ROOT / "docs" / name for name in ("implementation.md", "fidelity.md")]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    links = PERMALINK.findall(text)
    assert len(links) == text.count("](https://github.com/openai/baselines/blob/") > 60
    for named, line, commit, path, linked_line in links:
        assert (commit, line) == ("ea25b9e", linked_line)
        assert named in ("", path)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_tests_that_are_named_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    linked = {(name, page.parent / path) for names, path in TESTS.findall(text) for name in re.findall(r"\w+", names)}
    missing = [name for name, file in linked if f"def {name}(" not in file.read_text(encoding="utf-8")]
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    missing += [name for name in re.findall(r"`(test_\w+)`", text) if f"def {name}(" not in source]
    assert missing == []


def slow_tests() -> set[str]:
    """Names of the tests that a plain run leaves out."""
    mark, found = "pytest.mark.slow", set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        body = ast.parse(path.read_text(encoding="utf-8")).body
        marked = [node for node in body if isinstance(node, ast.Assign) and mark in ast.unparse(node)]
        tests = [node for node in body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
        found |= {test.name for test in tests if marked or mark in map(ast.unparse, test.decorator_list)}
    return found


def test_slow_tests_are_told_from_the_others() -> None:
    slow = slow_tests()
    assert {"test_fifty_kills_during_saves_too", "test_an_atari_run_survives_many_kills"} <= slow
    page = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    for row in re.findall(r"^\|.*\| ([^|]+) \|$", page, re.MULTILINE):
        always, _, rarely = row.partition("slow:")
        assert not slow & set(re.findall(r"`(test_\w+)`", always)), row
        assert slow >= set(re.findall(r"`(test_\w+)`", rarely)), row


def test_the_picture_of_the_layers_is_what_is_enforced() -> None:
    (contract,) = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = [re.findall(r"\w+", layer) for layer in contract["layers"]]
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert [re.findall(r"\w+", names) for names in BOX.findall(page)] == layers


def test_command_lines_are_found() -> None:
    found = {page: len(COMMAND_LINE.findall(page.read_text(encoding="utf-8"))) for page in PAGES}
    assert found[ROOT / "docs" / "old_agents.md"] == 5
    assert sum(found.values()) >= 30


def test_commands_have_one_form() -> None:
    pages = [page for page in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")) if page.name != "CHANGELOG.md"]
    found = {page.name: page.read_text(encoding="utf-8").count("python -m acer_tf.") for page in pages}
    assert {name: count for name, count in found.items() if count} == MODULE_COMMANDS


def module_and_words(line: str) -> tuple[str, list[str]]:
    """The module of a command, and the words after it."""
    words = shlex.split(line, comments=True)
    return (COMMANDS[words[1]][0], words[2:]) if words[0] == "acer" else (words[2], words[3:])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_take_their_flags(page: Path) -> None:
    for line in COMMAND_LINE.findall(page.read_text(encoding="utf-8")):
        if "corridor:" in line:  # imports the reader's own module; test_docs_commands.py runs these
            continue
        module, argv = module_and_words(line)
        if module == "acer_tf.run":
            given, rest = run.PARSER.read(argv)
            network_arguments(rest, run.PARSER.names, given.get("network", "mlp"))
        elif module == "acer_tf.run_atari":
            run_atari.PARSER.read(argv)
        elif module == "acer_tf.sweep":
            given, rest = sweep.PARSER.read(argv)
            sweep.Sweep(**given).planned(rest)
        elif argv or module in FLAGS:
            parse(module, FLAGS[module], argv)
        else:
            assert importlib.util.find_spec(module), line


def names_of(parser: Parser) -> set[str]:
    """All flags of a command; one that is True or False has two."""
    return {name for flag in parser.names for name in (flag, f"no_{flag}")}


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if not page.name.startswith("from-")],  # those name flags of other programs as well
    ids=lambda page: page.name,
)
def test_flags_that_are_named_exist(page: Path) -> None:
    of_networks = {"num_layers", "num_hidden", "nlstm", "layer_norm"}
    parsers = [run.PARSER, run_atari.PARSER, sweep.PARSER, *(Parser("", "", [flags]) for flags in FLAGS.values())]
    known = set().union(*map(names_of, parsers)) | of_networks | {"help"}
    named = set(re.findall(r"`--(\w+)", page.read_text(encoding="utf-8")))
    assert sorted(named - known) == []


def test_all_presets_are_told() -> None:
    page = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
    assert [name for name in preset_names() if f"`{name}`" not in page] == []


def test_all_commands_are_told() -> None:
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert re.findall(r"^## acer (\S+)$", page, re.MULTILINE) == [*COMMANDS]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_exist(page: Path) -> None:
    for module in set(COMMAND.findall(page.read_text(encoding="utf-8"))):
        found = importlib.import_module(module)
        found = importlib.import_module(f"{module}.__main__") if hasattr(found, "__path__") else found
        assert hasattr(found, "main"), module


def python_examples(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)


def run_shortened(code: str, folder: Path) -> dict[str, Any]:
    """Runs an example with fewer steps; returns its variables."""
    script = folder / "example.py"
    script.write_text(re.sub(r"\b(25_000|100_000|1000|100)\b", "20", code), encoding="utf-8")
    return runpy.run_path(str(script))


def test_the_readme_is_a_door() -> None:
    """The first screen sets up, shows, trains and tests; the rest is on other pages."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 130
    first_screen, _, rest = text.partition("\n## ")
    commands = re.findall(r"^    (\S.*)$", first_screen, re.MULTILINE)
    assert commands == [
        'pip install -e ".[video]"',
        "acer enjoy cartpole",
        "acer run --preset CartPole-v1",
        "pip install -e . && python -m acer_tf.run_atari --env BreakoutNoFrameskip-v4 --logdir runs/breakout",
        'pip install -e ".[test]" && python -m pytest',
    ]
    assert "![" in first_screen and "hours" in first_screen and len(python_examples(ROOT / "README.md")) == 1
    pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"measurements.md"}  # behind performance.md
    assert sorted(name for name in pages if f"](docs/{name}" not in rest) == []


def test_the_example_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (example,) = python_examples(ROOT / "README.md")
    assert run_shortened(example, tmp_path)["agent"].num_timesteps == 20 and (tmp_path / "cartpole.zip").exists()


def test_the_examples_in_python_run_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    examples = python_examples(ROOT / "docs" / "python.md")
    of_the_class = "".join(example for example in examples if "acer_tf.learn(" not in example)
    assert of_the_class.count("model.learn(") == 2 and "acer_tf.register(" in of_the_class
    monkeypatch.chdir(tmp_path)
    variables = run_shortened(of_the_class, tmp_path)
    assert variables["model"].num_timesteps == 80 and (tmp_path / "acer_cartpole.zip").exists()
    assert (tmp_path / "best" / "best_model.zip").exists() and variables["mean"] > 0
    assert max(array.shape[-1] for array in variables["agent"].get_parameters().values()) == 512


@pytest.mark.parametrize("folder", ["acer_tf", "benchmarks", "docs", "notebooks", "."])
def test_the_package_is_installed_from_its_repository_only(folder: str) -> None:
    """No package index has it, and whoever registered the name there would be installed."""
    of_text = (".py", ".md", ".ipynb", ".sh", ".yml", ".html")
    files = (ROOT / folder).glob("*.*") if folder == "." else (ROOT / folder).rglob("*.*")
    found = {path: FROM_AN_INDEX.findall(path.read_text(encoding="utf-8")) for path in files if path.suffix in of_text}
    assert found and {path: lines for path, lines in found.items() if lines} == {}
    assert FROM_AN_INDEX.search('pip install "acer_tf[ray]"') and not FROM_AN_INDEX.search(
        "pip install -e /content/acer_tf"
    )


def test_a_name_that_does_not_exist_is_noticed() -> None:
    assert exists("acer_tf.maths.retrace.retrace") and exists("acer_tf.model.Model.act")
    assert not exists("acer_tf.maths.retrace.retrac") and not exists("acer_tf.nothing")
    assert "kept" in anchors(ROOT / "docs" / "fidelity.md")


def test_results_are_reproduced_by_files_of_the_repository() -> None:
    """A page repeats the file that was typed: run it with a path from the root of the repository."""
    pages = {page: page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "results").rglob("README.md")}
    assert len(pages) > 30
    assert not [
        page for page, text in pages.items() if re.search(r"^    python -m acer_tf\.reproduce /", text, re.MULTILINE)
    ]
