"""Plays faults one after another, in a process that owns its environment.

``python -m knowledge_rag.evaluation.faults.worker TARGET [own-network]`` reads a row's name a line
and answers with a line of JSON: ``{"played": {...}}``, or ``{"not_playable": "why"}``. Before that it
says ``{}`` once all is loaded, because loading is no part of any row.
"""

from __future__ import annotations

import json
import sys
import tempfile
import traceback
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from knowledge_rag.evaluation.faults.catalogue import named
from knowledge_rag.evaluation.faults.errors import NotPlayable
from knowledge_rag.evaluation.faults.own_network import enter
from knowledge_rag.evaluation.faults.player import play
from knowledge_rag.evaluation.faults.targets import Target

OWN_NETWORK: Final = "own-network"


def main(target: Target, *, own_network: bool) -> None:
    """Play what standard input names until it ends."""
    with tempfile.TemporaryDirectory() as folder:
        inside = own_network and _entered(Path(folder))
        _say(_loaded(target))
        for line in sys.stdin:
            answer = _play(line.strip(), target, own_network=inside)
            _say(answer)


def _say(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def _loaded(target: Target) -> dict[str, Any]:
    for package in target.packages:
        with suppress(ImportError):  # each row says so
            import_module(package)
    return {}


def _entered(folder: Path) -> bool:
    with suppress(NotPlayable):  # rows that want it are played with a hook, and say so
        enter(folder)
        return True
    return False


def _play(name: str, target: Target, *, own_network: bool) -> dict[str, Any]:
    try:
        return {"played": play(named(name), target, own_network=own_network).to_dict()}
    except NotPlayable as error:
        return {"not_playable": str(error)}
    except Exception:  # noqa: BLE001 - the game day goes on, and tells of it as a broken promise
        return {"failed": traceback.format_exc()}


if __name__ == "__main__":
    main(Target(sys.argv[1]), own_network=OWN_NETWORK in sys.argv[2:])
