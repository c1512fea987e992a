"""A results folder read back: the same climb, or an error that says which file is damaged."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import get_args

import numpy as np

from ...data.answers import Answers
from ...data.arrays import FloatArray, frozen
from ...data.qrels import Qrels
from ...data.queries import Queries
from ...data.run import Run
from ...errors import UsageError
from ...evaluation import MeasureResult, Note, Result, SystemResult
from ...formats import strict_json
from ...formats.jsonl_format import objects
from ...formats.lines import decoded
from ...formats.opened import open_file
from ...formats.opening import StrPath, all_bytes, open_source, path_text
from ...formats.texts_format import MAX_TEXT_BYTES, read_queries
from ...measures import parse
from ..rung import TIMES, Climb, Rung, RungKind
from .answers import ANSWERS, answers_in
from .digests import refuse_changed
from .document import FORMAT, SCHEMA
from .swap import recover
from .values import Values

RESULT, EXPERIMENT, QRELS, QUERIES, SNIPPETS, RUNS = (
    *("result.json", "experiment.toml", "qrels.tsv", "queries.jsonl", "snippets.jsonl"),
    "runs",
)
_RUN_FILE = re.compile(rf"{RUNS}/[A-Za-z0-9_][A-Za-z0-9._-]*\.(trec|jsonl|json)\.gz")


def load(path: StrPath) -> Climb:
    """The climb that was saved as the folder at the path."""
    folder = path_text(path)
    recover(os.path.realpath(folder))
    values = _document(folder)
    runs = [_run_file(system.inside("run"))[0] for system in values.each("systems")]
    answered = [ANSWERS] if ANSWERS in values.inside("sha256").plain else []
    refuse_changed(folder, values.inside("sha256"), [QRELS, QUERIES, SNIPPETS, EXPERIMENT, *answered, *runs])
    queries = tuple(values.texts("query_ids"))
    result = Result(tuple(values.texts("judged_ids")), tuple(map(_system, values.each("systems"))))
    answers = answers_in(folder) if answered else {}
    rungs = tuple(_rung(system, queries, folder, answers) for system in values.each("systems"))
    _refuse_strangers(values, rungs, result)
    return Climb(
        name=values.text("name"),
        fingerprint=values.text("fingerprint"),
        queries=queries,
        result=result,
        rungs=rungs,
        qrels=_qrels(os.path.join(folder, QRELS)),
        texts=_queries(os.path.join(folder, QUERIES)),
        snippets=_snippets(os.path.join(folder, SNIPPETS)),
        experiment=all_bytes(open_source(os.path.join(folder, EXPERIMENT))).decode(errors="replace"),
        provenance=values.inside("provenance").plain,
        notes=tuple(values.texts("notes")),
        rel=values.count("rel"),
        chunks=_chunks(values, result),
        answers=_answers(values, rungs),
        wholes=_wholes(values),
        urls=_urls(os.path.join(folder, SNIPPETS)),
    )


def _document(folder: str) -> Values:
    path = os.path.join(folder, RESULT)
    content = all_bytes(open_source(path))
    values = Values(strict_json.parse(decoded(content, 1, path), source=path), path)
    if values.plain.get("format") != FORMAT:
        raise values.error("this is no result of rankproof", "name a folder that `rankproof run` wrote")
    if values.count("schema") != SCHEMA:
        raise values.error(
            f"schema {values.count('schema')} where this rankproof knows {SCHEMA}", "use the rankproof that wrote it"
        )
    return values


def _system(values: Values) -> SystemResult:
    notes = tuple(Note(note.text("code"), note.count("count"), note.text("text")) for note in values.each("notes"))
    measures = values.inside("measures")
    return SystemResult(values.text("name"), {name: _measure(measures.inside(name), name) for name in measures.plain}, notes)


def _chunks(values: Values, result: Result) -> Result | None:
    """The values at chunk level, None where no system ranks chunks."""
    if "chunks" not in values.plain:
        return None
    systems = tuple(map(_system, values.each("chunks")))
    known = {system.name for system in result.systems}
    if not systems or any(system.name not in known or tuple(system.measures) != tuple(systems[0].measures) for system in systems):
        raise values.error("the values at chunk level are not those of its systems", "run the experiment again")
    return Result(result.queries, systems)


def _answers(values: Values, rungs: tuple[Rung, ...]) -> Result | None:
    """The measures of answers, None where nothing was measured."""
    if "answers" not in values.plain:
        return None
    found = values.inside("answers")
    systems = tuple(map(_system, found.each("systems")))
    known = {rung.name for rung in rungs if rung.answers is not None}
    if not systems or any(system.name not in known or tuple(system.measures) != tuple(systems[0].measures) for system in systems):
        raise values.error("the values of answers are not those of its systems", "run the experiment again")
    return Result(tuple(found.texts("judged_ids")), systems)


def _wholes(values: Values) -> Mapping[str, str]:
    """The judged documents of passages."""
    if "answers" not in values.plain:
        return {}
    found = values.inside("answers").inside("wholes")
    return {passage: found.text(passage) for passage in found.plain}


def _measure(values: Values, name: str) -> MeasureResult:
    each = values.inside("per_query")
    numbers = np.array([each.number(query) for query in each.plain], dtype=np.float64)
    try:
        measure = parse(name)
    except UsageError as error:
        raise values.error(error.what, error.fix) from None
    return MeasureResult(measure, values.number("value"), tuple(each.plain), frozen(numbers))


def _rung(values: Values, queries: tuple[str, ...], folder: str, answers: Mapping[str, Answers]) -> Rung:
    times, index, counts = values.inside("times_ms"), values.inside("index"), values.inside("counts")
    kind: RungKind = values.choice("kind", get_args(RungKind))  # type: ignore[assignment]
    return Rung(
        name=values.text("name"),
        kind=kind,
        stage=values.inside("stage").plain,
        run=_run(values.inside("run"), values.text("name"), queries, folder),
        times={part: _times(times.inside(part), len(queries)) for part in TIMES},
        index_seconds=index.number("seconds"),
        index_bytes=index.count("bytes"),
        throughput=values.number_or_none("throughput"),
        over=values.text_or_none("over"),
        facts=values.inside("facts").plain,
        notes=tuple(values.texts("remarks")),
        computed=values.text("computed"),
        from_cache=values.flag("from_cache"),
        counts={name: _times(counts.inside(name), len(queries)).astype(np.int64) for name in counts.plain},
        money=values.number("money"),
        answers=answers.get(values.text("name")),
    )


def _times(values: Values, count: int) -> FloatArray:
    found = values.numbers("per_query")
    if len(found) != count:
        raise values.error(f"{len(found)} times for {count} queries", "the file is damaged: run the experiment again")
    return frozen(np.array(found, dtype=np.float64))


def _run(values: Values, name: str, queries: tuple[str, ...], folder: str) -> Run:
    (file, kind), rows = _run_file(values), values.count("rows")
    missing = set(values.texts("missing"))
    asked = [query for query in queries if query not in missing]
    path = os.path.join(folder, *file.split("/"))
    found = open_file(path, format=kind).run(name=name) if rows else Run.from_rows([])
    if len(found.docs) != rows:
        what = f"{len(found.docs)} rows where {RESULT} counts {rows}"
        raise Values({}, path).error(what, "the file is damaged: run the experiment again")
    return Run.from_rows(found.rows(), name=name, source=path, queries=asked)


def _run_file(values: Values) -> tuple[str, str]:
    """The name of a run's file, never one outside the folder, and its format."""
    file = values.text("file")
    kind = _RUN_FILE.fullmatch(file)
    if kind is None:
        raise values.error(f"{file} is no file of this folder", "the file is damaged: run the experiment again")
    return file, kind[1]


def _qrels(path: str) -> Qrels:
    return open_file(path, format="beir").qrels()


def _queries(path: str) -> Queries:
    return read_queries(open_source(path))


def _snippets(path: str) -> Mapping[str, str]:
    return {record.text("_id"): record.text("text") for record in _shown(path)}


def _urls(path: str) -> Mapping[str, str]:
    found = ((record.text("_id"), record.text_or_none("url")) for record in _shown(path))
    return {doc: url for doc, url in found if url is not None}


def _shown(path: str) -> Iterator[Values]:
    source = open_source(path)
    if all_bytes(source):
        yield from (Values(item, path, line=line) for line, item in objects(source, limit=MAX_TEXT_BYTES))


def _refuse_strangers(values: Values, rungs: tuple[Rung, ...], result: Result) -> None:
    """Names that come twice or lead nowhere, and systems with different measures."""
    names = [rung.name for rung in rungs]
    if not names or len(set(names)) < len(names):
        raise values.error("systems without name or with the same name", "the file is damaged: run the experiment again")
    if len({tuple(system.measures) for system in result.systems}) > 1:
        raise values.error("the systems have different measures", "the file is damaged: run the experiment again")
    for rung in rungs:
        if rung.over is not None and rung.over not in names:
            raise values.error(f"{rung.name} is measured over {rung.over}, which is not there", "run the experiment again")
