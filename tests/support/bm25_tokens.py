"""The kinds of tokens that BM25 is tested with."""

KINDS = ("characters-1", "characters-3", "characters-4", "characters-8", "bytes-1", "bytes-4", "bpe-300")
