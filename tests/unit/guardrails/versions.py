"""A runbook, a citation of its steps, and what they are held against: later versions, other files."""

from knowledge_rag.core.citations import Citation
from knowledge_rag.guardrails.staleness import CitedLines, FileNow, compare

STEPS = "\n".join(
    [
        "## Fail over",
        "1. Check the replica's lag with `aws rds describe-db-instances`.",
        "2. Promote the replica.",
        "3. Point the service at the new writer.",
        "4. Tell #incidents.",
        "5. Watch the error rate for ten minutes.",
    ]
)
BEFORE = "# RDS\n\nOwned by the storage team.\n\n"
AFTER = "\n\n## Afterwards\n\nWrite the postmortem.\n"
FILE = BEFORE + STEPS + AFTER


def cited(content=STEPS, start=5, of=FILE, name="runbooks/a.md"):
    citation = Citation(name, start, start + content.count("\n"))
    return CitedLines(citation, content, FileNow.of(name, of.encode()).sha256)


def now(text):
    data = text if isinstance(text, bytes) else text.encode()
    return FileNow.of("runbooks/a.md", data)


def held_against(text, one=None):
    return compare(one or cited(), now(text))


class Folder:
    """A corpus in memory that counts how often each file is read."""

    def __init__(self, **files):
        self._files = {f"runbooks/{name}.md": text for name, text in files.items()}
        self.reads = []

    def files(self):
        return self._files

    def now(self, source_file):
        self.reads.append(source_file)
        text = self._files.get(source_file)
        return None if text is None else now(text)
