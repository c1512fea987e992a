"""`fuse`, `fit_fusion` and `tune` as functions; the gain of tuning is measured on held-out queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, Unpack

from rankproof._data.run import Run
from rankproof._data.validation import DATASET, FILES, NAMED_FILES, SEED, LowerIsBetterOption, Order, OrderOption, public
from rankproof._evaluation.options import EvaluateArguments, QrelsLike, RunLike, make_evaluate_options
from rankproof._evaluation.sources import read_source
from rankproof._evaluation.user_forms import Coercion
from rankproof._formats.columns import ColumnNames
from rankproof._fusion.fuse import check_some_judged
from rankproof._fusion.fuse import fit_fusion as fit_runs
from rankproof._fusion.fuse import fuse as fuse_runs
from rankproof._fusion.method import (
    ALPHA,
    GAMMA,
    METHOD,
    NORM,
    PHI,
    SEGMENTS,
    SIGMA,
    WEIGHTS,
    WINDOW,
    FittedFusion,
    FusedDepth,
    K,
)
from rankproof._registry import Option
from rankproof.errors import UsageError, type_phrase

if TYPE_CHECKING:
    from rankproof._api.values import Tuning
    from rankproof._experiment.run import RunOptions
    from rankproof._tune.parameters import ValuesLike
    from rankproof.measures._base import Measure


@public
def fuse(
    runs: Annotated[Sequence[RunLike] | Mapping[str, RunLike], Option("the runs, or {name: run}")],
    method: Annotated[str, METHOD] = "rrf",
    *,
    k: Annotated[float, K] = 60,
    weights: Annotated[Sequence[float] | None, WEIGHTS] = None,
    norm: Annotated[str, NORM] = "min-max",
    gamma: Annotated[float, GAMMA] = 0.5,
    sigma: Annotated[float, SIGMA] = 0.01,
    phi: Annotated[float, PHI] = 0.95,
    alpha: Annotated[float, ALPHA] = 0.5,
    window: Annotated[int, WINDOW] = 5,
    fitted: Annotated[FittedFusion | None, Option("what `fit_fusion` learned, for a trained method")] = None,
    depth: FusedDepth = None,
    order: OrderOption = "score",
    lower_is_better: LowerIsBetterOption = False,
    name: Annotated[str | None, Option("name of the fused run", unset="the method")] = None,
    query: Annotated[str | None, Option("the column of query ids of a table", unset="detected")] = None,
    doc: Annotated[str | None, Option("the column of document ids of a table", unset="detected")] = None,
    score: Annotated[str | None, Option("the column of scores of a table", unset="detected")] = None,
    **parameters: Annotated[Any, Option("parameters that the method or the normalisation declares itself", role="parameters")],
) -> Run:
    """Fuses several runs into one, by a rank or score fusion method.

    `rrf` gives weight / (k + rank); `combsum` gives weight x normalised score; `rankproof fuse --help-all` lists all methods and
    normalisations. A setting applies to the methods that use it. With `lower_is_better`, scores are negated first; `order` "rank"
    is for methods that only use ranks. A query that is missing from a run is an empty ranking.
    """
    shared = {"k": k, "norm": norm, "gamma": gamma, "sigma": sigma, "phi": phi, "alpha": alpha, "window": window}
    return fuse_runs(
        _read_runs(runs, ColumnNames(query, doc, score), order, lower_is_better=lower_is_better),
        method,
        weights=weights,
        fitted=fitted,
        depth=depth,
        order=order,
        lower_is_better=lower_is_better,
        name=name,
        **shared,
        **parameters,
    )


@public
def fit_fusion(
    method: Annotated[str, METHOD._replace(description="the trained method")],
    qrels: Annotated[QrelsLike, Option("judgements of the queries to learn from", typed=str)],
    runs: Annotated[Sequence[RunLike] | Mapping[str, RunLike], Option("the runs, or {name: run}")],
    *,
    segments: Annotated[int, SEGMENTS] = 10,
    order: OrderOption = "score",
    lower_is_better: LowerIsBetterOption = False,
) -> FittedFusion:
    """What a trained fusion method learns of each run from judged queries, for `fuse`; grades from 1 up are relevant.

    Queries are paired by id. A judged query that a run lacks counts as an empty ranking, queries without judgements are ignored.
    Fuse other queries than those that the method learned from: on these, its measures are too high.
    """
    from rankproof._api.programs import qrels_of

    judgements = qrels_of(qrels)
    read = _read_runs(runs, ColumnNames(), order, lower_is_better=lower_is_better)
    check_some_judged(judgements, read)
    return fit_runs(method, judgements, read, order=order, lower_is_better=lower_is_better, segments=segments)


def _read_runs(
    runs: Sequence[RunLike] | Mapping[str, RunLike], columns: ColumnNames, order: Order, *, lower_is_better: bool
) -> list[Run]:
    if isinstance(runs, str | bytes) or not isinstance(runs, Mapping | Sequence):
        raise UsageError("runs is not a list of runs", fix="pass a list of runs, or {name: run}")
    coercion = Coercion(columns)
    named = runs.items() if isinstance(runs, Mapping) else ((f"run {at}", run) for at, run in enumerate(runs, start=1))
    sources = {str(label): coercion.run(run, str(label)) for label, run in named}
    coercion.check_columns()
    reading = make_evaluate_options({"order": order, "lower_is_better": lower_is_better})
    return [read_source(source, label, reading) for label, source in sources.items()]


MEASURE = "nDCG@10"


@public
def tune(
    data: Annotated[
        Any,
        Option("judgements, with runs to fuse; or an Experiment or its file, of which a system is tuned", typed=str),
    ],
    runs: Annotated[RunLike | None, Option("the runs that are fused, as {name: run}", typed=NAMED_FILES)] = None,
    measure: Annotated[
        Measure | str,
        Option("the measure that chooses the parameters", flag="--measures", letter="-m", metavar="MEASURE", typed=str),
    ] = MEASURE,
    *,
    system: Annotated[str | None, Option("the system to tune", metavar="NAME", unset="the only one")] = None,
    vary: Annotated[
        Mapping[str, ValuesLike] | None,
        Option(
            "a parameter and its values: k1=0.6:2.4:0.3; key, or part.key such as bm25.k1",
            metavar="KEY[=VALUES]",
            unset="the usual ones",
            repeated=True,
            typed=Mapping[str, Any],
        ),
    ] = None,
    method: Annotated[str | Sequence[str], Option("fusion methods of runs, or all", metavar="M,M…", typed=FILES)] = "rrf",
    norm: Annotated[str | Sequence[str], Option("normalisations of scores, or all", metavar="N,N…", typed=FILES)] = "min-max",
    step: Annotated[float, Option("step of the weights of runs, which sum to 1", above=0, below=1, metavar="S", rare=True)] = 0.1,
    search: Annotated[
        Literal["grid", "coordinate"], Option("try every combination, or change one parameter at a time", rare=True)
    ] = "grid",
    folds: Annotated[int, Option("folds of the queries", least=2, metavar="K", rare=True)] = 5,
    repeats: Annotated[int, Option("number of random splits", least=1, metavar="N", rare=True)] = 10,
    seed: Annotated[int, SEED._replace(description="random seed of the splits")] = 0,
    dataset: Annotated[
        Any,
        DATASET._replace(description="the dataset of the runs, for the experiment file that is written", unset="none"),
    ] = None,
    run_options: Annotated[RunOptions | None, Option("how the system is run", unset="RunOptions()")] = None,
    **options: Unpack[EvaluateArguments],
) -> Tuning:
    """Parameters by nested cross-validation over queries: those that training queries choose, measured on held-out queries."""
    from rankproof._api import tuning
    from rankproof._tune.tuning import TuningPlan, tunable_measure

    plan = TuningPlan(search, folds, repeats, seed)
    if vary is not None and not isinstance(vary, Mapping):
        raise UsageError(f"vary is {type_phrase(vary)}", fix='pass the values of each parameter: {"k1": [0.9, 1.2]}')
    chosen = tunable_measure(measure)
    if runs is None:
        if options or dataset is not None:
            raise UsageError("dataset and options are for judgements and runs: an experiment has its own", fix="leave them out")
        return tuning.tune_system(tuning.experiment_of(data), system, vary or {}, chosen, plan, run_options)
    if system is not None or run_options is not None:
        raise UsageError("system and run_options are for an experiment", fix="leave them out")
    fusion = tuning.FusionChoices(_names(method), _names(norm), vary or {}, step)
    return tuning.tune_runs(data, runs, chosen, fusion, plan, make_evaluate_options(options), dataset=dataset)


def _names(names: str | Sequence[str]) -> tuple[str, ...]:
    return tuple(names.split(",")) if isinstance(names, str) else tuple(names)
