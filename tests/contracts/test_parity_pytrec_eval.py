"""pytrec_eval-terrier, which is trec_eval 9, gives our values under its rules: scores as float32, missing queries dropped."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.util import find_spec

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from rankproof._data.validation import ReadOptions
from rankproof.measures import parse_measure
from support.examples import examples
from support.paths import TESTS
from support.qrels_and_runs import Grades, Scores, aligned, qrels_of, runs

pytestmark = pytest.mark.skipif(find_spec("pytrec_eval") is None, reason="pytrec_eval is not installed")

ASKED = (
    *("iprec_at_recall", "11pt_avg"),
    *("map", "map_cut.1,3,5", "ndcg", "ndcg_cut.1,3,5", "P.1,3,20", "recall.1,3,20", "success.1,3", "recip_rank", "Rprec"),
    *("bpref", "infAP", "set_P", "set_recall", "set_F", "num_ret", "num_rel", "num_rel_ret"),
)
Oracle = Callable[[Grades, Scores, int, bool], dict[str, dict[str, float]]]


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    script = TESTS / "support" / "pytrec_eval_process.py"
    with subprocess.Popen([sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        to, back = process.stdin, process.stdout

        def ask(qrels: Grades, run: Scores, rel: int, judged_only: bool) -> dict[str, dict[str, float]]:
            question = {"qrels": qrels, "run": run, "measures": ASKED, "rel": rel, "judged_only": judged_only}
            to.write(json.dumps(question) + "\n")
            to.flush()
            answer = back.readline()
            assert answer, "pytrec_eval died"
            return json.loads(answer)  # type: ignore[no-any-return]

        yield ask
        to.close()


@examples(150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(qrels=qrels_of(lowest=-1), run=runs(), rel=st.integers(1, 2), judged_only=st.booleans())
def test_pytrec_eval_agrees_on_any_collection(oracle: Oracle, qrels: Grades, run: Scores, rel: int, judged_only: bool) -> None:
    shared = {query: docs for query, docs in run.items() if docs and query in qrels}
    hits = replace(aligned(qrels, shared, ReadOptions(float32=True)), trec_eval_9=True)
    hits = hits.judged_only() if judged_only else hits
    for query, values in oracle(qrels, shared, rel, judged_only).items():
        # Version 9 divides 0 by 0 where -J leaves no document.
        for name, value in ((name, value) for name, value in values.items() if not math.isnan(value)):
            ours = parse_measure(name).with_rel(rel).values(hits)[hits.queries.index(query)]
            assert ours == pytest.approx(value, abs=1e-9), f"{name} of {query}"


def test_scores_that_float32_cannot_tell_apart_are_tied_for_version_9_alone(oracle: Oracle) -> None:
    qrels, run = {"q": {"a": 1, "b": 0}}, {"q": {"a": 1.00000000001, "b": 1.0}}
    nine, ten = aligned(qrels, run, ReadOptions(float32=True)), aligned(qrels, run)
    assert oracle(qrels, run, 1, False)["q"]["recip_rank"] == 0.5
    assert [parse_measure("RR").values(hits)[0] for hits in (nine, ten)] == [0.5, 1.0]
