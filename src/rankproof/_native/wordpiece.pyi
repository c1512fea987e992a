def prepare(
    kinds: bytes,
    starts: bytes,
    mapped: bytes,
    pieces: bytes,
    bounds: bytes,
    ids: bytes,
    continues: bytes,
    special: bytes,
    affixes: bytes,
    before: int,
    unknown: int,
    most_chars: int,
    /,
) -> object: ...
def tokenize(vocabulary: object, texts: tuple[str, ...], limit: int, /) -> tuple[bytes, bytes, bytes]: ...
