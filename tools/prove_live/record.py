"""Records what a run creates, on disk before it is created, so that all of it can be removed however the run ends."""

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
    """One temporary deployment.

    Attributes:
        name: the run's name, and the store's short name.
        settings: the deployment's settings.
        removed: whether everything in it is confirmed to be gone.
        denied_role: the role that the fault may have been applied to, ``""`` before.
    """

    name: str
    settings: dict[str, Any]
    removed: bool = False
    denied_role: str = ""


@dataclass
class Record:
    """One run.

    Attributes:
        run: its name; random, so that it is unique.
        account: the run's account.
        created: when it began; nothing older is ever deleted.
    """

    run: str
    account: str
    region: str
    created: str
    deployments: list[Deployment] = field(default_factory=list)

    @classmethod
    def new(cls, account: str, region: str) -> Record:
        """Return a record with a unique name."""
        run = "krp-" + "".join(secrets.choice(_ALPHABET) for _ in range(6))
        return cls(run, account, region, datetime.now(UTC).isoformat(timespec="seconds"))

    @property
    def left(self) -> list[Deployment]:
        """The deployments that may still exist."""
        return [each for each in self.deployments if not each.removed]

    def write(self, folder: Path) -> None:
        """Write it to disk, atomically, before anything in it is created."""
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
    """Return the runs that may have left something, oldest first.

    Raises:
        InvalidRequest: a record can't be read, so it is unknown what is left.
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
            f"{path}: the record of a run can't be read ({error}): remove the deployments in it by hand, then"
            " delete the file"
        ) from error
    if not all(record.owns(each.name) for each in deployments):
        raise InvalidRequest(f"{path}: it names a deployment that isn't the run's")
    return record


@contextmanager
def only_one(folder: Path) -> Iterator[int]:
    """Allow one run or teardown at a time; yield the lock, which its child processes inherit.

    Raises:
        InvalidRequest: another one is running, or a child that outlived it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise InvalidRequest(
                "another run is active, or the `cdk deploy` of one that was killed: wait until it has ended"
            ) from error
        yield file.fileno()
