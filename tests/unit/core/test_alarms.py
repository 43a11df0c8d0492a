import dataclasses
import re
from pathlib import Path

import pytest

from knowledge_rag.core import telemetry
from knowledge_rag.core.alarms import (
    Severity,
    Source,
    Thresholds,
    every_alarm,
    retrieval_alarms,
)
from knowledge_rag.evaluation.gameday_alarms import NO_DATA, evaluate

ROOT = Path(__file__).parents[3]
EVERY = every_alarm()
ALARMS = {alarm.key: alarm for alarm in EVERY}
SECTIONS = dict(
    re.findall(
        r"^## ([a-z0-9-]+)\n(.*?)(?=^## |\Z)",
        (ROOT / "docs/operations/alarms.md").read_text(),
        re.MULTILINE | re.DOTALL,
    )
)
EACH = pytest.mark.parametrize("alarm", ALARMS.values(), ids=ALARMS)
OURS = {
    Source.RETRIEVAL,
    Source.CHUNKING,
    Source.INGESTION,
    Source.ADVICE,
    Source.RETRIEVE_LOG,
}
OF_LAMBDA = {"Errors", "Throttles", "Duration", "Invocations"}
OF_AWS = {
    Source.CHANGE_RULE: {"FailedInvocations"},
    Source.DEAD_LETTERS: {"ApproximateNumberOfMessagesVisible"},
    Source.GATEWAY: {"Invocations", "SystemErrors", "UserErrors", "Throttles"},
    Source.ADVICE_RULE: {"FailedInvocations"},
    Source.ADVICE_DEAD_LETTERS: {"ApproximateNumberOfMessagesVisible"},
}
"""Of AWS/Events, AWS/SQS and AWS/Bedrock-AgentCore."""


def fires(key, *, thresholds=None, **values):
    alarms = {alarm.key: alarm for alarm in retrieval_alarms(thresholds or Thresholds())}
    return alarms[key].breached_by(evaluate(alarms[key].expression, values))


def test_keys_are_unique_and_fit_a_heading_and_a_name():
    assert len(ALARMS) == len(EVERY)
    assert all(re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", key) for key in ALARMS)


@EACH
def test_an_alarm_uses_each_of_its_metrics_and_only_those(alarm):
    assert set(re.findall(r"[a-z]\w*", alarm.expression)) == set(alarm.metrics)


@EACH
def test_a_metric_is_one_that_telemetry_or_aws_names(alarm):
    ours = {value for name, value in vars(telemetry).items() if name.isupper()}
    for metric in alarm.metrics.values():
        assert metric.name in (
            ours if metric.source in OURS else OF_AWS.get(metric.source, OF_LAMBDA)
        )


@EACH
def test_nothing_asked_is_no_fault(alarm):
    assert not alarm.breached_by(evaluate(alarm.expression, dict.fromkeys(alarm.metrics, NO_DATA)))
    assert not alarm.breached_by(evaluate(alarm.expression, dict.fromkeys(alarm.metrics, 0)))


@EACH
def test_a_period_is_one_that_an_alarm_may_have(alarm):
    assert alarm.period_seconds % 60 == 0
    assert 1 <= alarm.datapoints <= alarm.periods
    assert alarm.periods * alarm.period_seconds <= 24 * 3600


def test_only_a_canary_that_doesn_t_ask_is_a_fault():
    assert [alarm.key for alarm in EVERY if alarm.missing_breaches] == ["canary"]


@EACH
def test_it_says_in_a_sentence_each_what_it_means_and_what_to_do(alarm):
    for sentence in (alarm.summary, alarm.action):
        assert re.fullmatch(r"\S.{20,250}\.", sentence)


class TestRates:
    def test_an_error_rate_counts_from_enough_queries_on(self):
        assert fires("error-rate", n=10, e=1)
        assert not fires("error-rate", n=9, e=9)

    def test_the_threshold_itself_is_still_fine(self):
        assert not fires("error-rate", n=20, e=1)
        assert fires("error-rate", n=100, e=6)

    def test_failed_queries_are_no_zero_results(self):
        assert not fires("zero-results", n=100, e=80, z=10)
        assert fires("zero-results", n=100, e=80, z=11)

    def test_a_fifth_without_results_warns_and_half_alarms(self):
        assert not fires("zero-results-warning", n=10, e=0, z=2)
        assert fires("zero-results-warning", n=10, e=0, z=3)
        assert not fires("zero-results", n=10, e=0, z=5)
        assert fires("zero-results", n=10, e=0, z=6)

    def test_it_takes_enough_answered_queries_to_speak_of_zero_results(self):
        assert not fires("zero-results-warning", n=100, e=91, z=9)

    def test_where_every_query_failed_there_are_no_answers_to_judge(self):
        assert not fires("zero-results", n=50, e=50, z=NO_DATA)

    def test_an_outage_is_all_the_queries_of_an_incident(self):
        assert fires("outage", n=3, e=3)
        assert not fires("outage", n=2, e=2)
        assert not fires("outage", n=30, e=29)

    def test_slow_runs_count_from_enough_calls_on(self):
        assert fires("latency-p95", n=10, d=2001)
        assert not fires("latency-p95", n=10, d=2000)
        assert not fires("latency-p95", n=9, d=9000)


class TestGateway:
    @staticmethod
    def fires(key, **values):
        alarm = ALARMS[key]
        missing = dict.fromkeys(alarm.metrics, NO_DATA)
        return alarm.breached_by(evaluate(alarm.expression, missing | values))

    @pytest.mark.parametrize("kind", ["s", "u", "t"])
    def test_an_outage_is_all_of_its_calls_whatever_they_failed_of(self, kind):
        assert self.fires("gateway-outage", n=3, **{kind: 3})
        assert not self.fires("gateway-outage", n=2, **{kind: 2})
        assert not self.fires("gateway-outage", n=30, **{kind: 29})
        assert self.fires("gateway-outage-slow", n=2, **{kind: 2})
        assert not self.fires("gateway-outage-slow", n=2, **{kind: 1})

    def test_failures_of_several_kinds_add_up(self):
        assert self.fires("gateway-outage", n=6, s=1, u=2, t=3)
        assert not self.fires("gateway-outage", n=7, s=1, u=2, t=3)

    def test_the_first_failure_and_the_first_call_turned_away_warn(self):
        for key in ("gateway-errors", "gateway-throttles"):
            assert self.fires(key, m=1)
            assert not self.fires(key, m=0)
            assert ALARMS[key].severity is Severity.WARNING


@pytest.mark.parametrize("key", ["permanent-errors", "function-errors", "init-failures"])
def test_some_alarms_speak_at_the_first_occurrence_and_within_a_minute(key):
    alarm = ALARMS[key]
    assert alarm.severity is Severity.ALARM
    assert (alarm.period_seconds, alarm.periods, alarm.threshold) == (60, 1, 0)


def test_every_threshold_of_a_deployment_moves_an_alarm():
    default = retrieval_alarms()
    for field in dataclasses.fields(Thresholds):
        changed = dataclasses.replace(
            Thresholds(), **{field.name: getattr(Thresholds(), field.name) + 1}
        )
        assert retrieval_alarms(changed) != default


def test_what_only_delays_new_knowledge_wakes_nobody():
    late = {Source.INGESTION, Source.CHUNKING, Source.CHUNK_FUNCTION, Source.INGESTION_FUNCTION}
    for alarm in ALARMS.values():
        if {metric.source for metric in alarm.metrics.values()} & late:
            assert alarm.severity is Severity.WARNING


class TestHandbook:
    def test_it_has_a_section_for_each_alarm_and_for_no_other(self):
        assert SECTIONS.keys() == {*ALARMS, "health"}

    @pytest.mark.parametrize("key", [*ALARMS, "health"])
    def test_a_section_says_all_that_is_needed_at_night(self, key):
        points = re.findall(r"^- \*\*([\w ]+)\*\*: \S", SECTIONS[key], re.MULTILINE)
        assert points == ["Means", "First look", "Likely causes", "Fix"]

    def test_each_threshold_is_named_where_its_alarm_is(self):
        text = "".join(SECTIONS.values())
        for field in dataclasses.fields(Thresholds):
            assert f"`{field.name}`" in text
