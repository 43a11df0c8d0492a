"""Values that runbooks state of settings, against those that the code gives them."""

from __future__ import annotations

import pytest

from knowledge_rag.drift.check import check_documents
from knowledge_rag.drift.findings import Check
from knowledge_rag.drift.settings import value_of, values_in
from tests.support.local import write_files
from tests.unit.drift.conftest import world_of

CODE = {
    "deploy.yaml": """
kind: Deployment
spec: {template: {spec: {containers: [
  {name: a, env: [{name: RETRY_LIMIT, value: "3"}, {name: SECRET_LIMIT, value: {{ .Values.x }} }]}]}}}
""",
    "values.yaml": "worker:\n  drain_timeout: 90s  # see the runbook\n  batch-size: 250\n  # old_limit: 4\n  feature_x: true\n",
    "main.tf": """
variable "db_class" {
  type    = string
  default = "db.r6g.2xlarge"
}
resource "aws_sqs_queue" "a" {
  visibility_timeout_seconds = 120
  message_size = var.size
}
""",
    "compose.yml": "services:\n  a:\n    environment:\n      - POOL_SIZE=20\n      - RETRY_LIMIT=5\n",
    "app.py": 'LIMIT = int(os.getenv("UPLOAD_LIMIT", "2GiB"))\nMAX_AGE_DAYS: int = 14\n',
}


@pytest.fixture
def found(tmp_path):
    write_files(tmp_path / "code", CODE)
    world = world_of(tmp_path / "code", Check.AGREEMENT)

    def check(text, path="runbooks/a.md"):
        return [(it.line, it.column, it.message) for it in check_documents([(path, text)], world)]

    return check


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("`RETRY_LIMIT` is 7.", 18, "RETRY_LIMIT in compose.yml is 5, 3, not 7"),
        ("RETRY_LIMIT is currently set to 7 here.", 33, "RETRY_LIMIT in compose.yml is 5, 3, not 7"),
        ("We run with `POOL_SIZE = 30`, `POOL_SIZE` of 30.", 46, "POOL_SIZE in compose.yml is 20, not 30"),
        ("The worker waits a minute (`drain_timeout`, 60 s), or `drain_timeout` (60 s).", 72, "drain_timeout in values.yaml is 90s, not 60 s"),
        ("When it drains for more than 60 seconds (`drain_timeout`), it is killed.", 30, "drain_timeout in values.yaml is 90s, not 60 seconds"),
        ("The visibility timeout (`visibility_timeout_seconds`) is 3 minutes.", 58, "visibility_timeout_seconds in main.tf is 120, not 3 minutes"),
        ("| Setting | Production | Staging |\n|-|-|-|\n| `batch-size` (rows) | 500 | 250 |", 25, "batch-size in values.yaml is 250, not 500"),
        ("| What | Value |\n|-|-|\n| `db_class` | db.r5.large |", 16, "db_class in main.tf is db.r6g.2xlarge, not db.r5.large"),
        ("It is killed after an hour (`drain_timeout`).", 20, "drain_timeout in values.yaml is 90s, not an hour"),
        ("| What | Value |\n|-|-|\n| Rows at once (`batch-size`) | 500 |", 33, "batch-size in values.yaml is 250, not 500"),
        ("`feature_x` is off.", 16, "feature_x in values.yaml is true, not off"),
        ("`UPLOAD_LIMIT` defaults to 1 GB.", 28, "UPLOAD_LIMIT in app.py is 2GiB, not 1 GB"),
        ("Backups are kept for 3 weeks, see `MAX_AGE_DAYS`.", 22, "MAX_AGE_DAYS in app.py is 14, not 3 weeks"),
    ],
)  # fmt: skip
def test_a_value_that_the_code_does_not_give_a_setting_is_found(found, text, column, message):
    line = text.count("\n") + 1
    assert (line, column, message) in found(text)


@pytest.mark.parametrize(
    "text",
    [
        "`RETRY_LIMIT` is 3. `RETRY_LIMIT` is five.",
        "`drain_timeout` is 1.5 minutes, and `visibility_timeout_seconds` is 2 min.",
        "`UPLOAD_LIMIT` is 2048 MiB; `MAX_AGE_DAYS` is 2 weeks, i.e. 14.",
        "Set `RETRY_LIMIT` to 7. Raise it: `RETRY_LIMIT` = 9.".replace("Raise it: ", "Try "),
        "If `RETRY_LIMIT` is 0, nothing is tried again. Check that `RETRY_LIMIT` is 7.",
        "In staging `RETRY_LIMIT` is 7.",
        "`RETRY_LIMIT` was 7 before. It used to run with `RETRY_LIMIT` of 8.",
        "`RETRY_LIMIT` is 7 or more. `RETRY_LIMIT` is 10 to 20. `RETRY_LIMIT` isn't 7.",
        "`SECRET_LIMIT` is 7. `message_size` is 4. `old_limit` is 9. `unknown_key` is 1.",
        "After a quarter of an hour, or a minute and a half (`drain_timeout`), it is killed.",
        'A statement such as "`RETRY_LIMIT` is 7" is compared.',
        "The broker isn't ours: their `RETRY_LIMIT` is 7. Its own\n`RETRY_LIMIT` is 8.",
        "`RETRY_LIMIT` is 07:30. `RETRY_LIMIT` is 7.1.2.",
        "## Staging\n\n`RETRY_LIMIT` is 7.",
        "| Setting | Staging |\n|-|-|\n| `RETRY_LIMIT` | 7 |",
        "| Setting | Type |\n|-|-|\n| `RETRY_LIMIT` | number |",
        "[7](https://x/?RETRY_LIMIT=7) and https://x/?RETRY_LIMIT=7",
        "---\nstatus: deprecated\n---\n# A\n\n`RETRY_LIMIT` is 7.",
    ],
)
def test_nothing_else_is(found, text):
    assert found(text) == []


def test_postmortems_state_nothing(found):
    assert found("`RETRY_LIMIT` is 7.", "postmortems/a.md") == []


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a_key: 5 # 6", ["5"]),
        ('"a_key": "5",', ["5"]),
        ("a_key = 5\na_key := 6\n", ["5", "6"]),
        ("--a_key=5", ["5"]),
        ("- name: a_key\n  value: '5'", ["5"]),
        ("a_key: |\n  5", []),
        ("a_key:\n  b: 5", []),
        ("# a_key: 5\n// a_key = 6", []),
        ("a_key: ${X}", [None]),
        ("a_key = var.x", [None]),
        ("if a_key == 5", []),
        ("b_a_key: 5\na_key_2: 6\nx.a_key", []),
        ('getenv("a_key", 5)', ["5"]),
        ('a_key = int(os.getenv("a_key", "9"))', ["9"]),
        ('duration("a_key", 120*time.Second)', ["120 Second"]),
        ("a_key = compute()", [None]),
    ],
)
def test_values_are_read_in_any_language(text, values):
    assert values_in(text, ["a_key"]).get("a_key", []) == values


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("90 s", "1.5 min", True),
        ("90 s", "90000", True),
        ("2 GiB", "2Gi", True),
        ("1 MiB", "1048576", True),
        ("1 MB", "1,000,000", True),
        ("40 000", "40,000", True),
        ("25 %", "0.25", True),
        ("on", "1", True),
        ("5 min", "5 s", False),
        ("5 s", "5 MB", False),
        ("2 MiB", "1048576", False),
        ("noeviction", "allkeys-lru", False),
        ("noeviction", "NoEviction", True),
    ],
)
def test_two_values_are_compared_in_their_units(one, other, same):
    assert value_of(one, "key").same(value_of(other, "key")) is same


def test_a_keys_name_may_have_the_unit():
    assert value_of("2 min", "WAIT").same(value_of("120", "WAIT_SECONDS"))
    assert not value_of("2 min", "WAIT").same(value_of("2", "WAIT_SECONDS"))
