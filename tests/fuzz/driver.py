"""Runs one fuzz target under atheris: ``make fuzz``, or ``python -m tests.fuzz.fuzz_response``.

``FUZZ_SECONDS`` bounds a run (60). What libFuzzer takes may be given as arguments, and a folder to
keep the corpus in. An input that breaks the invariant ends the run with its traceback and is
written to ``build/fuzz``: move it to ``tests/fuzz/crashers/<target>``, where a test replays it.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import atheris

CRASHERS = Path(__file__).with_name("crashers")
ARTIFACTS = Path(__file__).parents[2] / "build" / "fuzz"


def run(name: str) -> None:
    """Fuzz the target ``name`` until its time is over or something breaks."""
    # the product's own modules and the HTTP below them are what coverage guides through
    with atheris.instrument_imports(include=["knowledge_rag", "lambdas", "http.client"]):
        from tests.fuzz.mutator import mutate
        from tests.support import fuzzing
        from tests.support.fixtures import ENVIRONMENT

    for variable in [name for name in os.environ if name.startswith(("AWS_", "POWERTOOLS_"))]:
        del os.environ[variable]
    endpoint = {"AWS_ENDPOINT_URL_BEDROCK_AGENT_RUNTIME": fuzzing.UNDIALLED}
    os.environ.update(ENVIRONMENT | endpoint)
    with tempfile.TemporaryDirectory() as folder:
        seeds, new = Path(folder, "seeds"), Path(folder, "new")
        seeds.mkdir()
        new.mkdir()
        for index, seed in enumerate(fuzzing.SEEDS[name]()):
            (seeds / f"seed-{index}").write_bytes(seed)
        target = fuzzing.INPUTS[name]
        # loads everything, before the first input is timed, and sees that it works
        assert target(fuzzing.SEEDS[name]()[0])["status"] == "ok"

        def mutator(data: bytes, most: int, seed: int) -> bytes:
            return mutate(data, most, seed, atheris.Mutate)

        atheris.Setup(_arguments(name, new, seeds), target, custom_mutator=mutator)
        atheris.Fuzz()


def _arguments(name: str, new: Path, seeds: Path) -> list[str]:
    ARTIFACTS.mkdir(parents=True, exist_ok=True)
    given = sys.argv[1:]
    crashers = CRASHERS / name
    return [
        sys.argv[0],
        f"-max_total_time={os.environ.get('FUZZ_SECONDS', '60')}",
        "-max_len=16384",
        "-timeout=10",
        "-rss_limit_mb=2048",
        "-print_final_stats=1",
        f"-artifact_prefix={ARTIFACTS}/{name}-",
        *given,
        *([] if any(not option.startswith("-") for option in given) else [str(new)]),
        str(seeds),
        *([str(crashers)] if crashers.is_dir() else []),
    ]
