"""The options of ``serve``."""

from __future__ import annotations

import sys

import pytest

from knowledge_rag.cli.serve import ConsoleOptions, is_installed, serve
from knowledge_rag.core.errors import InvalidRequest, InvalidSettings
from knowledge_rag.local.errors import UnusableCorpus


def test_who_was_asked_for_writes_by_default_and_nobody_can_always():
    region = "us-east-1"
    assert list(ConsoleOptions().advisors()) == ["extractive"]
    chosen = ConsoleOptions(model_id="m.odel", agent="AGENT00001/ALIAS00001", region=region)
    assert list(chosen.advisors("OTHER00001/ALIAS00001")) == ["converse", "agent", "extractive"]


def test_a_model_of_any_provider_may_write():
    assert list(ConsoleOptions(model="ollama:some-model").advisors()) == ["model", "extractive"]
    with pytest.raises(InvalidSettings, match="PROVIDER:MODEL"):
        ConsoleOptions(model="some-model").advisors()


def test_the_agent_of_a_deployment_may_write_but_was_not_asked_for():
    options = ConsoleOptions(region="us-east-1")
    assert list(options.advisors("AGENT00001/ALIAS00001")) == ["extractive", "agent"]


def test_options_of_a_console_that_is_not_to_be_are_refused():
    ConsoleOptions(region="us-east-1").check_wanted()
    for given in (
        ConsoleOptions(port=0),
        ConsoleOptions(agent="x"),
        ConsoleOptions(model_id=""),
        ConsoleOptions(model=""),
    ):
        with pytest.raises(InvalidRequest, match="are the console's"):
            given.check_wanted()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"region": "us-east-1"}, "--region goes with"),
        ({"stack": "x-dev", "console": False}, "leaves nothing to serve"),
        ({"stack": "x-dev", "function": "f"}, "choose one"),
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


def test_a_package_that_is_missing_is_noticed(monkeypatch):
    assert is_installed()
    monkeypatch.setitem(sys.modules, "nh3", None)
    assert not is_installed()
