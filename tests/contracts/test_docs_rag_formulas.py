"""The table of RAG measures on the audit page: the arithmetic of ragas and DeepEval, stated again, and ours on the same file.

The formulas are those of ragas 3e28e9de and DeepEval a2e0d4c, after their judges have answered.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from tools.docs.site import DOCS

from rankproof._analysis.answers.logged_answers import AnswerJudges, answers_of_logs
from rankproof._data.claims import Claim, ClaimTable, ClaimVerdict, Evidence, Verdict
from rankproof._evaluation.claim_judges import ClaimJudge, ClaimTask, NoCalls
from rankproof._evaluation.result import MeasureResult
from rankproof._importers.rag import IMPORTER
from rankproof._importers.registry import import_source
from rankproof._io.open import Progress

Finding = tuple[Verdict, Evidence]
YES: Finding = ("supported", ((1, 1),))
NO: Finding = ("contradicted", ((1, 2),))
UNKNOWN: Finding = ("not_stated", ())
CONTEXTS = ["It opened in 1932. It is grey.", "Penguins swim.", "Rain fell.", "Ships came.", "Bells rang."]
REFERENCE = "It opened in 1932. Lang opened it."
RESPONSES = {
    "partly": "It opened in 1932. It is green. It is long.",
    "repeats": "In 1932. Year 1932. It was 1932. Opened 1932. Since 1932. From 1932.",
    "declines": "I don't know.",
    "greets": "Sure!",
    "fails": "Boom.",
}
FINDINGS: dict[tuple[str, ClaimTable], Sequence[Finding]] = {
    ("partly", "answer-contexts"): [YES, NO, UNKNOWN],
    ("partly", "answer-reference"): [YES, UNKNOWN, UNKNOWN],
    ("repeats", "answer-contexts"): [YES] * 6,
    ("repeats", "answer-reference"): [YES] * 6,
    ("greets", "answer-contexts"): [("nothing_to_check", ())],
    ("greets", "answer-reference"): [("nothing_to_check", ())],
    ("greets", "reference-answer"): [UNKNOWN, UNKNOWN],
}
"""What the judge says; on a reference against contexts, and against an answer not listed here, it supports the first claim."""


@dataclass
class ListedJudge:
    """Gives the listed verdicts."""

    name: str = "listed"
    label: str = "llm:listed:00000000"
    has_scores: bool = False

    def judge(self, tasks: Sequence[ClaimTask], progress: Progress) -> list[tuple[ClaimVerdict, ...]]:
        return [tuple(self._verdict(task, claim) for claim in task.claims) for task in tasks]

    def _verdict(self, task: ClaimTask, claim: Claim) -> ClaimVerdict:
        case = case_of(task.case.question)
        if case == "fails" and task.table.startswith("answer"):
            return task.verdict(claim, "failed", self.label, reason="no reply")
        verdict, evidence = FINDINGS.get((case, task.table), [YES, UNKNOWN])[claim.n - 1]
        return task.verdict(claim, verdict, self.label, evidence=evidence)

    def extract(self, texts: Sequence[tuple[str, str]], progress: Progress) -> list[tuple[str, ...] | None]:
        raise NotImplementedError

    def varied(self, *, repeat: int = 0, reverse: bool = False) -> ClaimJudge:
        return self

    def estimate(self, tasks: Sequence[ClaimTask]) -> NoCalls:
        return NoCalls()


def case_of(question: str) -> str:
    return question.split()[-1].rstrip("?")


MEASURES = ("Faithfulness", "Hallucination", "ContextP", "ContextAP", "ContextR", "ClaimR", "ClaimF1", "AnswerRelevance")


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> dict[str, MeasureResult]:
    """Our measures of the ragas-shaped file."""
    path: Path = tmp_path_factory.mktemp("log") / "rag.jsonl"
    rows = [
        {"user_input": f"What of {case}?", "response": text, "retrieved_contexts": CONTEXTS, "reference": REFERENCE}
        for case, text in RESPONSES.items()
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    given = answers_of_logs(import_source(str(path), importer=IMPORTER))
    names = [f"{name}(judge='listed')" for name in MEASURES]
    (system,) = given.evaluated(names, AnswerJudges(judge_of=lambda name: ListedJudge())).systems
    questions = {query: case_of(one.text) for query, one in given.queries.items()}
    found = {}
    for name, measure in zip(MEASURES, names, strict=True):
        one = system.measures[measure]
        found[name] = MeasureResult(
            one.measure, one.value, tuple(questions[query] for query in one.query_ids), one.values, None, one.reasons, one.bounds
        )
    return found


def verdicts(case: str, table: ClaimTable) -> list[str]:
    """The verdicts that the tools see: a claim with nothing to check is none of their statements."""
    given = {} if case in ("declines", "fails") else FINDINGS
    return [verdict for verdict, _ in given.get((case, table), []) if verdict != "nothing_to_check"]


def ratio(part: int, whole: int, otherwise: float) -> float:
    return part / whole if whole else otherwise


def ragas_faithfulness(case: str) -> float:
    given = verdicts(case, "answer-contexts")
    return ratio(given.count("supported"), len(given), math.nan)


def deepeval_faithfulness(case: str) -> float:
    """An ask that failed raises, or the answer is skipped."""
    if case == "fails":
        return math.nan
    given = verdicts(case, "answer-contexts")
    return ratio(len(given) - given.count("contradicted"), len(given), 1.0)


def deepeval_hallucination(case: str) -> float:
    """The share of contexts that the answer contradicts."""
    contradicted = {
        context for verdict, places in FINDINGS[case, "answer-contexts"] if verdict == "contradicted" for context, _ in places
    }
    return len(contradicted) / len(CONTEXTS)


def average_precision(case: str) -> float:
    """Context precision of both tools: over the useful contexts that were retrieved."""
    named = {context for verdict, places in reference_findings(case) if verdict == "supported" for context, _ in places}
    useful = [context in named for context in range(1, len(CONTEXTS) + 1)]
    precisions = [sum(useful[:rank]) / rank for rank, flag in enumerate(useful, 1) if flag]
    return sum(precisions) / len(precisions)


def reference_findings(case: str) -> Sequence[Finding]:
    return FINDINGS.get((case, "reference-contexts"), [YES, UNKNOWN])


def context_recall(case: str) -> float:
    given = [verdict for verdict, _ in reference_findings(case)]
    return ratio(given.count("supported"), len(given), math.nan)


def ragas_factual_recall(case: str) -> float:
    """FactualCorrectness(mode="recall"): supported claims of the answer, and missing claims of the reference."""
    true_positives, missing = verdicts(case, "answer-reference").count("supported"), missing_claims(case)
    return true_positives / (true_positives + missing)


def missing_claims(case: str) -> int:
    """The claims of the reference that the answer does not state."""
    return sum(verdict != "supported" for verdict, _ in FINDINGS.get((case, "reference-answer"), [YES, UNKNOWN]))


def ragas_answer_correctness_f1(case: str) -> float:
    """The F1 of AnswerCorrectness: an answer without statements has 1."""
    given = verdicts(case, "answer-reference")
    if not given:
        return 1.0
    true = given.count("supported")
    return true / (true + 0.5 * (len(given) - true + missing_claims(case)))


def ragas_relevancy(case: str) -> float:
    return 0.0 if case == "declines" else math.nan


def deepeval_relevancy(case: str) -> float:
    """Statements that are not irrelevant; an answer without statements has 1."""
    return 1.0


def absent(case: str) -> float:
    return math.nan


THEIRS: dict[str, tuple[Callable[[str], float], Callable[[str], float]]] = {
    "Faithfulness": (ragas_faithfulness, deepeval_faithfulness),
    "Hallucination": (absent, deepeval_hallucination),
    "ContextP": (average_precision, average_precision),
    "ContextAP": (average_precision, average_precision),
    "ContextR": (context_recall, context_recall),
    "ClaimR": (ragas_factual_recall, absent),
    "ClaimF1": (ragas_answer_correctness_f1, absent),
    "AnswerRelevance": (ragas_relevancy, deepeval_relevancy),
}


def shown(value: float | None) -> str:
    return "–" if value is None or math.isnan(value) else f"{value:.3f}"


def rows() -> list[list[str]]:
    """The rows of the table on the page: case, measure, ragas, DeepEval, rankproof."""
    text = (DOCS / "audit.md").read_text(encoding="utf-8").partition("## RAG measures")[2]
    cells = [
        [cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")
    ]
    return [row for row in cells[2:] if row[0] in RESPONSES]


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row[0]}-{row[1]}")
def test_a_row_of_the_page_is_what_the_formulas_give(row: list[str], ours: dict[str, MeasureResult]) -> None:
    case, measure, ragas, deepeval, rankproof, _ = row
    first, second = THEIRS[measure]
    assert (ragas, deepeval) == (shown(first(case)), shown(second(case)))
    assert rankproof == shown(ours[measure].per_query.get(case))


def test_the_page_shows_every_measure_and_case() -> None:
    assert {row[1] for row in rows()} == set(MEASURES)
    assert {row[0] for row in rows()} == set(RESPONSES)


def test_the_means_of_the_page_are_what_the_formulas_give(ours: dict[str, MeasureResult]) -> None:
    text = (DOCS / "audit.md").read_text(encoding="utf-8").partition("## RAG measures")[2]
    ragas = [value for case in RESPONSES if not math.isnan(value := ragas_faithfulness(case))]
    deepeval = [value for case in RESPONSES if not math.isnan(value := deepeval_faithfulness(case))]
    found = ours["Faithfulness"]
    assert found.bounds is not None
    expected = [sum(ragas) / len(ragas), sum(deepeval) / len(deepeval), found.value, *found.bounds]
    sentence = re.search(r"The mean Faithfulness of the file .*", text)
    assert sentence is not None
    assert re.findall(r"\d\.\d{3}", sentence[0]) == [f"{value:.3f}" for value in expected]
    assert found.counts == {"abstained": 1, "no_claim": 1, "failed": 1}
