"""The CPU time of `judge='overlap'` on 10,000 answers with 5 contexts each."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from random import Random

from rankproof._data.claims import claims_of
from rankproof._evaluation.claim_judges import ClaimTask, OverlapJudge
from rankproof.measures._answers import AnswerCase
from rankproof.measures._claim_base import ClaimMeasure
from rankproof.measures._parse import parse_measure

from .language_model_tables import shown

ANSWERS, CONTEXTS = 10_000, 5
ANSWER_SENTENCES, CONTEXT_SENTENCES, SENTENCE_WORDS = 4, 5, 20
VOCABULARY, SEED = 20_000, 0
MEASURES = (
    "Faithfulness",
    "Hallucination",
    "AnswerRelevance",
    "ClaimP",
    "ClaimR",
    "ClaimF1",
    "ContextR",
    "ContextP@5",
    "ContextAP@5",
    "ContextRelevance",
    "Utilisation",
    "Noise(from='relevant')",
)


def made_cases(count: int) -> list[AnswerCase]:
    """Answers, references and contexts of random words; no text is there twice."""
    random = Random(SEED)
    letters = "abcdefghijklmnopqrstuvwxyz"
    vocabulary = ["".join(random.choices(letters, k=random.randint(2, 11))) for _ in range(VOCABULARY)]

    def text(sentences: int) -> str:
        return " ".join(" ".join(random.choices(vocabulary, k=SENTENCE_WORDS)).capitalize() + "." for _ in range(sentences))

    return [
        AnswerCase(
            text(ANSWER_SENTENCES),
            (text(2),),
            query=str(number),
            question=text(1),
            contexts=tuple(text(CONTEXT_SENTENCES) for _ in range(CONTEXTS)),
        )
        for number in range(count)
    ]


def judged(cases: Sequence[AnswerCase]) -> None:
    """Verdicts with evidence on every sentence of the answers against the contexts."""
    tasks = [ClaimTask(case, "answer-contexts", claims_of(case.text, "answer"), case.contexts or ()) for case in cases]
    OverlapJudge().judge(tasks, lambda label, done, total: None)


def measured(names: Sequence[str]) -> Callable[[Sequence[AnswerCase]], None]:
    """The values of the measures."""
    measures = [measure for measure in map(parse_measure, names) if isinstance(measure, ClaimMeasure)]

    def values(cases: Sequence[AnswerCase]) -> None:
        for case in cases:
            for measure in measures:
                measure.value(case)

    return values


def print_speed() -> None:
    """CPU seconds of one measure, of all of them, and of verdicts with evidence."""
    cases = made_cases(ANSWERS)
    rows = []
    for name, work in (
        ("`Faithfulness(judge='overlap')`", measured(MEASURES[:1])),
        (f"all {len(MEASURES)} measures of answers and contexts", measured(MEASURES)),
        ("verdicts with evidence on every sentence, for claims.jsonl", judged),
    ):
        start = time.process_time()
        work(cases)
        rows.append((name, f"{time.process_time() - start:.1f}"))
    words = CONTEXT_SENTENCES * SENTENCE_WORDS
    print(f"{ANSWERS:,} answers of {ANSWER_SENTENCES} sentences with {CONTEXTS} contexts of {words} words each, one thread.\n")
    shown(("what", "CPU s"), rows)
