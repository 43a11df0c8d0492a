"""Names in runbooks against what code defines."""

from __future__ import annotations

import os
import random
import subprocess
import sys

import pytest

from knowledge_rag.drift.check import check_documents
from knowledge_rag.drift.code import read_code
from knowledge_rag.drift.findings import Check, near
from knowledge_rag.drift.names import _Known
from tests.support.local import write_files
from tests.support.repository import Repository
from tests.unit.drift.conftest import world_of

CODE = {
    "infra/rds.tf": """
resource "aws_rds_cluster" "orders" {
  cluster_identifier = "orders-cluster"
}
resource "aws_sqs_queue" "main" {
  name = "${var.env}-orders-dead-letters"
}
""",
    "cfn/alarms.yaml": """
Resources:
  A:
    Type: AWS::CloudWatch::Alarm
    Properties: {AlarmName: !Sub "${AWS::StackName}-queue-too-old"}
  B:
    Type: AWS::Lambda::Function
    Properties:
      FunctionName: {"Fn::Join": ["-", [{Ref: Name}, "import-orders"]]}
      Environment: {Variables: {ORDERS_TABLE_NAME: x}}
  C:
    Type: AWS::Logs::MetricFilter
    Properties: {MetricTransformations: [{MetricName: OrdersRejected, MetricNamespace: n}]}
""",
    "k8s/app.yaml": """
kind: Deployment
metadata: {name: checkout-api, namespace: shop-prod}
spec: {template: {spec: {containers: [{name: app, env: [{name: CHECKOUT_MAX_RETRIES, value: "3"}]}]}}}
---
kind: ConfigMap
metadata: {name: checkout-settings}
data: {payment_timeout_seconds: "90", nginx.conf: "x"}
---
kind: List
items:
- {kind: StatefulSet, metadata: {name: search-index}}
""",
    "chart/templates/svc.yaml": """
{{- if .Values.on }}
kind: Service
metadata:
  name: {{ .Release.Name }}-gateway
{{- end }}
""",
    "rules.yml": """
groups:
- name: a
  rules:
  - {alert: KubePodCrashLooping, expr: up}
  - {alert: TargetDown, expr: up}
""",
    "compose.yaml": "services:\n  ledger-writer: {image: x, environment: [LEDGER_BATCH_SIZE=5]}\n",
    "app/settings.py": "RETRY_QUEUE = 'orders-retries'\n",
}


@pytest.fixture
def found(tmp_path):
    root = tmp_path / "repo"
    write_files(root, CODE)

    def find(text, path="docs/a.md"):
        found = check_documents([(path, text)], world_of(root, Check.NAMES))
        return [(each.line, each.column, each.subject, each.fix) for each in found]

    return find


@pytest.mark.parametrize(
    ("text", "column", "subject", "fix"),
    [
        ("`kubectl rollout restart deployment/chekout-api`", 26, "chekout-api", "checkout-api"),
        ("`kubectl -n shop-prd get pods`", 13, "shop-prd", "shop-prod"),
        ("`kubectl describe sts search-indx`", 23, "search-indx", "search-index"),
        ("`kubectl get deployments.apps/chekout-api`", 14, "chekout-api", "checkout-api"),
        ("Look at `deployment/chekout-api`.", 21, "chekout-api", "checkout-api"),
        ("`kubectl --namespace=shop-prd get pods`", 10, "shop-prd", "shop-prod"),
        ("`helm -n shop-prd history a`", 10, "shop-prd", "shop-prod"),
        ("`kubectl get svc main-gatway`", 18, "main-gatway", ""),
        ("`docker compose restart ledger-writter`", 25, "ledger-writter", "ledger-writer"),
        ("The alert `KubePodCrashLoping` fires.", 12, "KubePodCrashLoping", "KubePodCrashLooping"),
        ("See `orders-dead-leters`.", 6, "orders-dead-leters", "orders-dead-letters"),
        ("Set `CHECKOUT_MAX_RETRYS`.", 6, "CHECKOUT_MAX_RETRYS", "CHECKOUT_MAX_RETRIES"),
        ("Raise `payment_timeout_second`.", 8, "payment_timeout_second", "payment_timeout_seconds"),
        ("Raise `LEDGER_BATCH_SIZES`.", 8, "LEDGER_BATCH_SIZES", "LEDGER_BATCH_SIZE"),
        ("See `ORDERS_TABLE_NAMES`.", 6, "ORDERS_TABLE_NAMES", "ORDERS_TABLE_NAME"),
        (
            "`aws cloudwatch get-metric-statistics --metric-name OrderRejected`",
            53, "OrderRejected", "OrdersRejected",
        ),
        ("`aws lambda get-function --function-name import-order`", 42, "import-order", "import-orders"),
    ],
)  # fmt: skip
def test_a_name_like_a_defined_one_is_found(found, text, column, subject, fix):
    expected = [(1, column, subject, fix)] if fix else []
    assert found(text + "\n") == expected


@pytest.mark.parametrize(
    "text",
    [
        "`aws rds failover-db-cluster --db-cluster-identifier orders-cluster`",
        "`aws rds failover-db-cluster --db-cluster-identifier <orders-db>`",
        "`aws rds failover-db-cluster --db-cluster-identifier orders-main`",
        "`aws rds failover-db-cluster --db-cluster-identifier billing-main-2`",
        "`aws sqs purge-queue --queue-url https://sqs.x.amazonaws.com/1/prod-orders-dead-letters`",
        "`kubectl get svc anything-gateway` and `checkout-api` in `shop-prod`",
        "`queue-too-old`, `prod-queue-too-old`, `orders-retries`, `search-index-2`",
        "`kubectl create deployment checkout-apj`",
        "`checkout-ui` and `TargetUp` are others'; `app-settings.py` is a file",
        "checkout-apj in prose",
        "`CHECKOUT_MIN_RETRIES` and `payment_timeout_minutes` are others",
        "`aws cloudwatch get-metric-statistics --metric-name CPUUtilization`",
    ],
)
def test_other_names_are_nobodys_business(found, text):
    assert found(text + "\n") == []


def test_a_heading_among_headings_that_are_alarms_is_found(found, tmp_path):
    names = ["KubePodCrashLooping", "TargetDown", "NodeFull", "DiskSlow", "ApiErrors"]
    rules = "".join(f"  - {{alert: {name}, expr: up}}\n" for name in names)
    write_files(tmp_path / "repo", {"rules.yml": f"groups:\n- rules:\n{rules}"})
    page = "".join(f"## {name}\n\nDo.\n\n" for name in names)
    assert found(page) == []
    assert found(page + "## OldAlert\n") == [(21, 4, "OldAlert", "")]
    assert found("## OldAlert\n\n## Other\n") == []


def test_a_name_that_a_commit_removed_is_found_with_the_commit(tmp_path):
    repository = Repository(tmp_path / "code")
    for name in ("orders-db", "orders-cluster"):
        repository.commit({"db.tf": f'resource "aws_rds_cluster" "a" {{\n  cluster_identifier = "{name}"\n}}\n'})  # fmt: skip
    text = (
        "Fail over: `aws rds failover-db-cluster --db-cluster-identifier orders-db`, with `orders-db`.\n\n"
        "# orders-db\n"
    )
    world = world_of(repository.folder, Check.NAMES)
    first, second, heading = check_documents([("a.md", text)], world)
    assert (heading.line, heading.subject, heading.fix) == (3, "orders-db", "orders-cluster")
    assert (first.subject, first.fix, second.column) == ("orders-db", "orders-cluster", 83)
    assert first.message.startswith("commit ")
    assert first.message.endswith(" removed orders-db from db.tf")


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(9)
)


def test_broken_and_hostile_files_define_nothing_and_are_named(tmp_path):
    write_files(
        tmp_path,
        {
            "bomb.yaml": f"kind: X\n{BOMB}",
            "deep.json": '{"Resources": ' + "[" * 5000 + "}",
            "loop.yaml": "kind: &a\n  b: *a\n",
            "binary.yaml": b"kind: \0\xff",
            "latin.yaml": b"kind: caf\xe9\n",
            "broken.tf": 'resource "aws_sqs_queue" "q" { name = "a-b-c" \n resource {{{',
            "cyclic/templates/_a.yaml": 'kind: X\n{{ include "a" . }}\n{{ define "a" }}{{ include "a" . }}{{ end }}\n',
            "good.yaml": "kind: Deployment\nmetadata: {name: fine}\n",
        },
    )
    (tmp_path / "again").symlink_to(tmp_path)
    (tmp_path / "gone.yaml").symlink_to(tmp_path / "nowhere")
    code = read_code([tmp_path], frozenset({"fine"}), tmp_path / "docs")
    assert code.names["deployment"] == {"fine": "good.yaml"}
    assert code.words == {"fine"}
    assert [each.partition(":")[0] for each in code.unread] == [
        "bomb.yaml", "deep.json", "latin.yaml", "loop.yaml",
    ]  # fmt: skip


def test_a_dashboard_that_a_commit_removed_is_found_in_the_links_that_open_it(tmp_path):
    repository = Repository(tmp_path / "code")
    old, kept = (f'{{"uid": "{uid}", "panels": []}}\n' for uid in ("ord3rs9", "q7eues"))
    repository.commit({"a.json": old, "b.json": kept})
    repository.commit({"a.json": old.replace("ord3rs9", "ch3ckout")})
    text = (
        "[a](https://grafana.acme.example/d/ord3rs9/orders?orgId=1)\n"
        "[b](https://grafana.acme.example/d/q7eues/queues)\n"
        "[c](https://grafana.acme.example/d/0thers/elsewhere)\n"
        "[d](https://grafana.acme.example/d/q7eues2/like-another-by-chance)\n"
    )
    world = world_of(repository.folder, Check.NAMES)
    ((line, column, subject),) = [
        (each.line, each.column, each.subject) for each in check_documents([("a.md", text)], world)
    ]
    assert (line, column, subject) == (1, text.index("ord3rs9") + 1, "ord3rs9")


@pytest.mark.parametrize("typed", [True, False])
def test_no_name_that_is_like_another_is_passed_over(typed):
    chance = random.Random(7)
    parts = ("orders", "order", "api", "worker", "queue", "db", "db2", "shop", "billing", "gateway")
    names = sorted({"-".join(chance.choices(parts, k=chance.randrange(1, 5))) for _ in range(400)})
    known = _Known(dict.fromkeys(names, "a.yaml"))
    least = 0.8 if typed else 0.87
    likes = 0
    for _ in range(200):
        name = list(chance.choice(names))
        for _ in range(chance.randrange(1, 5)):
            at = chance.randrange(len(name))
            name[at] = chance.choice(("", "x", name[at] * 2, "or"))
        word = "".join(name)
        like = near(word, known.files, least)
        assert near(word, known._possible(word, least), least) == like
        likes += bool(like)
    assert likes > 30


@pytest.mark.nightly
def test_a_repository_of_50_000_files_with_hostile_ones_is_read_in_bounded_time_and_memory(
    tmp_path,
):
    for number in range(50_000):
        folder = tmp_path / "code" / str(number // 500)
        folder.mkdir(parents=True, exist_ok=True)
        text = f"kind: Deployment\nmetadata: {{name: service-{number}}}\n"
        if number % 1_000 == 1:
            text = f"kind: X\n{BOMB}"
        elif number % 1_000 == 2:
            text = f'kind: X\n{{{{ include "a{number}" . }}}}\n{{{{ define "a{number}" }}}}{{{{ include "a{number}" . }}}}{{{{ end }}}}\n'
        data = b"kind: \0\xff" * 100 if number % 1_000 == 3 else text.encode()
        (folder / f"{number}.yaml").write_bytes(data)
    write_files(tmp_path / "docs", {"a.md": "`kubectl logs deployment/servise-49999`\n"})
    command = [sys.executable, "-m", "knowledge_rag", "drift", str(tmp_path / "docs"), "--code", str(tmp_path / "code")]  # fmt: skip
    environment = os.environ | {"KNOWLEDGE_RAG_CACHE_DIR": str(tmp_path / "cache")}
    for _ in range(2):
        with (tmp_path / "out").open("w+") as out:
            process = subprocess.Popen(
                command, stdout=out, stderr=subprocess.DEVNULL, env=environment
            )
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            assert "no deployment servise-49999, but service-49999 in 99/49999.yaml" in out.read()
        assert process.returncode == 1
        assert used.ru_utime + used.ru_stime < 120
        assert used.ru_maxrss * (1 if sys.platform == "darwin" else 1024) < 600 << 20
