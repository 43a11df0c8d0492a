"""The report of a trial, one line per promise, and its layout."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from knowledge_rag.core.neutral import neutralise

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class Verdict(StrEnum):
    """Whether a promise was kept."""

    KEPT = "kept"
    BROKEN = "broken"
    DEGRADED = "degraded"
    """Kept as far as it could be tested: something was temporarily unavailable."""
    UNKNOWN = "unknown"
    """It could not be checked."""
    NOTE = "note"
    """Not a promise, but worth knowing."""


@dataclass(frozen=True, slots=True)
class Promise:
    """One promise."""

    name: str
    verdict: Verdict
    detail: str
    action: str = ""

    def to_dict(self) -> dict[str, str]:
        """Return the JSON form."""
        return {
            "promise": self.name,
            "verdict": self.verdict.value,
            "detail": self.detail,
            "action": self.action,
        }


@dataclass(frozen=True, slots=True)
class Trial:
    """One trial of a deployment."""

    deployment: str
    region: str
    promises: tuple[Promise, ...]
    figures: Mapping[str, Any] = field(default_factory=dict)

    @property
    def broken(self) -> bool:
        """Whether any promise was broken."""
        return any(promise.verdict is Verdict.BROKEN for promise in self.promises)

    @property
    def doubtful(self) -> bool:
        """Whether something was unavailable, or could not be checked."""
        doubts = (Verdict.DEGRADED, Verdict.UNKNOWN)
        return any(promise.verdict in doubts for promise in self.promises)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "deployment": self.deployment,
            "region": self.region,
            "promises": [promise.to_dict() for promise in self.promises],
            **self.figures,
        }


_COLOURS: Final = {
    Verdict.KEPT: "green",
    Verdict.BROKEN: "bold red",
    Verdict.DEGRADED: "yellow",
    Verdict.UNKNOWN: "magenta",
    Verdict.NOTE: "cyan",
}
_VERDICT_WIDTH: Final = max(map(len, Verdict)) + 2
_NAME_WIDTH: Final = 16


def as_text(trial: Trial) -> Text:
    """Lay out a trial."""
    return Text("\n").join([*_lines(trial), Text(_verdict(trial))])


def _lines(trial: Trial) -> Iterator[Text]:
    for promise in trial.promises:
        word = Text(f"{promise.verdict.value:<{_VERDICT_WIDTH}}", _COLOURS[promise.verdict])
        detail = neutralise(" ".join(promise.detail.split()))
        yield Text.assemble(word, f"{promise.name:<{_NAME_WIDTH}}", detail)
        if promise.action:
            yield Text(" " * _VERDICT_WIDTH + "-> " + neutralise(promise.action))


def _verdict(trial: Trial) -> str:
    where = f"{trial.deployment} in {trial.region}"
    if trial.broken:
        return f"{where} breaks a promise."
    if trial.doubtful:
        return f"{where} keeps the promises that could be tested; some could not."
    return f"{where} keeps its promises."
