"""What the tests of Converse share: a request with evidence, and how they read its answers."""

from __future__ import annotations

import contextlib

from tests.support.misbehaving_models import QUOTING_ID

RUNBOOK = ("# RDS failover", "", "Promote the replica.", "Then wait\nfor the replica.", "Done.")
POSTMORTEM = ("The replica lagged.",)


def block(source, texts, *, cited=True):
    return {
        "searchResult": {
            "source": source,
            "title": f"Title of {source}",
            "content": [{"text": text} for text in texts],
            "citations": {"enabled": cited},
        }
    }


def user(*content):
    return {"role": "user", "content": list(content)}


EVIDENCE = (
    block("runbooks/rds-failover.md", RUNBOOK),
    block("postmortems/2024-01.md", POSTMORTEM),
)
QUESTION = {"text": "How to handle RDS failover?"}
MESSAGES = [user(*EVIDENCE, QUESTION)]


def converse(client, model=QUOTING_ID, messages=MESSAGES, **more):
    return client.converse(modelId=model, messages=messages, **more)


def blocks(response):
    return response["output"]["message"]["content"]


def said(content):
    return "".join(
        each["text"]
        if "text" in each
        else "".join(part["text"] for part in each["citationsContent"]["content"])
        for each in content
    )


def citations(content):
    cited = [
        each["citationsContent"]["citations"] for each in content if "citationsContent" in each
    ]
    return [citation for some in cited for citation in some]


def locations(response):
    return [each["location"]["searchResultLocation"] for each in citations(blocks(response))]


def streamed(client, model=QUOTING_ID, messages=MESSAGES, *, came=None, **more):
    came = [] if came is None else came
    response = client.converse_stream(modelId=model, messages=messages, **more)
    with contextlib.closing(response["stream"]) as stream:
        came.extend(stream)
    return came
