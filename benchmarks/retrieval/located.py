"""Locates passages of other chunkers: each must be found at exactly its lines, and changed ones nowhere.

Each passage is located together with all passages of its document, like an answer about it. Then it is
changed so that it must not be located: one character, two lines swapped, a passage of the next document appended.
"""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rich.table import Table

from knowledge_rag.core.chunking import chunk_text
from knowledge_rag.core.documents import read_document
from knowledge_rag.core.errors import UnreadableDocument
from knowledge_rag.core.locating import Original, Originals, RawPassage, locate
from knowledge_rag.core.outcome import DropReason, RetrievalResult
from knowledge_rag.local.corpus import find_documents, read_bytes
from knowledge_rag.local.errors import UnusableCorpus

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path


class Cut(NamedTuple):
    """A passage as another chunker stores it, and its first and last non-blank line."""

    text: str
    lines: tuple[int, int] | None


Cutter = Callable[[str], list[Cut]]

TOKENS: Final = 300
OVERLAP: Final = 60
"""A fifth, the default of Bedrock's fixed-size chunking."""

_TOKEN: Final = re.compile(r"\w+|[^\w\s]")


def fixed(text: str) -> list[Cut]:
    """Cut windows of words and punctuation marks, regardless of lines."""
    spans = [found.span() for found in _TOKEN.finditer(text)]
    starts = range(0, max(len(spans) - OVERLAP, 1), TOKENS - OVERLAP)
    windows = [spans[start : start + TOKENS] for start in starts]
    return [_cut(text, window[0][0], window[-1][1]) for window in windows if window]


def joined(text: str) -> list[Cut]:
    """Cut the same windows and put each on one line."""
    return [Cut(re.sub(r"\s*\n\s*", " ", cut.text), cut.lines) for cut in fixed(text)]


def bare_sections(text: str) -> list[Cut]:
    """Cut at headings; drop the headings, all indentation and blank lines."""
    cuts, lines, fenced = [], [], False
    for number, line in enumerate([*text.split("\n"), "# end"], start=1):
        fenced ^= line.lstrip().startswith("```")
        if fenced or not line.startswith("#"):
            lines += [(number, line.strip())] if line.strip() else []
        elif lines:
            stored = "\n".join(line for _, line in lines)
            cuts.append(Cut(stored, (lines[0][0], lines[-1][0])))
            lines = []
    return cuts


def _langchain_recursive() -> Cutter:
    from langchain_text_splitters import RecursiveCharacterTextSplitter  # noqa: PLC0415

    splitter = RecursiveCharacterTextSplitter(
        chunk_size=1000, chunk_overlap=200, add_start_index=True
    )

    def cut(text: str) -> list[Cut]:
        found = splitter.create_documents([text])
        starts = [document.metadata["start_index"] for document in found]
        return [
            _cut(text, start, start + len(document.page_content))
            for start, document in zip(starts, found, strict=True)
        ]

    return cut


def _langchain_headers() -> Cutter:
    from langchain_text_splitters import MarkdownHeaderTextSplitter  # noqa: PLC0415

    splitter = MarkdownHeaderTextSplitter([("#" * n, f"h{n}") for n in range(1, 7)])
    return lambda text: list(
        _by_lines(text, [document.page_content for document in splitter.split_text(text)])
    )


def _llama_index_nodes() -> Cutter:
    from llama_index.core import Document  # noqa: PLC0415
    from llama_index.core.node_parser import MarkdownNodeParser  # noqa: PLC0415

    parser = MarkdownNodeParser()
    return lambda text: list(
        _in_order(
            text, (n.get_content() for n in parser.get_nodes_from_documents([Document(text=text)]))
        )
    )


def _llama_index_sentences() -> Cutter:
    from llama_index.core import Document  # noqa: PLC0415
    from llama_index.core.node_parser import SentenceSplitter  # noqa: PLC0415

    parser = SentenceSplitter(chunk_size=256, chunk_overlap=40)
    return lambda text: list(
        _in_order(
            text, (n.get_content() for n in parser.get_nodes_from_documents([Document(text=text)]))
        )
    )


OWN: Final[dict[str, Callable[[], Cutter]]] = {
    "fixed, 300 tokens, 20 % overlap": lambda: fixed,
    "the same on one line": lambda: joined,
    "sections without headings, blank lines, indentation": lambda: bare_sections,
}
"""Cutters that need no library."""

PEERS: Final[dict[str, Callable[[], Cutter]]] = {
    "langchain RecursiveCharacter": _langchain_recursive,
    "langchain MarkdownHeader": _langchain_headers,
    "llama-index MarkdownNodeParser": _llama_index_nodes,
    "llama-index SentenceSplitter": _llama_index_sentences,
}
"""Name -> a function that creates the cutter; it raises ImportError if the library isn't installed."""


def _cut(text: str, start: int, end: int) -> Cut:
    passage = text[start:end]
    first = start + len(passage) - len(passage.lstrip())
    last = start + len(passage.rstrip()) - 1
    return Cut(passage, (text.count("\n", 0, first) + 1, text.count("\n", 0, last) + 1))


def _in_order(text: str, passages: Iterable[str]) -> Iterator[Cut]:
    """Find each passage verbatim after the start of the previous one."""
    behind = 0
    for passage in passages:
        start = text.find(passage, behind) if passage.strip() else -1
        if start >= 0:
            yield _cut(text, start, start + len(passage))
            behind = start + 1
        elif passage.strip():
            yield Cut(passage, None)


def _by_lines(text: str, passages: Iterable[str]) -> Iterator[Cut]:
    """Find each passage's lines, stripped like the splitter's, after those of the previous one."""
    lines = [_printable(line) for line in text.split("\n")]
    behind = 0
    for passage in passages:
        wanted = [line for line in map(_printable, passage.split("\n")) if line]
        numbers, at = [], behind
        for line in wanted:
            at = next((n for n in range(at, len(lines)) if lines[n] == line), len(lines))
            numbers.append(at + 1)
            at += 1
        if numbers and at <= len(lines):
            behind = at
        if numbers:
            yield Cut(passage, (numbers[0], numbers[-1]) if at <= len(lines) else None)


@cache
def _printable(line: str) -> str:
    return "".join(filter(str.isprintable, line.strip()))


AIM: Final = 0.995
AIM_MS: Final = 10.0
CACHED: Final = 2_000
"""Documents in the cache while locating is timed."""
PASSAGES: Final = 10
"""Passages of each timed answer."""


@dataclass(frozen=True, slots=True)
class Row:
    """One chunker's figures: passages by outcome, and changed ones that were located.

    ``alone`` counts passages that are also located without the other passages of their document.
    """

    name: str
    passages: int
    located: int
    alone: int
    wrong: int
    ambiguous: int
    unlocated: int
    changed: int
    changed_located: int

    @property
    def share(self) -> float:
        """Share of the passages that were located at exactly their lines, 0..1."""
        return self.located / max(self.passages, 1)


@dataclass(frozen=True, slots=True)
class LocatedReport:
    """A run: the chunkers' rows, those not installed, and milliseconds to locate an answer from the cache."""

    files: int
    rows: tuple[Row, ...]
    missing: tuple[str, ...]
    cached: int
    p50_ms: float
    p95_ms: float
    cache_megabytes: float

    @property
    def reached(self) -> bool:
        """Whether every target is met."""
        exact = all(
            row.share >= AIM and not row.wrong and not row.changed_located for row in self.rows
        )
        return exact and self.p95_ms <= AIM_MS

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return asdict(self) | {"reached": self.reached}


def run_located_bench(
    docs: Path, cutters: Mapping[str, Callable[[], Cutter]] | None = None, *, answers: int = 2_000
) -> LocatedReport:
    """Locate the passages that each chunker cuts from a folder's text documents.

    Args:
        docs: the folder.
        cutters: name -> a function that creates the cutter, by default all.
        answers: number of answers to time.

    Raises:
        UnusableCorpus: the folder has no documents with text.
    """
    originals = _originals(docs)
    rows, missing = [], []
    cuts: dict[str, list[Cut]] = {}
    for name, make in ({**OWN, **PEERS} if cutters is None else cutters).items():
        try:
            cutter = make()
        except ImportError:
            missing.append(name)
            continue
        cuts = {source: cutter(text) for source, (text, _) in originals.items()}
        rows.append(_row(name, originals, cuts))
    cached, times, size = _times(originals, cuts, answers)
    p50, p95 = times[len(times) // 2], times[len(times) * 95 // 100]
    return LocatedReport(
        len(originals), tuple(rows), tuple(missing), cached, round(p50, 3), round(p95, 3), size
    )


def as_table(report: LocatedReport) -> Table:
    """Return a report as a table."""
    table = Table(title=f"passages of {report.files} documents, as others cut them")
    for heading in ("chunker", "passages", "exact", "alone", "wrong", "ambiguous", "unlocated", "changed", "located"):  # fmt: skip
        table.add_column(heading, justify="left" if heading == "chunker" else "right")
    for row in report.rows:
        counts = (row.wrong, row.ambiguous, row.unlocated, row.changed, row.changed_located)
        table.add_row(
            row.name,
            str(row.passages),
            f"{row.share:.2%}",
            f"{row.alone / max(row.passages, 1):.2%}",
            *map(str, counts),
        )
    missing = f" Not installed: {', '.join(report.missing)}." if report.missing else ""
    table.caption = (
        f"{PASSAGES} passages from the cache of {report.cached:,} documents ({report.cache_megabytes:.0f} MB): "
        f"p50 {report.p50_ms:.2f} ms, p95 {report.p95_ms:.2f} ms. Aim: {AIM:.1%} exact, none wrong, no "
        f"changed passage located, p95 {AIM_MS:g} ms: {'reached' if report.reached else 'missed'}.{missing}"
    )
    return table


def _originals(docs: Path) -> dict[str, tuple[str, Original]]:
    originals = {}
    for file in find_documents(docs):
        try:
            document, text = read_document(file.source_file, read_bytes(file))
        except UnreadableDocument:
            continue
        if text.strip():
            chunks = chunk_text(document, text)
            originals[file.source_file] = text, Original(document, text, chunks)
    if not originals:
        raise UnusableCorpus(f"no document with text in {docs}")
    return originals


def _row(
    name: str, originals: Mapping[str, tuple[str, Original]], cuts: Mapping[str, Sequence[Cut]]
) -> Row:
    counts: Counter[str] = Counter()
    for (source, here), others in zip(cuts.items(), islice(cycle(cuts.values()), 1, None), strict=False):  # fmt: skip
        text, original = originals[source]

        def found(passages: Sequence[str], of: Original = original) -> list[RetrievalResult | DropReason]:  # fmt: skip
            raw = [RawPassage(one, "it", str(number)) for number, one in enumerate(passages)]
            return locate(raw, lambda _: of)

        for cut, one in zip(here, found([cut.text for cut in here]), strict=True):
            if isinstance(one, DropReason):
                counts[one.value] += 1
            else:
                lines = one.citation.start_line, one.citation.end_line
                counts["located" if lines == cut.lines else "wrong"] += 1
        counts["alone"] += sum(isinstance(found([cut.text])[0], RetrievalResult) for cut in here)
        changed = [each for cut in here for each in _changes(cut.text, others)]
        counts["changed"] += len(changed)
        # a changed short passage may occur in the document by chance
        counts["changed_located"] += sum(
            isinstance(found([each])[0], RetrievalResult) and not _stands_in(text, each)
            for each in changed
        )
    return Row(
        name,
        sum(map(len, cuts.values())),
        *(counts[key] for key in ("located", "alone", "wrong", "ambiguous", "unlocated", "changed", "changed_located")),
    )  # fmt: skip


def _changes(passage: str, others: Sequence[Cut]) -> Iterator[str]:
    drawn = random.Random(passage)  # noqa: S311 - the same in each run
    solid = [index for index, character in enumerate(passage) if not character.isspace()]
    at = drawn.choice(solid)
    other = drawn.choice([c for c in "aeiou0123456789-" if c != passage[at]])
    yield passage[:at] + other + passage[at + 1 :]
    lines = [line for line in passage.split("\n") if line.strip()]
    pairs = [n for n in range(len(lines) - 1) if lines[n].split() != lines[n + 1].split()]
    if pairs:
        n = drawn.choice(pairs)
        yield "\n".join([*lines[:n], lines[n + 1], lines[n], *lines[n + 2 :]])
    if others:
        yield f"{passage}\n\n{drawn.choice(others).text}"


def _stands_in(text: str, passage: str) -> bool:
    pattern = r"\s+".join(map(re.escape, passage.split()))
    return re.search(pattern, text) is not None


def _times(
    originals: Mapping[str, tuple[str, Original]], cuts: Mapping[str, Sequence[Cut]], answers: int
) -> tuple[int, list[float], float]:
    """Time locating answers; return the cache's documents, the sorted milliseconds, and its megabytes."""
    cache = Originals()
    indexed = list(originals.items())
    for number, (source, (_, original)) in enumerate(islice(cycle(indexed), CACHED)):
        cache.put(f"{number // len(indexed)}/{source}", "1", original)
    size = sum(original.bytes for _, (_, original) in islice(cycle(indexed), CACHED)) / 1e6
    drawn = random.Random(0)  # noqa: S311 - the same in each run
    passages = [(source, cut.text) for source, some in cuts.items() for cut in some]
    times = []
    for _ in range(answers):
        picked = drawn.choices(passages, k=PASSAGES)
        raw = [RawPassage(text, f"0/{source}", str(n)) for n, (source, text) in enumerate(picked)]
        started = time.perf_counter()
        locate(raw, lambda source: (cache.get(source) or ("", None))[1])
        times.append((time.perf_counter() - started) * 1000)
    return CACHED, sorted(times), size
