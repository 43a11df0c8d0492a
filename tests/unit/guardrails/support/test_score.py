"""The score: what it doubts, and that its weights are those that training gives."""

import pytest

from benchmarks.guardrails.training import dev_sets, source_of, whole
from knowledge_rag.core.files import shipped
from knowledge_rag.guardrails.support.check import check_support
from knowledge_rag.guardrails.support.score import FEATURES
from knowledge_rag.guardrails.support.weights import WEIGHTS
from tests.support.shared_data import shared_data

LINES = ["Crowdin stores the translated strings of each release for 30 days."]


def test_the_lines_words_are_believed_and_others_are_doubted():
    quoted = check_support(LINES[0], LINES).doubt
    near = check_support("Crowdin stores strings of each release for 30 days.", LINES).doubt
    invented = check_support(
        "Crowdin was founded in Tallinn and sells licences in 2009.", LINES
    ).doubt
    assert quoted < near < 0.5 < invented


def test_each_feature_has_a_weight():
    assert list(WEIGHTS) == list(FEATURES)


@pytest.mark.nightly
def test_training_gives_the_weights_in_use_bit_for_bit():
    paths = sorted(shared_data("claims").glob("*.jsonl"))
    weights = shipped("knowledge_rag/guardrails/support/weights.py").read_text(encoding="utf-8")
    assert source_of(whole(dev_sets(paths))) == weights
