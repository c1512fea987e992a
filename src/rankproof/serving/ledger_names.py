"""What a ledger is told at the start: the file for the judgements, and who makes them."""

from __future__ import annotations

import os

from ..errors import UsageError, shown

NEW = "name a new file, or one that `rankproof serve` wrote"
LONGEST_WHO = 64


def log_path(path: str) -> str:
    """Where the log of that file of judgements lies."""
    return f"{path}.log.jsonl"


def checked_who(name: str) -> str:
    """The name as one word, for the second column of qrels."""
    plain = "".join(char if char.isprintable() and not char.isspace() else "_" for char in name.strip())
    if not plain or len(plain) > LONGEST_WHO:
        raise UsageError(f"--who is a name of 1 to {LONGEST_WHO} characters", fix="name the person who judges")
    return plain


def checked_path(path: str) -> str:
    """The file's real path, refused where it cannot be ours."""
    if not path or path == "-" or "\0" in path:
        raise UsageError("--judge names no file", fix="name the file for the judgements, as my.qrels")
    if path.lower().endswith((".gz", ".zst")):
        raise UsageError(f"{shown(path)} would be compressed", fix="name a plain file, as my.qrels")
    real = os.path.realpath(path)
    if not os.path.isdir(os.path.dirname(real)):
        raise UsageError(f"{shown(path)} lies in a folder that does not exist", fix="make the folder, or name another file")
    if os.path.lexists(real) and not os.path.lexists(log_path(real)):
        raise UsageError(f"{shown(path)} is there and has no log: it is not changed", fix=NEW)
    return real
