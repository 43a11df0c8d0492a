"""``python -m infra.bundling``, in a copy of the project: what changes a hash and what does not."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from infra.bundling import ROOT
from tests.support.bundles import RETRIEVE


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Copy what bundling reads."""
    folder = tmp_path_factory.mktemp("project")
    for name in ("infra", "knowledge_rag", "lambdas", "requirements"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def run(project, module=RETRIEVE, *options, **environ):
    command = [sys.executable, "-m", "infra.bundling", module, str(project / "out"), *options]
    return subprocess.run(
        command,
        cwd=project,
        env=os.environ | environ,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def told(ran):
    assert ran.returncode == 0, ran.stderr
    return dict(re.findall(r"^(path|hash|size) +(.*)$", ran.stdout, re.MULTILINE))


@pytest.fixture(scope="module")
def first(project):
    return told(run(project))


def test_path_hash_and_size_are_told(first, project):
    assert first["path"].startswith(str(project / "out" / RETRIEVE))
    assert re.fullmatch("[0-9a-f]{64}", first["hash"])
    assert re.fullmatch(r"[\d,]+ bytes zipped, \d+ files", first["size"])


def test_a_change_within_it_changes_the_hash(project, first):
    source = project / "knowledge_rag" / "core" / "retrieval.py"
    before = source.read_bytes()
    source.write_bytes(before + b"# changed\n")
    changed = told(run(project))
    source.write_bytes(before)
    assert changed["hash"] != first["hash"]


def test_a_wrong_module_is_one_line(project):
    ran = run(project, "lambdas.retrieve.handler")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == ("error: no module lambdas.retrieve.handler in knowledge_rag or lambdas\n")
