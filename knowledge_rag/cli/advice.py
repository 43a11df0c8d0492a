"""Turns a question or an incident into advice: its queries, and the answer while it is written."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Self

from rich.live import Live
from rich.text import Text

from knowledge_rag.cli.advisors import chosen_advisor
from knowledge_rag.cli.backend import connected
from knowledge_rag.cli.inputs import input_name, read_input
from knowledge_rag.cli.terminal import err
from knowledge_rag.core.errors import InvalidRequest, UnreadableResponse
from knowledge_rag.core.neutral import neutralise
from knowledge_rag.core.response import read_json
from knowledge_rag.core.retrieval import MAX_QUERY_CHARACTERS, Query
from knowledge_rag.orchestrator.consultation import advise_on, look_up
from knowledge_rag.orchestrator.incident import Incident, read_place
from knowledge_rag.orchestrator.pagers import MAX_PASTED, SUPPORTED, pasted
from knowledge_rag.orchestrator.queries import build_queries, queries_for
from knowledge_rag.orchestrator.wording import BAR, counted

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from types import TracebackType

    from rich.console import Console

    from knowledge_rag.cli.advisors import AdvisorChoice
    from knowledge_rag.cli.backend import BackendOptions
    from knowledge_rag.orchestrator.consultation import Consultation, Notify
    from knowledge_rag.orchestrator.retrieval import Findings, Retrieval


def incident_of(question: str | None, path: Path | None) -> Incident:
    """Return the file's incident, or the one pasted as the question, or one with the question as title.

    A question with a file becomes the incident's title, unless it has one.

    Raises:
        InvalidRequest: there is neither, or both are JSON; the question is too long; or the file
            can't be read or has nothing to ask about.
    """
    here = Incident.pasted_in(question or "")
    asked = " ".join((question or "").split())
    incident = Incident()
    if path is not None:
        if here is not None:
            raise InvalidRequest("the question is an incident's JSON; leave it out, or --incident")
        incident = Incident.from_state(_read(path))
        if incident.is_empty and not asked:
            name = input_name(str(path))
            raise InvalidRequest(f"{name}: nothing in it to ask about; {SUPPORTED}")
    elif here is not None:
        return here
    elif not asked:
        raise InvalidRequest("ask a question, or name an incident's file with --incident")
    elif len(asked) > MAX_QUERY_CHARACTERS:
        raise InvalidRequest(
            f"the question has {len(asked)} characters, allowed: {MAX_QUERY_CHARACTERS}"
        )
    said = Incident.asked(question or "")
    if path is None:
        return said
    return replace(incident, title=incident.title or said.title)


def placed(incident: Incident, at: str | None) -> Incident:
    """Return an incident with its procedure's place from ``FILE:LINE``.

    Raises:
        InvalidRequest: it has another form, or the incident is a group, whose alerts have a procedure each.
    """
    if at is None:
        return incident
    if incident.is_group:
        count = counted(len(incident.alerts), "alert")
        raise InvalidRequest(
            f"--at names the procedure of one alert, and this is a group of {count}"
        )
    return replace(incident, at=read_place(at))


def queries_of(question: str | None, incident: Incident) -> tuple[Query, ...] | None:
    """Return the question as typed, and the incident's queries; ``None`` for a group, whose alerts have their own."""
    if incident.is_group:
        return None
    asked = " ".join((question or "").split())
    if not asked or Incident.pasted_in(question or "") is not None:
        return build_queries(incident)
    if replace(incident, at=None) == Incident.asked(question or ""):
        return queries_for(asked)
    # of three, those for all known facts and for the reports: the question asks for the rest
    found = build_queries(incident)
    return (Query(asked), *found[:1], *found[1:][-1:])


def consulted(
    question: str | None,
    incident: Incident,
    backend: BackendOptions,
    choice: AdvisorChoice,
    *,
    kb: Path | None = None,
    notify: Notify | None = None,
) -> Consultation:
    """Search a knowledge base, local or deployed, and return the advice."""
    queries = queries_of(question, incident)
    # a knowledge base on this machine hides the user's own AWS settings, which a model needs
    advisor = chosen_advisor(choice) if backend.is_local else None
    with connected(backend, kb) as found:
        advisor = advisor or chosen_advisor(choice, found.agent)
        # retrieval corrects the queries itself, and reports it; procedures are chosen by the title
        incident = replace(incident, title=found.corrected(incident.title))
        findings = asyncio.run(_looked_up(incident, found.retrieval, queries, notify))
    return asyncio.run(advise_on(incident, findings, advisor, notify=notify))


async def _looked_up(
    incident: Incident,
    retrieval: Retrieval,
    queries: tuple[Query, ...] | None,
    notify: Notify | None,
) -> Findings:
    findings = await look_up(incident, retrieval, queries=queries, notify=notify)
    if findings.no_place:
        raise InvalidRequest(f"--at: {findings.no_place}")
    return findings


def _read(path: Path) -> object:
    """Return the JSON in a file, ignoring words or a Markdown fence around it."""
    data = read_input(str(path))
    try:
        return read_json(data)
    except UnreadableResponse as error:
        if (payload := pasted(data[:MAX_PASTED].decode(errors="replace"))) is not None:
            return payload
        raise InvalidRequest(f"{input_name(str(path))}: {error}") from error


_FEWEST_LINES: Final = 4
_REFRESHES_PER_SECOND: Final = 8


class LiveAnswer:
    """Shows the progress of a consultation while the block runs.

    Args:
        console: to show it on; standard error by default.
        by_model: whether a model writes, whose text is shown as it arrives; quoted steps come at once.
    """

    def __init__(self, console: Console | None = None, *, by_model: bool = True) -> None:
        self._console = console or err()
        self._by_model = by_model
        self._progress = ""
        self._written = ""
        self._live = Live(
            console=self._console,
            transient=True,
            refresh_per_second=_REFRESHES_PER_SECOND,
            get_renderable=self._shown,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._written = ""  # stopping draws once more, and the answer follows immediately
        self._live.stop()

    def notify(self, event: Mapping[str, Any]) -> None:
        """Show an event of the consultation; see :mod:`knowledge_rag.orchestrator.consultation`."""
        if self._console.is_terminal and not self._live.is_started:
            self._live.start()  # not earlier: until then others show their progress
        match event["event"]:
            case "searching":
                self._progress = f"searching: {counted(len(event['queries']), 'query')} ..."
            case "found":
                self._progress = f"found {counted(event['sources'], 'passage')}, writing ..."
            case "text" if self._by_model:
                self._written += event["text"]
            case "restarted":
                self._written = ""

    def _shown(self) -> Text:
        room = max(_FEWEST_LINES, self._console.height - 2)
        written = Text("\n".join(map(neutralise, self._written.split("\n"))))
        width = max(1, self._console.width - len(BAR))
        lines = written.wrap(self._console, width)[-room:] if written else []
        barred = [Text.assemble(BAR, line) for line in lines]
        return Text("\n").join([Text(neutralise(self._progress), "dim"), *barred])
