"""A run with a cache finds what one without it does, and checks only what changed."""

from __future__ import annotations

import json
import random
import sqlite3

import pytest

from knowledge_rag.drift import cache as caching
from knowledge_rag.drift.cache import Cache, afresh, digest
from knowledge_rag.drift.check import Facts, World, check_documents, check_facts, facts_of
from knowledge_rag.drift.findings import Check
from knowledge_rag.drift.upkeep import read_owners
from tests.support.local import write_files
from tests.support.repository import Repository
from tests.unit.drift.conftest import world_of

WORDS = ("orders-api", "orders-worker", "billing-queue", "billing-quue", "checkout-main")
LINES = (
    "`kubectl gett pods`", "`aws rds stop-db-instance --db-instance-identifier {}`", "Ask `{}`.",
    "[a](other.md#part)", "[b](1.md#no-such)", "`kubectl logs deployment/{}`", "## {}", "## Part",
    "See `modules/rds/main.tf`.", "```sh\nkubectl delete pvc {}\n```",
)  # fmt: skip


class Counting:
    """Recalls as a cache does, and counts what is made."""

    def __init__(self, recall):
        self.recalled, self.made = recall, []

    def __call__(self, parts, make):
        def counted():
            self.made.append((str(parts[0]), str(parts[1])[:20]))
            return make()

        return self.recalled(parts, counted)


def world(folder, recall=afresh, owners="sre\n"):
    return world_of(
        folder / "code",
        *Check,
        exists=lambda path: path in ("1.md", "2.md"),
        recall=recall,
        owners=read_owners(owners),
        warns=lambda text: "careful" in text,
        live=lambda _: (),
    )


def run(documents, world):
    def facts(path, text):
        parts = ("document", path, text, world.of_facts)
        return Facts.of_wire(path, world.recall(parts, lambda: facts_of(path, text, world).to_wire()))  # fmt: skip

    return check_facts((facts(*each) for each in documents.items()), world)


@pytest.mark.parametrize("seed", range(2))
def test_each_of_many_runs_finds_what_a_full_one_does(seed, tmp_path):
    chance = random.Random(seed)
    repository = Repository(tmp_path / "code")
    documents = {}
    for _ in range(12):
        text = "---\nowner: sre\n---\n" + "\n\n".join(
            chance.choice(LINES).format(chance.choice(WORDS)) for _ in range(8)
        )
        documents[f"{chance.randrange(6)}.md"] = text
        name = chance.choice(WORDS)
        kind = chance.choice(("Deployment", "Service"))
        repository.commit(
            {f"{chance.randrange(3)}.yaml": f"kind: {kind}\nmetadata: {{name: {name}}}\n# {chance.random()}"}
        )  # fmt: skip
        owners = chance.choice(("sre\n", "data\n"))
        full = check_documents(documents.items(), world(tmp_path, owners=owners))
        with Cache(tmp_path / "cache.sqlite") as cache:
            assert run(documents, world(tmp_path, cache.recall, owners)) == full
    assert full


def test_only_what_changed_is_checked_again(tmp_path):
    documents = {f"{n}.md": f"`deployment-{n}` and `kubectl gett`\n" for n in range(5)}
    write_files(tmp_path / "code", {f"{n}.yaml": f"kind: Deployment\nmetadata: {{name: deployment-{n}}}\n" for n in range(5)})  # fmt: skip

    def made():
        with Cache(tmp_path / "cache.sqlite") as cache:
            counting = Counting(cache.recall)
            run(documents, world(tmp_path, counting))
        return counting.made

    assert len(made()) == 15
    assert made() == []
    documents["2.md"] += "more\n"
    assert made() == [("document", "2.md")]  # the names in it are the same
    documents["2.md"] += "`other-name`\n"
    assert [kind for kind, _ in made()] == ["document", "names"]
    write_files(tmp_path / "code", {"3.yaml": "kind: Deployment\nmetadata: {name: deployment-3} # x\n"})  # fmt: skip
    assert made() == [("code", "3.yaml")]  # which defines the same
    write_files(tmp_path / "code", {"3.yaml": "kind: Deployment\nmetadata: {name: renamed-3}\n"})
    assert [kind for kind, _ in made()] == ["code", *["names"] * 5]


def test_another_version_of_the_program_makes_everything_anew(tmp_path, monkeypatch):
    path = tmp_path / "cache.sqlite"
    with Cache(path) as cache:
        assert cache.recall(["a"], lambda: [1]) == [1]
    with Cache(path) as cache:
        assert cache.recall(["a"], lambda: [2]) == [1]
    monkeypatch.setattr(caching, "program", lambda: b"other")
    with Cache(path) as cache:
        assert cache.recall(["a"], lambda: [2]) == [2]


def test_the_program_is_its_own_code_its_tables_and_its_libraries(monkeypatch):
    assert len(caching.program()) == 32
    before = caching.program.__wrapped__()
    monkeypatch.setattr(caching.metadata, "version", lambda _: "0")
    assert caching.program.__wrapped__() != before


def test_parts_can_not_run_into_each_other():
    assert digest("ab", "c") != digest("a", "bc") != digest("abc")


def test_what_was_not_asked_for_longest_goes_first(tmp_path):
    path = tmp_path / "cache.sqlite"
    values = {name: random.Random(name).randbytes(250).hex() for name in "abcdef"}

    def known():
        with Cache(path, max_bytes=1_200) as cache:
            asked = {name: cache._read(digest(caching.program(), name)) for name in values}
        return {name for name, value in asked.items() if value}

    for name, value in values.items():
        with Cache(path, max_bytes=1_200) as cache:
            cache.recall([name], lambda value=value: value)
            cache.recall(["a"], lambda: values["a"])
    size = sum(len(row[0]) for row in sqlite3.connect(path).execute("SELECT value FROM found"))
    assert size <= 1_200
    assert {"a", "f"} <= known()
    assert "b" not in known()


@pytest.mark.parametrize("damage", ["text", "folder", "version", "value", "read-only"])
def test_a_damaged_cache_is_made_anew_or_left_alone(damage, tmp_path):
    path = tmp_path / "folder" / "cache.sqlite"
    path.parent.mkdir()
    if damage == "text":
        path.write_text("no database " * 100)
    elif damage == "folder":
        path.mkdir()
    elif damage == "version":
        connection = sqlite3.connect(path)
        connection.execute("CREATE TABLE found (other TEXT)")
        connection.execute("PRAGMA user_version = 99")
        connection.close()
    elif damage == "value":
        with Cache(path) as cache:
            cache.recall(["a"], lambda: {"b": 2})
        with sqlite3.connect(path) as connection:
            connection.execute("UPDATE found SET value = ?", (b"no value",))
    elif damage == "read-only":
        path.parent.rmdir()
        path.parent.write_text("a file where a folder is wanted")
    for _ in range(2):
        with Cache(path) as cache:
            assert cache.recall(["a"], lambda: {"b": 1}) == {"b": 1}


def test_a_failed_run_writes_nothing(tmp_path):
    path = tmp_path / "cache.sqlite"

    def fail():
        with Cache(path) as cache:
            cache.recall(["a"], lambda: 1)
            cache.recall(["b"], lambda: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        fail()
    with Cache(path) as cache:
        assert cache.recall(["a"], lambda: 2) == 2


def test_facts_are_the_same_behind_json():
    text = "---\nowner: sre\n---\n# A {#own}\n[x](y.md) `a/b.tf` `orders-api`\n\n`kubectl gett`\n"
    world = World(
        lambda _: True, frozenset(Check), lambda _: None, live=lambda _: (), owners=read_owners("x\n")
    )  # fmt: skip
    facts = facts_of("a/b.md", text, world)
    assert facts.findings
    assert facts.mentions
    assert Facts.of_wire("a/b.md", json.loads(json.dumps(facts.to_wire()))) == facts
