"""`fuse` and `fit_fusion` as functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from rankproof._data.run import Run
from rankproof._data.validation import LowerIsBetterOption, Order, OrderOption, public
from rankproof._evaluation.options import QrelsLike, RunLike, make_evaluate_options
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
from rankproof.errors import UsageError


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
