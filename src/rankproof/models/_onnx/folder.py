"""Model folders and the ONNX graphs of BERT networks that are written from them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from rankproof._extras import extra
from rankproof._io.files import file_sha256
from rankproof._io.strict_json import read_json, read_json_object
from rankproof.errors import ExternalError, escape_invisible, for_message
from rankproof.models._download.cached_folder import cached_folder, models_cache_folder
from rankproof.models._onnx.config import ACTIVATIONS, BertConfig, TensorReader, bert_config, open_weights

OPSET = 20
WEIGHTS_DATA = "weights.bin"


class GraphBuilder:
    """Collects nodes and constants in the order in which they are added."""

    def __init__(self) -> None:
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._count = 0

    def constant(self, values: Any, kind: type[np.generic] = np.float32) -> str:
        """Adds a constant tensor."""
        with extra("retrieval"):
            from onnx import numpy_helper

        name = self._name("c")
        self._constants.append(numpy_helper.from_array(np.array(values, dtype=kind, order="C"), name))
        return name

    def integers(self, *values: int) -> str:
        """Adds a constant vector of integers."""
        return self.constant(values, np.int64)

    def op(self, kind: str, *inputs: str, outputs: int = 1, **attributes: Any) -> list[str]:
        """Adds a node with several outputs."""
        with extra("retrieval"):
            from onnx import helper

        names = [self._name(kind) for _ in range(outputs)]
        self._nodes.append(helper.make_node(kind, list(inputs), names, **attributes))
        return names

    def add_node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Adds a node with one output."""
        return self.op(kind, *inputs, **attributes)[0]

    def linear(self, value: str, weight: Any, bias: Any) -> str:
        """Adds a linear layer; weight and bias are as in PyTorch, outputs first."""
        return self.add_node("Add", self.add_node("MatMul", value, self.constant(weight.T)), self.constant(bias))

    def save(self, path: Path, *, inputs: Mapping[str, Sequence[str | int]], output: str, shape: Sequence[str | int]) -> None:
        """Writes the checked model, its constants in a second file; inputs are integers, the output is float32."""
        with extra("retrieval"):
            import onnx
            from onnx import TensorProto, helper

        input_values = [helper.make_tensor_value_info(name, TensorProto.INT64, list(sizes)) for name, sizes in inputs.items()]
        self._nodes.append(helper.make_node("Identity", [output], ["output"]))
        result = helper.make_tensor_value_info("output", TensorProto.FLOAT, list(shape))
        graph = helper.make_graph(self._nodes, "rankproof", input_values, [result], self._constants)
        opset = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(graph, opset_imports=opset, ir_version=9, producer_name="rankproof")
        onnx.save_model(model, path, save_as_external_data=True, location=WEIGHTS_DATA, size_threshold=1024)
        onnx.checker.check_model(str(path))

    def _name(self, stem: str) -> str:
        self._count += 1
        return f"{stem}_{self._count}"


def add_linear(graph: GraphBuilder, tensors: TensorReader, name: str, value: str, inputs: int, outputs: int) -> str:
    """Adds the named linear layer."""
    return graph.linear(value, tensors.take(f"{name}.weight", outputs, inputs), tensors.take(f"{name}.bias", outputs))


def add_layer_norm(graph: GraphBuilder, tensors: TensorReader, name: str, value: str, size: int, epsilon: float) -> str:
    """Adds the named layer norm."""
    scale, shift = (graph.constant(tensors.take(f"{name}.{part}", size)) for part in ("weight", "bias"))
    return graph.add_node("LayerNormalization", value, scale, shift, axis=-1, epsilon=epsilon)


def add_activation(graph: GraphBuilder, value: str, activation: str) -> str:
    """Adds tanh, relu or one of the two forms of gelu."""
    if activation in ("tanh", "relu"):
        return graph.add_node(activation.capitalize(), value)
    return graph.add_node("Gelu", value, approximate=ACTIVATIONS[activation])


def add_head(graph: GraphBuilder, tensors: TensorReader, shape: BertConfig, states: str) -> str:
    """Adds the classifier head: one logit per label."""
    inner, bend, outer = shape.family.head
    first = graph.add_node("Gather", states, graph.constant(0, np.int64), axis=1)
    pooled = add_activation(graph, add_linear(graph, tensors, inner, first, shape.hidden, shape.hidden), bend)
    return add_linear(graph, tensors, outer, pooled, shape.hidden, shape.labels)


GRAPH_VERSION = 2
"""Raised when the graph or the int8 network gives other values for the same weights."""


def write_graph(weights: Path, shape: BertConfig, target: Path, *, head: bool, typed: bool) -> None:
    """Writes the graph up to the last hidden states, or with its head up to the logits; `typed` uses token types."""
    taker = TensorReader(open_weights(weights), shape.family.spellings)
    sheet = GraphBuilder()
    states = _add_embeddings(sheet, taker, shape, typed=typed)
    for layer in range(shape.layers):
        states = _add_layer(sheet, taker, shape, states, layer)
    names = ("input_ids", "token_type_ids") if typed else ("input_ids",)
    output = add_head(sheet, taker, shape, states) if head else states
    size = (1, shape.labels) if head else (1, "length", shape.hidden)
    sheet.save(target, inputs=dict.fromkeys(names, (1, "length")), output=output, shape=size)


def _add_embeddings(graph: GraphBuilder, tensors: TensorReader, shape: BertConfig, *, typed: bool) -> str:
    """Adds the embeddings of words, positions and types; without types, the first type is added to the positions."""
    size = shape.embedding
    words = tensors.take("embeddings.word_embeddings.weight", shape.vocabulary, size)
    places = tensors.take("embeddings.position_embeddings.weight", shape.positions, size)
    types = tensors.take("embeddings.token_type_embeddings.weight", shape.types, size) if shape.types else np.zeros((1, size))
    states = graph.add_node("Gather", graph.constant(words), "input_ids")
    if typed:
        states = graph.add_node("Add", states, graph.add_node("Gather", graph.constant(types), "token_type_ids"))
    table = graph.constant(places if typed else places + types[0])
    states = graph.add_node("Add", states, _add_positions(graph, shape, table))
    states = add_layer_norm(graph, tensors, "embeddings.LayerNorm", states, size, shape.epsilon)
    return states if size == shape.hidden else add_linear(graph, tensors, "embeddings_project", states, size, shape.hidden)


def _add_positions(graph: GraphBuilder, shape: BertConfig, table: str) -> str:
    """Adds the positions: a slice of the table, or one position per token if padding has its own."""
    if shape.family.counts_positions:
        padding = graph.constant(shape.padding, np.int64)
        real = graph.add_node("Cast", graph.add_node("Not", graph.add_node("Equal", "input_ids", padding)), to=7)
        counted = graph.add_node("Mul", graph.add_node("CumSum", real, graph.constant(1, np.int64)), real)
        return graph.add_node("Gather", table, graph.add_node("Add", counted, padding))
    length = graph.add_node("Shape", "input_ids", start=1, end=2)
    return graph.add_node("Slice", table, graph.integers(0), length, graph.integers(0))


def _add_layer(graph: GraphBuilder, tensors: TensorReader, shape: BertConfig, states: str, layer: int) -> str:
    names = {part: name.format(layer) for part, name in shape.family.layer.items()}
    context = _add_attention(graph, tensors, shape, states, names)
    attended = add_linear(graph, tensors, names["attended"], context, shape.hidden, shape.hidden)
    states = add_layer_norm(
        graph, tensors, names["attended_norm"], graph.add_node("Add", attended, states), shape.hidden, shape.epsilon
    )
    wide = add_activation(
        graph, add_linear(graph, tensors, names["widen"], states, shape.hidden, shape.intermediate_size), shape.activation
    )
    narrow = add_linear(graph, tensors, names["narrow"], wide, shape.intermediate_size, shape.hidden)
    return add_layer_norm(graph, tensors, names["norm"], graph.add_node("Add", narrow, states), shape.hidden, shape.epsilon)


def _add_attention(graph: GraphBuilder, tensors: TensorReader, shape: BertConfig, states: str, names: dict[str, str]) -> str:
    query, key, value = _add_projections(graph, tensors, shape, states, names)
    scores = graph.add_node("MatMul", query, graph.add_node("Transpose", key, perm=(0, 1, 3, 2)))
    shares = graph.add_node("Softmax", scores, axis=-1)
    context = graph.add_node("Transpose", graph.add_node("MatMul", shares, value), perm=(0, 2, 1, 3))
    return graph.add_node("Reshape", context, graph.integers(0, 0, shape.hidden))


def _add_projections(
    graph: GraphBuilder, tensors: TensorReader, shape: BertConfig, states: str, names: dict[str, str]
) -> list[str]:
    """Adds query, key and value by heads as one multiplication; the query weights include the scale of the scores."""
    width, size = shape.hidden, shape.hidden // shape.heads
    scales = {"query": np.float32(1 / np.sqrt(size)), "key": np.float32(1), "value": np.float32(1)}
    weight = np.concatenate([tensors.take(f"{names[part]}.weight", width, width) * scale for part, scale in scales.items()])
    bias = np.concatenate([tensors.take(f"{names[part]}.bias", width) * scale for part, scale in scales.items()])
    joined = graph.linear(states, weight, bias)
    parts = graph.op("Split", joined, outputs=3, axis=2, num_outputs=3)
    heads = graph.integers(0, 0, shape.heads, size)
    return [graph.add_node("Transpose", graph.add_node("Reshape", part, heads), perm=(0, 2, 1, 3)) for part in parts]


Pooling = Literal["mean", "cls"]
POOLINGS: tuple[Pooling, ...] = get_args(Pooling)
WEIGHTS, CONFIG, TOKENIZER = "model.safetensors", "config.json", "tokenizer.json"
_POOLING_MODES = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}
_KNOWN_MODULES = ("Transformer", "Pooling", "Normalize")
_USE_TORCH = "install rankproof[torch] and prefix the name with torch:"


@dataclass(frozen=True, eq=False, slots=True)
class ModelFolder:
    """A model folder: the folder of the network, the modules and the settings."""

    path: Path
    network: Path
    modules: Mapping[str, str]
    shape: BertConfig

    @property
    def weights(self) -> Path:
        """The file with the weights."""
        return self.network / WEIGHTS

    @property
    def tokenizer(self) -> Path:
        """The file with the tokenizer."""
        return self.network / TOKENIZER

    def pooling(self) -> Pooling:
        """The pooling of the Pooling module, the mean if there is none."""
        return folder_pooling(self.path, self.modules)

    def max_tokens(self) -> int:
        """The maximum number of tokens in the model's settings."""
        length = read_json_object(self.network / "sentence_bert_config.json").get("max_seq_length")
        length = length or read_json_object(self.network / "tokenizer_config.json").get("model_max_length")
        return min(length, self.shape.max_positions) if isinstance(length, int) else self.shape.max_positions

    def uses_token_types(self) -> bool:
        """Whether the second text of a pair has its own token type."""
        names = read_json_object(self.network / "tokenizer_config.json").get("model_input_names")
        return self.shape.types > 1 and (not isinstance(names, list) or "token_type_ids" in names)

    def lowers(self) -> bool:
        """Whether texts are lowercased before tokenization."""
        return read_json_object(self.network / "sentence_bert_config.json").get("do_lower_case") is True

    def prompts(self) -> dict[str, str]:
        """The prompts in the model's settings."""
        prompts = read_json_object(self.path / "config_sentence_transformers.json").get("prompts")
        return {str(name): str(text) for name, text in prompts.items()} if isinstance(prompts, dict) else {}

    def revision(self) -> str:
        """A sha256 of all files that affect the vectors, and the version of the graph."""
        names = (WEIGHTS, TOKENIZER, CONFIG, "sentence_bert_config.json", "tokenizer_config.json")
        paths = [self.network / name for name in names] + [self.path / part / CONFIG for part in self.modules.values() if part]
        listed = "\n".join(f"{path.relative_to(self.path).as_posix()} {file_sha256(path)}" for path in paths if path.is_file())
        return f"{hashlib.sha256(listed.encode()).hexdigest()}.{GRAPH_VERSION}"


def open_model_folder(path: Path) -> ModelFolder:
    """The checked folder; a missing file is an error."""
    modules = module_folders(path)
    network = path / modules.get("Transformer", "")
    for name in (CONFIG, WEIGHTS, TOKENIZER):
        if not (network / name).is_file():
            raise _missing_part_error(network, name)
    config = read_json_object(network / CONFIG)
    return ModelFolder(path, network, modules, bert_config(config, str(network / CONFIG)))


def folder_pooling(path: Path, modules: Mapping[str, str]) -> Pooling:
    """The pooling of the Pooling module, the mean if there is none."""
    if "Pooling" not in modules:
        return "mean"
    settings = read_json_object(path / modules["Pooling"] / CONFIG)
    modes = [settings["pooling_mode"]] if "pooling_mode" in settings else [key for key, on in settings.items() if on is True]
    known = [_POOLING_MODES.get(mode, mode) for mode in modes if mode != "include_prompt"]
    if len(known) == 1 and known[0] in POOLINGS:
        return known[0]
    raise ExternalError(
        escape_invisible(
            f"{path}: pooling {for_message(', '.join(map(str, known)))} is not one of {', '.join(POOLINGS)}; {_USE_TORCH}"
        )
    )


def module_folders(path: Path) -> dict[str, str]:
    """The module folders by type; a plain transformers model has none."""
    file = path / "modules.json"
    if not file.is_file():
        return {}
    listed = read_json(file)
    try:
        folders = {str(module["type"]).rpartition(".")[2]: str(module["path"]) for module in listed}
    except (TypeError, KeyError):
        raise ExternalError(escape_invisible(f"{file}: not a list of modules; download the model again")) from None
    for kind, part in folders.items():
        if kind not in _KNOWN_MODULES:
            raise ExternalError(
                escape_invisible(f"{file}: module {for_message(kind)} is not one of {', '.join(_KNOWN_MODULES)}; {_USE_TORCH}")
            )
        if Path(part).is_absolute() or ".." in Path(part).parts:
            raise ExternalError(
                escape_invisible(f"{file}: module path {for_message(part)} leads out of the folder; download the model again")
            )
    return folders


def _missing_part_error(network: Path, name: str) -> ExternalError:
    missing = f"{network}: no {name}; a model's folder has {CONFIG}, {WEIGHTS} and {TOKENIZER}"
    if name == WEIGHTS and (network / f"{WEIGHTS}.index.json").is_file():
        return ExternalError(escape_invisible(f"{missing}, but here the weights are split into several files: {_USE_TORCH}"))
    if name == WEIGHTS and any(network.glob("*.bin")):
        return ExternalError(
            escape_invisible(
                f"{missing}; .bin files are pickles, which can run code, and are not read: convert them to safetensors"
            )
        )
    return ExternalError(escape_invisible(missing))


GRAPH_FILE = "model.onnx"


def cached_graph(folder: ModelFolder, revision: str, *, head: bool) -> Path:
    """The verified file with the float32 graph, written if it is not cached."""
    name = f"{revision[:20]}{revision[64:]}-{'cross-encoder' if head else 'encoder'}-fp32"
    return cached_folder(models_cache_folder() / name, _graph_writer(folder, revision, head=head)) / GRAPH_FILE


def _graph_writer(folder: ModelFolder, revision: str, *, head: bool) -> Callable[[Path], dict[str, Any]]:
    def make(target: Path) -> dict[str, Any]:
        typed = head and folder.uses_token_types()
        write_graph(folder.weights, folder.shape, target / GRAPH_FILE, head=head, typed=typed)
        facts = {"model": folder.path.name, "revision": revision, "precision": "fp32", "kind": "graph"}
        return {**facts, "onnx": version("onnx"), "onnxruntime": version("onnxruntime")}

    return make
