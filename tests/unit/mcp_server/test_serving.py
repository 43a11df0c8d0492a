"""Standard input, read so that waiting for it holds nothing up."""

from __future__ import annotations

import asyncio
import os
import threading

from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.mcp_server.serving import StandardInput


def read_back(pieces, max_bytes=100):
    """Write pieces to a pipe, one at a time, and give the lines that come out."""
    reading, writing = os.pipe()

    def write():
        for piece in pieces:
            os.write(writing, piece)
        os.close(writing)

    async def collect():
        return [line async for line in StandardInput(max_bytes, reading)]

    writer = threading.Thread(target=write)
    writer.start()
    try:
        return asyncio.run(collect())
    finally:
        writer.join()
        os.close(reading)


@given(
    st.lists(st.text("ab\u00e9\u2028\u0085\r{}", max_size=20), max_size=60),
    st.integers(1, 7),
)
def test_lines_come_whole_and_in_order_however_they_are_written(lines, size):
    data = "".join(f"{line}\n" for line in lines).encode()
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    assert read_back(pieces) == lines


def test_the_last_line_needs_no_end():
    assert read_back([b"one\ntwo"]) == ["one", "two"]
    assert read_back([]) == []


def test_a_line_that_is_too_long_is_no_message_and_the_next_one_is():
    assert read_back([b"x" * 60, b"x" * 60, b"x" * 60 + b"\nnext\n"]) == ["", "next"]
    assert read_back([b"x" * 101 + b"\n" + b"y" * 100 + b"\n"]) == ["", "y" * 100]


def test_the_end_of_a_line_that_is_too_long_is_no_message_either():
    # more than one read gives at once, so that its end comes by itself
    assert read_back([b"x" * 300_000 + b"\nnext\n"], max_bytes=65_536) == ["", "next"]


def test_what_is_not_utf8_is_marked():
    assert read_back([b"a\xffb\n"]) == ["a\ufffdb"]


def test_a_loop_that_ended_holds_no_reader_up():
    reading, writing = os.pipe()

    async def first():
        async for line in StandardInput(100, reading):
            return line
        return None

    os.write(writing, b"one\n")
    assert asyncio.run(first()) == "one"
    readers = [one for one in threading.enumerate() if one.name == "standard-input"]
    assert readers  # it waits for the other end
    os.write(writing, b"two\n")
    os.close(writing)
    for reader in readers:
        reader.join(30)
        assert not reader.is_alive()
    os.close(reading)
