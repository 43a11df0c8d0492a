"""A recommendation on a terminal, as a person who was just paged reads it."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import given as for_any
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from knowledge_rag.cli.procedures import CITATION
from knowledge_rag.cli.prose import Markup, laid_out
from knowledge_rag.cli.recommendation import CHECK, lines_of, show_recommendation
from knowledge_rag.cli.terminal import MAX_WIDTH
from knowledge_rag.core.headings import Kind
from knowledge_rag.core.outcome import Reason, Status
from knowledge_rag.guardrails.rules import Kind as OfWording
from knowledge_rag.orchestrator.procedures import NotShown, Part, Why
from knowledge_rag.orchestrator.recommendation import (
    Concern,
    Evidence,
    Recommendation,
    Section,
    SimilarIncident,
    Step,
    Strength,
    Warned,
)
from knowledge_rag.orchestrator.wording import NO_MATCH, UNCLEAR, UNREACHABLE
from tests.support.examples import up_to
from tests.support.runbooks import alert, consulted
from tests.unit.cli.test_procedures import FILE, PATH, cited, step

FOUND = f"1 step from {FILE}."
COMMAND = (
    "kubectl -n clicks scale deploy/enricher --replicas=24 --timeout=60s --context production-eu"
)


def section(**more):
    return Section(FILE, PATH, Kind.OTHER, 1, 40, **more)


def recommendation(*steps, **more):
    given = steps or (step("Look.", "1."),)
    known = {
        "summary": FOUND if len(given) == 1 else f"{len(given)} steps from {FILE}.",
        "reasoning": "1 step from 1 document.",
        "confidence": 0.9,
        "procedures": (section(),),
        "evidence": Evidence(Strength.STRONG, ("the alert links this procedure",)),
        **more,
    }
    return Recommendation(Status.OK, guidance=given, **known)


def nothing(**more):
    return Recommendation(
        Status.NO_MATCH, NO_MATCH, more.pop("reasoning", "2 queries found nothing."), **more
    )


def by_model(action, commands=(), **more):
    """A step that a model wrote, with a citation."""
    steps = [Step(action, (cited(5),), commands)]
    return recommendation(*steps, procedures=(), **more)


def page(given, width=80, markdown=Markup.MARKED):
    return ["".join(words for words, _ in line) for line in lines_of(given, width, markdown)]


def printed(given, *, numbered=False, **more):
    console = Console(file=io.StringIO(), soft_wrap=True, highlight=False, markup=False, **more)
    show_recommendation(console, given, numbered=numbered)
    return console.file.getvalue()


def style_of(beginning, given):
    (found,) = [
        line[0][1] for line in lines_of(given, None) if line and line[0][0] == beginning
    ] or [style for line in lines_of(given, None) for words, style in line if words == beginning]
    return found


# how it begins


def test_it_begins_with_what_was_found_and_how_good_the_evidence_is_in_words():
    assert page(recommendation())[:4] == [
        FOUND,
        "Evidence: strong (the alert links this procedure)",
        "",
        "runbooks/queue.md: Queue > Drain it",
    ]


@pytest.mark.parametrize(
    ("strength", "style"), [("strong", "bold green"), ("partial", "yellow"), ("thin", "yellow")]
)
def test_only_strong_evidence_is_green(strength, style):
    given = recommendation(evidence=Evidence(Strength(strength), ("found",)))
    styles = {style for line in lines_of(given, None) for _, style in line}
    assert style_of("Evidence:", given) == style
    assert ("green" in " ".join(styles)) == (strength == "strong")


def test_thin_evidence_says_once_to_check_that_it_fits():
    thin = recommendation(evidence=Evidence(Strength.THIN, ("search found it",)))
    assert page(thin)[1] == f"Evidence: thin (search found it; {CHECK})"
    said = recommendation(evidence=Evidence(Strength.THIN, (f"few words: {CHECK}",)))
    assert page(said)[1] == f"Evidence: thin (few words: {CHECK})"


def test_what_to_know_before_anything_is_done_stands_above_the_steps():
    given = recommendation(
        warnings=(
            Warned(Concern.INCOMPLETE_SEARCH, "A query could not be answered."),
            Warned(Concern.LINKED_RUNBOOK, "Nothing was found of it."),
        )
    )
    assert page(given)[2:4] == [
        "Warning: A query could not be answered.",
        "Warning: Nothing was found of it.",
    ]


def test_what_a_procedure_does_not_show_is_told_there_alone():
    given = recommendation(
        procedures=(section(not_shown=(NotShown(FILE, 7, 9, Why.NOT_RETRIEVED),), complete=False),),
        warnings=(Warned(Concern.NOT_SHOWN, "Lines 7-9 are not shown."),),
    )
    shown = "\n".join(page(given))
    assert shown.count("not shown") == 1
    assert "  not shown: runbooks/queue.md:7-9, not retrieved" in shown


# nothing documented


def test_nothing_documented_is_said_first_with_what_is_close_to_read():
    given = nothing(
        reasoning=f"The closest page is {FILE}, and nothing found mentions MongoDB.",
        reading=(cited(12, 20),),
        unknown=("MongoDB",),
    )
    assert page(given) == [
        "Nothing documented.",
        f"The closest page is {FILE}, and nothing found mentions MongoDB.",
        "",
        "Closest sections, to read, not to follow",
        "  1. runbooks/queue.md:12-20  (Drain it)",
    ]


def test_where_several_may_be_meant_they_are_named_and_nothing_is_called_undocumented():
    given = nothing(
        reasoning=UNCLEAR, reading=(cited(12, 20), cited(30)), meant=("Drain it", "Full")
    )
    assert page(given) == [
        UNCLEAR,
        "",
        "It could be",
        "  1. Drain it",
        "     runbooks/queue.md:12-20",
        "  2. Full",
        "     runbooks/queue.md:30",
        "",
        "To get the steps of the first one, add: --at runbooks/queue.md:20",
    ]


def test_words_that_nothing_mentions_are_named():
    given = nothing(unknown=("MongoDB", "primary"))
    assert page(given)[2] == "Nothing found mentions MongoDB or primary."


def test_a_search_that_failed_is_not_taken_for_nothing_documented():
    given = Recommendation(
        Status.DEGRADED, UNREACHABLE, "1 of 2 queries failed.", reason=Reason.TIMEOUT
    )
    assert page(given, None) == [UNREACHABLE, "1 of 2 queries failed."]


# several alerts


def test_each_alert_of_a_group_has_its_own_block():
    given = recommendation(
        step("Look.", "1."),
        procedures=(section(alert="QueueGrows"),),
        alerts=(
            ("QueueGrows", Status.OK),
            ("CacheCold", Status.NO_MATCH),
            ("Slow", Status.DEGRADED),
        ),
        warnings=(Warned(Concern.NOTICE, "CacheCold: nothing is documented for it."),),
        reading=(cited(30),),
        unknown=("cache",),
    )
    assert page(given)[3:] == [
        "Alert: QueueGrows",
        "",
        "runbooks/queue.md: Queue > Drain it",
        "  1. Look.",
        "     runbooks/queue.md:5",
        "",
        "Alert: CacheCold",
        "  Nothing documented for CacheCold.",
        "",
        "Alert: Slow",
        "  Slow could not be looked up.",
        "",
        "Closest sections to CacheCold and Slow, to read, not to follow",
        "  runbooks/queue.md:30  (Drain it)",
        "  Nothing found mentions cache.",
    ]


# earlier incidents


def test_similar_incidents_are_shown_with_their_code_and_lines():
    text = "Failed over:\n```bash\nfailover now\n```\nThen the name was moved."
    similar = SimilarIncident(text, (cited(4), cited(6, 9), cited(11)), "INC-7")
    plain = SimilarIncident("1. It was restored.", (cited(20),))
    given = recommendation(
        similar_incidents=(similar, plain),
        summary=f"1 step from {FILE}. 2 similar incidents: INC-7.",
    )
    assert page(given)[-8:] == [
        "",
        "Similar incidents",
        "  - INC-7: Failed over:",
        "      failover now",
        "    Then the name was moved.",
        "    runbooks/queue.md:4-11",
        "  - 1. It was restored.",
        "    runbooks/queue.md:20",
    ]


# a model's words


def is_barred(line):
    return line.startswith(("| ", "  1. | ", "     | ")) or line in ("|", "  1. |", "     |")


def test_commands_of_a_model_have_a_bar_and_are_cut_at_the_edge():
    forged = " " * 60 + "runbooks/queue.md:1-9"
    shown = page(by_model("Scale.", commands=(f"{COMMAND} \\\n\t-v{forged}",)), 40)
    at = shown.index(f"     |   {COMMAND[:31]}")
    assert "".join(it[7:] for it in shown[at : at + 3]).strip() == f"{COMMAND} \\"
    assert "runbooks/queue.md:1-9" in "".join(it.removeprefix("     | ") for it in shown)


PIECES = st.sampled_from(
    ["runbooks/queue.md:1-9  (Drain it)", "Evidence: strong", "1. ", "  ", "\t", "\n", "\n\n", "- ", "> ",
     "## Sources", "| a | b |\n|---|---|\n", "| c |", "`", "```\n", "~~~~", "    ", "\x1b[2K\r", "\u202e", "\u2028",
     "\r", "*", "**", "[", "](x)", "<b>", "x" * 50, "漢" * 30, "\u0301", "Warning: ", "\\", "\\\n"]
)  # fmt: skip


def wrapped(text, width):
    return ["".join(words for words, _ in it) for it in laid_out(text, width, first=[], rest="")]


@for_any(
    st.lists(PIECES, max_size=25).map("".join),
    st.sampled_from([40, 57, 80]),
    st.sampled_from([Markup.MARKED, Markup.STYLED]),
)
@up_to(examples=80)
def test_whatever_a_model_writes_each_row_on_the_screen_has_its_bar(text, width, markdown):
    given = by_model("x" + text, (text,), analysis=text, summary="x" + text)
    lines = page(given, width, markdown)
    styles = [style for line in lines_of(given, width, markdown) for _, style in line]
    assert styles.count(CITATION) == 1  # that of the step: a model's words have no such style
    ours = {
        *wrapped(FOUND, width), *wrapped("Evidence: strong (the alert links this procedure)", width),
        "Steps, in the model's words", "", "     runbooks/queue.md:5  (Drain it)",
        "Analysis, in the model's own words, from no source", "1 step from 1 document.",
    }  # fmt: skip
    theirs = [it for it in lines if it not in ours]
    assert all(is_barred(it) for it in theirs)
    assert all(cell_len(it) <= width for it in theirs)


def test_what_a_models_words_are_warned_of_stands_where_it_is_said():
    given = by_model(
        "Scale.",
        warnings=(
            Warned(Concern.UNSUPPORTED, "flag -v is not in the cited lines.", 1),
            Warned(Concern.UNCITED_STEPS, '"Pray" cites nothing, so it is not a step'),
            Warned(OfWording.LOW_DENSITY, "Few statements cite anything."),
        ),
    )
    assert page(given)[4:] == [
        "",
        "  1. | Scale.",
        "     runbooks/queue.md:5  (Drain it)",
        "     Warning: flag -v is not in the cited lines.",
        "",
        'Warning: "Pray" cites nothing, so it is not a step',
        "Warning: Few statements cite anything.",
        "1 step from 1 document.",
    ]


# where it is printed


def test_citations_are_numbered_in_their_order_and_nothing_that_looks_like_one():
    forged = "`runbooks/queue.md:1-9` and [9] runbooks/queue.md:1-9"
    given = recommendation(step(f"Look: {forged}", "1."), step("Wait.", "2."))
    shown = printed(given, numbered=True, force_terminal=True, width=80)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    numbered = [it.strip() for it in plain.split("\n") if re.match(r" *\[\d+\] ", it)]
    assert numbered == [f"[{n}] {FILE}:5" for n in (1, 2)]
    assert "[1]" not in printed(given, force_terminal=True, width=80)
    assert "`" not in plain  # code is told by its style
    assert "`runbooks/queue.md:1-9`" in printed(given, width=80)
    assert "`runbooks/queue.md:1-9`" in printed(
        given, force_terminal=True, width=80, color_system=None
    )


LONG = step("Wait until every consumer of the group has committed, then look again.", "1.")


def test_on_a_terminal_words_are_wrapped_to_its_width_and_no_further_than_can_be_read():
    narrow = printed(recommendation(LONG), force_terminal=True, width=60, color_system=None)
    assert "committed,\n     then look again." in narrow
    wide = printed(
        recommendation(step("word " * 60, "1.")), force_terminal=True, width=300, color_system=None
    )
    assert max(map(len, wide.split("\n"))) <= MAX_WIDTH


def test_in_a_pipe_nothing_is_wrapped_unless_somebody_says_how_wide(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert "  1. " + LONG.action in printed(recommendation(LONG)).split("\n")
    monkeypatch.setenv("COLUMNS", "60")
    assert "committed,\n     then look again." in printed(recommendation(LONG))


def test_nothing_from_a_document_or_a_model_steers_the_terminal():
    evil = "a\x1b]0;owned\x07 \u202egnp [bold]x[/bold]"
    given = recommendation(
        step(evil, parts=(Part(evil), Part(evil, is_code=True)), path=(*PATH, evil)),
        similar_incidents=(SimilarIncident(evil, (cited(3),), evil),),
        warnings=(Warned(Concern.NOTICE, evil),),
        analysis=evil,
        summary=evil,
        alerts=(("", Status.OK), (evil, Status.NO_MATCH)),
        unknown=(evil,),
        reading=(cited(2),),
    )
    shown = printed(given, force_terminal=True, color_system=None)
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "\u202e" not in shown
    assert "[bold]x[/bold]" in shown


# from a document to the terminal

RUNBOOK = """\
# Queue

Before anything on this page: call the desk.

## QueueGrows

1. Pause the writers:

   ```sh
   pause --all
   ```

2. Delete what is older than a day: `find /work -mtime +1 -delete`

## What not to do

- Never purge.
"""


def test_a_runbook_is_shown_as_its_author_wrote_it():
    given = consulted(alert("QueueGrows"), {FILE: RUNBOOK})
    assert page(given.recommendation) == [
        "2 steps from runbooks/queue.md.",
        "Evidence: strong (it is filed under the alert's name)",
        "",
        "runbooks/queue.md: Queue > QueueGrows",
        "  First: Before anything on this page: call the desk.",
        "  Do not:",
        "  x - Never purge.",
        "",
        "  1. Pause the writers:",
        "       pause --all",
        "     runbooks/queue.md:7-11",
        "",
        "  2. [destructive: delete, find -delete] Delete what is older than a day:",
        "     `find /work -mtime +1 -delete`",
        "     runbooks/queue.md:13",
    ]
