"""An incident comes out of whatever an alerting system sent it in."""

import json

import pytest

from knowledge_rag.cli.asking import incident_of
from knowledge_rag.cli.incident_files import unwrapped
from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.orchestrator.incident import Incident

ALARM = {
    "AlarmName": "orders-oldest-message",
    "AlarmDescription": "Oldest message above 15 minutes",
    "NewStateReason": "Threshold Crossed",
}
NOTIFICATION = {"Type": "Notification", "Subject": "ALARM", "Message": json.dumps(ALARM)}
EVENT = {
    "source": "aws.cloudwatch",
    "detail-type": "CloudWatch Alarm State Change",
    "detail": {
        "alarmName": "orders-oldest-message",
        "state": {"value": "ALARM", "reason": "Threshold Crossed"},
        "configuration": {"description": "Oldest message above 15 minutes", "metrics": []},
    },
}


def alert(summary: str, status: str = "firing") -> dict[str, object]:
    return {
        "status": status,
        "labels": {"alertname": "KafkaConsumerLag", "service": "search-indexer"},
        "annotations": {"summary": summary},
    }


WEBHOOK = {
    "version": "4",
    "status": "firing",
    "commonLabels": {"alertname": "KafkaConsumerLag", "service": "search-indexer"},
    "commonAnnotations": {"description": "Lag grows for 20 minutes"},
    "alerts": [alert("lag is 1.2M"), alert("lag was 2M", "resolved")],
}


@pytest.mark.parametrize(
    "told",
    [
        ALARM,
        NOTIFICATION,
        {"Records": [{"EventSource": "aws:sns", "Sns": {"Type": "Notification", **NOTIFICATION}}]},
        EVENT,
    ],
    ids=["bare", "SNS", "function", "EventBridge"],
)
def test_an_alarm_of_cloudwatch_reads_the_same_whatever_carried_it(told):
    incident = Incident.from_state(unwrapped(told))
    assert incident.alert_name == "orders-oldest-message"
    assert incident.description == "Oldest message above 15 minutes"
    assert not incident.problems


def test_a_webhook_of_alertmanager_gives_the_alerts_that_fire_and_what_they_share():
    incident = Incident.from_state(unwrapped(WEBHOOK))
    assert (incident.alert_name, incident.service) == ("KafkaConsumerLag", "search-indexer")
    assert incident.description == "Lag grows for 20 minutes"
    assert incident.signals == ("KafkaConsumerLag: lag is 1.2M",)
    assert not incident.problems


def test_alerts_that_are_all_over_still_tell_of_the_incident():
    over = Incident.from_state(unwrapped([alert("lag was 2M", "resolved")]))
    assert over.signals == ("KafkaConsumerLag: lag was 2M",)


def test_a_notification_in_words_is_title_and_description():
    told = {"Type": "Notification", "Subject": "Disk full", "Message": "/data is at 100 %"}
    incident = Incident.from_state(unwrapped(told))
    assert (incident.title, incident.description) == ("Disk full", "/data is at 100 %")


@pytest.mark.parametrize(
    "told",
    [
        {"signals": ["WriteLatency 900 ms"], "alerts": ["ignored"]},
        {"incident": "a sentence"},
        {"alerts": "none"},
        {"Records": []},
        {"Type": "Notification", "Message": 7},
        {"source": "aws.cloudwatch", "detail": None},
        [1, 2],
        [],
        "text",
        None,
    ],
)
def test_what_is_no_envelope_stays_as_it_is(told):
    assert unwrapped(told) == told


@pytest.mark.parametrize(
    "told",
    [
        {"alerts": [7, None, {"status": "resolved", "labels": 3}], "commonLabels": "x"},
        {"Type": "Notification", "Message": "[[]]"},
        {"Records": [{"Sns": 5}]},
        {"source": "aws.cloudwatch", "detail": {"alarmName": [1], "configuration": 2}},
    ],
)
def test_an_envelope_with_anything_in_it_can_be_read(told):
    assert Incident.from_state(unwrapped(told)).title == ""


def test_a_file_that_tells_nothing_is_refused_with_what_would_be_understood(tmp_path):
    path = tmp_path / "incident.json"
    path.write_text('{"foo": "bar"}')
    with pytest.raises(InvalidRequest, match="nothing that could be asked about; understood are"):
        incident_of(None, path)
