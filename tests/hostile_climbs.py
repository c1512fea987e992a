"""A climb in which every text that a page shows comes from somebody who wishes it ill."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hostile import STRINGS
from plot_cases import wide_climb
from rankproof import evaluate
from rankproof.data.answers import Answer, Answers
from rankproof.data.qrels import Qrels
from rankproof.data.queries import Queries, Query
from rankproof.data.run import Run
from rankproof.experiment import Climb
from rankproof.experiment.answering import answers_result

TEXTS = (*STRINGS, "nul\x00byte", "lone \ud800 surrogate", "a" + "\u0300" * 40)
"""What a text may hold, and an id may not."""


def harmful_climb(systems: Sequence[str] = STRINGS, queries: Sequence[str] = STRINGS) -> Climb:
    """Names, ids, texts, snippets, answers, notes and the experiment itself, of the worst strings in turn."""
    climb = wide_climb(list(systems), list(queries), growth=1.1)
    renamed = {f"d{at}": STRINGS[at % len(STRINGS)] for at in range(30)}
    qrels = Qrels.from_dict({query: {renamed[doc]: grade for doc, grade in docs.items()} for query, docs in climb.qrels.items()})
    runs = {rung.name: _renamed(rung.run, renamed) for rung in climb.rungs}
    texts = Queries(
        [
            Query(query, TEXTS[at % len(TEXTS)], fields={"category": STRINGS[at % 8], "answers": [TEXTS[-at]]})
            for at, query in enumerate(queries)
        ]
    )
    rungs = [replace(rung, run=runs[rung.name], notes=(TEXTS[at % len(TEXTS)],)) for at, rung in enumerate(climb.rungs)]
    said = Answers({query: Answer(TEXTS[at % len(TEXTS)], (STRINGS[0],), STRINGS[:2]) for at, query in enumerate(queries)})
    rungs[-1] = replace(rungs[-1], kind="answer", answers=said)
    measured = answers_result(rungs, texts, qrels, None, rel=1, document=lambda doc: doc)
    return replace(
        climb,
        name=STRINGS[1],
        qrels=qrels,
        rungs=tuple(rungs),
        texts=texts,
        result=evaluate(qrels, runs, ["nDCG@10", "RR@10", "R@20"]),
        snippets={doc: TEXTS[-at] for at, doc in enumerate(renamed.values())},
        experiment="\n".join(TEXTS),
        provenance={"dataset": STRINGS[0], "documents": 30, "made": STRINGS[2], STRINGS[3]: STRINGS[4]},
        notes=TEXTS,
        answers=measured.result,
    )


def _renamed(run: Run, names: dict[str, str]) -> Run:
    return replace(run, docs=tuple(names[doc] for doc in run.docs))
