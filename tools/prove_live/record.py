"""What a run made, on disk before it is made, so that whatever ends the run, all of it can be removed."""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.errors import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_RUN: Final = re.compile(r"krp-[0-9a-z]{6}")
_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"
FILE: Final = "record.json"


@dataclass
class Deployment:
    """One throw-away deployment.

    Attributes:
        name: of it; that of the run, and the store's short name.
        settings: that it is deployed with.
        removed: whether everything of it was seen to be gone.
        denied_role: the role that the fault may have been put on, ``""`` before.
    """

    name: str
    settings: dict[str, Any]
    removed: bool = False
    denied_role: str = ""


@dataclass
class Record:
    """One run.

    Attributes:
        run: its name; random, so that nobody else's things are called so.
        account: that it runs in.
        created: when it began; nothing that is older is ever deleted.
    """

    run: str
    account: str
    region: str
    created: str
    deployments: list[Deployment] = field(default_factory=list)

    @classmethod
    def new(cls, account: str, region: str) -> Record:
        """Return a record with a name that nobody has."""
        run = "krp-" + "".join(secrets.choice(_ALPHABET) for _ in range(6))
        return cls(run, account, region, datetime.now(UTC).isoformat(timespec="seconds"))

    @property
    def left(self) -> list[Deployment]:
        """The deployments that may still be there."""
        return [each for each in self.deployments if not each.removed]

    def write(self, folder: Path) -> None:
        """Put it on disk, whole and at once, before what it names is made."""
        own = folder / self.run
        own.mkdir(parents=True, exist_ok=True)
        new = own / f"{FILE}.new"
        with new.open("w", encoding="utf-8") as file:
            json.dump(asdict(self), file, indent=2)
            file.flush()
            os.fsync(file.fileno())
        new.replace(own / FILE)

    def owns(self, name: str) -> bool:
        """Whether a deployment of this name is this run's."""
        return bool(_RUN.fullmatch(self.run)) and name.rpartition("-")[0] == self.run


def unfinished(folder: Path) -> list[Record]:
    """Return the runs of which something may be left, the oldest first.

    Raises:
        InvalidRequest: a record can't be read, so nobody knows what is left.
    """
    records = [_read(path) for path in folder.glob(f"*/{FILE}")]
    return sorted((each for each in records if each.left), key=lambda each: each.created)


def _read(path: Path) -> Record:
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
        deployments = [Deployment(**each) for each in read.pop("deployments")]
        record = Record(**read, deployments=deployments)
        datetime.fromisoformat(record.created)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise InvalidRequest(
            f"{path}: the record of a run can't be read ({error}): remove by hand what it names, then"
            " delete the file"
        ) from error
    if not all(record.owns(each.name) for each in deployments):
        raise InvalidRequest(f"{path}: a deployment's name in it is not that of a run")
    return record


@contextmanager
def only_one(folder: Path) -> Iterator[int]:
    """Let one run or teardown at a time work; yield the lock, which its child processes inherit.

    Raises:
        InvalidRequest: another one is at work, or a child that outlived it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise InvalidRequest(
                "another run is at work, or the `cdk deploy` of one that was killed: wait until it has ended"
            ) from error
        yield file.fileno()
