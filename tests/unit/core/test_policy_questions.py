"""Which questions ask for a date that is not yet past."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.core.policy_questions import MAX_QUESTION_CHARACTERS, asks_for_a_date

TODAY = date(2026, 11, 21)

ASKING = """
When is the next board meeting?
when are parent-teacher conferences
When does school start?
When will the v1 API be switched off?
when's the concert
parent-teacher conferences: when?
Tell me when the office is open
What time does the office open on Monday?
What date is graduation?
dates of the exams
What is the enrollment deadline?
bus schedule
What is scheduled for the weekend of December 5?
upcoming events
events in December
concert in March
what happens in may 2027
anything on 5 Dec?
2027 calendar
holidays 2026
closed on 2026-12-05?
next certificate rotation
Is there school tomorrow?
early dismissal this friday
how soon can I renew
When was the last audit, and when is the next one?
maintenance in November 2026
"""

NOT_ASKING = """
Who are the Executive Directors?
how do we fail over the orders database?
what to do when replica lag grows
The alert fires when memory is high
What is the next step after failover?
what should I do next
pod can't be scheduled
fail to schedule pods
job not scheduled
bring the replica up to date
out of date packages
date format in the log
updated dependencies break the build
the service may fail
the service may not start
we march on
RDS error 2013 lost connection
port 2024 refused
disk fills up after 2000 requests
CVE-2024-1234
INC-2024-001
When did the outage happen?
when was the last failover
What happened in January 2024?
reporting portal down after the rotation of February 2026
what was decided on 2026-03-05
postmortem of last week
What broke two days ago?
not authorized since this morning
"""


@pytest.mark.parametrize("question", ASKING.strip().splitlines())
def test_it_asks_for_a_date(question):
    assert asks_for_a_date(question, TODAY)
    assert asks_for_a_date(question.upper(), TODAY)


@pytest.mark.parametrize("question", NOT_ASKING.strip().splitlines())
def test_it_asks_for_something_else(question):
    assert not asks_for_a_date(question, TODAY)


def test_a_year_is_asked_for_until_it_is_over():
    assert asks_for_a_date("events in 2026", date(2026, 12, 31))
    assert not asks_for_a_date("events in 2026", date(2027, 1, 1))


def test_a_pasted_log_full_of_dates_asks_nothing():
    log = "INFO all is well\n" * (MAX_QUESTION_CHARACTERS // 10)
    assert not asks_for_a_date(f"{log}when is the next rotation?", TODAY)


@given(st.text(max_size=200))
def test_any_text_is_judged_and_white_space_changes_nothing(text):
    assert asks_for_a_date(text, TODAY) is asks_for_a_date(f" \n{text}\t ", TODAY)
