"""The systems of a comparison: BM25 variants, encoders, and trained checkpoints."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from rankproof._io.open import path_text
from rankproof._tokenizer_lab.splits import OWN_LANGUAGE
from rankproof.errors import UsageError, for_message
from rankproof.models._base import EncoderModel
from rankproof.models._registry import encoder_by_name, source_prefix
from rankproof.models._trained.checkpoint import METADATA_FILE, Checkpoint, Prompts, TrainedEncoder, open_checkpoint
from rankproof.models._trained.tokenizers import TokenizerFamily, parse_tokenizer_kind
from rankproof.stages._analyzer import STEMMERS
from rankproof.stages._base import Stage
from rankproof.stages._bm25 import BM25
from rankproof.stages._dense import Dense
from rankproof.stores._base import Store

SystemFamily = Literal["trained", "encoder", "lexical"]
PromptUse = Literal["own", "all"]
"""Whether a checkpoint is used with its own prompts, or also without prompts and with those of the other checkpoints."""
_NO_PROMPTS = Prompts()
WORDS, STEMS = "words", "stems"
_STEMMERS = {
    **{"ar": "arabic", "ca": "catalan", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish"},
    **{"fi": "finnish", "fr": "french", "hi": "hindi", "hu": "hungarian", "id": "indonesian", "it": "italian", "nl": "dutch"},
    **{"no": "norwegian", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sv": "swedish", "ta": "tamil", "tr": "turkish"},
}
"""Stemmers by language code (ISO 639-1)."""


@dataclass(frozen=True)
class CandidateSystem:
    """A system; `repeats` are its models by name, which differ only in their seed.

    `metadata` is that of the checkpoints, with the data that each was trained on.
    """

    name: str
    family: SystemFamily
    repeats: Mapping[str, Callable[[str], Stage]]
    metadata: tuple[Mapping[str, Any], ...] = ()

    def stages(self, language: str) -> dict[str, Stage]:
        """The stage of each repeat for the language."""
        return {name: make(language) for name, make in self.repeats.items()}


def lexical_system(kind: str) -> CandidateSystem:
    """BM25 over tokens of the kind; stop words are kept, as in all other systems."""
    name = f"BM25 {kind}"
    _lexical_stage(kind, OWN_LANGUAGE)
    return CandidateSystem(name, "lexical", {name: lambda language: _lexical_stage(kind, language)})


def encoder_system(spec: str, store: Store, device: str = "cpu") -> CandidateSystem:
    """Dense retrieval with a model by name, folder or NAME:SOURCE; `device` is for checkpoints, which have their prompts."""
    model, name = encoder_model(spec), _system_name(spec)
    if not isinstance(model, TrainedEncoder):
        return CandidateSystem(name, "encoder", {name: _dense_stage(model, store)})
    stage = _dense_stage(replace(model, device=device), store, model.checkpoint().prompts)
    return CandidateSystem(name, "encoder", {name: stage}, _checkpoint_metadata(model))


def encoder_model(spec: str) -> EncoderModel:
    """The model by name, by NAME:SOURCE, or by the folder of a checkpoint."""
    if os.path.isfile(os.path.join(os.path.expanduser(spec), METADATA_FILE)):
        return TrainedEncoder(spec)
    return encoder_by_name(f"./{spec}" if os.path.isdir(spec) and not any(mark in spec for mark in "/\\.~") else spec)


def trained_system(
    name: str, folders: Mapping[str, str], store: Store, device: str = "cpu", prompts: Prompts | None = None
) -> CandidateSystem:
    """The trained encoders of one tokenizer, by the folder of each; their own prompts by default."""
    models = {label: TrainedEncoder(at, device) for label, at in folders.items()}
    return CandidateSystem(
        name,
        "trained",
        {
            label: _dense_stage(model, store, model.checkpoint().prompts if prompts is None else prompts)
            for label, model in models.items()
        },
        _checkpoint_metadata(*models.values()),
    )


def unique_names(systems: Iterable[CandidateSystem]) -> list[CandidateSystem]:
    """The systems with unique names: repeated names get a number."""
    named: list[CandidateSystem] = []
    for system in systems:
        taken = {other.name for other in named} | {repeat for other in named for repeat in other.repeats}
        number = next(at for at in range(1, len(named) + 2) if _numbered_name(system.name, at) not in taken)
        named.append(
            system
            if number == 1 and not taken & set(system.repeats)
            else _with_name(system, _numbered_name(system.name, max(number, 2)))
        )
    return named


def check_any_system(systems: Sequence[CandidateSystem]) -> None:
    """Raises an error if there are no systems."""
    if not systems:
        raise UsageError("there are no systems to compare", fix="add some with --checkpoints, --lexical or --model")


def stemmer_name(language: str) -> str | None:
    """The stemmer of a language, English for the dataset itself; None if there is none."""
    stemmer = "english" if language == OWN_LANGUAGE else _STEMMERS.get(language)
    return stemmer if stemmer in STEMMERS else None


def missing_stemmer_notes(systems: Iterable[CandidateSystem], languages: Iterable[str]) -> list[str]:
    """A note for each stemming system if some languages have no stemmer."""
    without = [language for language in languages if stemmer_name(language) is None]
    stems = [system.name for system in systems if _uses_stems(system, OWN_LANGUAGE)] if without else []
    return [f"{name}: no stemmer for {', '.join(without)}: words are not stemmed there" for name in stems]


def _uses_stems(system: CandidateSystem, language: str) -> bool:
    return any(isinstance(stage, BM25) and stage.tokens == WORDS and stage.stemming for stage in system.stages(language).values())


def _with_name(system: CandidateSystem, name: str) -> CandidateSystem:
    labels = {
        f"{name} #{at}" if len(system.repeats) > 1 else name: make for at, make in enumerate(system.repeats.values(), start=1)
    }
    return replace(system, name=name, repeats=labels)


def _numbered_name(name: str, at: int) -> str:
    return name if at == 1 else f"{name} ({at})"


def _checkpoint_metadata(*models: TrainedEncoder) -> tuple[Mapping[str, Any], ...]:
    """The metadata of each checkpoint; raises an error for damaged weights before any search."""
    metadata = []
    for model in models:
        opened = model.checkpoint()
        opened.check_weights()
        metadata.append(opened.metadata)
    return tuple(metadata)


def _dense_stage(model: EncoderModel, store: Store, prompts: Prompts = _NO_PROMPTS) -> Callable[[str], Stage]:
    stage = Dense(model, prompts.query, prompts.passage, store)
    return lambda language: stage


def _lexical_stage(kind: str, language: str) -> Stage:
    if kind not in (WORDS, STEMS):
        return BM25(tokens=kind)
    stemmer = stemmer_name(language) if kind == STEMS else None
    return BM25(language=stemmer, stop_words=False) if stemmer else BM25(stemming=False, stop_words=False)


def _system_name(spec: str) -> str:
    """The name of a system: that of the model, or of its folder, with its prefix."""
    prefix = source_prefix("encoder", spec)
    source = os.path.expanduser(spec.removeprefix(prefix))
    return f"{prefix}{os.path.basename(os.path.abspath(source))}" if os.path.isdir(source) else spec


_SHARED_KEYS = ("trained", "training_config", "data")
"""The metadata that repeats must share; with a FLOPs budget their steps may differ by one."""


@dataclass(frozen=True, slots=True)
class TrainedSystems:
    """The trained systems, with notes on differences between them."""

    systems: tuple[CandidateSystem, ...] = ()
    notes: tuple[str, ...] = ()


def find_trained_systems(folder: str, store: Store, device: str = "cpu", prompts: PromptUse = "own") -> TrainedSystems:
    """All checkpoints in the folder tree; those of one tokenizer in one folder are repeats.

    With `prompts` "all", each is a system with its own prompts, without prompts, and with those of every other one.
    """
    top = Path(path_text(folder)).expanduser()
    places = sorted(path.parent for path in top.rglob(METADATA_FILE) if not _is_hidden(path, top)) if top.is_dir() else []
    if not places:
        raise UsageError(
            f"{for_message(folder)} has no checkpoint", fix="choose a folder that `rankproof tokenizers train` wrote"
        )
    groups: dict[str, dict[Path, Checkpoint]] = {}
    for place, opened in sorted(((place, open_checkpoint(place)) for place in places), key=_sort_key):
        groups.setdefault(_system_label(top, place, opened), {})[place] = opened
    for name, opened_at in groups.items():
        _check_same_settings(name, opened_at)
    each_prompts = {name: next(iter(group.values())).prompts for name, group in groups.items()}
    systems = tuple(
        trained_system(label, _seed_labels(label, group), store, device, used)
        for name, group in groups.items()
        for label, used in _used_prompts(name, each_prompts, prompts).items()
    )
    return TrainedSystems(systems, tuple(_inequality_notes(groups)))


def _used_prompts(name: str, trained: Mapping[str, Prompts], use: PromptUse) -> dict[str, Prompts]:
    """The prompts that the checkpoints are used with, by the name of the system: their own first."""
    used = {name: trained[name]}
    if use == "all":
        others = {f"{name}, no prompts": _NO_PROMPTS, **{f"{name}, prompts of {other}": own for other, own in trained.items()}}
        used |= {label: other for label, other in others.items() if other != trained[name]}
    return {label: pair for at, (label, pair) in enumerate(used.items()) if pair not in list(used.values())[:at]}


def _is_hidden(path: Path, top: Path) -> bool:
    """Whether the path is in a hidden folder, such as one of an interrupted training."""
    return any(part.startswith(".") for part in path.relative_to(top).parts)


def _sort_key(placed: tuple[Path, Checkpoint]) -> tuple[Path, int, int, Path]:
    """Sorts by folder, then from finer to coarser tokens."""
    place, opened = placed
    kind = parse_tokenizer_kind(opened.shape.kind)
    return place.parent, get_args(TokenizerFamily).index(kind.family), kind.size, place


def _system_label(top: Path, place: Path, opened: Checkpoint) -> str:
    """The name of the tokenizer, with the folders between the top and the checkpoint as prefix."""
    between = place.parent.relative_to(top).as_posix() if place != top else "."
    return opened.shape.kind if between == "." else f"{between}/{opened.shape.kind}"


def _seed_labels(name: str, group: Mapping[Path, Checkpoint]) -> dict[str, str]:
    if len(group) == 1:
        return {name: os.fspath(next(iter(group)))}
    return {f"{name} #{opened.metadata.get('seed')}": os.fspath(place) for place, opened in group.items()}


def _check_same_settings(name: str, repeats: Mapping[Path, Checkpoint]) -> None:
    """Raises an error if repeats differ in more than their seed."""
    seeds: dict[str, Path] = {}
    for place, opened in repeats.items():
        if (other := seeds.setdefault(repr(opened.metadata.get("seed")), place)) != place:
            both = f"{for_message(str(other))} and {for_message(str(place))}"
            raise UsageError(f"two checkpoints of {for_message(name)} have the same seed, {both}", fix="remove one of them")
    first, *others = repeats.values()
    if any(
        opened.shape != first.shape or _shared_settings(opened.metadata) != _shared_settings(first.metadata) for opened in others
    ):
        fix = "move checkpoints with another config or data to their own folder"
        raise UsageError(f"the checkpoints of {for_message(name)} differ in more than their seed", fix=fix)


def _shared_settings(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {key: metadata.get(key) for key in _SHARED_KEYS}


def _inequality_notes(groups: Mapping[str, Mapping[Path, Checkpoint]]) -> Iterator[str]:
    """A note for each difference between the trained encoders besides the tokenizer, or besides the prompts of one tokenizer."""
    firsts = {name: next(iter(group.values())).metadata for name, group in groups.items()}
    shared = [_without_prompts(metadata) for metadata in firsts.values()]
    prompts = {next(iter(group.values())).prompts for group in groups.values()}
    kinds = {next(iter(group.values())).shape.kind for group in groups.values()}
    compared = "tokenizer" if len(kinds) > 1 else "prompts" if len(prompts) > 1 else None
    for unequal, words in (
        (len({repr(metadata["training_config"]) for metadata in shared}) > 1, "with different configs"),
        (len(prompts) > 1 and compared != "prompts", "with different prompts"),
        (len({repr(metadata["data"]) for metadata in shared}) > 1, "on different data"),
    ):
        if unequal:
            alone = "" if compared is None else f": their differences are not due to the {compared} alone"
            yield f"the encoders were trained {words}{alone}"
    if len({len(group) for group in groups.values()}) > 1:
        yield "the trained encoders have different numbers of repeats"


def _without_prompts(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The config, without its prompts, and the data."""
    config = metadata.get("training_config")
    if isinstance(config, Mapping):
        config = {name: value for name, value in config.items() if not name.endswith("_prompt")}
    return {"training_config": config, "data": metadata.get("data")}
