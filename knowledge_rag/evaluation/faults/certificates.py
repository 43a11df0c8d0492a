"""Certificates for the fault server, made on the spot by the ``openssl`` command.

Python's standard library can use certificates but not make them. The command comes with every
system that has certificates at all; a package for this alone would be one more to trust.
"""

from __future__ import annotations

import shutil
import ssl
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from knowledge_rag.evaluation.faults.errors import NotPlayable

if TYPE_CHECKING:
    from pathlib import Path

_SECONDS: Final = 20


@dataclass(frozen=True, slots=True)
class Certificate:
    """A self-signed certificate.

    Args:
        tls: the server's side of it.
        bundle: path of the PEM file under which a client trusts it.
    """

    tls: ssl.SSLContext
    bundle: str


def self_signed(folder: Path, host: str = "localhost") -> Certificate:
    """Make a certificate for ``host`` that is valid for a day.

    Raises:
        NotPlayable: there is no ``openssl`` command, or it can't do this.
    """
    openssl = shutil.which("openssl")
    if openssl is None:
        raise NotPlayable("TLS needs the openssl command, to make a certificate with")
    pem, key = folder / f"{host}.pem", folder / f"{host}.key"
    command = [
        openssl, "req", "-x509", "-nodes", "-days", "1",
        "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
        "-subj", f"/CN={host}", "-addext", f"subjectAltName=DNS:{host}",
        "-keyout", str(key), "-out", str(pem),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False)  # noqa: S603 - a fixed command
    if done.returncode:
        problem = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise NotPlayable(f"openssl made no certificate: {problem}")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(pem, key)
    return Certificate(tls, str(pem))
