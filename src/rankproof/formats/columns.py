"""The names that columns and fields go by, said once, and which column of a table plays which part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..errors import shown
from .faults import fault

Kind = Literal["run", "qrels"]
FEW_COLUMNS = 12

# In order of preference: where a table has both `query_id` and `query`, the latter is the text.
NAMES: dict[str, tuple[str, ...]] = {
    "query": ("query_id", "queryid", "qid", "q_id", "topic_id", "topicid", "topic", "query", "q"),
    "document": (
        *("doc_id", "docid", "did", "d_id", "docno", "doc_no", "document_id", "documentid", "corpus_id", "corpusid"),
        *("passage_id", "pid", "p_id", "product_id", "item_id", "doc", "document", "passage", "d"),
    ),
    "score": ("score", "scores", "sim", "similarity", "retrieval_score", "relevance_score"),
    "grade": (
        *("grade", "rel", "relevance", "label", "relevance_label", "relevance_grade", "esci_label", "judgement", "judgment"),
        *("gain", "score"),
    ),
    "rank": ("rank", "position"),
    "tag": ("tag", "run_id", "runid", "run_name", "run_tag", "system"),
}
# In texts, unlike in rows, `query` and `document` name the text itself.
TEXT_IDS: dict[str, tuple[str, ...]] = {
    "query": ("_id", "id", *NAMES["query"][:6]),
    "document": ("_id", "id", *NAMES["document"][:15]),
}
TEXT_NAMES = ("text", "contents", "content", "body", "query", "question", "document", "passage", "doc")
_BEIR = ("query_id", "corpus_id", "score")


@dataclass(frozen=True, slots=True)
class Columns:
    """Where the parts of a row stand; `value` is the score of a run or the grade of qrels."""

    query: int
    doc: int
    value: int
    rank: int | None = None
    tag: int | None = None


def plain_name(name: str) -> str:
    """A column's name as the table above has it."""
    return name.strip().lower().replace("-", "_").replace(" ", "_").replace(".", "_")


def place_of(role: str, names: Sequence[str]) -> int | None:
    """The column that plays the role, the best-named one where several could."""
    plain = [plain_name(name) for name in names]
    return next((plain.index(name) for name in NAMES[role] if name in plain), None)


def is_header(names: Sequence[str]) -> bool:
    """Whether the names are those of a table of rows: a query and a document among them."""
    return place_of("query", names) is not None and place_of("document", names) is not None


def columns_of(names: Sequence[str], kind: Kind, *, source: str = "", line: int | None = None) -> Columns:
    """Which column is which; a part that is missing or named twice is refused."""
    _refuse_repeats(names, source, line)
    value_role = "score" if kind == "run" else "grade"
    places = {role: place_of(role, names) for role in ("query", "document", value_role)}
    _refuse_swapped(names, kind, places[value_role], source, line)
    for role, place in places.items():
        if place is None:
            example = "score" if kind == "run" else "relevance"
            raise fault("header-missing", source=source, line=line, role=role, found=listed(names), example=example)
    query, doc, value = (place for place in places.values() if place is not None)
    return Columns(query, doc, value, *(place_of(role, names) if kind == "run" else None for role in ("rank", "tag")))


def kind_by_names(names: Sequence[str]) -> Kind | None:
    """Whether such columns are a run's or qrels', None where nothing tells."""
    plain = [plain_name(name) for name in names]
    if all(name in plain for name in _BEIR) and place_of("rank", names) is None:
        return "qrels"
    if "score" in plain or place_of("score", names) is not None:
        return "run"
    return "qrels" if place_of("grade", names) is not None else None


def listed(names: Sequence[str]) -> str:
    """The names as a message shows them."""
    few = ", ".join(shown(name) or '""' for name in names[:FEW_COLUMNS])
    return f"{few}, …" if len(names) > FEW_COLUMNS else few or "none"


def _refuse_repeats(names: Sequence[str], source: str, line: int | None) -> None:
    seen: set[str] = set()
    known = {name for role in NAMES.values() for name in role}
    for name in map(plain_name, names):
        if name in seen and name in known:
            raise fault("header-repeated", source=source, line=line, name=name)
        seen.add(name)


def _refuse_swapped(names: Sequence[str], kind: Kind, value: int | None, source: str, line: int | None) -> None:
    if kind == "run" and value is None and (grade := place_of("grade", names)) is not None:
        raise fault("swapped-run", source=source, line=line, name=names[grade])
    if kind == "qrels" and value is not None and plain_name(names[value]) == "score":
        ranked = place_of("rank", names)
        if ranked is not None:
            raise fault("swapped-qrels", source=source, line=line, name=names[ranked])
