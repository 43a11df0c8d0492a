"""What of a page is one subject, what it refers to by other names, and what holds for all of it."""

from __future__ import annotations

import pytest

from knowledge_rag.core.headings import is_called_rules, label_in_series
from knowledge_rag.core.outcome import Status
from knowledge_rag.orchestrator.links import documents_called
from tests.support.runbooks import actions, advised, alert, consulted, question

PAGE = "runbooks/push.md"
ALERTS = "alerts.md"


def guards_of(text, page, step=0):
    return [it.text for it in advised(question(text), {PAGE: page}).guidance[step].guards]


class TestSubjects:
    SEVERAL = (
        "# Push gateway\n\nIt sends push messages.\n\n## Apple keys\n\n- [ ] Renew the apple key.\n\n## Google quota\n\n"
        "- [ ] Lower the google rate.\n\n## Token clean-up\n\n- [ ] Stop the clean-up.\n"
    )

    def test_of_a_page_of_several_the_best_one_is_given_where_its_top_is_found(self):
        given = advised(question("push gateway google quota of the messages"), {PAGE: self.SEVERAL})
        assert actions(given) == ["[ ] Lower the google rate."]

    def test_numbered_headings_are_chapters_unless_half_of_them_instruct(self):
        subjects = self.SEVERAL.replace("## A", "## 1. A").replace("## G", "## 2. G")
        given = advised(question("apple keys of the push gateway"), {PAGE: subjects})
        assert actions(given) == ["[ ] Renew the apple key."]
        steps = subjects.replace("1. Apple keys", "1. Check apple").replace(
            "## Token", "## 3. Stop"
        )
        assert len(actions(advised(question("check apple push"), {PAGE: steps}))) == 3

    def test_headings_called_part_are_chapters(self):
        page = (
            "# Renderer\n\n## Part 1 - Workers hang\n\n1. Stop the old ones.\n\n## Part 2 - Wrong logo\n\n1. Roll the template back.\n\n"
            "## Part 3: Fonts\n\n1. Install them, see part 1.\n"
        )
        given = advised(question("a wrong logo of the renderer"), {PAGE: page})
        assert actions(given) == ["Roll the template back."]

    def test_a_heading_that_a_question_spells_out_is_meant_without_its_letter(self):
        page = "# rides-pg\n\n## A. Writer down\n\n1. Fail over.\n\n## C. A reader lags\n\n1. End the query.\n"
        given = advised(question("rides-pg: a reader lags"), {PAGE: page})
        assert actions(given) == ["End the query."]

    def test_a_bare_heading_stands_for_the_best_of_its_subjects(self):
        page = (
            "# Databases\n\n## Exam database\n\n### Storage low\n\n1. Grow the storage.\n\n### Failover\n\n1. Reboot it.\n\n"
            "## Other\n\n1. Wait.\n"
        )
        given = advised(question("exam database storage low"), {PAGE: page})
        assert actions(given) == ["Grow the storage."]

    def test_a_question_about_a_section_sends_nobody_there(self):
        page = (
            "# Grid\n\n## GridLeaderDown\n\nIs anybody moving it (section 8)?\n\n1. Promote it.\n\n"
            "## 8. Moving it\n\n1. Move it.\n"
        )
        assert actions(advised(alert("GridLeaderDown"), {PAGE: page})) == ["Promote it."]
        sent = page.replace("Is anybody moving it (section 8)?", "Move it first (section 8).")
        assert "Move it." in actions(advised(alert("GridLeaderDown"), {PAGE: sent}))

    def test_a_chain_of_cases_ends_at_its_first_section(self):
        page = (
            "# Queue\n\n## QueueSlow\n\n1. Look.\n2. Nothing moves: see [Stuck](#stuck).\n\n## Stuck\n\n"
            "- `lock held` -> [Free it](#free-it)\n- else wait\n\n## Free it\n\n1. Free the lock.\n"
        )
        given = actions(advised(alert("QueueSlow"), {PAGE: page}))
        assert "`lock held` -> [Free it](#free-it)" in given
        assert "Free the lock." not in given
        needed = page.replace("- `lock held` ->", "1. Then do").replace("- else", "2. else")
        assert "Free the lock." in actions(advised(alert("QueueSlow"), {PAGE: needed}))


class TestSpelledOut:
    TEXT = (
        "# Limits\n\n## Raising a limit\n\n1. Everybody who is refused calls.\n2. Raise it for those refused.\n\n"
        "## Everybody is refused\n\n1. Look at the limiter.\n\n## Other\n\n1. Wait.\n"
    )

    def test_a_heading_that_a_question_has_in_full_is_meant(self):
        given = advised(question("Everybody is refused"), {PAGE: self.TEXT})
        assert actions(given) == ["Look at the limiter."]

    def test_one_with_less_than_half_of_its_words_is_not(self):
        text = self.TEXT.replace("Everybody is refused\n\n1. Look", "Limiter\n\n1. Look")
        given = advised(
            question("raise the limit of the limiter for a customer's sale"), {PAGE: text}
        )
        assert "Look at the limiter." not in actions(given)

    def test_a_section_below_the_named_one_is_meant(self):
        page = (
            "# Caches\n\nAbout caches.\n\n## hold-cache\n\nNever flush it.\n\n### memory full\n\n1. Sweep.\n\n"
            "### primary node failed\n\n1. Freeze.\n\n## fare-cache\n\n1. Purge.\n"
        )
        given = advised(question("hold-cache: primary node failed, what do I do?"), {PAGE: page})
        assert actions(given) == ["Freeze."]

    def test_a_row_whose_first_cell_it_has_is_its_case(self):
        page = (
            "# Machines\n\n| Symptom | Do |\n|---|---|\n| Out of service 17 | Close the door of the service. |\n"
            "| Out of service 21 | Empty the service box. |\n| Out of paper | Fill the service up. |\n"
        )
        given = advised(question("machine shows out of service 17"), {PAGE: page})
        assert [it.rpartition(": ")[2] for it in actions(given)] == [
            "Close the door of the service."
        ]


class TestOtherPages:
    RADIUS = "# Radius\n\n## EAP certificate\n\n1. Copy the old one.\n\n## P5 Reset\n\n1. Reset it.\n\n## P6 Wait\n\n1. Wait.\n"

    @pytest.mark.parametrize(
        ("said", "step"),
        [
            ('radius.md, "EAP certificate"', "Copy the old one."),
            ("[radius](../net/radius.md), procedure P5", "Reset it."),
            ("P5 in radius.md comes first", "Reset it."),
            ("net/radius.md#certificate", "Copy the old one."),
        ],
    )
    def test_are_found_by_the_end_of_their_path_and_the_label_of_their_section(self, said, step):
        texts = {
            ALERTS: f"# Alerts\n\n## CertExpires\n\n1. {said}.\n\n## Other\n\n1. Look.\n",
            "it/net/radius.md": self.RADIUS,
        }
        assert step in actions(advised(alert("CertExpires"), texts))

    def test_one_that_search_did_not_return_is_looked_for_by_its_name(self):
        texts = {
            ALERTS: '# Alerts\n\n## CertExpires\n\n1. zone/radius.md, "EAP certificate".\n\n## Other\n\n1. Look.\n',
            "it/zone/radius.md": self.RADIUS,
        }
        assert "Copy the old one." in actions(advised(alert("CertExpires"), texts))

    def test_a_name_with_blanks_is_one_name(self):
        texts = {
            ALERTS: '# Alerts\n\n## SlurmDown\n\n1. hpc/slurm notes.md, "daemon".\n\n## Other\n\n1. Look.\n',
            "hpc/slurm notes.md": "# Slurm\n\n## daemon\n\n1. Start it.\n\n## Other\n\n1. b\n",
        }
        assert "Start it." in actions(advised(alert("SlurmDown"), texts))

    @pytest.mark.parametrize(
        ("cluster", "step"), [("ceph-core", "Reset it."), ("ceph-hpc", "Wait.")]
    )
    def test_of_the_cases_in_a_sentence_the_alerts_label_decides(self, cluster, step):
        texts = {
            ALERTS: "# Alerts\n\n## NearFull\n\n`ceph-core` → radius.md, P5. `ceph-*` → radius.md, P6.\n\n## B\n\n1. b\n".replace(
                "ceph-*", "ceph-h*"
            ),
            "net/radius.md": self.RADIUS,
        }
        incident = alert("NearFull", labels={"cluster": cluster})
        assert actions(advised(incident, texts))[1:] == [step]

    @pytest.mark.parametrize(
        "said", ["https://other.example/net/radius.md#P5", "/doc/net/radius.md#P5"]
    )
    def test_a_page_of_a_web_site_is_none(self, said):
        texts = {
            ALERTS: f"# Alerts\n\n## CertExpires\n\n1. See {said}\n\n## Other\n\n1. Look.\n",
            "net/radius.md": self.RADIUS,
        }
        given = advised(alert("CertExpires"), texts)
        assert actions(given) == [f"See {said}"]
        assert given.procedures[0].complete is True

    def test_their_queries_are_few(self):
        links = " ".join(f"[a](a{n}.md#x)" for n in range(9))
        texts = {ALERTS: f"# Alerts\n\n## Odd\n\n1. {links}\n\n## B\n\n1. b\n"}
        findings = consulted(alert("Odd"), texts).findings
        assert len(findings.asked) + len(findings.completions) <= 12

    def test_a_path_means_the_document_that_it_is_the_end_of(self):
        files = ["network/radius.txt", "old/radius.txt", "radius-old.txt"]
        assert documents_called("network/radius.txt", files) == ["network/radius.txt"]
        assert documents_called("other.txt", files) == []


class TestForAll:
    @pytest.mark.parametrize(
        "heading",
        [
            "Preconditions for everything here",
            "For all of it",
            "K0 Rules",
            "2 House rules",
            "Before anything",
        ],
    )
    def test_a_heading_says_so(self, heading):
        assert is_called_rules(heading)

    @pytest.mark.parametrize(
        "heading", ["Restart for all tenants", "Restart everything", "Rulesets"]
    )
    def test_others_do_not(self, heading):
        assert not is_called_rules(heading)

    @pytest.mark.parametrize(
        "lead",
        [
            "Rules that hold for every procedure here:",
            "**READ THIS FIRST. Valid for the entire page.**",
        ],
    )
    def test_words_say_so_of_the_list_below_them(self, lead):
        page = f"# DCS\n\nAbout it.\n\n{lead}\n\n- Tell the duty manager.\n\n## Host down\n\n1. Restart it.\n\n## Other\n\n1. b\n"
        assert any("Tell the duty manager." in it for it in guards_of("host down", page))

    def test_labels_count_in_a_series_alone(self):
        assert label_in_series("K5 Replay") == ("K5", "K")
        page = "# Buckets\n\n## S3 is slow\n\n1. Wait for S3.\n\n## Other\n\n1. See S3.\n"
        assert actions(advised(question("buckets: other"), {PAGE: page})) == ["See S3."]

    def test_the_alias_of_a_command_comes_with_it(self):
        page = (
            "# Ledger\n\n## The cluster\n\n```\nalias pct='patronictl -c x'\n```\n\n## Ledger switchover\n\n1. `pct list`\n\n"
            "## Other\n\n1. b\n"
        )
        assert "alias pct='patronictl -c x'" in guards_of("ledger switchover", page)


class TestNotForThis:
    @pytest.mark.parametrize(
        "said",
        ["Not the season board, that is `redis-season`.", "`redis-season` has its own page.",
         "If you are looking at redis-season you are on the wrong page.",
         "Not to be confused with redis-season.", "- `redis-season`: crew, not on this page."],
    )  # fmt: skip
    def test_what_a_page_sets_apart_is_declined_with_its_words(self, said):
        page = f"# redis-live\n\n{said}\n\n## Memory of redis high\n\n1. Flush it.\n\n## Other\n\n1. b\n"
        given = advised(question("memory of redis-season-0 high"), {PAGE: page})
        assert (given.status, given.guidance) == (Status.NO_MATCH, ())
        assert said in given.reasoning
        assert actions(advised(question("memory of redis high"), {PAGE: page})) == ["Flush it."]

    @pytest.mark.parametrize(
        "heading",
        [
            "Open points",
            "OPEN / TO DO",
            "Things I haven't written down",
            "stuff to write down sometime",
        ],
    )
    def test_open_points_are_no_steps(self, heading):
        page = f"# CDN\n\n## Purge\n\n1. Purge it.\n\n## {heading}\n\n- The switch to the second CDN isn't described.\n"
        given = advised(question("how do we switch to the second CDN"), {PAGE: page})
        assert given.guidance == ()

    def test_a_thing_that_a_line_below_the_steps_excludes_gets_its_words(self):
        page = "# Events\n\n## Replay the queue\n\n1. Replay it.\n\nNot for `stock-moves`: ask dba.\n\n## Other\n\n1. b\n"
        given = advised(question("replay the queue of stock-moves"), {PAGE: page})
        assert given.guidance == ()
        assert "Not for `stock-moves`" in given.reasoning
        assert actions(advised(question("replay the queue"), {PAGE: page})) == ["Replay it."]

    def test_a_stop_below_the_steps_is_for_those_in_the_middle_of_them(self):
        page = "# DCS\n\n## Host down\n\n1. Restart the host.\n\nIf a second host goes down: stop here.\n\n## Other\n\n1. b\n"
        assert "Restart the host." in actions(advised(question("dcs host down"), {PAGE: page}))

    def test_undoing_that_repeats_the_steps_comes_with_them(self):
        page = (
            "# Database\n\n## Planned switchover\n\n1. Switch the database.\n2. Look.\n\n"
            "To undo, switch over once more. Same steps.\n\n## Other\n\n1. b\n"
        )
        given = actions(advised(question("undo a planned switchover"), {PAGE: page}))
        assert "Switch the database." in given


class TestCodes:
    """A line with a code from the question, and one reference, is an index entry, as one with an alert's name is."""

    PAGE = (
        "# Carrier connectors\n\n## Bind lost\n\n1. Look at the log of the connector.\n\n- {entry}\n\n2. Restart the connector.\n\n"
        "## Password rejected\n\n1. Call the carrier.\n\n## Throttled\n\n1. Lower the rate of the connector.\n"
    )

    @pytest.mark.parametrize(
        ("entry", "said"),
        [
            ("`0x0000000E`: go to [it](#password-rejected).", "the connector gets 0x0000000E"),
            ("DS0E: see **Password rejected**", "bind lost, the connector log has DS0E"),
            ("`MODE: frozen` → **Password rejected**", "connector bind lost, it says MODE: frozen"),
        ],
    )
    def test_a_line_with_the_questions_code_says_which_section_is_meant(self, entry, said):
        page = self.PAGE.format(entry=entry)
        assert actions(advised(question(said), {PAGE: page})) == ["Call the carrier."]

    def test_the_code_of_another_line_does_not(self):
        page = self.PAGE.format(entry="DS0E: see **Password rejected**")
        given = actions(advised(question("bind lost, the connector log has DS1F"), {PAGE: page}))
        assert "Call the carrier." not in given[:1]

    def test_a_remark_on_a_name_of_the_question_is_no_index_entry(self):
        page = (
            "# Shop\n\n## Roll back a deployment\n\nOnly for `shop-web` and `shop-checkout`. Workers must not be rolled back like this, "
            "see [Workers](#workers).\n\n1. Go back.\n\n## Workers\n\n1. Set the worker to zero.\n\n## Other\n\n1. b\n"
        )
        given = actions(advised(question("how do I roll back shop-checkout"), {PAGE: page}))
        assert given[0] == "Go back."


class TestRowsOfOneAlert:
    PAGE = (
        "# Verdicts\n\n## Symptoms\n\n| Symptom | Action |\n|---|---|\n| `VerdictLag`, pods Running | skip the message |\n"
        "| `VerdictLag`, pods OOMKilled | go back to the old model |\n| `VerdictLag` in all regions | page the lead |\n"
        "| queue is long | wait |\n"
    )

    @pytest.mark.parametrize(
        ("said", "left"),
        [
            ("12 of 12 pods Running", ["skip the message"]),
            ("three were OOMKilled", ["go back to the old model"]),
            ("late in all regions", ["page the lead"]),
            ("26 minutes late", ["skip the message", "go back to the old model", "page the lead"]),
        ],
    )
    def test_the_incidents_words_say_which_case_of_the_alert_it_is(self, said, left):
        given = actions(advised(alert("VerdictLag", description=said), {PAGE: self.PAGE}))
        assert [next(it for it in left if it in action) for action in given] == left
