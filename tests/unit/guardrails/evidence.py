"""The evidence that the guardrails' tests share."""

from knowledge_rag.core.citations import Citation
from knowledge_rag.core.outcome import RetrievalResult
from knowledge_rag.guardrails.ledger import Ledger
from knowledge_rag.guardrails.verify import VerifiedStream, verify


def result(source_file, start_line, content):
    end_line = start_line + content.count("\n")
    return RetrievalResult(content, Citation(source_file, start_line, end_line, "Steps"), 0.5)


LEDGER = Ledger.of(
    [result("runbooks/rds.md", 5, "five\nsix\nseven\neight\nnine\nten")],
    [result("b.md", 1, "one\ntwo\nthree")],
)


def streamed(text, size=1, at_once=0):
    """Return the answer of a stream in fragments of one size, the first characters at once, and what it had shown before its end."""
    stream = VerifiedStream(LEDGER)
    shown = stream.feed(text[:at_once])
    shown += "".join(stream.feed(text[at : at + size]) for at in range(at_once, len(text), size))
    rest, verified = stream.close()
    assert shown + rest == verified.text
    return verified, shown


def verified_in(sizes, text):
    """Return the verified answer, which is the same for streams in fragments of these sizes."""
    verified = verify(text, LEDGER)
    for size in sizes:
        assert streamed(text, size)[0] == verified
    return verified
