"""The evidence that the guardrails' tests share."""

from knowledge_rag.core.citations import Citation
from knowledge_rag.core.outcome import RetrievalResult
from knowledge_rag.guardrails.ledger import Ledger


def result(source_file, start_line, content):
    end_line = start_line + content.count("\n")
    return RetrievalResult(content, Citation(source_file, start_line, end_line, "Steps"), 0.5)


LEDGER = Ledger.of(
    [result("runbooks/rds.md", 5, "five\nsix\nseven\neight\nnine\nten")],
    [result("b.md", 1, "one\ntwo\nthree")],
)
