"""What is said of one citation, taken at the first version, through the life of its runbook."""

import shutil

from knowledge_rag.core.chunking import chunk_text
from knowledge_rag.core.documents import read_document
from knowledge_rag.core.metadata import prove, stored_text, to_metadata
from knowledge_rag.guardrails.ledger import Ledger
from knowledge_rag.guardrails.staleness import CitedLines, State, compare_all, describe
from knowledge_rag.local.corpus_files import CorpusFiles
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


def lay_out(folder, content):
    """Make a folder hold a version of the runbook, and one that is about something else."""
    files = content if isinstance(content, dict) else {RUNBOOK: content}
    if folder.exists():
        shutil.rmtree(folder)
    return CorpusFiles(write_files(folder, {"runbooks/sqs.md": OTHER} | files))


def evidence_at_first():
    """Give all that retrieval returns of the runbook, proven as retrieval proves it."""
    document, text = read_document(RUNBOOK, (HEAD + STEPS + TAIL).encode())
    chunks = chunk_text(document, text)
    return Ledger.of([prove(stored_text(chunk), to_metadata(chunk)) for chunk in chunks])


def cited_steps():
    ledger = evidence_at_first()
    cited = CitedLines.part(ledger.lines(RUNBOOK, 5, 10), ledger)
    assert cited.content == STEPS.removesuffix("\n")
    return cited


def said(corpus):
    (found,) = compare_all([cited_steps()], corpus)
    return describe(found).removeprefix(f"{RUNBOOK}, lines 5-10: ")


def test_after_each_change_the_citation_is_what_the_change_made_of_it(tmp_path):
    found = [(change, said(lay_out(tmp_path / "a", content))) for change, content, _ in HISTORY]
    assert found == [(change, sentence) for change, _, sentence in HISTORY]


def test_no_retrieved_lines_are_ever_said_to_stand_where_they_do_not(tmp_path):
    cited = [CitedLines.of(result) for result in evidence_at_first().results]
    states = set()
    for change, content, _ in HISTORY:
        corpus = lay_out(tmp_path / "a", content)
        for one, found in zip(cited, compare_all(cited, corpus), strict=True):
            states.add(found.state)
            if found.state in (State.SAME, State.MOVED):
                lines = found.moved_to or one.citation
                text = (tmp_path / "a" / RUNBOOK).read_bytes().decode("utf-8-sig")
                there = text.split("\n")[lines.start_line - 1 : lines.end_line]
                assert "\n".join(there) == one.content, change
    assert states == set(State)


def test_links_show_nothing_of_what_lies_outside(tmp_path):
    (tmp_path / "secret.md").write_text(HEAD + STEPS)
    corpus = lay_out(tmp_path / "a", {})
    (tmp_path / "a" / RUNBOOK).symlink_to(tmp_path / "secret.md")
    (tmp_path / "a" / "all").symlink_to(tmp_path)
    assert said(corpus) == "gone"
