"""Answers received events and posts the answers; time is passed in.

Each destination gets one post at a time, so that order is preserved, and waits for no other. One that is down waits
longer each time. A post is given up after a day, or when its destination says that it will never accept it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

import httpx

from knowledge_rag.channel import queue as steps
from knowledge_rag.channel.destinations import (
    MAX_PAGES,
    Ended,
    Reply,
    call_for,
    found_in,
    look_up,
    notice_of,
    page_after,
    posts_of,
    reply_of,
)
from knowledge_rag.channel.events import digest
from knowledge_rag.channel.message import UNCLEAR, Message, masked, message_from, one_line
from knowledge_rag.channel.queue import Post
from knowledge_rag.channel.settings import SUBJECTS, Kind
from knowledge_rag.channel.slack import notice_blocks, refused_part
from knowledge_rag.core.citations import Citation
from knowledge_rag.core.neutral import neutralise
from knowledge_rag.core.outcome import Status
from knowledge_rag.orchestrator.retrieval import log_defect
from knowledge_rag.orchestrator.wording import counted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from knowledge_rag.channel.destinations import Call, Send
    from knowledge_rag.channel.events import Event
    from knowledge_rag.channel.message import Offer, Place
    from knowledge_rag.channel.queue import Outgoing, Queue, Received
    from knowledge_rag.channel.settings import Destination, HookSettings

MINUTE: Final = 60.0
FIRST_WAIT: Final = 2.0
LONGEST_WAIT: Final = 300.0
"""Seconds between tries of a destination that is down, doubling from the first to the longest."""

DAY: Final = 24 * 3600.0
GIVE_UP: Final = DAY
MAX_NAMED: Final = 10
"""Maximum names in a storm's summary."""

STORM_QUIET: Final = 120.0
STORM_LONGEST: Final = 900.0
"""A storm ends when every alert has been answered for this long, or this long after the first unanswered one."""

MAX_LISTED: Final = 50
"""Maximum names looked up after a storm; any others are only listed."""

MAX_NAME: Final = 80
"""Maximum characters of a name in a list."""

MAX_NAMES: Final = 10
"""Names per line."""

MAX_BESIDE: Final = 1_000
"""Maximum characters of names above the first place; more have messages of their own."""

MAX_NAME_LINES: Final = 4
"""Lines of names in such a message."""

MAX_LINES: Final = 10
"""Alerts per message of the list: each may have a button, and Slack limits a message's size."""

_REMOVED: Final = "no longer in the settings"
_OVER: Final = "over-"
"""Prefix of the key of a post that says that an alert is over."""

_INSTEAD: Final = "instead-"
"""Prefix of the key of a post that says that another one's text was refused."""

_COUNTED: Final = {
    "done": "answered before",
    "waiting": "its answer is being sent",
    "": "waits: more alerts than answers_a_minute",
}
"""Log message for an alert without an answer of its own, by the state of its name's answer."""

_logger: Final = logging.getLogger(__name__)

Answer = Callable[["Event", float], "Message"]
"""Looks an alert up at a time, and returns the message with its receipt."""


@dataclass(slots=True)
class Worker:
    """Processes a queue.

    Args:
        jitter: returns 0..1, to vary the waits of different processes.
        quote: looks an alert up without the model that writes ``answer``; ``None`` if no model does.
    """

    queue: Queue
    settings: HookSettings
    answer: Answer
    send: Send
    jitter: Callable[[], float]
    quote: Answer | None = None
    _paused: dict[str, float] = field(default_factory=dict)
    _latest: float = float("inf")
    _removed: set[str] = field(default_factory=set)

    def step(self, now: float) -> bool:
        """Post once to each destination, or answer one event; return whether there was anything to do."""
        posted = [self.post(it, now) for it in self.settings.destinations.values()]
        return any(posted) or self.prepare(now)

    def prepare(self, now: float) -> bool:
        """Answer one event or sum up unanswered alerts; return whether there was anything to do."""
        if now < self._latest:  # also at first: the clock's earlier state is unknown
            self.queue.set_back(now)
            self._paused.clear()
        self._latest = now
        self._give_up_removed(now)
        return self._sum_up(now) or self._answer_next(now) or self._after_storm(now)

    # answers

    def _answer_next(self, now: float) -> bool:
        received = self.queue.next_event()
        if received is None:
            return False
        to = self._to(received)
        if received.event.over:
            self._over(received, to, now)
            return True
        wanted = [it for it in to if self._is_wanted(received.event, it, now)]
        event = received.event
        posts, is_answer = self._posts(event, wanted, now) if wanted else ({}, False)
        with self.queue.change() as changed:
            for it in to:
                if it.name not in posts:
                    state = steps.count(changed, it.name, event, now, self._quiet_since(now))
                    _logger.info("%s | %s", _about(it, event.name), _COUNTED[state])
                    continue
                head = steps.put(changed, (it.name, event.alert), posts[it.name], now)
                if it.is_shared:
                    post = head if is_answer else None
                    steps.answers(changed, it.name, event.name, now, post)
            steps.handled(changed, received)
        return True

    def _to(self, received: Received) -> list[Destination]:
        """Return the destinations of an event: a note needs an incident of its own maker."""
        hook = self.settings.hooks.get(received.hook)
        if hook is None:
            _logger.warning("hook=%s | %s: an event is ignored", received.hook, _REMOVED)
            return []
        return [
            it
            for it in map(self.settings.destinations.__getitem__, hook.to)
            if it.is_shared or (SUBJECTS[it.kind] is hook.maker and received.event.subject)
        ]

    def _is_wanted(self, event: Event, destination: Destination, now: float) -> bool:
        """Whether an alert is answered at a destination; otherwise it is counted."""
        if not destination.is_shared:
            return True
        quiet_since = self._quiet_since(now)
        with self.queue.change() as read:
            if steps.answer_state(read, destination.name, event.name, quiet_since):
                return False
            recent = steps.answers_since(read, destination.name, now - MINUTE)
        return recent < self.settings.answers_a_minute

    def _quiet_since(self, now: float) -> float:
        return now - self.settings.quiet_minutes * MINUTE

    def _posts(
        self, event: Event, wanted: Sequence[Destination], now: float
    ) -> tuple[dict[str, list[Post]], bool]:
        """Look an event up; return the posts for each destination, and whether they answer it."""
        message = self._message(event, now, self._writer(now))
        try:
            posts = {it.name: posts_of(it, message, event.subject) for it in wanted}
        except Exception as error:  # noqa: BLE001 - one event must not stop the others; logged without its message
            log_defect(error, "an answer could not be written")
            message = _failed(event)
            posts = {it.name: posts_of(it, message, event.subject) for it in wanted}
        return posts, _is_answer(message)

    def _writer(self, now: float) -> Answer:
        """Return the function that answers an alert: a model's answers are limited, since each costs money."""
        if self.quote is None:
            return self.answer
        most = self.settings.model_answers_a_day
        with self.queue.change() as changed:
            if steps.let_write(changed, now, now - DAY, most):
                return self.answer
        _logger.warning("model_answers_a_day=%d | reached: the documents' own lines follow", most)
        return self.quote

    def _message(self, event: Event, now: float, answer: Answer) -> Message:
        try:
            return answer(event, now)
        except Exception as error:  # noqa: BLE001 - one event must not stop the others; logged without its message
            log_defect(error, "an alert could not be answered")
            return _failed(event)

    def _after_storm(self, now: float) -> bool:
        """Answer the alerts that a storm left unanswered: a few each on its own, more in one list."""
        for it in (one for one in self.settings.destinations.values() if one.is_shared):
            with self.queue.change() as read:
                left = steps.left_over(read, it.name, now - STORM_QUIET, now - STORM_LONGEST)
                recent = steps.answers_since(read, it.name, now - MINUTE)
            if left:
                self._answer_left(
                    it, left, now, is_few=len(left) + recent <= self.settings.answers_a_minute
                )
                return True
        return False

    def _answer_left(
        self, destination: Destination, left: list[tuple[Event, int]], now: float, *, is_few: bool
    ) -> None:
        # an alert, or the list's key; its posts; the names that they answer
        made: list[tuple[str, list[Post], set[str]]]
        if is_few:
            made = []
            for event, _ in left:
                posts, is_answer = self._posts(event, [destination], now)
                own = {event.name} if is_answer else set()
                made.append((event.alert, posts[destination.name], own))
        else:
            key = f"storm-{digest([destination.name, [it.key for it, _ in left]])[:20]}"
            made = [(key, *self._listed(destination, left, now, key))]
        with self.queue.change() as changed:
            heads: dict[str, int | None] = {}
            for alert, posts_made, names in made:
                head = steps.put(changed, (destination.name, alert), posts_made, now)
                heads |= dict.fromkeys(names, head)
            for event, _ in left:
                steps.answers(changed, destination.name, event.name, now, heads.get(event.name))

    def _listed(
        self, destination: Destination, left: list[tuple[Event, int]], now: float, key: str
    ) -> tuple[list[Post], set[str]]:
        """Look alerts up; return the posts that list them, and the names that these answer."""
        answer = self.quote or self.answer  # of each, only the place of its first step is used
        found = [
            (it.name, number, self._message(it, now, answer)) for it, number in left[:MAX_LISTED]
        ]
        names = [(it.name, number) for it, number in left]
        try:
            lists = lists_of(found, names[MAX_LISTED:], key)
            posts = [post for one in lists for post in posts_of(destination, one)]
        except Exception as error:  # noqa: BLE001 - they must be named at least; logged without its message
            log_defect(error, "a list could not be written")
            return [_summary(destination, summary_of(names, ()), key)], set()
        return posts, {name for name, _, message in found if _is_answer(message)}

    def _over(self, received: Received, to: Sequence[Destination], now: float) -> None:
        """Post once in the thread of an alert's answer that it is over; pagers report it themselves."""
        event = received.event
        words = notice_blocks(one_line(f"{event.name} is resolved."))
        with self.queue.change() as changed:
            for it in (one for one in to if one.kind is Kind.SLACK):
                head = steps.head_of(changed, it.name, event.alert)
                if head is not None and not steps.has_reply(changed, head, _OVER):
                    post = Post(words | {"channel": it.channel}, f"{_OVER}{event.key[:20]}")
                    steps.put(changed, (it.name, event.alert), [post], now, follows=True)
            steps.handled(changed, received)

    def _sum_up(self, now: float) -> bool:
        """Post one summary of the alerts counted in the last minute."""
        with self.queue.change() as changed:
            counted_by = steps.counted_before(changed, now - MINUTE)
            for name, numbers in counted_by.items():
                if (destination := self.settings.destinations.get(name)) is not None:
                    key = f"summary-{digest([name, numbers, now])[:20]}"
                    answered = {it for it, _, is_answered in numbers if is_answered}
                    came = [(it, number) for it, number, _ in numbers]
                    post = _summary(destination, summary_of(came, answered), key)
                    steps.put(changed, (name, f"summary {key}"), [post], now)
        return bool(counted_by)

    # posts

    def _give_up_removed(self, now: float) -> None:
        """Give up posts for removed destinations, after as long as for one that is down."""
        for name, number in self.queue.of_others(self.settings.destinations).items():
            if name not in self._removed:
                self._removed.add(name)
                waits = f"{counted(number, 'post')} kept for a day"
                _logger.warning("destination=%s | %s: %s", name, _REMOVED, waits)
            if given_up := self.queue.give_up_on(name, now - GIVE_UP, _REMOVED):
                lost = f"{counted(given_up, 'post')} given up"
                _logger.error("destination=%s | %s: %s", name, _REMOVED, lost)

    def post(self, destination: Destination, now: float) -> bool:
        """Post once to a destination; return whether there was anything to do.

        It may run once at a time for each destination, and in parallel for several.
        """
        if self._paused.get(destination.name, 0.0) > now:
            return False
        post = self.queue.next_post(destination.name, now)
        if post is None:
            return False
        reply = self._reply(destination, post, now)
        about = (
            f"destination={destination.name} | receipt={post.post.key} | {neutralise(reply.reason)}"
        )
        if reply.ended is Ended.DONE:
            self._paused.pop(destination.name, None)
            self.queue.done(post, reply.reference)
            if not post.follows or post.post.key.startswith(_OVER):
                name = self.queue.alert_of(post) or "several"
                _logger.info("%s | posted, receipt=%s", _about(destination, name), post.post.key)
        elif reply.ended is Ended.NO_THREAD and post.post.thread:
            self.queue.without_thread(post)
        elif reply.ended is Ended.TEXT and not post.post.key.startswith(_INSTEAD):
            _logger.error("%s | text refused", about)
            alert = one_line(self.queue.alert_of(post))
            notice = refused_part(reply.reason, alert) | {"channel": destination.channel}
            self.queue.instead(post, notice, f"{_INSTEAD}{post.post.key}")
        elif (
            reply.ended in (Ended.TEXT, Ended.NEVER, Ended.NO_THREAD)
            or now - post.created > GIVE_UP
        ):
            _logger.error("%s | given up", about)
            self.queue.dead(post, reply.reason)
        else:
            due = now + self._wait(post, reply)
            self._paused[destination.name] = due
            _logger.warning("%s | %s, again in %d s", about, reply.ended.value, due - now)
            self.queue.again(post, due, reply.reason, unsure=reply.ended is Ended.UNSURE)
        return True

    def _reply(self, destination: Destination, post: Outgoing, now: float) -> Reply:
        if post.unsure and (found := self._looked_for(destination, post)):
            return found
        self.queue.sending(post, now)
        sent = self._sent(destination, call_for(destination, post.post, now))
        if isinstance(sent, Reply):
            return sent
        return reply_of(destination, sent.status_code, sent.headers, sent.content)

    def _looked_for(self, destination: Destination, post: Outgoing) -> Reply | None:
        """Look up a post of unknown state; ``None`` if it should be sent."""
        page = ""
        for _ in range(MAX_PAGES):
            call = look_up(destination, post.post, post.sent, page)
            if call is None:
                return None
            listed = self._sent(destination, call, reads=True)
            if isinstance(listed, Reply):
                if listed.ended in (Ended.NEVER, Ended.KEY):
                    return None
                # a post that may already be there waits
                return Reply(Ended.UNSURE, f"look-up: {listed.reason}", after=listed.after)
            reference = found_in(destination, post.post, listed.content)
            if reference is not None:
                return Reply(Ended.DONE, "found", reference)
            if not (page := page_after(destination, page, listed.content)):
                return None
        return None

    def _sent(
        self, destination: Destination, call: Call, *, reads: bool = False
    ) -> httpx.Response | Reply:
        """Return the response, or the meaning of its failure."""
        try:
            response = self.send(call)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            return Reply(Ended.LATER, type(error).__name__)
        except httpx.HTTPError as error:
            return Reply(Ended.UNSURE, type(error).__name__)
        except httpx.InvalidURL:
            return Reply(Ended.NEVER, "InvalidURL")
        except UnicodeError:  # in a key, the only setting in a header
            return Reply(Ended.KEY, "the key has characters that no header can have")
        if not reads:
            return response
        reply = reply_of(destination, response.status_code, response.headers, response.content)
        return response if reply.ended is Ended.DONE else reply

    def _wait(self, post: Outgoing, reply: Reply) -> float:
        if reply.ended is Ended.KEY:
            return LONGEST_WAIT
        doubled: float = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(post.attempts, 20))
        return max(reply.after, doubled * (0.8 + 0.4 * self.jitter()))


def _about(destination: Destination, name: str) -> str:
    return f"destination={destination.name} | alert={neutralise(one_line(name))}"


def _is_answer(message: Message) -> bool:
    """Whether a message says that something is documented, or that nothing is; not that the look-up failed."""
    return message.status is not Status.DEGRADED


def _failed(event: Event) -> Message:
    """Return the message for an alert whose look-up failed: it is unknown whether it is documented."""
    whole = {
        "status": Status.DEGRADED.value,
        "recommendation": {"guidance": []},
        "reasoning": "The look-up failed; the log says why.",
        "warnings": [],
    }
    return replace(
        message_from(event.name, whole, [], by_model=False), receipt=f"failed-{event.key[:20]}"
    )


_Item = TypeVar("_Item")
_NOT_LOOKED_UP: Final = "Not looked up, ask for them by name"
_WITHOUT: Final = {
    Status.OK: "Several procedures may be meant, ask for them by name",
    Status.NO_MATCH: "Nothing documented",
    Status.DEGRADED: "Could not be looked up, ask again",
}


def lists_of(
    found: Sequence[tuple[str, int, Message]], more: Sequence[tuple[str, int]], key: str
) -> list[Message]:
    """Return the list of alerts without an answer of their own, with the place where the steps of each begin.

    Args:
        found: name of each, how often it came, and its answer, for its citation and offer.
        more: names that weren't looked up, and how often they came.
        key: of the list.
    """
    listed = [(_called(name, number), *it) for name, number, one in found for it in _steps(one)]
    about: dict[str, list[str]] = {it: [] for it in (*_WITHOUT.values(), _NOT_LOOKED_UP)}
    for name, number, one in found:
        if not list(_steps(one)):
            status = Status.OK if one.reading_title == UNCLEAR else one.status
            about[_WITHOUT[status]].append(_called(_short(name), number))
    about[_NOT_LOOKED_UP] += [_called(_short(name), number) for name, number in more]
    lines = [
        f"{what}: {', '.join(names)}."
        for what, own in about.items()
        for names in _split(own, MAX_NAMES)
    ]
    # many names have messages of their own: they must not displace the places where steps begin
    pages: list[tuple[Sequence[Any], Sequence[str]]] = [
        (chunk, ()) for chunk in _split(listed, MAX_LINES)
    ]
    if sum(map(len, lines)) <= MAX_BESIDE:
        pages[:1] = [(pages[0][0] if pages else (), lines)]
    else:
        pages += [((), chunk) for chunk in _split(lines, MAX_NAME_LINES)]
    links = next((one.links for _, _, one in found if one.links), None)
    return [
        Message(
            title=f"{counted(len(found) + len(more), 'alert')} without an answer so far"
            + (f" ({number}/{len(pages)})" if len(pages) > 1 else ""),
            status=Status.OK,
            outcome="They came faster than answers are posted.",
            marked="",
            references=(),
            places=tuple(dict.fromkeys(it for _, it, _ in chunk)),
            warnings=tuple(names),
            reading_title="Where the steps begin" if chunk else "",
            reading=tuple((name, Citation(*it)) for name, it, _ in chunk),
            offers=tuple(replace(offer, name=name) for name, _, offer in chunk),
            links=links,
            receipt=f"{key}-{number}",
        )
        for number, (chunk, names) in enumerate(pages, start=1)
    ]


def _steps(message: Message) -> Iterator[tuple[Place, Offer]]:
    """Yield the first cited step of an answer, with the offer of its whole procedure; nothing if it has no steps."""
    for number, offer in enumerate(message.offers, start=1):
        if not offer.name:
            at = (offer.source_file, offer.line)
            first = next(it for it in message.places if it[:2] == at)
            yield first, replace(offer, receipt=message.receipt, number=number)


def _split(items: Sequence[_Item], most: int) -> list[Sequence[_Item]]:
    return [items[at : at + most] for at in range(0, len(items), most)]


def _short(name: str) -> str:
    shown = one_line(name)
    return shown if len(shown) <= MAX_NAME else f"{shown[: MAX_NAME - 1]}…"


def _called(name: str, number: int) -> str:
    return f"{one_line(name)} ({number})"


def summary_of(numbers: Sequence[tuple[str, int]], answered: Collection[str]) -> str:
    """Return the summary of alerts that got no answer: how often each name came, and if it was answered before.

    >>> summary_of([("DiskFull", 30), ("QueueGrows", 1)], {"DiskFull"})
    '31 further alerts. Answered before: DiskFull (30). Answers follow when it is quieter: QueueGrows (1).'
    """
    said = [f"{counted(sum(number for _, number in numbers), 'further alert')}."]
    before = [it for it in numbers if it[0] in answered]
    others = [it for it in numbers if it[0] not in answered]
    for what, own in (("Answered before", before), ("Answers follow when it is quieter", others)):
        if own:
            named = ", ".join(f"{name} ({number})" for name, number in own[:MAX_NAMED])
            more = f" and {len(own) - MAX_NAMED} other names" if len(own) > MAX_NAMED else ""
            said.append(f"{what}: {named}{more}.")
    return " ".join(said)


def _summary(destination: Destination, words: str, key: str) -> Post:
    return notice_of(destination, one_line(masked(words)), key)
