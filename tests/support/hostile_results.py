"""Results in which every text that a page shows is hostile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rankproof import evaluate
from rankproof._data.answers import Answer, Answers
from rankproof._data.dataset import Queries, Query
from rankproof._data.qrels import Qrels
from rankproof._data.run import Run
from rankproof._experiment.answers import evaluate_answering_systems
from rankproof._results.experiment_result import ExperimentResult
from support.hostile_strings import STRINGS
from support.plot_results import wide_results

TEXTS = (*STRINGS, "nul\x00byte", "lone \ud800 surrogate", "a" + "\u0300" * 40)
"""What a text may hold, and an id may not."""


def harmful_results(systems: Sequence[str] = STRINGS, queries: Sequence[str] = STRINGS) -> ExperimentResult:
    """Names, ids, texts, snippets, answers, notes and the experiment itself, of the worst strings in turn."""
    results = wide_results(list(systems), list(queries), growth=1.1)
    renamed = {f"d{at}": STRINGS[at % len(STRINGS)] for at in range(30)}
    qrels = Qrels.from_dict(
        {query: {renamed[doc]: grade for doc, grade in docs.items()} for query, docs in results.qrels.items()}
    )
    runs = {system_run.name: _renamed(system_run.run, renamed) for system_run in results.system_runs}
    texts = Queries(
        [
            Query(query, TEXTS[at % len(TEXTS)], fields={"category": STRINGS[at % 8], "answers": [TEXTS[-at]]})
            for at, query in enumerate(queries)
        ]
    )
    system_runs = [
        replace(system_run, stored_run=runs[system_run.name], notes=(TEXTS[at % len(TEXTS)],))
        for at, system_run in enumerate(results.system_runs)
    ]
    answers = Answers({query: Answer(TEXTS[at % len(TEXTS)], (STRINGS[0],), STRINGS[:2]) for at, query in enumerate(queries)})
    system_runs[-1] = replace(system_runs[-1], kind="answer", answers=answers)
    measured = evaluate_answering_systems(system_runs, texts, qrels, None, rel=1, document=lambda doc: doc)
    return replace(
        results,
        name=STRINGS[1],
        qrels=qrels,
        system_runs=tuple(system_runs),
        texts=texts,
        result=evaluate(qrels, runs, ["nDCG@10", "RR@10", "R@20"]),
        snippets={doc: TEXTS[-at] for at, doc in enumerate(renamed.values())},
        experiment="\n".join(TEXTS),
        provenance={"dataset": STRINGS[0], "documents": 30, "created": STRINGS[2], STRINGS[3]: STRINGS[4]},
        notes=TEXTS,
        answers=measured.result,
    )


def _renamed(run: Run, names: dict[str, str]) -> Run:
    return run.changed(docs=tuple(names[doc] for doc in run.docs))
