"""Builds the ONNX graph of all-MiniLM-L6-v2 from its published weights.

The graph consists of ONNX Runtime's fused transformer operators, followed by the steps that
sentence-transformers adds to the encoder: mean pooling over the real tokens, then unit length. So
one run turns token ids into finished embeddings, in 32-bit floats, without approximations
(``BiasGelu`` is the exact, erf-based one).

Only a first run builds it; :mod:`knowledge_rag.local.model_files` caches the result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load

if TYPE_CHECKING:
    from collections.abc import Mapping

    Weights = Mapping[str, np.ndarray[Any, np.dtype[np.float32]]]

LAYERS: Final = 6
HEADS: Final = 12
LAYER_NORM_EPSILON: Final = 1e-12
_FUSED: Final = "com.microsoft"
_OPSET: Final = 17
_IR_VERSION: Final = 10


_PAGE: Final = 4096
"""Alignment of each large constant, so that it can be mapped into memory."""


def build_graph(safetensors: bytes) -> Any:  # noqa: ANN401 - onnx has no types
    """Build the ONNX model from the published weights file.

    Inputs are ``ids`` and ``mask``, both int32 of shape (batch, tokens), the mask 1 on real tokens
    and 0 on padding. Output is ``embeddings``, float32 of shape (batch, 384), unit length.
    """
    return _Builder(load(safetensors)).model()


def move_constants(model: Any, file_name: str) -> bytes:  # noqa: ANN401
    """Move a model's large constants to a file beside it, which a runtime maps instead of reading; return its contents.

    The model is changed in place to refer to the file.
    """
    constants = bytearray()
    for constant in model.graph.initializer:
        data = constant.raw_data
        if len(data) < _PAGE:
            continue
        constants += bytes(-len(constants) % _PAGE)
        constant.ClearField("raw_data")
        constant.data_location = TensorProto.EXTERNAL
        places = {"location": file_name, "offset": len(constants), "length": len(data)}
        for key, value in places.items():
            constant.external_data.add(key=key, value=str(value))
        constants += data
    return bytes(constants)


class _Builder:
    """Collects the nodes and constants of one graph; each method appends and names its output."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def model(self) -> Any:  # noqa: ANN401 - onnx has no types
        hidden = self._embed()
        for layer in range(LAYERS):
            hidden = self._layer(hidden, f"encoder.layer.{layer}.")
        self._pool(hidden)
        shape = ["batch", "tokens"]
        graph = helper.make_graph(
            self._nodes,
            "all-MiniLM-L6-v2",
            [helper.make_tensor_value_info(n, TensorProto.INT32, shape) for n in ("ids", "mask")],
            [helper.make_tensor_value_info("embeddings", TensorProto.FLOAT, ["batch", 384])],
            initializer=self._constants,
        )
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_FUSED, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION)
        onnx.checker.check_model(model)
        return model

    def _embed(self) -> str:
        table = "embeddings.token_type_embeddings.weight"
        # a single sentence is all token type 0: its vector is added to the position table, once
        positions = self._weights["embeddings.position_embeddings.weight"] + self._weights[table][0]
        inputs = [
            "ids",
            "",
            self._weight("embeddings.word_embeddings.weight"),
            self._constant("positions", positions),
            "",
            *self._norm("embeddings.LayerNorm"),
        ]
        self._nodes.append(
            helper.make_node(
                "EmbedLayerNormalization",
                inputs,
                ["embedded", ""],
                domain=_FUSED,
                epsilon=LAYER_NORM_EPSILON,
            )
        )
        return "embedded"

    def _layer(self, hidden: str, prefix: str) -> str:
        attended = self._fused(
            "Attention",
            [hidden, *self._query_key_value(prefix + "attention.self."), "mask"],
            num_heads=HEADS,
        )
        projected = self._project(attended, prefix + "attention.output.dense")
        middle = self._add_and_norm(projected, hidden, prefix + "attention.output")
        wide = self._project(middle, prefix + "intermediate.dense")
        bias = self._weight(prefix + "intermediate.dense.bias")
        active = self._fused("BiasGelu", [wide, bias])
        narrow = self._project(active, prefix + "output.dense")
        return self._add_and_norm(narrow, middle, prefix + "output")

    def _query_key_value(self, prefix: str) -> tuple[str, str]:
        parts = ("query", "key", "value")
        weight = np.concatenate([self._weights[f"{prefix}{p}.weight"].T for p in parts], axis=1)
        bias = np.concatenate([self._weights[f"{prefix}{p}.bias"] for p in parts])
        return self._constant(prefix + "qkv", weight), self._constant(prefix + "qkv.bias", bias)

    def _add_and_norm(self, new: str, skip: str, prefix: str) -> str:
        bias = self._weight(prefix + ".dense.bias")
        inputs = [new, skip, *self._norm(prefix + ".LayerNorm"), bias]
        return self._fused("SkipLayerNormalization", inputs, epsilon=LAYER_NORM_EPSILON)

    def _project(self, source: str, name: str) -> str:
        # PyTorch stores a linear layer as (out, in); a matrix product needs (in, out)
        weight = self._constant(name + ".transposed", self._weights[name + ".weight"].T)
        return self._plain("MatMul", [source, weight])

    def _pool(self, hidden: str) -> None:
        mask = self._plain("Cast", ["mask"], to=TensorProto.FLOAT)
        last, tokens = self._axes("last", -1), self._axes("tokens", 1)
        column = self._plain("Unsqueeze", [mask, last])
        real = self._plain("Mul", [hidden, column])
        total = self._plain("ReduceSum", [real, tokens], keepdims=0)
        # no division by the number of tokens: it would cancel out in the unit length
        length = self._plain("ReduceL2", [total], axes=[-1], keepdims=1)
        self._nodes.append(helper.make_node("Div", [total, length], ["embeddings"]))

    def _norm(self, prefix: str) -> tuple[str, str]:
        return self._weight(prefix + ".weight"), self._weight(prefix + ".bias")

    def _weight(self, name: str) -> str:
        return self._constant(name, self._weights[name])

    def _axes(self, name: str, axis: int) -> str:
        return self._constant(f"axes.{name}", np.array([axis], dtype=np.int64))

    def _constant(self, name: str, value: np.ndarray[Any, Any]) -> str:
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def _plain(self, operator: str, inputs: list[str], **attributes: Any) -> str:  # noqa: ANN401
        return self._node(operator, inputs, "", attributes)

    def _fused(self, operator: str, inputs: list[str], **attributes: Any) -> str:  # noqa: ANN401
        return self._node(operator, inputs, _FUSED, attributes)

    def _node(
        self, operator: str, inputs: list[str], domain: str, attributes: dict[str, Any]
    ) -> str:
        output = f"{operator}.{len(self._nodes)}"
        self._nodes.append(
            helper.make_node(operator, inputs, [output], domain=domain, **attributes)
        )
        return output
