"""The evaluation of answers that were made elsewhere, as results: they have no times and costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rankproof._data.answers import Answers, unranked_note
from rankproof._data.dataset import Queries
from rankproof._data.qrels import Qrels
from rankproof._data.run import Run
from rankproof._evaluation.result import Result, SystemResult
from rankproof._results.decision_settings import DecisionSettings
from rankproof._results.experiment_result import ANSWERS_FILE_KIND, ExperimentResult, SystemRun
from rankproof._results.provenance import provenance


def answers_results(
    evaluated: Result,
    answers: Mapping[str, Answers],
    queries: Queries,
    contexts: Mapping[str, str],
    *,
    name: str,
    runs: Mapping[str, Run] | None = None,
    qrels: Qrels | None = None,
    rel: int = 1,
    judged_documents: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
    facts: Mapping[str, Any] | None = None,
    decision_settings: DecisionSettings | None = None,
) -> ExperimentResult:
    """The results of `evaluate_answers` as an ExperimentResult, which `save_results` writes.

    `answers` has the systems of `evaluated` in their order, and `queries` every question with its references (field `answers`)
    and nuggets (field `nuggets`). `contexts` has the text of each given or cited passage by its id. `runs` has the ranking of
    each system whose passages are known for every answer. `facts` are added to the provenance.
    """
    names = tuple(answers)
    return ExperimentResult(
        name=name,
        fingerprint=queries.fingerprint(),
        queries=tuple(queries),
        result=Result((), tuple(SystemResult(system, {}, ()) for system in names)),
        system_runs=tuple(_system_run(system, answers[system], (runs or {}).get(system)) for system in names),
        qrels=Qrels({}) if qrels is None else qrels,
        texts=queries,
        snippets={},
        experiment="",
        provenance={**provenance(), "dataset": name, **(facts or {})},
        notes=(*notes, *(note for system in names if (note := unranked_note(system, answers[system])))),
        rel=rel,
        answers=evaluated,
        judged_documents=judged_documents or {},
        contexts=contexts,
        decision_settings=decision_settings or DecisionSettings(),
    )


def _system_run(name: str, answers: Answers, run: Run | None) -> SystemRun:
    return SystemRun(
        name=name,
        kind="answer",
        stage={"kind": ANSWERS_FILE_KIND, "path": answers.source},
        stored_run=run,
        times={},
        index_seconds=None,
        index_bytes=None,
        throughput=None,
        builds_on=None,
        answers=answers,
    )
