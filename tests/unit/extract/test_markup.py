"""Documents in other markup than Markdown: each line as Markdown means it, each citation a line of the file."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.core.chunking import ChunkingSettings
from knowledge_rag.core.formats import MARKUP_SUFFIXES, is_document, is_extracted
from knowledge_rag.extract.documents import cut, extract, fingerprint
from knowledge_rag.extract.markup import READERS, as_markdown
from knowledge_rag.extract.org import read_org
from tests.support.exactness import assert_exact

RST = {
    "titles by the order of their underlines": ("A\n=\n\n####\nB\n####\n\nC\n---", "# A\n\n\n## B\n\n\n\n### C\n"),
    "a target belongs to the section below": ("x\n\n.. _a:\n\nA\n~~~", "x\n\n# A\n\n\n"),
    "no title": ("text\n--\n\n====\n\n- item\n------", "text\n\\--\n\n\\====\n\n- item\n\\------"),
    "literal block": ("Run::\n\n  a\n    b\n\ntext", "Run:\n```\na\n  b\n```\ntext"),
    "literal block without room": ("Run::\n\n  a\ntext", "Run:\n\n    a\ntext"),
    "code in an item": (
        "#. one\n\n   .. code-block:: sh\n      :linenos:\n\n      ls\n\n   more\n#. two",
        "1. one\n\n\n   ```sh\n\n   ls\n   ```\n   more\n2. two",
    ),
    "lists": ("(3) a\n(4) b\n\na. x\n\n   * y", "3. a\n4. b\n\na) x\n\n   * y"),
    "admonition in a line": (".. warning:: Never\n   alone.\n\ntext", "> **Warning:** Never\n> alone.\n\ntext"),
    "admonition with a body": (".. danger::\n\n   Wait.\n\ntext", "!!! danger\n\n    Wait.\n\ntext"),
    "admonition in an item": ("- a\n\n  .. note::\n\n     Wait.", "- a\n\n  > **Note:**\n  >\n  > Wait."),
    "title of what is folded": (".. dropdown:: More\n\n   x", '!!! note "More"\n\n    x'),
    "tabs": (
        ".. tabs::\n\n   .. tab:: A\n\n      #. x\n\n   .. tab:: B\n\n      #. y",
        '\n\n=== "A"\n\n    1. x\n\n=== "B"\n\n    1. y',
    ),
    "nothing is included": (
        ".. include:: /etc/passwd\n.. raw:: html\n\n   <b>\n\n.. literalinclude:: /etc/shadow\n\n.. a comment\n   of two lines\n\nx",
        "\n\n\n\n\n\n\n\n\n\nx",
    ),
    "simple table": ("== ==\nA  B\n== ==\n1  2\n== ==", "\n| A | B |\n| --- | --- |\n| 1 | 2 |\n"),
    "grid table": ("+--+--+\n|A |B |\n+==+==+\n|1 |2 |\n+--+--+\n|3 |4 |\n+--+--+",
                   "\n| A | B |\n| --- | --- |\n| 1 | 2 |\n|  |  |\n| 3 | 4 |\n"),
    "running text": ("``a b`` :ref:`x <y>` `z <http://z>`_ :cmd:`ls`", "`a b` [x](y) [z](http://z) `ls`"),
    "definition": ("term\n    what\n\n    more", "term\nwhat\n\nmore"),
    "what only Markdown takes for a mark": ("# not a heading\n\n> not a quotation", "\\# not a heading\n\n\\> not a quotation"),
    "field": (":Owner: platform", "Owner: platform"),
    "references to sections": (
        "Go to :ref:`re-init`, :ref:`it <re-init>`, `Start again`_, re-init_ or :ref:`no`.\n\n.. _re-init:\n\nStart again\n-----------",
        "Go to [Start again](#start-again), [it](#start-again), [Start again](#start-again), [Start again](#start-again) or `no`.\n\n# Start again\n\n\n",
    ),
    "footnotes": (
        "Stop it [#f1]_, see [1]_ but not a[1].\n\n.. [#f1] Never\n   alone.\n.. [1] Why.",
        "Stop it [^f1], see [^1] but not a[1].\n\n[^f1]: Never\nalone.\n[^1]: Why.",
    ),
    "no references": ("a_b_ and ``see again_``::\n\n  again_\n\nAgain\n-----", "a_b_ and `see again_`:\n```\nagain_\n```\n# Again\n"),
}  # fmt: skip
ADOC = {
    "header": ("= A\nJane <j@x>\n:toc:\n\n== B\n\ntext", "# A\n\n\n\n## B\n\ntext"),
    "underlined title": ("A title\n-------\n\n[[x]]\n.Look\ntext", "## A title\n\n\n\n**Look**\ntext"),
    "anchor belongs to the section below": ("x\n\n[#a]\n== A ==", "x\n\n## A\n"),
    "references to sections": (
        "Go to <<a>>, <<a,it>>, xref:b[], <<_by_hand>> or <<no>>.\n\n[[a]]\n== A way\n\n[id=\"b\"]\n== Be [x]\n\n== By hand",
        "Go to [A way](#a-way), [it](#a-way), [Be x](#be-x), [By hand](#by-hand) or <<no>>.\n\n## A way\n\n\n## Be [x]\n\n\n## By hand",
    ),
    "no references": ("----\ncat <<a>>\n----\n\n`cat <<a>>`\n\n[[a]]\n== A", "```\ncat <<a>>\n```\n\n`cat <<a>>`\n\n## A\n"),
    "steps with code": (
        ". one\n+\n[source,sh]\n----\nls <1>\n----\n<1> said\n. two\n.. in\n. three",
        "1. one\n\n\n   ```sh\n   ls\n   ```\n   (1) said\n2. two\n   1. in\n3. three",
    ),
    "a list starts where it says": ("[start=4]\n. four\n. five", "\n4. four\n5. five"),
    "a paragraph ends a list": (". one\n\ntext\n\n. one", "1. one\n\ntext\n\n1. one"),
    "literal paragraph": ("text\n\n  ls -l\n\nmore", "text\n```\nls -l\n```\nmore"),
    "source paragraph": ("[source,sh]\nls\n\nmore", "```sh\nls\n```\nmore"),
    "admonitions": (
        "WARNING: Never\nalone.\n\n[CAUTION]\n====\nWait.\n====\n\n[NOTE]\ntext",
        "> **Warning:** Never\n> alone.\n\n\n!!! caution\n    Wait.\n\n\n\n> **Note:** text",
    ),
    "nothing is included": (
        "include::/etc/passwd[]\nifdef::a[]\n// comment\n////\nmore\n////\n++++\n<b>\n++++\nx",
        "\n\n\n\n\n\n\n\n\nx",
    ),
    "table with a heading": ("|===\n|A |B\n\n|1 |2\n|===", "\n| A | B |\n| --- | --- |\n| 1 | 2 |\n"),
    "table by an option": ('[%header]\n|===\n|A |B\n|1 |2\n|===', "\n| A | B |\n| --- | --- |\n| 1 | 2 |\n"),
    "cells in lines of their own": ("|===\n|A |B\n\n|1\n|2\n|===", "\n- A | B\n\n- 1\n  2\n"),
    "running text": ("*b* `*c*` https://x[y] xref:a.adoc#b[c] <<d,e>>", "**b** `*c*` [y](https://x) [c](a.adoc#b) [e](#d)"),
    "struck out": ("[line-through]#Wipe `a #1`.# [.strike]##x## [red]#z#", "~~Wipe `a #1`.~~ ~~x~~ [red]#z#"),
    "icons and anchors": ("=== icon:wrench[] Resolve [[resolve]]\n`[[a]]`", "### Resolve\n`[[a]]`"),
    "terms": ("CPU:: look\nDisk::\n  wait", "**CPU:** look\n**Disk:**\nwait"),
    "a block that nothing closes": ("----\nls", "----\nls"),
}  # fmt: skip
ORG = {
    "headings": ("#+TITLE: T\n* TODO [#A] A :x:y:\n** B", "# T\n## A\n### B"),
    "headings without a title": ("* A", "# A"),
    "code": ("- a\n  #+begin_src sh\n  ls\n  #+end_src\n- b", "- a\n  ```sh\n  ls\n  ```\n- b"),
    "what only Org reads": (
        "* A\n  SCHEDULED: <2026-01-01>\n  :PROPERTIES:\n  :X: 1\n  :END:\n  # comment\n#+include: /etc/passwd\n  text",
        "# A\n\n\n\n\n\n\ntext",
    ),
    "a result is not a command": ("#+RESULTS:\n: OK\n\nRun:\n: ls", "\n\n\nRun:\n`ls`"),
    "fixed width below a blank line": ("\n: ls", "\n    ls"),
    "warnings": ("#+begin_warning\nNever.\n#+end_warning", "!!! warning\n    Never.\n"),
    "quotation": ("#+begin_quote\nx\n#+end_quote", "\n> x\n"),
    "a block that nothing closes": ("#+begin_src sh\nls", "\nls"),
    "tables": (
        "| A | B |\n|---+---|\n| 1 | 2 |\n\n| 3 | 4 |",
        "| A | B |\n| --- | --- |\n| 1 | 2 |\n\n- 3 | 4",
    ),
    "running text": ("=a b= ~c~ *d* +e+ [[u][v]]", "`a b` `c` **d** ~~e~~ [v](u)"),
    "lists": ("3. [@5] five\n- a :: b", "5. five\n- **a:** b"),
    "a task that is partly done": ("- [-] a\n  1. [-] b [-] c", "- [ ] a\n  1. [ ] b [-] c"),
}
MDX = {
    "modules and comments": (
        "import A from 'a'\nexport const b = {\n  c: 1 }\n\n{/* hid\nden */}\n# T",
        "\n\n\n\n\n\n# T",
    ),
    "not in code": ("```js\nimport a from 'b'\n{/* c */}\n<A>\n```", "```js\nimport a from 'b'\n{/* c */}\n<A>\n```"),
    "warnings and tabs": (
        '<Warning>\n  Never.\n</Warning>\n<Tabs>\n  <TabItem label="A">\n    1. x\n\n        y\n  </TabItem>\n</Tabs>',
        "::: warning\nNever.\n:::\n\n::: tab A\n1. x\n\n    y\n:::\n",
    ),
    "other components": ('<Card title="T">\nx\n</Card>\n<Img/>\n</Nobody>', "**T**\nx\n\n\n"),
    "admonition by type": ('<Admonition type="danger" title="T">\nx\n</Admonition>', "::: danger T\nx\n:::"),
    "HTML stays": ("<details>\nx\n</details>", "<details>\nx\n</details>"),
}  # fmt: skip
ERB = {
    "programs": ("<% if a\n   b -%>\n# On <%= host %>\n<%# c %>x<% end %>", "\n\n# On {host}\nx"),
    "not in code": ("```\n<% a %>\n```", "```\n<% a %>\n```"),
}
CASES = [
    pytest.param(suffix, source, shape, id=f"{suffix[1:]}: {name}")
    for suffix, cases in ((".rst", RST), (".adoc", ADOC), (".org", ORG), (".mdx", MDX), (".md.erb", ERB))
    for name, (source, shape) in cases.items()
]  # fmt: skip


@pytest.mark.parametrize(("suffix", "source", "shape"), CASES)
def test_each_line_is_written_as_markdown_means_it(suffix, source, shape):
    assert "\n".join(as_markdown(f"a{suffix}", source.split("\n"))) == shape


def test_a_document_is_cited_by_its_own_lines_and_titled_by_its_own_heading():
    source = (
        ".. _a:\n\n=====\nVault\n=====\n\nUnseal\n------\n\n.. warning:: Never alone.\n\n1. Wait.\n"
    )
    read = extract("runbooks/x.RST", source.encode())
    assert (read.document.title, read.document.document_type) == ("Vault", "runbook")
    assert [(it.start_line, it.end_line, it.section_path) for it in cut(read)] == [
        (1, 12, ("Vault", "Unseal")),
    ]
    assert_exact(source, cut(read))
    assert fingerprint("a.rst", None) == "markup-3"
    assert not is_extracted("a.rst")


def test_front_matter_stays_front_matter_and_crlf_is_cited_as_it_is():
    source = "---\r\nservice: x\r\n---\r\nA\r\n===\r\n\r\n.. note::\r\n\r\n   Wait.\r\n"
    read = extract("a.rst", source.encode())
    assert read.document.front_matter == {"service": "x"}
    assert [it.content for it in cut(read)] == [
        source.partition("---\r\nA")[1][5:] + "\r\n===\r\n\r\n.. note::\r\n\r\n   Wait.\r"
    ]
    assert read.document.title == "A"


@pytest.mark.parametrize(
    ("name", "source"),
    [("a.rst", ".. include:: /etc/passwd\n\nx"), ("a.adoc", "include::/etc/passwd[]\nx"),
     ("a.org", "#+INCLUDE: \"/etc/passwd\"\nx")],
)  # fmt: skip
def test_what_a_document_includes_is_not_read_and_said_so(name, source):
    read = extract(name, source.encode())
    assert read.notes == ("includes 1 other file, not read",)
    assert read.text == source
    assert "root:" not in read.shape


def test_names_of_documents_end_as_their_formats_do():
    names = (
        "a.md.erb",
        "b.HTML.ERB",
        "c.Adoc",
        "d.asciidoc",
        "e.docx",
        "f.doc",
        "g.ipynb",
        "org",
        "h.org",
    )
    assert [is_document(name) for name in names] == [
        True, False, True, True, True, False, True, False, True,
    ]  # fmt: skip


PIECES = st.sampled_from(
    ["= ", "== A", "A", "===", "---", "----", "|===", "|a |b", "+", ". a", "* a", "  ", "#. a", "1. a", "- a", "::",
     "Run::", "   x", "      y", "", "", ".. note::", ".. code-block:: sh", ".. tab:: A", "[source,sh]", "[NOTE]",
     "====", "NOTE: a", "* H", "** H", "#+begin_src sh", "#+end_src", "#+begin_quote", "#+end_quote", ": a",
     ":END:", ":A:", "| a | b |", "|---+---|", "<Tab>", "</Tab>", "<Warning>", "</Warning>", "import a from 'b'",
     "```", "~~~", "{/*", "*/}", "<% a", "%>", "+--+--+", "|a |b |", "== ==", "a  b", "term::", "\t", "\r", "\u2028"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=25), st.sampled_from(sorted(READERS)), st.sampled_from([128, 256]))
def test_every_line_is_in_exactly_one_chunk_whatever_it_is(pieces, suffix, cap):
    text = "\n".join([*pieces, "end"])
    read = extract(f"a{suffix}", text.encode())
    assert read.shape.count("\n") == text.count("\n")
    assert_exact(text, cut(read, ChunkingSettings(cap)))


HOSTILE = {
    "deep": "\n".join("  " * n + "- x" for n in range(1_200)),
    "terms": "\n\n".join("    " * n + "x::" for n in range(300)),
    "directives": "\n\n".join("   " * n + ".. note::" for n in range(300)),
    "borders": "== ==\n" * 20_000,
    "unclosed": "\n".join(f"#+begin_x{n}" for n in range(20_000)),
    "delimiters": "\n".join("-" * (4 + n) for n in range(1_500)),
    "marks": ("`*=<[:_" * 250 + "\n") * 200,
    "one line": "`" + "a " * 1_000_000,
    "tags": "<Tab>\n" * 20_000 + "</A>\n" * 20_000,
}


SLOW = [
    *((name, suffix) for name in ("deep", "marks", "one line") for suffix in (".rst", ".adoc", ".org", ".mdx", ".md.erb")),
    *((name, ".rst") for name in ("terms", "directives", "borders")),
    *((name, ".adoc") for name in ("terms", "borders", "delimiters")),
    ("unclosed", ".org"), ("tags", ".mdx"), ("tags", ".md.erb"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "suffix"), SLOW)
def test_what_is_made_to_be_slow_is_read_all_the_same(name, suffix):
    lines = HOSTILE[name].split("\n")
    started = time.process_time()
    assert len(as_markdown(f"a{suffix}", lines)) == len(lines)
    assert time.process_time() - started < 10


def test_code_in_org_may_hold_its_own_marks():
    lines = ["1. Look: =kubectl get pods -l app=emqx=, then ~a=b~.", "x=y= z, a = b and c = d"]
    assert read_org(lines) == ["1. Look: `kubectl get pods -l app=emqx`, then `a=b`.", lines[1]]


def test_what_org_keeps_without_publishing_it_is_marked_as_obsolete():
    lines = read_org(
        [
            "* CANCELLED By Puppet", "* By hand :ARCHIVE:", "* COMMENT By tape", "* DONE By rail :ops:",
            "3. +Disable the checks: =checks off=+", "- +plain+ and more",
        ]
    )  # fmt: skip
    assert lines == [
        "# By Puppet (obsolete)", "# By hand (obsolete)", "# By tape (obsolete)", "# By rail",
        "3. ~~Disable the checks: `checks off`~~", "- ~~plain~~ and more",
    ]  # fmt: skip


def test_each_suffix_of_markup_has_a_reader():
    assert tuple(READERS) == MARKUP_SUFFIXES
