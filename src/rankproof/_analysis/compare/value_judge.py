"""Whose values a decision rests on: people's, or those of a machine judge that people have not checked."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace

from rankproof._analysis.compare.joined_values import JoinedValues
from rankproof._analysis.compare.unjudged_documents import USUAL_DEPTH, results_folder
from rankproof._analysis.decision.record import Decision, Reason
from rankproof._analysis.inputs import AnalysisInput
from rankproof._data.dataset import Query
from rankproof._data.ordering import ranked_documents
from rankproof._data.qrels import UNKNOWN_JUDGE, is_unknown_judge, writer_of
from rankproof._data.text import in_a_sentence
from rankproof._statistics.labelled_means import MIN_LABELLED
from rankproof.errors import escape_invisible, for_message
from rankproof.measures._answers import AnswerSimilarity, TextMeasure
from rankproof.measures._base import Measure

_OTHER_REASONS: tuple[Reason, ...] = ("no_system", "one_system", "all_worst", "failed_calls")
"""Reasons why not even the judge has a leader."""
_MOST_NAMED = 4


def judge_of_values(inputs: AnalysisInput, measure: Measure, queries: Sequence[str]) -> str | None:
    """The machine judges that gave labels behind the values of these queries; None if all labels are people's."""
    if isinstance(measure, AnswerSimilarity):
        return measure.model
    if measure.kind == "answer" and (judge := _judge_of_claims(measure)):
        return judge
    return in_a_sentence(_shortened(names)) if (names := _judge_names(inputs, measure, queries)) else None


def _judge_names(inputs: AnalysisInput, measure: Measure, queries: Sequence[str]) -> list[str]:
    if isinstance(measure, TextMeasure):
        return sorted(set(map(_judge_name, _reference_writers(inputs, queries))))
    # Unknown names are those of subtopics if the measure is about these.
    labels = [label for label in _judge_labels(inputs, queries) if not (measure.needs_subtopics and is_unknown_judge(label))]
    return sorted(set(map(_judge_name, labels)))


def _shortened(names: Sequence[str]) -> list[str]:
    return list(names) if len(names) <= _MOST_NAMED else [*names[: _MOST_NAMED - 1], f"{len(names) - _MOST_NAMED + 1:,} others"]


def unknown_judges_text(inputs: AnalysisInput, measure: Measure, queries: Sequence[str]) -> str:
    """A question to the user about judges whose names say neither people nor machine; empty if there are none."""
    if measure.kind == "answer" or measure.needs_subtopics:
        return ""
    unknown = sorted(set(map(_judge_name, filter(is_unknown_judge, _judge_labels(inputs, queries)))))
    if not unknown:
        return ""
    names = in_a_sentence(list(map(for_message, _shortened(unknown))))
    are = "is a machine" if len(unknown) == 1 else "are machines"
    return f"Whether {names} {are} is not known: --labels-by people if people judged."


def _judge_of_claims(measure: Measure) -> str | None:
    from rankproof.measures._claim_base import ClaimMeasure, judge_of_measure

    return judge_of_measure(measure) if isinstance(measure, ClaimMeasure) and measure.asks else None


def _judge_labels(inputs: AnalysisInput, queries: Sequence[str]) -> list[str]:
    """The labels of the machines that judged documents of these queries."""
    return list(inputs.qrels.judge_counts(set(queries))) if inputs.qrels.judge_labels else []


def _reference_writers(inputs: AnalysisInput, queries: Sequence[str]) -> list[str]:
    texts: Mapping[str, Query] = inputs.texts or {}
    fields = [texts[query].fields for query in queries if query in texts]
    more = [field["metadata"] for field in fields if isinstance(field.get("metadata"), Mapping)]
    return [writer for field in (*fields, *more) if (writer := writer_of(field))]


def _judge_name(label: str) -> str:
    """The name of a language model, or the kind of another judge, from the label of its judgements."""
    kind, _, rest = label.partition(":")
    return rest if kind == UNKNOWN_JUDGE else rest.rpartition(":")[0] or rest or kind if kind == "llm" else kind


def without_check(inputs: AnalysisInput, joined: JoinedValues, decision: Decision, judge: str) -> Decision:
    """The leader by a judge that nobody checked: no system is chosen, and no risk is known."""
    unknown = replace(without_risks(decision), judge=judge, kind=None, systems=(), other_margin=None, needed=None, labelled=0)
    if decision.reason in _OTHER_REASONS:
        return unknown
    unknown = replace(unknown, labels_for_check=labels_for_check(inputs, joined), check_command=_check_command(inputs, joined))
    detail = unknown_judges_text(inputs, joined.measures[0], joined.queries)
    return replace(unknown, outcome="judge_leads", reason="judge_not_checked", detail=detail)


def without_risks(decision: Decision) -> Decision:
    """The decision with means and intervals, and no risk."""
    by_system = tuple(replace(system, risk=None, limit=None, rival=None) for system in decision.by_system)
    return replace(decision, by_system=by_system, risk=None, limit=None, rival=None, scenarios=(), better=())


def _check_command(inputs: AnalysisInput, joined: JoinedValues) -> str:
    """The command with which people check the judge: of results, of answers that are not saved, or of run files."""
    folder = results_folder(inputs)
    if folder or inputs.system_runs:
        return f"rankproof serve {escape_invisible(shlex.quote(folder)) if folder else 'RESULTS'} --label {MIN_LABELLED}"
    if joined.measures[0].kind == "answer":
        return f"rankproof answers LOG… -o RESULTS, then rankproof serve RESULTS --label {MIN_LABELLED}"
    return f"rankproof serve QRELS RUN… --dataset DATASET --label {MIN_LABELLED} --labels FILE"


def labels_for_check(inputs: AnalysisInput, joined: JoinedValues) -> int | None:
    """About how many labels 30 questions take: claims of all systems, or documents at their tops; None if unknown."""
    queries, is_answer = joined.queries, joined.measures[0].kind == "answer"
    if not queries:
        return None
    count = _labelled_claims(inputs, joined) if is_answer else _pooled_documents(inputs, joined)
    return round(count / len(queries) * min(MIN_LABELLED, len(queries))) or None


def _labelled_claims(inputs: AnalysisInput, joined: JoinedValues) -> int:
    """The claims of all measures, which the page for labels asks together; 0 if none is of this measure."""
    from rankproof._analysis.compare.people_labels import labelled_claims
    from rankproof._formats.claims import claim_key
    from rankproof.measures._claim_base import ClaimMeasure

    measure, kept = joined.measures[0], set(joined.queries)
    if not isinstance(measure, ClaimMeasure) or not labelled_claims(inputs, measure, joined.systems):
        return 0
    claims = (claim for claim in inputs.result.claims if claim.against != "question" and claim.system in joined.systems)
    return len({claim_key(claim) for claim in claims if claim.query in kept})


def _pooled_documents(inputs: AnalysisInput, joined: JoinedValues) -> int:
    """The documents among the first of any system, over all queries."""
    depth = getattr(joined.measures[0], "cutoff", None) or USUAL_DEPTH
    rankings = [ranked_documents(inputs.runs[name]) for name in joined.systems if name in inputs.runs]
    return sum(len({doc for ranking in rankings for doc in ranking.get(query, ())[:depth]}) for query in joined.queries)
