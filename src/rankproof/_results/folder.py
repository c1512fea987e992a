"""Saves the results of an experiment as a folder of plain files, and loads them again."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from rankproof._data import format_versions
from rankproof._data.qrels import Qrels
from rankproof._data.run import Run
from rankproof._formats.csv import BEIR
from rankproof._formats.detect import OpenedFile
from rankproof._formats.json import parsed_lines
from rankproof._formats.texts import MAX_TEXT_BYTES, read_queries, text_blocks
from rankproof._formats.write import write_run
from rankproof._io import strict_json
from rankproof._io.escape import escape_json
from rankproof._io.files import (
    RESULT_FILE,
    RESULTS_FORMAT,
    check_replaceable,
    is_results_folder,
    open_plain_file,
    recover_folder,
    replace_folder,
    write_blocks,
)
from rankproof._io.open import StrPath, decode_line, first_bytes, open_folder_source, path_text, read_all_bytes
from rankproof._io.paths import file_names
from rankproof._io.streams import open_error
from rankproof._io.strict_json import JsonObject, has_own_digest, plain_record, with_digest
from rankproof._registry import Option
from rankproof._results.experiment_result import ExperimentResult
from rankproof._results.live_results import LIVE_FORMAT
from rankproof._results.result_json import (
    ANSWERS_CSV_FILE,
    ANSWERS_FILE,
    ANSWERS_SUMMARY_FILE,
    CASES_FOLDER,
    CHANGED_FIX,
    CHUNKS_FILE,
    CLAIMS_FILE,
    CONTEXTS_FILE,
    DAMAGED_FIX,
    DECISION_FILE,
    EXPERIMENT_FILE,
    LOOKS_FILE,
    PER_QUERY_FILE,
    PYTHON_PREFIX,
    QRELS_FILE,
    QUERIES_FILE,
    REPLIES_FOLDER,
    REPORT_FILE,
    RUNS_FOLDER,
    SNIPPETS_FILE,
    SUMMARY_FILE,
    ResultDocument,
    document_text,
    results_document,
)
from rankproof.errors import InputError, RankproofError, UsageError, for_message, type_phrase

if TYPE_CHECKING:
    from rankproof._results.stored_results import DocumentReader

_CHANGED = "the file was changed after the results were written"
_ANSWERS_FILES = (ANSWERS_FILE, CLAIMS_FILE, CONTEXTS_FILE)
_READ_FILES = (QUERIES_FILE, SNIPPETS_FILE, EXPERIMENT_FILE)
"""The files that are read again, besides result.json, qrels.tsv, the runs and the answers; their sha256 is in result.json."""
_OTHER_FILES = (
    QRELS_FILE,
    SUMMARY_FILE,
    DECISION_FILE,
    PER_QUERY_FILE,
    CHUNKS_FILE,
    REPORT_FILE,
    *_ANSWERS_FILES,
    ANSWERS_CSV_FILE,
    ANSWERS_SUMMARY_FILE,
    LOOKS_FILE,
)


def results_file_sha256(folder: str, name: str) -> str:
    """The sha256 of one file of the folder; `name` has slashes on every system."""
    with open_plain_file(os.path.join(folder, *name.split("/")), folder) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_unchanged(folder: str, digests: Mapping[str, str], names: Iterable[str]) -> None:
    """Refuses a folder in which one of these files was changed or is missing."""
    for name in names:
        if name not in digests:
            what = f"{for_message(f'sha256.{name}')} is missing"
            raise InputError(what, fix=DAMAGED_FIX, source=os.path.join(folder, RESULT_FILE))
        path = os.path.join(folder, *name.split("/"))
        try:
            digest = results_file_sha256(folder, name)
        except FileNotFoundError:
            raise InputError(
                "file not found", fix="the results folder is damaged: run the experiment again", source=path
            ) from None
        except OSError as error:
            raise open_error(error, path) from None
        if digest != digests[name]:
            raise InputError(_CHANGED, fix=CHANGED_FIX, source=path)


def load_results(
    path: Annotated[StrPath, Option("the results folder")],
) -> ExperimentResult:
    """Loads a results folder; its values are computed again from its files, and a value that differs is an error."""
    from rankproof._results.label_tasks import label_files
    from rankproof._results.stored_results import DocumentReader, checked_results
    from rankproof._results.system_files import (
        read_answers_file,
        read_claims_file,
        read_contexts_file,
        read_replies,
        replies_files,
    )

    folder = path_text(path)
    recover_folder(os.path.realpath(folder))
    values, is_original = _read_document(folder)
    document = values.read(ResultDocument)
    reader, digests = DocumentReader(document, folder), values.member("sha256", dict[str, str])
    names = [system.name for system in document.systems]
    present = {name for name in (QRELS_FILE, *_ANSWERS_FILES, *replies_files(names).values()) if name in digests}
    _check_files(folder, document, digests, present, reader)
    result = reader.result()
    answers = read_answers_file(folder) if ANSWERS_FILE in present else {}
    system_runs = reader.system_runs(answers, read_replies(folder, names, present))
    reader.check_systems(system_runs, result)
    stored = ExperimentResult(
        name=document.name,
        fingerprint=document.fingerprint,
        queries=document.query_ids,
        result=result,
        system_runs=system_runs,
        qrels=read_results_qrels(folder) if QRELS_FILE in present else Qrels({}, source=folder),
        texts=read_queries(open_folder_source(folder, QUERIES_FILE)),
        experiment=_read_experiment(folder),
        provenance=document.provenance,
        notes=document.notes,
        rel=document.rel,
        judged_only=document.judged_only,
        decision_settings=reader.decision_settings(),
        chunks=reader.chunk_values(result),
        answers=reader.answer_values(system_runs, read_claims_file(folder, present)),
        contexts=read_contexts_file(folder, present),
        judged_documents=document.answers.judged_documents if document.answers else {},
        labels=label_files(folder),
        **_document_parts(_read_snippets(folder)),
    )
    results = checked_results(stored, values.plain, reader.error)
    if not is_original:
        raise reader.error(_CHANGED, CHANGED_FIX)
    return results


def _check_files(
    folder: str, document: ResultDocument, digests: Mapping[str, str], present: Collection[str], reader: DocumentReader
) -> None:
    """An error if a file that is read is missing or was changed."""
    if document.judged_ids and QRELS_FILE not in present:
        raise reader.error(f"sha256.{QRELS_FILE} is missing")
    check_unchanged(folder, digests, [*_READ_FILES, *sorted(present), *reader.run_files()])


def _document_parts(snippets: Mapping[str, _Snippet]) -> dict[str, Any]:
    """The beginnings, titles, addresses and fields of documents."""
    return {
        "snippets": {doc: snippet.text for doc, snippet in snippets.items()},
        "titles": {doc: max(0, snippet.title) for doc, snippet in snippets.items() if snippet.title is not None},
        "urls": {doc: snippet.url for doc, snippet in snippets.items() if snippet.url is not None},
        "document_fields": {doc: snippet.fields for doc, snippet in snippets.items() if snippet.fields is not None},
    }


def read_document(folder: str) -> JsonObject:
    """The folder's result.json, checked to be of this format version."""
    return _read_document(folder)[0]


def _read_document(folder: str) -> tuple[JsonObject, bool]:
    """The document, and whether it is as it was written."""
    path = os.path.join(folder, RESULT_FILE)
    content = read_all_bytes(open_folder_source(folder, RESULT_FILE))
    try:
        plain = _parsed_document(content, path)
    except InputError as error:
        raise InputError(error.what, fix=DAMAGED_FIX, source=path, line=error.line, column=error.column) from None
    values = JsonObject(plain, path, damaged_fix=DAMAGED_FIX)
    if values.plain.get("format") == LIVE_FORMAT:
        raise values.error(
            "a result of live traffic, which has no rankings", "open its report.html, or show it with rankproof serve"
        )
    if values.plain.get("format") != RESULTS_FORMAT:
        raise values.error("not a result of rankproof", "specify a folder that `rankproof run` wrote")
    if (version := values.member("schema", int)) != (known := format_versions.RESULTS):
        fix = format_versions.other_version_fix(version, known, "run the experiment again")
        raise values.error(format_versions.other_version(version, known), fix)
    return values, has_own_digest(content)


def read_results_qrels(folder: str) -> Qrels:
    """The judgements."""
    return OpenedFile(open_folder_source(folder, QRELS_FILE), "beir", QRELS_FILE).qrels()


def _read_experiment(folder: str) -> str:
    return read_all_bytes(open_folder_source(folder, EXPERIMENT_FILE)).decode(errors="replace")


@dataclass(frozen=True, slots=True)
class _Snippet:
    """A line of snippets.jsonl; `title` is how many characters of the text are the title of the document."""

    _id: str
    text: str
    title: int | None = None
    url: str | None = None
    fields: dict[str, str] | None = None


def _read_snippets(folder: str) -> dict[str, _Snippet]:
    source = open_folder_source(folder, SNIPPETS_FILE)
    lines = parsed_lines(source, limit=MAX_TEXT_BYTES) if first_bytes(source.open, 1) else ()
    snippets = (JsonObject(item, source.name, line=line).read(_Snippet) for line, item in lines)
    return {snippet._id: snippet for snippet in snippets}


def check_no_foreign_files(folder: str, own: Collection[str]) -> None:
    """Refuses a folder that holds anything but these files, result.json and the files that result.json lists."""
    known = {RUNS_FOLDER, REPLIES_FOLDER, RESULT_FILE, *own, *_listed_files(folder)}
    cases = os.path.join(folder, CASES_FOLDER)
    if has_cases := is_results_folder(cases):
        check_no_foreign_files(cases, own)
    for name in _present_files(folder):
        if name not in known and not (has_cases and name.partition("/")[0] == CASES_FOLDER):
            fix = "move it elsewhere, or specify another folder"
            raise UsageError(f"{folder} holds {for_message(name)}, which is not part of its results", fix=fix)


def _listed_files(folder: str) -> set[str]:
    """The files that result.json lists; none if it is damaged."""
    with suppress(RankproofError, TypeError, KeyError):
        return set(_any_document(folder)["sha256"])
    return set()


def _any_document(folder: str) -> Any:
    """The value of result.json, of any version."""
    source = open_folder_source(folder, RESULT_FILE)
    return _parsed_document(read_all_bytes(source), source.name)


def _parsed_document(content: bytes, path: str) -> Any:
    return strict_json.parse_strict_json(decode_line(content, 1, path), source=path)


def _present_files(folder: str) -> Iterator[str]:
    """Every file and folder by its path in the folder, with slashes on every system."""
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            yield os.path.relpath(os.path.join(place, name), folder).replace(os.sep, "/")


def save_results(
    results: ExperimentResult,
    path: StrPath,
    *,
    findings: Sequence[str] = (),
    summary: Mapping[str, Any] | None = None,
    overwrite: bool = False,
) -> str:
    """Writes the results folder atomically, replaces an older results folder, and returns the path.

    A folder with results of another dataset is replaced only with `overwrite`. `findings` are sentences about the answers, for
    answers.json, `summary` is the content of summary.json, which is written with the sizes of the other files.
    """
    if not isinstance(results, ExperimentResult):
        raise UsageError(f"results cannot be {type_phrase(results)}", fix="pass an ExperimentResult, as rankproof.run gives it")
    from rankproof._results.summary_file import summary_content
    from rankproof._results.system_files import write_answers_files, write_replies

    goal = path_text(path)
    if not overwrite:
        check_results_folder(goal)
        name = str(results.provenance.get("dataset", results.name))
        check_dataset(goal, results.experiment, name, lambda: results.fingerprint)
    with replace_folder(goal, _may_replace) as folder:
        os.mkdir(os.path.join(folder, RUNS_FOLDER))
        files = dict(_write_runs(results, folder))
        for name, text in _text_files(results, findings).items():
            write_blocks(os.path.join(folder, name), [text.encode(errors="backslashreplace")])
        if results.qrels:
            write_blocks(os.path.join(folder, QRELS_FILE), BEIR.qrels_blocks(results.qrels))
        write_blocks(os.path.join(folder, QUERIES_FILE), text_blocks(results.texts))
        write_blocks(os.path.join(folder, SNIPPETS_FILE), _snippet_lines(results))
        present = [*([QRELS_FILE] if results.qrels else []), *write_answers_files(results, folder)]
        read_again = (*_READ_FILES, *present, *filter(None, files.values()), *write_replies(results, folder))
        digests = {name: results_file_sha256(folder, name) for name in read_again}
        result = document_text(results_document(results, per_query=True, files=files, sha256=digests))
        write_blocks(os.path.join(folder, RESULT_FILE), [with_digest(result.encode(errors="backslashreplace"))])
        if summary is not None:
            write_blocks(os.path.join(folder, DECISION_FILE), [summary_content(summary, folder, [RESULT_FILE, *digests])])
        with suppress(OSError), open_plain_file(os.path.join(goal, LOOKS_FILE), goal) as log:
            write_blocks(os.path.join(folder, LOOKS_FILE), [log.read()])
    return goal


def _json_text(document: Mapping[str, Any]) -> str:
    return escape_json(json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False)) + "\n"


def _text_files(results: ExperimentResult, findings: Sequence[str]) -> dict[str, str]:
    from rankproof._results.system_files import answers_csv, answers_summary, chunks_csv, has_answers, per_query_csv, summary_csv

    texts = {SUMMARY_FILE: summary_csv(results), PER_QUERY_FILE: per_query_csv(results), EXPERIMENT_FILE: results.experiment}
    if results.chunks:
        texts[CHUNKS_FILE] = chunks_csv(results, results.chunks)
    if has_answers(results):
        answers = _json_text(answers_summary(results, findings))
        texts |= {ANSWERS_CSV_FILE: answers_csv(results), ANSWERS_SUMMARY_FILE: answers}
    return texts


def check_results_folder(path: StrPath) -> None:
    """Refuses, before any work is done, a path that `save_results` could not write to."""
    check_replaceable(path_text(path), _may_replace)


def check_dataset(path: str, experiment: str, name: str, fingerprint: Callable[[], str]) -> None:
    """Refuses a results folder of another dataset, with neither the path in this experiment (TOML) nor this fingerprint."""
    if not is_results_folder(path):
        return
    with suppress(RankproofError):
        place = _dataset_place(_read_experiment(path))
        if place is not None and place == _dataset_place(experiment):
            return
    other, other_fingerprint = _dataset_of(path)
    if other_fingerprint != fingerprint():
        what = f"{path} has results of the dataset {for_message(other)}, not of this dataset ({for_message(name)})"
        raise UsageError(what, fix="specify another folder, or replace it with --overwrite (overwrite=True in Python)")


def _dataset_place(experiment: str) -> str | None:
    """The path or name of the dataset of an experiment; None if it was made in Python."""
    from rankproof._io.toml_file import toml_values

    place = toml_values(experiment, EXPERIMENT_FILE).get("dataset")
    return place if isinstance(place, str) and not place.startswith(PYTHON_PREFIX) else None


def _dataset_of(folder: str) -> tuple[str, str | None]:
    """The name and the fingerprint of the dataset of a results folder, which may be damaged."""
    with suppress(RankproofError, TypeError, KeyError):
        document = _any_document(folder)
        return str(document["provenance"]["dataset"]), document["fingerprint"]
    return "?", None


def check_document(path: str) -> None:
    """Refuses a folder of rankings that has a result.json which cannot be read; any other path is not checked."""
    if os.path.isdir(os.path.join(path, RUNS_FOLDER)) and os.path.lexists(os.path.join(path, RESULT_FILE)):
        read_document(path)


def _may_replace(path: str) -> bool:
    """Whether it is a results folder; one with other files in it is refused, because they would be lost."""
    replaceable = is_results_folder(path)
    if replaceable:
        check_no_foreign_files(path, (*_READ_FILES, *_OTHER_FILES))
    return replaceable


def _write_runs(results: ExperimentResult, folder: str) -> Iterator[tuple[str, str | None]]:
    """Writes the run of each system and its repeats; gives its file, None for a ranking that is not stored."""
    runs: dict[str, Run | None] = {system_run.name: system_run.stored_run for system_run in results.system_runs}
    runs |= {name: run for system_run in results.system_runs for name, run in system_run.runs.items()}
    for name, plain in file_names(runs).items():
        run = runs[name]
        yield name, None if run is None else _write_run_file(run, folder, f"{RUNS_FOLDER}/{plain}")


def _write_run_file(run: Run, folder: str, start: str) -> str:
    """Writes TREC text, JSONL where an id has characters that TREC text cannot hold, or JSON for a run without documents."""
    *others, last = ("trec", "jsonl") if len(run.docs) else ("json",)
    for kind in others:
        with suppress(InputError):
            write_run(run, os.path.join(folder, f"{start}.{kind}.gz"), kind)
            return f"{start}.{kind}.gz"
    write_run(run, os.path.join(folder, f"{start}.{last}.gz"), last)
    return f"{start}.{last}.gz"


def _snippet_lines(results: ExperimentResult) -> Iterator[bytes]:
    for doc, text in results.snippets.items():
        fields = results.document_fields.get(doc)
        snippet = _Snippet(doc, text, results.titles.get(doc), results.urls.get(doc), None if fields is None else dict(fields))
        line = plain_record(snippet)
        yield escape_json(json.dumps(line, ensure_ascii=False)).encode() + b"\n"
