"""The deployments of a run, and their costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.deployment.doctor.checks import OCU_HOUR_DOLLARS, PRICE_DATE, PRICE_REGION

if TYPE_CHECKING:
    from collections.abc import Mapping

OPENSEARCH: Final = "opensearch"
S3_VECTORS: Final = "s3-vectors"

SHORT: Final = {OPENSEARCH: "os", S3_VECTORS: "s3"}

_USUAL: Final[dict[str, Any]] = {
    "preset": "dev",
    "removal_policy": "destroy",
    "log_retention_days": 1,
}
_OF_STORE: Final[dict[str, dict[str, Any]]] = {
    # with the features that only AWS can prove: a key, a guardrail, and a store that sleeps
    OPENSEARCH: {"customer_managed_key": True, "guardrail": True},
    # always awake, so it has a canary
    S3_VECTORS: {"vector_store": S3_VECTORS, "search_type": "SEMANTIC"},
}


def store_of(settings: Mapping[str, Any]) -> str:
    """Return the store selected by settings."""
    return str(settings.get("vector_store", OPENSEARCH))


def settings_of(store: str, name: str, entrypoint: str) -> dict[str, Any]:
    """Return the settings of a store's deployment; those in ``cdk.json`` don't apply to it."""
    gateway = {"gateway_logs": True} if entrypoint in {"gateway", "both"} else {}
    return {**_USUAL, **_OF_STORE[store], **gateway, "name": name, "entrypoint": entrypoint}


PRICES_OF: Final = f"{PRICE_REGION}, {PRICE_DATE}"
THOUSAND_QUERIES: Final = 0.02
THOUSAND_GUARDED: Final = 1.70
AGENT_TURN: Final = 0.04
STANDING_HOUR: Final = 0.02
"""Alarms, dashboard, key and snapshot: about $11 to $13 a month."""

USUAL_OCU: Final = 2
MOST_OCU: Final = 4
"""``max_ocu`` of indexing and of searching, each."""

HOURS: Final[dict[str, tuple[float, float]]] = {OPENSEARCH: (1.2, 3.0), S3_VECTORS: (0.8, 2.0)}
"""Hours that each store's deployment exists, usually and at most."""
QUESTIONS: Final = 650
"""Questions per store: 383 to measure the floor, half of them again, and those of the other steps."""


@dataclass(frozen=True, slots=True)
class Bill:
    """An estimate in US dollars; ``at_most`` if every limit is reached."""

    usual: float
    at_most: float

    def __add__(self, other: Bill) -> Bill:
        return Bill(self.usual + other.usual, self.at_most + other.at_most)


def bill(
    settings: Mapping[str, Any], hours: tuple[float, float], questions: int = QUESTIONS
) -> Bill:
    """Estimate the cost of a deployment.

    Args:
        settings: the deployment's settings.
        hours: hours that it exists, usually and at most.
        questions: number of questions.
    """
    opensearch = store_of(settings) == OPENSEARCH
    guarded = THOUSAND_GUARDED if settings.get("guardrail") else 0.0
    asked = questions / 1000 * (THOUSAND_QUERIES + guarded)
    turns = 2 * AGENT_TURN if settings["entrypoint"] in {"agent", "both"} else 0.0
    usual, most = (
        asked + turns + each * (STANDING_HOUR + (ocu * OCU_HOUR_DOLLARS if opensearch else 0.0))
        for each, ocu in zip(hours, (USUAL_OCU, MOST_OCU), strict=True)
    )
    return Bill(usual, most)
