"""Shows an answer on standard error while it is written; removed when the answer is complete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Self

from rich.live import Live
from rich.text import Text

from knowledge_rag.cli.terminal import err
from knowledge_rag.core.neutral import neutralise
from knowledge_rag.orchestrator.wording import BAR, counted

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from rich.console import Console

_FEWEST_LINES: Final = 4
_REFRESHES_PER_SECOND: Final = 8


class LiveAnswer:
    """Shows the progress of a consultation for as long as the block runs.

    Args:
        console: where; by default standard error. Nothing is shown where that is no terminal.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or err()
        self._stage = ""
        self._written = ""
        self._live = Live(
            console=self._console,
            transient=True,
            refresh_per_second=_REFRESHES_PER_SECOND,
            get_renderable=self._shown,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._written = ""  # stopping draws once more, and the answer follows at once
        self._live.stop()

    def notify(self, event: Mapping[str, Any]) -> None:
        """Show an event of the consultation; see :mod:`knowledge_rag.orchestrator.telling`."""
        if self._console.is_terminal and not self._live.is_started:
            self._live.start()  # not before: until then others show how far they are
        match event["event"]:
            case "searching":
                self._stage = f"searching: {counted(len(event['queries']), 'query')} ..."
            case "found":
                self._stage = f"found {counted(event['sources'], 'passage')}, writing ..."
            case "text":
                self._written += event["text"]
            case "restarted":
                self._written = ""

    def _shown(self) -> Text:
        """Return the stage and the last lines of the answer that fit."""
        room = max(_FEWEST_LINES, self._console.height - 2)
        written = Text("\n".join(map(neutralise, self._written.split("\n"))))
        width = max(1, self._console.width - len(BAR))
        lines = written.wrap(self._console, width)[-room:] if written else []
        barred = [Text.assemble(BAR, line) for line in lines]
        return Text("\n").join([Text(neutralise(self._stage), "dim"), *barred])
