"""Per-query values of 15 real systems on the collections beside the project, for simulations with a known truth.

`python -m benchmarks.real_values` runs what is not stored yet. A collection is stored as one array by measure, query and system.
`labelled_sets` are answers and passages of real systems with the labels of people and the scores of machine judges.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tools import shared_folder

from rankproof import Dataset, Experiment, read_dataset, read_qrels, run
from rankproof._data.arrays import FloatArray, IntArray
from rankproof._data.ordering import ranked_documents
from rankproof._data.wording.stop_words import stop_words_of
from rankproof._evaluation.claim_judges import OverlapJudge
from rankproof._formats.documents import read_corpus
from rankproof._formats.texts import read_queries
from rankproof._io.open import open_source
from rankproof.measures._answers import rouge_words, shared_words
from rankproof.models import MiniLM, WordLlama
from rankproof.stages import BM25, RRF, Dense, Fuse, KeywordScorer, Rerank
from rankproof.types import Stage

from .rag_judges import Scores, best_rouge, bigrams_found, by_function, by_judge, expert_claims
from .rag_pairs import measured, read_pairs, score_gaps

HERE = Path(__file__).parent
DATA = shared_folder.DATA
STORED = HERE / "work" / "real_values"
MEASURES = ("nDCG@10", "RR@10", "P@10", "Success@5")
COLLECTIONS: Mapping[str, Sequence[str]] = {
    "SciFact": ("scifact:test", "scifact:train"),
    "Cranfield": ("cranfield:test",),
    "CosQA": ("cosqa:test", "cosqa:dev"),
    "XQuAD": ("xquad-en:test",),
    "XQuAD, German": ("xquad-en/i18n:de",),
}
"""The parts of each collection, folder and split; values of all parts are joined."""


def systems() -> dict[str, Stage]:
    """The systems, roughly from cheap to expensive."""
    bm25, static, minilm = BM25(), Dense(WordLlama()), Dense(MiniLM())
    return {
        "bm25": bm25,
        "bm25-short": BM25(k1=0.9, b=0.4),
        "bm25-long": BM25(k1=2.5, b=1.0),
        "bm25-unstemmed": BM25(stemming=False),
        "bm25-all-words": BM25(stop_words=False),
        "bm25-characters": BM25(tokens="characters-4"),
        "keywords": Rerank(bm25, KeywordScorer()),
        "static": static,
        "hybrid-static": RRF((bm25, static)),
        "hybrid-static-z": Fuse((bm25, static), method="combsum", norm="z-score"),
        "minilm": minilm,
        "hybrid-min-max": Fuse((bm25, minilm), method="combsum", norm="min-max"),
        "hybrid-rrf": RRF((bm25, minilm)),
        "hybrid-z": Fuse((bm25, minilm), method="combsum", norm="z-score"),
        "hybrid-all": RRF((bm25, static, minilm)),
    }


@dataclass(frozen=True, slots=True)
class RealValues:
    """Values of one collection by measure, each a row for each query and a column for each system."""

    collection: str
    values: Mapping[str, FloatArray]


def real_values() -> list[RealValues]:
    """The values of every collection that is there, taken from the store where they are in it."""
    if not DATA.is_dir():
        raise SystemExit(f"{shared_folder.missing_data()}: nothing to simulate")
    return [RealValues(name, _collection(name, parts)) for name, parts in COLLECTIONS.items()]


def _collection(name: str, parts: Sequence[str]) -> dict[str, FloatArray]:
    path = STORED / f"{name}.npy"
    if not path.exists():
        print(f"{name}: running {len(systems())} systems", file=sys.stderr)
        found = [_part(part) for part in parts]
        STORED.mkdir(parents=True, exist_ok=True)
        np.save(path, np.array([np.concatenate([one[measure] for one in found]) for measure in MEASURES]))
    return dict(zip(MEASURES, np.load(path), strict=True))


def _part(part: str) -> dict[str, FloatArray]:
    experiment = Experiment(name="real-values", dataset=dataset_of_part(part), systems=systems(), measures=MEASURES)
    result = run(experiment).result
    return {name: np.column_stack([each.measures[name].values for each in result.systems]) for name in MEASURES}


def dataset_of_part(part: str) -> Dataset:
    """The dataset of a part of a collection."""
    name, split = part.split(":")
    folder = DATA / name
    if folder.name != "i18n":
        return read_dataset(folder, split=split)
    corpus, queries = (open_source(folder / f"{name}.{split}.jsonl") for name in ("corpus", "queries"))
    return Dataset(f"xquad-{split}", read_corpus(corpus), read_queries(queries), read_qrels(folder.parent / "qrels.tsv"))


@dataclass(frozen=True, eq=False, slots=True)
class LabelledSet:
    """Values of people and of a machine judge, an array for each system; `is_paired` if all have the same questions."""

    name: str
    judge: str
    people: tuple[FloatArray, ...]
    judged: tuple[FloatArray, ...]
    is_paired: bool = True

    def truth(self, shown: Sequence[int]) -> FloatArray:
        """People's mean of each of these systems over all its questions."""
        return np.array([self.people[at].mean() for at in shown])

    def drawn(self, n: int, shown: Sequence[int], random: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """People's and the judge's values of n questions drawn with replacement, by question and system.

        Where no question has answers of two systems, each system's answers are drawn on their own.
        """
        rows: list[IntArray] = [random.integers(0, len(self.people[at]), n) for at in shown]
        rows = rows[:1] * len(shown) if self.is_paired else rows
        columns = [(self.people[at][row], self.judged[at][row]) for at, row in zip(shown, rows, strict=True)]
        people, judged = zip(*columns, strict=True)
        return np.column_stack(people), np.column_stack(judged)


def labelled_sets() -> list[LabelledSet]:
    """Every labelled set with each of its judges."""
    if not DATA.is_dir():
        raise SystemExit(f"{shared_folder.missing_data()}: nothing to simulate")
    return [*expertqa_sets(), *ragchecker_sets(), *xquad_sets()]


def expertqa_sets() -> Iterator[LabelledSet]:
    """The share of supported claims in an answer, by experts and by judges of claims; a question has the answer of one system."""
    claims = expert_claims()
    judges = {
        "words found": by_judge(OverlapJudge()),
        "pairs of words found": by_function(bigrams_found),
        "ROUGE-L of the best sentence": by_function(best_rouge),
    }
    by_answer: dict[str, dict[str, list[int]]] = {}
    for at, claim in enumerate(claims):
        by_answer.setdefault(claim.system, {}).setdefault(claim.query, []).append(at)
    people: Scores = [float(claim.supported) for claim in claims]
    labels = answer_means(people, by_answer)
    for judge, score in judges.items():
        yield LabelledSet("ExpertQA", judge, labels, answer_means(score(claims), by_answer), is_paired=False)


def answer_means(scores: Scores, by_answer: Mapping[str, Mapping[str, Sequence[int]]]) -> tuple[FloatArray, ...]:
    """For each system the mean score of the claims of each answer; a claim without a score has 0."""
    return tuple(
        np.array([np.mean([scores[at] or 0.0 for at in places]) for places in answers.values()]) for answers in by_answer.values()
    )


def ragchecker_sets() -> Iterator[LabelledSet]:
    """A retriever or a language model against all others: which of two answers people and scores of answers prefer."""
    pairs = read_pairs(DATA / "ragchecker-meta" / "data.jsonl")
    people = np.array([np.mean(pair.preference["overall"]) / 2 for pair in pairs])
    lengths = score_gaps(pairs, lambda question, answer, reference: len(rouge_words(answer)))
    gaps = {
        "RAGChecker's F1 (Llama-3-70B)": np.array([pair.ragchecker[1] - pair.ragchecker[0] for pair in pairs]),
        "F1 of words": score_gaps(pairs, measured("F1(tokens='set',stop_words='english')")),
        "ROUGE-L": score_gaps(pairs, measured("ROUGE-L")),
        "the longer answer": np.sign(lengths),
    }
    for part in ("bm25", "gpt_4", "llama3_8b", "llama3_70b", "mixtral_8x7b"):
        side = np.array([(part in pair.systems[1]) - (part in pair.systems[0]) for pair in pairs])
        for judge, gap in gaps.items():
            yield LabelledSet("RAGChecker", judge, two_columns(people, side), two_columns(gap, side))


def two_columns(gaps: FloatArray, side: IntArray) -> tuple[FloatArray, ...]:
    """The values of a part and of the others where one answer of two is of the part: half the gap above and below 0.5."""
    gains = (gaps * side)[side != 0]
    return 0.5 + gains / 2, 0.5 - gains / 2


def xquad_sets() -> Iterator[LabelledSet]:
    """Whether the first passage of a retriever has the answer; the judge `static vectors` is also one of the retrievers."""
    dataset, every = dataset_of_part("xquad-en:test"), systems()
    shown = ("bm25", "bm25-unstemmed", "bm25-characters", "keywords", "static", "hybrid-static")
    judge = Dense(WordLlama(), depth=len(dataset.corpus))
    stages = {**{name: every[name] for name in shown}, "judge": judge}
    result = run(Experiment(name="passages", dataset=dataset, systems=stages, measures=("nDCG@10",)))
    rankings = {system.name: system.run for system in result.system_runs}
    first = {name: {query: docs[0] for query, docs in ranked_documents(rankings[name]).items()} for name in shown}
    cosines = {(row.query, row.doc): row.score for row in rankings["judge"].rows()}
    scores: dict[str, Callable[[str, str], float]] = {
        "words of the question found": lambda query, doc: _words_found(dataset.queries[query].text, dataset.corpus[doc].text),
        "static vectors": lambda query, doc: cosines[query, doc],
    }

    def values(score: Callable[[str, str], float]) -> tuple[FloatArray, ...]:
        return tuple(np.array([score(query, tops[query]) for query in dataset.qrels]) for tops in first.values())

    people = values(lambda query, doc: float(dataset.qrels[query].get(doc, 0) > 0))
    for name, score in scores.items():
        yield LabelledSet("XQuAD", name, people, values(score))


def _words_found(question: str, passage: str) -> float:
    words = shared_words(question, passage, stop_words=stop_words_of("english"))
    return len(words.shared) / max(1, len(words.answer))


def main() -> None:
    """Prints the mean nDCG@10 of each system on each collection."""
    for one in real_values():
        values = one.values["nDCG@10"]
        means = ", ".join(f"{name} {mean:.3f}" for name, mean in zip(systems(), values.mean(axis=0), strict=True))
        print(f"{one.collection} ({len(values):,} queries): {means}")


if __name__ == "__main__":
    main()
