"""The oracle sees what it is there to see: a proof by one that sees nothing would prove nothing."""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from knowledge_rag.core.citations import Citation
from knowledge_rag.guardrails.verify import verify
from tests.adversarial import notations
from tests.adversarial.fabrications import FABRICATIONS
from tests.adversarial.oracle import Tolerated, judge, misquoted
from tests.adversarial.reading import VIEWS, brackets, mentioned, shown, told


def let_through(answer, shelf):
    """Give what a verifier would that takes nothing out and gives no warning."""
    return replace(verify("", shelf.ledger), text=answer, warnings=())


@pytest.mark.parametrize("write", FABRICATIONS, ids=lambda write: write.__name__)
def test_a_fabrication_that_is_let_through_is_seen(write, shelves):
    for seed in range(100):
        answer = f"Fail over {write(Random(seed), shelves[0])}."
        assert judge(let_through(answer, shelves[0]), shelves[0], VIEWS[0]).violations


@pytest.mark.parametrize("write", notations.NOTATIONS, ids=lambda write: write.__name__)
def test_a_good_reference_that_nobody_cites_is_seen(write, shelves):
    for seed in range(50):
        reference, cited = write(Random(seed), shelves[0])
        reference = reference.replace("`", "") if write is notations.mentioned else reference
        assert judge(let_through(f"a {reference}", shelves[0]), shelves[0], VIEWS[0]).violations
        inner = [found.inner for found in brackets(reference)]
        said = told(inner[0], shelves[0]) if inner else [lines for _, lines in mentioned(reference)]
        assert {lines[1:] for lines in said} == {entry[1:] for entry in cited}


@pytest.mark.parametrize(
    "answer",
    [
        "&#91;99&#93;", "[9<b></b>9]", "[<!-- x -->99]", "[So**ur**ce: evil.md, lines 1-2]", r"\[99\]", "[evil notes.md, lines 1-2]",
        "[Source: evil.md", "<p>[99]</p>", "> [Source\n> 99]", "[`99`]", "a[99]", "[99](http://e.com)", "[99]: http://e.com", "[Source: evil.md, lines 1-2](x.md)",
        "⦗99⦘", "[٩٩]", "[❾]",
    ],
)  # fmt: skip
def test_what_reads_like_a_reference_is_seen_in_every_disguise(answer, shelves):
    assert judge(let_through(answer, shelves[0]), shelves[0], VIEWS[0]).violations


@pytest.mark.parametrize(
    "answer",
    ["`[99]`", "```\n[99]\n```", "    [99]", "[x] [see 1] [0-9] [2024-05-01]", "[^1]: note", "12 [WARN]"],
)  # fmt: skip
def test_what_is_none_is_not(answer, shelves):
    assert not judge(let_through(answer, shelves[0]), shelves[0], VIEWS[0]).violations


def test_what_is_tolerated_is_counted(shelves):
    answer = "`[99]` rows[98] [97](http://e.com/a)\n\n[96]: http://e.com/b\n"
    finding = judge(verify(answer, shelves[0].ledger), shelves[0], VIEWS[0])
    assert finding.tolerated == Counter(list(Tolerated))


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"number": 2}, "no lines of entry 2"),
        ({"number": 0}, "no lines of entry 0"),
        ({"number": 99}, "no lines of entry 99"),
        ({"content": "x"}, "do not have the bytes"),
        ({"start": 1}, "and says"),
        ({"citation": Citation("runbooks/rds-failover.md", 16, 20)}, "no lines of entry 1"),
        ({"citation": Citation("runbooks/rds-failover.md", 17, 19)}, "do not have the bytes"),
        ({"citation": Citation("rds-failover.md", 16, 19)}, "no lines of entry 1"),
    ],
)
def test_a_citation_that_is_not_what_was_retrieved_is_seen(change, wrong, shelves):
    verified = verify("Fail over [1].", shelves[0].ledger)
    assert not list(misquoted(verified, shelves[0]))
    forged = replace(verified, citations=(replace(verified.citations[0], **change),))
    assert any(wrong in one for one in misquoted(forged, shelves[0]))


def test_a_page_shows_text_and_no_code():
    page = shown("# A\n\n`b [1]` <i>c</i> [d](e) &lsqb;\n\n```\nf\n```\n\n<p>g</p>\n", VIEWS[0])
    assert page.replace("\x7f", "|") == "A\n\nb |1| c d [\n\ng\n"
