"""Which runbook is an alert's own: by map, by link, by name; and the lines of a section."""

from __future__ import annotations

import pytest

from knowledge_rag.core.citations import Citation
from knowledge_rag.evaluation.coverage_rules import Alert, cloudwatch_incident
from knowledge_rag.evaluation.coverage_runbooks import Gap, NamedBy, Runbook, Runbooks, sections_of
from knowledge_rag.evaluation.evaluation_corpus import Documents
from knowledge_rag.extract.yaml_nodes import Place
from tests.support.local import write_files

KUBELET = "# Kubelet\n\nIntro.\n\n## KubeletDown\n\nRestart it.\n\n### More\n\nx\n\n## Steps\n\ny\n"
FILES = {
    "kubelet/KubePodCrashLooping.md": "# Pods\n\nLook at the logs.\n",
    "other/KubePodCrashLooping.md": "# Another team's\n",
    "kubelet/index.md": KUBELET,
    "network/README.md": "# Network\n",
    "copies/dns-down.md": "# DNS\n",
    "copies/old/dns-down.md": "# DNS\n",
    "mixin.md": '# Mixin\n\n##### Alert Name: "KubeNodeNotReady"\n\n+ *Severity*: warning\n',
    "queue-recovery.md": "# Queue recovery\n\n## Symptoms\n\na\n\n## Resolution\n\n### Restore\n\nb\n\n## QueueRestoreFails\n\nc\n\n## Both\n\n### Impact\n\nd\n",
    "untitled.md": "## Symptoms\n\na\n\n## Fix\n\nb\n",
    "Cache Lost.md": "# Cache\n\n## Recover the cache\n\na\n\n## Other\n\nb\n",
    "postmortems/2026-01-etcd.md": "# EtcdNoLeader\n",
    "wiki/4711.md": "---\nsource_url: https://wiki.example/view?pageId=4711\n---\n# Old disk\n",
    "wiki/4712.html": "<title>T</title><h1>New disk</h1><p>Swap it.</p><h2>After</h2><p>Rejoice.</p>",
    "wiki/4712.html.metadata.json": '{"metadataAttributes": {"source_url": "https://wiki.example/new-disk/"}}',
    "db.md": "---\nalerts: [PaymentsDbConnections, Tablespace<name>Full]\n---\n# Connections\n\nKill them.\n",
    "volume-full.prod.md": "---\nalert: VolumeFull\n---\n# Volumes\n\n## VolumeGone\n\nMount it.\n",
    "lists.md": "---\nalerts: [VolumeGone]\n---\n# Lists\n",
    "postmortems/2026-02-db.md": "---\nalerts: [PaymentsDbConnections, PaymentsDbLost]\n---\n# Lost\n",
    "page.html.md": "# Page\n\n## Twice\n\na\n\n## Twice\n\nb\n",
}


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    return Documents.of(write_files(tmp_path_factory.mktemp("x") / "runbooks", FILES))


def own(documents, name, *links, mapping=None):
    alert = Alert(name, "r.yaml", Place(1, 1, 1, 1), cloudwatch_incident(name, ""), links)
    return Runbooks(documents, mapping).own(alert)


def targets(found):
    assert isinstance(found, Runbook), found
    return {(target.source_file, target.lines) for target in found.targets}


@pytest.mark.parametrize(
    ("link", "lines", "around"),
    [
        ("queue-recovery.md", None, ()),
        ("queue-recovery.md#symptoms", (3, 6), (("queue-recovery.md", (1, 21)),)),
        ("queue-recovery.md#restore", (9, 12), (("queue-recovery.md", (1, 21)),)),
        ("queue-recovery.md#impact", (19, 21), (("queue-recovery.md", (17, 21)),)),
        ("queue-recovery.md#both", (17, 21), ()),
        ("runbooks/Cache Lost.md#recover-the-cache", (3, 6), ()),
        ("queue-recovery.md#queuerestorefails", (13, 16), ()),
        ("untitled.md#symptoms", (1, 4), (("untitled.md", None),)),
    ],
)
def test_the_steps_of_a_part_that_every_runbook_has_stand_around_it(documents, link, lines, around):
    found = own(documents, "QueueRestoreFails", link)
    (target,) = found.targets
    assert target.lines == lines
    assert tuple((each.source_file, each.lines) for each in found.around) == around
    last = Citation(target.source_file, 21, 21)
    assert found.may_say(last) is (
        lines is None or 21 in range(lines[0], lines[1] + 1) or bool(around)
    )


@pytest.mark.parametrize(
    ("link", "file", "lines"),
    [
        ("https://x.dev/runbooks/kubelet/kubepodcrashlooping", "kubelet/KubePodCrashLooping.md", None),
        ("https://g.com/o/r/blob/main/runbooks/other/KubePodCrashLooping.md?plain=1", "other/KubePodCrashLooping.md", None),
        ("kubelet/kube-pod-crash-looping.html", "kubelet/KubePodCrashLooping.md", None),
        ("{{ $externalURL }}/kubelet/KubePodCrashLooping.md", "kubelet/KubePodCrashLooping.md", None),
        ("See the runbook (other/KubePodCrashLooping.md).", "other/KubePodCrashLooping.md", None),
        ("https://x.dev/kubelet/", "kubelet/index.md", None),
        ("https://x.dev/kubelet/#kubeletdown", "kubelet/index.md", (5, 12)),
        ("https://x.dev/kubelet/index.html#KubeletDown", "kubelet/index.md", (5, 12)),
        ("https://x.dev/network", "network/README.md", None),
        ("network/README.md", "network/README.md", None),
        ("https://x.dev/mixin.md#alert-name-kubenodenotready", "mixin.md", (3, 5)),
        ("https://gone.dev/#alert-name-KubeNodeNotReady", "mixin.md", (3, 5)),
        ("mixin", "mixin.md", None),
        ("page.html.md#twice-1", "page.html.md", (7, 9)),
        ("page.html.md#twice", "page.html.md", (3, 6)),
        ("https://WIKI.example/view?pageId=4711#old-disk", "wiki/4711.md", (4, 4)),
        ("https://wiki.example/new-disk#after", "wiki/4712.html", (5, 7)),
        ("https://x.dev/wiki/4712#after", "wiki/4712.html", (5, 7)),
        ("https://x.dev/postmortems/2026-01-etcd", "postmortems/2026-01-etcd.md", None),
    ],
)  # fmt: skip
def test_a_link_leads_to_the_file_whose_path_fits_its_end_best(documents, link, file, lines):
    found = own(documents, "KubeNodeNotReady", link)
    assert targets(found) == {(file, lines)}
    assert found.by is NamedBy.LINK


@pytest.mark.parametrize(
    ("link", "gap", "says"),
    [
        ("https://x.dev/nothing", Gap.MISSING, "names https://x.dev/nothing, and no document in"),
        ("https://x.dev/", Gap.MISSING, "no document"),
        ("https://[::1/a", Gap.MISSING, "no document"),
        ("https://x.dev/kubelet/#gone", Gap.MISSING, "kubelet/index.md has no heading of that name"),
        ("https://x.dev/README.md", Gap.MISSING, "no document"),
        ("https://wiki.other.example/teams/search/dns-down.md", Gap.MISSING, "matches that; another folder has copies/dns-down.md, copies/old/dns-down.md"),
        ("https://x.dev/a/b/dns-down", Gap.MISSING, "another folder has copies/dns-down.md"),
        ("https://x.dev/kubelet.md", Gap.MISSING, "no document"),
        ("https://x.dev/KubePodCrashLooping", Gap.AMBIGUOUS, "may be kubelet/KubePodCrashLooping.md, other/Kube"),
    ],
)  # fmt: skip
def test_a_link_that_leads_nowhere_or_anywhere_is_a_gap_even_if_a_document_has_the_name(
    documents, link, gap, says
):
    found = own(documents, "KubePodCrashLooping", link)
    assert found.gap is gap
    assert says in found.message


def test_copies_of_one_text_are_one_runbook(documents):
    copies = {("copies/dns-down.md", None), ("copies/old/dns-down.md", None)}
    assert targets(own(documents, "A", "https://x.dev/dns-down")) == copies
    assert targets(own(documents, "DnsDown")) == copies


def test_the_first_link_that_leads_somewhere_counts(documents):
    found = own(documents, "A", "https://x.dev/dashboard", "kubelet/index.md#steps")
    assert targets(found) == {("kubelet/index.md", (13, 15))}


def test_without_a_link_a_file_or_heading_of_the_alert_s_name_is_its_runbook(documents):
    found = own(documents, "KubePodCrashLooping")
    assert found.by is NamedBy.NAME
    assert len(targets(found)) == 2
    assert targets(own(documents, "kubelet-down")) == {("kubelet/index.md", (5, 12))}
    assert targets(own(documents, "KubeNodeNotReady")) == {("mixin.md", (3, 5))}
    assert targets(own(documents, "DnsDown0A1B2C3D")) == targets(own(documents, "DnsDown"))


@pytest.mark.parametrize(
    ("name", "file", "lines"),
    [
        ("PaymentsDbConnections", "db.md", None),
        ("payments-db-connections", "db.md", None),
        ("TablespaceOrdersFull", "db.md", None),
        ("PaymentsDbConnections0A1B2C3D", "db.md", None),
        ("VolumeFull", "volume-full.prod.md", None),
        ("VolumeGone", "volume-full.prod.md", (6, 8)),
    ],
)
def test_a_page_that_ask_calls_filed_under_the_alert_s_name_is_its_runbook_behind_a_heading(
    documents, name, file, lines
):
    found = own(documents, name)
    assert targets(found) == {(file, lines)}
    assert found.by is NamedBy.NAME


@pytest.mark.parametrize("name", ["PaymentsDbLost", "EtcdNoLeader", "Kubelet Up", "!", "index2"])
def test_neither_a_report_of_an_incident_nor_half_a_name_is_a_runbook(documents, name):
    found = own(documents, name)
    assert found.gap is Gap.NO_RUNBOOK
    assert name in found.message


def test_a_map_goes_before_everything_and_may_be_wrong_too(documents):
    mapping = {"A": "kubelet/index.md#Kubelet Down", "B": "gone.md"}
    found = own(documents, "A", "https://x.dev/dns-down", mapping=mapping)
    assert (targets(found), found.by) == ({("kubelet/index.md", (5, 12))}, NamedBy.MAP)
    assert own(documents, "B", mapping=mapping).gap is Gap.MISSING


def test_the_folder_s_own_name_is_part_of_a_path(documents):
    assert targets(own(documents, "A", "https://x.dev/runbooks/mixin")) == {("mixin.md", None)}


def test_sections_reach_to_the_next_heading_of_their_level():
    text = "---\ntitle: t\n---\n# A\n\n## B\n\nb\n\n### C\n\n```\n# no heading\n```\n\n## D\nd"
    assert [(section.heading, section.lines) for section in sections_of(text)] == [
        ("A", (4, 17)), ("B", (6, 15)), ("C", (10, 15)), ("D", (16, 17)),
    ]  # fmt: skip


def test_anchors_are_github_s_and_those_that_authors_set():
    text = (
        "# The `orders_db` [writer](x.md) is down: what now?\n\n"
        "## Steps {#fix}\n\n<a name='Old-Name'></a>\n\n## Steps\n\n## <a id=three></a>Three\n"
    )
    anchors = [section.anchors for section in sections_of(text)]
    assert anchors == [
        ("the-orders_db-writer-is-down-what-now",),
        ("steps", "fix"),
        ("steps-1", "old-name"),
        ("three", "three"),
    ]
    assert sections_of("no heading\n") == ()
