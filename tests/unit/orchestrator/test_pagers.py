"""An incident is read from what pagers send, whatever carried it; the payloads are recorded ones."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.orchestrator.incident import MAX_LINKS, MAX_NAMES, MAX_PROBLEMS, Incident
from knowledge_rag.orchestrator.node import as_mapping
from knowledge_rag.orchestrator.pager_texts import MAX_ITEMS, MAX_NAME, MAX_TEXT
from knowledge_rag.orchestrator.pagers import MAX_PASTED, pasted
from knowledge_rag.orchestrator.queries import build_queries
from tests.support.examples import up_to
from tests.support.local import PROJECT

PAYLOADS = PROJECT / "tests/data/incidents"
BOOKS = "https://git.example/ops/runbooks/"


def recorded(name):
    return json.loads((PAYLOADS / f"{name}.json").read_text())


def incident(name):
    return Incident.from_state(recorded(name))


@pytest.mark.parametrize(
    ("name", "maker", "facts", "link"),
    [
        ("alertmanager-alerts", "Alertmanager", ("KubePodCrashLooping", "Pod is crash looping.", "kube-state-metrics", "warning"), ""),
        ("grafana-legacy", "Grafana", ("CheckoutErrors", "CheckoutErrors", "checkout", ""), f"{BOOKS}checkout.md"),
        ("cloudwatch-sns", "CloudWatch", ("orders-db-cpu", "", "", ""), f"{BOOKS}rds-cpu.md"),
        ("cloudwatch-lambda", "CloudWatch", ("orders-db-cpu", "", "", ""), f"{BOOKS}rds-cpu.md"),
        ("cloudwatch-eventbridge", "CloudWatch", ("ServerCpuTooHigh", "", "", ""), ""),
        ("pagerduty-v3", "PagerDuty", ("CheckoutErrorRate", "CheckoutErrorRate: 12 % of payments fail", "checkout-api", "P1"), f"{BOOKS}checkout.md#payments"),
        ("pagerduty-events-v2", "PagerDuty", ("DiskAlmostFull", "DISK at 99% on machine prod-datapipe03.example.com", "mysql", "critical"), "https://wiki.example/display/OPS/Disk"),
        ("opsgenie-create", "Opsgenie", ("CatalogWriterDown", "CatalogWriterDown: the catalog has no writer for 4 minutes", "catalog-db", "P1"), f"{BOOKS}catalog.md"),
        ("datadog-default", "Datadog", ("OutboxGrows", "OutboxGrows: mails wait", "", ""), f"{BOOKS}outbox.md"),
        ("datadog-custom", "Datadog", ("Replication lag on orders-db", "Replication lag on orders-db", "orders", "P2"), f"{BOOKS}rds-replication-lag.md"),
        ("incident-io-incident", "incident.io", ("CheckoutLatencyHigh", "CheckoutLatencyHigh: payments take 9 s", "checkout", "Minor"), f"{BOOKS}checkout.md"),
        ("incident-io-alert", "incident.io", ("PaymentsCpuHigh", "CPU of payments is high", "payments", "critical"), f"{BOOKS}payments.md"),
        ("zabbix-webhook", "Zabbix", ("Free disk space is less than 5%", "Free disk space is less than 5% on volume /data", "orders", "High"), f"{BOOKS}disk.md"),
        ("new-relic-issue", "New Relic", ("Memory high", "Memory Used % > 90 for at least 2 minutes on 'orders-api'", "orders-api", "CRITICAL"), ""),
        ("new-relic-legacy", "New Relic", ("OrdersApdexLow", "", "orders-api", "CRITICAL"), f"{BOOKS}orders-apdex.md"),
        ("sentry-issue-alert", "Sentry", ("CheckoutErrorsBurst", "ReferenceError: heck is not defined", "checkout", "error"), ""),
        ("sentry-metric-alert", "Sentry", ("Too many errors", "Too many errors", "web-shop", "critical"), ""),
        ("sentry-issue", "Sentry", ("TimeoutError: connection pool exhausted", "TimeoutError: connection pool exhausted", "web-shop", "error"), ""),
        ("google-cloud-incident", "Google Cloud", ("GkeNodeCpuHigh", "GkeNodeCpuHigh on gke-cluster-1", "gke", "Critical"), "https://git.example/ops/gke-cpu.md"),
    ],
)  # fmt: skip
def test_a_makers_payload_says_name_title_service_severity_and_runbook(name, maker, facts, link):
    read = incident(name)
    assert read.read_as == maker
    assert (read.alert_name, read.title, read.service, read.severity) == facts
    assert read.links == ((link,) if link else ())
    assert not read.alerts
    assert not read.problems
    assert read.names[0] == read.alert_name


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("cloudwatch-eventbridge", "Goes into alarm when server CPU utilization is too high!"),
        ("pagerduty-v3", "The payment provider answers 503 since 08:12"),
        ("datadog-default", f"queue depth of outbox is 4,120 Runbook: {BOOKS}outbox.md"),
        ("new-relic-legacy", "Apdex < 0.7 for at least 5 minutes on 'orders-api'"),
        ("sentry-metric-alert", "1000 events in the last 10 minutes Filter: level:error"),
        ("google-cloud-incident", "Cordon the node first. Runbook"),
    ],
)
def test_a_description_is_plain_text_without_what_the_maker_adds(name, description):
    assert incident(name).description == description


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("cloudwatch-sns", ("DBInstanceIdentifier", "orders-db")),
        ("cloudwatch-eventbridge", ("InstanceId", "i-12345678901234567")),
        ("pagerduty-v3", ("region", "eu-west-1")),
        ("opsgenie-create", ("cluster", "catalog-eu")),
        ("opsgenie-create", ("tags", "payments, eu")),
        ("datadog-custom", ("dbname", "orders")),
        ("zabbix-webhook", ("host", "orders-db-2")),
        ("zabbix-export", ("data center", "Riga")),
        ("new-relic-legacy", ("env", "prod")),
        ("sentry-issue-alert", ("environment", "production")),
    ],
)
def test_what_an_alert_is_tagged_with_are_its_labels(name, label):
    assert label in incident(name).labels.items()


@pytest.mark.parametrize(
    ("tags", "env"),
    [
        ('[{"tag": "env", "value": "int"}, {"tag": "site", "value": "elb"}]', "int"),
        ("env:int, site:elb", "int"),
        ('[{"tag": "env", "value"', None),
        ("[" * 100_000, None),
    ],
)
def test_zabbix_may_send_its_tags_as_json(tags, env):
    payload = {**recorded("zabbix-webhook"), "event_tags": tags}
    assert Incident.from_state(payload).labels.get("env") == env


def pagerduty_v2():
    incident = recorded("pagerduty-v3")["event"]["data"]
    details = incident.pop("body")["details"]
    entries = [{"type": "trigger_log_entry", "channel": {"type": "api", "details": details}}]
    return {
        "messages": [{"event": "incident.trigger", "incident": incident, "log_entries": entries}]
    }


def invoked_by_an_alarm():
    event = recorded("cloudwatch-eventbridge")
    detail = event.pop("detail")
    return {**event, "alarmArn": event["resources"][0], "alarmData": detail}


def sentrys_older_plugin():
    event = recorded("sentry-issue-alert")["data"]["event"]
    return {
        "project": "web-shop",
        "culprit": event["culprit"],
        "triggering_rules": ["CheckoutErrorsBurst"],
        "event": event,
    }


@pytest.mark.parametrize(
    ("other", "name"),
    [
        (pagerduty_v2, "pagerduty-v3"),
        (lambda: {"incident": recorded("pagerduty-v3")["event"]["data"]}, "pagerduty-v3"),
        (lambda: {"status": "success", "data": {"alerts": recorded("alertmanager-alerts")}}, "alertmanager-alerts"),
        (invoked_by_an_alarm, "cloudwatch-eventbridge"),
        (lambda: json.loads(recorded("cloudwatch-sns")["Message"]), "cloudwatch-sns"),
        (lambda: {"Records": [{"body": json.dumps(recorded("cloudwatch-sns"))}]}, "cloudwatch-sns"),
        (sentrys_older_plugin, "sentry-issue-alert"),
        (lambda: {"event": {"type": "escalation"}, "alert_group": {}, "alert_payload": recorded("alertmanager-webhook")}, "alertmanager-webhook"),
        (lambda: {"headers": {}, "body": json.dumps(recorded("opsgenie-create"))}, "opsgenie-create"),
        (lambda: [recorded("datadog-custom")], "datadog-custom"),
        (lambda: {"metadata": {key.upper(): it for key, it in recorded("datadog-custom").items()}, "title": "Replication lag on orders-db"}, "datadog-custom"),
    ],
)  # fmt: skip
def test_other_forms_and_envelopes_of_a_payload_read_the_same(other, name):
    read, expected = Incident.from_state(other()), incident(name)
    assert read.read_as == expected.read_as
    assert (read.alert_name, read.title, read.service, read.description, read.links) == (
        expected.alert_name,
        expected.title,
        expected.service,
        expected.description,
        expected.links,
    )


def test_an_event_for_an_http_source_of_incident_io_has_its_labels_in_its_metadata():
    event = {
        "title": "Queue is long",
        "description": "4,120 wait",
        "deduplication_key": "outbox-1",
        "status": "firing",
        "metadata": {"alertname": "OutboxGrows", "service": "mailer"},
    }
    read = Incident.from_state(event)
    assert (read.read_as, read.alert_name, read.service) == ("incident.io", "OutboxGrows", "mailer")


class TestGroups:
    def test_each_firing_name_is_an_incident_of_its_own_in_the_payloads_order(self):
        group = incident("alertmanager-group")
        assert group.read_as == "Alertmanager (2 firing alerts, 1 resolved left out)"
        assert [
            (one.alert_name, one.title, one.service, one.severity, one.links)
            for one in group.alerts
        ] == [
            ("DiskFillsUp", "/data is 91 % full", "orders-db", "warning", (f"{BOOKS}disk.md",)),
            ("QueueStuck", "outbox: nothing was sent for 20 min", "mailer", "critical", (f"{BOOKS}outbox.md",)),
        ]  # fmt: skip
        assert group.alert_name == "DiskFillsUp"
        assert group.labels == {"env": "prod"}
        assert group.problems == ("alerts: the sender left 2 more out of its payload",)
        assert group.links == (f"{BOOKS}disk.md", f"{BOOKS}outbox.md")
        assert not any("db-3" in text for text in group.signals)

    def test_alerts_of_one_name_are_one_with_what_differs_as_signals(self):
        read = incident("alertmanager-webhook")
        assert read.read_as == "Alertmanager (2 firing alerts)"
        assert read.alerts == ()
        assert read.title == "Lag of orders is 1.2 M"
        assert read.description == "Lag grows for 20 minutes"
        assert read.signals == (
            "KafkaConsumerLag: Lag of orders is 1.2 M",
            "KafkaConsumerLag: Lag of returns is 0.8 M",
            "topic: orders, returns",
        )
        assert "topic" not in read.labels

    def test_a_description_of_another_alert_of_that_name_is_not_lost(self):
        webhook = recorded("alertmanager-webhook")
        webhook["alerts"][1]["annotations"]["description"] = "The consumers restart"
        assert "The consumers restart" in Incident.from_state(webhook).signals

    def test_grafana_sends_groups_too(self):
        group = incident("grafana-webhook")
        assert group.read_as == "Grafana (2 firing alerts)"
        assert [one.alert_name for one in group.alerts] == ["High memory usage", "High CPU usage"]
        assert [one.links for one in group.alerts] == [
            ("https://myrunbook.example/runbook/1234",),
            ("https://myrunbook.example/runbook/1235",),
        ]

    def test_alerts_of_alertmanager_in_a_pagers_details_are_read_as_such(self):
        group = incident("pagerduty-alertmanager")
        assert group.read_as == "PagerDuty (2 firing alerts, 1 resolved left out)"
        disk, clock = group.alerts
        assert (disk.alert_name, disk.title) == ("NodeDiskFull", "/var is 97 % full")
        assert disk.links == (f"{BOOKS}node-disk.md",)
        assert (clock.alert_name, clock.severity) == ("NodeClockSkew", "warning")
        assert (clock.service, clock.incident_id) == ("platform", "Q0J9KX3")

    def test_the_same_alerts_are_read_from_a_list_and_from_opsgenies_description(self):
        text = recorded("pagerduty-alertmanager")["event"]["data"]["body"]["details"]["firing"]
        opsgenie = recorded("opsgenie-create")
        opsgenie["alert"] |= {"description": text, "details": {}}
        names = [one.alert_name for one in Incident.from_state(opsgenie).alerts]
        assert names == ["NodeDiskFull", "NodeClockSkew"]
        listed = recorded("pagerduty-alertmanager")
        listed["event"]["data"]["body"]["details"] = {"firing": recorded("alertmanager-alerts")}
        assert Incident.from_state(listed).alert_name == "KubePodCrashLooping"

    def test_an_issue_of_several_conditions_is_a_group(self):
        issue = recorded("new-relic-issue") | {"alertConditionNames": ["Memory high", "CPU high"]}
        names = [one.alert_name for one in Incident.from_state(issue).alerts]
        assert names == ["Memory high", "CPU high"]

    def test_several_records_of_one_event_are_a_group(self):
        event = recorded("cloudwatch-lambda")
        other = event["Records"][0]["Sns"]["Message"].replace("orders-db-cpu", "orders-db-lag")
        event["Records"].append({"Sns": {"Type": "Notification", "Message": other}})
        read = Incident.from_state(event)
        assert [one.alert_name for one in read.alerts] == ["orders-db-cpu", "orders-db-lag"]
        assert read.read_as == "CloudWatch (2 firing alerts)"
        assert read.signals[1].startswith("orders-db-lag: CPU of orders-db above 90 %.")

    def test_at_most_so_many_firing_alerts_are_read_and_the_rest_is_counted(self):
        alerts = [
            {"status": status, "labels": {"alertname": f"Alert{number}"}}
            for number in range(70)
            for status in ("resolved", "firing")
        ]
        read = Incident.from_state({"alerts": alerts})
        assert len(read.alerts) == len(read.signals) == MAX_ITEMS
        assert read.read_as == "Alertmanager (70 firing alerts, 70 resolved left out)"
        assert read.problems == ("alerts: 70 firing, the first 50 are read",)

    def test_what_somebody_wrote_beside_the_alerts_counts(self):
        webhook = {"alerts": recorded("alertmanager-alerts"), "service": "shop"}
        assert Incident.from_state(webhook).service == "shop"


class TestResolved:
    @pytest.mark.parametrize(
        ("name", "change"),
        [
            ("cloudwatch-eventbridge", lambda it: it["detail"]["state"].update(value="OK")),
            ("pagerduty-v3", lambda it: it["event"]["data"].update(status="resolved")),
            ("pagerduty-events-v2", lambda it: it.update(event_action="resolve")),
            ("opsgenie-create", lambda it: it.update(action="Close")),
            ("datadog-custom", lambda it: it.update(alert_transition="Recovered")),
            ("incident-io-alert", lambda it: it["public_alert.alert_created_v1"].update(status="resolved")),
            ("zabbix-webhook", lambda it: it.update(event_value="0")),
            ("new-relic-issue", lambda it: it.update(state="CLOSED")),
            ("new-relic-legacy", lambda it: it.update(current_state="closed")),
            ("sentry-metric-alert", lambda it: it.update(action="resolved")),
            ("alertmanager-alerts", lambda it: it[0].update(status="resolved")),
            ("grafana-legacy", lambda it: it.update(state="ok")),
        ],
    )  # fmt: skip
    def test_an_alert_that_is_over_is_still_read_and_said_to_be_over(self, name, change):
        payload = recorded(name)
        before = Incident.from_state(payload)
        change(payload)
        after = Incident.from_state(payload)
        assert after.alert_name == before.alert_name
        assert after.read_as == f"{before.read_as} (resolved)"
        assert (before.is_over, after.is_over) == (False, True)

    def test_if_all_are_over_all_are_read(self):
        webhook = recorded("alertmanager-group")
        for alert in webhook["alerts"]:
            alert["status"] = "resolved"
        read = Incident.from_state(webhook)
        assert read.read_as == "Alertmanager (all 3 alerts are resolved)"
        assert (read.is_over, incident("alertmanager-group").is_over) == (True, False)
        assert Incident.from_state({"incident": webhook}).is_over
        assert [one.alert_name for one in read.alerts] == [
            "DiskFillsUp",
            "QueueStuck",
            "ReplicaLag",
        ]


class TestUnrecognised:
    def test_a_payload_of_nobody_known_is_searched_and_says_what_was_read(self):
        read = incident("unknown-azure")
        assert (read.alert_name, read.severity) == ("orders-vm-cpu", "Sev3")
        assert read.description == "CPU of the order machines above 90 %"
        assert read.read_as == (
            "unrecognised payload: read 'data.essentials.alertRule', 'data.essentials.description', "
            "'data.essentials.severity'"
        )

    @pytest.mark.parametrize(
        ("payload", "title", "description", "read_as"),
        [
            ({"subject": "Disk full", "body": "/data"}, "Disk full", "/data", "'subject', 'body'"),
            ({"Subject": "a1", "count": 3}, "a1", "", "'Subject'"),
            ({"title": "a1", "message": "<p>x &amp; y</p>"}, "a1", "x & y", "'message'"),
            ({"x": [{"headline": "deep1"}]}, "deep1", "", "'x.headline'"),
            ({"Type": "Notification", "Subject": "Disk", "Message": "is full"}, "Disk", "is full", "'Subject', 'Message'"),
            ({"body": '{"subject": "inner"}'}, "inner", "", "'body.subject'"),
            ({"source": "aws.backup", "detail-type": "Backup Job State Change", "detail": {"state": "EXPIRED", "statusMessage": "It expired."}}, "Backup Job State Change", "It expired.", "'detail-type', 'detail.statusMessage'"),
            ([{"subject": "first"}, {"subject": "second"}], "first", "", "'subject'"),
        ],
    )  # fmt: skip
    def test_titles_and_texts_are_found_under_the_usual_names(
        self, payload, title, description, read_as
    ):
        read = Incident.from_state(payload)
        assert (read.title, read.description) == (title, description)
        assert read.read_as == f"unrecognised payload: read {read_as}"
        assert not read.problems

    def test_a_check_is_a_name_and_short_values_are_labels(self):
        payload = {"check": "PackagerMemory", "host": "pkg-a", "output": "memory 96 %"}
        read = Incident.from_state(payload)
        assert (read.alert_name, read.description) == ("PackagerMemory", "memory 96 %")
        assert read.labels == {"host": "pkg-a"}
        assert Incident.from_state({"alert": {"name": "Hot"}, "message": "m"}).alert_name == "Hot"

    @pytest.mark.parametrize(
        "payload",
        [{}, None, 7, [], [1], "text", {"foo": "bar"}, {"user": {"name": "Ann"}}, {"title": "Own"},
         {"alert_name": "Own", "description": "text", "service": "s", "severity": "s"}],
    )  # fmt: skip
    def test_an_incident_in_our_own_words_and_what_says_nothing_is_no_such_payload(self, payload):
        assert Incident.from_state(payload).read_as == ""

    def test_a_runbook_is_found_wherever_it_stands(self):
        payload = {
            "subject": "x1",
            "meta": {"links": [{"title": "Runbook", "url": "https://a.example/b"}]},
        }
        assert Incident.from_state(payload).links == ("https://a.example/b",)
        payload = {"subject": "x1", "meta": {"Runbook-URL": ["https://a.example/c"]}}
        assert Incident.from_state(payload).links == ("https://a.example/c",)
        payload = {"subject": "x1", "body": "Runbook: [here](docs/mail.md#full)"}
        assert Incident.from_state(payload).links == ("docs/mail.md#full",)


class TestStates:
    def test_a_graphs_incident_may_be_a_payload_and_the_rest_of_the_state_counts(self):
        state = {
            "incident": recorded("pagerduty-v3"),
            "signals": ("customers call",),
            "history": [{"incident_id": "INC-1", "resolution": "Failover"}],
        }
        read = Incident.from_state(as_mapping(state))
        assert (read.read_as, read.alert_name) == ("PagerDuty", "CheckoutErrorRate")
        assert read.signals == ("customers call",)
        assert read.history == ("Failover",)

    @pytest.mark.parametrize(
        "told", [json.dumps, lambda it: f"Got this:\n{json.dumps(it, indent=1)}\n"]
    )
    def test_it_may_be_a_payload_in_a_text(self, told):
        text = told(recorded("opsgenie-create"))
        for state in ({"incident": text}, text):
            assert Incident.from_state(state).alert_name == "CatalogWriterDown"
        own = {"incident": told({"title": "Own words"})}
        assert Incident.from_state(own).title == "Own words"

    def test_a_text_with_braces_is_a_text(self):
        text = 'The pod logs {"a": 1} again'
        read = Incident.from_state({"incident": text})
        assert (read.description, read.read_as) == (text, "")

    @pytest.mark.parametrize(
        "state",
        [
            {"incident": {"id": "INC-7", "title": "Checkout down", "service": "shop"}},
            {"signals": ["WriteLatency 900 ms"], "alerts": [{"labels": {"alertname": "Ignored"}}]},
            {"incident": "a sentence"},
            {"labels": {"alertname": "A"}, "annotations": {"summary": "s"}},
        ],
    )
    def test_a_state_is_read_as_before(self, state):
        read = Incident.from_state(state)
        assert read.read_as == ""
        assert "Ignored" not in read.names

    def test_a_flat_alarm_may_say_the_service_too(self):
        flat = {"AlarmName": "a-b-c", "AlarmDescription": "d", "service": "rds"}
        assert Incident.from_state(flat).service == "rds"


class TestNames:
    def test_the_likeliest_comes_first(self):
        read = Incident.from_state(recorded("opsgenie-create"))
        assert read.names == ("CatalogWriterDown", "catalog-writer-down")
        read = Incident(
            title="Is DiskFull or api_5xx_high?", description="See KubeJobFailed on TVs"
        )
        assert read.names == ("DiskFull", "api_5xx_high", "KubeJobFailed")

    def test_a_groups_names_are_those_of_its_alerts(self):
        assert incident("alertmanager-group").names[:2] == ("DiskFillsUp", "QueueStuck")


class TestPasted:
    @pytest.mark.parametrize(
        "text",
        [
            '{"a": 1}',
            ' \n[{"a": 1}]\n',
            '```json\n{"a": 1}\n```',
            'What now? [FIRING:1]\n{"a": 1}',
            '~~~\n{"a": 1}\n~~~\nPlease help {me}',
        ],
    )
    def test_json_is_found_in_a_fence_and_behind_words(self, text):
        assert pasted(text) in ({"a": 1}, [{"a": 1}])

    @pytest.mark.parametrize(
        "text",
        [
            "", "how?", "{}", "[]", "[1, 2]", "7", '"text"', "{a: 1}", "[FIRING:1] x", '{"a": 1',
            "[" * 100_000, '{"a":' * 100_000, '{"a": 1}' + " " * MAX_PASTED,
        ],
    )  # fmt: skip
    def test_words_bombs_and_what_is_too_large_are_none(self, text):
        assert pasted(text) is None

    def test_numbers_of_any_length_and_repeated_keys_are_no_obstacle(self):
        text = f'{{"subject": "a1", "n": {"9" * 10_000}, "x": 1e999, "subject": "b2"}}'
        assert Incident.from_state(pasted(text)).title == "b2"

    def test_an_incident_comes_of_it_only_if_it_says_something(self):
        assert Incident.pasted_in(json.dumps(recorded("zabbix-webhook"))).read_as == "Zabbix"
        assert Incident.pasted_in('why does {"a": 1} fail in jq?') is None
        assert Incident.pasted_in("how do we fail over?") is None


def test_every_recorded_payload_can_be_asked_about():
    files = sorted(PAYLOADS.glob("*.json"))
    assert len(files) > 20
    for file in files:
        assert build_queries(Incident.from_state(json.loads(file.read_text()))), file.name


RECORDED = [
    json.loads(file.read_text())
    for file in sorted((PROJECT / "tests/data/incidents").glob("*.json"))
]


def keys_of(payload):
    if isinstance(payload, dict):
        yield from payload
        for member in payload.values():
            yield from keys_of(member)
    elif isinstance(payload, list):
        for member in payload:
            yield from keys_of(member)


KEYS = sorted({key for payload in RECORDED for key in keys_of(payload)} | {"incident", "signals", "history", "Records", "Sns", "messages", "x"})  # fmt: skip
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
    | st.sampled_from(["firing", "resolved", "OK", "a\nb", "<p>a", "[FIRING:1]", '{"title": "x"}', "[[{", "CamelCaseName: x", "aws.cloudwatch", "\ud800"])
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6)
    ),
    max_leaves=25,
)


def check(incident, *, is_member=False):
    for name in (
        "incident_id",
        "alert_name",
        "service",
        "severity",
        "title",
        "description",
        "read_as",
    ):
        text = getattr(incident, name)
        assert len(text) <= (MAX_TEXT if name in ("title", "description", "read_as") else MAX_NAME)
        assert "\n" not in text
        text.encode()
    for texts in (incident.signals, incident.evidence, incident.history):
        assert len(texts) <= MAX_ITEMS
        assert all(len(text) <= MAX_TEXT and "\n" not in text for text in texts)
    assert len(incident.labels) <= MAX_ITEMS
    assert len(incident.links) <= MAX_LINKS
    assert len(incident.names) <= MAX_NAMES
    assert len(incident.problems) <= MAX_PROBLEMS
    assert len(incident.alerts) <= MAX_ITEMS
    assert not (is_member and incident.alerts)
    assert len(incident.alerts) != 1
    for alert in incident.alerts:
        check(alert, is_member=True)
    build_queries(incident)


@given(VALUES)
@up_to(examples=400)
def test_any_json_is_read_into_bounded_lines(payload):
    check(Incident.from_state(payload))


@st.composite
def mutated(draw):
    """A recorded payload, some of whose members are something else."""
    payload = json.loads(json.dumps(draw(st.sampled_from(RECORDED))))
    for _ in range(draw(st.integers(1, 4))):
        place = payload
        while isinstance(place, (dict, list)) and place:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            key = draw(st.sampled_from(keys))
            if not isinstance(place[key], (dict, list)) or draw(st.integers(0, 3)) == 0:
                place[key] = draw(VALUES)
                break
            place = place[key]
    return payload


@given(mutated())
@up_to(examples=400)
def test_a_payload_with_anything_in_it_is_read_into_bounded_lines(payload):
    check(Incident.from_state(payload))
    check(Incident.from_state({"incident": payload, "signals": "s"}))


@pytest.mark.parametrize("payload", RECORDED)
def test_texts_lists_and_objects_of_any_size_are_cut(payload):
    def grown(value):
        if isinstance(value, dict):
            return {key: grown(member) for key, member in value.items()} | {
                f"k{n}": n for n in range(500)
            }
        if isinstance(value, list):
            return [grown(member) for member in value] * 200
        return f"{value} \n<a [x]( Labels:\n - a = b\n" * 2_000 if isinstance(value, str) else value

    large = grown(payload)
    started = time.thread_time()
    check(Incident.from_state(large))
    assert time.thread_time() - started < 20


def test_a_payload_nested_as_deeply_as_json_may_be_is_read():
    for text in ('{"data":' * 900 + '{"subject": "a1"}' + "}" * 900, "[" * 900 + "{}" + "]" * 900):
        check(Incident.from_state(json.loads(text)))
    nested = {"subject": "innermost"}
    for _ in range(12):
        nested = {"incident": json.dumps(nested)}
    check(Incident.from_state(nested))
    assert pasted(json.dumps(nested)) == nested


def test_keys_and_values_that_no_json_has_are_passed_over():
    payload = {
        10**5_000: 1,
        None: {},
        b"x": object(),
        ("a",): [object()],
        "message": "m1",
        "labels": {10**5_000: "x"},
    }
    incident = Incident.from_state(payload)
    assert incident.description == "m1"
