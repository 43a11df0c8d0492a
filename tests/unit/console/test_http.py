"""Who is answered, and what each response binds a browser to."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import httpx
import pytest

from knowledge_rag.console.app import POLICY, TYPES, ConsoleSettings, create_console, read_assets
from knowledge_rag.console.documents import KeptDocuments
from knowledge_rag.console.limits import MAX_BODY_BYTES
from knowledge_rag.local.errors import UnusableKnowledgeBase
from knowledge_rag.orchestrator.advisors.advisor import ExtractiveAdvisor
from tests.support.local import PROJECT
from tests.support.retrievals import Answering
from tests.unit.console.kept import NAME, Shelf
from tests.unit.console.test_questions import FOUND, Writing

OWN = "http://127.0.0.1:8320"
QUESTION = {"question": "RDS failover promote replica"}


class Console:
    """Asks an application in this process, one request after the other."""

    def __init__(self, documents=None, **settings):
        self.app = create_console(
            Answering(FOUND),
            documents or KeptDocuments(Shelf()),
            {"extractive": ExtractiveAdvisor()},
            ConsoleSettings(**settings),
        )

    def __call__(self, method, path, *, base=OWN, **more):
        async def request():
            transport = httpx.ASGITransport(self.app)
            async with httpx.AsyncClient(transport=transport, base_url=base) as client:
                return await client.request(method, path, **more)

        return asyncio.run(request())

    def asked(self, **headers):
        return self("POST", "/api/ask", json=QUESTION, headers=headers)


@pytest.fixture(scope="module")
def console(tmp_path_factory):
    return Console(reports=tmp_path_factory.mktemp("data") / "reports.jsonl")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", path)
        for path in (
            "/",
            "/dashboard",
            "/doc/x/y.md",
            "/static/js/main.js",
            "/static/nothing.js",
            "/api/console",
            "/api/metrics",
            "/api/document?source=x",
            "/api/answers/x",
            "/nothing",
        )
    ]
    + [("POST", "/"), ("GET", "/api/ask"), ("POST", "/api/ask"), ("DELETE", "/api/reports")],
)
def test_every_response_binds_the_browser(console, method, path):
    response = console(method, path)
    assert response.headers["content-security-policy"] == POLICY
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["referrer-policy"] == "no-referrer"
    assert response.headers["cross-origin-resource-policy"] == "same-origin"
    assert response.headers["cache-control"] in ("no-store", "no-cache")
    if response.status_code >= 400 and not path.startswith("/doc/"):
        assert list(response.json()) == ["error"]


def test_a_page_that_is_not_there_is_a_page_for_people_and_json_for_programs(console):
    people = {"Accept": "text/html,*/*"}
    for path in ("/nothing", "/doc/x/y.md"):
        response = console("GET", path, headers=people)
        assert response.status_code == 404
        assert response.headers["content-type"].startswith("text/html")
    assert console("GET", "/nothing").json() == {"error": "Not Found"}
    assert console("GET", "/static/nothing.js", headers=people).json()["error"]
    assert console("GET", f"/doc/{NAME}").status_code == 200


def test_a_document_is_rendered_with_the_version_of_its_lines(console):
    shown = console("GET", f"/api/document?source={NAME}").json()
    rendered = console("GET", f"/api/rendered?source={NAME}").json()
    assert rendered["version"] == shown["version"]
    assert rendered["html"].startswith("<h2 data-lines=")
    assert shown["isMarkdown"]


@pytest.mark.parametrize("source", ["gone.md", "../../etc/passwd", ""])
def test_a_document_that_was_not_ingested_is_not_rendered(console, source):
    response = console("GET", f"/api/rendered?source={source}")
    assert response.status_code == 404
    assert response.json() == {"error": "no document with this name was ingested"}


def test_a_document_without_markdown_has_its_lines_only():
    shelf = Shelf()
    shelf.kept = {"notes.txt": "plain *text*\n"}
    console = Console(KeptDocuments(shelf))
    assert not console("GET", "/api/document?source=notes.txt").json()["isMarkdown"]
    assert console("GET", "/api/rendered?source=notes.txt").status_code == 404


def test_documents_are_listed_where_they_can_be(console):
    response = console("GET", "/api/documents")
    assert response.status_code == 404
    assert "can't be listed" in response.json()["error"]


def test_the_page_is_compressed_for_a_browser_that_accepts_it_and_is_small_enough_for_a_phone(
    console,
):
    sent = 0
    for name in read_assets():
        response = console("GET", f"/static/{name}", headers={"Accept-Encoding": "gzip"})
        sent += int(response.headers["content-length"])
    assert sent < 120_000
    plain = console("GET", "/static/js/main.js", headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.content == read_assets()["js/main.js"]


def test_an_answer_is_never_held_back_to_be_compressed():
    response = Console().asked(**{"Accept-Encoding": "gzip"})
    assert "content-encoding" not in response.headers


def test_nothing_but_our_own_files_runs_or_styles():
    directives = dict(part.split(" ", 1) for part in POLICY.split("; "))
    assert directives["default-src"] == "'none'"
    assert "unsafe" not in POLICY
    assert directives["script-src"] == directives["style-src"] == "'self'"


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8320", "localhost:8320", "[::1]:8320", "localhost", "LOCALHOST:8320"]
)
def test_this_machine_is_answered_by_its_names(console, host):
    assert console("GET", "/api/console", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "evil.example:8320",
        "127.0.0.1.evil.example",
        "localhost:8320@evil.example",
        "localhost.",
        "127.0.0.1:8320:1",
        "127.0.0.2",
        "127.0.0.1\u00e9",
    ],
)
def test_a_name_that_was_made_to_lead_here_is_not(console, host):
    for path in ("/", "/api/console"):
        response = console("GET", path, headers={"Host": host.encode()})
        assert (response.status_code, response.json()) == (
            403,
            {"error": "requests for this Host are refused"},
        )


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Origin": "http://localhost:9999"},
        {"Origin": "https://127.0.0.1:8320"},
        {"Origin": "http://127.0.0.1:8320.evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {
            "Sec-Fetch-Site": "cross-site",
            "Sec-Fetch-Mode": "navigate",
            "Sec-Fetch-Dest": "document",
        },
    ],
)
def test_pages_of_others_are_not_answered(console, headers):
    assert console.asked(**headers).status_code == 403
    assert console("GET", "/api/metrics", headers=headers).status_code == 403


def test_a_link_from_elsewhere_leads_to_a_document_and_an_embedding_does_not(console):
    link = {
        "Sec-Fetch-Site": "cross-site",
        "Sec-Fetch-Mode": "navigate",
        "Sec-Fetch-Dest": "document",
    }
    assert console("GET", f"/doc/{NAME}", headers=link).status_code == 200
    for changed in (
        {"Sec-Fetch-Dest": "iframe"},
        {"Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"},
    ):
        assert console("GET", "/doc/runbooks/a.md", headers=link | changed).status_code == 403


def test_our_own_page_and_a_program_are_answered(console):
    for headers in ({"Origin": OWN, "Sec-Fetch-Site": "same-origin"}, {}):
        assert console.asked(**headers).status_code == 200


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""]
)
def test_a_body_that_a_form_could_send_is_refused(console, kind):
    for path in ("/api/ask", "/api/reports"):
        response = console(
            "POST", path, content=json.dumps(QUESTION), headers={"Content-Type": kind}
        )
        assert response.status_code == 415


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"[]", 400),
        (b'{"question": NaN}', 400),
        (b'{"question": "\\ud800"}', 400),
        (b"[" * 100_000, 400),
        (b"\xff\xfe", 400),
        (b'{"question": "' + b"x" * MAX_BODY_BYTES + b'"}', 413),
    ],
)
def test_what_is_no_json_object_of_text_is_refused(console, body, status):
    response = console(
        "POST", "/api/ask", content=body, headers={"Content-Type": "application/json"}
    )
    assert response.status_code == status
    assert response.json()["error"]


def test_the_pages_files_are_served_by_their_exact_names_alone(console):
    assets = read_assets()
    assert "index.html" in assets
    for name, data in assets.items():
        response = console("GET", f"/static/{name}")
        assert (response.status_code, response.content) == (200, data)
        assert response.headers["content-type"] == TYPES[Path(name).suffix]
    for name in ("..%2fapp.py", "INDEX.HTML", "/etc/passwd", "index.html/", "", "js"):
        assert console("GET", f"/static/{name}").status_code in (404, 405)


def test_only_known_kinds_of_files_are_read(tmp_path):
    for name in ("a.js", "b.py", "c", ".hidden.js", "d.js/e.css"):
        path = tmp_path / name
        if "/" in name:
            path = tmp_path / "inner" / "e.css"
            path.parent.mkdir()
        path.write_text("x")
    assert sorted(read_assets(tmp_path)) == ["a.js", "inner/e.css"]


def test_an_answer_can_be_read_exported_and_reported(console):
    stream = console.asked().text
    done = json.loads(stream.rpartition("data: ")[2])
    key = done["answerId"]
    answer = console("GET", f"/api/answers/{key}").json()
    assert answer["question"] == QUESTION["question"]
    assert answer["blocks"]
    exported = console("GET", f"/api/answers/{key}.json")
    assert exported.headers["content-disposition"].startswith('attachment; filename="answer-20')
    assert "blocks" not in exported.json()
    text = console("GET", f"/api/answers/{key}.md")
    assert text.headers["content-type"] == "text/markdown; charset=utf-8"
    assert "[Source: runbooks/failover.md, lines 5-5]" in text.text
    assert console("GET", f"/api/answers/{key}.exe").status_code == 404

    reported = console("POST", "/api/reports", json={"answerId": key, "number": 1, "comment": "no"})
    assert reported.status_code == 201
    report = json.loads(Path(reported.json()["path"]).read_text().split("\n")[-2])
    assert report["citation"]["source_file"] == NAME
    assert report["comment"] == "no"
    assert console("GET", "/api/metrics").json()["sources"][0]["citations"] == 3


def test_half_a_character_of_a_model_travels_and_breaks_nothing():
    console = Console()
    writes = Writing("1. Promote \ud800 the replica. [Source 1]\n")
    console.app = create_console(Answering(FOUND), None, {"converse": writes})
    stream = console.asked().text
    done = json.loads(stream.rpartition("data: ")[2])
    assert done["recommendation"]["status"] == "ok"
    for suffix in ("", ".json", ".md"):
        answer = console("GET", f"/api/answers/{done['answerId']}{suffix}")
        assert answer.status_code == 200
        assert "ud800" in answer.text


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/api/reports", {"number": 1}, 400),
        ("/api/reports", {"answerId": "x", "number": 1}, 404),
        ("/api/reports", {"answerId": "x", "number": 1, "path": "/tmp/x"}, 400),
    ],
)
def test_reports_are_checked(console, path, body, status):
    assert console("POST", path, json=body).status_code == status


def test_a_document_is_had_by_the_exact_name_alone(console):
    ok = console("GET", "/api/document", params={"source": NAME, "lines": ["1-3", "3"]})
    assert [one["start"] for one in ok.json()["ranges"]] == [1, 3]
    for name in ("", "../" + NAME, "/" + NAME, NAME + "\0", "no.md"):
        assert console("GET", "/api/document", params={"source": name}).status_code == 404
    wrong = console("GET", "/api/document", params={"source": NAME, "lines": "x"})
    assert wrong.status_code == 400


def test_a_knowledge_base_that_fails_is_told_in_a_word_and_logged(caplog):
    password = "hunter2"

    class Damaged(Shelf):
        def passages(self, source_file):
            raise UnusableKnowledgeBase(f"/home/me/secret.kb: damaged at {source_file}")

    class Defective(Shelf):
        def passages(self, source_file):
            raise RuntimeError(password + source_file)

    for shelf, status in ((Damaged(), 503), (Defective(), 500)):
        response = Console(KeptDocuments(shelf))("GET", "/api/document?source=x")
        assert response.status_code == status
        assert "secret" not in response.text
        assert password not in response.text
    assert "secret.kb: damaged" in caplog.text
    assert "error=RuntimeError" in caplog.text
    assert password not in caplog.text


def test_where_no_documents_are_known_an_answers_own_lines_are_shown():
    console = Console()
    console.app = create_console(Answering(FOUND), None, {"extractive": ExtractiveAdvisor()})
    assert console("GET", f"/api/document?source={NAME}").status_code == 404
    assert console.asked().status_code == 200
    assert (
        console("GET", f"/api/document?source={NAME}").json()["lines"][4]
        == "1. Promote the replica with `promote`."
    )


def test_every_file_of_the_page_is_of_a_kind_that_is_served():
    folder = PROJECT / "knowledge_rag" / "console" / "static"
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert there == set(read_assets())
