"""The A2A SDK's own client, and what a test wants to know of its answers."""

from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.helpers import get_data_parts, get_text_parts, new_text_message
from a2a.types.a2a_pb2 import AgentCard, Role, SendMessageRequest, Task, TaskState

from tests.support.cli import SECONDS


@dataclass
class Told:
    """What came of a message."""

    task: str = ""
    context: str = ""
    states: list[str] = field(default_factory=list)
    text: str = ""
    data: dict[str, Any] = field(default_factory=dict)

    def read(self, parts):
        self.text += "".join(get_text_parts(parts))
        for one in get_data_parts(parts):
            self.data |= one

    def state(self, status):
        self.states.append(TaskState.Name(status.state).removeprefix("TASK_STATE_").lower())
        self.read(status.message.parts)

    def whole(self, task: Task):
        self.task, self.context = task.id, task.context_id
        self.state(task.status)
        for artifact in task.artifacts:
            self.read(artifact.parts)
        return self


def message(text, context="", **more):
    made = new_text_message(text, context_id=context or None, role=Role.ROLE_USER)
    for name, value in more.items():
        setattr(made, name, value)
    return made


async def told(client, asked, context="", metadata=None, **configuration):
    """Send a text or a message, and return what came of it."""
    asked = message(asked, context) if isinstance(asked, str) else asked
    made = Told()
    async for event in client.send_message(
        SendMessageRequest(message=asked, configuration=configuration or None, metadata=metadata)
    ):
        match event.WhichOneof("payload"):
            case "task":
                made.whole(event.task)
            case "status_update":
                made.state(event.status_update.status)
            case "artifact_update":
                made.read(event.artifact_update.artifact.parts)
    return made


async def told_in_turn(client, *turns):
    """Send turns in one context, and return what came of each."""
    came, context = [], ""
    for turn in turns:
        came.append(await told(client, turn, context))
        context = came[-1].context
    return came


@asynccontextmanager
async def talking(url, *, streaming=False, version="", transport=None):
    """Open a client of the agent whose card is at an address; yields it and the card."""
    async with httpx.AsyncClient(timeout=SECONDS, transport=transport) as http:
        card = await A2ACardResolver(http, url).get_agent_card()
        chosen = AgentCard()
        chosen.CopyFrom(card)
        if version:
            del chosen.supported_interfaces[:]
            chosen.supported_interfaces.extend(
                it for it in card.supported_interfaces if it.protocol_version == version
            )
        config = ClientConfig(httpx_client=http, streaming=streaming)
        yield ClientFactory(config).create(chosen), card
