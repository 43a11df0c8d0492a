"""What holds for any claim and any lines."""

from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.guardrails.support.check import check_support
from knowledge_rag.guardrails.support.report import Change, Verdict

PIECES = st.sampled_from(
    [
        "restart", "the", "pods", "not", "`kubectl", "get`", "`", "```", "--force", "-n", "<name>",
        "$NAME", "{id}", "60s", "1,000", "5", "minutes", ">", "<", "2024-03-05", "March", "/etc/a.conf",
        "db-1.example.com", "https://a.example/x?y=1", "arn:aws:s3:::a", "**bold**", "[1]", "- ", "1. ",
        "a_b", "p95", "Ω", "数据库", "\u00a0", "can't", "\\_", "|", "(", ")", "don’t", "１２", "٣", "ﬁle",
    ]
)  # fmt: skip
LINES = st.lists(PIECES, max_size=12).map(" ".join) | st.text(max_size=60)


@given(st.lists(PIECES, min_size=1, max_size=12), st.data())
def test_what_is_quoted_from_a_line_lacks_nothing(pieces, data):
    start = data.draw(st.integers(0, len(pieces) - 1))
    end = data.draw(st.integers(start + 1, len(pieces)))
    line = " ".join(pieces)
    report = check_support(" ".join(pieces[start:end]), ["Before.", line, "After."])
    assert report.missing == report.missing_words == ()
    # a part of a sentence may lack the "not" or "if" in front of it
    assert {it.change for it in report.contradictions} <= {
        Change.NEGATION,
        Change.CONDITION,
        Change.DANGER,
    }


@given(st.lists(PIECES, min_size=1, max_size=12))
def test_a_whole_line_is_never_unsupported(pieces):
    line = " ".join(pieces)
    assert check_support(line, ["Before.", line, "After."]).verdict is not Verdict.UNSUPPORTED


@given(LINES, st.lists(LINES, max_size=4), st.lists(LINES, max_size=3))
def test_the_same_question_has_the_same_answer(claim, lines, others):
    first = check_support(claim, lines, elsewhere=others)
    assert check_support(claim, tuple(lines), elsewhere=tuple(others)) == first


@given(LINES, st.lists(LINES, max_size=4))
def test_positions_are_those_of_the_claim(claim, lines):
    report = check_support(claim, lines)
    ends = [0]
    for atom in report.atoms:
        assert claim[atom.start : atom.end] == atom.text
        assert atom.text.strip()
        assert atom.start >= ends[-1]
        assert atom.line is None or 0 <= atom.line < len(lines)
        ends.append(atom.end)
    for warning in report.warnings:
        assert 0 <= warning.start < warning.end <= len(claim)
        assert 0 <= warning.line < len(lines)


@given(LINES, st.lists(LINES, max_size=4), LINES)
def test_more_lines_never_lose_an_atom(claim, lines, more):
    found = {atom.start for atom in check_support(claim, lines).atoms if atom.found}
    with_more = {atom.start for atom in check_support(claim, [*lines, more]).atoms if atom.found}
    assert found <= with_more


@given(LINES, st.lists(LINES, max_size=4))
def test_coverage_is_a_share(claim, lines):
    report = check_support(claim, lines)
    assert report.coverage is None or 0 <= report.coverage <= 1
    assert report.coverage in {None, 1} or report.missing_words or report.missing
