"""Who writes is what the options say together; one that would be ignored is refused."""

import pytest

from knowledge_rag.cli.advice import AdvisorChoice, chosen_advisor
from knowledge_rag.core.errors import InvalidRequest, InvalidSettings
from knowledge_rag.orchestrator.advisors.extractive import ExtractiveAdvisor


@pytest.mark.parametrize(
    ("name", "model_id", "agent", "says"),
    [
        ("extractive", "some.model", None, "--model-id is for --advisor converse, not for extract"),
        ("agent", "some.model", "A/B", "--model-id is for --advisor converse, not for agent"),
        ("extractive", None, "A/B", "--agent is for --advisor agent, not for extractive"),
        ("converse", "some.model", "A/B", "--agent is for --advisor agent, not for converse"),
    ],
)
def test_an_option_of_another_advisor_is_refused(name, model_id, agent, says):
    with pytest.raises(InvalidRequest, match=says):
        chosen_advisor(AdvisorChoice(name, model_id, agent, "us-east-1"))


def test_without_options_nobody_writes():
    assert isinstance(chosen_advisor(AdvisorChoice("extractive")), ExtractiveAdvisor)


def test_the_agent_of_a_deployment_writes_unless_another_is_named():
    with pytest.raises(InvalidRequest, match="--stack finds them"):
        chosen_advisor(AdvisorChoice("agent", region="us-east-1"))
    assert chosen_advisor(AdvisorChoice("agent", region="us-east-1"), "AGENT00001/ALIAS00001")
    with pytest.raises(InvalidSettings, match="no/such"):
        chosen_advisor(AdvisorChoice("agent", agent="A/no/such", region="us-east-1"), "AGENT/ALIAS")
