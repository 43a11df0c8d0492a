"""Prints what a benchmark gave, and exits as its aim says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from knowledge_rag.cli.exits import ExitCode
from knowledge_rag.cli.terminal import out, print_json

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table


def show(report: dict[str, Any] | Table | Group, *, passed: bool = True) -> None:
    """Print JSON or a table; exit 1 where an aim was missed."""
    if isinstance(report, dict):
        print_json(report)
    else:
        out().print(report)
    if not passed:
        raise typer.Exit(ExitCode.FINDINGS)
