"""Limits the cost of a model in a day: the maximum of each call is set aside before it, its actual cost recorded after it.

The user provides the prices: no list of prices stays true, and none can be looked up here.
"""

from __future__ import annotations

import json
import math
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.errors import InvalidSettings
from knowledge_rag.core.files import lock, written_atomically
from knowledge_rag.orchestrator.errors import LimitReached

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

PRICES_VARIABLE: Final = "KNOWLEDGE_RAG_MODEL_PRICES"
LIMIT_VARIABLE: Final = "KNOWLEDGE_RAG_MODEL_DAILY_LIMIT"
FILE: Final = "model-spending.json"

_MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Prices:
    """The cost of a million tokens, in the currency of the limit.

    Args:
        given: of tokens sent to the model, >= 0.
        written: of tokens that it writes, >= 0.
    """

    given: float
    written: float

    def of(self, given: float, written: float) -> float:
        """Return the cost of these numbers of tokens."""
        return (self.given * given + self.written * written) / _MILLION


class Spending:
    """Keeps the cost of models on a day (UTC) below a limit; safe to use from several threads and processes.

    A missing or damaged file counts as a day without calls.

    Args:
        path: of the file; its folder is created.
        prices: of the model.
        limit: of a day, > 0.
        clock: returns the time now.
    """

    def __init__(
        self,
        path: Path,
        prices: Prices,
        limit: float,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._path = path
        self._prices = prices
        self._limit = limit
        self._clock = clock
        self._lock = threading.Lock()

    def set_aside(self, given: float, written: float) -> float:
        """Set aside the maximum cost of a call with these numbers of tokens, and return it.

        Raises:
            LimitReached: less is left for the day, or the spending can't be recorded.
        """
        cost = self._prices.of(given, written)
        try:
            with self._today() as day:
                if day["spent"] + cost > self._limit:
                    raise LimitReached(
                        f"the day's limit for models ({self._limit:g}) allows no further call before 00:00 UTC"
                    )
                day["spent"] += cost
        except OSError as error:
            raise LimitReached(
                f"the day's limit for models can't be kept in {self._path} ({error.strerror})"
            ) from error
        return cost

    def settle(self, cost: float, given: float, written: float) -> None:
        """Replace the amount set aside with the cost that the provider reports; if that can't be recorded, it stays."""
        with suppress(OSError), self._today() as day:
            day["spent"] = max(0.0, day["spent"] - cost + self._prices.of(given, written))

    @contextmanager
    def _today(self) -> Iterator[dict[str, float]]:
        """Yield the spending of today, and record its changes; no other thread or process changes it meanwhile."""
        today = self._clock().astimezone(UTC).date().isoformat()
        with self._lock:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with self._path.with_suffix(".lock").open("a") as locked:
                lock(locked)
                day = {"spent": _spent(self._path, today)}
                yield day
                with written_atomically(self._path, mode=0o600) as file:
                    file.write(json.dumps({"day": today, **day}).encode())


def _spent(path: Path, today: str) -> float:
    try:
        kept = json.loads(path.read_bytes())
        spent = float(kept["spent"]) if kept["day"] == today else 0.0
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return 0.0
    return spent if math.isfinite(spent) and spent > 0 else 0.0


def spending_of(environment: Mapping[str, str], folder: Path) -> Spending | None:
    """Return the limit that the environment sets; ``None`` if it sets none.

    Args:
        environment: variables.
        folder: for the file.

    Raises:
        InvalidSettings: one of the two variables is missing, or has no numbers.
    """
    prices, limit = (environment.get(it, "").strip() for it in (PRICES_VARIABLE, LIMIT_VARIABLE))
    if not prices and not limit:
        return None
    if not prices or not limit:
        missing = LIMIT_VARIABLE if prices else PRICES_VARIABLE
        raise InvalidSettings(f"{missing} isn't set: a limit needs it and the other one")
    try:
        given, written = (_number(it) for it in prices.split("/"))
        most = _number(limit)
    except ValueError as error:
        raise InvalidSettings(
            f"{PRICES_VARIABLE} must be the prices of a million tokens sent and written, such as 3/15, and"
            f" {LIMIT_VARIABLE} a number above 0"
        ) from error
    if not most:
        raise InvalidSettings(f"{LIMIT_VARIABLE} must be above 0")
    return Spending(folder / FILE, Prices(given, written), most)


def _number(text: str) -> float:
    number = float(text)
    if not 0 <= number < math.inf:
        raise ValueError(text)
    return number
