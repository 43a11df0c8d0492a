"""Secrets that are known by their place: after ``password =``, in a URL, in a header.

What a value looks like decides: a runbook says ``password: see the vault`` and
``--password "$DB_PASSWORD"`` far more often than it gives one away.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from knowledge_rag.extract.lint.anchors import Rule, matches, rules
from knowledge_rag.extract.lint.finding import Hit
from knowledge_rag.extract.lint.placeholders import decoded, stands_for_a_secret

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.extract.lint.anchors import Folded

_PASSWORD: Final = "password in plain text"  # noqa: S105 - a message
_KEY: Final = "key or token in plain text"
_VALUE: Final = (
    r"(?:\"(?P<double>[^\"\s]{6,512})\"|'(?P<single>[^'\s]{6,512})'|`(?P<code>[^`\s]{6,512})`"
    r"|(?P<bare>[^\s\"'`,;|<>(){}\[\]]{6,512}))"
)
# what may stand between a name and its value: quotes and marks around the name, then = or :
_IS: Final = r"[\"'`*_\]]{0,4}[ \t]{0,4}(?:=>|:=|==?|:)[*_]{0,2}[ \t]{0,4}"
_FLAG: Final = r"(?:[ \t]{1,4}|=)"

_ASSIGNMENTS: Final = (
    *rules(_PASSWORD, {"passw": ""}, rf"passw(?:or)?d(?:{_IS}|(?<=--password){_FLAG}){_VALUE}"),
    *rules(_PASSWORD, {"passphrase": "passphrase"}, rf"passphrase{_IS}{_VALUE}"),
    *rules(_PASSWORD, {"pwd": "pwd"}, rf"pwd{_IS}{_VALUE}"),
    *rules(
        _KEY,
        {"secret": ""},
        r"(?<!:)secret(?:[_-]?(?:access[_-]?)?key|[_-]?value)?"
        rf"(?:{_IS}|(?<=--secret){_FLAG}){_VALUE}",
    ),
    *rules(
        _KEY,
        {"token": ""},
        r"(?<!next)(?<!next[_-])(?<!page)(?<!page[_-])(?<!continue)(?<!cancel)(?<!sync)"
        rf"token(?:{_IS}|(?<=--token){_FLAG}){_VALUE}",
    ),
    *rules(
        _KEY,
        {"apikey": "apikey", "api_key": "api", "api-key": "api"},
        rf"api[_-]?key(?:{_IS}|(?<=--api-key){_FLAG}){_VALUE}",
    ),
    *rules(
        _KEY,
        {"access_key": "access", "accountkey": "accountkey"},
        rf"(?:access_|account)key{_IS}{_VALUE}",
    ),
    *rules(_KEY, {"bearer ": "bearer"}, rf"bearer {_VALUE}"),
)
_BASIC: Final = rules(
    "password in an Authorization header",
    {"basic ": "basic"},
    r"(?<=: )basic (?P<bare>[a-z0-9+/]{8,512}={0,2})",
)
_CONNECTION: Final = re.compile(
    r"://(?P<user>[^\s:/@\"'`<>?#|()]{0,128}):(?P<password>[^\s/@\"'`<>|()]{3,256})@(?=[\w.\[{$<%-])"
)
_NO_SECRETS: Final = (
    # paths, addresses and names of resources; options; digests
    re.compile(
        r"(?:\.{0,2}[~/]|\w+://|[a-z]:\\|-|sha\d{3}[:-]|arn:|(?:s3|ssm|op|vault):).*",
        re.ASCII | re.DOTALL | re.IGNORECASE,
    ),
    re.compile(r"[\w.-]+:\d{2,5}(?:/.*)?", re.ASCII | re.DOTALL),  # host and port
    re.compile(r"[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_][\w-]*)+", re.ASCII),  # an expression
    # words and small numbers
    re.compile(r"(?:[A-Za-z]+|v?\d{1,2})(?:[-_./:+](?:[A-Za-z]+|v?\d{1,2}))*[-_./:+]?", re.ASCII),
)
_TRAILING: Final = ".:)*_\\"
_LEAST_OF_A_KEY: Final = 16
_LEAST_OF_A_PASSWORD: Final = 6


def given_away(text: str, folded: Folded) -> Iterator[Hit]:
    """Find secrets by their place.

    Args:
        text: the document's.
        folded: the same, folded.
    """
    for rule, found in matches(folded.text, _ASSIGNMENTS, folded.words):
        start, end = found.span(found.lastgroup or 0)
        value = text[start:end]
        if found.lastgroup == "bare":
            value = value.rstrip(_TRAILING)
        if _looks_real(value, rule.message):
            yield Hit(start, start + len(value), rule.message)
    for rule, found in matches(folded.text, _BASIC, folded.words):
        value = text[slice(*found.span("bare"))]
        if len(value) % 4 == 0 and _is_mixed(value) and not stands_for_a_secret(value):
            yield Hit(*found.span("bare"), rule.message)
    if "@" in text:
        yield from _connection_strings(text)


def _connection_strings(text: str) -> Iterator[Hit]:
    rule = Rule("://", _CONNECTION, "connection string with a password")
    for _, found in matches(text, (rule,)):
        password = found["password"]
        if password != found["user"] and not stands_for_a_secret(password):
            yield Hit(*found.span("password"), rule.message)


def _looks_real(value: str, message: str) -> bool:
    if len(value) < (_LEAST_OF_A_KEY if message == _KEY else _LEAST_OF_A_PASSWORD):
        return False
    if stands_for_a_secret(value):
        return False
    plain = decoded(value)
    return (
        _is_mixed(plain)
        and not any(map(str.isspace, plain))
        and not any(form.fullmatch(plain) for form in _NO_SECRETS)
        and not stands_for_a_secret(plain)
    )


def _is_mixed(value: str) -> bool:
    """Words have letters alone; secrets have digits, or capitals and signs among small letters."""
    letters = any(map(str.isalpha, value))
    digits = any(map(str.isdigit, value))
    both_cases = value not in (value.lower(), value.upper())
    return letters and (digits or (both_cases and not value.isalpha()))
