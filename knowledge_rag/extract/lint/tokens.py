"""Secrets that are known by their form: keys and tokens of services, private keys."""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING, Final

from knowledge_rag.extract.lint.anchors import Rule, matches, rules
from knowledge_rag.extract.lint.finding import Hit
from knowledge_rag.extract.lint.placeholders import stands_for_a_secret

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.extract.lint.anchors import Words


def _token(message: str, anchors: str, words: str, rest: str) -> tuple[Rule, ...]:
    """Make the rules of a token: one of its beginnings, then ``rest``, as a word of its own."""
    beginnings = anchors.split()
    heads = "|".join(map(re.escape, beginnings))
    pattern = f"(?<![A-Za-z0-9_])(?:{heads}){rest}(?![A-Za-z0-9])"
    return rules(message, dict.fromkeys(beginnings, words), pattern)


_AWS_KEY_ID: Final = _token("AWS access key id", "AKIA ASIA", "", r"[A-Z2-7]{16}")
_TOKENS: Final = (
    *_token(
        "GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", "ghp gho ghu ghs ghr", r"[A-Za-z0-9]{36,255}"
    ),
    *_token("GitHub token", "github_pat_", "github", r"[A-Za-z0-9_]{36,255}"),
    *_token("GitLab token", "glpat- glrt- glptt- gldt-", "glpat glrt glptt gldt", r"[\w-]{20,255}"),
    *_token(
        "Slack token",
        "xoxa- xoxb- xoxe- xoxp- xoxr- xoxs- xapp-",
        "xoxa xoxb xoxe xoxp xoxr xoxs xapp",
        r"[A-Za-z0-9.-]{20,255}",
    ),
    *_token("Stripe key", "sk_live_ rk_live_ sk_test_ rk_test_", "sk rk", r"[A-Za-z0-9]{16,255}"),
    *_token("Google API key", "AIza", "", r"[\w-]{35}"),
    *_token("Google OAuth secret", "GOCSPX-", "gocspx", r"[\w-]{28}"),
    *_token("npm token", "npm_", "npm", r"[A-Za-z0-9]{36}"),
    *_token("PyPI token", "pypi-AgEI", "pypi", r"[\w-]{50,1000}"),
    *_token("OpenAI or Anthropic key", "sk-proj- sk-ant-", "sk", r"[\w-]{32,255}"),
    *_token("Vault token", "hvs.", "hvs", r"[\w-]{24,255}"),
    # the first line of a private key whose body follows: headers, then base64
    *rules(
        "private key",
        {"-----BEGIN ": "private"},
        r"(?P<shown>-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----)"
        r"(?:[^\n\\-]{0,80}(?:\n|\\n|\\r\\n)){0,5}?[\s>\"'|+]{0,40}[A-Za-z0-9+/]{40}",
    ),
    *rules(  # as Kubernetes has them: the base64 of the same, its beginning is enough
        "private key in base64",
        {"LS0tLS1CRUdJTiB": ""},
        r"LS0tLS1CRUdJTiB(?:QUklWQVRF|SU0EgUFJJVkFUR|FQyBQUklWQVRF|PUEVOU1NIIFBS)[A-Za-z0-9+/]{40}",
    ),
    *rules(
        "Slack webhook",
        {"hooks.slack.com/services/": "slack"},
        r"hooks\.slack\.com/services/T\w{6,15}/B\w{6,15}/\w{20,40}",
    ),
)
_AWS_SECRET: Final = re.compile(r"(?<![A-Za-z0-9/+=_-])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=_-])")
_NEAR: Final = 400
"""Characters either side of a key id in which its secret key is looked for."""
_JWT: Final = Rule(
    "eyJ",
    re.compile(r"(?<![\w.-])(eyJ[\w-]{8,4096})\.eyJ[\w-]{8,8192}\.[\w-]{16,4096}", re.ASCII),
    "JSON web token",
)


def known_secrets(text: str, words: Words) -> Iterator[Hit]:
    """Find secrets by their form.

    Args:
        text: the document's.
        words: of it.
    """
    for rule, found in matches(text, _AWS_KEY_ID):
        if not stands_for_a_secret(found[0][4:]):
            yield Hit(*found.span(), rule.message)
            yield from _secret_keys_near(text, *found.span())
    for rule, found in matches(text, _TOKENS, words):
        shown = found.span("shown") if found.lastgroup else found.span()
        if _is_random(found[0]) and not stands_for_a_secret(found[0]):
            yield Hit(*shown, rule.message)
    for rule, found in matches(text, (_JWT,)):
        if _is_header(found[1]):
            yield Hit(*found.span(), rule.message)


def _secret_keys_near(text: str, start: int, end: int) -> Iterator[Hit]:
    for found in _AWS_SECRET.finditer(text, max(0, start - _NEAR), end + _NEAR):
        key = found[0]
        mixed = any(map(str.isdigit, key)) and any(map(str.isupper, key)) and key != key.upper()
        if mixed and "/" not in (key[0], key[-1]) and not stands_for_a_secret(key):
            yield Hit(*found.span(), "AWS secret access key")


def _is_random(token: str) -> bool:
    return token != token.lower() or any(map(str.isdigit, token))


def _is_header(part: str) -> bool:
    """Tell whether the first part of what looks like a JSON web token names an algorithm."""
    try:
        decoded = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except binascii.Error:
        return False
    return b'"alg"' in decoded
