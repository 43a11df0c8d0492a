"""Records the synthesized templates, and the sizes of the functions' zips."""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING, Any, Final

from tests.support.bundles import HANDLERS
from tools.golden_parts.base import Recorded, Skipped, digest

if TYPE_CHECKING:
    from tools.golden_parts.base import Run

DEPLOYMENTS: Final[dict[str, dict[str, str]]] = {
    "dev": {},
    "prod": {"preset": "prod", "entrypoint": "both"},
    "s3-vectors": {"vector_store": "s3-vectors", "search_type": "SEMANTIC"},
}
"""Settings that override ``cdk.json``."""

_ASSET: Final = re.compile(r"[0-9a-f]{64}(?=\.zip)")
_VERSION: Final = re.compile(r"(?<=CurrentVersion)([0-9A-F]{8})[0-9a-f]{32}")


def record_templates(_run: Run) -> Recorded:
    """Record logical ids, types and a digest for each property of both stacks.

    The hash of a function's code is left out everywhere: in the key of its zip, and in the logical id of its
    version. It changes with every change of the code.
    """
    from infra.bundling import BundlingError
    from tests.infra.synthesis import synthesized

    values = {}
    for name, settings in DEPLOYMENTS.items():
        try:
            made = synthesized(**settings)
        except BundlingError as error:
            raise Skipped(f"the functions can't be bundled: {error}") from error
        for stack in ("data", "service"):
            template = _without_hashes(getattr(made, stack))
            sections = {key: digest(each) for key, each in template.items() if key != "Resources"}
            values[f"{name} {stack}"] = sections
            for logical_id, resource in template["Resources"].items():
                values[f"{name} {stack} {logical_id}"] = _resource(resource)
    return Recorded(values)


def record_bundles(run: Run) -> Recorded:
    """Record the libraries in each function's zip, and its size without byte code, in bytes.

    Only some machines can compile byte code for Lambda, so a size with it is a note.
    """
    from infra.bundling import BUNDLES, BundlingError, bundle, files_of, zipped_size

    recorded = Recorded()
    for handler in HANDLERS:
        try:
            made = bundle(handler, BUNDLES)
        except BundlingError as error:
            raise Skipped(f"the functions can't be bundled: {error}") from error
        plain = run.folder / "bundles" / handler
        shutil.copytree(made.path, plain, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
        size = zipped_size(plain)
        parts = {path.parts[0] for path in files_of(plain)} - {"knowledge_rag", "lambdas"}
        recorded.values[handler] = {"bytes": size, "libraries": sorted(parts)}
        whole = f", {zipped_size(made.path):,} with byte code" if made.byte_code else ""
        recorded.notes.append(f"{handler}: {size:,} bytes zipped{whole}")
    return recorded


def _without_hashes(template: dict[str, Any]) -> dict[str, Any]:
    text = _ASSET.sub("<asset>", json.dumps(template))
    plain: dict[str, Any] = json.loads(_VERSION.sub(r"\1", text))
    return plain


def _resource(resource: dict[str, Any]) -> dict[str, Any]:
    properties = resource.get("Properties", {})
    rest = {
        key: digest(each) for key, each in resource.items() if key not in {"Type", "Properties"}
    }
    return {
        "type": resource["Type"],
        "properties": {key: digest(each) for key, each in properties.items()},
        **rest,
    }
