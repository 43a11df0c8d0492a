"""``docs/reference/settings.md``: all settings, from the code that reads them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from typer.main import get_command

from infra.settings import SETTINGS, Preset
from knowledge_rag.cli.app import app
from knowledge_rag.cli.inputs import TOKEN_VARIABLE
from knowledge_rag.local import action_group
from knowledge_rag.local import settings as local
from lambdas.chunk_documents import settings as chunking
from lambdas.retrieve_knowledge import settings as retrieval
from tools.reference.code_docs import after_table, argument_docs, columns
from tools.reference.commands import NAME, commands, context
from tools.reference.markdown import cell, code, codes, page, table, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

_FOLDERS: Final = {
    local.KNOWLEDGE_BASE_VARIABLE: ("knowledge_base", "your own, else the sample"),
    local.DATA_DIR_VARIABLE: ("data_dir", "your platform's data folder"),
    local.CACHE_DIR_VARIABLE: ("cache_dir", "your platform's cache folder"),
    local.MODEL_DIR_VARIABLE: ("model_dir", "the installed model"),
}


def settings_page() -> str:
    """Return the page: a deployment's settings, the functions' variables, the command line's."""
    return page(
        "Settings",
        "Everything that can be set: of a deployment, of its functions, of the command line.",
        _deployment(),
        _function("retrieve_knowledge", retrieval),
        _function("chunk_documents", chunking),
        "## `start_ingestion`\n\nNo variables of its own; each event names what to copy and ingest.",
        _command_line(),
    )


def _deployment() -> str:
    rows = [["`preset`", f"`{Preset.DEV}`", "", " or ".join(f"`{each}`" for each in Preset)]]
    for name, (parse, dev, prod) in SETTINGS.items():
        rows.append([code(name), value(dev), value(prod), cell(allowed(parse))])
    return "\n\n".join(
        [
            "## Of a deployment",
            (
                "In `cdk.json`, an object under `knowledge-rag`, or on the command line, "
                "`-c knowledge-rag:<setting>=<value>`. What each does: "
                "[settings of a deployment](../settings.md)."
            ),
            table(["setting", "dev", "prod", "allowed"], rows),
        ]
    )


def value(given: object) -> str:
    """Return a setting's value as it would be written; nothing where it is unset."""
    if given is None or given in ("", ()):
        return ""
    return code(given if isinstance(given, str) else json.dumps(given))


def allowed(parse: Callable[[Any], Any]) -> str:
    """Return what a setting may be, in the words that it is refused with."""
    try:
        parse(object())
    except ValueError as refused:
        return str(refused)
    raise AssertionError(f"{parse} takes anything")


def _function(name: str, module: ModuleType) -> str:
    docstring = module.__doc__ or ""
    rows = [[code(row[0]), cell(row[1]), cell(row[2])] for row in columns(docstring)]
    return "\n\n".join(
        [
            f"## `{name}`",
            "Variables of the function. A deployment sets them from its settings.",
            table(["variable", "value", "default"], rows),
            text(after_table(docstring)),
        ]
    )


def _command_line() -> str:
    docs = argument_docs(local.LocalSettings)
    rows = [
        [code(name), cell(docs[field].partition(";")[0]), default]
        for name, (field, default) in _FOLDERS.items()
    ]
    rows.append(
        [code(TOKEN_VARIABLE), "token for `--gateway`; without one requests are signed", ""]
    )
    rows += _of_options()
    rows.append(["`NO_COLOR`", "if not empty, no colours", ""])
    rows.append(
        ["`COLUMNS`", "how wide the text of `ask` is where standard output is no terminal", ""]
    )
    return "\n\n".join(
        [
            "## Of the command line",
            (
                "Variables of the environment. Region, profile and credentials are read as the AWS "
                "command line reads them. Of its own variables above, the function that runs on this "
                f"machine sees {codes(sorted(action_group._POLICY))} and no other."
            ),
            table(["variable", "value", "default"], rows),
        ]
    )


def _of_options() -> Iterator[list[str]]:
    """Return a row for each variable that stands in for an option."""
    for at in commands(context(NAME, get_command(app), None)):
        for option in at.command.params:
            if option.envvar:
                said = f"stands in for `{option.opts[0]}` of `{at.command_path}`"
                yield [code(option.envvar), said, ""]
