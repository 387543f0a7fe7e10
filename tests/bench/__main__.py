"""`python -m tests.bench [NAME …]`: the speed of everything, as ratios against a baseline measured in the same run.

Each bench is a module beside this one with a `run()` that returns rows (what, value, baseline or aim). Timing never decides a
test; these figures are for people.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

NAMES = sorted(file.stem for file in Path(__file__).parent.glob("[a-z]*.py"))


def main(names: list[str]) -> int:
    """Runs the named benches, all without a name."""
    if unknown := set(names) - set(NAMES):
        print(f"there is no bench named {', '.join(sorted(unknown))}; there are: {', '.join(NAMES)}", file=sys.stderr)
        return 2
    console = Console(width=None if sys.stdout.isatty() else 150)
    for name in names or NAMES:
        table = Table(title=name, title_justify="left", box=None)
        for column in ("what", "value", "baseline or aim"):
            table.add_column(column)
        for row in importlib.import_module(f"tests.bench.{name}").run():
            table.add_row(*row)
        console.print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
