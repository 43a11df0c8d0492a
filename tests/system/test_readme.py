"""Commands of the README, the tutorial and the how-tos run as they stand, and print what is shown."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cli import SECONDS
from tests.support.local import PROJECT
from tests.support.sample import sample_copy

README = (PROJECT / "README.md").read_text(encoding="utf-8")
TUTORIAL = (PROJECT / "docs" / "tutorial.md").read_text(encoding="utf-8")
HOW_TOS = [
    (PROJECT / "docs" / name).read_text(encoding="utf-8")
    for name in ("terminal.md", "on-call.md", "channel.md")
]
ALERT = "alert.json"


def sessions(page=README):
    """Each command of a page's console blocks with the output shown below it."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```$", page, flags=re.DOTALL | re.MULTILINE):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


def as_pattern(shown):
    """``...`` stands for anything; everything else has to be there, but for trailing blanks."""
    lines = [line.rstrip() for line in shown.rstrip("\n").split("\n")]
    parts = [".*" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") for line in lines]
    return re.compile("\n".join(parts).replace("\n.*", "(\n.*)?"), flags=re.DOTALL)


@pytest.fixture(scope="module")
def workplace(tmp_path_factory):
    """A folder with what a checkout has, for commands that write files."""
    folder = tmp_path_factory.mktemp("readme")
    (folder / "knowledge-corpus").symlink_to(PROJECT / "knowledge-corpus")
    # so that nothing is left for `ingest` to embed
    sample_copy(tmp_path_factory, folder).rename(folder / "team.kb")
    return folder


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    sample_copy(tmp_path_factory, folder)
    return folder


@pytest.fixture
def assert_prints(home, programs):
    def check(command, shown, folder):
        inherited = {name: value for name, value in os.environ.items() if "MAKE" not in name}
        path = (str(programs), str(Path(sys.executable).parent), os.environ["PATH"])
        data = {"KNOWLEDGE_RAG_DATA_DIR": str(home), "COLUMNS": "88"}
        ran = subprocess.run(
            command,
            shell=True,
            cwd=folder,
            env=inherited | data | {"PATH": os.pathsep.join(path)},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        assert ran.returncode in (0, 1), ran.stderr
        output = ran.stdout.replace(str(home), "~/.local/share/knowledge-rag")
        printed = "\n".join(line.rstrip() for line in output.rstrip("\n").split("\n"))
        assert as_pattern(shown).fullmatch(printed), printed

    return check


@pytest.mark.parametrize(("command", "shown"), sessions(), ids=[c for c, _ in sessions()])
def test_a_command_of_the_readme_prints_what_it_says(command, shown, workplace, assert_prints):
    assert_prints(command, shown, PROJECT if command.startswith("make") else workplace)


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """A folder with the files that the tutorial has one write."""
    folder = tmp_path_factory.mktemp("tutorial")
    files = re.findall(
        r"^`(docs/\S+)`:\n\n```markdown\n(.*?)^```$", TUTORIAL, re.DOTALL | re.MULTILINE
    )
    assert len(files) == 2
    for name, text in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("command", "shown"), sessions(TUTORIAL), ids=[c for c, _ in sessions(TUTORIAL)]
)
def test_a_command_of_the_tutorial_prints_what_it_says(command, shown, desk, assert_prints):
    assert_prints(command, shown, desk)


OF_HOW_TOS = [session for page in HOW_TOS for session in sessions(page)]


@pytest.mark.parametrize(("command", "shown"), OF_HOW_TOS, ids=[c for c, _ in OF_HOW_TOS])
def test_a_command_of_a_how_to_prints_what_it_says(command, shown, workplace, assert_prints):
    (alert,) = re.findall(
        rf"^`{ALERT}`:\n\n```json\n(.*?)^```$", HOW_TOS[1], re.DOTALL | re.MULTILINE
    )
    (workplace / ALERT).write_text(alert, encoding="utf-8")
    assert_prints(command, shown, workplace)


def test_the_readme_has_the_commands_that_matter():
    commands = [command for command, _ in sessions()]
    assert commands[1].startswith("knowledge-rag ask --incident")
    assert "make demo" in commands
    assert any(command.startswith("knowledge-rag ingest") for command in commands)
