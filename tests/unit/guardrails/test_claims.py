"""Which part of an answer a citation is to back."""

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from knowledge_rag.guardrails.claims import UnitKind, claims_of, units_of
from knowledge_rag.guardrails.verify import verify
from tests.support.examples import up_to
from tests.unit.guardrails.evidence import LEDGER


def claims(answer):
    found = claims_of(verify(answer, LEDGER)).cited
    return [
        (" ".join(claim.said.split()), [cited.number for cited in claim.citations])
        for claim in found
    ]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Do A. Do B [1]. Do C.", [("Do B .", [1])]),
        ("Do A. [1] Do B. [2]", [("Do A.", [1]), ("Do B.", [2])]),
        ("Restart it [1] and check logs [2].", [("Restart it", [1]), ("and check logs .", [2])]),
        ("Restart it [1], [2]; done.", [("Restart it , ; done.", [1, 2])]),
        ("Check the lag, e.g. Of the reader [1].", [("Check the lag, e.g. Of the reader .", [1])]),
        ("Run `a. B` now [1].", [("Run `a. B` now .", [1])]),
        ("[1] says A. It says B.", [("says A. It says B.", [1])]),
        ("[1] says A, [2] says B.", [("says A,", [1]), ("says B.", [2])]),
        ("According to [1], you reboot.", [("According to , you reboot.", [1])]),
        ("- Do A. Do B [1]. Do C [2].", [("- Do A. Do B .", [1]), ("Do C .", [2])]),
        ("| a | b [1] |\n| c [2] | d |", [("| a | b |", [1]), ("| c | d |", [2])]),
        ("- a\n- b\n\n[1]", [("- a - b", [1])]),
        ("Intro.\n\nDo it:\n\n```\nx\n```\n[1]", [("Do it: ``` x ```", [1])]),
    ],
)
def test_a_reference_backs_what_stands_before_it(answer, expected):
    assert claims(answer) == expected


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            "1. Do A [1]:\n\n   ```bash\n   kubectl x\n   ```\n2. B",
            "1. Do A : ```bash kubectl x ```",
        ),
        ("Run this [1]:\n\n```\nkubectl x\n```\n", "Run this : ``` kubectl x ```"),
        ("1. Do A [1]\n   - x\n   - y\n2. B", "1. Do A - x - y"),
        ("Do these [1]:\n\n- x\n- y\n\nEnd.", "Do these : - x - y"),
    ],
)
def test_code_and_items_belong_to_the_claim_that_introduces_them(answer, said):
    assert claims(answer) == [(said, [1])]


def test_code_that_nothing_cited_introduces_is_told():
    answer = "Do A [1].\n\nThen:\n\n```\nrm -rf x\n```\n"
    ((start, end),) = claims_of(verify(answer, LEDGER)).uncited_code
    assert answer[start:end] == "```\nrm -rf x\n```"


def test_an_item_with_its_own_reference_leaves_the_claim_above_it():
    assert claims("Do these [1]:\n- x\n- y [2]") == [("Do these : - x", [1]), ("- y", [2])]


def test_a_position_in_what_is_said_leads_back_to_the_answer():
    answer = "1. Do A [1]:\n\n   ```\n   kubectl x\n   ```\n"
    (claim,) = claims_of(verify(answer, LEDGER)).cited
    at = claim.said.index("kubectl")
    assert answer[claim.position(at) :].startswith("kubectl x")


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("a\nb\n\nc", ["paragraph", "paragraph"]),
        ("# h\ntext\n- a\n  more\n- b", ["heading", "paragraph", "item", "item"]),
        ("```\n# no\n\n- no\n```\nafter", ["code", "paragraph"]),
        ("~~~~\n```\n~~~~\n", ["code"]),
        ("> quoted\n> 1. item", ["paragraph", "item"]),
        ("| a |\n| b |\ntext", ["row", "row", "paragraph"]),
        ("```\nnever closed", ["code"]),
        ("", []),
    ],
)
def test_an_answer_splits_into_units(text, kinds):
    assert [unit.kind for unit in units_of(text)] == [UnitKind(kind) for kind in kinds]


PIECES = [
    "[1]", "[2]", "[1, 2]", "word ", "Do it. ", "\n", "\n\n", "- ", "1. ", "  - ", "```\n", "`x. Y` ",
    "| a | b |\n", "# h\n", ": ", "e.g. ", "> ", "\t", "é", "[Source: b.md, lines 1-2]",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
@example("- ```\nword [1]Do it. Do it. ")
@up_to(examples=300)
def test_every_reference_backs_exactly_one_claim_and_no_text_backs_two(answer):
    verified = verify(answer, LEDGER)
    found = claims_of(verified)
    cited = sorted((c.start, c.number) for claim in found.cited for c in claim.citations)
    assert cited == sorted((c.start, c.number) for c in verified.citations)
    spans = sorted([span for claim in found.cited for span in claim.spans] + [*found.uncited_code])
    spans = sorted([*spans, *found.uncited])
    assert all(first[1] <= second[0] for first, second in pairwise(spans))
    said = [unit for unit in units_of(verified.text) if unit.kind is not UnitKind.HEADING]
    for offset in (offset for unit in said for offset in range(unit.start, unit.end)):
        assert any(start <= offset < end for start, end in spans)
    for claim in found.cited:
        for offset, character in enumerate(claim.said):
            if not character.isspace():
                assert verified.text[claim.position(offset)] == character
