"""The gaps that are known are still there: one that is closed is to be taken off the list."""

import pytest

from knowledge_rag.guardrails.verify import verify
from tests.adversarial.gaps import EXAMPLES
from tests.adversarial.oracle import judge
from tests.adversarial.reading import VIEWS
from tests.adversarial.shelf import Shelf


@pytest.mark.parametrize("answer", EXAMPLES.values(), ids=EXAMPLES.keys())
@pytest.mark.xfail(strict=True, reason="reads like a reference, has no evidence, and stays")
def test_a_reference_without_evidence_is_not_shown(answer, tmp_path):
    shelf = Shelf(tmp_path, ())
    verified = verify(answer, shelf.ledger)
    assert not judge(verified, shelf, VIEWS[0]).violations
