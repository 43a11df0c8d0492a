import pytest

from knowledge_rag.core.errors import UnreadableDocument
from knowledge_rag.core.lines import decode, slice_lines, split_lines


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("a", ["a"]),
        ("a\n", ["a"]),
        ("a\n\n", ["a", ""]),
        ("\n", [""]),
        ("a\r\nb\r\n", ["a\r", "b\r"]),
        ("a\rb", ["a\rb"]),
        ("a\u2028b\u0085c\x0bd\x0ce", ["a\u2028b\u0085c\x0bd\x0ce"]),
    ],
)
def test_only_a_newline_ends_a_line(text, lines):
    assert split_lines(text) == lines


def test_a_slice_is_verbatim_and_keeps_carriage_returns():
    assert slice_lines("a\r\nb \r\nc\r\n", 2, 3) == "b \r\nc\r"


@pytest.mark.parametrize(("start", "end"), [(0, 1), (2, 1), (1, 3), (-1, -1)])
def test_a_slice_beyond_the_text_is_an_error_and_not_a_shorter_slice(start, end):
    with pytest.raises(IndexError, match=f"lines {start}-{end} of 2"):
        slice_lines("a\nb\n", start, end)


def test_the_byte_order_mark_is_no_part_of_the_text():
    assert decode(b"\xef\xbb\xbf# A\n", "a.md") == "# A\n"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "a.md: empty file"),
        (b"\xef\xbb\xbf", "a.md: empty file (a byte-order mark only)"),
        (b"ab\x00c", "a.md: binary file: NUL byte at offset 2"),
        (b"caf\xe9", "a.md: not UTF-8: byte 0xe9 at offset 3"),
        ("ä".encode("utf-16"), "a.md: not UTF-8: byte 0xff at offset 0 (a binary file?)"),
    ],
)
def test_what_cannot_be_read_says_why_and_where(data, reason):
    with pytest.raises(UnreadableDocument) as caught:
        decode(data, "a.md")
    assert str(caught.value) == reason
