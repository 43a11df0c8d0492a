"""The options of ``serve``."""

from __future__ import annotations

import sys

import pytest

from knowledge_rag.cli.advisors import WriterOptions
from knowledge_rag.cli.serve import ConsoleOptions, serve
from knowledge_rag.core.errors import InvalidRequest, InvalidSettings
from knowledge_rag.local.errors import NotInstalled, UnusableCorpus

REGION = "us-east-1"


def test_who_was_asked_for_writes_by_default_and_nobody_can_always():
    assert list(WriterOptions().advisors(REGION)) == ["extractive"]
    chosen = WriterOptions(model_id="m.odel", agent="AGENT00001/ALIAS00001")
    advisors = chosen.advisors(REGION, "OTHER00001/ALIAS00001")
    assert list(advisors) == ["converse", "agent", "extractive"]


def test_a_model_of_any_provider_may_write():
    advisors = WriterOptions(model="ollama:some-model").advisors(REGION)
    assert list(advisors) == ["model", "extractive"]
    with pytest.raises(InvalidSettings, match="PROVIDER:MODEL"):
        WriterOptions(model="some-model").advisors(REGION)


class TestConfiguredModel:
    @pytest.fixture(autouse=True)
    def configured(self, tmp_path, monkeypatch):
        (tmp_path / "knowledge-rag.toml").write_text('model = "ollama:some-model"\n')
        monkeypatch.chdir(tmp_path)

    def test_it_writes_where_no_writer_is_given_and_that_is_said(self, capsys):
        writers = WriterOptions().or_configured()
        assert writers.model == "ollama:some-model"
        assert "ollama:some-model writes" in " ".join(capsys.readouterr().err.split())

    @pytest.mark.parametrize("given", [{"model": ""}, {"model": "a:b"}, {"model_id": "m.odel"}])
    def test_a_writer_that_is_given_and_none_at_all_come_before_it(self, given, capsys):
        writers = WriterOptions(**given)
        assert writers.or_configured() is writers
        assert not capsys.readouterr().err

    def test_no_model_is_no_advisor(self):
        assert list(WriterOptions(model="").or_configured().advisors(REGION)) == ["extractive"]


def test_the_agent_of_a_deployment_may_write_but_was_not_asked_for():
    advisors = WriterOptions().advisors(REGION, "AGENT00001/ALIAS00001")
    assert list(advisors) == ["extractive", "agent"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"region": "us-east-1"}, "--region goes with"),
        ({"stack": "x-dev", "console": False}, "leaves nothing to serve"),
        ({"stack": "x-dev", "function": "f"}, "choose one"),
        ({"console": False, "console_port": 0}, "are the console's"),
        ({"console": False, "a2a": True}, "are the console's"),
        ({"console": False, "agent": "x"}, "are the console's"),
        ({"console": False, "model_id": ""}, "are the console's"),
        ({"console": False, "model": ""}, "are the console's"),
    ],
)
def test_options_that_do_not_go_together_are_refused_before_anything_is_opened(given, message):
    with pytest.raises(InvalidRequest, match=message):
        serve(**given)


def test_wrong_settings_show_before_anything_is_served(tmp_path):
    with pytest.raises(InvalidSettings, match="repository URL"):
        ConsoleOptions(repository_url="ftp://x/{path}").settings("a")
    with pytest.raises(UnusableCorpus, match="no such folder"):
        ConsoleOptions(corpus=tmp_path / "nowhere").files(tmp_path / "x.kb")
    assert ConsoleOptions().files(tmp_path / "x.kb") is None


def test_the_samples_folder_is_known(tmp_path, monkeypatch):
    monkeypatch.setenv("KNOWLEDGE_RAG_DATA_DIR", str(tmp_path))
    files = ConsoleOptions().files(tmp_path / "sample.kb")
    assert files is not None
    assert "runbooks/rds-failover.md" in set(files.files())


def test_who_asks_for_a2a_is_told_what_is_missing(monkeypatch):
    ConsoleOptions(a2a=True).check_installed()
    for package in ("a2a", "nh3"):
        with monkeypatch.context() as without:
            without.setitem(sys.modules, package, None)
            ConsoleOptions().check_installed()
            with pytest.raises(NotInstalled, match=r"pip install '\.\[a2a\]'"):
                ConsoleOptions(a2a=True).check_installed()
