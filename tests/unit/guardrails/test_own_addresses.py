"""An address of this product's own, ``knowledge:///a.md?lines=5-9``, is a reference like ``a.md:5-9``."""

import pytest

from knowledge_rag.core.citations import Citation
from knowledge_rag.core.outcome import RetrievalResult
from knowledge_rag.guardrails.ledger import Ledger
from knowledge_rag.guardrails.mentions import AnswerScanner
from knowledge_rag.guardrails.resolve import Why
from knowledge_rag.guardrails.rules import Kind
from knowledge_rag.guardrails.verify import verify
from knowledge_rag.mcp_server.resources import Link

LEDGER = Ledger.of(
    [
        RetrievalResult("a\nb\nc\nd\ne\nf", Citation("runbooks/lag.md", 5, 10), 0.5),
        RetrievalResult("x\ny", Citation("pages/a b%.sh", 1, 2), 0.5),
    ]
)


def verified(reference):
    answer = f"Drop the table {reference} today."
    whole = verify(answer, LEDGER)
    scanner = AnswerScanner(LEDGER)
    assert "".join([*map(scanner.feed, answer), scanner.close()]) == whole.text
    return whole


@pytest.mark.parametrize(
    "written",
    [
        "{}", "<{}>", "`{}`", "**{}**", "({})", "[see]({})", "[see](<{}>)", '[see]({} "lines")', "![see]({})", "[see](\n{})",
        "[see][x] and\n\n[x]: {}\n", '<a href="{}">see</a>',
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("knowledge:///runbooks/ghost.md?lines=1-9", Why.UNKNOWN_FILE),
        ("knowledge:///runbooks/ghost.md#L1-L9", Why.UNKNOWN_FILE),
        ("knowledge:///runbooks/ghost.md?lines=7", Why.UNKNOWN_FILE),
        ("KNOWLEDGE:///runbooks/gh%6fst.m%64?lines=1-9", Why.UNKNOWN_FILE),
        ("knowledge://runbooks/ghost.md?lines=1-9", Why.UNKNOWN_FILE),
        ("knowledge:///Makefile?lines=1-9", Why.UNKNOWN_FILE),
        ("knowledge:///runbooks/lag.md?lines=50-90", Why.LINES_NOT_RETRIEVED),
        ("knowledge:///runbooks/lag.md?lines=9-5", Why.LINES_NOT_RETRIEVED),
    ],
)
def test_an_address_of_lines_that_retrieval_did_not_return_is_removed(written, address, why):
    found = verified(written.format(address))
    assert [one.why for one in found.removed] == [why]
    assert not found.citations
    assert "knowledge:" not in found.text.lower()


@pytest.mark.parametrize("written", ["{}", "<{}>", "`{}`", "[see]({})", "[see](<{}>)"])
@pytest.mark.parametrize(
    ("file", "first", "last"), [("runbooks/lag.md", 5, 9), ("pages/a b%.sh", 1, 2)]
)
def test_an_address_of_retrieved_lines_is_a_citation(written, file, first, last):
    found = verified(written.format(Link(file, first, last)))
    assert [(it.citation.source_file, it.citation.start_line) for it in found.citations] == [
        (file, first)
    ]
    assert not found.removed
    assert str(Link(file, first, last)) in found.text


@pytest.mark.parametrize(
    "written",
    [
        "knowledge:///runbooks/ghost.md?x=1&lines=1-9", "knowledge:///runbooks/ghost.md?from=1", "`[Source: runbooks/ghost.md, lines 1-9]`",
        "\n\n```\n[Source: runbooks/ghost.md, lines 1-9]\n```\n\n", "runbooks/ghost.md @ 1-9",
        '{"source_file":"runbooks/ghost.md","start_line":1,"end_line":9}',
    ],
)  # fmt: skip
def test_a_form_that_is_no_reference_and_reads_like_one_is_warned_of(written):
    found = verified(written)
    assert Kind.UNCHECKED in [one.kind for one in found.warnings]
    assert not found.citations


@pytest.mark.parametrize(
    "written",
    [
        "https://github.com/o/r/blob/main/ghost.md#L1-L9", "https://e.com/ghost.md?lines=1-9", "`read knowledge:///a.md?lines=1-9`",
        "knowledge:///runbooks/ghost.md", "`[Source: file, lines a-b]`", "`[1]`", "https://e.com/x?lines=5", "deploy.sh#L5",
    ],
)  # fmt: skip
def test_links_to_other_hosts_and_code_that_holds_more_stay(written):
    found = verified(written)
    assert written in found.text
    assert not found.removed
    assert Kind.UNCHECKED not in [one.kind for one in found.warnings]
