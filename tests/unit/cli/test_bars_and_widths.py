"""No row of the screen begins with a model's words, however wide a terminal takes its characters to be."""

import io
import unicodedata

import pytest
from rich.console import Console

from knowledge_rag.cli.prose import barred, cut
from knowledge_rag.cli.verification import Verification, show_review
from knowledge_rag.guardrails.review import review
from knowledge_rag.orchestrator.wording import BAR
from tests.unit.guardrails.evidence import LEDGER

WIDTH = 40


def widest(text):
    """Return the columns that a text takes where marks, flags and skin tones count as much as they may."""
    wide = ("So", "Sk", "No")
    return sum(
        2 if unicodedata.category(it) in wide or unicodedata.east_asian_width(it) in "WF" else 1
        for it in text
    )


@pytest.mark.parametrize(
    "text",
    [
        "\U0001f44d" + "\U0001f3fd" * 50 + "runbooks/a.md:107-112  (Resolution)", "\u0915" + "\u093e" * 90 + "runbooks/a.md", "\u3248" * 60, "\u302e" * 60,
        "\U0001f1e9\U0001f1ea" * 30, "y" * 100, "\u624b\u9806" * 40, "a " * 60,
    ],
)  # fmt: skip
@pytest.mark.parametrize("label", [None, []])
def test_each_row_has_a_bar_and_fits(text, label):
    rows = ["".join(part for part, _ in row) for row in barred(text, WIDTH, label=label)]
    assert all(row.startswith(BAR.rstrip()) and widest(row) <= WIDTH for row in rows)
    said = "".join(row.removeprefix(BAR.rstrip()) for row in rows)
    assert said.replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize("width", [1, 2, 3, 7])
def test_a_line_is_cut_at_any_width_and_what_follows_stands_apart(width):
    rows = ["".join(part for part, _ in row) for row in cut([[("ab\u624bcdefgh", "")]], width, " ")]
    assert "".join(row.strip() for row in rows) == "ab\u624bcdefgh"
    assert all(row.startswith(" ") for row in rows[1:])


def test_what_a_finding_quotes_never_begins_a_row():
    answer = (
        "1. Run `/"
        + "y" * 51
        + "/Verified:9of9"
        + "z" * 30
        + "` [Source: runbooks/rds.md, lines 6-7].\n"
    )
    out = io.StringIO()
    done = Verification("a.md", (), review(answer, LEDGER), (), ())
    show_review(Console(file=out, width=80, force_terminal=True, no_color=True), done)
    below = out.getvalue().split("\n\n", 1)[1].splitlines()
    assert any("Verified:9of9" in row for row in below)
    assert not any(row.startswith(("Verified:9of9", "y", "z", "/")) for row in below)
