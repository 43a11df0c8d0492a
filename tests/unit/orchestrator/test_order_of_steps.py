"""Steps follow each other as their author put them, a table of them whole, and no heading is one."""

from textwrap import indent

import pytest

from knowledge_rag.orchestrator.advisors.extractive import write
from knowledge_rag.orchestrator.advisors.selection import choose
from knowledge_rag.orchestrator.incident import Incident
from tests.unit.orchestrator.evidence import findings_of, results_of


def actions(text, told="mail queue"):
    findings = findings_of(results_of("runbooks/mail.md", text))
    return [step.action for step in choose(findings, Incident(title=told))]


def test_the_section_that_fits_best_does_not_come_before_what_the_author_put_first():
    find = "### Find the cause\n\n- See who sends.\n\n"
    redrive = "### Redrive the mail queue\n\n- When it is fixed, redrive the mail queue.\n"
    assert actions(f"# Mail queue\n\n## Resolution\n\n{find}{redrive}") == [
        "See who sends.",
        "When it is fixed, redrive the mail queue.",
    ]


HEAD = "# Mail queue\n\n## Resolution\n\n"


@pytest.mark.parametrize(
    "text",
    [
        "Mail queue\n==========\n\nFix\n===\n\nRestart the mail queue.\n",
        "Mail queue\n==========\n\nFix\n===\nRestart the mail queue.\n",
        "Mail queue\n==========\n\nFix the\nmail queue\n===\n\nRestart the mail queue.\n",
        "Mail queue\n==========\n\nFix\n---\nRestart the mail queue.\n",
        "# Mail queue\n\n## Fix\n\nMail\n===\n\nRestart the mail queue.\n",
    ],
)
def test_a_heading_that_is_underlined_is_no_step(text):
    assert actions(text) == ["Restart the mail queue."]


def test_a_heading_that_is_underlined_introduces_code():
    text = "Mail queue\n===\n\nFix the mail queue\n===\n\n```\nrm a\n```\n"
    findings = findings_of(results_of("runbooks/mail.md", text))
    (step,) = choose(findings, Incident(title="mail queue"))
    assert (step.action, [it.text for it in step.commands]) == ("Fix the mail queue", ["rm a"])


@pytest.mark.parametrize(
    ("heads", "first", "second", "third"),
    [
        ("Step", "1", "2", "3"),
        ("#", "a", "b", "c"),
        ("**No.**", "1", "2", "4"),
        ("Action", "Drain", "Restart", "Watch"),
        ("Order", "1.", "2.", "3."),
        ("Order", "**Step 0**", "**Step 1**", "**Step 2**"),
    ],
)
def test_a_table_of_steps_is_given_whole(heads, first, second, third):
    rows = [f"{first} | drain", f"{second} | restart the mail queue", f"{third} | watch"]
    table = "\n".join((f"| {heads} | What |", "|---|---|", *(f"| {row} |" for row in rows)))
    whole = "\n".join((f"{heads} | What", *rows))
    assert actions(HEAD + table) == [whole]
    assert actions(f"{HEAD}- In turn:\n\n" + indent(table, "  ")) == [f"In turn:\n{whole}"]
    written = write(
        Incident(title="mail queue"), findings_of(results_of("runbooks/mail.md", HEAD + table))
    )
    assert [line for line in written.split("\n") if line.strip().startswith(rows[0])]


def test_the_rest_of_a_table_of_steps_whose_beginning_was_not_retrieved_is_no_step():
    rows = [f"| {number} | restart the mail queue {'x' * 90} |\n" for number in range(1, 40)]
    results = results_of("runbooks/mail.md", f"{HEAD}| Order | What |\n|---|---|\n{''.join(rows)}")
    assert len(results) > 1
    assert choose(findings_of(results[1:]), Incident(title="mail queue")) == []
    (whole,) = choose(findings_of(results), Incident(title="mail queue"))
    assert whole.action.count("\n") == len(rows)


@pytest.mark.parametrize(
    ("first", "second"), [("500", "503"), ("2", "3"), ("1", "3"), ("1", "low"), ("v1", "v2")]
)
def test_of_a_table_that_is_none_of_steps_only_rows_about_the_incident_are_given(first, second):
    table = (
        f"| Code | What |\n|---|---|\n| {first} | drain |\n| {second} | restart the mail queue |\n"
    )
    assert actions(HEAD + table) == [f"Code | What\n{second} | restart the mail queue"]
