"""A reference of a verified answer, as the orchestrator tells of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Reference:
    """One reference.

    Args:
        text: as it stands in the answer, e.g. ``[Source 1]``.
        citations: what it stands for, each ``{"number", "citation"}``; at least one.
    """

    text: str
    citations: tuple[Mapping[str, object], ...]
