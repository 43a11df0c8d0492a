"""Standard input, read so that waiting for it holds nothing up, and what of it is no message."""

from __future__ import annotations

import asyncio
import os
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.mcp_server.serving import StandardInput, error_of


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


@given(st.lists(st.text("ab\u00e9\u2028\u0085\r{}", max_size=20), max_size=60), st.integers(1, 7))
def test_lines_come_whole_and_in_order_however_they_are_written(lines, size):
    data = "".join(f"{line}\n" for line in lines).encode()
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    assert [it.decode() for it in read_back(pieces)] == lines


def test_the_last_line_needs_no_end():
    assert read_back([b"one\ntwo"]) == [b"one", b"two"]
    assert read_back([]) == []


def test_a_line_that_is_too_long_is_cut_and_the_next_one_is_whole():
    assert read_back([b"x" * 60, b"x" * 60, b"x" * 60 + b"\nnext\n"]) == [b"x" * 101, b"next"]
    assert read_back([b"x" * 101 + b"\n" + b"y" * 100 + b"\n"]) == [b"x" * 101, b"y" * 100]


def test_nothing_comes_of_the_rest_of_a_line_that_is_too_long():
    # more than one read gives at once, so that its end comes by itself
    read = read_back([b"x" * 300_000 + b"\nnext\n"], max_bytes=65_536)
    assert read == [b"x" * 65_537, b"next"]


PING = b'{"jsonrpc":"2.0","id":7,"method":"ping"}'


@pytest.mark.parametrize(
    "line",
    [
        PING,
        b'{"jsonrpc":"2.0","id":"a","method":"ping","params":{"x":[1]}}\r',
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
        b'{"jsonrpc":"2.0","id":1,"result":{}}',
        b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"a\xffb"}}',
        b"",
        b" \r",
    ],
)
def test_a_message_gets_no_error_and_neither_does_a_blank_line(line):
    assert error_of(line, 1_000) is None


@pytest.mark.parametrize(
    ("line", "code", "number"),
    [
        (b"this is no message", -32700, None),
        (PING[:-1], -32700, None),
        (b'{"jsonrpc":"2.0","id":7,"method":"\\ud800"}', -32700, None),
        (b"[" * 900, -32700, None),
        (b"[]", -32600, None),
        (b"[" + PING + b"]", -32600, None),
        (b"5", -32600, None),
        (b'{"jsonrpc":"2.0","id":7}', -32600, 7),
        (b'{"jsonrpc":"1.0","id":"a","method":"ping"}', -32600, "a"),
        (b'{"id":7,"method":"ping"}', -32600, 7),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":[1]}', -32600, 7),
        (b'{"jsonrpc":"2.0","method":5}', -32600, None),
        # no id that an answer may have: the SDK takes these for notifications
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":[1],"method":"ping"}', -32600, None),
        # a wrong response to the server's own request 7, which is not the client's request 7
        (b'{"jsonrpc":"2.0","id":7,"result":5}', -32600, None),
        (b'{"jsonrpc":"2.0","id":7,"error":"no"}', -32600, None),
        # too long: as far as it was read
        (PING[:-1] + b',"x":"' + b"\xc3\xa9" * 500 + b'"}', -32600, 7),
        (b'{"x":{"id":8},"y":"' + b"x" * 1_000 + b'","id":7}', -32600, None),
        (b"x" * 1_001, -32600, None),
    ],
)
def test_what_is_no_message_gets_the_error_of_json_rpc_with_the_request_s_id(line, code, number):
    error = error_of(line[:1_001], 1_000)  # cut as StandardInput cuts
    assert (error.error.code, error.id) == (code, number)


def test_a_loop_that_ended_holds_no_reader_up():
    reading, writing = os.pipe()

    async def first():
        async for line in StandardInput(100, reading):
            return line
        return None

    os.write(writing, b"one\n")
    assert asyncio.run(first()) == b"one"
    readers = [one for one in threading.enumerate() if one.name == "standard-input"]
    assert readers  # it waits for the other end
    os.write(writing, b"two\n")
    os.close(writing)
    for reader in readers:
        reader.join(30)
        assert not reader.is_alive()
    os.close(reading)
