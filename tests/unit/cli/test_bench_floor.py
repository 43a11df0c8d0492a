from __future__ import annotations

import pytest

from knowledge_rag.cli.bench import floor
from knowledge_rag.cli.exits import ExitCode, exit_code_for
from knowledge_rag.core import resources
from knowledge_rag.core.errors import InvalidRequest, KnowledgeRagError


@pytest.mark.parametrize("given", ["neither", "on", "off"])
def test_an_installation_without_questions_asks_for_both_files(given, monkeypatch, tmp_path):
    def nowhere(name):
        raise KnowledgeRagError(f"{name} is missing from this installation")

    monkeypatch.setattr(resources, "shipped", nowhere)
    questions = tmp_path / "questions.jsonl"
    questions.write_text('{"id": "a", "query": "x"}\n')
    with pytest.raises(InvalidRequest, match="name yours by --on and --off") as failure:
        floor(**({} if given == "neither" else {given: questions}))
    assert exit_code_for(failure.value) is ExitCode.BAD_INPUT
