import struct

import pytest

from knowledge_rag.evaluation.faults.dns_server import Names, answer_to

ADDRESS, IPV6_ADDRESS = 1, 28


def question(name, kind):
    labels = b"".join(bytes([len(label)]) + label for label in name.encode().split(b"."))
    header = struct.pack(">HHHHHH", 0xABCD, 0x0100, 1, 0, 0, 0)
    return header + labels + b"\x00" + struct.pack(">HH", kind, 1)


def counts(message):
    return struct.unpack(">HHHH", message[4:12])


def test_an_address_is_loopback_s():
    asked = question("kb.game-day.test", ADDRESS)
    answer = answer_to(asked, Names.LOOPBACK)
    assert answer[:2] == asked[:2]
    assert answer[2:4] == b"\x81\x80"
    assert counts(answer) == (1, 1, 0, 0)
    assert answer[12:].startswith(asked[12:])
    assert answer.endswith(b"\x00\x04\x7f\x00\x00\x01")


def test_other_types_have_no_records():
    answer = answer_to(question("kb.game-day.test", IPV6_ADDRESS), Names.LOOPBACK)
    assert (answer[2:4], counts(answer)) == (b"\x81\x80", (1, 0, 0, 0))


@pytest.mark.parametrize("kind", [ADDRESS, IPV6_ADDRESS])
def test_no_such_name_is_an_error_without_records(kind):
    answer = answer_to(question("kb.game-day.test", kind), Names.NONE)
    assert (answer[2:4], counts(answer)) == (b"\x81\x83", (1, 0, 0, 0))
