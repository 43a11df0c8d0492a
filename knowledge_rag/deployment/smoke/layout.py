"""A trial for people: a line a promise, what to do under it, the verdict last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from knowledge_rag.core.neutral import neutralise
from knowledge_rag.deployment.smoke.report import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.deployment.smoke.report import Trial

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
    """Lay a trial out."""
    return Text("\n").join([*_lines(trial), Text(_sum(trial))])


def _lines(trial: Trial) -> Iterator[Text]:
    for promise in trial.promises:
        word = Text(f"{promise.verdict.value:<{_VERDICT_WIDTH}}", _COLOURS[promise.verdict])
        detail = neutralise(" ".join(promise.detail.split()))
        yield Text.assemble(word, f"{promise.name:<{_NAME_WIDTH}}", detail)
        if promise.action:
            yield Text(" " * _VERDICT_WIDTH + "-> " + neutralise(promise.action))


def _sum(trial: Trial) -> str:
    where = f"{trial.deployment} in {trial.region}"
    if trial.broken:
        return f"{where} breaks a promise."
    if trial.doubtful:
        return f"{where} keeps what could be tried; not everything could."
    return f"{where} keeps its promises."
