"""Alerts of rule files and templates: one small file of each kind, and nonsense."""

from __future__ import annotations

import contextlib
import json
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_rag.core.errors import InvalidRequest, UnreadableDocument
from knowledge_rag.evaluation.coverage_rules import (
    MAX_BYTES,
    NoAlerts,
    prometheus_incident,
    read_rules,
    without_templates,
)
from knowledge_rag.extract.yaml_nodes import read_yaml
from knowledge_rag.orchestrator.incident import Incident
from knowledge_rag.orchestrator.links import links_in
from knowledge_rag.orchestrator.queries import build_queries
from tests.support.local import PROJECT, write_files

RULES = PROJECT / "tests/data/rules/green"
GROUP = "groups:\n- name: g\n  rules:\n"


def alerts_in(name):
    return read_rules([str(RULES / name)]).alerts


def read(tmp_path, text, name="rules.yaml"):
    write_files(tmp_path, {name: text})
    return read_rules([str(tmp_path / name)]).alerts


def test_a_rule_file_of_prometheus():
    lag, kafka, stuck = alerts_in("shop.yaml")
    assert [alert.name for alert in (lag, kafka, stuck)] == [
        "RdsReplicationLag", "KafkaConsumerLag", "EcsDeploymentStuck",
    ]  # fmt: skip
    assert lag.where == "tests/data/rules/green/shop.yaml:9"
    assert (lag.place.column, lag.place.end_column) == (16, 33)
    assert lag.links == (
        "https://github.com/example/shop/blob/main/knowledge-corpus/runbooks/rds-replication-lag.md",
    )
    assert lag.incident.title == "Replica is behind its writer"
    assert (lag.incident.service, lag.incident.severity) == ("rds", "warning")
    assert dict(stuck.incident.labels)["team"] == "shop"
    assert kafka.incident.description.startswith("The lag of on is s. If it reaches the retention")
    assert stuck.links == ()


def test_resources_of_the_operator_alone_in_a_list_and_among_others():
    memory, disk, redis = alerts_in("resources.yaml")
    assert (memory.place.line, disk.place.line) == (13, 19)
    assert (disk.incident.severity, disk.incident.service) == ("warning", "eks")
    assert memory.links == ("runbooks/eks-node-pressure.md",)
    assert redis.name == "ElasticacheRedisMemory"


def test_what_a_mixin_puts_out_as_json():
    (alert,) = alerts_in("mixin.json")
    assert (alert.name, alert.place.line) == ("CertificateExpires", 2)
    assert alert.incident.title == "The certificate of expires within a week \U0001f512"


def test_alarms_of_a_template_with_what_is_literal_in_them():
    hot, throttling, backlog = alerts_in("alarms.template.yaml")
    assert (hot.name, hot.place.line) == ("ddb-throttled-requests", 8)
    assert hot.incident.description.startswith("Requests to the table are throttled though it")
    assert hot.links == ("https://wiki.example.com/runbooks/dynamodb-hot-partition",)
    assert throttling.name == "LambdaThrottlingA1B2C3D4"
    assert throttling.incident.description == "Invocations of the checkout function are refused"
    assert (backlog.name, backlog.links) == (
        "sqs-backlog-or-age",
        ("runbooks/sqs-backlog.md#symptoms",),
    )


def test_a_template_s_tag_and_long_functions_are_read_too(tmp_path):
    template = """{"Resources": {"A": {"Type": "AWS::CloudWatch::Alarm", "Properties": {
 "AlarmName": {"Fn::Join": ["-", ["${not}", {"Ref": "X"}, "a"]]},
 "AlarmDescription": {"Fn::Sub": "is ${!Literal} in ${AWS::Region}"},
 "Tags": [{"Key": "runbook_url", "Value": "a.md"}, {"Key": "x"}]}},
 "Fn::ForEach::Loop": ["N", ["a"], {}], "B": {"Type": {"Ref": "X"}}}}"""
    (alarm,) = read(tmp_path, template, "t.json")
    assert (alarm.name, alarm.links) == ("${not}--a", ("a.md",))
    assert alarm.incident.description == "is ${Literal} in"


def test_an_agent_would_be_told_the_same_by_alertmanager_itself():
    labels = {"severity": "critical", "service": "rds"}
    annotations = {"summary": "The writer is gone", "runbook_url": "https://x/y"}
    alert = {
        "status": "firing", "labels": {"alertname": "WriterGone", **labels}, "annotations": annotations,
    }  # fmt: skip
    webhook = {
        "version": "4", "status": "firing", "alerts": [alert],
        "commonLabels": alert["labels"], "commonAnnotations": annotations,
    }  # fmt: skip
    asked = build_queries(Incident.from_state(webhook))
    assert asked == build_queries(prometheus_incident("WriterGone", labels, annotations))
    assert len(asked) == 3


def test_without_libyaml_the_same_is_read(monkeypatch):
    fast = read_rules([str(RULES)])
    monkeypatch.delattr("yaml.CSafeLoader")
    assert read_rules([str(RULES)]) == fast
    with pytest.raises(InvalidRequest, match="more than 100 levels deep"):
        read_yaml("[" * 10_000, "a.yaml")
    with pytest.raises(InvalidRequest, match=r"^a\.yaml:2: neither YAML nor JSON"):
        read_yaml("a: b\n c: d\n", "a.yaml")


def test_templates_leave_no_hollow_brackets_behind():
    text = 'Pod {{ $labels.namespace }}/{{ $labels.pod }} ({{ $labels.c }}) is "{{\n$value }}" low'
    assert without_templates(text) == "Pod / is low"
    assert without_templates("{{ unclosed") == "{{ unclosed"


def test_only_what_is_called_a_runbook_or_is_a_document_is_a_link():
    text = "See https://a.example/d/1, RUNBOOK: https://b.example/x/ and (docs/c.md#d-e)."
    assert links_in(text) == ("https://b.example/x/", "docs/c.md#d-e")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("groups: 7\n", "rules.yaml:1: groups is a list"),
        ("groups:\n- 7\n", "rules.yaml:2: a group must be a mapping with name and rules"),
        ("groups:\n- name: g\n  rules: {}\n", "rules.yaml:3: rules is a list"),
        (GROUP + "  - expr: x\n", "rules.yaml:4: a rule needs alert or record"),
        (GROUP + "  - alert: ''\n", "rules.yaml:4: the alert has no name"),
        (
            GROUP + "  - alert: A\n    annotations: [x]\n",
            "rules.yaml:5: annotations must be a mapping",
        ),
        (GROUP + "  - alert: A\n    labels: {a: [x]}\n", "rules.yaml:5: labels must be a mapping"),
        (GROUP + "  - record: a\n", "no alert in"),
        ("a: 1\n", "rules.yaml:1: no rules; supported are Prometheus rule files"),
        ("# nothing\n", "rules.yaml:1: no rules"),
        ("just text\n", "rules.yaml:1: no rules"),
        (
            "Resources:\n  A:\n    Type: AWS::CloudWatch::Alarm\n",
            "rules.yaml:3: alarm 'A' has no properties",
        ),
        ("kind: List\nitems:\n- kind: Pod\n", "rules.yaml:1: no rules"),
    ],
)
def test_what_is_no_rule_is_named_with_file_and_line(tmp_path, monkeypatch, text, problem):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidRequest) as raised:
        read(tmp_path, text)
    assert str(raised.value).startswith(problem)


def test_folders_and_patterns_leave_out_what_holds_no_rules(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rule = GROUP + "  - alert: A\n"
    files = {
        "r/a.yml": rule, "r/deep/b.yaml": rule, "r/values.yaml": "replicas: 1\n",
        "r/of.json": '{"groups": ', "r/readme.md": rule, "r/.hidden/c.yaml": rule,
        "r/asset.1/d.json": rule,
    }  # fmt: skip
    write_files(tmp_path, files)
    found = read_rules(["r"])  # it has the looks of rules, so it is no file that lies about
    (broken,) = found.broken
    assert (broken.file, broken.line) == ("r/of.json", 1)
    assert broken.message.startswith("r/of.json:1: neither YAML nor JSON")
    assert found.files == ("r/a.yml", "r/deep/b.yaml")
    (tmp_path / "r/of.json").write_text("{}")
    found = read_rules(["r"])
    assert found.files == ("r/a.yml", "r/deep/b.yaml")
    assert (found.skipped, found.broken) == (("r/of.json", "r/values.yaml"), ())
    assert read_rules([str(tmp_path / "r/**/b.*"), "r/a.yml", "r/*.yml"]).files == (
        "r/deep/b.yaml", "r/a.yml",
    )  # fmt: skip


def test_what_can_t_be_read_is_an_error_and_no_green_light(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path, {"latin.yaml": b"a: \xe9\n", "empty/x.txt": "x"})
    with (tmp_path / "large.yaml").open("wb") as large:
        large.truncate(MAX_BYTES + 1)
    for path, problem in {
        "nowhere.yaml": "nowhere.yaml: No such file",
        "empty": "no rules in empty: no file in it ends in",
        "*.nothing": "no rules in *.nothing",
        "latin.yaml": "latin.yaml: not UTF-8",
        "large.yaml": "large.yaml: larger than 16 MiB",
    }.items():
        with pytest.raises((InvalidRequest, UnreadableDocument)) as raised:
            read_rules([path])
        assert str(raised.value).startswith(problem)


def test_all_that_can_t_be_read_is_named_and_none_of_its_alerts_is_given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    half = GROUP + "  - alert: B\n  - alert: C\n  - expr: x\n"
    files = {
        "a.yaml": GROUP + "  - alert: A\n", "half.yaml": half, "text.yaml": "no\n",
        "latin.yaml": b"a: \xe9\n", "tab.yaml": GROUP + "\t- alert: D\n",
    }  # fmt: skip
    write_files(tmp_path, files)
    named = ["half.yaml", "gone.yaml", "a.yaml", "text.yaml", "latin.yaml", "tab.yaml", "*.no"]
    found = read_rules(named)
    assert ([alert.name for alert in found.alerts], found.files) == (["A"], ("a.yaml",))
    assert [(each.file, each.line) for each in found.broken] == [
        ("*.no", None), ("half.yaml", 6), ("gone.yaml", None), ("text.yaml", 1), ("latin.yaml", None),
        ("tab.yaml", 4),
    ]  # fmt: skip
    assert [each.message.split(":")[0] for each in found.broken[1:]] == [
        each.file for each in found.broken[1:]
    ]
    with pytest.raises(NoAlerts, match=r"^tab\.yaml:4: neither") as raised:
        read_rules(["half.yaml", "tab.yaml"])
    assert [each.file for each in raised.value.broken] == ["half.yaml", "tab.yaml"]


def test_a_file_that_links_lead_to_counts_once_by_its_shortest_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path, {"r/a.yaml": GROUP + "  - alert: A\n"})
    (tmp_path / "r/again").symlink_to(tmp_path / "r", target_is_directory=True)
    (tmp_path / "r/b.yaml").symlink_to("a.yaml")
    for paths in (["r/**/*.yaml"], ["r/again/a.yaml", "r"], ["r/a.yaml", "r/b.yaml"]):
        found = read_rules(paths)
        assert ([alert.name for alert in found.alerts], found.files) == (["A"], ("r/a.yaml",))


def test_what_a_script_or_another_program_got_wrong_is_told_with_a_hint(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rule = GROUP + "  - alert: A\n"
    files = {
        "r/a.yaml": rule, "r/powershell.yaml": rule.encode("utf-16"),
        "r/chart.yaml": "{{- if .Values.rules }}\n" + rule + "{{- end }}\n",
        "r/grafana.yaml": GROUP + "  - uid: x\n    title: A\n",
    }  # fmt: skip
    write_files(tmp_path, files)
    found = read_rules(["r", ""])
    hints = {each.file: each.message for each in found.broken}
    assert hints.keys() == {"", "r/powershell.yaml", "r/chart.yaml", "r/grafana.yaml"}
    assert hints[""] == "--rules: empty name"
    assert "not UTF-8" in hints["r/powershell.yaml"]
    assert hints["r/chart.yaml"].endswith("; render it first: `helm template`")
    assert hints["r/grafana.yaml"].endswith(
        "a rule needs alert or record; Grafana's own are not supported"
    )
    assert [alert.name for alert in found.alerts] == ["A"]


def test_a_folder_that_can_t_be_entered_was_not_checked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path, {"r/a.yaml": GROUP + "  - alert: A\n", "r/shut/b.yaml": GROUP})

    def scandir(path, real=os.scandir):
        if str(path).endswith("shut"):  # whoever runs the tests may be allowed everything
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr("os.scandir", scandir)
    found = read_rules(["r"])
    assert [each.message for each in found.broken] == ["r/shut: Permission denied"]
    with pytest.raises(NoAlerts, match=r"^r/shut: Permission denied$") as raised:
        read_rules(["r/shut"])
    assert len(raised.value.broken) == 1


@settings(max_examples=40)
@given(st.binary(max_size=60), st.sampled_from([b"", b"groups: ", b"Resources:\n  A::B: "]))
def test_nonsense_is_an_error_of_ours(tmp_path_factory, nonsense, start):
    path = tmp_path_factory.getbasetemp() / "nonsense.yaml"
    path.write_bytes(start + nonsense)
    with pytest.raises((InvalidRequest, UnreadableDocument)):
        read_rules([str(path)])


WORDS = st.sampled_from(
    [
        "groups", "rules", "name", "alert", "record", "labels", "annotations", "runbook_url", "kind", "items",
        "spec", "PrometheusRule", "List", "Resources", "Type", "Properties", "AWS::CloudWatch::Alarm",
        "AlarmName", "AlarmDescription", "Tags", "Key", "Value", "Fn::Sub", "Fn::Join", "${X}", "{{x}}", "a.md#b",
    ]
)  # fmt: skip
NEARLY_RULES = st.recursive(
    WORDS | st.none() | st.integers(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=25,
)


@settings(max_examples=40)
@given(st.sampled_from(["groups", "Resources", "items", "spec"]), NEARLY_RULES)
def test_what_is_nearly_rules_is_read_or_refused_and_never_a_crash(tmp_path_factory, key, tree):
    path = tmp_path_factory.getbasetemp() / "nearly.json"
    path.write_text(json.dumps({"kind": "List", key: tree}))
    with contextlib.suppress(InvalidRequest):
        for alert in read_rules([str(path)]).alerts:
            assert alert.name
            assert build_queries(alert.incident)


@settings(max_examples=40)
@given(st.dictionaries(WORDS, NEARLY_RULES, max_size=4), NEARLY_RULES)
def test_alarms_with_any_properties_are_read(tmp_path_factory, properties, resource):
    path = tmp_path_factory.getbasetemp() / "nearly.json"
    alarm = {"Type": "AWS::CloudWatch::Alarm", "Properties": properties}
    path.write_text(json.dumps({"Resources": {"Mine": alarm, "Other": resource}}))
    assert [alert.place.line for alert in read_rules([str(path)]).alerts] == [1]
