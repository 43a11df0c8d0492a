"""A bundle answers on its own: in a process with the standard library, boto3 and nothing else.

Lambda's own bundle is tried under a Python of the runtime's version, if this machine has one: as long as
every wheel in it is pure Python it runs on any processor. Otherwise, and for libraries that are not, it is
the *twin*, built by the same code for the interpreter that runs the tests.
"""

import json
import subprocess
import sys
from pathlib import Path

import botocore
import pytest

from infra.bundling import BUNDLES, PYTHON_RUNTIME, bundle, find_compiler
from knowledge_rag.evaluation.faults.payloads import FILE, item, retrieved
from knowledge_rag.evaluation.faults.server import RawServer, answering, http, refused_port
from tests.support.bundles import ADVISE, CHUNK, HANDLERS, RETRIEVE, invoke_bundle
from tests.support.fixtures import ENVIRONMENT
from tests.support.pdfs import text_pdf

EVENTS = Path(__file__).parents[1] / "events"


@pytest.fixture
def invoke(tmp_path):
    """Give a function that invokes a handler's bundle."""
    own = find_compiler(PYTHON_RUNTIME)
    native, interpreter = own is None, own or Path(sys.executable)

    def run(module, event=None, **environ):
        path = bundle(module, BUNDLES, native=native).path
        return invoke_bundle(
            path,
            module,
            event,
            interpreter=interpreter,
            folder=tmp_path,
            environ=ENVIRONMENT | environ,
        )

    return run


@pytest.mark.parametrize("module", HANDLERS)
def test_every_handler_imports_compiled_with_nothing_but_its_bundle_and_the_runtime(invoke, module):
    outcome = invoke(module)
    allowed = (*outcome.own_places, *outcome.standard_library)
    assert [file for file in outcome.files if not file.startswith(allowed)] == []
    assert outcome.byte_code
    assert [file for file in outcome.byte_code if not Path(file).is_file()] == []


def test_advice_refuses_what_is_no_batch_of_a_queue(invoke):
    outcome = invoke(ADVISE, {"alarm": "DiskFull"})
    assert outcome.raised.startswith("InvalidRequest: the event is not a batch of queue messages")


def test_retrieve_degrades_where_nothing_listens(invoke):
    event = json.loads((EVENTS / "agent_request_body.json").read_text())
    with refused_port() as port:
        endpoint = f"http://127.0.0.1:{port}"
        # as in Lambda, where what is slow at first isn't part of a call's time
        outcome = invoke(
            RETRIEVE,
            event,
            AWS_ENDPOINT_URL_BEDROCK_AGENT_RUNTIME=endpoint,
            AWS_LAMBDA_INITIALIZATION_TYPE="on-demand",
        )
    response = outcome.answer["response"]
    body = json.loads(response["responseBody"]["application/json"]["body"])
    assert response["httpStatusCode"] == 200
    assert (body["status"], body["reason"], body["results"]) == ("degraded", "unavailable", [])


def test_retrieve_answers_with_cited_lines_even_when_initialised_as_in_lambda(invoke):
    server = RawServer(answering(http(retrieved(item()))))
    try:
        outcome = invoke(
            RETRIEVE,
            json.loads((EVENTS / "direct.json").read_text()),
            AWS_ENDPOINT_URL_BEDROCK_AGENT_RUNTIME=server.url,
            AWS_LAMBDA_INITIALIZATION_TYPE="snap-start",
            POWERTOOLS_SERVICE_NAME="a-deployment",
        )
    finally:
        server.close()
    assert outcome.answer["status"] == "ok"
    assert outcome.answer["results"][0]["citation"]["source_file"] == FILE
    records = [json.loads(line) for line in outcome.output.splitlines()]
    assert {record["service"] for record in records} == {"a-deployment"}


def test_chunk_reads_pages_and_pdfs_with_what_ships_with_it(tmp_path):
    """On the twin: the libraries in Lambda's own bundle are for another processor."""
    (tmp_path / "a.pdf").write_bytes(text_pdf([["On page one."]]))
    (tmp_path / "a.html").write_bytes(b"<h1>Web</h1>")
    program = (
        "import sys; from pathlib import Path; sys.path[:0] = sys.argv[1:2];"
        "from knowledge_rag.extract.documents import extract;"
        "print([extract(name, Path(name).read_bytes()).text for name in ('a.pdf', 'a.html')])"
    )
    path = bundle(CHUNK, BUNDLES, native=True).path
    command = [sys.executable, "-I", "-S", "-B", "-c", program, str(path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("['On page one.\\n', '# Web\\n']\n", "")


def test_chunk_checks_commands_with_what_ships_with_it_and_the_runtime_s_botocore(tmp_path):
    program = (
        "import sys; sys.path[:0] = sys.argv[1:2]; sys.path += sys.argv[2:];"
        "from knowledge_rag.drift.stamp import check_text;"
        "print(*(each.sentence for each in check_text('a.md', '`kubectl gett pods` `aws rds fail-over`')), sep=';');"
        "import tree_sitter_bash; print(tree_sitter_bash.__file__.startswith(sys.argv[1]))"
    )
    path = bundle(CHUNK, BUNDLES, native=True).path
    runtime = str(Path(botocore.__file__).parents[1])
    command = [sys.executable, "-I", "-S", "-B", "-c", program, str(path), runtime]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    found = "kubectl has no command gett; did you mean get?;aws rds has no command fail-over"
    assert (done.stdout, done.stderr) == (f"{found}\nTrue\n", "")


def test_chunk_raises_what_is_wrong_with_an_event(invoke):
    outcome = invoke(CHUNK, {"version": "1.0"})
    assert outcome.raised is not None
    assert outcome.raised.startswith("InvalidRequest: ")


def test_byte_code_is_taken_whatever_became_of_the_sources_times(tmp_path):
    """A zip keeps times to two seconds at best, and CDK's says 1980."""
    (tmp_path / "bundles").mkdir()
    (tmp_path / "process").mkdir()
    path = bundle(RETRIEVE, tmp_path / "bundles", native=True).path
    (path / "knowledge_rag" / "core" / "errors.py").write_text(
        "raise RuntimeError('compiled anew')"
    )
    folder = tmp_path / "process"
    assert invoke_bundle(path, RETRIEVE, interpreter=Path(sys.executable), folder=folder).files
