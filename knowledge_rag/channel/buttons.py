"""What the buttons below a message in Slack say, signed so that nothing else is believed.

A button carries the receipt of its answer and a number in it, never a document's name or a question. Its signature is
made with the bot's token, for one channel. So it is of use there alone, survives a restart, and ends with the token.
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

NOT_OURS: Final = "This button isn't valid here: it is of another channel or of an older token of the app. Ask again."

_RECEIPT: Final = "kr-[a-z2-7]{20}"
_VALUE: Final = re.compile(rf"({_RECEIPT})\.(\d{{1,4}})\.([0-9a-f]{{32}})")
_SIGNED: Final = 32
"""Hexadecimal digits of a signature, 128 bits."""


class Act(StrEnum):
    """What a button does."""

    CHOOSE = "choose"
    """Gives one of the procedures that may be meant."""
    ALL = "all"
    """Gives all steps of the procedure, as its page has them."""
    COPY = "copy"
    """Shows the commands of the message alone."""
    WRONG = "wrong"
    """Asks which citation is wrong."""
    WHICH = "which"
    """Reports the citation that was selected."""


def is_receipt(number: str) -> bool:
    """Whether an id is one of a receipt; a list or a failed look-up has none, and only the key of its post."""
    return re.fullmatch(_RECEIPT, number) is not None


@dataclass(frozen=True, slots=True)
class Pressed:
    """What a button refers to: a receipt, and the number of an offer or a citation in it, from 1; 0 for none."""

    receipt: str
    number: int


@dataclass(frozen=True, slots=True)
class Buttons:
    """Signs the buttons of a channel, and checks them.

    Args:
        key: the bot's token.
        channel: Slack's id of it.
    """

    key: str = field(repr=False)
    channel: str

    def value(self, act: Act, receipt: str, number: int = 0, commands: Sequence[str] = ()) -> str:
        """Return the value of a button, at most 75 characters.

        Args:
            act: what it does.
            receipt: of the answer.
            number: of an offer or a citation in it.
            commands: that it copies.
        """
        return f"{receipt}.{number}.{self._signature(act, receipt, number, commands)}"

    def read(self, act: Act, value: object, commands: Sequence[str] = ()) -> Pressed:
        """Return what a value refers to.

        Raises:
            InvalidRequest: it was not made for this channel with this token, this act and these commands.
        """
        found = _VALUE.fullmatch(value) if isinstance(value, str) else None
        if found is not None:
            pressed = Pressed(found[1], int(found[2]))
            signed = self._signature(act, pressed.receipt, pressed.number, commands)
            if hmac.compare_digest(signed, found[3]):
                return pressed
        raise InvalidRequest(NOT_OURS)

    def person(self, user: str) -> str:
        """Return what stands for a person in a report: the same each time, and not to be turned back without the token."""
        return self._mac(["knowledge-rag person", user])[:16]

    def _signature(self, act: Act, receipt: str, number: int, commands: Sequence[str]) -> str:
        said = ["knowledge-rag button", act.value, self.channel, receipt, number, [*commands]]
        return self._mac(said)[:_SIGNED]

    def _mac(self, said: Sequence[object]) -> str:
        return hmac.new(self.key.encode(), canonical(said), hashlib.sha256).hexdigest()
