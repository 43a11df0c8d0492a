"""Word documents become Markdown lines: headings, the numbers that Word shows, code; nothing that it hides."""

import io
import zipfile

import pytest

from knowledge_rag.core.errors import UnreadableDocument
from knowledge_rag.extract import docx as reader
from knowledge_rag.extract.documents import cut, extract
from knowledge_rag.extract.docx import read_docx
from tests.support.word import code, docx, paragraph, run


def text(*blocks, **parts):
    return read_docx("a.docx", docx(*blocks, **parts)).text


def reason(data):
    with pytest.raises(UnreadableDocument) as told:
        read_docx("a.docx", data)
    return told.value.reason


def test_headings_are_found_by_their_styles_names_below_the_title():
    assert (
        text(
            paragraph(run("Vault"), style="Titel"),
            paragraph(run("Unseal"), style="berschrift1"),
            paragraph(run("Own style"), style="Own"),
        )
        == "# Vault\n\n## Unseal\n\n## Own style\n"
    )
    assert text(paragraph(run("Unseal"), style="berschrift1")) == "# Unseal\n"
    outline = '<w:p><w:pPr><w:outlineLvl w:val="2"/></w:pPr>' + run("Deep") + "</w:p>"
    assert text(outline) == "### Deep\n"


def test_items_have_the_numbers_that_word_shows_across_commands_and_lists():
    assert text(
        paragraph(run("drain"), number=1),
        paragraph(run("inside"), number=1, level=1),
        paragraph(code("kubectl drain n1")),
        paragraph(run("restart"), number=1),
        paragraph(run("inside"), number=1, level=1),
        paragraph(run("a point"), number=2),
        paragraph(run("anew"), number=3),
        paragraph(run("go on"), number=1),
    ) == (
        "1. drain\n   1. inside\n\n```\nkubectl drain n1\n```\n\n2. restart\n   1. inside\n\n- a point\n\n"
        "1. anew\n2. go on\n"
    ).replace("2. go on", "3. go on")  # fmt: skip


def test_fixed_width_is_code_a_block_of_it_one_fence():
    assert (
        text(
            paragraph(run("Run "), code("vault status"), run(" now.")),
            paragraph(code("vault operator unseal")),
            paragraph(run("vault status"), style="HTMLPreformatted"),
        )
        == "Run `vault status` now.\n\n```\nvault operator unseal\nvault status\n```\n"
    )


def test_hidden_and_deleted_text_is_left_out_and_what_is_struck_out_says_so():
    read = read_docx(
        "a.docx",
        docx(
            paragraph(run("seen "), run("hidden", "<w:vanish/>"), run("words")),
            paragraph(run("x"), run("by style", '<w:rStyle w:val="Unseen"/>')),
            paragraph("<w:ins>" + run("new") + "</w:ins>"),
            paragraph("<w:del><w:r><w:delText>old</w:delText></w:r></w:del>", run("kept")),
            paragraph(run("obsolete", "<w:strike/>")),
        ),
    )
    assert read.text == "seen words\n\nx\n\nnew\n\nkept\n\n~~obsolete~~\n"
    assert read.notes == ("left out text that Word hides from readers: 14 characters",)


def test_tables_and_the_document_s_own_title():
    cell = "<w:tc>{}</w:tc>".format
    rows = "".join(
        f"<w:tr>{cell(paragraph(run(a)))}{cell(paragraph(run(b)))}</w:tr>"
        for a, b in (("Severity", "Who"), ("1", "duty manager"))
    )
    read = extract("runbooks/x.docx", docx(f"<w:tbl>{rows}</w:tbl>", title="Who to call"))
    assert read.text == "| Severity | Who |\n| --- | --- |\n| 1 | duty manager |\n"
    assert (read.document.title, read.document.document_type) == ("Who to call", "runbook")
    assert [it.content for it in cut(read)] == [read.text.rstrip("\n")]


def test_without_styles_it_is_read_as_paragraphs():
    assert (
        text(paragraph(run("a")), paragraph(run("b")), styles="<styles/>", numbering="<n/>")
        == "a\n\nb\n"
    )


def test_what_is_no_word_document_is_refused_with_the_reason():
    assert reason(b"") == "empty file"
    assert reason(b"# Markdown") == "not a Word document, or a damaged one"
    assert reason(docx(paragraph(run("x")))[:-60]) == "not a Word document, or a damaged one"
    assert (
        reason(b"\xd0\xcf\x11\xe0 old") == "encrypted, or from Word before 2007: save it as .docx"
    )
    assert reason(docx(paragraph())) == "it has no text"
    assert reason(docx(document="<w:oops")) == "not a Word document, or a damaged one"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("xl/workbook.xml", "<x/>")
    assert reason(packed.getvalue()) == "not a Word document: it has no word/document.xml"


def test_entities_and_bombs_are_refused_before_they_unpack(monkeypatch):
    monkeypatch.setattr(reader, "MAX_UNPACKED", 1_000_000)
    laughs = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><x>&b;</x>'
    assert reason(docx(document=laughs)) == "not a Word document, or a damaged one"
    bomb = docx(paragraph(run("x" * (reader.MAX_UNPACKED + 1))))
    assert len(bomb) < 100_000
    assert reason(bomb) == "it decompresses to over 1 MB"


def test_a_link_to_a_file_of_this_machine_is_not_opened(tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("hush")
    relationships = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        f'<Relationship Id="p" TargetMode="External" Target="file://{secret}" Type="http://schemas'
        '.openxmlformats.org/officeDocument/2006/relationships/image"/></Relationships>'
    )
    picture = (
        '<w:r><w:drawing xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main">'
        '<a:blip xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" r:link="p"/>'
        "</w:drawing></w:r>"
    )
    data = docx(paragraph(run("seen"), picture))
    packed = io.BytesIO(data)
    with zipfile.ZipFile(packed, "a") as archive:
        archive.writestr("word/_rels/document.xml.rels", relationships)
    assert read_docx("a.docx", packed.getvalue()).text == "seen\n"
