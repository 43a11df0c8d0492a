"""Writes an answer of lifted lines so that nothing in them is read as anything but words.

A document may hold what looks like a reference (``[1]``), a heading, an open code block. So each
part is written, verified and read back before the next one: if it comes back other than it was
lifted, it is quoted as code, where nothing is a reference, and if that does not help, left out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from knowledge_rag.guardrails.verify import verify
from knowledge_rag.orchestrator.answer import read_answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowledge_rag.core.citations import Citation
    from knowledge_rag.guardrails.ledger import Ledger
    from knowledge_rag.orchestrator.advisors.lifting import Command, Lifted
    from knowledge_rag.orchestrator.answer import Part

_PROBE: Final = "\n- Probe\n\n  ```\n  [1] [99999]\n  ```\n"
"""Written behind a part to see whether code is still code there."""

_RUN: Final = re.compile(r"`+")
_ITEM: Final = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]")
_LANGUAGE: Final = re.compile(r"[\w+#-]{1,20}", re.ASCII)
_GUIDANCE: Final = "## Guidance\n"
_SIMILAR: Final = "## Similar incidents\n"


class AnswerWriter:
    """Writes steps, then similar incidents, each with its references.

    Args:
        ledger: of the request.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._steps: list[Lifted] = []
        self._past: list[Lifted] = []
        self.text = ""

    def add_step(self, step: Lifted) -> bool:
        """Write a step, if it can be read back as it was lifted; say whether it could."""
        return self._add(step, self._steps, f"{len(self._steps) + 1}. ", _GUIDANCE)

    def add_past(self, resolution: Lifted, name: str) -> bool:
        """Write what resolved an earlier incident, likewise.

        Args:
            resolution: the lines that say it.
            name: of the incident, ``""`` if it has none.
        """
        mark = f"- {name}: " if name else "- "
        return self._add(resolution, self._past, mark, _SIMILAR)

    def _add(self, part: Lifted, written: list[Lifted], mark: str, label: str) -> bool:
        head = "" if written else f"\n{label}\n"
        for quoted in (False, True):
            text = self.text + head + _written(part, mark, self._ledger, quoted=quoted)
            written.append(part)
            if self._reads_back(text):
                self.text = text
                return True
            written.pop()
        return False

    def _reads_back(self, text: str) -> bool:
        """Whether an answer, verified, says what was lifted and cites what it was lifted from."""
        verified = verify(text + _PROBE, self._ledger)
        if verified.text != text + _PROBE:
            return False
        answer = read_answer(verified, lambda _: False)
        return _same(self._steps, answer.steps, self._ledger) and _same(
            self._past, answer.similar, self._ledger
        )


def citations_of(lifted: Lifted, ledger: Ledger) -> list[Citation]:
    """Give the narrowest citations of the lines that a step was lifted from, in their order.

    Lines that follow each other, blank ones between them aside, are one citation, if one entry of
    the ledger holds them.
    """
    lines = {line.number: line.text for line in lifted.passage.lines}
    runs: list[list[int]] = []
    for number in lifted.numbers:
        entry = lifted.passage.entries[number]
        between = range(runs[-1][-1] + 1, number) if runs else ()
        blank = all(not lines.get(n, "x").strip() for n in between)
        if runs and blank and lifted.passage.entries[runs[-1][-1]] == entry:
            runs[-1].append(number)
        else:
            runs.append([number])
    held = (ledger.lines(lifted.source_file, run[0], run[-1]) for run in runs)
    return [evidence.citation for evidence in held if evidence is not None]


def _same(lifted: Sequence[Lifted], read: Sequence[Part], ledger: Ledger) -> bool:
    return len(lifted) == len(read) and all(
        _reads(one, part) and [it.citation for it in part.cited] == citations_of(one, ledger)
        for one, part in zip(lifted, read, strict=True)
    )


def _reads(lifted: Lifted, part: Part) -> bool:
    commands = tuple(command.text for command in lifted.commands)
    return part.commands == commands and part.text.endswith(lifted.action)


def _written(part: Lifted, mark: str, ledger: Ledger, *, quoted: bool) -> str:
    """Write a part as a list item, its references behind its words and before its commands."""
    references = " ".join(map(str, citations_of(part, ledger)))
    listed = mark[: mark.index(" ") + 1]
    if quoted:
        body = [f"{listed}{references}", "", *_fenced("text", part.action)]
    else:
        first, *rest = part.action.split("\n")
        # behind the first line where inner items follow, which would take the reference for theirs
        behind = 0 if any(map(_ITEM.match, rest)) else len(rest)
        body = [mark + first, *rest]
        body[behind] += f" {references}"
    for command in part.commands:
        body += ["", *_fenced(_language(command), command.text)]
    indent = " " * len(listed)
    return "\n".join([body[0], *(indent + line if line else "" for line in body[1:])]) + "\n"


def _fenced(language: str, text: str) -> list[str]:
    longest = max((len(run) for run in _RUN.findall(text)), default=0)
    marks = "`" * max(3, longest + 1)
    return [marks + language, *text.split("\n"), marks]


def _language(command: Command) -> str:
    return command.language if _LANGUAGE.fullmatch(command.language) else ""
