"""The systems that are compared: trained checkpoints, encoders by name or folder, and BM25 over tokens of several kinds."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ...errors import UsageError
from ...models.byt5 import ByT5
from ...models.canine import Canine
from ...models.ports import EncoderModel
from ...models.registry import model_named
from ...models.trial.model import Bpe, Place, Trial
from ...stages.base import Stage
from ...stages.bm25 import BM25
from ...stages.dense import Dense
from ...stages.words import STEMMERS
from ...stores.ports import Store
from ..lessons.languages import OWN

Family = Literal["trial", "encoder", "lexical"]
BY_SOURCE: Mapping[str, Callable[..., EncoderModel]] = {"byt5": ByT5, "canine": Canine, "trial": Trial, "bpe": Bpe}
"""Models that are opened by a folder or a hub name, written NAME:SOURCE."""
_CHECKPOINTS = ("trial", "bpe")
WORDS, STEMS = "words", "stems"
_STEMMERS = {
    **{"ar": "arabic", "ca": "catalan", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish"},
    **{"fi": "finnish", "fr": "french", "hi": "hindi", "hu": "hungarian", "id": "indonesian", "it": "italian", "nl": "dutch"},
    **{"no": "norwegian", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sv": "swedish", "ta": "tamil", "tr": "turkish"},
}
"""The stemmer of a language by its code (ISO 639-1)."""


@dataclass(frozen=True)
class Contestant:
    """A system by name; `repeats` are models that differ in their seed alone, by the name of each."""

    name: str
    family: Family
    repeats: Mapping[str, Callable[[str], Stage]]

    def stages(self, language: str) -> dict[str, Stage]:
        """The stage of each repeat in that language."""
        return {name: make(language) for name, make in self.repeats.items()}


def lexical(kind: str) -> Contestant:
    """BM25 over tokens of that kind; stop words are kept, as no other system leaves any out."""
    name = f"BM25 {kind}"
    _lexical_stage(kind, OWN)
    return Contestant(name, "lexical", {name: lambda language: _lexical_stage(kind, language)})


def encoder(spec: str, store: Store) -> Contestant:
    """A Dense stage over the model that the name, the folder or NAME:SOURCE stands for."""
    model, name = model_of(spec), _short(spec)
    return Contestant(name, "encoder", {name: _dense(model, store)})


def model_of(spec: str) -> EncoderModel:
    """The model that is named, NAME:SOURCE where it is opened by a source, or a folder with a checkpoint of the lab."""
    kind, mark, source = spec.partition(":")
    if kind in BY_SOURCE and (mark or kind in _CHECKPOINTS):
        if not source:
            raise UsageError(f"{kind} needs a source", fix=f"write {kind}:FOLDER")
        return BY_SOURCE[kind](source)
    if os.path.isfile(os.path.join(os.path.expanduser(spec), "trial.json")):
        return Trial(spec)
    return model_named(f"./{spec}" if os.path.isdir(spec) and not any(mark in spec for mark in "/\\.~") else spec)


def trial(name: str, folders: Mapping[str, str], store: Store, device: Place) -> Contestant:
    """The repeats of one tokenizer, by the folder of each."""
    return Contestant(name, "trial", {one: _dense(Trial(at, device), store) for one, at in folders.items()})


def named_once(contestants: Iterable[Contestant]) -> list[Contestant]:
    """Each under a name of its own: the second of a name gets a number."""
    found: list[Contestant] = []
    for one in contestants:
        taken = {other.name for other in found} | {repeat for other in found for repeat in other.repeats}
        number = next(at for at in range(1, len(found) + 2) if _numbered(one.name, at) not in taken)
        found.append(one if number == 1 and not taken & set(one.repeats) else _renamed(one, _numbered(one.name, max(number, 2))))
    return found


def refuse_none(contestants: Sequence[Contestant]) -> None:
    """There must be something to compare."""
    if not contestants:
        raise UsageError("there is no system to compare", fix="name some with --trials, --lexical or --model")


def has_stemmer(language: str) -> bool:
    """Whether words of that language can be stemmed."""
    return language == OWN or _STEMMERS.get(language) in STEMMERS


def _renamed(one: Contestant, name: str) -> Contestant:
    labels = {f"{name} #{at}" if len(one.repeats) > 1 else name: make for at, make in enumerate(one.repeats.values(), start=1)}
    return Contestant(name, one.family, labels)


def _numbered(name: str, at: int) -> str:
    return name if at == 1 else f"{name} ({at})"


def _dense(model: EncoderModel, store: Store) -> Callable[[str], Stage]:
    stage = Dense(model, store=store)
    return lambda language: stage


def _lexical_stage(kind: str, language: str) -> Stage:
    if kind == WORDS or (kind == STEMS and not has_stemmer(language)):
        return BM25(stemming=False, stop_words=False)
    if kind == STEMS:
        return BM25(language=_STEMMERS.get(language, "english"), stop_words=False)
    return BM25(tokens=kind)


def _short(spec: str) -> str:
    """What a system is called: the model's name, or the last part of its source."""
    kind, _, source = spec.partition(":")
    if kind in BY_SOURCE and source:
        return kind
    return os.path.basename(os.path.abspath(os.path.expanduser(spec))) if os.path.isdir(os.path.expanduser(spec)) else spec
