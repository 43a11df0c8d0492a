"""Where a page speaks of several matters, the steps are of the one that the incident tells of."""

import pytest

from knowledge_rag.orchestrator.advisors.selection import choose
from knowledge_rag.orchestrator.incident import Incident
from tests.unit.orchestrator.evidence import findings_of, results_of


def actions(text, told):
    findings = findings_of(results_of("runbooks/mail.md", text))
    return [step.action for step in choose(findings, Incident(title=told))]


def page(*sections):
    return "# Mail\n\n" + "".join(f"## {head}\n\n- {step}\n\n" for head, step in sections)


def test_the_matter_whose_heading_says_most_of_the_incident_comes_first():
    text = page(
        ("Bounces of mail", "See who bounces."),
        ("Queue of mail", "Drain the queue of mail."),
    )
    assert actions(text, "queue of mail grows") == ["Drain the queue of mail.", "See who bounces."]


def test_matters_that_fit_equally_stay_as_their_author_put_them():
    text = page(("Bounces", "See the queue of mail."), ("Greylist", "Queue of mail: drain it."))
    assert actions(text, "queue of mail grows") == [
        "See the queue of mail.",
        "Queue of mail: drain it.",
    ]


@pytest.mark.parametrize("number", ["2.", "2)", "Step 2:", "step 2", "2"])
def test_a_numbered_heading_is_a_step_and_no_matter(number):
    text = page(("1. See the logs", "See the logs."), (f"{number} Queue of mail", "Drain it."))
    assert actions(text, "queue of mail grows") == ["See the logs.", "Drain it."]


def test_what_stands_below_a_purpose_is_no_matter_of_its_own():
    text = (
        "# Mail\n\n## Resolution\n\n### See the logs\n\n- See them.\n\n"
        "### Queue of mail\n\n- Drain it.\n"
    )
    assert actions(text, "queue of mail grows") == ["See them.", "Drain it."]


def test_a_heading_that_the_incident_says_whole_leaves_no_room_for_other_matters():
    text = page(
        ("Mail queue is stuck", "Restart the mail queue."),
        ("Mail queue is growing", "Drain the mail queue."),
    )
    assert actions(text, "the queue of mail: growing, since noon") == ["Drain the mail queue."]


def test_a_heading_of_two_words_is_too_little_to_leave_others_out():
    text = page(("Mail queue", "Drain it."), ("Other mail", "Look at the mail queue."))
    assert actions(text, "mail queue growing") == ["Drain it.", "Look at the mail queue."]


def test_where_the_matters_own_section_has_no_steps_those_of_others_are_given():
    text = page(
        ("Mail queue is growing", "TODO"), ("Mail queue is stuck", "Restart the mail queue.")
    )
    assert actions(text, "mail queue growing") == ["Restart the mail queue."]
