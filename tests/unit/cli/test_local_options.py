"""Which knowledge base is asked without ``--kb``, and how long a local search may take."""

from __future__ import annotations

import json
import time

import pytest
from typer.testing import CliRunner

from knowledge_rag.cli.app import command_line
from knowledge_rag.cli.knowledge_bases import USING_SAMPLE
from knowledge_rag.cli.options import budget_of
from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.local.ingest import ingest
from tests.support.local import RUNBOOKS, WordHashes, write_files

NOTE = f"{USING_SAMPLE}\n"


class BusyMachine(WordHashes):
    """A model that takes longer for one question than a deployed query may take."""

    def embed(self, text):
        if text == "slow RDS failover":
            time.sleep(2.1)
        return super().embed(text)


def run(*arguments):
    return CliRunner().invoke(command_line(), [*map(str, arguments)])


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """The result of the first question in a home, which creates the sample there."""
    with pytest.MonkeyPatch.context() as home:
        home.delenv("KNOWLEDGE_RAG_KB", raising=False)
        home.setenv("KNOWLEDGE_RAG_DATA_DIR", str(tmp_path_factory.mktemp("home") / "data"))
        home.setattr("knowledge_rag.local.models.MiniLm", lambda _: BusyMachine())
        yield run("retrieve", "failover", "--json")


@pytest.fixture
def ran(first):  # noqa: ARG001 - it has made the home
    """Run a command in that home."""
    return run


@pytest.fixture
def team(tmp_path):
    path = tmp_path / "team.kb"
    folder = write_files(tmp_path / "corpus", RUNBOOKS)
    ingest(folder, path, embedder=BusyMachine())
    return path


def test_each_time_the_sample_is_asked_standard_error_says_so(ran, first):
    second = ran("retrieve", "failover", "--json")
    assert first.stderr == f"created the sample knowledge base (28 documents)\n{NOTE}"
    assert second.stderr == NOTE
    assert json.loads(second.stdout).keys() == {"results", "status"}
    assert ran("ask", "failover").stderr == NOTE


def test_a_knowledge_base_that_is_named_is_asked_without_a_word(ran, team, monkeypatch):
    assert ran("retrieve", "failover", "--kb", team).stderr == ""
    monkeypatch.setenv("KNOWLEDGE_RAG_KB", str(team))
    asked = ran("retrieve", "failover", "--json")
    assert asked.stderr == ""
    found = {each["citation"]["source_file"] for each in json.loads(asked.stdout)["results"]}
    assert found <= RUNBOOKS.keys()


def test_a_variable_that_names_no_file_is_not_passed_over_for_the_sample(
    ran, tmp_path, monkeypatch
):
    monkeypatch.setenv("KNOWLEDGE_RAG_KB", str(tmp_path / "none.kb"))
    asked = ran("retrieve", "failover")
    assert (asked.stdout, asked.stderr) == ("", "")
    assert f"no knowledge base at {tmp_path}/none.kb" in str(asked.exception)


def test_ingest_fills_the_knowledge_base_that_the_variable_names(ran, tmp_path, monkeypatch):
    folder = write_files(tmp_path / "corpus", RUNBOOKS)
    monkeypatch.setenv("KNOWLEDGE_RAG_KB", str(tmp_path / "mine.kb"))
    assert ran("ingest", folder).exit_code == 0
    assert (tmp_path / "mine.kb").is_file()
    assert ran("retrieve", "failover").stderr == ""


@pytest.mark.parametrize("command", ["ask", "mcp", "serve"])
def test_the_variable_does_not_stand_in_the_way_of_a_deployment(ran, team, monkeypatch, command):
    monkeypatch.setenv("KNOWLEDGE_RAG_KB", str(team))
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    question = ["failover"] if command == "ask" else []
    asked = ran(command, *question, "--function", "retrieve")
    assert "--kb" not in str(asked.exception)
    assert "region" in str(asked.exception)


def test_a_slow_search_is_waited_for_as_long_as_the_user_says(ran, team):
    ask = ("retrieve", "slow RDS failover", "--kb", team)
    assert ran(*ask).exit_code == 0
    late = ran(*ask, "--timeout", "0.4")
    assert late.exit_code == 3
    assert late.stdout == (
        "The knowledge base could not be searched: timeout.\n"
        "timed out after 0.4 s: this machine is busy, or the knowledge base is large; "
        "try --timeout 1.6\n"
    )
    told = json.loads(ran(*ask, "--timeout", "0.4", "--json").stdout)
    assert (told["reason"], told["notice"][:21]) == ("timeout", "timed out after 0.4 s")


@pytest.mark.parametrize("given", [0, 0.05, 600.5, float("nan"), float("inf"), -1])
def test_a_timeout_that_nobody_can_mean_is_refused(given):
    with pytest.raises(InvalidRequest, match=f"--timeout {given:g}: must be 0.1 to 600 seconds"):
        budget_of(given)


def test_procedures_are_chosen_by_what_was_meant(ran):
    typed, meant = (
        json.loads(ran("ask", f"how to fix {words}", "--json").stdout)["agent_outputs"][
            "knowledge-rag"
        ]
        for words in ("expird certifcate", "expired certificate")
    )
    notice = 'showing results for "expired certificate" (you typed "expird certifcate")'
    assert [each["message"] for each in typed["warnings"] if each["kind"] == "notice"] == [notice]
    assert typed["recommendation"]["guidance"] == meant["recommendation"]["guidance"] != []


def test_a_timeout_is_not_for_what_is_deployed(ran):
    refused = ran("mcp", "--timeout", "5", "--function", "retrieve")
    expected = "--timeout is for a knowledge base on this machine, --function for another"
    assert str(refused.exception) == expected
