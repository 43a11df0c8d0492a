"""Webhooks are checked, kept and acknowledged before anything is looked up; bad ones change nothing."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json

import pytest
from starlette.testclient import TestClient

from knowledge_rag.channel.events import MAX_ALERTS, MAX_SHARED, events_of
from knowledge_rag.channel.queue import Queue, handled
from knowledge_rag.channel.server import MAX_BODY, create_hooks
from knowledge_rag.channel.settings import Hook, HookSettings, Maker
from knowledge_rag.core.files import shipped
from knowledge_rag.orchestrator.pager_texts import MAX_NAME
from tests.unit.channel.conftest import fires, pagerduty

NOW = 1_772_439_284
SECRET = "s3cret-of-the-hook"
WHSEC = "whsec_" + base64.b64encode(b"0123456789abcdef").decode()
SAMPLES = shipped("tests/data/incidents")


def hexed(text):
    return hmac.new(SECRET.encode(), text, hashlib.sha256).hexdigest()


def signed(maker, body, now=NOW):
    """Return the headers that a maker sends."""
    if maker is Maker.PAGERDUTY:
        return {"X-PagerDuty-Signature": f"v1={'0' * 64},v1={hexed(body)}"}
    if maker is Maker.GRAFANA:
        moment = str(now)
        return {
            "X-Grafana-Alerting-Signature": hexed(moment.encode() + b":" + body),
            "X-Grafana-Alerting-Timestamp": moment,
        }
    if maker is Maker.INCIDENT_IO:
        text = f"msg_1.{now}.".encode() + body
        found = hmac.new(b"0123456789abcdef", text, hashlib.sha256).digest()
        return {
            "webhook-id": "msg_1",
            "webhook-timestamp": str(now),
            "webhook-signature": "v1," + base64.b64encode(found).decode(),
        }
    return {"Authorization": f"Bearer {SECRET}"}


def taken(queue):
    """Yield the events that wait, each of which is then handled."""
    while (it := queue.next_event()) is not None:
        yield it.event
        with queue.change() as changed:
            handled(changed, it)


def sample(name):
    return json.loads((SAMPLES / name).read_text(encoding="utf-8"))


PAYLOADS = {
    Maker.ALERTMANAGER: ("alertmanager-webhook.json", None),
    Maker.GRAFANA: ("grafana-webhook.json", 2),
    Maker.PAGERDUTY: ("pagerduty-v3.json", 1),
    Maker.OPSGENIE: ("opsgenie-create.json", 1),
    Maker.DATADOG: ("datadog-default.json", 1),
    Maker.INCIDENT_IO: ("incident-io-incident.json", 1),
    Maker.CLOUDWATCH: ("cloudwatch-eventbridge.json", 1),
    Maker.OTHER: ("zabbix-webhook.json", 1),
}


@pytest.fixture
def kept(tmp_path):
    queue = Queue(tmp_path / "queue.sqlite")
    queue._connection.execute("PRAGMA synchronous = OFF")  # no test loses power
    yield queue
    queue.close()


@pytest.fixture
def post(kept):
    hooks = {
        it.name.lower(): Hook(it.name.lower(), it, WHSEC if it is Maker.INCIDENT_IO else SECRET, ())
        for it in Maker
    }
    app = create_hooks(HookSettings(hooks, {}), kept, lambda: float(NOW), lambda: None)
    client = TestClient(app)

    def send(maker, payload, headers=None):
        body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        own = signed(maker, body) if headers is None else headers
        return client.post(f"/hooks/{maker.name.lower()}", content=body, headers=own)

    return send


@pytest.mark.parametrize("maker", Maker)
def test_a_delivery_is_kept_once_however_often_it_comes(post, kept, maker):
    name, number = PAYLOADS[maker]
    payload = sample(name)
    number = number or len(payload["alerts"])
    first, again = post(maker, payload), post(maker, payload)
    assert (first.status_code, first.json()) == (202, {"events": number, "new": number})
    assert (again.status_code, again.json()) == (202, {"events": number, "new": 0})
    assert kept.waiting() == number
    assert kept.next_event().event.name


@pytest.mark.parametrize("maker", Maker)
def test_a_wrong_signature_changes_nothing(post, kept, maker):
    payload = sample(PAYLOADS[maker][0])
    body = json.dumps(payload).encode()
    for headers in (
        {},
        signed(maker, body + b" ")
        if "Authorization" not in signed(maker, body)
        else {"Authorization": "Bearer x"},
        dict.fromkeys(signed(maker, body), ""),
        dict.fromkeys(signed(maker, body), "v1="),
        {"Authorization": "Basic eA=="},
    ):
        assert post(maker, body, headers).status_code == 401
    assert not kept.waiting()


@pytest.mark.parametrize("maker", [Maker.GRAFANA, Maker.INCIDENT_IO])
@pytest.mark.parametrize("shift", [-301, 301])
def test_an_old_signature_is_refused(post, kept, maker, shift):
    body = json.dumps(sample(PAYLOADS[maker][0])).encode()
    response = post(maker, body, signed(maker, body, NOW + shift))
    assert response.status_code == 401
    assert "too far from ours" in response.text
    assert not kept.waiting()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"NaN",
        b'{"a": Infinity}',
        b'"\\ud800"',
        b"[" * 100_000,
        b"\xff",
        b"1" * 5000,
        b"[1, -1e999]",
        b"[" * 101 + b"]" * 101,
    ],
)
def test_what_is_no_json_is_refused(post, kept, caplog, body):
    assert post(Maker.OTHER, body).status_code == 400
    assert "hook=other | refused: the body is not valid JSON" in caplog.text
    assert not kept.waiting()


@pytest.mark.parametrize(
    "payload",
    [
        {"title": "QueueBacksUp", "message": '{"alerts": [{"status": "resolved", "labels": {"alertname": "x"}}]}'},
        {"subject": "QueueBacksUp", "event": '{"alert_name": "RestoreBackup"}'},
    ],
    ids=["over", "another"],
)  # fmt: skip
def test_json_in_the_words_of_an_alert_is_no_alert_of_its_own(payload):
    (event,) = events_of(Maker.OTHER, payload)
    assert (event.name, event.over) == ("QueueBacksUp", False)


@pytest.mark.parametrize("maker", Maker)
def test_json_of_another_form_is_acknowledged_and_asks_nothing(post, maker):
    for payload in ([], {}, None, 1, "x", [1], {"alerts": 5}, {"event": []}, {"alert": {"alertId": {}}}):  # fmt: skip
        response = post(maker, payload)
        assert response.status_code == 202
        assert response.json()["events"] <= 1


@pytest.mark.parametrize("maker", [it for it in Maker if it is not Maker.OTHER])
def test_a_payload_of_another_maker_is_acknowledged_with_a_warning(post, caplog, maker):
    name = "zabbix-webhook.json" if maker is not Maker.DATADOG else None
    response = post(maker, sample(name) if name else {})
    assert (response.status_code, response.json()["new"]) == (202, 0)
    (warning,) = (it.getMessage() for it in caplog.records if it.levelname == "WARNING")
    assert warning == (
        f"hook={maker.name.lower()} | from={maker} | the payload contains no alert of this kind: "
        "check the hook's `from`"
    )


@pytest.mark.parametrize(
    ("maker", "payload"),
    [
        (Maker.PAGERDUTY, pagerduty(1, kind="incident.acknowledged")),
        (Maker.PAGERDUTY, pagerduty(1, kind="incident.annotated")),  # as our own notes come back
        (Maker.PAGERDUTY, {"event": {"event_type": "pagey.ping", "data": {"message": "Hello"}}}),
        (Maker.OTHER, {"event": {"event_type": "pagey.ping", "data": {"message": "Hello"}}}),
        (Maker.OTHER, pagerduty(1, kind="incident.annotated")),
        (Maker.OPSGENIE, {"action": "AddNote", "alert": {"alertId": "a", "message": "DiskFull"}}),
        (Maker.ALERTMANAGER, {"version": "4", "alerts": []}),
        (Maker.CLOUDWATCH, {"detail": {"alarmName": "TargetTracking-table/x"}}),
        (
            Maker.INCIDENT_IO,
            {"event_type": "public_incident.incident_updated_v2", "public_incident.incident_updated_v2": {"id": "1"}},
        ),
    ],
)  # fmt: skip
def test_a_delivery_without_effect_by_design_warns_nobody(post, kept, caplog, maker, payload):
    with caplog.at_level("INFO", "knowledge_rag.channel"):
        assert post(maker, payload).json() == {"events": 0, "new": 0}
    assert not [it for it in caplog.records if it.levelname != "INFO"]
    assert "no alert: " in caplog.text
    assert not kept.waiting()


@pytest.mark.parametrize("maker", [Maker.OTHER, Maker.CLOUDWATCH])
@pytest.mark.parametrize("kind", ["SubscriptionConfirmation", "UnsubscribeConfirmation"])
def test_a_subscription_of_sns_is_no_alert_and_names_what_to_open(post, kept, caplog, maker, kind):
    url = "https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&Token=2336"
    payload = {
        "Type": kind,
        "TopicArn": "arn:aws:sns:eu-west-1:1:t",
        "Message": "You have chosen to subscribe.",
        "SubscribeURL": url + "\nERROR forged",
    }
    assert post(maker, payload).json() == {"events": 0, "new": 0}
    (warning,) = (it.getMessage() for it in caplog.records)
    assert kind in warning
    assert f"open its SubscribeURL {url} ERROR forged" in warning
    assert not kept.waiting()


def test_a_state_of_an_unknown_maker_ends_the_alert_that_it_is_of(post, kept):
    fired = {"alert": "DiskFull", "summary": "/data is full", "status": "firing"}
    for status in ("firing", "resolved", "RESOLVED", "success"):
        post(Maker.OTHER, {**fired, "status": status})
    events = list(taken(kept))
    assert [it.over for it in events] == [False, True, True, False]
    assert len({it.alert for it in events}) == 1
    assert not events_of(Maker.OTHER, {"alert": "X", "state": "open"})[0].over


def test_an_alarm_that_sns_delivers_is_read_by_both_of_its_hooks():
    alarm = {
        "AlarmName": "DiskFull", "AWSAccountId": "1", "Region": "EU (Ireland)",
        "NewStateReason": "Threshold crossed", "StateChangeTime": "2026-03-02T08:14:00Z",
    }  # fmt: skip
    for maker in (Maker.CLOUDWATCH, Maker.OTHER):
        for state, over in (("ALARM", False), ("OK", True)):
            text = json.dumps({**alarm, "NewStateValue": state})
            (event,) = events_of(maker, {"Type": "Notification", "Message": text})
            assert (event.name, event.over) == ("DiskFull", over)


def test_five_megabytes_are_refused_before_they_are_read(post, kept):
    response = post(Maker.OTHER, b'{"x": "' + b"x" * 5_000_000 + b'"}')
    assert response.status_code == 413
    assert str(MAX_BODY) in response.text
    assert not kept.waiting()


def test_an_unknown_hook_is_none(kept):
    client = TestClient(create_hooks(HookSettings({}, {}), kept, float, lambda: None))
    assert client.post("/hooks/x", json={}).status_code == 404
    assert client.get("/health").json() == {"waiting": 0}


def test_a_queue_that_cannot_be_written_is_told_to_send_again(post, kept):
    kept.close()
    response = post(Maker.ALERTMANAGER, fires("DiskFull"))
    assert response.status_code == 503
    assert "ProgrammingError" not in response.text


def test_what_a_delivery_says_of_all_its_alerts_is_not_kept_with_each(post, kept):
    shared = {"description": "x" * 700_000, "summary": "/data is full"}
    names = [f"A{number}" for number in range(100)]
    alerts = [it for name in names for it in fires(name)["alerts"]]
    delivery = {**fires(""), "message": "y" * 20_000, "commonAnnotations": shared, "alerts": alerts}
    assert post(Maker.ALERTMANAGER, delivery).json()["new"] == 100
    assert len(kept.content()) < 100 * MAX_SHARED
    found = events_of(Maker.ALERTMANAGER, delivery)
    assert [it.name for it in found] == names
    assert found[0].payload["commonAnnotations"] == {"summary": "/data is full"}


@pytest.mark.parametrize("beyond", [0, 1])
def test_alerts_beyond_the_limit_of_a_delivery_are_logged(caplog, beyond):
    alerts = fires("DiskFull")["alerts"] * (MAX_ALERTS + beyond)
    assert len(events_of(Maker.ALERTMANAGER, {"alerts": alerts})) == MAX_ALERTS
    assert ("more than 1000 alerts" in caplog.text) == bool(beyond)


@pytest.mark.parametrize("before", range(150, 186, 7))
def test_no_part_of_a_secret_is_in_a_name_that_is_cut(before):
    secret = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    for maker, payload in (
        (Maker.ALERTMANAGER, fires(f"{'x' * before} {secret} failed")),
        (Maker.OTHER, {"title": f"{'x' * before} {secret} failed"}),
    ):
        (event,) = events_of(maker, payload)
        assert event.name.startswith("x" * before)
        assert "ghp" not in event.name


def test_names_that_begin_alike_are_of_different_alerts():
    long = "prod-orders-" + "x" * 200
    one, two = (
        events_of(
            Maker.CLOUDWATCH,
            {
                "source": "aws.cloudwatch",
                "detail": {"alarmName": f"{long}-{end}", "state": {"value": "ALARM"}},
            },
        )[0]
        for end in ("DiskFull", "QueueGrows")
    )
    assert len({one.key, two.key}) == len({one.alert, two.alert}) == len({one.name, two.name}) == 2
    assert max(len(one.name), len(two.name)) <= MAX_NAME


def test_a_group_in_one_incident_is_named_by_all_of_its_alerts():
    (event,) = events_of(Maker.PAGERDUTY, sample("pagerduty-alertmanager.json"))
    assert event.name == "2 alerts: NodeDiskFull, NodeClockSkew"
    payload = sample("pagerduty-alertmanager.json")
    firing = "".join(f"Labels:\n - alertname = Alert{n}\nAnnotations:\n" for n in range(7))
    payload["event"]["data"]["body"]["details"]["firing"] = firing
    (event,) = events_of(Maker.PAGERDUTY, payload)
    assert event.name == "7 alerts: Alert0, Alert1, Alert2, Alert3, Alert4 and 2 more"


def test_a_group_that_grows_brings_only_what_is_new(post, kept):
    one, two = fires("DiskFull", 1), fires("DiskFull", 2)
    post(Maker.ALERTMANAGER, one)
    both = {**one, "alerts": one["alerts"] + two["alerts"]}
    assert post(Maker.ALERTMANAGER, both).json() == {"events": 2, "new": 1}
    ended = fires("DiskFull", 1, "resolved")
    assert post(Maker.ALERTMANAGER, ended).json()["new"] == 1
    first, second, third = taken(kept)
    assert first.alert == third.alert != second.alert
    assert [it.over for it in (first, second, third)] == [False, False, True]
