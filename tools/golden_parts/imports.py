"""Records the modules that the command line and each function import at start-up."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any, Final

from tests.support.bundles import HANDLERS
from tests.support.fixtures import ENVIRONMENT
from tests.support.local import PROJECT
from tools.golden_parts.base import Recorded

if TYPE_CHECKING:
    from tools.golden_parts.base import Run

STARTED: Final = ("knowledge_rag.cli.app", *HANDLERS)
_OURS: Final = ("knowledge_rag", "lambdas")
_PROGRAM: Final = """
import importlib, json, sys, time
before = set(sys.modules)
started = time.perf_counter()
importlib.import_module(sys.argv[1])
seconds = time.perf_counter() - started
print(json.dumps([sorted(set(sys.modules) - before - sys.stdlib_module_names), seconds]))
"""


def record(_run: Run) -> Recorded:
    """Record the names of our modules, their number, and the imported libraries."""
    recorded = Recorded()
    for module in STARTED:
        names, seconds = _imported(module)
        top = {name.partition(".")[0] for name in names} - {*sys.stdlib_module_names, *_OURS}
        ours = [name for name in names if name.partition(".")[0] in _OURS]
        libraries = sorted(name for name in top if not name.startswith("_"))
        recorded.values[module] = {"count": len(ours), "modules": ours, "libraries": libraries}
        recorded.notes.append(f"{module}: {len(ours)} modules of ours in {seconds:.2f} s")
    return recorded


def _imported(module: str) -> tuple[list[str], float]:
    done = subprocess.run(  # noqa: S603 - this interpreter and a program of ours
        [sys.executable, "-c", _PROGRAM, module],
        cwd=PROJECT,
        env={**ENVIRONMENT, "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    answer: list[Any] = json.loads(done.stdout)
    return answer[0], answer[1]
