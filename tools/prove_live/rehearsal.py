"""Makes the same run in a cloud on this machine: no account, no cost, and time that passes instantly."""

from __future__ import annotations

import contextlib
import shutil
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tools.local_cloud.living import Life
    from tools.prove_live.run import Run


@contextlib.contextmanager
def bootstrapped() -> Iterator[Life]:
    """Run a cloud that accepts deployments and runs them."""
    from tools.local_cloud.deployment import bootstrap, cloud
    from tools.local_cloud.living import living

    with cloud() as running, living(running) as life:
        bootstrap()
        yield life


PATIENT_SECONDS: Final = 600
"""Long, because a busy machine is not an outage."""


def run_in(life: Life, stores: Sequence[str], folder: Path) -> Run:
    """Return a run in such a cloud."""
    from knowledge_rag.deployment.aws import Aws
    from tools.prove_live.run import Run

    class Patient(Aws):
        """Waits for work that is done within a request here, a stack's deletion above all."""

        def client(self, service: str, read_seconds: int = PATIENT_SECONDS) -> Any:
            return super().client(service, max(read_seconds, PATIENT_SECONDS))

    return Run(Patient(), None, folder, stores, None, now=life.now, wait=life.wait)


def rehearse(stores: Sequence[str], folder: Path) -> int:
    """Run in a cloud on this machine; return the exit code."""
    shutil.rmtree(folder, ignore_errors=True)  # no account has an earlier run's resources
    with bootstrapped() as life:
        return run_in(life, stores, folder).prove()
