"""Numbers before headings and lines: steps of one procedure, or chapters of a page of many."""

import pytest

from knowledge_rag.core.headings import Kind, instructs, is_called_rules, kind_of_heading, number_of
from tests.support.runbooks import actions, advised, alert, outlined, procedure_in, question

PAGE = "runbooks/orders-db.md"
CHAPTERS = """# Orders database

## 1. Rules

- Between 17:00 and 21:00 the incident commander decides.

## 2. Connections exhausted

Alert: `OrdersConnections`

1. See who holds them: `./db who`
2. End the idle ones: `./db idle --end`

## 3. Storage low

Alert: `OrdersStorage`

1. Look for a dead slot: `./db slots`
2. Something is slow: go to section 4 first.

## 4. Long transactions

1. Find the root: `./db blockers`
2. Cancel it: `./db cancel <pid>`

## 5. Old pages

Full disk: delete files in `pg_wal`.
"""
STEPS = """# Renew the token

## 1. Issue a new token

1. Open the vault.
2. Choose the account.

## 2. Update the secret

1. Copy the token.
2. Restart the service: `./svc restart`
"""


class TestHeadings:
    def test_a_chapter_is_given_alone_with_the_rules_and_the_chapter_that_it_names(self):
        given = advised(alert("OrdersStorage"), {PAGE: CHAPTERS})
        assert actions(given) == [
            "Look for a dead slot: `./db slots`",
            "Something is slow: go to section 4 first.",
            "Find the root: `./db blockers`",
            "Cancel it: `./db cancel <pid>`",
        ]
        assert any("the incident commander decides" in it.text for it in given.guidance[0].guards)

    @pytest.mark.parametrize(
        ("marks", "said", "is_given"),
        [
            ("ab", "go to 4.", True),
            ("ab", "as in 4 b).", True),
            ("ab", "see 4 of them.", False),
            ("34", "go to 4.", False),
            ("12", "go to D.", True),
            ("12", "go to D and look.", False),
        ],
    )
    def test_a_number_alone_names_a_chapter_where_no_step_has_it(self, marks, said, is_given):
        first, second = (f"{it})" for it in marks)
        page = CHAPTERS.replace("1. Look", f"{first} Look")
        page = page.replace(
            "2. Something is slow: go to section 4 first.", f"{second} If slow: {said}"
        )
        if "D" in said:
            page = page.replace("## 4. Long", "## D. Long")
        given = actions(advised(alert("OrdersStorage"), {PAGE: page}))
        assert ("Find the root: `./db blockers`" in given) is is_given

    def test_two_chapters_that_count_make_all_of_them_chapters(self):
        text = "".join(
            f"## {n}. {name}\n\n{text}\n\n"
            for n, (name, text) in enumerate(
                [
                    ("Store", "1.1 Close it.\n1.2 Call."),
                    ("Refunds", "Look at them."),
                    ("Card testing", "3.1 Captcha on.\n3.2 Tell Stripe."),
                    ("Limits", "10,000."),
                    ("Chargebacks", "Not ours."),
                ],
                1,
            )
        )
        given = advised(question("card testing"), {PAGE: f"# Fraud\n\n{text}"})
        assert actions(given) == ["Captcha on.", "Tell Stripe."]

    @pytest.mark.parametrize("mark", ["## {}. ", "## Step {}: ", "## Step {} - "])
    def test_headings_that_instruct_are_steps_of_one_procedure_though_they_count_anew(self, mark):
        text = STEPS.replace("## 1. ", mark.format(1)).replace("## 2. ", mark.format(2))
        given = advised(question("renew the token: issue a new one"), {PAGE: text})
        assert [it.split(":")[0] for it in actions(given)] == [
            "Open the vault.",
            "Choose the account.",
            "Copy the token.",
            "Restart the service",
        ]

    def test_headings_that_instruct_are_steps_below_one_that_says_so(self):
        text = (
            "# Snapshots\n\n## Recovery {}\n\nIn this order:\n\n1. Create a disk\n2. Attach it\n3. The rest\n\n"
            "### Create a disk\n\n- Run a.\n\n### Attach it\n\n- Run b.\n\n### The rest\n\n- Run barman.\n\n"
            "## Other\n\n- c\n"
        )
        asked = question("snapshots: run barman for the rest of it")
        given = advised(asked, {PAGE: text.format("steps")})
        assert actions(given) == ["Run a.", "Run b.", "Run barman."]
        assert not any("In this order" in it.text for it in given.guidance[0].guards)
        assert actions(advised(asked, {PAGE: text.format("tasks")})) == ["Run barman."]

    @pytest.mark.parametrize(
        ("names", "given"),
        [
            (("Confirm it is down", "Purge it"), ["Run a.", "Run barman."]),
            (("Remove a", "Remove b"), ["Run barman."]),
        ],
    )
    def test_below_an_instruction_others_are_its_steps_and_the_same_are_cases(self, names, given):
        text = "# Disks\n\n## Remove a disk\n\n### {}\n\n- Run a.\n\n### {}\n\n- Run barman.\n\n## Other\n\n- c\n"
        asked = question("disks: run barman for it")
        assert actions(advised(asked, {PAGE: text.format(*names)})) == given

    def test_a_page_of_steps_is_one_procedure_whatever_stands_beside_them(self):
        text = (
            "# Reprocess days\n\nNot while billing runs.\n\n### 1. Stop the writers\n\n`stop`\n\n### 2. Mark the days\n\n`mark`\n\n"
            "### 3. Release\n\n`release`\n\n## Rollback (before step 3)\n\n1. `unmark` the days to reprocess.\n\n"
            "## Stop it halfway\n\n1. `halt`\n"
        )
        given = advised(question("reprocess two days, step by step"), {PAGE: text})
        assert actions(given)[:3] == ["stop", "mark", "release"]
        undone = advised(question("reprocessed days, how do I roll back"), {PAGE: text})
        assert actions(undone) == ["`unmark` the days to reprocess."]

    def test_chapters_below_a_procedure_leave_the_pages_other_parts_to_each(self):
        text = (
            "# Host failure\n\n## 1 Purpose\n\nTo restore service.\n\n## 2 Prerequisites\n\n- A ticket exists.\n\n"
            "## 3 Procedure\n\n### 3.1 Host not responding\n\n1. Check it over iLO.\n2. Reset it.\n\n"
            "### 3.2 Cluster of the plant\n\n1. Call the desk.\n2. Power on by hand.\n\n"
            "## 4 Rollback\n\n- Take it out of maintenance.\n"
        )
        given = advised(question("a host in the cluster of the plant died"), {PAGE: text})
        assert actions(given) == [
            "Call the desk.",
            "Power on by hand.",
            "Take it out of maintenance.",
        ]

    def test_what_describes_a_page_of_chapters_means_none_of_them(self):
        text = (
            "Skip to the content\n\n# Exchange\n\n## 1. Purpose\n\nMailboxes are restored quickly.\n\n## 2. Procedures\n\n"
            "### 2.1 Database down\n\n1. Look.\n2. Mount it.\n\n### 2.2 Volume full\n\n1. Look.\n2. Move them.\n"
        )
        given = advised(question("how are mailboxes restored quickly"), {PAGE: text})
        assert actions(given) == []

    def test_responsibilities_come_with_each_chapter(self):
        text = (
            "# Storage\n\n## 2 Responsibilities\n\nGrowing a volume takes two engineers.\n\n## 5 Procedures\n\n"
            "### 5.1 Paths lost\n\n1. Look.\n2. Rescan.\n\n### 5.2 Grow a volume\n\n1. Stop.\n2. Grow it.\n"
        )
        given = advised(question("grow a volume"), {PAGE: text})
        assert "Growing a volume takes two engineers." in {
            it.text for it in given.guidance[0].guards
        }

    @pytest.mark.parametrize(
        ("heading", "kind"),
        [
            ("5. Oracle archive log area full", Kind.OTHER),
            ("Archive", Kind.OBSOLETE),
            ("Archived steps", Kind.OBSOLETE),
            ("Phase 3: Verify (until 240 min)", Kind.VERIFICATION),
            ("Until 2024", Kind.OBSOLETE),
            ("By hand (no longer in use)", Kind.OBSOLETE),
            ("Until version 3", Kind.OBSOLETE),
            ("Rejected alternatives", Kind.OBSOLETE),
            ("Legacy", Kind.OBSOLETE),
            ("Draft - do not use", Kind.OBSOLETE),
            ("Payments are rejected", Kind.OTHER),
            ("Job cancelled", Kind.OTHER),
            ("Legacy gateway", Kind.OTHER),
            ("\u274c By hand", Kind.PROHIBITED),
            ("Bad example", Kind.PROHIBITED),
            ("Before v3", Kind.OBSOLETE),
            ("1 Purpose", Kind.BACKGROUND),
        ],
    )
    def test_what_a_heading_says_of_age(self, heading, kind):
        assert kind_of_heading(heading) is kind

    @pytest.mark.parametrize(
        "heading",
        ["2. Rules", "READ FIRST", "Rules for the whole page", "3 Prerequisites", "Scope"],
    )
    def test_rules_hold_for_what_is_beside_them(self, heading):
        assert is_called_rules(heading)

    def test_a_headings_number(self):
        assert [
            number_of(it) for it in ("4.3 Cluster", "2. Rules", "Step 3", "502 errors", "x")
        ] == [
            "4.3",
            "2",
            "",
            "",
            "",
        ]


class TestItems:
    def test_lines_that_count_by_two_numbers_are_items_with_their_own_numbers(self):
        text = (
            "GATEWAY\n=======\n\nCOPY STANDS STILL\n-----------------\n\n"
            "  1.1  call the desk\n  1.2  free space: more than 20 GB\n       - less: move a folder\n"
            "  1.3  restart the copy\n       NOT the whole stack.\n"
        )
        items = procedure_in(text, "COPY STANDS STILL", "ot/gateway.txt").items
        assert [it.number for it in items] == ["1.1", "1.2", "1.3"]
        assert [(it.start, it.end) for it in items] == [(7, 7), (8, 9), (10, 11)]
        assert items[0].parts[0].text == "call the desk"

    @pytest.mark.parametrize(
        "text",
        ["1.5 GB are needed.\n\n2.5 GB are better.\n", "It takes\n1.1 or\n1.2 seconds.\n"],
    )
    def test_amounts_are_prose(self, text):
        assert not [
            it
            for section in outlined(text).root.walk()
            for block in section.blocks
            for it in block.items
        ]

    def test_a_heading_that_is_underlined_keeps_its_number(self):
        text = "1.1 Fail over\n-------------\n\nDo it.\n\n1.2 Fail back\n-------------\n\nDo it.\n"
        for source in ("a.txt", "a.md"):
            headings = [it.heading for it in outlined(text, source).root.walk() if it.heading]
            assert headings == ["1.1 Fail over", "1.2 Fail back"]


INDEX = """
## 6. Alerts

| Alert | Team | Chapter |
|-|-|-|
| `OrdersPoolFull` | data | 2 |
| `OrdersDiskFull` | data | "Storage low" |
| `OrdersTwoOfThree` | data | none, hold everything (chapter 4 step 1) and call 4455 at once |
| `OrdersMany` | data | chapter 2, else chapter 3 |
"""


class TestIndex:
    @pytest.mark.parametrize(
        ("name", "first"),
        [
            ("OrdersPoolFull", "See who holds them: `./db who`"),
            ("OrdersDiskFull", "Look for a dead slot: `./db slots`"),
        ],
    )
    def test_an_alert_gets_the_section_that_its_row_names_and_nothing_else(self, name, first):
        given = advised(alert(name), {PAGE: CHAPTERS + INDEX})
        assert actions(given)[0] == first
        assert given.evidence.reasons == ("it is filed under the alert's name",)

    @pytest.mark.parametrize("name", ["OrdersTwoOfThree", "OrdersMany"])
    def test_a_row_that_says_more_or_names_two_sends_nowhere(self, name):
        given = advised(alert(name), {PAGE: CHAPTERS + INDEX})
        assert given.procedures[0].path[-1] == "6. Alerts"


class TestAbove:
    def test_code_that_no_words_lead_into_is_what_the_numbered_steps_are_for(self):
        text = (
            "# Disk\n\n## DiskFull\n\n```promql\nfree < 0.1\n```\n\n1. Look.\n2. Delete nothing.\n"
        )
        given = advised(alert("DiskFull"), {PAGE: text})
        assert [it.number for it in given.guidance] == ["1.", "2."]
        assert any("free < 0.1" in it.text for it in given.guidance[0].guards)

    @pytest.mark.parametrize("steps", ["- Look.", "1. Look.", ""])
    def test_code_stays_a_step_where_words_lead_into_it_or_nothing_is_counted(self, steps):
        lead = "Ask it:\n\n" if steps.startswith("1") else ""
        text = f"# Disk\n\n## DiskFull\n\n{lead}```\ndf -h\n```\n\n{steps}\n"
        given = advised(alert("DiskFull"), {PAGE: text})
        assert "df -h" in (given.guidance[0].action, *given.guidance[0].commands)


def test_what_a_chapter_that_only_describes_sets_apart_as_a_warning_holds_for_those_below():
    page = (
        "# Databases\n\n## 1 Landscape\n\n| Name | Host |\n|---|---|\n| P01 | a |\n\n> **Danger:** Look at the prompt.\n\n"
        "> They are old.\n\n## 2 OrdersStorage\n\n1. Prune it.\n2. Look.\n\n## 3 OrdersSlow\n\n1. Look.\n2. Wait.\n"
    )
    step, _ = advised(alert("OrdersStorage"), {PAGE: page}).guidance
    said = [it.text for it in step.guards]
    assert any("Look at the prompt." in it for it in said)
    assert not any("They are old." in it for it in said)


def test_a_numbered_heading_that_names_what_is_done_to_something_counts_no_step():
    assert instructs("5 Restart the server")
    assert not instructs("5 Restart of the server (patch day only)")


@pytest.mark.parametrize(
    ("heading", "are"),
    [("Applies to everything here", True), ("For all procedures below", True), ("For every node", False)],
)  # fmt: skip
def test_a_heading_that_applies_to_everything_is_one_of_rules(heading, are):
    assert is_called_rules(heading) is are


OF_ALERTS = """# Store

## Alerts

### StoreQueueFull

1. Add a worker: `./store workers +1`

### StoreRingCheckFailing

The ring could not be read for ten minutes.

Look at the error in the log. Mostly the ring's own store is down: see there first.

### StoreOwnerUnknown

1. Delete the tenant: `./store drop <tenant>`
"""


@pytest.mark.parametrize("asked", [alert, lambda name: question(f"{name} ring could not be read")])
def test_what_an_alerts_own_section_says_is_all_there_is_for_it_even_in_prose(asked):
    given = advised(asked("StoreRingCheckFailing"), {PAGE: OF_ALERTS})
    assert actions(given) == [
        "The ring could not be read for ten minutes.",
        "Look at the error in the log. Mostly the ring's own store is down: see there first.",
    ]
