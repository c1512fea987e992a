"""Runs, qrels and datasets from files, folders and ir_datasets."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from rankproof._data.corpus import Corpus, Document, TextRecord
from rankproof._data.dataset import Dataset, Queries, Query
from rankproof._data.grades import GradeMap, GradeReader
from rankproof._data.qrels import Judgement, Qrels
from rankproof._data.row_errors import OnConflict
from rankproof._data.run import Run
from rankproof._data.validation import ReadOptions
from rankproof._extras import extra
from rankproof._formats.csv import BEIR
from rankproof._formats.detect import (
    DEFAULT_SPLIT,
    IRDS_PREFIX,
    SAMPLE,
    SAMPLE_RUN_PREFIX,
    corpus_files,
    existing_file,
    find_file,
    is_irds_name,
    is_unjudged,
    open_file,
    other_qrels,
    qrels_file,
    qrels_path,
    query_names,
)
from rankproof._formats.registry import system_name
from rankproof._formats.rows import build_qrels, id_of_value, run_without_duplicates, subtopic_of_value
from rankproof._formats.texts import read_queries, text_blocks
from rankproof._io.file_errors import file_error
from rankproof._io.files import write_blocks
from rankproof._io.open import StrPath, open_source, path_text
from rankproof._io.paths import temporary_folder
from rankproof._registry import Option
from rankproof._sample import sample_files, sample_folder
from rankproof.errors import ExternalError, InputError, RankproofError, UsageError, escape_invisible, for_message

if TYPE_CHECKING:
    from rankproof._io.corpus_store import CorpusStorage


def read_qrels(
    path: Annotated[StrPath, Option("a file, a dataset folder, irds:NAME or sample")],
    *,
    format: Annotated[str | None, Option("its format", unset="detected")] = None,
    delimiter: Annotated[str | None, Option("column separator of CSV files")] = None,
    encoding: Annotated[str, Option("encoding of the file")] = "utf-8",
    grade_map: Annotated[GradeMap | None, Option("the grade of each named label")] = None,
    on_conflict: Annotated[OnConflict, Option("which grade to keep if a document is judged twice")] = "error",
) -> Qrels:
    """The judgements in a file, in a dataset's folder, of `irds:NAME`, or of the built-in `sample`.

    `grade_map` gives labels their grades; `on_conflict` chooses the grade of a pair that is judged twice.
    """
    name = path_text(path)
    if name == SAMPLE:
        return read_plain_dataset(name).qrels
    if is_irds_name(name):
        return read_irds_qrels(name, grade_map=grade_map, on_conflict=on_conflict)
    file = open_file(qrels_file(name), format=format, delimiter=delimiter, encoding=encoding)
    return file.qrels(grade_map=grade_map, on_conflict=on_conflict)


@contextmanager
def format_is_detected() -> Iterator[None]:
    """An error about the format of a file names `rankproof convert`, as no option of the caller sets the format."""
    try:
        yield
    except InputError as error:
        advice = r"convert the file first: rankproof convert IN OUT --from "
        fix = re.sub(r"pass the format with --(run|qrels)-format", f"{advice}FORMAT", error.fix)
        fix = re.sub(r"pass --qrels-format ([a-z]+)", rf"{advice}\1", fix)
        if fix == error.fix:
            raise
        raise InputError(error.what, fix=fix, source=error.source, line=error.line) from None


def read_run(
    path: Annotated[StrPath, Option("the file, or sample:bm25, sample:static and sample:hybrid")],
    *,
    format: Annotated[str | None, Option("its format", unset="detected")] = None,
    delimiter: Annotated[str | None, Option("column separator of CSV files")] = None,
    encoding: Annotated[str, Option("encoding of the file")] = "utf-8",
    name: Annotated[str | None, Option("name of the run", unset="that of the file")] = None,
    read_options: Annotated[ReadOptions | None, Option("order, duplicates and depth", unset="ReadOptions()")] = None,
) -> Run:
    """The run in a file, named after the file, without duplicates as `read_options` says.

    `sample:bm25`, `sample:static` and `sample:hybrid` are the runs of the built-in sample.
    """
    how = read_options or ReadOptions()
    if path_text(path).startswith(SAMPLE_RUN_PREFIX):
        return _sample_run(path_text(path).removeprefix(SAMPLE_RUN_PREFIX), name)
    file = open_file(path, format=format, delimiter=delimiter, encoding=encoding)
    return run_without_duplicates(file.run(name=name, read_options=how), how)


def read_plain_dataset(
    path: StrPath,
    *,
    split: str = "test",
    grade_map: GradeMap | None = None,
    on_conflict: OnConflict = "error",
    storage: CorpusStorage | None = None,
) -> Dataset:
    """Documents, queries and judgements of a folder, of `irds:NAME` or of the built-in `sample`.

    A folder needs only queries; documents and judgements that it does not have are empty. `split` selects the file of qrels.
    A folder called sample is `./sample`.
    """
    name = path_text(path)
    if name == SAMPLE:
        with sample_folder() as folder:
            return read_folder(folder)
    if is_irds_name(name):
        return read_irds_dataset(name, grade_map=grade_map, on_conflict=on_conflict, storage=storage)
    return read_folder(name, split=split, grade_map=grade_map, on_conflict=on_conflict, storage=storage)


def _sample_run(run: str, name: str | None) -> Run:
    with sample_files() as (_, *paths):
        known = {system_name(path): path for path in paths}
        if run not in known:
            fix = f"choose from: {', '.join(SAMPLE_RUN_PREFIX + system for system in known)}"
            raise UsageError(f"the sample has no run {for_message(run)}", fix=fix)
        return open_file(known[run]).run(name=name or run, read_options=ReadOptions())


def folder_queries(folder: str) -> Queries | None:
    """The queries of a folder, with their fields and weights; None without queries."""
    file = find_file(folder, query_names(DEFAULT_SPLIT))
    return None if file is None else _read_folder_queries(file)


def read_folder(
    folder: str,
    *,
    split: str = DEFAULT_SPLIT,
    grade_map: GradeMap | None = None,
    on_conflict: OnConflict = "error",
    storage: CorpusStorage | None = None,
) -> Dataset:
    """The dataset in the folder; a folder without documents, or without qrels of any split, gives a dataset without them."""
    corpus, queries = read_folder_texts(folder, split=split, storage=storage)
    if is_unjudged(folder, split):
        qrels = Qrels({}, source=folder)
    else:
        qrels = read_folder_qrels(folder, split=split, grade_map=grade_map, on_conflict=on_conflict)
    return Dataset(os.path.basename(os.path.abspath(folder)), corpus, queries, qrels)


@contextmanager
def _texts_in_utf8() -> Iterator[None]:
    """Leaves --encoding out of the fix of an error: documents and queries of a folder are always read as UTF-8."""
    try:
        yield
    except InputError as error:
        if "--encoding" not in error.fix:
            raise
        fix = re.split("[,;]", error.fix)[0]
        raise InputError(error.what, fix=fix, source=error.source, line=error.line) from None


@_texts_in_utf8()
def read_folder_texts(folder: str, *, split: str = DEFAULT_SPLIT, storage: CorpusStorage | None = None) -> tuple[Corpus, Queries]:
    """The documents and queries in the folder; the documents are empty where it has none."""
    _check_is_folder(folder)
    queries = read_queries(open_source(existing_file(folder, query_names(split), "queries")))
    files = corpus_files(folder)
    return _read_files(files, storage) if files else Corpus((), source=folder), queries


@_texts_in_utf8()
def _read_folder_queries(file: str) -> Queries:
    return read_queries(open_source(file))


@_texts_in_utf8()
def read_folder_corpus(folder: str) -> Corpus:
    """The documents in the folder, which needs nothing else."""
    _check_is_folder(folder)
    files = corpus_files(folder)
    if not files:
        raise file_error("folder-lacks", source=folder, what="documents", expected="corpus.jsonl")
    return _read_files(files, None)


def _read_files(files: Sequence[str], storage: CorpusStorage | None) -> Corpus:
    # Commands that read no documents load none of this.
    from rankproof._formats.documents import read_corpus_files
    from rankproof._io.corpus_store import CorpusStorage

    return read_corpus_files(files, storage or CorpusStorage())


def _check_is_folder(folder: str) -> None:
    if not os.path.isdir(folder):
        raise file_error("missing" if not os.path.exists(folder) else "not-a-folder", source=folder)


def read_folder_qrels(
    folder: str, *, split: str = DEFAULT_SPLIT, grade_map: GradeMap | None = None, on_conflict: OnConflict = "error"
) -> Qrels:
    """The judgements in the folder."""
    return open_file(qrels_path(folder, split=split)).qrels(grade_map=grade_map, on_conflict=on_conflict)


def queries_of_other_splits(folder: str, *, split: str = DEFAULT_SPLIT) -> frozenset[str]:
    """The judged queries of the folder's other splits; a file that cannot be read is ignored."""
    queries: set[str] = set()
    for path in other_qrels(folder, split=split):
        with suppress(RankproofError):
            queries.update(open_file(path).qrels())
    return frozenset(queries)


def write_folder(dataset: Dataset, folder: str) -> None:
    """Writes the dataset atomically as a BEIR folder, which must not exist; empty parts have no file."""
    if os.path.exists(folder):
        raise UsageError(f"{folder} exists", fix="specify a folder that does not exist yet")
    try:
        with temporary_folder(os.path.dirname(os.path.abspath(folder))) as temporary:
            beside = temporary.path
            write_blocks(os.path.join(beside, "queries.jsonl"), text_blocks(dataset.queries))
            if dataset.has_documents:
                write_blocks(os.path.join(beside, "corpus.jsonl"), text_blocks(dataset.corpus))
            if dataset.is_judged:
                os.mkdir(os.path.join(beside, "qrels"))
                write_blocks(os.path.join(beside, "qrels", f"{DEFAULT_SPLIT}.tsv"), BEIR.qrels_blocks(dataset.qrels))
            os.rename(beside, folder)
    except OSError as error:
        raise UsageError(f"{folder} cannot be created ({error.strerror})", fix="specify a writable folder") from None


_T = TypeVar("_T")
_Record = TypeVar("_Record", bound=TextRecord)
_TEXT_FIELDS = ("text", "title")


def read_irds_qrels(path: str, *, grade_map: GradeMap | None = None, on_conflict: OnConflict = "error") -> Qrels:
    """The judgements of `irds:NAME`."""
    grades = GradeReader(path, grade_map)
    name = path.removeprefix(IRDS_PREFIX)
    dataset = _load_dataset(name, "qrels")
    return _with_download_errors(name, lambda: build_qrels(_judgements(dataset.qrels_iter(), grades), grades, on_conflict))


def read_irds_dataset(
    path: str,
    *,
    grade_map: GradeMap | None = None,
    on_conflict: OnConflict = "error",
    storage: CorpusStorage | None = None,
) -> Dataset:
    """Documents, queries and judgements of `irds:NAME`; documents or judgements that it does not have are empty."""
    from rankproof._formats.documents import store_documents
    from rankproof._io.corpus_store import CorpusStorage

    name = path.removeprefix(IRDS_PREFIX)
    dataset = _load_dataset(name, "queries")
    documents = dataset.docs_iter if dataset.has_docs() else tuple
    records = _records(documents(), Document, "doc_id")
    corpus = _with_download_errors(name, lambda: store_documents(records, path, storage or CorpusStorage()))
    queries = _with_download_errors(name, lambda: Queries(_records(dataset.queries_iter(), Query, "query_id"), source=path))
    judged = dataset.has_qrels()
    qrels = read_irds_qrels(path, grade_map=grade_map, on_conflict=on_conflict) if judged else Qrels({}, source=path)
    return Dataset(name, corpus, queries, qrels)


def _load_dataset(name: str, *parts: str) -> Any:
    with extra("datasets"):
        import ir_datasets  # type: ignore[import-untyped,import-not-found,unused-ignore]
    try:
        dataset = ir_datasets.load(name)
    except KeyError:
        raise file_error("irds-unknown", source=IRDS_PREFIX + name, token=name) from None
    for part in parts:
        if not getattr(dataset, f"has_{part}")():
            raise file_error("irds-lacks", source=IRDS_PREFIX + name, token=name, what=part)
    return dataset


def _with_download_errors(name: str, work: Callable[[], _T]) -> _T:
    """The result of the work; ir_datasets downloads while it is read, and may raise anything."""
    try:
        return work()
    except RankproofError:
        raise
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        text = f"{IRDS_PREFIX}{name}: ir_datasets could not download it ({reason}); check the network and the disk"
        raise ExternalError(escape_invisible(text)) from None


def _judgements(rows: Iterable[Any], grades: GradeReader) -> Iterator[Judgement]:
    for line, row in enumerate(rows, start=1):
        query = id_of_value(row.query_id, "query", source=grades.source, line=line)
        doc = id_of_value(row.doc_id, "document", source=grades.source, line=line)
        grade = grades.of_value(row.relevance, query=query, doc=doc, line=line)
        named = getattr(row, "subtopic_id", getattr(row, "iteration", None))
        yield Judgement(query, doc, grade, line, subtopic=subtopic_of_value(named, source=grades.source, line=line))


def _records(rows: Iterable[Any], make: type[_Record], key: str) -> Iterator[_Record]:
    for row in rows:
        fields = {name: value for name, value in row._asdict().items() if name != key and name not in _TEXT_FIELDS}
        title = getattr(row, "title", "")
        text = getattr(row, "text", None)
        yield make(
            id=getattr(row, key), text=row.default_text() if text is None else text, title=title, fields=MappingProxyType(fields)
        )
