"""Model folders with one change in one file: `PYTHONPATH=tests python -m tools.attacks.model_folders [COUNT] [--seed S]`.

Each folder is loaded and used in a process of its own. It must give vectors or scores, or an error of rankproof that names the
folder or the file and a fix; anything else is a failure.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import struct
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from rankproof.errors import RankproofError
from rankproof.models._bert import Bert, CrossEncoder, entailment_by_name
from rankproof.models._chat.llama_cpp import Llama
from rankproof.models._torch import SentenceTransformer
from rankproof.models._trained.checkpoint import TrainedEncoder, save_checkpoint
from support.tiny_bert import TEXTS, write_bert, write_modules
from support.trained_encoders import shape_of, tokenizer_of

_SECONDS = 120
_HEAD_BYTES = 2000
"""The part of a binary file in which a changed byte is not a weight."""
_VALUES: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    1,
    10**9,
    10**400,
    0.5,
    1e308,
    "",
    "x",
    "../x",
    "\ud800",
    [],
    {},
    [[]],
    [None],
    {"": None},
)
_SNIPPETS = (b"NaN", b"1e999", b"{", b"}", b"[" * 3000, b",", b'"', b"\\", b"\xff", b"\0", b"\xef\xbb\xbf", b'"a":1,"a":2')


@dataclass(frozen=True, slots=True)
class ModelKind:
    """How a good folder is written, and how a model in it is loaded and used."""

    write: Callable[[Path], object]
    use: Callable[[str], Any]


def _entailment(folder: Path) -> None:
    labels = {"0": "entailment", "1": "neutral", "2": "contradiction"}
    write_bert(folder, labels=3, id2label=labels)


def _checkpoint(folder: Path) -> None:
    from rankproof.models._trained.torch_net import initialise_network

    shape = shape_of("bytes")
    save_checkpoint(folder, initialise_network(shape, 3), shape, tokenizer_of("bytes"), {})


def _with_modules(folder: Path) -> None:
    write_modules(write_bert(folder), pooling={"pooling_mode_mean_tokens": True, "word_embedding_dimension": 32})


def gguf_file(numbers: Mapping[str, int], tensors: int = 0) -> bytes:
    """The start of a gguf file of a llama model: its settings, and how many tensors should follow."""
    texts = {"general.architecture": b"llama", "tokenizer.ggml.model": b"none"}
    keys = [_gguf_key(name, 8, struct.pack("<Q", len(text)) + text) for name, text in texts.items()]
    keys += [_gguf_key(name, 4, struct.pack("<I", number)) for name, number in numbers.items()]
    return b"GGUF" + struct.pack("<IQQ", 3, tensors, len(keys)) + b"".join(keys)


def _gguf_key(name: str, kind: int, value: bytes) -> bytes:
    return struct.pack("<Q", len(name)) + name.encode() + struct.pack("<I", kind) + value


GGUF_NUMBERS = {
    f"llama.{name}": number
    for name, number in {
        "block_count": 1,
        "context_length": 64,
        "embedding_length": 32,
        "feed_forward_length": 64,
        "attention.head_count": 4,
    }.items()
}


def _gguf(folder: Path) -> None:
    """A file without tensors: llama.cpp cannot run it, whatever is changed."""
    folder.mkdir()
    (folder / "model.gguf").write_bytes(gguf_file(GGUF_NUMBERS, tensors=3))


def _use_gguf(path: str) -> None:
    Llama(f"{path}/model.gguf").load().close()


KINDS: Mapping[str, ModelKind] = {
    "encoder, int8": ModelKind(_with_modules, lambda path: Bert(path).load().encode(TEXTS)),
    "encoder, ONNX": ModelKind(_with_modules, lambda path: Bert(path, precision="fp32").load().encode(TEXTS)),
    "cross-encoder": ModelKind(
        lambda folder: write_bert(folder, labels=1), lambda path: CrossEncoder(path, max_tokens=32).load().scores("a pan", TEXTS)
    ),
    "entailment": ModelKind(_entailment, lambda path: entailment_by_name(path).load().probabilities("a steel pan", TEXTS)),
    "trained checkpoint": ModelKind(_checkpoint, lambda path: TrainedEncoder(path).load().encode(TEXTS)),
    "gguf": ModelKind(_gguf, _use_gguf),
    "sentence-transformers": ModelKind(_with_modules, lambda path: SentenceTransformer(path, device="cpu").load().encode(TEXTS)),
}


def mutations(folder: Path, chance: random.Random) -> Iterator[tuple[str, Callable[[], object]]]:
    """Changes of one file without an end, each with its description."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    while True:
        path = chance.choice(files)
        name, content = str(path.relative_to(folder)), path.read_bytes()
        is_json = path.suffix == ".json"
        kind = chance.choice(("key", "key", "bytes", "whole") if is_json else ("head", "bytes", "bytes", "whole"))
        if kind == "key":
            document = json.loads(content)
            what = _changed_value(document, chance)
            yield f"{name}: {what}", partial(path.write_text, json.dumps(document))
        elif kind == "whole":
            what, change = chance.choice(list(_WHOLE.items()))
            yield f"{name}: {what}", partial(change, path)
        else:
            at = chance.randrange(min(len(content), _HEAD_BYTES) if kind == "head" or is_json else len(content))
            snippet = chance.choice(_SNIPPETS) if chance.random() < 0.5 else bytes([content[at] ^ (1 << chance.randrange(8))])
            changed = content[:at] + snippet + content[at + chance.choice((0, len(snippet))) :]
            yield f"{name}: {snippet[:8]!r} at {at}", partial(path.write_bytes, changed)


def _changed_value(document: Any, chance: random.Random) -> str:
    """Changes or removes one value of the document."""
    places = list(_places(document))
    container, key = chance.choice(places)
    if chance.random() < 0.3:
        del container[key]
        return f"without {key!r}"
    container[key] = chance.choice(_VALUES)
    return f"{key!r} is {str(container[key])[:20]!r}"


def _places(value: Any, depth: int = 0) -> Iterator[tuple[Any, Any]]:
    """Every (container, key), in lists only the first and the last ones."""
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))[:2] if isinstance(value, list) else []
    for key in keys[:40]:
        yield value, key
        yield from _places(value[key], depth + 1)


def _linked(path: Path, target: str) -> None:
    path.unlink()
    path.symlink_to(target)


def _as_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _as_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


_WHOLE: Mapping[str, Callable[[Path], object]] = {
    "missing": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "the first half": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "twice": lambda path: path.write_bytes(path.read_bytes() * 2),
    "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "a folder": _as_folder,
    "a named pipe": _as_pipe,
    "/dev/zero": lambda path: _linked(path, "/dev/zero"),
    "a link to itself": lambda path: _linked(path, path.name),
    "a list": lambda path: path.write_text("[]"),
    "deep JSON": lambda path: path.write_text("[" * 50_000),
    "unreadable": lambda path: path.write_bytes(b"\xff\xfe" + os.urandom(100)),
}


def ending(kind: ModelKind, folder: Path, report: Path) -> str:
    """What became of the folder: used, error, or what is wrong."""
    child = os.fork()
    if child == 0:
        _use(kind, folder, report)
    until = time.monotonic() + _SECONDS
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            return report.read_text(encoding="utf-8") if code == 0 else f"ended with {code}"
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return f"did not end in {_SECONDS} seconds"


def _in_child(work: Callable[[], object]) -> None:
    """Does it in a process of its own, as a child that is forked after threads were started can hang."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        finally:
            os._exit(70)
    assert os.waitpid(child, 0)[1] == 0, "the good folder could not be written"


def _use(kind: ModelKind, folder: Path, report: Path) -> None:
    """The child: writes what happened, and never returns."""
    try:
        report.write_text(_outcome(kind, folder), encoding="utf-8", errors="backslashreplace")
        os._exit(0)
    finally:
        os._exit(70)


def _outcome(kind: ModelKind, folder: Path) -> str:
    try:
        values = np.asarray(kind.use(str(folder)))
    except RankproofError as error:
        text = str(error)
        return "error" if str(folder.name) in text and ";" in text else f"the file or the fix is not named: {text}"
    except Exception as error:
        return f"internal error: {type(error).__name__}: {error}"
    return "used" if np.isfinite(values).all() else "the values are not finite"


def main(arguments: list[str]) -> int:
    """Prints a row for each kind of model; 1 if a folder failed in another way than by a plain error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=200, help="mutations of each kind of model")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args(arguments)
    print("| model folder | changes | rejected | used | failures |\n|---|---:|---:|---:|---:|")
    failures = 0
    for name, kind in KINDS.items():
        counts: Counter[str] = Counter()
        with TemporaryDirectory() as home:
            os.environ["RANKPROOF_CACHE"] = str(Path(home) / "cache")
            good, report = Path(home) / "good", Path(home) / "report"
            _in_child(partial(kind.write, good))
            for what, _ in zip(_described(good, Path(home), asked.seed), range(asked.count), strict=False):
                outcome = ending(kind, Path(home) / "changed", report)
                counts[outcome if outcome in ("error", "used") else "failure"] += 1
                if outcome not in ("error", "used"):
                    print(f"{name}: {what}: {outcome}", file=sys.stderr, flush=True)
        failures += counts["failure"]
        print(f"| {name} | {counts.total()} | {counts['error']} | {counts['used']} | {counts['failure']} |", flush=True)
    return 1 if failures else 0


def _described(good: Path, home: Path, seed: int) -> Iterator[str]:
    """Makes the changed folder again and again, each time with another change, which it describes."""
    changed = home / "changed"
    chance = random.Random(seed)
    while True:
        shutil.rmtree(changed, ignore_errors=True)
        shutil.copytree(good, changed)
        what, change = next(mutations(changed, chance))
        change()
        yield what


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
