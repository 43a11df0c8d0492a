"""All faults of the game day, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.evaluation.faults.rows_function import REQUESTS, SURROUNDINGS
from knowledge_rag.evaluation.faults.rows_network import CONNECTIONS, REUSED, SLOWNESS
from knowledge_rag.evaluation.faults.rows_responses import BODIES, ERRORS, RESULTS

if TYPE_CHECKING:
    from knowledge_rag.evaluation.faults.model import Fault

CATALOGUE: Final[tuple[Fault, ...]] = (
    *ERRORS, *CONNECTIONS, *SLOWNESS, *BODIES, *RESULTS, *REUSED, *SURROUNDINGS, *REQUESTS
)  # fmt: skip
"""In the order of the report."""

_BY_NAME: Final = {fault.name: fault for fault in CATALOGUE}


def named(name: str) -> Fault:
    """Return one fault, or raise :exc:`InvalidRequest` with similar names."""
    fault = _BY_NAME.get(name)
    if fault is None:
        part = [known for known in _BY_NAME if name and name in known]
        hint = f"did you mean {', '.join(part[:5])}?" if part else "see --list"
        raise InvalidRequest(f"no fault {name[:60]!r}; {hint}")
    return fault
