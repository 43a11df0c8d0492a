import pytest

from knowledge_rag.drift.check import World, check_documents
from knowledge_rag.drift.findings import Check
from knowledge_rag.orchestrator.governing import warns

DELETE = "```sh\nkubectl get pvc\nkubectl delete pvc data\n```\n"


def found(text):
    world = World(lambda _: True, frozenset({Check.DANGER}), warns=warns)
    return [
        (each.line, each.column, each.end_column, each.message)
        for each in check_documents([("a.md", text)], world)
    ]


def test_a_destructive_command_without_a_warning_is_found_at_its_place():
    message = "kubectl delete: nothing near it warns"
    assert found(f"# A\n\nFree the disk.\n\n{DELETE}") == [(7, 1, 15, message)]


@pytest.mark.parametrize(
    "text",
    [
        f"# A\n\nThis can't be undone.\n\n{DELETE}",
        f"# A\n\nAll data is lost.\n\n## Steps\n\nDo.\n\n### Free\n\n{DELETE}",
        f"# A\n\n## Steps\n\nDo.\n\n{DELETE}\nAsk for approval first.\n",
        f"Warning: data loss.\n\n# A\n\n{DELETE}",
        f"{DELETE}\n!!! danger\n",
    ],
)
def test_a_warning_in_its_section_or_one_that_holds_it_is_enough(text):
    assert found(text) == []


@pytest.mark.parametrize(
    "text",
    [
        f"# A\n\n## Other\n\nNever do this.\n\n## Steps\n\n{DELETE}",
        f"# A\n\nDo.\n\n{DELETE}\n\n\n\n## Next\n\nBe careful.\n",
        f"---\nwarning: x\n---\n# A\n\n{DELETE}",
    ],
)
def test_a_warning_elsewhere_is_not(text):
    assert len(found(text)) == 1


@pytest.mark.parametrize(
    "block",
    ["# kubectl delete pvc data", "$ kubectl get pvc\nkubectl delete pvc data", "kubectl get pvc  # then kubectl delete pvc x",
     "2026-01-01 10:00:00 kubectl delete pvc data", "kubectl delete pvc data --dry-run=client"],
)  # fmt: skip
def test_comments_output_logs_and_dry_runs_destroy_nothing(block):
    assert found(f"# A\n\n```\n{block}\n```\n") == []
    assert found("# A\n\n```python\nkubectl delete pvc data\n```\n") == []
