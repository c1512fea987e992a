"""Pages with the query table alone, without the rest of the report."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rankproof import evaluate
from rankproof._data.answers import Answer, Answers
from rankproof._data.dataset import Queries, Query
from rankproof._data.qrels import Qrels
from rankproof._data.run import Run
from rankproof._formats.detect import open_file
from rankproof._report.explorer import explorer_blocks
from rankproof._report.page import content_security_policy, packed_block, page_script, render_template, stylesheet
from rankproof._results.experiment_result import TIME_COLUMNS, ExperimentResult
from rankproof._sample import sample_files, sample_folder
from support.small_results import small_results

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


def page_alone(results: ExperimentResult) -> str:
    """The same parts under the same policy as in the report."""
    blocks = "".join(
        f'<script type="text/plain" id="{name}">{packed_block(block)}</script>'
        for name, block in explorer_blocks(results).items()
    )
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>queries</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{content_security_policy([page_script()], [stylesheet()])}">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{stylesheet()}</style></head><body>'
        '<h1>A page</h1><nav class="contents" aria-label="Contents"><ol><li><a href="#queries">Every query</a></li></ol></nav>'
        f'<main id="main">{render_template("explorer.html.j2")}</main>{blocks}<script>{page_script()}</script></body></html>'
    )


def blocks_of(page: str) -> dict[str, Any]:
    """The data of a page by name."""
    blocks = re.findall(r'<script type="text/plain" id="(\w+)">(.*?)</script>', page)
    return {name: json.loads(zlib.decompress(base64.b64decode(block))) for name, block in blocks}


def written(page: str, folder: Path) -> str:
    """The address of the page as a file of that folder."""
    (folder / "page.html").write_text(page, encoding="utf-8")
    return (folder / "page.html").as_uri()


def kitchen_results(measures: Sequence[str] = (*EXPLAINED, *OTHERS), *, half_judged: Sequence[str] = ()) -> ExperimentResult:
    """Results of the sample; each run has the one before it as its baseline; `half_judged` queries lose their grades of 0."""
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
    results = small_results(tuple(runs), asked)
    return replace(
        results,
        result=evaluate(qrels, runs, list(measures)),
        system_runs=tuple(replace(system_run, stored_run=runs[system_run.name]) for system_run in results.system_runs),
        qrels=qrels,
        texts=Queries(queries),
        snippets=snippets,
        rel=1,
    )


def many_queries(queries: int, systems: int) -> ExperimentResult:
    """As many queries and systems as asked for, ten documents each."""
    draws = np.random.default_rng(5)
    names = tuple(f"system {at}" for at in range(systems))
    ids = tuple(f"q{at:05}" for at in range(queries))
    docs = [f"d{at}" for at in range(200)]
    qrels = Qrels.from_dict({query: {docs[at % 200]: 1} for at, query in enumerate(ids)})
    scores = np.linspace(1.0, 0.1, 10)
    runs = {
        name: Run.from_rankings(name, ids, [([docs[(start + at) % 200] for at in range(10)], scores) for start in starts])
        for name, starts in zip(names, draws.integers(0, 200, (systems, queries)).tolist(), strict=True)
    }
    results = small_results(names)
    times = dict.fromkeys(TIME_COLUMNS, np.zeros(queries))
    return replace(
        results,
        queries=ids,
        result=evaluate(qrels, runs, ["nDCG@10", "RR@10"]),
        system_runs=tuple(
            replace(system_run, stored_run=runs[system_run.name], times=times) for system_run in results.system_runs
        ),
        qrels=qrels,
        texts=Queries([Query(query, f"what is {query}?") for query in ids]),
        rel=1,
    )


def unusual_results(strings: Sequence[str]) -> ExperimentResult:
    """The strings as ids of queries and documents, names of systems, fields, texts, snippets and answers."""
    names, ids = tuple(strings[:3]), tuple(strings)
    results = small_results(names, ids, strings)
    texts = [Query(query, text, fields={text[:20]: text, "category": text}) for query, text in zip(ids, strings, strict=True)]
    answers = Answers({query: Answer(text, cited=(text,)) for query, text in zip(ids, strings, strict=True)})
    return replace(
        results,
        texts=Queries(texts),
        snippets={doc: f"{doc} · {doc}" for doc in strings},
        system_runs=tuple(replace(system_run, answers=answers) for system_run in results.system_runs),
    )


def _texts(path: Path) -> list[Query]:
    import json

    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    own = ("_id", "title", "text")
    return [
        Query(row["_id"], row["text"], title=row.get("title", ""), fields={k: v for k, v in row.items() if k not in own})
        for row in rows
    ]
