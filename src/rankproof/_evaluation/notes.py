"""Notes about an evaluation, each with a count."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rankproof._align.hits import Hits
from rankproof._data.arrays import BoolArray, FloatArray, weight_column
from rankproof._data.grades import describe_conflicts, describe_converted, describe_judges, describe_merged
from rankproof._data.ordering import RankScoreAgreement
from rankproof._data.text import MinorNote, first_ids, pluralise
from rankproof._evaluation.options import USUAL_PRIMARY, EvaluateOptions
from rankproof._statistics.means import weights_text

if TYPE_CHECKING:
    from rankproof._evaluation.result import MeasureResult, SystemResult

MAX_EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class Note:
    """A finding: a code for programs, a count, and a sentence for people."""

    code: str
    count: int
    text: str


JUDGED_ONLY = "judged-only"
FEW_JUDGED = "few-judged"
SCORES_LIKE_DISTANCES, RANK_CONTRADICTS = "scores-look-like-distances", "rank-contradicts-score"
TIED_SCORES, TIED_ORDER = "tied-scores", "tied-order"
"""Ties that change values; ties that change the order of the systems."""
ENOUGH_JUDGED = 0.8
"""The least Judged@10 without a note."""
_JUDGED_DEPTH = 10
JUDGED_ONLY_TEXT = "judged documents only"
VALUE_NOTES: Mapping[str, str] = {
    JUDGED_ONLY: "unjudged documents are removed from the rankings",
    FEW_JUDGED: "unjudged documents count as not relevant: leave them out with -J, or grade them with rankproof judge",
    TIED_ORDER: "ties are ordered by document id, descending",
    TIED_SCORES: "ties are ordered by document id, descending",
}
"""Notes that every command with values shows: code to the end of the text, which is the same for all systems."""
FAILED_VERDICTS = "failed-verdicts"
_SHOWN = frozenset((*VALUE_NOTES, FAILED_VERDICTS))
"""All notes that every command with values shows."""


MINOR_NOTES = frozenset(
    (TIED_SCORES, "no-relevant", "unjudged-queries", "query-named-all", "several-tags", "repeated-judgements", "merged-subtopics")
)
"""The notes that leave the order of the systems as it is; a terminal shows them with --notes."""
MAX_NOTED_SYSTEMS = 2
"""The systems in each note on values of an output with few lines of notes."""


def joined_notes(systems: Sequence[SystemResult], codes: Collection[str] | None = None, most: int | None = None) -> list[str]:
    """Each note once, after the names of its systems; `codes` selects some.

    The notes about values of all systems are one text, which has the `most` notes with the highest counts.
    """
    everyone = len(systems)
    owners: dict[Note, list[str]] = {}
    for system in systems:
        for note in system.notes:
            if codes is None or note.code in codes:
                owners.setdefault(note, []).append(system.name)
    alone = ((note, names) for note, names in owners.items() if note.code not in VALUE_NOTES)
    lines = [_marked(f"{_owner_names(names, everyone)}{note.text}", note.code) for note, names in alone]
    for code in VALUE_NOTES:
        of_code = {note: names for note, names in owners.items() if note.code == code}
        lines += [_marked(_one_text(of_code, everyone, most), code)] if of_code else []
    return lines


def _marked(text: str, code: str) -> str:
    return MinorNote(text) if code in MINOR_NOTES else text


def _one_text(owners: Mapping[Note, Sequence[str]], everyone: int, most: int | None) -> str:
    """The notes of several systems as one; their texts differ up to the first semicolon."""
    shown = sorted(owners, key=lambda note: -note.count)[:most] if most else list(owners)
    parts = [f"{_owner_names(owners[note], everyone)}{note.text.partition('; ')[0]}" for note in owners if note in shown]
    left_out = sum(len(names) for note, names in owners.items() if note not in shown)
    more = [pluralise(left_out, "more system has this note", "more systems have this note")] if left_out else []
    return "; ".join((*parts, *more, shown[0].text.partition("; ")[2]))


def value_notes(systems: Sequence[SystemResult], most: int | None = None, *, bounds: bool = True) -> list[str]:
    """The notes on how far the values can be trusted, with or without the bounds of values; see `joined_notes`."""
    if not bounds:
        systems = [replace(system, notes=tuple(map(_without_bounds, system.notes))) for system in systems]
    return joined_notes(systems, _SHOWN, most)


def _without_bounds(note: Note) -> Note:
    share = note.text.partition("; ")[0].partition(",")[0]
    return replace(note, text=f"{share}; {VALUE_NOTES[FEW_JUDGED]}") if note.code == FEW_JUDGED else note


def other_notes(systems: Sequence[SystemResult]) -> list[str]:
    """The notes that `value_notes` does not have."""
    return joined_notes(systems, {note.code for system in systems for note in system.notes} - _SHOWN)


def _owner_names(names: Sequence[str], everyone: int) -> str:
    if everyone == 1:
        return ""
    return "all systems: " if len(names) == everyone else f"{', '.join(names)}: "


def evaluation_notes(
    hits: Hits, rels: Iterable[int], options: EvaluateOptions, measures: Mapping[str, MeasureResult]
) -> tuple[Note, ...]:
    """The notes of one system, those about the means first; `rels` are the relevance thresholds in use."""
    without_relevant = [_without_relevant(hits, rel) for rel in rels]
    about_rows = _about_rows(hits, lower_is_better=options.read_options.lower_is_better)
    notes = [
        _about_weights(hits, options),
        *_about_queries(hits, options.skip_missing),
        *without_relevant,
        _judged_only(hits, options),
        _few_judged(hits, measures, options),
        *about_rows,
        *_about_judgements(hits),
    ]
    return tuple(note for note in notes if note.count)


def _about_weights(hits: Hits, options: EvaluateOptions) -> Note:
    """How many queries of equal weight the weighted ones are worth."""
    used = [options.weights[query] for query in hits.queries] if options.weights is not None else []
    return Note("weighted-queries", len(used), weights_text(weight_column(used)) if used else "")


def summary_over(result: MeasureResult, hits: Hits, values: FloatArray) -> float:
    """The summary of other values of the same measure, over the queries and with the weights of the result."""
    chosen = values if len(values) == result.queries else values[hits.present]
    return result.measure.summarise(chosen, result.weights)


def _judged_only(hits: Hits, options: EvaluateOptions) -> Note:
    """That rankings were measured without their unjudged documents; the count is that of the queries."""
    count = len(hits.queries) if options.read_options.judged_only else 0
    return Note(JUDGED_ONLY, count, f"{JUDGED_ONLY_TEXT}; {VALUE_NOTES[JUDGED_ONLY]}")


def _deciding_first(measures: Mapping[str, MeasureResult], options: EvaluateOptions) -> list[MeasureResult]:
    """The measures, the one that decides first: the primary one, else nDCG@10."""
    from rankproof.measures._parse import parse_measure

    asked = parse_measure(options.primary or USUAL_PRIMARY).with_rel(options.rel)
    return sorted(measures.values(), key=lambda measure: measure.measure != asked)


def _few_judged(hits: Hits, measures: Mapping[str, MeasureResult], options: EvaluateOptions) -> Note:
    """Whether few of the top documents are judged, and bounds of the measure that decides, else of the first that has some."""
    from rankproof._evaluation.value_ranges import own_bounds, unjudged_mask

    seen = np.minimum(hits.retrieved, _JUDGED_DEPTH)
    unjudged = np.concatenate([unjudged_mask(block, _JUDGED_DEPTH).sum(axis=1) for block in hits.blocks])
    share = 1 - float((unjudged[seen > 0] / seen[seen > 0]).mean()) if seen.any() else 1.0
    if share >= ENOUGH_JUDGED:
        return Note(FEW_JUDGED, 0, "")
    text = f"Judged@{_JUDGED_DEPTH} is {share:.0%}"
    results = _deciding_first(measures, options)
    bounded = ((result, bounds) for result in results if (bounds := own_bounds(result.measure, hits)) is not None)
    bounded_result, bounds = next(bounded, (None, None))
    if bounded_result is None or bounds is None:
        text += " (rankproof audit --unjudged has the bounds of the values)"
    else:
        low, high = (summary_over(bounded_result, hits, values) for values in bounds)
        lowest, highest = f"{low:.4f}", f"{high:.4f}"
        text += (
            f", so {bounded_result.measure} is between {lowest} and {highest}"
            if lowest != highest
            else f", which cannot change {bounded_result.measure}"
        )
    return Note(FEW_JUDGED, int(unjudged.sum()), f"{text}; {VALUE_NOTES[FEW_JUDGED]}")


def _without_relevant(hits: Hits, rel: int) -> Note:
    without_relevant = hits.judged.relevant(rel) == 0
    count = int(without_relevant.sum())
    return Note(
        "no-relevant",
        count,
        f"{pluralise(count, 'query has', 'queries have')} no relevant document (grade {rel} or more) and "
        f"{'scores 0' if count == 1 else 'score 0'}: {_selected_queries(without_relevant, hits)}",
    )


def _about_queries(hits: Hits, skip_missing: bool) -> list[Note]:
    missing = ~hits.present
    missing_count, unjudged = int(missing.sum()), hits.alignment_counts.unjudged
    fate = ("is left out", "are left out") if skip_missing else ("scores 0", "score 0")
    return [
        Note(
            "missing-queries",
            missing_count,
            f"{pluralise(missing_count, 'judged query is', 'judged queries are')} not in the run and "
            f"{fate[0] if missing_count == 1 else fate[1]}: "
            f"{_selected_queries(missing, hits)}",
        ),
        Note(
            "unjudged-queries",
            unjudged,
            f"{pluralise(unjudged, 'query of the run is not judged and is', 'queries of the run are not judged and are')} "
            f"left out: {first_ids(hits.alignment_counts.unjudged_queries, count=unjudged)}",
        ),
        Note("query-named-all", hits.queries.count("all"), 'one query has the id "all"; its row is not the mean'),
    ]


def _about_rows(hits: Hits, *, lower_is_better: bool) -> list[Note]:
    counts = hits.alignment_counts
    distances = RankScoreAgreement(counts.contradictions, counts.backwards, counts.forwards).looks_like_distances
    has, question = ("higher", "if not, leave out --lower-is-better") if lower_is_better else ("lower", "--lower-is-better")
    tags = len(counts.tags) if len(counts.tags) > 1 else 0
    retrieved = 0 if len(hits.ranks) else int(hits.retrieved.sum())
    return [
        Note("nothing-judged", retrieved, f"none of the {retrieved} retrieved documents is judged: do the document ids match?"),
        Note(
            SCORES_LIKE_DISTANCES,
            counts.backwards if distances else 0,
            f"in {pluralise(counts.backwards, 'query', 'queries')} better ranks have {has} scores: are the scores distances? "
            f"({question})",
        ),
        Note(
            RANK_CONTRADICTS,
            0 if distances else counts.contradictions,
            f"{pluralise(counts.contradictions, 'row has', 'rows have')} a higher score than a row with a better rank; "
            "documents are ordered by score (use --order rank to order them by rank)",
        ),
        Note(
            "dropped-duplicates",
            counts.dropped,
            f"{pluralise(counts.dropped, 'row', 'rows')} dropped as duplicates (--on-duplicate)",
        ),
        Note("several-tags", tags, f"the run has several tags: {first_ids(counts.tags)}; is it from one system?"),
    ]


def _about_judgements(hits: Hits) -> list[Note]:
    converted, conflicts = hits.judged.converted, hits.judged.conflicts
    repeats, forms, labels = hits.judged.repeats, hits.alignment_counts.unicode_forms, hits.judged.judge_labels
    return [
        Note("machine-judgements", sum(labels.values()), describe_judges(labels, len(hits.judged.grades)) if labels else ""),
        Note("repeated-judgements", repeats, f"{pluralise(repeats, 'repeated judgement', 'repeated judgements')} dropped"),
        Note("converted-grades", converted, describe_converted(converted)),
        Note("merged-subtopics", hits.judged.merged, describe_merged(hits.judged.merged)),
        Note("conflicting-judgements", conflicts, describe_conflicts(conflicts, hits.judged.on_conflict)),
        Note(
            "unicode-form",
            forms,
            f"{pluralise(forms, 'id differs', 'ids differ')} from a judged id only by Unicode form (NFC or NFD); ids are "
            "compared by bytes, so they do not match",
        ),
    ]


def _selected_queries(chosen: BoolArray, hits: Hits) -> str:
    at = np.flatnonzero(chosen) if chosen.any() else ()
    return first_ids([hits.queries[index] for index in at[:MAX_EXAMPLES]], MAX_EXAMPLES, count=len(at))
