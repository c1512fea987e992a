"""Judgements and runs in the forms that people have, brought into those that alignment reads."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, is_dataclass, replace
from numbers import Number
from typing import TYPE_CHECKING, Any

from rankproof._data.grades import GradeMap
from rankproof._data.qrels import Qrels
from rankproof._data.row_errors import OnConflict
from rankproof._data.run import Run, is_ranked_list
from rankproof._data.text import pluralise
from rankproof._evaluation.options import EvaluateOptions, QrelsLike, RunLike
from rankproof._formats.columns import ColumnNames, Kind, column_of_role, names_for_message, names_of_roles
from rankproof.errors import InputError, UsageError, for_message, type_phrase

if TYPE_CHECKING:
    from rankproof._data.dataset import Dataset, Queries

_QRELS_FORMS = "pass Qrels, a path, {query: {doc: grade}}, a table, or rows with query_id, doc_id and relevance"
_RUN_FORMS = "pass a Run, a path, {query: {doc: score}}, {query: [docs, best first]}, a table, or {name: run}"


class Coercion:
    """Brings judgements and runs into paths, our types, dicts of dicts and frames; `columns` are names of columns of tables."""

    def __init__(
        self, columns: ColumnNames | None = None, grade_map: GradeMap | None = None, on_conflict: OnConflict = "error"
    ) -> None:
        self._columns = columns or ColumnNames()
        self._grade_map, self._on_conflict = grade_map, on_conflict
        self._columns_of_tables: dict[str, None] = {}

    def qrels(self, qrels: QrelsLike) -> str | Qrels | Mapping[Any, Any] | Any:
        """The judgements as a path, Qrels, a dict of dicts, or a frame."""
        if isinstance(qrels, str | os.PathLike):
            from rankproof._formats.detect import SAMPLE

            path = os.fspath(qrels)
            if path != SAMPLE:
                return path
            from rankproof._formats.read import read_qrels

            return read_qrels(path)
        if (dataset := as_dataset(qrels)) is not None:
            return dataset.qrels
        if isinstance(qrels, Mapping):
            return _checked_grades(qrels)
        from rankproof._formats.frames import is_frame

        if is_frame(qrels):
            return self._frame(qrels, "qrels", "qrels")
        if _is_of("ranx", qrels, "Qrels"):
            return dict(qrels.to_dict())
        rows = _rows_of(qrels)
        if rows is None:
            raise UsageError(f"qrels cannot be {type_phrase(qrels)}", fix=_QRELS_FORMS)
        from rankproof._formats.rows import ParseOptions, read_judgements

        options = ParseOptions(grade_map=self._grade_map, on_conflict=self._on_conflict)
        return read_judgements(enumerate(self._records(rows, "qrels"), start=1), "qrels", options)

    def runs(self, run: RunLike, judged: Callable[[], Collection[str]]) -> dict[str, Any]:
        """Each run by name, as a path, Run, dict of dicts, or frame; `judged` are the judged queries."""
        if isinstance(run, Mapping) and _names_runs(run, judged):
            return {str(name): self.run(own_run, str(name)) for name, own_run in run.items()}
        if isinstance(run, Sequence) and not isinstance(run, str | bytes) and _rows_of(run) is None:
            return {name: self.run(own_run, name) for name, own_run in name_runs_uniquely(run, []).items()}
        name = _name(run)
        return {name: self.run(run, name)}

    def run(self, run: RunLike, name: str) -> str | Run | Mapping[Any, Any] | Any:
        """The run as a path, Run, dict of dicts, or frame."""
        if isinstance(run, str | os.PathLike):
            from rankproof._formats.detect import SAMPLE_RUN_PREFIX

            path = os.fspath(run)
            if not path.startswith(SAMPLE_RUN_PREFIX):
                return path
            from rankproof._formats.read import read_run

            return read_run(path, name=name)
        if isinstance(run, Run):
            return run
        if isinstance(run, Mapping):
            is_plain = set(map(type, run.values())) <= {dict}
            return run if is_plain or not any(map(is_ranked_list, run.values())) else Run(run, name=name, source=name)
        from rankproof._formats.frames import is_frame

        if is_frame(run):
            return self._frame(run, "run", name)
        if _is_of("ranx", run, "Run"):
            return dict(run.to_dict())
        rows = _rows_of(run)
        if rows is None:
            raise UsageError(f"run cannot be {type_phrase(run)}", fix=_RUN_FORMS)
        from rankproof._formats.rows import ParseOptions, run_rows

        numbered = enumerate(self._records(rows, "run"), start=1)
        return Run.from_rows(run_rows(numbered, name, ParseOptions()), name=name, source=name)

    def check_columns(self) -> None:
        """Rejects a name of a column that no table has."""
        for argument, name in self._columns.named_columns().items():
            if name not in self._columns_of_tables:
                present = (
                    f"found {names_for_message(list(self._columns_of_tables))}"
                    if self._columns_of_tables
                    else "there is no table"
                )
                raise UsageError(
                    f"no column is called {for_message(name)} ({argument}=); {present}", fix="use the name of an existing column"
                )

    def _frame(self, frame: Any, kind: Kind, source: str) -> Any:
        from rankproof._formats.frames import column_names, library_of, with_usual_names

        names = column_names(frame)
        self._columns_of_tables.update(dict.fromkeys(names))
        usual = names_of_roles(names, self._columns, kind)
        _check_roles(names, list(usual.values()), kind, source)
        if kind == "run" and library_of(frame) == "pandas":
            _check_one_system(frame, list(usual), list(usual.values()), source)
        return with_usual_names(frame, usual)

    def _records(self, rows: Iterable[Any], kind: Kind) -> Iterator[dict[str, Any]]:
        """Each row as a dict, its named columns with their usual names."""
        for row in rows:
            record = _record(row)
            self._columns_of_tables.update(dict.fromkeys(record))
            usual = names_of_roles(list(record), self._columns, kind)
            yield {usual[name]: value for name, value in record.items() if name in usual}


def as_dataset(qrels: QrelsLike) -> Dataset | None:
    """The judgements if they are a dataset, else None."""
    if isinstance(qrels, str | os.PathLike | Mapping):
        return None
    from rankproof._data.dataset import Dataset

    return qrels if isinstance(qrels, Dataset) else None


def queries_of_judgements(qrels: QrelsLike) -> Queries | None:
    """The queries that a dataset, or the folder at a path, has beside its judgements; None if there are none."""
    if isinstance(qrels, str | os.PathLike):
        from rankproof._formats.detect import SAMPLE

        path = os.fspath(qrels)
        if path == SAMPLE or not os.path.isdir(path):
            return None
        from rankproof._formats.read import folder_queries

        return folder_queries(path)
    dataset = as_dataset(qrels)
    return None if dataset is None else dataset.queries


def with_own_weights(options: EvaluateOptions, queries: Queries | None) -> EvaluateOptions:
    """The options with the weights of these queries, unless they have weights."""
    return options if options.weights is not None or queries is None else replace(options, weights=queries.weights)


def name_runs_uniquely(runs: Sequence[RunLike], names: Sequence[str]) -> dict[str, RunLike]:
    """The runs by the given names, or by their own; a repeated name is an error."""
    if names and len(names) != len(runs):
        what = f"{pluralise(len(names), 'name')} for {pluralise(len(runs), 'run')}"
        raise UsageError(what, fix="give a name for each run, or for none")
    named: dict[str, RunLike] = {}
    for name, run in zip(names or map(_name, runs), runs, strict=True):
        if name in named:
            raise UsageError(f"two systems are called {name}", fix="give each its own name (--name)")
        named[name] = run
    return named


def _name(run: RunLike) -> str:
    if isinstance(run, str | os.PathLike):
        from rankproof._formats.detect import SAMPLE_RUN_PREFIX
        from rankproof._formats.registry import system_name

        return system_name(os.fspath(run).removeprefix(SAMPLE_RUN_PREFIX))
    own = run.name if isinstance(run, Run) or _is_of("ranx", run, "Run") else None
    return own or "run"


def _check_roles(names: Sequence[str], usual: Sequence[str], kind: Kind, source: str) -> None:
    """Rejects a table without a column of a role, and names the argument that says which column it is."""
    has_value = any(column_of_role(role, usual) is not None for role in ("score", "grade", "rank"))
    value = "score" if kind == "run" else "grade"
    columns = {"query": column_of_role("query", usual), "doc": column_of_role("document", usual), value: has_value or None}
    for argument, place in columns.items():
        if place is None:
            what = f"no {argument} column; found {names_for_message(names)}"
            raise InputError(what, fix=f"name the column with {argument}=", source=source)


def _check_one_system(frame: Any, names: Sequence[str], usual: Sequence[str], source: str) -> None:
    """Rejects a frame of pandas with the rankings of several systems, and says how to split it."""
    query, doc, tag = (column_of_role(role, usual) for role in ("query", "document", "tag"))
    if query is None or doc is None or tag is None or frame[names[tag]].nunique() < 2:
        return
    if frame.duplicated([names[query], names[doc]]).any():
        name = names[tag]
        fix = f"pass {{name: part for name, part in frame.groupby({name!r})}}"
        raise InputError(f"column {for_message(name)} names several systems", fix=fix, source=source)


def _names_runs(mapping: Mapping[Any, Any], judged: Callable[[], Collection[str]]) -> bool:
    """Whether the mapping is one of names to runs, and not a run itself.

    Where every value is empty, the mapping is a run if one of its keys is a judged query.
    """
    for value in mapping.values():
        is_run = _is_run(value)
        if is_run is not None:
            return is_run
    return not mapping or not any(str(key) in judged() for key in mapping)


def _is_run(value: Any) -> bool | None:
    """Whether the value of a mapping is a run, False for the documents of a query, None for an empty value."""
    if isinstance(value, Mapping):
        return next((not isinstance(inner, str | Number) and not _is_scalar(inner) for inner in value.values()), None)
    if is_ranked_list(value):
        return _rows_of(value) is not None if len(value) else None
    return not isinstance(value, Number)


def _is_scalar(value: Any) -> bool:
    """Whether the value is a single number of numpy or None, and no container."""
    return value is None or (hasattr(value, "item") and getattr(value, "ndim", 0) == 0)


def _checked_grades(qrels: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """The judgements with sets of relevant documents as grades; lists are rejected, as they could be rankings."""
    if set(map(type, qrels.values())) <= {dict}:
        return qrels
    for query, docs in qrels.items():
        if isinstance(docs, list | tuple):
            what = f"qrels has a list of documents for query {for_message(str(query))}"
            raise UsageError(what, fix="pass a set of the relevant documents, or {doc: grade}")
    if not any(isinstance(docs, Set) for docs in qrels.values()):
        return qrels
    return {query: dict.fromkeys(docs, 1) if isinstance(docs, Set) else docs for query, docs in qrels.items()}


def _is_of(library: str, value: object, name: str) -> bool:
    """Whether the value is of a class of this name in the library, which is not imported."""
    kind = type(value)
    return kind.__name__ == name and kind.__module__.partition(".")[0] == library


def _rows_of(value: Any) -> Iterable[Any] | None:
    """The rows, if the value is an iterable of records; None for anything else."""
    if isinstance(value, str | bytes | Mapping | Set | Run) or not isinstance(value, Iterable):
        return None
    if isinstance(value, Sequence):
        return value if len(value) and _is_record(value[0]) else None
    return None if hasattr(value, "shape") else value


def _is_record(row: object) -> bool:
    if isinstance(row, Mapping):
        return not any(isinstance(part, Mapping | list | tuple) for part in row.values()) and any(map(_is_text, row.values()))
    return hasattr(row, "_fields") or (is_dataclass(row) and not isinstance(row, type | Run))


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _record(row: Any) -> dict[str, Any]:
    if isinstance(row, Mapping):
        return {str(name): value for name, value in row.items()}
    if hasattr(row, "_fields"):
        return dict(zip(row._fields, row, strict=True))
    if is_dataclass(row) and not isinstance(row, type):
        return asdict(row)
    raise UsageError(f"a row cannot be {type_phrase(row)}", fix="pass rows with query_id, doc_id, and score or relevance")
