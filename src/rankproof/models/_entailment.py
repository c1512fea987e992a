"""Entailment models: cross-encoders with three labels that say whether a premise entails or contradicts a claim."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np

from rankproof._data.arrays import FloatArray
from rankproof._io.strict_json import read_json_object
from rankproof.errors import ExternalError, escape_invisible, for_message
from rankproof.models._base import Precision, TokenLimit, check_source
from rankproof.models._bert import BertModel, load_bert_classifier
from rankproof.models._download.hub import model_folder_of
from rankproof.models._onnx.folder import CONFIG, open_model_folder
from rankproof.models._torch import TorchModel, load_torch_pair_model, torch_folder

LABELS = ("entailment", "neutral", "contradiction")
"""The labels of an entailment model, in the order of its probabilities."""
_TORCH = "torch:"


class PairClassifier(Protocol):
    """A loaded network that reads two texts together."""

    def logits(self, query: str, passages: Sequence[str]) -> Iterable[FloatArray]:
        """For each passage one number per label."""
        ...

    def cut(self, query: str, passages: Sequence[str]) -> int:
        """The number of truncated pairs."""
        ...


class LoadedEntailment:
    """A loaded entailment model; `order` has the place of each of LABELS in its output."""

    def __init__(self, inner: PairClassifier, order: Sequence[int]) -> None:
        self._inner, self._order = inner, list(order)

    def probabilities(self, premise: str, claims: Sequence[str]) -> FloatArray:
        """One row per claim, one column for each of LABELS; a row adds up to 1."""
        logits = np.array([row[self._order] for row in self._inner.logits(premise, claims)]).reshape(-1, len(LABELS))
        if not np.isfinite(logits).all():
            raise ExternalError("the entailment model returns NaN or infinite values; its weights are damaged: download it again")
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares: FloatArray = powers / powers.sum(axis=1, keepdims=True)
        return shares

    def cut(self, premise: str, claims: Sequence[str]) -> int:
        """The number of pairs that the model truncates."""
        return self._inner.cut(premise, claims)


class EntailmentModel(Protocol):
    """The settings of an entailment model, a frozen value."""

    def load(self, *, threads: int = 1) -> LoadedEntailment: ...

    def revision(self) -> str: ...


@dataclass(frozen=True, slots=True)
class BertEntailment(BertModel):
    """An entailment model of the BERT family; a pair is truncated at `max_tokens`, the longer text first."""

    auto_precision: ClassVar[Precision] = "fp32"
    max_tokens: TokenLimit = 512

    def load(self, *, threads: int = 1) -> LoadedEntailment:
        """The loaded model; in fp32 on the CPU its ONNX graph is written first if it is not cached."""
        folder = open_model_folder(model_folder_of(self.source))
        order = label_order(folder.network / CONFIG)
        inner = load_bert_classifier(folder, self.placement(), self.max_tokens, source=self.source, threads=threads)
        return LoadedEntailment(inner, order)


@dataclass(frozen=True, slots=True)
class TorchEntailment(TorchModel):
    """An entailment model of any kind that sentence-transformers loads."""

    def load(self, *, threads: int = 1) -> LoadedEntailment:
        """The loaded model, on its device."""
        order = label_order(torch_folder(self.name, self.revision_name) / CONFIG)
        return LoadedEntailment(load_torch_pair_model(self, threads), order)


def entailment_by_name(name: str) -> EntailmentModel:
    """An entailment model by its folder or its hub name; torch:NAME is run by sentence-transformers."""
    source = name.removeprefix(_TORCH)
    check_source(source)
    return TorchEntailment(source) if name.startswith(_TORCH) else BertEntailment(source)


def label_order(config: Path) -> tuple[int, ...]:
    """The place of each of LABELS in the output, by id2label; labels with other names are an error."""
    names = read_json_object(config).get("id2label")
    places = _places(names) if isinstance(names, Mapping) else {}
    if sorted(places) != sorted(LABELS) or sorted(places.values()) != list(range(len(LABELS))):
        labels = ", ".join(map(str, names.values())) if isinstance(names, Mapping) and names else "none"
        raise ExternalError(
            escape_invisible(
                f"{config}: the labels in id2label are {for_message(labels)}, not {', '.join(LABELS)}; use a model with these "
                "three labels, or write their names into id2label in the order in which the model was trained"
            )
        )
    return tuple(places[label] for label in LABELS)


def _places(names: Mapping[str, Any]) -> dict[str, int]:
    """The place of each label by its name in lower case; a label without a place has -1."""
    return {str(name).strip().casefold(): int(at) if str(at).isdecimal() else -1 for at, name in names.items()}
