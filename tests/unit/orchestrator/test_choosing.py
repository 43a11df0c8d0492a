"""Which procedure an incident gets: the linked one, else the one of its name, else what search found best."""

from typing import ClassVar

import pytest

from knowledge_rag.core.outcome import Status
from knowledge_rag.orchestrator.choosing import is_superseded, place_for
from knowledge_rag.orchestrator.extent import MAX_PAGE, with_rules
from knowledge_rag.orchestrator.governing import Governs
from knowledge_rag.orchestrator.incident import Incident
from knowledge_rag.orchestrator.naming import is_called, is_filed, same_name
from knowledge_rag.orchestrator.pagers import read
from knowledge_rag.orchestrator.procedures import Why
from knowledge_rag.orchestrator.recommendation import Strength
from knowledge_rag.orchestrator.relevance import words_held
from knowledge_rag.orchestrator.searches import Evidence as Searched
from knowledge_rag.orchestrator.wanted import Place, Wanted
from knowledge_rag.orchestrator.wording import CHAPTERS
from tests.support.runbooks import (
    actions,
    advised,
    alert,
    outlined,
    procedure_in,
    question,
    section_called,
)

MAIL, DISK = "runbooks/mail.md", "runbooks/disk.md"


def page(*sections, title="Mail"):
    """Return a page with a section for each heading and its text, behind a word of introduction."""
    return f"# {title}\n\nIt is about {title}.\n\n" + "".join(
        f"## {head}\n\n{text}\n\n" for head, text in sections
    )


def chosen(recommendation):
    """Return document and innermost heading of each procedure."""
    return [(it.source_file, (it.path or ("",))[-1]) for it in recommendation.procedures]


class TestByLink:
    def test_the_linked_page_comes_before_what_search_found_best(self):
        texts = {
            MAIL: "# Mail queue is full\n\n- Drain the mail queue that is full.\n",
            DISK: "# Mail disk\n\n- Add a disk.\n",
        }
        plain, linked = (
            advised(alert("MailQueueIsFull", links=links), texts)
            for links in ((), ("https://runbooks.example/runbooks/disk.md",))
        )
        assert actions(plain) == ["Drain the mail queue that is full."]
        assert actions(linked) == ["Add a disk."]
        assert linked.evidence.reasons == ("the alert links this procedure",)
        assert linked.evidence.strength is Strength.STRONG

    def test_its_anchor_says_which_section_even_against_the_alerts_name(self):
        texts = {MAIL: page(("MailFull", "- Drain it."), ("Disk", "- Add a disk."))}
        for link, wanted in (("", "Drain it."), ("mail.md#disk", "Add a disk.")):
            given = advised(alert("MailFull", links=(link,) if link else ()), texts)
            assert actions(given) == [wanted]

    def test_an_anchor_that_leads_nowhere_leaves_it_to_the_name(self):
        texts = {MAIL: page(("MailFull", "- Drain it."), ("Disk", "- Add a disk."))}
        assert actions(advised(alert("MailFull", links=("mail.md#gone",)), texts)) == ["Drain it."]

    def test_of_a_short_page_without_a_heading_for_the_alert_all_is_given_and_said(self):
        texts = {MAIL: page(("Disk", "- Add a disk."), ("Relay", "- Call the relay's owner."))}
        given = advised(alert("SpoolGrows", links=("mail.md",)), texts)
        assert actions(given) == ["Add a disk.", "Call the relay's owner."]
        assert given.evidence.strength is Strength.PARTIAL
        assert given.evidence.reasons == (
            "the alert links its page, and no heading tells which section",
        )

    def test_other_alerts_sections_of_a_linked_page_are_left_out(self):
        texts = {MAIL: page(("Logs", "- Read the log."), ("MailRelayDown", "- Restart the relay."))}
        given = advised(alert("SpoolGrows", links=("mail.md",)), texts)
        assert actions(given) == ["Read the log."]

    def test_of_a_long_linked_page_the_chapters_are_offered(self):
        steps = "\n".join(f"- Check disk {number}." for number in range(MAX_PAGE))
        texts = {MAIL: page(("Disk", steps), ("Relay", "- Call the relay's owner."))}
        given = advised(alert("SpoolGrows", links=("mail.md",)), texts)
        assert given.status is Status.NO_MATCH
        assert given.reasoning == CHAPTERS
        assert sorted(given.meant) == ["Disk", "Relay"]
        assert sorted(it.citation.start_line for it in given.reading) == [5, 68]

    def test_words_of_a_linked_pages_own_name_tell_no_section_from_another(self):
        texts = {MAIL: page(("Mail is down", "- Restart it."), ("Relay lag", "- Add a relay."))}
        for name, wanted, strength in (
            ("MailDown", "Restart it.", Strength.STRONG),
            ("MailRelayLagDown", "Add a relay.", Strength.STRONG),
            ("MailSpoolDown", "Restart it.", Strength.PARTIAL),
        ):
            given = advised(alert(name, links=("mail.md",)), texts)
            assert (actions(given), given.evidence.strength) == ([wanted], strength)

    @pytest.mark.parametrize(
        "heading", ["Disk", "**Disk**", "[Disk](x.md)", "Disk {#disk}", "disk"]
    )
    def test_an_anchor_is_a_heading_without_its_marks(self, heading):
        outline = outlined(page((heading, "- a")))
        (section,) = [it for it in outline.sections() if it.level == 2]
        assert is_called(section, "disk")
        assert is_called(section, "user-content-disk")
        assert not is_called(section, "disks")


class TestByName:
    @pytest.mark.parametrize(
        "heading",
        ["MailFull", "Mail full", "`mail-full`", "Alert MailFull", "MailFull / MailSlow", "3. MailFull (critical)"],
    )  # fmt: skip
    def test_a_heading_may_be_the_alerts_name_or_hold_it(self, heading):
        texts = {MAIL: page(("Disk", "- Mail full: add a disk."), (heading, "- Drain it."))}
        given = advised(alert("MailFull", description="the mail disk is full"), texts)
        assert actions(given) == ["Drain it."]
        assert given.evidence.reasons == ("it is filed under the alert's name",)

    def test_a_heading_may_be_the_end_of_a_longer_name(self):
        texts = {
            MAIL: page(
                ("IngressPodDown", "- Restart the pod."), ("IngressSlow", "- Scale the pod down.")
            )
        }
        assert actions(advised(alert("Default-prod-IngressPodDown"), texts)) == ["Restart the pod."]

    def test_a_heading_may_leave_a_part_open(self):
        texts = {MAIL: page(("queue-down-<az>", "- Drain it."), ("queue-down", "- Call."))}
        assert actions(advised(alert("queue-down-eu-west-1a"), texts)) == ["Drain it."]

    def test_a_line_of_the_section_may_name_it(self):
        text = page(
            ("Queue", "Alerts: `MailFull`, `MailSlow`\n\n- Drain it."), ("Disk", "- Mail: full.")
        )
        assert actions(advised(alert("MailFull"), {MAIL: text})) == ["Drain it."]

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("runbooks/MailFull.md", "# Too much\n\n## Steps\n\n- Drain it.\n"),
            ("runbooks/x.md", "---\ntitle: Mail full\n---\n# Too much\n\n## Steps\n\n- Drain it.\n"),
            ("runbooks/x.md", "---\nalerts: [MailFull]\n---\n# Too much\n\n## Steps\n\n- Drain it.\n"),
        ],
    )  # fmt: skip
    def test_a_page_may_be_filed_under_it(self, name, text):
        other = "# Mail is full\n\n## Mail\n\n- The full mail: full mail.\n"
        given = advised(alert("MailFull"), {name: text, DISK: other})
        assert actions(given) == ["Drain it."]
        assert given.evidence.strength is Strength.STRONG
        assert is_filed(outlined(text, name), "mail-full")

    def test_a_page_named_after_several_is_given_without_what_is_headed_by_the_others(self):
        text = (
            "# walBackupIsDelayed, walBackupHasFailed\n\n## Metrics\n\n### walBackupIsDelayed\n\n- It is 30 h old.\n\n"
            "### walBackupHasFailed\n\n- The job failed.\n\n## Troubleshooting\n\n- Look at the log.\n\n"
            "# Escalation\n\n- Call the team.\n"
        )
        given = advised(alert("walBackupIsDelayed"), {"runbooks/wal.md": text})
        assert actions(given) == ["It is 30 h old.", "Look at the log.", "Call the team."]
        assert [it.heading for it in given.procedures[0].not_shown] == ["walBackupHasFailed"]

    def test_a_list_under_a_heading_about_alerts_names_them(self):
        listing = "# DiskSnapshots\n\n## Covered alerts\n\n- DiskSnapshotsAreDelayed\n\n## Troubleshooting\n\n- Look at the quota.\n"
        other = "# Cloud\n\n## Disk snapshots\n\n- Every hour.\n\n## More\n\n- b\n"
        texts = {"a.md": other, "b.md": listing}
        assert actions(advised(alert("DiskSnapshotsAreDelayed"), texts)) == ["Look at the quota."]

    def test_a_heading_of_the_name_comes_before_a_page_of_the_name(self):
        texts = {
            "runbooks/mail-full.md": page(("Disk", "- Add a disk."), ("Call", "- Call the team.")),
            DISK: page(("MailFull", "- Drain it."), title="Disks"),
        }
        assert actions(advised(alert("MailFull"), texts)) == ["Drain it."]

    @pytest.mark.parametrize(
        ("written", "name", "same"),
        [
            ("MailFull", "mail-full", True),
            ("mail_full", "Mail full", True),
            ("queue-<az>-down", "queue-eu-1-down", True),
            ("queue-<az>-down", "queue-eu-1-up", False),
            ("<az>-down", "mail-down", False),
            ("MailFull", "MailFuller", False),
            ("", "", False),
            ("--", "..", False),
        ],
    )
    def test_names_are_one_if_their_letters_and_digits_are(self, written, name, same):
        assert same_name(written, name) is same

    def test_a_page_that_lists_its_alerts_gives_the_section_that_the_name_holds(self):
        text = (
            "# Lab\n\nAlerts: `LabAnalyzerOffline`, `LabResultsHeld`, `LabDiskFull`.\n\n"
            "## Analyzer offline\n\n- Open the port.\n\n## Results held\n\n- Release them.\n\n## Space\n\n- Add a disk.\n"
            "\n## Who may do it?\n\n- Call Ann.\n"
        )
        given = advised(alert("LabResultsHeld"), {MAIL: text})
        assert actions(given) == ["Release them."]
        assert given.evidence.strength is Strength.STRONG
        other = advised(alert("LabDiskFull"), {MAIL: text})
        assert actions(other) == ["Open the port.", "Release them.", "Add a disk.", "Call Ann."]
        assert other.evidence.strength is Strength.PARTIAL

    def test_a_word_for_a_state_alone_names_no_section(self):
        text = (
            "# Database\n\n**Alerts:** `DbPrimaryDown`, `DbReplicaLag`\n\n## Is it down?\n\n- Ask it.\n\n"
            "## Failover\n\n1. Fail over.\n\n## Verify\n\n- Ask it again.\n"
        )
        given = advised(alert("DbPrimaryDown"), {DISK: text})
        assert actions(given) == ["Ask it.", "Fail over.", "Ask it again."]

    def test_of_a_page_of_many_alerts_the_section_that_search_and_words_agree_on_is_given(self):
        text = (
            "# Desks\n\nAlerts: `DeskPrinterStorm`, `DeskDown`.\n\n## Bag tags print without end\n\n"
            "- Pull the plug of the bag tag printer.\n\n## Nobody can log in\n\n- Start the broker.\n"
        )
        incident = alert("DeskPrinterStorm", description="bag tags print without end")
        given = advised(incident, {MAIL: text})
        assert actions(given) == ["Pull the plug of the bag tag printer."]
        assert given.evidence.strength is Strength.PARTIAL


class TestByIndex:
    TEXT = (
        "# Lab engine\n\nWhat happened?\n\n- alert `LabQueueDepth`: [Results wait](#results-wait)\n"
        "- alert `LabNodeDown`: [Fail over](#fail-over)\n- both: [Results wait](#results-wait) or [Fail over](#fail-over)\n\n"
        "## Results wait\n\n- Free the queue.\n\n## Fail over\n\n- Move the engine.\n"
    )

    @pytest.mark.parametrize(
        ("name", "action"),
        [("LabQueueDepth", "Free the queue."), ("LabNodeDown", "Move the engine.")],
    )
    def test_a_line_with_the_name_and_one_link_files_that_section(self, name, action):
        assert actions(advised(alert(name), {MAIL: self.TEXT})) == [action]

    def test_a_title_names_its_alert_before_a_colon_where_a_section_is_called_so(self):
        text = "# Hosts\n\nAbout hosts.\n\n## Datastore full\n\n- Move a disk.\n\n## Host gone\n\n- Call Ann.\n"
        incident = alert(
            "DatastoreFull: DS-GOLD-04 has less than 1 % free",
            title="DatastoreFull: DS-GOLD-04 has less than 1 % free",
        )
        assert actions(advised(incident, {DISK: text})) == ["Move a disk."]


def test_a_page_that_replaces_an_old_one_is_in_use():
    text = "# Backup\n\n*Version 4. Replaces the page of 2021 (old repository is gone).*\n\n## Copy failed\n\nAlarm `offsite-no-puts`.\n\n1. Start it.\n"
    assert actions(advised(alert("offsite-no-puts"), {DISK: text})) == ["Start it."]
    for title in ("Backup (old)", "Backup (old version)", "Backup (superseded by v4)"):
        assert not advised(alert("offsite-no-puts"), {DISK: text.replace("Backup", title)}).guidance


def test_a_code_in_an_earlier_sentence_files_no_section_that_a_step_sends_to():
    text = page(
        ("One out", "1. Start it."),
        (
            "All out",
            'All are `non-Primary`.\n\n1. Is it down? `cluster_status` on all. If one is up, stop: it\'s the section "One out".\n2. Bootstrap.',
        ),
        title="Panel",
    )
    given = advised(
        alert("PanelIsNonPrimary", description="all out: cluster_status non-Primary"), {DISK: text}
    )
    assert "Bootstrap." in actions(given)
    assert given.evidence.strength != "strong"


def test_the_row_of_an_alerts_label_is_given_without_the_others():
    text = "# Workers\n\n## QueueIsStuck\n\n| Queue | If it's stuck |\n|---|---|\n| mail | retry all |\n| domains | never retry |\n"
    given = advised(alert("QueueIsStuck", labels={"queue": "domains"}), {DISK: text})
    assert actions(given) == ["Queue: domains | If it's stuck: never retry"]


def test_a_line_in_bold_with_an_alerts_name_behind_it_heads_its_section():
    text = "# Notes\n\nMine.\n\n## k8s\n\n**node is gone** (`KubeNodeGone`)\n1. Look.\n\n**vault sealed** (`VaultSealed`)\n1. Unseal.\n"
    given = advised(alert("KubeNodeGone"), {DISK: text})
    assert (actions(given), given.evidence.strength) == (["Look."], "strong")


def test_a_product_before_a_colon_files_no_page_that_has_its_name_among_others():
    text = (
        "# Panel (MariaDB Galera)\n\n## Node out\n\n1. Start it.\n\n## All out\n\n1. Bootstrap.\n"
    )
    named = "MariaDB: Replication lag is too high"
    given = advised(alert(named, title=named), {DISK: text})
    assert "it is filed under the alert's name" not in (
        given.evidence.reasons if given.evidence else ()
    )


def test_what_a_title_names_before_a_colon_is_a_thing_where_the_alert_has_a_name():
    text = "# Tables\n\n## carts and orders\n\nTwo tables.\n\n### ShopOrdersThrottled\n\n1. Switch orders.\n\n### Lost\n\n1. Freeze carts.\n"
    given = advised(
        alert("ShopCartsThrottled", title="carts: 412 throttled requests"), {DISK: text}
    )
    assert given.guidance == ()


def test_a_section_that_begins_with_the_alerts_name_as_code_is_filed_under_it():
    opening = "`RedisMemoryHigh` > 85 %, or the log says OOM"
    text = page(
        ("queue", f"{opening}\n\n- Collect the results."), ("session", "- Flush it."), title="Redis"
    )
    given = advised(alert("RedisMemoryHigh"), {DISK: text})
    assert (actions(given), given.evidence.strength) == (["Collect the results."], "strong")
    mentioned = text.replace(opening, f"Full.\n\n{opening}")
    assert advised(alert("RedisMemoryHigh"), {DISK: mentioned}).evidence.strength != "strong"


class TestOfSeveral:
    TEXT = "# DiskFilling\n\nOn hist-plant or hist-lab.\n\n### hist-plant\n\n- Grow the disk.\n\n### hist-lab\n\n- Prune the table.\n"

    def test_the_one_that_a_label_names_is_given_and_the_others_are_named(self):
        given = advised(alert("DiskFilling", labels={"cluster": "hist-lab"}), {DISK: self.TEXT})
        assert actions(given) == ["Prune the table."]
        (left,) = given.procedures[0].not_shown
        assert (left.heading, left.why) == ("hist-plant", Why.OTHER)

    @pytest.mark.parametrize(
        "labels", [{}, {"cluster": "hist-web"}, {"a": "hist-lab", "b": "hist-plant"}]
    )
    def test_without_such_a_label_all_are(self, labels):
        given = advised(alert("DiskFilling", labels=labels), {DISK: self.TEXT})
        assert actions(given) == ["Grow the disk.", "Prune the table."]

    @pytest.mark.parametrize(
        ("cluster", "steps"),
        [("hist-test", ["Prune the table."]), ("hist-plant", ["Grow the disk."])],
    )
    def test_one_heading_may_name_several(self, cluster, steps):
        text = self.TEXT.replace("### hist-lab", "### hist-lab and hist-test")
        assert (
            actions(advised(alert("DiskFilling", labels={"cluster": cluster}), {DISK: text}))
            == steps
        )

    @pytest.mark.parametrize(
        ("system", "steps"),
        [
            ("widevine", ["Change the region.", "Restart it."]),
            ("fairplay", ["Renew the key.", "Restart it."]),
            ("clearkey", ["Change the region.", "Renew the key.", "Restart it."]),
        ],
    )
    def test_of_conditions_those_without_a_word_of_the_labels_are_for_others(self, system, steps):
        text = (
            "# LicenceErrors\n\n## Only Widevine (Android)\n\n- Change the region.\n\n## Only FairPlay (iPhone)\n\n"
            "- Renew the key.\n\n## All systems\n\n- Restart it.\n"
        )
        incident = alert("LicenceErrors", labels={"system": system})
        assert actions(advised(incident, {DISK: text})) == steps

    VALUES = "# DiskFilling\n\nIn both zones.\n\n## zone = a\n\n- Grow the disk.\n\n## zone = b\n\n- Prune the table.\n"

    @pytest.mark.parametrize(
        ("incident", "steps"),
        [
            (alert("DiskFilling", labels={"zone": "b"}), ["Prune the table."]),
            (question("DiskFilling on zone-b, the table grows"), ["Prune the table."]),
            (
                alert("DiskFilling", labels={"zone": "c"}),
                ["Grow the disk.", "Prune the table."],
            ),
            (question("DiskFilling, is it a or b"), ["Grow the disk.", "Prune the table."]),
        ],
    )
    def test_a_heading_may_be_a_labels_value(self, incident, steps):
        assert actions(advised(incident, {DISK: self.VALUES})) == steps

    @pytest.mark.parametrize(
        ("asked", "steps"),
        [
            ("reload the prices in prod", ["Load it."]),
            ("reload the prices on staging", ["Wipe it."]),
            ("reload the prices", ["Load it.", "Wipe it."]),
        ],
    )
    def test_a_question_may_name_the_environment(self, asked, steps):
        text = "# Prices\n\n## Reload the prices\n\n### Production\n\n1. Load it.\n\n### Staging\n\n1. Wipe it.\n"
        assert actions(advised(question(asked), {DISK: text})) == steps


class TestTabs:
    TEXT = (
        "# Switchover\n\nFor patching.\n\n## Planned\n\nBoth alike.\n\n"
        '=== "Production"\n\n    1. Pause the invoice run.\n    2. Switch the leader.\n\n'
        '=== "Staging"\n\n    1. Switch it.\n\nThen close the ticket: `tick close it`\n\n## Other\n\n- Call.\n'
    )

    def test_the_one_that_the_incident_names_is_given_though_another_fits_better(self):
        given = advised(question("switch the leader on staging, planned"), {DISK: self.TEXT})
        assert actions(given)[:1] == ["Switch it."]
        assert "Pause the invoice run." not in actions(given)
        assert [it.heading for it in given.procedures[0].not_shown] == ["Production"]

    def test_all_are_given_where_it_names_none_in_their_order(self):
        given = advised(question("how do we do a planned switchover"), {DISK: self.TEXT})
        assert actions(given)[0] == "Pause the invoice run."
        assert actions(given)[2:] == ["Switch it.", "Then close the ticket: `tick close it`"]


class TestTablesOfCases:
    HEAD = "# Search\n\nAbout search.\n\n| What you see | Do |\n|---|---|\n"
    ROWS = (
        "| Prices are old | Refresh the prices |\n| New products are missing | See [Reindex](#reindex) |\n"
        "| 429 from the domain | Limit the crawlers |\n"
    )
    REINDEX = "\n## Reindex\n\n1. Start the job.\n\n## Other\n\n- Call.\n"

    def test_the_row_that_fits_is_given_and_the_others_are_named(self):
        given = advised(question("search shows old prices"), {DISK: self.HEAD + self.ROWS})
        assert [it.rpartition(": ")[2] for it in actions(given)] == ["Refresh the prices"]
        (left,) = given.procedures[0].not_shown
        assert (left.start, left.end, left.why) == (8, 9, Why.ROW)
        assert given.procedures[0].complete is True

    def test_what_only_other_rows_send_to_is_left_out_with_them(self):
        text = self.HEAD + self.ROWS + self.REINDEX
        given = advised(question("search shows old prices"), {DISK: text})
        assert "Start the job." not in actions(given)
        given = advised(question("new products are missing in search"), {DISK: text})
        assert "Start the job." in actions(given)

    @pytest.mark.parametrize("asked", ["search is odd", "prices, products and 429 of the domain"])
    def test_all_are_given_where_none_or_most_of_them_fit(self, asked):
        given = advised(question(asked), {DISK: self.HEAD + self.ROWS})
        assert len(actions(given)) == 3

    def test_a_table_of_steps_is_given_whole(self):
        steps = self.HEAD.replace("What you see", "Step") + self.ROWS
        assert len(actions(advised(question("search shows old prices"), {DISK: steps}))) == 3


class TestBySpelling:
    def test_words_in_order_name_an_alert_that_a_section_is_called(self):
        text = page(("LakeIngestStalled", "- Resume the mail."), ("Disk", "- Add a disk."))
        for said in ("lake ingest stalled: no new files for 1h", "Lake-Ingest_Stalled"):
            given = advised(Incident(alert_name="kv-lake-raw", description=said), {MAIL: text})
            assert actions(given) == ["Resume the mail."]
        missed = Incident(alert_name="kv-lake-raw", description="ingest of the lake stalled")
        assert not advised(missed, {MAIL: text}).guidance


class TestNumbers:
    @pytest.mark.parametrize(
        ("heading", "name"),
        [("KafkaBroker1Down", "KafkaBroker2Down"), ("Http4xxRateHigh", "Http5xxRateHigh")],
    )
    def test_in_a_name_tell_one_alert_from_another(self, heading, name):
        text = f"# Kafka\n\nAbout.\n\n## {heading}\n\n1. Wipe it.\n\n## Other\n\n- Call.\n"
        assert not actions(advised(alert(name), {"runbooks/kafka.md": text}))
        assert actions(advised(alert(heading), {"runbooks/kafka.md": text})) == ["Wipe it."]


class TestMentions:
    TEXT = "# Rack power\n\n`RackOnBattery` comes by SNMP.\n\n## What to do\n\n1. Call the hotel.\n"

    def test_the_one_section_whose_text_has_the_alerts_name_as_code_comes_before_a_better_score(
        self,
    ):
        text = f"{self.TEXT}\n## Rack battery is old\n\n- Nobody gets up for that.\n"
        given = advised(alert("RackOnBattery", title="rack is on its old battery"), {MAIL: text})
        assert actions(given)[0] == "Call the hotel."

    def test_where_two_have_it_neither_does(self):
        text = f"{self.TEXT}\n## Rack battery is old\n\nNo `RackOnBattery`.\n\n- Wait.\n"
        given = advised(alert("RackOnBattery", title="rack is on its old battery"), {MAIL: text})
        assert actions(given) == ["Wait."]


class TestPagesOfOneName:
    EU, US = "runbooks/cache-eu.md", "runbooks/cache-us.md"

    @pytest.fixture
    def texts(self):
        return {
            f"runbooks/cache-{it}.md": f"# Cache is full - {it.upper()}\n\nAlert: CacheIsFull\n\n- Run `redis-cli -n {it} flushdb`.\n"
            for it in ("us", "eu")
        }

    def test_the_one_that_a_label_names_is_given(self, texts):
        for region in ("eu", "us"):
            given = advised(alert("CacheIsFull", labels={"region": region}), texts)
            assert actions(given) == [f"Run `redis-cli -n {region} flushdb`."]
            assert given.evidence.strength is Strength.STRONG

    def test_without_such_a_label_one_is_given_and_the_others_named(self, texts):
        texts = {file: text.replace("flushdb", "info") for file, text in texts.items()}
        given = advised(alert("CacheIsFull"), texts)
        assert len(actions(given)) == 1
        assert given.evidence.strength is Strength.PARTIAL
        (other,) = {self.EU, self.US} - {it.source_file for it in given.procedures}
        assert f"so is {other}" in given.evidence.reasons

    def test_where_the_wrong_one_destroys_something_all_are_offered_and_none_is_given(self, texts):
        given = advised(alert("CacheIsFull"), texts)
        assert actions(given) == []
        assert {it.citation.source_file for it in given.reading} == {self.EU, self.US}
        assert set(given.meant) == {"Cache is full - EU", "Cache is full - US"}

    def test_the_one_that_has_the_whole_name_is_before_one_whose_heading_has_its_words(self):
        texts = {
            f"runbooks/{it}.md": f"# {it}\n\nLike core.\n\n## Storage is low\n\nAlarm `{it}-storage-is-low`.\n\n- Grow {it}.\n"
            for it in ("core", "copy")
        }
        assert actions(advised(alert("core-storage-is-low"), texts)) == ["Grow core."]


class TestPartsThatAreAskedFor:
    TEXT = (
        "# Certs\n\nYou need the key.\n\n## Web\n\n- Wait.\n\n## CertExpires\n\nRenew:\n\n```\n./renew\n```\n\n"
        "Then mail the chain (not the key).\n\n**Warning**: once a day.\n\n### Undo\n\n- Revoke it.\n"
    )

    def test_come_without_the_steps_that_they_undo(self):
        given = advised(question("CertExpires: how do I undo it?"), {MAIL: self.TEXT})
        assert actions(given) == ["Revoke it."]
        guards = [it.text for it in given.guidance[0].guards]
        assert not any("renew" in it or "mail" in it for it in guards)
        assert {"You need the key.", "**Warning**: once a day."} <= set(guards)

    def test_what_begins_with_then_behind_a_step_is_one(self):
        given = advised(alert("CertExpires"), {MAIL: self.TEXT})
        assert actions(given)[1] == "Then mail the chain (not the key)."


class TestPartsThatNobodyWrote:
    TEXT = "# Cert expires soon\n\n- Renew the cert that expires soon.\n"

    @pytest.mark.parametrize(
        ("asked", "part"),
        [
            ("cert expires soon: how do I undo it?", "undo it"),
            ("how do I verify that the cert expires no more?", "check that it worked"),
        ],
    )
    def test_are_told_beside_the_steps(self, asked, part):
        given = advised(question(asked), {MAIL: self.TEXT})
        assert f"it doesn't say how to {part}" in given.evidence.reasons
        assert given.evidence.strength is Strength.THIN
        told = self.TEXT + "\nRevert: the old one is kept. Check the date.\n"
        whole = advised(question(asked), {MAIL: told})
        assert f"it doesn't say how to {part}" not in whole.evidence.reasons

    def test_of_an_alerts_own_section_are_its_lines_to_read(self):
        text = page(("MailFull", "TODO (Jo) -- for now: add a disk."), ("B", "- b"))
        given = advised(alert("MailFull"), {MAIL: text})
        said = "TODO (Jo) -- for now: add a disk."
        assert given.reasoning == f'{MAIL} says that this is still to be written: "{said}"'
        assert [(it.citation.start_line, it.citation.end_line) for it in given.reading] == [(5, 7)]


class TestShortForms:
    def test_of_a_word_in_an_alarms_name_count_as_the_word(self):
        texts = {MAIL: page(("Memory is full", "- Add memory to the mail relay."), ("B", "- b"))}
        assert actions(advised(alert("mail-mem-full"), texts))
        assert not actions(advised(alert("mail-gpu-full"), texts))


class TestOthers:
    @pytest.mark.parametrize(
        "heading", ["MailQueueSlow", "The mail queue is gone a while (MailQueueSlow)"]
    )
    def test_a_section_filed_under_another_alert_is_not_given(self, heading):
        texts = {MAIL: page(("MailQueueFull", "- Drain it."), (heading, "- Scale the mail queue."))}
        given = advised(alert("MailQueueGone"), texts)
        assert given.status is Status.NO_MATCH
        assert given.reading

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("old/mail.md", "# Mail full\n\n- Drop it.\n"),
            ("runbooks/archive/mail.md", "# Mail full\n\n- Drop it.\n"),
            ("runbooks/mail.md", "# Mail full (obsolete)\n\n- Drop it.\n"),
            ("runbooks/mail.md", "# Mail full\n\nSuperseded by [the new one](new.md).\n\n- Drop it.\n"),
            ("runbooks/mail.md", "# Mail full\n\n> **Note**: this page is out of date.\n\n- Drop it.\n"),
            ("runbooks/mail.md", "---\ntitle: Mail full (deprecated)\n---\n# Mail full\n\n- Drop it.\n"),
        ],
    )  # fmt: skip
    def test_a_superseded_page_never_gives_steps(self, name, text):
        assert is_superseded(outlined(text, name))
        assert advised(alert("MailFull"), {name: text}).guidance == ()
        given = advised(alert("MailFull"), {name: text, DISK: "# Mail is full\n\n- Drain it.\n"})
        assert actions(given) == ["Drain it."]

    @pytest.mark.parametrize(
        "said",
        [
            "Status: deprecated", "**Status:** withdrawn", "Lifecycle: end of life", "Tags: obsolete, old", "DO NOT USE",
            "This page has moved to the new wiki.", "Do not follow this page any more.", "Draft - do not use.",
            "| Owner | Status |\n|---|---|\n| us | x |\n| Status | **RETIRED** |",
            "[![status: do not use](https://badge.example/x)](https://wiki.example)", "![deprecated](https://badge.example/red)",
        ],
    )  # fmt: skip
    def test_a_page_whose_head_says_that_it_is_out_of_use_gives_no_steps(self, said):
        text = f"# Pager\n\n{said}\n\n## Fail it over\n\n1. Go.\n"
        assert actions(advised(question("fail the pager over"), {DISK: text})) == []

    @pytest.mark.parametrize(
        "said",
        [
            "Status: current",
            "Do not use the old console.",
            "The status page is deprecated.",
            "Tags: storage",
        ],
    )
    def test_a_page_that_says_something_like_it_gives_them(self, said):
        text = f"# Pager\n\n{said}\n\n## Fail it over\n\n1. Go.\n"
        assert actions(advised(question("fail the pager over"), {DISK: text})) == ["Go."]

    def test_a_superseded_page_of_the_alert_is_named_where_nothing_else_is_documented(self):
        old = "---\nalerts: [MailFull]\nstatus: deprecated\n---\n# Spool\n\nOf 2019.\n\n## Do\n\n- Drop it.\n"
        texts = {"spool.md": old, DISK: "# The disk of a mail relay\n\n- Grow the mail disk.\n"}
        for asked in (alert("MailFull"), question("the alert MailFull fires")):
            given = advised(asked, texts)
            assert (given.guidance, given.status) == ((), Status.NO_MATCH)
            first, *others = [it.citation for it in given.reading]
            assert (first.source_file, first.start_line, first.end_line) == ("spool.md", 5, 7)
            assert "spool.md" not in [it.source_file for it in others]
            assert "spool.md, is filed under this name and marked as out of use" in given.reasoning
        group = Incident(alert_name="Zebras", alerts=(alert("Zebras"), alert("MailFull")))
        nothing = {"spool.md": old, DISK: "# Tapes\n\n- Load them.\n"}
        assert "spool.md, is filed" in advised(group, nothing).reasoning
        for other in (alert("MailGone"), alert("Spool2")):
            assert "out of use" not in advised(other, texts).reasoning
        current = "---\nalerts: [MailFull]\n---\n# Relay\n\n- Drain it.\n"
        assert actions(advised(alert("MailFull"), {**texts, MAIL: current})) == ["Drain it."]

    @pytest.mark.parametrize(
        "said",
        [
            "status: Deprecated",
            "deprecated: true",
            "superseded_by: runbooks/new.md",
            "archived: yes",
        ],
    )
    def test_a_page_whose_front_matter_says_so_never_gives_steps(self, said):
        text = f"---\ntitle: Mail full\n{said}\n---\n# Mail full\n\n- Drain it.\n"
        assert is_superseded(outlined(text, MAIL))
        assert advised(question("mail is full"), {MAIL: text}).status is Status.NO_MATCH

    @pytest.mark.parametrize("said", ["status: active", "deprecated: false", "status: [a, b]"])
    def test_any_other_status_holds(self, said):
        assert not is_superseded(outlined(f"---\n{said}\n---\n# Mail full\n\n- Drain it.\n", MAIL))

    @pytest.mark.parametrize(
        "text",
        [
            "# Mail full\n\n- Drain it.\n\nThe mail of old clients is deprecated.\n",
            "# Mail full\n\n- Drain it.\n\n## Notes\n\nThis page was once superseded.\n",
        ],
    )
    def test_a_page_that_speaks_of_old_things_is_not_superseded(self, text):
        assert not is_superseded(outlined(text, MAIL))
        assert actions(advised(alert("MailFull"), {MAIL: text}))[0] == "Drain it."


REPORT = "---\nincident_id: INC-7\n---\n# Mail was full\n\n## Resolution\n\n- Dropped the mail.\n"


class TestReports:
    def test_never_give_steps_for_an_alert_even_of_its_name(self):
        given = advised(alert("MailWasFull"), {"postmortems/mail-was-full.md": REPORT})
        assert given.guidance == ()

    def test_never_give_steps_for_a_question(self):
        texts = {"postmortems/7.md": REPORT, MAIL: "# Mail is full\n\n- Drain the mail.\n"}
        assert actions(advised(question("what to do when the mail is full?"), texts)) == [
            "Drain the mail."
        ]

    def test_are_given_where_a_question_asks_for_them(self):
        texts = {"postmortems/7.md": REPORT, MAIL: "# Mail is full\n\n- Drain the mail.\n"}
        given = advised(question("what did we do last time when the mail was full?"), texts)
        assert actions(given) == ["Dropped the mail."]

    @pytest.mark.parametrize("asked", ["INC-2041", "what happened in inc-2041?", "INC-2041: mail"])
    def test_are_given_where_a_question_has_the_number_that_their_title_begins_with(self, asked):
        texts = {
            "postmortems/7.md": "# INC-2041: HTTP-502 of the mail\n\n## Resolution\n\n- Dropped the mail.\n",
            "postmortems/70.md": "# INC-2042: mail\n\n## Resolution\n\n- Sent the mail.\n",
            MAIL: "# Mail is full\n\n- Drain the mail.\n",
        }
        assert actions(advised(question(asked), texts)) == ["Dropped the mail."]

    def test_are_not_given_for_a_number_in_the_middle_of_their_title(self):
        texts = {
            "postmortems/7.md": "# INC-2041: HTTP-502 of the mail\n\n## Resolution\n\n- Dropped the mail.\n",
            MAIL: "# HTTP-502 of the mail\n\n- Drain the mail.\n",
        }
        given = advised(question("HTTP-502 of the mail, as in the note on INC-2043"), texts)
        assert actions(given) == ["Drain the mail."]


WHOLE = (
    "# Mail queue\n\n## Symptoms\n\n- Mail waits.\n\n## Diagnosis\n\n1. Look.\n\n"
    "## Resolution\n\n1. Drain it.\n\n## Verification\n\n- No mail waits.\n\n## Rollback\n\n- Undo it.\n"
)


class TestHowMuchOfThePage:
    def test_a_page_about_one_matter_is_given_whole_in_its_order(self):
        given = advised(question("mail waits in the queue"), {MAIL: WHOLE})
        assert actions(given) == ["Look.", "Drain it.", "No mail waits.", "Undo it."]
        assert chosen(given) == [(MAIL, "")]

    @pytest.mark.parametrize("number", ["2.", "2)", "Step 2:", "step 2", "2"])
    def test_numbered_headings_are_steps_of_one_matter(self, number):
        text = page(("1. See the logs", "- See them."), (f"{number} Mail queue", "- Drain it."))
        given = advised(question("the mail queue grows"), {MAIL: text})
        assert actions(given) == ["See them.", "Drain it."]

    def test_of_a_page_about_several_matters_the_one_that_fits_is_given(self):
        text = page(
            ("Bounces", "- See who bounces."),
            ("Queue of mail grows", "- Drain it.\n- Restart it."),
            ("Disk of mail", "- Add a disk."),
        )
        given = advised(question("the queue of mail grows"), {MAIL: text})
        assert actions(given) == ["Drain it.", "Restart it."]
        assert chosen(given) == [(MAIL, "Queue of mail grows")]

    def test_the_first_section_of_a_page_is_found_though_its_passage_begins_with_the_title(self):
        text = (
            "# Mail\n\n## Queue grows\n\n- Drain it.\n\n## Disk\n\n- Add a disk.\n\n## B\n\n- b\n"
        )
        assert actions(advised(question("the queue grows"), {MAIL: text})) == ["Drain it."]

    def test_matters_that_share_their_verification_and_their_contacts_are_several(self):
        text = page(
            ("QueueGrowing", "- Drain it."),
            ("DiskSlow", "- Add a disk."),
            ("Verification", "- No mail waits."),
            ("Escalation", "- Call Ann."),
        )
        given = advised(alert("QueueGrowing"), {MAIL: text})
        assert actions(given) == ["Drain it.", "No mail waits."]

    def test_a_part_of_a_matter_brings_the_whole_matter(self):
        text = page(
            ("Queue grows", "### Check\n\n- Look at the mail.\n\n### Fix\n\n- Drain it."),
            ("Disk is slow", "- Add a disk."),
        )
        for words in ("look at the mail when the queue grows", "drain the mail queue"):
            assert actions(advised(question(words), {MAIL: text})) == [
                "Look at the mail.",
                "Drain it.",
            ]

    def test_its_pages_warnings_come_with_a_section(self):
        text = (
            "# Mail\n\n> **Warning**: never drop the queue.\n\nYou need the admin role.\n\n"
            "Mail is nice.\n\n## Queue grows\n\n- Drain it.\n- Start it.\n\n## Disk\n\n- Add one.\n"
        )
        given = advised(question("the queue grows"), {MAIL: text})
        told = [
            [guard.text for guard in step.guards if guard.kind is not Governs.NOTE]
            for step in given.guidance
        ]
        assert told == [["**Warning**: never drop the queue.", "You need the admin role."]] * 2
        notes = [guard.text for guard in given.guidance[0].guards if guard.kind is Governs.NOTE]
        assert "Mail is nice." in notes
        assert not any("Mail is nice." in it.text for it in given.guidance[1].guards)

    def test_of_a_long_introduction_only_what_warns_comes_with_a_section(self):
        long = "\n".join(f"Mail was made in {year}." for year in range(1990, 2000))
        text = f"# Mail\n\n{long}\n\nNever drop the queue.\n\n## Queue grows\n\n- Drain it.\n\n## Disk\n\n- Add one.\n"
        (step,) = advised(question("the queue grows"), {MAIL: text}).guidance
        assert [it.text for it in step.guards if "Mail" in it.text] == []
        assert "Never drop the queue." in {it.text for it in step.guards}

    def test_before_you_begin_leads_into_its_list_without_a_colon(self):
        text = (
            "# Mail\n\nBefore you begin\n- `export KEY=x`\n- never work as root\n\n## Queue grows\n\n- Drain it.\n\n"
            "## Disk\n\n- Add one.\n"
        )
        (step,) = advised(question("the queue grows"), {MAIL: text}).guidance
        assert any(
            "export KEY=x" in it.text and "never work as root" in it.text for it in step.guards
        )

    @pytest.mark.parametrize(
        "words", ["posting is paused for a fail over", "trial balance of a fail over"]
    )
    def test_what_stands_beside_steps_is_a_part_of_the_same_matter(self, words):
        parts = "### Before\n\n- Pause the posting.\n\n### Steps\n\n1. Promote it.\n\n"
        parts += "### Trial balance\n\n- Compare the trial balance."
        text = page(("Fail over", parts), ("Disk", "- Add one."))
        given = advised(question(words), {MAIL: text})
        assert actions(given) == ["Pause the posting.", "Promote it.", "Compare the trial balance."]

    def test_bold_labels_part_a_page_into_matters(self):
        text = (
            "# Screens\n\n**Screens are black**\n\n1. Restart the render.\n\n**Screens show old data**\n\n"
            "1. Blank them.\n\nNever flush the cache of old data.\n"
        )
        given = advised(question("screens show old data"), {MAIL: text})
        assert actions(given) == ["Blank them."]

    @pytest.mark.parametrize(
        ("heading", "text", "kind"),
        [
            ("Do first", "Ring the nurse in charge.", Governs.PRECONDITION),
            ("Before you touch anything", "You need the role.", Governs.PRECONDITION),
            ("Desk", "Ask the desk. This goes for every procedure here.", Governs.PRECONDITION),
            ("What not to do", "- Reboot the gateway.", Governs.PROHIBITED),
        ],
    )
    def test_rules_and_what_not_to_do_beside_it_come_along(self, heading, text, kind):
        pages = page(
            ("Gateway is down", "- Restart it."), (heading, text), ("Calls are late", "- Wait.")
        )
        (step,) = advised(question("the gateway is down"), {MAIL: pages}).guidance
        assert kind in {it.kind for it in step.guards}

    def test_a_passage_counts_for_every_section_that_it_holds(self):
        text = "Slots\n=====\n\nFull mode\n---------\nSlots are sent.\n\n- Set it.\n\nBroker memory\n-------------\nBlocked.\n\n- Purge it.\n"
        given = advised(question("memory of the broker"), {"slots.txt": text})
        assert "Purge it." in actions(given)

    def test_a_diagnosis_brings_what_resolves_it_right_behind(self):
        text = page(
            ("Why does mail break?", "It is old."),
            ("Identifying the damage", "- Run `mail fsck`."),
            ("Kinds of damage and how to fix them", "- Put the letter back."),
            ("Moving house", "- Pack."),
        )
        given = advised(question("mail fsck tells of damage"), {MAIL: text})
        assert actions(given) == ["Run `mail fsck`.", "Put the letter back."]

    def test_the_verification_beside_it_comes_along(self):
        text = page(
            ("Queue grows", "- Drain it."),
            ("Disk is slow", "- Add a disk."),
            ("Verification", "- No mail waits."),
        )
        given = advised(question("the queue grows"), {MAIL: text})
        assert actions(given) == ["Drain it.", "No mail waits."]
        assert chosen(given) == [(MAIL, "Queue grows"), (MAIL, "Verification")]

    def test_the_verification_of_another_matter_does_not(self):
        text = page(
            ("Queue grows", "- Drain it."),
            ("Disk is slow", "- Add a disk.\n\n### Verification\n\n- The disk is fast."),
        )
        assert actions(advised(question("the queue grows"), {MAIL: text})) == ["Drain it."]

    def test_a_section_that_is_not_written_yet_gives_nothing_of_others(self):
        text = page(("MailFull", "TODO"), ("MailSlow", "- Restart it."))
        given = advised(alert("MailFull"), {MAIL: text})
        assert given.guidance == ()
        assert given.status is Status.NO_MATCH

    @pytest.mark.parametrize("heading", ["What not to do", "Old procedure"])
    def test_a_section_of_what_must_not_be_done_is_never_given(self, heading):
        text = page((heading, "- Drop the mail queue that grows."), ("Disk", "- Add a disk."))
        given = advised(question("drop the mail queue that grows"), {MAIL: text})
        assert "Drop the mail queue that grows." not in actions(given)


class TestLinksInAPage:
    def test_a_section_that_a_step_goes_on_in_is_given_behind_it(self):
        text = page(
            ("Queue grows", "1. Drain it.\n2. Go to [the disk](#disk-is-slow)."),
            ("Disk is slow", "- Add a disk."),
            ("Bounces", "- See who bounces."),
        )
        given = advised(question("the queue grows"), {MAIL: text})
        assert actions(given)[0] == "Drain it."
        assert actions(given)[2:] == ["Add a disk."]
        assert chosen(given) == [(MAIL, "Queue grows"), (MAIL, "Disk is slow")]

    @pytest.mark.parametrize(
        "said",
        [
            "Follow “Disk is slow”.",
            "Follow *Disk is slow* above.",
            "Then do disk is slow, all of it.",
            "Look at the disk (next section).",
            "The disk may be slow, see below.",
        ],
    )
    def test_a_section_may_be_named_in_emphasis_in_full_or_by_its_place(self, said):
        text = page(("Queue grows", f"1. {said}"), ("Disk is slow", "- Add a disk."), ("B", "- b"))
        assert actions(advised(question("the queue grows"), {MAIL: text}))[1:] == ["Add a disk."]

    def test_what_is_forbidden_is_not_gone_to(self):
        text = page(
            ("Queue grows", "1. Drain it.\n2. Never do *Disk is slow* here."),
            ("Disk is slow", "- Add a disk."),
            ("B", "- b"),
        )
        assert actions(advised(question("the queue grows"), {MAIL: text})) == ["Drain it."]

    def test_a_limit_sends_nowhere(self):
        text = page(
            ("Queue grows", "1. The disk may be slow below 5 % free."),
            ("Disk is slow", "- Add a disk."),
            ("B", "- b"),
        )
        assert len(actions(advised(question("the queue grows"), {MAIL: text}))) == 1

    def test_the_page_around_it_is_not_gone_to(self):
        text = page(("Queue grows", "1. Drain it, as *Mail* says."), ("Disk is slow", "- Add."))
        given = advised(question("the queue grows"), {MAIL: text})
        assert chosen(given) == [(MAIL, "Queue grows")]


class TestRowsThatSendBelow:
    TABLE = (
        "1. Look which one stands.\n\n| Group | Stands |\n|-|-|\n| `letters` | Skip the message, see below |\n"
        "| `payments` | **Never skip.** Call 4455 |\n\n### Skip a message\n\n1. `./skip`\n"
    )

    @pytest.mark.parametrize(("group", "is_given"), [("letters", True), ("payments", False)])
    def test_what_only_rows_for_others_send_to_is_not_given(self, group, is_given):
        texts = {MAIL: page(("GroupBehind", self.TABLE), ("Other", "- b"))}
        given = advised(alert("GroupBehind", title=f"{group} is behind"), texts)
        assert ("./skip" in " ".join(actions(given))) is is_given
        left = [it.heading for it in given.procedures[0].not_shown if it.why is Why.OTHER]
        assert left == ([] if is_given else ["Skip a message"])

    def test_it_stays_where_the_steps_send_there_too(self):
        text = self.TABLE.replace("stands.", "stands, and skip its message (below).")
        given = advised(
            alert("GroupBehind", title="payments is behind"),
            {MAIL: page(("GroupBehind", text), ("B", "- b"))},
        )
        assert "./skip" in " ".join(actions(given))


OTHER_PAGE = page(("Disk is slow", "- Add a disk."), ("Disk is full", "- Empty it."), title="Disk")


class TestLinksToOtherPages:
    def test_a_section_of_another_page_is_given_behind_it(self):
        text = page(("Queue grows", "1. Go to [the disk](disk.md#disk-is-slow)."), ("B", "- b"))
        given = advised(question("the queue grows"), {MAIL: text, DISK: OTHER_PAGE})
        assert chosen(given) == [(MAIL, "Queue grows"), (DISK, "Disk is slow")]
        assert given.evidence.strength is Strength.PARTIAL  # search found it

    def test_it_may_be_named_in_emphasis_with_its_page(self):
        text = page(("Queue grows", "1. Do *Disk is slow* in `disk.md`."), ("B", "- b"))
        given = advised(question("the queue grows"), {MAIL: text, DISK: OTHER_PAGE})
        assert chosen(given) == [(MAIL, "Queue grows"), (DISK, "Disk is slow")]

    @pytest.mark.parametrize("said", ["chapter 2 of `disk.md`", "`disk.md`, chapter 2"])
    def test_it_may_be_named_by_its_number(self, said):
        counted = OTHER_PAGE.replace("## Disk is s", "## 2 Disk is s").replace(
            "## Disk is f", "## 3 F"
        )
        text = page(("Queue grows", f"1. Make room ({said})."), ("B", "- b"))
        given = advised(question("the queue grows"), {MAIL: text, DISK: counted})
        assert chosen(given) == [(MAIL, "Queue grows"), (DISK, "2 Disk is slow")]

    def test_one_that_can_not_be_retrieved_is_named(self):
        text = page(("QueueGrowing", "1. Go to [the disk](gone.md#disk-is-slow)."), ("B", "- b"))
        given = advised(alert("QueueGrowing"), {MAIL: text})
        (left,) = given.procedures[0].not_shown
        assert (left.source_file, left.why, left.heading) == (
            "runbooks/gone.md",
            Why.ELSEWHERE,
            "disk-is-slow",
        )
        assert given.procedures[0].complete is False
        assert '"disk-is-slow" in runbooks/gone.md belongs to the procedure and is not shown.' in {
            warned.message for warned in given.warnings
        }
        assert given.evidence.strength is not Strength.STRONG


class TestQuestions:
    def test_of_undoing_get_the_items_that_undo_with_the_steps_they_name(self):
        text = "# Season\n\nTwo people.\n\n1. Freeze the season import.\n2. Load the season.\n3. Count the flights.\n\n- Roll back: revert the season load, then count as in step 3.\n"
        asked = question("roll back the season load")
        assert actions(advised(asked, {MAIL: text})) == [
            "Roll back: revert the season load, then count as in step 3.",
            "Count the flights.",
        ]
        assert len(advised(question("the season load"), {MAIL: text}).guidance) == 4

    def test_of_whom_to_call_get_the_escalation_page_though_another_is_about_the_system(self):
        system = "# fraud-screen\n\n## fraud-screen is slow\n\n1. Who restarts fraud-screen: on call. Restart fraud-screen.\n"
        contacts = (
            "# Escalation\n\n| Area | First | Second |\n|-|-|-|\n| fraud-screen | Ada | Bob |\n"
        )
        given = advised(
            question("who is second on call for fraud-screen?"), {MAIL: system, DISK: contacts}
        )
        assert {it.source_file for it in given.procedures} == {DISK}

    @pytest.mark.parametrize(
        "asked",
        ["first on call for fraud-screen doesnt pick up, whos next", "nobody answers his phone for fraud-screen", "fraud-screen: who else"],
    )  # fmt: skip
    def test_of_whom_to_call_is_one_that_tells_that_nobody_answers(self, asked):
        contacts = (
            "# Escalation\n\n| Area | First | Second |\n|-|-|-|\n| fraud-screen | Ada | Bob |\n"
        )
        system = "# fraud-screen\n\n1. Restart fraud-screen, on call.\n"
        given = advised(question(asked), {MAIL: system, DISK: contacts})
        assert {it.source_file for it in given.procedures} == {DISK}

    def test_words_of_other_sections_are_none_of_the_one_that_was_found(self):
        rules = "## Rules\n\n- Never alone.\n\n## Zebra pump wheel\n\nThe zebra pump has a wheel.\n"
        text = f"# Mill\n\n{rules}\n## Spool full\n\n1. Empty the spool.\n2. Count it.\n"
        outline = outlined(text)
        section = section_called(outline, "Spool full")
        given = [with_rules(outline, section, procedure_in(text, "Spool full"))]
        said = "why is the zebra spool full"
        assert "zebra" not in words_held(Place(outline, section), given, Wanted((), said))
        alert = Wanted((said,), said, is_alert=True)
        assert "zebra" in words_held(Place(outline, section), given, alert)

    def test_that_name_a_system_alone_get_the_names_of_its_pages_sections(self):
        matters = page(
            ("Lag", "1. Look at it."), ("Disk", "1. Drop the slot."), title="exam-db (PostgreSQL)"
        )
        given = advised(question("exam-db: restore the rows to 14:05"), {MAIL: matters})
        assert not given.guidance
        assert {"Lag", "Disk"} <= set(given.meant)

    def test_of_undoing_get_the_part_that_undoes_of_what_was_found(self):
        text = page(
            (
                "Certificate ends",
                "- Renew the certificate of the mail.\n\n### Roll back\n\n- Move the old one in place.",
            ),
            ("Disk", "- Add a disk."),
        )
        asked = "the new certificate of the mail is bad, how do I go back to the old one?"
        assert actions(advised(question(asked), {MAIL: text})) == ["Move the old one in place."]

    def test_get_no_page_of_several_matters_that_nobody_could_follow(self):
        matters = [
            (f"Matter {n} of the broker", "\n".join(f"{k}. Do thing {k}." for k in range(1, 32)))
            for n in (1, 2)
        ]
        text = page(*matters, title="Brokers of the flow")
        given = advised(question("add a broker to the flow brokers"), {MAIL: text})
        assert len(given.guidance) <= 31

    def test_of_undoing_get_the_section_that_undoes(self):
        for words in (
            "how do I undo it for the mail queue?",
            "put the mail queue back",
            "roll the release of the mail queue back",
        ):
            assert actions(advised(question(words), {MAIL: WHOLE}))[0] == "Undo it."

    def test_of_whether_it_is_over_get_the_section_that_verifies(self):
        given = advised(question("how do I know that the mail queue is fixed?"), {MAIL: WHOLE})
        assert actions(given)[0] == "No mail waits."

    def test_of_whom_to_call_get_the_contacts(self):
        text = page(
            ("Queue grows", "- Drain the mail."), ("Disk", "- Add a disk."), ("Escalation", "- Call Ann."),
        )  # fmt: skip
        given = advised(question("whom should I call for the mail?"), {MAIL: text})
        assert actions(given) == ["Call Ann."]

    def test_what_an_alert_says_is_no_question(self):
        incident = alert("MailQueue", description="undo it, who to call, how do I know it is over")
        assert actions(advised(incident, {MAIL: WHOLE})) == [
            "Look.",
            "Drain it.",
            "No mail waits.",
            "Undo it.",
        ]


def test_without_documents_there_is_no_place():
    assert place_for(Wanted(("MailFull",), "mail"), [], Searched()) is None


class TestNamed:
    """What names a section, an alert or a row."""

    def test_a_section_whose_heading_is_a_name_is_followed_wherever_that_is_written(self):
        text = page(
            ("WriterNodeDown", "1. Fail over.\n2. Steps 2 and 3 of WriterNodeMoved."),
            (
                "WriterNodeMoved",
                "1. Look who writes.\n2. Restart the ledger.\n3. Compare the books.",
            ),
            ("ReaderLag", "1. Look at the readers."),
        )
        given = advised(alert("WriterNodeDown"), {MAIL: text})
        assert chosen(given) == [(MAIL, "WriterNodeDown"), (MAIL, "WriterNodeMoved")]

    def test_a_heading_names_no_other_section(self):
        text = (
            "# Backups\n\n## KB-1: Job failed\n\n**Resolution**\n\n1. Retry the job.\n\n"
            "## KB-2: Disk full\n\n**Resolution**\n\n1. Remove orphans.\n"
        )
        assert actions(advised(question("backup job failed, KB-1"), {MAIL: text})) == [
            "Retry the job."
        ]

    def test_a_title_of_several_words_is_the_alerts_name_where_a_page_says_so(self):
        text = page(
            (
                "Mail volume",
                "1. Look at the volume of the spool, which is 99 % used: spool, volume.",
            ),
            ("Archive log area", "Alarm `SPOOL AREA > 90 %`.\n\n1. Back up the logs."),
        )
        incident = {
            "alert": {
                "alertId": "1",
                "message": "SPOOL AREA > 90 %",
                "description": "Spool volume is 99 % used.",
            }
        }
        given = advised(Incident.from_state(read(incident).state), {MAIL: text})
        assert actions(given) == ["Back up the logs."]

    def test_of_a_table_of_named_things_the_row_that_the_incident_names_and_its_section_are_given(
        self,
    ):
        text = (
            '# Certificates\n\n| Where | Name | How |\n|---|---|---|\n| VPN | `vpn-main` | by hand, "ASA" below |\n'
            '| gateway | `mgw-plc` | by hand, "Gateway" below |\n\n## ASA\n\n1. Import it.\n\n'
            "## Gateway\n\n1. Do the passive node first.\n"
        )
        given = advised(question("the certificate of mgw-plc has expired"), {MAIL: text})
        assert actions(given)[1:] == ["Do the passive node first."]
        assert [(it.start, it.end) for it in given.procedures[0].not_shown] == [(5, 5), (8, 10)]

    def test_rows_of_another_thing_than_the_incidents_are_left_out(self):
        text = (
            "# Search\n\n| Symptom | Action |\n|---|---|\n| `es-logs` red, one index lost | drop the index |\n"
            "| `es-support` red | restore it |\n| circuit breaking | restart nodes |\n"
        )
        given = advised(question("es-support is red, one index lost"), {MAIL: text})
        assert [it.citations[0].citation.start_line for it in given.guidance] == [6, 7]

    def test_what_a_page_calls_out_of_scope_gets_none_of_its_steps(self):
        text = (
            "# Replace a switch\n\n## Scope\n\nSubstation switches (IE-4000 series) are out of scope. Call OT.\n\n"
            "## Procedure\n\n1. Power off the switch.\n"
        )
        for asked, steps in (
            ("replace a dead switch", ["Power off the switch."]),
            ("replace a dead IE-4000 switch in a substation", []),
        ):
            assert actions(advised(question(asked), {MAIL: text}))[1:] == steps

    def test_the_first_words_of_a_heading_elsewhere_name_it_and_a_file_is_meant_as_it_is_written(
        self,
    ):
        said = '1. Permission denied: see "Nomad lost its token" in vault/faq.md.'
        source, other = "fleet/alerts.md", "vault/faq.md"
        texts = {
            source: page(("FleetAllocPending", said), title="Fleet"),
            other: page(
                ("Nomad lost its token, how do I renew it?", "1. Make a token."), title="FAQ"
            ),
        }
        assert actions(advised(alert("FleetAllocPending"), texts))[1:] == ["Make a token."]
        given = advised(alert("FleetAllocPending"), {source: texts[source]})
        assert [it.source_file for it in given.procedures[0].not_shown] == [other]

    def test_a_section_of_another_document_is_followed_behind_a_title_in_brackets(self):
        texts = {
            MAIL: '# Mail down\n\n1. Restart as in Disks (disk.md), section "The restart".\n',
            "runbooks/disk.md": "# Disks\n\n## The restart\n\n1. Start slowly.\n\n## Other\n\n1. Look.\n",
        }
        assert actions(advised(question("mail down"), texts))[1:] == ["Start slowly."]

    def test_a_section_is_followed_that_is_named_by_its_steps(self):
        text = page(
            ("Execution", "1. Make a token.\n2. Set it."),
            ("Rollback", "Follow the execution steps, but with the old token."),
            title="Token rotation",
        )
        given = advised(question("how do I roll back the token rotation"), {MAIL: text})
        assert actions(given) == [
            "Follow the execution steps, but with the old token.",
            "Make a token.",
            "Set it.",
        ]

    def test_a_linked_section_is_followed_that_only_says_where_to_look(self):
        texts = {
            MAIL: "# Mail down\n\n1. Look at [the dashboards](disk.md#dashboards).\n",
            "runbooks/disk.md": "# Disks\n\n## Dashboards\n\n1. [overview](https://grafana.example/1)\n\nIn (1), errors are red.\n\n## Other\n\n1. Look.\n",
        }
        given = advised(question("mail down"), texts)
        assert [it.source_file for it in given.procedures] == [MAIL, "runbooks/disk.md"]

    def test_a_section_is_followed_that_stands_in_brackets_behind_its_file(self):
        texts = {
            MAIL: "# Mail down\n\n1. Switch the routers to hold (disk.md, Holding) first.\n2. Ask (disk.md, nobody knows).\n",
            "runbooks/disk.md": "# Disks\n\n## Holding\n\n1. Hold it.\n\n## Other\n\n1. Look.\n",
        }
        assert actions(advised(question("mail down"), texts))[2:] == ["Hold it."]

    def test_a_section_that_one_is_sent_to_by_leaving_this_one_is_not_followed(self):
        text = page(
            ("Mail down", "1. {} \n2. Restart it."),
            ("All mails down", "- Overwrite all copies."),
            title="Mail",
        )
        for said, given in (
            ("Look; all down: *All mails down*.", ["Overwrite all copies."]),
            ("If all are, don't go on here; see *All mails down*.", []),
            ("If all are: stop here, go to *All mails down*.", []),
        ):
            found = advised(question("one mail is down, restart"), {MAIL: text.format(said)})
            assert actions(found)[2:] == given

    def test_what_one_is_sent_to_begins_with_the_line_that_says_when(self):
        main = (
            "1. Look.\n2. If the spool is full: go to *Empty the spool*.\n"
            '3. Disk broken: see [disk.md](disk.md), "The restart".'
        )
        texts = {
            MAIL: page(("MailDown", main), ("Empty the spool", "1. Send it.\n2. Count it."), ("Other", "1. Look.")),
            "runbooks/disk.md": "# Disks\n\n## The restart\n\n1. Wipe it.\n\n## Other\n\n1. Look.\n",
        }  # fmt: skip
        _, _, _, send, count, wipe = advised(alert("MailDown"), texts).guidance
        for step, text, kind, line in (
            (send, "If the spool is full: go to *Empty the spool*.", "condition", 8),
            (wipe, 'Disk broken: see [disk.md](disk.md), "The restart".', "note", 9),
        ):
            said = step.guards[0]
            cited = said.citations[0].citation
            assert (said.text, said.kind) == (text, kind)
            assert (cited.source_file, cited.start_line, cited.end_line) == (MAIL, line, line)
        assert not count.guards

    @pytest.mark.parametrize(("title", "is_shown"), [("mail is down", False), ("spool full", True)])
    def test_a_section_that_destroys_comes_only_in_the_case_that_the_incident_names(
        self, title, is_shown
    ):
        main = "1. Look.\n2. If the spool is full: go to *Empty the spool*."
        text = page(("MailDown", main), ("Empty the spool", "1. `rm -rf /spool`"), ("B", "- b"))
        given = advised(alert("MailDown", title=title), {MAIL: text})
        assert ("`rm -rf /spool`" in actions(given)) is is_shown
        left = [it for it in given.procedures[0].not_shown if it.why is Why.CASE]
        assert [it.heading for it in left] == ([] if is_shown else ["Empty the spool"])
        assert given.procedures[0].complete is True

    @pytest.mark.parametrize(
        ("line", "is_shown"),
        [
            ("2. Go to *Empty the spool*.", True),
            ("2. Queue above 90 %: it takes hours. Go to *Empty the spool*.", False),
            ("2. The mail is stuck or lost:\n   - lost: wait. Then *Empty the spool*.", False),
            ("2. Do not **flush** it at night. *Empty the spool* is for the daytime.", False),
        ],
    )
    def test_a_line_for_a_case_sends_to_nothing_that_destroys(self, line, is_shown):
        text = page(
            ("MailDown", f"1. Look.\n{line}"),
            ("Empty the spool", "1. `rm -rf /spool`"),
            ("B", "- b"),
        )
        given = advised(alert("MailDown", title="mail is down"), {MAIL: text})
        assert ("`rm -rf /spool`" in actions(given)) is is_shown

    def test_the_line_that_sends_to_the_next_section_is_that_line_and_not_the_heading(self):
        main = "1. Look.\n2. Still full: see the next section."
        text = page(("MailDown", main), ("Spool", "1. Delete it."), ("Other", "1. Look."))
        *_, delete = advised(alert("MailDown"), {MAIL: text}).guidance
        assert delete.guards[0].text == "Still full: see the next section."

    @pytest.mark.parametrize("suffix", ["md", "adoc", "mdx", "org", "html"])
    def test_one_of_several_names_of_a_section_is_followed_on_a_page_in_any_markup(self, suffix):
        other = f"runbooks/disk.{suffix}"
        title, head = (
            ("<h1>Disks</h1>", "<h2>{}</h2>") if suffix == "html" else ("# Disks", "## {}")
        )
        texts = {
            MAIL: f'# Mail down\n\n1. Go to [disks](disk.{suffix}), "Slow disk".\n',
            other: f"{title}\n\n{head.format('Slow disk / 503')}\n\n1. Start slowly.\n\n{head.format('Other')}\n\n1. Look.\n",
        }
        assert actions(advised(question("mail down"), texts))[1:] == ["Start slowly."]

    def test_what_a_page_says_before_its_sections_sends_none_of_them_elsewhere(self):
        said = '{}See [disk.md](disk.md), "The restart".'
        disk = "# Disks\n\n## The restart\n\n1. Wipe it.\n\n## Other\n\n1. Look.\n"
        for caution, steps in (("", []), ("Caution: ", ["Wipe it."])):
            mail = f"# Mail\n\n{said.format(caution)}\n\n## MailDown\n\n1. Restart it.\n\n## MailSlow\n\n1. Look.\n"
            given = advised(alert("MailDown"), {MAIL: mail, "runbooks/disk.md": disk})
            assert actions(given)[1:] == steps

    def test_a_branch_for_another_value_of_the_alerts_label_sends_nowhere(self):
        mail = (
            '# MailDown\n\n1. By link:\n   - **L1 or L2**, both\n     - as in [disk.md](disk.md), "The restart"\n'
            "   - L4\n     - rekey it\n"
        )
        disk = "# Disks\n\n## The restart\n\n1. Wipe it.\n\n## Other\n\n1. Look.\n"
        for link, steps in (("L4", []), ("L2", ["Wipe it."]), ("L9", ["Wipe it."])):
            given = advised(
                alert("MailDown", labels={"link": link}), {MAIL: mail, "runbooks/disk.md": disk}
            )
            assert actions(given)[1:] == steps, link

    def test_of_a_page_that_one_is_sent_to_the_chapter_called_steps_is_given(self):
        texts = {
            MAIL: "# Mail\n\n## MailSealed\n\nSee [seal.md](seal.md). One sealed node of three is none.\n\n## MailSlow\n\n1. Look.\n",
            "runbooks/seal.md": "# Unsealing\n\n## Steps\n\n1. Type it.\n\n## Sealing it\n\n1. Seal it.\n",
        }
        assert actions(advised(alert("MailSealed"), texts))[1:] == ["Type it."]

    def test_a_numbered_section_is_followed_behind_a_link(self):
        texts = {
            MAIL: "# Mail down\n\n1. Go to [../net/vpn.txt](../net/vpn.txt), section 2, tunnel `mail`.\n",
            "net/vpn.txt": "VPN\n===\n\n1  LOAD\n-------\n\n- Look.\n\n2  TUNNELS\n----------\n\n- Flush it.\n",
        }
        assert actions(advised(question("mail down"), texts))[1:] == ["Flush it."]


class TestIndexOfOtherPages:
    """A table of alerts whose procedures stand on pages of their own, which don't name them."""

    INDEX = "alerts.md"
    TEXTS: ClassVar = {
        "runbooks/till.md": "# Tills\n\n## Slow\n\n1. `till top`\n\n## Down\n\n1. `till up`\n",
        "runbooks/stock.md": "# Stock\n\nCopied every minute.\n\n1. `stock status`\n2. `stock resync`\n",
    }
    ROWS = (
        "| `TillLatencyHigh` | page | [tills](runbooks/till.md#slow) |",
        "| `StockLag` | ticket | see [stock](runbooks/stock.md) |",
        "| `TillsClosed` | ticket | [tills](runbooks/till.md) |",
    )

    def given(self, name, rows=ROWS, **more):
        table = "\n".join(
            ["# Alerts", "", "| Alert | Severity | What to do |", "|---|---|---|", *rows]
        )
        texts = {self.INDEX: f"{table}\n", **self.TEXTS, **more}
        return advised(alert(name), texts)

    @pytest.mark.parametrize(
        ("name", "steps"),
        [("TillLatencyHigh", ["`till top`"]), ("StockLag", ["`stock status`", "`stock resync`"])],
    )
    def test_the_section_or_the_page_of_one_matter_that_a_row_links_is_followed(self, name, steps):
        given = self.given(name)
        assert actions(given)[1:] == steps
        assert given.procedures[0].source_file == self.INDEX
        assert given.evidence.strength == "strong"

    def test_a_page_of_several_matters_is_named_and_not_followed(self):
        given = self.given("TillsClosed")
        assert [it.source_file for it in given.procedures] == [self.INDEX]
        assert "runbooks/till.md" in [it.source_file for it in given.procedures[0].not_shown]
        assert given.evidence.strength != "strong"

    def test_a_superseded_page_is_named_and_not_followed(self):
        old = "# Stock\n\n**Superseded by stock2.md.**\n\n1. `stock wipe`\n"
        given = self.given("StockLag", **{"runbooks/stock.md": old})
        assert "`stock wipe`" not in actions(given)

    def test_a_row_that_says_what_to_do_is_a_step_and_its_link_is_none(self):
        row = "| `StockLag` | ticket | wait for ten minutes, as on the page on [stock](runbooks/stock.md) |"
        assert [it.source_file for it in self.given("StockLag", (row,)).procedures] == [self.INDEX]


class TestHeldOff:
    """What a page says instead of its steps, for the case that is asked about."""

    SESSIONS = page(
        (
            "Blocking sessions",
            (
                "1. Ask the user to commit.\n2. Kill the session: `./db kill <sid>`\n\n"
                "Never kill a session with program `BATCHRUN`. Call the batch desk."
            ),
        )
    )
    RESTORE = page(
        (
            "Restore of a machine",
            "*Ransomware suspected: stop here. Call security.*\n\n1. Power it off.\n2. Restore it.",
        )
    )
    LAG = page(
        (
            "Replica lag",
            "For `db-ro-2`: do nothing at night.\n\n1. Cancel the long query on the replica.",
        )
    )

    @pytest.mark.parametrize(
        ("text", "asked", "first", "steps"),
        [
            (
                SESSIONS,
                "a BATCHRUN session blocks all, can I kill it with its program?",
                "Never kill",
                1,
            ),
            (SESSIONS, "sessions are blocking all of mail", "Ask the user", 2),
            (RESTORE, "the machine has ransomware, restore it?", "*Ransomware suspected", 1),
            (RESTORE, "restore of a machine", "Power it off", 2),
            (LAG, "replica lag on db-ro-2", "For `db-ro-2`", 1),
            (LAG, "replica lag on db-ro-1", "Cancel", 1),
        ],
    )
    def test_is_the_only_step_then(self, text, asked, first, steps):
        given = advised(question(asked), {MAIL: text})
        assert len(given.guidance) == steps
        assert given.guidance[0].action.startswith(first)
        left = [it.why for section in given.procedures for it in section.not_shown]
        assert left == ([Why.HELD_OFF] if first[:3] in ("Nev", "*Ra", "For") else [])

    def test_a_prohibition_of_something_else_leaves_the_steps(self):
        text = page(
            ("Vault is sealed", "1. Restart it: `./vault restart`\n\nDon't use the recovery keys.")
        )
        given = advised(
            question("vault is sealed, how do I unseal it? recovery keys?"), {MAIL: text}
        )
        assert actions(given) == ["Restart it: `./vault restart`"]

    def test_a_line_that_says_it_is_still_to_be_written_is_the_answer(self):
        text = page(
            (
                "Common tasks of payouts",
                "- Stop payouts: `./pay stop`\n\nTODO: what to do when creator payouts fail",
            )
        )
        said = "TODO: what to do when creator payouts fail"
        for asked, reason in (
            ("creator payouts fail", f'{MAIL} says that this is still to be written: "{said}"'),
            ("stop payouts", None),
        ):
            given = advised(question(asked), {MAIL: text})
            assert bool(given.guidance) is (reason is None)
            assert reason is None or (
                given.reasoning,
                [it.citation.start_line for it in given.reading],
            ) == (reason, [9])

    def test_what_it_isnt_for_is_said_with_its_lines(self):
        text = "# Gateway\n\nNever on the market VPN.\n\n## Restart\n\n1. Restart it.\n"
        given = advised(question("restart the gateway of the market VPN"), {MAIL: text})
        assert (given.status, given.guidance) == (Status.NO_MATCH, ())
        said = "Never on the market VPN."
        assert given.reasoning == f'{MAIL} says that its steps aren\'t for this: "{said}"'
        assert [(it.citation.start_line, it.citation.end_line) for it in given.reading] == [(3, 3)]

    def test_a_word_of_a_name_that_it_isnt_for_is_not_that_name(self):
        text = "# Drills\n\n## Restore of the imaging index\n\nNever on `imaging-prod`.\n\n1. Restore it.\n"
        for asked, steps in (
            ("restore of the imaging index", ["Restore it."]),
            ("restore of the index of imaging-prod", []),
        ):
            assert actions(advised(question(asked), {MAIL: text})) == steps


class TestWhatIsLeftOutOrGoverns:
    def test_a_list_under_a_todo_heading_gives_no_steps(self):
        text = "# Lab\n\nAbout it.\n\n## Queue\n\n- Free it.\n\n## TODO\n\n- what to do if the microbiology analyser is silent\n"
        given = advised(question("the microbiology analyser is silent"), {MAIL: text})
        assert given.status is Status.NO_MATCH

    def test_a_panel_of_an_export_that_is_called_a_warning_governs_the_steps(self):
        text = (
            "# Brokers\n\n## Disk\n\n"
            '<div class="panel panel-warning"><p>Retention is unlimited by law.</p></div>\n\n1. Add a volume.\n'
        )
        (step,) = advised(question("the brokers' disk is full"), {DISK: text}).guidance
        assert [it.text for it in step.guards if "unlimited" in it.text]

    @pytest.mark.parametrize(
        "asked",
        [
            "how do we get off the backup line of the shop",
            "what do I need to do to return to the normal line of the shop",
            "back to the main line of the shop please",
        ],
    )
    def test_questions_that_want_to_return_get_the_section_for_that(self, asked):
        text = "# Shop line\n\nAbout the line.\n\n## Use the backup line\n\n- Switch to the backup.\n\n## Back from the backup\n\n- Switch to main.\n"
        assert actions(advised(question(asked), {MAIL: text})) == ["Switch to main."]

    def test_a_section_that_asks_whether_it_works_again_undoes_nothing(self):
        text = "# Shop line\n\nAbout the line.\n\n## Turn the banner off\n\n- Take the shop banner off.\n\n## Is it really working again?\n\n- Order a shirt.\n"
        given = advised(
            question("the shop works, can the shop banner end and go back to the usual"),
            {MAIL: text},
        )
        assert actions(given)[0] == "Take the shop banner off."
