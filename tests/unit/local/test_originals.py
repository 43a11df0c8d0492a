"""Documents of a folder, found by the locations that another system names."""

import pytest

from knowledge_rag.local.corpus_files import FolderOriginals
from tests.support.local import write_files


@pytest.fixture
def folder(tmp_path):
    files = ("a.md", "runbooks/a.md", "runbooks/b c.md", "x.html", "bad.md")
    texts = {name: f"# {name}\n" for name in files} | {"bad.md": b"\xff"}
    return write_files(tmp_path, texts)


def name(original):
    return original and original.document.source_file


@pytest.mark.parametrize(
    ("sources", "prefix"),
    [
        (["s3://b/docs/runbooks/a.md"], "s3://b/docs/"),
        (["s3://b/docs/runbooks/a.md", "s3://b/docs/a.md"], "s3://b/docs/"),
        (["runbooks/a.md"], ""),
        (["/home/me/corpus/runbooks/a.md", "/home/me/corpus/a.md"], "/home/me/corpus/"),
        (["https://wiki/team/runbooks/b%20c.md"], "https://wiki/team/"),
        (["s3://other/z.md"], ""),
    ],
)
def test_the_folder_stands_for_the_prefix_under_which_most_sources_are_its_documents(
    folder, sources, prefix
):
    assert FolderOriginals(folder, sources).prefix == prefix


def test_a_file_of_another_prefix_is_not_taken_for_one_of_the_same_name(folder):
    sources = ["s3://b/runbooks/a.md", "s3://b/runbooks/b c.md", "s3://other/a.md"]
    originals = FolderOriginals(folder, sources)
    assert [name(originals(source)) for source in sources] == [
        "runbooks/a.md",
        "runbooks/b c.md",
        None,
    ]
    assert originals.unread == {"s3://other/a.md": f"no such document in {folder} below s3://b/"}


def test_a_prefix_can_be_named(folder):
    originals = FolderOriginals(folder, [], "s3://b/runbooks")
    assert name(originals("s3://b/runbooks/a.md")) == "a.md"
    assert originals("s3://c/a.md") is None


def test_a_document_that_can_not_be_read_says_why(folder):
    originals = FolderOriginals(folder, ["s3://b/bad.md"])
    assert originals("s3://b/bad.md") is None
    assert originals.unread == {"s3://b/bad.md": "not UTF-8: byte 0xff at offset 0"}


@pytest.mark.parametrize("above", ["s3://b/..", "s3://b/%2e%2e"])
def test_no_path_of_a_source_leaves_the_folder(folder, above):
    originals = FolderOriginals(folder / "runbooks", [f"{above}/a.md"])
    assert name(originals(f"{above}/a.md")) == "a.md"  # its own, below that prefix
    assert originals(f"{above}/../a.md") is None
    assert originals("../a.md") is None


def test_of_two_prefixes_that_fit_as_well_none_is_taken(folder):
    originals = FolderOriginals(folder / "runbooks", ["s3://b/../a.md", "s3://b/%2e%2e/a.md"])
    assert originals("s3://b/../a.md") is None
