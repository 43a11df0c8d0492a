"""The project's files that are deployed: the tool's schema, the agent's prompt, the corpus.

They are read and checked before a stack is made, so that what is missing or refused by the service
is told by its path and not by a traceback of a construct.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from infra.tool_schema import find_problems, instructions_of, tools_of

if TYPE_CHECKING:
    from infra.settings import Settings

PROJECT: Final = Path(__file__).parents[1]

SCHEMA: Final = Path("schemas/retrieve_knowledge.openapi.json")
INSTRUCTION: Final = Path("prompts/knowledge-rag-agent.txt")

MAX_DOCUMENT_BYTES: Final = 50 * 2**20
"""Of a file in a data source, see "Prerequisites for your Amazon Bedrock knowledge base data". The
starter also holds each one in memory while it copies it."""

MIN_INSTRUCTION_CHARACTERS: Final = 40
MAX_INSTRUCTION_CHARACTERS: Final = 4_000
"""Of the service model; CloudFormation itself knows the lower bound only."""


class SourcesError(ValueError):
    """One or more files are missing or wrong; the message has a line for each."""


@dataclass(frozen=True, slots=True)
class Sources:
    """What the stacks take from files.

    Args:
        schema: the OpenAPI document of ``retrieve_knowledge``, without needless white space.
        instruction: the agent's prompt, 40..4,000 characters.
    """

    schema: str
    instruction: str

    @property
    def document(self) -> dict[str, Any]:
        """The schema as JSON values."""
        document: dict[str, Any] = json.loads(self.schema)
        return document


def load_sources(settings: Settings, project: Path = PROJECT) -> Sources:
    """Read and check every file that is deployed.

    Args:
        settings: of the deployment; the corpus's folder is one.
        project: folder that the paths start at.

    Raises:
        SourcesError: a file is missing or wrong; every one is named.
    """
    problems = [*_corpus_problems(settings.corpus, project)]
    schema = _read(project, SCHEMA, problems)
    instruction = _read(project, INSTRUCTION, problems).strip()
    if schema:
        problems += [f"  {SCHEMA} {problem}" for problem in _schema_problems(schema)]
    if instruction:
        problems += [f"  {INSTRUCTION} {problem}" for problem in _length_problems(instruction)]
    if problems:
        raise SourcesError("\n".join(["files are missing or wrong:", *problems]))
    return Sources(_compact(schema), instruction)


def _read(project: Path, path: Path, problems: list[str]) -> str:
    try:
        text = (project / path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        problems.append(f"  {path} can't be read: {reason}")
        return ""
    if not text.strip():
        problems.append(f"  {path} is empty")
    return text


def _schema_problems(schema: str) -> list[str]:
    problems = find_problems(schema)
    if problems:
        return problems
    document = json.loads(schema)
    for part in (tools_of, instructions_of):
        try:
            part(document)
        except ValueError as error:
            problems.append(str(error))
    return problems


def _length_problems(instruction: str) -> list[str]:
    if MIN_INSTRUCTION_CHARACTERS <= len(instruction) <= MAX_INSTRUCTION_CHARACTERS:
        return []
    bounds = f"{MIN_INSTRUCTION_CHARACTERS} to {MAX_INSTRUCTION_CHARACTERS}"
    return [f"has {len(instruction)} characters; an agent takes {bounds}"]


def _corpus_problems(corpus: str, project: Path) -> list[str]:
    folder = project / corpus
    if not folder.is_dir():
        return [f"  corpus: {corpus} is no folder; set corpus to the one with your documents"]
    seen = [path for path in folder.rglob("*") if not _hidden(path, folder)]
    if not any(path.is_file() for path in seen):
        return [f"  corpus: {corpus} has no files; there would be nothing to find"]
    return [
        f"  corpus: {path.relative_to(folder)} {problem}"
        for path in sorted(seen)
        if (problem := _document_problem(path, folder))
    ]


def _document_problem(path: Path, folder: Path) -> str:
    """Say why a file can't be deployed, ``""`` where it can."""
    if path.is_symlink() and not _inside(path, folder):
        return "is a link to nothing, or out of the folder; put the file itself there"
    if path.is_file() and path.stat().st_size > MAX_DOCUMENT_BYTES:
        return f"has over {MAX_DOCUMENT_BYTES // 2**20} MB, the most that a knowledge base takes"
    return ""


def _inside(link: Path, folder: Path) -> bool:
    """Tell whether a link leads to something in the folder; what lies elsewhere is not deployed."""
    target = link.resolve()
    return target.exists() and target.is_relative_to(folder.resolve())


def _hidden(path: Path, folder: Path) -> bool:
    """Tell whether a file is none of the documents: it, or a folder on the way, starts with a dot."""
    return any(part.startswith(".") for part in path.relative_to(folder).parts)


def _compact(schema: str) -> str:
    return json.dumps(json.loads(schema), ensure_ascii=False, separators=(",", ":"))
