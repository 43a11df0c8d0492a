"""onnxruntime, made to keep to itself.

Unless told otherwise before it is imported, it reports its use to its maker, and keeps an identity
of this machine in the home folder for that. So whoever needs it takes it from here.
"""

from __future__ import annotations

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import onnxruntime

__all__ = ["onnxruntime"]
