"""``knowledge-rag skills``."""

from __future__ import annotations

import io
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from knowledge_rag.cli.backend import BackendOptions
from knowledge_rag.cli.exits import ExitCode
from knowledge_rag.cli.options import (
    JsonOption,
    KbOption,
    SearchOption,
    max_tokens_option,
    with_options,
)
from knowledge_rag.core.errors import InvalidRequest

if TYPE_CHECKING:
    from knowledge_rag.channel.skills import Skill, Skills

skills = typer.Typer(no_args_is_help=True)


@skills.callback()
def _group() -> None:
    """Runbooks as Agent Skills (SKILL.md)."""


MaxTokensOption = Annotated[int, max_tokens_option("Print at most N tokens.")]
_LISTED: Final = 2_000
_FOUND: Final = 500
_MADE: Final = (1980, 1, 1, 0, 0, 0)
"""Time of every file in a zip: the earliest possible, so that equal skills have equal bytes."""


@skills.command()
def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new or empty folder.")],
    kb: KbOption = None,
    zipped: Annotated[
        bool, typer.Option("--zip", help="Write NAME.zip for each skill instead of NAME/SKILL.md.")
    ] = False,
    flagged: Annotated[
        bool,
        typer.Option(
            "--flagged", help="Also export skills in which lint found text aimed at a model."
        ),
    ] = False,
    json: JsonOption = False,
) -> None:
    """Write each runbook as a skill.

    A page with sections named after several alerts yields one for each. The files are the same for the same documents.
    Postmortems and superseded pages are not exported. Exits 1 if lint found text aimed at a model in a skill, which is
    then left out.
    """
    from knowledge_rag.cli.terminal import err, out, print_json, print_note
    from knowledge_rag.orchestrator.wording import counted

    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidRequest(f"{folder} isn't an empty folder: export into a new one")
    written: list[Skill] = []
    refused: list[Skill] = []
    for skill in _skills_of(kb):
        if skill.flagged and not flagged:
            refused.append(skill)
            continue
        _write(folder, skill, zipped=zipped)
        written.append(skill)
    if json:
        from knowledge_rag.channel.skills import described

        print_json(
            {"exported": list(map(described, written)), "refused": list(map(described, refused))}
        )
    else:
        for skill in written:
            out().print(f"{skill.name}  {skill.source_file}:{skill.start}-{skill.end}")
        err().print(f"{counted(len(written), 'skill')} in {folder}", style="dim")
    for skill in refused:
        print_note("refused", f"{skill.name}: {skill.flagged[0]}")
    if refused or not written:
        raise typer.Exit(ExitCode.FINDINGS)


@skills.command("list")
def list_(
    kb: KbOption = None, max_tokens: MaxTokensOption = _LISTED, json: JsonOption = False
) -> None:
    """List the skills by name, as many as fit.

    Agents need no list: `skills find` searches all of them.
    """
    from knowledge_rag.channel.skills import listing
    from knowledge_rag.cli.terminal import print_json

    found = listing(_skills_of(kb), max_tokens)
    if json:
        print_json(found.to_dict())
    else:
        sys.stdout.write(found.text)
    if not found.lines:
        raise typer.Exit(ExitCode.FINDINGS)


@skills.command()
@with_options
def find(
    *,
    alert: Annotated[str, typer.Argument(metavar="ALERT", help="The alert's text, or its JSON.")],
    kb: KbOption = None,
    search: SearchOption = None,
    max_tokens: MaxTokensOption = _FOUND,
    json: JsonOption = False,
) -> None:
    """Find the one skill to load for an alert.

    Its procedure follows if it fits. Exits 1 if nothing is documented, or if it is unclear which skill is meant; 3 if
    the knowledge base is unavailable.
    """
    from knowledge_rag.channel.skills import Skills, find_skill, in_words
    from knowledge_rag.cli.advice import consulted, incident_of
    from knowledge_rag.cli.advisors import AdvisorChoice
    from knowledge_rag.cli.evidence import exit_code_of
    from knowledge_rag.cli.knowledge_bases import chosen
    from knowledge_rag.cli.terminal import print_json
    from knowledge_rag.local.knowledge_base import KnowledgeBaseDocuments

    if not alert.strip():
        raise InvalidRequest("ALERT is empty: give the alert's text or its JSON")
    backend = BackendOptions(search=search)
    incident = incident_of(alert, None)
    if incident.is_group:
        raise InvalidRequest(
            f"that is a group of {len(incident.alerts)} alerts: ask for one of them"
        )
    kb = chosen(kb)
    consultation = consulted(alert, incident, backend, AdvisorChoice("extractive"), kb=kb)
    it = find_skill(consultation, Skills(KnowledgeBaseDocuments(kb)))
    if json:
        print_json(it.to_dict())
    else:
        sys.stdout.write(in_words(it, max_tokens))
    raise typer.Exit(exit_code_of(it.status))


def _skills_of(kb: Path | None) -> Skills:
    from knowledge_rag.channel.skills import Skills
    from knowledge_rag.cli.knowledge_bases import chosen
    from knowledge_rag.local.knowledge_base import KnowledgeBaseDocuments

    return Skills(KnowledgeBaseDocuments(chosen(kb)))


def _write(folder: Path, skill: Skill, *, zipped: bool) -> None:
    from knowledge_rag.core.chunks import SKILL_FILE

    if not zipped:
        path = folder / skill.name / SKILL_FILE
        path.parent.mkdir(parents=True)
        path.write_bytes(skill.data)
        return
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(zipfile.ZipInfo(f"{skill.name}/{SKILL_FILE}", _MADE), skill.data)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{skill.name}.zip").write_bytes(packed.getvalue())
