"""Authenticates webhooks: a signature of the body, or a shared secret in a header.

Only hashlib and hmac are used, and everything is compared in constant time. A signed time may differ from ours by
five minutes; a repeated delivery within them is recognised by its event's key.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from typing import TYPE_CHECKING, Final

from knowledge_rag.channel.settings import Maker

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_AGE: Final = 300.0
"""Maximum seconds between a signed time and ours."""

SIGNATURE: Final = "X-Knowledge-RAG-Signature"
"""Header of this project's own webhooks: ``t=SECONDS,v1=HEX`` over ``SECONDS.body``."""


def refusal(
    maker: Maker, secret: str, headers: Mapping[str, str], body: bytes, now: float
) -> str | None:
    """Return why a delivery is refused; ``None`` if it is authentic.

    Args:
        maker: the expected sender.
        secret: shared with them.
        headers: of the request, with case-insensitive names.
        body: as received.
        now: seconds since 1970.
    """
    if maker is Maker.PAGERDUTY:
        given = headers.get("x-pagerduty-signature", "").split(",")
        return _checked([it.strip().removeprefix("v1=") for it in given], _hex(secret, body))
    if maker is Maker.GRAFANA and (signed := headers.get("x-grafana-alerting-signature")):
        moment = headers.get("x-grafana-alerting-timestamp", "")
        text = moment.encode() + b":" + body if moment else body
        return (
            _late(moment, now)
            if moment and _late(moment, now)
            else _checked([signed], _hex(secret, text))
        )
    if maker is Maker.INCIDENT_IO:
        return _standard(secret, headers, body, now)
    scheme, _, given_secret = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        return "no Authorization: Bearer header"
    return _checked([given_secret.strip()], secret)


def signature(secret: str, body: bytes, now: float) -> str:
    """Return the SIGNATURE header for a webhook sent now."""
    moment = str(int(now))
    return f"t={moment},v1={_hex(secret, moment.encode() + b'.' + body)}"


def _standard(secret: str, headers: Mapping[str, str], body: bytes, now: float) -> str | None:
    """Check a Standard Webhooks signature, which incident.io sends (by Svix)."""
    moment = headers.get("webhook-timestamp", "")
    if late := _late(moment, now):
        return late
    text = f"{headers.get('webhook-id', '')}.{moment}.".encode() + body
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        return "the secret is not base64"
    expected = base64.b64encode(hmac.digest(key, text, hashlib.sha256)).decode()
    given = headers.get("webhook-signature", "").split(" ")
    return _checked([it.removeprefix("v1,") for it in given], expected)


def _late(moment: str, now: float) -> str | None:
    if not moment.isdecimal() or len(moment) > 12:
        return "no signed time"
    return "the signed time is too far from ours" if abs(now - int(moment)) > MAX_AGE else None


def _hex(secret: str, text: bytes) -> str:
    return hmac.digest(secret.encode(), text, hashlib.sha256).hex()


def _checked(given: list[str], expected: str) -> str | None:
    same = [hmac.compare_digest(it.encode(), expected.encode()) for it in given]
    return None if any(same) else "the signature or secret is wrong"
