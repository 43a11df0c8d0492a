"""The project's files that are deployed: the tool's schema, the agent's prompt, the corpus.

They are read and checked before a stack is created, so that an error names a path.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from infra.settings import Documents
from knowledge_rag.channel.settings import read_destinations, to_deploy
from knowledge_rag.core.errors import InvalidSettings

if TYPE_CHECKING:
    from infra.settings import Settings

PROJECT: Final = Path(__file__).parents[1]

SCHEMA: Final = Path("schemas/retrieve_knowledge.openapi.json")
INSTRUCTION: Final = Path("prompts/knowledge-rag-agent.txt")

MAX_DOCUMENT_BYTES: Final = 50 * 2**20
"""Maximum size of a file in a data source, see "Prerequisites for your Amazon Bedrock knowledge base data".
``deploy_steps`` also copies each file through its memory."""

MAX_FOLDER_FILES: Final = 10_000
"""Maximum files in the deployed folder: one call of ``deploy_steps`` copies them within its time."""
MAX_FOLDER_BYTES: Final = 500 * 10**6
"""Maximum total size: it fits into that function's temporary storage of 512 MB."""

MIN_INSTRUCTION_CHARACTERS: Final = 40
MAX_INSTRUCTION_CHARACTERS: Final = 4_000
"""Bounds from the service model; CloudFormation itself checks only the lower one."""


class SourcesError(ValueError):
    """One or more files are missing or wrong; the message has a line for each."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Texts from files for the stacks.

    Args:
        schema: the OpenAPI document of ``retrieve_knowledge``, without unnecessary white space.
        instruction: the agent's prompt, 40..4,000 characters.
        destinations: destinations of advice, TOML without comments; ``""`` without any.
    """

    schema: str
    instruction: str
    destinations: str = ""

    @property
    def document(self) -> dict[str, Any]:
        """The schema as JSON values."""
        document: dict[str, Any] = json.loads(self.schema)
        return document


def load_sources(settings: Settings, project: Path = PROJECT) -> Sources:
    """Read and check every file that is deployed.

    Args:
        settings: the deployment's settings, which name the corpus's folder.
        project: folder that the paths are relative to.

    Raises:
        SourcesError: a file is missing or wrong; the message names each.
    """
    copied = settings.documents.kind is Documents.FOLDER and not settings.existing.knowledge_base_id
    problems = _corpus_problems(settings.corpus, project) if copied else []
    schema = _read(project, SCHEMA, problems)
    instruction = _read(project, INSTRUCTION, problems).strip()
    compact = ""
    try:
        compact = json.dumps(json.loads(schema), ensure_ascii=False, separators=(",", ":"))
    except ValueError as error:
        if schema.strip():
            problems.append(f"  {SCHEMA} is not valid JSON: {error}")
    least, most = MIN_INSTRUCTION_CHARACTERS, MAX_INSTRUCTION_CHARACTERS
    if instruction and not least <= len(instruction) <= most:
        problems.append(
            f"  {INSTRUCTION} has {len(instruction)} characters; an agent takes {least} to {most}"
        )
    destinations = _destinations(settings, project, problems)
    if problems:
        raise SourcesError("\n".join(["files are missing or wrong:", *problems]))
    return Sources(compact, instruction, destinations)


def _destinations(settings: Settings, project: Path, problems: list[str]) -> str:
    """Return the file of advice's destinations in the form that the function receives."""
    path = settings.advice.destinations
    text = _read(project, Path(path), problems) if path else ""
    if not text.strip():
        return ""
    try:
        short = to_deploy(text)
    except InvalidSettings as error:
        problems.append(f"  {path}: {error}")
        return ""
    keyed = read_destinations(short, None).keyed
    if keyed and not settings.advice.secret:
        problems.append(
            f"  {path}: {', '.join(keyed)} needs a key: name the secret that has it in advice_secret_arn"
        )
    return short


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


def _corpus_problems(corpus: str, project: Path) -> list[str]:
    folder = project / corpus
    if not folder.is_dir():
        return [f"  corpus: {corpus} is not a folder; set corpus to the one with your documents"]
    seen = [
        path
        for path in folder.rglob("*")
        if not any(part.startswith(".") for part in path.relative_to(folder).parts)
    ]
    sizes = [path.stat().st_size for path in seen if path.is_file()]
    if not sizes:
        return [f"  corpus: {corpus} has no files; there would be nothing to find"]
    if len(sizes) > MAX_FOLDER_FILES or sum(sizes) > MAX_FOLDER_BYTES:
        return [
            (
                f"  corpus: {corpus} has {len(sizes):,} files, {sum(sizes) / 10**6:,.0f} MB; a deployment"
                f" copies at most {MAX_FOLDER_FILES:,}, {MAX_FOLDER_BYTES // 10**6} MB. Set"
                " documents=bucket and sync them into the bucket"
            )
        ]
    return [
        f"  corpus: {path.relative_to(folder)} {problem}"
        for path in sorted(seen)
        if (problem := _document_problem(path, folder))
    ]


def _document_problem(path: Path, folder: Path) -> str:
    """Return the reason why a file can't be deployed, ``""`` if it can."""
    if path.is_symlink():
        target = path.resolve()
        if not target.exists() or not target.is_relative_to(folder.resolve()):
            return "is a broken link, or leads out of the folder; put the file itself there"
    if path.is_file() and path.stat().st_size > MAX_DOCUMENT_BYTES:
        return f"has over {MAX_DOCUMENT_BYTES // 2**20} MB, the most that a knowledge base accepts"
    return ""
