"""Builds systems and values from the document of result.json, with their rankings from the run files."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import numpy as np

from rankproof._data.answers import Answers
from rankproof._data.arrays import FloatArray, read_only
from rankproof._data.replies import RecordedReply
from rankproof._data.run import Run
from rankproof._evaluation.result import MeasureResult, Result, SystemResult
from rankproof._formats.detect import OpenedFile
from rankproof._io.files import RESULT_FILE
from rankproof._io.open import open_folder_source
from rankproof._results.document import (
    DAMAGED_FIX,
    RUNS_FOLDER,
    MeasureDocument,
    ResultDocument,
    RunDocument,
    SystemDocument,
    ValuesDocument,
    parse_stored_measures,
)
from rankproof._results.experiment_result import TIME_COLUMNS, DecisionSettings, SystemRun
from rankproof._statistics.decision_rule import parse_margin
from rankproof.errors import InputError, UsageError, for_message
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
