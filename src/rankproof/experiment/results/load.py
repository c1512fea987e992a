"""A results folder read back: the same climb, or an error that says which file is damaged."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from ...data.qrels import Qrels
from ...data.queries import Queries
from ...evaluation import Result
from ...formats import strict_json
from ...formats.jsonl_format import objects
from ...formats.lines import decoded
from ...formats.opened import open_file
from ...formats.opening import StrPath, all_bytes, open_source, path_text
from ...formats.texts_format import MAX_TEXT_BYTES, read_queries
from ..rung import Climb, Rung
from .answers import ANSWERS, answers_in
from .digests import refuse_changed
from .document import FORMAT, SCHEMA
from .files import EXPERIMENT, QRELS, QUERIES, RESULT, SNIPPETS
from .read_rungs import run_file, rung_in
from .read_values import answered_in, chunks_in, system_in, wholes_in
from .swap import recover
from .values import Values


def load(path: StrPath) -> Climb:
    """The climb that was saved as the folder at the path."""
    folder = path_text(path)
    recover(os.path.realpath(folder))
    values = document_in(folder)
    runs = [run_file(system.inside("run"))[0] for system in values.each("systems")]
    answered = [ANSWERS] if ANSWERS in values.inside("sha256").plain else []
    refuse_changed(folder, values.inside("sha256"), [QRELS, QUERIES, SNIPPETS, EXPERIMENT, *answered, *runs])
    queries = tuple(values.texts("query_ids"))
    result = Result(tuple(values.texts("judged_ids")), tuple(map(system_in, values.each("systems"))))
    answers = answers_in(folder) if answered else {}
    rungs = tuple(rung_in(system, queries, folder, answers) for system in values.each("systems"))
    _refuse_strangers(values, rungs, result)
    shown = list(_shown(os.path.join(folder, SNIPPETS)))
    return Climb(
        name=values.text("name"),
        fingerprint=values.text("fingerprint"),
        queries=queries,
        result=result,
        rungs=rungs,
        qrels=qrels_in(folder),
        texts=_queries(os.path.join(folder, QUERIES)),
        snippets={record.text("_id"): record.text("text") for record in shown},
        experiment=all_bytes(open_source(os.path.join(folder, EXPERIMENT))).decode(errors="replace"),
        provenance=values.inside("provenance").plain,
        notes=tuple(values.texts("notes")),
        rel=values.count("rel"),
        chunks=chunks_in(values, result),
        answers=answered_in(values, rungs),
        wholes=wholes_in(values),
        titles=_titles(shown),
        urls=_urls(shown),
    )


def document_in(folder: str) -> Values:
    """The folder's result.json, which the other files are checked against."""
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


def qrels_in(folder: str) -> Qrels:
    """The judgements."""
    return open_file(os.path.join(folder, QRELS), format="beir").qrels()


def _queries(path: str) -> Queries:
    return read_queries(open_source(path))


def _titles(shown: Sequence[Values]) -> Mapping[str, int]:
    return {record.text("_id"): max(0, record.count("title")) for record in shown if "title" in record.plain}


def _urls(shown: Sequence[Values]) -> Mapping[str, str]:
    found = ((record.text("_id"), record.text_or_none("url")) for record in shown)
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
