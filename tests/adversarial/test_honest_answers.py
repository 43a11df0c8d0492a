"""A verifier that removes everything fails here: honest answers keep all that they have."""

import pytest

from tests.adversarial.answers import NOTATIONS
from tests.adversarial.trial import CHUNKS, portion, try_honest

pytestmark = pytest.mark.no_cover  # counting lines takes three times as long as running them


@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("notation", sorted(NOTATIONS))
def test_an_honest_answer_keeps_every_reference_and_every_character(notation, chunk, shelves):
    for index in portion(chunk, len(NOTATIONS)):
        assert not try_honest(notation, index, shelves)
