"""Records 20,000 verified answers of the adversarial tests, by family of hostile ones and notation of honest ones."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

from knowledge_rag.guardrails.verify import verify
from tests.adversarial import disguises
from tests.adversarial.answers import FAMILIES, NOTATIONS, honest, hostile
from tests.adversarial.shelf import make_shelves
from tools.golden_parts.base import Recorded, digest

if TYPE_CHECKING:
    from pathlib import Path

    from knowledge_rag.guardrails.verify import Verified
    from tools.golden_parts.base import Run

HOSTILE: Final = 10_000
HONEST: Final = 10_000
SHORT: Final = 4
"""Hex digits per answer: enough to identify those that differ."""
LINE: Final = 25
"""Answers per line."""


def record(run: Run) -> Recorded:
    """Record digests of each family: of the texts, the citations, the removals and the warnings."""
    return Recorded({name: _family(name, run.folder) for name in (*FAMILIES, *NOTATIONS)})


def shown(family: str, index: int, folder: Path) -> dict[str, Any]:
    """Return one answer and the verifier's result.

    Args:
        family: a family of hostile answers, or a notation of honest ones.
        index: index of the answer in it, from 0.
        folder: temporary.

    Raises:
        KeyError: there is no such family.
    """
    answer, verified = _verified(family, index, folder)
    return {"answer": answer, **_parts(verified)}


def count(family: str) -> int:
    """Return how many answers a family has."""
    kinds, answers = (FAMILIES, HOSTILE) if family in FAMILIES else (NOTATIONS, HONEST)
    return -(-answers // len(kinds))


def differing(was: Any, now: Any) -> list[int]:
    """Return the indexes of the answers that differ between two records of a family."""
    before, after = (" ".join(each["answers"]).split() for each in (was, now))
    return [
        index for index, pair in enumerate(zip(before, after, strict=False)) if len({*pair}) > 1
    ]


def _family(name: str, folder: Path) -> dict[str, Any]:
    every = [_parts(_verified(name, index, folder)[1]) for index in range(count(name))]
    digests = [digest(each)[:SHORT] for each in every]
    lines = [" ".join(digests[at : at + LINE]) for at in range(0, len(digests), LINE)]
    parts = {part: digest([each[part] for each in every]) for part in every[0]}
    return {"count": len(every), **parts, "answers": lines}


def _verified(family: str, index: int, folder: Path) -> tuple[str, Verified]:
    write = hostile if family in FAMILIES else honest
    # other people's texts are only on some machines
    with patch.object(disguises, "injections", lambda: disguises.INSTRUCTIONS):
        made, shelf, _ = write(family, index, _shelves(folder))
    return made.answer, verify(made.answer, shelf.ledger)


_made: dict[Path, Any] = {}


def _shelves(folder: Path) -> Any:
    if folder not in _made:
        _made[folder] = make_shelves(folder / "shelves")
    return _made[folder]


def _parts(verified: Verified) -> dict[str, Any]:
    return {
        "text": verified.text,
        "citations": [asdict(each) for each in verified.citations],
        "removals": [asdict(each) for each in verified.removed],
        "warnings": [asdict(each) for each in verified.warnings],
    }
