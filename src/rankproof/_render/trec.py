"""The output format of trec_eval: measure, query or `all`, and value, in its order and with its names where it has one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from rankproof._evaluation.result import MeasureResult, Result, SystemResult
from rankproof._render.formats import RenderOptions
from rankproof._render.result import format_value
from rankproof.errors import escape_invisible
from rankproof.measures._trec_names import TrecLabel, trec_label

_SUMMARY_ONLY = ("NumQ", "GMAP", "GMbpref")


def render_trec(result: Result, options: RenderOptions) -> str:
    """The rows of each system, query rows first; `runid` rows separate several systems."""
    several = len(result.systems) > 1
    return "".join(line for system in result.systems for line in _lines(system, result, options, several=several))


def query_labels(queries: Sequence[str]) -> dict[str, str]:
    """The label of each query, by its id; a query called `all` gets a label that no summary row or query has."""
    labels = {query: escape_invisible(query) for query in sorted(queries)}
    if "all" in labels:
        taken = set(labels.values())
        while labels["all"] in taken:
            labels["all"] = f"query:{labels['all']}"
    return labels


def _lines(system: SystemResult, result: Result, options: RenderOptions, *, several: bool) -> Iterator[str]:
    labels = _labels(system, options)
    if several:
        yield _line("runid", "all", escape_invisible(system.name))
    if options.per_query:
        yield from _query_lines(system, labels, result.queries)
    if not options.summary:
        return
    for key, label in labels.items():
        if key in system.measures:
            measure = system.measures[key]
            if not math.isnan(measure.value):
                yield _line(label.name, "all", format_value(_summary(measure), measure))
        elif key == "runid" and not several:
            yield _line(label.name, "all", escape_invisible(system.texts[key].summary or system.name))


def _labels(system: SystemResult, options: RenderOptions) -> dict[str, TrecLabel]:
    """The name of each measure in trec_eval, in the order of trec_eval; measures of ours alone come last, as asked for."""
    from rankproof.measures._parse import parse_measure

    labels = {key: trec_label(measure.measure, options.rel) for key, measure in system.measures.items()}
    labels |= {key: trec_label(parse_measure(key), options.rel) for key in system.texts}
    labels |= {key: labels[key]._replace(name=name) for key, name in options.trec_names.items() if key in labels}
    return dict(sorted(labels.items(), key=lambda item: item[1][:2]))


def _summary(measure: MeasureResult) -> float:
    """The summary with the mean formed as in trec_eval: the values added in the order of the query ids."""
    if measure.summary != "mean" or measure.weights is not None or not len(measure.values):
        return measure.value
    order = sorted(range(len(measure.query_ids)), key=measure.query_ids.__getitem__)
    return float(np.add.accumulate(measure.values[order])[-1]) / len(order)


def _query_lines(system: SystemResult, labels: Mapping[str, TrecLabel], queries: tuple[str, ...]) -> Iterator[str]:
    shown = [(label.name, _query_texts(system, key)) for key, label in labels.items()]
    for query, label in query_labels(queries).items():
        for name, texts in shown:
            if query in texts:
                yield _line(name, label, texts[query])


def _query_texts(system: SystemResult, key: str) -> dict[str, str]:
    """The text of each query's value; empty for what is a summary only."""
    if key in system.texts:
        return {query: f"'{text}'" for query, text in system.texts[key].per_query.items()}
    measure = system.measures[key]
    if measure.measure.name in _SUMMARY_ONLY:
        return {}
    return {query: format_value(value, measure) for query, value in measure.per_query.items()}


def _line(name: str, query: str, value: str) -> str:
    return f"{name:<22}\t{query}\t{value}\n"
