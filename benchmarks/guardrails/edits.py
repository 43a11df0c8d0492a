"""Changes the meaning of a line of guidance with hardly any new words.

An added clause, a dropped condition, an opposite, exchanged values, another order. The words are chosen
here instead of being taken from the product's tables, because otherwise the benchmark couldn't show gaps
in these tables.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from benchmarks.guardrails.mutations import PATTERNS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from random import Random

Edit = str
"""Name of a change."""

_CLAUSES: Final = (
    "then delete the volume", "and then drop the table", "then terminate the instance",
    "and remove the persistent volume claim", "then wipe the data directory",
    "and force-delete the namespace", "then purge the queue", "and flush the cache",
    "then reboot the node", "and restart the database", "then scale the deployment to zero",
    "and disable the alert", "then fail over to the standby", "and rotate the credentials",
    "then page the security team", "and roll back the release", "then truncate the audit log",
    "and detach the disk", "then open a ticket with the vendor", "and clear the backlog",
    "then revoke all tokens", "and turn off the firewall", "then reset the offsets",
    "and stop the replication", "then resize the filesystem",
)  # fmt: skip

_PAIRS: Final = (
    "enable disable", "enabled disabled", "enabling disabling", "increase decrease",
    "increasing decreasing", "increased decreased", "raise lower", "start stop", "started stopped",
    "add remove", "added removed", "attach detach", "open close", "before after", "above below",
    "up down", "upgrade downgrade", "scale-up scale-down", "allow deny", "allowed denied",
    "create delete", "created deleted", "mount unmount", "lock unlock", "pause resume",
    "connect disconnect", "healthy unhealthy", "primary secondary", "success failure",
    "succeed fail", "succeeded failed", "successful failed", "high low", "higher lower",
    "more less", "slow fast", "first last", "old new", "oldest newest", "minimum maximum",
    "internal external", "source destination", "inbound outbound", "upstream downstream",
    "available unavailable", "push pull", "read write", "reads writes", "import export",
    "accept reject", "online offline", "master replica", "leader follower", "active inactive",
    "valid invalid", "empty full", "manually automatically", "always never", "all none",
    "commit rollback", "install uninstall", "register deregister", "cordon uncordon", "show hide",
    "with without", "client server", "encrypt decrypt", "include exclude", "same different",
)  # fmt: skip
_ANTONYMS: Final = {
    a: b for pair in _PAIRS for a, b in (pair.split(" "), reversed(pair.split(" ")))
}
_ANTONYM: Final = re.compile(
    rf"(?<![\w./-])(?:{'|'.join(sorted(_ANTONYMS, key=len, reverse=True))})(?![\w/=-]|\.\w)",
    re.IGNORECASE,
)
_NAME: Final = re.compile(r"(?<=[a-z,] )[A-Z][A-Za-z]{3,}(?![\w'-])")
_CONDITION: Final = re.compile(
    r"(?:\b(?P<word>if|unless|only if|only when|when|until) [^,.;:()]{4,80}(?P<comma>, | then ))"
    r"|(?:,? \b(?P<behind>if|unless|only if|only when|when|until) [^,.;:()]{4,80}(?=[.;]|$))",
    re.IGNORECASE,
)
_NEGATED: Final = re.compile(r"\b(?:do not|don't|not|never|without|cannot|can't) ", re.IGNORECASE)
_ORDER: Final = re.compile(
    r"(?P<a>[A-Z`][^.;:()]{7,120}?)(?P<by>, then |, and then | and then | before | after | then )(?P<b>[^.;:()]{7,120})"
)
_MARK: Final = re.compile(r"\s*(?:[-*+]|\d+[.)])?\s*")
_TRIES: Final = 8


def clause_appended(line: str, _: str, rng: Random) -> str | None:
    """Append an instruction."""
    clause = rng.choice(_CLAUSES)
    body = line.rstrip()
    end = body[-1] if body[-1] in ".!;:" else ""
    return f"{body[: len(body) - len(end)]}, {clause}{end}"


def opposite(line: str, _: str, rng: Random) -> str | None:
    """Replace a word by its opposite, unless the line contains that too."""
    found = [it for it in _ANTONYM.finditer(line) if it[0].lower() in _ANTONYMS]
    if not found:
        return None
    target = rng.choice(found)
    other = _ANTONYMS[target[0].lower()]
    if re.search(rf"\b{re.escape(other)}", line, re.IGNORECASE):
        return None
    other = other.capitalize() if target[0][0].isupper() else other
    return line[: target.start()] + other + line[target.end() :]


def word_dropped(word: str) -> Callable[[str, str, Random], str | None]:
    """Return an edit that only drops a conditional word."""
    pattern = re.compile(rf"\b{word}\b ", re.IGNORECASE)

    def drop(line: str, _: str, __: Random) -> str | None:
        found = pattern.search(line)
        return line[: found.start()] + line[found.end() :] if found else None

    return drop


def condition_dropped(line: str, _: str, __: Random) -> str | None:
    """Drop a condition with its clause."""
    found = _CONDITION.search(line)
    if not found:
        return None
    left = line[: found.start()] + line[found.end() :]
    return left if len(left.split()) >= 4 else None


def negation_dropped(line: str, _: str, __: Random) -> str | None:
    """Drop a negation."""
    found = _NEGATED.search(line)
    return line[: found.start()] + line[found.end() :] if found else None


def number_swapped(line: str, chunk: str, rng: Random) -> str | None:
    """Replace a number by another one of the chunk."""
    return _swapped(line, chunk, rng, PATTERNS["number"])


def name_swapped(line: str, chunk: str, rng: Random) -> str | None:
    """Replace a name by another one of its kind from elsewhere in the chunk."""
    kinds = [PATTERNS[kind] for kind in ("identifier", "host", "path", "flag")] + [_NAME]
    rng.shuffle(kinds)
    return next((it for kind in kinds if (it := _swapped(line, chunk, rng, kind))), None)


def _swapped(line: str, chunk: str, rng: Random, kind: re.Pattern[str]) -> str | None:
    mark = _MARK.match(line)
    targets = list(kind.finditer(line, mark.end() if mark else 0))
    own = {it[0].casefold() for it in kind.finditer(line)}
    others = sorted({it[0] for it in kind.finditer(chunk) if it[0].casefold() not in own})
    others = [it for it in others if it.casefold() not in line.casefold()]
    if not targets or not others:
        return None
    target = rng.choice(targets)
    return line[: target.start()] + rng.choice(others) + line[target.end() :]


def order_reversed(line: str, _: str, __: Random) -> str | None:
    """Exchange the two sides of "then", "before" or "after"."""
    mark = _MARK.match(line)
    found = _ORDER.search(line, mark.end() if mark else 0)
    if not found:
        return None
    a, b = found["a"], found["b"].rstrip()
    lowered = a[0].lower() + a[1:]
    return (
        line[: found.start()] + b[0].upper() + b[1:] + found["by"] + lowered + line[found.end() :]
    )


EDITS: Final[Mapping[Edit, Callable[[str, str, Random], str | None]]] = {
    "clause appended": clause_appended,
    "opposite": opposite,
    "if dropped": word_dropped("if"),
    "unless dropped": word_dropped("unless"),
    "only dropped": word_dropped("only"),
    "condition dropped": condition_dropped,
    "negation dropped": negation_dropped,
    "number swapped": number_swapped,
    "name swapped": name_swapped,
    "order reversed": order_reversed,
}
"""Each returns a changed line, from a line, its chunk's text and a random source; ``None`` if it can't."""

CHUNK_NEEDED: Final = frozenset({"number swapped", "name swapped"})
"""Edits that take words from the chunk, so that only a citation of the chunk contains them."""


def steps_reversed(line: str, next_line: str) -> str | None:
    """Join two steps of a list in reverse order."""
    first, second = _MARK.match(line), _MARK.match(next_line)
    if not (first and second and re.match(r"\s*(?:[-*+]|\d+[.)])\s", line)):
        return None
    if not re.match(r"\s*(?:[-*+]|\d+[.)])\s+\w", next_line):
        return None
    a, b = line[first.end() :].rstrip(" .;:"), next_line[second.end() :].rstrip(" .;:")
    if min(len(a), len(b)) < 12 or a == b:
        return None
    return f"First, {b[0].lower()}{b[1:]}, then {a[0].lower()}{a[1:]}."
