"""The systems that are compared: trained checkpoints, encoders by name or folder, and BM25 over tokens of several kinds."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ...errors import UsageError
from ...models.ports import EncoderModel
from ...models.registry import model_named, prefix_of
from ...models.trial.checkpoint import CARD
from ...models.trial.model import Place, Trial
from ...stages.base import Stage
from ...stages.bm25 import BM25
from ...stages.dense import Dense
from ...stages.words import STEMMERS
from ...stores.ports import Store
from ..lessons.languages import OWN

Family = Literal["trial", "encoder", "lexical"]
WORDS, STEMS = "words", "stems"
_STEMMERS = {
    **{"ar": "arabic", "ca": "catalan", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish"},
    **{"fi": "finnish", "fr": "french", "hi": "hindi", "hu": "hungarian", "id": "indonesian", "it": "italian", "nl": "dutch"},
    **{"no": "norwegian", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sv": "swedish", "ta": "tamil", "tr": "turkish"},
}
"""The stemmer of a language by its code (ISO 639-1)."""


@dataclass(frozen=True)
class Contestant:
    """A system by name; `repeats` are models that differ in their seed alone, by the name of each.

    `cards` are those of checkpoints of the lab, which say what each was trained on.
    """

    name: str
    family: Family
    repeats: Mapping[str, Callable[[str], Stage]]
    cards: tuple[Mapping[str, Any], ...] = ()

    def stages(self, language: str) -> dict[str, Stage]:
        """The stage of each repeat in that language."""
        return {name: make(language) for name, make in self.repeats.items()}


def lexical(kind: str) -> Contestant:
    """BM25 over tokens of that kind; stop words are kept, as no other system leaves any out."""
    name = f"BM25 {kind}"
    _lexical_stage(kind, OWN)
    return Contestant(name, "lexical", {name: lambda language: _lexical_stage(kind, language)})


def encoder(spec: str, store: Store, device: Place = "cpu") -> Contestant:
    """A Dense stage over the model that the name, the folder or NAME:SOURCE stands for; the device is a checkpoint's."""
    model, name = model_of(spec), _short(spec)
    if not isinstance(model, Trial):
        return Contestant(name, "encoder", {name: _dense(model, store)})
    return Contestant(name, "encoder", {name: _dense(replace(model, device=device), store)}, _cards(model))


def model_of(spec: str) -> EncoderModel:
    """The model that is named, NAME:SOURCE where it is opened by a source, or a folder with a checkpoint of the lab."""
    if os.path.isfile(os.path.join(os.path.expanduser(spec), CARD)):
        return Trial(spec)
    return model_named(f"./{spec}" if os.path.isdir(spec) and not any(mark in spec for mark in "/\\.~") else spec)


def trial(name: str, folders: Mapping[str, str], store: Store, device: Place = "cpu") -> Contestant:
    """The repeats of one tokenizer, by the folder of each."""
    models = {one: Trial(at, device) for one, at in folders.items()}
    return Contestant(name, "trial", {one: _dense(model, store) for one, model in models.items()}, _cards(*models.values()))


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


def stemmer_of(language: str) -> str | None:
    """The stemmer of a language by its code, English for the dataset's own; None where there is none."""
    found = "english" if language == OWN else _STEMMERS.get(language)
    return found if found in STEMMERS else None


def unstemmed(contestants: Iterable[Contestant], languages: Iterable[str]) -> list[str]:
    """A note for each system over stems that has none to take in some of the languages."""
    without = [language for language in languages if stemmer_of(language) is None]
    stems = [one.name for one in contestants if _stems(one, OWN)] if without else []
    return [f"{name}: there is no stemmer for {', '.join(without)}, where it takes words as they stand" for name in stems]


def _stems(one: Contestant, language: str) -> bool:
    return any(isinstance(stage, BM25) and stage.tokens == WORDS and stage.stemming for stage in one.stages(language).values())


def _renamed(one: Contestant, name: str) -> Contestant:
    labels = {f"{name} #{at}" if len(one.repeats) > 1 else name: make for at, make in enumerate(one.repeats.values(), start=1)}
    return replace(one, name=name, repeats=labels)


def _numbered(name: str, at: int) -> str:
    return name if at == 1 else f"{name} ({at})"


def _cards(*models: Trial) -> tuple[Mapping[str, Any], ...]:
    """What each checkpoint says of itself; one whose weights are damaged is refused before anything is asked."""
    found = []
    for model in models:
        opened = model.checkpoint()
        opened.check_weights()
        found.append(opened.card)
    return tuple(found)


def _dense(model: EncoderModel, store: Store) -> Callable[[str], Stage]:
    stage = Dense(model, store=store)
    return lambda language: stage


def _lexical_stage(kind: str, language: str) -> Stage:
    if kind not in (WORDS, STEMS):
        return BM25(tokens=kind)
    stemmer = stemmer_of(language) if kind == STEMS else None
    return BM25(language=stemmer, stop_words=False) if stemmer else BM25(stemming=False, stop_words=False)


def _short(spec: str) -> str:
    """What a system is called: the model's name, or of a folder the last part, behind what stands before it."""
    prefix = prefix_of("encoder", spec)
    source = os.path.expanduser(spec.removeprefix(prefix))
    return f"{prefix}{os.path.basename(os.path.abspath(source))}" if os.path.isdir(source) else spec
