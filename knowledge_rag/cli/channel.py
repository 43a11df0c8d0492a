"""Prints an answer in the form of the place where people read it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from knowledge_rag.channel.markdown import to_note
from knowledge_rag.channel.message import message_of
from knowledge_rag.channel.slack import to_slack
from knowledge_rag.channel.text import to_short, to_text
from knowledge_rag.cli.knowledge_bases import links_to_lines
from knowledge_rag.cli.terminal import print_json
from knowledge_rag.orchestrator.incident import Incident

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from knowledge_rag.channel.message import Message
    from knowledge_rag.orchestrator.consultation import Consultation


def print_message(
    form: str,
    incident: Incident,
    consultation: Consultation,
    kb_path: Path | None,
    repository_url: str | None,
    question: str | None,
) -> None:
    """Print an answer as ``slack``, ``markdown``, ``text`` or ``sms``."""
    links = links_to_lines(kb_path, repository_url)
    title = question if question and Incident.pasted_in(question) is None else ""
    message = message_of(incident, consultation, links, title=title)
    if form == "slack":
        print_json(to_slack(message))
        return
    sys.stdout.write(_WRITERS[form](message).rstrip("\n") + "\n")


_WRITERS: Final[dict[str, Callable[[Message], str]]] = {
    "markdown": to_note,
    "text": to_text,
    "sms": to_short,
}
