from knowledge_rag.core.chunking import chunk_text
from knowledge_rag.core.documents import read_document
from knowledge_rag.drift import commands
from knowledge_rag.drift.findings import Kind
from knowledge_rag.drift.stamp import check_text, stamped

TEXT = """\
# Nodes

Run `kubectl gett pods` first.

## Drain

```sh
kubectl drain n1 --delete-local-data
kubectl drain n2 --delete-local-data
kubectl get pods
```
"""


def test_each_chunk_carries_what_was_found_in_its_lines():
    document, text = read_document("a.md", TEXT.encode())
    first, second = stamped(chunk_text(document, text), check_text("a.md", TEXT))
    assert first.drift == ("3: kubectl has no command gett; did you mean get?",)
    said = "kubectl drain has no option --delete-local-data; did you mean --delete-emptydir-data?"
    assert second.drift == (f"8: {said}", f"9: {said}")


def test_chunks_without_findings_stay_the_same():
    document, text = read_document("a.md", b"# A\n\n`kubectl get pods`\n")
    chunks = chunk_text(document, text)
    assert stamped(chunks, check_text("a.md", text)) == chunks


def test_a_fault_of_the_check_costs_nobody_a_document(monkeypatch):
    monkeypatch.setattr(commands, "commands_in", lambda *_: {}["a fault"])
    (finding,) = check_text("a.md", TEXT)
    assert finding.kind is Kind.UNREADABLE
    assert "KeyError" in finding.message
