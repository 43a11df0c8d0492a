"""Options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer


class Search(StrEnum):
    """How to search."""

    HYBRID = "hybrid"
    SEMANTIC = "semantic"


def port_option(of: str, default: str) -> Any:  # noqa: ANN401 - as typer has it
    """Give the option for a port on loopback.

    Args:
        of: what listens there.
        default: what is taken without it.
    """
    told = f"Port of {of}; 0 takes a free one.  [default: {default}]"
    return typer.Option(metavar="N", min=0, max=65535, help=told)


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
MarkdownOption = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Markdown to chunk.  [default: the sample runbooks]"),
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
