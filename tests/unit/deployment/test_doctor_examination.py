"""The whole examination: nothing stops it, it ends in time, and it sums up what it knows."""

from __future__ import annotations

import threading

from knowledge_rag.deployment.aws import all_within
from knowledge_rag.deployment.doctor.checks import Status
from knowledge_rag.deployment.doctor.examination import ORDER, THERE, as_text, examine, verdict
from tests.support.played_aws import DENIED, Fault, Raw

NOT_NAMED = {
    "documents bucket",
    "encryption key",
    "permissions boundary",
    "advice destinations",
    "advice topics",
    "advice keys",
    "advice model",
}
"""Checks of what an option names."""


def quiet(*_):
    pass


def by_check(diagnosis):
    return dict(diagnosis.findings)


def test_a_healthy_account_has_no_problem_and_every_check_was_made(planned):
    steps = []
    diagnosis = examine(planned(), lambda *step: steps.append(step))
    assert not diagnosis.problems
    assert not diagnosis.blind
    found = [check for check, _ in diagnosis.findings]
    assert found == [check for check in ORDER if check not in NOT_NAMED]
    assert [done for done, _, _ in steps] == list(range(2, len(ORDER) + 1))
    assert verdict(diagnosis).startswith("Nothing found that would stop a deployment")


def test_names_and_what_is_told_of_them_stand_apart(planned):
    lines = as_text(examine(planned(), quiet)).plain.split("\n")
    for name in set(ORDER) - NOT_NAMED:
        assert any(f"{name}  " in line for line in lines), name


def test_one_call_that_is_denied_leaves_the_others_alone(account, planned):
    account.played.play("lambda", "GetAccountSettings", DENIED)
    found = by_check(examine(planned(), quiet))
    refused = found.pop("quota: Lambda concurrency")
    assert refused.status is Status.UNKNOWN
    assert refused.detail == "missing permission lambda:GetAccountSettings"
    unknown = [check for check, finding in found.items() if finding.status is Status.UNKNOWN]
    assert unknown == ["Agents Classic"]


def test_an_answer_that_makes_no_sense_leaves_the_others_alone(account, planned):
    html = Raw(b"<html>sign in to the hotel's network</html>", "text/html")
    account.played.play("lambda", "GetAccountSettings", html)
    found = by_check(examine(planned(), quiet))
    assert found["quota: Lambda concurrency"].status is Status.UNKNOWN
    assert found["CDK bootstrap"].status is Status.OK


def test_without_credentials_nothing_in_the_account_is_asked(account, planned):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        del account.environment[name]
    diagnosis = examine(planned(), quiet)
    assert diagnosis.problems
    assert account.played.calls == []
    shown = as_text(diagnosis).plain
    assert f"{len(THERE)} others" in shown
    assert shown.count("not checked") == 1


def test_without_credentials_the_file_of_destinations_is_read_all_the_same(account, planned):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        del account.environment[name]
    diagnosis = examine(planned(advice_destinations="[destinations"), quiet)
    found = by_check(diagnosis)["advice destinations"]
    assert (found.status, "not valid TOML" in found.detail) == (Status.PROBLEM, True)
    assert account.played.calls == []


def test_where_aws_can_not_be_reached_nothing_is_a_problem_and_nothing_known(account, planned):
    for name in [each for each in account.environment if each.startswith("AWS_ENDPOINT_URL")]:
        account.environment[name] = "http://127.0.0.1:9"
    diagnosis = examine(planned(), quiet)
    assert not diagnosis.problems
    assert diagnosis.blind
    assert verdict(diagnosis).startswith("Nothing could be checked")


def test_what_aws_says_can_not_steer_the_terminal(account, planned):
    steering = Fault("ServiceException", "boom \x1b[2J", 500)
    account.played.play("lambda", "GetAccountSettings", steering)
    assert "\x1b" not in as_text(examine(planned(), quiet)).plain


def test_what_never_ends_is_left_behind():
    for_ever = threading.Event()
    works = {"quick": lambda: 1, "stuck": for_ever.wait}
    found = dict(all_within(0.2, works))
    assert found["quick"].result() == 1
    assert found["stuck"] is None
    for_ever.set()
