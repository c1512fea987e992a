"""Speed of MiniLM: our ONNX graph and sentence-transformers on the same paragraphs, CPU time on one thread."""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rankproof._data.arrays import Matrix

SCIFACT = Path(__file__).parents[2] / "shared" / "data" / "scifact" / "corpus.jsonl"
LENGTHS = (300, 700, 1200, 5000)
SENTENCE = (
    "pan oven knife bread simmer clean steel butter golden slowly filling warm water salt temperature minutes surface handle"
)
WORDS = SENTENCE.split()
Encode = Callable[[Sequence[str]], Matrix]


def main() -> None:
    """Measures and prints a Markdown table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.encoding", description=__doc__)
    parser.add_argument("--texts", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    os.environ.update({"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"})
    given = texts(arguments.texts)
    tools = {"rankproof int8": ours("int8"), "rankproof fp32": ours("fp32"), "sentence-transformers": theirs()}
    vectors = {name: encode(given) for name, encode in tools.items()}
    print("\n".join(report(measure(tools, given, arguments.rounds), vectors, len(given))))


def texts(count: int) -> list[str]:
    """Paragraphs of mixed length: cut abstracts of SciFact where they are at hand, made-up words otherwise."""
    if SCIFACT.is_file():
        lines = SCIFACT.read_text(encoding="utf-8").splitlines()
        found = [json.loads(line) for line in lines[:: len(lines) // count][:count]]
        whole = [f"{one['title']} {one['text']}" for one in found]
    else:
        dice = random.Random(1)
        whole = [" ".join(dice.choices(WORDS, k=250)) for _ in range(count)]
    return [text[: LENGTHS[at % len(LENGTHS)]] for at, text in enumerate(whole)]


def ours(precision: Any) -> Encode:
    """MiniLM by the written graph; its weights are got first where they are not here."""
    from rankproof.models._minilm import MiniLM, download_minilm

    download_minilm(lambda text: print(text, file=sys.stderr), lambda done, total: None)
    return MiniLM(precision=precision).load().encode


def theirs() -> Encode:
    """The same weights by sentence-transformers, cut at 256 tokens, in its own batches of 32."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch
        from sentence_transformers import SentenceTransformer
    torch.set_num_threads(1)
    with TemporaryDirectory() as folder:
        model = SentenceTransformer(str(_as_theirs(Path(folder))), device="cpu")
    return lambda given: model.encode(list(given), batch_size=32, normalize_embeddings=True, show_progress_bar=False)


def _as_theirs(folder: Path) -> Path:
    from rankproof.models._minilm import MINILM_SHA256, minilm_folder

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


def measure(tools: dict[str, Encode], given: Sequence[str], rounds: int) -> dict[str, float]:
    """The best CPU seconds of so many rounds for each tool, the tools taking turns."""
    best = dict.fromkeys(tools, float("inf"))
    for turn in range(rounds):
        for name, encode in tools.items():
            print(f"{name}, round {turn + 1} of {rounds}", file=sys.stderr)
            start = time.process_time()
            encode(given)
            best[name] = min(best[name], time.process_time() - start)
    return best


def report(seconds: dict[str, float], vectors: dict[str, Matrix], count: int) -> list[str]:
    """The table: rates, ratios to sentence-transformers, and how near the vectors are to its own."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("onnxruntime", "sentence-transformers", "torch"))
    lines = [
        f"{count} paragraphs, one thread; {versions}",
        "",
        "| encoder | CPU s | texts/s | times sentence-transformers | cosine to it, mean (least) |",
        "|---|---:|---:|---:|---:|",
    ]
    base = "sentence-transformers"
    for name, taken in seconds.items():
        cosines = (vectors[name] * vectors[base]).sum(axis=1)
        near = f"{cosines.mean():.5f} ({cosines.min():.5f})"
        lines.append(f"| MiniLM, {name} | {taken:.2f} | {count / taken:.1f} | {seconds[base] / taken:.2f} | {near} |")
    return lines


if __name__ == "__main__":
    main()
