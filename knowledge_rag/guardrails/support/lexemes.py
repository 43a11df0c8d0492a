"""Blanks the markup of a text and cuts it into lexemes: words, names, numbers, paths.

One pattern cuts claims and evidence, so that equal names are found. A lexeme spans a space only if it
has a placeholder in it (``<db id>``, ``{{ name }}``). Blanking keeps the text's length, so that offsets
into the result are offsets into the text.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

from knowledge_rag.guardrails.characters import overlaps
from knowledge_rag.guardrails.support.report import AtomKind

_URL: Final = r"https?://[^\s()\[\]{}\"'`<>|$]+"  # with its query
_NAME: Final = r"[^\s()\[\]{}\"'`,;|&=<>*!?…$£€¥]+"
_OPEN: Final = (  # placeholders stay whole, and part of the name around them
    r"<[A-Za-z][\w .-]{0,60}>|\{\{[^{}\n]{1,60}\}\}|\{[A-Za-z][\w-]{0,60}\}|\$(?!\d)(?:\{[^{}\s]{1,60}\})?"
)
_THOUSANDS: Final = r"(?<=\d),(?=\d{3}(?!\d))"
LEXEME: Final = re.compile(f"(?:{_URL}|{_NAME}|{_OPEN})(?:{_THOUSANDS}|{_OPEN}|{_NAME})*")

_LEADING: Final = ".,:;!?_^#+@\\"
_TRAILING: Final = ".,:;!?_~^#+@/\\-"
_ESCAPE: Final = re.compile(r"\\(?=[!-/:-@\[\]-`{-~])")

PLACEHOLDER: Final = re.compile(
    r"<[A-Za-z][\w .-]{0,60}>|\{\{[^{}\n]{1,60}\}\}|\$?\{[A-Za-z_][\w.:-]{0,60}\}|\$[A-Za-z_]\w{0,60}"
    r"|(?<![A-Za-z])(?:[Yy][Oo][Uu][Rr])[-_][\w-]{1,60}|[xX]{3,60}(?![A-Za-z])|\.\.\."
)
_MARKS_OF_PLACEHOLDERS: Final = ("<", "{", "$", "...", "your-", "your_", "xxx")

SEPARATORS: Final = re.compile(r"[/:@=]+")
"""Inside a lexeme: a text may name the part between two of them alone, such as a file's name."""


def unescaped(text: str) -> str:
    """Remove Markdown's escaping backslashes."""
    return _ESCAPE.sub("", text) if "\\" in text else text


def trimmed(lexeme: str) -> str:
    """Remove punctuation around a lexeme."""
    return lexeme if lexeme.isalnum() else lexeme.lstrip(_LEADING).rstrip(_TRAILING)


def folded(lexeme: str) -> str:
    """Return a form that is equal for two spellings of a name: case and width are ignored."""
    if not lexeme.isascii():
        lexeme = unicodedata.normalize("NFKC", lexeme)
    return lexeme.casefold()


def holds_placeholder(lexeme: str) -> bool:
    """Whether any part of it is a placeholder: ``<db-id>``, ``$NAME``, ``{id}``, ``YOUR-NAME``."""
    lowered = lexeme.lower()  # searching for the marks is faster than the pattern; most have none
    for mark in _MARKS_OF_PLACEHOLDERS:
        if mark in lowered:
            return PLACEHOLDER.search(lexeme) is not None
    return False


def literals(lexeme: str) -> list[str]:
    """Return the parts around its placeholders that have a letter or digit."""
    return [part for part in PLACEHOLDER.split(lexeme) if any(map(str.isalnum, part))]


_COMMAND_TEXT: Final = (
    "aws az ansible argocd awk chmod chown curl dig docker dmesg etcdctl gcloud git gitlab-ctl grep"
    " gsutil helm iptables istioctl journalctl jq kubectl kafka-topics knife kustomize lsof mysql"
    " netstat nslookup npm oc openssl pip promtool psql pg_dump redis-cli rsync scp sed ssh sudo"
    " systemctl tar tcpdump terraform traceroute wget yarn"
)
COMMANDS: Final = frozenset(_COMMAND_TEXT.split())
"""Programs whose name isn't an English word: they are atoms outside code too."""

_HOST: Final = re.compile(
    r"(?:(?:\d{1,3}\.){3}\d{1,3}(?:/\d+)?|(?:[\w-]{1,63}\.){2,30}[A-Za-z]{2,24}"
    r"|[\w-]{1,63}\.(?:com|org|net|io|dev|internal|local|uk|eu|cloud))(?::\d+)?$"
)
_NO_ATOMS: Final = frozenset({"e.g", "i.e", "etc", "vs", "a.k.a", "n/a", "w/o", "c.f", "and/or"})


def kind_of(name: str, *, in_code: bool, opens: bool) -> AtomKind | None:
    """Return the kind of a name; ``None`` if it is words of prose.

    Args:
        name: without punctuation around it.
        in_code: whether it is in code, where a plain word is an atom too.
        opens: whether it is the first in its code, and so a command.
    """
    if not name.isalnum() and (kind := _kind_by_marks(name, in_code=in_code)):
        return kind
    if in_code:
        return AtomKind.COMMAND if opens or name in COMMANDS else AtomKind.IDENTIFIER
    if name in COMMANDS:
        return AtomKind.COMMAND
    return None if _is_prose(name) or name.casefold() in _NO_ATOMS else AtomKind.IDENTIFIER


def _kind_by_marks(name: str, *, in_code: bool) -> AtomKind | None:
    if name.startswith("-"):
        return AtomKind.FLAG
    if ":" in name and ("://" in name or name.startswith("arn:")):
        return AtomKind.URL if "://" in name else AtomKind.ARN
    if "." in name and _HOST.match(name):
        return AtomKind.HOST
    if "/" in name and (in_code or _is_path(name)):
        return AtomKind.PATH
    return None


@lru_cache(maxsize=32_768)
def is_plain_word(lexeme: str) -> bool:
    """Whether it is spelled like a word or acronym of prose: ``pod``, ``Redis``, ``CPU``, ``VMs``."""
    if not lexeme.isalpha():
        return False
    stem = lexeme.removesuffix("s")
    return lexeme[1:].islower() or stem.isupper() or len(lexeme) == 1


def _is_path(name: str) -> bool:
    if name.casefold() in _NO_ATOMS:
        return False
    return name[0] in "/~" or name.count("/") > 2 or not _is_prose(name)


def _is_prose(name: str) -> bool:
    """Whether it is words and hyphens: ``read-only``, ``on/off``."""
    return all(is_plain_word(word) for word in name.replace("/", "-").split("-") if word)


_LINE_MARK: Final = re.compile(
    r"[ \t]*(?:>[ \t]*+(?![\d=]))*(?:[-*+][ \t]+|\d{1,3}[.)][ \t]+)?(?:\[[ xX]\][ \t]+)?"
    r"(?:#{1,6}[ \t]+)?"
)
_REFERENCE: Final = re.compile(
    r"\[(?i:source)[^\[\]\n]{0,300}\]"
    r"|(?<![\w\]])(?:\[\d{1,4}(?:\s?[,\-–]\s?\d{1,4}){0,20}\]){1,20}(?![(\[])"
)
_ATTACHED: Final = re.compile(r"(?<=[^\W\d_])(?:\[\d{1,3}\]){1,20}(?=[\s.,;:!?)]|$)")
_STEP: Final = re.compile(
    r"^[ \t*_]*[Ss]tep \d{1,3}(?=[:.)*_])|\b[Ss]tep \d{1,3}(?=:)", re.MULTILINE
)
_TAG: Final = re.compile(
    r"</?(?:a|b|br|code|details|div|em|hr|i|img|kbd|li|ol|p|pre|span|strong|sub|summary|sup|table|td"
    r"|th|tr|ul)(?:[ \t][^<>\n]{0,500})?/?>|<!--|-->"
)
_RUN: Final = re.compile(r"`+")
_TYPOGRAPHY: Final = {
    **dict.fromkeys("‐‑‒–−", "-"),
    **dict.fromkeys("\u00a0\u2007\u202f", " "),
    "—": ",",
    **dict.fromkeys("‘’", "'"),
    **dict.fromkeys("“”", '"'),
    "≥": ">",
    "≤": "<",
    "µ": "u",
    "μ": "u",
}


def plain(text: str) -> str:
    """Return the text with markup blanked and typographic marks as ASCII, at the same length."""
    if not text.isascii():
        for mark, meant in _TYPOGRAPHY.items():  # str.translate takes fifty times as long
            text = text.replace(mark, meant)
    text = _without_line_marks(text).replace("~~", "  ")
    if "[" in text:
        text = _REFERENCE.sub(_blank, text)
    if "<" in text or "-->" in text:
        text = _TAG.sub(_blank, text)
    return _STEP.sub(_blank, text) if "tep" in text else text


def has_numbers_in_brackets(line: str) -> bool:
    """Whether a word has a number in brackets behind it: ``nodes[2]``."""
    return "[" in line and _ATTACHED.search(line) is not None


def without_numbered_references(text: str) -> str:
    """Blank numbers in brackets behind a word, ``as it says[2].``, at the same length; in code they are indices."""
    code = code_stretches(text)
    return _ATTACHED.sub(
        lambda it: it[0] if overlaps(it.start(), it.end(), code) else _blank(it), text
    )


def _without_line_marks(text: str) -> str:
    # line by line: finding the starts of lines with a pattern takes several times as long
    if "\n" in text:
        return "\n".join(map(_without_mark, text.split("\n")))
    return _without_mark(text)


def _without_mark(line: str) -> str:
    if line[:1].isalpha():
        return line
    mark = _LINE_MARK.match(line)
    return _blank(mark) + line[mark.end() :] if mark and mark.end() else line


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])


def code_stretches(text: str) -> list[tuple[int, int]]:
    """Return the offsets of the contents of code spans and fences, in order.

    The next run of backticks with the same length closes a run (CommonMark 6.1); a run that nothing
    closes is text. The info string of a fence is not code.
    """
    runs = [found.span() for found in _RUN.finditer(text)]
    closing: dict[int, int] = {}
    partner = [0] * len(runs)
    for i in range(len(runs) - 1, -1, -1):
        length = runs[i][1] - runs[i][0]
        partner[i] = closing.get(length, 0)
        closing[length] = i
    stretches = []
    i = 0
    while i < len(runs):
        if partner[i]:
            stretches.append((_content(text, runs[i]), runs[partner[i]][0]))
            i = partner[i]
        i += 1
    return stretches


def _content(text: str, run: tuple[int, int]) -> int:
    start, end = run
    if end - start < 3 or text[:start].rpartition("\n")[2].strip():
        return end
    line_end = text.find("\n", end)
    return end if line_end < 0 else line_end
