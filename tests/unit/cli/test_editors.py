"""Citations in the user's editor: at their line, and no name of a document is read by a shell."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from knowledge_rag.cli.conversation import ARGUMENTS, ProgramFailed, open_at, opened_by, path_in
from knowledge_rag.core.errors import InvalidRequest
from tests.support.local import PROJECT, write_files

FILE = Path("/docs/a.md")


@pytest.mark.parametrize(
    ("named", "command"),
    [
        ({"EDITOR": "vim"}, ["vim", "+7", "/docs/a.md"]),
        ({"EDITOR": "/usr/bin/nano -l"}, ["/usr/bin/nano", "-l", "+7", "/docs/a.md"]),
        ({"EDITOR": "code --wait"}, ["code", "--wait", "--goto", "/docs/a.md:7"]),
        ({"EDITOR": "hx"}, ["hx", "/docs/a.md:7"]),
        ({"EDITOR": "pycharm"}, ["pycharm", "--line", "7", "/docs/a.md"]),
        ({"EDITOR": "ed"}, ["ed", "/docs/a.md"]),
        ({"VISUAL": "emacs", "EDITOR": "vim"}, ["emacs", "+7", "/docs/a.md"]),
        ({"EDITOR": " ", "PAGER": "less -R"}, ["less", "-R", "+7", "/docs/a.md"]),
        ({"EDITOR": "'/opt/my editor/vim'"}, ["/opt/my editor/vim", "+7", "/docs/a.md"]),
    ],
)
def test_each_editor_is_told_the_line_in_its_own_way(named, command):
    assert opened_by(FILE, 7, named) == command


@pytest.mark.parametrize(
    ("named", "says"),
    [({}, "no editor is set"), ({"EDITOR": "'vim"}, 'EDITOR="\'vim": No closing quotation')],
)
def test_without_an_editor_it_says_what_to_set(named, says):
    with pytest.raises(InvalidRequest, match=says):
        opened_by(FILE, 7, named)


def test_the_page_lists_each_editor():
    page = (PROJECT / "docs/terminal.md").read_text()
    assert [it for it in ARGUMENTS if f"`{it}`" not in page] == []


@pytest.mark.parametrize("name", ["$(touch ran).md", "-c x.md", "a;touch ran;.md", "{line}.md"])
def test_no_shell_reads_the_name_of_a_document(name, tmp_path, monkeypatch):
    write_files(tmp_path, {name: "# A page"})
    monkeypatch.setenv(
        "VISUAL", f'{sys.executable} -c \'import sys; open("seen", "w").write(sys.argv[1])\''
    )
    monkeypatch.chdir(tmp_path)
    open_at(path_in(tmp_path, name), 7)
    assert (tmp_path / "seen").read_text() == str(tmp_path / name)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "name", ["../secret.md", "/etc/passwd", "linked.md", ".hidden.md", "none.md"]
)
def test_only_documents_of_the_folder_are_opened(name, tmp_path):
    folder = tmp_path / "docs"
    write_files(folder, {"a.md": "# A", ".hidden.md": "# H"})
    write_files(tmp_path, {"secret.md": "# S"})
    (folder / "linked.md").symlink_to(tmp_path / "secret.md")
    with pytest.raises(InvalidRequest, match="has no document"):
        path_in(folder, name)


def test_lines_of_extracted_text_are_in_no_file(tmp_path):
    write_files(tmp_path, {"a.md": "# A", "page.html": "<p>x</p>"})
    with pytest.raises(InvalidRequest, match="extracted text"):
        path_in(tmp_path, "page.html")


@pytest.mark.parametrize(
    ("program", "says"), [("false", "exit code 1"), ("/no/such", "No such file")]
)
def test_an_editor_that_fails_is_named(program, says, monkeypatch):
    monkeypatch.setenv("VISUAL", program)
    with pytest.raises(ProgramFailed, match=f"{program}.*{says}"):
        open_at(FILE, 7)
