"""The console as the user of ``serve`` wants it."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.core.extras import how_to_install
from knowledge_rag.core.neutral import neutralise

if TYPE_CHECKING:
    from pathlib import Path

    from knowledge_rag.console.app import ConsoleSettings
    from knowledge_rag.guardrails.staleness import Corpus
    from knowledge_rag.orchestrator.advisors.advisor import Advisor

REPORTS_FILE: Final = "wrong-citations.jsonl"
"""In the data folder: what the console's readers reported."""

MISSING: Final = how_to_install("console")

_NEEDED: Final = ("markdown_it", "nh3", "sse_starlette")
"""What the console needs beyond the command line itself."""


def is_installed() -> bool:
    """Whether all that the console needs is there."""
    return all(map(find_spec, _NEEDED))


@dataclass(frozen=True, slots=True)
class ConsoleOptions:
    """What was asked for; each ``None`` where it was not.

    Args:
        port: of the console.
        corpus: folder that was ingested.
        repository_url: where documents can be changed, a template.
        model_id: Bedrock model that may write.
        agent: Bedrock agent that may write: id and alias, with a slash between them.
        region: of the two.
    """

    port: int | None = None
    corpus: Path | None = None
    repository_url: str | None = None
    model_id: str | None = None
    agent: str | None = None
    region: str | None = None

    def check_wanted(self) -> None:
        """Refuse options of a console that is not to be.

        Raises:
            InvalidRequest: one of them was given.
        """
        given = (self.port, self.corpus, self.repository_url, self.model_id, self.agent)
        if any(one is not None for one in given):
            raise InvalidRequest(
                "--console-port, --corpus, --repository-url, --model-id and --agent are the console's"
            )

    def settings(self, about: str) -> ConsoleSettings:
        """Give the console's settings.

        Raises:
            InvalidSettings: no address can be made of the repository's template.
        """
        from knowledge_rag.console.app import ConsoleSettings
        from knowledge_rag.console.links import RepositoryLinks
        from knowledge_rag.local.settings import LocalSettings

        repository = RepositoryLinks(self.repository_url) if self.repository_url else None
        reports = LocalSettings.from_environment().data_dir / REPORTS_FILE
        return ConsoleSettings(about, repository, reports)

    def advisors(self, deployed_agent: str = "") -> dict[str, Advisor]:
        """Make those who can write; who was asked for comes first, and so writes by default.

        Args:
            deployed_agent: that may write if none is named, after who was asked for.

        Raises:
            InvalidRequest: no region is set.
            InvalidSettings: no model or agent can have such a name.
        """
        from knowledge_rag.cli.advisors import Writer, chosen_advisor

        writers = [Writer("extractive")]
        if self.agent:
            writers.insert(0, Writer("agent", agent=self.agent, region=self.region))
        elif deployed_agent:
            writers.append(Writer("agent", region=self.region))
        if self.model_id:
            writers.insert(0, Writer("converse", model_id=self.model_id, region=self.region))
        return {one.name: chosen_advisor(one, deployed_agent) for one in writers}

    def files(self, kb_path: Path) -> Corpus | None:
        """Give the folder that was ingested, if it is known: as named, or the sample's.

        Raises:
            UnusableCorpus: it is no folder with documents.
        """
        from knowledge_rag.cli.knowledge_bases import SAMPLE_CORPUS, SAMPLE_FILE
        from knowledge_rag.core.resources import shipped
        from knowledge_rag.local.corpus import CorpusFiles
        from knowledge_rag.local.settings import LocalSettings

        if self.corpus is not None:
            return CorpusFiles(self.corpus)
        if kb_path == LocalSettings.from_environment().data_dir / SAMPLE_FILE:
            return CorpusFiles(shipped(SAMPLE_CORPUS))
        return None


class _Neutral(logging.Formatter):
    """Writes a record in one line, so that nothing in it can steer a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        return neutralise(" ".join(super().format(record).split()))


def log_to_standard_error() -> None:
    """Tell what goes wrong while it serves."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Neutral("%(levelname)s %(name)s: %(message)s"))
    handler.setLevel(logging.WARNING)
    logging.getLogger("knowledge_rag").addHandler(handler)
