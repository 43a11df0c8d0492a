"""Makes the pictures of the terminal's page: ``python -m tools.terminal_recording``.

They show the real command on a terminal of each width, with the sample corpus and the real model. Rows in the
middle are left out, and the picture says how many.
"""

from __future__ import annotations

import io
import json
import re
import tempfile
from pathlib import Path
from typing import Final

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

from tests.support.cli import Cli
from tools.screenshots import ALERT, FOLDER

WIDTHS: Final = (80, 120)
FIRST_ROWS: Final = 44
"""Number of rows of the alert's answer that are shown."""
FOLLOW_UP: Final = "and how do I undo it?"
_PROMPT: Final = "Enter to end] "
_FACE: Final = re.compile(r"@font-face \{\{.*?\n    \}\}\n", re.DOTALL)
"""Fonts that a browser would download."""
_CURSOR: Final = re.compile(r"\x1b\[\?25[lh]")
_UP: Final = "\x1b[1A"
_ERASE: Final = "\x1b[2K"


def main() -> None:
    """Make a picture for each width."""
    with tempfile.TemporaryDirectory() as folder:
        cli = Cli(Path(folder) / "data", Path(folder) / "cache")
        alert = Path(folder) / "alert.json"
        alert.write_text(json.dumps({"receiver": "oncall", "alerts": [ALERT]}))
        cli("retrieve", FOLLOW_UP)  # creates the sample knowledge base
        for width in WIDTHS:
            (FOLDER / f"terminal-{width}.svg").write_text(
                _picture(_shown(cli, alert, width), width)
            )


def _shown(cli: Cli, alert: Path, width: int) -> str:
    """Return the terminal's output: an alert's answer, a question that refers to it, then the end."""
    with cli.at_keyboard("ask", "--incident", alert, COLUMNS=str(width)) as screen:
        screen.until(_PROMPT)
        screen.type(f"{FOLLOW_UP}\n")
        screen.until("> Rollback")
        screen.until(_PROMPT + FOLLOW_UP)
        screen.type("\x04")
        shown: str = screen.rest()
    return shown


def _picture(shown: str, width: int) -> str:
    rows = [it for row in _lasting(shown) for it in _wrapped(Text.from_ansi(row), width)]
    asked = next(number for number, row in enumerate(rows) if FOLLOW_UP in row.plain)
    command = Text("$ knowledge-rag ask --incident alert.json", "bold")
    between = Text(f"... {asked - 1 - FIRST_ROWS} more rows ...", "dim italic")
    console = Console(file=io.StringIO(), record=True, width=width, force_terminal=True)
    for row in (command, *rows[:FIRST_ROWS], between, *rows[asked - 1 :]):
        console.print(row, soft_wrap=True)
    svg: str = console.export_svg(
        title=f"{width} columns",
        code_format=_FACE.sub("", CONSOLE_SVG_FORMAT),
        unique_id=f"terminal-{width}",
    )
    return svg


def _lasting(shown: str) -> list[str]:
    """Return the rows that stay on the screen, without overwritten progress."""
    rows: list[str] = []
    for row in _CURSOR.sub("", shown).split("\r\n"):
        del rows[len(rows) - row.count(_UP) :]
        rows.append(row.rpartition(_ERASE)[2])
    return rows


def _wrapped(row: Text, width: int) -> list[Text]:
    """Return a row as a terminal wraps it."""
    return list(row.divide(range(width, len(row), width)))


if __name__ == "__main__":
    main()
