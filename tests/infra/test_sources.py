"""The files that are deployed are there and are what the services take."""

import json
import shutil

import pytest

from infra import sources
from infra.settings import SettingsError
from infra.sources import (
    INSTRUCTION,
    MAX_DOCUMENT_BYTES,
    PROJECT,
    SCHEMA,
    SourcesError,
    load_sources,
)
from tests.infra.parts import settings


@pytest.fixture
def project(tmp_path):
    for path in (SCHEMA, INSTRUCTION):
        (tmp_path / path).parent.mkdir()
        shutil.copy(PROJECT / path, tmp_path / path)
    (tmp_path / "knowledge-corpus").mkdir()
    (tmp_path / "knowledge-corpus/a.md").write_text("# A\n")
    return tmp_path


def problems(project, **values):
    with pytest.raises(SourcesError) as raised:
        load_sources(settings(**values), project)
    return str(raised.value).splitlines()[1:]


def test_the_projects_own_files_are_fit_to_be_deployed():
    sources = load_sources(settings())
    assert sources.document == json.loads((PROJECT / SCHEMA).read_text())
    assert sources.instruction == (PROJECT / INSTRUCTION).read_text().strip()


def test_a_schema_is_sent_without_needless_white_space():
    assert len(load_sources(settings()).schema) < len((PROJECT / SCHEMA).read_text())


@pytest.mark.parametrize(
    ("path", "content", "told"),
    [
        (SCHEMA, None, "can't be read: No such file or directory"),
        (INSTRUCTION, None, "can't be read: No such file or directory"),
        (SCHEMA, b"\xff", "can't be read: it is not UTF-8"),
        (INSTRUCTION, b"\n", "is empty"),
        (SCHEMA, b"{", "is not valid JSON: "),
        (INSTRUCTION, b"x" * 39, "has 39 characters; an agent takes 40 to 4000"),
        (INSTRUCTION, b"x" * 4001, "has 4001 characters; an agent takes 40 to 4000"),
    ],
)
def test_a_file_that_can_not_be_deployed_is_named(project, path, content, told):
    (project / path).unlink()
    if content is not None:
        (project / path).write_bytes(content)
    (line,) = problems(project)
    assert line.startswith(f"  {path} {told}")


@pytest.mark.parametrize("length", [40, 4000])
def test_the_bounds_of_a_prompt_are_within(project, length):
    (project / INSTRUCTION).write_text("x" * length + "\n")
    assert len(load_sources(settings(), project).instruction) == length


def test_a_corpus_that_is_no_folder_is_told(project):
    assert problems(project, corpus="runbooks") == [
        "  corpus: runbooks is not a folder; set corpus to the one with your documents"
    ]


def test_a_corpus_without_files_is_told_and_hidden_ones_do_not_count(project):
    (project / "knowledge-corpus/a.md").rename(project / "knowledge-corpus/.a.md")
    (project / "knowledge-corpus/.git").mkdir()
    (project / "knowledge-corpus/.git/config").touch()
    assert problems(project) == [
        "  corpus: knowledge-corpus has no files; there would be nothing to find"
    ]


def test_all_that_is_missing_is_told_at_once(project):
    (project / SCHEMA).unlink()
    (project / INSTRUCTION).unlink()
    assert len(problems(project, corpus="runbooks")) == 3


@pytest.mark.parametrize("target", ["gone.md", "../prompts", "/"])
def test_a_link_that_leaves_the_corpus_is_told_by_its_name(project, target):
    (project / "knowledge-corpus/b.md").symlink_to(target)
    assert problems(project) == [
        "  corpus: b.md is a broken link, or leads out of the folder; put the file itself there"
    ]


def test_a_link_within_the_corpus_is_a_document_like_any(project):
    (project / "knowledge-corpus/b.md").symlink_to("a.md")
    assert load_sources(settings(), project)


def test_a_document_that_no_knowledge_base_takes_is_told_by_its_name(project):
    for name, size in {"fits.pdf": MAX_DOCUMENT_BYTES, "large.pdf": MAX_DOCUMENT_BYTES + 1}.items():
        with (project / "knowledge-corpus" / name).open("wb") as file:
            file.truncate(size)
    assert problems(project) == [
        "  corpus: large.pdf has over 50 MB, the most that a knowledge base accepts"
    ]


def test_a_folder_that_is_too_large_for_a_deployment_is_told_and_where_to_put_it(
    project, monkeypatch
):
    monkeypatch.setattr(sources, "MAX_FOLDER_FILES", 2)
    for name in "bc":
        (project / f"knowledge-corpus/{name}.md").write_text("# More\n")
    (line,) = problems(project)
    assert "has 3 files" in line
    assert "Set documents=bucket" in line


def test_a_bucket_needs_no_folder(project):
    shutil.rmtree(project / "knowledge-corpus")
    assert load_sources(settings(documents="bucket"), project).instruction


SECRET = "arn:aws:secretsmanager:us-east-1:123456789012:secret:keys-Ab12Cd"
TOPIC = '[destinations.mail]\nkind = "sns"\ntopic = "arn:aws:sns:us-east-1:123456789012:a"\n'
SLACK = '[destinations.oncall]\nkind = "slack"\ntoken_env = "T"\nchannel = "C0123ABCDEF"\n'


class TestDestinations:
    @pytest.mark.parametrize(
        ("text", "told"),
        [
            (None, "hooks.toml can't be read: No such file or directory"),
            ("", "hooks.toml is empty"),
            ("[", "hooks.toml: not valid TOML"),
            ("quiet_minutes = 5\n", "hooks.toml: no [destinations.NAME]: nothing is posted"),
            (SLACK.replace("slack", "teams"), "hooks.toml: destinations.oncall: kind must be one of"),
            (TOPIC + SLACK, "hooks.toml: oncall needs a key: name the secret that has it in advice_secret_arn"),
            (TOPIC + 'links = "x"\n', "unknown setting 'links'"),
            ('links = "x"\n' + TOPIC, "links: repository URL 'x'"),
            (
                "".join(TOPIC.replace("mail", f"mail{n}") for n in range(40)),
                "bytes without comments; a function accepts 3000",
            ),
        ],
    )  # fmt: skip
    def test_a_file_that_is_wrong_is_named(self, project, text, told):
        if text is not None:
            (project / "hooks.toml").write_text(text)
        (found,) = problems(project, advice_destinations="hooks.toml")
        assert told in found

    def test_a_file_is_given_to_the_function_without_its_comments(self, project):
        (project / "hooks.toml").write_text(f"# of the team\n\n{TOPIC}  # mail\n{SLACK}")
        chosen = settings(advice_destinations="hooks.toml", advice_secret_arn=SECRET)
        assert load_sources(chosen, project).destinations == (TOPIC + SLACK).strip()

    def test_without_a_file_there_is_nothing_to_give(self, project):
        assert load_sources(settings(), project).destinations == ""

    def test_a_secret_without_destinations_is_refused(self):
        with pytest.raises(SettingsError, match="unset unless advice_destinations is set"):
            settings(advice_secret_arn=SECRET)

    @pytest.mark.parametrize(
        ("secret", "told"),
        [
            (SECRET.replace("us-east-1", "eu-west-1"), "a secret in us-east-1"),
            ("on-call/keys", "the ARN of a secret in Secrets Manager, or nothing"),
        ],
    )
    def test_a_secret_is_one_of_the_same_region(self, secret, told):
        with pytest.raises(SettingsError, match=told):
            settings(advice_destinations="hooks.toml", advice_secret_arn=secret)
