import re
from pathlib import Path

from acer_tf.system.statuses import Status

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"


def test_every_status_is_documented_and_no_other() -> None:
    section = PAGE.read_text().partition("## Exit statuses")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| ([\d, ]+) \|", section, flags=re.MULTILINE)
    assert [int(number) for cell in cells for number in cell.split(",")] == [status.value for status in Status]
