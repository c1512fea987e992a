"""Folders of an import: the tables of a split, and the dataset as written, with rankings, answers, experiment file and report."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator

from rankproof._data.answers import references_from_queries
from rankproof._formats.csv import BEIR
from rankproof._formats.detect import DEFAULT_SPLIT
from rankproof._formats.registry import system_name
from rankproof._formats.source_table import SourceTable
from rankproof._formats.texts import answer_blocks, text_blocks
from rankproof._formats.write import run_blocks
from rankproof._importers.base import Imported, ImportSource
from rankproof._io.files import check_replaceable, replace_folder, write_blocks
from rankproof._io.paths import file_names
from rankproof._io.toml_file import toml_key, toml_value
from rankproof.errors import InputError, UsageError, for_message

REPORT_FILE = "import.json"
EXPERIMENT_FILE = "experiment.toml"
_SPLITS = "train|dev|test|validation|valid|val"
_SPLIT = re.compile(
    rf"(?:.*[._-])?({_SPLITS})(?:-[0-9]+-of-[0-9]+)?|({_SPLITS})[._-](?:qrels|queries|labels|judge?ments)", re.IGNORECASE
)

_KIND = "folder of an import alone"
_NAMES = {"corpus.jsonl", "queries.jsonl", "qrels", "runs", "answers", EXPERIMENT_FILE, REPORT_FILE}


def tables_of_split(source: ImportSource, split: str) -> tuple[list[SourceTable], list[str]]:
    """The tables of the split and those of all splits, by the names of files and folders; a note on the others.

    Files that are named one by one and are all of one split need no choice.
    """
    splits = {} if source.table is not None else {name: table_split for name in source.tables if (table_split := _split_in(name))}
    known = sorted(set(splits.values()))
    if not known and split != DEFAULT_SPLIT:
        raise UsageError("no table has a split in its name, as in qrels-test.csv", fix="leave out --split")
    if source.table is not None or (source.plain_files and split == DEFAULT_SPLIT and len(known) == 1):
        return [source.table] if source.table is not None else list(source.tables.values()), []
    if known and split not in known:
        what = f"no table of split {for_message(split)}; splits: {', '.join(known)}"
        raise InputError(what, fix=f"choose one of them, as in --split {known[0]}", source=source.name)
    others = [name for name, table_split in splits.items() if table_split != split]
    left = ", ".join(f"{for_message(name)} ({splits[name]})" for name in others)
    notes = [f"not read, as they are of another split than {split}: {left}; --split chooses it"] if others else []
    return [table for name, table in source.tables.items() if name not in others], notes


def _split_in(name: str) -> str | None:
    """The split in the name of a file, or the folder in its path that is called like one."""
    *folders, file = name.split("/")
    if match := _SPLIT.fullmatch(system_name(file)):
        return (match[1] or match[2]).lower()
    return next((folder.lower() for folder in folders if folder.lower() in _SPLITS.split("|")), None)


def check_import_folder(folder: str) -> None:
    """Refuses a folder that is neither free nor an older import, before anything is read."""
    check_replaceable(folder, is_imported_folder, kind=_KIND)


def write_imported(imported: Imported, folder: str) -> list[str]:
    """Writes the folder atomically; an older import at the path is replaced. Returns the names of the files."""
    with replace_folder(folder, is_imported_folder, kind=_KIND) as place:
        files = dict(_files(imported, os.path.basename(os.path.abspath(folder))))
        for name, blocks in files.items():
            path = os.path.join(place, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            write_blocks(path, blocks)
    return list(files)


def is_imported_folder(path: str) -> bool:
    """Whether the folder has the files of an import and no others, so that replacing it loses nothing else."""
    return os.path.isfile(os.path.join(path, REPORT_FILE)) and _NAMES.issuperset(os.listdir(path))


def next_commands(imported: Imported, folder: str) -> list[str]:
    """What to run on the folder next: what compares its rankings, with their answers, its answers alone, or run files.

    A single ranking without documents, such as that of a log of clicks, is compared with a RUN of the user.
    """
    place, dataset = shlex.quote(folder), imported.dataset
    qrels = f"{place}/qrels/{DEFAULT_SPLIT}.tsv"
    commands = []
    if len(imported.runs) == 1 and not dataset.has_documents and not imported.answers:
        if dataset.is_judged:
            (path,) = run_files(imported).values()
            commands.append(f"rankproof compare {qrels} {place}/{shlex.quote(path)} RUN")
    elif imported.runs:
        commands.append(f"rankproof run {place}/{EXPERIMENT_FILE}")
    elif dataset.has_documents:
        commands.append(f"rankproof run --dataset {place}")
    elif dataset.is_judged:
        commands.append(f"rankproof eval {qrels} RUN")
    if imported.answers.keys() - imported.runs.keys() and references_from_queries(dataset.queries):
        judged = f" --qrels {qrels}" if dataset.is_judged else ""
        commands.append(f"rankproof answers {place}/queries.jsonl {place}/answers/*.jsonl{judged}")
    return commands


def _files(imported: Imported, title: str) -> Iterator[tuple[str, Iterator[bytes]]]:
    dataset = imported.dataset
    if dataset.corpus:
        yield "corpus.jsonl", text_blocks(dataset.corpus)
    yield "queries.jsonl", text_blocks(dataset.queries)
    if dataset.qrels:
        yield f"qrels/{DEFAULT_SPLIT}.tsv", BEIR.qrels_blocks(dataset.qrels)
    runs = run_files(imported)
    for name, path in runs.items():
        yield path, run_blocks(imported.runs[name], "jsonl" if path.endswith(".jsonl") else "trec")
    answers = {name: f"answers/{stem}.jsonl" for name, stem in file_names(imported.answers).items()}
    for name, path in answers.items():
        yield path, answer_blocks([(name, imported.answers[name])])
    if runs:
        yield EXPERIMENT_FILE, iter([_experiment(title, runs, answers).encode()])
    report = {**imported.report.document(), "fingerprint": dataset.fingerprint()}
    yield REPORT_FILE, iter([json.dumps(report, indent=2, ensure_ascii=False).encode() + b"\n"])


def run_files(imported: Imported) -> dict[str, str]:
    """The file of each run: TREC text, or JSONL where an id has white space, which TREC text cannot hold."""
    files = {}
    for name, stem in file_names(imported.runs).items():
        run = imported.runs[name]
        plain = all(len(key.split()) == 1 for keys in (run.queries, run.docs) for key in keys)
        files[name] = f"runs/{stem}.{'run' if plain else 'jsonl'}"
    return files


def _experiment(title: str, runs: dict[str, str], answers: dict[str, str]) -> str:
    """An experiment file of that name whose systems are the rankings, with their answers."""
    parts = []
    for name, path in runs.items():
        answers_line = f"answers = {toml_value(answers[name])}\n" if name in answers else ""
        parts.append(f'[systems.{toml_key(name)}]\nstage = "run"\npath = {toml_value(path)}\n{answers_line}')
    return "\n".join([f"name = {toml_value(title)}\ndataset = {toml_value(os.curdir)}\n", *parts])
