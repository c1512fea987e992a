"""The text of a passage, and the options and checks that stages and scorers share."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, Sequence, ValuesView
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from rankproof._data.corpus import Corpus, Document, Partition, text_of_utf8
from rankproof._data.validation import check_options, checked_setting
from rankproof._registry import Option, Setting
from rankproof.errors import UsageError, for_message, type_phrase
from rankproof.models._base import CrossEncoderModel, EncoderModel
from rankproof.models._chat.base import ChatModel
from rankproof.stages._base import Scorer, Stage
from rankproof.stores._base import Store

BUILT_IN_FIELDS = ("title", "text")
DEFAULT_FIELDS = BUILT_IN_FIELDS


def passage_text(document: Document, fields: Sequence[str]) -> str:
    """The non-empty fields, in the given order, joined by a space."""
    return " ".join(part for part in (_field_text(document, field) for field in fields) if part)


def passages_of(partition: Partition, rows: Iterable[int], fields: Sequence[str]) -> list[str]:
    """The passages of these rows; title and text are read without the rest of a document."""
    if set(fields) - set(BUILT_IN_FIELDS):
        return [passage_text(partition.document(row), fields) for row in rows]
    columns = [partition.titles if name == "title" else partition.texts for name in fields]
    rows_of_parts = ([text_of_utf8(column.bytes_at(row)).strip() for column in columns] for row in rows)
    return [" ".join(filter(None, parts)) for parts in rows_of_parts]


class PassageTexts(Mapping[str, str]):
    """Document id to passage, in the order of the corpus; a passage is made when it is asked for."""

    def __init__(self, corpus: Corpus, fields: Sequence[str]) -> None:
        self._corpus, self._fields = corpus, fields

    def __getitem__(self, key: str) -> str:
        return passage_text(self._corpus[key], self._fields)

    def __contains__(self, key: object) -> bool:
        return key in self._corpus

    def __iter__(self) -> Iterator[str]:
        return iter(self._corpus)

    def __len__(self) -> int:
        return len(self._corpus)

    def items(self) -> ItemsView[str, str]:
        """The ids with their passages, in one pass over the documents."""
        return _PassageItems(self)

    def values(self) -> ValuesView[str]:
        """The passages, in one pass over the documents."""
        return _PassageValues(self)

    def passages(self) -> Iterator[tuple[str, str]]:
        """Each id with its passage."""
        return ((document.id, passage_text(document, self._fields)) for document in self._corpus.documents())

    def larger_ids_first(self) -> tuple[Sequence[str], Iterator[str]]:
        """The ids, larger ones first, and their passages in that order; it does not depend on the partitions."""
        positions = self._corpus.positions_by_id()
        places = map(self._corpus.partitions.at, map(int, positions))
        return _IdsAt(self._corpus, positions), (passage_text(partition.document(row), self._fields) for partition, row in places)


class _PassageItems(ItemsView[str, str]):
    _mapping: PassageTexts

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return self._mapping.passages()


class _PassageValues(ValuesView[str]):
    _mapping: PassageTexts

    def __iter__(self) -> Iterator[str]:
        return (text for _, text in self._mapping.passages())


class _IdsAt(Sequence[str]):
    """The ids of the documents at these positions, each made when it is asked for."""

    def __init__(self, corpus: Corpus, positions: NDArray[np.int64]) -> None:
        self._corpus, self._positions = corpus, positions

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return _IdsAt(self._corpus, self._positions[at])
        return text_of_utf8(self._corpus.partitions.id_at(int(self._positions[at])))

    def __len__(self) -> int:
        return len(self._positions)


def passage_texts(corpus: Corpus, fields: Sequence[str]) -> PassageTexts:
    """The passage of every document by id; a field that no document has is an error."""
    check_known_fields(corpus, fields)
    return PassageTexts(corpus, fields)


def check_known_fields(corpus: Corpus, fields: Sequence[str]) -> None:
    """Raises an error for a field that is not title, text or a text field of some document."""
    wanted = [field for field in fields if field not in BUILT_IN_FIELDS]
    if not wanted:
        return
    there = _text_fields(corpus, wanted)
    for field in wanted:
        if field not in there:
            known = ", ".join(for_message(name) for name in (*BUILT_IN_FIELDS, *sorted(there)))
            raise UsageError(f"no document has a text field called {for_message(field)}", fix=f"choose from {known}")


def _text_fields(corpus: Corpus, wanted: Sequence[str]) -> set[str]:
    """The other fields with a text in some document; reading ends where all wanted ones are found."""
    there: set[str] = set()
    for fields in (fields for partition in corpus.partitions for fields in partition.other_fields()):
        there.update(name for name, value in fields.items() if isinstance(value, str))
        if there.issuperset(wanted):
            break
    return there


def _field_text(document: Document, field: str) -> str:
    value = getattr(document, field) if field in BUILT_IN_FIELDS else document.fields.get(field)
    return value.strip() if isinstance(value, str) else ""


Fields = Annotated[tuple[str, ...], Option("the document fields that are read", role="fields")]
OwnParameters = Annotated[
    Mapping[str, Any] | tuple[tuple[str, Any], ...],
    Option("parameters that the method or the normalisation declares itself, by name", role="parameters"),
]
Depth = Annotated[int, Option("length of each ranking", least=1)]
EncoderOption = Annotated[EncoderModel, Option("the encoder: a name, a folder with weights, or a name on the model hub")]
ChatOption = Annotated[ChatModel, Option("the language model: a name, or a table with a name and settings")]
QueryPrompt = Annotated[str, Option("text put before each query, for encoders trained with it")]
PassagePrompt = Annotated[str, Option("text put before each passage, for encoders trained with it")]
PassageCharacters = Annotated[int, Option("how many characters of each passage the model reads", least=1)]
MaxTokens = Annotated[int, Option("maximum length of a reply in tokens", least=1)]
Attempts = Annotated[int, Option("maximum number of calls for one usable reply", least=1)]


def check_settings(value: Any) -> None:
    """Checks every setting of a stage or scorer by its type and Option."""
    check_options(value, _CHECKS)


def _model(name: str, value: Any) -> Any:
    """Raises an error if the value is not a model."""
    return _with_methods(name, value, ("load",), "pass a model, such as MiniLM() or WordLlama()")


def check_chat_model(name: str, value: Any) -> Any:
    """Raises an error if the value is not a language model."""
    fix = 'pass a language model, such as SmolLM2() or OpenAIChat(model="…")'
    _with_methods(name, value, ("load", "revision"), fix)
    if not hasattr(value, "concurrency"):
        raise UsageError(f"{name} is {type_phrase(value)}, not a language model", fix=fix)
    return value


def check_stage(name: str, value: Any) -> Any:
    """Raises an error if the value is not a stage."""
    return _with_methods(name, value, ("inputs", "build"), "pass a stage, such as BM25() or Dense(MiniLM())")


def _cross_encoder(name: str, value: Any) -> Any:
    return _with_methods(name, value, ("load",), "pass a cross-encoder, such as CrossEncoder(source)")


def _store(name: str, value: Any) -> Any:
    return _with_methods(name, value, ("open",), "pass a store, such as Memory() or PgVector()")


def _scorer(name: str, value: Any) -> Any:
    """Raises an error if the value is not a scorer; a stage finds documents, a scorer scores given ones."""
    fix = "pass a scorer, such as KeywordScorer(), BiEncoderScorer(MiniLM()) or MaxSim(MiniLM())"
    _with_methods(name, value, ("build",), fix)
    if callable(getattr(value, "inputs", None)):
        raise UsageError(f"{name} is a stage ({type(value).__name__})", fix=fix)
    return value


def _with_methods(name: str, value: Any, methods: tuple[str, ...], fix: str) -> Any:
    """The value; a class, or a value without one of the methods, is an error."""
    if isinstance(value, type):
        raise UsageError(f"{name} is the class {value.__name__}", fix=fix)
    if not all(callable(getattr(value, method, None)) for method in methods):
        what = f"the text {for_message(repr(value))}" if isinstance(value, str) else type_phrase(value)
        raise UsageError(f"{name} is {what}", fix=fix)
    return value


_CHECKS: Mapping[Any, Callable[[str, Any], Any]] = {
    EncoderModel: _model,
    CrossEncoderModel: _cross_encoder,
    ChatModel: check_chat_model,
    Store: _store,
    Stage: check_stage,
    Scorer: _scorer,
}


def checked_parameters(owner: str, known: Sequence[Setting], values: Any) -> tuple[tuple[str, Any], ...]:
    """The values of the parameters that a part declares itself, checked, with the defaults of the others."""
    chosen = dict(values)
    names = [setting.key for setting in known]
    if unknown := [name for name in chosen if name not in names]:
        fix = f"choose among {', '.join(names)}" if names else "it has none"
        raise UsageError(f"{owner} has no parameter {for_message(str(unknown[0]))}", fix=fix)
    return tuple((setting.key, checked_setting(setting, chosen.get(setting.key, setting.default))) for setting in known)
