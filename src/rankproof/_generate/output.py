"""Report, tables, dataset folder."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rankproof._data import format_versions, validation
from rankproof._data.dataset import Corpus
from rankproof._data.table import Column, Table
from rankproof._data.text import pluralise
from rankproof._formats.json import json_line
from rankproof._formats.texts import text_blocks
from rankproof._formats.write import qrels_blocks
from rankproof._generate.draft import REJECT_REASONS
from rankproof._generate.filters import TermStatistics, round_trip
from rankproof._generate.generate import (
    MIN_DOCUMENT_WORDS,
    DocumentSampler,
    GeneratedQueries,
    check_categories,
    generate,
    initial_sources,
    split_count,
)
from rankproof._generate.llm import LLMGenerator
from rankproof._generate.rules import QueryGenerator, RuleGenerator
from rankproof._io.files import write_blocks
from rankproof._llm.budget import Estimate
from rankproof._llm.call_counts import estimation_note
from rankproof._llm.session import LLMSession
from rankproof._version import __version__
from rankproof.errors import UsageError
from rankproof.models._chat.base import ChatModel
from rankproof.stages._base import Progress
from rankproof.stages._fields import DEFAULT_FIELDS

FORMAT = "rankproof-generate-report"


def build_report(
    found: GeneratedQueries,
    generator: QueryGenerator,
    corpus: Corpus,
    sampler: DocumentSampler,
    seed: int,
    check: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """As JSON; every document that failed and every query that was left out is listed."""
    counts = found.counts()
    return {
        "format": FORMAT,
        "schema": format_versions.GENERATE_REPORT,
        "rankproof": __version__,
        "generated_by": found.judge_label,
        **generator.describe(),
        "seed": seed,
        "corpus": {
            "name": corpus.source,
            "documents": len(corpus),
            "with_too_few_words": len(corpus) - len(sampler.docs),
            "min_words": MIN_DOCUMENT_WORDS,
            "fingerprint": corpus.fingerprint(),
        },
        "wanted": sum(found.wanted.values()),
        "kept": len(found.kept),
        "categories": counts,
        "reasons": REJECT_REASONS,
        "check": check,
        "failed": [one.plain() for one in found.failed],
        "rejected": [one.plain() for one in found.rejected],
    }


def shortfall_notes(found: GeneratedQueries) -> list[str]:
    """What a reader must know of the numbers."""
    told = [
        f"{category}: {pluralise(count, 'query', 'queries')} fewer than wanted"
        for category, count in found.missing_counts().items()
        if count
    ]
    if found.failed:
        failed = pluralise(len(found.failed), "document")
        told.append(f"{failed} failed: the model gave no reply of use; the report has the reasons")
    return told


_EXAMPLES = 3


def generated_table(found: GeneratedQueries, check: Mapping[str, Any] | None, estimated: int = 0) -> Table:
    """Counts by category; each reason in words; what BM25 finds again where that was asked for.

    `estimated` is how many replies came without a count of their tokens.
    """
    counts = found.counts()
    met = [reason for reason in REJECT_REASONS if any(reason in each["rejected"] for each in counts.values())]
    checked = (Column("bm25 finds", "share", "targets among BM25's first 10"),) if check else ()
    columns = (Column("category"), *(Column(name, "count") for name in ("wanted", "kept", "failed", *met)), *checked)
    rows = []
    for category, each in counts.items():
        share = () if not check else (_found_share(check["categories"].get(category)),)
        left_out = (each["rejected"].get(reason, 0) for reason in met)
        rows.append((category, each["wanted"], each["kept"], each["failed"], *left_out, *share))
    return Table(
        "generate",
        f"{pluralise(len(found.kept), 'query', 'queries')} by {found.judge_label}",
        columns,
        tuple(rows),
        sentences=tuple(f"{reason}: {REJECT_REASONS[reason]}." for reason in met),
        notes=(*shortfall_notes(found), *filter(None, (estimation_note(estimated),))),
        facts={"generated_by": found.judge_label, "kept": len(found.kept), "wanted": sum(found.wanted.values()), "check": check},
    )


def example_table(found: GeneratedQueries) -> Table:
    """The first queries of each category."""
    rows = []
    for category in found.wanted:
        own = [one for one in found.kept if one.source.category == category]
        rows += [(category, one.text, one.source.docs[0]) for one in own[:_EXAMPLES]]
    columns = (Column("category"), Column("query"), Column("target"))
    return Table("generate-examples", "the first of each category", columns, tuple(rows))


def cost_estimate_table(wanted: Mapping[str, int], most: Estimate, model: ChatModel | None) -> Table:
    """What asking would come to; nobody is asked."""
    usage = most.usage(model.price_in, model.price_out) if model else most.usage(0, 0)
    money = usage.money if model and (model.price_in or model.price_out) else None
    columns = (
        Column("queries", "count"),
        *(Column(name, "count") for name in ("calls", "tokens in", "tokens out")),
        Column("money", "number", "at the model's prices; empty where nobody said them"),
    )
    said = "Nothing was asked. Tokens are estimated by 4 characters each; what is left out or of no use is asked for anew."
    row = (sum(wanted.values()), most.calls, most.tokens_in, most.tokens_out, money)
    return Table("generate-plan", "what it would take", columns, (row,), sentences=(said,), facts={"wanted": dict(wanted)})


def _found_share(found: Mapping[str, int] | None) -> float | None:
    return found["found"] / found["of"] if found else None


REPORT_FILE = "generate.json"


def check_new_folder(folder: str) -> None:
    """Refuses a folder that is there already."""
    if not folder or "\0" in folder:
        raise UsageError("the output folder has no name that could be one", fix="name one with -o")
    if os.path.lexists(folder):
        raise UsageError(f"{folder} exists", fix="name a folder that does not exist yet")


def write_generated(found: GeneratedQueries, report: Mapping[str, Any], folder: str, corpus: Corpus | None = None) -> None:
    """The folder, whole or not at all; with the documents it is a dataset that systems can be run on."""
    check_new_folder(folder)
    beside = os.path.join(os.path.dirname(os.path.abspath(folder)), f".rankproof-{os.urandom(8).hex()}.tmp")
    try:
        os.makedirs(beside)
        write_blocks(os.path.join(beside, "queries.jsonl"), _query_lines(found))
        write_blocks(os.path.join(beside, "qrels.tsv"), _qrels_lines(found))
        write_blocks(os.path.join(beside, REPORT_FILE), [json.dumps(report, indent=2, ensure_ascii=True).encode() + b"\n"])
        if corpus is not None:
            write_blocks(os.path.join(beside, "corpus.jsonl"), text_blocks(corpus))
        os.rename(beside, folder)
    except OSError as error:
        raise UsageError(f"{folder} cannot be made ({error.strerror})", fix="name a folder that can be written to") from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _query_lines(found: GeneratedQueries) -> Iterator[bytes]:
    for one in found.kept:
        yield json_line({"_id": one.id, "text": one.text, **one.fields()})


def _qrels_lines(found: GeneratedQueries) -> Iterator[bytes]:
    """TREC's four columns, the second with the mark; a document whose id holds white space needs tabs and a header instead."""
    qrels = found.qrels()
    spaced = any(doc.split() != [doc] for docs in qrels.values() for doc in docs)
    return qrels_blocks(qrels, "beir" if spaced else "trec")


MODEL_CATEGORIES = ("factual", "how-to", "keyword", "paraphrase")
"""What a model is asked for where nobody says."""


class GenerationPipeline:
    """Makes `count` queries of the categories from the documents: by rules, or by the model at the desk."""

    def __init__(
        self,
        corpus: Corpus,
        count: int,
        categories: Sequence[str] | None = None,
        fields: tuple[str, ...] = DEFAULT_FIELDS,
        seed: int = 0,
        model: ChatModel | None = None,
        session: LLMSession | None = None,
        progress: Progress = lambda label, done, total: None,
    ) -> None:
        self.corpus, self.model, self._seed = corpus, model, seed
        self._fields = validation.fields(fields)
        self._lexicon = TermStatistics(corpus, self._fields)
        self._drawing = DocumentSampler(corpus, self._lexicon, self._fields, seed)
        self._maker: QueryGenerator = RuleGenerator(corpus, self._lexicon, seed)
        if model is not None:
            self._maker = LLMGenerator(model, self._lexicon, session or LLMSession(), progress)
        usual = MODEL_CATEGORIES if model is not None else self._maker.categories()
        chosen = check_categories(usual if categories is None else categories, self._maker.categories())
        self.wanted: Mapping[str, int] = split_count(count, chosen)

    def estimate(self) -> Estimate:
        """What asking comes to if nothing is left out."""
        return self._maker.estimate(initial_sources(self._drawing, self.wanted))

    def generate(self) -> GeneratedQueries:
        """The queries."""
        return generate(self.corpus, self._lexicon, self._drawing, self._maker, self.wanted)

    def round_trip(self, found: GeneratedQueries) -> dict[str, Any]:
        """How many targets BM25 finds again."""
        return round_trip(self.corpus, found.kept, self._fields)

    def report(self, found: GeneratedQueries, check: Mapping[str, Any] | None) -> dict[str, Any]:
        """What is written beside the queries."""
        return build_report(found, self._maker, self.corpus, self._drawing, self._seed, check)
