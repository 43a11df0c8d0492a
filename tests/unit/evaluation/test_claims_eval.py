"""The evaluator of the support checks."""

import json
from itertools import product
from random import Random

import pytest
from typer.testing import CliRunner

from knowledge_rag.cli.app import command_line
from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.evaluation.claims_eval import (
    JudgedClaim,
    evaluate_claims,
    figures_of,
    intervals_of,
)

LINES = ["Fail over with `aws rds failover-db-cluster`.", "Wait 5 minutes."]
ROWS = (
    {"id": "a", "claim": "Wait 5 minutes.", "evidence": LINES, "supported": True},
    {"id": "b", "claim": "Wait 50 minutes.", "evidence": LINES, "supported": False},
    {"id": "c", "claim": "Run `aws rds reboot-db`.", "evidence_lines": LINES, "supported": False},
    {"id": "d", "claim": "Order a pizza for everybody.", "evidence": LINES, "supported": True},
)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "claims.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return path


def invoke(*arguments):
    return CliRunner().invoke(command_line(), ["eval", *map(str, arguments)])


def test_figures_count_unsupported_as_positive(file):
    figures = evaluate_claims([file]).figures
    assert (figures.claims, figures.unsupported) == (4, 2)
    assert (figures.recall, figures.precision) == (1, 2 / 3)
    assert (figures.false_alarms, figures.balanced_accuracy) == (0.5, 0.75)


def test_the_command_prints_flat_keys(file):
    ran = invoke("--claims", file, "--json")
    assert ran.exit_code == 0
    printed = json.loads(ran.stdout)
    assert {"claims", "balanced_accuracy", "precision", "recall", "auroc"} <= printed.keys()
    assert printed["claims"] == 4
    low, high = printed["intervals"]["balanced_accuracy"]
    assert low <= printed["balanced_accuracy"] <= high
    table = invoke("--claims", file, "--claims", file)
    assert "balanced accuracy" in table.stdout


def test_several_files_have_figures_of_their_own(file, tmp_path):
    other = tmp_path / "other.jsonl"
    other.write_text(json.dumps(ROWS[0]) + "\n", encoding="utf-8")
    report = evaluate_claims([file, other])
    assert report.intervals == evaluate_claims([file, other]).intervals
    assert report.figures.claims == 5
    alone = report.sets[str(other)]
    assert (alone.claims, alone.recall, alone.balanced_accuracy, alone.auroc) == (
        1,
        None,
        None,
        None,
    )
    assert intervals_of([JudgedClaim(unsupported=True, alarm=True, doubt=0.5)]) == {}


def test_auroc_is_the_share_of_pairs_in_the_right_order():
    for seed in range(20):
        rng = Random(seed)
        judged = [
            JudgedClaim(rng.random() < 0.5, alarm=False, doubt=rng.randint(0, 4) / 4)
            for _ in range(30)
        ]
        wrong = [it.doubt for it in judged if it.unsupported]
        right = [it.doubt for it in judged if not it.unsupported]
        pairs = [(a > b) + (a == b) / 2 for a, b in product(wrong, right)]
        assert figures_of(judged).auroc == pytest.approx(sum(pairs) / len(pairs))


def test_claims_ask_nothing(file):
    for arguments, problem in {
        ("--claims", file, "--seed", 1): "--claims asks nothing: leave --seed out",
        (file, "--claims", file): "leave out the datasets",
    }.items():
        raised = invoke(*arguments).exception
        assert isinstance(raised, InvalidRequest)
        assert problem in str(raised)
