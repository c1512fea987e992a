"""`tune` as a function: parameters found on training queries, their gain measured on held-out queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, Unpack

from rankproof._data.validation import DATASET, FILES, NAMED_FILES, SEED, public
from rankproof._evaluation.options import EvaluateArguments, RunLike, make_evaluate_options
from rankproof._registry import Option
from rankproof.errors import UsageError, type_phrase

if TYPE_CHECKING:
    from rankproof._api.values import Tuning
    from rankproof._experiment.run import RunOptions
    from rankproof._tune.parameters import ValuesLike
    from rankproof.measures._base import Measure

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
