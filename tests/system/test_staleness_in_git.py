"""What is said of one citation, taken at the first commit, through the life of its runbook in git."""

import os
import shutil
import subprocess
from functools import cached_property

import pytest

from knowledge_rag.core.chunking import chunk_text
from knowledge_rag.core.documents import read_document
from knowledge_rag.core.metadata import prove, stored_text, to_metadata
from knowledge_rag.guardrails.ledger import Ledger
from knowledge_rag.guardrails.staleness import CitedLines, FileNow, State, compare_all, describe
from knowledge_rag.local.corpus import CorpusFiles
from tests.support.local import write_files

RUNBOOK = "runbooks/rds.md"
STEPS = """\
## Fail over

1. Check the replica's lag.
2. Promote the replica.
3. Point the service at the new writer.
4. Tell the incident channel.
"""
HEAD = "# RDS\n\nOwned by the storage team.\n\n"
TAIL = "\n## Afterwards\n\nWrite the postmortem.\n"
ON_CALL = "# RDS\n\nOwned by the storage team.\nOn call: two people.\n\nRead all of it first.\n\n"
LONGER = STEPS.replace("3.", "   Wait until it is writable.\n3.")
CORRECTED = STEPS.replace("lag.", "lag!")
REWRITTEN = STEPS.replace("Check", "See").replace("4. Tell the", "4. Write to the")
OTHER = "# SQS\n\nDrain the queue.\n"

HISTORY = [
    ("Write the runbook", HEAD + STEPS + TAIL, "same"),
    ("Say who is on call", ON_CALL + STEPS + TAIL, "moved to lines 8-13"),
    (
        "Add a line between the steps",
        ON_CALL + LONGER + TAIL,
        "changed: all its lines still stand at lines 8-14, but not one after the other as cited",
    ),
    ("Take it out again", ON_CALL + STEPS + TAIL, "moved to lines 8-13"),
    ("Delete the introduction", STEPS + TAIL, "moved to lines 1-6"),
    (
        "Introduce it in as many lines as before",
        "# RDS\n\nOwned by nobody.\n\n" + STEPS + TAIL,
        "same, in a file that has changed elsewhere",
    ),
    ("Move the section to the end", HEAD + TAIL + "\n" + STEPS, "moved to lines 10-15"),
    (
        "Repeat it at the beginning",
        STEPS + HEAD + TAIL + "\n" + STEPS,
        "moved to lines 1-6, the nearest of 2 places that hold this text",
    ),
    (
        "Keep the later one, with a character corrected",
        HEAD + TAIL + "\n" + CORRECTED,
        "changed: 4 of 5 lines still stand at lines 10-15",
    ),
    (
        "Rewrite two of its steps",
        HEAD + REWRITTEN + TAIL,
        "changed: 3 of 5 lines still stand at lines 5-9",
    ),
    ("Delete the cited lines", HEAD + TAIL, "changed: nothing like it is left in the file"),
    (
        "Move them to another runbook",
        {RUNBOOK: HEAD + TAIL, "runbooks/aurora.md": "# Aurora\n\n" + STEPS},
        "changed: nothing like it is left in the file; the same text now stands in runbooks/aurora.md, lines 3-8",
    ),
    ("Bring them back", HEAD + STEPS + TAIL, "same"),
    (
        "Convert the line endings",
        (HEAD + STEPS + TAIL).replace("\n", "\r\n"),
        "changed: the same text with other white space stands at lines 5-10",
    ),
    (
        "Save it with a byte-order mark",
        "\ufeff" + HEAD + STEPS + TAIL,
        "same, in a file that has changed elsewhere",
    ),
    (
        "Lose the final newline",
        (STEPS + TAIL + HEAD + STEPS).removesuffix("\n"),
        "moved to lines 1-6, the nearest of 2 places that hold this text",
    ),
    (
        "Save it in another encoding",
        (HEAD + STEPS + TAIL).encode("utf-16"),
        "changed: the file can't be read (not UTF-8: byte 0xff at offset 0 (a binary file?))",
    ),
    ("Empty it", "", "changed: the file can't be read (empty file)"),
    (
        "Rename it",
        {"runbooks/postgres.md": HEAD + STEPS + TAIL},
        "gone; the same text now stands in runbooks/postgres.md, lines 5-10 (the same file by another name)",
    ),
    (
        "Rename and edit it",
        {"postmortems/db.md": ON_CALL + CORRECTED, "runbooks/postgres.md": ON_CALL + STEPS},
        "gone; the same text now stands in runbooks/postgres.md, lines 8-13",
    ),
    (
        "Make a folder of it",
        {f"{RUNBOOK}/steps.md": STEPS},
        f"gone; the same text now stands in {RUNBOOK}/steps.md, lines 1-6",
    ),
    ("Delete it", {}, "gone"),
    ("Write it again as it was", HEAD + STEPS + TAIL, "same"),
]  # fmt: skip


class Repository:
    """A repository in a folder of its own, which no configuration outside reaches."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        self.git("init", "-q")

    def git(self, *arguments):
        identity = ("-c", "user.name=A Person", "-c", "user.email=person@example.org")
        verbatim = ("-c", "core.autocrlf=false", "-c", "commit.gpgsign=false")
        ours = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
        ours |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        return subprocess.run(
            ["git", *identity, *verbatim, *arguments],
            cwd=self.folder,
            env=ours,
            check=True,
            capture_output=True,
            timeout=60,
        ).stdout

    def commit(self, subject, files):
        """Make the work tree hold exactly these files, and commit it."""
        for path in self.folder.iterdir():
            if path.is_dir() and path.name != ".git":
                shutil.rmtree(path)
        write_files(self.folder, files)
        self.git("add", "--all")
        self.git("commit", "-q", "-m", subject)

    def log(self):
        """Give (hash, subject) of every commit, the first one first."""
        lines = self.git("log", "--reverse", "--format=%H %s").decode().splitlines()
        return [tuple(line.split(" ", 1)) for line in lines]


class Commit:
    """The documents of a commit, read from git's objects: another corpus than a folder."""

    def __init__(self, repository, commit):
        self._repository, self._commit = repository, commit

    @cached_property
    def _names(self):
        tree = self._repository.git("ls-tree", "-r", "-z", "--name-only", self._commit)
        return tree.decode().split("\0")[:-1]

    def files(self):
        return self._names

    def now(self, source_file):
        if source_file not in self._names:
            return None
        data = self._repository.git("cat-file", "blob", f"{self._commit}:{source_file}")
        return FileNow.of(source_file, data)


@pytest.fixture
def repository(tmp_path):
    if not shutil.which("git"):
        pytest.skip("git is not here: its histories can't be made")
    return Repository(tmp_path / "repository")


def tree(content):
    """Give all files of a commit: those of the runbook, and one that is about something else."""
    files = content if isinstance(content, dict) else {RUNBOOK: content}
    return {"runbooks/sqs.md": OTHER} | files


def evidence_at_first_commit():
    """Give all that retrieval returns of the runbook, proven as retrieval proves it."""
    document, text = read_document(RUNBOOK, (HEAD + STEPS + TAIL).encode())
    chunks = chunk_text(document, text)
    return Ledger.of([prove(stored_text(chunk), to_metadata(chunk)) for chunk in chunks])


def cited_steps():
    ledger = evidence_at_first_commit()
    cited = CitedLines.part(ledger.lines(RUNBOOK, 5, 10), ledger)
    assert cited.content == STEPS.removesuffix("\n")
    return cited


def said(corpus):
    (found,) = compare_all([cited_steps()], corpus)
    return describe(found).removeprefix(f"{RUNBOOK}, lines 5-10: ")


def test_after_each_commit_of_a_history_the_citation_is_what_the_commit_made_of_it(repository):
    in_folder = []
    for subject, content, _ in HISTORY:
        repository.commit(subject, tree(content))
        in_folder.append((subject, said(CorpusFiles(repository.folder))))
    in_log = [(subject, said(Commit(repository, commit))) for commit, subject in repository.log()]
    assert in_folder == [(subject, sentence) for subject, _, sentence in HISTORY]
    assert in_log == in_folder


def test_no_retrieved_lines_are_ever_said_to_stand_where_they_do_not(repository):
    ledger = evidence_at_first_commit()
    cited = [CitedLines.of(result) for result in ledger.results]
    states = set()
    for subject, content, _ in HISTORY:
        repository.commit(subject, tree(content))
        for one, found in zip(
            cited, compare_all(cited, CorpusFiles(repository.folder)), strict=True
        ):
            states.add(found.state)
            if found.state in (State.SAME, State.MOVED):
                lines = found.moved_to or one.citation
                text = (repository.folder / RUNBOOK).read_bytes().decode("utf-8-sig")
                there = text.split("\n")[lines.start_line - 1 : lines.end_line]
                assert "\n".join(there) == one.content, subject
    assert states == set(State)


def test_a_hostile_history_shows_nothing_of_what_lies_outside_it(repository):
    (repository.folder.parent / "secret.md").write_text(HEAD + STEPS)
    repository.commit("Write another runbook", tree({}))
    (repository.folder / RUNBOOK).symlink_to(repository.folder.parent / "secret.md")
    (repository.folder / "all").symlink_to(repository.folder.parent)
    repository.git("add", "--all")
    repository.git("commit", "-q", "-m", "Link to what lies outside")
    assert said(CorpusFiles(repository.folder)) == "gone"
    assert said(Commit(repository, "HEAD")) == "changed: nothing like it is left in the file"
