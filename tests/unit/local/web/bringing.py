"""Fetches pages into a corpus, with time that goes by only while somebody sleeps."""

from datetime import UTC, datetime

from knowledge_rag.local.web.fetching import FetchLimits
from knowledge_rag.local.web.pages import PageState, Surroundings, WebSettings, fetch_pages

HTML = b"<title>RDS</title><h1>Failover</h1><p>Promote the replica."
MOMENT = datetime(2026, 11, 21, 10, tzinfo=UTC)


class Waiting:
    """Time that goes by only while somebody sleeps."""

    def __init__(self):
        self.now, self.slept = 0.0, []

    async def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds

    def surroundings(self, warn):
        return Surroundings(lambda: self.now, self.sleep, lambda: MOMENT, warn)


def bring(root, *addresses, waiting=None, told=None, **limits):
    settings = WebSettings(FetchLimits(**{"private": True, "seconds": 20.0, **limits}))
    around = (waiting or Waiting()).surroundings((told if told is not None else []).append)
    return fetch_pages(root, addresses, settings, surroundings=around)


def reason(root, site, path, **limits):
    (outcome,) = bring(root, f"{site.url}/{path}", **limits)
    assert outcome.state is PageState.FAILED
    assert not list(root.rglob("*.html"))
    return outcome.reason
