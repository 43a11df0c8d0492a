"""Finds secrets in a text: by form (keys of services) and by place (after ``password =``).

By place, the form of the value decides: a runbook says ``password: see the vault`` and
``--password "$DB_PASSWORD"`` far more often than it reveals one.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING, Final

from knowledge_rag.extract.lint.patterns import Hit, matches, rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.extract.lint.patterns import Folded, Rule


_ANYWHERE: Final = re.compile(
    r"example|sample|placeholder|change[-_ ]?(?:me|it|this)|replace|redacted|removed|masked|hidden"
    r"|dummy|not[-_]?real|fake|insert|your[-_]?|xxx|\*\*\*|\.\.\.|…|__+$|^__|todo|\btbd\b",
    re.IGNORECASE,
)
_TEMPLATE: Final = re.compile(
    r"[<>]|\$[{(]|\$[A-Z_]{3}|\{\{|\}\}|^\{.*\}$|%[({]|%\w+%|^[$%@&!]\w|^\[.*\]$|^#\{"
)
_STAND_IN: Final = re.compile(
    r"(?:(?:my|a|the|some|new|old|db|database|user|admin|root|default|test|demo|foo|bar|basic|auth"
    r"|client|access|api|service|app|private|secret)[-_.]?){0,4}"
    r"(?:passw(?:or)?d|p[a@]ss(?:w[o0]rd)?|pwd|passphrase|secret|s3cr3t|token|key|string|value|text"
    r"|foo|bar|baz|qux|test|demo|abc|admin|user|root|guest|none|null|nil|true|false|undefined"
    r"|unset|required|optional)s?"
    r"[-_.]?(?:here|goes|value|key|id)?[-_.]?(?:123|1234|12345|\d{0,2})!?",
    re.IGNORECASE,
)
_SEQUENCES: Final = tuple(
    line[start : start + 6]
    for line in ("abcdefghijklmnopqrstuvwxyz", "01234567890", "98765432109876", "zyxwvutsrq")
    for start in range(len(line) - 5)
)
_MIN_KINDS: Final = 5
"""Minimum distinct characters; a value with fewer is a pattern such as ``aaaa-bbbb``."""


def stands_for_a_secret(value: str) -> bool:
    """Return whether a value is a template, an example or a filler.

    >>> [stands_for_a_secret(v) for v in ("<token>", "$TOKEN", "changeme", "xxxxxx", "k9Vq2mZx")]
    [True, True, True, True, False]
    """
    folded = value.lower()
    return (
        bool(_ANYWHERE.search(value) or _TEMPLATE.search(value) or _STAND_IN.fullmatch(value))
        or len(set(folded)) < min(_MIN_KINDS, len(value) - 1)
        or any(run in folded for run in _SEQUENCES)
    )


def decoded(value: str) -> str:
    """Decode base64 of plain text; return any other value as it is."""
    if len(value) % 4 or not value.isascii():
        return value
    try:
        plain = base64.b64decode(value, validate=True).decode("ascii").strip()
    except (binascii.Error, UnicodeDecodeError):
        return value
    return plain if plain and plain.isprintable() else value


def _token(message: str, beginnings: str, rest: str) -> Rule:
    """Return the rule for a token: one of its beginnings, then ``rest``, as a separate word."""
    heads = beginnings.split()
    words = " ".join(re.split("[^a-z]", head.lower())[0] for head in heads if not head.isalpha())
    pattern = f"(?:{'|'.join(map(re.escape, heads))}){rest}"
    return rule(message, words, f"(?<![A-Za-z0-9_]){pattern}(?![A-Za-z0-9])")


_AWS_KEY_ID: Final = _token("AWS access key id", "AKIA ASIA", r"[A-Z2-7]{16}").pattern
_TOKENS: Final = (
    _token("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"[A-Za-z0-9]{36,255}"),
    _token("GitHub token", "github_pat_", r"[A-Za-z0-9_]{36,255}"),
    _token("GitLab token", "glpat- glrt- glptt- gldt-", r"[\w-]{20,255}"),
    _token("Slack token", "xoxa- xoxb- xoxe- xoxp- xoxr- xoxs- xapp-", r"[A-Za-z0-9.-]{20,255}"),
    _token("Stripe key", "sk_live_ rk_live_ sk_test_ rk_test_", r"[A-Za-z0-9]{16,255}"),
    _token("Google API key", "AIza", r"[\w-]{35}"),
    _token("Google OAuth secret", "GOCSPX-", r"[\w-]{28}"),
    _token("npm token", "npm_", r"[A-Za-z0-9]{36}"),
    _token("PyPI token", "pypi-AgEI", r"[\w-]{50,1000}"),
    _token("OpenAI or Anthropic key", "sk-proj- sk-ant-", r"[\w-]{32,255}"),
    _token("Vault token", "hvs.", r"[\w-]{24,255}"),
    # the first line of a private key, followed by its body: headers, then base64
    rule(
        "private key",
        "private",
        r"(?P<shown>-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----)"
        r"(?:[^\n\\-]{0,80}(?:\n|\\n|\\r\\n)){0,5}?[\s>\"'|+]{0,40}[A-Za-z0-9+/]{40}",
    ),
    rule(  # as in Kubernetes: the base64 of the same, its beginning is enough
        "private key in base64",
        "",
        r"LS0tLS1CRUdJTiB(?:QUklWQVRF|SU0EgUFJJVkFUR|FQyBQUklWQVRF|PUEVOU1NIIFBS)[A-Za-z0-9+/]{40}",
    ),
    rule(
        "Slack webhook",
        "slack",
        r"hooks\.slack\.com/services/T\w{6,15}/B\w{6,15}/\w{20,40}",
    ),
)
_AWS_SECRET: Final = re.compile(r"(?<![A-Za-z0-9/+=_-])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=_-])")
_NEAR: Final = 400
"""Characters on either side of a key id in which to look for its secret key."""
_WEB_TOKEN: Final = re.compile(
    r"(?<![\w.-])(eyJ[\w-]{8,4096})\.eyJ[\w-]{8,8192}\.[\w-]{16,4096}", re.ASCII
)


def known_secrets(text: str, words: frozenset[str]) -> Iterator[Hit]:
    """Find secrets by their form."""
    for found in _AWS_KEY_ID.finditer(text):
        if not stands_for_a_secret(found[0][4:]):
            yield Hit(*found.span(), "AWS access key id")
            yield from _secret_keys_near(text, *found.span())
    for message, found in matches(text, _TOKENS, words):
        shown = found.span("shown") if found.lastgroup else found.span()
        if _is_random(found[0]) and not stands_for_a_secret(found[0]):
            yield Hit(*shown, message)
    for found in _WEB_TOKEN.finditer(text):
        if _is_header(found[1]):
            yield Hit(*found.span(), "JSON web token")


def _secret_keys_near(text: str, start: int, end: int) -> Iterator[Hit]:
    for found in _AWS_SECRET.finditer(text, max(0, start - _NEAR), end + _NEAR):
        key = found[0]
        mixed = any(map(str.isdigit, key)) and any(map(str.isupper, key)) and key != key.upper()
        if mixed and "/" not in (key[0], key[-1]) and not stands_for_a_secret(key):
            yield Hit(*found.span(), "AWS secret access key")


def _is_random(token: str) -> bool:
    return token != token.lower() or any(map(str.isdigit, token))


def _is_header(part: str) -> bool:
    """Whether the first part of a supposed JSON web token names an algorithm."""
    try:
        decoded = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except binascii.Error:
        return False
    return b'"alg"' in decoded


_PASSWORD: Final = "password in plain text"  # noqa: S105 - a message
_KEY: Final = "key or token in plain text"
_VALUE: Final = (
    r"(?:\"(?P<double>[^\"\s]{6,512})\"|'(?P<single>[^'\s]{6,512})'|`(?P<code>[^`\s]{6,512})`"
    r"|(?P<bare>[^\s\"'`,;|<>(){}\[\]]{6,512}))"
)
# allowed between a name and its value: quotes and marks around the name, then = or :
_IS: Final = r"[\"'`*_\]]{0,4}[ \t]{0,4}(?:=>|:=|==?|:)[*_]{0,2}[ \t]{0,4}"
_FLAG: Final = r"(?:[ \t]{1,4}|=)"

_ASSIGNMENTS: Final = (
    rule(_PASSWORD, "", rf"passw(?:or)?d(?:{_IS}|(?<=--password){_FLAG}){_VALUE}"),
    rule(_PASSWORD, "passphrase", rf"passphrase{_IS}{_VALUE}"),
    rule(_PASSWORD, "pwd", rf"pwd{_IS}{_VALUE}"),
    rule(
        _KEY,
        "",
        r"secret(?<!:secret)(?:[_-]?(?:access[_-]?)?key|[_-]?value)?"
        rf"(?:{_IS}|(?<=--secret){_FLAG}){_VALUE}",
    ),
    rule(
        _KEY,
        "",
        r"token(?<!nexttoken)(?<!next[_-]token)(?<!pagetoken)(?<!page[_-]token)(?<!continuetoken)"
        rf"(?<!canceltoken)(?<!synctoken)(?:{_IS}|(?<=--token){_FLAG}){_VALUE}",
    ),
    rule(
        _KEY,
        "apikey api",
        rf"api[_-]?key(?:{_IS}|(?<=--api-key){_FLAG}){_VALUE}",
    ),
    rule(
        _KEY,
        "access accountkey",
        rf"(?:access_|account)key{_IS}{_VALUE}",
    ),
    rule(_KEY, "bearer", rf"bearer {_VALUE}"),
)
_BASIC: Final = re.compile(r"(?<=: )basic (?P<bare>[a-z0-9+/]{8,512}={0,2})")
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
    """Find secrets by their place."""
    for message, found in matches(folded.text, _ASSIGNMENTS, folded.words):
        start, end = found.span(found.lastgroup or 0)
        value = text[start:end]
        if found.lastgroup == "bare":
            value = value.rstrip(_TRAILING)
        if _looks_real(value, message):
            yield Hit(start, start + len(value), message)
    for found in _BASIC.finditer(folded.text):
        value = text[slice(*found.span("bare"))]
        if len(value) % 4 == 0 and _is_mixed(value) and not stands_for_a_secret(value):
            yield Hit(*found.span("bare"), "password in an Authorization header")
    for found in _CONNECTION.finditer(text):
        password = found["password"]
        if password != found["user"] and not stands_for_a_secret(password):
            yield Hit(*found.span("password"), "connection string with a password")


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
    """Whether a value is mixed: words have only letters; secrets have digits, or capitals and signs too."""
    letters = any(map(str.isalpha, value))
    digits = any(map(str.isdigit, value))
    both_cases = value not in (value.lower(), value.upper())
    return letters and (digits or (both_cases and not value.isalpha()))


def find_secrets(text: str, folded: Folded) -> list[Hit]:
    """Find the secrets of a text, in order; of two that overlap, the one found by its form."""
    kept: list[Hit] = []
    taken = bytearray()
    for hit in [*known_secrets(text, folded.words), *given_away(text, folded)]:
        if not taken:
            taken = bytearray(len(text))
        if not any(taken[hit.start : hit.end]):
            taken[hit.start : hit.end] = b"\1" * (hit.end - hit.start)
            kept.append(hit)
    return sorted(kept)
