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
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from rankproof._data.arrays import Matrix
from rankproof._data.identity import installed_version
from rankproof.models._bert import Bert, open_bert_tokenizer
from rankproof.models._device import Placement, available_cores, chosen_device
from rankproof.models._onnx.folder import CONFIG, TOKENIZER, WEIGHTS, open_model_folder
from rankproof.models._token_batch import BatchTokenizer
from rankproof.models._tokenizer import TokenizerFile

from .gpu_texts import Words

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
EXTENSIONS = ("align", "merge", "topk", "permutation", "wordpiece")
MAX_TOKENS = 256
Figures = dict[str, Any]


def main() -> None:
    """Runs one part."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("part", choices=("weights", *PARTS))
    parser.add_argument("folder", nargs="?", type=Path, help="where the part `weights` writes")
    parser.add_argument("--weights", type=Path, help="the folder that the part `weights` wrote")
    parser.add_argument("--texts", type=int, default=200_000, help="documents of the part encode; the part probe takes a tenth")
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--device", default="cuda")
    arguments = parser.parse_args()
    if arguments.part == "weights":
        write_weights(arguments.folder)
        return
    start = time.perf_counter()
    figures = {"part": arguments.part, **PARTS[arguments.part](arguments)}
    show("seconds in all", figures, time.perf_counter() - start)
    if out := os.environ.get("OUT"):
        Path(out, f"gpu-{arguments.part}.json").write_text(json.dumps(figures, indent=1), encoding="utf-8")


def show(name: str, figures: Figures, value: Any) -> None:
    """Prints a figure at once and keeps it."""
    figures[name] = value
    print(f"{name}: {value:,.4g}" if isinstance(value, float) else f"{name}: {value}", flush=True)


def write_weights(folder: Path) -> None:
    """The files of minilm with its weights rounded to bf16."""
    import torch
    from safetensors.torch import load_file, save_file

    from rankproof.models._minilm import minilm_folder

    folder.mkdir(parents=True, exist_ok=True)
    tensors = {name: one for name, one in load_file(minilm_folder() / WEIGHTS).items() if one.is_floating_point()}
    save_file({name: one.to(torch.bfloat16) for name, one in tensors.items()}, folder / WEIGHTS)
    for name in (CONFIG, TOKENIZER):
        shutil.copy(minilm_folder() / name, folder / name)


def probe(arguments: argparse.Namespace) -> Figures:
    """What the machine has, and small timings."""
    figures: Figures = {}
    show("python", figures, platform.python_version())
    show("cores", figures, available_cores())
    show("memory free, GB", figures, _free_memory())
    show("disk free, GB", figures, shutil.disk_usage(".").free / 1e9)
    show("packages", figures, {name: installed_version(name) for name in PACKAGES})
    show("gcc", figures, shutil.which("gcc"))
    show("extensions", figures, {name: find_spec(f"rankproof._native.{name}") is not None for name in EXTENSIONS})
    if nvidia := shutil.which("nvidia-smi"):
        show("nvidia-smi", figures, subprocess.run([nvidia, "-L"], capture_output=True, text=True).stdout.strip())
    show("device", figures, chosen_device(arguments.device))
    words = Words(arguments.weights / TOKENIZER)
    for threads in (1, available_cores()):
        figures |= _tokenizing(arguments, words, threads)
    for count, length in ((50, 64), (110, 128), (240, 256)):
        texts = words.texts(arguments.texts // 10, count, seed=length)
        figures |= _encoding(arguments, texts, f"{count} words", arguments.precision)
    show("rows that other batches change", figures, _changed_rows(arguments, words))
    show("vectors of the GPU and the CPU, least cosine", figures, _least_cosine(arguments, words))
    return figures


def _free_memory() -> float:
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9


def _tokenizing(arguments: argparse.Namespace, words: Words, threads: int) -> Figures:
    figures: Figures = {}
    texts = words.texts(arguments.texts // 50 * threads, 240, seed=threads)
    file = TokenizerFile(arguments.weights / TOKENIZER, max_tokens=MAX_TOKENS)
    batches = BatchTokenizer(file, threads=threads)
    seconds, tokens = timed(lambda: batches.texts(texts))
    show(f"tokenizing, {threads} threads, million tokens/s", figures, len(tokens.ids) / seconds / 1e6)
    if threads > 1:
        seconds, _ = timed(lambda: file.of_many(texts))
        show("the library tokenizers, its own threads, million tokens/s", figures, len(tokens.ids) / seconds / 1e6)
    return figures


def _encoding(arguments: argparse.Namespace, texts: Sequence[str], label: str, precision: str) -> Figures:
    figures: Figures = {}
    encoder = _encoder(arguments, precision)
    seconds, _ = timed(lambda: encoder.encode(texts[: len(texts) // 10]))
    show(f"{label}, {precision}: first call, seconds", figures, seconds)
    seconds, _ = timed(lambda: encoder.encode(texts))
    show(f"{label}, {precision}: mean tokens", figures, float(np.mean(encoder.lengths(texts[:2000]))))
    show(f"{label}, {precision}: text to vectors, documents/s", figures, len(texts) / seconds)
    seconds, _ = timed(lambda: [encoder.encode([text[:40]]) for text in texts[:50]])
    show(f"{label}, {precision}: one short text, ms", figures, seconds / 50 * 1000)
    return figures


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
    """The least cosine of a vector on the device to that of the same weights in fp32 there."""
    texts = [text[: 20 + 7 * (at % 200)] for at, text in enumerate(words.texts(arguments.texts // 400, 300, seed=10))]
    near, exact = (_encoder(arguments, precision).encode(texts) for precision in (arguments.precision, "fp32"))
    return float((near * exact).sum(axis=1).min())


def encode(arguments: argparse.Namespace) -> Figures:
    """Documents of 256 tokens from text to vectors, beside sentence-transformers."""
    figures: Figures = {}
    words = Words(arguments.weights / TOKENIZER)
    texts = words.texts(arguments.texts, 240, seed=1)
    show("documents", figures, len(texts))
    show("megabytes of text", figures, sum(map(len, texts)) / 1e6)
    for precision, count in (("bf16", len(texts)), ("fp16", len(texts)), ("fp32", len(texts) // 5)):
        figures |= _encoding(arguments, texts[:count], "240 words", precision)
    peer = _sentence_transformers(arguments.weights, arguments.device)
    peer(texts[:2000])
    count = min(20_000, len(texts))
    seconds, _ = timed(lambda: peer(texts[:count]))
    show("sentence-transformers, bf16, batches of 1,024: documents/s", figures, count / seconds)
    return figures


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
    if arguments.device != "cpu":
        return Bert(str(arguments.weights), precision=precision, max_tokens=MAX_TOKENS, device=arguments.device).load()
    from rankproof.models._torch_bert import TorchBertEncoder

    folder, place = open_model_folder(arguments.weights), Placement("cpu", precision)
    tokenizer = open_bert_tokenizer(folder, MAX_TOKENS)
    return TorchBertEncoder(folder, tokenizer, place, max_tokens=MAX_TOKENS, pooling="mean", facts={}, tokens_per_batch=512)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """The seconds of the work and what it gives."""
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


PARTS: dict[str, Callable[[argparse.Namespace], Figures]] = {"probe": probe, "encode": encode}


if __name__ == "__main__":
    main()
