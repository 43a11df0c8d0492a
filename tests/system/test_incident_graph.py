"""The knowledge agent in a graph, on the sample runbooks: its promise, its example, its page."""

import asyncio
import hashlib
import importlib.util
import json
import re
import subprocess
import sys
from contextlib import closing, contextmanager

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from knowledge_rag.core.retrieval import SearchSettings
from knowledge_rag.evaluation.faults.server import serving, silent
from knowledge_rag.local.knowledge_base import KnowledgeBase
from knowledge_rag.local.local_retrieval import local_retrieval
from knowledge_rag.orchestrator.backends.aws import BedrockRetrieve
from knowledge_rag.orchestrator.backends.bounded import BoundedRetrieval
from knowledge_rag.orchestrator.budget import Budget
from knowledge_rag.orchestrator.incident import Incident
from knowledge_rag.orchestrator.node import knowledge_rag_node
from knowledge_rag.orchestrator.planning import COMPLETION_RESULTS
from knowledge_rag.orchestrator.queries import MAX_QUERIES, RESULTS, build_queries
from knowledge_rag.orchestrator.searches import MAX_COMPLETED
from knowledge_rag.orchestrator.wording import NO_MATCH, UNREACHABLE
from tests.support.cli import SECONDS, lines_of
from tests.support.local import CORPUS, PROJECT, minilm
from tests.support.patience import longer
from tests.unit.orchestrator.schema import VALIDATOR

EXAMPLE = PROJECT / "examples/incident_graph.py"
ON_CALL = PROJECT / "examples/on_call_graph.py"
PAGE = PROJECT / "docs/langgraph.md"
AMPLE = Budget(30)
"""A busy machine is no failure."""

UNDOCUMENTED = {
    "incident": {"incident_id": "INC-2", "title": "The espresso machine leaks"},
    "signals": [{"message": "coffee grounds on the floor of the kitchen"}],
}


@contextmanager
def imported(path):
    """Import an example for as long as a block runs."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # where LangGraph looks its types up
    spec.loader.exec_module(module)
    yield module
    del sys.modules[path.stem]


@pytest.fixture(scope="module")
def example():
    with imported(EXAMPLE) as module:
        yield module


@pytest.fixture(scope="module")
def on_call():
    with imported(ON_CALL) as module:
        yield module


class Recording:
    """Passes questions on and keeps what came back."""

    def __init__(self, retrieval):
        self._retrieval, self.queries, self.results = retrieval, [], []
        self.floors = retrieval.floors

    async def retrieve(self, query):
        outcome = await self._retrieval.retrieve(query)
        self.queries.append(query)
        self.results += outcome.results
        return outcome


@pytest.fixture(scope="module")
def opened(settled, first_use):
    assert first_use.code == 0
    with KnowledgeBase(settled.data / "sample.kb", minilm()) as knowledge_base:
        yield knowledge_base


@pytest.fixture
def recording(opened):
    with local_retrieval(opened, budget=AMPLE) as retrieval:
        yield Recording(retrieval)


def knowledge_of(result):
    output = result["agent_outputs"]["knowledge-rag"]
    VALIDATOR.validate(output)
    json.dumps(output, allow_nan=False)
    return output


def cited(output):
    """Give every citation of an output, steps first."""
    advice = output["recommendation"]
    for part in (*advice["guidance"], *advice["similar_incidents"]):
        yield from (part["citation"], *part.get("further_citations", ()))


# the promise


def test_every_step_cites_lines_of_a_real_file_that_retrieval_returned(example, recording):
    graph = example.incident_graph(knowledge_rag_node(recording))
    output = knowledge_of(asyncio.run(graph.ainvoke(example.INCIDENT)))
    assert output["status"] == "ok"
    assert output["recommendation"]["guidance"]
    for citation in cited(output):
        assert citation["source_file"].endswith(".md")
        assert (CORPUS / citation["source_file"]).is_file()
        first, last = citation["start_line"], citation["end_line"]
        text = lines_of(CORPUS / citation["source_file"], first, last)
        assert hashlib.sha256(text.encode()).hexdigest() == citation["text_sha256"]
        assert text in {
            "\n".join(it.content.split("\n")[first - start : last - start + 1])
            for it in recording.results
            if it.citation.source_file == citation["source_file"]
            and (start := it.citation.start_line) <= first <= last <= it.citation.end_line
        }


def test_it_asks_three_questions_for_five_results_and_completes_three_documents_at_most(
    example, recording
):
    graph = example.incident_graph(knowledge_rag_node(recording))
    many = {**example.INCIDENT, "signals": example.INCIDENT["signals"] * 40, "evidence": ["e"] * 40}
    knowledge_of(asyncio.run(graph.ainvoke(many)))
    asked = [query for query in recording.queries if query.source_file is None]
    completed = [query for query in recording.queries if query.source_file is not None]
    assert 1 <= len(asked) <= MAX_QUERIES == 3
    assert all(query.max_results <= RESULTS == 5 for query in asked)
    assert 1 <= len(completed) <= MAX_COMPLETED == 3
    assert all(query.max_results <= COMPLETION_RESULTS == 100 for query in completed)
    assert len({query.source_file for query in completed}) == len(completed)


def test_incidents_at_once_get_their_own_advice(example, recording):
    graph = example.incident_graph(knowledge_rag_node(recording))
    states = [
        example.INCIDENT,
        {"signals": [{"alert_name": "lambda-throttles"}], "incident": {"service": "lambda"}},
        UNDOCUMENTED,
    ]

    async def run():
        return await asyncio.gather(*map(graph.ainvoke, states))

    rds, throttled, nothing = map(knowledge_of, asyncio.run(run()))
    assert rds["recommendation"]["guidance"][0]["citation"]["source_file"].startswith(
        "runbooks/rds"
    )
    (file,) = {step["citation"]["source_file"] for step in throttled["recommendation"]["guidance"]}
    assert file == "runbooks/lambda-throttling.md"
    assert (nothing["status"], nothing["recommendation"]["summary"]) == ("no_match", NO_MATCH)


# an outage


def test_a_stalled_knowledge_base_is_told_as_such(example, aws_environment):
    queries = build_queries(Incident.from_state(example.INCIDENT))
    for seconds in longer(0.5):
        with serving(silent) as stalled:
            aws_environment.setenv("AWS_ENDPOINT_URL_BEDROCK_AGENT_RUNTIME", stalled.url)
            way = BedrockRetrieve(SearchSettings("KB12345678"), "us-east-1")
            with closing(BoundedRetrieval(way, Budget(seconds))) as retrieval:
                graph = example.incident_graph(knowledge_rag_node(retrieval))
                asyncio.run(retrieval.prepare())
                result = asyncio.run(graph.ainvoke(example.INCIDENT))
        output = knowledge_of(result)
        assert (output["status"], output["reason"]) == ("degraded", "timeout")
        assert output["recommendation"]["summary"] == UNREACHABLE
        assert result["decision"]["signals"] == 1  # the other agent's work stands
        if len(stalled.requests) >= len(queries):
            break
    assert len(stalled.requests) >= len(queries)


# a person in between

THREAD = {"configurable": {"thread_id": "INC-1042"}}
UNCLEAR = {"incident": {"title": "the database is slow"}}


def begun(on_call, recording, state):
    """Run a graph until it asks a person; return what it shows, a way to answer, and what was posted.

    Each answer goes to a graph of its own, as in another process: only the checkpointer is shared.
    """
    posted, saver = [], InMemorySaver()

    def run(given):
        graph = on_call.on_call_graph(knowledge_rag_node(recording), posted.append, saver)
        result = asyncio.run(graph.ainvoke(given, THREAD))
        return result["__interrupt__"][0].value if "__interrupt__" in result else result

    return run(state), lambda answer: run(Command(resume=answer)), posted


def test_nothing_is_posted_before_a_person_agrees_and_then_nothing_is_looked_up_again(
    on_call, recording
):
    shown, answer, posted = begun(on_call, recording, on_call.ALERT)
    asked = len(recording.queries)
    assert shown["status"] == "ok"
    assert shown["steps"]
    assert not posted
    assert answer("post")["posted"] is True
    assert len(recording.queries) == asked
    (text,) = posted
    lines = text.split("\n")
    assert lines[0] == shown["summary"]
    cited = re.findall(
        r"^\d+\. (?s:.*?) \((runbooks/[\w-]+\.md):(\d+)-(\d+)\)$", text, re.MULTILINE
    )
    assert len(cited) == int(lines[0].split()[0])
    assert all(lines_of(CORPUS / file, int(a), int(b)).strip() for file, a, b in cited)
    forbidden = next(n for n, line in enumerate(lines) if line.startswith("Do not: `purge-queue`"))
    assert forbidden < next(n for n, line in enumerate(lines) if line.startswith("1. "))


def test_a_person_may_drop_it(on_call, recording):
    _, answer, posted = begun(on_call, recording, on_call.ALERT)
    assert "posted" not in answer("drop")
    assert not posted


def test_where_it_is_unclear_a_person_chooses_a_procedure_and_is_asked_again(on_call, recording):
    shown, answer, posted = begun(on_call, recording, UNCLEAR)
    assert not shown["steps"]
    assert len(shown["choices"]) > 1
    at, _ = list(shown["choices"].items())[1]
    chosen = answer(at)
    assert {
        re.search(r"\((\S+):\d+-\d+\)$", it)[1] for it in chosen["steps"] if it[0].isdigit()
    } == {at.rpartition(":")[0]}
    assert not posted
    answer("post")
    assert posted


def test_a_minor_alert_disturbs_nobody(on_call, recording):
    result, _, posted = begun(on_call, recording, {"incident": {"title": "x", "severity": "SEV5"}})
    assert not posted
    assert not result["agent_outputs"]
    assert not recording.queries


# what is written about it


END_OF_BLOCK = "----- end of block -----"


def run_script(settled, *arguments):
    ran = subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        capture_output=True,
        text=True,
        env=settled._environment,
        cwd=PROJECT,
        timeout=SECONDS,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.usefixtures("sample")
def test_the_examples_print_what_they_stream_decide_and_post(settled):
    both = f"import runpy\nfor path in {[str(EXAMPLE), str(ON_CALL)]}:\n"
    both += f"    runpy.run_path(path, run_name='__main__')\n    print({END_OF_BLOCK!r})\n"
    printed, asked, _ = run_script(settled, "-c", both).split(f"{END_OF_BLOCK}\n")
    assert asked.startswith('{\n  "status": "ok",')
    assert "steps from runbooks/sqs-backlog.md." in asked.partition("Caution")[2]
    *events, rest = printed.split("\n", 5)
    assert [event.strip() for event in events] == [
        "searching", "found ok", "evidence", "text", "done ok",
    ]  # fmt: skip
    decision = json.loads(rest)
    assert decision["documented"] == "ok"
    assert decision["signals"] == 1
    assert decision["first_step"]["citation"]["source_file"] in rest


BLOCK = r"^```python\n(?P<code>.*?)^```\n(?:^```(?:json|text)\n(?P<shown>.*?)^```\n)?"


def as_pattern(shown):
    """``...`` stands for anything; everything else has to be there."""
    return re.compile(re.escape(shown.strip()).replace(r"\.\.\.", ".*"), flags=re.DOTALL)


@pytest.mark.usefixtures("sample")
def test_the_page_prints_what_it_says(settled, tmp_path):
    blocks = re.findall(BLOCK, PAGE.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    script = tmp_path / "page.py"
    script.write_text(f"print({END_OF_BLOCK!r})\n".join(code for code, _ in blocks))
    printed = run_script(settled, str(script)).split(f"{END_OF_BLOCK}\n")
    assert len(printed) == len(blocks) >= 6
    for (_, shown), output in zip(blocks, printed, strict=True):
        assert as_pattern(shown).fullmatch(output.strip()), output
