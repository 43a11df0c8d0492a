"""Record the product's behaviour, and compare its current behaviour with the record.

``python -m tools.goldens record [part ...]`` writes ``tools/goldens/*.json``;
``python -m tools.goldens compare [--fast] [part ...]`` exits 1 if something differs. See
"Recorded behaviour" in ``CONTRIBUTING.md``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import SequenceMatcher
from fnmatch import fnmatch
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tools.golden_parts.base import Recorded

PROJECT: Final = Path(__file__).resolve().parents[1]
GOLDENS: Final = PROJECT / "tools" / "goldens"
SHOWN: Final = 20
"""Maximum differences to print; the others are counted."""
WIDTH: Final = 200
"""Maximum characters of a value to print."""
SCORE_TOLERANCE: Final = 0.002
"""Maximum difference between two equal floats: processors compute scores a little differently."""

_SETTINGS: Final = ("AWS_", "CDK_", "EVIDENCE_", "GUARDRAIL_", "POWERTOOLS_")
_SETTING_NAMES: Final = frozenset(
    {"DATE_ORDER", "LOG_LEVEL", "POLICY_TODAY", "SECONDARY_SCOPE", "SOURCE_POLICY"}
)
"""The user's variables that would change the record."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the record.

    Args:
        module: module of ``tools.golden_parts``.
        function: its function that returns the ``Recorded`` of a ``Run``.
        fast: whether ``--fast`` compares it.
        tolerance: relative difference allowed between two whole numbers.
    """

    module: str
    function: str = "record"
    fast: bool = False
    tolerance: float = 0.0


PARTS: Final = {
    "commands": Part("commands", fast=True),
    "events": Part("function", "record_events", fast=True),
    "chunks": Part("chunks", fast=True),
    "answers": Part("answers", fast=True),
    "imports": Part("imports", fast=True),
    "gameday": Part("function", "record_gameday"),
    "documents": Part("chunks", "record_documents"),
    "templates": Part("infrastructure", "record_templates"),
    "bundles": Part("infrastructure", "record_bundles", tolerance=0.02),
    "advice": Part("advice"),
}


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference from the record.

    Args:
        name: name of the recorded value.
        where: path inside the value, ``""`` for all of it.
        was: recorded value; ``None`` if there was none.
        now: current value; ``None`` if there is none.
    """

    name: str
    where: str
    was: Any
    now: Any

    def __str__(self) -> str:
        """Return the lines to print."""
        title = f"{self.name}  {self.where}".rstrip()
        return f"{title}\n    was {_short(self.was)}\n    is  {_short(self.now)}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if unknown := [name for name in given.parts if name not in PARTS]:
        parser.error(f"unknown part {unknown[0]!r}; choose from {', '.join(PARTS)}")
    if given.action == "compare" and given.show and not given.show[1].isdecimal():
        parser.error(f"--show: {given.show[1]!r} is not an index")
    with surroundings() as folder:
        if given.action == "record":
            return record(given.parts or list(PARTS), folder)
        if given.show:
            family, index = given.show
            return show(family, int(index), folder, now_only=given.now_only)
        parts = [name for name in given.parts or PARTS if PARTS[name].fast or not given.fast]
        return compare(parts, folder, fast=given.fast)


@contextmanager
def surroundings() -> Iterator[Path]:
    """Yield a temporary folder, with the user's settings removed from the environment."""
    before, place = dict(os.environ), tempfile.tempdir
    for name in before:
        if name.startswith(_SETTINGS) or name in _SETTING_NAMES:
            del os.environ[name]
    try:
        with tempfile.TemporaryDirectory(prefix="goldens-") as folder:
            os.environ["TMPDIR"] = tempfile.tempdir = folder
            yield Path(folder)
    finally:
        os.environ.update(before)
        if "TMPDIR" not in before:
            os.environ.pop("TMPDIR", None)
        tempfile.tempdir = place


def record(names: Sequence[str], folder: Path) -> int:
    """Record parts; values that this machine can't record stay as they were."""
    for name, recorded in _run(names, folder, fast=False):
        before = read(name)
        kept = {key: each for key, each in before.items() if _is_skipped(key, recorded)}
        write(name, kept | recorded.values)
    return 0


def compare(names: Sequence[str], folder: Path, *, fast: bool) -> int:
    """Compare parts with the record, print the differences, and return 1 if there are any."""
    found: list[str] = []
    for name, recorded in _run(names, folder, fast=fast):
        found += [
            f"{name}: {each}" for each in differences(PARTS[name], read(name), recorded, fast=fast)
        ]
    for each in islice(found, SHOWN):
        print(each)
    if len(found) > SHOWN:
        print(f"and {len(found) - SHOWN} more")
    if not found:
        print("Nothing differs from the record.")
        return 0
    number = "1 difference" if len(found) == 1 else f"{len(found)} differences"
    print(
        f"\n{number} from tools/goldens. If this is intended, run `make goldens-record` and give"
        " the reason in the commit."
    )
    return 1


def read(name: str) -> dict[str, Any]:
    """Return the record of a part, empty if there is none."""
    path = GOLDENS / f"{name}.json"
    if not path.exists():
        return {}
    recorded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return recorded


def write(name: str, values: Mapping[str, Any]) -> None:
    """Write the record of a part."""
    from tools.golden_parts.base import dumps

    GOLDENS.mkdir(exist_ok=True)
    (GOLDENS / f"{name}.json").write_text(f"{dumps(values)}\n", encoding="ascii")


def differences(
    part: Part, was: Mapping[str, Any], now: Recorded, *, fast: bool = False
) -> Iterator[Difference]:
    """Yield the differences between a record and the current values.

    Args:
        part: the record's part.
        was: the record.
        now: the values that this machine could record.
        fast: whether to ignore names that are missing now.
    """
    for name in sorted(was.keys() | now.values.keys()):
        if _is_skipped(name, now) or (fast and name not in now.values):
            continue
        before, after = was.get(name), now.values.get(name)
        if part is PARTS["answers"] and before and after:
            yield from _differing_answers(name, before, after)
        else:
            yield from _walk(name, "", before, after, part.tolerance)


def show(family: str, index: int, folder: Path, *, now_only: bool = False) -> int:
    """Print one answer as it is verified now, and as verified by the recorded commit's code."""
    from tools.golden_parts import answers

    try:
        now = answers.shown(family, index, folder)
    except KeyError:
        print(f"error: unknown family {family!r}; see tools/goldens/answers.json", file=sys.stderr)
        return 2
    if now_only:
        print(json.dumps(now))
        return 0
    commit, was = _recorded_answer(family, index, folder)
    print(f"answer\n    {json.dumps(now.pop('answer'))}")
    for name, value in now.items():
        if was is None or was.get(name) == value:
            print(f"{name}\n    {json.dumps(value)}")
        else:
            print(f"{name}\n    was {json.dumps(was.get(name))}\n    is  {json.dumps(value)}")
    print(f"compared with {commit}" if was else f"not compared: {commit}")
    return 0


def _run(names: Sequence[str], folder: Path, *, fast: bool) -> Iterator[tuple[str, Recorded]]:
    """Yield each part and its record; those that can't run here are printed and skipped."""
    from tools.golden_parts.base import Run, Skipped

    run = Run(folder, fast)
    for name in names:
        part = PARTS[name]
        started = time.monotonic()
        try:
            module = import_module(f"tools.golden_parts.{part.module}")
            recorded: Recorded = getattr(module, part.function)(run)
        except Skipped as reason:
            print(f"{name}: skipped: {reason}", flush=True)
            continue
        seconds = time.monotonic() - started
        print(f"{name}: {len(recorded.values)} recorded in {seconds:.1f} s", flush=True)
        for key, reason_given in recorded.skipped.items():
            print(f"  {key}: skipped: {reason_given}")
        for note in recorded.notes:
            print(f"  {note}")
        yield name, recorded


def _is_skipped(name: str, recorded: Recorded) -> bool:
    return any(fnmatch(name, pattern) for pattern in recorded.skipped)


def _walk(name: str, where: str, was: Any, now: Any, tolerance: float) -> Iterator[Difference]:
    if isinstance(was, dict) and isinstance(now, dict):
        for key in sorted(was.keys() | now.keys()):
            inner = f"{where}.{key}".lstrip(".")
            yield from _walk(name, inner, was.get(key), now.get(key), tolerance)
    elif isinstance(was, list) and isinstance(now, list):
        yield from _walk_lists(name, where, was, now, tolerance)
    elif not _is_same(was, now, tolerance):
        yield Difference(name, where, was, now)


def _walk_lists(
    name: str, where: str, was: list[Any], now: list[Any], tolerance: float
) -> Iterator[Difference]:
    """Yield differences, counting an added or removed item as one."""
    before, after = ([json.dumps(each, sort_keys=True) for each in side] for side in (was, now))
    for kind, first, end, start, stop in SequenceMatcher(
        None, before, after, autojunk=False
    ).get_opcodes():
        if kind == "equal":
            continue
        if end - first == stop - start:
            for offset in range(end - first):
                inner = f"{where}[{first + offset}]"
                yield from _walk(name, inner, was[first + offset], now[start + offset], tolerance)
        else:
            yield Difference(
                name, f"{where}[{first}]", was[first:end] or None, now[start:stop] or None
            )


def _is_same(was: Any, now: Any, tolerance: float) -> bool:
    if isinstance(was, float) and isinstance(now, float):
        return abs(was - now) <= SCORE_TOLERANCE
    if type(was) is int and type(now) is int:
        return abs(was - now) <= tolerance * abs(was)
    return type(was) is type(now) and bool(was == now)


def _differing_answers(name: str, was: dict[str, Any], now: dict[str, Any]) -> Iterator[Difference]:
    from tools.golden_parts.answers import differing

    parts = [key for key in now if key != "answers" and was.get(key) != now[key]]
    if parts:
        indexes = differing(was, now)
        first = f"; see --show {name} {indexes[0]}" if indexes else ""
        told = f"{len(indexes)} differ in {', '.join(parts)}: {', '.join(map(str, indexes[:SHOWN]))}{first}"
        yield Difference(name, "", f"{was.get('count')} answers", told)


def _recorded_answer(family: str, index: int, folder: Path) -> tuple[str, dict[str, Any] | None]:
    """Return the commit that recorded the answers, and its code's result for one; or why it isn't available."""
    tree, archive = folder / "recorded", folder / "recorded.tar"
    tree.mkdir()
    try:
        commit = _output(
            "git", "log", "-1", "--format=%h", "--", "tools/goldens/answers.json"
        ).strip()
        if not commit:
            return "the record was never committed", None
        _output("git", "archive", "--output", str(archive), commit)
        _output("tar", "xf", str(archive), "-C", str(tree))
        command = (
            sys.executable,
            "-m",
            "tools.goldens",
            "compare",
            "--now-only",
            "--show",
            family,
            str(index),
        )
        was: dict[str, Any] = json.loads(_output(*command, folder=tree))
    except (OSError, subprocess.CalledProcessError) as error:
        return f"the commit that recorded it can't be run: {error}", None
    return commit, was


def _output(*command: str, folder: Path = PROJECT) -> str:
    environment = os.environ | {"PYTHONPATH": str(folder)}
    done = subprocess.run(  # noqa: S603 - git, tar and this interpreter
        command, cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


def _short(value: Any) -> str:
    text = "nothing" if value is None else json.dumps(value)
    return text if len(text) <= WIDTH else f"{text[:WIDTH]}..."


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.goldens", description=__doc__)
    actions = parser.add_subparsers(dest="action", required=True)
    for action, description in (
        ("record", "Record behaviour again; give the reason in the commit."),
        ("compare", "Compare behaviour with the record; exit 1 if it differs."),
    ):
        command = actions.add_parser(action, description=description, help=description)
        command.add_argument("parts", nargs="*", metavar="part", help=f"one of {', '.join(PARTS)}")
    # for compare only, the last one
    command.add_argument("--fast", action="store_true", help="only the fast subset")
    command.add_argument(
        "--show", nargs=2, metavar=("FAMILY", "INDEX"), help="print one answer, as it was and is"
    )
    command.add_argument("--now-only", action="store_true", help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
