"""What other people's standard tests need to be collected."""

import pytest


def pytest_configure(config: pytest.Config) -> None:
    for marker in ("benchmark", "vcr"):  # on tests of langchain-tests that are not ours to run
        config.addinivalue_line("markers", f"{marker}: of plugins that are turned off")
