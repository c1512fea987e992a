"""The errors of files and tables; those of rows from any source are in `_data.row_errors`."""

from __future__ import annotations

import os
from itertools import islice

from rankproof.errors import InputError, closest_name, for_message

_MOST_NAMES = 10_000
"""Names of a folder that are compared with a name that is not in it."""
MISSING = "file not found"
_FILE_ERRORS: dict[str, tuple[str, str]] = {
    "missing": (MISSING, "check the path"),
    "directory": ("is a folder", "specify a file in it"),
    "not-a-folder": ("is not a dataset folder", "specify a folder with corpus.jsonl, queries.jsonl and qrels, or irds:NAME"),
    "permission": ("permission denied", "make the file readable by this user"),
    "loop": ("the symbolic link points to itself", "fix the link"),
    "special": ("is {kind}, not a file", "put a plain file in its place, or remove it"),
    "link-out": ("is a link out of the folder", "copy the file that it points to into the folder"),
    "expansion": ("its data is over {most} times as large as the file", "the file is damaged: run the experiment again"),
    "memory": (
        "reading it takes more memory than is free ({free})",
        "split the file, free memory, or use a machine with more",
    ),
    "path": ("the path cannot be opened ({reason})", "check the path"),
    "unwritten": (
        "no program opened this named pipe for writing within {seconds} s",
        "start the program that writes into it, or name a file",
    ),
    "stdin-twice": ("standard input (-) is named twice", "use - for one argument, and a file for the other"),
    "cut": ("the {codec} stream ends early, after {lines} lines", "the file is truncated: copy or download it again"),
    "damaged": ("the {codec} data is corrupt after {lines} lines ({reason})", "copy or download the file again"),
    "window": (
        "the zstd data needs a window of more than 128 MiB",
        "decompress it with zstd -d --long=31, or compress it again without --long",
    ),
    "trailing": ("the file has other bytes after the {codec} data", "write the file again"),
    "encoding": ("not {encoding} ({reason})", "pass the encoding of the file with --encoding"),
    "foreign": ("this is {what}", "{instead}"),
    "header-missing": (
        "no {role} column; found {found}",
        "name the columns in the first line, for example query_id, doc_id, {example}; a {role} may be called {known}",
    ),
    "header-unscored": (
        "no score column; found {found}",
        "rename the column with the scores to score, or order by rank (--order rank)",
    ),
    "header-repeated": ("column {name} occurs twice", "rename or remove one of them"),
    "header-blanks": ("only one column found, and it contains spaces", "separate the columns by one tab each, or by commas"),
    "header-one": ('one column found; the delimiter may be "{delimiter}"', 'pass --delimiter "{delimiter}"'),
    "swapped-run": ("columns of qrels ({name}), none of a run (score)", "are the arguments swapped? The qrels come first"),
    "swapped-qrels": ("columns of a run ({name}), none of qrels (grade)", "are the arguments swapped? The qrels come first"),
    "columns": (
        "{found} columns where the header has {expected}",
        "fix the line, or quote the field that contains the delimiter",
    ),
    "columns-beir": ("{found} columns where BEIR rows have 3 (query-id corpus-id score)", "fix the line"),
    "quote-open": ("a quote is not closed", 'close it, or write a quote inside a field as ""'),
    "quote-text": ("text follows a closing quote at column {column}", 'write a quote inside a field as ""'),
    "field-long": ("the field is over 1 MiB", "check the quotes, and that this is a text file"),
    "comment-or-row": (
        "the line begins with # and has as many columns as the header: a comment or a row?",
        'put the id in quotes ("#…"), or remove the line',
    ),
    "decimal-comma": ('score "{token}" has a decimal comma', "write it with a point, like 2.5"),
    "header-only": ("a header and no rows", "check the program that wrote it"),
    "json": ("not JSON ({reason})", "fix the file"),
    "json-constant": ("{token} is not valid JSON", "fix the system that wrote it; scores are finite numbers"),
    "json-deep": ("nested too deeply", "write {{query: {{document: number}}}}, no deeper"),
    "json-digits": ("a number has more than 4300 digits", "write scores as 64-bit floats and grades as small integers"),
    "json-repeat": ('key "{key}" occurs twice in one object', "keep one of them"),
    "json-shape": ("{kind} where an object was expected", "write {expected}"),
    "id-float": (
        "{column} id {token} is a float",
        "pandas turns integer ids into floats if an id is missing: fill it in, or read ids as text (dtype=str)",
    ),
    "id-null": ("null {column} id", "fill it in, or remove the row"),
    "score-null": ("null score", "fill it in, or remove the row"),
    "column-type": ("the {role} column {name} holds {kind}, not {expected}", "convert the column before writing the file"),
    "parquet": ("not a complete Parquet file ({reason})", "the file may be truncated or corrupt: write or copy it again"),
    "frame-shape": ("{kind} is not a table", "pass a data frame with columns for query, document and score or grade"),
    "frame-lazy": ("a lazy frame has no rows yet", "pass frame.collect()"),
    "text-missing": ("no {what} field; found {found}", "add it as {name}"),
    "text-surrogate": ("the {role} of {token} contains a lone surrogate", "decode the texts correctly where they are written"),
    "folder-lacks": ("the folder has no {what}", "add {expected}"),
    "folder-lacks-qrels": (
        "the folder has no qrels",
        "add {expected}; to evaluate answers only, run: rankproof answers QUERIES ANSWERS",
    ),
    "text-type": ("the {role} of {token} is {kind}, not text", "write it as text"),
    "unwritable-id": (
        '{column} id "{token}" {reason}, which TREC text cannot represent',
        "write csv, jsonl, json or parquet instead",
    ),
    "unwritable-line": ("the line of document {doc} for query {query} is over 1 MiB", "write json or parquet instead"),
    "unwritable-judge": (
        "judgements of subtopics name a machine judge, and TREC text has one column for both",
        "write csv, tsv, json, jsonl or parquet instead",
    ),
    "irds-unknown": ("ir_datasets has no dataset {token}", "see ir-datasets.com for the names"),
    "irds-lacks": ("{token} of ir_datasets has no {what}", "choose a dataset that has them"),
    "kind-unknown": ("cannot tell whether this is a run or qrels", "pass --kind run or --kind qrels"),
    "convert-beir-run": ("BEIR has no format for runs", "write trec, csv, tsv, json, jsonl or parquet"),
}


_DAMAGE_CODES = frozenset({"cut", "damaged", "trailing", "encoding"})
_SIZE_CODES = frozenset({"memory", "expansion"})


class DamagedFileError(InputError):
    """The bytes of the file are corrupt, so that none of its content can be trusted."""


class LargeFileError(InputError):
    """The file has more data than can be read, by any reader."""


def file_error(
    code: str, *, source: str = "", line: int | None = None, position: int | None = None, **fields: object
) -> InputError:
    """The error of that code; a text field is cut and invisible characters escaped, a tuple is listed in full."""
    what, fix = _FILE_ERRORS[code]
    if code == "missing":
        return InputError(what, fix=missing_fix(source, fix), source=source, line=line)
    safe = {key: _printable_field(value) for key, value in fields.items()}
    kind = DamagedFileError if code in _DAMAGE_CODES else LargeFileError if code in _SIZE_CODES else InputError
    return kind(what.format(**safe), fix=fix.format(**safe), source=source, line=line, column=position)


def missing_fix(path: str, otherwise: str) -> str:
    """The question whether a path that does not exist is a near one; what to do otherwise if there is none."""
    near = near_path(path)
    return otherwise if near is None else f"is it {for_message(near)}?"


def near_path(path: str) -> str | None:
    """The file or folder with the most similar name in the same folder, or in a folder with the most similar name.

    The names must be similar without their endings too.
    """
    folder, name = os.path.split(os.path.normpath(path))
    if folder and not os.path.isdir(folder):
        above = near_path(folder)
        path_above = None if above is None else os.path.join(above, name)
        return path_above if path_above is not None and os.path.exists(path_above) else None
    try:
        known = {other.lower(): other for other in islice(os.listdir(folder or os.curdir), _MOST_NAMES) if other != name}
    except (OSError, ValueError):
        return None
    stem = _stem(name.lower())
    near = closest_name(name.lower(), [other for other in known if closest_name(stem, [_stem(other)]) is not None])
    return None if near is None else os.path.join(folder, known[near])


def _stem(name: str) -> str:
    return os.path.splitext(name)[0]


def _printable_field(value: object) -> object:
    if isinstance(value, tuple):
        return ", ".join(value)
    return for_message(value) if isinstance(value, str) else value
