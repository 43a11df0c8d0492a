"""Each alarm of a synthesized template, on what the real function emits against a loopback service."""

import json
import os
import re

import pytest

from knowledge_rag.core import telemetry
from knowledge_rag.evaluation.faults.payloads import item, retrieved
from knowledge_rag.evaluation.faults.server import http, silent
from lambdas.retrieve_knowledge import service
from tests.support.cloudwatch import alarms_of, emitted, series
from tests.support.fixtures import invoke
from tests.support.monitoring import GATEWAY, monitored, resources
from tests.support.patience import patient_function

DEPLOYMENT = "knowledge-rag-dev"
ALARMS = alarms_of(monitored(), DEPLOYMENT)

FOUND = http(retrieved(item()))
NOTHING = http(retrieved())
UNPROVEN = http(retrieved(item(), item(start=40, content_sha256="0" * 64)))
UNAVAILABLE = http({"message": "x"}, "503 Service Unavailable")
THROTTLED = http({"message": "x"}, "429 Too Many Requests")
DENIED = http({"message": "x"}, "403 Forbidden")
STOPPED = http(retrieved(guardrailAction="INTERVENED"))
SILENCE = b""

FIRING = [
    ("permanent-errors", [[*[FOUND] * 30, DENIED]]),
    ("outage", [[UNAVAILABLE] * 3]),
    ("outage-slow", [[UNAVAILABLE, THROTTLED]]),
    ("error-rate", [[*[FOUND] * 9, THROTTLED], [FOUND] * 10, [*[FOUND] * 9, UNAVAILABLE]]),
    ("error-rate-day", [[*[FOUND] * 22, THROTTLED, UNAVAILABLE]]),
    ("timeouts", [[SILENCE] * 4]),
    ("zero-results", [[*[FOUND] * 4, *[NOTHING] * 6]]),
    ("zero-results", [[*[FOUND] * 4, *[NOTHING] * 6, *[UNAVAILABLE] * 10]]),
    ("zero-results-warning", [[*[FOUND] * 7, *[NOTHING] * 3]]),
    ("dropped-results", [[*[FOUND] * 5, UNPROVEN]]),
    ("guardrail-interventions", [[*[FOUND] * 5, STOPPED]]),
]
QUIET = [
    ("permanent-errors", [[UNAVAILABLE, THROTTLED, NOTHING]]),
    ("outage", [[UNAVAILABLE] * 2]),
    ("outage", [[*[UNAVAILABLE] * 5, NOTHING]]),
    ("outage-slow", [[UNAVAILABLE]]),
    ("outage-slow", [[*[UNAVAILABLE] * 5, NOTHING]]),
    ("error-rate-day", [[UNAVAILABLE] * 9]),
    ("error-rate-day", [[*[FOUND] * 23, UNAVAILABLE]]),
    ("error-rate", [[UNAVAILABLE] * 9] * 3),
    ("error-rate", [[*[FOUND] * 9, UNAVAILABLE], [FOUND] * 10, [FOUND] * 10]),
    ("error-rate", [[*[FOUND] * 19, UNAVAILABLE]] * 3),
    ("timeouts", [[SILENCE] * 3]),
    ("zero-results", [[*[FOUND] * 5, *[NOTHING] * 5]]),
    ("zero-results", [[UNAVAILABLE] * 12]),
    ("zero-results", [[NOTHING] * 9]),
    ("zero-results-warning", [[*[FOUND] * 8, *[NOTHING] * 2]]),
    ("dropped-results", [[FOUND, NOTHING, UNAVAILABLE]]),
    ("guardrail-interventions", [[FOUND, NOTHING, UNAVAILABLE]]),
]

SUMMED = [
    *(case for case in FIRING if case[0] != "timeouts"),  # which take their time
    *(case for case in QUIET if case[0] == "error-rate"),
]


@pytest.fixture(autouse=True)
def _patient():
    with patient_function():
        yield


ASKED = {}
"""What was emitted already: several tests look at the same."""


@pytest.fixture
def asked(knowledge_base, aws_environment):
    """Ask one question for each response of the service; give the metric records."""
    aws_environment.setenv("POWERTOOLS_SERVICE_NAME", DEPLOYMENT)

    def ask(responses):
        key = (os.environ["POWERTOOLS_SERVICE_NAME"], *responses)
        if key not in ASKED:
            ASKED[key] = fresh(responses)
        return ASKED[key]

    def fresh(responses):
        if SILENCE in responses:  # which is all that they are, and needs no patience
            aws_environment.setenv("DEADLINE_SECONDS", "0.2")
            knowledge_base(silent)
        else:
            knowledge_base(in_turn(responses))
        service.reset()
        service.service().client.prepare()
        records = [record for _ in responses for record in invoke({"query": "x"}).metrics]
        assert len(records) == len(responses)
        return emitted(records)

    return ask


def in_turn(responses):
    """Answer each request with the next response, whatever connection it comes on."""
    queue = list(responses)

    def script(sock, server):
        while True:
            server.read_request(sock)
            sock.sendall(queue.pop(0))

    return script


def each(cases):
    names = [f"{key}-{number}" for number, (key, _) in enumerate(cases)]
    return pytest.mark.parametrize(("key", "periods"), cases, ids=names)


@each(FIRING)
def test_an_alarm_fires_on_what_the_function_emits(asked, key, periods):
    assert ALARMS[key].fires(*map(asked, periods))


@each(QUIET)
def test_an_alarm_keeps_quiet_on_what_the_function_emits(asked, key, periods):
    assert not ALARMS[key].fires(*map(asked, periods))


def test_each_alarm_on_what_the_function_emits_is_seen_both_ways():
    ours = {
        key
        for key, alarm in ALARMS.items()
        if any(query.series[0] == telemetry.NAMESPACE for query in alarm.queries.values())
        and not key.startswith(("ingestion-", "chunking-", "canary", "advice-"))
    }
    assert {key for key, _ in FIRING} == ours == {key for key, _ in QUIET}


def test_healthy_queries_fire_nothing(asked):
    samples = asked([FOUND] * 12)
    fired = [key for key, alarm in ALARMS.items() if alarm.fires(samples, samples, samples)]
    assert fired == ["canary"]  # which wasn't asked


ONE_AN_HOUR = {
    "access is denied": (DENIED, {"permanent-errors", "outage-slow", "error-rate-day"}),
    "the service is down": (UNAVAILABLE, {"outage-slow", "error-rate-day"}),
    "calls are throttled": (THROTTLED, {"outage-slow", "error-rate-day"}),
    "nothing is found": (NOTHING, {"zero-results-warning"}),
    "results are unproven": (UNPROVEN, {"dropped-results"}),
    "the guardrail stops": (STOPPED, {"guardrail-interventions", "outage-slow", "error-rate-day"}),
    "all is well": (FOUND, set()),
}


@pytest.mark.parametrize(("response", "keys"), ONE_AN_HOUR.values(), ids=ONE_AN_HOUR)
def test_a_fault_is_seen_at_one_query_an_hour(asked, response, keys):
    """For a day, in the periods of each alarm; the canary's alarm apart, whose question is another."""
    fired = set()
    for key, alarm in ALARMS.items():
        queries = max(1, alarm.period // 3600)
        periods = [asked([response] * queries)] + [{}] * (alarm.properties["EvaluationPeriods"] - 1)
        if key != "canary" and alarm.fires(*periods):
            fired.add(key)
    assert fired == keys


class TestTheCanary:
    """Its question is the function's to answer, and its alarm the only one that it can fire."""

    @pytest.fixture
    def canary(self, knowledge_base, aws_environment):
        aws_environment.setenv("POWERTOOLS_SERVICE_NAME", DEPLOYMENT)

        def ask(response):
            knowledge_base(in_turn([response]))
            service.reset()
            service.service().client.prepare()
            ran = invoke({"query": "x", "max_results": 1, "canary": True})
            assert ran.logs[-1]["canary"] is True
            return emitted(ran.metrics)

        return ask

    @pytest.mark.parametrize("response", [NOTHING, UNAVAILABLE, DENIED, STOPPED])
    def test_a_question_without_an_answer_fires_after_three_times(self, canary, response):
        failed, fine = canary(response), canary(FOUND)
        assert ALARMS["canary"].fires(failed, failed, failed)
        assert not ALARMS["canary"].fires(failed, fine, failed)
        assert not ALARMS["canary"].fires(fine, fine, fine)
        assert not [key for key, alarm in ALARMS.items() if key != "canary" and alarm.fires(failed)]

    def test_a_question_that_is_not_asked_fires(self, canary):
        assert ALARMS["canary"].fires({}, {}, {})
        assert not ALARMS["canary"].fires({}, {}, canary(FOUND))

    def test_people_s_questions_say_nothing_of_it(self, asked):
        samples = asked([FOUND] * 12)
        assert ALARMS["canary"].fires(samples, samples, samples)

    def test_it_is_not_counted_among_people_s_queries(self, canary):
        ((_, name, _),) = canary(FOUND)
        assert name == telemetry.CANARY_FAILURES

    @pytest.mark.parametrize("value", ["true", 1, None])
    @pytest.mark.usefixtures("aws_environment")
    def test_another_value_is_refused(self, value):
        assert (
            "canary must be true or false"
            in invoke({"query": "x", "canary": value}).answer["error"]
        )


def test_another_deployment_s_failures_are_not_this_one_s(asked, aws_environment):
    aws_environment.setenv("POWERTOOLS_SERVICE_NAME", "another")
    samples = asked([DENIED] * 12)
    fired = [key for key, alarm in ALARMS.items() if alarm.fires(samples, samples, samples)]
    assert fired == ["canary"]
    other = alarms_of(monitored(name="another"), "another")
    assert other["permanent-errors"].fires(samples)


def test_the_latency_metric_can_t_tell_of_queries_that_were_given_up(asked):
    samples = asked([SILENCE])
    name = series(telemetry.NAMESPACE, telemetry.RETRIEVAL_LATENCY, service=DEPLOYMENT)
    assert name not in samples
    assert all(query.series != name for query in ALARMS["latency-p95"].queries.values())


def test_the_thresholds_are_the_deployment_s(asked):
    strict = alarms_of(
        monitored(error_rate_percent=10, min_samples=5, timeouts=0, latency_p95_ms=900), DEPLOYMENT
    )
    assert not strict["error-rate"].fires(*[asked([*[FOUND] * 9, UNAVAILABLE])] * 3)
    assert strict["error-rate"].fires(*[asked([*[FOUND] * 4, UNAVAILABLE])] * 3)
    assert strict["timeouts"].fires(asked([SILENCE]))
    assert strict["latency-p95"].properties["Threshold"] == 900


class TestWhatLambdaTells:
    """Of what the function can't tell of itself, data points as AWS/Lambda has them."""

    @staticmethod
    def of_function(name, values):
        return {series("AWS/Lambda", name, FunctionName=f"{DEPLOYMENT}-retrieve"): values}

    @pytest.mark.parametrize(
        ("key", "name"), [("function-errors", "Errors"), ("throttles", "Throttles")]
    )
    def test_the_first_crash_and_the_first_call_turned_away_fire(self, key, name):
        assert ALARMS[key].fires(self.of_function(name, [0] * 50 + [1]))
        assert not ALARMS[key].fires(self.of_function(name, [0] * 50))

    def durations(self, calls, slow):
        return self.of_function("Duration", [120.0] * (calls - slow) + [2400.0] * slow) | (
            self.of_function("Invocations", [1] * calls)
        )

    def test_slow_runs_fire_from_enough_of_them_on_and_when_they_last(self):
        alarm = ALARMS["latency-p95"]
        slow, fast = self.durations(20, 2), self.durations(20, 0)
        assert alarm.fires(slow, fast, slow)
        assert not alarm.fires(slow, fast, fast)
        assert not alarm.fires(*[self.durations(9, 9)] * 3)
        assert not alarm.fires(*[self.durations(100, 4)] * 3)

    def test_slow_runs_of_a_day_fire_where_no_short_period_has_enough(self):
        alarm = ALARMS["latency-p95-day"]
        assert alarm.fires(self.durations(24, 2))
        assert not alarm.fires(self.durations(24, 1))
        assert not alarm.fires(self.durations(9, 9))

    @pytest.mark.parametrize(
        ("event", "counts"),
        [
            ({"type": "platform.initReport", "record": {"status": "error"}}, True),
            ({"type": "platform.initReport", "record": {"status": "timeout"}}, True),
            ({"type": "platform.restoreReport", "record": {"status": "failure"}}, True),
            ({"type": "platform.initReport", "record": {"status": "success"}}, False),
            ({"type": "platform.report", "record": {"status": "error"}}, False),
            ({"level": "ERROR", "message": "query degraded", "status": "degraded"}, False),
        ],
    )
    def test_a_failed_start_fires(self, event, counts):
        (metric_filter,) = resources(monitored(), "AWS::Logs::MetricFilter")
        (transformation,) = metric_filter["MetricTransformations"]
        matched = matches(metric_filter["FilterPattern"], event)
        assert matched is counts
        name = series(transformation["MetricNamespace"], transformation["MetricName"])
        samples = {name: [float(transformation["MetricValue"])]} if matched else {}
        assert ALARMS["init-failures"].fires(samples) is counts

    def test_a_failed_start_of_another_deployment_does_not(self):
        (metric_filter,) = resources(monitored(name="another"), "AWS::Logs::MetricFilter")
        (transformation,) = metric_filter["MetricTransformations"]
        name = series(transformation["MetricNamespace"], transformation["MetricName"])
        assert not ALARMS["init-failures"].fires({name: [1]})


class TestWhatTheGatewayTells:
    """Of calls that end in it, data points as AWS/Bedrock-AgentCore has them."""

    @staticmethod
    def of_gateway(arn=GATEWAY, **counts):
        dimensions = {"Operation": "InvokeGateway", "Protocol": "MCP", "Resource": arn}
        return {
            series("AWS/Bedrock-AgentCore", name, **dimensions): values
            for name, values in counts.items()
        }

    @pytest.mark.parametrize("kind", ["SystemErrors", "UserErrors", "Throttles"])
    def test_calls_that_all_fail_fire(self, kind):
        failing = self.of_gateway(Invocations=[1] * 3, **{kind: [1] * 3})
        assert ALARMS["gateway-outage"].fires(failing)
        assert not ALARMS["gateway-outage"].fires(
            self.of_gateway(Invocations=[1] * 4, **{kind: [1] * 3})
        )

    def test_one_question_an_hour_is_enough_to_see_it(self):
        refused = self.of_gateway(Invocations=[1] * 6, UserErrors=[1] * 6)
        assert ALARMS["gateway-outage-slow"].fires(refused)
        assert ALARMS["gateway-outage-slow"].period == 6 * 3600

    def test_the_first_failure_warns(self):
        assert ALARMS["gateway-errors"].fires(self.of_gateway(SystemErrors=[0, 1]))
        assert ALARMS["gateway-throttles"].fires(self.of_gateway(Throttles=[0, 1]))

    def test_healthy_calls_and_another_gateway_s_failures_fire_nothing(self):
        failing = {
            name: [1] * 20 for name in ("Invocations", "SystemErrors", "UserErrors", "Throttles")
        }
        for samples in (
            self.of_gateway(Invocations=[1] * 20),
            self.of_gateway(f"{GATEWAY}x", **failing),
        ):
            fired = [key for key, alarm in ALARMS.items() if alarm.fires(samples)]
            assert [key for key in fired if key.startswith("gateway-")] == []


def test_a_deployment_without_a_gateway_has_no_alarms_on_it():
    bare = alarms_of(monitored(gateway=""), DEPLOYMENT)
    assert (
        ALARMS.keys() - bare.keys()
        == {key for key in ALARMS if key.startswith("gateway-")}
        != set()
    )


def matches(pattern, event):
    """Apply a filter pattern for JSON events: comparisons of fields with texts, ``&&``, ``||``."""
    assert re.fullmatch(r"\{ [\w\s$.=!\"&|()]+ \}", pattern)

    def compared(match):
        value = event
        for key in match[1].split("."):
            value = value.get(key) if isinstance(value, dict) else None
        if value is None:  # a field that is not there matches neither = nor !=
            return "False"
        return str((value == json.loads(match[3])) is (match[2] == "="))

    text = re.sub(r'\$\.([\w.]+) (!?=) ("[^"]*")', compared, pattern[1:-1])
    return eval(text.replace("&&", "and").replace("||", "or").strip())
