"""Cleans texts of alerts: one line of any value, titles without status marks, plain text, names, runbook links.

Payloads come from anywhere, so every pattern here takes linear time: repetitions are bounded, and no pattern can
match one character in two ways.
"""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_TEXT: Final = 2_000
"""Maximum characters of a text."""

MAX_NAME: Final = 200
"""Maximum characters of a name: an alert's, a service's, a label's."""

MAX_ITEMS: Final = 50
"""Maximum members of a list or a mapping that are read."""

ALERT_KEYS: Final = ("alert_name", "alertname", "alert", "alarm_name", "AlarmName", "alarm")
"""Keys of an alert's name: our own, Prometheus', CloudWatch's."""


_MAX_BROKEN: Final = 150
"""Maximum characters of a word that is left out if the limit breaks it."""
_MAX_BITS: Final = 1_000
"""Maximum bits of a whole number; Python refuses to print very long ones."""
_UNPRINTABLE: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")

MAX_RAW: Final = 8 * MAX_TEXT
"""Maximum characters of a description with its markup."""

MIN_HUMPS: Final = 3
"""A title's first word with at least this many words in CamelCase is the alert's name whatever follows it:
product names (``CloudFront``, ``PostgreSQL``) have two."""

_MAX_MARKS: Final = 8
_STATUS: Final = (
    r"re-?triggered|triggered|recovered|renotify|firing|resolved|alerting|alert|alarm|problem"
    r"|insufficient_data|no[ _]?data|pending|normal|ok|warning|warn|critical|crit"
)
_LEVEL: Final = r"(?:p[0-9]|sev-?[0-9])"
_MARK: Final = re.compile(
    rf"""\s*(?:
      \[\s*(?:{_STATUS}|error|info|{_LEVEL})(?:\s*:\s*[0-9]{{1,6}})?(?:\ on\ \{{[^{{}}]{{0,300}}\}})?\s*\]
    | \[\#[0-9]{{1,9}}\]
    | \({_LEVEL}\)
    | (?:{_STATUS}):(?=\s)
    | {_LEVEL}\s*[|:\u2013\u2014-](?=\s)
    | [\U0001F300-\U0001FAFF\u2600-\u27BF\u2B00-\u2BFF\uFE0F]+
    )\s*""",
    re.IGNORECASE | re.VERBOSE,
)

_ELEMENTS: Final = frozenset({
    "a", "abbr", "address", "article", "b", "big", "blockquote", "body", "br", "center", "cite", "code",
    "dd", "del", "div", "dl", "dt", "em", "font", "footer", "h1", "h2", "h3", "h4", "h5", "h6", "head",
    "header", "hr", "html", "i", "img", "ins", "kbd", "li", "main", "meta", "nav", "ol", "p", "pre",
    "q", "s", "samp", "script", "section", "small", "span", "strike", "strong", "style", "sub", "sup",
    "table", "tbody", "td", "tfoot", "th", "thead", "title", "tr", "tt", "u", "ul", "var",
})  # fmt: skip
"""Names of HTML elements; others, such as ``<service>``, are placeholders and stay."""
_INLINE: Final = frozenset({
    "a", "abbr", "b", "code", "del", "em", "font", "i", "ins", "s", "small", "span", "strong", "sub",
    "sup", "u",
})  # fmt: skip
_UNSHOWN: Final = frozenset({"script", "style", "head"})
_TAG: Final = re.compile(
    r"<(/?)([A-Za-z][A-Za-z0-9]{0,9})(?=[\s/>])([^<>]{0,2000})>|<!--[^<>]{0,2000}-->"
)
_HREF: Final = re.compile(r"\bhref\s*=\s*[\"']?([^\s\"'<>]{1,1500})", re.IGNORECASE)
_ENTITY: Final = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_LINKED: Final = re.compile(r"!?\[([^\[\]\n]{0,300})\]\(([^()\s]{0,1500})\)")
_EMPHASIS: Final = re.compile(r"\*\*|%%%")
_RUNBOOK: Final = re.compile(r"(?:run|play)[-_ ]?book", re.IGNORECASE)

_FIRST: Final = re.compile(
    r"(?P<open>[\"'`\u201c]?)(?P<word>[A-Za-z][A-Za-z0-9]*(?:[-_][A-Za-z0-9]+)*)[\"'`\u201d]?"
    r"(?P<after>\s*:|\s+[|\u2013\u2014-]\s|\s|$)"
)
_HUMP: Final = re.compile(r"^[a-z]+|[A-Z]+(?![a-z])|[A-Z][a-z]+")
_BETWEEN: Final = re.compile(r"[\s,;=|()\[\]{}\"'`<>*\u201c\u201d]+")
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_][A-Za-z0-9]+)*")
_PLURAL: Final = re.compile(r"[A-Z]+s")
"""``TVs`` and ``APIs`` are not CamelCase."""
_HEX: Final = re.compile(r"(?=[a-f]*[0-9])[0-9a-f]{8,}")


def one_line(value: object, limit: int = MAX_TEXT) -> str | None:
    """Return a scalar as one line of at most ``limit`` characters; ``None`` if it isn't a scalar.

    A word that the limit breaks is left out: it may be a secret, and its first part wouldn't look like one.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        return None
    # cut first: a state may contain a whole log
    text = value[: 4 * limit] if isinstance(value, str) else str(value)
    line = " ".join(_UNPRINTABLE.sub(" ", text).split())
    if len(line) <= limit:
        return line
    before, _, last = line[: limit + 1].rpartition(" ")
    # texts in some languages have no spaces, and a name may be one long word
    return before if before and last.isascii() and len(last) <= _MAX_BROKEN else line[:limit]


def clean_title(title: str) -> str:
    """Return a title without the marks of status and priority in front of it.

    >>> clean_title("[P1] [Triggered on {host:a}] Disk full on a")
    'Disk full on a'
    """
    rest = title
    for _ in range(_MAX_MARKS):
        found = _MARK.match(rest)
        if found is None:
            break
        rest = rest[found.end() :]
    return rest or title


def plain(text: str) -> str:
    """Return the text of HTML or Markdown without lines that are only links or only a rule."""
    shown = unescape_entities(_without_tags(text[:MAX_RAW]))
    lines = [_EMPHASIS.sub("", line) for line in shown.split("\n")]
    said = list(filter(_says, lines)) or lines
    return "\n".join(_LINKED.sub(_label, line) for line in said)


def runbook_links(text: str) -> tuple[str, ...]:
    """Return the targets of links in HTML or Markdown whose words or address name a runbook.

    Bare addresses in a text are found by :func:`knowledge_rag.orchestrator.links.links_in`.
    """
    return tuple(
        dict.fromkeys(
            target
            for label, target in (*_anchors(text[:MAX_RAW]), *_LINKED.findall(text[:MAX_RAW]))
            if _RUNBOOK.search(label) or _RUNBOOK.search(target)
        )
    )


def says_runbook(text: str) -> bool:
    """Whether a text calls something a runbook or a playbook."""
    return _RUNBOOK.search(text) is not None


def leading_name(title: str) -> str:
    """Return the alert's name if a title begins with one, else ``""``.

    It is the first word if that is in CamelCase and followed by a colon or a dash, or has at least
    MIN_HUMPS words. A word in CamelCase or in parts that is quoted, or the whole title, also counts.

    >>> leading_name("PackagerMemory: pkg-vod above 90 %"), leading_name("CloudFront is slow")
    ('PackagerMemory', '')
    """
    found = _FIRST.match(title)
    if found is None or not looks_like_name(word := found["word"]):
        return ""
    humps = _humps(word)
    alone = found["open"] or found.end() == len(title.rstrip())
    if alone or humps >= MIN_HUMPS or (humps > 1 and found["after"].strip()):
        return word
    return ""


def looks_like_name(word: str) -> bool:
    """Whether a word is written like alerts' names: in CamelCase, or in parts joined by - or _."""
    if _NAME.fullmatch(word) is None or _PLURAL.fullmatch(word):
        return False
    parts = re.split("[-_]", word)
    if len(parts) > 1:
        return not any(_HEX.fullmatch(part) for part in parts)
    return _humps(word) > 1


def names_in(text: str) -> Iterator[str]:
    """Yield the words of a text that are written like alerts' names, in order."""
    for word in _BETWEEN.split(text):
        *_, check = (name := word.strip(".:!?/-_")).split("/")
        if looks_like_name(name):
            yield name
        elif _humps(check) >= MIN_HUMPS and looks_like_name(check):  # Nagios writes host/check
            yield check


def _humps(word: str) -> int:
    return 0 if "-" in word or "_" in word else len(_HUMP.findall(word))


def _without_tags(text: str) -> str:
    """Remove HTML tags, and elements that a browser would not show."""
    kept: list[str] = []
    end, hidden = 0, ""
    for tag in _TAG.finditer(text):
        name = (tag[2] or "!--").lower()
        if tag[2] and name not in _ELEMENTS:
            continue
        if not hidden:
            kept += [text[end : tag.start()], "" if name in _INLINE else "\n"]
        end = tag.end()
        if hidden:
            hidden = "" if tag[1] and name == hidden else hidden
        elif name in _UNSHOWN and not tag[1]:
            hidden = name
    return "".join(kept) + ("" if hidden else text[end:])


def _anchors(text: str) -> Iterator[tuple[str, str]]:
    opened = None
    for tag in _TAG.finditer(text):
        if (tag[2] or "").lower() != "a":
            continue
        if opened is not None and (target := _HREF.search(opened[3])):
            yield text[opened.end() : tag.start()][:MAX_TEXT], unescape_entities(target[1])
        opened = None if tag[1] else tag


def unescape_entities(text: str) -> str:
    """Return a text with HTML entities resolved; those without a semicolon stay, as in addresses."""
    return _ENTITY.sub(lambda entity: unescape(entity[0]), text)


def _says(line: str) -> bool:
    return any(map(str.isalnum, _LINKED.sub("", line)))


def _label(link: re.Match[str]) -> str:
    return "" if link[0].startswith("!") else link[1]
