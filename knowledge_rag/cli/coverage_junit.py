"""The outcome as JUnit's XML, which build servers show as tests: one for each alert."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowledge_rag.evaluation.coverage_check import Checked
    from knowledge_rag.evaluation.coverage_report import Coverage
    from knowledge_rag.evaluation.coverage_rules import BrokenFile

_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_junit(done: Coverage) -> str:
    """Give a suite for each file of rules: new gaps are failures, known ones are skipped.

    A file that can't be read is a suite with one test, which is an error. What is told and does not
    fail is output of its test.
    """
    known = {id(each) for each in done.known if each.gap is not None}
    counts = _counts(done.checked, known, len(done.broken))
    root = ET.Element("testsuites", {"name": "knowledge-rag coverage"} | counts)
    for file, group in groupby(done.checked, key=lambda each: each.alert.file):
        alerts = list(group)
        attributes = {"name": _clean(file)} | _counts(alerts, known)
        suite = ET.SubElement(root, "testsuite", attributes)
        for each in alerts:
            _case(suite, each, is_known=id(each) in known)
    for broken in done.broken:
        _unreadable(root, broken)
    ET.indent(root)
    document: bytes = ET.tostring(root, encoding="us-ascii", xml_declaration=True)
    return document.decode() + "\n"


def _case(suite: ET.Element, each: Checked, *, is_known: bool) -> None:
    alert = each.alert
    file = _clean(alert.file)
    case = ET.SubElement(
        suite,
        "testcase",
        name=_clean(alert.name),
        classname=file,
        file=file,
        line=str(alert.place.line),
        time="0",
    )
    if each.reason is not None:
        ET.SubElement(case, "error", type="degraded", message=f"not searched: {each.reason}")
    elif is_known:
        ET.SubElement(case, "skipped", message=_clean(f"known gap: {each.message}"))
    elif each.gap is not None:
        failure = ET.SubElement(case, "failure", type=each.gap.value, message=_clean(each.message))
        failure.text = _clean("\n".join((alert.where, *each.queries)))
    elif each.finding is not None or each.steps_unknown is not None:
        told = each.message if each.finding is not None else steps_unknown(each)
        ET.SubElement(case, "system-out").text = _clean(told)


def steps_unknown(each: Checked) -> str:
    """Say that nobody knows whether a covered alert has steps."""
    return f"alert {each.alert.name} is covered, but its steps could not be looked for: {each.steps_unknown}"


def _unreadable(root: ET.Element, broken: BrokenFile) -> None:
    file = _clean(broken.file)
    suite = ET.SubElement(root, "testsuite", {"name": file} | _counts((), set(), 1))
    case = ET.SubElement(suite, "testcase", name="can be read", classname=file, file=file, time="0")
    if broken.line is not None:
        case.set("line", str(broken.line))
    ET.SubElement(case, "error", type="unreadable", message=_clean(broken.message))


def _counts(alerts: Sequence[Checked], known: set[int], broken: int = 0) -> dict[str, str]:
    skipped = sum(id(each) in known for each in alerts)
    return {
        "tests": str(len(alerts) + broken),
        "failures": str(sum(each.gap is not None for each in alerts) - skipped),
        "errors": str(sum(each.reason is not None for each in alerts) + broken),
        "skipped": str(skipped),
    }


def _clean(text: str) -> str:
    """Replace what XML can't hold."""
    return _NOT_XML.sub("\ufffd", text)
