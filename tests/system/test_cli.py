"""The commands that need no documents of one's own, as a new user meets them."""

import re
import shutil

from knowledge_rag.core.version import VERSION
from tests.support.cli import OF_SAMPLE, Ran, assert_verbatim, lines_of
from tests.support.local import CORPUS
from tests.support.sample import first_command
from tests.unit.orchestrator.schema import VALIDATOR


def test_help_lists_the_commands_and_the_exit_codes(settled):
    ran = settled("--help")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("Usage: knowledge-rag")
    listed = re.findall(r"^  ([a-z]+)  +\S", ran.out.partition("--help")[2], re.MULTILINE)
    assert {"demo", "ingest", "retrieve", "chunk", "serve", "bench", "model"} <= set(listed)
    assert "3 degraded" in ran.out


def test_the_version_is_that_of_the_project(settled):
    ran = settled("--version")
    assert (ran.code, ran.out, ran.err) == (0, f"{VERSION}\n", "")


def test_a_command_works_at_once_because_the_sample_knowledge_base_is_made(
    tmp_path, tmp_path_factory
):
    ran = Ran(**first_command(tmp_path_factory, tmp_path))
    assert ran.code == 0
    documents = len([*CORPUS.rglob("*.md")])
    assert ran.err == (f"created the sample knowledge base ({documents} documents)\n{OF_SAMPLE}")
    assert_verbatim(ran.json["results"])


def test_the_demo_cites_lines_that_are_what_the_files_hold_and_says_what_to_try_next(sample):
    ran = sample("demo")
    assert (ran.code, ran.err) == (0, "")
    cited = re.findall(
        r"^   \[Source: (\S+), lines (\d+)-(\d+)\]\n((?:.*│.*\n)+)", ran.out, re.MULTILINE
    )
    assert len(cited) == 3
    for file, start, end, shown in cited:
        numbered = [line.split("│ ", 1) for line in shown.removesuffix("\n").split("\n")]
        assert [int(number) for number, _ in numbered] == [*range(int(start), int(end) + 1)]
        lines = "\n".join(line for _, line in numbered)
        assert lines == lines_of(CORPUS / file, int(start), int(end))
    following = ran.out.partition("\nNext:\n")[2].removesuffix("\n").split("\n")
    assert max(map(len, following)) <= 80
    typed = [line.split() for line in following if not line.startswith("  # ")]
    programs, commands = zip(*(words[:2] for words in typed), strict=True)
    assert commands == ("ask", "ask", "ingest", "ask", "serve")
    # what is shown can be typed: a name where a shell finds it, else the path that was run
    assert all(shutil.which(program) for program in programs)


def test_the_demo_as_json_is_one_document(sample):
    ran = sample("demo", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json["status"] == "ok"
    assert ran.json["ingest"]["embedded"] == 0
    assert_verbatim(ran.json["results"])
    VALIDATOR.validate(ran.json["agent_outputs"]["knowledge-rag"])
