"""The Dockerfile, read rather than built: a build needs Docker and a network."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "Dockerfile").read_text(encoding="utf-8")


def test_it_runs_the_first_command_of_the_readme() -> None:
    first = re.search(r"&& (python -m .*)$", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    command = re.search(r"^CMD (.*)$", TEXT, flags=re.MULTILINE)
    assert first is not None and command is not None
    assert json.loads(command[1]) == first[1].partition(" --logdir")[0].split()  # a container is a folder of its own


def test_it_copies_what_the_build_reads() -> None:
    copied = {name for line in re.findall(r"^COPY (.*) \S+$", TEXT, flags=re.MULTILINE) for name in line.split()}
    sent = {line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").split() if line.startswith("!")}
    assert copied == sent == {"LICENSE", "README.md", "requirements.txt", "setup.py", "pyproject.toml", "acer_tf"}
    assert all((ROOT / name).exists() for name in copied)


def test_it_installs_without_a_cache_and_trains_as_a_user_of_its_own() -> None:
    assert "pip install --no-cache-dir ." in TEXT
    assert TEXT.index("pip install") < TEXT.index("USER acer") < TEXT.index("CMD ")
    assert "FROM python:3.11-slim\n" in TEXT
