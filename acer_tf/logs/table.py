"""The table of statistics on the terminal."""

from collections.abc import Mapping
from numbers import Integral

from acer_tf.logs.logger import Sink
from acer_tf.system.console import say


class TableSink(Sink):
    """Prints each row of statistics as baselines' logger shows it; what replay adds is in the files only."""

    def write(self, values: Mapping[str, float]) -> None:
        """See `Sink`."""
        say(table({name: value for name, value in values.items() if not name.startswith("replay_")}))


def table(values: Mapping[str, float]) -> str:
    """Returns the statistics as a two-column table in their own order; whole numbers are shown in full."""
    cells = {name: f"{value:d}" if isinstance(value, Integral) else f"{value:.3g}" for name, value in values.items()}
    name_width = max(map(len, cells), default=0)
    cell_width = max(map(len, cells.values()), default=0)
    rule = "-" * (name_width + cell_width + 7)
    rows = [f"| {name:{name_width}} | {cell:{cell_width}} |" for name, cell in cells.items()]
    return "\n".join([rule, *rows, rule])
