"""The values of the buttons below a Slack message, signed so that they can't be forged.

A button has its answer's receipt and a number in it, never a document's name or a question. It is signed with the
bot's token, for one channel. So it only works there, survives a restart, and expires with the token.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from knowledge_rag.channel.events import canonical
from knowledge_rag.core.errors import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

NOT_OURS: Final = "This button isn't valid here: it is from another channel or an older token of the app. Ask again."

_RECEIPT: Final = "kr-[a-z2-7]{20}"
_VALUE: Final = re.compile(rf"({_RECEIPT})\.(\d{{1,4}})\.([0-9a-f]{{32}})")


class Act(StrEnum):
    """A button's action."""

    CHOOSE = "choose"
    """Shows one of the possible procedures."""
    ALL = "all"
    """Shows all steps of the procedure, as in its page."""
    COPY = "copy"
    """Shows only the message's commands."""
    WRONG = "wrong"
    """Asks which citation is wrong."""
    WHICH = "which"
    """Reports the selected citation."""


def is_receipt(number: str) -> bool:
    """Whether an id is a receipt's; a list or a failed look-up has none, and only its post's key."""
    return re.fullmatch(_RECEIPT, number) is not None


@dataclass(frozen=True, slots=True)
class Pressed:
    """A button's target: a receipt, and the number of an offer or a citation in it, from 1; 0 for none."""

    receipt: str
    number: int


@dataclass(frozen=True, slots=True)
class Buttons:
    """Signs the buttons of a channel (its Slack id) with the bot's token, and checks them."""

    key: str = field(repr=False)
    channel: str

    def value(self, act: Act, receipt: str, number: int = 0, commands: Sequence[str] = ()) -> str:
        """Return the value of a button, at most 75 characters, see :class:`Pressed`; ``commands`` are those that it copies."""
        return f"{receipt}.{number}.{self._signature(act, receipt, number, commands)}"

    def read(self, act: Act, value: object, commands: Sequence[str] = ()) -> Pressed:
        """Return the target of a value.

        Raises:
            InvalidRequest: it was not made for this channel with this token, action and commands.
        """
        found = _VALUE.fullmatch(value) if isinstance(value, str) else None
        if found is not None:
            pressed = Pressed(found[1], int(found[2]))
            signed = self._signature(act, pressed.receipt, pressed.number, commands)
            if hmac.compare_digest(signed, found[3]):
                return pressed
        raise InvalidRequest(NOT_OURS)

    def person(self, user: str) -> str:
        """Return a person's pseudonym for reports: always the same, and irreversible without the token."""
        return self._mac(["knowledge-rag person", user])[:16]

    def _signature(self, act: Act, receipt: str, number: int, commands: Sequence[str]) -> str:
        said = ["knowledge-rag button", act.value, self.channel, receipt, number, [*commands]]
        return self._mac(said)[:32]  # 128 bits

    def _mac(self, said: Sequence[object]) -> str:
        return hmac.new(self.key.encode(), canonical(said), hashlib.sha256).hexdigest()
