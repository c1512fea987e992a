"""Answers that were made elsewhere, as RAG logs have them, and robustness sets of such a log."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import TYPE_CHECKING, Any

from rankproof._data.answers import (
    ANSWER_FIELDS,
    NUGGETS_FIELD,
    Answer,
    Answers,
    is_abstention,
    nuggets_from_queries,
    passages_of,
    references_from_queries,
)
from rankproof._data.claims import ClaimVerdict, Nugget
from rankproof._data.corpus import Corpus
from rankproof._data.dataset import Queries, Query
from rankproof._data.qrels import Qrels
from rankproof._data.run import Run
from rankproof._data.sentences import sentences
from rankproof._data.text import pluralise
from rankproof._data.validation import made_id
from rankproof._evaluation.answers import evaluate_answers
from rankproof._evaluation.claim_judges import JudgeOf
from rankproof._evaluation.result import Result
from rankproof._importers.rag_merge import IDS_ALONE, is_ranking_note
from rankproof._io.open import Progress
from rankproof.errors import UsageError, for_message
from rankproof.measures._answers import Encode
from rankproof.measures._base import Measure
from rankproof.measures._claim_base import all_words, content_words, word_share

if TYPE_CHECKING:
    from rankproof._importers.base import Imported

_NAMED_SYSTEMS = 3


@dataclass(frozen=True, slots=True)
class AnswerJudges:
    """What measures of answers need besides texts: encoders and judges of claims by name."""

    encode: Encode | None = None
    judge_of: JudgeOf | None = None
    progress: Progress = field(default=lambda label, done, total: None)


@dataclass(frozen=True, eq=False, slots=True)
class LoggedAnswers:
    """The answers of each system, and the questions with their references and nuggets in the fields.

    `contexts` has the text of each given or cited passage by its id, where it is known.
    """

    name: str
    queries: Queries
    answers: Mapping[str, Answers]
    qrels: Qrels | None = None
    contexts: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def evaluated(
        self,
        measures: str | Measure | Sequence[str | Measure] | None,
        how: AnswerJudges,
        *,
        rel: int = 1,
        document: Callable[[str], str] = str,
        known: Sequence[ClaimVerdict] = (),
    ) -> Result:
        """The measures of the answers."""
        return evaluate_answers(
            self.answers,
            references_from_queries(self.queries),
            self.qrels,
            measures,
            how.encode,
            rel=rel,
            document=document,
            questions={key: query.text for key, query in self.queries.items()},
            passage=self.contexts.get,
            nuggets=nuggets_from_queries(self.queries),
            judge_of=how.judge_of,
            known=known,
            progress=how.progress,
        )

    def sample(self, count: int, seed: int) -> LoggedAnswers:
        """The answers to a random sample of the questions."""
        chosen = set(Random(seed).sample(list(self.queries), min(count, len(self.queries))))
        answers = {
            name: Answers(
                {query: reply for query, reply in answer.items() if query in chosen},
                source=answer.source,
                repeats={query: further for query, further in answer.repeats.items() if query in chosen},
            )
            for name, answer in self.answers.items()
        }
        queries = Queries((query for key, query in self.queries.items() if key in chosen), source=self.queries.source)
        return replace(self, queries=queries, answers=answers)

    def passages(self) -> list[str]:
        """The ids of all given and cited passages."""
        return passages_of(reply for answer in self.answers.values() for _, _, reply in answer.with_repeats())


def answers_of_logs(imported: Imported) -> LoggedAnswers:
    """The answers of RAG logs, in their order; a log without answers has only its contexts."""
    # The runs are in the order of the logs; a log without contexts is among the answers alone.
    every_log_retrieves = imported.answers.keys() <= imported.runs.keys()
    systems = imported.runs if every_log_retrieves else dict.fromkeys((*imported.answers, *imported.runs))
    answers = {name: imported.answers[name] if name in imported.answers else _unanswered(imported.runs[name]) for name in systems}
    dropped = (f"{count.part}: {', '.join(map(str, count.dropped))}" for count in imported.report.counts if count.dropped)
    notes = (note for note in imported.report.notes if not is_ranking_note(note))
    dataset, names = imported.dataset, list(answers)
    name = ", ".join(names) if len(names) <= _NAMED_SYSTEMS else f"{names[0]} and {len(names) - 1} other systems"
    return LoggedAnswers(name, dataset.queries, answers, dataset.qrels or None, imported.contexts, (*dropped, *notes))


def _unanswered(run: Run) -> Answers:
    """The contexts of a log without answers."""
    contexts: dict[str, list[str]] = {query: [] for query in run.queries}
    for row in sorted(run.rows(), key=lambda row: -row.score):
        contexts[row.query].append(row.doc)
    return Answers({query: Answer("", given=tuple(docs), state="missing") for query, docs in contexts.items()}, source=run.source)


def with_corpus(logged: LoggedAnswers, corpus: Corpus) -> LoggedAnswers:
    """The answers with contexts that are ids of documents; a context that is neither a text nor such an id is an error."""
    texts, missing = dict(logged.contexts), dict[str, None]()
    retrieved = {passage for answer in logged.answers.values() for reply in answer.values() for passage in reply.given or ()}
    for passage in logged.passages():
        doc = texts.get(passage, passage)
        if doc in corpus:
            document = corpus[doc]
            texts[passage] = f"{document.title}\n{document.text}" if document.title else document.text
        elif passage in retrieved and (passage not in texts or _looks_like_id(doc)):
            missing[doc] = None
    if missing:
        count = pluralise(len(missing), "context")
        what = f"{count} with an id that the corpus does not have, such as {for_message(next(iter(missing)))}"
        raise UsageError(what, fix="specify the corpus of the contexts (--corpus), or log their texts")
    return replace(logged, contexts=texts, notes=tuple(note for note in logged.notes if note != IDS_ALONE))


def _looks_like_id(text: str) -> bool:
    """Whether a text is one word of letters, digits and marks."""
    return text.isascii() and len(text.split()) == 1


def with_nuggets(logged: LoggedAnswers, nuggets: Mapping[str, Sequence[Nugget]]) -> LoggedAnswers:
    """The answers with these nuggets in place of those of the log; nuggets of an unknown question are an error."""
    if unknown := [query for query in nuggets if query not in logged.queries]:
        what = f"nuggets of {pluralise(len(unknown), 'unknown question')}, such as {for_message(unknown[0])}"
        raise UsageError(what, fix="use the ids of the questions, as in queries.jsonl of `rankproof import`")
    queries = (
        replace(query, fields={**query.fields, NUGGETS_FIELD: [_plain(nugget) for nugget in nuggets[key]]})
        if key in nuggets
        else query
        for key, query in logged.queries.items()
    )
    return replace(logged, queries=Queries(queries, source=logged.queries.source))


def _plain(nugget: Nugget) -> dict[str, str]:
    return {"text": nugget.text, "importance": nugget.importance}


def usual_log_measures(logged: LoggedAnswers, judge: str) -> list[str]:
    """The measures that the fields of the logs allow; the first one decides."""
    references = references_from_queries(logged.queries)
    every = [reply for answer in logged.answers.values() for reply in answer.values()]
    answered = any(reply.state != "missing" for reply in every)
    with_contexts = any(reply.given is not None and all(doc in logged.contexts for doc in reply.given) for reply in every)
    with_references = any(reference.answers for reference in references.values())
    names = [
        *(("ClaimF1", "ClaimP", "ClaimR") if answered and with_references else ()),
        *(("Faithfulness",) if answered and with_contexts else ()),
        *(("ContextR", "ContextP") if with_contexts and with_references else ()),
        *(("ContextRelevance",) if with_contexts and not with_references else ()),
        *(("NuggetR",) if answered and nuggets_from_queries(logged.queries) else ()),
    ]
    abstains = any(reply.state == "abstained" or is_abstention(reply.text) for reply in every if reply.state != "missing")
    unanswerable = any(not reference.answers for reference in references.values())
    states = [
        *(("AnswerRate",) if answered else ()),
        *(("AbstainP",) if abstains and unanswerable else ()),
        *(("AbstainR",) if answered and unanswerable else ()),
    ]
    if not names:
        raise UsageError(
            f"{for_message(logged.name) or 'the log'} has neither contexts nor reference answers",
            fix="add them to the log, or specify the queries first: rankproof answers queries.jsonl answers.jsonl",
        )
    return [*(f"{name}(judge='{judge}')" for name in names), *states]


_LAST_NUMBER = re.compile(r"(?<!\d)[0-9]{1,15}(?=\D*\Z)")
_VERB = re.compile(r"\b(is|are|was|were|can|has|have|will|does|did)\b", re.IGNORECASE)


def varied_logs(logged: LoggedAnswers, seed: int = 0) -> dict[str, list[dict[str, Any]]]:
    """The rows of each set by its name: `shuffled`, `removed`, `noise` and `contradicted`.

    The rows have the questions, references and answers of the log, which has one system and the texts of its contexts. A question
    without contexts stays as it is.
    """
    if len(logged.answers) != 1:
        raise UsageError(f"contexts of {len(logged.answers)} systems", fix="specify the log of one system")
    (answers,) = logged.answers.values()
    contexts = _contexts(answers, logged.contexts)
    if len(contexts) < 2:
        raise UsageError("fewer than two answers have contexts with texts", fix="log the texts of contexts")
    return {name: list(_rows(logged, answers, contexts, change, seed)) for name, change in _CHANGES.items()}


def log_blocks(rows: Sequence[Mapping[str, Any]]) -> Iterator[bytes]:
    """The lines of a RAG log."""
    for row in rows:
        yield (json.dumps(row, ensure_ascii=False) + "\n").encode()


def _contexts(answers: Answers, texts: Mapping[str, str]) -> dict[str, list[str]]:
    """The contexts of each question that has at least one, and all their texts."""
    given = {query: answer.given for query, answer in answers.items() if answer.given}
    return {query: [texts[doc] for doc in docs] for query, docs in given.items() if all(doc in texts for doc in docs)}


Change = Callable[[list[str], str, Sequence[str], Random], list[str]]
"""From contexts, the text that they should support, and contexts of another question, to the changed contexts."""


def _rows(
    logged: LoggedAnswers, answers: Answers, contexts: Mapping[str, list[str]], change: Change, seed: int
) -> Iterator[dict[str, Any]]:
    references = references_from_queries(logged.queries)
    names = list(contexts)
    for query, answer in answers.items():
        own = contexts.get(query)
        if own is None:
            yield _row(logged.queries[query], answer, [])
            continue
        random = Random(f"{seed} {query}")
        stated = " ".join(references[query].answers) if query in references else answer.text
        # Of another question: the one before, or the last one for the first.
        others = contexts[names[names.index(query) - 1]]
        yield _row(logged.queries[query], answer, change(own, stated or answer.text, others, random))


def _row(query: Query, answer: Answer, contexts: list[str]) -> dict[str, Any]:
    named = {} if query.id == made_id("query", [query.text]) else {"id": query.id}
    row: dict[str, Any] = {**named, "question": query.text, "contexts": contexts}
    row["answer"] = answer.text if answer.state in ("answered", "abstained") else None
    return {**row, **{name: query.fields[name] for name in (ANSWER_FIELDS[0], "session", "answerable") if name in query.fields}}


def _best(contexts: Sequence[str], stated: str) -> int:
    """The place of the context with the most words of the text."""
    words = content_words(stated)
    return max(range(len(contexts)), key=lambda at: (word_share(words, content_words(contexts[at])) or 0.0, -at))


def _shuffled(contexts: list[str], stated: str, others: Sequence[str], random: Random) -> list[str]:
    return random.sample(contexts, len(contexts))


def _removed(contexts: list[str], stated: str, others: Sequence[str], random: Random) -> list[str]:
    best = _best(contexts, stated)
    return contexts[:best] + contexts[best + 1 :]


def _with_noise(contexts: list[str], stated: str, others: Sequence[str], random: Random) -> list[str]:
    return _inserted(contexts, random.choice([text for text in others if text not in contexts] or [""]), random)


def _contradicted(contexts: list[str], stated: str, others: Sequence[str], random: Random) -> list[str]:
    """With the opposite of the sentence that says most of the text: another number, a negated verb, or a denial."""
    parts = sentences(contexts[_best(contexts, stated)])
    known = content_words(stated) & all_words(parts)
    best = max(parts, key=lambda part: len(content_words(part) & known), default="")
    if number := _LAST_NUMBER.search(best):
        wrong = f"{best[: number.start()]}{int(number[0]) + random.randint(1, 9)}{best[number.end() :]}"
    else:
        wrong = _VERB.sub(lambda match: f"{match[0]} not", best, count=1)
    return _inserted(contexts, wrong if wrong != best else f"It is not true that: {best}", random)


def _inserted(contexts: list[str], text: str, random: Random) -> list[str]:
    at = random.randint(0, len(contexts))
    return [*contexts[:at], text, *contexts[at:]]


_CHANGES: Mapping[str, Change] = {
    "shuffled": _shuffled,
    "removed": _removed,
    "noise": _with_noise,
    "contradicted": _contradicted,
}
