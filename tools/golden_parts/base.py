"""Shared by the parts: the folders of a run, stable forms of values, digests."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.metadata import HISTORY_FIELDS
from knowledge_rag.local.settings import LocalSettings
from tests.support import cli
from tests.support.local import CORPUS, PROJECT

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

VOLATILE: Final = frozenset(
    {
        "seconds",
        "embedding_seconds",
        "p50_ms",
        "latency_ms",
        "asked_again",
        "cold_start",
        "timestamp",
        "location",
        "request_id",
        "version",
        "KnowledgeRetrievalLatency",
    }
)
"""Names whose values are never compared: times, durations, ids of a call, versions, lines of our own code.

``asked_again`` counts queries that a busy machine failed. The name itself is recorded.
"""
PLACES: Final = 3
"""Decimals of a recorded float."""
FITS: Final = 110
"""Maximum characters of a line in a recorded file."""
LONG: Final = 80
"""Characters of a longer text that are recorded; a digest represents the whole."""
COMMAND_SECONDS: Final = 1800.0
"""Time limit of a command; the on-call documents take eight minutes to embed."""

_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_WHERE: Final = ("source_file", "start_line", "end_line")
_HASHES: Final = ("text_sha256", "document_sha256")


class Skipped(Exception):  # noqa: N818 - a reason, not an error
    """A part can't run on this machine; the message says why."""


@dataclass(slots=True)
class Recorded:
    """The record of a part.

    Attributes:
        values: by name; JSON.
        skipped: names that this machine can't record, each with the reason.
        notes: lines to print, which are not compared.
    """

    values: dict[str, Any] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Run:
    """One run of some parts.

    Args:
        folder: temporary, for the run's files.
        fast: whether to record only the fast subset.
    """

    folder: Path
    fast: bool = False

    @cached_property
    def command(self) -> Any:
        """``knowledge-rag`` with its own folders; the cache with the model's graph is the user's."""
        cli.SECONDS = COMMAND_SECONDS
        return cli.Cli(self.folder / "data", LocalSettings.from_environment().cache_dir)

    @cached_property
    def sample_ingest(self) -> Any:
        """The run of ``ingest`` that creates the sample knowledge base."""
        return self.command("ingest", CORPUS, "--kb", self.sample, "--json")

    @property
    def sample(self) -> Path:
        """The sample knowledge base, where commands look for it."""
        return self.folder / "data" / "sample.kb"

    @property
    def files(self) -> Path:
        """The commands' input files."""
        return self.folder / "files"

    @property
    def places(self) -> dict[str, str]:
        """Absolute paths, each with the name that replaces it in the record."""
        return {str(self.folder): "<run>", str(PROJECT): "<project>"}


def digest(value: object) -> str:
    """Return twelve hex digits of the sha256 of a value's JSON."""
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:12]


def stable(value: Any, places: Mapping[str, str]) -> Any:
    """Return a value without the parts that differ between runs and machines.

    Values of :data:`VOLATILE` names become ``"<name>"``, a document's Git metadata is left out, floats are rounded
    to :data:`PLACES`, and absolute paths become the names of ``places``. Nothing else is changed.
    """
    if isinstance(value, dict):
        return {
            name: f"<{name}>" if name in VOLATILE else stable(each, places)
            for name, each in value.items()
            if name not in HISTORY_FIELDS
        }
    if isinstance(value, list | tuple):
        return [stable(each, places) for each in value]
    if isinstance(value, float):
        return round(value, PLACES)
    if isinstance(value, str):
        for path, name in places.items():
            value = value.replace(path, name)
    return value


def compact(value: Any) -> Any:
    """Return a value in a short form that still shows every difference.

    A citation becomes ``file:first-last section`` and its hashes, a sha256 its first digits, and a
    long text its beginning and a digest.
    """
    if isinstance(value, dict):
        rest = {name: compact(each) for name, each in value.items()}
        if not all(name in value for name in _WHERE):
            return rest
        where = "{}:{}-{}".format(*(rest.pop(name) for name in _WHERE))
        hashes = [f"#{rest.pop(name)}" for name in _HASHES if name in rest]
        where = " ".join([where, *hashes, rest.pop("section_header", "")]).rstrip()
        return {"where": where, **rest} if rest else where
    if isinstance(value, list):
        return [compact(each) for each in value]
    if isinstance(value, str):
        return _short(value)
    return value


def dumps(value: Any, indent: str = "") -> str:
    """Return JSON with readable diffs: sorted, ASCII, with everything that fits on one line."""
    text = json.dumps(value, sort_keys=True)
    if len(text) + len(indent) <= FITS or not value or not isinstance(value, dict | list):
        return text
    inner = f"{indent} "
    if isinstance(value, list):
        items = [dumps(each, inner) for each in value]
    else:
        items = [f"{json.dumps(name)}: {dumps(value[name], inner)}" for name in sorted(value)]
    opening, closing = "[]" if isinstance(value, list) else "{}"
    return f"{opening}\n{inner}" + f",\n{inner}".join(items) + f"\n{indent}{closing}"


def _short(text: str) -> str:
    if _SHA256.fullmatch(text):
        return text[:12]
    return f"{text[:LONG]}... {digest(text)}" if len(text) > LONG else text
