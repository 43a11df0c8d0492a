"""The alerts of files, folders and patterns.

A file that is named has to hold rules. In a folder or behind a pattern other YAML and JSON may lie
about, and is left out; but what has the looks of rules and can't be read is an error there, too, so
that a rule file that broke does not count as nothing to check. One that can't be read keeps none of
the others from being read, and none of its own alerts is given: half a file would look like a whole.
"""

from __future__ import annotations

import codecs
import glob
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.errors import InvalidRequest, UnreadableDocument
from knowledge_rag.core.lines import decode
from knowledge_rag.evaluation.coverage_cloudformation import cloudwatch_alarms, is_template
from knowledge_rag.evaluation.coverage_prometheus import is_prometheus, prometheus_alerts
from knowledge_rag.evaluation.coverage_yaml import WrongRules, read_yaml
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
_UTF_16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""Of a text in which no mark would be found, and which may be rules."""
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
    skipped: tuple[str, ...] = ()
    broken: tuple[BrokenFile, ...] = ()


@dataclass(frozen=True, slots=True)
class BrokenFile:
    """A file of rules, or what should be some, that can't be read.

    Args:
        file: as it is shown, or the path or pattern that names none.
        message: what is wrong, beginning with the file and, where it is known, the line.
        line: of the error, ``None`` where it is in no single one.
    """

    file: str
    message: str
    line: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Give the JSON form."""
        return {"file": self.file, "line": self.line, "message": self.message}


class NoAlerts(InvalidRequest):
    """There is no alert in all that was named.

    Args:
        message: why; of files that can't be read, that of the last one.
        broken: those files.
    """

    def __init__(self, message: str, broken: tuple[BrokenFile, ...]) -> None:
        super().__init__(message)
        self.broken = broken


def read_rules(paths: Sequence[str]) -> RuleFiles:
    """Read the alerts of files, folders and patterns such as ``rules/**/*.yaml``.

    Args:
        paths: at least one. What of them names nothing, is too large, can't be opened, is no UTF-8,
            is none of what is understood, or has an error in it, is broken.

    Raises:
        NoAlerts: there is no alert in what could be read, or nothing could be.
    """
    alerts: list[Alert] = []
    files: list[str] = []
    skipped: list[str] = []
    broken: list[BrokenFile] = []
    for path, is_named in _chosen(paths, broken):
        try:
            found = _alerts(path, is_named=is_named)
        except (InvalidRequest, UnreadableDocument) as error:
            broken.append(BrokenFile(shown(path), str(error), getattr(error, "line", None)))
            continue
        (skipped if found is None else files).append(shown(path))
        alerts += found or ()
    if not alerts:
        nothing = f"no alert in {', '.join(paths)}; {UNDERSTOOD}"
        raise NoAlerts(broken[-1].message if broken else nothing, tuple(broken))
    return RuleFiles(tuple(alerts), tuple(files), tuple(skipped), tuple(broken))


def shown(path: Path) -> str:
    """Give a path as people and baselines read it: from where they stand, if it lies below."""
    plain = Path(os.path.normpath(path))
    try:
        return plain.absolute().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return plain.as_posix()


def _chosen(paths: Sequence[str], broken: list[BrokenFile]) -> list[tuple[Path, bool]]:
    """Give each file once, and whether somebody named it; add what names none to the broken ones.

    A file that links lead to as well is known by its shortest path: a pattern follows them, in circles
    even, and an alert would count several times.
    """
    chosen: dict[str, tuple[Path, bool]] = {}
    for text in paths:
        path = Path(text)
        before = len(broken)
        if not text.strip():  # a variable that a script forgot to set, and no wish for this folder
            broken.append(BrokenFile(text, "--rules: names no file"))
            continue
        if path.is_dir():
            found = [(each, False) for each in _in_folder(path, broken)]
        elif path.exists() or not glob.has_magic(text):
            found = [(path, True)]
        else:
            matches = sorted(glob.glob(text, recursive=True))  # noqa: PTH207 - absolute patterns, too
            found = [(Path(each), False) for each in matches if Path(each).is_file()]
        if not found and len(broken) == before:
            why = f"no file of it ends in {_suffixes()}" if path.is_dir() else "it fits no file"
            broken.append(BrokenFile(text, f"no rules in {text}: {why}"))
        for each, is_named in found:
            known = chosen.get(real := os.path.realpath(each))
            if known is None or len(each.parts) < len(known[0].parts):
                chosen[real] = (each, is_named or (known is not None and known[1]))
    return list(chosen.values())


def _in_folder(folder: Path, broken: list[BrokenFile]) -> Iterator[Path]:
    def closed(error: OSError) -> None:  # what is in there was not checked
        name = shown(Path(error.filename or folder))
        broken.append(BrokenFile(name, f"{name}: {error.strerror or error}"))

    for inner, folders, names in os.walk(folder, onerror=closed):
        folders[:] = sorted(name for name in folders if not name.startswith((".", _ASSETS)))
        for name in sorted(names):
            if Path(name).suffix.lower() in SUFFIXES and not name.startswith("."):
                yield Path(inner, name)


def _alerts(path: Path, *, is_named: bool) -> list[Alert] | None:
    """Give the alerts of a file; ``None`` where it holds no rules and nobody said that it would."""
    name = shown(path)
    data = _read(path, name)
    if not is_named and not data.startswith(_UTF_16) and not any(mark in data for mark in _MARKS):
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
        raise WrongRules(name, line, f"no rules; {UNDERSTOOD}")
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
