"""Which retrieved documents are about an incident, and which only share words with it."""

import pytest

from knowledge_rag.orchestrator.incident import Incident
from knowledge_rag.orchestrator.relevance import documents_about
from tests.unit.orchestrator.evidence import results_of

CDN = "runbooks/cdn.md"
ROLLOUT = "runbooks/rollout.md"
TEXTS = {
    CDN: "# CDN errors\n\nThe configuration holds a wrong origin: check the config file first.\n",
    ROLLOUT: "# Deployment is stuck\n\nPrometheus shows a rollout without progress.\n",
}
RESULTS = [result for file, text in TEXTS.items() for result in results_of(file, text)]


def about(name="", told=""):
    incident = Incident.from_state({"incident": {"alert_name": name, "description": told}})
    return documents_about(RESULTS, incident)


def test_a_document_holds_a_third_of_the_words_and_half_of_the_alert_s_name():
    told = "progress is slow since the release of the search index"
    assert about("CortexRolloutStuck", told) == [ROLLOUT]
    assert about("CortexRolloutStuck", f"{told}, customers complain of empty pages") == []


def test_words_that_any_alert_may_have_do_not_make_a_document_relevant():
    told = "The configuration file has an invalid config and was not reloaded."
    assert about("PrometheusInvalidState", told) == []
    assert about("", told) == [CDN]


@pytest.mark.parametrize("environment", ["", "Prod", "ProdEuCentral"])
def test_a_name_may_hold_environments_that_no_runbook_names(environment):
    told = "The rollout makes no progress, the deployment is stuck."
    assert about(f"{environment}RolloutStuck", told) == [ROLLOUT]


def test_a_document_named_as_the_alert_is_about_it_however_much_else_is_told():
    told = "a b " + " ".join(f"label{n} value{n}" for n in range(40))
    assert about("DeploymentStuck", told) == [ROLLOUT]


def test_where_nothing_is_told_in_words_the_search_alone_decides():
    assert about() == [CDN, ROLLOUT]
