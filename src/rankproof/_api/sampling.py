"""`sample_queries` and `check_sample` as functions."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from rankproof._api.live import BOTS_OPTION, COLUMNS_OPTION, LOG_OPTION, MOST_SESSIONS_OPTION, USER_OPTION, Names, log_options
from rankproof._data.validation import SEED, public
from rankproof._io.open import path_text
from rankproof._registry import Option

if TYPE_CHECKING:
    from rankproof._analysis.traffic.drift import SampleCheck
    from rankproof._analysis.traffic.sample import QuerySample


@public
def sample_queries(
    log: Annotated[Any, LOG_OPTION],
    path: Annotated[str | os.PathLike[str] | None, Option("the folder to write the sample to", unset="not written")] = None,
    *,
    n: Annotated[int, Option("the number of queries", letter="-n", least=1)] = 300,
    held_out: Annotated[int, Option("further queries that are held out for gate", least=0, metavar="N")] = 0,
    min_users: Annotated[int, Option("queries of fewer users are left out", least=1, metavar="N")] = 3,
    seed: Annotated[int, SEED] = 0,
    columns: Annotated[Mapping[str, str] | None, COLUMNS_OPTION] = None,
    user: Annotated[str | None, USER_OPTION] = None,
    bots: Annotated[Names, BOTS_OPTION] = (),
    most_sessions: Annotated[int, MOST_SESSIONS_OPTION] = 1000,
) -> QuerySample:
    """Queries that stand for the traffic of a log, with the weights that every command uses.

    Queries that differ only in case, width and white space are one. Queries with personal data are left out before anything is
    written. Queries are drawn in proportion to their sessions, without replacement; the most frequent ones are certain.
    """
    from rankproof._analysis.traffic.folder import check_sample_folder, write_sample
    from rankproof._analysis.traffic.sample import SampleOptions, sample_log
    from rankproof._importers.registry import opened_source
    from rankproof._importers.search_log.read import read_search_log

    target = None if path is None else path_text(path, "path")
    if target is not None:
        check_sample_folder(target)
    read = log_options(columns=columns, user=user, bots=bots, most_sessions=most_sessions)
    sample = sample_log(read_search_log(opened_source(log), read), SampleOptions(n, held_out, min_users, seed))
    if target is not None:
        write_sample(sample, target)
    return sample


@public
def check_sample(
    log: Annotated[Any, LOG_OPTION],
    sample: Annotated[
        str | os.PathLike[str], Option("say whether this sample still stands for the log", flag="--check", metavar="SET")
    ],
    results: Annotated[
        Any, Option("results on the sample: does this log change the decision?", metavar="RESULTS", unset="not asked")
    ] = None,
    *,
    columns: Annotated[Mapping[str, str] | None, COLUMNS_OPTION] = None,
    user: Annotated[str | None, USER_OPTION] = None,
    bots: Annotated[Names, BOTS_OPTION] = (),
    most_sessions: Annotated[int, MOST_SESSIONS_OPTION] = 1000,
) -> SampleCheck:
    """Whether a sample that was drawn from an earlier log still stands for the traffic of this log."""
    from rankproof._analysis.traffic.drift import check_sample as checked
    from rankproof._analysis.traffic.folder import QUERIES_FILE, read_traffic_record
    from rankproof._formats.texts import read_queries
    from rankproof._importers.registry import opened_source
    from rankproof._importers.search_log.read import read_search_log
    from rankproof._io.open import open_source

    folder = path_text(sample, "sample")
    record = read_traffic_record(folder)
    queries = read_queries(open_source(os.path.join(folder, QUERIES_FILE)))
    read = log_options(columns=columns, user=user, bots=bots, most_sessions=most_sessions)
    check = checked(read_search_log(opened_source(log), read), queries, record)
    return check if results is None else _with_decision(check, results)


def _with_decision(check: SampleCheck, results: Any) -> SampleCheck:
    """The check with what the decision on the results is by the traffic of this log."""
    from dataclasses import replace

    from rankproof._api.analyses import compare

    before, now = compare(results).decision, compare(results, queries=tuple(check.weights), weights=dict(check.weights)).decision
    if (before.outcome, before.systems) == (now.outcome, now.systems):
        change = "The decision stays by the traffic of this log"
    else:
        change = "The decision changes by the traffic of this log"
    return replace(check, answer=(*check.answer, f"{change}: {now.sentences[0]}"))
