"""Small PDFs, written by hand: pages of text, encrypted ones, scans, broken ones (ISO 32000-1)."""

from __future__ import annotations

import zlib
from hashlib import md5
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_PADDING: Final = bytes.fromhex("28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a")
"""That a password is filled up with (7.6.3.3)."""
_FILE_ID: Final = b"0123456789abcdef"
_PERMISSIONS: Final = 0xFFFFFFFC


def text_pdf(
    pages: Iterable[Sequence[str]], *, title: str = "", password: str | None = None
) -> bytes:
    """Write a PDF with one text line below the other on each page; an empty page shows nothing."""
    contents = [_text_content(lines) for lines in pages]
    return _pdf(contents, title=title, password=password)


def pdf_of(contents: Sequence[bytes]) -> bytes:
    """Write a PDF whose pages draw what their contents say; ``/F1`` is a font."""
    return _pdf(contents)


def scanned_pdf(pages: int = 1) -> bytes:
    """Write a PDF whose pages hold a picture each, and no text."""
    picture = b"q 200 0 0 200 100 400 cm BI /W 2 /H 2 /CS /G /BPC 8 ID \x00\xff\xff\x00 EI Q"
    return _pdf([picture] * pages)


def without_table(data: bytes) -> bytes:
    """Break where a PDF says its table of objects is; the objects themselves stay."""
    start = data.rindex(b"startxref")
    return data[:start] + b"startxref\n999999\n%%EOF\n"


def bomb_pdf(size: int) -> bytes:
    """Write a PDF whose one page unpacks to ``size`` bytes of spaces, a number of whole megabytes."""
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    megabyte = packer.compress(b" " * 1_000_000) + packer.flush(zlib.Z_FULL_FLUSH)
    # zlib's header, the same megabyte again and again, an empty last block; readers do without the checksum
    return _pdf([b"\x78\x9c" + megabyte * (size // 1_000_000) + b"\x03\x00"], packed=True)


def _text_content(lines: Sequence[str]) -> bytes:
    parts = [b"BT /F1 11 Tf 14 TL 56 780 Td"]
    parts += [b"(%s) Tj T*" % _escaped(line) for line in lines]
    return b"\n".join([*parts, b"ET"])


def _escaped(line: str) -> bytes:
    data = line.encode("cp1252")
    return data.replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")


def _pdf(
    contents: Sequence[bytes],
    *,
    title: str = "",
    password: str | None = None,
    packed: bool = False,
) -> bytes:
    key, encrypt = (b"", b"") if password is None else _encryption(password)
    kids = " ".join(f"{5 + 2 * n} 0 R" for n in range(len(contents)))
    objects: dict[int, bytes] = {
        1: b"<< /Type /Catalog /Pages 2 0 R >>",
        2: f"<< /Type /Pages /Count {len(contents)} /Kids [{kids}] >>".encode(),
        3: b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        4: b"<< /Title <%s> >>"
        % _sealed(key, 4, b"\xfe\xff" + title.encode("utf-16-be", "surrogatepass")).hex().encode(),
    }
    for n, content in enumerate(contents):
        page, stream = 5 + 2 * n, 6 + 2 * n
        objects[page] = (
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] "
            b"/Resources << /Font << /F1 3 0 R >> >> /Contents %d 0 R >>" % stream
        )
        data = _sealed(key, stream, content)
        kind = b" /Filter /FlateDecode" if packed else b""
        objects[stream] = b"<< /Length %d%s >>\nstream\n%s\nendstream" % (len(data), kind, data)
    trailer = b""
    if encrypt:
        number = max(objects) + 1
        objects[number] = encrypt
        trailer = b" /Encrypt %d 0 R /ID [<%s> <%s>]" % (number, *[_FILE_ID.hex().encode()] * 2)
    return _file(objects, trailer)


def _file(objects: dict[int, bytes], trailer: bytes) -> bytes:
    out = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
    offsets = []
    for number, body in sorted(objects.items()):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(objects) + 1
    out += b"trailer\n<< /Size %d /Root 1 0 R /Info 4 0 R%s >>\n" % (size, trailer)
    out += b"startxref\n%d\n%%%%EOF\n" % table
    return bytes(out)


def _encryption(password: str) -> tuple[bytes, bytes]:
    """Give the key and the dictionary of the standard security handler, revision 2, 40 bits."""
    user = (password.encode("latin-1") + _PADDING)[:32]
    owner = _rc4(md5(user).digest()[:5], user)
    permissions = _PERMISSIONS.to_bytes(4, "little")
    key = md5(user + owner + permissions + _FILE_ID).digest()[:5]
    dictionary = b"<< /Filter /Standard /V 1 /R 2 /O <%s> /U <%s> /P %d >>" % (
        owner.hex().encode(),
        _rc4(key, _PADDING).hex().encode(),
        _PERMISSIONS - (1 << 32),
    )
    return key, dictionary


def _sealed(key: bytes, number: int, data: bytes) -> bytes:
    """Encrypt a string or a stream of one object, generation 0 (7.6.2, algorithm 1)."""
    if not key:
        return data
    return _rc4(md5(key + number.to_bytes(3, "little") + b"\0\0").digest()[: len(key) + 5], data)


def _rc4(key: bytes, data: bytes) -> bytes:
    state, j = list(range(256)), 0
    for i in range(256):
        j = (j + state[i] + key[i % len(key)]) % 256
        state[i], state[j] = state[j], state[i]
    out, i, j = bytearray(), 0, 0
    for byte in data:
        i = (i + 1) % 256
        j = (j + state[i]) % 256
        state[i], state[j] = state[j], state[i]
        out.append(byte ^ state[(state[i] + state[j]) % 256])
    return bytes(out)
