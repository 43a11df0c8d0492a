"""Asking for one document by its path."""

from __future__ import annotations

import pytest

from knowledge_rag.core.chunking import chunk_text
from knowledge_rag.core.documents import read_document
from tests.support.cli import assert_verbatim
from tests.support.local import CORPUS

PAGE = "runbooks/rds-failover.md"
ASKED = ("retrieve", "how do I bake bread", "--max-results", "100", "--filter")


def test_it_comes_whole_in_line_order_whatever_the_question(sample):
    ran = sample(*ASKED, f"source_file={PAGE}", "--json")
    assert ran.code == 0
    results = ran.json["results"]
    assert_verbatim(results)
    chunks = chunk_text(*read_document(PAGE, (CORPUS / PAGE).read_bytes()))
    shown = [result["citation"] for result in results]
    assert shown == [chunk.citation.to_dict() for chunk in chunks]
    assert "notice" not in ran.json


def test_only_a_part_of_it_is_reported_as_such(sample):
    ran = sample(*ASKED, f"source_file={PAGE}", "--max-results", "1")
    assert ran.code == 0
    assert "passages of this document are not shown." in " ".join(ran.out.split())


def test_no_policy_orders_it_and_the_explanation_says_so(sample):
    ran = sample(*ASKED, f"source_file={PAGE}", "--policy", "website-first", "--explain")
    assert ran.code == 0
    assert ran.out.endswith("policy off: the order is that of the document's lines\n")


@pytest.mark.parametrize("path", ["/etc/passwd", "../secret.md", "a, lines 1-2"])
def test_a_path_that_no_document_can_have_is_a_usage_error(sample, path):
    ran = sample(*ASKED, f"source_file={path}")
    assert ran.code == 2
    assert "error: source_file " in ran.err
    assert "is not the path of a document" in ran.err
