"""The known names of columns, and the roles of the columns of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from rankproof._data.row_errors import row_error
from rankproof._data.validation import Order
from rankproof._io.file_errors import file_error
from rankproof.errors import UsageError, for_message, type_phrase

Kind = Literal["run", "qrels"]
MAX_COLUMNS_SHOWN = 12

# In order of preference: where a table has both `query_id` and `query`, the latter is the text.
COLUMN_NAMES: dict[str, tuple[str, ...]] = {
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
    "judge": (
        *("judged_by", "judge", "judge_name", "judge_model", "annotator", "annotator_id", "annotated_by", "assessor"),
        *("assessor_id", "rater", "rater_id", "rated_by", "labeler", "labeller", "labeled_by", "labelled_by", "grader"),
        *("graded_by", "evaluator", "evaluated_by", "llm", "model"),
    ),
    "subtopic": ("subtopic", "subtopic_id", "subtopicid", "iteration"),
}
# In texts, unlike in rows, `query` and `document` name the text itself.
TEXT_ID_NAMES: dict[str, tuple[str, ...]] = {
    "query": ("_id", "id", *COLUMN_NAMES["query"][:6]),
    "document": ("_id", "id", *COLUMN_NAMES["document"][:15]),
}
TEXT_NAMES = ("text", "contents", "content", "body", "query", "question", "document", "passage", "doc")
_BEIR = ("query_id", "corpus_id", "score")


class Columns(NamedTuple):
    """The indexes of a row's columns; `value` is the score of a run or the grade of qrels.

    A run that is ordered by rank may have no score: then it is not `scored`, and `value` is its rank.
    `judge_label` says who judged, `subtopic` for which part of the query.
    """

    query: int
    doc: int
    value: int
    rank: int | None = None
    tag: int | None = None
    scored: bool = True
    judge_label: int | None = None
    subtopic: int | None = None

    @property
    def places(self) -> tuple[int, ...]:
        """The columns with a role, each once."""
        parts = (self.query, self.doc, self.value, self.rank, self.tag, self.subtopic, self.judge_label)
        return tuple(dict.fromkeys(place for place in parts if place is not None))

    def compacted(self) -> Columns:
        """The indexes after selecting the columns of `places`, in that order."""
        at = self.places.index
        optional = (self.rank, self.tag, self.judge_label, self.subtopic)
        rank, tag, judge_label, subtopic = (None if place is None else at(place) for place in optional)
        return Columns(at(self.query), at(self.doc), at(self.value), rank, tag, self.scored, judge_label, subtopic)


class ColumnNames(NamedTuple):
    """The columns of tables by role; None for the usual names."""

    query: str | None = None
    doc: str | None = None
    score: str | None = None
    grade: str | None = None

    def named_columns(self) -> dict[str, str]:
        """The names that are given, by argument; a column with two roles is an error."""
        names = {name: value for name in _ROLES if (value := getattr(self, name)) is not None}
        for name, value in names.items():
            if not isinstance(value, str):
                raise UsageError(f"{name} is {type_phrase(value)}", fix="pass the name of a column as text")
        if len(set(names.values())) < len(names):
            raise UsageError(f"one column has two roles ({', '.join(names)})", fix="name a different column for each")
        return names


_ROLES = {"query": "query", "doc": "document", "score": "score", "grade": "grade"}


def names_of_roles(names: Sequence[str], columns: ColumnNames, kind: Kind) -> dict[str, str]:
    """The columns to read, with their usual names; a named column takes the place of others with its role."""
    other = "grade" if kind == "run" else "score"
    named = {value: _ROLES[name] for name, value in columns.named_columns().items() if name != other and value in names}
    taken = {known for role in named.values() for known in COLUMN_NAMES[role]}
    return {
        name: COLUMN_NAMES[named[name]][0] if name in named else name
        for name in names
        if name in named or normalised_name(name) not in taken
    }


def normalised_name(name: str) -> str:
    """The name of a column in the form of COLUMN_NAMES."""
    return name.strip().lower().replace("-", "_").replace(" ", "_").replace(".", "_")


def column_of_role(role: str, names: Sequence[str]) -> int | None:
    """The column of that role; of several, the one whose name comes first in COLUMN_NAMES."""
    plain = [normalised_name(name) for name in names]
    return next((plain.index(name) for name in COLUMN_NAMES[role] if name in plain), None)


def is_header(names: Sequence[str]) -> bool:
    """Whether the names include a query and a document column."""
    return column_of_role("query", names) is not None and column_of_role("document", names) is not None


def find_columns(
    names: Sequence[str], kind: Kind, *, source: str = "", line: int | None = None, order: Order = "score"
) -> Columns:
    """The columns of a run or of qrels; a missing or repeated column is an error."""
    _check_repeats(names, source, line)
    value_role = "score" if kind == "run" else "grade"
    value = column_of_role(value_role, names)
    rank, tag = (column_of_role(role, names) if kind == "run" else None for role in ("rank", "tag"))
    scored = value is not None or rank is None or order == "score"
    if scored:
        _check_swapped(names, kind, value, source, line)
    places = {
        "query": column_of_role("query", names),
        "document": column_of_role("document", names),
        value_role: value if scored else rank,
    }
    _check_missing(names, places, rank, source, line)
    if kind == "run" and order == "rank" and rank is None:
        raise row_error("rank-missing", source=source, line=line)
    query, doc, number = (place for place in places.values() if place is not None)
    judge, subtopic = (column_of_role(role, names) if kind == "qrels" else None for role in ("judge", "subtopic"))
    return Columns(query, doc, number, rank, tag, scored, judge, subtopic)


def kind_from_names(names: Sequence[str]) -> Kind | None:
    """Whether the columns are those of a run or of qrels, None if neither."""
    plain = [normalised_name(name) for name in names]
    if all(name in plain for name in _BEIR) and column_of_role("rank", names) is None:
        return "qrels"
    if "score" in plain or column_of_role("score", names) is not None:
        return "run"
    return "qrels" if column_of_role("grade", names) is not None else None


def names_for_message(names: Sequence[str]) -> str:
    """The names for a message."""
    few = ", ".join(for_message(name) or '""' for name in names[:MAX_COLUMNS_SHOWN])
    return f"{few}, …" if len(names) > MAX_COLUMNS_SHOWN else few or "none"


def _check_repeats(names: Sequence[str], source: str, line: int | None) -> None:
    seen: set[str] = set()
    known = {name for role in COLUMN_NAMES.values() for name in role}
    for name in map(normalised_name, names):
        if name in seen and name in known:
            raise file_error("header-repeated", source=source, line=line, name=name)
        seen.add(name)


def _check_missing(names: Sequence[str], places: dict[str, int | None], rank: int | None, source: str, line: int | None) -> None:
    for role, place in places.items():
        if place is None and role == "score" and rank is not None:
            raise file_error("header-unscored", source=source, line=line, found=names_for_message(names))
        if place is None:
            example = "relevance" if "grade" in places else "score"
            listed, known = names_for_message(names), COLUMN_NAMES[role]
            raise file_error("header-missing", source=source, line=line, role=role, found=listed, example=example, known=known)


def _check_swapped(names: Sequence[str], kind: Kind, value: int | None, source: str, line: int | None) -> None:
    if kind == "run" and value is None and (grade := column_of_role("grade", names)) is not None:
        raise file_error("swapped-run", source=source, line=line, name=names[grade])
    if kind == "qrels" and value is not None and normalised_name(names[value]) == "score":
        ranked = column_of_role("rank", names)
        if ranked is not None:
            raise file_error("swapped-qrels", source=source, line=line, name=names[ranked])


def checked_delimiter(delimiter: str | None) -> str | None:
    """The delimiter as one character; `\\t` and `tab` are a tab."""
    if delimiter is not None and not isinstance(delimiter, str):
        raise UsageError(f"a delimiter cannot be {type_phrase(delimiter)}", fix='specify one character, like ";" or "\\t"')
    char = "\t" if delimiter in ("\\t", "tab") else delimiter
    if char is not None and (len(char) != 1 or char.isalnum() or char in '"\r\n#+-.'):
        raise UsageError(f'"{for_message(char)}" cannot be a delimiter', fix='specify one character, like ";" or "\\t"')
    return char
