"""Pages that hold the table of queries alone, for what can be asked of it without the rest of the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from rankproof import evaluate
from rankproof.data.answers import Answer, Answers
from rankproof.data.qrels import Qrels
from rankproof.data.queries import Queries, Query
from rankproof.data.run import Run
from rankproof.experiment import Climb
from rankproof.experiment.rung import TIMES
from rankproof.formats.opened import open_file
from rankproof.report.assets import rendered, script, style
from rankproof.report.blocks import json_block
from rankproof.report.explorer import explorer_blocks
from rankproof.report.policy import policy
from rankproof.samples import sample_files, sample_folder
from small_climbs import small_climb

EXPLAINED = (
    "nDCG@10",
    "nDCG(gain='exp')@5",
    "nDCG(gain={1:1,2:5,3:20})@10",
    "nDCG",
    "DCG@10",
    "RR@10",
    "RR(rel=2)",
    "P@5",
    "R@20",
    "R(rel=2)@100",
    "AP",
    "AP@10",
    "Success@3",
)
OTHERS = ("NumRet", "ERR@10")


def page_alone(climb: Climb) -> str:
    """The same parts under the same policy as in the report."""
    blocks = "".join(
        f'<script type="application/json" id="{name}">{json_block(block)}</script>'
        for name, block in explorer_blocks(climb).items()
    )
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>queries</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{policy([script()], [style()])}">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{style()}</style></head><body>'
        '<h1>A page</h1><nav class="contents" aria-label="Contents"><ol><li><a href="#queries">Every query</a></li></ol></nav>'
        f'<main id="main">{rendered("explorer.html.j2")}</main>{blocks}<script>{script()}</script></body></html>'
    )


def written(page: str, folder: Path) -> str:
    """The address of the page as a file of that folder."""
    (folder / "page.html").write_text(page, encoding="utf-8")
    return (folder / "page.html").as_uri()


def kitchen_climb(measures: Sequence[str] = (*EXPLAINED, *OTHERS), *, half_judged: Sequence[str] = ()) -> Climb:
    """The sample's judgements, queries and runs, one over the other, as a climb; `half_judged` queries lose their grades of 0."""
    with sample_files() as paths, sample_folder() as folder:
        judged = open_file(paths[0]).qrels()
        runs = {Path(path).stem: open_file(path).run(name=Path(path).stem) for path in paths[1:]}
        queries = _texts(Path(folder, "queries.jsonl"))
        snippets = {one.id: f"{one.title} · {one.text}"[:300] for one in _texts(Path(folder, "corpus.jsonl"))}
    qrels = Qrels.from_dict(
        {
            query: {doc: grade for doc, grade in docs.items() if grade or query not in half_judged}
            for query, docs in judged.items()
        }
    )
    asked = tuple(query for query in qrels if any(query in run.queries for run in runs.values()))
    climb = small_climb(tuple(runs), asked)
    return replace(
        climb,
        result=evaluate(qrels, runs, list(measures)),
        rungs=tuple(replace(rung, run=runs[rung.name]) for rung in climb.rungs),
        qrels=qrels,
        texts=Queries(queries),
        snippets=snippets,
        rel=1,
    )


def many_queries(queries: int, systems: int) -> Climb:
    """As many queries and systems as asked for, ten documents each."""
    draws = np.random.default_rng(5)
    names = tuple(f"system {at}" for at in range(systems))
    ids = tuple(f"q{at:05}" for at in range(queries))
    docs = [f"d{at}" for at in range(200)]
    qrels = Qrels.from_dict({query: {docs[at % 200]: 1} for at, query in enumerate(ids)})
    scores = np.linspace(1.0, 0.1, 10)
    runs = {
        name: Run.of_rankings(name, ids, [([docs[(start + at) % 200] for at in range(10)], scores) for start in starts])
        for name, starts in zip(names, draws.integers(0, 200, (systems, queries)).tolist(), strict=True)
    }
    climb = small_climb(names)
    times = dict.fromkeys(TIMES, np.zeros(queries))
    return replace(
        climb,
        queries=ids,
        result=evaluate(qrels, runs, ["nDCG@10", "RR@10"]),
        rungs=tuple(replace(rung, run=runs[rung.name], times=times) for rung in climb.rungs),
        qrels=qrels,
        texts=Queries([Query(query, f"what is {query}?") for query in ids]),
        rel=1,
    )


def strange_climb(strings: Sequence[str]) -> Climb:
    """The strings as ids of queries and documents, names of systems, fields, texts, snippets and answers."""
    names, ids = tuple(strings[:3]), tuple(strings)
    climb = small_climb(names, ids, strings)
    texts = [Query(query, text, fields={text[:20]: text, "category": text}) for query, text in zip(ids, strings, strict=True)]
    answers = Answers({query: Answer(text, cited=(text,)) for query, text in zip(ids, strings, strict=True)})
    return replace(
        climb,
        texts=Queries(texts),
        snippets={doc: f"{doc} · {doc}" for doc in strings},
        rungs=tuple(replace(rung, answers=answers) for rung in climb.rungs),
    )


def _texts(path: Path) -> list[Query]:
    import json

    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    own = ("_id", "title", "text")
    return [
        Query(row["_id"], row["text"], title=row.get("title", ""), fields={k: v for k, v in row.items() if k not in own})
        for row in rows
    ]
