"""However a reference is hidden, what a page shows cites what was retrieved and nothing else."""

from collections import Counter

import pytest

from tests.adversarial.answers import FAMILIES
from tests.adversarial.disguises import DISGUISES
from tests.adversarial.trial import CHUNKS, portion, try_hostile

pytestmark = pytest.mark.no_cover  # counting lines takes three times as long as running them


@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("family", [write.__name__ for write in DISGUISES])
def test_what_reads_like_a_reference_has_evidence_or_a_warning(family, chunk, shelves):
    tolerated = Counter()
    for index in portion(chunk, len(FAMILIES)):
        assert not try_hostile(family, index, shelves, tolerated)
