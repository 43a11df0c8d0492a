"""A graph's state may be made of anything that has fields."""

from dataclasses import dataclass, field

import pytest
from pydantic import BaseModel

from knowledge_rag.orchestrator.incident import Incident
from knowledge_rag.orchestrator.node import as_mapping


class Labels(BaseModel):
    alertname: str = "KubePodCrashLooping"


class Signal(BaseModel):
    labels: Labels = Labels()
    message: str = "restarts"


@dataclass
class DataState:
    incident: dict = field(default_factory=lambda: {"id": "INC-7"})
    signals: list = field(default_factory=lambda: [Signal(), "latency"])
    lock: object = field(default_factory=object)


class ModelState(BaseModel):
    incident: dict = {"id": "INC-7"}
    signals: list[Signal | str] = [Signal(), "latency"]


@pytest.mark.parametrize(
    "state",
    [DataState(), ModelState(), dict(ModelState()), {"incident": {"id": "INC-7"}, "signals": (Signal(), "latency")}],
    ids=["dataclass", "model", "mapping of models", "tuple"],
)  # fmt: skip
def test_fields_are_read_wherever_they_stand(state):
    incident = Incident.from_state(as_mapping(state))
    assert incident == Incident(
        incident_id="INC-7",
        alert_name="KubePodCrashLooping",
        signals=("KubePodCrashLooping: restarts", "latency"),
    )


@pytest.mark.parametrize("state", [None, 7, "text", [1], object(), DataState, ModelState])
def test_what_has_no_fields_is_given_back(state):
    assert as_mapping(state) is state


def test_cycles_end():
    state = {"incident": {}, "signals": []}
    state["incident"]["labels"] = state
    state["signals"] += [state, state["signals"]]
    assert set(as_mapping(state)) == {"incident", "signals"}


def test_members_that_are_not_read_are_counted_still():
    state = as_mapping({"signals": ["s"] * 1_000})
    assert set(Incident.from_state(state).problems) == {
        "signals: 1000 members, the first 50 are read"
    }
