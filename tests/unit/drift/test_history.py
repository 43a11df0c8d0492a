import subprocess

import pytest

from knowledge_rag.drift import history
from knowledge_rag.drift.code import read_code
from knowledge_rag.drift.history import HistoryError, commits_of_lines, last_changes, log
from tests.support.repository import Repository


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path / "repository")


def test_each_file_has_the_commit_that_changed_it_last(repository):
    first = repository.commit({"docs/a.md": "1\n", "docs/b.md": "1\n"}, "2026-01-01")
    second = repository.commit({"docs/b.md": "2\n", "other.txt": "x"}, "2026-02-02", "bob")
    found = last_changes(repository.folder / "docs", {"a.md", "b.md", "c.md"})
    known = {name: (it.commit.sha, it.commit.day, it.commit.author) for name, it in found.items()}
    assert known == {"a.md": (first, "2026-01-01", "ada"), "b.md": (second, "2026-02-02", "bob")}


def test_bytes_that_were_never_committed_are_of_no_commit(repository):
    repository.commit({"a.md": "1\n"})
    change = last_changes(repository.folder, {"a.md"})["a.md"]
    assert change.holds(b"1\n")
    assert not change.holds(b"1\n2\n")
    assert not change.holds(b"1\r\n")


def test_names_of_any_letters_are_found(repository):
    sha = repository.commit({"größe/a b.md": "1\n"})
    (change,) = last_changes(repository.folder, {"größe/a b.md"}).values()
    assert change.commit.sha == sha


def test_a_folder_without_a_repository_has_no_history(tmp_path):
    (tmp_path / "a.md").write_text("1\n")
    assert last_changes(tmp_path, {"a.md"}) == {}


def test_nothing_that_the_repository_configures_is_run(repository):
    repository.commit({"a.md": "1\n", ".gitattributes": "*.md filter=evil diff=evil\n"})
    witness = repository.folder / "witness"
    evil = f"touch {witness}"
    with (repository.folder / ".git/config").open("a") as config:
        config.write(
            f'[core]\n\tfsmonitor = "{evil}"\n\tpager = "{evil}"\n[log]\n\tshowSignature = true\n'
            f'[gpg]\n\tprogram = "{evil}"\n[filter "evil"]\n\tclean = "{evil}"\n'
            f'[diff "evil"]\n\tcommand = "{evil}"\n\ttextconv = "{evil}"\n'
        )
    assert last_changes(repository.folder, {"a.md"})
    assert not witness.exists()


def test_nothing_that_a_repository_inside_it_configures_is_run(repository, tmp_path):
    inner = Repository(tmp_path / "inner")
    old = inner.commit({"a": "1"})
    new = inner.commit({"a": "2"})
    witness = tmp_path / "witness"
    sub = repository.folder / "sub.tf"
    subprocess.run(["git", "clone", "--quiet", str(inner.folder), str(sub)], check=True)
    script = tmp_path / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch {witness}\n")
    script.chmod(0o755)
    for sha in (old, new):
        subprocess.run(["git", "checkout", "--quiet", sha], cwd=sub, check=True)
        repository.commit({"b.tf": sha})
    subprocess.run(["git", "config", "diff.external", str(script)], cwd=sub, check=True)
    configure = ["git", "config", "diff.submodule", "diff"]
    subprocess.run(configure, cwd=repository.folder, check=True)
    read_code([repository.folder], frozenset({"gone-name"}), tmp_path / "docs")
    assert not witness.exists()


def test_an_incomplete_history_is_named_and_not_remembered(repository, tmp_path):
    repository.commit({"a.tf": 'resource "aws_sqs_queue" "a" {\n  name = "orders-old"\n}\n'})
    repository.commit({"a.tf": "\n"})
    recalled = {}

    def recall(parts, make):
        return recalled.setdefault(tuple(parts), make())

    wanted = frozenset({"orders-old"})
    objects = repository.folder / ".git/objects"
    blobs = subprocess.run(
        ["git", "rev-parse", "HEAD~1:a.tf"], cwd=repository.folder, check=True, capture_output=True, text=True
    ).stdout.strip()  # fmt: skip
    blob = objects / blobs[:2] / blobs[2:]
    kept = blob.read_bytes()
    blob.unlink()
    code = read_code([repository.folder], wanted, tmp_path / "docs", recall)
    assert not code.removed
    (why,) = code.unread
    assert "names that commits removed aren't all known" in why
    blob.write_bytes(kept)
    assert "orders-old" in read_code([repository.folder], wanted, tmp_path / "docs", recall).removed


def test_a_shallow_clone_is_named(repository, tmp_path):
    for text in ("1", "2"):
        repository.commit({"a.tf": text})
    clone = tmp_path / "clone"
    source = f"file://{repository.folder}"
    subprocess.run(["git", "clone", "--quiet", "--depth=1", source, str(clone)], check=True)
    (why,) = read_code([clone], frozenset({"gone-name"}), tmp_path / "docs").unread
    assert "a shallow clone" in why


def test_a_commit_of_any_year_has_a_day(repository):
    repository.commit({"a.md": "1\n"})
    raw = subprocess.run(
        ["git", "cat-file", "commit", "HEAD"], cwd=repository.folder, check=True, capture_output=True
    ).stdout  # fmt: skip
    late = raw.replace(b"1772366400", b"9999999999999")
    assert late != raw
    put = ["git", "hash-object", "-t", "commit", "-w", "--stdin", "--literally"]
    made = subprocess.run(
        put, cwd=repository.folder, check=True, input=late, capture_output=True
    ).stdout  # fmt: skip
    reset = ["git", "reset", "--quiet", "--hard", made.decode().strip()]
    subprocess.run(reset, cwd=repository.folder, check=True)
    (commit,) = commits_of_lines(repository.folder, "a.md")
    assert commit.day == "9999-12-31"


def test_of_a_commit_a_number_of_lines_is_read(repository, monkeypatch):
    monkeypatch.setattr(history, "MAX_LINES", 3)
    repository.commit({f"{n}.md": "x" for n in range(9)})
    ((_, lines),) = log(repository.folder, "--name-only")
    assert len(lines) == 3


def test_git_that_takes_too_long_is_ended(repository, monkeypatch):
    monkeypatch.setattr(history, "SECONDS", 0)
    repository.commit({"a.md": "1\n"})
    with pytest.raises(HistoryError):
        list(history._shown(repository.folder, ["sleep", "600"]))
