"""The text of a passage, and the options and checks that stages and scorers share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any

from rankproof._data.corpus import Corpus, Document, Partition, decoded
from rankproof._data.validation import check_options
from rankproof._registry import Option
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
    each = ([decoded(column.bytes_at(row)).strip() for column in columns] for row in rows)
    return [" ".join(filter(None, parts)) for parts in each]


def passage_texts(corpus: Corpus, fields: Sequence[str]) -> dict[str, str]:
    """The passage of every document by id; a field that no document has is an error."""
    check_known_fields(corpus, fields)
    return {doc: passage_text(document, fields) for doc, document in corpus.items()}


def check_known_fields(corpus: Corpus, fields: Sequence[str]) -> None:
    """Raises an error for a field that is not title, text or a text field of some document."""
    wanted = [field for field in fields if field not in BUILT_IN_FIELDS]
    if not wanted:
        return
    there = {name for document in corpus.values() for name, value in document.fields.items() if isinstance(value, str)}
    for field in wanted:
        if field not in there:
            known = ", ".join(for_message(name) for name in (*BUILT_IN_FIELDS, *sorted(there)))
            raise UsageError(f"no document has a text field called {for_message(field)}", fix=f"choose from {known}")


def _field_text(document: Document, field: str) -> str:
    value = getattr(document, field) if field in BUILT_IN_FIELDS else document.fields.get(field)
    return value.strip() if isinstance(value, str) else ""


Fields = Annotated[tuple[str, ...], Option("the document fields that are read", role="fields")]
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
        found = f"the text {for_message(repr(value))}" if isinstance(value, str) else type_phrase(value)
        raise UsageError(f"{name} is {found}", fix=fix)
    return value


_CHECKS: Mapping[Any, Callable[[str, Any], Any]] = {
    EncoderModel: _model,
    CrossEncoderModel: _cross_encoder,
    ChatModel: check_chat_model,
    Store: _store,
    Stage: check_stage,
    Scorer: _scorer,
}
