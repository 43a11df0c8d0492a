"""What all tests share."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Generator

pytest_plugins = ("tests.support.fixtures",)

# as the command has it, and before NumPy is imported: its threads spin for a while after each product
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# a busy machine is no failure: examples are bounded in number, the suite in time; and what fails
# is the change that is tested, so the examples are the same in each run (`make nightly` draws others)
settings.register_profile("same", deadline=None, derandomize=True)
settings.register_profile("drawn", deadline=None, print_blob=True)
settings.load_profile("same")


def pytest_configure(config: pytest.Config) -> None:
    """Give the processes that tests start a temporary folder that goes with this run.

    The library that synthesizes templates leaves a folder behind for each, a browser or a command that is
    killed leaves its own.
    """
    if "PYTEST_XDIST_WORKER" in os.environ:
        return  # it has that of the process that started it
    tempfile.gettempdir()  # is remembered: pytest's own folders stay where they are looked for
    folder = Path(tempfile.mkdtemp(prefix="knowledge-rag-tests-"))
    folder.chmod(0o755)  # some tests give up their privileges
    os.environ["TMPDIR"] = str(folder)
    config.add_cleanup(partial(shutil.rmtree, folder, ignore_errors=True))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Look for garbage in what the tests make, and not again and again in all that they are made of.

    Collecting imports half a gigabyte that stays: a third of its time went into looking through that.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()
