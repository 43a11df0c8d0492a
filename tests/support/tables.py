"""Tables as a terminal shows them."""

from __future__ import annotations

from rich.console import Console


def shown(table, width=80):
    console = Console(width=width)
    with console.capture() as captured:
        console.print(table)
    return captured.get()
