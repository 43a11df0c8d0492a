"""What the guardrails make of answers without any mistake: documents' own lines, each chunk cited."""

from knowledge_rag.core.outcome import RetrievalResult
from knowledge_rag.extract.documents import cut
from knowledge_rag.guardrails.ledger import Ledger
from knowledge_rag.guardrails.verify import verify
from knowledge_rag.local.corpus import find_documents
from knowledge_rag.local.corpus_files import read_extracted
from tests.support.local import CORPUS

CHUNKS_OF_AN_ANSWER = 5


def honest_answers():
    for file in find_documents(CORPUS):
        pieces = cut(read_extracted(file))
        for first in range(0, len(pieces), CHUNKS_OF_AN_ANSWER):
            some = pieces[first : first + CHUNKS_OF_AN_ANSWER]
            answer = "\n\n".join(f"{it.content}\n\n{it.citation}" for it in some)
            yield answer, [RetrievalResult(it.content, it.citation, None) for it in some]


def test_every_reference_stays_and_few_answers_are_warned_of():
    found = [verify(answer, Ledger.of(results)).metrics for answer, results in honest_answers()]
    assert len(found) > 50
    assert all(it.references > 0 and it.removed == 0 for it in found)
    assert sum(bool(it.warnings) for it in found) / len(found) < 0.35
