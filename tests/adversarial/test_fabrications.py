"""References to what was not retrieved go, one and all, and nothing else of the answer does."""

from collections import Counter

import pytest

from tests.adversarial.answers import FAMILIES
from tests.adversarial.fabrications import FABRICATIONS
from tests.adversarial.trial import CHUNKS, portion, try_hostile

pytestmark = pytest.mark.no_cover  # counting lines takes three times as long as running them


@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("family", [write.__name__ for write in FABRICATIONS])
def test_an_answer_loses_its_fabrications_and_no_other_character(family, chunk, shelves):
    tolerated = Counter()
    for index in portion(chunk, len(FAMILIES)):
        assert not try_hostile(family, index, shelves, tolerated)
    assert set(tolerated) <= {"code"}  # that of honest code blocks beside them
