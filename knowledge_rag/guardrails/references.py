r"""The notations in which a text refers to evidence; the grammar is in docs/decisions/0010.

The text between two brackets is one of three things: a reference with its parts, no reference at
all, or something that resembles a reference but can't be parsed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from knowledge_rag.guardrails.characters import normalise, shown, without_markup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowledge_rag.guardrails.characters import Normalised

MAX_REFERENCE: Final = 2_048
"""Maximum characters between the brackets of a reference: twice the longest path, with its lines."""

_DASH = r"[-\u2010-\u2015\u2212\u2043\ufe58\u30fc\u301c~]"
_MAX_DIGITS: Final = 10
_NUMBER = rf"[0-9]{{1,{_MAX_DIGITS}}}"
_RANGE = rf"({_NUMBER})(?:\s*(?:{_DASH}|\bto\b)\s*({_NUMBER}))?(?![\w/]|\.\w)"
_AND = r"\s*(?:[,;&]|\band\b)+\s*"
_MARKS = " \t\r\n*_`\"'"
"""Characters allowed around the target of a reference: white space, emphasis, quotes."""

_A_RANGE: Final = re.compile(_RANGE)
_KEYWORD: Final = re.compile(
    r"[\s*_`]*+sources?(?![\w/.-])(?:[\s*_`]*+(?P<colon>[:=]))?+(?:[*_`]++(?=\s))?+\s*+",
    re.IGNORECASE,
)
"""The keyword with its marks, but not those that the file's name begins with."""
_NUMBERS: Final = re.compile(
    rf"(?:{_RANGE})(?:{_AND}(?:sources?\s*[:#]?\s*)?(?:{_RANGE}))*", re.IGNORECASE
)
_LINES: Final = re.compile(
    rf"(?<=[\s,;:])[(]?lines?\s*:?\s*(?P<ranges>(?:{_RANGE})(?:{_AND}(?:lines?\s+)?(?:{_RANGE}))*)[)]?",
    re.IGNORECASE,
)
_GAP = r"(?:[^\S\r\n]|[*_`~\"']){0,6}(?:\r?\n[^\S\r\n]{0,9})?"
"""Between two words of a paragraph: blanks and marks."""
_WRAP = r"[ \t]{0,3}(?:\r?\n[^\S\r\n]{0,9})?"
_OF_DOCUMENT = (
    rf"L?({_NUMBER})(?:[ \t]{{0,3}}(?:{_DASH}|to\b){_WRAP}L?({_NUMBER}))?(?![^\W_]|/|\.\w)"
)
_RANGES = rf"(?P<ranges>{_OF_DOCUMENT}(?:[ \t]{{0,3}}(?:[,;&]|and\b)[ \t]{{0,3}}(?:lines?[ \t]{{1,3}})?{_OF_DOCUMENT}){{0,9}})"
_A_RANGE_OF_DOCUMENT: Final = re.compile(_OF_DOCUMENT, re.IGNORECASE)
_BEHIND: Final = re.compile(
    rf"[*_`~]{{0,6}}(?:(?:\?plain=1)?#(?=L)|\?lines=|:"
    rf"|{_GAP}[,;:]?{_GAP}(?:(?:at|on|in){_GAP})?(?P<round>[(])?(?:lines?{_GAP}:?{_GAP}|(?=L\d)))"
    rf"{_RANGES}(?::\d{{1,4}}(?!\w))?(?(round)[)]?)",
    re.IGNORECASE,
)
GOES_ON: Final = re.compile(
    r"[*_`~\"']{0,6}(?:[^\s:#?,;(*_`~\"']|\s{1,3}[^\s(:,;laoi*_`~\"'])",
    re.IGNORECASE,
)
"""The way text continues after a document's name if no lines follow."""
_BEFORE: Final = re.compile(
    rf"lines?{_GAP}{_RANGES}{_GAP}(?:(?P<of>of|in|from){_GAP}(?:the{_GAP})?"
    rf"(?:(?:file|document|page|runbook|postmortem){_GAP})?)?[*_`~\"'(]{{0,3}}\Z",
    re.IGNORECASE,
)
_OF_BEGUN: Final = re.compile(r"of|in|from", re.IGNORECASE)
_BETWEEN: Final = re.compile(rf"(?:{_AND})?(?:sources?\s*:\s*)?", re.IGNORECASE)

_DOCUMENT: Final = (
    r"\.(?:md|mdx|mkd|markdown|txt|text|rst|adoc|asciidoc|erb|ipynb|x?html?|pdf|docx?|odt|rtf)"
)
"""Endings of documents; ``.org`` ends more hosts than files."""
_COLON: Final = r"[:=#\u2116]"
_LOOKS_SOURCE: Final = r"s[o\d]urces?"
_LOOKS_LINES: Final = r"[li|\d][li|\d]nes?"
"""The two keywords, also with digits that look like their letters."""
COUNT: Final = (
    r"(?:\d++|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|[ivx]++)(?![^\W_])"
)
_LIKE_SOURCE: Final = re.compile(
    rf"[\W_]*+{_LOOKS_SOURCE}(?:[\W_]*+$|[\s*_`]*+{_COLON}|[\W_]*+\d"
    rf"|\s++(?:no|id|nr|[nx])?[\W_]*+[\dnx]*+[\W_]*+$|[\W_]++{COUNT}[\W_]*+$"
    rf"|[\W_]++\S*{_DOCUMENT}[\W_]*+$)",
    re.IGNORECASE,
)
_LIKE_KEYWORD: Final = re.compile(
    rf"[\W_]*+(?:refs?|references?|citations?|cite|src|footnotes?|docs?|documents?|evidence|chunks?"
    rf"|passages?|snippets?|excerpts?)[.:#\s_]*+{COUNT}[\W_]*+$"
    rf"|[\W_]*+(?:lines?\s*+|L)\d++\s*+{_DASH}\s*+L?\d++[\W_]*+$",
    re.IGNORECASE,
)
_LIKE_TRANSLATED: Final = re.compile(
    r"[\W_]*+(?:quellen?|fuentes?|fontes?|fonti|bron(?:nen)?|kilder?|k\xe4llor|k\xe4lla|l\xe4hde|zdroje?"
    r"|\u017ar\xf3d\u0142[oa]|sumber|kaynak|forr\xe1s|surs\u0103|ngu\u1ed3n|\u03c0\u03b7\u03b3\u03ae"
    r"|\u0438\u0441\u0442\u043e\u0447\u043d\u0438\u043a|\u0434\u0436\u0435\u0440\u0435\u043b\u043e"
    r"|(?:\u53c2\u8003)?(?:\u6765\u6e90|\u4f86\u6e90|\u51fa\u5904|\u51fa\u8655|\u51fa\u5178|\u8cc7\u6599|\u8d44\u6599)|\u30bd\u30fc\u30b9"
    r"|\uc18c\uc2a4|\ucd9c\ucc98|(?:\u0627\u0644)?\u0645\u0635\u062f\u0631|\u0645\u0646\u0628\u0639|\u05de\u05e7\u05d5\u05e8|\u0938\u094d\u0930\u094b\u0924)"
    rf"[\s*_`]*+(?:{_COLON}|[\W_]*+\d)",
    re.IGNORECASE,
)
"""The word "source" in other languages, with the colon or digit that makes it a reference."""
_LIKE_SPELT: Final = re.compile(
    r"(?:[^\w$]|_)*+[s5$][\W_]*+[o0][\W_]*+(?:[ur][\W_]*+){1,4}c[\W_]*+[e3][\W_]*+(?:s[\W_]*+)?+"
    rf"{COUNT}[\W_]*+$",
    re.IGNORECASE,
)
"""The keyword with a letter more or fewer, a sign for a letter, or signs between the letters."""
_LIKE_KEYWORDS: Final = (_LIKE_KEYWORD, _LIKE_TRANSLATED, _LIKE_SPELT)
_LIKE_NUMBERS: Final = re.compile(
    rf"(?:\d|\s|[,;&*_`\"']|{_DASH}|\.\.+|\u2026|and|to)+$", re.IGNORECASE
)
_LINES_OF: Final = rf"[(]?{_LOOKS_LINES}[\W_]*+\d++"
_LIKE_LINES: Final = re.compile(
    rf"\s*+(?:{_LOOKS_SOURCE}\s++)?\S++\s++{_LINES_OF}|.*?(?:\.\w{{1,8}}|/\w[\w.-]*+)[\s,;:*_`\"']++{_LINES_OF}",
    re.IGNORECASE | re.DOTALL,
)
"""A file in one word, or any words that end as only a file's name does."""
_LIKE_DAGGER: Final = re.compile(
    r"[\W_]*+(?:\d++(?::\d++)?\s*+(?:\u2020|[.)][\s*_`]*+$)|(?<=\u2020)\d++[\W_]*+$)"
)
"""Marks that some models use for the sources of their own search."""
_LIKE: Final = (_LIKE_LINES, _LIKE_DAGGER)
A_DOCUMENT: Final = re.compile(rf"{_DOCUMENT}(?![^\W_]|-|\.\w)", re.IGNORECASE)
"""Ends a document's name."""
SCHEME: Final = "knowledge"
"""The scheme of this product's own addresses, ``knowledge:///a.md?lines=5-9``, from ``mcp_server/resources.py``."""
_OWN_ADDRESS: Final = re.compile(rf"{SCHEME}:/{{2,3}}", re.IGNORECASE)
A_NAME: Final = re.compile(
    rf"{A_DOCUMENT.pattern}|\?(?<=[^\s?#]\?)(?=lines=)|\#(?<=[^\s?#]\#)(?=L)", re.IGNORECASE
)
"""Ends a document's name, or follows the path of an own address: its letters may be percent-encoded."""
_LIKE_FILE: Final = re.compile(
    rf"{_DOCUMENT}(?![\w-]|[.]\w|/)[^\d\[\]]{{0,30}}+\d++(?:[^\d\[\]]{{1,12}}+\d++){{0,20}}+[^\W\d_]{{0,4}}+[\W_]*+$",
    re.IGNORECASE,
)
"""A document and numbers after it, with any words in between."""
_NO_LINES: Final = re.compile(rf"{_DOCUMENT}\W++[12]\d{{3}}-\d\d(?:-\d\d)?[\W_]*+$", re.IGNORECASE)
_DATE: Final = re.compile(r"\s*[12]\d{3}-(?:0[1-9]|1[0-2])(?:-[0-3]\d)?\s*$")
_DIGIT: Final = re.compile(r"\d")
_SAYS: Final = re.compile(r"[\d:=#?]")
_CLASS: Final = re.compile(r"0-\d+$")
_INDEX: Final = re.compile(r"\s*-\s*\d+\s*$")

_HEAD: Final = re.compile(
    rf"[\W_]*+(?:{_LOOKS_SOURCE}(?:[\s*_]*+{_COLON}|[\W_]*+\d++)"
    rf"|\S*?\.\w{{1,8}}[\s,;:*_\"']++{_LINES_OF}(?:\s*+{_DASH}\s*+\d++)?+)",
    re.IGNORECASE,
)
"""The beginning that makes a bracket a reference even if it is never closed."""
_QUOTED: Final = re.compile(r"(?<=\n)[ \t]*>[ \t>]*")


@dataclass(frozen=True, slots=True)
class Numbers:
    """Entries ``first`` to ``last`` of the ledger."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of a file.

    Args:
        names: the file as written; then, if there are Markdown marks around or in it, without them.
        first: first line.
        last: last line, inclusive.
    """

    names: tuple[str, ...]
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Unparsable:
    """Text that resembles a reference and can't be parsed.

    Args:
        bare: whether it is the keyword alone, or a document and numbers, which may also be a link's text.
    """

    bare: bool = False


Reference = tuple[Numbers | Lines, ...]
"""The targets of one bracket, in order; never empty."""


_COMMON: Final = re.compile(
    rf"\[(?:(?P<number>[1-9][0-9]{{0,{_MAX_DIGITS - 1}}})"
    r"|Source: (?P<file>(?!(?i:line))(?:[A-Za-z](?:[\w./-]*[A-Za-z0-9])?|[0-9][\w./-]*\.[A-Za-z][A-Za-z0-9]*))"
    rf", lines? (?P<first>{_NUMBER})(?:-(?P<last>{_NUMBER}))?)\]",
    re.ASCII,
)
"""The notations of nearly all references, with their brackets."""


def parse(raw: str) -> Reference | Unparsable | None:
    """Read the text between two brackets.

    Args:
        raw: as written, without brackets.

    Returns:
        Its targets; :class:`Unparsable`; or ``None`` if it isn't a reference.
    """
    if len(raw) > MAX_REFERENCE:
        return None
    common = common_reference(f"[{raw}]", 0)
    if common and common[1] == len(raw) + 2:
        return common[0]
    if "\n" in raw and ">" in raw:
        raw = _QUOTED.sub(lambda quoted: " " * len(quoted[0]), raw)
    return _read(raw) or _hidden(raw)


def common_reference(text: str, start: int) -> tuple[Reference, int] | None:
    """Read the two plainest notations as :func:`parse` does, only faster.

    Returns:
        The targets of the bracket at ``start``, and the index after it; ``None`` if that takes the
        whole grammar.
    """
    found = _COMMON.match(text, start)
    if found is None:
        return None
    number, file, first, last = found.groups()
    if number:
        return (Numbers(int(number), int(number)),), found.end()
    lines = Lines((file,), int(first), int(last or first))
    return ((lines,), found.end()) if lines.first <= lines.last else None


def lines_behind(text: str, start: int, end: int) -> tuple[Sequence[tuple[int, int]], int]:
    """Read the lines after a document's name: ``:5-9``, ``#L5-L9``, ``, lines 5 and 9``.

    Args:
        text: that contains the name.
        start: index after the name.
        end: index after the last character to read.

    Returns:
        First and last lines, and the index after them; none, and ``start``, if there are no lines.
    """
    found = _BEHIND.match(text, start, end)
    return (_ranges(found["ranges"]), found.end()) if found else ((), start)


def lines_before(text: str, start: int, end: int) -> Sequence[tuple[int, int]]:
    """Read the lines before a document's name: ``lines 5-9 of``.

    Args:
        text: that contains the name, which may begin with the last of these words.
        start: index of the first character to read.
        end: index of the name.
    """
    found = _BEFORE.search(text[start:end])
    if found is None or not (found["of"] or _OF_BEGUN.match(text, end)):
        return ()
    return _ranges(found["ranges"])


def _ranges(text: str) -> Sequence[tuple[int, int]]:
    return [(int(one[1]), int(one[2] or one[1])) for one in _A_RANGE_OF_DOCUMENT.finditer(text)]


def unclosed_head(raw: str) -> int:
    """Return the length of the head that makes ``raw`` a reference even in a bracket that is never closed.

    The head is the keyword with its colon or number, or a file with its lines; 0 if there is none.
    """
    for look, ends in shown(raw[:MAX_REFERENCE]):
        if head := _HEAD.match(look):
            return ends[head.end() - 1]
    return 0


def _read(raw: str) -> Reference | Unparsable | None:
    text = normalise(raw)
    reference = None if text.disguised else _parse(raw, text)
    if reference is not None and all(part.first <= part.last for part in reference):
        return None if _CLASS.fullmatch(text.text.strip()) else reference
    return _resembling(text)


def _hidden(raw: str) -> Unparsable | None:
    """Read the text that a page shows of ``raw``, if that isn't all of it."""
    for visible in without_markup(raw):
        if found := _read(visible):
            return found if isinstance(found, Unparsable) else Unparsable()
    return None


def _parse(raw: str, text: Normalised) -> Reference | None:
    keyword = _KEYWORD.match(text.text)
    colon = keyword is not None and keyword["colon"] is not None
    start = keyword.end() if keyword else 0
    if not colon or text.text[start:].lstrip(_MARKS)[:1].isdigit():
        numbers = text.text[start:].rstrip(_MARKS).lstrip(_MARKS + "#" if keyword else _MARKS)
        if _NUMBERS.fullmatch(numbers):
            return _numbers(numbers)
    if not colon and _LIKE_SOURCE.match(text.look):
        return None
    if (colon or _LIKE_LINES.match(text.text)) and (found := _lines(raw, text, start)):
        return found
    return _mentioned(raw, text, start)


def _numbers(text: str) -> Reference | None:
    parts = [(found[1], found[2] or found[1]) for found in _A_RANGE.finditer(text)]
    if any(number[0] == "0" and len(number) > 1 for part in parts for number in part):
        return None
    return tuple(Numbers(int(first), int(last)) for first, last in parts)


def _lines(raw: str, text: Normalised, start: int) -> Reference | None:
    parts: list[Numbers | Lines] = []
    start += len(text.text[start:]) - len(text.text[start:].lstrip())
    for found in _LINES.finditer(text.text, start + 1):  # the name comes first
        if parts and (between := _BETWEEN.match(text.text, start, found.start())):
            start = between.end()
        names = names_of(text.written(raw, start, found.start()))
        if not names:
            return None
        parts.extend(
            Lines(names, int(lines[1]), int(lines[2] or lines[1]))
            for lines in _A_RANGE.finditer(found["ranges"])
        )
        start = found.end()
    rest = text.text[start:].strip(_MARKS)
    return tuple(parts) if parts and rest in ("", ".", ";") else None


def _mentioned(raw: str, text: Normalised, start: int) -> Reference | None:
    """Read documents with their lines right after their names: ``a.md:5, b.md#L5-L9``."""
    parts: list[Numbers | Lines] = []
    while document := A_DOCUMENT.search(text.text, start):
        spans, end = lines_behind(text.text, document.end(), len(text.text))
        names = names_of(text.written(raw, start, document.end()))
        parts.extend(Lines(names, *span) for span in spans)
        between = _BETWEEN.match(text.text, end)
        start = between.end() if between and spans else len(text.text)
        if not spans or not names:
            return None
    return tuple(parts) if parts and not text.text[start:].strip(_MARKS + ".;") else None


def is_own_address(name: str) -> int:
    """Return the index where the path of this product's own address begins; 0 for any other name."""
    own = _OWN_ADDRESS.match(name)
    return own.end() if own else 0


def names_of(written: str) -> tuple[str, ...]:
    """Return the readings of a file's name: as written, then without Markdown's marks.

    For this product's own address, that is the path alone.
    """
    name = written.strip().rstrip(",;:").rstrip()
    if own := is_own_address(name):
        return (unquote(name[own:]),)
    plain = re.sub(r"\\(?=[!-/:-@\[-`{-~])", "", name).strip(_MARKS)
    return tuple(dict.fromkeys(way for way in (name, plain) if way))


def _resembling(text: Normalised) -> Unparsable | None:
    """Read text that resembles a reference, by the look of its characters, then by the characters."""
    found = _resembling_as(text.look)
    return found or (None if text.look == text.text else _resembling_as(text.text))


def _resembling_as(look: str) -> Unparsable | None:
    if _LIKE_SOURCE.match(look):
        return Unparsable(bare=not _SAYS.search(look))
    if any(like.match(look) for like in _LIKE_KEYWORDS):
        return Unparsable()
    if not _DIGIT.search(look):
        return None
    if any(like.match(look) for like in _LIKE) or _are_numbers(look):
        return Unparsable()
    if _LIKE_FILE.search(look) and not _NO_LINES.search(look):
        return Unparsable(bare=True)
    return None


def _are_numbers(look: str) -> bool:
    if not _LIKE_NUMBERS.match(look):
        return False
    return not (_DATE.match(look) or _CLASS.fullmatch(look.strip()) or _INDEX.match(look))
