"""Who writes is what the options say together; one that would be ignored is refused."""

import pytest

from knowledge_rag.cli.advisors import chosen_advisor
from knowledge_rag.core.errors import InvalidRequest
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
        chosen_advisor(name, model_id=model_id, agent=agent, region="us-east-1")


def test_without_options_nobody_writes():
    chosen = chosen_advisor("extractive", model_id=None, agent=None, region=None)
    assert isinstance(chosen, ExtractiveAdvisor)
