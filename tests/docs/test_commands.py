"""Every command on a page is valid."""

from __future__ import annotations

import importlib.util
import re
import shlex

import pytest
import typer
from typer.main import get_command

from benchmarks.__main__ import app as benchmarks
from knowledge_rag.cli.app import command_line
from tests.docs.site import Page, commands, on_pages
from tests.support.local import PROJECT
from tools.reference.commands import NAME, context
from tools.reference.commands import commands as below

ROOT = get_command(command_line())
for _option in ROOT.params:
    _option.callback = None  # or reading --install-completion would install it
BENCHMARKS = get_command(benchmarks)
WORKFLOWS = sorted((PROJECT / "examples/github-actions").glob("*.yml"))
MAKEFILE = (PROJECT / "Makefile").read_text(encoding="utf-8")
OPTIONS = {
    option
    for root in (ROOT, BENCHMARKS)
    for at in below(context(NAME, root, None))
    for parameter in at.command.params
    for option in (*parameter.opts, *parameter.secondary_opts, "--help")
}
OF_OTHERS = {
    "--a", "--add-config", "--billing-group-arn", "--change-batch", "--db-cluster-identifier",
    "--delete-emptydir-data", "--delete-local-data", "--document-name", "--dry-run", "--egress",
    "--endpoint-url", "--goto", "--grace-period", "--ingress", "--instance-id",
    "--instance-ids", "--line", "--replicas", "--schedule", "--schedule-expression",
    "--schedule-offset", "--short", "--type",
}  # fmt: skip
"""Options of other programs that pages mention."""
MEASURE = "python -m benchmarks"
IS_COMMAND = re.compile(rf"{NAME} |(?:{'|'.join(ROOT.commands)}) --")


def found(words, root=ROOT):
    """The command that words name, and the remaining words."""
    command, rest = root, list(words)
    while rest and rest[0] in getattr(command, "commands", {}):
        command = command.commands[rest.pop(0)]
    return command, rest


def problem(words, root=ROOT):
    """The program's error for these words, ``""`` if they are valid."""
    command, rest = found(words, root)
    if rest and hasattr(command, "commands") and not rest[0].startswith("-"):
        return f"no such command: {rest[0]}"
    try:
        command.make_context(NAME, rest)
    except typer.Exit:  # --help and --version
        return ""
    except typer.TyperException as error:
        return error.format_message()
    return ""


def ours(all_commands):
    """The arguments of each command of this program."""
    return [words[1:] for words in all_commands if words[0].rpartition("/")[2] == NAME]


def wrong(all_commands):
    return {shlex.join(words): said for words in ours(all_commands) if (said := problem(words))}


def unknown(span, root=ROOT):
    """The words of a command in a sentence that the program doesn't know; values may be left out."""
    command, rest = found(shlex.split(span.removeprefix(f"{NAME} ")), root)
    options = {it for each in command.params for it in (*each.opts, *each.secondary_opts)}
    named = {word.partition("=")[0] for word in rest if word.startswith("--")}
    below_it = [] if named or not hasattr(command, "commands") else rest
    return [*below_it, *(named - options - {"--help"})]


def test_every_command_in_a_block_is_valid():
    assert on_pages(lambda page: wrong(page.commands())) == {}


def test_every_benchmark_in_a_block_is_valid():
    def refused(page):
        named = [words[3:] for words in page.commands() if words[:3] == MEASURE.split()]
        return {shlex.join(it): said for it in named if (said := problem(it, BENCHMARKS))}

    assert on_pages(refused) == {}


def test_every_benchmark_in_a_sentence_exists_with_its_options():
    def made_up(page):
        named = [span.removeprefix(MEASURE) for span in page.spans if span.startswith(MEASURE)]
        return [span for span in named if span != " NAME" and unknown(span, BENCHMARKS)]

    assert on_pages(made_up) == {}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_command_of_a_workflow_is_valid(path):
    script = re.sub(
        r"^ *(?:- )?(?:run: )?", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    run = list(commands(script))
    assert ours(run)
    assert wrong(run) == {}


def test_every_command_in_a_sentence_exists_with_its_options():
    assert (
        on_pages(lambda page: [it for it in page.spans if IS_COMMAND.match(it) and unknown(it)])
        == {}
    )


def test_every_option_in_a_sentence_is_one_of_some_command():
    def made_up(page):
        named = {span.split()[0].partition("=")[0] for span in page.spans if span[:2] == "--"}
        return named - OPTIONS - OF_OTHERS

    assert on_pages(made_up) == {}


def test_every_make_target_exists():
    targets = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))

    def missing(page):
        named = {words[1] for words in page.commands() if words[0] == "make" and len(words) > 1}
        return named - targets | {
            span
            for span in page.spans
            if re.match(r"make [a-z]", span) and span.split()[1] not in targets
        }

    assert on_pages(missing) == {}


def test_every_module_that_is_run_exists():
    module = re.compile(r"python -m ((?:tests|infra|knowledge_rag|benchmarks|tools)[\w.]*)")

    def missing(page):
        return [it for it in set(module.findall(page.text)) if importlib.util.find_spec(it) is None]

    assert on_pages(missing) == {}


def test_the_cdk_version_is_that_of_the_makefile():
    version = re.compile(r"aws-cdk@([\d.]+)")
    (pinned,) = version.findall(MAKEFILE)
    assert on_pages(lambda page: set(version.findall(page.text)) - {pinned}) == {}


class TestReading:
    def test_a_script_gives_its_simple_commands(self):
        script = "A=b x 'c d' | y > z  # no\nf \\\n  g && h || true\n"
        assert list(commands(script)) == [
            ["x", "c d"], ["y"], ["z"], ["f", "g"], ["h"], ["true"],
        ]  # fmt: skip

    def test_output_is_no_command(self):
        assert list(commands("$ a b\nknowledge-rag c\n$ d\n", prompted=True)) == [["a", "b"], ["d"]]

    def test_blocks_within_lists_are_read(self, tmp_path):
        path = tmp_path / "page.md"
        path.write_text("1. a\n\n   ```sh\n   knowledge-rag nothing\n   ```\n", encoding="utf-8")
        assert ours(Page(path).commands()) == [["nothing"]]

    @pytest.mark.parametrize(
        "words",
        ["nothing", "retrieve", "retrieve q --no-such", "serve --port x", "bench", "bench no"],
    )
    def test_what_the_program_refuses_is_a_problem(self, words):
        assert problem(words.split())

    @pytest.mark.parametrize("span", ["bench no", "ingest --urls a --no-such", "nothing"])
    def test_what_a_sentence_makes_up_is_unknown(self, span):
        assert unknown(span)

    @pytest.mark.parametrize("span", ["bench floor", "ingest --urls", f"{NAME} ask --stack NAME"])
    def test_what_a_sentence_may_say_is_known(self, span):
        assert not unknown(span)
