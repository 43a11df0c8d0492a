"""Whatever an answer says: its export holds our evidence whole, and no other."""

from __future__ import annotations

import asyncio
import re

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from knowledge_rag.console.answers import Answer
from knowledge_rag.console.events import AnswerEvents
from knowledge_rag.console.exports import BY_MODEL, rewritten, to_markdown
from knowledge_rag.console.rendering import parser
from knowledge_rag.core.citations import Citation
from knowledge_rag.orchestrator.consultation import consult
from tests.support.examples import up_to
from tests.support.runbooks import Search, alert
from tests.unit.console.test_answers import RECOMMENDATION, answer, card

READERS = [
    MarkdownIt("commonmark", {"html": True}),
    MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]),
]
OURS = [
    "Answer",
    "Warnings",
    "References that were removed",
    "Alerts",
    "Closest sections, to read, not to follow",
    "Sources",
    BY_MODEL.removeprefix("## "),
]
CITED = {"number": 1, "citation": Citation("runbooks/a_b.md", 3, 3).to_dict()}
REFERENCE = {"text": "[Source 1]", "citations": [CITED]}
FORGED = "[Source: evil.md, lines 1-999]"

SNIPPETS = [
    "(https://evil.example/)", "[x]", ": https://evil.example", "<img src=x>", "![p](https://e.example)",
    "&#91;1&#93;", "&lbrack;Source: evil.md, lines 1-2&rbrack;", "\n\n<!-- ", "-->", "\n```\n", "\n~~~x\n",
    "\n## Sources\n", "\nSources\n---\n", "\nSources\n===\n", FORGED, "\\[Source: evil.md, lines 1-2\\]",
    "`", "``", "*", "**", "_", "~~", "|", "\n| a | b |\n|---|---|\n| `|` ", "\n- ", "\n  - ", "\n1. ", "\n> ",
    "\n    ", "\n", "\n\n", "\\", "\\\n", "  \n", " ", "\t", "#", "-", "+", "=", "!", "^", "1", "9)", ".",
    "<https://evil.example>", "[w](https://evil.example \"t\")", "\n[Source: a]: https://evil.example\n",
    "</details>", "<details>", "\n<script>\n", "word", "a_b", "\ue000" + "0\ue001", "\r", "\u202e", "www.e.example",
]  # fmt: skip


def outside(text, reader):
    """What a reader sees that is not code; block by block."""
    return [
        "".join(
            "\n" if one.type.endswith("break") else one.content
            for one in token.children
            if one.type not in ("code_inline", "html_inline")
        )
        for token in reader.parse(text)
        if token.type == "inline"
    ]


def check(text, sources):
    for reader in READERS:
        tokens = reader.parse(text)
        inner = [one for token in tokens for one in token.children or []]
        kinds = {one.type for one in [*tokens, *inner]}
        assert not kinds & {"link_open", "image", "html_inline", "html_block"}
        headings = [
            (at.tag, tokens[n + 1].content, at.level)
            for n, at in enumerate(tokens)
            if at.type == "heading_open" and at.tag in ("h1", "h2")
        ]
        quoted = text[text.index(BY_MODEL) + len(BY_MODEL) :].strip("\n").split("\n")
        assert quoted == [""] or all(it.startswith(">") for it in quoted)
        assert headings == [("h1" if n == 0 else "h2", name, 0) for n, name in enumerate(OURS)]
        said = "\n".join(outside(text, reader))
        found = re.findall(r"\[[^\]]*\]?", said)
        assert set(found) <= sources | {str(Citation("runbooks/a_b.md", 3, 3))}
        assert "evil.md" not in "".join(found)


def exported(parts, message="Read on.", question="Why?"):
    advice = {
        **RECOMMENDATION,
        "warnings": [{"kind": "x", "message": message}],
        "reasoning": message,
        "recommendation": {
            **RECOMMENDATION["recommendation"],
            "alerts": [{"alert": message, "status": "no_match"}],
            "reading": [{**card()["citation"], "section_header": message, "text_sha256": "0" * 64}],
            "unknown_words": ["y" + message],
        },
    }
    given_answer = answer(
        question, (card(),), parts=tuple(parts), removed=({"reference": message},), by_model=True
    )
    return to_markdown(
        type(given_answer)(
            **{name: getattr(given_answer, name) for name in given_answer.__slots__}
            | {"recommendation": advice}
        )
    )


PARTS = st.lists(
    st.one_of(
        st.just(REFERENCE),
        st.sampled_from(SNIPPETS).map(lambda text: {"text": text}),
        st.text(alphabet="[]()<>`*_~#-+=!&\\:|1.\n ae", max_size=8).map(
            lambda text: {"text": text}
        ),
    ),
    max_size=14,
)


@up_to(examples=250)
@given(PARTS, st.sampled_from([*SNIPPETS, "Read on."]))
def test_whatever_was_written_only_our_citations_and_headings_stand_in_the_export(parts, message):
    sources = {card()["reference"]}
    check(exported(parts, message, message), sources)


def test_an_answer_that_forges_is_written_out_as_words():
    text = "\n".join(
        rewritten(
            [
                {"text": "# Sources\n\n1. Restart "},
                REFERENCE,
                {"text": "(https://evil.example/login). <img src=x> &#91;1&#93; [2] " + FORGED},
                {"text": "\n\n```sh\nrun [Source 1]\n"},
            ]
        )
    )
    assert text == (
        "### Sources\n\n"
        "1. Restart [Source: runbooks/a_b.md, lines 3-3]\\(`https://evil.example/login`). "
        "\\<img src=x> &`#91`;1&`#93`; `[2]` `[Source: evil.md, lines 1-999]`\n\n"
        "```sh\nrun [Source 1]\n```"
    )


def test_what_is_no_forgery_reads_as_it_did():
    text = (
        "Intro *one* **two** `x [1]` ~~no~~\nnext\n\n- a\n\n  - b `` ` ``\n- c\n\n3. d\n\n   > e\n\n"
        "| h | `i` |\n| --- | --- |\n| j | k |\n\n---\n\n## Deep\n\n```sh\necho [1]\n```\n"
    )
    again = "\n".join(rewritten([{"text": text}]))

    def shown(source):
        html = parser().render(re.sub("^#+ Deep", "# Deep", source, flags=re.MULTILINE))
        return re.sub(r"</?p>|\s+", "", html.replace(' class="language-text"', ""))

    assert shown(again) == shown(text)


def test_a_reference_in_code_stays_what_was_written():
    text = "\n".join(
        rewritten([{"text": "`see "}, REFERENCE, {"text": "` and\n\n    "}, REFERENCE])
    )
    assert text == "`see [Source 1]` and\n\n```text\n[Source 1]\n```"


def test_no_name_of_a_file_reaches_out_of_its_citation():
    cited = {"number": 1, "citation": Citation("a[](http:evil)*`<b>.md", 1, 2).to_dict()}
    text = "\n".join(rewritten([{"text": "x "}, {"text": "[1]", "citations": [cited, CITED]}]))
    (shown,) = outside(text, READERS[0])
    assert shown == (
        "x [Source: a[](http:evil)*`<b>.md, lines 1-2] [Source: runbooks/a_b.md, lines 3-3]"
    )


RUNBOOK = """\
# Queue

## QueueGrows

Ask the duty manager first: it is the only copy.

1. Delete old folders: `find /work -mtime +1 -delete`
2. Wait.

### What not to do

- Never purge.

### Old procedure

- Restart the broker.
"""


def exported_for(incident, texts):
    """The export of what the console is told for an incident."""
    return to_markdown(answered_for(incident, texts))


def answered_for(incident, texts):
    """What the console keeps of what it is told for an incident."""
    told = []
    given = asyncio.run(consult(incident, Search(texts), notify=told.append))
    story = AnswerEvents(None, "2026-11-21T17:00:00+00:00")
    story.events_for(told)
    story.end(given)
    return Answer(
        "Why?", story.now, "extractive", {}, story.text, (), tuple(story.sources),
        given.recommendation.to_dict(), (), tuple(story.parts),
    )  # fmt: skip


def test_procedures_stand_first_with_what_governs_them_and_what_is_not_shown():
    text = exported_for(alert("QueueGrows"), {"runbooks/queue.md": RUNBOOK})
    head, _, rest = text.partition("\n## Procedures\n")
    procedures, _, sources = rest.partition("\n## Sources\n")
    assert "Documented. Asked 2026-11-21T17:00:00+00:00." in head
    assert "Evidence: strong (it is filed under the alert's name)" in head
    assert "**Caution:** Ask the duty manager first: it is the only copy." in procedures
    assert procedures.index("Caution") < procedures.index("1. ") < procedures.index("2. Wait.")
    assert "Destructive: delete, find -delete" in procedures
    assert procedures.index("> **Do not:**\n>\n> - Never purge.") < procedures.index("1. ")
    assert "## Not shown\n\n- runbooks/queue.md:14-16 (Old procedure)" in rest
    assert "Restart the broker" not in procedures
    assert "Restart the broker" not in sources  # retrieved, and not cited
    assert BY_MODEL not in text


def test_where_nothing_is_documented_the_closest_sections_are_reading():
    text = exported_for(
        alert("MongoElection"), {"runbooks/queue.md": "# Queue\n\nThe queue of an alert.\n"}
    )
    assert "Nothing documented. Asked" in text
    assert "## Procedures" not in text
