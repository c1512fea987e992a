"""Measures of ir_measures and its providers against ours, on values that the providers computed.

`python -m benchmarks.parity_ir_measures` prints the table of docs/parity.md.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

import rankproof as rp
from benchmarks.peer_values import PEER_VALUES, json_lines
from rankproof._evaluation.options import Compat

GOLDEN = PEER_VALUES / "ir_measures"
CLOSE, FIVE_DECIMALS = 1e-9, 5.001e-6
_ASCENDING, _AS_GIVEN = ("pyndeval", "compat", "judged", "msmarco"), ("cwl_eval", "accuracy")
_OWN_SORT = ("ranx", "trectools")

REASONS = {
    "fails": "The provider fails, and has no value to compare.",
    "own tie order": "ranx and trectools order documents of the same score by a sort of their own, which depends on the rows.",
    "no value": "Without a relevant document, nNRBP and trectools have no value (NaN); here it is 0, as in every other measure.",
    "cwl AP": "AP of cwl_eval leaves out relevant documents that were not retrieved.",
    "raw grades": "RBP of trectools without `rel` adds raw grades, so that values exceed 1; RBP is binary here.",
    "missing query": "NumQ and NumRel of ir_measures leave out a query that the run lacks; here they cover all judged queries.",
    "negative grade": "A grade below 0 counts as judged in Judged of ir_measures, and as unjudged here and in trec_eval.",
    "score of 0": "Compat of ir_measures treats a document that was not retrieved as one of score 0, and orders ties as the"
    " qrels do; here the ideal ranking is the one closest to the run, as in the paper.",
    "mean without 0": "The mean of Accuracy leaves out queries without a relevant document retrieved; here they count 0.",
}
"""Why a value differs on purpose."""


class Compared(NamedTuple):
    """One value of a provider and ours; `reason` is a key of REASONS if they may differ. The query of a mean is None."""

    case: str
    provider: str
    measure: str
    query: str | None
    theirs: float
    ours: float
    reason: str | None
    tolerance: float = CLOSE

    @property
    def apart(self) -> float:
        """How far the values are apart."""
        return abs(self.theirs - self.ours)


def cases() -> list[dict[str, Any]]:
    """The collections with the values of all providers."""
    return list(json_lines(GOLDEN / "measures.jsonl.gz"))


def compared_values() -> Iterator[Compared]:
    """Every value of every provider beside ours."""
    for case in cases():
        for result in case["results"]:
            yield from _compared(case, result)


def _compared(case: dict[str, Any], result: dict[str, Any]) -> Iterator[Compared]:
    provider, measure = result["provider"], result["measure"]
    named = (case["id"], provider, measure)
    ours = _ours(case, provider, measure)
    if "per_query" not in result:
        yield Compared(*named, None, math.nan, ours.value, "fails")
        return
    values = dict(zip(ours.query_ids, ours.values.tolist(), strict=True))
    tolerance = FIVE_DECIMALS if provider == "gdeval" else CLOSE
    found = []
    for query, value in result["per_query"].items():
        theirs = math.nan if value is None else value
        one = Compared(*named, query, theirs, values[query], None, tolerance)
        found.append(one._replace(reason=_reason(case, one)))
    yield from found
    reason = next((one.reason for one in found if one.reason), "mean without 0" if provider == "accuracy" else None)
    if result.get("mean") is not None:
        yield Compared(*named, None, result["mean"], ours.value, reason, tolerance)


def _ours(case: dict[str, Any], provider: str, measure: str) -> Any:
    name = measure.replace("ERR@", "ERR(max_grade=4)@") if provider == "gdeval" else measure
    compat: Compat | None = "trec_eval-9" if provider == "pytrec_eval" and measure.startswith("IPrec") else None
    result = rp.evaluate(_qrels(case, provider), _ranked(case["run"], provider), name, compat=compat)
    return next(iter(result.systems[0].measures.values()))


def _qrels(case: dict[str, Any], provider: str) -> Any:
    if provider != "pyndeval":
        grades: dict[str, dict[str, int]] = defaultdict(dict)
        for query, doc, grade in case["qrels"]:
            grades[query][doc] = grade
        return dict(grades)
    subtopics: dict[str, dict[str, dict[str, int]]] = defaultdict(lambda: defaultdict(dict))
    for query, subtopic, doc, grade in case["qrels_subtopics"]:
        subtopics[query][subtopic][doc] = grade
    return rp.Qrels.from_subtopics(subtopics)


def _ranked(rows: list[tuple[str, str, float]], provider: str) -> dict[str, dict[str, float]]:
    """The run in the provider's order of ties, with a score for each rank."""
    found: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for query, doc, score in rows:
        found[query].append((score, doc))
    for docs in found.values():
        if provider not in _AS_GIVEN:
            docs.sort(key=lambda one: one[1], reverse=provider not in _ASCENDING)
        docs.sort(key=lambda one: -one[0])
    return {query: {doc: float(len(docs) - at) for at, (_, doc) in enumerate(docs)} for query, docs in found.items()}


def _reason(case: dict[str, Any], one: Compared) -> str | None:
    """Why the values may differ."""
    scores = [score for query, _, score in case["run"] if query == one.query]
    if math.isnan(one.theirs):
        return "no value"
    if one.provider in _OWN_SORT and len(set(scores)) < len(scores):
        return "own tie order"
    if (one.provider, one.measure) == ("cwl_eval", "AP(rel=1)"):
        return "cwl AP"
    if one.provider == "trectools" and one.measure.startswith("RBP"):
        return "raw grades"
    if one.measure in ("NumQ", "NumRel") and not scores:
        return "missing query"
    if one.provider == "judged" and any(grade < 0 for query, _, grade in case["qrels"] if query == one.query):
        return "negative grade"
    if one.provider == "compat" and _orders_by_score(case, one.query):
        return "score of 0"
    return None


def _orders_by_score(case: dict[str, Any], query: str | None) -> bool:
    """Whether documents of one grade above 0 are tied, or one with a score of at most 0 is beside one not retrieved."""
    scores = {doc: score for owner, doc, score in case["run"] if owner == query}
    by_grade: dict[int, list[float]] = defaultdict(list)
    for owner, doc, grade in case["qrels"]:
        if owner == query and grade > 0:
            by_grade[grade].append(scores.get(doc, math.nan))
    for each in by_grade.values():
        known = [score for score in each if not math.isnan(score)]
        if len({*known}) < len(known) or (len(known) < len(each) and min(known, default=1.0) <= 0):
            return True
    return False


def table(every: list[Compared]) -> str:
    """A row for each provider, and one for each reason."""
    rows = ["| provider | measures | values | largest difference | differ on purpose |", "| :--- | ---: | ---: | ---: | ---: |"]
    for provider in dict.fromkeys(one.provider for one in every):
        own = [one for one in every if one.provider == provider]
        same = [one for one in own if one.reason is None]
        apart = max(one.apart for one in same)
        differ = sum(one.reason is not None and not one.apart <= one.tolerance for one in own)
        rows.append(f"| {provider} | {len({one.measure for one in own})} | {len(same)} | {apart:.1e} | {differ} |")
    counts = Counter(one.reason for one in every if one.reason and not one.apart <= one.tolerance)
    rows += ["", "| values | why they differ |", "| ---: | :--- |"]
    return "\n".join([*rows, *(f"| {counts[reason]} | {text} |" for reason, text in REASONS.items() if counts[reason])])


if __name__ == "__main__":
    print(table(list(compared_values())))
