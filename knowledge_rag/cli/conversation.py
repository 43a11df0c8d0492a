"""The dialogue at the terminal after an answer: further questions, a section to choose, a citation to open."""

from __future__ import annotations

import io
import os
import select
import shlex
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from knowledge_rag.cli.advice import LiveAnswer, consulted, incident_of
from knowledge_rag.cli.config import config
from knowledge_rag.cli.evidence import show_changes
from knowledge_rag.cli.recommendation import show_evidence, show_recommendation
from knowledge_rag.cli.terminal import err, out, print_note, print_sentence
from knowledge_rag.core.errors import InvalidRequest, KnowledgeRagError
from knowledge_rag.core.formats import is_extracted
from knowledge_rag.guardrails.staleness import CitedLines
from knowledge_rag.local.corpus import find_documents
from knowledge_rag.local.since_ingest import folder_of, since_ingest
from knowledge_rag.orchestrator.follow_ups import WELCOME, in_context, is_no_question, topic_of
from knowledge_rag.orchestrator.incident import read_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from knowledge_rag.cli.advisors import AdvisorChoice
    from knowledge_rag.cli.backend import BackendOptions
    from knowledge_rag.local.since_ingest import SinceIngest
    from knowledge_rag.orchestrator.consultation import Consultation
    from knowledge_rag.orchestrator.incident import Incident

_PASTED_SECONDS: Final = 0.05
"""Maximum seconds between two lines of one paste."""


_LONGEST_LINE: Final = 4095
"""Bytes of a line that a terminal passes on; it drops the rest."""


def first_question() -> str | None:
    """Prompt for a question after the bare command; return ``None`` without a keyboard.

    Raises:
        InvalidRequest: the terminal has truncated it.
    """
    if not _has_keyboard():
        return None
    said = _typed("Ask a question, or paste an alert [Enter to end] ")
    _check_whole(said)
    return said


def since_asked(kb: Path | None, consultation: Consultation) -> SinceIngest | None:
    """Return the changes in a knowledge base's folder, cited lines of an answer first."""
    if kb is None:
        return None
    shown = consultation.recommendation.shown
    cited = [
        CitedLines.of(result)
        for result in consultation.findings.ledger.results
        if any(citation.overlaps(result.citation) for citation in shown)
    ]
    return since_ingest(kb, cited)


@dataclass(frozen=True, slots=True)
class Conversation:
    """Answers a question at a terminal, then follow-up questions.

    ``kb`` is ``None`` for a deployed one, ``corpus`` for the folder that was ingested; ``fit`` shortens an answer.
    """

    backend: BackendOptions
    choice: AdvisorChoice
    kb: Path | None
    corpus: Path | None
    fit: Callable[[Consultation], Consultation]
    by_model: bool
    explain: bool

    def hold(
        self, question: str | None, asked: Incident, named_kb: Path | None, number: int | None
    ) -> Consultation:
        """Answer until there are no more questions, and return the last answer.

        The sample knowledge base is mentioned once, unless ``named_kb`` is given. A ``number`` of a citation to open
        ends the conversation.
        """
        folder = self.corpus or config().corpus or (folder_of(self.kb) if self.kb else None)
        kb = named_kb
        while True:
            with LiveAnswer(by_model=self.by_model) as live:
                found = consulted(
                    question, asked, self.backend, self.choice, kb=kb, notify=live.notify
                )
            answer = self.fit(found)
            kb = self.kb
            citations = self._show(answer, numbered=folder is not None)
            if number is not None:
                _open(folder, citations, number)
                return answer
            if not _has_keyboard():
                return answer
            opening = partial(_open, folder, citations) if folder and citations else None
            further = _next(answer, question, asked, opening)
            if further is None:
                return answer
            question, asked = further

    def _show(self, answer: Consultation, *, numbered: bool) -> list[str]:
        console = out()
        if self.explain:
            show_evidence(console, answer.findings)
        # numbers of offered sections choose one of them
        numbered = numbered and console.is_terminal and bool(answer.recommendation.guidance)
        citations = show_recommendation(console, answer.recommendation, numbered=numbered)
        if self.kb:
            show_changes(since_asked(self.kb, answer), self.kb)
        sys.stdout.flush()
        return citations


def _has_keyboard() -> bool:
    """Whether somebody can read a prompt and type an answer."""
    return all(it.isatty() for it in (sys.stdin, sys.stdout, sys.stderr))


def _open(folder: Path | None, citations: Sequence[str], number: int) -> None:
    if not 1 <= number <= len(citations):
        have = f"1 to {len(citations)}" if citations else "none"
        raise InvalidRequest(f"no citation {number}: the answer has {have}")
    if folder is None:
        raise InvalidRequest("the documents aren't available: pass their folder with --corpus")
    source_file, line, _ = read_lines(citations[number - 1])
    open_at(path_in(folder, source_file), line)


def _next(
    before: Consultation,
    question: str | None,
    asked: Incident,
    opening: Callable[[int], None] | None,
) -> tuple[str | None, Incident] | None:
    """Return the person's next question and its incident; ``None`` when they end."""
    given = before.recommendation
    offered = () if given.guidance or asked.at or asked.is_group else given.reading
    choices = {str(n): it.citation for n, it in enumerate(offered, start=1)}
    prompt = _prompt(len(choices), can_open=opening is not None)
    err().print()
    while said := _typed(prompt):
        if chosen := choices.get(said):
            return question, replace(asked, at=(chosen.source_file, chosen.end_line))
        try:
            if said.isdecimal():  # an invalid number is prompted for again
                if opening and not choices:
                    opening(int(said))
                continue
            _check_whole(said)
            if is_no_question(said):
                print_sentence(err(), WELCOME, "dim")
                continue
            further = in_context(said, topic_of(before))
            incident = incident_of(further, None)
        except KnowledgeRagError as error:
            print_note("error:", str(error))
            continue
        if further != said:
            print_sentence(err(), f"asked: {further}", "dim")
        return further, incident
    return None


def _prompt(choices: int, *, can_open: bool) -> str:
    if choices:
        numbers = "1" if choices == 1 else f"1-{choices}"
        return f"Show one of them? [{numbers}, Enter for none] "
    number = "a citation's number to open it, " if can_open else ""
    return f"Ask a follow-up [{number}Enter to end] "


def _typed(prompt: str) -> str:
    """Return one typed line, or several pasted ones; ``""`` at the end of the file."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")
    lines: list[str] = []
    with suppress(EOFError):
        lines.append(err().input(prompt, markup=False))
        while _goes_on():
            lines.append(input())
    return "\n".join(lines).strip()


def _check_whole(said: str) -> None:
    if any(len(line.encode(errors="replace")) >= _LONGEST_LINE for line in said.split("\n")):
        raise InvalidRequest(
            f"a terminal cuts lines of more than {_LONGEST_LINE} bytes: save it, and pass the file with --incident"
        )


def _goes_on() -> bool:
    """Whether another pasted line is waiting."""
    with suppress(OSError, ValueError):  # some systems can't poll a keyboard
        return bool(select.select([sys.stdin], [], [], _PASTED_SECONDS)[0])
    return False


VARIABLES: Final = ("VISUAL", "EDITOR", "PAGER")
"""Environment variables with the program; the first that is set wins."""

_PLUS_LINE: Final = ("+{line}", "{file}")
_GOTO: Final = ("--goto", "{file}:{line}")
_SUFFIX: Final = ("{file}:{line}",)
_LINE: Final = ("--line", "{line}", "{file}")
ARGUMENTS: Final = {
    **dict.fromkeys(
        ("vi", "vim", "nvim", "gvim", "view", "emacs", "emacsclient", "nano", "micro", "kak", "joe", "less", "more"),
        _PLUS_LINE,
    ),
    **dict.fromkeys(("code", "code-insiders", "codium", "cursor", "windsurf"), _GOTO),
    **dict.fromkeys(("hx", "helix", "subl", "zed"), _SUFFIX),
    **dict.fromkeys(("idea", "pycharm", "goland", "webstorm"), _LINE),
}  # fmt: skip
"""Programs' options for a line; others get only the file."""


class ProgramFailed(KnowledgeRagError):  # noqa: N818 - named for what it is, as in core.errors
    """The user's editor could not be started, or failed."""


def path_in(folder: Path, source_file: str) -> Path:
    """Return a document's path in a folder; only files that an ingest would read count.

    Raises:
        UnusableCorpus: the folder is missing, or has no documents.
        InvalidRequest: it has no such document, or the document's lines are extracted text.
    """
    found = next((it for it in find_documents(folder) if it.source_file == source_file), None)
    if found is None:
        raise InvalidRequest(
            f"{folder} has no document {source_file}: pass its folder with --corpus"
        )
    if is_extracted(source_file):
        raise InvalidRequest(f"{found.path}: its lines are extracted text; open it yourself")
    return found.path


def opened_by(path: Path, line: int, environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return the command that opens a file at a line.

    Raises:
        InvalidRequest: no program is set, or the value is not a command.
    """
    variable = next((it for it in VARIABLES if environment.get(it, "").strip()), None)
    if variable is None:
        raise InvalidRequest(f"no editor is set: set EDITOR or PAGER to open {path}:{line}")
    try:
        program, *words = shlex.split(environment[variable])
    except ValueError as error:
        raise InvalidRequest(f"{variable}={environment[variable]!r}: {error}") from error
    arguments = ARGUMENTS.get(Path(program).name.removesuffix(".exe"), ("{file}",))
    # an absolute path can't look like an option
    named = {"file": str(path.absolute()), "line": line}
    return [program, *words, *(it.format(**named) for it in arguments)]


def open_at(path: Path, line: int) -> None:
    """Open a file at a line, and wait until the program ends.

    Raises:
        InvalidRequest: no program is set.
        ProgramFailed: it can't be started, or fails.
    """
    command = opened_by(path, line)
    try:
        done = subprocess.run(command, check=False)  # noqa: S603 - the user's own program, no shell
    except OSError as error:
        raise ProgramFailed(f"{command[0]}: {error.strerror or error}") from error
    if done.returncode:
        raise ProgramFailed(f"{command[0]} ended with exit code {done.returncode}")
