"""The files that hostile and honest answers speak of, on disk, and what was retrieved of them."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from knowledge_rag.core.chunking import chunk_text
from knowledge_rag.core.documents import read_document
from knowledge_rag.core.files import shipped
from knowledge_rag.core.outcome import RetrievalResult
from knowledge_rag.guardrails.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

SHIPPED = (
    "runbooks/rds-failover.md",
    "runbooks/rds-replication-lag.md",
    "runbooks/sqs-backlog.md",
    "runbooks/iam-lockout.md",
    "postmortems/2024-01-rds-incident.md",
    "postmortems/2025-02-sqs-backlog.md",
)
AWKWARD = {
    "notes/on call, week 12.md": "runbooks/cost-spike.md",
    "notes/draft [v2].md": "runbooks/alb-5xx.md",
    "notes/rds_failover.md": "runbooks/cloudfront-errors.md",
    "notes/\u00fcberlauf-st\u00f6rung.md": "runbooks/vpc-nat-exhaustion.md",
    "\u624b\u9806/\u969c\u5bb3\u5bfe\u5fdc.md": "runbooks/msk-kafka-lag.md",
    "notes/lines 5-10 and more.md": "runbooks/eks-node-pressure.md",
    "legacy/windows.md": "runbooks/s3-access-denied.md",
    "legacy/separators.txt": "runbooks/acm-certificate-expiry.md",
}
"""Names that are hard to cite, and the shipped file whose text each holds."""
UNRETRIEVED = {
    "runbooks/rds-failover-old.md": "runbooks/lambda-throttling.md",
    "runbooks/sqs_backlog.md": "runbooks/alb-5xx.md",
    "runbooks/rds-failover.txt": "runbooks/cost-spike.md",
    "rds-failover.md": "runbooks/iam-lockout.md",
}
"""Files of the corpus that no query returned a line of; their names are like those of others."""


class Entry(NamedTuple):
    """Lines that were retrieved."""

    source_file: str
    start: int
    end: int

    def human(self) -> str:
        """Give the reference that people read."""
        return f"[Source: {self.source_file}, lines {self.start}-{self.end}]"


@dataclass(frozen=True)
class Shelf:
    """One request's evidence, and the files that it is from.

    Args:
        root: folder of the corpus.
        results: what retrieval returned, in order.
    """

    root: Path
    results: tuple[RetrievalResult, ...]

    @cached_property
    def ledger(self) -> Ledger:
        return Ledger.of(self.results)

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """Entry ``n`` of the ledger at index ``n - 1``, counted here and not by the ledger."""
        cited = (result.citation for result in self.results)
        return tuple(
            dict.fromkeys(Entry(one.source_file, one.start_line, one.end_line) for one in cited)
        )

    @cached_property
    def citable(self) -> tuple[Entry, ...]:
        """The entries whose file can be named between square brackets."""
        return tuple(entry for entry in self.entries if "[" not in entry.source_file)

    @cached_property
    def files(self) -> tuple[str, ...]:
        """The files of the entries, the longest name first."""
        return tuple(sorted({entry.source_file for entry in self.entries}, key=len, reverse=True))

    def holds(self, source_file: str, start: int, end: int) -> bool:
        """Whether one entry holds all these lines."""
        return any(
            entry.source_file == source_file and entry.start <= start <= end <= entry.end
            for entry in self.entries
        )

    @cached_property
    def _lines(self) -> dict[str, list[bytes]]:
        return {
            name: (self.root / name).read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
            for name in self.files
        }

    def on_disk(self, source_file: str, start: int, end: int) -> bytes:
        """Give the bytes of a file's lines, as they lie on disk."""
        return b"\n".join(self._lines[source_file][start - 1 : end])


def write_corpus(root: Path) -> None:
    """Write all files below ``root``."""
    for name, original in [*zip(SHIPPED, SHIPPED, strict=True), *AWKWARD.items(), *UNRETRIEVED.items()]:  # fmt: skip
        data = (shipped("knowledge-corpus") / original).read_bytes()
        if name == "legacy/windows.md":
            data = b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n")
        if name == "legacy/separators.txt":
            data = data.replace(b". ", ".\u2028\u0085 ".encode())
        assert unicodedata.is_normalized("NFC", name)
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)


def make_shelves(root: Path) -> tuple[Shelf, ...]:
    """Give requests with much, some, one and no evidence from the files below ``root``."""
    write_corpus(root)
    chunks = {name: list(_retrieved(root, name)) for name in [*SHIPPED, *AWKWARD]}
    # neighbours, with gaps behind them; one result twice; what several queries would return
    much = [one for held in chunks.values() for one in (*held[1:3], *held[4:5])]
    some = [chunks[name][2] for name in [*SHIPPED[:3], *list(AWKWARD)[:3]]]
    return (
        Shelf(root, tuple(much)),
        Shelf(root, (*some, some[0], chunks[SHIPPED[0]][3])),
        Shelf(root, (chunks[SHIPPED[0]][2],)),
        Shelf(root, ()),
    )


def _retrieved(root: Path, name: str) -> Iterable[RetrievalResult]:
    document, text = read_document(name, (root / name).read_bytes())
    for chunk in chunk_text(document, text):
        yield RetrievalResult(chunk.content, chunk.citation, 0.5)
