"""Files are data: nothing in them is run, and a small one takes no large memory."""

import ast
import os
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import acer_tf.storage.arrays
from acer_tf.errors import InputError
from acer_tf.plots.series import read_returns
from acer_tf.storage.agent_file import read_agent
from acer_tf.storage.arrays import load_arrays
from acer_tf.storage.checkpoint import LARGEST_TEXT, read_manifest, step_folder
from tests.agents import make_model
from tests.memory import at_most
from tests.saved import files, forge_manifest, found, make_buffer, make_checkpoints, save, save_some
from tests.zips import write_members

SOURCES = sorted(Path(acer_tf.__file__).parent.rglob("*.py"))
MODULES = {"pickle", "cPickle", "cloudpickle", "dill", "joblib", "shelve", "marshal", "imp"}
CALLS = {"eval", "exec", "__import__", "load_model", "unsafe_load", "full_load", "load_all", "system"}
SAFE_LOADERS = {"safe_load", "safe_dump"}
ALLOWED_WRITERS = {
    "tensorflow_import.py": ["open(wb)"],  # a descriptor
    "study.py": ["open(r+b)"],  # the link was refused before
}
"""Files that are opened for writing, links or not, by the module that does."""


def findings(tree: ast.AST) -> Iterator[str]:
    """Whatever could run what stands in a file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
            yield from (name for name in names if name.split(".")[0] in MODULES)
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            yield from [name] if name in CALLS else []
            owner = getattr(getattr(node.func, "value", None), "id", "")
            yield from [f"yaml.{name}"] if owner == "yaml" and name not in SAFE_LOADERS else []
            yield from (f"{name}({word.arg})" for word in node.keywords if is_unsafe(word))


def is_unsafe(keyword: ast.keyword) -> bool:
    is_off = isinstance(keyword.value, ast.Constant) and keyword.value.value is False
    return (keyword.arg == "allow_pickle" and not is_off) or (keyword.arg == "shell" and not is_off)


def test_one_module_alone_looks_into_pickles_and_it_does_not_run_them() -> None:
    """The reader of old agents: `pickletools` splits a pickle into opcodes (tests/importers/test_pickled.py)."""
    using = [path for path in SOURCES if "pickletools" in path.read_text(encoding="utf-8")]
    assert [path.relative_to(SOURCES[0].parent).as_posix() for path in using] == ["importers/pickled.py"]
    uses = [
        node for node in ast.walk(ast.parse(using[0].read_text(encoding="utf-8"))) if isinstance(node, ast.Attribute)
    ]
    assert {node.attr for node in uses if getattr(node.value, "id", "") == "pickletools"} == {"genops"}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_nothing_that_could_run_a_file_is_used(path: Path) -> None:
    assert list(findings(ast.parse(path.read_text(encoding="utf-8")))) == []


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from cloudpickle import loads",
        "import os, joblib.x",
        "eval('1')",
        "yaml.load(f)",
        "yaml.unsafe_load(f)",
        "np.load(f, allow_pickle=True)",
        "np.load(f, allow_pickle=x)",
        "keras.models.load_model(f)",
        "subprocess.run(f, shell=True)",
        "os.system(f)",
    ],
)
def test_the_search_finds_it(source: str) -> None:
    assert list(findings(ast.parse(source)))


def writers(tree: ast.AST) -> Iterator[str]:
    """Whatever writes to a file where a link may lead: all but new files, and what is opened without links."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        yield from [name] if name in {"write_text", "write_bytes", "touch"} else []
        opener = {word.arg: getattr(word.value, "id", "") for word in node.keywords}.get("opener")
        modes = [word.value for word in (*node.args, *(k.value for k in node.keywords)) if is_mode(word)]
        is_of_path = name in {"open", "fdopen", "FileIO"} and not (node.args and isinstance(node.args[0], ast.Call))
        if is_of_path and opener != "without_links" and any(set("wa+") & set(mode) for mode in modes):
            yield f"{name}({', '.join(modes)})"


def is_mode(word: ast.AST) -> bool:
    is_text = isinstance(word, ast.Constant) and isinstance(word.value, str)
    return is_text and 0 < len(word.value) <= 3 and set(word.value) <= set("rwaxbt+")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_no_file_is_written_through_a_link(path: Path) -> None:
    assert list(writers(ast.parse(path.read_text(encoding="utf-8")))) == ALLOWED_WRITERS.get(path.name, [])


@pytest.mark.parametrize(
    "source", ["path.write_text('')", "p.open('ab')", "open(p, mode='w')", "io.FileIO(p, 'r+', opener=other)"]
)
def test_the_search_for_writers_finds_it(source: str) -> None:
    assert list(writers(ast.parse(source)))


class Evil:
    """Makes a folder when it is unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.trace),)


def pickled(path: Path, trace: Path) -> None:
    path.write_bytes(pickle.dumps(Evil(trace)))


def array_of_objects(path: Path, trace: Path) -> None:
    with path.open("wb") as file:
        np.savez(file, a=np.array([Evil(trace)], dtype=object))


def single_array_of_objects(path: Path, trace: Path) -> None:
    with path.open("wb") as file:
        np.save(file, np.array([Evil(trace)], dtype=object))


def bomb(path: Path, trace: Path) -> None:
    """Some 30 kB that become 32 MiB."""
    with path.open("wb") as file:
        np.savez_compressed(file, a=np.zeros(2**25, np.uint8))


def text(path: Path, trace: Path) -> None:
    path.write_text(f"!!python/object/apply:os.mkdir ['{trace}']\n")


def link(path: Path, trace: Path) -> None:
    path.symlink_to("/etc/passwd")


def endless(path: Path, trace: Path) -> None:
    path.symlink_to("/dev/zero")


KINDS = [pickled, array_of_objects, single_array_of_objects, bomb, text, link, endless]


@pytest.fixture(autouse=True)
def small_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acer_tf.storage.arrays, "LARGEST_COMPRESSED", 2**20)


def assert_refused(read: Callable[[], object], path: Path) -> None:
    with at_most(20e6), pytest.raises(InputError, match=path.name):
        read()


@pytest.mark.parametrize("kind", KINDS)
def test_weights_that_are_something_else_do_nothing(tmp_path: Path, kind: Callable[[Path, Path], None]) -> None:
    path, trace, model = tmp_path / "model.npz", tmp_path / "trace", make_model()
    kind(path, trace)
    assert_refused(lambda: load_arrays(path), path)
    assert_refused(lambda: model.load(path), path)
    assert not trace.exists()


@pytest.mark.parametrize("kind", KINDS)
def test_agents_that_are_something_else_do_nothing(tmp_path: Path, kind: Callable[[Path, Path], None]) -> None:
    path, trace = tmp_path / "agent.zip", tmp_path / "trace"
    kind(path, trace)
    assert_refused(lambda: read_agent(path), path)
    (tmp_path / "member").unlink(missing_ok=True)
    kind(tmp_path / "member", trace)
    if (tmp_path / "member").resolve().is_file():
        path.unlink()
        content = {"data.json": b'{"format": 1}', "parameters.npz": (tmp_path / "member").read_bytes()}
        write_members(path, content)
        assert_refused(lambda: read_agent(path), path)
    assert not trace.exists()


@pytest.mark.parametrize("kind", [pickled, array_of_objects, text])
def test_curves_that_are_something_else_do_nothing(tmp_path: Path, kind: Callable[[Path, Path], None]) -> None:
    path, trace = tmp_path / "episodes.csv", tmp_path / "trace"
    kind(path, trace)
    with pytest.raises(InputError, match=r"episodes\.csv"):
        read_returns(path)
    assert not trace.exists()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["manifest.json", "state.json", "arrays.npz", "replay"])
def test_checkpoints_that_are_something_else_do_nothing(
    tmp_path: Path, kind: Callable[[Path, Path], None], name: str
) -> None:
    folder, trace = tmp_path / "checkpoints", tmp_path / "trace"
    save_some(folder)
    path = step_folder(folder, 2) / name if name != "replay" else list(files(folder / "replay"))[-1]
    path.unlink()
    kind(path, trace)
    checkpoint, problems = found(folder)
    _, lost = make_checkpoints(folder).restore(checkpoint, make_buffer())
    assert (checkpoint.step, len(problems), len(lost)) == ((2, 0, 1) if name == "replay" else (1, 1, 0))
    assert path.name in str([*problems, *lost][0])
    assert not trace.exists()


@pytest.mark.parametrize("kind", [pickled, array_of_objects, bomb])
def test_even_what_a_manifest_vouches_for_is_only_read_as_data(
    tmp_path: Path, kind: Callable[[Path, Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, trace = tmp_path / "checkpoints", tmp_path / "trace"
    save_some(folder)
    monkeypatch.setattr("acer_tf.storage.replay_files.check_whole", lambda path, expected: None)
    kind(list(files(folder / "replay"))[-1], trace)
    checkpoint, _ = found(folder)
    with pytest.raises(InputError):
        make_checkpoints(folder).restore(checkpoint, make_buffer())
    assert not trace.exists()


def test_a_huge_manifest_is_not_read(tmp_path: Path) -> None:
    save_some(tmp_path)
    path = step_folder(tmp_path, 2) / "manifest.json"
    with path.open("r+b") as file:
        file.truncate(LARGEST_TEXT + 1)  # a hole: takes no room
    with at_most(20e6):
        assert found(tmp_path)[0].step == 1


def test_no_file_outside_is_touched_by_a_manifest_that_names_it(tmp_path: Path) -> None:
    """A manifest with a right checksum, whose replay lies elsewhere: refused, and what it names is not deleted."""
    folder, outside = tmp_path / "run" / "checkpoints", tmp_path / "outside.npz"
    save_some(folder)
    outside.write_text("precious")
    checkpoint = read_manifest(step_folder(folder, 2))
    forged = checkpoint.replay[0]._replace(name="../../../outside.npz")
    forge_manifest(checkpoint.path, replay=[forged])
    found_instead, problems = found(folder)
    assert (found_instead.step, len(problems)) == (1, 1)
    assert "'../../../outside.npz' is not the name of a replay file" in str(problems[0])
    save(make_checkpoints(folder, keep=1), 9, make_buffer(1))
    assert outside.read_text() == "precious"
