"""Links that open cited lines: from Git's own words, only for what the commit holds."""

from __future__ import annotations

import subprocess

import pytest

from knowledge_rag.core.repository_links import RepositoryLinks
from knowledge_rag.local.source_links import links_of_checkout, template_of

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def git(folder, *words):
    done = subprocess.run(
        ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b.example", *words],
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path):
    """A repository with a runbook that was pushed to a remote named as if it were GitHub's."""
    git(tmp_path, "init", "-q", "-b", "main")
    runbooks = tmp_path / "docs" / "run books"
    runbooks.mkdir(parents=True)
    for name in ("kept.md", "changed.md"):
        (runbooks / name).write_text("# A\n\nb\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "a")
    git(tmp_path, "remote", "add", "origin", "https://user:hunter2@github.com/acme/ops.git")
    git(tmp_path, "update-ref", "refs/remotes/origin/main", "HEAD")
    return runbooks


@pytest.mark.parametrize(
    ("remote", "url"),
    [
        ("git@github.com:acme/ops.git", f"https://github.com/acme/ops/blob/{COMMIT}/a/b.md?plain=1#L3-L9"),
        ("https://token@github.com/acme/ops", f"https://github.com/acme/ops/blob/{COMMIT}/a/b.md?plain=1#L3-L9"),
        ("ssh://git@gitlab.acme.example:2222/infra/team/ops.git", f"https://gitlab.acme.example/infra/team/ops/-/blob/{COMMIT}/a/b.md?plain=1#L3-9"),
        ("https://github.acme.example:8443/o/r.git", f"https://github.acme.example:8443/o/r/blob/{COMMIT}/a/b.md?plain=1#L3-L9"),
        ("git@bitbucket.org:acme/ops.git", f"https://bitbucket.org/acme/ops/src/{COMMIT}/a/b.md#lines-3:9"),
    ],
)  # fmt: skip
def test_a_remote_of_a_known_host_opens_the_lines_at_the_commit(remote, url):
    assert RepositoryLinks(template_of(remote, COMMIT, "a/")).url("b.md", 3, 9) == url


@pytest.mark.parametrize(
    "remote",
    [
        "",
        "/srv/git/ops.git",
        "https://git.acme.example/ops/runbooks",
        "https://github.com/",
        "https://github.com/acme/../../evil",
        "https://github.com/acme/ops{path}",
        "git@github.com:acme ops/x",
        "https://[github/x/y",
    ],
)
def test_another_remote_has_no_links(remote):
    assert template_of(remote, COMMIT) is None


def test_a_folder_with_braces_and_blanks_keeps_its_name():
    links = RepositoryLinks(template_of("git@github.com:a/b.git", COMMIT, "x {path}/"))
    assert "/x%20%7Bpath%7D/b.md?" in links.url("b.md", 1, 2)


def test_a_document_that_differs_from_the_commit_has_no_link(checkout):
    (checkout / "changed.md").write_text("# A\n\nnew\nb\n")
    (checkout / "new.md").write_text("# N\n")
    links = links_of_checkout(checkout, frozenset({"kept.md", "changed.md", "new.md"}))
    commit = git(checkout, "rev-parse", "HEAD")
    kept = f"https://github.com/acme/ops/blob/{commit}/docs/run%20books/kept.md?plain=1#L1-L3"
    assert links.url("kept.md", 1, 3) == kept
    assert links.url("changed.md", 1, 3) == links.url("new.md", 1, 1) == ""
    assert "hunter2" not in links.to_json()
    assert RepositoryLinks.from_json(links.to_json()) == links


def test_a_commit_that_was_not_pushed_is_named_with_what_to_do(checkout):
    (checkout / "kept.md").write_text("# B\n")
    git(checkout, "commit", "-qam", "b")
    assert "push it, then ingest again" in links_of_checkout(checkout, frozenset({"kept.md"}))


def test_a_folder_outside_a_checkout_has_no_links(tmp_path):
    assert "not in a Git checkout" in links_of_checkout(tmp_path, frozenset({"a.md"}))


@pytest.mark.parametrize(
    "stored", ["", "x", "[]", '{"template": "javascript:{path}", "unlinked": []}']
)
def test_what_is_no_stored_form_gives_no_links(stored):
    assert RepositoryLinks.from_json(stored) is None
