"""How well judges of claims agree with people, on ExpertQA and on RAGChecker's pairs of answers.

`python -m benchmarks.rag_judges` compares the judges that need no language model; `… --models` asks SmolLM2 (135 million
parameters) and Qwen2.5-Coder-1.5B-Instruct for log-probabilities on 200 claims; --gguf names the latter's file, and replies are
cached under benchmarks/work/llm. `… --speed` measures `judge='overlap'` on 10,000 answers with 5 contexts each.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random

from tools import shared_folder

from rankproof._data.claims import whole_claim
from rankproof._data.sentences import sentences
from rankproof._data.text import without_citations
from rankproof._data.wording.stop_words import stop_words_of
from rankproof._evaluation.claim_judges import ClaimJudge, ClaimTask
from rankproof._judge.claims.base import judge_of
from rankproof._llm.cache import ResponseCaches
from rankproof._llm.session import LLMSession
from rankproof._statistics.agreement import Agreement, ScoredItem, auc
from rankproof.measures._answers import AnswerCase, lcs_length, rouge_words

from .language_model_tables import shown
from .rag_pairs import print_pairs
from .rag_speed import print_speed

DATA = shared_folder.DATA
WORK = Path(__file__).parent / "work" / "llm"
GGUF = WORK / "qwen2.5-coder-1.5b-instruct.gguf"
SAMPLE, SEED = 200, 0
LONGEST_EVIDENCE = 4_500
LABELS = ("Complete", "Partial", "Incomplete", "Missing")


@dataclass(frozen=True, slots=True)
class LabelledClaim:
    """A claim of an answer, the evidence that the answer cites for it, and whether an expert finds it fully supported."""

    query: str
    question: str
    text: str
    evidence: tuple[str, ...]
    supported: bool
    system: str = ""

    @property
    def task(self) -> ClaimTask:
        """The claim as a judge is asked."""
        case = AnswerCase(self.text, (), query=self.query, question=self.question, contexts=self.evidence)
        return ClaimTask(case, "answer-contexts", (whole_claim(self.text, "answer"),), self.evidence)


def expert_claims() -> list[LabelledClaim]:
    """The claims of ExpertQA with a label, whose evidence is all text of at most 4,500 characters."""
    found = []
    for line in (DATA / "expertqa" / "data.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        for claim in row["claims"]:
            cited = [row["contexts"][at] for at in claim["evidence"]]
            all_text = len(cited) == claim["evidence_raw"] > 0 and sum(map(len, cited)) <= LONGEST_EVIDENCE
            if all_text and claim["support"] in LABELS:
                evidence, supported = tuple(dict.fromkeys(cited)), claim["support"] == "Complete"
                found.append(LabelledClaim(row["_id"], row["question"], claim["text"], evidence, supported, row["system"]))
    return found


Score = Callable[[LabelledClaim], float | None]
Scores = list[float | None]


def bigrams_found(claim: LabelledClaim) -> float | None:
    """The share of the claim's pairs of adjacent words that the evidence has."""
    own = _bigrams(claim.text)
    return len(own & set().union(*map(_bigrams, claim.evidence))) / len(own) if own else None


def _bigrams(text: str) -> set[tuple[str, str]]:
    return set(pairwise(rouge_words(without_citations(text))))


def best_rouge(claim: LabelledClaim) -> float | None:
    """The longest common subsequence with a sentence of the evidence, as a share of the claim's words."""
    own = rouge_words(without_citations(claim.text))
    others = [rouge_words(sentence) for text in claim.evidence for sentence in sentences(text)]
    return max((lcs_length(own, other) for other in others), default=0) / len(own) if own else None


def claim_length(claim: LabelledClaim) -> float:
    """The negative number of content words: a short claim is easier to support."""
    return -float(len(set(rouge_words(without_citations(claim.text))) - stop_words_of("english")))


def by_function(score: Score) -> Callable[[Sequence[LabelledClaim]], Scores]:
    """The scores of a function, claim by claim."""
    return lambda claims: [score(claim) for claim in claims]


def by_judge(judge: ClaimJudge) -> Callable[[Sequence[LabelledClaim]], Scores]:
    """The scores of a judge; None for a claim without content words and one that failed."""

    def scores(claims: Sequence[LabelledClaim]) -> Scores:
        verdicts = judge.judge([claim.task for claim in claims], _progress)
        return [one.score for (one,) in verdicts]

    return scores


def _progress(label: str, done: int, total: int | None) -> None:
    if done % 20 == 0 and sys.stderr.isatty():
        print(f"{label}: {done} of {total}", file=sys.stderr)


def sample_of(claims: Sequence[LabelledClaim]) -> list[int]:
    """The numbers of the claims that models are asked about, drawn by seed 0; the first of them are a sample, too."""
    return Random(SEED).sample(range(len(claims)), SAMPLE)


def agreement(claims: Sequence[LabelledClaim], scores: Scores) -> Agreement:
    """The AUC of the scores against the labels, over the claims with a score."""
    scored = zip(claims, scores, strict=True)
    return auc([ScoredItem(claim.query, score, claim.supported) for claim, score in scored if score is not None])


def with_interval(found: Agreement) -> str:
    """The value with its 95% interval."""
    low, high = found.interval or (float("nan"), float("nan"))
    return f"{found.value:.3f} ({low:.3f} to {high:.3f})"


def print_claims(session: LLMSession) -> None:
    """The AUC of each judge without a language model, on all claims and on the sample."""
    claims = expert_claims()
    chosen = sample_of(claims)
    judges: Mapping[str, Callable[[Sequence[LabelledClaim]], Scores]] = {
        "`overlap`: content words found": by_judge(judge_of("overlap", session)),
        "pairs of adjacent words found": by_function(bigrams_found),
        "ROUGE-L recall of the best sentence": by_function(best_rouge),
        "`wordllama`: cosine of the best sentence": by_judge(judge_of("wordllama", session)),
        "`minilm`: cosine of the best sentence": by_judge(judge_of("minilm", session)),
        "the shorter claim": by_function(claim_length),
    }
    rows = []
    for name, judge in judges.items():
        start = time.process_time()
        scores = judge(claims)
        spent = 1000 * (time.process_time() - start) / len(claims)
        part = agreement([claims[at] for at in chosen], [scores[at] for at in chosen])
        rows.append((name, with_interval(agreement(claims, scores)), with_interval(part), f"{spent:.2f}"))
    share = sum(claim.supported for claim in claims) / len(claims)
    answers = len({claim.query for claim in claims})
    print(f"ExpertQA: {len(claims):,} claims of {answers} answers, {share:.0%} fully supported by their evidence.\n")
    shown(("judge", f"AUC, {len(claims):,} claims", f"AUC, {SAMPLE} claims", "CPU ms a claim"), rows)


def scores_of(judge: str, claims: Sequence[LabelledClaim], threads: int) -> Scores:
    """The scores of a judge; replies of a model are cached."""
    with LLMSession(ResponseCaches(WORK), threads=threads) as session:
        return by_judge(judge_of(judge, session, threads=threads))(claims)


def print_models(models: Mapping[str, str], threads: int, limit: int) -> None:
    """The AUC of local language models on the sample, by the log-probabilities of Yes and No."""
    claims = expert_claims()
    chosen = [claims[at] for at in sample_of(claims)[:limit]]
    rows = []
    for name, judge in {**models, "`overlap`": "overlap", "`minilm`": "minilm"}.items():
        scores = scores_of(judge, chosen, threads)
        yes = [score for score in scores if score is not None]
        saying_yes = sum(score >= 0.5 for score in yes) / len(yes)
        rows.append((name, with_interval(agreement(chosen, scores)), f"{saying_yes:.0%}", len(scores) - len(yes)))
    true = sum(claim.supported for claim in chosen) / len(chosen)
    print(f"{len(chosen)} claims of ExpertQA, {true:.0%} fully supported.\n")
    shown(("judge", "AUC", "scores of at least .5", "failed"), rows)


CONTEXT = "Acme bought Zenith in 1999. The bridge was opened in 1932, carries trains and cost 6 million pounds."
CASES = (
    ("copied", "The bridge was opened in 1932.", True),
    ("in other words", "Locomotives have crossed the river there since the early thirties.", True),
    ("another number", "The bridge was opened in 1923.", False),
    ("negated", "The bridge was never opened in 1932.", False),
    ("roles swapped", "Zenith bought Acme in 1999.", False),
    ("two sentences mixed", "Acme opened the bridge in 1999.", False),
    ("invented", "Its towers were painted red after the war.", False),
)


def print_cases(models: Mapping[str, str]) -> None:
    """The scores of true and false claims against one context."""
    names = {"`overlap`": "overlap", "`wordllama`": "wordllama", "`minilm`": "minilm", **models}
    claims = [LabelledClaim("1", "", text, (CONTEXT,), true) for _, text, true in CASES]
    columns = [scores_of(name, claims, threads=1) for name in names.values()]
    print(f"> {CONTEXT}\n")
    rows = [
        (what, text, "yes" if true else "no", *(f"{score:.2f}" for score in scores if score is not None))
        for (what, text, true), *scores in zip(CASES, *columns, strict=True)
    ]
    shown(("", "claim", "true", *names), rows)


def main() -> None:
    """Prints Markdown tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rag_judges", description=__doc__)
    parser.add_argument("--models", action="store_true", help="ask local language models about 200 claims")
    parser.add_argument("--cases", action="store_true", help="score seven claims against one context")
    parser.add_argument("--limit", type=int, default=SAMPLE, help="ask models about the first N claims of the sample")
    parser.add_argument("--speed", action="store_true", help="time the overlap judge on 10,000 answers")
    parser.add_argument("--gguf", type=Path, default=GGUF)
    parser.add_argument("-j", "--threads", type=int, default=1)
    asked = parser.parse_args()
    models = {"SmolLM2-135M": "logprob:smollm2", "Qwen2.5-Coder-1.5B": f"logprob:{asked.gguf}"} if asked.models else {}
    if asked.speed:
        print_speed()
    elif asked.cases:
        print_cases(models)
    elif models:
        print_models(models, asked.threads, asked.limit)
    else:
        with LLMSession() as session:
            print_claims(session)
            print()
            print_pairs(DATA / "ragchecker-meta" / "data.jsonl", lambda name: judge_of(name, session))


if __name__ == "__main__":
    main()
