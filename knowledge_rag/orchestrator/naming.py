"""Checks whether a heading, line or page has an alert's name: as written, split into words, or with ``<...>`` as a wildcard."""

from __future__ import annotations

import errno
import itertools
import os
import re
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.chunks import split_words
from knowledge_rag.core.headings import Kind, without_number
from knowledge_rag.core.lines import cells_of
from knowledge_rag.orchestrator.links import fold, stem
from knowledge_rag.orchestrator.outline import Form
from knowledge_rag.orchestrator.words import holds, spaced_words, words_of, written_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from knowledge_rag.orchestrator.outline import Outline, Section
    from knowledge_rag.orchestrator.wanted import Place, Wanted


_NAME_LENGTH: Final = 5
"""Minimum letters and digits at which a name inside a longer one isn't a coincidence."""
MIN_NAME_WORDS: Final = 3
"""A heading of at least this many words, all in an alert's name and half of it, is the alert's own."""
_ALERT_LINE: Final = re.compile(r"\b(?:alert|alarm|monitor|trigger)", re.IGNORECASE)
MIN_TITLE_WORDS: Final = 4
"""A heading or symptom of at least this many words, all in an alert's title and half of it, is the alert's own."""
NAME: Final = re.compile(r"[\w.:/-]*<[\w-]{1,20}>[\w.:/-]*|[\w][\w.:/-]*")


AND: Final = re.compile(r", | and | & | / ")
"""Separates the names in a heading or title."""
_NUMBER: Final = re.compile(r"\d+")
_CAMEL_CASE: Final = re.compile(r"(?=(?:[^\s]*[a-z\d_-][A-Z]){2})[A-Z][\w()./-]{7,}")


_IN_BRACKETS: Final = re.compile(r"\(([^()\n]+)\)")
CODE_SPAN: Final = re.compile(r"`([^`\n]+)`")


def is_camel_case(text: str) -> bool:
    """Whether a text is a single word joined from three or more capitalised ones."""
    return _CAMEL_CASE.fullmatch(text) is not None


def same_name(written: str, name: str) -> bool:
    """Whether two names are the same: only letters and digits count, and ``<...>`` is a wildcard."""
    if "<" in written and ">" in written:
        before, _, rest = written.partition("<")
        behind = rest.partition(">")[2]
        if len(fold(before)) < _NAME_LENGTH:
            return False
        return fold(name).startswith(fold(before)) and fold(name).endswith(fold(behind))
    return fold(written) == fold(name) != ""


def _has_name(heading: str, name: str) -> bool:
    """Whether a heading is a name, or contains it as a word; ``<az>`` is a wildcard."""
    folded = fold(name)
    if not folded or not heading:
        return False
    if fold(heading) == folded:
        return True
    if len(folded) >= _NAME_LENGTH and any(
        same_name(found[0], name) for found in NAME.finditer(heading)
    ):
        return True
    # NginxIngressPodDown also heads Default-non-prod-ingress-NginxIngressPodDown
    words, wanted = words_of([heading]), words_of([name])
    if has_other_number(heading, name):
        return False
    if not wanted & STATES:
        words -= STATES  # payroll-db-connections is PayrollDbConnectionsHigh
    is_name = is_camel_case(heading.strip())
    if is_name and fold(heading) in folded:
        return True
    # KubeNodeNotReady isn't KubeNodeReadinessFlapping
    is_part = words == wanted if is_name else words <= wanted
    return is_part and 2 * len(words) >= max(2 * MIN_NAME_WORDS, len(wanted))


def has_other_number(heading: str, name: str) -> bool:
    """Whether a heading has a number that an alert's name lacks: KafkaBroker1Down isn't KafkaBroker2Down."""
    return not set(_NUMBER.findall(heading)) <= set(_NUMBER.findall(name))


STATES: Final = words_of([
    "high", "low", "down", "full", "slow", "growing", "stuck", "missing",
    "unhealthy", "unavailable", "unreachable", "degraded",
])  # fmt: skip
"""Words for the state that an alert is about; a heading may have one that the alert's name lacks."""


def is_headed(section: Section, names: Sequence[str]) -> bool:
    """Whether a heading is one of an alert's names, or contains it as a word."""
    return any(_has_name(section.heading, name) for name in names)


def tells(written: str, title: str) -> bool:
    """Whether a text is an alert's title without its values: "-80 freezer above -65" of "-80 freezer F09 above -65".

    All its words occur in the title in the same order, and they are at least MIN_TITLE_WORDS and half of the title.
    A single capital letter stands for any word: "Drive N media error".
    """
    words, told = (_TOLD.findall(it) for it in (written, title))
    if len(words) < MIN_TITLE_WORDS or not len(told) / 2 <= len(words) <= len(told):
        return False
    left = iter(told)
    return all(any(_is_told(word, it) for it in left) for word in words)


def _is_told(word: str, told: str) -> bool:
    is_placeholder = len(word) == 1 and word.isupper()
    return is_placeholder or word.casefold() == told.casefold()


_TOLD: Final = re.compile(r"[^\W_]+(?:[_.-][^\W_]+)*%?")


def is_exactly(section: Section, names: Sequence[str]) -> bool:
    """Whether a heading is one of an alert's names and nothing else."""
    return any(fold(section.heading) == fold(name) for name in names)


def is_called(section: Section, anchor: str) -> bool:
    """Whether a link's anchor names a section's heading, one of several names in it, or the anchor that it sets."""
    wanted = fold(anchor.removeprefix("user-content-"))
    names = (section.heading, *section.heading.split(" / "), section.anchor)
    return bool(wanted) and wanted in map(fold, names)


def names_alert(line: str, name: str) -> bool:
    """Whether a line about alerts contains a name: as one of its words, or verbatim if the name has several words."""
    if not _ALERT_LINE.search(line):
        return False
    if " " in name.strip():
        return (
            re.search(rf"(?<!\w){re.escape(name.strip())}(?!\w)", line, re.IGNORECASE) is not None
        )
    return any(same_name(found[0], name) for found in NAME.finditer(line))


def is_filed(outline: Outline, name: str) -> bool:
    """Whether a page is filed under an alert's name: front matter, title or file name."""
    return is_under(name, outline.alerts, outline.title, outline.source_file)


def is_under(name: str, alerts: Iterable[str], title: str, source_file: str) -> bool:
    """Whether a page's ``alerts``, title, one of several names in the title, or file name is an alert's name.

    Never for a name without letters or digits.
    """
    called = (*alerts, title, *AND.split(title), stem(source_file))
    return bool(fold(name)) and any(same_name(it, name) for it in called)


def is_filed_alone(outline: Outline, wanted: Wanted) -> bool:
    """Whether a page is filed under the alert's name, and its front matter lists no other; its title may have several."""
    named = any(is_filed(outline, name) for name in alerts_named(wanted))
    return named and len(outline.alerts) <= 1


def alerts_named(wanted: Wanted) -> list[str]:
    """Return the alert's names; for a question, only those with an inner capital, since "exam-db" may be a system too."""
    return [it for it in wanted.names if wanted.is_alert or _CAPITAL_WITHIN.search(it)]


_CAPITAL_WITHIN: Final = re.compile(r"[a-z][A-Z]")


def is_listed(place: Place, name: str) -> bool:
    """Whether a line about alerts in a section's own text contains the name, or a row or the section begins with it."""
    return any(
        names_alert(line, name) or (begins and _begins_with(line, name))
        for line, begins in _lines_naming(place.outline, place.section)
    )


def listed_names(outline: Outline, section: Section) -> list[str]:
    """Return the alert names in a section's heading and on the lines that list it under them (:func:`is_listed`)."""
    found = [it[0] for it in NAME.finditer(section.heading) if is_camel_case(it[0])]
    for line, begins in _lines_naming(outline, section):
        label, _, named = line.partition(":")
        words = [it[0] for it in NAME.finditer(line) if is_camel_case(it[0])]
        if _ALERT_LINE.search(label):  # "alerts: Gateway5xx" and "`Gateway5xx`", of two words
            words += filter(_JOINED.search, (it.strip(" *_`.") for it in _LIST.split(named)))
        cell = CODE_SPAN.match(cells_of(line)[0].strip()) if begins else None
        words += [cell[1]] if cell and _JOINED.search(cell[1]) else []
        found += [
            it for it in words if names_alert(line, it) or (begins and _begins_with(line, it))
        ]
    return list(dict.fromkeys(it.rstrip(".:/-") for it in found))


_JOINED: Final = re.compile(r"^\w*[a-z\d][A-Z]\w*$")
_LIST: Final = re.compile(r"[,;]|\band\b")


def _lines_naming(outline: Outline, section: Section) -> Iterator[tuple[str, bool]]:
    """Yield the lines of a section's own text that may name alerts, and whether each may begin with one: rows, and the first.

    An item that is just a name is about alerts if its heading is: "Covered alerts".
    """
    # a list of symptoms names the alarms for them; a list of steps may name any other alert
    steps = (Form.CODE,) if section.kind is Kind.BACKGROUND else (Form.CODE, Form.LIST)
    for place, block in enumerate(section.blocks):
        if block.form not in steps:
            for number in range(block.start, block.end + 1):
                begins = block.form is Form.TABLE or (place == 0 and number == block.start)
                yield outline.lines.get(number, ""), begins
        if block.form is Form.LIST and _ALERT_LINE.search(section.heading):
            for item in block.items:
                said = outline.lines.get(item.start, "").split()
                if len(said) == _MARK_AND_NAME:
                    yield f"{section.heading}: {said[1]}", False


_MARK_AND_NAME: Final = 2
"""Words of a list item that is just a name."""


def is_told(place: Place, titles: Sequence[str]) -> bool:
    """Whether a section's heading, or the first cell of a row of its own tables, is an alert's title without its values.

    A cell may list several symptoms: "Pages are slow, `p95` above 800 ms".
    """
    outline, section = place.outline, place.section
    tables = (it for it in section.blocks if it.form is Form.TABLE)
    rows = (outline.lines.get(n, "") for it in tables for n in range(it.start + 2, it.end + 1))
    symptoms = (it for row in rows for it in _SYMPTOMS.split(cells_of(row)[0]))
    return any(tells(it, title) for title in titles for it in (section.heading, *symptoms))


_SYMPTOMS: Final = re.compile(r"[,;]|\bor\b|<br ?/?>")


def told_in_all(ranked: Sequence[Place], wanted: Wanted) -> list[Place]:
    """Return the places whose heading, with its page's name, has all words of an alert's name, fewest other words first.

    "Disk nearly full" of cassandra.md fits CassandraDiskHigh: the heading has words that the page's name lacks, the page's
    name has the beginning of the alert's name as one word, and neither names another alert or another number.
    """
    (name, *_) = (*wanted.names, "")
    words = words_of([name]) - STATES
    if not wanted.is_alert or len(words) < _MIN_TOLD or " " in name:
        return []
    told: list[tuple[int, Place]] = []
    for it in ranked:
        outline, heading = it.outline, it.section.heading
        called = [outline.title, stem(outline.source_file), *it.section.path[:-1]]
        own, page = written_words([heading]), written_words(called)
        thing = fold(_before(name, own))
        is_told = (
            all(it in own or holds(page, it, _SHORT) for it in words)
            and bool(own & words - page)
            and thing in fold(" ".join(called))
        )
        others = [one for one in listed_names(outline, it.section) if not same_name(one, name)]
        if (
            it.section.level
            and is_told
            and not (others or has_other_number(without_number(heading), name))
        ):
            told.append((len(own - words - STATES), it))
    return [it for _, it in sorted(told, key=itemgetter(0))]


def _before(name: str, words: set[str]) -> str:
    """Return the part of a name before the first of some words: the thing that it is about."""
    parts = split_words(name).split()
    return "".join(itertools.takewhile(lambda it: not words_of([it]) <= words, parts))


_SHORT: Final = 4
"""Minimum letters of a short form in an alert's name: "Kube" for the Kubernetes of the page's name."""
_MIN_TOLD: Final = 2
"""Minimum words of an alert's name, without those for its state, that a page and a heading can have together."""


def is_mentioned(place: Place, name: str) -> bool:
    """Whether a paragraph of a section's own text contains the name as code."""
    outline = place.outline
    texts = (
        outline.text(it.start, it.end) for it in place.section.blocks if it.form is Form.PARAGRAPH
    )
    return any(same_name(code, name) for text in texts for code in CODE_SPAN.findall(text))


def _begins_with(row: str, name: str) -> bool:
    """Whether a line or row begins with a name as code ("For `X`, ..." too) and says more than where to look."""
    text = _FOR.sub("", " ".join(cells_of(row)).strip())
    first = CODE_SPAN.match(text)
    says = first is not None and len(text[first.end() :].split()) >= _SAYING
    return first is not None and same_name(first[1], name) and says


_FOR: Final = re.compile(r"^(?:for|on|at|after)\s+(?=`)", re.IGNORECASE)
_SAYING: Final = 4
"""Minimum words of a row that says what to do; "section 3b" is only a reference."""


def is_of_other_service(outline: Outline, wanted: Wanted) -> bool:
    """Whether a page's front matter and an incident name different services."""
    its, service = fold(outline.service), fold(wanted.service)
    return bool(its and service) and not (its in service or service in its)


CODE_OF_ERROR: Final = re.compile(
    r"(?<![\w-])(?:[A-Z]{1,8}-?\d{2,}|0x[\dA-Fa-f]+|(?=[A-Z]*\d)(?=\d*[A-Z])[A-Z\d]{4,})(?![\w-])"
)
"""An error code, as programs print it: V-307, R12, DS0E, 0x0000000E."""
NUMBERED_KIND: Final = re.compile(r"(?<![\w-])([a-z]{1,8})[ -]?(\d{2,})(?![\w-])")
"""A code or name that ends in a number, in lower case: ora-01653, gate-07, xid 79."""


def other_numbers(headings: Sequence[str], text: str) -> list[str]:
    """Return the headings whose code has another number than a text's code of the same kind, if any heading has the text's.

    >>> other_numbers(["Xid 13", "Xid 79", "Disk full"], "the node shows xid 79")
    ['Xid 13']
    """
    asked = dict(NUMBERED_KIND.findall(text.casefold()))
    found = {it: NUMBERED_KIND.findall(it.casefold()) for it in headings}
    alike = [it for it, codes in found.items() if any(kind in asked for kind, _ in codes)]
    meant = [it for it in alike if not set(asked.values()).isdisjoint(_NUMBER.findall(it))]
    return [it for it in alike if meant and it not in meant]


_QUOTED: Final = re.compile(r"`([^`\n]+)`|[\"“]([^\"“”\n]+)[\"”]")
_OF_A_PROGRAM: Final = re.compile(
    r"(?<![\w-])(?:[A-Z][A-Z\d]+(?:_[A-Z\d]+)+|[A-Z]\w{3,}(?:Exception|Error))(?![\w-])"
)
"""A name as programs print it: CKR_PIN_LOCKED, SerializationException."""
_OF_THE_SYSTEM: Final = frozenset(spaced_words(os.strerror(it)) for it in errno.errorcode)
_SAYS_NOT: Final = re.compile(r"\bnot (?:an?|the|our|this)\b", re.IGNORECASE)
_MESSAGE: Final = 4
"""Minimum words of a quotation that is a program's message."""


def messages_in(line: str, said: str) -> Iterator[str]:
    """Yield the programs' messages in a line that a text has: several words as code or in quotes, or a name in capitals.

    None of a line that says what they are not ("connection storm, not a failed writer"), nor the operating system's
    errors, which any program may print.

    >>> [*messages_in("If it says `slots are reserved`, end some.", "FATAL: slots are reserved for others")]
    ['slots are reserved']
    """
    if _SAYS_NOT.search(line):
        return
    folded = said.casefold()
    for it in _QUOTED.finditer(line):
        words = (it[1] or it[2]).split()
        # most aren't in it, which one word shows at once
        if len(words) >= _MESSAGE and words[1].casefold() in folded:
            quoted = spaced_words(" ".join(words))
            if quoted in spaced_words(said) and quoted not in _OF_THE_SYSTEM:
                yield " ".join(words)
    for it in _OF_A_PROGRAM.finditer(line):
        if re.search(rf"(?<![\w-]){it[0]}(?![\w-])", said):
            yield it[0]


def is_of_another(place: Place, names: Sequence[str]) -> bool:
    """Whether a place is filed under another alert's name: such a section is for that alert only."""
    titles = [*place.section.path, place.outline.title, stem(place.outline.source_file)]
    apart = (it for title in titles for it in _IN_BRACKETS.findall(title))
    return any(
        is_camel_case(title.strip()) and not any(same_name(title, name) for name in names)
        for title in (*titles, *apart)
    )


def names_code(text: str, line: str) -> bool:
    """Whether a text contains any of a line's code spans: ``mgw-plc``."""
    folded = text.casefold()
    return any(
        len(code) >= _NAME_LENGTH
        and code.casefold() in folded  # most codes aren't, and each has a pattern of its own
        and re.search(rf"(?<![\w-]){re.escape(code)}(?![\w-])", text, re.IGNORECASE)
        for code in CODE_SPAN.findall(line)
    )
