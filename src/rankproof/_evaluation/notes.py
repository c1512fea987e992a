"""Counted notes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rankproof._align.hits import Hits
from rankproof._data.answers import Answer, AnswerState, References
from rankproof._data.arrays import BoolArray
from rankproof._data.ordering import RankScoreAgreement
from rankproof._data.qrels import describe_judges
from rankproof._evaluation.options import EvaluateOptions
from rankproof.errors import for_message

MAX_EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class Note:
    """A finding with its code for machines, its count, and its sentence for people."""

    code: str
    count: int
    text: str


def evaluation_notes(hits: Hits, rels: Iterable[int], options: EvaluateOptions) -> tuple[Note, ...]:
    """The findings of one system, those about the means first; `rels` are the least relevant grades in use."""
    barren = [_without_relevant(hits, rel) for rel in rels]
    about_rows = _about_rows(hits, lower_is_better=options.read_options.lower_is_better)
    found = [*_about_queries(hits, options.skip_missing), *barren, *about_rows, *_about_judgements(hits)]
    return tuple(note for note in found if note.count)


def _without_relevant(hits: Hits, rel: int) -> Note:
    barren = hits.judged.relevant(rel) == 0
    count = int(barren.sum())
    return Note(
        "no-relevant",
        count,
        f"{_count_text(count, 'query has', 'queries have')} no relevant document (grade {rel} or more) and "
        f"{_number_form(count, 'counts 0', 'count 0')}: {_selected_queries(barren, hits)}",
    )


def _about_queries(hits: Hits, skip_missing: bool) -> list[Note]:
    missing = ~hits.present
    gone, strange = int(missing.sum()), hits.alignment_counts.unjudged
    fate = ("is left out", "are left out") if skip_missing else ("counts 0", "count 0")
    return [
        Note(
            "missing-queries",
            gone,
            f"{_count_text(gone, 'judged query is', 'judged queries are')} not in the run and {_number_form(gone, *fate)}: "
            f"{_selected_queries(missing, hits)}",
        ),
        Note(
            "unjudged-queries",
            strange,
            f"{_count_text(strange, 'query of the run was never judged and is', 'queries of the run were never judged and are')} "
            f"left out: {_examples(hits.alignment_counts.unjudged_queries, strange)}",
        ),
        Note("query-named-all", hits.queries.count("all"), 'a query is called "all"; it is not the mean'),
    ]


def _about_rows(hits: Hits, *, lower_is_better: bool) -> list[Note]:
    seen = hits.alignment_counts
    distances = RankScoreAgreement(seen.contradictions, seen.backwards, seen.forwards).looks_like_distances
    has, question = ("higher", "if not, leave out --lower-is-better") if lower_is_better else ("lower", "--lower-is-better")
    tags = len(seen.tags) if len(seen.tags) > 1 else 0
    retrieved = 0 if len(hits.ranks) else int(hits.retrieved.sum())
    return [
        Note(
            "nothing-judged",
            retrieved,
            f"none of the {retrieved} retrieved documents was judged (0 %): do the document ids match?",
        ),
        Note(
            "scores-look-like-distances",
            seen.backwards if distances else 0,
            f"in {_count_text(seen.backwards, 'query, the only one,', 'queries, all that can tell,')} the better rank has the {has} "
            f"score: are the scores distances? ({question})",
        ),
        Note(
            "rank-contradicts-score",
            0 if distances else seen.contradictions,
            f"{_count_text(seen.contradictions, 'row has a rank that contradicts', 'rows have ranks that contradict')} the scores; "
            "the scores decide (--order rank goes by rank)",
        ),
        Note(
            "tied-scores",
            seen.tied,
            f"{_count_text(seen.tied, 'judged document shares its', 'judged documents share their')} score with another one; "
            "the larger document id goes first",
        ),
        Note(
            "dropped-duplicates",
            seen.dropped,
            f"{_count_text(seen.dropped, 'row', 'rows')} dropped as duplicates (--on-duplicate)",
        ),
        Note("several-tags", tags, f"the run has several tags: {_examples(seen.tags, tags)}; is it one system?"),
    ]


def _about_judgements(hits: Hits) -> list[Note]:
    repeats, forms, labels = hits.judged.repeats, hits.alignment_counts.unicode_forms, hits.judged.judge_labels
    return [
        Note("machine-judgements", sum(labels.values()), describe_judges(labels, len(hits.judged.grades)) if labels else ""),
        Note(
            "repeated-judgements",
            repeats,
            f"{_count_text(repeats, 'judgement is', 'judgements are')} repeated exactly, and dropped",
        ),
        Note(
            "unicode-form",
            forms,
            f"{_count_text(forms, 'id differs', 'ids differ')} from a judged one only by Unicode form (NFC or NFD); ids are compared "
            "byte by byte, so they do not match",
        ),
    ]


def _selected_queries(chosen: BoolArray, hits: Hits) -> str:
    at = np.flatnonzero(chosen) if chosen.any() else ()
    return _examples([hits.queries[index] for index in at[:MAX_EXAMPLES]], len(at))


def _examples(names: Sequence[str], count: int) -> str:
    return ", ".join(for_message(name) for name in names[:MAX_EXAMPLES]) + (", …" if count > MAX_EXAMPLES else "")


def _number_form(count: int, one: str, many: str) -> str:
    return one if count == 1 else many


def _count_text(count: int, one: str, many: str) -> str:
    return f"{count} {_number_form(count, one, many)}"


def answer_notes(answers: Mapping[str, Answer], references: References) -> tuple[Note, ...]:
    """The findings of one system; those about the references are the same for all."""
    state = {query: answers[query].state for query in references if query in answers}
    without, lists = references.queries_without, references.lists_as_text
    strangers = [query for query in answers if query not in references and query not in without]
    told: Sequence[tuple[str, str, str, Sequence[str]]] = (
        (
            "missing-answers",
            "has no answer and counts 0",
            "have no answer and count 0",
            [each for each in references if each not in answers],
        ),
        (
            "failed-answers",
            "has an answer that failed and is left out of the means",
            "have answers that failed and are left out of the means",
            _queries_in_state(state, "failed"),
        ),
        ("abstentions", "was answered by abstaining", "were answered by abstaining", _queries_in_state(state, "abstained")),
        ("no-reference", "has no reference and is left out", "have no reference and are left out", without),
        (
            "unknown-queries",
            "of the answers is not known and is left out",
            "of the answers are not known and are left out",
            strangers,
        ),
        (
            "list-as-text",
            "has a list of references written as text, read as a list",
            "have lists of references written as text, read as lists",
            lists,
        ),
    )
    return tuple(
        Note(code, len(ids), f"{len(ids)} {f'query {one}' if len(ids) == 1 else f'queries {many}'}: {_example_queries(ids)}")
        for code, one, many, ids in told
        if ids
    )


def _queries_in_state(states: Mapping[str, AnswerState], wanted: AnswerState) -> list[str]:
    return [query for query, state in states.items() if state == wanted]


def _example_queries(ids: Sequence[str]) -> str:
    return ", ".join(map(for_message, ids[:MAX_EXAMPLES])) + (", …" if len(ids) > MAX_EXAMPLES else "")
