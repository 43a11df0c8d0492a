"""Steps follow each other as their author put them, a table of them whole, and no heading is one."""

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
