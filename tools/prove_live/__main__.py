"""``python -m tools.prove_live [run | teardown]``; see docs/operations/doctor-and-smoke.md."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

from knowledge_rag.cli.exits import ExitCode
from knowledge_rag.core.errors import KnowledgeRagError
from tools.prove_live.plan import SHORT

FOLDER: Final = Path(__file__).parents[2] / ".prove-live"


def main(arguments: list[str]) -> int:
    """Run; return the exit code."""
    options = _parser().parse_args(arguments)
    try:
        return _local(options) if options.local else _live(options)
    except KnowledgeRagError as error:
        sys.stderr.write(f"{error}\n")
        return ExitCode.BAD_INPUT


def _live(options: argparse.Namespace) -> int:
    from knowledge_rag.deployment.aws import Aws
    from tools.prove_live.run import Run

    aws = Aws(options.region, options.profile)
    aws.required_region()
    confirm = None if options.yes else _confirm
    run = Run(aws, options.profile, FOLDER, options.store, confirm, options.identifiers)
    return run.tear_down() if options.what == "teardown" else run.prove()


def _local(options: argparse.Namespace) -> int:
    from tools.prove_live.rehearsal import rehearse

    return rehearse(options.store, FOLDER / "local")


def _confirm(announced: str) -> bool:
    if not sys.stdin.isatty():
        sys.stderr.write(f"{announced}\nno terminal to confirm: pass --yes\n")
        return False
    sys.stdout.write(f"{announced}\n")
    return input("Go on? [y/N] ").strip().lower() in {"y", "yes"}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tools.prove_live",
        description="Deploy under a temporary name, test everything, remove it, and write a report.",
    )
    parser.add_argument("what", nargs="?", choices=("run", "teardown"), default="run")
    parser.add_argument("--region", help="overrides AWS_REGION and the profile's")
    parser.add_argument("--profile", help="of the credentials")
    parser.add_argument("--yes", action="store_true", help="don't ask")
    parser.add_argument(
        "--store",
        nargs="+",
        choices=tuple(SHORT),
        default=list(SHORT),
        help="stores to prove; both by default",
    )
    parser.add_argument(
        "--identifiers", action="store_true", help="keep account id and ARNs in the report"
    )
    parser.add_argument("--local", action="store_true", help="in a cloud on this machine")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
