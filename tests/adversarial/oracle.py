"""The property, stated without the code that it is held against.

An answer that may be shown is sound if whatever reads like a reference in it, on the page and in
its source, speaks of lines that were retrieved and is given as a citation, and if every citation
is of such lines, byte for byte as they lie on disk. What is tolerated is listed in ``Tolerated``.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from tests.adversarial.reading import VIEWS, brackets, fold, mentioned, opened, shown, told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markdown_it import MarkdownIt

    from knowledge_rag.guardrails.ledger import Cited
    from knowledge_rag.guardrails.verify import Verified
    from tests.adversarial.reading import Bracket, Told
    from tests.adversarial.shelf import Entry, Shelf


Span = tuple[int, int]


class Tolerated(StrEnum):
    """What reads like a reference, may stay, and is no citation; all but code is warned of."""

    CODE = "code"
    """In a code block or span of every view."""
    INDEX = "index"
    """Right behind an identifier, an index or a sign: ``replicas[9]``."""
    LINK = "link"
    """The text of a link: ``[9](https://example.com)``."""
    LABEL = "label"
    """Defines a link, or uses one that was defined: ``[9]: https://example.com``."""


@dataclass(slots=True)
class Finding:
    """What was found in one answer.

    Args:
        violations: sentences, empty for a sound answer.
        tolerated: how often what was.
    """

    violations: list[str] = field(default_factory=list)
    tolerated: Counter[Tolerated] = field(default_factory=Counter)


def judge(verified: Verified, shelf: Shelf, view: MarkdownIt) -> Finding:
    """Hold an answer that may be shown against the evidence, as one view shows it."""
    finding = Finding([*misquoted(verified, shelf)])
    spans = {(w.start, w.end) for w in verified.warnings if w.kind == "unchecked"}
    _check_source(verified, shelf, spans, finding)
    _check_page(verified, shelf, spans, view, finding)
    return finding


def _lines_of(cited: Cited) -> Told:
    return (cited.citation.source_file, cited.citation.start_line, cited.citation.end_line)


def misquoted(verified: Verified, shelf: Shelf) -> Iterator[str]:
    """Tell which citations are not of their entry's lines, byte for byte, or stand elsewhere."""
    for cited in verified.citations:
        lines = _lines_of(cited)
        if not 1 <= cited.number <= len(shelf.entries) or not _is_within(
            lines, shelf.entries[cited.number - 1]
        ):
            yield f"{lines} are no lines of entry {cited.number}"
        elif cited.content.encode() != shelf.on_disk(*lines):
            yield f"{lines} do not have the bytes that lie on disk"
        written = html.unescape(verified.text[cited.start : cited.end]).lstrip("\\")
        said = _said(written, verified.text[: cited.start], shelf)
        if said is None or lines not in said:
            yield f"{written!r} is cited as {lines} and says {said}"


def _said(written: str, before: str, shelf: Shelf) -> list[Told] | None:
    """Return the lines that a reference speaks of, in brackets or not."""
    inner = written
    if fold(written[:1])[0] == "[":
        inner = written[1:-1].rstrip("\\")
        if (said := told(inner, shelf)) is not None:
            return said
    else:
        inner = re.sub(r"[*`~\"']", "", inner)
    inner = re.sub(r"[*_`~\"']*(?::L?|#L)(?=\d)", ", lines ", inner, flags=re.IGNORECASE)
    inner = re.sub(r"(?<=\d)([-\u2013])L(?=\d)", r"\1", inner)
    lines = re.search(
        r"(lines?\s+\d[\d\s\u2010-\u2015to-]*?)\s+(?:of|in|from)\s[^\d]*$", before, re.IGNORECASE
    )
    if lines and not re.search(r"\d[\s)*_`~]*$", inner):
        inner = f"{inner}, {lines[1]}"
    return told(re.sub(r"[,\s]*\((lines?[^()]*)\)$", r", \1", inner, flags=re.IGNORECASE), shelf)


def _is_within(lines: Told, entry: Entry) -> bool:
    return lines[0] == entry.source_file and entry.start <= lines[1] <= lines[2] <= entry.end


def _check_source(verified: Verified, shelf: Shelf, spans: set[Span], finding: Finding) -> None:
    """What reads like a reference in the text itself resolves, is warned of, or is code."""
    text = verified.text
    for found in brackets(text):
        if "\n" in found.inner and (found.start, found.end) not in spans:
            continue  # what a line's end means is for the page to say
        resolved = told(found.inner, shelf) is not None
        if (found.start, found.end) in spans:
            if (why := _why_none(text, found)) is None:
                finding.violations.append(f"{found.inner!r} is unchecked and could be a reference")
            else:
                finding.tolerated[why] += 1
        elif not resolved:
            if _is_code(text, found):
                finding.tolerated[Tolerated.CODE] += 1
            else:
                finding.violations.append(f"the source says {found.like} {found.inner!r}")


def _why_none(text: str, found: Bracket) -> Tolerated | None:
    """Give why a bracket in the text of an answer is no reference, ``None`` if it could be one."""
    before, after = text[: found.start], text[found.end :]
    if re.match(r"\([^()\s]*[^()]*\)", after):
        return Tolerated.LINK
    if re.search(r"[\w$@=/^&)\\]$", before):
        return Tolerated.INDEX
    if fold(before[-1:])[0] == "]":
        return Tolerated.LABEL
    label = re.escape(found.inner)
    if re.search(rf"^[ >\t*+\-\d.)]*\\?\[{label}\\?\]:[ \t]*\S", text, re.MULTILINE):
        return Tolerated.LABEL
    return None


def _is_code(text: str, found: Bracket) -> bool:
    """Whether every view shows one of the brackets as code: there it comes out as another mark."""
    word = "Q7Z0Q"
    for at in (found.start, found.end):
        planted = text[:at] + word + text[at:]
        beside = f"\x7f{word}" if at == found.end else f"{word}\x7f"
        if all(word not in shown(planted, view).replace(beside, "") for view in VIEWS):
            return True
    return False


def _check_page(
    verified: Verified, shelf: Shelf, spans: set[Span], view: MarkdownIt, finding: Finding
) -> None:
    """What reads like a reference on the page is a citation, or was warned of."""
    page = shown(verified.text, view)
    cited = {_lines_of(one) for one in verified.citations}
    warned = Counter(_bare(verified.text[start:end]) for start, end in spans)
    for found in brackets(page):
        said = told(found.inner, shelf)
        if said is not None and cited.issuperset(said):
            continue
        label = _bare(f"[{found.inner}]")
        warned[label] -= 1
        if warned[label] < 0:
            finding.violations.append(f"the page says {found.like} {found.inner!r}")
    for words, lines in mentioned(shown(verified.text, view, code=False)):
        folded = {(fold(name)[0], first, last) for name, first, last in cited}
        if words in verified.text and lines not in folded:
            finding.violations.append(f"the page mentions {words!r}")
    for head in opened(page):
        finding.violations.append(f"the page begins {head!r} and never ends it")


def _bare(bracket: str) -> str:
    folded, _ = fold(html.unescape(bracket))
    return re.sub(r"[\s*_`~]", "", folded)
