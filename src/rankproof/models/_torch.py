"""Encoders and cross-encoders of sentence-transformers."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

from rankproof._data.arrays import FloatArray, Matrix, normalise_rows, read_only
from rankproof._data.identity import NOT_IN_IDENTITY, library_versions
from rankproof._data.validation import check_options
from rankproof._extras import extra, require
from rankproof._io.files import combined_sha256, file_sha256
from rankproof._registry import Option
from rankproof.errors import ExternalError, UsageError, escape_invisible, for_message
from rankproof.models._base import OwnTokenLimit, Source, check_source
from rankproof.models._device import DeviceOption, Placement, TorchPrecisionOption, check_device, place, torch_dtype

SENTENCE_TRANSFORMERS, TRANSFORMERS = "sentence-transformers", "transformers"
_PATH_STARTS = ("/", "./", "../", "~")
_IGNORED_FILES = ["onnx/*", "openvino/*", "*.h5", "*.ot", "*.msgpack"]


def is_folder(source: str) -> bool:
    """Whether the source is an existing folder."""
    return Path(source).expanduser().is_dir()


def torch_folder(source: str, revision_name: str | None, *, by: str = SENTENCE_TRANSFORMERS) -> Path:
    """The model's folder; a hub name is downloaded by huggingface_hub, and its folder is named after the commit."""
    if is_folder(source):
        return Path(source).expanduser()
    if source.startswith(_PATH_STARTS):
        raise ExternalError(
            escape_invisible(f"{for_message(source)}: folder not found; give a model's folder, or a model on the hub")
        )
    require("torch", "torch", by.replace("-", "_"))
    with extra("torch"):
        from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(source, revision=revision_name, ignore_patterns=_IGNORED_FILES))
    except Exception as error:  # the hub client raises many kinds of errors
        raise load_error(source, error, by=by) from None


def weights_revision(source: str, revision_name: str | None, *, by: str = SENTENCE_TRANSFORMERS) -> str:
    """The commit on the hub, or a sha256 of the files in the folder."""
    folder = torch_folder(source, revision_name, by=by)
    if not is_folder(source):
        return folder.name
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return combined_sha256({path.relative_to(folder).as_posix(): file_sha256(path) for path in files})


def load_error(source: str, error: Exception, *, by: str) -> ExternalError:
    """An error with the first line of the library's message."""
    first = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return ExternalError(
        escape_invisible(
            f"{for_message(source)}: {by} cannot load it ({for_message(first)}); check the name, the folder and the network"
        )
    )


TorchClass = Literal["SentenceTransformer", "CrossEncoder"]
_MISSING = re.compile(r"^(\S[^|\n]*?) *\| MISSING", re.MULTILINE)
_INITIALISED = re.compile(r"newly initialized: \[(.*?)\]")
"""The tensors that transformers 5 and 4 report as filled at random."""


class TorchEncoder:
    """A loaded encoder of sentence-transformers; `query_prompt` and `passage_prompt` are names of its prompts, "" for none."""

    def __init__(self, inner: Any, facts: Mapping[str, Any], query_prompt: str = "", passage_prompt: str = "") -> None:
        self._inner, self._facts = inner, facts
        self._query_prompt, self._passage_prompt = (self._known_prompt(name) for name in (query_prompt, passage_prompt))

    def encode(self, texts: Sequence[str]) -> Matrix:
        """One row per passage; batches depend on the list only, so the same list gives the same bits."""
        return self._encoded(texts, self._passage_prompt)

    def encode_queries(self, texts: Sequence[str]) -> Matrix:
        """One row per query."""
        return self._encoded(texts, self._query_prompt)

    def _encoded(self, texts: Sequence[str], prompt: str) -> Matrix:
        if not texts:
            return read_only(np.zeros((0, self._size()), dtype=np.float32))
        # Without a name, the library takes the model's default prompt, if it has one.
        named = {"prompt_name": prompt} if prompt else {}
        rows = self._inner.encode(list(texts), convert_to_numpy=True, show_progress_bar=False, **named)
        return read_only(normalise_rows(rows.astype(np.float32)))

    def _known_prompt(self, name: str) -> str:
        known = _prompts(self._inner)
        if name and name not in known:
            fix = f"choose one of {', '.join(map(for_message, known))}" if known else "leave it out: the model has no prompts"
            raise UsageError(f"the model has no prompt called {for_message(name)}", fix=fix)
        return name

    def tokens(self, texts: Sequence[str]) -> list[Matrix]:
        """For each text one row per token, special tokens included."""
        if self._query_prompt or self._passage_prompt:
            what = "token vectors are encoded without the model's named prompts"
            raise UsageError(what, fix="leave query_prompt_name and passage_prompt_name out, and give the prompts as texts")
        tensors = self._inner.encode(list(texts), output_value="token_embeddings", show_progress_bar=False) if texts else []
        return [read_only(normalise_rows(rows.cpu().numpy().astype(np.float32))) for rows in tensors]

    def cut(self, texts: Sequence[str]) -> int:
        """The number of truncated texts."""
        prompt = _prompts(self._inner).get(self._passage_prompt, "")
        return _count_truncated(self._inner, [f"{prompt}{text}" for text in texts])

    def facts(self) -> Mapping[str, Any]:
        """Library versions, limits, precision and source, as JSON."""
        return {
            "library": torch_versions(),
            "dimensions": self._size(),
            "max_tokens": getattr(self._inner, max_length_attribute(self._inner)),
            **({"prompts": prompts} if (prompts := _prompts(self._inner)) else {}),
            **{key: name for key, name in self._prompt_names().items() if name},
            **self._facts,
        }

    def _prompt_names(self) -> dict[str, str]:
        return {"query_prompt_name": self._query_prompt, "passage_prompt_name": self._passage_prompt}

    def _size(self) -> int:
        dimension = getattr(self._inner, "get_embedding_dimension", None) or self._inner.get_sentence_embedding_dimension
        return int(dimension())


class LoadedTorchCrossEncoder:
    """A loaded cross-encoder of sentence-transformers; with two labels the score is the second logit minus the first."""

    def __init__(self, inner: Any, facts: Mapping[str, Any]) -> None:
        self._inner, self._facts = inner, facts

    def scores(self, query: str, passages: Sequence[str]) -> FloatArray:
        """One score per passage."""
        logits = self.logits(query, passages)
        return read_only(logits if logits.ndim == 1 else logits[:, 1] - logits[:, 0])

    def logits(self, query: str, passages: Sequence[str]) -> FloatArray:
        """One row per passage, one column per label; a vector where there is one label, or no passage."""
        with extra("torch"):
            from torch.nn import Identity

        if not passages:
            return np.zeros(0)
        pairs = [(query, passage) for passage in passages]
        predicted = self._inner.predict(pairs, activation_fn=Identity(), show_progress_bar=False, convert_to_tensor=True)
        logits: FloatArray = predicted.float().cpu().numpy().astype(np.float64)
        return logits

    def cut(self, query: str, passages: Sequence[str]) -> int:
        """The number of truncated pairs."""
        return _count_truncated(self._inner, [query] * len(passages), list(passages))

    def facts(self) -> Mapping[str, Any]:
        """Library versions, limits, precision and source, as JSON."""
        longest = getattr(self._inner, max_length_attribute(self._inner))
        return {"library": torch_versions(), "max_tokens": longest, **self._facts}


def load_torch_model(
    kind: TorchClass, folder: Path, placement: Placement, threads: int, *, trust_remote_code: bool = False
) -> Any:
    """The object of the library, on its device; code that comes with the model runs only if it is trusted."""
    require("torch", "sentence_transformers", "torch")
    with extra("torch"):
        import sentence_transformers
        import torch
        from transformers.utils import logging

    logging.disable_progress_bar()
    torch.set_num_threads(threads)
    try:
        with _loading_report() as report:
            inner = getattr(sentence_transformers, kind)(
                str(folder), device=placement.device, trust_remote_code=trust_remote_code, local_files_only=True
            )
    except Exception as error:  # the libraries raise many kinds of errors
        raise load_error(str(folder), error, by=SENTENCE_TRANSFORMERS) from None
    _check_nothing_is_random(folder, kind, "".join(report))
    (inner.model if kind == "CrossEncoder" else inner).to(torch_dtype(placement.precision))
    return inner


@contextmanager
def _loading_report() -> Iterator[list[str]]:
    """What transformers logs while it loads a model, which it would write to standard error."""
    report: list[str] = []
    log, handler = logging.getLogger("transformers"), _Report(report)
    others, level = log.handlers[:], log.level
    log.handlers[:] = [handler]
    log.setLevel(logging.WARNING)
    try:
        yield report
    finally:
        log.handlers[:] = others
        log.setLevel(level)


class _Report(logging.Handler):
    def __init__(self, report: list[str]) -> None:
        super().__init__(logging.WARNING)
        self._report = report

    def emit(self, record: logging.LogRecord) -> None:
        self._report.append(f"{record.getMessage()}\n")


def _check_nothing_is_random(folder: Path, kind: TorchClass, report: str) -> None:
    """Raises an error if the library filled tensors at random that the file lacks; an encoder does not use its pooler."""
    listed = [name for names in _INITIALISED.findall(report) for name in names.replace("'", "").split(", ")]
    names = [name for name in (*_MISSING.findall(report), *listed) if kind == "CrossEncoder" or "pooler" not in name.split(".")]
    if names:
        what = f"the weights lack tensors that config.json requires, such as {for_message(min(names))}"
        raise ExternalError(escape_invisible(f"{folder}: {what}; use weights and config.json of the same model"))


def max_length_attribute(inner: Any) -> str:
    """The name of the maximum length in this version of the library."""
    return "max_seq_length" if hasattr(type(inner), "max_seq_length") else "max_length"


def torch_versions() -> str:
    """The versions of the libraries."""
    return library_versions("sentence-transformers", "transformers", "tokenizers", "torch")


def _count_truncated(inner: Any, *texts: list[str]) -> int:
    """The number of texts, or pairs for two lists, with more tokens than the model reads."""
    longest = getattr(inner, max_length_attribute(inner))
    ids = inner.tokenizer(*texts, truncation=False, verbose=False)["input_ids"] if texts[0] and longest else []
    return sum(len(id_) > longest for id_ in ids)


def _prompts(inner: Any) -> dict[str, str]:
    return {name: text for name, text in (getattr(inner, "prompts", None) or {}).items() if text}


@dataclass(frozen=True, slots=True)
class TorchModel:
    """A model from a folder or the Hugging Face Hub; `revision_name` is a branch, tag or commit of the hub."""

    name: Source = field(metadata=NOT_IN_IDENTITY)
    revision_name: Annotated[str | None, Option("branch, tag or commit on the hub")] = field(
        default=None, metadata=NOT_IN_IDENTITY
    )
    max_tokens: OwnTokenLimit = None
    precision: TorchPrecisionOption = field(default="auto", metadata=NOT_IN_IDENTITY)
    device: DeviceOption = field(default="auto", metadata=NOT_IN_IDENTITY)
    trust_remote_code: Annotated[bool, Option("run Python code that comes with the model; only for models that you trust")] = (
        False
    )

    def __post_init__(self) -> None:
        check_source(self.name)
        check_options(self)
        check_device(self.device)

    def placement(self) -> Placement:
        """The device and the precision on this machine."""
        return place(self.device, self.precision, on_cpu="fp32")

    def revision(self) -> str:
        """The revision of the weights, the versions of the libraries that run them, device and precision."""
        return f"{self.weights()}, {torch_versions()}, {self.placement().kind}"

    def weights(self) -> str:
        """The commit on the hub, or a sha256 of the files in the folder."""
        return weights_revision(self.name, self.revision_name)

    def is_ready(self) -> bool:
        """Whether the model can be loaded without a network."""
        return find_spec("sentence_transformers") is not None and is_folder(self.name)


@dataclass(frozen=True, slots=True)
class SentenceTransformer(TorchModel):
    """An encoder of sentence-transformers; a prompt name is one of the model's own, such as `query`."""

    query_prompt_name: Annotated[str, Option("name of the model's prompt for queries")] = ""
    passage_prompt_name: Annotated[str, Option("name of the model's prompt for passages")] = ""

    def load(self, *, threads: int = 1) -> TorchEncoder:
        """The loaded model, on its device."""
        inner, facts = _load_torch("SentenceTransformer", self, threads)
        return TorchEncoder(inner, facts, self.query_prompt_name, self.passage_prompt_name)


@dataclass(frozen=True, slots=True)
class TorchCrossEncoder(TorchModel):
    """A cross-encoder of sentence-transformers."""

    def load(self, *, threads: int = 1) -> LoadedTorchCrossEncoder:
        """The loaded model, on its device."""
        return load_torch_pair_model(self, threads)


def load_torch_pair_model(model: TorchModel, threads: int) -> LoadedTorchCrossEncoder:
    """A model that reads two texts together, on its device."""
    return LoadedTorchCrossEncoder(*_load_torch("CrossEncoder", model, threads))


def _load_torch(kind: TorchClass, model: TorchModel, threads: int) -> tuple[Any, dict[str, Any]]:
    """The object of the library, and the source and revision of its weights, device and precision."""
    placement = model.placement()
    folder, trusted = torch_folder(model.name, model.revision_name), model.trust_remote_code
    inner = load_torch_model(kind, folder, placement, threads, trust_remote_code=trusted)
    if model.max_tokens is not None:
        setattr(inner, max_length_attribute(inner), model.max_tokens)
    code = {"trust_remote_code": True} if trusted else {}
    return inner, {"source": model.name, "revision": model.weights(), **code, **placement.facts()}
