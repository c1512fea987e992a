"""The output format of trec_eval: measure, query or `all`, and value, with the measure names of trec_eval if it has one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from rankproof._evaluation.result import Result, SystemResult
from rankproof._render.grid import RenderOptions, format_value
from rankproof.errors import escape_invisible
from rankproof.measures._base import BinaryMeasure, Measure

_TREC_NAMES = {
    "AP": "map",
    "GMAP": "gm_map",
    "RR": "recip_rank",
    "nDCG": "ndcg",
    "Rprec": "Rprec",
    "bpref": "bpref",
    "infAP": "infAP",
    "11pt": "11pt_avg",
    "SetP": "set_P",
    "SetR": "set_recall",
    "SetF": "set_F",
    "NumQ": "num_q",
    "NumRet": "num_ret",
    "NumRel": "num_rel",
    "NumRelRet": "num_rel_ret",
}
_TREC_CUTOFF_NAMES = {
    "P": "P_{}",
    "R": "recall_{}",
    "AP": "map_cut_{}",
    "nDCG": "ndcg_cut_{}",
    "Success": "success_{}",
    "Unjudged": "unj_{}",
    "IPrec": "iprec_at_recall_{:.2f}",
}
_SUMMARY_ONLY = ("NumQ", "GMAP")


def render_trec(result: Result, options: RenderOptions) -> str:
    """The rows of each system, query rows first; `runid` rows separate several systems."""
    several = len(result.systems) > 1
    return "".join(line for system in result.systems for line in _lines(system, result, options, several=several))


def trec_name(measure: Measure, rel: int = 1) -> str:
    """The name of the measure in trec_eval with `-l rel`, or our name if it has none."""
    at = None if measure.at is None else measure.parameters()[measure.at]
    pattern = (_TREC_NAMES if at is None else _TREC_CUTOFF_NAMES).get(measure.name)
    return str(measure) if pattern is None or not _has_trec_parameters(measure, rel) else pattern.format(at)


def query_labels(queries: Sequence[str]) -> dict[str, str]:
    """The label of each query; a query called `all` gets a label that no summary row or query has."""
    labels = {query: escape_invisible(query) for query in queries}
    if "all" in labels:
        taken = set(labels.values())
        while labels["all"] in taken:
            labels["all"] = f"query:{labels['all']}"
    return labels


def _has_trec_parameters(measure: Measure, rel: int) -> bool:
    """Whether the parameters other than the cutoff are those of trec_eval."""
    given, usual = measure.parameters(), type(measure)().parameters()
    others = {name for name, value in given.items() if name not in (measure.at, "rel") and value != usual[name]}
    return not others and (not isinstance(measure, BinaryMeasure) or measure.least == rel)


def _lines(system: SystemResult, result: Result, options: RenderOptions, *, several: bool) -> Iterator[str]:
    names = {key: trec_name(one.measure, options.rel) for key, one in system.measures.items()}
    if several:
        yield _line("runid", "all", escape_invisible(system.name))
    if options.per_query:
        yield from _query_lines(system, names, result.queries)
    for key, one in system.measures.items():
        if not math.isnan(one.value):
            yield _line(names[key], "all", format_value(one.value, one))


def _query_lines(system: SystemResult, names: dict[str, str], queries: tuple[str, ...]) -> Iterator[str]:
    shown = [(names[key], one, one.per_query) for key, one in system.measures.items() if one.measure.name not in _SUMMARY_ONLY]
    for query, label in query_labels(queries).items():
        for name, one, values in shown:
            if query in values:
                yield _line(name, label, format_value(values[query], one))


def _line(name: str, query: str, value: str) -> str:
    return f"{name:<22}\t{query}\t{value}\n"
