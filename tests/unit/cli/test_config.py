"""``knowledge-rag.toml``: where it is found, and what is wrong in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from knowledge_rag.cli.config import KEYS, NAME, Config, config, find, read
from knowledge_rag.cli.knowledge_bases import choice_of, links_to_lines, own_knowledge_base
from knowledge_rag.core.errors import InvalidSettings
from tests.support.local import PROJECT, write_files

WHOLE = """\
kb = "team.kb"
corpus = "docs/runbooks"
model = "ollama:some-model"
links = "https://git.example/ops/blob/main/{path}#L{start}-L{end}"
"""


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository with a folder in it, which is the current one; the user's folders are empty."""
    root = tmp_path / "repository"
    write_files(root, {".git/HEAD": "", "a/b/c.md": ""})
    for name in ("XDG_CONFIG_HOME", "HOME", "KNOWLEDGE_RAG_DATA_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.delenv("KNOWLEDGE_RAG_KB", raising=False)
    monkeypatch.chdir(root / "a/b")
    return root


def test_the_nearest_file_up_to_the_root_of_the_repository_counts(repository):
    assert config() == Config()
    write_files(repository.parent, {NAME: 'kb = "outside.kb"'})
    assert config() == Config()
    write_files(repository, {NAME: 'kb = "root.kb"'})
    assert config().kb == repository / "root.kb"
    write_files(repository / "a", {NAME: 'kb = "../nearer.kb"'})
    assert config().kb == repository / "a/../nearer.kb"


def test_then_that_of_the_user_counts(repository):
    user = repository.parent / "home/knowledge-rag"
    write_files(user, {NAME: WHOLE})
    assert config() == Config(
        user / NAME,
        user / "team.kb",
        user / "docs/runbooks",
        "ollama:some-model",
        WHOLE.split('"')[-2],
    )


def test_outside_of_a_repository_the_current_folder_alone_counts(tmp_path):
    write_files(tmp_path, {NAME: "", "a/x.md": ""})
    assert find(tmp_path / "home", tmp_path) == tmp_path / NAME
    assert find(tmp_path / "home", tmp_path / "a") is None


def test_options_and_the_environment_come_before_it(repository, monkeypatch):
    write_files(repository, {NAME: WHOLE})
    choice = choice_of(None)
    assert (choice.path, choice.why) == (repository / "team.kb", f"{repository / NAME} names it")
    assert own_knowledge_base(None) == repository / "team.kb"
    assert choice_of(Path("other.kb")).path == Path("other.kb")
    monkeypatch.setenv("KNOWLEDGE_RAG_KB", "env.kb")
    assert choice_of(None).path == own_knowledge_base(None) == Path("env.kb")
    assert links_to_lines(None, "https://x.example/{path}").template == "https://x.example/{path}"
    assert links_to_lines(None, None).template.startswith("https://git.example/")


def test_without_any_the_sample_is_asked_and_never_ingested_into(repository):
    assert choice_of(None).is_sample
    assert own_knowledge_base(None) == repository.parent / "home/knowledge.kb"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('# mine\n\nkbs = "x"\n', ":3: unknown setting 'kbs'; known: corpus, kb, links, model"),
        ('[ask]\nkb = "x"\n', ":1: unknown setting 'ask'; known: "),
        ('kb = "x"\n"od d" = 1\n', ":2: unknown setting 'od d'"),
        ("corpus = 3\n", ":1: corpus must be a text"),
        ('\nmodel = " "\n', ":2: model must be a text"),
        (
            'links = "ftp://x/{path}"\n',
            ":1: repository URL 'ftp://x/{path}': not an http(s) address",
        ),
        ("kb = \n", ": not valid TOML: Invalid value (at line 1, column 6)"),
        (b"kb = '\xff'", ": not valid TOML: 'utf-8' codec"),
        ('\x1b[31m = "x"\n', ": not valid TOML"),
    ],
)
def test_what_is_wrong_is_named_with_file_and_line(text, says, tmp_path):
    write_files(tmp_path, {NAME: text})
    with pytest.raises(InvalidSettings, match=re.escape(f"{tmp_path / NAME}{says}")):
        read(tmp_path / NAME)


def test_all_mistakes_are_reported_together(tmp_path):
    write_files(tmp_path, {NAME: "a = 1\nb = 2\nkb = 3\n"})
    with pytest.raises(InvalidSettings, match=r":1: unknown .*; .*:2: unknown .*; .*:3: kb must"):
        read(tmp_path / NAME)


def test_the_page_names_each_setting():
    page = (PROJECT / "docs/terminal.md").read_text()
    assert [it for it in KEYS if f"| `{it}` |" not in page] == []
