"""Test cases: queries that people typed, with their grades, in a file that `serve` writes and `run` and `gate` read."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan
from pathlib import Path

import numpy as np

from rankproof._data.arrays import FloatArray
from rankproof._data.dataset import Dataset, Queries, Query
from rankproof._data.qrels import Judgement, Qrels
from rankproof._data.row_errors import row_error
from rankproof._data.run import Run
from rankproof._data.text import pluralise
from rankproof._evaluation.evaluate import evaluate_runs
from rankproof._evaluation.options import USUAL_PRIMARY, EvaluateOptions
from rankproof._io.files import open_plain_file, unreadable_file_error
from rankproof._io.strict_json import JsonObject, parse_strict_json
from rankproof._results.result_json import parse_stored_measures
from rankproof.errors import InputError, UsageError, for_message

CASES_FILE = "cases.jsonl"
"""The file of test cases beside results folders."""
_LINE_FIX = "correct the line, or remove it"
_ID_LENGTH = 8


@dataclass(frozen=True, slots=True)
class SavedCase:
    """A test case: a query with grades, and the value that a build must reach.

    `measure` gives the value. Without `least` the case is shown but cannot fail. `dataset` is the name of the dataset whose
    documents are graded, empty if it is for any. `who` changed it last, at `when`.
    """

    text: str
    grades: Mapping[str, int]
    id: str = ""
    dataset: str = ""
    measure: str = USUAL_PRIMARY
    least: float | None = None
    who: str = ""
    when: str = ""

    @property
    def query(self) -> Query:
        """The query that systems search."""
        return Query(self.id, self.text)


def case_id(dataset: str, text: str) -> str:
    """The id of the query of a test case, the same for texts that differ in white space only."""
    key = "\n".join((dataset, " ".join(text.split())))
    return f"case-{hashlib.sha256(key.encode(errors='replace')).hexdigest()[:_ID_LENGTH]}"


def read_cases(path: str | os.PathLike[str]) -> tuple[SavedCase, ...]:
    """The test cases of a file, one JSON object per line; blank lines do not count."""
    source = os.fspath(path)
    try:
        with open_plain_file(source) as file:
            content = file.read()
    except FileNotFoundError:
        raise UsageError(f"{for_message(source)} does not exist", fix="save test cases with `rankproof serve --edit`") from None
    except OSError as error:
        raise unreadable_file_error(Path(source), error) from None
    return tuple(parse_cases(content, source))


def parse_cases(content: bytes, source: str) -> Iterator[SavedCase]:
    """The test cases in the content of a file."""
    first: dict[str, int] = {}
    for line, raw in enumerate(content.splitlines(), start=1):
        if raw.strip():
            case = _case(raw, source, line)
            if first.setdefault(case.id, line) != line:
                raise row_error(
                    "id-twice", source=source, line=line, column="case", token=case.id, first=f"line {first[case.id]}"
                )
            yield case


def json_line(raw: bytes, source: str, line: int) -> JsonObject:
    """A line of a file that people may edit, as an object."""
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise InputError("this line is not UTF-8", fix="save the file as UTF-8", source=source, line=line) from None
    return JsonObject(parse_strict_json(text, source=source, line=line), source, line=line, damaged_fix=_LINE_FIX)


def _case(raw: bytes, source: str, line: int) -> SavedCase:
    read = json_line(raw, source, line)
    case = read.read(SavedCase)
    if not case.text.strip():
        raise read.error("text is empty", "write the query, or remove the line")
    if not case.grades:
        raise read.error("grades is empty", "grade at least one document, or remove the line")
    _check_measure(case, read)
    return replace(case, id=case.id or case_id(case.dataset, case.text))


def _check_measure(case: SavedCase, read: JsonObject) -> None:
    try:
        measures = parse_stored_measures([case.measure])
    except UsageError as error:
        raise read.error(f"measure: {error.what}", error.fix) from None
    if len(measures) != 1 or measures[0].kind == "answer":
        raise read.error(f"measure is {for_message(case.measure)}", "write one measure of rankings, such as nDCG@10")


def cases_of(cases: Iterable[SavedCase], dataset: str) -> tuple[SavedCase, ...]:
    """The test cases of a dataset, and those for any."""
    return tuple(case for case in cases if case.dataset in ("", dataset))


def case_qrels(cases: Iterable[SavedCase], source: str = "") -> Qrels:
    """The grades of test cases."""
    return Qrels((Judgement(case.id, doc, grade) for case in cases for doc, grade in case.grades.items()), source=source)


def case_dataset(dataset: Dataset, cases: Sequence[SavedCase]) -> Dataset:
    """The documents of a dataset with the test cases as its queries."""
    return replace(dataset, queries=Queries(case.query for case in cases), qrels=case_qrels(cases), notes=())


def with_cases(dataset: Dataset, cases: Sequence[SavedCase], source: str) -> Dataset:
    """The dataset with the test cases among its queries and judgements."""
    if not cases:
        raise UsageError(f"{for_message(source)} has no test case of {for_message(dataset.name)}", fix="leave the file out")
    queries = Queries((*dataset.queries.values(), *(case.query for case in cases)), source=dataset.queries.source)
    rows = (*dataset.qrels.rows(), *case_qrels(cases, source).rows())
    note = f"{pluralise(len(cases), 'test case')} of {source} count like queries: people chose them because they fail"
    return replace(dataset, queries=queries, qrels=Qrels(rows, source=dataset.qrels.source), notes=(*dataset.notes, note))


def ranking_values(grades: Mapping[str, int], rankings: Sequence[Sequence[str]], measure: str) -> Iterator[float | None]:
    """The value of each ranking of one query; None where the measure has none, as without a grade."""
    query = "query"
    if not grades:
        yield from (None for _ in rankings)
        return
    qrels = Qrels.from_dict({query: dict(grades)})
    runs = {str(place): Run.from_rankings(str(place), [query], [_with_scores(docs)]) for place, docs in enumerate(rankings)}
    result = evaluate_runs(qrels, runs, parse_stored_measures([measure]), EvaluateOptions())
    for system in result.systems:
        value = next(iter(system.measures.values())).per_query.get(query)
        yield None if value is None or isnan(value) else float(value)


def _with_scores(docs: Sequence[str]) -> tuple[list[str], FloatArray]:
    """The documents, each once, with falling scores."""
    distinct = list(dict.fromkeys(docs))
    return distinct, -np.arange(len(distinct), dtype=np.float64)
