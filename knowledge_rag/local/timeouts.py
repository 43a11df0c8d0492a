"""How long a question to a knowledge base on this machine may take.

The 2 s that a deployed query may take are the Lambda's promise. A local search usually takes
milliseconds, but on a busy machine a late answer is better than none.
"""

from __future__ import annotations

from typing import Final

LOCAL_TIMEOUT_SECONDS: Final = 30.0
"""What a local query may take unless ``--timeout`` says otherwise."""

LONGEST_TIMEOUT_SECONDS: Final = 600.0
"""The largest ``--timeout``."""

_LONGER: Final = 4


def timed_out(seconds: float) -> str:
    """Return the notice of a local query that took too long.

    Args:
        seconds: what it was allowed to take.
    """
    told = f"timed out after {seconds:g} s: this machine is busy, or the knowledge base is large"
    if seconds >= LONGEST_TIMEOUT_SECONDS:
        return told
    return f"{told}; try --timeout {min(_LONGER * seconds, LONGEST_TIMEOUT_SECONDS):g}"
