"""Asking for lines, and for one document by its path."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing

import pytest

from knowledge_rag.core.chunking import chunk_text
from knowledge_rag.core.documents import read_document
from knowledge_rag.core.tokens import token_bound
from tests.support.cli import OF_SAMPLE, assert_one_line, assert_verbatim, unprivileged
from tests.support.local import CORPUS, write_files
from tests.support.seals import seal_anew
from tests.system.conftest import QUESTION

NEUTRAL_LINE = "rotate\tthe \x1b[31mzebra\x1b[0m key \u202efdp.exe\u202c now\x07"


def test_every_result_is_what_the_file_holds(first_use):
    results = first_use.json["results"]
    assert len(results) > 5
    assert_verbatim(results)
    scores = [result["relevance_score"] for result in results]
    assert scores == sorted(scores, reverse=True)


FAILOVER = ("retrieve", "database failover", "--json", "--max-results", "10")


@pytest.fixture(scope="module")
def variants(settled, first_use):
    assert first_use.code == 0
    ask = FAILOVER
    return settled.each(
        {
            "hybrid": ask,
            "semantic": (*ask, "--search", "semantic"),
            "service": (*ask, "--filter", "service=rds"),
            "two": (*ask, "--filter", "service=rds", "--filter", "document_type=postmortem"),
            "text": ("retrieve", "RDS failover", "--max-results", "2"),
            "nothing": ("retrieve", "how do I bake bread"),
            "filtered out": (*ask, "--filter", "service=nothing"),
        }
    )


@pytest.mark.parametrize("variant", ["hybrid", "semantic", "service", "two"])
def test_however_one_searches_results_are_verbatim(variant, variants):
    assert (variants[variant].code, variants[variant].err) == (0, OF_SAMPLE)
    assert variants[variant].json["status"] == "ok"
    assert_verbatim(variants[variant].json["results"])


def test_a_person_sees_at_most_so_many_results(variants):
    ran = variants["text"]
    assert (ran.code, ran.err) == (0, OF_SAMPLE)
    assert ran.out.count("[Source: ") == 2
    assert "\x1b" not in ran.out


def test_semantic_search_has_scores_of_its_own(variants):
    hybrid, semantic = (variants[name].json["results"] for name in ("hybrid", "semantic"))
    assert hybrid[0]["relevance_score"] != semantic[0]["relevance_score"]


def test_filters_let_only_such_documents_through(variants):
    def files(variant):
        return {result["citation"]["source_file"] for result in variants[variant].json["results"]}

    assert all("rds" in file for file in files("service"))
    assert len(files("service")) > 1
    assert files("two") == {"postmortems/2024-01-rds-incident.md"}


def test_what_is_not_documented_is_said_and_exits_1(variants):
    assert variants["nothing"].code == 1
    assert variants["nothing"].out.startswith("Nothing documented: ")
    assert variants["nothing"].err == OF_SAMPLE
    assert variants["filtered out"].code == 1
    told = variants["filtered out"].json
    assert (told["results"], told["status"]) == ([], "no_match")
    assert told["notice"].startswith(
        "nothing with service=nothing; without that filter: at least 10 results, best "
    )


@pytest.fixture(scope="module")
def hostile(settled, tmp_path_factory):
    """Give a knowledge base with a line that would steer a terminal."""
    folder = tmp_path_factory.mktemp("hostile")
    write_files(folder, {"keys.md": f"# Zebra keys\r\n\r\n{NEUTRAL_LINE}\r\n"})
    assert settled("ingest", folder, "--kb", folder / "hostile.kb").code == 0
    return folder / "hostile.kb"


def test_what_would_steer_a_terminal_is_shown_harmless_and_is_verbatim_as_json(cli, hostile):
    ask = ("retrieve", "rotate the zebra key", "--kb", hostile)
    ran = cli.each({"text": ask, "json": (*ask, "--json")})
    shown = "rotate\tthe \\x1b[31mzebra\\x1b[0m key \\u202efdp.exe\\u202c now\\x07\n"
    assert ran["text"].out.split("│ ")[-1] == f"{shown}\n"
    assert "\r" not in ran["text"].out
    assert ran["json"].out.isascii()
    assert_verbatim(ran["json"].json["results"], hostile.parent)
    assert NEUTRAL_LINE in ran["json"].json["results"][0]["content"]


def test_colours_are_for_terminals_whose_user_wants_them(cli, hostile):
    ask = ("retrieve", "rotate the zebra key", "--kb", hostile)
    assert "\x1b[36m   [Source: keys.md, lines 1-3]" in cli.on_terminal(*ask)
    assert "\x1b" not in cli.on_terminal(*ask, NO_COLOR="1")


def test_a_knowledge_base_whose_text_is_not_the_documents_is_refused_or_degrades(
    cli, hostile, tmp_path
):
    tampered = shutil.copy(hostile, tmp_path)
    with closing(sqlite3.connect(tampered)) as connection, connection:
        connection.execute("UPDATE chunks SET text = replace(text, 'key', 'lock')")
    ran = cli("retrieve", "rotate the zebra key", "--kb", tampered)
    assert (ran.code, ran.out) == (2, "")
    assert_one_line(
        ran.err, f"{tampered} is damaged (1 of 1 documents are not as they were stored)"
    )
    seal_anew(tampered)
    ran = cli("retrieve", "rotate the zebra key", "--kb", tampered)
    assert (ran.code, ran.err) == (3, "")
    assert ran.out == "The knowledge base could not be searched: unverifiable_results.\n"


def test_text_is_shown_where_the_terminal_knows_no_unicode(cli, hostile):
    ran = cli("retrieve", "zebra keys", "--kb", hostile, PYTHONIOENCODING="ascii")
    assert ran.code == 0
    assert "   1 \\u2502 # Zebra keys\n" in ran.out


def test_a_sample_knowledge_base_that_may_only_be_read_is_read(sample, cli):
    cli.data.mkdir()
    shutil.copy(sample.data / "sample.kb", cli.data)
    (cli.data / "sample.kb").chmod(0o444)
    cli.data.chmod(0o555)
    try:
        ran = unprivileged(cli, "retrieve", "SQS queue is backing up", "--json")
    finally:
        cli.data.chmod(0o755)
    assert (ran.code, ran.err) == (0, OF_SAMPLE)
    assert_verbatim(ran.json["results"])


def test_the_users_environment_changes_no_answer(sample, variants):
    ran = sample(
        *FAILOVER,
        LOG_LEVEL="bogus",
        POWERTOOLS_LOG_LEVEL="bogus",
        POWERTOOLS_DEV="1",
        POWERTOOLS_DEBUG="1",
        DEADLINE_SECONDS="99",
        KNOWLEDGE_BASE_ID="x",
        AWS_LAMBDA_INITIALIZATION_TYPE="on-demand",
        HTTP_PROXY="http://127.0.0.1:9",
    )
    assert (ran.code, ran.err) == (0, OF_SAMPLE)
    assert ran.json["results"] == variants["hybrid"].json["results"]


PAGE = "runbooks/rds-failover.md"
ASKED = ("retrieve", "how do I bake bread", "--max-results", "100", "--filter")


def test_a_document_comes_whole_in_line_order_whatever_the_question(sample):
    ran = sample(*ASKED, f"source_file={PAGE}", "--json")
    assert ran.code == 0
    results = ran.json["results"]
    assert_verbatim(results)
    chunks = chunk_text(*read_document(PAGE, (CORPUS / PAGE).read_bytes()))
    shown = [result["citation"] for result in results]
    assert shown == [chunk.citation.to_dict() for chunk in chunks]
    assert "notice" not in ran.json


def test_a_part_of_a_document_is_reported_as_such_and_no_policy_orders_it(sample):
    asked = (*ASKED, f"source_file={PAGE}", "--max-results", "1")
    ran = sample(*asked, "--policy", "website-first", "--explain")
    assert ran.code == 0
    assert "passages of this document are not shown." in " ".join(ran.out.split())
    assert ran.out.endswith("policy off: the order is that of the document's lines\n")


def test_a_path_that_no_document_can_have_is_a_usage_error(sample):
    ran = sample(*ASKED, "source_file=../secret.md")
    assert ran.code == 2
    assert "error: source_file " in ran.err
    assert "is not the path of a document" in ran.err


@pytest.mark.parametrize(("form", "most"), [((), 600), (("--json",), 2_500)])
def test_a_limit_of_tokens_leaves_out_whole_passages_and_says_so(sample, form, most):
    asked = ("retrieve", QUESTION, "--max-results", "10", *form)
    whole, ran = sample(*asked), sample(*asked, "--max-tokens", most)
    assert ran.code == 0
    assert f"left out: only {most} tokens are allowed" in ran.out
    assert token_bound(ran.out) <= most < token_bound(whole.out)
    if form:
        kept, found = ran.json["results"], whole.json["results"]
        assert len(kept) > 1
        assert kept == found[: len(kept)]
        least = sample(*asked, "--max-tokens", "100")
        assert least.json["results"] == found[:1]
    else:
        assert whole.out.startswith(ran.out.rpartition("\n\n")[0])
