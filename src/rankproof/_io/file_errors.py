"""Every fault that only reading a file or table can have, said once; those of rows of any origin are in `data.refusals`."""

from __future__ import annotations

from rankproof.errors import InputError, for_message

_FILE_ERRORS: dict[str, tuple[str, str]] = {
    "missing": ("no such file", "check the path"),
    "directory": ("is a directory", "name a file in it"),
    "not-a-folder": ("is no dataset folder", "name a folder with corpus.jsonl, queries.jsonl and qrels, or irds:NAME"),
    "permission": ("permission denied", "make the file readable for this user"),
    "loop": ("a symbolic link leads back to itself", "mend the link"),
    "path": ("not a path that can be opened ({reason})", "check the path"),
    "stdin-twice": ("standard input is asked for twice", "use - for one argument only, and a file for the other"),
    "cut": ("{codec} stream ends early after {lines} lines", "the file is cut short: copy or download it again"),
    "damaged": ("{codec} data is damaged after {lines} lines ({reason})", "copy or download the file again"),
    "window": (
        "the zstd data needs a window of over 128 MiB",
        "unpack it with zstd -d --long=31, or compress it again without --long",
    ),
    "trailing": ("bytes after the {codec} data that are no {codec}", "something was added to the file: write it again"),
    "encoding": ("not {encoding} ({reason})", "name the encoding that the file has, with --encoding"),
    "foreign": ("this is {what}", "{instead}"),
    "header-missing": (
        "no {role} column; found {found}",
        "name the columns in the first line, for example query_id, doc_id, {example}; a {role} may be called {known}",
    ),
    "header-unscored": ("no score column; found {found}", "name it score, or order by the ranks (--order rank)"),
    "header-repeated": ("column {name} stands twice", "rename or remove one of them"),
    "header-blanks": ("one column found, with blanks in it", "separate the columns by one tab each, or by commas"),
    "header-one": ('one column found; the delimiter may be "{delimiter}"', 'say --delimiter "{delimiter}"'),
    "swapped-run": ("columns of qrels ({name}), none of a run (score)", "are the arguments swapped? The qrels come first"),
    "swapped-qrels": ("columns of a run ({name}), none of qrels (grade)", "are the arguments swapped? The qrels come first"),
    "columns": ("{found} columns where the header has {expected}", "mend the line, or quote the field that holds the delimiter"),
    "columns-beir": ("{found} columns where BEIR's rows have 3 (query-id corpus-id score)", "mend the line"),
    "quote-open": ("a quote is opened and never closed", 'close it, or write a quote inside a field as ""'),
    "quote-text": ("text follows a closing quote at column {column}", 'write a quote inside a field as ""'),
    "field-long": ("the field is over 1 MiB", "check the quotes and that this is a text file"),
    "comment-or-row": (
        "the line begins with # and has as many columns as the header: a comment or a row?",
        'put the id in quotes ("#…"), or remove the line',
    ),
    "decimal-comma": ('score "{token}" has a decimal comma', "write it with a point, like 2.5"),
    "header-only": ("a header and no rows", "check the program that should have written it"),
    "json": ("not JSON ({reason})", "mend the file, or name its format"),
    "json-constant": ("{token} is not valid JSON", "mend the system that wrote it; scores are finite numbers"),
    "json-deep": ("nested too deep", "a run or qrels maps query to document to number, no deeper"),
    "json-digits": ("a number of over 4300 digits", "write scores as 64-bit floats and grades as small integers"),
    "json-repeat": ('key "{key}" stands twice in one object', "merge the two, or remove one"),
    "json-shape": ("{kind} where an object was expected", "write {expected}"),
    "id-float": (
        "{column} id {token} is a float",
        "pandas turns integer ids into floats where one is missing: fill it in, or read ids as text (dtype=str)",
    ),
    "id-null": ("null {column} id", "fill it in, or leave the row out"),
    "score-null": ("null score", "fill it in, or leave the row out"),
    "grade-empty": ("empty grade", "fill it in, or leave the row out"),
    "grade-null": ("null grade of document {doc} for query {query}", "fill it in, or leave the row out"),
    "column-type": ("the {role} column {name} holds {kind}, not {expected}", "convert the column where the file is written"),
    "parquet": ("not a whole Parquet file ({reason})", "the file may be cut short or damaged: write or copy it again"),
    "frame-shape": ("{kind} is no table of rows", "pass a data frame with columns for query, document and score or grade"),
    "frame-lazy": ("a lazy frame has no rows yet", "pass frame.collect()"),
    "grade-unmapped": ('grade "{token}" is not in the grade map', "add it, as in --grade-map {token}=1"),
    "text-missing": ("no {what} field; found {found}", "name it {name}"),
    "text-surrogate": ("the {role} of {token} holds a lone surrogate", "decode the texts properly where they are written"),
    "folder-lacks": ("the folder holds no {what}", "add {expected}"),
    "folder-lacks-qrels": (
        "the folder holds no qrels",
        "add {expected}; answers alone are measured by: rankproof answers QUERIES ANSWERS",
    ),
    "text-type": ("the {role} of {token} is {kind}, not text", "write it as text"),
    "unwritable-id": ('{column} id "{token}" {reason}, which TREC text cannot hold', "write csv, jsonl, json or parquet instead"),
    "unwritable-line": ("the line of document {doc} for query {query} is over 1 MiB", "write json or parquet instead"),
    "irds-unknown": ("ir_datasets knows no dataset {token}", "see ir-datasets.com for the names"),
    "irds-lacks": ("{token} of ir_datasets has no {what}", "choose a dataset that has them"),
    "kind-unknown": ("cannot tell whether this is a run or qrels", "say --kind run or --kind qrels"),
    "convert-beir-run": ("BEIR has no files for runs", "write trec, csv, tsv, json, jsonl or parquet"),
}


_DAMAGE_CODES = frozenset({"cut", "damaged", "trailing", "encoding"})


class DamagedFileError(InputError):
    """The bytes themselves are wrong, so that nothing which they seem to say is to be believed."""


def file_error(
    code: str, *, source: str = "", line: int | None = None, position: int | None = None, **fields: object
) -> InputError:
    """The error for one fault; text among the fields is cut and made visible, a tuple of our own words is listed whole."""
    what, fix = _FILE_ERRORS[code]
    safe = {key: _printable_field(value) for key, value in fields.items()}
    kind = DamagedFileError if code in _DAMAGE_CODES else InputError
    return kind(what.format(**safe), fix=fix.format(**safe), source=source, line=line, column=position)


def _printable_field(value: object) -> object:
    if isinstance(value, tuple):
        return ", ".join(value)
    return for_message(value) if isinstance(value, str) else value
