"""Received events and outgoing posts, in one SQLite file: written before a webhook is acknowledged.

An event's key is unique, so a repeated delivery changes nothing. An event and its posts change in one transaction. A
post waits for earlier ones of the same alert at the same destination.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.channel.events import Event
from knowledge_rag.core.errors import KnowledgeRagError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

KEEP_SECONDS: Final = 30 * 24 * 3600.0
"""How long finished events are kept, and repeated deliveries recognised."""

_TABLES: Final = """
CREATE TABLE IF NOT EXISTS events (
  id INTEGER PRIMARY KEY, hook TEXT NOT NULL, key TEXT NOT NULL, alert TEXT NOT NULL, name TEXT NOT NULL,
  over INTEGER NOT NULL, payload TEXT NOT NULL, subject TEXT NOT NULL, received REAL NOT NULL,
  handled INTEGER NOT NULL DEFAULT 0, UNIQUE (hook, key)
);
CREATE INDEX IF NOT EXISTS waiting ON events (handled, id);
CREATE TABLE IF NOT EXISTS posts (
  id INTEGER PRIMARY KEY, destination TEXT NOT NULL, alert TEXT NOT NULL, body TEXT NOT NULL,
  key TEXT NOT NULL, subject TEXT NOT NULL, head INTEGER, threaded INTEGER NOT NULL, created REAL NOT NULL,
  due REAL NOT NULL, attempts INTEGER NOT NULL DEFAULT 0, unsure INTEGER NOT NULL DEFAULT 0, sent REAL NOT NULL DEFAULT 0,
  state TEXT NOT NULL DEFAULT 'waiting', reference TEXT NOT NULL DEFAULT '', reason TEXT NOT NULL DEFAULT ''
);
CREATE INDEX IF NOT EXISTS open ON posts (state, destination, alert, id);
CREATE TABLE IF NOT EXISTS answered (
  destination TEXT NOT NULL, name TEXT NOT NULL, seen REAL NOT NULL, post INTEGER NOT NULL,
  PRIMARY KEY (destination, name)
);
CREATE TABLE IF NOT EXISTS counted (
  destination TEXT NOT NULL, name TEXT NOT NULL, number INTEGER NOT NULL, since REAL NOT NULL,
  PRIMARY KEY (destination, name)
);
CREATE TABLE IF NOT EXISTS unanswered (
  destination TEXT NOT NULL, name TEXT NOT NULL, number INTEGER NOT NULL, key TEXT NOT NULL, alert TEXT NOT NULL,
  payload TEXT NOT NULL, first REAL NOT NULL, last REAL NOT NULL, PRIMARY KEY (destination, name)
);
CREATE TABLE IF NOT EXISTS written (at REAL NOT NULL);
"""
_ANSWERS: Final = (
    "FROM answered a LEFT JOIN posts p ON p.id = a.post "  # old posts are deleted
    "WHERE coalesce(p.state, 'done') != 'dead'"
)
"""The names that count as answered: the answer was delivered, or is still being sent."""
_POSTED: Final = "SELECT destination, state, reason, key FROM posts WHERE"
_ANSWERED_SINCE: Final = (
    f"EXISTS (SELECT 1 {_ANSWERS} AND a.destination = {{0}}.destination AND a.name = {{0}}.name "
    "AND a.seen >= {0}.{1})"
)


_TIMES: Final = (
    ("events", "received"), ("posts", "created"), ("posts", "sent"), ("answered", "seen"),
    ("counted", "since"), ("unanswered", "first"), ("unanswered", "last"), ("written", "at"),
)  # fmt: skip
"""Tables with their timestamp columns."""


@dataclass(frozen=True, slots=True)
class Post:
    """A post for one destination, as stored in the queue, without any secret.

    Args:
        key: its unique id, here and at the destination.
        subject: the incident or alert to add it to; ``""`` for none.
        thread: Slack's ``ts`` of the message that heads its thread; ``""`` for none.
    """

    body: dict[str, Any]
    key: str
    subject: str = ""
    thread: str = ""


@dataclass(frozen=True, slots=True)
class Received:
    """An event that waits for its answer."""

    id: int
    hook: str
    event: Event


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A post that may be sent now.

    Args:
        unsure: whether it may have been accepted already.
        follows: whether it belongs to the thread of another one.
    """

    id: int
    post: Post
    attempts: int
    unsure: bool
    created: float
    sent: float
    follows: bool


@dataclass(frozen=True, slots=True)
class Posted:
    """The state of a post: waiting, done or dead, and why; ``""`` if it hasn't been sent."""

    destination: str
    state: str
    reason: str
    key: str


class QueueUnusable(KnowledgeRagError):  # noqa: N818 - named for what it is, as in core.errors
    """A queue's file that another process uses, or that is damaged."""


class Queue:
    """The queue; thread-safe.

    Args:
        path: of its file, readable only by its owner; created if missing.

    Raises:
        QueueUnusable: another process uses it, or it is not a queue's file.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(mode=0o600)
        self._lock = threading.RLock()
        self._connection = sqlite3.connect(
            path, timeout=1.0, check_same_thread=False, isolation_level=None
        )
        try:
            # one process only: two would post everything twice
            self._connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = FULL")  # acknowledged means on disk
            self._connection.executescript(_TABLES)
        except sqlite3.DatabaseError as error:
            self._connection.close()
            raise QueueUnusable(f"{path}: {error}; does another `serve --hooks` use it?") from error

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def change(self) -> Iterator[sqlite3.Connection]:
        """Make changes atomically."""
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def _read(self, sql: str, *values: object) -> list[Any]:
        with self._lock:
            return self._connection.execute(sql, values).fetchall()

    def content(self) -> bytes:
        """Return the file's content as it would be after :meth:`close`."""
        with self._lock:
            return self._connection.serialize()

    def counts(self) -> dict[str, int]:
        """Return the number of posts in each state: waiting, done, dead."""
        rows = self._read("SELECT state, count(*) FROM posts GROUP BY state")
        return {"waiting": 0, "done": 0, "dead": 0, **dict(rows)}

    def waiting_since(self, destinations: Iterable[str]) -> float | None:
        """Return since when the oldest event, or post to one of the destinations, waits; ``None`` if none does."""
        ((oldest,),) = self._read(
            "SELECT min(at) FROM (SELECT min(received) AS at FROM events WHERE handled = 0 "
            "UNION ALL SELECT min(created) FROM posts WHERE state = 'waiting' "
            "AND destination IN (SELECT value FROM json_each(?)))",
            json.dumps(list(destinations)),
        )
        return None if oldest is None else float(oldest)

    # received events

    def receive(self, hook: str, events: Iterable[Event], now: float) -> int:
        """Store the new events; return their number."""
        new = 0
        with self.change() as changed:
            for it in events:
                payload = json.dumps(it.payload)
                made = changed.execute(
                    "INSERT OR IGNORE INTO events (hook, key, alert, name, over, payload, subject, received) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    (hook, it.key, it.alert, it.name, it.over, payload, it.subject, now),
                )
                new += made.rowcount
        return new

    def next_event(self) -> Received | None:
        """Return the event that has waited longest."""
        for number, hook, key, alert, name, over, payload, subject in self._read(
            "SELECT id, hook, key, alert, name, over, payload, subject FROM events "
            "WHERE handled = 0 ORDER BY id LIMIT 1"
        ):
            event = Event(key, alert, name, bool(over), json.loads(payload), subject)
            return Received(number, hook, event)
        return None

    def waiting(self) -> int:
        """Return the number of waiting events."""
        ((number,),) = self._read("SELECT count(*) FROM events WHERE handled = 0")
        return int(number)

    # outgoing posts

    def next_post(self, destination: str, now: float) -> Outgoing | None:
        """Return the next post that a destination may be sent: due, and without an earlier open one of its alert."""
        for number, body, key, subject, thread, attempts, unsure, created, sent, head in self._read(
            "SELECT p.id, p.body, p.key, p.subject, CASE WHEN p.threaded THEN coalesce(h.reference, '') ELSE '' END, "
            "p.attempts, p.unsure, p.created, p.sent, p.head FROM posts p "
            "LEFT JOIN posts h ON h.id = p.head WHERE p.state = 'waiting' AND p.destination = ? AND p.due <= ? "
            "AND NOT EXISTS (SELECT 1 FROM posts b WHERE b.state = 'waiting' AND b.destination = p.destination "
            "AND b.alert = p.alert AND b.id < p.id) ORDER BY p.id LIMIT 1",
            destination,
            now,
        ):
            post = Post(json.loads(body), key, subject, thread)
            follows = head is not None
            return Outgoing(number, post, attempts, bool(unsure), created, sent, follows)
        return None

    def alert_of(self, post: Outgoing) -> str:
        """Return the name of a post's alert; ``""`` for a summary or a list."""
        rows = self._read(
            "SELECT e.name FROM events e, posts p WHERE p.id = ? AND e.alert = p.alert LIMIT 1",
            post.id,
        )
        return str(rows[0][0]) if rows else ""

    def sending(self, post: Outgoing, now: float) -> None:
        """Record, before a post is sent, that it may be accepted without confirmation."""
        self._update(post, "unsure = 1, sent = ?", now)

    def done(self, post: Outgoing, reference: str) -> None:
        """Record that a post was accepted."""
        with self.change() as changed:
            changed.execute(
                "UPDATE posts SET state = 'done', body = '{}', reference = ? WHERE id = ?",
                (reference, post.id),
            )
            changed.execute(
                "DELETE FROM unanswered WHERE EXISTS (SELECT 1 FROM answered a WHERE a.post = ? AND a.name = "
                "unanswered.name AND a.destination = unanswered.destination AND a.seen >= unanswered.last)",
                (post.id,),
            )

    def dead(self, post: Outgoing, reason: str) -> None:
        """Record that a post is given up."""
        self._update(post, "state = 'dead', reason = ?", reason)

    def again(self, post: Outgoing, due: float, reason: str, *, unsure: bool) -> None:
        """Record when to send a post again."""
        self._update(
            post, "attempts = attempts + 1, due = ?, reason = ?, unsure = ?", due, reason, unsure
        )

    def without_thread(self, post: Outgoing) -> None:
        """Detach a post from its thread: the message at its head is gone."""
        self._update(post, "threaded = 0")

    def instead(self, post: Outgoing, body: Mapping[str, Any], key: str) -> None:
        """Replace a post with another that answers no name."""
        with self.change() as changed:
            changed.execute(
                "UPDATE posts SET body = ?, key = ?, unsure = 0 WHERE id = ?",
                (json.dumps(body), key, post.id),
            )
            changed.execute("DELETE FROM answered WHERE post = ?", (post.id,))

    def _update(self, post: Outgoing, what: str, *values: object) -> None:
        with self.change() as changed:
            changed.execute(f"UPDATE posts SET {what} WHERE id = ?", (*values, post.id))  # noqa: S608 - fixed words

    def posts_about(self, alert: str) -> list[Posted]:
        """Return the posts about an alert, in order, with their states."""
        rows = self._read(f"{_POSTED} alert = ? ORDER BY id", alert)
        return [Posted(*row) for row in rows]

    def dead_since(self, since: float) -> list[Posted]:
        """Return the posts queued since a time and given up."""
        rows = self._read(f"{_POSTED} state = 'dead' AND created > ?", since)
        return [Posted(*row) for row in rows]

    def of_others(self, destinations: Iterable[str]) -> dict[str, int]:
        """Return other destinations with waiting posts, and the number of these."""
        return dict(
            self._read(
                "SELECT destination, count(*) FROM posts WHERE state = 'waiting' "
                "AND destination NOT IN (SELECT value FROM json_each(?)) GROUP BY destination",
                json.dumps(list(destinations)),
            )
        )

    def give_up_on(self, destination: str, before: float, reason: str) -> int:
        """Give up posts waiting for a destination since before a time; return their number."""
        with self.change() as changed:
            return changed.execute(
                "UPDATE posts SET state = 'dead', reason = ? "
                "WHERE state = 'waiting' AND destination = ? AND created < ?",
                (reason, destination, before),
            ).rowcount

    def set_back(self, now: float) -> None:
        """Move later times in the queue to about now, after the clock was ahead and was set back."""
        with self.change() as changed:
            changed.execute(
                "UPDATE posts SET due = ? WHERE state = 'waiting' AND max(created, sent) > ?",
                (now, now),
            )
            for table, column in _TIMES:
                changed.execute(
                    f"UPDATE {table} SET {column} = ? WHERE {column} > ?",  # noqa: S608 - fixed words
                    (now, now),
                )

    def forget(self, before: float) -> None:
        """Delete everything finished before a time."""
        with self.change() as changed:
            changed.execute("DELETE FROM events WHERE handled = 1 AND received < ?", (before,))
            changed.execute("DELETE FROM posts WHERE state != 'waiting' AND created < ?", (before,))
            changed.execute("DELETE FROM answered WHERE seen < ?", (before,))
            changed.execute("DELETE FROM unanswered WHERE last < ?", (before,))  # of removed ones
            changed.execute("DELETE FROM written WHERE at < ?", (before,))


# parts of a transaction: the first argument is the connection from Queue.change


def handled(changed: sqlite3.Connection, event: Received) -> None:
    """Record that an event is finished."""
    changed.execute("UPDATE events SET handled = 1, payload = '{}' WHERE id = ?", (event.id,))


def put(
    changed: sqlite3.Connection,
    where: tuple[str, str],
    posts: Sequence[Post],
    now: float,
    *,
    follows: bool = False,
) -> int | None:
    """Queue posts for a destination and an alert, and return the one that heads their thread.

    The first one heads it, or, with ``follows``, the alert's last answer there.
    """
    head = head_of(changed, *where) if follows else None
    for post in posts:
        row = (*where, json.dumps(post.body), post.key, post.subject, head, head is not None)
        made = changed.execute(
            "INSERT INTO posts (destination, alert, body, key, subject, head, threaded, created, due) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*row, now, now),
        )
        head = head if head is not None else made.lastrowid
    return head


def head_of(changed: sqlite3.Connection, destination: str, alert: str) -> int | None:
    """Return the message that last answered an alert at a destination; ``None`` if none did."""
    row = changed.execute(
        "SELECT id FROM posts WHERE destination = ? AND alert = ? AND head IS NULL AND state != 'dead' "
        "ORDER BY id DESC LIMIT 1",
        (destination, alert),
    ).fetchone()
    return None if row is None else int(row[0])


def has_reply(changed: sqlite3.Connection, head: int, prefix: str) -> bool:
    """Whether a message's thread has a post with such a key."""
    row = changed.execute(
        "SELECT 1 FROM posts WHERE head = ? AND substr(key, 1, ?) = ?", (head, len(prefix), prefix)
    ).fetchone()
    return row is not None


def answer_state(
    changed: sqlite3.Connection, destination: str, name: str, since: float = 0.0
) -> str:
    """Return whether a name's answer at a destination is ``"done"`` or ``"waiting"``.

    ``""`` if it has none, if that was given up, or if the name has been quiet since a time.
    """
    row = changed.execute(
        f"SELECT coalesce(p.state, 'done') {_ANSWERS} AND a.destination = ? AND a.name = ? AND a.seen > ?",
        (destination, name, since),
    ).fetchone()
    return "" if row is None else str(row[0])


def answers(
    changed: sqlite3.Connection, destination: str, name: str, now: float, post: int | None
) -> None:
    """Record which post, the answer's first, answers a name; ``None`` if the name couldn't be looked up."""
    if post is not None:
        row = (destination, name, now, post)
        changed.execute("INSERT OR REPLACE INTO answered VALUES (?, ?, ?, ?)", row)
    changed.execute(
        "DELETE FROM unanswered WHERE destination = ? AND name = ?", (destination, name)
    )


def answers_since(changed: sqlite3.Connection, destination: str, since: float) -> int:
    """Return the number of answers queued for a destination since a time."""
    return int(
        changed.execute(
            "SELECT count(*) FROM posts WHERE destination = ? AND created > ? AND head IS NULL",
            (destination, since),
        ).fetchone()[0]
    )


def let_write(changed: sqlite3.Connection, now: float, since: float, most: int) -> bool:
    """Count an answer requested from a model, and return true; false if `most` were counted since a time."""
    made = changed.execute(
        "INSERT INTO written SELECT ? WHERE (SELECT count(*) FROM written WHERE at > ?) < ?",
        (now, since, most),
    )
    return made.rowcount == 1


def count(
    changed: sqlite3.Connection, destination: str, event: Event, now: float, since: float
) -> str:
    """Count an alert that gets no answer of its own; store it for after the storm if its name has none either.

    Returns the state of its name's answer, see :func:`answer_state`.
    """
    changed.execute(
        "INSERT INTO counted VALUES (?, ?, 1, ?) ON CONFLICT DO UPDATE SET number = number + 1",
        (destination, event.name, now),
    )
    state = answer_state(changed, destination, event.name, since)
    if state:
        changed.execute(
            "UPDATE answered SET seen = ? WHERE destination = ? AND name = ?",
            (now, destination, event.name),
        )
    if state == "done":
        return state
    changed.execute(
        "INSERT INTO unanswered VALUES (?, ?, 1, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
        "number = number + 1, key = excluded.key, alert = excluded.alert, payload = excluded.payload, "
        "last = excluded.last",
        (destination, event.name, event.key, event.alert, json.dumps(event.payload), now, now),
    )
    return state


def counted_before(
    changed: sqlite3.Connection, before: float
) -> dict[str, list[tuple[str, int, bool]]]:
    """Return and remove the counts of destinations whose first one is older than a time.

    By destination: each name, how often it came, most frequent first, and whether it is answered.
    """
    rows = changed.execute(
        f"SELECT destination, name, number, {_ANSWERED_SINCE.format('c', 'since')} FROM counted c "  # noqa: S608 - fixed words
        "WHERE destination IN (SELECT destination FROM counted GROUP BY destination HAVING min(since) <= ?) "
        "ORDER BY number DESC, name",
        (before,),
    ).fetchall()
    found: dict[str, list[tuple[str, int, bool]]] = {}
    for destination, name, number, is_answered in rows:
        found.setdefault(destination, []).append((name, number, bool(is_answered)))
        changed.execute(
            "DELETE FROM counted WHERE destination = ? AND name = ?", (destination, name)
        )
    return found


def left_over(
    changed: sqlite3.Connection, destination: str, quiet_since: float, at_all_since: float
) -> list[tuple[Event, int]]:
    """Return the unanswered alerts of a destination, one per name, and how often each came, most frequent first.

    None if one came after `quiet_since`, unless the first came before `at_all_since`.
    """
    rows = changed.execute(
        "SELECT key, alert, name, payload, number, first, last FROM unanswered u WHERE destination = ? "  # noqa: S608 - fixed words
        f"AND NOT {_ANSWERED_SINCE.format('u', 'last')} ORDER BY number DESC, name",
        (destination,),
    ).fetchall()
    if not rows or (
        max(it[6] for it in rows) > quiet_since and min(it[5] for it in rows) > at_all_since
    ):
        return []
    return [
        (Event(key, alert, name, over=False, payload=json.loads(payload)), number)
        for key, alert, name, payload, number, _, _ in rows
    ]
