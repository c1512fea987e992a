"""The importers by name, the detection of a source's kind, and the import itself."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from shlex import quote
from typing import Annotated, Any

from rankproof._data.corpus import Corpus
from rankproof._data.dataset import Dataset
from rankproof._data.grades import GradeMap
from rankproof._data.row_errors import OnConflict
from rankproof._formats.detect import DEFAULT_SPLIT, SAMPLE, corpus_files, is_irds_name
from rankproof._formats.documents import read_corpus_files
from rankproof._formats.frames import is_frame
from rankproof._formats.read import read_folder_corpus, read_plain_dataset
from rankproof._formats.source_table import table_format
from rankproof._importers.base import Imported, Importer, ImportOptions, ImportSource, is_dataset_folder
from rankproof._importers.rag_tables import COLUMN_SETTINGS
from rankproof._importers.table import read_table_documents
from rankproof._io.corpus_store import CorpusStorage
from rankproof._io.file_errors import file_error
from rankproof._io.open import STDIN, StrPath, open_source, path_text
from rankproof._io.paths import DATASET_PATTERN_FIX, is_pattern, matching_files
from rankproof._registry import Component, Option, Registry
from rankproof.errors import ExternalError, InputError, UsageError, for_message, type_phrase

_PACKAGE = "rankproof._importers"
TABLE, LOG = "table", "rag"
_IMPORT_OPTIONS = ("-column", "--from", "--set", "--delimiter", "--encoding")
"""Options that only `rankproof import` has: an error of another command that names one says so."""
IMPORTERS: Registry[Importer] = Registry(
    "importer",
    "rankproof.importers",
    (
        Component("beir", f"{_PACKAGE}.known_layouts:BEIR_FOLDER", "a folder with corpus, queries (JSONL, CSV or TSV) and qrels"),
        Component("esci", f"{_PACKAGE}.esci:ESCI", "Amazon's Shopping Queries: a table with esci_label, and one of products"),
        Component(
            "mteb",
            f"{_PACKAGE}.known_layouts:MTEB",
            "a folder of MTEB: corpus, queries, and qrels or default, as Parquet or JSONL",
        ),
        Component(
            "trec",
            f"{_PACKAGE}.trec:TREC_TOPICS",
            "TREC topics (<top>, XML, or lines of id and text) with qrels; MS MARCO's files",
            aliases=("msmarco",),
        ),
        Component("irds", f"{_PACKAGE}.known_layouts:IR_DATASETS", "a dataset of ir_datasets: irds:NAME", "datasets"),
        Component(
            "rag",
            f"{_PACKAGE}.rag:RAG",
            "RAG logs of ragas, DeepEval, TruLens, LlamaIndex, Haystack, RAGChecker or rankproof, one file for each system",
            aliases=("ragas", "deepeval", "trulens", "haystack"),
        ),
        Component(
            "langsmith",
            f"{_PACKAGE}.examples:LANGSMITH",
            "examples or runs of LangSmith: inputs, outputs and metadata of free keys",
        ),
        Component("phoenix", f"{_PACKAGE}.examples:PHOENIX", "examples of Phoenix: input, output and metadata of free keys"),
        Component("promptfoo", f"{_PACKAGE}.promptfoo:PROMPTFOO", "tests and results of promptfoo in YAML, JSON, JSONL or CSV"),
        Component(
            "trec-rag",
            f"{_PACKAGE}.trec_rag:TREC_RAG",
            "candidates of RankLLM and Anserini, and answers of TREC RAG, in JSONL or JSON, with qrels",
            aliases=("rankllm", "anserini"),
        ),
        Component(
            "pyvespa", f"{_PACKAGE}.json_exports:PYVESPA", "queries and relevant_docs of an evaluation with pyvespa in JSON"
        ),
        Component("autorag", f"{_PACKAGE}.autorag:AUTORAG", "qa.parquet and corpus.parquet of AutoRAG, or the folder with both"),
        Component("llama-index", f"{_PACKAGE}.json_exports:LLAMA_INDEX", "an EmbeddingQAFinetuneDataset of LlamaIndex in JSON"),
        Component("quepid", f"{_PACKAGE}.quepid:QUEPID", "exports of a case, a snapshot or a book of Quepid"),
        Component(
            "elasticsearch", f"{_PACKAGE}.rank_eval:RANK_EVAL", "a _rank_eval request, and its responses as one system each"
        ),
        Component(
            "opensearch",
            f"{_PACKAGE}.json_exports:OPENSEARCH",
            "judgement lists and query sets of the Search Relevance Workbench",
        ),
        Component("ubi", f"{_PACKAGE}.ubi:UBI", "queries and events of User Behavior Insights: clicks become judgements"),
        Component(
            TABLE, f"{_PACKAGE}.table:TABLE", "a table with a column for the query and one for the document's text or title"
        ),
    ),
    needs=("detect", "read"),
)
"""The importer `table` takes what no other one recognises."""


def import_source(
    source: StrPath | Sequence[StrPath] | Any,
    options: ImportOptions | None = None,
    *,
    importer: str | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    storage: CorpusStorage | None = None,
) -> Imported:
    """The dataset in files, a folder or a data frame; the importer is detected by content unless it is named."""
    how = options or ImportOptions()
    opened = opened_source(source, delimiter, encoding, storage)
    name = _detected_importer(opened, how) if importer is None else importer
    chosen = importer_named(name)
    how = replace(how, settings=split_settings(how.settings, chosen.settings))
    check_settings(name, chosen, how.settings)
    _check_options(name, chosen, how)
    return chosen.read(opened, how)


def check_settings(name: str, importer: Importer, settings: Mapping[str, str]) -> None:
    """Refuses a setting that the importer does not have."""
    for setting, value in settings.items():
        if setting not in importer.settings:
            role = str(value).partition(",")[0]
            if role in COLUMN_SETTINGS:
                fix = f"write the setting first, then the column: --set {quote(f'{role}={setting}')}"
                raise UsageError(f"no setting is called {for_message(setting)}", fix=fix)
            known = (
                f"choose from: {', '.join(importer.settings)}"
                if importer.settings
                else "leave it out: this importer has no settings"
            )
            raise UsageError(f"the importer {name} has no setting {for_message(setting)}", fix=known)


def _detected_importer(source: ImportSource, options: ImportOptions) -> str:
    """The importer of the source; if a setting names a column of a RAG log, that or one with the same settings."""
    columns = {_with_dashes(name, COLUMN_SETTINGS) for name in options.settings} & COLUMN_SETTINGS.keys()
    if not columns:
        return detect_importer(source)
    names = [name for name in _recognised_names(source, []) if columns <= importer_named(name).settings.keys()]
    return names[0] if len(names) == 1 else LOG


def split_settings(settings: Mapping[str, str], names: Collection[str]) -> dict[str, str]:
    """The settings, those in one text apart: `question=ask,answer=reply`; a comma before another word belongs to the value."""
    separated: dict[str, str] = {}
    known = "|".join(re.escape(name).replace(r"\-", "[-_]") for name in names) or "$."
    for name, value in settings.items():
        for part in re.split(rf",(?=(?:{known})=)", f"{name}={value}"):
            key, _, text = part.partition("=")
            separated[_with_dashes(key, names)] = text
    return separated


def _with_dashes(name: str, known: Collection[str]) -> str:
    """The name of a setting, which may be written with underscores as columns are."""
    plain = name.replace("_", "-")
    return plain if plain in known and name not in known else name


def _check_options(name: str, importer: Importer, options: ImportOptions) -> None:
    """Refuses options that an importer of this package would ignore."""
    if name in IMPORTERS.entry_points():
        return
    if options.split != DEFAULT_SPLIT and not getattr(importer, "has_splits", False):
        raise UsageError(f"the importer {name} has no splits", fix="leave out --split")
    if (options.grade_map or options.on_conflict != "error") and not getattr(importer, "has_grades", True):
        option = "--grade-map" if options.grade_map else "--on-conflict"
        raise UsageError(f"the importer {name} has no grades: what its file calls relevant is grade 1", fix=f"leave out {option}")
    if options.named_columns and name != TABLE:
        what = f"{options.named_columns[0]}: the importer {name} knows its columns"
        raise UsageError(what, fix=f"leave it out, or use --from {TABLE}")


def read_dataset(
    path: Annotated[StrPath, Option("a folder, irds:NAME, sample, or what `import_dataset` reads")],
    *,
    split: Annotated[str, Option("which file of judgements, if there are several")] = DEFAULT_SPLIT,
    grade_map: Annotated[GradeMap | None, Option("the grade of each named label")] = None,
    on_conflict: Annotated[OnConflict, Option("which grade to keep if a document is judged twice")] = "error",
) -> Dataset:
    """Documents, queries and judgements of a folder, of a table or other file, of `irds:NAME`, or of the built-in `sample`.

    A folder needs only queries; documents and judgements that it does not have are empty. `split` selects the file of qrels.
    A folder called sample is `./sample`. A source of another kind is imported as `import_dataset` does. The documents of a large
    folder are kept in the cache folder and found there again.
    """
    return read_stored_dataset(path, CorpusStorage(), split=split, grade_map=grade_map, on_conflict=on_conflict)


def read_stored_dataset(
    path: StrPath,
    storage: CorpusStorage,
    *,
    split: str = DEFAULT_SPLIT,
    grade_map: GradeMap | None = None,
    on_conflict: OnConflict = "error",
) -> Dataset:
    """The dataset, as `read_dataset` reads it, with its documents in that storage."""
    name = path_text(path)
    check_no_pattern(name)
    if name == SAMPLE or is_irds_name(name) or not os.path.exists(name) or is_dataset_folder(name):
        return read_plain_dataset(name, split=split, grade_map=grade_map, on_conflict=on_conflict, storage=storage)
    try:
        options = ImportOptions(grade_map=grade_map, on_conflict=on_conflict, split=split)
        imported = import_source(name, options, storage=storage)
    except InputError as error:
        if not any(option in error.fix for option in _IMPORT_OPTIONS):
            raise
        fix = f"import it first, with rankproof import or import_dataset; {error.fix}"
        raise InputError(error.what, fix=fix, source=error.source, line=error.line) from None
    return replace(imported.dataset, notes=(*_unused_parts(imported), *imported.report.sentences()))


def check_no_pattern(path: str) -> None:
    """Refuses a pattern of files where a dataset is expected."""
    if is_pattern(path):
        raise InputError("a pattern of files is not a dataset", fix=DATASET_PATTERN_FIX, source=path)


def _unused_parts(imported: Imported) -> Iterator[str]:
    """Says that a dataset alone leaves out the rankings and answers of its source."""
    if imported.runs or imported.answers:
        left = " and ".join(what for what, parts in (("rankings", imported.runs), ("answers", imported.answers)) if parts)
        yield f"the {left} of the source are not used: rankproof import takes them"


def read_documents(path: StrPath) -> Corpus:
    """The documents of a dataset, of a JSONL file with ids and texts, of files that match a pattern, or of a table."""
    name = path_text(path)
    if is_pattern(name):
        return read_corpus_files(matching_files(name), CorpusStorage())
    if os.path.isdir(name) and name != SAMPLE and (is_dataset_folder(name) or corpus_files(name) or not os.listdir(name)):
        return read_folder_corpus(name)
    if os.path.isfile(name) and table_format(open_source(name)) == "jsonl":
        return read_corpus_files([name], CorpusStorage())
    if os.path.isfile(name):
        source = opened_source(name)
        if detect_importer(source) == TABLE:
            return read_table_documents(source)
    return read_dataset(name).require("documents").corpus


def importer_named(name: str) -> Importer:
    """The importer of that name."""
    if not isinstance(name, str) or name not in IMPORTERS:
        raise UsageError(f"no importer is called {for_message(str(name))}", fix=f"choose from: {', '.join(IMPORTERS)}")
    importer: Importer = IMPORTERS[name]
    return importer


def detect_importer(source: ImportSource) -> str:
    """The name of the only importer that recognises the source; none and several are errors."""
    unreadable: list[InputError] = []
    names = list(_recognised_names(source, unreadable))
    if len(names) > 1:
        what = f"may be {' or '.join(names)}"
        raise InputError(what, fix=f"name the importer, as in --from {names[0]}", source=source.name)
    if names:
        return names[0]
    if unreadable and source.plain_files:
        raise unreadable[0]
    if source.table is not None or source.tables:
        return TABLE
    fix = f"name the importer with --from NAME: {', '.join(IMPORTERS)}; the help of rankproof import says what each one reads"
    raise InputError("not recognised as a dataset", fix=fix, source=source.name)


def _recognised_names(source: ImportSource, unreadable: list[InputError]) -> Iterator[str]:
    """The importers but the table's that recognise the source; a package that cannot be loaded hides no other.

    A file that one importer cannot read may be of another kind, such as qrels whose first line is no header.
    """
    for name in IMPORTERS:
        try:
            if name != TABLE and importer_named(name).detect(source):
                yield name
        except InputError as error:
            unreadable.append(error)
        except ExternalError:
            if name not in IMPORTERS.entry_points():
                raise


def opened_source(
    source: Any, delimiter: str | None = None, encoding: str = "utf-8", storage: CorpusStorage | None = None
) -> ImportSource:
    """The files, folder or data frame to read; a missing file is an error."""
    made = ImportSource(delimiter=delimiter, encoding=encoding, storage=storage or CorpusStorage())
    if is_frame(source):
        return replace(made, frame=source)
    places = [source] if isinstance(source, str | os.PathLike) else source
    if not isinstance(places, Sequence) or not places:
        raise UsageError(f"source cannot be {type_phrase(source)}", fix="pass a path, a list of paths, or a data frame")
    paths = tuple(map(path_text, places))
    for path in paths:
        if path != STDIN and not is_irds_name(path) and not os.path.exists(path):
            raise file_error("missing", source=path)
    return replace(made, paths=paths)
