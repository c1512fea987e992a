"""The versions of the file formats that rankproof writes; files of another version are rejected or computed again."""

from __future__ import annotations

RESULTS = 10
"""Of result.json in a results folder."""
SUMMARY = 4
"""Of summary.json in a results folder."""
LIVE_RESULTS = 1
"""Of result.json in a results folder of live traffic."""
STAGE_CACHE = 12
"""Of the cached outputs of stages: a part of their keys, and of the header of each file."""
JOURNAL = 3
"""Of the records of journals, which hold the finished blocks of a stage and the replies of language models."""
ARRAY_FILE = 2
"""Of files of arrays, such as the vectors of a partition."""
BM25_INDEX = 1
"""Of the index of BM25 of a partition: a part of its key."""
CORPUS = 1
"""Of the partitions of a corpus in the cache: a part of their keys."""
RESPONSE_CACHE = 2
"""Of the cached replies of language models: a part of their keys."""
CHECKPOINT = 3
"""Of the metadata of a trained encoder."""
OLDEST_CHECKPOINT = 2
"""Version 2 is read too: it has no prompts."""
TRAINING_DATA = 2
"""Of the training data of trained encoders: a part of their digest."""
TOKENIZER_COMPARISON = 2
"""Of the document of a comparison of tokenizers."""
BASELINE = 7
"""Of a baseline file that `rankproof gate` compares with."""
JUDGEMENT_LOG = 3
"""Of the log of people's judgements; version 2 has no notes and no adjudications, and is continued."""
LABEL_LOG = 1
"""Of the log of people's labels of claims."""
BENCH_LOG = 1
"""Of the logs of test cases, notes and preferences."""
JUDGE_REPORT = 2
"""Of the report of an LLM judge, FILE.json."""
GENERATE_REPORT = 2
"""Of generate.json."""


def other_version(version: int, known: int) -> str:
    """What is wrong with a file of another version."""
    return f"the file has format version {version}, this version of rankproof reads {known}"


def other_version_fix(version: int, known: int, older_fix: str) -> str:
    """What to do about a file of another version; `older_fix` is for an older one."""
    return "upgrade rankproof" if version > known else older_fix


QUERY_SAMPLE = 1
"""Of sample.json beside the queries of a sample of the traffic."""
