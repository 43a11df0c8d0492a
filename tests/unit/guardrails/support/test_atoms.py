"""What counts as an exact statement, and of which kind."""

import pytest

from knowledge_rag.guardrails.support.atoms import find_atoms
from knowledge_rag.guardrails.support.lexemes import plain
from knowledge_rag.guardrails.support.report import AtomKind


def found_in(claim):
    return find_atoms(plain(claim))


def atoms(claim):
    return [(atom.kind.value, claim[atom.start : atom.end]) for atom in found_in(claim)]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("url", "https://example.com/a?b=c&d=1"),
        ("arn", "arn:aws:rds:eu-west-1:123456789012:db/orders"),
        ("host", "db-01.prod.example.com"),
        ("host", "10.0.0.1"),
        ("host", "10.0.0.0/8"),
        ("host", "db.internal:5432"),
        ("path", "/var/log/syslog"),
        ("path", "~/a/b"),
        ("path", "deployment/web-1"),
        ("path", "runbooks/rds-failover.md"),
        ("flag", "--force"),
        ("flag", "-n"),
        ("command", "kubectl"),
        ("identifier", "kube_pod_info"),
        ("identifier", "NodeNotReady"),
        ("identifier", "us-east-1"),
        ("identifier", "p95"),
        ("identifier", "values.yaml"),
        ("identifier", "v1.24.3"),
        ("identifier", "12:30"),
        ("number", "60s"),
        ("number", "45 %"),
        ("number", "twelve"),
        ("date", "2024-03-05"),
        ("date", "5 March 2024"),
    ],
)
def test_a_kind_by_its_form(kind, name):
    assert atoms(f"see {name} now") == [(kind, name)]
    assert atoms(f"({name}),") == [(kind, name)]


@pytest.mark.parametrize(
    "words",
    [
        "a read-only replica", "on/off", "CPU and VMs", "e.g. this", "and/or", "Redis", "w/o it", "don't",
    ],
)  # fmt: skip
def test_prose_has_none(words):
    assert atoms(words) == []


def test_in_code_every_word_is_one_and_the_first_a_command():
    assert atoms("run `rollout undo --to=web` now") == [
        ("command", "rollout"),
        ("identifier", "undo"),
        ("flag", "--to"),
        ("identifier", "web"),
    ]


def test_a_single_name_in_code_is_no_command():
    assert atoms("see `main`") == [("identifier", "main")]


def test_a_line_of_shell_is_code_without_saying_so():
    assert [text for _, text in atoms("kubectl delete pod web -n shop")] == [
        "kubectl", "delete", "pod", "web", "-n", "shop",
    ]  # fmt: skip
    assert atoms("$ reboot now") == [("command", "reboot"), ("identifier", "now")]


def test_an_expression_is_its_names_and_numbers():
    assert [text for _, text in atoms('`rate(http_total{code="500"}[5m]) > 0.5`')] == [
        "rate", "http_total", "code", "500", "5m", "0.5",
    ]  # fmt: skip


def test_backslashes_of_markdown_are_no_part_of_a_name():
    (atom,) = found_in(r"see kube\_pod\_info")
    assert atom.kind is AtomKind.IDENTIFIER
    assert atom.value == "kube_pod_info"
