from __future__ import annotations

from pathlib import Path

import pytest

from knowledge_rag.cli.evidence import exit_code_of, show_outcome
from knowledge_rag.cli.exits import exit_code_for
from knowledge_rag.cli.terminal import out
from knowledge_rag.core.errors import (
    InvalidRequest,
    InvalidSettings,
    KnowledgeRagError,
    UnreadableDocument,
)
from knowledge_rag.core.outcome import Reason, Status
from knowledge_rag.local.errors import (
    IngestFailed,
    KnowledgeBaseBusy,
    ModelUnavailable,
    NotInstalled,
    ServerFailed,
    UnusableCorpus,
    UnusableKnowledgeBase,
)


@pytest.mark.parametrize(
    ("code", "errors"),
    [
        (2, [InvalidRequest("x"), InvalidSettings("x"), UnreadableDocument("a.md", "x"), UnusableCorpus("x"),
             UnusableKnowledgeBase("x")]),
        (4, [KnowledgeRagError("x"), IngestFailed("x"), KnowledgeBaseBusy("x"), ModelUnavailable("x"),
             NotInstalled("x"), ServerFailed("x")]),
    ],
)  # fmt: skip
def test_what_the_caller_got_wrong_is_bad_input_and_anything_else_a_failure(code, errors):
    assert [exit_code_for(error) for error in errors] == [code] * len(errors)


def test_every_status_has_its_exit_code():
    codes = {status: exit_code_of(status) for status in Status}
    assert codes == {Status.OK: 0, Status.NO_MATCH: 1, Status.DEGRADED: 3}


@pytest.mark.parametrize("reason", Reason)
def test_a_degraded_answer_is_never_shown_as_nothing_documented(reason, capsys):
    show_outcome(out(), {"results": [], "status": "degraded", "reason": reason.value}, Path("a.kb"))
    shown = capsys.readouterr().out
    assert shown == f"The knowledge base could not be searched: {reason.value}.\n"


def test_a_result_without_a_score_or_a_section_is_shown_without_them(capsys):
    citation = {"source_file": "a.md", "start_line": 9, "end_line": 10, "section_header": ""}
    result = {"content": "one\t1\r\ntwo", "citation": citation}
    body = {"results": [result], "status": "ok", "notice": "only\x1b past dates"}
    show_outcome(out(), body, Path("a.kb"))
    assert capsys.readouterr().out == (
        "1. a.md  score -\n"
        "   [Source: a.md, lines 9-10]\n"
        "    9 │ one\t1\n"
        "   10 │ two\n"
        "\n"
        "only\\x1b past dates\n"
    )
