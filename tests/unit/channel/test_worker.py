"""Whatever a destination does, each answer stands there once, in its order, and a storm stays small."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import threading
from collections import Counter
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from knowledge_rag.channel.buttons import Act, Buttons
from knowledge_rag.channel.destinations import MAX_PAGES, sender
from knowledge_rag.channel.message import Offer
from knowledge_rag.channel.queue import Queue, QueueUnusable
from knowledge_rag.channel.receipts import Answering, Receipts, offer_in
from knowledge_rag.channel.server import working
from knowledge_rag.channel.settings import Kind, Maker
from knowledge_rag.channel.slack import to_slack
from knowledge_rag.channel.worker import (
    DAY,
    GIVE_UP,
    LONGEST_WAIT,
    STORM_LONGEST,
    STORM_QUIET,
    lists_of,
)
from knowledge_rag.orchestrator.advisors.advisor import ExtractiveAdvisor
from knowledge_rag.orchestrator.incident import Incident
from tests.support.block_kit import buttons_in, numbers_in, problems
from tests.support.cli import SECONDS, eventually
from tests.support.makers import CHANNEL
from tests.support.runbooks import Search
from tests.unit.channel.conftest import answer, fires, pagerduty
from tests.unit.channel.test_rendering import LINKS, cites, written

NOTES = {
    Kind.PAGERDUTY: (Maker.PAGERDUTY, pagerduty(7), "P7"),
    Kind.OPSGENIE: (
        Maker.OPSGENIE,
        {"action": "Create", "alert": {"alertId": "a-1", "message": "DiskFull: /data"}},
        "a-1",
    ),
    Kind.INCIDENT_IO: (
        Maker.INCIDENT_IO,
        {
            "event_type": "public_incident.incident_created_v2",
            "public_incident.incident_created_v2": {"id": "01F", "name": "DiskFull: /data"},
        },
        "01F",
    ),
}
SHARED = (Kind.SLACK, Kind.GITHUB, Kind.WEBHOOK)


def titles(makers):
    """What Slack shows, by the first words of each message."""
    return [it["text"].split(":")[0] for it in makers.of(Kind.SLACK)]


class TestPosting:
    def test_an_alert_is_answered_in_every_shared_destination(self, play, makers):
        played = play(*SHARED)
        played.fired("DiskFull")
        assert [kind for kind, _, _ in makers.taken] == list(SHARED)
        (slack,), (issue,), (hook,) = (makers.of(kind) for kind in SHARED)
        assert slack["metadata"]["event_payload"]["id"] == f"{hook['id']}-1"
        assert "Look at DiskFull" in issue["body"]
        assert f"Receipt {hook['id']}" in issue["body"]
        assert hook["sources"] == []

    def test_a_webhook_is_signed(self, play, makers):
        played = play(Kind.WEBHOOK)
        played.fired("DiskFull")
        ((header, body),) = makers.signed
        signed = b"%d." % played.now + body
        expected = hmac.new(b"webhook-key", signed, hashlib.sha256).hexdigest()
        assert header == f"t={played.now:.0f},v1={expected}"

    @pytest.mark.parametrize("kind", NOTES)
    def test_a_note_goes_to_the_incident_that_the_event_is_about(self, play, makers, kind):
        maker, payload, where = NOTES[kind]
        played = play(kind, maker=maker)
        played.receive(payload)
        played.run()
        assert [(it, at) for it, at, _ in makers.taken] == [(kind, where)]
        (note,) = makers.of(kind)
        assert "Look at DiskFull" in str(note)
        assert ("**" in str(note)) == (
            kind is Kind.INCIDENT_IO
        )  # the others show notes as they are

    def test_a_pager_gets_no_note_about_anothers_alert(self, play, makers):
        played = play(Kind.PAGERDUTY, Kind.SLACK)
        played.fired("DiskFull")
        assert [kind for kind, _, _ in makers.taken] == [Kind.SLACK]

    def test_a_long_answer_stands_in_one_thread_in_its_order(self, play, makers):
        played = play(Kind.SLACK, answers=lambda event, now: answer(event, now, 120))
        played.fired("DiskFull")
        head, *others = makers.of(Kind.SLACK)
        assert others
        assert "thread_ts" not in head
        assert {it["thread_ts"] for it in others} == {head["ts"]}
        parts = [re.search(r"\((\d)/", it["text"])[1] for it in makers.of(Kind.SLACK)]
        assert parts == sorted(parts)

    def test_the_end_of_an_alert_is_said_in_the_thread_of_its_answer(self, play, makers):
        played = play(Kind.SLACK)
        for status in ("firing", "resolved"):
            played.receive(fires("DiskFull", status=status))
        played.fired("Other", status="resolved")
        head, end = makers.of(Kind.SLACK)
        assert end["text"] == "DiskFull is resolved."
        assert end["thread_ts"] == head["ts"]

    def test_a_failed_look_up_says_so_and_answers_no_name(self, play, makers):
        def fails_first(event, now):
            if not makers.taken:
                raise RuntimeError(event.name, now)
            return answer(event, now)

        played = play(Kind.SLACK, answers=fails_first)
        for number in range(3):
            played.fired("DiskFull", number, seconds=70)
        failed, answered, summary = makers.of(Kind.SLACK)
        assert "could not be searched" in failed["text"]
        assert "Look at DiskFull" in str(answered["blocks"])
        assert summary["text"] == "1 further alert. Answered before: DiskFull (1)."

    def test_one_line_for_each_alert_and_destination_says_what_became_of_it(
        self, play, makers, caplog
    ):
        played = play(Kind.SLACK, Kind.GITHUB, answers=lambda event, now: answer(event, now, 120))
        with caplog.at_level("INFO", "knowledge_rag.channel"):
            played.fired("Disk\nFull")
            played.receive(fires("Disk\nFull", 2))
            for number in range(5):
                played.receive(fires(f"Alert{number}", number))
            played.run()
            played.fired("Disk\nFull", status="resolved")
        assert len(makers.of(Kind.SLACK)) > 7
        said = [re.sub("receipt=.*", "", it.getMessage()) for it in caplog.records]
        slack = [it.removeprefix("destination=slack | alert=") for it in said if "=slack" in it]
        posted = [f"Alert{number} | posted, " for number in range(4)]
        assert sorted(slack) == sorted(
            [
                "Disk Full | posted, ",
                "Disk Full | answered before",
                *posted,
                "Alert4 | waits: more alerts than answers_a_minute",
                "Disk Full | posted, ",
            ]
        )
        assert len([it for it in said if "=github" in it]) == 7

    @pytest.mark.parametrize("kind", [Kind.PAGERDUTY, Kind.INCIDENT_IO])
    def test_a_note_that_is_too_long_is_cut_between_steps_and_keeps_its_receipt(
        self, play, makers, kind
    ):
        def long(event, now):
            made = answer(event, now)
            step = f"Run:\n\n   ```\n   {'x' * 900}\n\n   y\n   ```"
            return replace(made, marked="\n\n".join(f"{n}. {step}" for n in range(1, 60)))

        maker, payload, _ = NOTES[kind]
        played = play(kind, maker=maker, answers=long)
        played.receive(payload)
        played.run()
        (body,) = makers.of(kind)
        note = body["note"]["content"] if kind is Kind.PAGERDUTY else body["message"]
        assert 24_000 < len(note) <= 25_000
        assert "Steps are missing here" in note
        assert note.rstrip().split("\n")[-1].startswith("Receipt kr-")
        kept = note.partition("Steps are missing here")[0].rstrip()
        assert kept.endswith("    y") or kind is not Kind.PAGERDUTY
        assert len(re.findall("^ *```", note, re.MULTILINE)) % 2 == 0

    def test_a_key_that_no_header_can_have_stops_nobody_else(self, play, makers, caplog):
        played = play(Kind.SLACK, Kind.GITHUB)
        name, slack = next(iter(played.settings.destinations.items()))
        played.settings.destinations[name] = replace(slack, secret="k\u00e9y\u2026")
        played.fired("DiskFull", seconds=5)
        assert len(makers.of(Kind.GITHUB)) == 1
        assert "key refused" in caplog.text


class TestTrouble:
    def test_a_destination_that_asks_to_wait_is_left_alone_until_then(self, play, makers):
        makers.plan = [429]
        played = play(Kind.SLACK)
        played.fired("DiskFull", seconds=29)
        assert not makers.taken
        assert makers.calls == 1
        played.run(2)
        assert titles(makers) == ["DiskFull"]

    def test_what_follows_waits_for_what_comes_first_also_after_a_restart(self, play, makers):
        makers.plan = [429]
        played = play(Kind.SLACK, answers=lambda event, now: answer(event, now, 120))
        played.fired("DiskFull")
        played.restart()
        played.fired("Other", seconds=5)
        assert {it["text"].partition(":")[0] for it in makers.of(Kind.SLACK)} == {"Other"}
        played.run(60)
        mine = [it for it in makers.of(Kind.SLACK) if it["text"].startswith("DiskFull")]
        assert len(mine) > 1
        assert {it.get("thread_ts") for it in mine[1:]} == {mine[0]["ts"]}

    def test_ten_minutes_without_a_destination_lose_nothing_and_keep_each_alerts_order(
        self, play, makers
    ):
        played = play(Kind.SLACK, Kind.GITHUB, answers_a_minute=60)
        makers.down = True
        for minute in range(10):
            for number in range(4):
                played.receive(fires(f"Alert{number}", number))
                status = "resolved" if minute % 2 else "firing"
                payload = fires(f"Alert{number}", number, status)
                payload["alerts"][0]["startsAt"] = f"2026-03-02T08:{minute // 2:02}:00Z"
                played.receive(payload)
                played.receive(payload)  # delivered at least once
            played.run(60)
        assert not makers.taken
        makers.down = False
        played.run(LONGEST_WAIT + 60)
        assert played.states() == {"done": sum(played.states().values())}
        keys = [it["metadata"]["event_payload"]["id"] for it in makers.of(Kind.SLACK)]
        assert len(keys) == len(set(keys)) == len(makers.of(Kind.SLACK)) >= 4
        for number in range(4):
            mine = [it for it in titles(makers) if it.startswith(f"Alert{number}")]
            assert mine == [f"Alert{number}", f"Alert{number} is resolved."]
        answers = [it for it in makers.of(Kind.GITHUB) if "Look at" in it["body"]]
        assert len(answers) == 4

    @pytest.mark.parametrize("kind", SHARED)
    @pytest.mark.parametrize("ending", ["lost", "cut", 500, 502, 503, 429])
    def test_a_post_of_unknown_fate_is_looked_for_and_stands_there_once(
        self, play, makers, kind, ending
    ):
        makers.plan = [ending, ending, "lost"]
        played = play(kind)
        played.fired("DiskFull", seconds=600)
        assert len(makers.of(kind)) == 1
        assert played.states() == {"done": 1}

    @pytest.mark.parametrize("kind", [Kind.SLACK, Kind.GITHUB])
    @pytest.mark.parametrize("others", [99, 100, 350])
    def test_a_post_of_unknown_fate_is_found_among_many_others(self, play, makers, kind, others):
        makers.plan, makers.others = ["lost"], others
        played = play(kind)
        played.fired("DiskFull", seconds=60)
        assert len(makers.of(kind)) == 1
        assert makers.reads == others // 100 + 1

    @pytest.mark.parametrize("kind", [Kind.SLACK, Kind.GITHUB])
    @pytest.mark.parametrize("odd", [5, [5], [{"metadata": "x", "body": 5}], {"a": [[]]}])
    def test_a_list_of_another_form_has_no_such_post(self, play, makers, client, kind, odd):
        really = sender(client)

        def oddly(call):
            if call.method != "GET":
                return really(call)
            wire = {"ok": True, "messages": odd, "response_metadata": odd}
            return httpx.Response(200, json=wire if kind is Kind.SLACK else odd)

        makers.plan = ["cut"]
        played = play(kind, send=oddly)
        played.fired("DiskFull", seconds=60)
        assert len(makers.of(kind)) == 1

    def test_a_list_without_an_end_is_left_after_some_pages(self, play, makers):
        makers.plan, makers.others = ["cut"], 5_000
        played = play(Kind.SLACK)
        played.fired("DiskFull", seconds=60)
        assert (len(makers.of(Kind.SLACK)), makers.reads) == (1, MAX_PAGES)

    def test_a_post_of_unknown_fate_is_looked_for_where_clocks_differ_by_minutes(
        self, play, makers, client
    ):
        really, asked = sender(client), []

        def notes(call):
            asked.extend([parse_qs(urlsplit(call.url).query)] if call.method == "GET" else [])
            return really(call)

        makers.plan = ["lost"]
        played = play(Kind.SLACK, send=notes)
        sent = played.now
        played.fired("DiskFull", seconds=60)
        ((oldest, latest),) = [(int(it["oldest"][0]), int(it["latest"][0])) for it in asked]
        assert oldest <= sent - 300 < sent + 300 <= latest

    def test_a_note_of_unknown_fate_is_looked_for_too(self, play, makers):
        makers.plan = ["lost"]
        played = play(Kind.PAGERDUTY, maker=Maker.PAGERDUTY)
        played.receive(pagerduty(7))
        played.run(60)
        assert len(makers.of(Kind.PAGERDUTY)) == makers.reads == 1

    @pytest.mark.parametrize("kind", SHARED)
    def test_a_process_that_dies_after_a_post_was_taken_does_not_repeat_it(
        self, play, makers, client, kind
    ):
        really = sender(client)

        def dies(call):
            really(call)
            raise KeyboardInterrupt

        played = play(kind, send=dies)
        played.receive(fires("DiskFull"))
        with pytest.raises(KeyboardInterrupt):
            played.run()
        played.send = really
        played.restart()
        played.run(60)
        assert len(makers.of(kind)) == 1
        assert played.states() == {"done": 1}

    def test_an_expired_key_holds_posts_until_somebody_mends_it(self, play, makers, caplog):
        makers.plan = ["token_expired", "token_expired"]
        played = play(Kind.SLACK)
        played.receive(fires("DiskFull"))
        with caplog.at_level("WARNING", "knowledge_rag"):
            played.run(3 * LONGEST_WAIT)
        assert "token_expired | key refused" in caplog.text
        assert titles(makers) == ["DiskFull"]

    def test_a_channel_that_is_gone_gets_nothing_and_others_get_all(self, play, makers, caplog):
        makers.plan = ["channel_not_found"]
        played = play(Kind.SLACK, Kind.GITHUB)
        played.fired("DiskFull", seconds=60)
        assert "channel_not_found | given up" in caplog.text
        assert played.states() == {"dead": 1, "done": 1}
        assert len(makers.of(Kind.GITHUB)) == 1

    @pytest.mark.parametrize("part", [0, 1])
    def test_a_part_whose_text_is_refused_says_so_in_its_place(self, play, makers, caplog, part):
        makers.plan = [*[""] * part, "invalid_blocks"]
        played = play(Kind.SLACK, answers=lambda event, now: answer(event, now, 120))
        played.fired("DiskFull", 1)
        posted = makers.of(Kind.SLACK)
        told = "Slack refused a part of the answer to DiskFull (invalid_blocks). Steps are missing here."
        assert [it["text"] for it in posted].count(told) == 1
        assert posted[part]["text"] == told
        assert {it["thread_ts"] for it in posted[1:]} == {posted[0]["ts"]}
        assert "invalid_blocks | text refused" in caplog.text
        assert played.states() == {"done": len(posted)}
        played.fired("DiskFull", 2)
        # without its first part, nobody was told what is documented
        assert (len(makers.of(Kind.SLACK)) > len(posted)) == (part == 0)

    def test_where_no_text_is_taken_a_post_is_given_up(self, play, makers):
        makers.plan = ["msg_too_long"] * 2
        played = play(Kind.SLACK)
        played.fired("DiskFull", seconds=60)
        assert played.states() == {"dead": 1}
        assert makers.calls == 2

    def test_an_answer_that_was_given_up_answers_no_name(self, play, makers):
        makers.plan = ["channel_not_found"]
        played = play(Kind.SLACK)
        played.fired("DiskFull", 1, seconds=60)
        assert not makers.taken
        played.fired("DiskFull", 2, seconds=120)
        (posted,) = makers.of(Kind.SLACK)
        assert "Look at DiskFull" in str(posted["blocks"])

    def test_alerts_counted_while_an_answer_waits_are_answered_if_it_is_given_up(
        self, play, makers
    ):
        makers.plan = [429, "channel_not_found"]
        played = play(Kind.SLACK)
        played.fired("DiskFull", 1, seconds=1)
        played.fired("DiskFull", 2, seconds=STORM_QUIET + 60)  # while the first one is being tried
        summary, posted = makers.of(Kind.SLACK)
        assert summary["text"].startswith("1 further alert. Answers follow")
        assert "Look at DiskFull" in str(posted["blocks"])
        played.run(STORM_LONGEST)
        assert len(makers.of(Kind.SLACK)) == 2

    def test_alerts_counted_while_an_answer_waits_are_not_answered_again_once_it_arrives(
        self, play, makers
    ):
        makers.plan = [429]
        played = play(Kind.SLACK)
        played.fired("DiskFull", 1, seconds=1)
        played.fired("DiskFull", 2, seconds=STORM_LONGEST)
        posted, summary = makers.of(Kind.SLACK)
        assert "Look at DiskFull" in str(posted["blocks"])
        assert summary["text"].endswith("Answered before: DiskFull (1).")
        assert not played.queue._connection.execute("SELECT * FROM unanswered").fetchall()

    def test_a_deleted_message_leaves_the_rest_to_stand_alone(self, play, makers):
        played = play(Kind.SLACK)
        played.fired("DiskFull")
        makers.of(Kind.SLACK)[0]["gone"] = True
        played.fired("DiskFull", status="resolved")
        assert "thread_ts" not in makers.of(Kind.SLACK)[1]

    def test_a_post_is_given_up_after_a_day(self, play, makers, caplog):
        makers.down = True
        played = play(Kind.SLACK)
        played.receive(fires("DiskFull"))
        for _ in range(25 * 12):
            played.run()
            played.now += LONGEST_WAIT
        played.run()
        assert played.states() == {"dead": 1}
        assert "given up" in caplog.text

    @pytest.mark.parametrize("comes_back", [True, False])
    def test_posts_for_a_destination_that_was_removed_wait_for_a_day_and_are_reported(
        self, play, makers, caplog, comes_back
    ):
        makers.down = True
        played = play(Kind.SLACK, Kind.GITHUB)
        played.fired("DiskFull")
        makers.down = False
        removed = played.settings.destinations.pop("slack")
        played.run(LONGEST_WAIT)
        assert played.states() == {"waiting": 1, "done": 1}
        assert caplog.text.count("slack | no longer in the settings: 1 post kept for a day") == 1
        if not comes_back:
            played.now += GIVE_UP - LONGEST_WAIT + 1
            played.run()
            assert played.states() == {"dead": 1, "done": 1}
            assert "slack | no longer in the settings: 1 post given up" in caplog.text
        played.settings.destinations["slack"] = removed
        played.run(LONGEST_WAIT)
        assert titles(makers) == ["DiskFull"] * comes_back

    @pytest.mark.parametrize("restarts", [False, True])
    def test_a_clock_that_was_ahead_and_is_set_back_stops_no_answer_and_no_post(
        self, play, makers, restarts
    ):
        played = play(Kind.SLACK)
        played.now += 10 * DAY
        for number in range(played.settings.answers_a_minute):
            played.receive(fires(f"Ahead{number}"))
        played.run(5)
        makers.down = True
        played.fired("Ahead0", status="resolved", seconds=5)
        makers.down, played.now = False, played.now - 10 * DAY
        if restarts:
            played.restart()
        played.fired("DiskFull", seconds=STORM_QUIET + 60)
        assert "Ahead0 is resolved." in titles(makers)
        assert "DiskFull" in titles(makers)
        assert played.queue.waiting_since(["slack"]) is None

    def test_no_redirect_is_followed_with_a_key(self, play):
        def redirects(request):
            assert request.url.host == "127.0.0.1"
            return httpx.Response(302, headers={"Location": "https://evil.example/"})

        with httpx.Client(transport=httpx.MockTransport(redirects)) as made:
            played = play(Kind.SLACK, send=sender(made))
            played.fired("DiskFull")
        assert played.states() == {"dead": 1}


def test_a_destination_that_hangs_delays_no_other_one_and_keeps_its_own_order(play, makers, client):
    go, hangs, really = threading.Event(), threading.Event(), sender(client)

    def send(call):
        if call.url.endswith("/hook"):
            hangs.set()
            go.wait(SECONDS)
        return really(call)

    played = play(Kind.WEBHOOK, Kind.SLACK, Kind.GITHUB, send=send)
    arrived = threading.Event()
    with working(played.worker, lambda: played.now, arrived):
        for name in ("First", "Second"):
            played.receive(fires(name))
            arrived.set()
        eventually(hangs.is_set, "a post that hangs")
        eventually(lambda: len(makers.of(Kind.GITHUB)) == 2, "posts of others")
        eventually(lambda: titles(makers) == ["First", "Second"], "posts of others")
        assert not makers.of(Kind.WEBHOOK)
        go.set()
        eventually(lambda: len(makers.of(Kind.WEBHOOK)) == 2, "its own posts")
    assert [it["title"] for it in makers.of(Kind.WEBHOOK)] == ["First", "Second"]
    assert played.states() == {"done": 6}


def storm(play, tmp_path, *kinds, **more):
    """Return a worker that answers alerts from a page with a section for each of AlarmAx to AlarmZx."""
    sections = "".join(f"## Alarm{chr(65 + n)}x\n\n- Drain it.\n\n" for n in range(26))
    receipts = Receipts(tmp_path / "receipts")
    search = Search({"runbooks/all.md": f"# All\n\n{sections}"})
    answering = Answering(search, ExtractiveAdvisor(), None, receipts)

    def answers(event, now):
        incident = Incident.from_state(event.payload)
        return answering.answer(incident, event.name, now, event=event.key)

    played = play(*kinds, answers=answers)
    for name, it in played.settings.destinations.items():
        played.settings.destinations[name] = replace(it, **more)
    return played


class TestStorm:
    def test_hundreds_of_alarms_become_a_few_messages_that_count_all(self, play, makers):
        played = play(Kind.SLACK)
        for number in range(250):
            played.receive(fires(f"Alert{number % 50}", number))
            if not number % 50:
                played.run(1)
        played.run(100)
        posted = makers.of(Kind.SLACK)
        assert len(posted) <= 2 * (played.settings.answers_a_minute + 1)
        told = sum(
            int(re.match(r"(\d+) further", it["text"])[1])
            for it in posted
            if "further alert" in it["text"]
        )
        answers = sum("further alert" not in it["text"] for it in posted)
        assert told + answers == 250
        played.run(100)
        (listed,) = makers.of(Kind.SLACK)[len(posted) :]
        assert listed["text"].startswith(f"{50 - answers} alerts without an answer so far")
        assert {f"Alert{n}" for n in range(50)} == {
            it for post in [*posted, listed] for it in re.findall(r"Alert\d+", str(post["blocks"]))
        }

    def test_an_alert_that_a_storm_left_over_is_answered_when_it_is_over(self, play, makers):
        played = play(Kind.SLACK, Kind.GITHUB)
        for number in range(6):
            played.receive(fires(f"Alert{number}", number))
        played.run(STORM_QUIET - 1)
        played.restart()
        assert "Alert5" not in titles(makers)
        played.run(2)
        assert titles(makers)[-1] == "Alert5"
        assert "Look at Alert5" in makers.of(Kind.GITHUB)[-1]["body"]
        played.run(STORM_LONGEST)
        assert titles(makers).count("Alert5") == 1

    def test_more_of_them_become_one_list_with_where_the_steps_of_each_begin(
        self, play, makers, tmp_path
    ):
        played = storm(play, tmp_path, Kind.SLACK, Kind.GITHUB)
        for number in range(20):
            played.receive(fires(f"Alarm{chr(65 + number)}x", number))
        played.fired("Unwritten", 99, seconds=STORM_QUIET + 60)
        head, more = makers.of(Kind.SLACK)[-2:]
        assert head["text"].startswith("16 alerts without an answer so far (1/2)")
        assert more["thread_ts"] == head["ts"]
        told = json.dumps(head["blocks"])
        assert "Nothing documented: Unwritten (1)." in told
        for posted in (head, more):
            inline, listed = numbers_in(posted["blocks"])
            assert set(inline) == set(listed)
            assert not problems(posted)
        assert "AlarmFx (1)" in told
        assert "AlarmTx (1)" in json.dumps(more["blocks"])
        assert not buttons_in(head["blocks"])
        assert "AlarmFx (1)" in makers.of(Kind.GITHUB)[-2]["body"]

    def test_where_the_app_runs_each_of_the_list_has_a_button_that_gives_its_steps(
        self, play, makers, tmp_path
    ):
        played = storm(play, tmp_path, Kind.SLACK, buttons=True)
        for number in range(16):
            played.receive(fires(f"Alarm{chr(65 + number)}x", number))
        played.run(STORM_QUIET + 60)
        listed = makers.of(Kind.SLACK)[-2]
        assert listed["text"].startswith("11 alerts")
        first, *_ = labelled = buttons_in(listed["blocks"])
        assert len(labelled) == 10
        pressed = Buttons("slack-key", CHANNEL).read(Act.CHOOSE, first["value"])
        says = Receipts(tmp_path / "receipts").find(pressed.receipt).says
        offered = offer_in(says, pressed.number)
        assert offered.at == ("runbooks/all.md", 5 + 4 * 5)
        assert offered.question in first["text"]["text"]

    def test_a_list_that_cannot_be_written_still_names_every_alert(self, play, makers, caplog):
        def broken(event, now):
            return replace(answer(event, now), offers=(Offer("", "runbooks/gone.md", 9),))

        played = play(Kind.SLACK, answers=broken)
        for number in range(12):
            played.receive(fires(f"Alert{number}", number))
        played.run(STORM_QUIET + 60)
        told = makers.of(Kind.SLACK)[-1]["text"]
        assert all(f"Alert{number} (1)" in told for number in range(5, 12))
        assert "a list could not be written" in caplog.text

    def test_a_name_of_a_list_that_could_not_be_looked_up_is_answered_when_it_comes_again(
        self, play, makers
    ):
        broken = {"Alert9"}

        def fails(event, now):
            if event.name in broken:
                raise RuntimeError(event.name)
            return answer(event, now)

        played = play(Kind.SLACK, answers=fails)
        for number in range(12):
            played.receive(fires(f"Alert{number}", number))
        played.run(STORM_QUIET + 60)
        assert "Could not be looked up, ask again: Alert9 (1)" in str(makers.of(Kind.SLACK)[-1])
        played.run(60)
        broken.clear()
        played.receive(fires("Alert9", 99))
        played.fired("Alert8", 99, seconds=60)
        *_, posted, summary = makers.of(Kind.SLACK)
        assert "Look at Alert9" in str(posted["blocks"])
        assert summary["text"] == "1 further alert. Answered before: Alert8 (1)."

    def test_a_name_that_was_quiet_counts_as_one_without_an_answer(self, play, makers):
        played = play(Kind.SLACK)
        played.fired("DiskFull", 1, seconds=31 * 60)
        for number in range(5):
            played.receive(fires(f"Alert{number}", number))
        played.fired("DiskFull", 2, seconds=STORM_QUIET + 60)
        assert "Answers follow when it is quieter: DiskFull (1)." in str(makers.of(Kind.SLACK))
        assert titles(makers).count("DiskFull") == 2

    def test_a_storm_without_an_end_is_listed_nevertheless(self, play, makers):
        played = play(Kind.SLACK)
        for number in range(20):
            for more in range(7):
                played.receive(fires(f"Alert{number}a{more}", number))
            played.run(60)
        assert any("without an answer so far" in it["text"] for it in makers.of(Kind.SLACK))

    def test_a_name_is_answered_once_until_it_has_been_quiet(self, play, makers):
        played = play(Kind.SLACK)
        for number in range(3):
            played.fired("DiskFull", number, seconds=90)
        played.run(31 * 60)
        played.fired("DiskFull", 9)
        assert Counter(titles(makers))["DiskFull"] == 2

    def test_each_incident_of_a_pager_gets_its_note(self, play, makers):
        played = play(Kind.PAGERDUTY, Kind.SLACK, maker=Maker.PAGERDUTY)
        for number in range(20):
            played.receive(pagerduty(number))
        played.run(120)
        assert {at for kind, at, _ in makers.taken if kind is Kind.PAGERDUTY} == {
            f"P{n}" for n in range(20)
        }
        assert len(makers.of(Kind.SLACK)) == 2


class TestModel:
    def played(self, play, *kinds, **more):
        """Return a worker whose answers say who wrote them."""

        def by(writer):
            return lambda event, now: replace(answer(event, now), outcome=f"By {writer}.")

        played = play(*kinds, answers=by("a model"), **more)
        played.worker.quote = by("nobody")
        return played

    def writers(self, makers):
        return [re.findall("By (a model|nobody)", str(it)) for kind, _, it in makers.taken]

    def test_beyond_a_days_limit_the_documents_own_lines_are_posted(self, play, makers, caplog):
        played = self.played(play, Kind.PAGERDUTY, maker=Maker.PAGERDUTY, model_answers_a_day=3)
        for number in range(5):
            played.receive(pagerduty(number))
        played.run()
        assert self.writers(makers) == [["a model"]] * 3 + [["nobody"]] * 2
        assert "model_answers_a_day=3 | reached" in caplog.text
        played.restart()
        played.worker.quote = answer
        played.now += DAY + 1
        played.receive(pagerduty(9))
        played.run()
        assert self.writers(makers)[5:] == [["a model"]]

    def test_a_list_after_a_storm_asks_no_model(self, play):
        asked = []

        def writes(event, now):
            asked.append(event.name)
            return answer(event, now)

        played = play(Kind.SLACK, answers=writes)
        played.worker.quote = answer
        for number in range(20):
            played.receive(fires(f"Alert{number}", number))
        played.run(STORM_QUIET + 60)
        assert len(asked) == played.settings.answers_a_minute


def test_one_queue_is_of_one_process(play, tmp_path):
    played = play(Kind.SLACK)
    played.receive(fires("DiskFull"))
    with pytest.raises(QueueUnusable, match="another `serve --hooks`"):
        Queue(tmp_path / "queue.sqlite")


def test_long_names_take_no_place_of_where_the_steps_begin():
    made = written([{"text": "1. Look. "}, cites()], by_model=False, warnings=[])
    made = replace(made, links=LINKS, offers=(Offer("", "runbooks/a.md", 3),))
    names = [f"Alarm-{n:03d}-" + "n" * 170 for n in range(500)]
    lists = lists_of(
        [(it, 1, made) for it in names[:5]]
        + [(it, 1, replace(made, offers=())) for it in names[5:50]],
        [(it, 2) for it in names[50:]],
        "storm",
    )
    assert lists[0].reading_title == "Where the steps begin"
    assert not lists[0].warnings
    posted = [page for one in lists for page in to_slack(one)]
    assert len(posted) == len(lists)  # none goes on elsewhere, and nothing is left out
    told = json.dumps(posted)
    assert "not posted here" not in told
    assert all(it[:10] in told for it in names)
