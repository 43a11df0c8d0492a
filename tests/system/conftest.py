"""Users of the command line: one with the sample knowledge base, and new ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.cli import COMMAND, FRESH, Benchmarks, Cli, zygote
from tests.support.sample import QUESTION, of_the_run, sample_copy

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.cli import Ran


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What commands keep between calls, the model's graph above all, for all processes of this run."""
    return of_the_run(tmp_path_factory) / "cache"


@pytest.fixture(scope="session")
def settled(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """A user who has the sample knowledge base; tests leave it as it is."""
    data = tmp_path_factory.mktemp("settled")
    sample_copy(tmp_path_factory, data)
    return Cli(data, cache)


@pytest.fixture(scope="session")
def first_use(settled: Cli) -> Ran:
    """The first command of that user: a question."""
    return settled("retrieve", QUESTION, "--json", "--max-results", "100")


@pytest.fixture
def sample(settled: Cli, first_use: Ran) -> Cli:
    """The user with the sample knowledge base."""
    assert first_use.code == 0
    return settled


@pytest.fixture
def cli(cache: Path, tmp_path: Path) -> Cli:
    """A new user, who has nothing yet."""
    return Cli(tmp_path / "data", cache)


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the command, for the search path of programs that run it."""
    if FRESH:
        return COMMAND.parent
    folder = tmp_path_factory.mktemp("bin")
    zygote().write_client(folder / COMMAND.name, str(COMMAND))
    return folder


@pytest.fixture
def benchmarks(cache: Path, tmp_path: Path) -> Benchmarks:
    """A developer, who measures."""
    return Benchmarks(tmp_path / "data", cache)
