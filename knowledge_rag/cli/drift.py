"""``knowledge-rag drift``."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from knowledge_rag.cli.exits import ExitCode
from knowledge_rag.cli.inputs import known_findings, replace_baseline
from knowledge_rag.cli.options import (
    Format,
    FormatOption,
    JsonOption,
    ProfileOption,
    RegionOption,
    chosen_format,
)
from knowledge_rag.cli.terminal import err, out, print_finding, print_json, print_note
from knowledge_rag.core.errors import InvalidRequest, UnreadableDocument
from knowledge_rag.core.files import read_regular
from knowledge_rag.core.neutral import neutralise
from knowledge_rag.drift.findings import BY_DEFAULT, Check, Kind
from knowledge_rag.orchestrator.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import date

    from knowledge_rag.deployment.live import Live
    from knowledge_rag.drift.check import Facts, Recall, World
    from knowledge_rag.drift.code import Code
    from knowledge_rag.drift.findings import Finding
    from knowledge_rag.drift.upkeep import Ages, Owners
    from knowledge_rag.local.corpus import CorpusFile

MAX_OWNERS: Final = 3 << 20
"""Bytes of a list of owners that are read: GitHub reads as many of a CODEOWNERS file."""
SHOWN: Final = 5
"""Maximum unreadable files of the code that are named."""


def drift(
    docs: Annotated[Path, typer.Argument(metavar="DOCS", help="Folder with the runbooks.")],
    code: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="PATH",
            help="Code that defines what runbooks name: a repository, folder or template. May be given several times.",
        ),
    ] = None,
    check: Annotated[
        list[Check] | None,
        typer.Option(
            help="Run only this check. May be given several times.  [default: all but danger]"
        ),
    ] = None,
    skip: Annotated[
        list[Check] | None, typer.Option(help="Skip this check. May be given several times.")
    ] = None,
    owners: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Owners, one per line, or CODEOWNERS.  [default: @names against the repository's CODEOWNERS]",
            show_default=False,
        ),
    ] = None,
    max_age: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="DAYS",
            help="Warn if last_reviewed is older.  [default: any age]",
            show_default=False,
        ),
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Known findings; only new ones fail.")
    ] = None,
    write_baseline: Annotated[
        bool,
        typer.Option("--write-baseline", help="Write this run's findings to --baseline, exit 0."),
    ] = False,
    live: Annotated[
        bool,
        typer.Option(
            "--live",
            help="Ask AWS whether the resources that commands name exist, by read-only calls.",
        ),
    ] = False,
    region: RegionOption = None,
    profile: ProfileOption = None,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Check unchanged files again, too.")
    ] = False,
    form: FormatOption = Format.TEXT,
    json: JsonOption = False,
) -> None:
    """Check that runbooks are still accurate.

    Checks commands, links, owners, review dates and action items and, with --code, names, figures of alerts and settings, and code that changed since, in the same files as ingest. Prints `path:line:column level: message [kind]` for each finding.
    Placeholders are never findings. Exits 1 on new errors and warnings, 4 if --live learned nothing of any resource.
    """
    from knowledge_rag.drift.baseline import Baseline
    from knowledge_rag.drift.check import World, check_facts, unreadable
    from knowledge_rag.drift.findings import FORM
    from knowledge_rag.local.corpus import find_documents
    from knowledge_rag.orchestrator import governing

    shown = chosen_format(form, json=json)
    known = known_findings(baseline, FORM, writes=write_baseline) or Baseline()
    checks = frozenset(check or BY_DEFAULT) - frozenset(skip or ())
    if not live:
        _note_idle(checks, frozenset(check or ()), has_code=bool(code))
    files = find_documents(docs)
    broken: list[Finding] = []
    account = _account(region, profile) if live else None
    with _cache(off=no_cache) as recall:
        read_names, unread = _reader_of(code or [], docs, recall)
        world = World(
            _exists_below(docs),
            checks,
            read_names,
            _ages(code or [], docs, {file.source_file for file in files}, max_age),
            _owners(owners, docs),
            governing.warns,
            account.check if account else None,
            recall,
        )
        found = check_facts(_facts(files, world, lambda *of: broken.append(unreadable(*of))), world)
    if account:
        _note_unchecked(account)
    for reason in unread[:SHOWN]:
        print_note("skipped", reason)
    if len(unread) > SHOWN:
        print_note("skipped", f"and {len(unread) - SHOWN} more files of the code")
    new, old = known.split([*broken, *found])
    if write_baseline and baseline is not None:
        replace_baseline(baseline, FORM.text(new))
        print_note("wrote", f"{counted(len(new), 'known finding')} to {baseline}")
        return
    if shown is Format.JSON:
        print_json(_as_json(new, old, len(files), account))
    elif shown is Format.SARIF:
        print_json(_as_sarif(new, docs))
    else:
        _show(new, old, len(files))
    if any(finding.kind.level != "note" for finding in new):
        raise typer.Exit(ExitCode.FINDINGS)
    if account and account.unchecked and not account.checked:
        raise typer.Exit(ExitCode.FAILED)


def _note_idle(checks: frozenset[Check], named: frozenset[Check], *, has_code: bool) -> None:
    """Note checks that were asked for and have nothing to compare; raise InvalidRequest if none is left."""
    if not checks:
        raise InvalidRequest("--skip leaves no check to run")
    if Check.NAMES in named & checks and not has_code:
        print_note("not checked", "names: they are compared with the code of --code")


def _facts(
    files: Sequence[CorpusFile], world: World, cannot: Callable[[str, str], None]
) -> Iterator[Facts]:
    """Yield the facts of each readable document."""
    from knowledge_rag.drift.check import Facts, facts_of
    from knowledge_rag.extract.documents import extract
    from knowledge_rag.local.corpus import read_beside, read_bytes

    compared = world.of_facts
    for file in files:
        path = file.source_file
        try:
            data, beside = read_bytes(file), read_beside(file)

            def make(
                path: str = path, data: bytes = data, beside: bytes | None = beside
            ) -> dict[str, Any]:
                read = extract(path, data, beside)
                return facts_of(path, read.shape or read.text, world).to_wire()

            parts = ("document", path, data, repr(beside), compared)
            yield Facts.of_wire(path, world.recall(parts, make))
        except UnreadableDocument as error:
            cannot(path, error.reason)


@contextmanager
def _cache(*, off: bool) -> Iterator[Recall]:
    """Yield the cache of an earlier run's findings in the same files."""
    from knowledge_rag.drift.cache import Cache, afresh
    from knowledge_rag.local.settings import LocalSettings

    if off:
        yield afresh
        return
    with Cache(LocalSettings.from_environment().cache_dir / "drift.sqlite") as cache:
        yield cache.recall


def _account(region: str | None, profile: str | None) -> Live:
    from knowledge_rag.deployment.aws import Aws
    from knowledge_rag.deployment.live import Live

    return Live(lambda other: Aws(other or region, profile))


def _note_unchecked(account: Live) -> None:
    for (kind, reason), count in sorted(account.unchecked.items()):
        print_note("not checked", f"{counted(count, kind)}: {reason}")


def _reader_of(
    roots: Sequence[Path], docs: Path, recall: Recall
) -> tuple[Callable[[frozenset[str], frozenset[str]], Code] | None, list[str]]:
    """Return the reader of the code, and a list that it fills with unreadable files."""
    from knowledge_rag.drift.code import read_code

    gone = next((root for root in roots if not root.exists()), None)
    if gone is not None:
        raise InvalidRequest(f"--code {gone}: no such file or folder")
    unread: list[str] = []

    def read(words: frozenset[str], settings: frozenset[str]) -> Code:
        code = read_code(roots, words, docs, recall, settings)
        unread.extend(code.unread)
        if not code.names and not code.alerts:
            unread.append("--code: nothing in it defines names of resources, alerts or settings")
        return code

    return (read if roots else None), unread


def _ages(roots: Sequence[Path], docs: Path, names: set[str], max_days: int | None) -> Ages:
    """Return the reference for ages: today, and the history of documents and code."""
    from functools import cache

    from knowledge_rag.drift import history
    from knowledge_rag.drift.upkeep import Ages

    folders = [root for root in roots if root.is_dir()]
    last = cache(lambda: history.last_changes(docs, names))

    def changed(path: str) -> history.Commit | None:
        change = last().get(path)
        return change.commit if change and change.holds((docs / path).read_bytes()) else None

    @cache
    def lines(path: str) -> Sequence[history.Commit]:
        return history.commits_of_lines(docs, path) if changed(path) else ()

    def holding(path: str) -> list[Path]:
        inside = docs.resolve()
        return [
            it
            for it in folders
            if (it / path).exists() and not (it / path).resolve().is_relative_to(inside)
        ]

    def commits(paths: frozenset[str]) -> dict[str, list[history.Commit]]:
        found: dict[str, list[history.Commit]] = {}
        for folder in folders:
            here = [path for path in paths if folder in holding(path)]
            found = history.commits_to(folder, here) | found if here else found
        return found

    return Ages(_today(), max_days, lines, lambda path: bool(holding(path)), commits, changed)


def _today() -> date:
    from datetime import UTC, datetime

    return datetime.now(UTC).date()


def _owners(given: Path | None, docs: Path) -> Owners | None:
    """Return the owners in a given file, else those in the repository's own list."""
    from knowledge_rag.drift.upkeep import CODEOWNERS, read_owners

    top = _repository_of(docs)
    own = [top / name for name in CODEOWNERS if (top / name).is_file()]
    file = given or next(iter(own), None)
    if file is None:
        return None
    try:
        text = read_regular(file, MAX_OWNERS).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8"
        raise InvalidRequest(f"--owners {file}: {reason}") from error
    return read_owners(text, handles_only=given is None)


def _repository_of(docs: Path) -> Path:
    root = docs.resolve()
    return next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), root)


def _exists_below(docs: Path) -> Callable[[str], bool]:
    """Return a function that says whether a file may exist: files outside the folder's repository are unknown."""
    root, top = docs.resolve(), _repository_of(docs)

    def exists(path: str) -> bool:
        try:
            target = (root / path).resolve()
            return not target.is_relative_to(top) or target.exists()
        except (OSError, ValueError, RuntimeError):
            return False  # no name that a file can have, or links in a circle

    return exists


def _as_json(
    new: Sequence[Finding], old: Sequence[Finding], documents: int, account: Live | None
) -> dict[str, Any]:
    from knowledge_rag.drift.commands import versions

    return ({"live": account.to_dict()} if account else {}) | {
        "documents": documents,
        "findings": [finding.to_dict() for finding in new],
        "known": [finding.to_dict() for finding in old],
        "checked_against": versions(),
    }


def _as_sarif(new: Sequence[Finding], docs: Path) -> dict[str, Any]:
    from knowledge_rag.core.sarif import Region, SarifResult, SarifRule, sarif_log
    from knowledge_rag.core.version import VERSION

    rules = [SarifRule(kind.value, kind.description, kind.level) for kind in Kind]
    results = [
        SarifResult(
            each.kind.value,
            neutralise(each.sentence),
            Region(
                (docs / each.path).as_posix(), each.line, each.line, each.column, each.end_column
            ),
        )
        for each in new
    ]
    return sarif_log(VERSION, rules, results)


def _show(new: Sequence[Finding], old: Sequence[Finding], documents: int) -> None:
    console = out()
    for each in new:
        print_finding(console, str(each))
    known = f", {len(old)} known" if old else ""
    err().print(
        f"{counted(len(new), 'finding')}{known} in {counted(documents, 'document')}", style="dim"
    )
