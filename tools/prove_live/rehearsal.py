"""The same run in the cloud of this machine: no account, no cost, and time that passes at once."""

from __future__ import annotations

import contextlib
import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tools.local_cloud.living import Life
    from tools.prove_live.run import Run


@contextlib.contextmanager
def bootstrapped() -> Iterator[Life]:
    """Run a cloud in which a deployment can be made, and lives."""
    from tools.local_cloud.deployment import bootstrap, cloud
    from tools.local_cloud.living import living

    with cloud() as running, living(running) as life:
        bootstrap()
        yield life


def run_in(life: Life, stores: Sequence[str], folder: Path) -> Run:
    """Return a run in such a cloud."""
    from knowledge_rag.deployment.aws import Aws
    from tools.prove_live.run import Run

    return Run(Aws(), None, folder, stores, None, now=life.now, wait=life.wait)


def rehearse(stores: Sequence[str], folder: Path) -> int:
    """Run in the cloud of this machine; return the exit code."""
    shutil.rmtree(folder, ignore_errors=True)  # no account has what an earlier one made
    with bootstrapped() as life:
        return run_in(life, stores, folder).prove()
