"""A model that misbehaves on purpose, through the real advisor and Bedrock's own wire format."""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from playwright.sync_api import expect

from knowledge_rag.local.knowledge_base import KnowledgeBase
from knowledge_rag.orchestrator.advisors.converse import ConverseAdvisor, ConverseSettings
from knowledge_rag.orchestrator.wording import agent_prompt
from tests.browser.consoles import QUESTION, Script, ScriptedAdvisor, console
from tests.support.fixtures import ENVIRONMENT
from tests.support.local import minilm
from tests.support.misbehaving_models import SCRIPTED
from tests.support.scripted import LocalBedrock

MODELS = ("local.fabricates", "local.uncited", "local.misquotes", "local.cut-off")


@pytest.fixture(scope="module")
def advisors(shelf):
    """Give a model for each kind of misbehaviour, beside the one without."""
    with (
        KnowledgeBase(shelf.kb, minilm()) as kb,
        LocalBedrock(kb, models=SCRIPTED) as bedrock,
        pytest.MonkeyPatch.context() as patch,
        ThreadPoolExecutor(1) as aside,  # Playwright's loop runs in this thread
    ):
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            patch.delenv(name)
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, value)
        patch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", bedrock.endpoint_url)
        made = {
            name: ConverseAdvisor(
                ConverseSettings(name, "us-east-1"), agent_prompt(), jitter=lambda: 0.0
            )
            for name in MODELS
        }
        for advisor in made.values():
            aside.submit(asyncio.run, advisor.prepare()).result()
        yield {"extractive": ScriptedAdvisor(Script()), **made}
        for advisor in made.values():
            with closing(advisor):
                pass


@pytest.fixture(scope="module")
def origin(browser, shelf, advisors):  # noqa: ARG001 - no console without a browser
    with console(shelf, Script(), advisors) as address:
        yield address


def asked_of(page, model):
    """Ask, and choose on the page who writes."""
    page.open()
    page.page.locator("#filters summary").click()
    page.page.get_by_label("Written by").select_option(model)
    return page.ask(QUESTION)


def test_what_a_model_makes_up_never_becomes_a_citation(page):
    asked_of(page, "local.fabricates")
    expect(page.outcome).to_have_attribute("data-kind", "warning")
    page.outcome.locator("summary").first.click()
    removed = " ".join(page.outcome.locator(".removed code").all_text_contents())
    assert "runbooks/never-written.md" in removed
    assert page.cites.count() > 0
    known = page.page.locator(".card .path").all_text_contents()
    for cite in page.cites.all():
        assert cite.get_attribute("href").removeprefix("/doc/").partition("#")[0] in known
    assert "never-written" not in page.page.locator(".blocks").inner_text()


@pytest.mark.parametrize("model", ["local.uncited", "local.misquotes", "local.cut-off"])
def test_however_a_model_misbehaves_the_page_shows_what_is_proven_or_says_why_not(page, model):
    asked_of(page, model)
    kind = page.outcome.get_attribute("data-kind")
    assert kind in {"ok", "warning", "unavailable"}
    assert (page.cites.count() > 0) is (kind != "unavailable")
    assert "never-written" not in page.page.locator(".blocks").inner_html()
