"""Source priority on a small school's pages and PDFs, through the real function and search."""

from __future__ import annotations

import itertools
import os
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_rag.core.net.deadline import Deadline
from knowledge_rag.core.policy_settings import PRIMARY_RESULTS, SourcePolicy, SourcePriority
from knowledge_rag.core.retrieval import Query, Retriever, SearchSettings
from knowledge_rag.local.action_group import local_action_group
from knowledge_rag.local.bedrock.retrieve import KNOWLEDGE_BASE_ID, retrieve
from knowledge_rag.local.bedrock.server import LocalBedrock
from knowledge_rag.local.ingest import ingest
from knowledge_rag.local.knowledge_base import KnowledgeBase
from tests.support.local import WordHashes, minilm, write_files
from tests.support.patience import patient_function
from tests.support.pdfs import text_pdf

SITE = Path(__file__).parents[1] / "data/school/site"
TODAY = "2026-11-21"

DIRECTORS = "Who are the Executive Directors?"
CONFERENCES = "When are parent-teacher conferences?"
DRESS_CODE = "What does the dress code say about hats?"

PDFS = {
    "handbook.pdf": text_pdf(
        [
            [
                "Executive Directors",
                "Who are the Executive Directors? The Executive Directors are appointed",
                "by the board. The Executive Directors in 2019 were Jo Lind and Max Orr.",
            ],
            [
                "Dress code",
                "Hats are taken off indoors. The dress code allows hats outside,",
                "and head coverings worn for religious reasons at all times.",
            ],
            [
                "Parent-teacher conferences",
                "When are parent-teacher conferences? Parent-teacher conferences are held",
                "twice a year. Next parent-teacher conferences: 14 January 2027.",
            ],
        ],
        title="Family handbook",
    ),
    "calendar-2024.pdf": text_pdf(
        [["School calendar", "Parent-teacher conferences: November 14, 2024."]],
        title="School calendar 2024",
    ),
}


@pytest.fixture(scope="module")
def school(tmp_path_factory):
    """The school's knowledge base, made from real pages and PDFs."""
    folder = tmp_path_factory.mktemp("school")
    pages = {f"site/{path.name}": path.read_bytes() for path in SITE.glob("*.html")}
    write_files(folder / "docs", pages | {f"pdf/{name}": data for name, data in PDFS.items()})
    report = ingest(folder / "docs", folder / "school.kb", embedder=minilm())
    assert (len(report.added), report.skipped) == (len(pages) + len(PDFS), ())
    with KnowledgeBase(folder / "school.kb", minilm()) as opened, LocalBedrock(opened) as bedrock:
        yield bedrock.endpoint_url


@contextmanager
def function(url: str, policy: SourcePolicy, **environment: str):
    with patient_function(), pytest.MonkeyPatch.context() as patch:
        for name, value in {"POLICY_TODAY": TODAY, **environment}.items():
            patch.setenv(name, value)
        with local_action_group(url, policy=policy) as group:
            yield group


@pytest.fixture(scope="module")
def off(school):
    with function(school, SourcePolicy.OFF) as group:
        return {
            question: group.invoke({"query": question, "max_results": 100, "explain": True}).body
            for question in (DIRECTORS, CONFERENCES, DRESS_CODE)
        }


@pytest.fixture
def ask(school):
    with function(school, SourcePolicy.WEBSITE_FIRST) as group:

        def asked(question: str, most: int = 5, **arguments: object) -> dict[str, Any]:
            event = {"query": question, "max_results": most, "explain": True}
            return group.invoke(event | arguments).body

        yield asked


def files(answer):
    return [result["citation"]["source_file"] for result in answer["results"]]


class TestThreeQuestions:
    def test_who_the_executive_directors_are_the_website_says(self, ask, off):
        assert files(off[DIRECTORS])[0] == "pdf/handbook.pdf"
        answer = ask(DIRECTORS)
        assert files(answer)[0] == "site/leadership.html"
        assert "Amara Osei" in answer["results"][0]["content"]
        assert answer["results"][0]["metadata"]["source_url"].endswith("/leadership")

    def test_when_parent_teacher_conferences_are_the_page_with_the_next_ones_says(self, ask, off):
        order = files(off[CONFERENCES])
        assert order.index("site/conferences-2025.html") < order.index("site/conferences.html")
        answer = ask(CONFERENCES)
        dated = [it for it in files(answer) if it.startswith("site/conferences")]
        assert dated.index("site/conferences.html") < dated.index("site/conferences-2025.html")
        assert files(answer)[0] == "site/conferences.html"
        assert answer["results"][0]["metadata"]["dates"] == ["2026-12-03", "2026-12-04"]
        assert "notice" not in answer

    def test_what_only_a_pdf_answers_the_pdf_answers(self, ask, off):
        answer = ask(DRESS_CODE, document_type="pdf")
        assert answer["results"][0] == off[DRESS_CODE]["results"][0]
        assert files(answer)[0] == "pdf/handbook.pdf"
        assert answer["results"][0]["metadata"]["page"] == 2
        assert "Hats are taken off" in answer["results"][0]["content"]
        assert "Hats are taken off" in str(ask(DRESS_CODE)["results"])


class TestThreeErrors:
    def test_without_websites_pdfs_are_used_as_they_rank(self, ask):
        answer = ask(DIRECTORS, document_type="pdf")
        assert set(files(answer)) <= {f"pdf/{name}" for name in PDFS}
        assert [it["before"] for it in answer["explanation"]["order"]] == [
            it["after"] for it in answer["explanation"]["order"]
        ]

    def test_a_source_without_dates_keeps_its_rank_among_its_kind(self, ask):
        order = ask("When do conferences start, and how do they work?")["explanation"]["order"]
        websites = [it for it in order if it["source_kind"] == "website"]
        by_rank = sorted(websites, key=lambda it: it["before"])
        for rank, entry in enumerate(websites):
            if entry["timing"] == "undated":
                assert by_rank[rank] == entry
        assert "undated" in {it["timing"] for it in websites}

    def test_where_all_dates_are_past_the_best_is_given_and_the_reader_told(self, school):
        with function(school, SourcePolicy.WEBSITE_FIRST, POLICY_TODAY="2031-01-01") as group:
            answer = group.invoke({"query": CONFERENCES}).body
        assert answer["status"] == "ok"
        assert answer["notice"] == (
            "Every date in these passages is past, the latest is 2027-01-14: "
            "what they say may be outdated."
        )


def test_off_the_order_is_that_of_retrieve_to_the_byte(school, off):
    for question, answer in off.items():
        with function(school, SourcePolicy.OFF) as group:
            plain = group.invoke({"query": question, "max_results": 100}).body
        explained = answer.pop("explanation")
        assert answer == plain
        assert explained["policy"] == "off"
        scores = [result["relevance_score"] for result in plain["results"]]
        assert scores == sorted(scores, reverse=True)


def test_scores_are_those_of_retrieve(ask, off):
    theirs = {_key(it): it for it in off[CONFERENCES]["results"]}
    for result in ask(CONFERENCES, most=100)["results"]:
        assert result == theirs[_key(result)]


def test_paraphrases_put_one_page_first(ask):
    asked = [
        CONFERENCES,
        "next parent-teacher conference",
        "What date are the parent-teacher conferences?",
        "upcoming parent teacher conferences",
    ]
    assert {files(ask(question))[0] for question in asked} == {"site/conferences.html"}


def test_the_agents_answer_carries_dates_and_address(school):
    with function(school, SourcePolicy.WEBSITE_FIRST) as group:
        answer = group.retrieve(CONFERENCES)
    metadata = answer.body["results"][0]["metadata"]
    assert metadata["dates"] == ["2026-12-03", "2026-12-04"]
    assert metadata["source_url"] == "https://www.north-valley.example/conferences"
    assert "explanation" not in answer.body


def test_the_user_s_setting_turns_it_on_as_the_function_s_does(school, monkeypatch):
    monkeypatch.setenv("SOURCE_POLICY", "website-first")
    with patient_function(), local_action_group(school) as group:
        assert files(group.invoke({"query": DIRECTORS}).body)[0] == "site/leadership.html"
    assert os.environ["SOURCE_POLICY"] == "website-first"


class Local:
    """Answers Retrieve from a knowledge base, as the local server does, without a socket."""

    def __init__(self, knowledge_base):
        self.knowledge_base = knowledge_base

    def retrieve(self, knowledgeBaseId, **body):  # noqa: N803
        return retrieve(self.knowledge_base, knowledgeBaseId, body)


@pytest.fixture(scope="module")
def crowd(tmp_path_factory):
    """Forty PDFs that say more of what is asked than three pages do, and forty that say nothing of it."""
    folder = tmp_path_factory.mktemp("crowd")
    documents = {}
    for number, words in enumerate(itertools.islice(itertools.product(WORDS, repeat=3), 80)):
        said = "gymnasium keys" if number < 40 else "timetable"
        kind = "document_type: pdf"
        documents[f"docs/{number}.md"] = f"---\n{kind}\n---\n# {' '.join(words)}\n\n{said}\n"
    for name in PAGES:
        url = f"source_url: https://school.example/{name}"
        body = f"# Caretaker\n\nThe caretaker {name} {FILLER} keeps keys.\n"
        documents[f"site/{name}.md"] = f"---\n{url}\n---\n{body}"
    documents["site/annex.md"] = (
        "---\nsource_url: https://school.example/annex\nservice: annex\n---\n# Annex\n\nClosed.\n"
    )
    write_files(folder / "docs", documents)
    ingest(folder / "docs", folder / "crowd.kb", embedder=WordHashes())
    with KnowledgeBase(folder / "crowd.kb", WordHashes()) as opened:
        yield opened


WORDS = ("lesson", "teacher", "pupil", "garden", "window")
PAGES = ("quenby", "zoltan", "xanthe")
FILLER = "who lives beside the river with a dog and two cats and works all day and"


def found(knowledge_base, question, priority=None, most=5):
    search = SearchSettings(KNOWLEDGE_BASE_ID, priority=priority)
    retriever = Retriever(Local(knowledge_base), search)
    outcome = retriever.retrieve(Query(question, most), Deadline.after(60)).outcome
    return [result.citation.source_file for result in outcome.results]


def test_6_a_page_that_ranks_21_to_60_is_shown(crowd):
    question = "gymnasium keys"
    ranks = [found(crowd, question, most=95).index(f"site/{name}.md") + 1 for name in PAGES]
    assert all(20 < rank <= PRIMARY_RESULTS for rank in ranks), ranks
    assert not set(found(crowd, question)) & {f"site/{name}.md" for name in PAGES}
    shown = found(crowd, question, SourcePriority())
    assert set(shown[: len(PAGES)]) == {f"site/{name}.md" for name in PAGES}


def test_a_page_of_the_secondary_scope_is_found_though_it_ranks_behind_sixty(crowd):
    question = "gymnasium keys lesson"
    ranked = found(crowd, question, most=95)
    assert ranked.index("site/annex.md") >= PRIMARY_RESULTS
    assert "site/annex.md" not in found(crowd, question, SourcePriority(), most=95)
    scope = {"equals": {"key": "service", "value": "annex"}}
    shown = found(crowd, question, SourcePriority(scope))
    assert shown[: len(PAGES) + 1] == [
        *(it for it in ranked if it.startswith("site/") and it != "site/annex.md"),
        "site/annex.md",
    ]


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(PAGES), st.permutations(["gymnasium", "keys", "lesson", "of"]))
def test_5_the_page_with_the_very_word_is_found_and_first(crowd, name, others):
    shown = found(crowd, " ".join([name, *others[:1]]), SourcePriority())
    assert shown[0] == f"site/{name}.md"


def test_a_hundred_results_may_be_asked_for_as_of_the_service(crowd):
    body = {
        "retrievalQuery": {"text": "keys"},
        "retrievalConfiguration": {"vectorSearchConfiguration": {"numberOfResults": 100}},
    }
    assert len(retrieve(crowd, KNOWLEDGE_BASE_ID, body)["retrievalResults"]) == 84


def _key(result):
    citation = result["citation"]
    return citation["source_file"], citation["start_line"]
