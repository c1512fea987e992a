"""Written graphs, kept in the cache folder under the revision of what they were written from."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .bert_graph import write_graph
from .kept_folder import kept, models_home
from .model_folder import ModelFolder
from .quantise import quantise
from .settings import Precision

GRAPH = "model.onnx"


def graph_of(folder: ModelFolder, revision: str, precision: Precision, *, head: bool) -> Path:
    """The graph's file, checked; written first where it is not there."""
    name = f"{revision[:20]}{revision[64:]}-{'pairs' if head else 'encoder'}-{precision}"
    return kept(models_home() / name, _maker(folder, revision, precision, head=head)) / GRAPH


def _maker(folder: ModelFolder, revision: str, precision: Precision, *, head: bool) -> Callable[[Path], dict[str, Any]]:
    def make(target: Path) -> dict[str, Any]:
        if precision == "fp32":
            _write(folder, target / GRAPH, head=head)
        else:
            _write_int8(folder, target, head=head)
        facts = {"model": folder.path.name, "revision": revision, "precision": precision, "kind": "graph"}
        return {**facts, "onnx": version("onnx"), "onnxruntime": version("onnxruntime")}

    return make


def _write(folder: ModelFolder, path: Path, *, head: bool) -> None:
    write_graph(folder.weights, folder.shape, path, head=head, typed=head and folder.tells_texts_apart())


def _write_int8(folder: ModelFolder, target: Path, *, head: bool) -> None:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(dir=target) as inner:
        whole = Path(inner) / GRAPH
        _write(folder, whole, head=head)
        quantise(whole, target / GRAPH)
