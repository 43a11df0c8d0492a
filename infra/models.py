"""Bedrock's models: vector sizes, and the regions that an inference profile sends requests to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from infra.setting_values import Problems

EMBEDDING_DIMENSIONS: Final[dict[str, tuple[int, ...]]] = {
    "amazon.titan-embed-text-v1": (1536,),
    "amazon.titan-embed-text-v2:0": (256, 512, 1024),
    "cohere.embed-english-v3": (1024,),
    "cohere.embed-multilingual-v3": (1024,),
    "cohere.embed-v4:0": (256, 512, 1024, 1536),
}
"""Text embedding models that a knowledge base accepts, and the vector sizes that each offers."""

CHOOSES_DIMENSION: Final = frozenset({"amazon.titan-embed-text-v2:0", "cohere.embed-v4:0"})
"""Models whose vector size must be specified."""

PROFILE_REGIONS: Final[dict[str, tuple[str, ...]]] = {
    "us": ("us-east-1", "us-east-2", "us-west-2"),
    "eu": ("eu-central-1", "eu-north-1", "eu-south-1", "eu-south-2", "eu-west-1", "eu-west-3"),
    "jp": ("ap-northeast-1", "ap-northeast-3"),
    "au": ("ap-southeast-2", "ap-southeast-4"),
    "apac": (
        "ap-northeast-1",
        "ap-northeast-2",
        "ap-northeast-3",
        "ap-south-1",
        "ap-south-2",
        "ap-southeast-1",
        "ap-southeast-2",
        "ap-southeast-4",
    ),
}
"""Regions that a geographic profile may send a request to. Each profile has its own list, which grows: set
``agent_model_regions`` if it differs (``aws bedrock get-inference-profile`` lists them)."""

_MODEL: Final = re.compile(r"(?:(us|eu|jp|au|apac|global)\.)?([a-z0-9-]+\.[a-z0-9.:_-]+)")
_REGION: Final = re.compile(r"[a-z]{2}(-[a-z]+)+-[0-9]")


def check_embedding(model: str, dimension: int, problems: Problems) -> None:
    """Report an unknown embedding model, or a vector size that the model doesn't offer."""
    sizes = EMBEDDING_DIMENSIONS.get(model)
    if sizes is None:
        problems.add("embedding_model", model, " or ".join(EMBEDDING_DIMENSIONS))
    elif dimension not in sizes:
        problems.add(
            "embedding_dimension",
            dimension,
            f"{' or '.join(map(str, sizes))} with embedding_model={model}",
        )


def split_profile(model: str) -> tuple[str, str]:
    """Split a model's id into the geography of its inference profile, if any, and the model's own id.

    Raises:
        ValueError: it is neither a model nor a profile.
    """
    match = _MODEL.fullmatch(model)
    if match is None:
        raise ValueError("the id of a foundation model or of a system-defined inference profile")
    return match[1] or "", match[2]


def destination_regions(
    setting: str, model: str, given: tuple[str, ...], region: str | None, problems: Problems
) -> tuple[str, ...]:
    """Return the regions that an inference profile may send requests to; empty for other models.

    It is also empty for a global profile, which may use any region.

    Args:
        setting: the setting that names the model; with ``_regions`` appended, the one that lists its regions.
        model: id of a foundation model or of an inference profile.
        given: the regions in the settings; they override the known ones.
        region: the deployment's region, if known.
        problems: collects errors.
    """
    try:
        geography, _ = split_profile(model)
    except ValueError as error:
        problems.add(setting, model, str(error))
        return ()
    wrong = [name for name in given if not _REGION.fullmatch(name)]
    if wrong or (given and not geography):
        problems.add(f"{setting}_regions", given, "region names, with an inference profile only")
    regions = given or PROFILE_REGIONS.get(geography, ())
    if region and regions and region not in regions:
        problems.add(
            setting, model, f"one that {region} offers; this profile serves {', '.join(regions)}"
        )
    return regions
