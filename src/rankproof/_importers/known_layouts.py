"""Datasets in known layouts: folders of BEIR and rankproof, datasets of ir_datasets, and MTEB's folders of Parquet or JSONL."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from rankproof._data.qrels import Judgement, judge_label
from rankproof._formats.detect import is_irds_name
from rankproof._formats.read import read_folder, read_plain_dataset
from rankproof._formats.source_table import SourceTable
from rankproof._importers.base import Imported, ImportOptions, ImportSource, is_dataset_folder, whole_dataset
from rankproof._importers.builder import DatasetBuilder, Fields, field_names, plain_fields
from rankproof.errors import InputError, for_message


class BeirFolderImporter:
    """corpus.jsonl, queries.jsonl and qrels."""

    has_splits = True
    settings: Mapping[str, str] = {}

    def detect(self, source: ImportSource) -> bool:
        return len(source.paths) == 1 and is_dataset_folder(source.paths[0])

    def read(self, source: ImportSource, options: ImportOptions) -> Imported:
        (folder,) = source.paths
        grades, rule = options.grade_map, options.on_conflict
        dataset = read_folder(folder, split=options.split, grade_map=grades, on_conflict=rule, storage=source.storage)
        return whole_dataset(dataset, "beir", source)


BEIR_FOLDER = BeirFolderImporter()


class IrDatasetsImporter:
    """irds:NAME, such as irds:beir/scifact/test."""

    settings: Mapping[str, str] = {}

    def detect(self, source: ImportSource) -> bool:
        return len(source.paths) == 1 and is_irds_name(source.paths[0])

    def read(self, source: ImportSource, options: ImportOptions) -> Imported:
        from importlib.metadata import version

        (name,) = source.paths
        grades, rule = options.grade_map, options.on_conflict
        dataset = read_plain_dataset(name, grade_map=grades, on_conflict=rule, storage=source.storage)
        return whole_dataset(dataset, "irds", source, [f"read by ir_datasets {version('ir_datasets')}"])


IR_DATASETS = IrDatasetsImporter()


_PARTS = {"corpus": "corpus", "queries": "queries", "qrels": "qrels", "default": "qrels", "top_ranked": "top_ranked"}
_SHARD = re.compile(r"(-[0-9]{5}-of-[0-9]{5})?\.[a-z]+(\.gz|\.zst)?$")
_QRELS_COLUMNS = {"query-id", "corpus-id", "score"}
_ROLES = {
    "query id": "queries: _id",
    "query": "queries: text",
    "document id": "corpus: _id",
    "title": "corpus: title",
    "text": "corpus: text",
    "grade": "qrels: score",
}
_KNOWN = ("_id", "id", "title", "text")


class MtebImporter:
    """MTEB's layout: the configs corpus, queries, and default or qrels."""

    has_splits = True
    settings: Mapping[str, str] = {"subset": "the subset, where folders are called SUBSET-corpus and so on"}

    def detect(self, source: ImportSource) -> bool:
        if is_dataset_folder(source.paths[0] if len(source.paths) == 1 else ""):
            return False
        part_names = [part for parts in _subsets(source).values() for part in parts]
        return "corpus" in part_names and "queries" in part_names and _has_qrels_columns(source) and _has_texts(source)

    def read(self, source: ImportSource, options: ImportOptions) -> Imported:
        subset = _chosen_subset(source, options)
        builder = DatasetBuilder(source, options)
        parts = {part: _of_split(files, options.split, part) for part, files in _subsets(source)[subset].items()}
        for part in ("corpus", "queries", "qrels"):
            if not parts.get(part):
                have = ", ".join(sorted(_splits(_subsets(source)[subset].get(part, {})))) or "none"
                what = f"no {part} of split {for_message(options.split)}; splits: {have}"
                raise InputError(what, fix="choose one with --split", source=source.name)
        if "top_ranked" in parts:
            builder.notes.append("top_ranked is not read: it lists the candidates of a reranker, not a ranking")
        return builder.imported(_judgements(parts, builder), "mteb", _ROLES)


def _judgements(parts: Mapping[str, list[SourceTable]], builder: DatasetBuilder) -> Iterator[Judgement | None]:
    for table in parts["corpus"]:
        builder.place = table.source
        for line, row, fields in _texts(table):
            builder.document(_id(row), row.get("title"), row.get("text"), fields, line=line, may_be_empty=True)
    for table in parts["queries"]:
        builder.place = table.source
        for line, row, fields in _texts(table):
            builder.query(_id(row), row.get("text"), fields, line=line)
    for table in parts["qrels"]:
        builder.place = builder.grades.source = table.source
        for line, row in table.rows():
            label = judge_label(row.get("judged-by", row.get("judged_by")))
            pair = row.get("query-id"), row.get("corpus-id")
            yield builder.judged_ids(*pair, row.get("score"), judge_label=label, line=line)


def _texts(table: SourceTable) -> Iterator[tuple[int, Mapping[str, Any], Fields]]:
    names = field_names(name for name in table.names if name not in _KNOWN)
    return ((line, row, partial(plain_fields, row, names)) for line, row in table.rows())


def _id(row: Mapping[str, Any]) -> object:
    return row.get("_id", row.get("id"))


def _subsets(source: ImportSource) -> dict[str, dict[str, dict[str, SourceTable]]]:
    """Subset to part to the tables of its files, by file name; a dataset without subsets has the subset ""."""
    subsets: dict[str, dict[str, dict[str, SourceTable]]] = {}
    for name, table in source.tables.items():
        config, slash, _ = name.removeprefix("data/").partition("/")
        config = config if slash else _SHARD.sub("", config)
        subset, dash, part = config.rpartition("-")
        if part in _PARTS and (dash or not subset):
            subsets.setdefault(subset, {}).setdefault(_PARTS[part], {})[name] = table
    return subsets


def _has_qrels_columns(source: ImportSource) -> bool:
    tables = [table for parts in _subsets(source).values() for table in parts.get("qrels", {}).values()]
    return bool(tables) and all(set(table.names) >= _QRELS_COLUMNS for table in tables)


def _has_texts(source: ImportSource) -> bool:
    """Whether the rows of corpus and queries have an id and a text under MTEB's names."""
    parts = [tables for subset in _subsets(source).values() for part, tables in subset.items() if part in ("corpus", "queries")]
    return all(
        "text" in table.names and not {"_id", "id"}.isdisjoint(table.names) for tables in parts for table in tables.values()
    )


def _chosen_subset(source: ImportSource, options: ImportOptions) -> str:
    known = _subsets(source)
    if not known:
        what = "no files of corpus, queries and qrels"
        raise InputError(what, fix="specify a folder with the folders corpus, queries, and qrels or default", source=source.name)
    chosen = options.settings.get("subset", "" if len(known) > 1 else next(iter(known), ""))
    if chosen not in known:
        what = f"no subset is called {for_message(chosen)}" if chosen else f"{len(known)} subsets"
        fix = f"choose one of {', '.join(map(for_message, known))} with --set subset=NAME"
        raise InputError(what, fix=fix, source=source.name)
    return chosen


def _splits(files: Mapping[str, SourceTable]) -> dict[str, list[SourceTable]]:
    """Split to its tables: `test-00000-of-00001.parquet` is of test."""
    splits: dict[str, list[SourceTable]] = {}
    for name, table in files.items():
        splits.setdefault(_SHARD.sub("", name.rpartition("/")[2]), []).append(table)
    return splits


def _of_split(files: Mapping[str, SourceTable], split: str, part: str) -> list[SourceTable]:
    """The tables of the split; a corpus and its queries often have one for all splits, qrels only if it is called so."""
    known = _splits(files)
    if split in known:
        return known[split]
    is_for_all = len(known) == 1 and (part != "qrels" or next(iter(known)) in ("qrels", "default"))
    return next(iter(known.values())) if is_for_all else []


MTEB = MtebImporter()
