"""Every fault is answered within 2.0 s as promised, and the next call is healthy.

The handler, botocore and the sockets are the real ones; only the service misbehaves, byte by byte.
Each row of the catalogue is played once, in processes beside this one.
"""

import pytest

from knowledge_rag.evaluation.faults.catalogue import CATALOGUE
from knowledge_rag.evaluation.gameday import run_gameday


@pytest.fixture(scope="module")
def rows():
    day = run_gameday(CATALOGUE, lambda *_: None)
    return {row.fault.name: row for row in day.rows}


@pytest.mark.parametrize("name", [fault.name for fault in CATALOGUE])
def test_a_fault_is_met_as_promised(name, rows):
    assert rows[name].result.not_run == ""
    assert rows[name].broken == ()
