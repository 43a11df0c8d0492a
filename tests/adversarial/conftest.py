"""The evidence of the adversarial tests: real files on disk, cut by the project's own chunker."""

import pytest

from tests.adversarial.shelf import make_shelves


@pytest.fixture(scope="session")
def shelves(tmp_path_factory):
    return make_shelves(tmp_path_factory.mktemp("corpus"))
