"""The part of a page that is asked for, and what comes with a procedure although its heading doesn't say so."""

import pytest

from knowledge_rag.orchestrator.procedures import Why
from knowledge_rag.orchestrator.recommendation import Evidence, Strength
from knowledge_rag.orchestrator.showing import missing_line
from tests.support.runbooks import actions, advised, alert, question

PAGE = "runbooks/ledger.md"
CONTACTS = "escalation.md"

FREE_RUN = (
    "# Charging\n\n## Free run\n\n1. Ask the duty manager.\n2. Switch charging to free: `chg mode free`\n\n"
    "## Ending free run\n\n1. Charging must be good for ten minutes.\n2. Switch it back: `chg mode normal`\n\n"
    "## Roll back a tariff\n\n1. Load the tariff before it: `chg tariff previous`\n"
)


def given_for(text, page):
    return actions(advised(question(text), {PAGE: page}))


class TestAskedAsWell:
    PAGE = (
        "# Certificates\n\n## Client certificate\n\n1. Make a key pair.\n2. Switch to it.\n3. Rollback: switch to the old one.\n\n"
        "## Server certificate\n\n1. Renew it.\n"
    )

    @pytest.mark.parametrize(
        "text",
        [
            "please the whole procedure for the client certificate including rollback",
            "how do I renew the client certificate, and how do we get back to the old one?",
            "in which order do I change the client certificate, can I roll it back?",
        ],
    )
    def test_a_way_back_asked_for_beside_the_steps_comes_with_these(self, text):
        assert given_for(text, self.PAGE)[0] == "Make a key pair."

    @pytest.mark.parametrize("before", ["", "please help, ", "what a mess, we have to act fast, "])
    def test_a_way_back_asked_for_alone_comes_alone(self, before):
        (only,) = given_for(f"{before}how do I roll back the client certificate?", self.PAGE)
        assert only.startswith("Rollback:")


def test_a_heading_with_just_the_words_of_the_question_is_meant():
    page = "# Copies\n\n## ledger-copy: lag\n\nReplication state error, lag over 6 h.\n\n1. Wait.\n\n## ledger-copy: rebuild\n\n1. Delete it.\n"
    text = (
        "ledger-copy has replication state error and the lag is 7 h. How do I rebuild ledger-copy?"
    )
    assert given_for(text, page) == ["Delete it."]


class TestUndoing:
    @pytest.mark.parametrize(
        "text",
        [
            "charging is ok again, how do we stop the free run",
            "charging was repaired, what about the free run of charging",
            "how do we get off the free run of charging",
        ],
    )
    def test_a_question_that_says_the_trouble_is_over_gets_what_ends_the_measure(self, text):
        first, *_ = given_for(text, FREE_RUN)
        assert first == "Charging must be good for ten minutes."

    def test_of_two_that_undo_the_better_one_is_given_though_the_other_stands_behind_it(self):
        page = "# Releases\n\n## Roll back claims-api\n\n1. Claims back.\n\n## Roll back ledger-api\n\n1. Ledger back.\n"
        assert given_for("how do I roll back the claims-api release", page) == ["Claims back."]

    def test_a_question_about_the_trouble_gets_the_measure(self):
        first, *_ = given_for(
            "charging does not work, switch the free run of charging on", FREE_RUN
        )
        assert first == "Ask the duty manager."

    @pytest.mark.parametrize(
        "text",
        [
            "is it ok to switch the free run of charging on",
            "the queue of charging is over the limit, start the free run",
            "charging is not ok, do we start the free run",
        ],
    )
    def test_that_something_is_ok_to_do_or_over_a_limit_is_no_end_of_trouble(self, text):
        first, *_ = given_for(text, FREE_RUN)
        assert first == "Ask the duty manager."

    def test_of_a_list_below_a_label_of_undoing_only_that_is_given(self):
        page = "# Paper mode\n\nOn:\n\n1. Show the banner.\n2. Stop the app.\n\nOff:\n\n1. Start the app.\n2. Hide the banner.\n"
        text = "paper mode can end now, what do we switch back"
        assert given_for(text, page) == ["Start the app.", "Hide the banner."]
        (section,) = advised(question(text), {PAGE: page}).procedures
        assert [missing_line(it) for it in section.not_shown] == [
            f"not shown: {PAGE}:5-6, the steps that these undo"
        ]

    def test_a_sentence_behind_the_steps_may_be_what_undoes_them(self):
        page = "# Emergency calls\n\n1. Test a call.\n2. Send all calls to Solvik: `route via solvik`\n\nBack to normal: `route via local`, then point 1.\n"
        text = "emergency calls go to Solvik, all sites are repaired, how do we take the calls back"
        assert given_for(text, page) == [
            "Back to normal: `route via local`, then point 1.",
            "Test a call.",
        ]

    def test_a_sentence_that_says_who_goes_back_is_what_undoes_them(self):
        page = "# Gateway\n\n## Switch to gw02\n\n1. Power gw01 off.\n2. Start gw02.\n\nGoing back to gw01 is done by the EDI desk.\n"
        text = "gw01 is repaired, how do we switch back from gw02"
        assert given_for(text, page) == ["Going back to gw01 is done by the EDI desk."]

    def test_another_matters_rollback_undoes_nothing_of_this_one(self):
        page = "# Hub\n\n## Chute storm\n\n1. Divert full chutes.\n\nAfter the storm: `hub undivert`\n\n## Roll back a sort plan\n\n1. Activate the plan before it.\n"
        given = given_for("the chute storm is over, what has to be put back?", page)
        assert "Activate the plan before it." not in given
        assert "Divert full chutes." in given


class TestBeside:
    def test_what_is_headed_after_comes_with_the_procedure_that_speaks_of_it(self):
        page = "# OLT\n\n## Card failed\n\n1. Order a swap of the card.\n\n## Pool full\n\n1. Widen the pool.\n\n## After a swap\n\n1. Save the configuration.\n"
        assert given_for("a card of the olt failed", page) == [
            "Order a swap of the card.",
            "Save the configuration.",
        ]
        assert given_for("the address pool of the olt is full", page) == ["Widen the pool."]

    def test_a_page_given_whole_shows_what_it_forbids_and_no_todo(self):
        page = "# VaultSealed\n\n## Steps\n\n1. Restart the pod.\n\n## Do not\n\n- Run `vault operator init`.\n\n## TODO\n\n- Replay the batch with `--force`.\n"
        given = advised(alert("VaultSealed"), {PAGE: page})
        assert actions(given) == ["Restart the pod."]
        (step,) = given.guidance
        assert any("vault operator init" in it.text for it in step.guards)
        (procedure,) = given.procedures
        assert [it.why for it in procedure.not_shown] == [Why.UNWRITTEN]

    def test_a_section_is_followed_though_another_sentence_of_its_line_forbids_something(self):
        page = "# Planner\n\n## Run is late\n\n1. Wait.\n2. Still not done: go to \"Publish yesterday's plan\". Don't wait longer.\n\n## Publish yesterday's plan\n\n1. Ask dispatch.\n"
        assert "Ask dispatch." in given_for("the run of the planner is late", page)

    def test_a_warning_keeps_what_it_leads_into(self):
        page = "# Gateways\n\nTwo generations, don't mix them up:\n\n   gen 2 is in Leipzig\n   gen 1 is in Liege\n\n## GatewayUnreachable\n\n1. Ping it.\n"
        (step,) = advised(alert("GatewayUnreachable"), {PAGE: page}).guidance
        assert any("gen 1 is in Liege" in it.text for it in step.guards)


class TestNames:
    @pytest.mark.parametrize("name", ["payroll-db-connections", "PayrollDbConnections"])
    def test_an_alarm_may_lack_the_state_that_its_heading_has(self, name):
        page = "# payroll-db\n\n## PayrollDbConnectionsHigh\n\n1. Count them.\n\n## PayrollDbSlotGrowing\n\n1. Drop it.\n"
        given = advised(alert(name), {PAGE: page})
        assert actions(given) == ["Count them."]
        assert given.evidence.reasons == ("it is filed under the alert's name",)

    def test_a_row_that_begins_with_a_things_name_is_for_it(self):
        page = "# Queues\n\n| queue | what to do |\n|---|---|\n| `in-dlq` | purge it once it is 14 days old |\n| `out-dlq` | never purge, call customs first |\n"
        given = advised(alert("out-dlq", description="messages visible"), {PAGE: page})
        assert given.evidence.reasons == ("it is filed under the alert's name",)
        assert [it.citations[0].citation.start_line for it in given.guidance] == [6]

    def test_a_page_of_a_name_of_two_words_is_named_by_a_title_that_has_it(self):
        page = "# VaultSealed\n\n1. Restart the pod.\n"
        given = advised(question("[FIRING:3] VaultSealed prod (vault-1 vault-3)"), {PAGE: page})
        assert given.evidence.reasons == ("it is filed under the alert's name",)


class TestWhomToCall:
    def test_contacts_are_given_whatever_the_question_is_about(self):
        texts = {
            CONTACTS: "# Who to call\n\n| Area | Person |\n|---|---|\n| Images | Rory |\n| Database | Hanneke |\n",
            PAGE: "# Viewer\n\n1. Clear the cache.\n",
        }
        given = advised(question("sunday 2 am, the viewer of images is slow, who do I wake"), texts)
        assert {it.citations[0].citation.source_file for it in given.guidance} == {CONTACTS}

    @pytest.mark.parametrize(
        ("asked", "people", "hidden"),
        [
            ("the viewer hangs, do I wake them", ["Rory"], [(7, 8)]),
            ("whom do I page for the printer", ["Hanneke", "Ada", "Rory"], []),
        ],
    )
    def test_of_a_page_of_contacts_the_rules_and_the_rows_that_fit_are_given(
        self, asked, people, hidden
    ):
        text = "# Who to call\n\n- Page first.\n\n| Area | Person |\n|---|---|\n| Database | Hanneke |\n| Network | Ada |\n| Viewer | Rory |\n"
        given = advised(question(asked), {CONTACTS: text})
        assert actions(given)[0] == "Page first."
        assert [it for it in ("Hanneke", "Ada", "Rory") if it in str(actions(given))] == people
        assert [(it.start, it.end) for it in given.procedures[0].not_shown] == hidden


class TestNotes:
    NOTES = (
        "# OCR, loose notes\n\n- portals: P-IN1 to P-IN4\n- low sun on P-IN3 in March: `ocr mode manual`\n"
        "- disk of ocr-1 is full: `ocr purge --older 30d`\n- Never lower the limit below 0.75.\n"
    )

    def test_of_notes_the_ones_that_share_most_with_the_question_are_given_and_what_they_forbid(
        self,
    ):
        given = advised(question("P-IN3 reads nothing, low sun"), {PAGE: self.NOTES})
        assert actions(given) == ["low sun on P-IN3 in March: `ocr mode manual`"]
        (procedure,) = given.procedures
        assert [it.why for it in procedure.not_shown] == [Why.ROW, Why.ROW]
        assert any("0.75" in it.text for it in given.guidance[0].guards)

    def test_a_list_of_a_page_that_is_no_notes_is_given_whole(self):
        page = self.NOTES.replace("OCR, loose notes", "Low sun on P-IN3")
        assert len(actions(advised(question("low sun on P-IN3"), {PAGE: page}))) == 3

    @pytest.mark.parametrize(
        ("heading", "items"),
        [
            (
                "Golden rules",
                ["You never clear a queue.", "Don't restart it by day.", "Ask first."],
            ),
            ("You must not", ["load rules by hand", "answer yourself"]),
        ],
    )
    def test_what_a_page_forbids_in_a_list_comes_with_each_of_its_procedures(self, heading, items):
        rules = "\n".join(f"- {it}" for it in items)
        page = f"# Router\n\n## {heading}\n\n{rules}\n\n## QueueFull\n\n1. Add a worker.\n\n## DiskFull\n\n1. Wait.\n"
        (step,) = advised(alert("QueueFull"), {PAGE: page}).guidance
        said = " ".join(guard.text for guard in step.guards)
        assert all(it in said for it in items)

    def test_one_forbidding_item_of_another_procedure_does_not(self):
        page = "# Router\n\n## SlotLost\n\n- Never resend it.\n\n## QueueFull\n\n1. Add a worker.\n\n## DiskFull\n\n1. Wait.\n"
        (step,) = advised(alert("QueueFull"), {PAGE: page}).guidance
        assert not any("resend" in guard.text for guard in step.guards)


class TestRulesBeside:
    """What other sections of a page say of a procedure."""

    STEPS = (
        "# Store\n\n## Compact the store\n\n1. Flush it.\n\n## Grow the store\n\n1. Add a disk.\n\n"
    )

    def guards(self, behind):
        given = advised(question("compact the store"), {PAGE: self.STEPS + behind})
        assert actions(given) == ["Flush it."]
        return [it.text for it in given.guidance[0].guards if not it.text.startswith("##")]

    @pytest.mark.parametrize(
        "heading",
        ["Notes", "Remarks", "Important", "Restrictions", "Exceptions", "When not to use", "Gotchas", "Compliance"],
    )  # fmt: skip
    def test_a_section_that_is_called_so_comes_with_it(self, heading):
        warning = "Never do it while a backup runs."
        assert warning in self.guards(f"## {heading}\n\n{warning}\n")

    def test_notes_that_warn_of_nothing_do_not(self):
        assert self.guards("## Notes\n\nThe store was built in 2019.\n") == []

    def test_of_another_procedure_only_what_holds_for_the_page_comes(self):
        rule = "Everything on this page presupposes that the hall is empty."
        assert self.guards(f"{rule}\n") == [rule]


def test_a_comment_that_says_where_not_to_run_code_leaves_it_whole():
    text = "# Thumbnails\n\n```\n# DO NOT RUN ON media-1\nthumbs purge\nthumbs rebuild\n```\n"
    given = advised(question("thumbnails"), {PAGE: text})
    assert actions(given) == ["# DO NOT RUN ON media-1\nthumbs purge\nthumbs rebuild"]
    for said in ("never do this:", "bad: takes all of them away at once"):
        wrong = text.replace("DO NOT RUN ON media-1", said)
        assert "purge" not in str(actions(advised(question("thumbnails"), {PAGE: wrong})))


def test_a_footnote_comes_with_the_step_that_calls_it():
    text = (
        "# Keys\n\n## Revoke a key\n\n1. Disable it.\n2. Delete it.[^1]\n\n## Other\n\n- Look.\n\n"
        "[^1]: Not before forensics has its copy,\nnever on a Friday.\n[^2]: Uncalled.\n"
    )
    given = advised(question("revoke a key"), {PAGE: text})
    said = [[it.text for it in step.guards] for step in given.guidance]
    assert "Not before forensics has its copy,\nnever on a Friday." in said[1]
    assert not any("forensics" in it or "Uncalled" in it for it in said[0])


def test_a_section_with_a_letter_is_another_than_the_one_around_it():
    text = (
        "# Gateway\n\n## 1. Cases\n\n| You see | Go to |\n|---|---|\n| `HostDown`, bank=norda | section 6 |\n"
        "| `HostDown`, bank=halden | section 6b |\n\n## 5. Disk\n\n1. Clean up.\n\n## 6. Takeover\n\n1. Fence the old node.\n\n"
        "### 6b. Halden\n\n1. Rebuild the host.\n"
    )
    given = advised(alert("HostDown", labels={"bank": "halden"}), {PAGE: text})
    assert actions(given)[1:] == ["Rebuild the host."]


def test_of_notes_in_paragraphs_those_about_something_else_are_left_out():
    text = (
        "# Notes about search and caches\n\nOpenSearch is red: delete the oldest index.\n\nThe rebuild reads everything from billing.\n\n"
        "The session cache can be emptied.\n\nNever empty the limit cache.\n"
    )
    given = advised(question("opensearch is red"), {"notes/search.md": text})
    assert actions(given) == ["OpenSearch is red: delete the oldest index."]
    assert "Never empty the limit cache." in str([it.guards for it in given.guidance])


def test_a_question_that_wants_to_stop_what_was_begun_gets_that_line():
    text = (
        "# Queues\n\n## Redrive of the events queue\n\n1. Start the redrive.\n2. Look at the depth.\n\n"
        "To stop a redrive that is running: `cancel-move`.\n\n## Purge\n\n- Purge it.\n"
    )
    given = advised(
        question("started the redrive of the events queue by mistake, stop it"), {PAGE: text}
    )
    assert actions(given) == ["To stop a redrive that is running: `cancel-move`."]
    for words in ("redrive of the events queue", "redrive of the events queue: how do I stop it?"):
        both = advised(question(words), {PAGE: text})
        assert actions(both)[:2] == ["Start the redrive.", "Look at the depth."]


class TestLabels:
    @pytest.mark.parametrize(
        "said", ["nobody gets up: silence it", "ignore it at night", "do nothing"]
    )
    def test_a_rule_that_an_alert_with_a_label_needs_nothing_is_the_answer(self, said):
        text = f'# Reads\n\nFor `env="int"` {said}.\n\n## ReadsDiskHigh\n\n1. Compress the chunks.\n\n## ReadsSlow\n\n- Wait.\n'
        given = advised(alert("ReadsDiskHigh", labels={"env": "int"}), {PAGE: text})
        assert actions(given) == [f'For `env="int"` {said}.']
        for labels in ({"env": "prod"}, {}):
            given = advised(alert("ReadsDiskHigh", labels=labels), {PAGE: text})
            assert actions(given) == ["Compress the chunks."]

    @pytest.mark.parametrize(
        "said",
        [
            "log in on the other host",
            "don't ignore it, call the DBA",
            "nobody but the DBA may do this",
            "do nothing before the DBA is there",
            "ack it first",
        ],
    )
    def test_a_rule_for_a_label_that_asks_for_something_stands_above_the_steps(self, said):
        text = (
            f'# Reads\n\nFor `env="int"` {said}.\n\n## ReadsDiskHigh\n\n1. Compress the chunks.\n'
        )
        given = advised(alert("ReadsDiskHigh", labels={"env": "int"}), {PAGE: text})
        assert actions(given)[-1] == "Compress the chunks."

    def test_what_differs_by_host_does_not_replace_the_steps(self):
        text = (
            "# Reads\n\n## ReadsDiskHigh\n\nOn `db-1`: log in as root.\n\nOn `db-2`: log in as postgres.\n\n"
            "1. Compress the chunks.\n"
        )
        given = advised(alert("ReadsDiskHigh", labels={"instance": "db-1"}), {PAGE: text})
        assert actions(given)[-1] == "Compress the chunks."

    def test_steps_for_one_thing_are_not_given_where_a_rule_is_for_the_alerts(self):
        text = (
            "# Kafka\n\n## DiskFull\n\nFor `kafka-ingest`:\n\n1. Shorten the retention.\n\n"
            "For `kafka-market`: don't touch the retention, call somebody.\n"
        )
        market, ingest = (
            actions(advised(alert("DiskFull", labels={"cluster": it}), {PAGE: text}))
            for it in ("kafka-market", "kafka-ingest")
        )
        assert market == ["For `kafka-market`: don't touch the retention, call somebody."]
        assert ingest == ["Shorten the retention."]

    def test_of_two_lists_the_one_for_the_alerts_thing_is_given(self):
        text = "# Kafka\n\n## DiskFull\n\nFor `kafka-ingest`:\n\n1. Shorten the retention.\n\nOn `kafka-market`:\n\n1. Add a disk.\n"
        given = advised(alert("DiskFull", labels={"cluster": "kafka-market"}), {PAGE: text})
        assert actions(given) == ["Add a disk."]

    def test_the_row_of_the_alerts_thing_is_given(self):
        text = "# Stores\n\n## DatastoreFull\n\n| Datastore | What |\n|---|---|\n| ds-elb-01 | remove old snapshots |\n| ds-elb-db | call infrastructure |\n"
        given = advised(alert("DatastoreFull", description="ds-elb-db is at 86 %"), {PAGE: text})
        assert actions(given) == ["Datastore: ds-elb-db | What: call infrastructure"]


class TestCodesInTables:
    TEXT = (
        "# Bank codes\n\n## Files\n\n| Code | What to do |\n|---|---|\n| AM05 | Nothing, it is there. |\n| DS02 | Send it again. |\n\n"
        "## Hosts\n\n| Host | Place |\n|---|---|\n| BANK01 | Lindau |\n| BANK02 | Bonn |\n"
    )

    def test_the_row_of_a_questions_code_is_its_answer(self):
        given = advised(
            question("they sent the file back with AM05, send it again?"), {PAGE: self.TEXT}
        )
        assert actions(given) == ["Code: AM05 | What to do: Nothing, it is there."]
        assert given.evidence.reasons == ("it is filed under a code in the question",)

    def test_a_list_of_hosts_has_no_cases(self):
        text = self.TEXT + "\n## Restart\n\n1. Restart the file gateway.\n"
        given = advised(question("how do I restart the file gateway BANK01"), {PAGE: text})
        assert actions(given) == ["Restart the file gateway."]


class TestQuotedMessages:
    TEXT = (
        "# Ledger\n\n## Pool is empty\n\nThe services log `FATAL: slots are reserved`.\n\n1. End idle sessions.\n\n"
        "## Signing fails\n\n- `PIN_IS_LOCKED`: don't restart, call security.\n- Anything else: restart the signer.\n\n"
        "## Disk is full\n\n1. Add a volume.\n\n"
        '| Log | See |\n|---|---|\n| `the quota of volumes is exceeded` | "Disk is full" |\n'
    )

    @pytest.mark.parametrize(
        ("text", "first"),
        [
            (
                "web shop throws this since 3:12 2026-01-04 ERROR [pool-7] PSQLException: FATAL: slots are reserved for superusers",
                "End idle sessions.",
            ),
            ("nobody can sign for 20 minutes 134 PIN_IS_LOCKED", "`PIN_IS_LOCKED`: don't restart, call security."),
            ("write failed: the quota of volumes is exceeded, what now", "Add a volume."),
        ],
    )  # fmt: skip
    def test_the_only_section_that_quotes_one_is_the_answer(self, text, first):
        given = advised(question(text), {PAGE: self.TEXT})
        assert actions(given)[0] == first

    def test_the_evidence_says_so(self):
        given = advised(question("nobody can sign, it says PIN_IS_LOCKED"), {PAGE: self.TEXT})
        assert given.evidence == Evidence(
            Strength.PARTIAL, ("it quotes a message in the question or alert",)
        )

    def test_two_sections_that_quote_it_leave_the_choice_to_the_search(self):
        text = self.TEXT.replace(
            "1. Add a volume.", "If not `FATAL: slots are reserved`:\n\n1. Add a volume."
        )
        given = advised(question("FATAL: slots are reserved, and the disk is full"), {PAGE: text})
        assert "it quotes a message in the question or alert" not in given.evidence.reasons

    def test_a_line_that_says_what_it_is_not_is_no_reason(self):
        text = self.TEXT.replace(
            "slots are reserved`.", "slots are reserved`: a storm, not a dead writer."
        )
        given = advised(question("FATAL: slots are reserved"), {PAGE: text})
        assert "it quotes a message in the question or alert" not in given.evidence.reasons

    def test_an_error_of_the_operating_system_is_any_programs(self):
        text = self.TEXT.replace("the quota of volumes is exceeded", "No space left on device")
        given = advised(question("runner: no space left on device, what now"), {PAGE: text})
        reasons = given.evidence.reasons if given.evidence else ()
        assert "it is filed under a code in the question" not in reasons

    def test_two_words_or_the_name_of_a_thing_are_no_message(self):
        text = (
            self.TEXT
            + "\n## Replica\n\nIt says `start failed` on `ledger-db-ro`.\n\n1. Rebuild it.\n"
        )
        given = advised(question("ledger-db-ro: start failed"), {PAGE: text})
        assert "it quotes a message in the question or alert" not in given.evidence.reasons


class TestLinksByName:
    TEXT = (
        "# Mail queue\n\n1. Open [the dashboard][Queue  Board] and [oldest].\n2. Drain it, see [relays][] and [x](y.md).\n\n"
        "## Relays\n\n- Look at `config[oldest]`.\n\n"
        "[queue board]: https://grafana.example/d/queue\n[oldest]: https://grafana.example/d/oldest\n"
        "[relays]: relay.md#restart\n[spare]: https://grafana.example/d/spare\n"
    )
    RELAY = "# Relay\n\n## Restart\n\n1. Restart the relay.\n\n## Stop\n\n1. Stop the relay.\n"

    def test_their_definitions_come_behind_the_step(self):
        given = advised(question("mail queue"), {PAGE: self.TEXT})
        behind = [[it for it in step.guards if it.after] for step in given.guidance[:2]]
        lines = [[it.citations[0].citation.start_line for it in its] for its in behind]
        assert lines == [[10, 11], [12]]
        assert behind[0][0].text == "[queue board]: https://grafana.example/d/queue"

    def test_they_lead_to_the_section_of_another_document(self):
        texts = {"runbooks/mail.md": self.TEXT, "runbooks/relay.md": self.RELAY}
        given = actions(advised(question("drain the mail queue"), texts))
        assert "Restart the relay." in given
        assert "Stop the relay." not in given


@pytest.mark.parametrize(
    "quoted", ['The procedure "Open the firewall" is', "`Open the firewall` was"]
)
def test_a_section_that_its_page_withdraws_by_name_gives_that_line_instead(quoted):
    text = f"# Firewall\n\n## Open the firewall\n\n1. Allow it.\n2. Commit.\n\n## News\n\n- {quoted} withdrawn.\n"
    given = advised(question("how do I open the firewall"), {PAGE: text})
    assert actions(given) == [f"{quoted} withdrawn."]
    assert [(it.start, it.end) for it in given.procedures[0].not_shown] == [(5, 6)]


def guards_of(text, page):
    return [
        [it.text for it in step.guards] for step in advised(question(text), {PAGE: page}).guidance
    ]


class TestReferences:
    """What a step refers to comes with it, wherever it stands on its page."""

    VARIABLE = (
        "# Events\n\n## Tools\n\nOn each broker. `B` is short for `--server k1`.\n\n"
        "## Leaders\n\n1. List: `topics $B`\n2. Elect: `elect $B`\n\n## Other\n\n- `B=2`\n"
    )

    def test_the_line_that_says_what_a_variable_is_comes_where_it_occurs_first(self):
        first, second = guards_of("leaders of events", self.VARIABLE)
        assert "On each broker. `B` is short for `--server k1`." in first
        assert not any("short for" in it for it in second)

    def test_what_a_procedure_says_itself_needs_no_other_line(self):
        own = self.VARIABLE.replace("1. List", "1. `B=--server k2`\n1. List")
        assert not any(
            "short for" in it for said in guards_of("leaders of events", own) for it in said
        )

    def test_a_step_of_another_procedure_says_nothing_of_a_variable(self):
        other = self.VARIABLE.replace("`B` is short for `--server k1`.", "")
        assert not any("B=2" in it for said in guards_of("leaders of events", other) for it in said)

    @pytest.mark.parametrize("named", ["the table above", "the above table"])
    def test_a_table_that_a_step_names_by_its_place_comes_with_it(self, named):
        tables = "".join(f"| Zone | Limit |\n|---|---|\n| {it} | 6h |\n\nWords.\n\n" for it in "ab")
        page = f"# Hosts\n\n{tables}## Drain a host\n\n1. Cordon it.\n2. Drain it, limit from {named}.\n\n## Other\n\n- Look.\n"
        first, second = guards_of("drain a host", page)
        assert not any("| a |" in it or "| b |" in it for it in first)
        assert any("| b |" in it for it in second)
        assert not any("| a |" in it for it in second)


class TestLeadIns:
    TEXT = (
        "# KafkaLag\n\nLook: `lag <group>`\n\n`stoker` (topic jobs)\n\n1. Skip one.\n\n"
        "`usage-sink` (topic meter)\n\n1. Call money.\n2. Wait.\n"
    )

    def test_the_list_below_the_name_of_another_thing_is_left_out(self):
        given = advised(alert("KafkaLag", labels={"group": "usage-sink"}), {PAGE: self.TEXT})
        assert actions(given) == ["Look: `lag <group>`", "Call money.", "Wait."]
        left = [(it.start, it.end) for it in given.procedures[0].not_shown if it.why is Why.ROW]
        assert left == [(5, 7)]

    def test_a_name_that_is_a_word_is_meant_by_a_label_alone(self):
        text = self.TEXT.replace("`usage-sink`", "`error`")
        given = advised(alert("KafkaLag", title="error budget is burnt"), {PAGE: text})
        assert "Skip one." in actions(given)
        given = advised(alert("KafkaLag", labels={"group": "error"}), {PAGE: text})
        assert "Skip one." not in actions(given)

    def test_all_are_given_where_the_incident_names_none(self):
        given = advised(alert("KafkaLag", labels={"group": "other"}), {PAGE: self.TEXT})
        assert "Skip one." in actions(given)


@pytest.mark.parametrize("said", ["*(empty, Ann will move her notes)*", "Stub."])
def test_a_section_that_says_first_that_it_is_empty_gives_no_steps(said):
    page = f"# Alerts\n\n## KeeperDown\n\n{said}\n\n- [ ] quorum\n\n## DiskFull\n\n- Prune it.\n"
    assert actions(advised(alert("KeeperDown"), {PAGE: page})) == []


def test_what_stands_behind_an_arrow_names_a_section_without_its_brackets():
    page = (
        "# Db\n\n## Replication is broken\n\n- L1 down → Failover\n- both up → Resume it.\n\n"
        "## Failover (L1 to L2)\n\n1. Stop the writers.\n\n## Resume\n\n1. Resume.\n\n## Planned\n\n1. Ask.\n"
    )
    given = given_for("replication is broken", page)
    assert "Stop the writers." in given
    assert "Ask." not in given


def test_a_rule_beside_that_holds_for_all_of_a_page_stands_there_once():
    page = (
        "# Events\n\n## Topics\n\n> **Warning:** Nothing on this page may be done to `audit`.\n\n"
        "## Lag\n\n1. Skip it.\n"
    )
    (said,) = guards_of("lag of events", page)
    assert sum("audit" in it for it in said) == 1
