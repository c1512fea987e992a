"""Amazon's Shopping Queries (ESCI): examples with labels, and products by locale."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from rankproof._data.grades import GradeReader
from rankproof._data.qrels import Judgement
from rankproof._formats.source_table import SourceTable
from rankproof._importers.base import Imported, ImportOptions, ImportSource
from rankproof._importers.builder import DatasetBuilder, field_names, plain_fields
from rankproof.errors import InputError, for_message

GAINS = {"E": 100, "S": 10, "C": 1, "I": 0}
"""The gains of the ESCI paper (1, 0.1, 0.01, 0) times 100."""
_YES = ("1", "1.0", "true")
_LABELS = {"exact": "E", "substitute": "S", "complement": "C", "irrelevant": "I"}
_EXAMPLE_COLUMNS = {"query", "product_id", "product_locale", "esci_label"}
_PRODUCT_COLUMNS = {"product_id", "product_locale", "product_title"}
_TEXTS = ("product_description", "product_bullet_point")
_FIELDS = field_names(("product_brand", "product_color"))
_ROLES = {
    "query": "query",
    "query id": "query_id",
    "document id": "product_id",
    "title": "product_title",
    "text": " + ".join(_TEXTS),
    "grade": "esci_label",
    "fields": ", ".join(_FIELDS),
}


class EsciImporter:
    """Amazon's Shopping Queries: examples and products."""

    has_splits = True
    settings: Mapping[str, str] = {
        "locale": "us, es or jp; needed where the examples are of several",
        "small-version": "yes for the smaller set of the hard queries",
        "corpus": "all (products of the locale, the default) or judged (only those of the examples)",
    }

    def detect(self, source: ImportSource) -> bool:
        return _table_with(source, _EXAMPLE_COLUMNS) is not None

    def read(self, source: ImportSource, options: ImportOptions) -> Imported:
        examples, products = _table_with(source, _EXAMPLE_COLUMNS), _table_with(source, _PRODUCT_COLUMNS, without="esci_label")
        if examples is None:
            raise InputError("no table of examples", fix=_columns_fix(_EXAMPLE_COLUMNS), source=source.name)
        if products is None and "product_title" not in examples.names:
            raise InputError("no table of products", fix=_columns_fix(_PRODUCT_COLUMNS), source=source.name)
        builder = DatasetBuilder(source, replace(options, grade_map=options.grade_map or GAINS))
        builder.grades = GradeReader(examples.source, builder.options.grade_map)
        if options.grade_map is None:
            gains = ", ".join(f"{label}={gain}" for label, gain in GAINS.items())
            builder.notes.append(f"the grades are the gains of the ESCI paper times 100: {gains}")
        return builder.imported(_EsciRows(builder, options).judgements(examples, products), "esci", _ROLES)


class _EsciRows:
    """Reads the examples that the options choose, then their products."""

    def __init__(self, builder: DatasetBuilder, options: ImportOptions) -> None:
        self.builder, self.split = builder, options.split
        self.locale = options.settings.get("locale")
        self.is_small = options.switch("small-version")
        self.is_judged_only = options.is_judged_only
        self.judged: set[str] = set()
        self.locales: Counter[str] = Counter()

    def judgements(self, examples: SourceTable, products: SourceTable | None) -> Iterator[Judgement | None]:
        self.builder.place = examples.source
        for line, row in examples.rows():
            self.builder.counts.read("rows")
            reason = self._left_out(row)
            if reason is not None:
                self.builder.counts.drop("rows", reason, line=line)
                continue
            self.locales[str(row.get("product_locale"))] += 1
            yield self._judgement(row, line, with_product=products is None)
        self._check_one_locale(examples)
        if products is not None:
            self.builder.place = products.source
            for line, row in products.rows():
                self._add_product(row, line)

    def _left_out(self, row: Mapping[str, Any]) -> str | None:
        """Why the options leave the example out."""
        if "split" in row and row["split"] != self.split:
            return f"of split {row['split']}"
        if self.locale is not None and row.get("product_locale") != self.locale:
            return f"of locale {row.get('product_locale')}"
        return "not in the small version" if self.is_small and str(row.get("small_version")).lower() not in _YES else None

    def _judgement(self, row: Mapping[str, Any], line: int, *, with_product: bool) -> Judgement | None:
        query = self.builder.query(row.get("query_id"), row.get("query"), line=line)
        doc = self._document(row, line) if with_product else self.builder.document(row.get("product_id"), "", "", line=line)
        if query is None or doc is None:
            self.builder.counts.drop("rows", "without a query" if query is None else "without a product", line=line)
            return None
        self.judged.add(doc)
        label = str(row.get("esci_label") or "").strip()
        return self.builder.judgement(query, doc, _LABELS.get(label.lower(), label), line=line)

    def _add_product(self, row: Mapping[str, Any], line: int) -> None:
        self.builder.counts.read("products")
        if row.get("product_locale") not in self.locales:
            self.builder.counts.drop("products", "of another locale", line=line)
        elif self.is_judged_only and str(row.get("product_id")) not in self.judged:
            self.builder.counts.drop("products", "not in the examples", line=line)
        elif self._document(row, line) is None:
            self.builder.counts.drop("products", "whose id, title and text are all empty", line=line)

    def _document(self, row: Mapping[str, Any], line: int) -> str | None:
        text = "\n".join(filter(None, (self.builder.text(row.get(name), line) for name in _TEXTS)))
        return self.builder.document(
            row.get("product_id"), row.get("product_title"), text, lambda: plain_fields(row, _FIELDS), line=line
        )

    def _check_one_locale(self, examples: SourceTable) -> None:
        if len(self.locales) > 1:
            locales = ", ".join(f"{for_message(name)} ({count})" for name, count in self.locales.most_common())
            what = f"the examples are of several locales: {locales}"
            raise InputError(what, fix=f"choose one, as in --set locale={next(iter(self.locales))}", source=examples.source)
        if not self.locales:
            what = f"no example of split {for_message(self.split)}" + (f" and locale {self.locale}" if self.locale else "")
            raise InputError(what, fix="choose another with --split or --set locale=us", source=examples.source)


def _table_with(source: ImportSource, columns: set[str], *, without: str = "") -> SourceTable | None:
    tables = [source.table] if source.frame is not None and source.table is not None else list(source.tables.values())
    return next((table for table in tables if columns <= set(table.names) and without not in table.names), None)


def _columns_fix(columns: set[str]) -> str:
    return f"add a file with the columns {', '.join(sorted(columns))}"


ESCI = EsciImporter()
