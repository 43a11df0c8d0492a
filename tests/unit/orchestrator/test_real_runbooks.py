"""Runbooks that nobody here wrote: what is lifted out of them is theirs, word for word."""

import asyncio
import random

from knowledge_rag.core.lines import decode, slice_lines
from knowledge_rag.orchestrator.advisors.advisor import ExtractiveAdvisor
from knowledge_rag.orchestrator.composition import recommend
from knowledge_rag.orchestrator.incident import Incident
from tests.support.shared_data import shared_data
from tests.unit.orchestrator.evidence import findings_of, results_of
from tests.unit.orchestrator.schema import VALIDATOR

DOCUMENTS = 80


def documents():
    """Give a sample of real documents: name, text and up to eight of its chunks, as if retrieved."""
    paths = sorted(shared_data("retrieval/docs").rglob("*.md"))
    for path in random.Random(7).sample(paths, DOCUMENTS):
        data = path.read_bytes()
        if data:
            name, text = f"runbooks/{path.name}", decode(data, path.name)
            results = results_of(name, text)
            chosen = sorted(
                random.Random(path.name).sample(range(len(results)), min(8, len(results)))
            )
            yield path.stem, text, [results[place] for place in chosen]


def test_every_line_of_every_step_stands_in_the_lines_that_it_cites():
    steps = 0
    for stem, text, results in documents():
        findings = findings_of(results[:5], results[3:])
        incident = Incident(title=stem.replace("-", " "))
        given = recommend(incident, asyncio.run(ExtractiveAdvisor().advise(incident, findings)))
        VALIDATOR.validate(given.to_dict())
        for step in given.guidance:
            cited = (it.citation for it in step.citations)
            held = "\n".join(slice_lines(text, at.start_line, at.end_line) for at in cited)
            for line in "\n".join((step.action, *step.commands)).split("\n"):
                assert line.strip() in held.replace("\r", ""), (stem, line)
            assert step.support.value != "unsupported", (stem, step.action)
            steps += 1
    assert steps > 2 * DOCUMENTS
