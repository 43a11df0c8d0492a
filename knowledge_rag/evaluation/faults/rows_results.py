"""Rows: results that may not be shown as they came."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.outcome import DropReason, Reason
from knowledge_rag.evaluation.faults.events import QUERY, agent, direct
from knowledge_rag.evaluation.faults.items import evidence, item, retrieved, without
from knowledge_rag.evaluation.faults.model import Fault, Group, answers, degrades
from knowledge_rag.evaluation.faults.scripts import answering, http
from knowledge_rag.evaluation.faults.stage import HEALTHY, wire

if TYPE_CHECKING:
    from typing import Unpack

    from knowledge_rag.evaluation.faults.model import Details, Expected

_SOUND: Final = item("Tell the incident channel.", start=40, score=0.4)
_TWO_KB: Final = "x" * 1_900
_LONG: Final = "line of a long runbook\n" * 350  # 8 KB


def _row(name: str, what: str, body: object, expected: Expected, **more: Unpack[Details]) -> Fault:
    # The next request on the same connection is healthy: nothing of this one may reach it.
    play = wire(answering(http(body), HEALTHY))
    more["connections"] = 1
    return Fault(name, Group.RESULTS, what, play, expected, **more)


def _dropped(name: str, what: str, reason: DropReason, *unsound: object) -> Fault:
    """Unsound items around a sound one: they go, are counted, and cost it nothing."""
    half = len(unsound) // 2
    body = retrieved(*unsound[:half], _SOUND, *unsound[half:])
    return _row(name, what, body, answers(evidence(_SOUND), dropped={reason: len(unsound)}))


def _shown(name: str, what: str, *items: dict[str, Any]) -> Fault:
    return _row(name, what, retrieved(*items), answers(*map(evidence, items)))


def _of_type(kind: str, **content: object) -> dict[str, Any]:
    return item() | {"content": {"type": kind, **content}}


def _with_text(text: object) -> dict[str, Any]:
    return item() | {"content": {"type": "TEXT", "text": text}}


def _restamped(whole: dict[str, Any], **metadata: object) -> dict[str, Any]:
    return whole | {"metadata": whole["metadata"] | metadata}


def _numbered(count: int, content: str) -> list[dict[str, Any]]:
    return [
        item(f"{n} {content}", start=1 + 1_000 * n, score=(count - n) / count) for n in range(count)
    ]


def _cut(
    name: str, what: str, event: object, items: list[dict[str, Any]], dropped: dict[DropReason, int]
) -> Fault:
    kept = items[: len(items) - sum(dropped.values())]
    expected = answers(*map(evidence, kept), dropped=dropped)
    return _row(name, what, retrieved(*items), expected, event=event)


_GARBLED_LINES: Final[tuple[object, ...]] = (
    5.5, "5.5", "five", "", " 5", "+5", "٥", True, None, [5], {}, -5, 0, float("inf"), 10**40,
)  # fmt: skip

ROWS: Final = (
    _dropped(
        "item-no-text",
        "null, {}, ROW, IMAGE, AUDIO, VIDEO, text empty or none",
        DropReason.NOT_TEXT,
        None,
        {},
        [],
        5,
        "text",
        _of_type("ROW", row=[{"columnName": "a", "columnValue": "b", "type": "STRING"}]),
        _of_type("IMAGE", text=item()["content"]["text"]),
        _of_type("IMAGE", byteContent="data:image/png;base64,AAAA"),
        _of_type("AUDIO", audio={"s3Uri": "s3://corpus/a.mp3"}),
        _of_type("VIDEO", video={"s3Uri": "s3://corpus/a.mp4"}),
        _with_text(""),
        _with_text(None),
        _with_text(7),
        without(item(), "content"),
    ),
    _shown("score-absent", "no score", item(score=None), _SOUND),
    _shown("score-null", "the score is null", item() | {"score": None}, _SOUND),
    _shown("score-nan", "the score is NaN", item(score=float("nan")), _SOUND),
    _shown("score-infinite", "the score is Infinity", item(score=float("inf")), _SOUND),
    _shown("score-over-1", "a score of 17.5", item(score=17.5), _SOUND),
    _shown("score-negative", "a score of -0.25", item(score=-0.25), _SOUND),
    _shown("score-text", "the score is text", item(score="0.9"), _SOUND),
    _shown("lines-as-digits", 'start_line "5", end_line "6"', item(start_line="5", end_line="6")),
    _shown("lines-as-doubles", "start_line 5.0, end_line 6.0", item(start_line=5.0, end_line=6.0)),
    _dropped(
        "start-line-garbled",
        "start_line 5.5, five, true, null, 0, -5, Infinity...",
        DropReason.NO_CITATION,
        *(item(start_line=value) for value in _GARBLED_LINES),
        without(item(), "start_line"),
        without(item(), "end_line"),
    ),
    _dropped(
        "start-after-end",
        "start_line 9, end_line 5",
        DropReason.NO_CITATION,
        item(start_line=9.0, end_line=5.0),
    ),
    _dropped(
        "lines-too-few",
        "two lines cited, three returned",
        DropReason.NOT_PROVEN,
        item(end_line=5.0),
        item(end_line=7.0),
    ),
    _dropped(
        "metadata-none",
        "no metadata, null, a list",
        DropReason.NO_CITATION,
        without(item(), "metadata"),
        item() | {"metadata": None},
        item() | {"metadata": []},
        item() | {"metadata": {}},
    ),
    _dropped(
        "source-file-bad",
        "source_file missing, absolute, with .., with control characters",
        DropReason.NO_CITATION,
        without(item(), "source_file"),
        *(
            item(source_file=name)
            for name in (
                "",
                "/etc/passwd",
                "../a.md",
                "a/../../b.md",
                "a\n.md",
                "a\x1b[2J.md",
                "a\x00.md",
                "\u202egpj.md",
            )
        ),
        _restamped(item(), source_file=5),
    ),
    _dropped(
        "header-unshowable",
        "a section header with a lone surrogate, or of two lines",
        DropReason.NO_CITATION,
        item(section_header="Resol\ud800ution"),
        item(section_header="Resolution\n## More"),
        item(section_header=None),
    ),
    _shown(
        "metadata-unshowable",
        "a title with a lone surrogate, a page of NaN, tags that are none",
        item(title="RDS \ud800", page=float("nan"), tags=[None, 5, "x\ud800"], service={"a": 1}),
        _SOUND,
    ),
    _row(
        "duplicates",
        "the same chunk three times",
        retrieved(item(), item(score=0.49), _SOUND, item(score=0.1)),
        answers(evidence(item()), evidence(_SOUND), dropped={DropReason.DUPLICATE: 2}),
    ),
    _dropped(
        "text-surrogate",
        "a lone surrogate in the text",
        DropReason.NOT_PROVEN,
        item("Promote \ud800 it."),
    ),
    _shown("text-control", "NUL and escape codes in the text", item("a\x00b\x1b[2Jc"), _SOUND),
    _shown("text-bidi", "bidi controls in the text", item("pay \u202eevil\u202c now"), _SOUND),
    _dropped(
        "prefix-wrong",
        "context prefix another, missing, or longer than the text",
        DropReason.NOT_PROVEN,
        item(context_length=3.0),
        item(context_length=0.0),
        item(context_length=9_999.0),
        item(context_length=-1.0),
        item(context_length="many"),
        item(context_length=None),
        without(item(), "context_length"),
    ),
    _dropped(
        "hash-mismatch",
        "the text is not what its sha256 says",
        DropReason.NOT_PROVEN,
        item(content_sha256="0" * 64),
        item(content_sha256=None),
        without(item(), "content_sha256"),
        _with_text(item()["content"]["text"].replace("replica", "primary")),
    ),
    _dropped(
        "citation-forged",
        "true text under another file or other lines",
        DropReason.NOT_PROVEN,
        _restamped(item(), source_file="runbooks/other.md"),
        item(start_line=6.0, end_line=7.0),
        item(chunk_id="0" * 32),
        without(item(), "chunk_id"),
    ),
    _cut(
        "more-than-asked",
        "ten items for max_results 2",
        direct(max_results=2),
        _numbered(10, "Check."),
        {DropReason.OVER_LIMIT: 8},
    ),
    _row(
        "every-item-dropped",
        "five items, none proven",
        retrieved(None, {}, item(start_line=None), item(content_sha256=""), item(context_length=1)),
        degrades(
            Reason.UNVERIFIABLE_RESULTS,
            "",
            {DropReason.NOT_TEXT: 2, DropReason.NO_CITATION: 1, DropReason.NOT_PROVEN: 2},
        ),
    ),
    _cut(
        "60-results-of-2-kb",
        "60 items of 2 KB, to an agent",
        agent({"query": QUERY}),
        _numbered(60, _TWO_KB),
        {DropReason.OVER_LIMIT: 55},
    ),
    _cut(
        "over-25-kb",
        "five items of 8 KB, to an agent that takes 25 KB",
        agent({"query": QUERY}),
        _numbered(5, _LONG),
        {DropReason.OVER_SIZE: 3},
    ),
    _cut(
        "60-results-direct",
        "60 items of 2 KB, to a caller that asked for them",
        direct(max_results=100),
        _numbered(60, _TWO_KB),
        {},
    ),
    _shown(
        "location-other",
        "a web location, an unknown one, none; metadata is sound",
        item() | {"location": {"type": "WEB", "webLocation": {"url": "https://example.org/x"}}},
        _SOUND | {"location": {"type": "MOON"}},
        without(item("No location.", start=70), "location"),
    ),
    _dropped(
        "location-only",
        "a location but no metadata of ours",
        DropReason.NO_CITATION,
        _with_text("Some page.")
        | {"metadata": {"x-amz-bedrock-kb-source-uri": "s3://corpus/x.md"}},
        _with_text("Some page.") | {"location": {"type": "WEB"}, "metadata": {"lines": "5-6"}},
    ),
    _row(
        "guardrail",
        "a guardrail intervened",
        retrieved(item(), guardrailAction="INTERVENED"),
        degrades(Reason.GUARDRAIL),
    ),
    _row(
        "guardrail-odd",
        "guardrailAction is a list",
        retrieved(item(), guardrailAction=["INTERVENED"]),
        degrades(Reason.GUARDRAIL),
    ),
)
