"""The alarms on advice, on what the function really emits."""

import pytest

from knowledge_rag.channel.settings import Kind
from tests.support.advice import MINUTE, NAME, alarm, aws_fixture, client_fixture, function_fixture
from tests.support.cloudwatch import alarms_of, emitted, series
from tests.support.monitoring import monitored

__all__ = ["aws_fixture", "client_fixture", "function_fixture"]

ALARMS = {key: it for key, it in alarms_of(monitored(), NAME).items() if key.startswith("advice-")}


def fired(function):
    ours = [it for it in function.records if "KnowledgeAdviceAlerts" in it]
    periods = [emitted([it]) for it in ours[-2:]]
    return {key for key, alarm in ALARMS.items() if alarm.fires(*periods)}


def test_a_destination_that_is_down_for_long_is_told_of(function, makers):
    makers.down = True
    function(alarm("DiskFull"))
    function.tick(4 * MINUTE)
    assert fired(function) == set()
    function.tick(4 * MINUTE)
    assert fired(function) == {"advice-late"}


def test_a_channel_that_is_gone_is_told_of(function, makers):
    makers.plan = ["channel_not_found"]
    function(alarm("DiskFull"))
    assert "advice-given-up" in fired(function)


def test_a_day_of_alarms_that_are_posted_sets_off_nothing(function, makers):
    for number in range(3):
        function(alarm(f"Alert{number}"))
        function.tick(MINUTE)
    assert len(makers.of(Kind.SLACK)) == 3
    assert fired(function) == set()


@pytest.mark.parametrize(
    ("key", "namespace", "metric", "dimension"),
    [
        ("advice-function-errors", "AWS/Lambda", "Errors", {"FunctionName": f"{NAME}-advise-incident"}),
        ("advice-lost-events", "AWS/Events", "FailedInvocations", {"RuleName": f"{NAME}-advise-alarms"}),
        ("advice-dead-letters", "AWS/SQS", "ApproximateNumberOfMessagesVisible",
         {"QueueName": f"{NAME}-alerts-failed.fifo"}),
    ],
)  # fmt: skip
def test_what_aws_counts_is_told_of(key, namespace, metric, dimension):
    name = series(namespace, metric, **dimension)
    assert ALARMS[key].fires({name: [1]})
    assert not ALARMS[key].fires({name: [0]})
