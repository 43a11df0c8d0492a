"""Pages as people keep them (notes in bold and in plain text, SOPs) and alerts that are called by a sentence."""

import pytest

from knowledge_rag.core.headings import Kind, kind_of_heading
from knowledge_rag.orchestrator.extent import procedures_at
from knowledge_rag.orchestrator.naming import tells
from knowledge_rag.orchestrator.outline import LABEL_LEVEL, Form
from knowledge_rag.orchestrator.procedures import Why
from knowledge_rag.orchestrator.wanted import Place, Wanted
from tests.support.runbooks import (
    actions,
    advised,
    alert,
    consulted,
    outlined,
    question,
    section_called,
)

NOTES = """page planning - notes

planner-01 runs, planner-02 is a cold standby.

**bridge**
the bridge moves the stories. To fix:
 - restart it: `./bridge restart`
 - check it: `./bridge check`

**move to the standby**
needs two people because one checks
a. stop it: `./planner stop`
b. nothing may be left of it: `pgrep planner`
   if the machine can't be reached, pull its power
c. start it there: `./planner start`

**pages are missing**
see the queue: `./planner queue`
"""
PLAIN = """BATCH OPERATIONS
================

Document   SOP-12
Revision   6
Supersedes rev 3 (see the folder superseded)
--------------------------------------------

1     PURPOSE

      How the batch is moved.

4.1   Which one?

      a) host answers                 -> 4.2
      b) host is lost                 -> 4.3

4.2   Planned move

      Not while a cast runs.

      4.2.1  Log in: ssh batch
      4.2.2  Move it: batchctl move
             and wait.

4.3   Move after a loss

      1. Fence the old one: batchctl fence
      2. Take it over: batchctl take
"""
BOX = """box notes

the boxes in the shops.

box offline (BoxOffline)

 - ping it: `boxctl ping`
 - reboot it: `boxctl cycle`

disk full (BoxDisk)

 the dumps are too many.
   boxctl clean-dumps

screen black

 boxctl restart kiosk
"""


class TestBoldLines:
    def test_a_line_in_bold_is_a_heading_though_its_text_follows_at_once(self):
        labels = [it.heading for it in outlined(NOTES).sections() if it.level == LABEL_LEVEL]
        assert labels == ["bridge", "move to the standby", "pages are missing"]

    def test_one_that_is_underlined_keeps_its_level(self):
        text = "**Payments**\n============\n\nIntro.\n\n**Card dead**\n-------------\n\n**Steps**\nDo it.\n"
        levels = [(it.level, it.heading) for it in outlined(text).sections() if it.level]
        assert levels == [(1, "Payments"), (2, "Card dead"), (LABEL_LEVEL, "Steps")]

    def test_a_matter_of_notes_is_given_alone_with_its_lettered_steps(self):
        given = advised(question("move planner to the standby"), {"notes/planner.md": NOTES})
        assert [step.number for step in given.guidance] == ["a.", "b.", "c."]
        assert actions(given)[-1].startswith("start it there")

    def test_a_letter_and_a_dot_alone_is_no_item(self):
        (block,) = outlined("# Ask\n\na. Schmidt has the key.\n").root.children[0].blocks
        assert block.form is Form.PARAGRAPH


class TestPlainText:
    def test_numbered_lines_above_indented_ones_are_headings_and_the_indent_is_no_code(self):
        outline = outlined(PLAIN, "sop/batch.txt")
        forms = {it.heading: [block.form for block in it.blocks] for it in outline.sections()}
        assert forms["4.1 Which one?"] == [Form.LIST]
        assert forms["4.2 Planned move"] == [Form.PARAGRAPH, Form.LIST]
        assert forms["4.3 Move after a loss"] == [Form.LIST]

    def test_steps_that_count_by_three_numbers_keep_them(self):
        given = advised(question("planned move of the batch"), {"sop/batch.txt": PLAIN})
        assert [step.number for step in given.guidance] == ["4.2.1", "4.2.2"]

    def test_the_facts_above_a_line_are_no_heading_and_supersede_nothing(self):
        assert not any("Supersedes" in it.heading for it in outlined(PLAIN, "a.txt").sections())

    def test_several_lines_alone_above_indented_ones_are_headings(self):
        given = advised(alert("BoxDisk"), {"text/box.txt": BOX})
        assert len(given.guidance) == 1
        assert "boxctl clean-dumps" in given.guidance[0].action

    @pytest.mark.parametrize("line", ["Restart the kiosk", "ask me if unsure. (left 2023)"])
    def test_one_alone_is_none_nor_are_instructions(self, line):
        text = f"Kiosk\n=====\n\nIntro.\n\n{line}\n\n    kioskctl restart\n"
        assert [it.heading for it in outlined(text, "kiosk.txt").sections()] == ["", "Kiosk"]


class TestTitles:
    @pytest.mark.parametrize(
        ("written", "title", "is_told"),
        [
            ("-80 freezer above -65", "-80 freezer F09 above -65", True),
            ("Drive N media error", "Hyllan: Drive 3 media error", True),
            ("p95_ads above 800 ms", "p95_ads above 800 ms", True),
            ("-20 freezer above -12", "-80 freezer F09 above -65", False),
            ("Drive N needs cleaning", "Hyllan: Drive 3 media error", False),
            ("media error", "Hyllan: Drive 3 media error", False),
            ("Drive N media error", "backup of A-7 failed at 03:00 on Drive 3 with a media error there", False),
        ],
    )  # fmt: skip
    def test_a_heading_is_an_alerts_title_without_its_values(self, written, title, is_told):
        assert tells(written, title) is is_told

    def test_a_row_whose_symptom_is_the_title_is_given_alone(self):
        page = (
            "# Tape\n\n| Symptom | Do |\n|-|-|\n| `Drive N wants cleaning` | clean it |\n"
            "| Slow, or `Drive N media error` | test the tape in another drive |\n| `Robot not ready` | see below |\n\n"
            "## Robot not ready\n\n1. Open the door.\n"
        )
        name = "Hyllan: Drive 3 media error"
        given = consulted(alert(name, title=name), {"tape.md": page})
        (procedure,) = given.findings.plan.procedures
        assert [it.text for it in procedure.items if "test the tape" in it.text] == [
            procedure.items[0].text
        ]
        left = [it.heading for it in procedure.not_shown if it.why is Why.OTHER]
        assert left == ["Robot not ready"]

    def test_of_two_sections_of_one_name_a_label_tells_even_if_it_is_a_name_too(self):
        page = "# Queues\n\n## QueueStuck (q-main)\n\n1. Drop it.\n\n## QueueStuck (q-legal)\n\n1. Call the lawyer.\n"
        incident = alert(
            "QueueStuck", title="q-legal: oldest is 200 s old", labels={"queue": "q-legal"}
        )
        assert actions(advised(incident, {"queues.md": page})) == ["Call the lawyer."]


def test_an_alarm_of_another_thing_is_not_given_the_steps_of_one_that_ends_alike():
    page = "# quill-db\n\nAlarms: `quill-db-replica-lag`, `quill-db-down`.\n\n## Replica lag\n\n1. Remove the replica.\n"
    texts = {"quill.md": page}
    assert actions(advised(alert("quill-db-replica-lag"), texts)) == ["Remove the replica."]
    assert not advised(alert("subs-db-replica-lag"), texts).guidance


def test_a_row_brings_the_one_whose_code_it_names():
    page = (
        "# Faults\n\n| Code | Do |\n|-|-|\n| S-101 | set it inoperative |\n| S-140 coolant low | below 20 %: as S-101 |\n"
        "| S-160 | limit it |\n| S-170 | reset it |\n"
    )
    given = advised(alert("S-140 coolant low"), {"faults.md": page})
    assert [it for it in ("S-101", "S-140", "S-160", "S-170") if any(f"Code: {it}" in one for one in actions(given))] == [
        "S-101",
        "S-140",
    ]  # fmt: skip


class TestReferences:
    PAGE = (
        "# Topics\n\n| topic | may be shortened |\n|-|-|\n| clicks | yes |\n\n## Disk full\n\n1. Shorten as far as in the table.\n"
        "2. Run the check (below).\n3. Else see the addresses at the end of this page.\n\n## Check for gaps\n\n1. Count them.\n\n"
        "## Other\n\n1. Restart.\n\nAddresses: 192.0.2.7\n"
    )

    def test_the_only_table_what_stands_at_the_end_and_what_stands_below_come_with_a_step(self):
        given = advised(question("topics disk full"), {"topics.md": self.PAGE})
        assert actions(given)[3:] == ["Count them."]
        said = [it.text for step in given.guidance for it in step.guards]
        assert any("clicks" in it for it in said)
        assert any("192.0.2.7" in it for it in said)


@pytest.mark.parametrize(
    ("first", "second", "is_undone"),
    [
        ("Open the gate", "Close the gate", True),
        ("Block a charger", "Unblock a charger", True),
        ("Open the gate", "Close the door", False),
        ("Restart the gate", "Close the gate", False),
    ],
)
def test_of_two_headings_with_opposite_verbs_the_second_undoes_the_first(first, second, is_undone):
    outline = outlined(f"# Gates\n\n## {first}\n\n1. Do.\n\n## {second}\n\n1. Do so.\n")
    assert (section_called(outline, second).kind is Kind.ROLLBACK) is is_undone
    assert section_called(outline, first).kind is not Kind.ROLLBACK


def test_what_is_unconfirmed_confirms_nothing_and_a_scope_is_no_procedure():
    assert kind_of_heading("6 Unconfirmed run") is Kind.OTHER
    assert kind_of_heading("1 Purpose and scope") is Kind.BACKGROUND


class TestContacts:
    CONTACTS = (
        "# Who to call\n\n| What | Who | Number |\n|-|-|-|\n| Archive product | archive support | 4301 |\n"
        "| Sequencer | the vendor | 4410 |\n| Freezers | biobank | 4420 |\n"
    )

    @property
    def texts(self):
        archive = "# Archive product\n\n1. Restart the archive.\n"
        return {"escalation.md": self.CONTACTS, "archive.md": archive}

    def test_places_and_people_in_a_question_whom_to_call_need_not_be_documented(self):
        given = advised(
            question("library in Leeds can't open the archive product, do I have to wake anyone"),
            self.texts,
        )
        assert [
            it.citation.source_file for step in given.guidance for it in step.citations[:1]
        ] == ["escalation.md"]
        assert "archive support" in actions(given)[0]

    def test_what_they_do_not_have_is_not_answered_by_them(self):
        assert not advised(question("who do I call about Terraform in Leeds"), self.texts).guidance


def test_a_gateway_that_something_is_not_on_is_what_the_page_is_for():
    page = "# Gateway\n\nThe old chargers are NOT on this gateway.\n\n## Gateway down\n\n1. Restart it.\n"
    assert actions(advised(question("charger gateway down"), {"gateway.md": page})) == [
        "Restart it."
    ]


CASSANDRA = {
    "cassandra.md": "# Cassandra\n\n## Replace a dead node\n\nIts disk is lost, its disk is full, or the node is high.\n\n1. Wipe it.\n\n"
    "## Disk nearly full\n\n1. Clear snapshots.\n"
}


class TestToldTogether:
    def test_a_heading_tells_the_alerts_name_with_the_name_of_its_page(self):
        incident = alert("CassandraDiskHigh", description="disk of the node is full, node high")
        given = advised(incident, CASSANDRA)
        assert actions(given) == ["Clear snapshots."]
        assert given.evidence.reasons == (
            "its heading and its page's name have all words of the alert's name",
        )

    @pytest.mark.parametrize("name", ["CassandraBackupDiskHigh", "KafkaDiskHigh"])
    def test_not_with_another_thing_or_number(self, name):
        reasons = getattr(advised(alert(name), CASSANDRA).evidence, "reasons", ())
        assert not any(it.startswith("its heading and its page's name") for it in reasons)

    @pytest.mark.parametrize(
        ("name", "title", "heading"),
        [
            ("KubeNodeNotReady", "Kubernetes nodes", "Node is NotReady"),
            ("CheckinHostUnhealthy", "Departures", "P1 - one check-in host is down"),
            ("CheckinHostUnhealthy", "Departures", "2. Check-in host dead"),
        ],
    )
    def test_a_short_word_a_hyphen_and_the_headings_own_number_count(self, name, title, heading):
        page = f"# {title}\n\n## {heading}\n\n1. Look at it.\n\n## Draining\n\n1. Drain it.\n"
        given = advised(alert(name), {"page.md": page})
        assert actions(given) == ["Look at it."]
        assert given.evidence.reasons[0].startswith("its heading and its page's name")

    @pytest.mark.parametrize("name", ["KubeNodeNotReady", "KubNodeDown"])
    def test_the_short_word_has_to_begin_a_word_of_the_pages_name(self, name):
        page = (
            "# Machines\n\n## Node is NotReady\n\n1. Look at it.\n\n## Draining\n\n1. Drain it.\n"
        )
        reasons = getattr(advised(alert(name), {"page.md": page}).evidence, "reasons", ())
        assert not any(it.startswith("its heading and its page's name") for it in reasons)

    @pytest.mark.parametrize(
        ("name", "step"), [("HostDown", "Restart it."), ("AllHostsDown", "Call the lead.")]
    )
    def test_a_section_about_one_is_not_for_an_alert_about_all(self, name, step):
        page = "# Desk\n\n## One host is down\n\n1. Restart it.\n\n## All hosts are down\n\n1. Call the lead.\n"
        assert actions(advised(alert(name), {"desk.md": page}))[0] == step


def test_what_is_to_be_written_in_the_section_for_the_task_is_said_instead_of_its_steps():
    page = "# Telemetry db\n\n## Backups\n\nTo see them: `pgb info`.\n\nTODO: restore to a point in time. (Ask Yusuf.)\n"
    given = advised(question("telemetry db backups: restore to 14:00"), {"db.md": page})
    assert not given.guidance
    said = "TODO: restore to a point in time. (Ask Yusuf.)"
    assert given.reasoning == f'db.md says that this is still to be written: "{said}"'


SOP = """STANDARD OPERATING PROCEDURE    SOP-7
Issue 6
-------------------------------------

0   SCOPE AND DANGER

0.1 For the two machines in room 1.
0.2 Never open Q4 and Q2 together.

-------------------------------------
PART A   MONTHLY TEST (Wednesday)

A.1  Tell the desk.
A.2  Press START.

PART B   POWER CUT
the machine has to start by itself

B.1  Look at the lamp.
B.2  Not started:
     B.2.1  Press START.
     B.2.2  Wait.
"""


class TestParts:
    def test_lines_in_capitals_are_headings_and_steps_count_by_letters(self):
        given = advised(question("power cut: the lamp"), {"sop/power.txt": SOP})
        assert [step.number for step in given.guidance] == ["B.1", "B.2"]
        assert "B.2.1  Press START." in given.guidance[1].action
        assert any("Never open Q4" in it.text for it in given.guidance[0].guards)

    def test_a_part_of_another_page_is_named_by_its_letter(self):
        robots = "# Robots\n\n## ZoneStop\n\n1. Get the cause.\n2. COMMS: go to [power](power.txt), part B.\n"
        given = advised(alert("ZoneStop"), {"robots.md": robots, "power.txt": SOP})
        assert actions(given)[2:3] == ["Look at the lamp."]

    def test_a_file_and_a_heading_in_brackets_name_a_section(self):
        stop = '# Stop\n\n## ZoneStop\n\n1. Take it off as in power.md ("Monthly test").\n'
        power = "# Power\n\n## Monthly test\n\n1. Press START.\n"
        given = advised(alert("ZoneStop"), {"stop.md": stop, "power.md": power})
        assert actions(given)[1:] == ["Press START."]


def test_what_a_page_says_that_it_does_not_cover_is_declined():
    page = "# Gateway\n\nThere's a third one, gw-brk, elsewhere. Not covered here.\n\n## Gateway values old\n\n1. Restart it.\n"
    assert actions(advised(question("gateway values old"), {"gw.md": page})) == ["Restart it."]
    given = advised(question("gw-brk: gateway values old"), {"gw.md": page})
    said = "There's a third one, gw-brk, elsewhere. Not covered here."
    assert (given.guidance, given.reasoning) == (
        (),
        f'gw.md says that its steps aren\'t for this: "{said}"',
    )


def test_a_section_headed_by_the_incidents_own_thing_comes_before_the_page():
    page = "# orders-db (Cloud SQL instance up)\n\nIts sister is basket-db.\n\n## Primary down\n\n1. Fail over.\n\n## basket-db\n\n1. Leave it.\n"
    incident = alert("Cloud SQL instance up", title="basket-db is down", labels={"db": "basket-db"})
    assert actions(advised(incident, {"orders-db.md": page})) == ["Leave it."]


def test_a_title_that_has_words_of_a_sentence_is_no_section_of_its_own():
    page = "# GKE shop-prod\n\n## Pods pending\n\n1. Raise the pool.\n\n## Node NotReady\n\n1. Cordon the node.\n"
    incident = alert("GKE node NotReady: gke-shop-prod-7d1c")
    assert actions(advised(incident, {"gke.md": page})) == ["Cordon the node."]


def test_an_alerts_name_in_one_word_is_no_other_ones():
    texts = {"a.md": "# KubeNodeNotReady\n\n1. Drain it.\n", "b.md": "# Other\n\n1. b\n"}
    assert advised(alert("KubeNodeNotReady"), texts).guidance
    assert not advised(alert("KubeNodeReadinessFlapping"), texts).guidance


@pytest.mark.parametrize(
    ("asked", "guard", "page"),
    [
        (
            "robots offline",
            "Stay on the phone.",
            (
                "# Robots\n\n## 0. Landscape\n\nFor every command on this page:\n\n1. Call the lead.\n2. Stay on the phone.\n\n"
                "## 1. Robots offline\n\n1. Restart the master.\n2. Look again.\n\n## 2. Map wrong\n\n1. Load the map.\n2. Look.\n"
            ),
        ),
        (
            "trunk down",
            "Calls must not be cut.",
            (
                "# Trunks\n\n## 1 Overview\n\nTwo carriers.\n\n### 1.1 Before you touch anything\n\nCalls must not be cut.\n\n"
                "## 2 Trunk down\n\n1. Drain it.\n2. Restart it.\n\n## 3 Card broken\n\n1. Swap it.\n2. Look.\n"
            ),
        ),
    ],
)
def test_lists_behind_words_for_all_of_a_page_and_rules_in_its_description_come_with_its_chapters(
    asked, guard, page
):
    (first, *_) = advised(question(asked), {"page.md": page}).guidance
    assert any(guard in it.text for it in first.guards)


def test_what_describes_a_short_page_of_chapters_stands_for_all_of_it():
    page = (
        "# Withdrawal\n\n## 1 Purpose and scope\n\nA report went to a wrong hospital.\n\n"
        "## 3 Withdrawal\n\n1. Stop the channels.\n2. Mark it.\n\n## 4 Corrected one\n\n1. Release it.\n2. Lift the stop.\n"
    )
    for text, count in ((page, 4), (page + "".join(f"{n}. Do {n}.\n" for n in range(3, 20)), 0)):
        outline = outlined(text)
        place = Place(outline, section_called(outline, "1 Purpose and scope"))
        given = procedures_at(place, Wanted(text="wrong hospital"))
        assert sum(len(it.items) for it in given) == count


def test_of_a_page_called_by_going_and_back_the_part_that_returns_is_given():
    page = "# Move to the other site and back\n\n## Go\n\n- [ ] Switch the site.\n\n## Return\n\n- [ ] Test the site.\n"
    given = advised(question("the site is repaired, how do we move back"), {"move.md": page})
    assert actions(given) == ["[ ] Test the site."]


def test_a_chapter_named_by_its_numbers_is_followed_and_a_limit_is_none():
    page = (
        "# Power\n\n## 4.1 When the mains fail\n\n- under 20 min: start 4.2 without asking\n- load above -> 4.3 GB: wait\n\n"
        "## 4.2 Shutdown\n\n1. Stop it.\n2. Look.\n\n## 4.3 Start\n\n1. Start it.\n2. Look.\n"
    )
    given = advised(question("power: when the mains fail"), {"power.md": page})
    assert "Stop it." in actions(given)
    assert "Start it." not in actions(given)
