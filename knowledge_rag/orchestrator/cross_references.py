"""Finds the sections that a procedure refers to, on its own page and in other documents."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from posixpath import normpath
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.headings import (
    is_called_remarks,
    is_called_rules,
    is_numbered,
    label_in_series,
    names_only_kind,
    number_of,
)
from knowledge_rag.core.lines import cells_of
from knowledge_rag.orchestrator.governing import LIST_MARK, Governs, forbids, sentences
from knowledge_rag.orchestrator.links import documents_called, fold
from knowledge_rag.orchestrator.naming import CODE_SPAN, NAME, is_called, is_camel_case
from knowledge_rag.orchestrator.outline import Form
from knowledge_rag.orchestrator.procedures import (
    asks_for_something,
)
from knowledge_rag.orchestrator.words import spaced_words, words_of

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Iterator, Sequence

    from knowledge_rag.orchestrator.outline import Outline, Section
    from knowledge_rag.orchestrator.procedures import Procedure


MAX_DEPTH: Final = 2
"""Maximum length of a chain of links inside a document."""
MAX_LINKED: Final = 8
"""Maximum sections that links add."""
MIN_HEADING_WORDS: Final = 3
"""A heading of at least this many words is named wherever it is written out; so is one with its article, "The restart"."""
PAGE_LINK: Final = re.compile(r"\[[^\]\n]*\]\(#([\w.:%-]+)\)")
"""A link to a section of the same page."""
_SET_APART: Final = re.compile(
    r"(?<!\w)(?:[*_]{1,2}|[\"“]|\[)(\w[^*_\"“”\[\]\n]{1,58}\w)(?:[*_]{1,2}|[\"”]|\])(?!\w)"
)
"""Words in quotes, in emphasis or in a link, as a sentence names a heading."""
_BEHIND_ARROW: Final = re.compile(r"(?:→|[-=]>)[ \t]*([^→\n]{2,60}?)[ \t.]*$", re.MULTILINE)
"""The end of a line after an arrow, where a table of cases names the action: "L1 down → Unplanned failover"."""
_STEPS_OF: Final = re.compile(
    r"\b(?:follow|repeat|do|run|perform) (?:all )?the (\w+(?: \w+){0,3}) (?:steps|section|procedure)\b",
    re.IGNORECASE,
)
"""A section named by its steps: "follow the execution steps, but with the old token"."""
_CHAPTER: Final = re.compile(
    r"\b(?:section|chapter|procedure|part) (\d+(?:\.\d+)*)(?![\da-z])", re.IGNORECASE
)
"""A chapter named by its number; "section 6b" is another than 6."""
_NUMBER_ALONE: Final = re.compile(
    r"\b(?:go (?:on )?to|see|as in|continue (?:at|in|with)) (\d{1,2}(?:\.\d+)*|(?-i:[A-Z]))(?=[ \t]*(?:[.,;:)]|[a-z]\)|$))",
    re.IGNORECASE | re.MULTILINE,
)
"""A chapter named by its number or letter alone, unless the section's own steps have it: "go to 3.", "go to C"."""
_DECIMAL_NAMED: Final = re.compile(
    r"(?:\b(?:start|begin|do|follow|perform|prepare|use|by|first try)|[-=]>|→) (\d{1,2}(?:\.\d{1,2})+)(?![\w%]| ?(?:min|s|h|GB|MB|ms|hours?|seconds?|minutes?)\b)",
    re.IGNORECASE,
)
"""A chapter named by several numbers: "under 20 min start 4.2", "-> 4.1.1"."""
_LABEL: Final = re.compile(r"(?<![\w./-])(?:[A-Z]{1,2}\d{1,2}|\d{1,2}[a-z])(?![\w/-])")
"""A chapter's label in a series: "go to K5"."""
_LETTERED: Final = re.compile(r"(?i:part|section|chapter|appendix) ([A-Z])\b|([A-Z])[.):] ")


def _letter_of(heading: str) -> str:
    """Return the letter in a heading's numbering, as in "Part B: lost" and "B. Lost"; ``""`` if it has none."""
    found = _LETTERED.match(heading)
    return (found[1] or found[2]) if found else ""


def label_of(section: Section) -> str:
    """Return a heading's label, ``""`` if none: its series goes on beside it (P1, P2), or begins above it (6, 6b)."""
    label, series = label_in_series(section.heading)
    if not label or section.parent is None:
        return ""
    around = [it.heading for it in (section.parent, *section.parent.children) if it is not section]
    known = {series for it in around for series in (label_in_series(it)[1], number_of(it))}
    return label if series in known else ""


_NEXT: Final = re.compile(
    r"\b(?:(?:next|following) (?:section|part|chapter)|section below)\b|\bsee next(?=\W*$)",
    re.IGNORECASE | re.MULTILINE,
)
_PREVIOUS: Final = re.compile(
    r"\b(?:(?:previous|last) (?:section|part|chapter)|section above)\b", re.IGNORECASE
)


_FILE: Final = r"[\w./-]+\.(?:md|mdx|markdown|txt|rst|adoc|asciidoc|org|html?|ipynb|docx|pdf)"
_OUTSIDE: Final = re.compile(
    rf"(?<![\w./:-])(?P<path>{_FILE})#(?P<anchor>[\w.%-]+)"
    rf"|(?<![\w./:-])(?P<file>{_FILE})[`),:]* \(?(?:(?:section|part|chapter) )?[\"“](?P<words>[^\"”\n]{{3,60}})[\"”]"
    rf"|[*_\"“](?P<said>[^*_\"“”\n]{{3,60}})[*_\"”]+ (?:in|of|on) `?(?P<of>{_FILE})\b"
    rf"|\b(?i:section|chapter) (?P<number>\d+(?:\.\d+)*) (?:in|of|on) `?(?P<on>{_FILE})\b"
    rf"|(?<![\w./:-])(?P<at>{_FILE})[`)]*,? (?i:section|chapter|part) (?P<counted>\d+(?:\.\d+)*|[A-Z]\b)"
    rf"|\(`?(?P<inside>{_FILE})`?,? (?P<bare>[A-Z][^().,;\n]{{2,60}})\)"
)
"""A link to a section of another document: by its anchor, its name, or its number."""
_PAGE: Final = re.compile(rf"\[[^\]\n]*\]\(({_FILE})(#[\w.%-]+)?\)")
"""A link to another document, or to a section of it."""


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A section of another document that a procedure refers to.

    Args:
        files: candidates, from the corpus root and from the document's own folder, likelier first.
        section: its heading, the anchor of that, or its number; ``""`` for the whole page.
        line: the referring line in the procedure's document; 0 if the procedure is nothing but the reference.
    """

    files: tuple[str, ...]
    section: str
    line: int = field(default=0, compare=False)


def links_out(
    outline: Outline, procedure: Procedure, labels: str = "", known: Collection[str] = ()
) -> list[Elsewhere]:
    """Return the sections of other documents that a procedure's steps name, in its order, each once.

    A reference in a branch for another value of a label doesn't count. A link to a whole document counts only if the
    procedure is a single item, and in a sentence or cell that says little else, as in an index of alerts.

    Args:
        outline: of the procedure's page.
        procedure: the one whose lines refer to others.
        labels: of the alert.
        known: documents that retrieval returned; a path means the one that it is the end of.
    """
    numbers = sorted(_followed(procedure) - {*_branches_of_others(outline, procedure, labels)})
    spaced = [it for it in known if " " in it]
    lines = [
        _joined(it, spaced) for it in _without_other_cases([*map(outline.linked, numbers)], labels)
    ]
    folder = procedure.source_file.rpartition("/")[0]

    def elsewhere(path: str, named: str, line: int = 0, *, is_link: bool) -> Iterator[Elsewhere]:
        if path.startswith("/"):  # of a web site
            return
        files = [normpath(path), normpath(f"{folder}/{path}") if folder else normpath(path)]
        if is_link:  # a link's path is relative to the document's own folder
            files.reverse()
        within = [it for it in files if not it.startswith("..")]
        usable = within or [normpath(path).lstrip("./")]  # searched by its name
        called = [it for it in usable if it in known] or documents_called(path, known)
        meant = called or usable
        if meant and procedure.source_file not in (*usable, *called):
            yield Elsewhere(tuple(dict.fromkeys(meant)), named, line)

    found: list[Elsewhere] = []
    own = {*map(label_of, outline.sections())}
    for number, line in zip(numbers, lines, strict=True):
        for path, named, is_link in _named_outside(line, own):
            found += elsewhere(path, named, number, is_link=is_link)
    if len(procedure.items) == 1 and not found:
        said = dict(zip(numbers, lines, strict=True))
        item = procedure.items[0]
        own_lines = [said.get(n, "") for n in range(item.start, item.end + 1)]
        for sentence in (it for line in own_lines for it in sentences(line)):
            if (page := page_referred(sentence)) and not page[1]:
                found += elsewhere(page[0], "", is_link=True)
    return list(dict.fromkeys(found))


def _named_outside(line: str, own: Container[str]) -> Iterator[tuple[str, str, bool]]:
    """Yield the sections of other documents that a line names, each as path, name and whether it is a link."""
    for link in _OUTSIDE.finditer(line):
        at = ("path", "file", "of", "on", "at", "inside")
        called = ("anchor", "words", "said", "number", "counted", "bare")
        path, named = (next(it for key in keys if (it := link[key])) for keys in (at, called))
        yield path, named, bool(link["path"])
    yield from ((path, it, True) for path, it in _labels_outside(line) if it not in own)


def _joined(line: str, spaced: Iterable[str]) -> str:
    """Return a line in which the names of documents have no spaces: they count as one word."""
    for path in spaced:
        for name in (path, path.rpartition("/")[2]):
            line = line.replace(name, name.replace(" ", "_"))
    return line


def _labels_outside(line: str) -> Iterator[tuple[str, str]]:
    """Yield the labels of sections in a line, each with the document that it names: "K7 in kafka.md", "kafka.md, K7 or K9"."""
    for label in _LABEL.finditer(line):
        if behind := _OF_FILE.match(line, label.end()):
            yield behind[1], label[0]
        elif before := re.findall(rf"(?<![\w./:-]){_FILE}", line[: label.start()]):
            yield before[-1], label[0]


_OF_FILE: Final = re.compile(rf" (?:in|of|on) (?:\[[^\]\n]*\]\(|`)?({_FILE})")


def _without_other_cases(lines: Sequence[str], labels: str) -> list[str]:
    """Return lines without the sentences for other values of a label, if one is for the alert's.

    Of "`ceph-core` → page, P5. `ceph-hpc` → other page", the label ``cluster`` decides.
    """
    said = [_SENTENCES.findall(line) for line in lines]
    values = labels.casefold().split()
    cases = {
        it: names
        for it in itertools.chain.from_iterable(said)
        if (head := _CASE.match(it)) and (names := CODE_SPAN.findall(head[1]))
    }
    others = {
        it
        for it, names in cases.items()
        if not any(fnmatchcase(value, name.casefold()) for name in names for value in values)
    }
    left = others if len(others) < len(cases) else set()
    return ["".join(it for it in sentences_ if it not in left) for sentences_ in said]


_SENTENCES: Final = re.compile(r"(?:[^.]|\.(?!\s))+(?:\.\s*)?")
_CASE: Final = re.compile(r"([^→\n]{1,60}?)(?:→|[-=]>)")


def _followed(procedure: Procedure) -> set[int]:
    """Return the lines whose links are followed: those of steps, and of cautions and conditions that govern them."""
    told = {Governs.CAUTION, Governs.CONDITION, Governs.PRECONDITION}
    governing = (it for item in procedure.items for it in item.governing if it.kind in told)
    parts = [(it.start, it.end) for it in procedure.items]
    parts += [(it.start, it.end) for it in governing]
    return {number for start, end in parts for number in range(start, end + 1)}


_BRANCH: Final = re.compile(
    r"(?P<indent> *)[-*+] +[*`]*(?P<names>[\w.-]+(?:(?:, | or | and | / )[\w.-]+)*)[*`]*(?=[,:]|$)"
)
"""An item that begins with names, as a branch for values of a label does: "L1 or L2, one of them"."""


def _branches_of_others(outline: Outline, procedure: Procedure, labels: str) -> Iterator[int]:
    """Yield the lines of items that begin with other names, where exactly one item begins with a label's value."""
    values = {fold(it) for it in labels.split()}
    for item in procedure.items:
        lines = {n: outline.lines.get(n, "") for n in range(item.start, item.end + 1)}
        found = {n: it for n, line in lines.items() if (it := _BRANCH.match(line))}
        for depth in {it["indent"] for it in found.values()}:
            beside = {n: it["names"] for n, it in found.items() if it["indent"] == depth}
            meant = [n for n, it in beside.items() if values & set(map(fold, re.split(r",? ", it)))]
            for start in set(beside) - set(meant) if len(meant) == 1 else ():
                yield start
                for n in range(start + 1, item.end + 1):
                    if lines[n].strip() and not lines[n].startswith(f"{depth} "):
                        break
                    yield n


def page_referred(line: str) -> tuple[str, str] | None:
    """Return path and anchor of the only link to another document in a line, or a row's cell, that says little else."""
    for cell in cells_of(line):
        pages: list[tuple[str, str]] = _PAGE.findall(cell)
        if len(pages) == 1 and len(_PAGE.sub(" ", cell).split()) <= _LITTLE:
            return pages[0]
    return None


def section_called(outline: Outline, name: str) -> Section | None:
    """Return the section that an anchor, a heading's words or its number names.

    One that asks for something comes first, and only such a one is named by a part of its heading. The first words of a heading suffice, from MIN_HEADING_WORDS on: "Lost its token" of "Lost its token, how do I renew
    it?". So do several words at the end of exactly one alert's name, "Disk fills" of PortalDbDiskFills, and words that only
    one heading has.
    """
    headed = [it for it in outline.sections() if it.level and (it.blocks or it.children)]
    sections = [it for it in headed if asks_for_something(outline, it)]
    words = spaced_words(name)
    is_telling = len(words.split()) >= MIN_HEADING_WORDS
    begun = (it for it in sections if is_telling and spaced_words(it.heading).startswith(words))
    called = (
        it
        for it in (*sections, *headed)
        if is_called(it, name)
        or name in (number_of(it.heading), _letter_of(it.heading), label_of(it))
    )
    ended = [
        it
        for it in sections
        if len(words.split()) > 1
        and is_camel_case(it.heading)
        and fold(it.heading).endswith(fold(name))
    ]
    own = words_of([name])
    holding = [it for it in sections if own and own <= words_of([it.heading])]
    only = (it for it in (ended, holding) if len(it) == 1)
    return next(itertools.chain(called, begun, *only), None)


def sections_referred(outline: Outline, text: str) -> list[Section]:
    """Return the page's sections that a text links; or names, by number or set apart, if it says little else."""
    links = PAGE_LINK.findall(text)
    is_short = len(_SET_APART.sub(" ", _CHAPTER.sub(" ", text)).split()) <= _LITTLE
    numbers = _CHAPTER.findall(text) if is_short else []
    names = _SET_APART.findall(text) if is_short else []

    def is_meant(section: Section) -> bool:
        number, heading = number_of(section.heading), spaced_words(section.heading)
        is_named = any(spaced_words(f"{number} {it}") == heading for it in names)
        return is_named or number in numbers or any(is_called(section, it) for it in links)

    return [it for it in outline.sections() if it.level and is_meant(it)]


_LITTLE: Final = 4
"""Maximum words beside a reference in a text that is nothing else: "- `LedgerNoLeader`: see"."""


def linked_sections(
    outline: Outline, main: Section, left: Container[int], *, in_any_case: bool = False
) -> list[Section]:
    """Return the page's sections that a procedure refers to, and those that these refer to; lines left out don't count.

    The further ones have to be needed in any case: a chain of cases ends at its first section. With `in_any_case`, so do
    the first ones.
    """
    found: list[Section] = []
    turn = [main]
    for depth in range(MAX_DEPTH):
        turn = [
            section
            for source in turn
            for section in _named_in(
                outline, source, left=left, in_any_case=in_any_case or depth > 0
            )
            if not main.holds(section) and not section.holds(main) and section not in found
        ]
        found += dict.fromkeys(turn)
    return found[:MAX_LINKED]


def dispatches(outline: Outline, section: Section) -> bool:
    """Whether a row or item of a section's own text refers to a section below it, as a table of cases does."""
    own = {
        number
        for it in section.blocks
        if it.form in (Form.LIST, Form.TABLE)
        for number in range(it.start, it.end + 1)
    }
    others = {*range(section.start, section.end + 1)} - own
    named = _named_in(outline, section, left=others) if own else ()
    return any(it is not section and section.holds(it) for it in named)


def lines_sending(outline: Outline, main: Section, others: Sequence[Section]) -> dict[int, int]:
    """Return the ids of the other sections that one of these sections refers to, each with the first line that does."""
    found: dict[int, int] = {}
    wanted = set(map(id, others))
    for source in (main, *others):
        lines = {*range(source.start, source.end + 1)}
        for number in sorted(lines - _headings(source)):
            if wanted <= found.keys():
                return found
            for it in _named_in(outline, source, left=lines - {number}):
                if id(it) in wanted and it is not source:
                    found.setdefault(id(it), number)
    return found


def only_sent_to(outline: Outline, main: Section, rows: set[int]) -> list[Section]:
    """Return the sections that rows left out name, and nothing else in the procedure does."""
    others = {*range(main.start, main.end + 1)} - rows
    elsewhere = {id(it) for it in _named_in(outline, main, left=rows)} | {id(main)}
    named = [it for it in _named_in(outline, main, left=others) if id(it) not in elsewhere]
    kept = [outline.lines.get(n, "") for n in others - _headings(main)]
    below = [it for it in main.walk() if it is not main and it.level and it not in named]
    sent = [it for it in below if any(_sends_below(outline.lines.get(n, ""), it) for n in rows)]
    return [*named, *(it for it in sent if not any(_sends_below(line, it) for line in kept))]


def not_sent_to(outline: Outline, main: Section, rows: set[int]) -> Iterator[Section]:
    """Yield the subsections that no remaining line refers to, if some rows of the section's table of cases are left out.

    A row identifies its case: subsections that it doesn't refer to are for another one.
    """
    tables = (it for it in main.blocks if it.form is Form.TABLE)
    if rows.isdisjoint(n for it in tables for n in range(it.start, it.end + 1)):
        return
    named = {id(it) for it in _named_in(outline, main, left=rows)}
    for section in main.children:
        is_part = names_only_kind(section.heading) or is_numbered(section.heading)
        is_remark = is_called_rules(section.heading) or is_called_remarks(section.heading)
        is_named = any(id(it) in named for it in section.walk())
        if section.level and not (is_part or is_remark or is_named):
            yield section


def _sends_below(line: str, section: Section) -> bool:
    """Whether a line has a section's name and says that it is below or above: "skip the message, see below".

    The heading's first word right before "(below)" suffices: "run the check (below)".
    """
    called = words_of([section.heading])
    first, *_ = (*spaced_words(section.heading).split(), "")
    is_first = any(it.casefold() == first for it in _WORD_BELOW.findall(line))
    is_all = _BELOW.search(line) is not None and bool(called) and called <= words_of([line])
    return is_first or is_all


_WORD_BELOW: Final = re.compile(r"(\w{4,})(?: \((?:see )?|, see )(?:below|above)\b")


_BELOW: Final = re.compile(
    r"\bsee (?:\w+ )?(?:below|above)\b|\b(?:below|above)(?=[`*_]*(?:[.,;:)]|[ \t]*(?:\||$)))",
    re.IGNORECASE | re.MULTILINE,
)
"""A reference to a section of the same page by its position; "below 5 minutes" is a limit."""


def _named_in(
    outline: Outline, source: Section, *, left: Container[int], in_any_case: bool = False
) -> Iterator[Section]:
    """Yield the sections that a section refers to where it forbids and asks nothing.

    It does by a link, by a heading set apart from the text, or in full; "is anybody re-homing (section 8)?" sends nobody
    there. A heading that is a single word joined from several is named wherever that occurs; a chapter, by its number;
    and a heading whose words are all in a sentence that refers below or above, by that sentence.
    """
    headings = _headings(source)
    lines = [n for n in range(source.start, source.end + 1) if n not in headings and n not in left]
    texts = [_LEAVES.sub("", outline.linked(n)) for n in lines]
    if in_any_case:
        texts = [it for it in texts if not _is_in_a_case(it)]
    told = (it for text in texts for it in sentences(text))
    said = (it for it in told if not it.rstrip().endswith("?"))
    allowed = [it for it in said if not (forbids(it) or (in_any_case and _IN_A_CASE.match(it)))]
    sending = [it for it in allowed if _BELOW.search(it)]
    text = "\n".join(allowed)
    links = (it.removeprefix("user-content-") for it in PAGE_LINK.findall(text))
    written = (it[0] for it in NAME.finditer(text) if is_camel_case(it[0]))
    apart = (*_SET_APART.findall(text), *_BEHIND_ARROW.findall(text), *_STEPS_OF.findall(text))
    names = {fold(it) for it in (*links, *apart, *written)} - {""}
    items = (item for it in source.walk() for block in it.blocks for item in block.items)
    own = {it.mark.strip(".)") for it in items}
    alone = {*_NUMBER_ALONE.findall(text), *_DECIMAL_NAMED.findall(text)}
    numbers = {*_CHAPTER.findall(text), *(alone - own)}
    labels = {*_LABEL.findall(text)} - own
    spelled = spaced_words(text)
    words = spelled.split()
    runs = set(zip(words, words[1:], words[2:], strict=False))
    for section in outline.sections():
        heading = spaced_words(section.heading)
        # look up the first words only: a long page has many headings
        is_named = tuple(heading.split()[:MIN_HEADING_WORDS]) in runs and heading in spelled
        is_named |= heading.startswith(" the ") and heading in spelled
        called = (section.heading, section.anchor, *_shortened(section.heading))
        is_named |= not names.isdisjoint(map(fold, called))
        is_named |= (_letter_of(section.heading) or number_of(section.heading)) in numbers
        is_named |= bool(labels) and label_of(section) in labels
        is_named |= any(_sends_below(it, section) for it in sending)
        if is_named and section.level and asks_for_something(outline, section):
            yield section
    for section in source.walk():
        yield from _beside(outline, section, left)


def _shortened(heading: str) -> Iterator[str]:
    """Yield a heading without the text after a colon, and without brackets at its end."""
    yield heading.partition(":")[0]
    yield _TAIL.sub("", heading)


def _is_in_a_case(line: str) -> bool:
    """Whether what a line refers to is needed in a case only, or not now, since the line forbids something."""
    if _IN_A_CASE.match(line):
        return True
    return any(map(forbids, sentences(LIST_MARK.sub("", line.strip()).replace("*", ""))))


_IN_A_CASE: Final = re.compile(
    r"\s*(?:[-*+] |\|)|.*(?:→|[-=]>)|[^:\n]{2,90}:\s|(?:\s*(?:\d+|[a-z])[.)])?\W*(?:if|when|unless|in case|otherwise|should)\b",
    re.IGNORECASE,
)
"""Text for one case of several: a bullet, a row, one with an arrow, a condition, or the case before a colon."""
_TAIL: Final = re.compile(r"\s*\([^()]*\)\s*$")
_LEAVES: Final = re.compile(
    r"\b(?:(?:do not|don[’']?t|never) (?:go on|continue|proceed)|stop here)\b.*?(?=\.\s|$)",
    re.IGNORECASE,
)
"""Says to leave a procedure in a case that it isn't for: "if several are affected, don't go on here; see 5.2"."""


def _headings(section: Section) -> set[int]:
    """Return the line numbers of the headings in a section."""
    return {n for it in section.walk() if it.level for n in range(it.start, it.heading_end + 1)}


def _beside(outline: Outline, section: Section, left: Container[int]) -> Iterator[Section]:
    """Yield the sections before and after one that its own text refers to: "see the next section"."""
    beside = section.parent.children if section.parent else [section]
    start, end = own_range(section)
    text = "\n".join(outline.lines.get(n, "") for n in range(start, end + 1) if n not in left)
    for step, pattern in ((1, _NEXT), (-1, _PREVIOUS)):
        if pattern.search(text) and 0 <= (place := beside.index(section) + step) < len(beside):
            yield from (it for it in (beside[place],) if asks_for_something(outline, it))


def own_range(section: Section) -> tuple[int, int]:
    """Return the first and last line of a section's heading and own text, without its subsections."""
    last = max((block.end for block in section.blocks), default=section.start)
    return section.start, max(last, section.heading_end)
