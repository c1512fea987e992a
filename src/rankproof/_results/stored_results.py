"""Results from the document of result.json and the files of its folder; their values are computed again."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rankproof._data.answers import Answers, nuggets_from_queries, references_from_queries
from rankproof._data.arrays import FloatArray, read_only, weight_column
from rankproof._data.replies import RecordedReply
from rankproof._data.run import Run
from rankproof._data.text import pluralise
from rankproof._data.validation import ReadOptions
from rankproof._evaluation.evaluate import evaluate_runs
from rankproof._evaluation.options import EvaluateOptions
from rankproof._evaluation.result import MeasureResult, Result, SystemResult
from rankproof._formats.detect import OpenedFile
from rankproof._io.files import RESULT_FILE
from rankproof._io.open import open_folder_source
from rankproof._results.decision_settings import DecisionSettings
from rankproof._results.experiment_result import TIME_COLUMNS, ExperimentResult, SystemRun, measured_runs
from rankproof._results.result_json import (
    CHANGED_FIX,
    DAMAGED_FIX,
    RUNS_FOLDER,
    MeasureDocument,
    ResultDocument,
    RunDocument,
    SystemDocument,
    ValuesDocument,
    parse_stored_measures,
    results_document,
)
from rankproof._statistics.decision_rule import parse_margin
from rankproof.errors import InputError, UsageError, for_message
from rankproof.measures._answers import AnswerSimilarity
from rankproof.measures._base import Measure

if TYPE_CHECKING:
    from rankproof._data.claims import ClaimVerdict

_RUN_FILE = re.compile(rf"{RUNS_FOLDER}/[A-Za-z0-9_][A-Za-z0-9._-]*\.(?:trec|jsonl|json)\.gz")


class DocumentReader:
    """The parts of one document; an error names the file and the path of the value."""

    def __init__(self, document: ResultDocument, folder: str) -> None:
        self._document, self._folder = document, folder
        self._source = os.path.join(folder, RESULT_FILE)

    def error(self, what: str, fix: str = DAMAGED_FIX) -> InputError:
        """An error in result.json."""
        return InputError(what, fix=fix, source=self._source)

    def run_files(self) -> list[str]:
        """The run file of each system, checked to be inside the folder."""
        first = [file for path, system in self._systems() if (file := self._run_document(system, path).file) is not None]
        further = [self._checked_file(run.file, path) for path, system in self._systems() for run in system.repeat_runs or ()]
        return [*first, *further]

    def result(self) -> Result:
        """The values of the systems and their notes."""
        systems = tuple(self._system_result(system, path) for path, system in self._systems())
        return Result(self._document.judged_ids, systems)

    def decision_settings(self) -> DecisionSettings:
        """What the experiment says about the decision."""
        decision = self._document.decision
        if decision.primary is not None:
            self._parsed_measure(decision.primary, "decision.primary")
        if decision.margin is not None:
            self._check_margin(decision.margin)
        return DecisionSettings(**asdict(decision))

    def system_runs(
        self, answers: Mapping[str, Answers], replies: Mapping[str, Mapping[str, RecordedReply]]
    ) -> tuple[SystemRun, ...]:
        """The systems, their rankings read from the run files."""
        systems = ((system.name, self._system_run(system, path)) for path, system in self._systems())
        return tuple(replace(run, answers=answers.get(name), replies=replies.get(name)) for name, run in systems)

    def chunk_values(self, result: Result) -> Result | None:
        """The values at chunk level, None where no system ranks chunks."""
        if self._document.chunks is None:
            return None
        known = {system.name for system in result.systems}
        return Result(result.queries, self._level("chunks", self._document.chunks, known))

    def answer_values(self, system_runs: Sequence[SystemRun], claims: tuple[ClaimVerdict, ...]) -> Result | None:
        """The measures of answers with the verdicts on claims, None where nothing was measured."""
        stored = self._document.answers
        if stored is None:
            return None
        known = {system_run.name for system_run in system_runs if system_run.answers is not None}
        systems = self._level("answers.systems", stored.systems, known)
        first, further = (tuple(claim for claim in claims if (claim.repeat > 1) is later) for later in (False, True))
        return Result(stored.judged_ids, systems, first, stored.calibrations or (), stored.noise or (), further)

    def check_systems(self, system_runs: Sequence[SystemRun], result: Result) -> None:
        """Refuses systems without names of their own, with different measures, or that build on an unknown one."""
        names = [system_run.name for system_run in system_runs]
        if not names or len(set(names)) < len(names):
            raise self.error("there is no system, or two have the same name")
        if len({tuple(system.measures) for system in result.systems}) > 1:
            raise self.error("the systems have different measures")
        if result.queries and not result.systems[0].measures:
            raise self.error("the systems have no measures")
        for system_run in system_runs:
            if system_run.builds_on is not None and system_run.builds_on not in names:
                raise self.error(
                    f"builds_on of {for_message(system_run.name)} is {for_message(system_run.builds_on)}, which is not a system"
                )

    def _systems(self) -> list[tuple[str, SystemDocument]]:
        return [(f"systems[{at}]", system) for at, system in enumerate(self._document.systems)]

    def _level(self, path: str, values: Sequence[ValuesDocument], known: set[str]) -> tuple[SystemResult, ...]:
        systems = tuple(self._system_result(value, f"{path}[{at}]") for at, value in enumerate(values))
        measures = {tuple(system.measures) for system in systems}
        if len(measures) != 1 or not known.issuperset(system.name for system in systems):
            raise self.error(f"{path} does not have the same systems and measures as the experiment")
        return systems

    def _system_result(self, system: SystemDocument | ValuesDocument, path: str) -> SystemResult:
        measures = {name: self._measure(measure, name, f"{path}.measures.{name}") for name, measure in system.measures.items()}
        return SystemResult(system.name, measures, system.notes)

    def _measure(self, stored: MeasureDocument, name: str, path: str) -> MeasureResult:
        if stored.value is None and stored.per_query:
            raise self.error(f"{for_message(path)}.value is not a number")
        measure = self._parsed_measure(name, path)
        # A summary over no query is written as null, and is NaN in memory.
        value = math.nan if stored.value is None else stored.value
        return MeasureResult(
            measure, value, tuple(stored.per_query), read_only(np.fromiter(stored.per_query.values(), np.float64))
        )

    def _check_margin(self, margin: float | str) -> None:
        try:
            parse_margin(margin, is_fraction=False)
        except UsageError as error:
            raise self.error("decision.margin is not a number or a share such as 5%", error.fix) from None

    def _parsed_measure(self, name: str, path: str) -> Measure:
        try:
            return parse_stored_measures([name])[0]
        except UsageError as error:
            bare = for_message(name.partition("@")[0].partition("(")[0].rpartition(":")[2])
            fix = f"if it is a function of your own, pass -m MODULE:{bare} with its module; {error.fix}"
            raise self.error(f"{for_message(path)}: {error.what}", fix) from None

    def _system_run(self, system: SystemDocument, path: str) -> SystemRun:
        timed = TIME_COLUMNS if system.times_ms else ()
        for part in timed:
            if part not in system.times_ms:
                raise self.error(f"{path}.times_ms.{part} is missing")
        return SystemRun(
            name=system.name,
            kind=system.kind,
            stage=system.stage,
            stored_run=self._run(self._run_document(system, path), system.name),
            repeat_runs=tuple(self._repeat_run(run, system.name) for run in system.repeat_runs or ()),
            times={part: self._per_query(system.times_ms[part].per_query, f"{path}.times_ms.{part}") for part in timed},
            index_seconds=system.index.seconds,
            index_bytes=system.index.bytes,
            throughput=system.throughput,
            builds_on=system.builds_on,
            facts=system.facts,
            notes=system.remarks,
            computed=system.computed,
            from_cache=system.from_cache,
            reused=system.reused,
            counts={
                name: self._per_query(count.per_query, f"{path}.counts.{name}").astype(np.int64)
                for name, count in system.counts.items()
            },
            money=system.money,
        )

    def _per_query(self, values: Sequence[float | None], path: str) -> FloatArray:
        """The numbers as an array; null is NaN."""
        expected = len(self._document.query_ids)
        if len(values) != expected:
            raise self.error(f"{for_message(path)}.per_query has {len(values)} values for {expected} queries")
        return read_only(np.array(values, dtype=np.float64))

    def _repeat_run(self, stored: RunDocument, name: str) -> Run:
        run = self._run(stored, name)
        if run is None:
            raise self.error(f"the file of a repeat of {for_message(name)} is missing")
        return run

    def _run(self, stored: RunDocument, name: str) -> Run | None:
        if stored.file is None:
            return None
        missing, kind = set(stored.missing), stored.file.split(".")[-2]
        source = open_folder_source(self._folder, stored.file)
        run = OpenedFile(source, kind, name).run() if stored.rows else Run.from_rows([])
        if len(run.docs) != stored.rows:
            what = f"{len(run.docs)} rows, but {RESULT_FILE} says {stored.rows}"
            raise InputError(what, fix=DAMAGED_FIX, source=source.name)
        ranked = [query for query in self._document.query_ids if query not in missing]
        return run.beginning_with(ranked).changed(name=name, source=source.name)

    def _run_document(self, system: SystemDocument, path: str) -> RunDocument:
        if system.run is None:
            raise self.error(f"{path}.run is missing")
        if system.run.file is None and self._document.judged_ids:
            raise self.error(f"{path}.run.file is missing, but its rankings were measured")
        if system.run.file is not None:
            self._checked_file(system.run.file, path)
        return system.run

    def _checked_file(self, file: str | None, path: str) -> str:
        """The file of a run, which lies in the folder."""
        if file is None or not _RUN_FILE.fullmatch(file):
            raise self.error(f"{path}.run.file is {for_message(str(file))}, which is no run file of this folder")
        return file


TOLERANCE = 1e-9
"""The largest relative or absolute difference of a stored number, which another version of a library may cause."""
_NOTES = "notes"


def checked_results(
    stored: ExperimentResult, document: Mapping[str, Any], error: Callable[[str, str], InputError]
) -> ExperimentResult:
    """The results with their values computed again; a document with another value is an error, made of a text and a fix."""
    try:
        results = recomputed_results(stored)
    except UsageError as wrong:
        raise error(wrong.what, CHANGED_FIX) from None
    for path, value, expected in differences(results, document):
        what = f"{for_message(path)} is {_value_text(value)}, but the files of the folder give {_value_text(expected)}"
        raise error(what, CHANGED_FIX)
    return results


def _value_text(value: object) -> str:
    if isinstance(value, dict | list):
        return pluralise(len(value), "value")
    return "missing" if value is None else for_message(value) if isinstance(value, str) else repr(value)


def recomputed_results(results: ExperimentResult) -> ExperimentResult:
    """The results with the values that their rankings, judgements, answers and verdicts on claims give; no judge is asked.

    Values of chunk rankings and of `Similarity` keep their values for each query; their means are computed again.
    """
    return replace(
        results,
        result=_ranking_values(results),
        chunks=None if results.chunks is None else _with_means(results.chunks, results.texts.weights),
        answers=None if results.answers is None else _answer_values(results, results.answers),
    )


def differences(results: ExperimentResult, stored: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """The fields of result.json that differ from the results: path, stored value and the value of the results."""
    return _differences(stored, results_document(results, per_query=True), "")


def _ranking_values(results: ExperimentResult) -> Result:
    stored = results.result
    if not results.is_judged:
        return stored
    read_options = ReadOptions(judged_only=results.judged_only)
    # The names of the measures have their rel.
    weights, primary = results.texts.weights, results.decision_settings.primary
    options = EvaluateOptions(read_options, queries=stored.queries, weights=weights, primary=primary)
    runs = {name: run.restricted_to(results.qrels) for name, run in measured_runs(results.system_runs).items()}
    result = evaluate_runs(results.qrels, runs, [measure.measure for measure in stored.systems[0].measures.values()], options)
    systems = (replace(new, notes=_all_notes(old, new)) for old, new in zip(stored.systems, result.systems, strict=True))
    return replace(result, systems=tuple(systems))


def _all_notes(stored: SystemResult, new: SystemResult) -> tuple[Any, ...]:
    """The stored notes, and those that the files give and that are not stored."""
    known = {note.code for note in stored.notes}
    return (*stored.notes, *(note for note in new.notes if note.code not in known))


def _answer_values(results: ExperimentResult, stored: Result) -> Result:
    from rankproof._evaluation.answers import evaluate_answers

    answers = {run.name: run.answers for run in results.system_runs if run.answers is not None}
    names = [system.name for system in stored.systems]
    if len(set(names)) < len(names) or not answers.keys() >= set(names):
        raise UsageError("answers.systems are not the systems with answers, each once", fix=CHANGED_FIX)
    measures = [
        measure.measure for measure in stored.systems[0].measures.values() if not isinstance(measure.measure, AnswerSimilarity)
    ]
    if not measures:
        return _with_means(stored)
    document = results.judged_documents
    computed = evaluate_answers(
        {system.name: answers[system.name] for system in stored.systems},
        references_from_queries(results.texts),
        results.qrels,
        measures,
        rel=results.rel,
        document=lambda doc: document.get(doc, doc),
        questions={query: text.text for query, text in results.texts.items()},
        passage=results.contexts.get,
        nuggets=nuggets_from_queries(results.texts),
        known=(*stored.claims, *stored.repeat_claims),
    )
    systems = tuple(_joined(old, new) for old, new in zip(stored.systems, computed.systems, strict=True))
    return replace(stored, queries=computed.queries, systems=systems)


def _joined(stored: SystemResult, new: SystemResult) -> SystemResult:
    return replace(
        stored, measures={name: new.measures.get(name, _with_mean(measure)) for name, measure in stored.measures.items()}
    )


def _with_means(result: Result, weights: Mapping[str, float] | None = None) -> Result:
    systems = (
        replace(system, measures={name: _with_mean(measure, weights) for name, measure in system.measures.items()})
        for system in result.systems
    )
    return replace(result, systems=tuple(systems))


def _with_mean(measure: MeasureResult, weights: Mapping[str, float] | None = None) -> MeasureResult:
    own = None if weights is None else weight_column(weights[query] for query in measure.query_ids)
    return replace(measure, value=measure.measure.summarise(measure.values, own), weights=own)


def _differences(stored: Any, expected: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    if stored == expected or (_is_number(stored) and _is_number(expected) and _is_close(stored, expected)):
        return
    if isinstance(stored, dict) and isinstance(expected, dict):
        for key in expected:
            if key != _NOTES:
                yield from _differences(stored.get(key), expected[key], f"{path}.{key}" if path else key)
    elif isinstance(stored, list) and isinstance(expected, list) and len(stored) == len(expected):
        for at, (item, other) in enumerate(zip(stored, expected, strict=True)):
            yield from _differences(item, other, f"{path}[{at}]")
    else:
        yield path, stored, expected


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_close(value: float, other: float) -> bool:
    return math.isclose(value, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
