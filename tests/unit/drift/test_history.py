import pytest

from knowledge_rag.drift.history import last_changes
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
