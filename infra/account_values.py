"""Parsers of the settings that an organisation prescribes for its accounts: boundary, tags, bootstrap."""

from __future__ import annotations

import json
import re
from typing import Final

from infra.setting_values import matching

_ACCOUNT: Final = r"(?:\d{12}|\$\{AWS::AccountId\})"
_PARTITION: Final = r"(?:aws[a-z-]*|\$\{AWS::Partition\})"
_PLACEHOLDER: Final = r"\$\{(?:AWS::AccountId|AWS::Region|Qualifier)\}"

kms_key_arn: Final = matching(
    r"arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:key/[A-Za-z0-9-]{36}",
    "the ARN of a KMS key (arn:aws:kms:REGION:ACCOUNT:key/ID)",
)
boundary_arn: Final = matching(
    rf"arn:{_PARTITION}:iam::(?:{_ACCOUNT}|aws):policy/[\w+=,.@/-]{{1,512}}",
    "the ARN of a managed policy (arn:aws:iam::ACCOUNT:policy/NAME), in which ${AWS::Partition} and"
    " ${AWS::AccountId} may stand",
)
qualifier: Final = matching(
    "[a-z0-9-]{1,10}",
    "1 to 10 lower-case letters, digits and hyphens: it is part of a bucket's name",
)
role_arn: Final = matching(
    rf"arn:{_PARTITION}:iam::{_ACCOUNT}:role/(?:[\w+=,.@/-]|{_PLACEHOLDER}){{1,512}}",
    "the ARN of a role, in which ${AWS::Partition}, ${AWS::AccountId}, ${AWS::Region} and ${Qualifier}"
    " may stand",
)
assets_bucket: Final = matching(
    rf"(?:[a-z0-9.-]|{_PLACEHOLDER}){{3,120}}",
    "the name of a bucket, in which ${AWS::AccountId}, ${AWS::Region} and ${Qualifier} may stand",
)

OWN_TAG: Final = "knowledge-rag:deployment"
"""Every resource has it, with the deployment's name."""
MAX_TAGS: Final = 50
"""Of one resource, for every service that is deployed here."""
_MAX_KEY: Final = 128
_MAX_VALUE: Final = 256
_TAG: Final = re.compile(r"[A-Za-z0-9 ._:/=+@-]*")
"""What all of the services take; Bedrock takes the fewest."""


def tags(value: object) -> dict[str, str]:
    """An object of texts, its JSON, or ``key=value,key=value``."""
    given = _pairs(value)
    if given is None:
        raise ValueError("an object of texts, or key=value,key=value")
    if len(given) >= MAX_TAGS:
        raise ValueError(
            f"at most {MAX_TAGS - 1} tags, since the deployment adds one and AWS takes {MAX_TAGS}"
        )
    reserved = [key for key in given if key.lower().startswith("aws:") or key == OWN_TAG]
    if reserved:
        raise ValueError(f"keys of your own; {', '.join(reserved)} is reserved")
    if len({key.lower() for key in given}) < len(given):
        raise ValueError("keys that differ by more than their case, which IAM ignores")
    for key, text in given.items():
        if not (0 < len(key) <= _MAX_KEY and _TAG.fullmatch(key) and key == key.strip()):
            raise ValueError(f"keys of 1 to {_MAX_KEY} {_CHARACTERS}; {key[:_MAX_KEY]!r} is none")
        if not (len(text) <= _MAX_VALUE and _TAG.fullmatch(text)):
            raise ValueError(f"values of at most {_MAX_VALUE} {_CHARACTERS}; that of {key} is none")
    return given


_CHARACTERS: Final = "letters (a to z), digits, spaces and . _ : / = + @ -"


def _pairs(value: object) -> dict[str, str] | None:
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    if isinstance(value, str):
        parts = [part.partition("=") for part in value.split(",") if part.strip()]
        if not all(equals for _, equals, _ in parts):
            return None
        return {key.strip(): text.strip() for key, _, text in parts}
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        return None
    return dict(value)
