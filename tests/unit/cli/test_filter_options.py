from __future__ import annotations

import pytest

from knowledge_rag.cli.retrieve import _arguments
from knowledge_rag.core.errors import InvalidRequest


def test_filters_become_arguments_of_the_call():
    given = ["service=rds=2", "document_type=postmortem"]
    assert _arguments(given) == {"service": "rds=2", "document_type": "postmortem"}
    assert _arguments(["document_type= Runbook"]) == {"document_type": "runbook"}
    assert _arguments([]) == {}


@pytest.mark.parametrize(
    ("filters", "says"),
    [
        (["service"], "write KEY=VALUE"),
        (["service="], "write KEY=VALUE"),
        (["service= "], "write KEY=VALUE"),
        (["=rds"], "KEY is one of document_type, service"),
        (["query=x"], "KEY is one of"),
        (["messageVersion=1.0"], "KEY is one of"),
        (["document_type=runbok"], "document_type is one of runbook, postmortem"),
        (["service=a", "service=b"], "duplicate filter for service"),
    ],
)
def test_a_filter_that_would_be_ignored_or_misread_is_refused(filters, says):
    with pytest.raises(InvalidRequest, match=says):
        _arguments(filters)
