"""Links to cited lines in a folder's repository.

Git knows the remote, the commit, and which documents the commit has as they were ingested. A document that has
changed since has no link, since its lines may differ there.
"""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urlsplit

from knowledge_rag.core.repository_links import HOST, RepositoryLinks

if TYPE_CHECKING:
    from pathlib import Path

LINKS: Final = "links"
"""Key in a knowledge base's ``meta``: :meth:`RepositoryLinks.to_json` of the last ingest."""

_SCP: Final = re.compile(r"(?:[^@/\s]+@)?(?P<host>[A-Za-z0-9.-]+):(?P<path>[^\s:][^\s]*)")
_REPOSITORY: Final = re.compile(r"[\w.~-]+(?:/[\w.~-]+)+")
_COMMIT: Final = re.compile(r"[0-9a-f]{40,64}")
_SECONDS: Final = 10.0
"""Time limit for each call of git, which reads only local files."""

# `?plain=1` shows a Markdown file's source: its rendered form has no lines to link to
_FORMS: Final = {
    "github": "https://{host}/{repository}/blob/{commit}/{folder}{{path}}?plain=1#L{{start}}-L{{end}}",
    "gitlab": "https://{host}/{repository}/-/blob/{commit}/{folder}{{path}}?plain=1#L{{start}}-{{end}}",
    "bitbucket": "https://{host}/{repository}/src/{commit}/{folder}{{path}}#lines-{{start}}:{{end}}",
}
"""Templates for addresses of lines, by a word in the host's name."""


def links_of_checkout(folder: Path, documents: frozenset[str]) -> RepositoryLinks | str:
    """Return the links of a folder's documents, or why there are none; the folder may be anywhere in a checkout."""
    commit = _git(folder, "rev-parse", "--verify", "HEAD^{commit}")
    if not _COMMIT.fullmatch(commit):
        return "the folder is not in a Git checkout with a commit"
    if not _git(folder, "for-each-ref", "--contains", commit, "--count=1", "refs/remotes"):
        return f"no remote branch has the commit {commit[:12]} yet: push it, then ingest again"
    remote = _git(folder, "remote").split("\n")[0]
    template = template_of(
        _git(folder, "remote", "get-url", remote) if remote else "",
        commit,
        _git(folder, "rev-parse", "--show-prefix"),
    )
    if template is None:
        return "the Git remote's host is unknown (supported: GitHub, GitLab, Bitbucket): set --repository-url"
    committed = _names(_git(folder, "ls-tree", "-r", "-z", "--name-only", commit))
    changed = _names(_git(folder, "diff", "-z", "--name-only", "--relative", commit))
    return RepositoryLinks(template, documents - (committed - changed))


def template_of(remote: str, commit: str, folder: str = "") -> str | None:
    """Return the link template for a Git remote; ``None`` for an unknown host.

    Args:
        remote: its address, in any of Git's forms; a user or a password in it is left out.
        commit: the full hash.
        folder: location of the documents in the repository, ``""`` or ending in ``/``.

    >>> template_of("git@github.com:acme/ops.git", "0" * 40, "runbooks/")[:47]
    'https://github.com/acme/ops/blob/00000000000000'
    """
    host, path = _host_and_path(remote)
    repository = path.strip("/").removesuffix(".git")
    if not HOST.fullmatch(host) or not _REPOSITORY.fullmatch(repository) or ".." in repository:
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
        port = f":{address.port}" if is_web and address.port else ""  # SSH's port serves no pages
        return (address.hostname or "") + port, address.path
    except ValueError:
        return "", ""


def _git(folder: Path, *words: str) -> str:
    """Return git's output; ``""`` if it fails or isn't installed."""
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
