"""Carries ``knowledge-rag coverage`` out: rules, documents, the questions, the baseline."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from knowledge_rag.cli.terminal import progress_bar, tell
from knowledge_rag.core.errors import InvalidRequest

if TYPE_CHECKING:
    from pathlib import Path

    from knowledge_rag.evaluation.coverage_check import Checked
    from knowledge_rag.evaluation.coverage_report import Baseline, Coverage
    from knowledge_rag.evaluation.coverage_rules import RuleFiles
    from knowledge_rag.evaluation.coverage_runbooks import Runbooks
    from knowledge_rag.evaluation.coverage_wanted import Wanted
    from knowledge_rag.evaluation.evaluation_corpus import Documents

SHOWN = 3
"""Names of a list that a message gives."""


@dataclass(frozen=True, slots=True)
class Work:
    """What is to be checked, and how.

    Args:
        rules: files, folders and patterns.
        docs: folder of the runbooks.
        mapping: file that says which alert has which runbook.
        wanted: what has to be found, and how much of it; without the baseline.
        baseline: file of known gaps.
        writes: whether the baseline is written instead of read.

    Raises:
        InvalidRequest: these don't go together, or the baseline has nowhere to go.
    """

    rules: tuple[str, ...]
    docs: Path
    mapping: Path | None
    wanted: Wanted
    baseline: Path | None
    writes: bool

    def __post_init__(self) -> None:
        if not self.writes:
            return
        if self.baseline is None:
            raise InvalidRequest("--write-baseline: name the file with --baseline")
        if self.baseline.is_dir() or not self.baseline.absolute().parent.is_dir():
            raise InvalidRequest(
                f"can't write {self.baseline}: it is a folder, or its folder is missing"
            )


def run(work: Work) -> Coverage:
    """Check every alert of the files that can be read, and tell at once which can't.

    Raises:
        NoAlerts: there is no alert to check.
        InvalidRequest: another file is wrong, or the baseline would lack the gaps of a file, or take
            the place of something else.
        UnreadableDocument: another file can't be read.
        UnusableCorpus: there are no documents.
    """
    from knowledge_rag.evaluation.coverage_report import check_replaceable, read_baseline, summarise
    from knowledge_rag.evaluation.coverage_runbooks import Runbooks, read_map
    from knowledge_rag.evaluation.coverage_yaml import check_installed
    from knowledge_rag.evaluation.evaluation_corpus import Documents

    check_installed()
    known: Baseline | None = None
    if work.baseline is not None and not work.writes:
        known = read_baseline(work.baseline)
    elif work.baseline is not None:
        check_replaceable(work.baseline)
    rules = _rules(work)
    mapping = read_map(work.mapping) if work.mapping is not None else {}
    documents = Documents.of(work.docs)
    _tell_oddities(rules, documents, mapping)
    wanted = replace(work.wanted, baseline=known)
    checked = _check(rules, Runbooks(documents, mapping), documents, wanted)
    return summarise(checked, rules, wanted)


def write(baseline: Path, done: Coverage) -> None:
    """Write the gaps of a run as known ones.

    Raises:
        OSError: the file can't be written.
    """
    from knowledge_rag.evaluation.coverage_report import write_baseline
    from knowledge_rag.orchestrator.wording import counted

    write_baseline(baseline, done.gaps)
    tell("wrote", f"{counted(len(done.gaps), 'known gap')} to {baseline}")


def _rules(work: Work) -> RuleFiles:
    from knowledge_rag.evaluation.coverage_rules import NoAlerts, read_rules
    from knowledge_rag.orchestrator.wording import counted

    try:
        rules = read_rules(work.rules)
    except NoAlerts as error:
        for each in error.broken[:-1]:
            tell("error:", each.message)
        raise  # it has the words of the last one
    for each in rules.broken:
        tell("error:", each.message)
    if work.writes and rules.broken:
        files = counted(len(rules.broken), "file")
        raise InvalidRequest(
            f"--write-baseline: the gaps of {files} that can't be read are unknown"
        )
    return rules


def _check(
    rules: RuleFiles, runbooks: Runbooks, documents: Documents, wanted: Wanted
) -> tuple[Checked, ...]:
    from knowledge_rag.evaluation.coverage_check import check_all
    from knowledge_rag.evaluation.evaluation_corpus import ingested
    from knowledge_rag.local.embeddings import MiniLm
    from knowledge_rag.local.local_retrieval import local_retrieval
    from knowledge_rag.local.settings import LocalSettings

    settings = LocalSettings.from_environment()
    embedder = MiniLm(settings)
    besides = (settings.default_knowledge_base,)
    with (
        progress_bar() as progress,
        ingested(documents, settings.cache_dir, embedder, progress, besides=besides) as opened,
        local_retrieval(opened) as retrieval,
    ):
        return check_all(rules.alerts, runbooks, retrieval, wanted, progress=progress)


def _tell_oddities(rules: RuleFiles, documents: Documents, mapping: dict[str, str]) -> None:
    """Say what was left out, and what of the map nothing needs."""
    for skipped in documents.skipped:
        tell("skipped", str(skipped))
    if rules.skipped:
        tell("skipped", f"{_some(list(rules.skipped))}: no rules in it")
    unused = sorted(mapping.keys() - {alert.name for alert in rules.alerts})
    if unused:
        tell("warning", f"the map names no alert of these rules: {_some(unused)}")


def _some(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
