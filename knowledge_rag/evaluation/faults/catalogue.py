"""Every row of FAULTS, and some more, as named values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.evaluation.faults import (
    rows_bodies,
    rows_connections,
    rows_errors,
    rows_kept,
    rows_requests,
    rows_results,
    rows_slowness,
    rows_surroundings,
)

if TYPE_CHECKING:
    from knowledge_rag.evaluation.faults.model import Fault

CATALOGUE: Final[tuple[Fault, ...]] = (
    *rows_errors.ROWS,
    *rows_connections.ROWS,
    *rows_slowness.ROWS,
    *rows_bodies.ROWS,
    *rows_results.ROWS,
    *rows_kept.ROWS,
    *rows_surroundings.ROWS,
    *rows_requests.ROWS,
)
"""In the order in which a game day is shown."""

_BY_NAME: Final = {fault.name: fault for fault in CATALOGUE}


def named(name: str) -> Fault:
    """Give one row.

    Raises:
        InvalidRequest: there is none of that name.
    """
    fault = _BY_NAME.get(name)
    if fault is None:
        part = [known for known in _BY_NAME if name and name in known]
        hint = f"did you mean {', '.join(part[:5])}?" if part else "see --list"
        raise InvalidRequest(f"no fault {name[:60]!r}; {hint}")
    return fault
