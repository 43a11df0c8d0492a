"""Parsers of settings; they accept values of ``cdk.json`` and strings of ``-c`` alike.

A parser returns the value, or raises ``ValueError`` with a description of the allowed values.
"""

from __future__ import annotations

import json
import math
import re
from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MISSING: Final = object()
"""Stands for a value that was not given."""

_E = TypeVar("_E", bound=StrEnum)
_T = TypeVar("_T")

_NAME: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_MAX_SHOWN: Final = 60


class Problems:
    """All errors in the settings, a line each."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def add(self, key: str, value: object, allowed: str) -> None:
        """Add a setting with a value that is not allowed."""
        shown = "is not set" if value is MISSING else f"= {_shown(value)}"
        self.found.append(f"  {key} {shown}; allowed: {allowed}")

    def add_unknown(self, key: str, value: object, known: Sequence[str]) -> None:
        """Add a setting that does not exist."""
        self.found.append(f"  {key} = {_shown(value)}: unknown setting; known: {', '.join(known)}")

    def read(self, key: str, value: object, parse: Callable[[Any], _T], default: _T) -> _T:
        """Parse one value; if it is wrong, add an error and return the default."""
        try:
            return parse(value)
        except ValueError as error:
            self.add(key, value, str(error))
            return default


def _shown(value: object) -> str:
    rendered = json.dumps(value, default=str)
    return rendered if len(rendered) <= _MAX_SHOWN else rendered[:_MAX_SHOWN] + "..."


def choice(kind: type[_E], allowed: str = "") -> Callable[[object], _E]:
    """Parse one of an enumeration's values, in any case; ``allowed`` replaces the list of them in the error."""
    known = {str(member).lower(): member for member in kind}

    def parse(value: object) -> _E:
        if not isinstance(value, str) or value.strip().lower() not in known:
            raise ValueError(allowed or " or ".join(kind))
        return known[value.strip().lower()]

    return parse


def switch(value: object) -> bool:
    """Parse ``true`` or ``false``."""
    known = {"true": True, "false": False}
    if isinstance(value, bool):
        return value
    if not isinstance(value, str) or value.strip().lower() not in known:
        raise ValueError("true or false")
    return known[value.strip().lower()]


def whole(least: int, most: int, allowed: Sequence[int] = ()) -> Callable[[object], int]:
    """Parse a whole number in a range, bounds included, or one of the ``allowed`` ones."""
    expected = f"one of {', '.join(map(str, allowed))}" if allowed else f"{least} to {most}"

    def parse(value: object) -> int:
        parsed = _number(value)
        in_range = parsed.is_integer() and least <= parsed <= most
        if not in_range or (allowed and int(parsed) not in allowed):
            raise ValueError(f"a whole number, {expected}")
        return int(parsed)

    return parse


def number(least: float, most: float) -> Callable[[object], float]:
    """Parse a number in a range, bounds included."""

    def parse(value: object) -> float:
        parsed = _number(value)
        if not least <= parsed <= most:
            raise ValueError(f"a number, {least:g} to {most:g}")
        return parsed

    return parse


def number_or(kind: type[_E], least: float, most: float, *, unset: _E) -> Callable[[object], Any]:
    """Parse one of an enumeration's values or a number in a range; ``null`` or an empty string is ``unset``."""
    word, in_range = choice(kind), number(least, most)

    def parse(value: object) -> float | _E:
        if value is None or value == "":
            return unset
        for read in (word, in_range):
            with suppress(ValueError):
                return read(value)
        raise ValueError(f"{', '.join(kind)} or a number, {least:g} to {most:g}")

    return parse


def _number(value: object) -> float:
    """Read a number; anything else becomes NaN, which is in no range."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return math.nan
    try:
        return float(value)
    except (ValueError, OverflowError):
        return math.nan


def text(value: object) -> str:
    """Parse any text that isn't blank."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError("text that isn't blank")
    return value.strip()


def name(max_characters: int) -> Callable[[object], str]:
    """Parse a name that every service accepts: lower case, digits and single hyphens."""

    def parse(value: object) -> str:
        if (
            not isinstance(value, str)
            or not _NAME.fullmatch(value)
            or not 3 <= len(value) <= max_characters
        ):
            raise ValueError(
                f"3 to {max_characters} lower-case letters, digits and single hyphens, a letter first"
            )
        return value

    return parse


def names(value: object) -> tuple[str, ...]:
    """Parse a list of strings, or a string with commas."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
        raise ValueError("a list of strings")
    return tuple(part.strip() for part in parts if part.strip())


def matching(pattern: str, expected: str) -> Callable[[object], str]:
    """Parse text that matches a pattern, or nothing; ``expected`` describes it."""
    form = re.compile(pattern)

    def parse(value: object) -> str:
        if not isinstance(value, str) or (value.strip() and not form.fullmatch(value.strip())):
            raise ValueError(f"{expected}, or nothing")
        return value.strip()

    return parse


email: Final = matching(r"[^@\s,;<>]{1,64}@[^@\s,;<>]+\.[^@\s,;<>.]{2,}", "one e-mail address")
bucket_name: Final = matching("[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", "the name of a bucket")
key_prefix: Final = matching(  # an inclusion prefix of a data source has at most 300 characters
    r"(?!/)(?s:.){0,299}/", "a key prefix that ends in / and does not begin with it"
)
key_arn: Final = matching(
    r"arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:key/[A-Za-z0-9-]+",
    "the ARN of a KMS key (arn:aws:kms:REGION:ACCOUNT:key/ID)",
)
knowledge_base_id: Final = matching(
    "[0-9a-zA-Z]{10}", "the id of a knowledge base, ten letters and digits"
)
discovery_url: Final = matching(
    r"https://.*/\.well-known/openid-configuration",
    "an https address that ends in /.well-known/openid-configuration",
)
_UUID: Final = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
slack_channel: Final = matching(
    "[0-9A-Z]{1,255}/[A-Za-z0-9]{1,255}", "workspace/channel, e.g. T0123ABCD/C0456EFGH"
)
teams_channel: Final = matching(
    rf"{_UUID}/{_UUID}/19%3[aA][A-Za-z0-9_=+.,-]{{1,150}}%40thread\.tacv2",
    "tenant/team/channel, as the channel's link has them: two UUIDs and 19%3a...%40thread.tacv2",
)
policy_engine: Final = matching(
    r"arn:aws[a-z-]*:bedrock-agentcore:[a-z0-9-]+:[0-9]{12}:policy-engine/[A-Za-z][A-Za-z0-9_-]{0,99}-[A-Za-z0-9_]{10}",
    "the ARN of a policy engine (arn:aws:bedrock-agentcore:REGION:ACCOUNT:policy-engine/ID)",
)
agent_space: Final = matching("[a-zA-Z0-9-]{1,64}", "the id of an agent space")
topic_arn: Final = matching(
    r"arn:aws[a-z-]*:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]{1,256}",
    "the ARN of a standard topic of SNS",
)
pagerduty_url: Final = matching(
    r"https://events\.(?:eu\.)?pagerduty\.com/(?:integration|x-ere)/[A-Za-z0-9_-]{10,100}(?:/enqueue)?",
    "the address of a service's CloudWatch integration, https://events.pagerduty.com/...",
)
handbook_url: Final = matching(
    r"https://[^\s#<>\"]{4,200}", "an https address without #, at most 200 characters after //"
)

secret_arn: Final = matching(
    r"arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:[A-Za-z0-9/_+=.@-]{1,519}",
    "the ARN of a secret in Secrets Manager",
)
model: Final = matching(
    "[a-z0-9][a-z0-9.:_-]{1,199}", "the id of a model or of an inference profile"
)
file_path: Final = matching(r"[^\0\n]{1,500}", "the path of a file")

OFF: Final = "off"
MAX_QUESTION_CHARACTERS: Final = 1_000


def question(value: object) -> str:
    """Parse one line of text, ``off``, or nothing."""
    if not isinstance(value, str) or len(value) > MAX_QUESTION_CHARACTERS or "\n" in value.strip():
        raise ValueError(
            f"one line of at most {MAX_QUESTION_CHARACTERS} characters, off, or nothing"
        )
    return OFF if value.strip().lower() == OFF else value.strip()


def _object(value: object) -> dict[str, Any] | None:
    """Return an object, given as such or as JSON text; ``None`` for anything else."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) else None


_CLAIM_NAME: Final = re.compile(r"[A-Za-z0-9_.:-]{1,255}")
_CLAIM_VALUE: Final = re.compile(r"[A-Za-z0-9_.-]{1,255}")


def claims(value: object) -> str:
    """Parse a token's claims: an object, or its JSON text, from names to a string or a list of strings, or nothing."""
    if isinstance(value, str) and not value.strip():
        return ""
    given = _object(value)
    if given is None or not all(map(_is_claim, given.items())):
        raise ValueError(
            "an object that maps a claim's name to its value, or to a list of values of which the claim"
            " must contain one (letters, digits, . _ -), or nothing"
        )
    return json.dumps(given) if given else ""


def _is_claim(item: tuple[str, object]) -> bool:
    name, wanted = item
    texts = wanted if isinstance(wanted, list) else [wanted]
    return bool(_CLAIM_NAME.fullmatch(name) and texts) and all(
        isinstance(each, str) and _CLAIM_VALUE.fullmatch(each) for each in texts
    )


def metadata_filter(value: object) -> str:
    """Parse a metadata filter: an object with one operator, or its JSON text, or nothing.

    The retrieval function checks the rest when it reads its settings.
    """
    if isinstance(value, str) and not value.strip():
        return ""
    given = _object(value)
    if given is None or len(given) != 1:
        raise ValueError("a metadata filter: an object with one operator, or nothing")
    return json.dumps(given, separators=(",", ":"))


# an organisation's requirements for its accounts

_ACCOUNT: Final = r"(?:\d{12}|\$\{AWS::AccountId\})"
_PARTITION: Final = r"(?:aws[a-z-]*|\$\{AWS::Partition\})"
_PLACEHOLDER: Final = r"\$\{(?:AWS::AccountId|AWS::Region|Qualifier)\}"

kms_key_arn: Final = matching(
    r"arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:key/[A-Za-z0-9-]{36}",
    "the ARN of a KMS key (arn:aws:kms:REGION:ACCOUNT:key/ID)",
)
boundary_arn: Final = matching(
    rf"arn:{_PARTITION}:iam::(?:{_ACCOUNT}|aws):policy/[\w+=,.@/-]{{1,512}}",
    "the ARN of a managed policy (arn:aws:iam::ACCOUNT:policy/NAME), which may contain ${AWS::Partition}"
    " and ${AWS::AccountId}",
)
qualifier: Final = matching(
    "[a-z0-9-]{1,10}",
    "1 to 10 lower-case letters, digits and hyphens: it is part of a bucket's name",
)
role_arn: Final = matching(
    rf"arn:{_PARTITION}:iam::{_ACCOUNT}:role/(?:[\w+=,.@/-]|{_PLACEHOLDER}){{1,512}}",
    "the ARN of a role, which may contain ${AWS::Partition}, ${AWS::AccountId}, ${AWS::Region} and"
    " ${Qualifier}",
)
assets_bucket: Final = matching(
    rf"(?:[a-z0-9.-]|{_PLACEHOLDER}){{3,120}}",
    "the name of a bucket, which may contain ${AWS::AccountId}, ${AWS::Region} and ${Qualifier}",
)

OWN_TAG: Final = "knowledge-rag:deployment"
"""Key of the tag with the deployment's name, which every resource has."""
MAX_TAGS: Final = 50
"""Maximum per resource, for every service in the deployment."""
_MAX_KEY: Final = 128
_MAX_VALUE: Final = 256
_TAG: Final = re.compile(r"[A-Za-z0-9 ._:/=+@-]*")
"""Characters that all of the services accept; Bedrock accepts the fewest."""


def tags(value: object) -> dict[str, str]:
    """Parse an object of strings, its JSON text, or ``key=value,key=value``."""
    given = _pairs(value)
    if given is None or not all(isinstance(text, str) for text in given.values()):
        raise ValueError("an object of strings, or key=value,key=value")
    if len(given) >= MAX_TAGS:
        raise ValueError(
            f"at most {MAX_TAGS - 1} tags, since the deployment adds one and AWS allows {MAX_TAGS}"
        )
    reserved = [key for key in given if key.lower().startswith("aws:") or key == OWN_TAG]
    if reserved:
        raise ValueError(f"keys of your own; {', '.join(reserved)} is reserved")
    if len({key.lower() for key in given}) < len(given):
        raise ValueError("keys that differ by more than their case, which IAM ignores")
    for key, text in given.items():
        if not (0 < len(key) <= _MAX_KEY and _TAG.fullmatch(key) and key == key.strip()):
            raise ValueError(f"keys of 1 to {_MAX_KEY} {_CHARACTERS}; {key[:_MAX_KEY]!r} is not")
        if not (len(text) <= _MAX_VALUE and _TAG.fullmatch(text)):
            raise ValueError(f"values of at most {_MAX_VALUE} {_CHARACTERS}; that of {key} is not")
    return given


_CHARACTERS: Final = "letters (a to z), digits, spaces and . _ : / = + @ -"


def _pairs(value: object) -> dict[str, Any] | None:
    if not isinstance(value, str) or value.lstrip().startswith("{"):
        return _object(value)
    parts = [part.partition("=") for part in value.split(",") if part.strip()]
    if not all(equals for _, equals, _ in parts):
        return None
    return {key.strip(): text.strip() for key, _, text in parts}
