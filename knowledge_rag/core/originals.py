"""The documents of an existing knowledge base, read from S3 within a query's deadline.

Each version of a document is read once. Later queries ask S3 whether its ETag is still current, and if so
use the index in memory, or the bytes in a folder.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import unquote

from botocore.exceptions import ClientError

from knowledge_rag.core.chunking import chunk_text
from knowledge_rag.core.citations import check_source_file
from knowledge_rag.core.documents import read_document
from knowledge_rag.core.errors import (
    DeadlineExceeded,
    InvalidCitation,
    RetrievalFailed,
    UnreadableDocument,
)
from knowledge_rag.core.failures import FORESEEN, as_failure
from knowledge_rag.core.formats import is_extracted
from knowledge_rag.core.locating import Original, Originals
from knowledge_rag.core.net import clients
from knowledge_rag.core.net.deadline import Deadline
from knowledge_rag.core.outcome import Reason

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from knowledge_rag.core.net.clients import AwsClient

RESERVED_SECONDS: Final = 0.15
"""Part of a query's time reserved for locating and answering: documents that arrive later are left out."""

INDEX_SECONDS_PER_BYTE: Final = 0.2e-6
"""Time reserved for indexing a document: twice what half a processor takes for prose."""

INDEX_SECONDS_PER_LINE: Final = 7e-6
"""The same for its lines: the time that half a processor takes if every other line is a heading."""

MAX_FOLDER_BYTES: Final = 256 * 2**20
"""Maximum size of the documents in the folder; a function's ``/tmp`` has 512 MB."""

_CONNECTIONS: Final = 4
_REDIRECTIONS: Final = (301, 302, 303, 307, 308)
_NOT_MODIFIED: Final = "304"
_MISSING: Final = ("403", "404")
"""S3's error codes for a missing key, with and without the right to list the bucket."""
_URI: Final = "s3://"


def create_client(region: str) -> AwsClient:
    """Create a client whose GetObject enforces deadlines; nothing is sent.

    Raises:
        InvalidSettings: the AWS settings in the environment (endpoint URL, profile, config file) are wrong.
    """
    return clients.create_client("s3", "GetObject", region, _check_response)


def _check_response(response_dict: dict[str, Any], **_: object) -> None:
    """Keep only the status of an error; a ``before-parse`` handler.

    Raises:
        RetrievalFailed: a redirect, with which S3 answers for a bucket of another region. botocore would look
        up the bucket's region, endlessly if that is redirected too.
    """
    status = response_dict["status_code"]
    if status >= 300:
        response_dict["body"] = b""
    if status in _REDIRECTIONS:
        raise RetrievalFailed(Reason.CONFIGURATION, code=str(status))


class Read(NamedTuple):
    """Documents by their URI, and how often others were unavailable, by code."""

    originals: dict[str, Original]
    failures: Counter[str]


class BucketOriginals:
    """Reads the documents below one prefix of one bucket.

    Args:
        client: as :func:`create_client` makes it.
        root: ``s3://<bucket>/`` and the prefix, which ends in ``/`` if there is one.
        folder: cache of the documents' bytes, also for later processes; created if missing, and not used
        if another user can write to it.
    """

    def __init__(self, client: AwsClient, root: str, folder: Path) -> None:
        self._api = client.api
        self._root = root
        self._bucket, _, self._prefix = root.removeprefix(_URI).partition("/")
        self._kept = Originals()
        self._folder = _Folder(folder)

    def read(self, sources: Iterable[str], deadline: Deadline) -> Read:
        """Return the current documents for these URIs; unavailable ones are left out. Raises no foreseen error.

        Args:
            sources: URIs, of any kind.
            deadline: of the query.
        """
        read = Read({}, Counter())
        early = Deadline(deadline.at - RESERVED_SECONDS, deadline.clock, deadline.is_given_up)
        with ThreadPoolExecutor(_CONNECTIONS) as pool:
            getting = {pool.submit(self._get, source, early): source for source in set(sources)}
            for done in as_completed(getting):
                source = getting[done]
                try:
                    read.originals[source] = self._indexed(done.result(), deadline)
                except _Unread as error:
                    read.failures[str(error)] += 1
        return read

    def _get(self, source: str, deadline: Deadline) -> _Got:
        """Get a document, from the cache if S3 has the same version."""
        if not source.startswith(self._root):
            raise _Unread("NotBelowPrefix")
        if is_extracted(source):
            raise _Unread("NotText")
        path = source.removeprefix(self._root)
        codes = []
        for name in dict.fromkeys((path, unquote(path))):
            try:
                check_source_file(name)  # decoded, it may leave the prefix
            except InvalidCitation as error:
                raise _Unread("InvalidCitation") from error
            kept = self._kept.get(name)
            had = _Got(name, *kept) if kept else _Got(name, *self._folder.get(name))
            condition = {"IfNoneMatch": had.version} if had.version else {}
            try:
                with deadline.applied():
                    answer = self._api.get_object(
                        Bucket=self._bucket, Key=self._prefix + name, **condition
                    )
                    return _Got(name, answer.get("ETag", ""), answer["Body"].read(), is_new=True)
            except ClientError as error:
                codes.append(error.response.get("Error", {}).get("Code", ""))
                if codes[-1] == _NOT_MODIFIED:
                    return had
                if codes[-1] not in _MISSING:
                    break
            except RetrievalFailed as error:  # also for credentials that could not be renewed
                raise _Unread(error.code) from error
            except FORESEEN as error:
                raise _Unread(as_failure(error).code) from error
        raise _Unread(codes[-1])

    def _indexed(self, got: _Got, deadline: Deadline) -> Original:
        name, version, found, is_new = got
        if isinstance(found, Original):
            return found
        if is_new:
            self._folder.put(name, version, found)
        try:
            lines = found.count(b"\n") * INDEX_SECONDS_PER_LINE
            if deadline.remaining() < len(found) * INDEX_SECONDS_PER_BYTE + lines:
                raise _Unread("NoTimeToIndex")
            document, text = read_document(name, found)
        except DeadlineExceeded as error:
            raise _Unread("DeadlineExceeded") from error
        except (UnreadableDocument, InvalidCitation) as error:
            raise _Unread(type(error).__name__) from error
        original = Original(document, text, chunk_text(document, text))
        self._kept.put(name, version, original)
        return original


class _Got(NamedTuple):
    name: str
    version: str
    found: Original | bytes
    is_new: bool = False


class _Unread(Exception):  # noqa: N818 - why a document can't be had, as a code
    pass


class _Folder:
    """Objects as files, the oldest ones deleted beyond a size; one that can't be written isn't cached."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _is_own(self) -> bool:
        """Create the folder; return whether only this user can write to it, so that nobody else wrote the documents."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        found = self._folder.lstat()
        return stat.S_ISDIR(found.st_mode) and (found.st_uid, found.st_mode & 0o077) == (
            os.getuid(),
            0,
        )

    def get(self, source: str) -> tuple[str, bytes]:
        """Return the cached version and bytes, both empty if there are none."""
        with suppress(OSError, ValueError):
            if not self._is_own():
                return "", b""
            head, _, data = self._path(source).read_bytes().partition(b"\n")
            digest, version = head.decode().split(" ", 1)
            if digest == hashlib.sha256(data).hexdigest():
                return version, data
        return "", b""

    def put(self, source: str, version: str, data: bytes) -> None:
        path = self._path(source)
        head = f"{hashlib.sha256(data).hexdigest()} {version}\n".encode()
        with suppress(OSError):
            if not self._is_own():
                return
            self._make_room(len(data))
            new = path.with_suffix(f".{os.getpid()}")
            new.write_bytes(head + data)
            new.replace(path)

    def _make_room(self, size: int) -> None:
        files = sorted(
            (it.stat().st_mtime_ns, it.stat().st_size, it) for it in self._folder.iterdir()
        )
        total = sum(taken for _, taken, _ in files) + size
        for _, taken, path in files:
            if total <= MAX_FOLDER_BYTES:
                break
            path.unlink()
            total -= taken

    def _path(self, source: str) -> Path:
        return self._folder / hashlib.sha256(source.encode(errors="replace")).hexdigest()
