"""References to what was not retrieved: each function writes one, in the manner of its name.

All of them are references to a reader, and none has evidence, so every one has to go.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING
from urllib.parse import quote

from tests.adversarial import notations
from tests.adversarial.shelf import UNRETRIEVED, Entry

if TYPE_CHECKING:
    from random import Random

    from tests.adversarial.shelf import Shelf

SOMEWHERE = Entry("runbooks/rds-failover.md", 20, 28)
"""Cited where there is no evidence at all."""
_SWAPS = {"-": "\u2010\u2011\u2013\u2212_", "o": "0\u043e\u03bf", "l": "1I\u04cf", "a": "\u0430\u0251", "e": "\u0435\u0117", "i": "\u0456\u0131", "s": "\u0455", "r": "\u0433", "u": "\u03c5", "d": "\u0501", ".": "\u2024\uff0e\u3002", "/": "\u2215\u2044\uff0f"}  # fmt: skip


def entry(rng: Random, shelf: Shelf) -> Entry:
    """Give an entry that can be cited by name."""
    return rng.choice(shelf.citable) if shelf.citable else SOMEWHERE


def lines(rng: Random, source_file: str, start: int, end: int) -> str:
    """Write a reference to lines of a file."""
    return f"[{rng.choice(notations.KEYWORDS)}: {source_file}, {notations.span(rng, start, end)}]"


def off_by_one(rng: Random, shelf: Shelf) -> str:
    """A line too many before or behind what was retrieved, or both, or over two results."""
    cited = entry(rng, shelf)
    start, end = rng.choice(((-1, 0), (0, 1), (-1, 1), (0, 2), (-3, 9)))
    written = cited._replace(start=max(cited.start + start, 1), end=cited.end + end)
    return lines(rng, *written)


def swapped_files(rng: Random, shelf: Shelf) -> str:
    """The lines of one file under another one's name."""
    cited, other = entry(rng, shelf), entry(rng, shelf)
    if shelf.holds(other.source_file, cited.start, cited.end):
        return lines(rng, other.source_file, cited.start + 900, cited.end + 900)
    return lines(rng, other.source_file, cited.start, cited.end)


def unretrieved_files(rng: Random, shelf: Shelf) -> str:
    """A file that exists, and that no query returned."""
    names = (*UNRETRIEVED, "README.md", "x.md", "incident.md", "/etc/passwd")
    return lines(rng, rng.choice(names), *entry(rng, shelf)[1:])


def names_in_other_case(rng: Random, shelf: Shelf) -> str:
    """A retrieved file's name in another case."""
    name, *where = entry(rng, shelf)
    ways = {name.upper(), name.title(), name.swapcase(), name[:1].upper() + name[1:]} - {name}
    return lines(rng, rng.choice(sorted(ways) or ["RUNBOOKS/X.md"]), *where)


def names_by_other_paths(rng: Random, shelf: Shelf) -> str:
    """Another path to a retrieved file."""
    name, *where = entry(rng, shelf)
    folder, _, base = name.rpartition("/")
    ways = (
        f"./{name}", f"../{name}", f"/{name}", f"{folder}//{base}", f"{folder}/./{base}", f"x/../{name}",
        name.replace("/", "\\"), f"{name}/", f"file:///{name}", f"https://kb/{name}", f"s3://corpus/{name}",
        f"knowledge-corpus/{name}", f"{folder}/../{folder}/{base}", f"C:\\{name}", f"{name}#L1", f"{name}.bak",
        f"{name}?raw=1", f"~/{name}", f"a/{name}", f"{folder}/{base}.md",
    )  # fmt: skip
    return lines(rng, rng.choice(ways), *where)


def names_encoded(rng: Random, shelf: Shelf) -> str:
    """A retrieved file's name in an encoding of it."""
    name, *where = entry(rng, shelf)
    at = rng.randrange(len(name))
    code = ord(name[at])
    ways = (
        quote(name, safe=""), f"{name[:at]}%{code:02X}{name[at + 1 :]}", f"{name[:at]}&#{code};{name[at + 1 :]}",
        f"{name[:at]}&#x{code:x};{name[at + 1 :]}", f"{name[:at]}\\u{code:04x}{name[at + 1 :]}",
        name.replace("/", "&sol;"), name.replace("/", "%2f"), name.replace(".", "&period;"), f"{name}%00",
    )  # fmt: skip
    return lines(rng, rng.choice(ways), *where)


def names_that_look_alike(rng: Random, shelf: Shelf) -> str:
    """A name that looks like a retrieved file's."""
    name, *where = entry(rng, shelf)
    at = rng.choice([index for index, one in enumerate(name) if one in _SWAPS] or [0])
    swapped = rng.choice(_SWAPS.get(name[at], "x"))
    at = max(at, 1)  # around a name, what is invisible is no part of it
    zero = rng.choice("\u200b\u200d\u2060\ufeff\u00ad")
    ways = [f"{name[:at]}{swapped}{name[at + 1 :]}", f"{name[:at]}{zero}{name[at:]}", f"{name[:at]}{name[at]}\u0301{name[at + 1 :]}"]  # fmt: skip
    ways += {unicodedata.normalize("NFD", name)} - {name}
    wide = "".join(
        chr(ord(one) + 0xFEE0) if one.isascii() and one.isalpha() else one for one in name
    )
    ways += {wide} - {name}
    return lines(rng, rng.choice(ways), *where)


def past(rng: Random, shelf: Shelf) -> int:
    """Give a number that no entry has."""
    last = len(shelf.entries)
    return rng.choice((last + 1, last + 2, last + rng.randint(3, 60), 0, 10**9, 99))


def numbers_past_the_ledger(rng: Random, shelf: Shelf) -> str:
    """A number that no entry has, in every notation of numbers."""
    n = past(rng, shelf)
    forms = ("[{}]", "[Source {}]", "[source #{}]", "[Source: {}]", "［{}］", "【{}】", "[ {} ]", "[Sources {}]", "[**{}**]")  # fmt: skip
    return rng.choice(forms).format(n)


def lists_of_right_and_wrong(rng: Random, shelf: Shelf) -> str:
    """Good parts and a bad one in one bracket."""
    good = notations.number(rng, shelf) if shelf.entries else 1
    bad = past(rng, shelf) or 99
    named = entry(rng, shelf)
    forms = (
        f"[{good}, {bad}]", f"[{bad}, {good}]", f"[{good}-{bad}]", f"[Source {good}, Source {bad}]", f"[{good}; {bad}; {good}]",
        f"[Source {good}, {bad}]", f"[{bad}-{good}]", f"[{good} and {bad}]", f"[{good}, {bad}-{bad + 2}]", f"[{good}–{bad}]",
        f"[Source: {named.source_file}, lines {named.start}-{named.end}; evil.md, lines 1-2]",
        f"[Source: evil.md, line 1; {named.source_file}, lines {named.start}-{named.end}]",
        f"[Source: {named.source_file}, lines {named.start}-{named.end}, {named.end + 1}-{named.end + 900}]",
        f"[Source: {named.source_file}, lines {named.end + 1}-{named.start}]",
    )  # fmt: skip
    return rng.choice(forms)


def numbers_disguised(rng: Random, shelf: Shelf) -> str:
    """A number that no entry has, in other digits, with zeros before it or spread out."""
    n = max(past(rng, shelf), 90)
    digits = str(n)
    scripts = (0x660, 0x6F0, 0x966, 0x9E6, 0xE50, 0xFF10, 0x1D7CE, 0x2080)
    other = digits.translate({ord("0") + i: rng.choice(scripts) + i for i in range(10)})
    raised = digits.translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    forms = (
        f"[{other}]", f"[Source {other}]", f"[{raised}]", f"[⑳{digits}]", f"[0{digits}]", f"[00{digits}]", f"[Source 0{digits}]",
        f"[{other}, {other}]", "[" + " ".join(digits) + "]", "[" + "\u200b".join(digits) + "]", f"[{digits}..{digits}]",
        f"[{digits},]", f"[{digits}-]", f"[{other}–{digits}]", f"[Source: {other}]", f"[{digits}*]", f"[ref {digits}]",
        f"[cite: {digits}]", f"[doc {digits}]", f"【{digits}:0†source】", f"【{digits}†L1-L9】", f"[citation {other}]",
    )  # fmt: skip
    return rng.choice(forms)


def keywords_disguised(rng: Random, shelf: Shelf) -> str:
    """The keyword in other cases, scripts and spellings."""
    words = ("SOURCE", "sOuRcE", "\u0405ource", "S\u043eurce", "Sourc\u0435", "s\u03bfur\u0441e", "Ｓｏｕｒｃｅ", "\U0001d412\U0001d428\U0001d42e\U0001d42b\U0001d41c\U0001d41e", "So\u200burce", "So\u00adurce", "S\u0301ource", "Source\u2060", "Sources", "*Source*", "**Source**", "\u2003Source", "Source\u202e\u202c")  # fmt: skip
    word = rng.choice(words)
    where = entry(rng, shelf)
    if rng.random() < 0.1:
        return f"[{word} N]"
    forms = (f"[{word}: evil.md, lines 1-2]", f"[{word} 999]", f"[{word}: {where.source_file}, lines {where.start}-{where.end + 1}]", f"[{word}=evil.md, line 1]", f"[{word}：evil.md, lines 1-2]", f"[{word}: ?]")  # fmt: skip
    return rng.choice(forms)


FABRICATIONS = (
    off_by_one,
    swapped_files,
    unretrieved_files,
    names_in_other_case,
    names_by_other_paths,
    names_encoded,
    names_that_look_alike,
    numbers_past_the_ledger,
    lists_of_right_and_wrong,
    numbers_disguised,
    keywords_disguised,
)
"""All of them; outside code, links and identifiers, an answer loses each, and nothing else."""


def anything(rng: Random, shelf: Shelf) -> str:
    """Give a fabrication of any kind."""
    return rng.choice(FABRICATIONS)(rng, shelf)
