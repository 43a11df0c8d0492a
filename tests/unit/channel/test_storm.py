"""The list that follows a storm of alerts."""

from __future__ import annotations

import json
from dataclasses import replace

from knowledge_rag.channel.message import Offer
from knowledge_rag.channel.slack import to_slack
from knowledge_rag.channel.worker import lists_of
from tests.unit.channel.test_rendering import LINKS, cites, written


def test_long_names_take_no_place_of_where_the_steps_begin():
    made = written([{"text": "1. Look. "}, cites()], by_model=False, warnings=[])
    made = replace(made, links=LINKS, offers=(Offer("", "runbooks/a.md", 3),))
    names = [f"Alarm-{n:03d}-" + "n" * 170 for n in range(500)]
    lists = lists_of(
        [(it, 1, made) for it in names[:5]]
        + [(it, 1, replace(made, offers=())) for it in names[5:50]],
        [(it, 2) for it in names[50:]],
        "storm",
    )
    assert lists[0].reading_title == "Where the steps begin"
    assert not lists[0].warnings
    posted = [page for one in lists for page in to_slack(one)]
    assert len(posted) == len(lists)  # none goes on elsewhere, and nothing is left out
    told = json.dumps(posted)
    assert "not posted here" not in told
    assert all(it[:10] in told for it in names)
