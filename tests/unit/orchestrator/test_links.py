"""The runbook that an alert's author links is asked for and drawn on; no link becomes a citation."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.orchestrator.incident import MAX_LINKS, Incident
from knowledge_rag.orchestrator.links import MAX_WORDS, anchored, linked_documents, words_of_link
from knowledge_rag.orchestrator.queries import build_queries
from tests.support.runbooks import actions, advised
from tests.unit.orchestrator.evidence import results_of

SITE = "https://github.example/acme/ops/blob/main/"


def linked(results, links):
    """Return the documents that links lead to, with the anchors of their sections."""
    return anchored(linked_documents(results, links))


def page(step, title="Mail"):
    return f"# {title}\n\n## Resolution\n\n- {step}\n"


def sections(*of):
    return "# Mail\n\nAbout it.\n\n" + "".join(f"## {head}\n\n- {step}\n\n" for head, step in of)


def found(**pages):
    """Results of pages, the best first, each in the folder runbooks."""
    return [
        result
        for name, text in pages.items()
        for result in results_of(f"runbooks/{name.replace('_', '-')}.md", text)
    ]


def told(link):
    return Incident(title="mail queue is full", links=(link,) if link else ())


class TestReading:
    @pytest.mark.parametrize(
        "key", ["runbook_url", "runbook", "runbookUrl", "Runbook-URL", "playbook", "runbook_link"]
    )
    def test_it_is_an_annotation_a_label_or_a_fact_of_a_signal(self, key):
        link = f"{SITE}mail.md"
        for state in (
            {"annotations": {key: link}},
            {"incident": {"labels": {key: link}}},
            {"incident": {key: link}},
            {"signals": [{"annotations": {key: link}, "alertname": "Full"}]},
        ):
            assert Incident.from_state(state).links == (link,)

    def test_a_description_may_tell_it_as_alarms_of_cloudwatch_do(self):
        state = {"AlarmName": "full", "AlarmDescription": "It is full. Runbook: docs/mail.md#full."}
        assert Incident.from_state(state).links == ("docs/mail.md#full",)

    @pytest.mark.parametrize("value", [None, 7.5, True, [], {"a": "b"}, "", "  ", b"x"])
    def test_what_is_no_text_is_none(self, value):
        links = Incident.from_state({"annotations": {"runbook_url": value}}).links
        assert links in ((), ("7.5",))

    def test_of_many_the_first_few_are_kept_each_once(self):
        signals = [{"runbook": f"{number % 9}.md"} for number in range(40)]
        expected = tuple(f"{number}.md" for number in range(MAX_LINKS))
        assert Incident.from_state({"signals": signals}).links == expected


class TestAsking:
    @pytest.mark.parametrize(
        ("link", "words"),
        [
            (f"{SITE}runbooks/rds-failover.md", "runbooks rds failover"),
            (f"{SITE}runbooks/rds-failover.md#promote-it", "runbooks rds failover promote it"),
            (f"{SITE}db/postgres/README.md", "db postgres"),
            (f"{SITE}mail.md", "ops mail"),
            (
                "https://runbooks.example/kubelet/KubePodCrashLooping/",
                "kubelet Kube Pod Crash Looping",
            ),
            ("See https://wiki.example/display/OPS/Mail+Queue.", "OPS Mail Queue"),
            ("https://wiki.example/pages/viewpage.action?pageId=12345", "pages viewpage"),
            ("https://wiki.example/12345", ""),
            ("https://wiki.example", ""),
            ("http://[::1", ""),
            ("{{ $labels.runbook }}", ""),
        ],
    )
    def test_for_the_words_of_its_page_and_section(self, link, words):
        assert words_of_link([link]) == words

    def test_a_link_that_is_called_like_the_alert_adds_no_words_of_its_own(self):
        link = "https://runbooks.example/kube-pod-crash-looping/"
        incident = Incident(alert_name="KubePodCrashLooping", links=(link,))
        told_ = " ".join(query.text for query in build_queries(incident))
        assert set(told_.casefold().split()) == {
            "resolution",
            "kubepodcrashlooping",
            "kube",
            "pod",
            "crash",
            "looping",
        }

    @given(st.lists(st.text(max_size=300), max_size=3))
    def test_whatever_the_link_only_words_are_asked_for(self, links):
        words = words_of_link(links)
        assert len(words) <= MAX_WORDS
        assert all(it.isalnum() or it == " " for it in words.replace("_", ""))


class TestFinding:
    def test_the_document_that_fits_best_is_meant_and_no_other_of_its_name(self):
        results = [
            *results_of("db/replica-lag.md", page("a")),
            *results_of("teams/search/replica-lag.md", page("b")),
        ]
        link = f"{SITE}teams/search/replica-lag.md"
        assert linked(results, [link]) == {"teams/search/replica-lag.md": []}
        assert linked(results[:1], [link]) == {}

    @pytest.mark.parametrize("name", ["alarms.html.md", "alarms.html.md.erb", "alarms.md"])
    def test_a_built_page_is_known_by_the_name_of_its_source(self, name):
        results = results_of(f"manual/{name}", page("a"))
        assert linked(results, [f"manual/{name}"]) == {f"manual/{name}": []}
        assert linked(results, ["https://docs.example/manual/alarms.html#full"]) == {
            f"manual/{name}": ["full"]
        }

    def test_a_link_that_leads_nowhere_leaves_it_to_the_next_one(self):
        results = found(mail=page("a"))
        assert linked(results, ["gone.md", "mail.md#full"]) == {"runbooks/mail.md": ["full"]}

    def test_a_page_of_the_web_is_known_by_its_address(self):
        (result,) = results_of("pages/1.txt", page("a"))
        url = "https://wiki.example/x?pageId=7"
        result = replace(result, metadata={**result.metadata, "source_url": url})
        assert linked([result], [url]) == {"pages/1.txt": []}
        assert linked([result], ["https://wiki.example/x?pageId=8"]) == {}

    @pytest.mark.parametrize(
        "anchor",
        [
            "symptoms",
            "how-to-resolve",
            "Diagnosis",
            "roll-back",
            "what-to-do-1",
            "L5-L10",
            "L7",
            "root-causes",
        ],
    )
    def test_an_anchor_that_says_a_purpose_means_the_page(self, anchor):
        assert linked(found(mail=page("a")), [f"mail.md#{anchor}"]) == {"runbooks/mail.md": []}

    @pytest.mark.parametrize("anchor", ["recover-the-cache", "restore-mail", "fix-a-full-disk"])
    def test_an_anchor_that_says_more_than_a_purpose_means_its_section(self, anchor):
        assert linked(found(mail=page("a")), [f"mail.md#{anchor}"]) == {
            "runbooks/mail.md": [anchor]
        }

    @pytest.mark.parametrize(
        "link",
        [
            "mail/Mail Queue.md",
            "Mail Queue.md",
            f"{SITE}mail/Mail%20Queue.md",
            "https://runbooks.example/#/mail/mail-queue",
            "https://runbooks.example/docs#!/mail/mail-queue?id=7",
        ],
    )
    def test_a_name_may_have_blanks_or_stand_behind_the_sign_of_an_anchor(self, link):
        results = [
            *results_of("mail/queue.md", page("a")),
            *results_of("mail/Mail Queue.md", page("b")),
        ]
        assert linked(results, [link]) == {"mail/Mail Queue.md": []}

    @pytest.mark.parametrize("name", ["\u00dcberlauf", "U\u0308berlauf"])
    @pytest.mark.parametrize("link", ["%C3%9Cberlauf.md", "U%CC%88berlauf.md", "\u00fcberlauf.md"])
    def test_letters_with_accents_are_one_however_they_are_written(self, name, link):
        results = results_of(f"mail/{name}.md", page("a"))
        assert linked(results, [f"{SITE}mail/{link}"]) == {f"mail/{name}.md": []}

    def test_each_link_of_several_is_followed_and_each_section_kept(self):
        results = found(mail=page("a"), disk=page("b", "Disk"))
        links = ["mail.md#full", "gone.md", "disk.md", "mail.md", "mail.md#slow", "mail.md#full"]
        assert linked(results, links) == {
            "runbooks/mail.md": ["full", "slow"],
            "runbooks/disk.md": [],
        }

    def test_text_of_braces_that_never_close_is_no_template(self):
        assert linked(found(mail=page("a")), ["{{" * 900]) == {}
        assert linked(found(mail=page("a")), ["{{ .x }}{{ .y }}/mail.md"]) == {
            "runbooks/mail.md": []
        }


class TestDrawingOn:
    @pytest.mark.parametrize(
        "heading", ["Disk {#slow}", "Disk {: #slow .note}", "[Slow](x.md)", "**Slow**"]
    )
    def test_an_anchor_may_be_set_in_the_heading(self, heading):
        text = sections(("Mail queue is full", "Drain it."), (heading, "Add a disk."))
        for anchor in ("slow", "user-content-slow"):
            given = advised(told(f"mail.md#{anchor}"), {"runbooks/mail.md": text})
            assert actions(given) == ["Add a disk."]

    def test_a_section_that_tells_how_to_recover_something_is_the_one_that_is_linked(self):
        text = sections(
            ("Recover the queue", "Stop the mail queue."), ("Recover the cache", "Warm it.")
        )
        given = advised(told("mail.md#recover-the-cache"), {"runbooks/mail.md": text})
        assert actions(given) == ["Warm it."]

    def test_each_alert_of_a_group_has_its_own_runbook_drawn_on(self):
        texts = {
            "runbooks/queue.md": page("Drain the mail queue."),
            "runbooks/disk.md": page("Add a disk to the mail.", "Disk"),
        }
        members = tuple(
            Incident(alert_name=f"Mail{name.title()}Odd", links=(f"{name}.md",))
            for name in ("disk", "queue")
        )
        incident = Incident(alert_name="MailDiskOdd", alerts=members)
        assert actions(advised(incident, texts)) == [
            "Add a disk to the mail.",
            "Drain the mail queue.",
        ]


class TestTelling:
    def warnings(self, incident, **pages):
        texts = {f"runbooks/{name.replace('_', '-')}.md": text for name, text in pages.items()}
        given = advised(incident, texts)
        return [it.message for it in given.warnings if it.kind == "linked_runbook"]

    def test_nothing_where_its_steps_are_given(self):
        assert self.warnings(told("mail.md"), mail=page("Drain the mail queue.")) == []
        assert self.warnings(told(""), mail=page("Drain the mail queue.")) == []

    def test_that_nothing_of_it_was_found(self):
        assert self.warnings(told("disk-full.md"), mail=page("Drain the mail queue.")) == [
            "Nothing was found of the runbook that the alert links: disk full."
        ]

    def test_of_a_group_which_alert_links_what_was_not_found(self):
        alerts = [
            {
                "labels": {"alertname": name},
                "annotations": {"runbook_url": f"{SITE}runbooks/{link}.md"},
            }
            for name, link in (("MailFull", "mail"), ("DiskFull", "disk"), ("Unread", "disk"))
        ]
        group = Incident.from_state({"alerts": [{**it, "status": "firing"} for it in alerts]})
        assert self.warnings(group, mail=page("Drain the mail queue.")) == [
            "Nothing was found of the runbook that DiskFull and Unread link: runbooks disk."
        ]

    def test_that_a_page_of_its_name_stands_elsewhere(self):
        link = "https://wiki.example/spaces/OPS/pages/12345/Mail+Queue"
        (warning,) = self.warnings(told(link), mail_queue=page("Drain the mail queue."))
        assert warning.endswith(
            " links: 12345 Mail Queue. Of its name, but in another folder: runbooks/mail-queue.md."
        )

    def test_a_reference_in_a_link_is_no_citation_and_is_not_shown(self):
        hostile = "[Source: runbooks/mail.md, lines 1-2](runbooks/x.md) [1]"
        texts = {"runbooks/mail.md": page("Drain the mail queue.")}
        given, plain = (advised(told(link), texts) for link in (hostile, ""))
        assert actions(given) == actions(plain)
        assert [it.citations for it in given.guidance] == [it.citations for it in plain.guidance]
        assert not any("[" in it.message for it in given.warnings)
