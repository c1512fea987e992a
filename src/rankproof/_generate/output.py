"""The tables and the dataset folder of generated queries."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from textwrap import indent
from typing import Any

from rankproof._data.corpus import Corpus
from rankproof._data.table import Column, Table
from rankproof._data.text import pluralise
from rankproof._formats.json import json_line
from rankproof._formats.texts import text_blocks
from rankproof._formats.write import qrels_blocks
from rankproof._generate.generated_queries import REJECT_REASONS, GeneratedQueries, RejectedQuery
from rankproof._io.files import write_blocks
from rankproof._io.temporary import temporary_folder
from rankproof._llm.budget import Estimate
from rankproof._llm.call_counts import reply_notes
from rankproof.errors import UsageError
from rankproof.models._chat.base import ChatModel

_EXAMPLES = 3
REPORT_FILE = "generate.json"


def shortfall_notes(generated: GeneratedQueries) -> list[str]:
    """Notes on categories with too few queries and on failed documents."""
    notes = [
        f"{category}: {pluralise(count, 'query', 'queries')} fewer than wanted"
        for category, count in generated.missing_counts().items()
        if count
    ]
    if generated.failed:
        failed = pluralise(len(generated.failed), "document")
        notes.append(f"{failed} failed: the model gave no valid reply; the report lists the errors")
    return notes


def generated_table(generated: GeneratedQueries, check: Mapping[str, Any] | None, usage: Mapping[str, Any]) -> Table:
    """Counts by category, the reject reasons in words, and the share of targets that BM25 finds where it was checked.

    `usage` has the counts of the calls of a language model.
    """
    counts = generated.counts()
    reasons = [reason for reason in REJECT_REASONS if any(reason in count["rejected"] for count in counts.values())]
    checked = (Column("bm25 finds", "share", "targets in the top 10 of BM25"),) if check else ()
    columns = (Column("category"), *(Column(name, "count") for name in ("wanted", "kept", "failed", *reasons)), *checked)
    rows = []
    for category, counted in counts.items():
        share = () if not check else (_found_share(check["categories"].get(category)),)
        rejected = (counted["rejected"].get(reason, 0) for reason in reasons)
        rows.append((category, counted["wanted"], counted["kept"], counted["failed"], *rejected, *share))
    return Table(
        "generate",
        f"{pluralise(len(generated.kept), 'query', 'queries')} by {generated.judge_label}",
        columns,
        tuple(rows),
        sentences=tuple(f"{reason}: {REJECT_REASONS[reason]}." for reason in reasons),
        notes=(*shortfall_notes(generated), *reply_notes(usage)),
        facts={
            "generated_by": generated.judge_label,
            "kept": len(generated.kept),
            "wanted": sum(generated.wanted.values()),
            "check": check,
        },
    )


def example_table(generated: GeneratedQueries) -> Table:
    """The first queries of each category."""
    rows = []
    for category in generated.wanted:
        own = [query for query in generated.kept if query.source.category == category]
        rows += [(category, query.text, query.source.docs[0]) for query in own[:_EXAMPLES]]
    columns = (Column("category"), Column("query"), Column("target"))
    return Table("generate-examples", "First queries of each category", columns, tuple(rows))


def cost_estimate_table(wanted: Mapping[str, int], most: Estimate, model: ChatModel | None) -> Table:
    """The estimated cost of the calls; makes no call."""
    usage = most.usage(model.price_in, model.price_out) if model else most.usage(0, 0)
    money = usage.money if model and (model.price_in or model.price_out) else None
    columns = (
        Column("queries", "count"),
        *(Column(name, "count") for name in ("calls", "tokens in", "tokens out")),
        Column("money", "number", "at the model's prices; empty if no price is set"),
    )
    note = "No call was made. 4 characters count as a token; an invalid reply and a rejected query cost another call."
    row = (sum(wanted.values()), most.calls, most.tokens_in, most.tokens_out, money)
    return Table("generate-plan", "Estimated cost", columns, (row,), sentences=(note,), facts={"wanted": dict(wanted)})


def _found_share(counts: Mapping[str, int] | None) -> float | None:
    return counts["found"] / counts["of"] if counts else None


def check_new_folder(folder: str) -> None:
    """Rejects a folder that exists."""
    if not folder:
        raise UsageError("no output folder", fix="name one with -o")
    if "\0" in folder:
        raise UsageError("the output folder has no valid name", fix="name another with -o")
    if os.path.lexists(folder):
        raise UsageError(f"{folder} exists", fix="specify a folder that does not exist yet")


def write_generated(generated: GeneratedQueries, report: Mapping[str, Any], folder: str, corpus: Corpus | None = None) -> None:
    """Writes the folder atomically; with the documents it is a dataset for `rankproof run`."""
    check_new_folder(folder)
    above = os.path.dirname(os.path.abspath(folder))
    try:
        os.makedirs(above, exist_ok=True)
        # Renamed as a whole, so that an interrupted command leaves no half-written dataset.
        with temporary_folder(above) as temporary:
            beside = temporary.path
            write_blocks(os.path.join(beside, "queries.jsonl"), _query_lines(generated))
            write_blocks(os.path.join(beside, "qrels.tsv"), _qrels_lines(generated))
            write_blocks(os.path.join(beside, REPORT_FILE), _report_blocks(report, generated.rejected))
            if corpus is not None:
                write_blocks(os.path.join(beside, "corpus.jsonl"), text_blocks(corpus))
            os.rename(beside, folder)
    except OSError as error:
        raise UsageError(f"{folder} could not be created ({error.strerror})", fix="specify a writable folder") from None


def _report_blocks(report: Mapping[str, Any], rejected: Sequence[RejectedQuery]) -> Iterator[bytes]:
    """The report with every rejected query as JSON; as one text, the queries would take far more memory than the file."""
    whole = json.dumps({**report, "rejected": []}, indent=2, ensure_ascii=True)
    yield (whole.removesuffix("]\n}") if rejected else whole + "\n").encode()
    for start in range(0, len(rejected), _REJECTED_PER_BLOCK):
        block = [
            json.dumps(query.plain(), indent=2, ensure_ascii=True) for query in rejected[start : start + _REJECTED_PER_BLOCK]
        ]
        text = indent(",\n".join(block), "    ")
        yield (("\n" if start == 0 else ",\n") + text).encode()
    if rejected:
        yield b"\n  ]\n}\n"


_REJECTED_PER_BLOCK = 1000


def _query_lines(generated: GeneratedQueries) -> Iterator[bytes]:
    for query in generated.kept:
        yield json_line({"_id": query.id, "text": query.text, **query.fields()})


def _qrels_lines(generated: GeneratedQueries) -> Iterator[bytes]:
    """TREC qrels with the label in the second column; BEIR qrels where a document id has white space."""
    qrels = generated.qrels()
    spaced = any(doc.split() != [doc] for docs in qrels.values() for doc in docs)
    return qrels_blocks(qrels, "beir" if spaced else "trec")
