"""The handbook names what a deployment's templates define, and a renamed alarm shows."""

from __future__ import annotations

import json

import pytest

from knowledge_rag.drift.check import World, check_documents
from knowledge_rag.drift.code import read_code
from knowledge_rag.drift.findings import BY_DEFAULT
from tests.infra.synthesis import ADVISED, DISPOSABLE, EVERYTHING, PROJECT, synthesized

FOLDERS = (PROJECT / "docs/operations", PROJECT / "knowledge-corpus")


@pytest.fixture(scope="module")
def templates():
    return [
        template for settings in (EVERYTHING, DISPOSABLE, ADVISED) for template in synthesized(**settings).templates
    ]  # fmt: skip


def findings(templates, tmp_path, folder):
    paths = []
    for number, template in enumerate(templates):
        paths.append(tmp_path / f"{number}.template.json")
        paths[-1].write_text(json.dumps(template))
    documents = [
        (path.relative_to(folder).as_posix(), path.read_text(encoding="utf-8"))
        for path in sorted(folder.rglob("*.md"))
    ]
    world = World(lambda _: True, BY_DEFAULT, lambda words, _: read_code(paths, words, folder))
    return [(each.path, each.subject) for each in check_documents(documents, world)]


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_handbook_and_the_sample_runbooks_are_clean(folder, templates, tmp_path):
    assert findings(templates, tmp_path, folder) == []


@pytest.mark.parametrize(
    "alarm",
    ["outage", "outage-slow", "throttles", "chunking-mismatches", "canary", "chunking-drift"],
)
def test_a_renamed_alarm_is_found_at_its_section(alarm, templates, tmp_path):
    text = json.dumps(templates).replace(f'-{alarm}"', '-something-else"')
    found = findings(json.loads(text), tmp_path, FOLDERS[0])
    assert ("alarms.md", alarm) in found
