"""The queries for an incident: what is known of it, asked of everything, and of reports with what helped."""

import pytest

from knowledge_rag.core.retrieval import MAX_QUERY_CHARACTERS
from knowledge_rag.orchestrator.incident import Incident
from knowledge_rag.orchestrator.pager_texts import MAX_ITEMS, MAX_NAME, MAX_TEXT
from knowledge_rag.orchestrator.queries import (
    MAX_QUERIES,
    MAX_SYMPTOM,
    RESULTS,
    build_queries,
    queries_for,
)

FULL = Incident(
    title="Checkout fails",
    alert_name="OrdersDbWriterUnavailable",
    service="rds",
    description="Writes time out.",
    signals=("DatabaseConnections is 0",),
)


def texts(incident):
    """Return the texts of the queries, those for reports without their last word."""
    queries = build_queries(incident)
    assert all(it.text.endswith(" resolution") for it in queries if it.filters)
    return [it.text.removesuffix(" resolution") for it in queries]


def test_the_first_and_last_query_say_all_that_is_known_and_one_the_name_alone():
    named = "OrdersDbWriterUnavailable Orders Db Writer Unavailable rds"
    noticed = "Checkout fails Writes time out. DatabaseConnections is 0"
    everything = f"{named} {noticed}"
    assert texts(FULL) == [everything, named.removesuffix(" rds"), everything]
    assert len(build_queries(Incident(alert_name="MailFull"))) == 2  # the name is all there is


def test_every_query_names_the_alert_as_it_is_written():
    assert all(FULL.alert_name in text for text in texts(FULL))


def test_everything_is_searched_and_then_reports_alone():
    filters = [dict(query.filters) for query in build_queries(FULL)]
    assert filters == [{}, {}, {"document_type": "postmortem"}]


def test_every_query_asks_for_five_results():
    assert {query.max_results for query in build_queries(FULL)} == {RESULTS} == {5}


def test_the_words_of_the_runbook_that_is_linked_are_asked_for_with_all_else_and_alone():
    link = "https://github.example/acme/ops/blob/main/runbooks/postfix-backlog.md#drain-it"
    linked = Incident(alert_name="MailFull", links=(link,))
    words = "runbooks postfix backlog drain it"
    assert texts(linked) == [f"MailFull Mail Full {words}", words, f"MailFull Mail Full {words}"]
    assert [dict(it.filters) for it in build_queries(linked)][:2] == [{}, {}]


@pytest.mark.parametrize(
    ("incident", "expected"),
    [
        (Incident(), set()),
        (Incident(severity="SEV1", incident_id="INC-1"), set()),
        (Incident(alert_name="lag"), {"lag"}),
        (Incident(title="lag", alert_name="lag", service="lag"), {"lag"}),
        (Incident(title="Why is there lag?"), {"Why is there lag"}),
        (Incident(service="rds"), {"rds"}),
        (Incident(signals=("lag", "lag")), {"lag"}),
    ],
)
def test_what_is_not_known_is_not_asked_about(incident, expected):
    assert set(texts(incident)) == expected


def test_nothing_that_is_known_makes_a_query_too_long():
    longest = Incident(
        title="t" * MAX_TEXT,
        alert_name="A" * MAX_NAME,
        service="s" * MAX_NAME,
        description="d" * MAX_TEXT,
        signals=tuple(f"{n} " + "x" * (MAX_TEXT - 9) for n in range(MAX_ITEMS)),
    )
    lengths = [len(text) for text in texts(longest)]
    assert 0 < len(lengths) <= MAX_QUERIES
    assert max(lengths) <= min(MAX_QUERY_CHARACTERS, 3 * MAX_NAME + MAX_SYMPTOM + 100)


class TestTypedQuestions:
    def test_are_asked_as_they_are_of_everything_and_of_reports(self):
        first, second = queries_for("why is there lag?")
        assert (first.text, dict(first.filters)) == ("why is there lag?", {})
        assert second.text == "why is there lag? resolution"
        assert dict(second.filters) == {"document_type": "postmortem"}

    def test_with_a_filter_keep_it(self):
        (only,) = queries_for("why?", {"document_type": "runbook", "service": "rds"})
        assert dict(only.filters) == {"document_type": "runbook", "service": "rds"}
        assert all(it.filters["service"] == "rds" for it in queries_for("why?", {"service": "rds"}))

    @pytest.mark.parametrize(
        ("question", "asks_whom"),
        [
            ("whom do I page for the mail queue?", True),
            ("who owns the mail queue?", True),
            ("somebody to be woken for the mail queue", True),
            ("five lobbies are down, do I get somebody out of bed", True),
            ("mails are 4 h old, do I wake payments or not", True),
            ("why does the mail queue grow?", False),
        ],
    )
    def test_of_whom_to_call_are_asked_of_the_contacts_too(self, question, asks_whom):
        texts = [query.text for query in queries_for(question)]
        assert any("contacts" in text for text in texts) is asks_whom
        assert len(texts) <= MAX_QUERIES
