"""Options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Search(StrEnum):
    """How to search."""

    HYBRID = "hybrid"
    SEMANTIC = "semantic"


JsonOption = Annotated[
    bool, typer.Option("--json", help="Print JSON for programs instead of text for people.")
]
KbOption = Annotated[
    Path | None,
    typer.Option(
        "--kb",
        metavar="PATH",
        help="Knowledge base file.  [default: your own, or the sample one until you have one]",
    ),
]
SearchOption = Annotated[
    Search | None,
    typer.Option(help="Vectors and keywords, or vectors alone.  [default: hybrid]"),
]
RegionOption = Annotated[
    str | None,
    typer.Option(metavar="REGION", help="AWS region.  [default: as the AWS command line has it]"),
]
ProfileOption = Annotated[
    str | None,
    typer.Option(metavar="PROFILE", help="Profile of your AWS configuration files."),
]
