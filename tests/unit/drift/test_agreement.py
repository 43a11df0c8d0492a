"""Figures that runbooks state of alerts, against their definitions."""

from __future__ import annotations

import pytest

from knowledge_rag.drift.check import Facts, check_documents, check_facts, facts_of
from knowledge_rag.drift.findings import Check
from tests.support.local import write_files
from tests.unit.drift.conftest import world_of

CODE = {
    "rules.yaml": """
groups:
- name: a
  rules:
  - {alert: QueueTooLong, expr: 'max_over_time(queue_length[10m]) / limit * 100 > 90', for: 15m}
  - {alert: DiskFilling, expr: 'predict_linear(free{quantile="0.95"}[6h], 4 * 24 * 3600) < 0 and used > 0.85', for: 1h}
  - {alert: Old, expr: 'backup_age_hours >= 30', for: 5m}
  - {alert: ApiDown, expr: 'up == 0', for: 5m}
  - {alert: ApiDown, expr: 'up == 0', for: 20m}
  - {alert: LocksPresent, expr: 'old_locks > 0', for: 20m}
  - {alert: Burn, expr: 'sum(requests:burnrate1d) > (3.00 * 0.01)', for: 30m}
""",
    "chart/rules.yaml": """
groups:
- name: b
  rules:
  - {alert: Templated, expr: 'x > {{ .Values.limit }}', for: 5m}
""",
    "cdk.json": """
{"Resources": {
  "A": {"Type": "AWS::CloudWatch::Alarm", "Properties": {"AlarmName": "shop-errors", "Threshold": 5, "EvaluationPeriods": 3,
    "Metrics": [{"MetricStat": {"Period": 300}}]}},
  "B": {"Type": "AWS::CloudWatch::Alarm", "Properties": {"AlarmName": "shop-latency", "Threshold": {"Ref": "X"}, "EvaluationPeriods": 1}}
}}
""",
    "alarms.tf": """
resource "aws_cloudwatch_metric_alarm" "cpu" {
  alarm_name = "orders-cpu"
  threshold = 80
  period = 60
  evaluation_periods = 5
}
resource "aws_cloudwatch_metric_alarm" "memory" {
  alarm_name = "orders-memory"
  threshold = var.limit
  period = 60
}
""",
}  # fmt: skip


@pytest.fixture
def found(tmp_path):
    write_files(tmp_path / "code", CODE)
    world = world_of(tmp_path / "code", Check.AGREEMENT)

    def find(text, path="a.md"):
        findings = check_documents([(path, text)], world)
        kept = check_facts([Facts.of_wire(path, facts_of(path, text, world).to_wire())], world)
        assert kept == findings
        return [(each.line, each.column, each.message) for each in findings]

    return find


def test_a_figure_that_the_definition_lacks_is_found_at_its_place(found):
    text = "## QueueTooLong\n\nThis alert fires when the queue\nis over 80% for 15 minutes.\n"
    has = "QueueTooLong in rules.yaml has 15m, 10m, 90"
    assert found(text) == [(4, 9, f"{has}, not 80%")]
    assert found(text.replace("80%", "90%").replace("15", "30")) == [(4, 17, f"{has}, not 30 minutes")]  # fmt: skip


@pytest.mark.parametrize(
    ("heading", "said"),
    [
        ("QueueTooLong", "The alert fires when it is above 90 % for 15 minutes."),
        ("QueueTooLong", "It is triggered if more than 90% are used over the last 10m."),
        ("Queue too long", "This alert is triggered when under 10 percent are free for a total of 25 minutes."),
        ("DiskFilling", "Fires when the disk will be full in four days, by the last 6 hours, 95% sure, above 85%."),
        ("Old", "The alert means that the backup is older than 30 hours."),
        ("ApiDown", "The alert fires after 5 minutes as a warning, and is raised after 20 minutes as critical."),
        ("LocksPresent", "The alert fires when a lock is kept (currently one hour)."),
        ("Burn", "The alert fires if 3% are used in 1 day."),
        ("Templated", "The alert fires after 7 minutes."),
        ("errors", "The alarm fires after 15 minutes of 5 minutes each."),
        ("latency", "The alarm fires after 7 minutes."),
        ("orders-cpu", "The alarm fires when 80% are used for five minutes."),
        ("orders-memory", "The alarm fires when 70% are used for 9 minutes."),
    ],
)  # fmt: skip
def test_figures_of_the_definition_agree_in_any_unit(found, heading, said):
    assert found(f"# Alerts\n\n## {heading}\n\n### Meaning\n\n{said}\n") == []


@pytest.mark.parametrize(
    ("heading", "said", "wrong"),
    [
        ("DiskFilling", "Fires when the disk will be full in three days.", "three days"),
        ("Old", "The alert means that the backup is older than 31 hours.", "31 hours"),
        ("ApiDown", "It fires if the API is away for 10 minutes.", "10 minutes"),
        ("LocksPresent", "The alert fires when locks stay longer than 10 minutes or 40 minutes.", "10 minutes"),
        ("Burn", "The alert fires if 4% are used.", "4%"),
        ("errors", "The alarm fires after 20 minutes.", "20 minutes"),
        ("orders-cpu", "The alarm fires when 90% are used.", "90%"),
    ],
)  # fmt: skip
def test_other_figures_are_found_for_rules_and_alarms(found, heading, said, wrong):
    messages = [message for _, _, message in found(f"# Alerts\n\n## {heading}\n\n{said}\n")]
    assert [it for it in messages if it.endswith(f", not {wrong}")]


@pytest.mark.parametrize(
    "text",
    [
        "## QueueTooLong\n\nWait 40 minutes. The queue holds 20% more.\n",
        "## QueueTooLong\n\nIf this alert fires, wait 40 minutes. Once the alert fires again after 50 minutes, ask.\n",
        "## QueueTooLong\n\nThis triggers a failover in 40 minutes, which is triggered when a node is away for 50 minutes.\n",
        "## QueueTooLong\n\nThis means that in 40 minutes nothing is left.\n",
        "## Something else\n\nThe alert fires after 40 minutes.\n",
        "## QueueTooLong\n\n[The alert fires](https://x.y/?after=40m) when it is long.\n",
        "## QueueTooLong\n\n```\nThe alert fires after 40 minutes.\n```\n",
    ],
)
def test_other_sentences_sections_and_addresses_are_not_compared(found, text):
    assert found(text) == []


def test_a_sentence_belongs_to_the_alert_that_it_names_else_to_the_file(found):
    other = "## QueueTooLong\n\nUnlike it, the ApiDown alert fires after 15 minutes.\n"
    assert [it[2] for it in found(other)] == ["ApiDown in rules.yaml has 5m, 20m, not 15 minutes"]
    assert len(found("# Overview\n\nThe alert fires after 7 minutes.\n", "runbooks/Old.md")) == 1


def test_the_wait_of_a_quoted_rule_is_compared(found):
    quoted = "## Rules\n\n```yaml\n- alert: QueueTooLong\n  expr: x\n  for: 10m\n- alert: Old\n  for: 5m\n```\n"
    assert found(quoted) == [(6, 8, "QueueTooLong in rules.yaml has for: 15m, not 10m")]
    assert found("## ApiDown\n\n```\nexpr: x\nfor: 20m\n```\n") == []


def test_hostile_definitions_and_runbooks_end_in_time(found, tmp_path):
    rules = "".join(f"  - {{alert: Same, expr: 'x > {n}', for: {n}s}}\n" for n in range(1, 1000))
    nines = "9" * 4000
    write_files(tmp_path / "code", {
        "same.yaml": f"groups:\n- rules:\n{rules}",
        "huge.yaml": f"groups:\n- rules:\n  - {{alert: Huge, expr: 'x > {nines}', for: {nines}m}}\n",
        "deep.tf": 'resource "aws_cloudwatch_metric_alarm" "a" {\n alarm_name="x"\n' + "a {\n" * 2000 + "}" * 2001,
    })  # fmt: skip
    said = "The alert fires after 4,000 minutes or 77% after 4000 minutes. "
    assert found("# Same\n\n" + said * 500) == []
    assert len(found("# Huge\n\n" + said)) == 2
    assert found(f"# Huge\n\nThe alert fires after {nines[:900]} minutes.\n") == []
