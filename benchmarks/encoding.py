"""Speed of encoders on the CPU: MiniLM and static vectors beside other libraries on the same passages, one thread."""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from tools import shared_folder

from rankproof._data.arrays import Matrix

SCIFACT = shared_folder.DATA / "scifact" / "corpus.jsonl"
SENTENCE = (
    "pan oven knife bread simmer clean steel butter golden slowly filling warm water salt temperature minutes surface handle"
)
WORDS = SENTENCE.split()
STATIC_TIMES = 10
"""Static vectors are measured on so many times the passages."""
Encode = Callable[[Sequence[str]], Matrix]


def main() -> None:
    """Measures and prints Markdown tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.encoding", description=__doc__)
    parser.add_argument("--texts", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    os.environ.update({"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"})
    compare(minilm_tools(), passages(arguments.texts), arguments.rounds)
    threads(passages(arguments.texts), arguments.rounds)
    compare(static_tools(), passages(arguments.texts * STATIC_TIMES), arguments.rounds)


def passages(count: int) -> list[str]:
    """Titles and abstracts of SciFact where they are at hand, made-up words otherwise."""
    if SCIFACT.is_file():
        lines = SCIFACT.read_text(encoding="utf-8").splitlines()
        found = [json.loads(line) for line in lines[:: max(1, len(lines) // count)][:count]]
        return [f"{one['title']} {one['text']}" for one in found]
    dice = random.Random(1)
    return [" ".join(dice.choices(WORDS, k=dice.randint(60, 400))) for _ in range(count)]


def minilm_tools() -> dict[str, Encode]:
    """MiniLM by rankproof, by fastembed where it is installed, and by sentence-transformers, which is the last."""
    from rankproof.models._bert import MiniLM, download_minilm

    download_minilm(lambda text: print(text, file=sys.stderr), lambda done, total: None)
    ours: dict[str, Encode] = {
        f"MiniLM, rankproof {precision}": MiniLM(precision=precision, device="cpu").load().encode
        for precision in ("int8", "fp32")
    }
    if find_spec("fastembed") is not None:
        ours[f"MiniLM, fastembed {version('fastembed')} (onnxruntime, the graph of rankproof)"] = by_fastembed()
    return {**ours, f"MiniLM, sentence-transformers {version('sentence-transformers')} (torch {version('torch')})": theirs()}


def by_fastembed() -> Encode:
    """The fp32 graph of rankproof by fastembed, truncated at 256 tokens, one text at a time as the graph needs it."""
    from rankproof.models._bert import minilm_folder
    from rankproof.models._onnx.folder import open_model_folder, write_graph

    package: Any = import_module("fastembed")
    kinds: Any = import_module("fastembed.common.model_description")
    source = kinds.ModelSource(url="unused")
    package.TextEmbedding.add_custom_model("local/minilm", kinds.PoolingType.MEAN, True, source, 384, "model.onnx")
    with TemporaryDirectory() as name:
        folder, model = Path(name), open_model_folder(minilm_folder())
        write_graph(model.weights, model.shape, folder / "model.onnx", head=False, typed=False)
        for copied in ("config.json", "tokenizer.json"):
            (folder / copied).symlink_to(minilm_folder() / copied)
        for written, content in {"tokenizer_config": {"model_max_length": 256}, "special_tokens_map": {}}.items():
            (folder / f"{written}.json").write_text(json.dumps({"pad_token": "[PAD]", **content}), encoding="utf-8")
        loaded = package.TextEmbedding("local/minilm", specific_model_path=name, threads=1, cuda=False)
    return lambda given: np.array(list(loaded.embed(list(given), batch_size=1)))


def theirs() -> Encode:
    """The same weights by sentence-transformers, truncated at 256 tokens, in its own batches of 32."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch
        from sentence_transformers import SentenceTransformer
    torch.set_num_threads(1)
    with TemporaryDirectory() as folder:
        model = SentenceTransformer(str(_as_theirs(Path(folder))), device="cpu")
    return lambda given: model.encode(list(given), batch_size=32, normalize_embeddings=True, show_progress_bar=False)


def _as_theirs(folder: Path) -> Path:
    from rankproof.models._bert import MINILM_SHA256, minilm_folder

    for name in ("config.json", *MINILM_SHA256):
        (folder / name).symlink_to(minilm_folder() / name)
    kinds = {"": "Transformer", "1_Pooling": "Pooling"}
    modules = [
        {"idx": at, "name": str(at), "path": path, "type": f"sentence_transformers.models.{kinds[path]}"}
        for at, path in enumerate(kinds)
    ]
    (folder / "1_Pooling").mkdir()
    settings = {
        "modules.json": modules,
        "1_Pooling/config.json": {"word_embedding_dimension": 384, "pooling_mode_mean_tokens": True},
        "sentence_bert_config.json": {"max_seq_length": 256},
    }
    for name, content in settings.items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    return folder


def static_tools() -> dict[str, Encode]:
    """Static vectors by rankproof, and by the package wordllama where it is installed, which is the last."""
    from rankproof.models._wordllama import WordLlama, download_wordllama

    download_wordllama(lambda text: print(text, file=sys.stderr), lambda done, total: None)
    tools: dict[str, Encode] = {"static, rankproof": WordLlama(lowercase=False).load().encode}
    if find_spec("wordllama") is None:
        return tools
    package: Any = import_module("wordllama")
    model = package.WordLlama.load(cache_dir=Path(package.__file__).parent, disable_download=True)
    return {**tools, f"static, package wordllama {version('wordllama')}": lambda given: model.embed(list(given), norm=True)}


def compare(tools: dict[str, Encode], given: Sequence[str], rounds: int) -> None:
    """Prints rates, ratios to the last tool, and how near the vectors are to its own."""
    vectors = {name: encode(given) for name, encode in tools.items()}
    seconds = measure(tools, given, rounds, time.process_time)
    base = list(tools)[-1]
    print(f"\n{len(given):,} passages, one thread\n")
    print(
        "| encoder | CPU s | texts/s | speed relative to the last row | cosine to it, mean (lowest) |\n|---|---:|---:|---:|---:|"
    )
    for name, taken in seconds.items():
        cosines = (vectors[name] * vectors[base]).sum(axis=1)
        near = f"{cosines.mean():.5f} ({cosines.min():.5f})"
        print(f"| {name} | {taken:.2f} | {len(given) / taken:,.1f} | {seconds[base] / taken:.2f} | {near} |")


def threads(given: Sequence[str], rounds: int) -> None:
    """Prints the wall times of one and two threads."""
    from rankproof.models._bert import MiniLM
    from rankproof.models._wordllama import WordLlama

    print("\n| encoder | one thread, s | two threads, s | ratio |\n|---|---:|---:|---:|")
    for name, model, texts in (
        ("MiniLM int8", MiniLM(precision="int8", device="cpu"), given),
        ("static", WordLlama(), list(given) * STATIC_TIMES),
    ):
        loaded: dict[str, Any] = {str(count): model.load(threads=count).encode for count in (1, 2)}
        seconds = measure(loaded, texts, rounds, time.perf_counter)
        print(f"| {name} | {seconds['1']:.2f} | {seconds['2']:.2f} | {seconds['1'] / seconds['2']:.2f} |")


def measure(tools: dict[str, Encode], given: Sequence[str], rounds: int, clock: Callable[[], float]) -> dict[str, float]:
    """The best seconds of so many rounds for each tool, the tools taking turns."""
    best = dict.fromkeys(tools, float("inf"))
    for turn in range(rounds):
        for name, encode in tools.items():
            print(f"{name}, round {turn + 1} of {rounds}", file=sys.stderr)
            start = clock()
            encode(given)
            best[name] = min(best[name], clock() - start)
    return best


if __name__ == "__main__":
    main()
