"""What the tests of bundles share: the functions, a folder of bundles, and a Lambda-like process."""

from __future__ import annotations

import json
import subprocess
import zipfile
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.bundling import ROOT
from tests.support.fixtures import ENVIRONMENT

if TYPE_CHECKING:
    from collections.abc import Mapping

RETRIEVE = "lambdas.retrieve_knowledge.handler"
CHUNK = "lambdas.chunk_documents.handler"
ADVISE = "lambdas.advise_incident.handler"
HANDLERS = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in (ROOT / "lambdas").glob("*/handler.py")
)

RUNTIME_PACKAGES = ("boto3", "botocore", "dateutil", "jmespath", "s3transfer", "six", "urllib3")
"""What Lambda's Python runtime has beside the standard library: boto3 and what it depends on."""

_PROGRAM = """
import importlib, json, sys
bundle, runtime, module, event, result = sys.argv[1:]
sys.path[:0] = [bundle]      # /var/task comes before the runtime's own packages
sys.path.append(runtime)
handler = importlib.import_module(module).lambda_handler
outcome = {"raised": None, "answer": None}
if event:
    try:
        outcome["answer"] = handler(json.loads(event), None)
    except Exception as error:
        outcome["raised"] = f"{type(error).__name__}: {error}"
loaded = [m for m in list(sys.modules.values()) if getattr(m, "__file__", None)]
outcome["files"] = sorted(m.__file__ for m in loaded)
outcome["byte_code"] = sorted(m.__cached__ for m in loaded if m.__file__.startswith(bundle))
outcome["own_places"] = [bundle, runtime]
outcome["standard_library"] = [p for p in sys.path if p not in (bundle, runtime)]
json.dump(outcome, open(result, "w"))
"""


@dataclass(frozen=True)
class Outcome:
    """What a process that stands in for Lambda made of one event.

    Attributes:
        answer: that the handler gave, if it did.
        raised: the error that it raised, if it did.
        files: of every module that was loaded.
        byte_code: where that of the bundle's modules belongs.
        own_places: the bundle, and the packages of the runtime.
        standard_library: the rest of where modules may come from.
        output: what was written to standard output.
    """

    answer: Any
    raised: str | None
    files: list[str]
    byte_code: list[str]
    own_places: list[str]
    standard_library: list[str]
    output: str


def runtime_packages(folder: Path) -> Path:
    """Link the packages that the runtime has, and no others, out of this environment."""
    folder.mkdir()
    for name in RUNTIME_PACKAGES:
        spec = find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        origin = Path(spec.origin)
        source = origin.parent if origin.name == "__init__.py" else origin
        (folder / source.name).symlink_to(source)
    return folder


def invoke_bundle(
    bundle: Path,
    module: str,
    event: Any = None,
    *,
    interpreter: Path,
    folder: Path,
    environ: Mapping[str, str] = ENVIRONMENT,
) -> Outcome:
    """Import a handler from its bundle, and call it, in a process that has nothing else.

    ``-I`` and ``-S`` leave neither this checkout nor an environment's packages on the path; boto3 is
    the environment's, linked on its own, as the runtime's would be. ``-B`` leaves the bundle as it is.

    Args:
        event: to call it with; ``None`` to import it only.
        folder: an empty one, for the links and the result.
    """
    runtime, result = runtime_packages(folder / "runtime"), folder / "result.json"
    given = "" if event is None else json.dumps(event)
    command = [
        interpreter,
        "-I",
        "-S",
        "-B",
        "-c",
        _PROGRAM,
        bundle,
        runtime,
        module,
        given,
        result,
    ]
    done = subprocess.run(
        [str(part) for part in command],
        env={**environ, "PATH": ""},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return Outcome(**json.loads(result.read_text()), output=done.stdout)


def make_wheel(
    folder: Path, name: str, tag: str = "py3-none-any", **files: str
) -> tuple[Path, str]:
    """Write a wheel of version 1.0; give its path and its line in a lock."""
    path = folder / f"{name}-1.0-{tag}.whl"
    info = f"{name}-1.0.dist-info"
    contents = {
        f"{name}/__init__.py": "",
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n",
    }
    contents[f"{info}/RECORD"] = "".join(f"{file},,\n" for file in (*contents, f"{info}/RECORD"))
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in contents.items():
            archive.writestr(file, text)
    return path, f"{name}==1.0 --hash=sha256:{sha256(path.read_bytes()).hexdigest()}\n"
