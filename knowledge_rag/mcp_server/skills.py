"""A knowledge base's runbooks as skills: MCP's extension ``io.modelcontextprotocol/skills`` (SEP-2640).

The SDK supports extensions but not skills, so this module defines the two methods by the extension's specification. A
skill's address has its document's path, so that no search is needed. The listing is partial, as the specification
allows, since hosts put all of it into every prompt.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote

from mcp import types

from knowledge_rag.core.chunks import SKILL_FILE
from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.core.tokens import token_bound

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.channel.skills import Skill, Skills

EXTENSION: Final = "io.modelcontextprotocol/skills"
LIST: Final = "skills/list"
GET: Final = "skills/get"
ROOT: Final = "skill://knowledge/"
"""The beginning of every address: clients may write an authority in lower case, so it has no part of a path."""

MAX_LISTED_TOKENS: Final = 2_000
"""Maximum tokens of all names and descriptions in the listing."""


class ListSkillsResult(types.PaginatedResult, types.CacheableResult):
    """The answer to ``skills/list``."""

    skills: list[dict[str, Any]]
    result_type: types.ResultType = "complete"


class GetSkillParams(types.RequestParams):
    """The parameters of ``skills/get``."""

    uri: str


class GetSkillResult(types.CacheableResult):
    """The answer to ``skills/get``."""

    skill: dict[str, Any]
    result_type: types.ResultType = "complete"


def listed(skills: Skills) -> ListSkillsResult:
    """Return the first skills whose names and descriptions fit in MAX_LISTED_TOKENS."""
    return ListSkillsResult(skills=list(map(_entry, _first(skills))))


def _first(skills: Skills) -> Iterator[Skill]:
    served = itertools.filterfalse(lambda it: it.flagged, skills)
    costs = ((it, token_bound(f"{it.name}\n{it.description}\n")) for it in served)
    summed = itertools.accumulate(costs, lambda sums, it: (it[0], sums[1] + it[1]))
    return (
        skill for skill, _ in itertools.takewhile(lambda it: it[1] <= MAX_LISTED_TOKENS, summed)
    )


def got(skills: Skills, address: str) -> GetSkillResult:
    """Return the entry of one skill; see :func:`served`."""
    return GetSkillResult(skill=_entry(served(skills, address)))


def read(skills: Skills, address: str) -> types.ReadResourceResult:
    """Return the file of a skill; see :func:`served`."""
    text = served(skills, address).data.decode()
    contents = types.TextResourceContents(uri=address, mime_type="text/markdown", text=text)
    return types.ReadResourceResult(contents=[contents])


def served(skills: Skills, address: str) -> Skill:
    """Return the skill at an address.

    Raises:
        InvalidRequest: there is none, or lint found text aimed at a model in it.
    """
    *folders, name, file = ["", *unquote(address.removeprefix(ROOT)).split("/")]
    its = (
        skills.of("/".join(folders[1:])) if address.startswith(ROOT) and file == SKILL_FILE else ()
    )
    skill = next((it for it in its if it.name == name), None)
    if skill is None:
        raise InvalidRequest(f"no skill is served at {address[:200]!a}")
    if skill.flagged:
        raise InvalidRequest(
            f"the skill {name} isn't served: lint found text aimed at a model ({skill.flagged[0]})"
        )
    return skill


def uri_of(skill: Skill) -> str:
    """Return the address of a skill's file."""
    return f"{ROOT}{quote(skill.source_file, safe='/')}/{skill.name}/{SKILL_FILE}"


def _entry(skill: Skill) -> dict[str, Any]:
    uri = uri_of(skill)
    file = {"uri": uri, "digest": f"sha256:{skill.digest}", "size": len(skill.data)}
    return {"uri": uri, "frontmatter": skill.front_matter, "resources": [file]}
