"""The figures of docs/rag-scores.md that need no model: agreement of words with people, on public data outside the repository."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import rag_judges, rag_pairs

from rankproof._data.arrays import FloatArray
from rankproof._evaluation.claim_judges import OverlapJudge
from support.shared_data import collection


@pytest.mark.slow
def test_words_hardly_tell_supported_claims_of_experts() -> None:
    collection("expertqa")
    claims = rag_judges.expert_claims()
    assert len(claims) == 1688
    by_words = rag_judges.agreement(claims, rag_judges.by_judge(OverlapJudge())(claims))
    by_pairs = rag_judges.agreement(claims, rag_judges.by_function(rag_judges.bigrams_found)(claims))
    assert by_words.items == 1688
    assert by_words.value == pytest.approx(0.592, abs=0.005)
    assert by_pairs.value == pytest.approx(0.614, abs=0.001)
    assert by_words.interval == pytest.approx((0.552, 0.637), abs=0.005)


def _figures(gaps: FloatArray, pairs: list[rag_pairs.AnswerPair], resamples: rag_pairs.Resamples) -> tuple[float, float]:
    labels = np.array([pair.preference["overall"] for pair in pairs], dtype=np.float64)
    share = resamples.means(rag_pairs.right_choices(gaps, labels))
    return float(share[0]), float(resamples.correlations(gaps, labels)[0])


@pytest.mark.slow
def test_sets_of_words_choose_the_better_answer_nearly_as_often_as_a_large_model() -> None:
    pairs = rag_pairs.read_pairs(collection("ragchecker-meta") / "data.jsonl")
    resamples = rag_pairs.Resamples(pairs)
    scored = {
        "set": rag_pairs.score_gaps(pairs, rag_pairs.measured("F1(tokens='set',stop_words='english')")),
        "claims": rag_pairs.score_gaps(pairs, rag_pairs.measured("ClaimF1")),
        "split": rag_pairs.score_gaps(pairs, rag_pairs.split_f1),
        "rouge": rag_pairs.score_gaps(pairs, rag_pairs.measured("ROUGE-L")),
        "ragchecker": np.array([pair.ragchecker[1] - pair.ragchecker[0] for pair in pairs]),
    }
    found = {name: _figures(gaps, pairs, resamples) for name, gaps in scored.items()}
    assert found["set"] == pytest.approx((0.745, 0.517), abs=0.001)
    assert found["claims"] == pytest.approx((0.762, 0.545), abs=0.001)
    assert found["split"] == pytest.approx((0.752, 0.529), abs=0.002)
    assert found["rouge"] == pytest.approx((0.743, 0.474), abs=0.001)
    assert found["ragchecker"] == pytest.approx((0.792, 0.619), abs=0.001)
