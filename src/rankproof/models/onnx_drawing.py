"""A sheet to draw an ONNX graph on: operators are called and give back the name of their result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._extras import extra

OPSET = 20
WEIGHTS = "weights.bin"


class Sheet:
    """Nodes and constants in the order in which they were drawn."""

    def __init__(self) -> None:
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._count = 0

    def constant(self, values: Any, kind: type[np.generic] = np.float32) -> str:
        """A tensor that never changes."""
        with extra("retrieval"):
            from onnx import numpy_helper

        name = self._name("c")
        self._constants.append(numpy_helper.from_array(np.array(values, dtype=kind, order="C"), name))
        return name

    def integers(self, *values: int) -> str:
        """A row of whole numbers."""
        return self.constant(values, np.int64)

    def op(self, kind: str, *inputs: str, outputs: int = 1, **attributes: Any) -> list[str]:
        """A node with so many outputs."""
        with extra("retrieval"):
            from onnx import helper

        names = [self._name(kind) for _ in range(outputs)]
        self._nodes.append(helper.make_node(kind, list(inputs), names, **attributes))
        return names

    def draw(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """A node with one output."""
        return self.op(kind, *inputs, **attributes)[0]

    def linear(self, value: str, weight: Any, bias: Any) -> str:
        """Weight and bias as PyTorch keeps them: outputs first."""
        return self.draw("Add", self.draw("MatMul", value, self.constant(weight.T)), self.constant(bias))

    def save(self, path: Path, *, inputs: Mapping[str, Sequence[str | int]], output: str, shape: Sequence[str | int]) -> None:
        """The sheet as a checked model file, its constants beside it; inputs are whole numbers, the output is float32."""
        with extra("retrieval"):
            import onnx
            from onnx import TensorProto, helper

        given = [helper.make_tensor_value_info(name, TensorProto.INT64, list(sizes)) for name, sizes in inputs.items()]
        self._nodes.append(helper.make_node("Identity", [output], ["output"]))
        result = helper.make_tensor_value_info("output", TensorProto.FLOAT, list(shape))
        graph = helper.make_graph(self._nodes, "rankproof", given, [result], self._constants)
        opset = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(graph, opset_imports=opset, ir_version=9, producer_name="rankproof")
        onnx.save_model(model, path, save_as_external_data=True, location=WEIGHTS, size_threshold=1024)
        onnx.checker.check_model(str(path))

    def _name(self, stem: str) -> str:
        self._count += 1
        return f"{stem}_{self._count}"
