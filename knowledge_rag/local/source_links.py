"""Links that open cited lines in the repository that a folder comes from.

Git says where: the remote, the commit, and which documents the commit holds as they were ingested. A document that was
changed since has no link, since its lines may be others there.
"""

from __future__ import annotations

import json
import re
import string
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlsplit

from knowledge_rag.core.errors import InvalidSettings

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

LINKS: Final = "links"
"""Key in a knowledge base's ``meta``: :meth:`RepositoryLinks.to_json` of what was last ingested."""

_HOST: Final = re.compile(r"[A-Za-z0-9.-]+(:[0-9]{1,5})?")
_SCP: Final = re.compile(r"(?:[^@/\s]+@)?(?P<host>[A-Za-z0-9.-]+):(?P<path>[^\s:][^\s]*)")
_REPOSITORY: Final = re.compile(r"[\w.~-]+(?:/[\w.~-]+)+")
_COMMIT: Final = re.compile(r"[0-9a-f]{40,64}")
_SECONDS: Final = 10.0
"""For each call of git, which reads local files only."""

# `?plain=1` shows a Markdown file's source: its rendered form has no lines to go to
_FORMS: Final = {
    "github": "https://{host}/{repository}/blob/{commit}/{folder}{{path}}?plain=1#L{{start}}-L{{end}}",
    "gitlab": "https://{host}/{repository}/-/blob/{commit}/{folder}{{path}}?plain=1#L{{start}}-{{end}}",
    "bitbucket": "https://{host}/{repository}/src/{commit}/{folder}{{path}}#lines-{{start}}:{{end}}",
}
"""Addresses of lines, by a word in the host's name."""


@dataclass(frozen=True, slots=True)
class RepositoryLinks:
    """Links to lines of documents in the repository that they come from.

    Args:
        template: an http(s) address with ``{path}`` and optionally ``{start}`` and ``{end}``, e.g.
            ``https://host/org/repo/blob/main/{path}#L{start}-L{end}``; no field in its host.
        unlinked: documents that aren't there as they were ingested.
    """

    template: str
    unlinked: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        about = f"repository URL {self.template!r}"
        try:
            fields = [it for it in string.Formatter().parse(self.template) if it[1] is not None]
            address = urlsplit(self.template)
        except ValueError as error:
            raise InvalidSettings(f"{about}: {error}") from error
        if any(spec or conversion for _, _, spec, conversion in fields):
            raise InvalidSettings(f"{about}: only plain fields are allowed")
        names = {name for _, name, _, _ in fields}
        if "path" not in names or not names <= {"path", "start", "end"}:
            raise InvalidSettings(f"{about}: needs {{path}}, and may have {{start}} and {{end}}")
        if address.scheme not in ("http", "https") or not _HOST.fullmatch(address.netloc):
            raise InvalidSettings(f"{about}: no http(s) address of a host")

    def url(self, source_file: str, start_line: int, end_line: int) -> str:
        """Return the address of lines of a document; ``""`` for a document without a link."""
        if source_file in self.unlinked:
            return ""
        return self.template.format(path=quote(source_file), start=start_line, end=end_line)

    def to_json(self) -> str:
        """Return the form in which a knowledge base stores it."""
        return json.dumps({"template": self.template, "unlinked": sorted(self.unlinked)})

    @classmethod
    def from_json(cls, stored: str) -> RepositoryLinks | None:
        """Return what a knowledge base stores; ``None`` if it stores nothing of this form."""
        try:
            wire: Mapping[str, Any] = json.loads(stored)
            return cls(str(wire["template"]), frozenset(map(str, wire["unlinked"])))
        except (ValueError, KeyError, TypeError):
            return None


def links_of_checkout(folder: Path, documents: frozenset[str]) -> RepositoryLinks | str:
    """Return the links of a folder's documents, or why there are none.

    Args:
        folder: that was ingested, anywhere inside a checkout.
        documents: their names, relative to the folder.
    """
    commit = _git(folder, "rev-parse", "--verify", "HEAD^{commit}")
    if not _COMMIT.fullmatch(commit):
        return "the folder is in no Git checkout with a commit"
    if not _git(folder, "for-each-ref", "--contains", commit, "--count=1", "refs/remotes"):
        return f"no remote branch has the commit {commit[:12]} yet: push it, then ingest again"
    remote = _git(folder, "remote").split("\n")[0]
    template = template_of(
        _git(folder, "remote", "get-url", remote) if remote else "",
        commit,
        _git(folder, "rev-parse", "--show-prefix"),
    )
    if template is None:
        return (
            "the Git remote is on no known host (GitHub, GitLab, Bitbucket): name --repository-url"
        )
    held = _names(_git(folder, "ls-tree", "-r", "-z", "--name-only", commit))
    changed = _names(_git(folder, "diff", "-z", "--name-only", "--relative", commit))
    return RepositoryLinks(template, documents - (held - changed))


def template_of(remote: str, commit: str, folder: str = "") -> str | None:
    """Return the template of links for a Git remote; ``None`` for an unknown host.

    Args:
        remote: its address, in any of Git's forms; a user or a password in it is left out.
        commit: the full hash.
        folder: where the documents lie in the repository, ``""`` or ending in ``/``.

    >>> template_of("git@github.com:acme/ops.git", "0" * 40, "runbooks/")[:47]
    'https://github.com/acme/ops/blob/00000000000000'
    """
    host, path = _host_and_path(remote)
    repository = path.strip("/").removesuffix(".git")
    if not _HOST.fullmatch(host) or not _REPOSITORY.fullmatch(repository) or ".." in repository:
        return None
    form = next((form for word, form in _FORMS.items() if word in host.lower()), None)
    if form is None:
        return None
    shown = quote(folder).replace("{", "{{").replace("}", "}}")
    return form.format(host=host, repository=repository, commit=commit, folder=shown)


def _host_and_path(remote: str) -> tuple[str, str]:
    if "://" not in remote:
        found = _SCP.fullmatch(remote)
        return (found["host"], found["path"]) if found else ("", "")
    try:
        address = urlsplit(remote)
        is_web = address.scheme in ("http", "https")
        port = f":{address.port}" if is_web and address.port else ""  # that of SSH serves no pages
        return (address.hostname or "") + port, address.path
    except ValueError:
        return "", ""


def _git(folder: Path, *words: str) -> str:
    """Return what git prints; ``""`` if it fails or isn't installed."""
    try:
        done = subprocess.run(  # noqa: S603 - fixed words, no shell
            ["git", "-C", str(folder), *words],  # noqa: S607 - the user's own git
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace").strip("\n") if done.returncode == 0 else ""


def _names(listed: str) -> frozenset[str]:
    return frozenset(filter(None, listed.split("\0")))
