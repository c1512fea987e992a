"""A real language model judges over real HTTP: that it works is asserted, how well it judges is not."""

from __future__ import annotations

from pathlib import Path

from plain_keep import corpus_of
from rankproof.asking.desk import Desk
from rankproof.data.queries import Queries, Query
from rankproof.experiment.replies import Books
from rankproof.judging.judge import JudgingGround
from rankproof.judging.language_judge import LanguageJudge
from rankproof.judging.pairs import Pair
from rankproof.judging.session import judge_pairs
from rankproof.models.chat.llama import Llama


def test_smollm2_gives_every_pair_a_grade_or_a_reason_and_is_not_asked_twice(smollm2: Llama, tmp_path: Path) -> None:
    corpus = corpus_of({"d1": "Bake the apple pie at 180 degrees for 40 minutes.", "d2": "A bicycle has two wheels."})
    queries, pairs = Queries([Query("q", "how long to bake an apple pie")]), [Pair("q", "d1"), Pair("q", "d2")]
    judge = LanguageJudge(smollm2, max_tokens=60)
    spent = []
    for _ in range(2):
        with Desk(Books(tmp_path)) as desk:
            report = judge_pairs(judge, pairs, JudgingGround(queries, corpus, desk), None, lambda *told: None)
            spent.append(desk.purse.spent)
    assert list(report.verdicts) == pairs
    for verdict in report.verdicts.values():
        assert verdict.why
        assert verdict.grade in (None, 0, 1, 2, 3)
        assert verdict.counts["tokens_in"] > 100
    assert spent[0].calls >= 2
    assert (spent[1].calls, spent[1].journaled) == (0, spent[0].calls)
