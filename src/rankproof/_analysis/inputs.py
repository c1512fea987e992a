"""The input of every analysis: values, rankings and judgements, from runs or from a results folder."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rankproof._data.answers import Answers
from rankproof._data.dataset import Dataset, Queries
from rankproof._data.qrels import Qrels
from rankproof._data.run import Run
from rankproof._data.text import in_a_sentence
from rankproof._data.validation import ReadOptions
from rankproof._evaluation.evaluate import MeasuresLike, evaluate_runs
from rankproof._evaluation.options import USUAL_PRIMARY, EvaluateOptions
from rankproof._evaluation.result import Result, answer_inputs_of, inputs_of
from rankproof._evaluation.sources import RunSources, read_judgements
from rankproof._results.decision_settings import DecisionSettings
from rankproof._results.experiment_result import COLLAPSE_KEY, ExperimentResult, SystemRun
from rankproof.errors import UsageError, for_message
from rankproof.measures._base import Measure
from rankproof.measures._parse import parse_measure
from rankproof.measures._registry import default_answer_measures, default_measures

MAIN_MEASURES = ("nDCG@10", "RR@10", "R@100")
"""The measures of a comparison that names none."""
F1_OF_ANSWERS = "F1(tokens='bag')"


@dataclass(frozen=True, eq=False, slots=True)
class AnalysisInput:
    """Values, rankings and judgements of systems that were run on the same queries.

    Run files alone leave `fingerprint`, `dataset`, `texts`, `snippets`, `contexts` and `system_runs` empty. `runs` may read its
    files on first access. `documents` is the corpus size, None if unknown. With `skip_missing`, means run over the queries that a
    run has. `timed_apart` says that systems were timed in different runs, so their times are not comparable; empty if not.
    `labels` are files of labels with which people check a machine judge; they need not exist. `given_answers` are answers by
    system that no results store.
    """

    name: str
    fingerprint: str
    qrels: Qrels
    runs: Mapping[str, Run]
    result: Result
    rel: int = 1
    read_options: ReadOptions = field(default_factory=ReadOptions)
    texts: Queries | None = None
    snippets: Mapping[str, str] = field(default_factory=dict)
    contexts: Mapping[str, str] = field(default_factory=dict)
    system_runs: tuple[SystemRun, ...] = ()
    documents: int | None = None
    skip_missing: bool = False
    ranked_lists_cache: dict[str, Any] = field(init=False, default_factory=dict, repr=False)
    dataset: str = ""
    decision_settings: DecisionSettings = field(default_factory=DecisionSettings)
    timed_apart: str = ""
    labels: tuple[str, ...] = ()
    given_answers: Mapping[str, Answers] = field(default_factory=dict)

    @property
    def answers(self) -> dict[str, Answers]:
        """The answers of each system that answers."""
        stored = {run.name: run.answers for run in self.system_runs if run.answers is not None}
        return {**self.given_answers, **stored}

    @property
    def options(self) -> EvaluateOptions:
        """The options of the evaluation; runs evaluated with the same options have comparable values."""
        return EvaluateOptions(
            self.read_options,
            rel=self.rel,
            skip_missing=self.skip_missing,
            queries=self.result.queries,
            weights=self.result.weights,
            primary=self.decision_settings.primary,
        )

    @property
    def qrels_fingerprint(self) -> str:
        """The fingerprint of the judgements."""
        return self.qrels.fingerprint()

    @property
    def systems(self) -> tuple[str, ...]:
        """The names of the systems."""
        return tuple(system.name for system in self.result.systems)


def named_measure(inputs: AnalysisInput, measure: str | Measure) -> Measure:
    """The measure; one of claims that names no judge has the judge of the input."""
    named = parse_measure(measure) if isinstance(measure, str) else measure
    if named.kind != "answer":
        return named
    from rankproof.measures._claim_base import measures_in_results

    results = inputs.result.systems[0].measures.values()
    return measures_in_results(measure, [result.measure for result in results])[0]


def checked_system(inputs: AnalysisInput, name: str) -> str:
    """The name, or an error if no system has it."""
    return checked_system_name(inputs.systems, name)


def checked_system_name(systems: Collection[str], name: str) -> str:
    """The name, or an error if it is not among the systems."""
    if name not in systems:
        known = ", ".join(map(for_message, systems))
        raise UsageError(f"no system is called {for_message(str(name)) or '(empty)'}", fix=f"choose from: {known}")
    return name


def input_from_runs(
    qrels: Qrels | Mapping[str, Mapping[str, int]],
    runs: Mapping[str, Run | Mapping[str, Mapping[str, float]]],
    measures: MeasuresLike = None,
    *,
    name: str = "runs",
    options: EvaluateOptions | None = None,
) -> AnalysisInput:
    """An input from runs by system name; judgements and runs may be dicts of dicts."""
    judged = qrels if isinstance(qrels, Qrels) else Qrels.from_dict(qrels)
    ours = {system: run if isinstance(run, Run) else Run.from_dict(run, name=system) for system, run in runs.items()}
    options = options or EvaluateOptions()
    return input_from_evaluation(evaluate_runs(judged, ours, measures, options), judged, ours, options, name=name)


def input_from_evaluation(
    result: Result,
    qrels: Qrels,
    runs: Mapping[str, Run],
    options: EvaluateOptions,
    *,
    name: str,
    texts: Queries | None = None,
) -> AnalysisInput:
    """An input from an evaluation, with the judgements, runs and options that it used, and the queries if they are known."""
    if not all(system.measures for system in result.systems):
        only = ", ".join(result.systems[0].texts)
        raise UsageError(
            f"there are no numbers to compare, only texts: {only}", fix="add a measure with numbers, such as nDCG@10"
        )
    return AnalysisInput(
        name=name,
        fingerprint="",
        qrels=qrels,
        runs=runs,
        result=result,
        rel=options.rel,
        read_options=options.read_options,
        skip_missing=options.skip_missing,
        texts=texts,
    )


def input_from_result(result: Result) -> AnalysisInput:
    """An input from the result of `evaluate`, which knows its judgements and runs, or from the values of `evaluate_answers`."""
    inputs = inputs_of(result)
    if inputs is None:
        return _input_from_answer_values(result)
    runs = RunSources(inputs.runs, inputs.options)
    name = inputs.qrels if isinstance(inputs.qrels, str) else "runs"
    qrels = read_judgements(inputs.qrels, inputs.options)
    return input_from_evaluation(result, qrels, runs, inputs.options, name=os.path.basename(name), texts=inputs.texts)


def _input_from_answer_values(result: Result) -> AnalysisInput:
    """The values of `evaluate_answers`, or values alone."""
    if isinstance(known := answer_inputs_of(result), AnalysisInput):
        return known
    measures = result.systems[0].measures if result.systems else {}
    if not measures or any(measure.measure.kind != "answer" for measure in measures.values()):
        raise UsageError("the result has values and no rankings", fix="pass what evaluate, run or load_results returned")
    return with_answer_primary(AnalysisInput("answers", "", Qrels({}), {}, result))


def with_answer_primary(inputs: AnalysisInput) -> AnalysisInput:
    """The input with the measure of answers that decides: that of its settings, else the first, or F1 of the default measures."""
    measures, settings = inputs.result.systems[0].measures, inputs.decision_settings
    if settings.primary in measures:
        return inputs
    defaults = [list(map(str, default_answer_measures(cited=cited))) for cited in (False, True)]
    able = [name for name, measure in measures.items() if measure.measure.has_winner] or list(measures)
    primary = F1_OF_ANSWERS if list(measures) in defaults else able[0]
    return replace(inputs, decision_settings=replace(settings, primary=primary))


def reevaluated(inputs: AnalysisInput, measures: MeasuresLike, options: EvaluateOptions) -> AnalysisInput:
    """The input evaluated with these measures (by default its own) and options."""
    chosen = measures or [measure.measure for measure in inputs.result.systems[0].measures.values()]
    subset, weights = options.queries or inputs.result.queries, options.weights or inputs.result.weights
    result = evaluate_runs(inputs.qrels, inputs.runs, chosen, replace(options, queries=subset, weights=weights))
    return replace(inputs, result=result, rel=options.rel, read_options=options.read_options, skip_missing=options.skip_missing)


def whole_rankings(inputs: AnalysisInput) -> AnalysisInput:
    """The input with its unjudged documents, evaluated again if they were removed."""
    if not inputs.read_options.judged_only:
        return inputs
    read_options = replace(inputs.read_options, judged_only=False)
    return reevaluated(inputs, None, replace(inputs.options, read_options=read_options))


def usual_measures(inputs: AnalysisInput) -> list[str]:
    """The measures of a comparison that names none: those that the experiment names, else the main ones."""
    evaluated = list(inputs.result.systems[0].measures)
    binary, graded = ({str(measure.with_rel(inputs.rel)) for measure in default_measures(grade)} for grade in (1, 2))
    # Nobody chose the default measures, so the main ones among them suffice.
    if binary <= {*evaluated} <= graded | {inputs.decision_settings.primary}:
        return list(MAIN_MEASURES)
    return evaluated


def _unjudged_error(name: str) -> UsageError:
    fix = "grade the rankings: `rankproof judge RESULTS --model NAME`, or `rankproof serve RESULTS --judge` in the browser"
    return UsageError(f"the results of {for_message(name)} have no judgements", fix=fix)


def check_judged(inputs: AnalysisInput) -> None:
    """Rejects an input of answers whose rankings have no judgements."""
    if not inputs.qrels:
        raise _unjudged_error(inputs.name)


def input_from_results(results: ExperimentResult, *, needs_judgements: bool = True) -> AnalysisInput:
    """An input from the results of an experiment; results without judgements are rejected if the analysis needs them.

    Rankings of answers that were made elsewhere are measured here, if they are stored and judged.
    """
    if needs_judgements and not results.is_judged:
        if not results.qrels:
            raise _unjudged_error(results.name)
        from rankproof._results.judgements import with_judgements

        results = with_judgements(results)
    return AnalysisInput(
        name=results.name,
        fingerprint=results.fingerprint,
        qrels=results.qrels,
        runs={name: run for system_run in results.system_runs for name, run in system_run.runs.items()},
        result=results.result,
        rel=results.rel,
        read_options=ReadOptions(judged_only=results.judged_only),
        texts=results.texts,
        snippets=results.snippets,
        contexts=results.contexts,
        system_runs=results.system_runs,
        documents=_count(results.provenance.get("documents")),
        dataset=str(results.provenance.get("dataset") or ""),
        decision_settings=_settings(results),
        labels=results.labels,
    )


def _settings(results: ExperimentResult) -> DecisionSettings:
    """The settings of the experiment; the primary measure is one that was evaluated, nDCG@10 before the others."""
    settings, measures = results.decision_settings, results.result.systems[0].measures
    able = [name for name, measure in measures.items() if measure.summary == "mean" and measure.measure.has_winner]
    if settings.primary is not None or USUAL_PRIMARY in able or not able:
        return settings
    return replace(settings, primary=able[0])


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def different_data(prints: tuple[str, str], other_prints: tuple[str, str]) -> str | None:
    """Which fingerprints differ, given those of judgements and dataset; None if none is known to."""
    for what, mine, theirs in zip(("judgements", "datasets"), prints, other_prints, strict=True):
        if mine and theirs and mine != theirs:
            return f"fingerprints of {what}: {for_message(mine[:12])} and {for_message(theirs[:12])}"
    return None


def join_inputs(inputs: Sequence[AnalysisInput]) -> AnalysisInput:
    """All inputs as one; systems of the same name get their experiment's name as a prefix. Different data is an error."""
    first, *others = inputs
    for other in others:
        _check_same_data(first, other)
    if not others:
        return first
    names = joined_names([(single.name, single.systems) for single in inputs])
    parts = [_renamed(single, name) for single, name in zip(inputs, names, strict=True)]
    return replace(
        first,
        name=in_a_sentence([single.name for single in inputs]),
        result=Result(first.result.queries, tuple(system for part in parts for system in part.result.systems)),
        runs={name: run for part in parts for name, run in part.runs.items()},
        given_answers={name: answers for part in parts for name, answers in part.given_answers.items()},
        snippets={doc: text for part in reversed(parts) for doc, text in part.snippets.items()},
        system_runs=tuple(system_run for part in parts for system_run in part.system_runs),
        decision_settings=_joined_settings([part.decision_settings for part in parts]),
        timed_apart=_timed_apart([single.name for single in inputs if any(run.times for run in single.system_runs)]),
        labels=(),
    )


def _timed_apart(timed: Sequence[str]) -> str:
    """Why the times of several experiments are not comparable; empty if one or none was timed."""
    return f"{in_a_sentence(list(map(for_message, timed)))} were timed in different runs" if len(timed) > 1 else ""


def joined_names(experiments: Sequence[tuple[str, Sequence[str]]]) -> list[dict[str, str]]:
    """The new name of each system of several experiments, given their names and systems."""
    times = Counter(name for _, systems in experiments for name in systems)
    names = [{name: f"{prefix}/{name}" if times[name] > 1 else name for name in systems} for prefix, systems in experiments]
    new = Counter(name for new_names in names for name in new_names.values())
    if twice := [name for name, count in new.items() if count > 1]:
        raise UsageError(f"two systems are called {for_message(twice[0])}", fix="give each folder a name with --name")
    return names


def _joined_settings(settings: Sequence[DecisionSettings]) -> DecisionSettings:
    """The settings of the first experiment with the costs of all."""
    return replace(settings[0], costs={name: cost for setting in settings for name, cost in setting.costs.items()})


def _check_same_data(first: AnalysisInput, other: AnalysisInput) -> None:
    names = f"{for_message(first.name)} and {for_message(other.name)}"
    prints = [(inputs.qrels_fingerprint, inputs.fingerprint) for inputs in (first, other)]
    if differs := different_data(*prints):
        raise UsageError(
            f"{names} are about different data ({differs})", fix="compare systems on the same documents, queries and judgements"
        )
    if first.rel != other.rel:
        raise UsageError(f"{names} were evaluated with --rel {first.rel} and {other.rel}", fix="pass one --rel for both")
    if first.read_options.judged_only != other.read_options.judged_only:
        with_it, without = sorted((first, other), key=lambda inputs: not inputs.read_options.judged_only)
        only = f"{for_message(with_it.name)} was evaluated with -J (judged documents only)"
        raise UsageError(f"{only}, {for_message(without.name)} without it", fix="pass -J for both")
    if first.result.queries != other.result.queries:
        raise UsageError(f"{names} were run on different queries", fix="run both on the same queries")


def _renamed(inputs: AnalysisInput, names: dict[str, str]) -> AnalysisInput:
    """The input under new names; what builds on a system that is not among them builds on none."""
    systems = tuple(replace(system, name=names[system.name]) for system in inputs.result.systems)
    return replace(
        inputs,
        result=Result(inputs.result.queries, systems),
        runs={names[name]: run for name, run in inputs.runs.items()},
        given_answers={names[name]: answers for name, answers in inputs.given_answers.items()},
        system_runs=tuple(
            replace(system_run, name=names[system_run.name], builds_on=names.get(system_run.builds_on or ""))
            for system_run in inputs.system_runs
        ),
        decision_settings=replace(
            inputs.decision_settings,
            baseline=names.get(inputs.decision_settings.baseline or ""),
            costs={names[name]: cost for name, cost in inputs.decision_settings.costs.items() if name in names},
        ),
    )


def set_corpus_size(inputs: AnalysisInput, documents: int | None) -> AnalysisInput:
    """The input with this corpus size; a size that contradicts the results is rejected."""
    if documents is None:
        return inputs
    if inputs.documents not in (None, documents):
        raise UsageError(f"the corpus has {inputs.documents} documents, not {documents}", fix="leave out --documents")
    return replace(inputs, documents=documents)


def check_same_dataset(dataset: Dataset, name: str, inputs: AnalysisInput) -> None:
    """Rejects a dataset whose fingerprint differs from that of the results."""
    if any(COLLAPSE_KEY in system_run.facts for system_run in inputs.system_runs):
        what = f"the rankings of {for_message(inputs.name)} are collapsed: they contain values of a field, not documents"
        raise UsageError(what, fix="leave out the dataset, or run the experiment without collapse")
    if inputs.system_runs and dataset.fingerprint() != inputs.fingerprint:
        what = f"{for_message(name)} is not the dataset of {for_message(inputs.name)}"
        raise UsageError(what, fix="specify the dataset of the results")
