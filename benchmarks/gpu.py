"""Speed on a GPU: tokenizing, encoding, exact search and the shape of MS MARCO, one part a command.

    python -m benchmarks.gpu weights FOLDER       # on any machine: the weights of minilm in bf16
    python -m benchmarks.gpu PART --weights FOLDER

A part prints its figures and writes them as JSON into the folder of the variable OUT, if it is set.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import rankproof._native
from rankproof import evaluate, read_dataset
from rankproof._data.arrays import Matrix
from rankproof._data.identity import installed_version
from rankproof._data.run import Run
from rankproof._evaluation.result import Result
from rankproof._executors.base import SerialExecutor
from rankproof._executors.processes import ProcessExecutor
from rankproof._experiment.cache import DiskBlockCache
from rankproof._experiment.experiment import Experiment
from rankproof._experiment.run import RunOptions, run_experiment
from rankproof.models._base import PRECISIONS
from rankproof.models._bert import Bert, open_bert_tokenizer
from rankproof.models._device import GPU_PRECISIONS, Placement, available_cores, chosen_device
from rankproof.models._onnx.folder import CONFIG, TOKENIZER, WEIGHTS, open_model_folder
from rankproof.models._tokenizer import BatchTokenizer, TokenizerFile
from rankproof.stages._base import BuildContext
from rankproof.stages._dense import Dense
from rankproof.stores._memory import VectorRows, best_kernel, nearest, nearest_by_torch

from .gpu_texts import Words, make_dataset

PACKAGES = (
    "torch",
    "transformers",
    "sentence-transformers",
    "tokenizers",
    "numpy",
    "onnxruntime",
    "bm25s",
    "faiss-cpu",
    "tantivy",
)
EXTENSIONS = sorted(path.stem for path in Path(rankproof._native.__path__[0]).glob("*.pyi"))
MAX_TOKENS, DEPTH = 256, 1000


def main() -> None:
    """Runs one part."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("part", choices=("weights", *PARTS))
    parser.add_argument("folder", nargs="?", type=Path, help="where the part `weights` writes")
    parser.add_argument("--weights", type=Path, help="the folder that the part `weights` wrote")
    parser.add_argument("--texts", type=int, default=200_000, help="documents of the part encode; the part probe takes a tenth")
    parser.add_argument("--documents", type=int, default=8_841_823, help="passages of the part marco")
    parser.add_argument("--queries", type=int, default=6_980, help="queries of the parts search and marco")
    parser.add_argument("--jobs", type=int, default=8, help="processes of the part marco")
    parser.add_argument("--data", type=Path, help="the dataset of the part quality: a folder, such as SciFact's")
    parser.add_argument("--work", type=Path, help="where temporary files go (default: the system's folder for them)")
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--device", default="cuda")
    arguments = parser.parse_args()
    if arguments.part == "weights":
        write_weights(arguments.folder)
        return
    if arguments.weights is None or not (arguments.weights / WEIGHTS).is_file():
        parser.error(f"--weights has no {WEIGHTS}; the part weights writes it")
    figures = Figures(arguments.part)
    seconds, _ = timed(lambda: PARTS[arguments.part](arguments, figures))
    figures.show("seconds in all", seconds)


class Figures:
    """The figures of a part, printed and written as they come, so that a part that is stopped keeps those it has."""

    def __init__(self, part: str) -> None:
        self._found: dict[str, Any] = {"part": part}
        self._path = Path(os.environ["OUT"], f"gpu-{part}.json") if os.environ.get("OUT") else None

    def show(self, name: str, value: Any) -> None:
        """Prints and writes a figure."""
        self._found[name] = value
        print(f"{name}: {value:,.4g}" if isinstance(value, float) else f"{name}: {value}", flush=True)
        if self._path is not None:
            self._path.write_text(json.dumps(self._found, indent=1), encoding="utf-8")


def write_weights(folder: Path) -> None:
    """The files of minilm with its weights rounded to bf16."""
    import torch
    from safetensors.torch import load_file, save_file

    from rankproof.models._bert import minilm_folder

    folder.mkdir(parents=True, exist_ok=True)
    tensors = {name: one for name, one in load_file(minilm_folder() / WEIGHTS).items() if one.is_floating_point()}
    save_file({name: one.to(torch.bfloat16) for name, one in tensors.items()}, folder / WEIGHTS)
    for name in (CONFIG, TOKENIZER):
        shutil.copy(minilm_folder() / name, folder / name)


def probe(arguments: argparse.Namespace, figures: Figures) -> None:
    """What the machine has, and small timings."""
    figures.show("python", platform.python_version())
    figures.show("cores", available_cores())
    figures.show("memory free, GB", _free_memory())
    figures.show("disk free, GB", shutil.disk_usage(".").free / 1e9)
    figures.show("packages", {name: installed_version(name) for name in PACKAGES})
    figures.show("gcc", shutil.which("gcc"))
    figures.show("extensions", {name: find_spec(f"rankproof._native.{name}") is not None for name in EXTENSIONS})
    if nvidia := shutil.which("nvidia-smi"):
        figures.show("nvidia-smi", subprocess.run([nvidia, "-L"], capture_output=True, text=True).stdout.strip())
    figures.show("device", chosen_device(arguments.device))
    words = Words(arguments.weights / TOKENIZER)
    for threads in (1, available_cores()):
        _tokenizing(arguments, figures, words, threads)
    for count, length in ((50, 64), (110, 128), (240, 256)):
        texts = words.texts(arguments.texts // 10, count, seed=length)
        _encoding(arguments, figures, texts, f"{count} words", arguments.precision)
    _batch_sizes(arguments, figures, words)
    figures.show("rows that other batches change", _changed_rows(arguments, words))
    figures.show(f"vectors in {arguments.precision} and fp32, least cosine", _least_cosine(arguments, words))


def _free_memory() -> float:
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9


def _tokenizing(arguments: argparse.Namespace, figures: Figures, words: Words, threads: int) -> None:
    texts = words.texts(arguments.texts // 50 * threads, 240, seed=threads)
    file = TokenizerFile(arguments.weights / TOKENIZER, max_tokens=MAX_TOKENS)
    batches = BatchTokenizer(file, threads=threads)
    seconds, tokens = timed(lambda: batches.texts(texts))
    figures.show(f"tokenizing, {threads} threads, million tokens/s", len(tokens.ids) / seconds / 1e6)
    if threads > 1:
        seconds, _ = timed(lambda: file.of_many(texts))
        figures.show("the library tokenizers, its own threads, million tokens/s", len(tokens.ids) / seconds / 1e6)


def _encoding(arguments: argparse.Namespace, figures: Figures, texts: Sequence[str], label: str, precision: str) -> None:
    encoder = _encoder(arguments, precision)
    seconds, _ = timed(lambda: encoder.encode(texts[: len(texts) // 10]))
    figures.show(f"{label}, {precision}: first call, seconds", seconds)
    seconds, _ = timed(lambda: encoder.encode(texts))
    figures.show(f"{label}, {precision}: mean tokens", float(np.mean(encoder.lengths(texts[:2000]))))
    figures.show(f"{label}, {precision}: text to vectors, documents/s", len(texts) / seconds)
    seconds, _ = timed(lambda: [encoder.encode([text[:40]]) for text in texts[:50]])
    figures.show(f"{label}, {precision}: one short text, ms", seconds / 50 * 1000)


def _batch_sizes(arguments: argparse.Namespace, figures: Figures, words: Words) -> None:
    """The speed with other numbers of tokens a batch."""
    texts = words.varied(arguments.texts // 4, 37, 97, seed=3)
    for tokens in (8_192, 16_384, 32_768, 65_536):
        encoder = _torch_encoder(arguments, arguments.precision, tokens)
        encoder.encode(texts)
        seconds, _ = timed(partial(encoder.encode, texts))
        figures.show(f"37 to 97 words, batches of {tokens} tokens: documents/s", len(texts) / seconds)


def _changed_rows(arguments: argparse.Namespace, words: Words) -> int:
    """How many vectors get other bits in another order, in smaller calls or alone."""
    encoder = _encoder(arguments, arguments.precision)
    texts = [text[: 20 + 7 * (at % 200)] for at, text in enumerate(words.texts(arguments.texts // 30, 300, seed=9))]
    whole, order = encoder.encode(texts), np.random.default_rng(1).permutation(len(texts))
    mixed = encoder.encode([texts[at] for at in order])
    pieces = np.concatenate([encoder.encode(texts[start : start + 500]) for start in range(0, len(texts), 500)])
    single = np.concatenate([encoder.encode([text]) for text in texts[:300]])
    changed = [(mixed != whole[order]).any(1).sum(), (pieces != whole).any(1).sum(), (single != whole[:300]).any(1).sum()]
    return int(sum(changed))


def _least_cosine(arguments: argparse.Namespace, words: Words) -> float:
    """The least cosine between the vectors of a text in the precision and in fp32, both on the device."""
    texts = [text[: 20 + 7 * (at % 200)] for at, text in enumerate(words.texts(arguments.texts // 400, 300, seed=10))]
    near, exact = (_encoder(arguments, precision).encode(texts) for precision in (arguments.precision, "fp32"))
    return float((near * exact).sum(axis=1).min())


def encode(arguments: argparse.Namespace, figures: Figures) -> None:
    """Documents of 256 tokens from text to vectors, beside sentence-transformers."""
    words = Words(arguments.weights / TOKENIZER)
    texts = words.texts(arguments.texts, 240, seed=1)
    figures.show("documents", len(texts))
    figures.show("megabytes of text", sum(map(len, texts)) / 1e6)
    for precision, count in (("bf16", len(texts)), ("fp16", len(texts)), ("fp32", len(texts) // 5)):
        _encoding(arguments, figures, texts[:count], "240 words", precision)
    peer = _sentence_transformers(arguments.weights, arguments.device)
    peer(texts[:2000])
    count = min(20_000, len(texts))
    seconds, _ = timed(lambda: peer(texts[:count]))
    figures.show("sentence-transformers, bf16, batches of 1,024: documents/s", count / seconds)


def _sentence_transformers(weights: Path, device: str) -> Callable[[Sequence[str]], Matrix]:
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers import models as modules

    network = modules.Transformer(str(weights), max_seq_length=MAX_TOKENS)
    model = SentenceTransformer(modules=[network, modules.Pooling(384), modules.Normalize()], device=device).to(torch.bfloat16)
    return lambda texts: (
        model.encode(list(texts), batch_size=1024, show_progress_bar=False, convert_to_tensor=True).float().cpu().numpy()
    )


def _encoder(arguments: argparse.Namespace, precision: Any) -> Any:
    """The encoder; on the CPU the network in torch too, to try this program without a GPU."""
    return _model(arguments, precision).load() if arguments.device != "cpu" else _torch_encoder(arguments, precision, 512)


def _torch_encoder(arguments: argparse.Namespace, precision: str, tokens: int) -> Any:
    """The network in torch with so many tokens a batch."""
    from rankproof.models._torch_bert import TorchBertEncoder

    folder, place = open_model_folder(arguments.weights), Placement(chosen_device(arguments.device), precision)
    tokenizer = open_bert_tokenizer(folder, MAX_TOKENS)
    return TorchBertEncoder(folder, tokenizer, place, max_tokens=MAX_TOKENS, pooling="mean", facts={}, tokens_per_batch=tokens)


def _model(arguments: argparse.Namespace, precision: Any) -> Bert:
    return Bert(str(arguments.weights), precision=precision, max_tokens=MAX_TOKENS, device=arguments.device)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """The seconds of the work and what it gives."""
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


def marco(arguments: argparse.Namespace, figures: Figures) -> None:
    """The shape of MS MARCO: passages of about 75 tokens, encoded, searched exactly to rank 1,000, and evaluated."""
    with TemporaryDirectory(dir=arguments.work) as work:
        folder = Path(work)
        seconds, size = timed(
            lambda: make_dataset(
                folder / "data", arguments.weights / TOKENIZER, arguments.documents, arguments.queries, cores=available_cores()
            )
        )
        figures.show("making the corpus, seconds (not counted)", seconds)
        figures.show("megabytes of the corpus", size / 1e6)
        os.environ["RANKPROOF_CACHE"] = str(folder / "cache")
        seconds, dataset = timed(lambda: read_dataset(folder / "data"))
        figures.show("reading the corpus, seconds (not counted)", seconds)
        _ranked(arguments, figures, dataset, folder / "cache")


def _ranked(arguments: argparse.Namespace, figures: Figures, dataset: Any, cache: Path) -> None:
    """Encodes, searches and evaluates as a run does, but times no single queries."""
    corpus, queries = dataset.corpus, list(dataset.queries.values())
    figures.show("documents, queries, partitions, processes", [len(corpus), len(queries), len(corpus.partitions), arguments.jobs])
    executor = ProcessExecutor(arguments.jobs) if arguments.jobs > 1 else SerialExecutor()
    start = time.perf_counter()
    with DiskBlockCache(cache, no_progress) as blocks, closing(executor):
        context = BuildContext(corpus, corpus.fingerprint(), blocks, arguments.jobs, executor=executor)
        seconds, searcher = timed(lambda: Dense(_model(arguments, arguments.precision), depth=DEPTH).build(context))
        figures.show("tokenizing and encoding, seconds", seconds)
        figures.show("tokenizing and encoding, documents/s", len(corpus) / seconds)
        seconds, rankings = timed(lambda: searcher.search_all(queries))
        figures.show("searching to rank 1,000 and merging, seconds", seconds)
    seconds, run = timed(lambda: Run.from_rankings("dense", [query.id for query in queries], rankings))
    figures.show("rankings as a run, seconds", seconds)
    seconds, result = timed(lambda: evaluate(dataset.qrels, run, ["RR@10", "nDCG@10", "R@1000"]))
    figures.show("evaluating, seconds", seconds)
    figures.show("counted seconds", time.perf_counter() - start)
    figures.show("values", _values(result))


def _values(result: Result) -> dict[str, dict[str, float]]:
    """The means by system and measure, without the libraries that print tables."""
    return {system.name: {name: float(one.value) for name, one in system.measures.items()} for system in result.systems}


def no_progress(label: str, done: int, total: int) -> None:
    """Shows nothing."""


def search(arguments: argparse.Namespace, figures: Figures) -> None:
    """Exact search on the GPU and on the CPU: the same rows and bits, and the time of a partition."""
    words = Words(arguments.weights / TOKENIZER)
    encoder = _encoder(arguments, arguments.precision)
    rows = VectorRows.of(encoder.encode(words.varied(arguments.texts, 37, 97, seed=1)))
    queries = encoder.encode(words.varied(arguments.queries, 6, 12, seed=2))
    figures.show("vectors and queries", [len(rows.vectors), len(queries)])
    nearest_by_torch(rows, queries[:10], 10, arguments.device)
    for k in (100, DEPTH):
        seconds, found = timed(partial(nearest_by_torch, rows, queries, k, arguments.device))
        figures.show(f"top {k} on the GPU, seconds", seconds)
        sample = np.ascontiguousarray(queries[:: max(1, len(queries) // 200)])
        seconds, exact = timed(partial(nearest, rows, sample, k, best_kernel()))
        figures.show(f"top {k} on the CPU, {len(sample)} queries, seconds", seconds)
        chosen = [part[:: max(1, len(queries) // 200)] for part in found]
        figures.show(f"top {k}: rows that differ", int((chosen[0] != exact[0]).sum()))
        figures.show(f"top {k}: scores whose bits differ", int((chosen[1].view(np.int64) != exact[1].view(np.int64)).sum()))


def quality(arguments: argparse.Namespace, figures: Figures) -> None:
    """Whole runs on a dataset in each precision: nDCG@10, notes and devices."""
    precisions: tuple[str, ...] = PRECISIONS if arguments.device == "cpu" else GPU_PRECISIONS
    systems = {precision: Dense(_model(arguments, precision)) for precision in precisions}
    experiment = Experiment(systems, str(arguments.data), measures=("nDCG@10", "R@100"))
    with TemporaryDirectory(dir=arguments.work) as cache:
        seconds, found = timed(lambda: run_experiment(experiment, RunOptions(cache=cache)))
    figures.show("seconds of the run", seconds)
    figures.show("values", _values(found.result))
    figures.show("notes", list(found.notes))
    figures.show("devices", found.provenance.get("devices"))


PARTS: dict[str, Callable[[argparse.Namespace, Figures], None]] = {
    "probe": probe,
    "encode": encode,
    "search": search,
    "quality": quality,
    "marco": marco,
}


if __name__ == "__main__":
    main()
