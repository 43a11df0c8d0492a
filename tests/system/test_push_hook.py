"""The hook in ``examples`` brings a knowledge base up to date with every push."""

import os
import shutil
import subprocess

import pytest

from tests.support.local import PROJECT
from tests.support.repository import Repository

HOOK = PROJECT / "examples/git-hooks/post-receive"


@pytest.fixture
def pushed(tmp_path, programs):
    """Return a function that commits files and pushes them to a bare repository with the hook."""
    bare, work = tmp_path / "bare.git", Repository(tmp_path / "work")
    subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", bare], check=True)
    shutil.copy(HOOK, bare / "hooks/post-receive")
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"

    def push(files, ref="HEAD:main"):
        sha = work.commit(files)
        return sha, subprocess.run(
            ["git", "push", "--quiet", bare, ref],
            cwd=work.folder, env=os.environ | {"PATH": path}, check=True, capture_output=True, text=True,
        )  # fmt: skip

    return push, bare / "team.kb"


def test_each_push_to_the_branch_is_ingested_with_its_commit(pushed, cli):
    push, kb = pushed
    push({"runbooks/zebra.md": "# Zebra queue is stuck\n\nRestart the zebra.\n"})
    sha, done = push({"runbooks/zebra.md": "# Zebra queue is stuck\n\nFeed the zebra.\n"})
    assert "1 document, 1 chunk" in done.stdout + done.stderr
    (result,) = cli("retrieve", "zebra queue is stuck", "--kb", kb, "--json").json["results"]
    assert "Feed the zebra." in result["content"]
    assert result["metadata"]["commit"] == sha


def test_another_branch_changes_nothing(pushed):
    push, kb = pushed
    push({"runbooks/zebra.md": "# Zebra\n"}, "HEAD:draft")
    assert not kb.exists()
