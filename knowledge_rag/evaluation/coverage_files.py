"""The alerts of files, folders and patterns.

A file that is named has to hold rules. In a folder or behind a pattern other YAML and JSON may lie
about, and is left out; but what has the looks of rules and can't be read is an error there, too, so
that a rule file that broke does not count as nothing to check.
"""

from __future__ import annotations

import glob
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.errors import InvalidRequest, UnreadableDocument
from knowledge_rag.core.lines import decode
from knowledge_rag.evaluation.coverage_cloudformation import cloudwatch_alarms, is_template
from knowledge_rag.evaluation.coverage_prometheus import is_prometheus, prometheus_alerts
from knowledge_rag.evaluation.coverage_yaml import read_yaml
from knowledge_rag.local.corpus import read_regular

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knowledge_rag.evaluation.coverage_alerts import Alert

MAX_BYTES: Final = 16 << 20
"""Of a file of rules; a template has 1 MB at most."""

SUFFIXES: Final = frozenset({".yaml", ".yml", ".json", ".template", ".rules"})
"""Of the files that are looked at in a folder."""

UNDERSTOOD: Final = "understood are rule files of Prometheus, PrometheusRule resources, and CloudFormation templates"
_MARKS: Final = (b"groups", b"PrometheusRule", b"AWS::CloudWatch::")
_ASSETS: Final = "asset."
"""What a CDK assembly calls the code beside its templates."""


@dataclass(frozen=True, slots=True)
class RuleFiles:
    """What was read.

    Args:
        alerts: of all files, in their order.
        files: that hold rules, as they are shown.
        skipped: those of folders and patterns that hold none.
    """

    alerts: tuple[Alert, ...]
    files: tuple[str, ...]
    skipped: tuple[str, ...]


def read_rules(paths: Sequence[str]) -> RuleFiles:
    """Read the alerts of files, folders and patterns such as ``rules/**/*.yaml``.

    Args:
        paths: at least one.

    Raises:
        InvalidRequest: one names nothing, is too large, is none of what is understood, or has an
            error in it, which the message places by ``file:line:``; or there is no alert in all.
        UnreadableDocument: a file can't be opened or is no UTF-8.
    """
    alerts: list[Alert] = []
    files: list[str] = []
    skipped: list[str] = []
    for path, is_named in _chosen(paths):
        found = _alerts(path, is_named=is_named)
        (skipped if found is None else files).append(shown(path))
        alerts += found or ()
    if not alerts:
        raise InvalidRequest(f"no alert in {', '.join(paths)}; {UNDERSTOOD}")
    return RuleFiles(tuple(alerts), tuple(files), tuple(skipped))


def shown(path: Path) -> str:
    """Give a path as people and baselines read it: from where they stand, if it lies below."""
    plain = Path(os.path.normpath(path))
    try:
        return plain.absolute().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return plain.as_posix()


def _chosen(paths: Sequence[str]) -> list[tuple[Path, bool]]:
    """Give each file once, and whether somebody named it."""
    chosen: dict[str, tuple[Path, bool]] = {}
    for text in paths:
        path = Path(text)
        if path.is_dir():
            found = [(each, False) for each in _in_folder(path)]
        elif path.exists() or not glob.has_magic(text):
            found = [(path, True)]
        else:
            matches = sorted(glob.glob(text, recursive=True))  # noqa: PTH207 - absolute patterns, too
            found = [(Path(each), False) for each in matches if Path(each).is_file()]
        if not found:
            raise InvalidRequest(f"no rules in {text}: no file of it ends in {_suffixes()}")
        for each, is_named in found:
            chosen.setdefault(shown(each), (each, is_named))
    return list(chosen.values())


def _in_folder(folder: Path) -> Iterator[Path]:
    for inner, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith((".", _ASSETS)))
        for name in sorted(names):
            if Path(name).suffix.lower() in SUFFIXES and not name.startswith("."):
                yield Path(inner, name)


def _alerts(path: Path, *, is_named: bool) -> list[Alert] | None:
    """Give the alerts of a file; ``None`` where it holds no rules and nobody said that it would."""
    name = shown(path)
    data = _read(path, name)
    if not is_named and not any(mark in data for mark in _MARKS):
        return None
    documents = read_yaml(decode(data, name), name)
    alerts: list[Alert] = []
    understood = False
    for document in documents:
        if is_template(document):
            alerts += cloudwatch_alarms(document, name)
        elif is_prometheus(document):
            alerts += prometheus_alerts(document, name)
        else:
            continue
        understood = True
    if understood:
        return alerts
    if is_named:
        line = documents[0].place.line if documents else 1
        raise InvalidRequest(f"{name}:{line}: no rules; {UNDERSTOOD}")
    return None


def _read(path: Path, name: str) -> bytes:
    try:
        data = read_regular(path, MAX_BYTES + 1)
    except OSError as error:
        raise UnreadableDocument(name, error.strerror or str(error)) from error
    if len(data) > MAX_BYTES:
        raise InvalidRequest(f"{name}: larger than {MAX_BYTES >> 20} MiB")
    return data


def _suffixes() -> str:
    return ", ".join(f"*{suffix}" for suffix in sorted(SUFFIXES))
