"""Agents for the local server that misbehave on purpose, and one that is merely talkative.

Which agent plays is the caller's choice of ``agentId``, never a word in his text.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from tests.support import answer_writers as writers
from tests.support import stream_faults as faults
from tests.support.scripted import (
    HONEST_AGENT,
    Evidence,
    modelled_error,
    modelled_exceptions,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.support.scripted import ScriptedAgent

QUOTING_ID: Final = "QUOTES0000"
QUOTING: Final = replace(HONEST_AGENT, write=writers.quoted)
"""Honest too, and as talkative as its evidence: those that misbehave are like it but for one thing."""
_ELSEWHERE: Final = {
    "content": {"text": "Restart everything at once.", "type": "TEXT"},
    "location": {"type": "S3", "s3Location": {"uri": "s3://elsewhere/runbooks/never-written.md"}},
    "metadata": {"source_file": "runbooks/never-written.md", "start_line": 3.0, "end_line": 9.0},
}
_ATTRIBUTION: Final = {
    "citations": [
        {
            "generatedResponsePart": {
                "textResponsePart": {"text": "The documents say", "span": {"start": 0, "end": 16}}
            },
            "retrievedReferences": [_ELSEWHERE],
        }
    ]
}
_FOREVER: Final = 30.0

SCRIPTED: Final[Mapping[str, ScriptedAgent]] = {
    QUOTING_ID: QUOTING,
    # what it writes
    "FABRICATES": replace(QUOTING, write=writers.fabricating(QUOTING.write)),
    "WRONGLINES": replace(QUOTING, write=writers.misranging(QUOTING.write)),
    "NOTATIONS0": replace(QUOTING, write=writers.renotating(QUOTING.write)),
    "UNCITED000": replace(QUOTING, write=writers.unreferenced(QUOTING.write)),
    "SILENT0000": replace(QUOTING, write=writers.saying("")),
    # what it asks
    "FIVEASKED0": replace(QUOTING, plan=lambda text: [f"{text} {n}" for n in range(5)]),
    "NEVERASKS0": replace(QUOTING, plan=lambda _text: []),
    "ASKSBLANK0": replace(QUOTING, plan=lambda _text: [" "]),
    # where it looks, and what it tells of that
    "NATIVEKB00": replace(QUOTING, evidence=Evidence.KNOWLEDGE_BASE),
    "RETURNSCTL": replace(QUOTING, evidence=Evidence.CALLER),
    "NOTRACES00": replace(QUOTING, alter=faults.without(faults.is_trace)),
    "NOOBSERVED": replace(QUOTING, alter=faults.without(faults.is_observation)),
    "PARTTRACES": replace(QUOTING, alter=faults.with_only_the_first(faults.is_observation)),
    "CUTTRACES0": replace(QUOTING, alter=faults.garbled),
    "ATTRIBUTES": replace(QUOTING, alter=faults.attributed(_ATTRIBUTION)),
    "GIVESFILES": replace(QUOTING, alter=faults.with_files),
    "TOMORROWS0": replace(QUOTING, alter=faults.with_unknown_members),
    # how it says it
    "SPLITBYTES": replace(QUOTING, alter=faults.rechunked(1)),
    "SPLITREFS0": replace(QUOTING, alter=faults.rechunked(7)),
    "CUTOFF0000": replace(QUOTING, transmit=faults.cut_off(after=2)),
    "ENDSEARLY0": replace(QUOTING, transmit=faults.ending_early(after=2)),
    "ENDSWHOLE0": replace(QUOTING, transmit=faults.ending_early(after=2, part=0)),
    "BADPRELUDE": replace(QUOTING, transmit=faults.damaged(after=1, where=8)),
    "BADMESSAGE": replace(QUOTING, transmit=faults.damaged(after=1, where=-1)),
    "NOSTREAM00": replace(QUOTING, transmit=faults.replaced_by(b"<html>502 Bad Gateway</html>")),
    "NOTHING000": replace(QUOTING, transmit=faults.replaced_by(b"")),
    "OVERSIZED0": replace(QUOTING, transmit=faults.replaced_by(faults.oversized_message())),
    "HANGS00000": replace(QUOTING, transmit=faults.late(_FOREVER)),
    "SLOWDRIP00": replace(QUOTING, transmit=faults.dripping(0.02, size=256, most_seconds=_FOREVER)),
}
"""Agents that are played only where they are asked for, by ``agentId``."""


def stream_errors() -> tuple[str, ...]:
    """Give the errors that ``InvokeAgent``'s model has for its stream, e.g. ThrottlingException."""
    return modelled_exceptions("bedrock-agent-runtime", "ResponseStream")


def failing_in_stream(code: str, *, after: int = 2) -> ScriptedAgent:
    """Give an agent whose stream ends with an exception after some events."""
    return replace(QUOTING, alter=faults.failing(code, after=after))


def refusing(code: str) -> ScriptedAgent:
    """Give an agent that answers every request with an error of the model."""
    return replace(QUOTING, refusal=modelled_error("bedrock-agent-runtime", code, "It failed"))
