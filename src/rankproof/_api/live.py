"""`online`, `sample_queries` and `check_sample` as functions."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from rankproof._analysis.online.options import USUAL_PRIMARY, OnlineOptions
from rankproof._data.validation import FILES, SEED, public
from rankproof._evaluation.options import RunLike
from rankproof._importers.search_log.options import BOTS, CLICKS, MOST_SESSIONS, LogOptions
from rankproof._io.open import path_text
from rankproof._registry import Option
from rankproof._results.decision_settings import COSTS
from rankproof._statistics.options import USUAL_USERS, Estimator
from rankproof.errors import UsageError, for_message, type_phrase

if TYPE_CHECKING:
    from rankproof._analysis.online.result import OnlineResult
    from rankproof._analysis.traffic.drift import SampleCheck
    from rankproof._analysis.traffic.sample import QuerySample

Names = str | Sequence[str]
LOG_OPTION = Option("the files of a log: UBI queries and events, or a table; or a data frame", typed=FILES)
COLUMNS_OPTION = Option(
    "the column of a role in a plain table, such as session=visit", flag="--set", metavar="ROLE=COLUMN", repeated=True
)
USER_OPTION = Option("the field of the user", metavar="FIELD", unset="client_id, or the column user")
BOTS_OPTION = Option(
    "a word in the ids of users that are bots", flag="--bot", metavar="WORD", repeated=True, unset=", ".join(BOTS), rare=True
)
MOST_SESSIONS_OPTION = Option("users with more sessions in a day are bots", least=1, metavar="N", rare=True)


@public
def online(
    log: Annotated[
        Any,
        Option(
            "the files of a log: UBI queries and events, or a table; or a data frame",
            unset="needed without a history",
            typed=FILES,
        ),
    ] = None,
    *,
    value: Annotated[
        RunLike | None,
        Option("a ranking that was not shown: the clicks that it would have got", metavar="RUN", repeated=True, unset="none"),
    ] = None,
    dataset: Annotated[
        Any, Option("the dataset with the texts of the queries of --value", metavar="SOURCE", unset="its ids are texts")
    ] = None,
    estimator: Annotated[Estimator, Option("how --value weights clicks")] = "ips",
    clip: Annotated[float, Option("the largest weight of a click, with the estimator clipped", above=0, rare=True)] = 10.0,
    history: Annotated[
        Any, Option("past experiments with offline and online differences: do they agree?", metavar="FILE", unset="none")
    ] = None,
    record: Annotated[
        str | os.PathLike[str] | None,
        Option("append the difference to a table of past experiments, for --history", metavar="FILE", unset="not recorded"),
    ] = None,
    columns: Annotated[Mapping[str, str] | None, COLUMNS_OPTION] = None,
    user: Annotated[str | None, USER_OPTION] = None,
    variant: Annotated[
        str | None, Option("the field of the variant of an A/B test", metavar="FIELD", unset="query_attributes.variant")
    ] = None,
    experiment: Annotated[
        str | None, Option("the interleaving experiment, if the log holds several", metavar="NAME", unset="the only one")
    ] = None,
    baseline: Annotated[
        str | None, Option("the system or variant to compare with", metavar="NAME", unset="the first of the record")
    ] = None,
    primary: Annotated[
        str | None,
        Option("the metric that decides an A/B test, such as Conversion(purchase)", metavar="METRIC", unset=USUAL_PRIMARY),
    ] = None,
    metrics: Annotated[
        Names,
        Option("a further metric of an A/B test, such as CTR@3", flag="--metric", letter="-m", metavar="METRIC", repeated=True),
    ] = (),
    guardrails: Annotated[
        Names, Option("what must not become worse, such as latency_ms<+20", flag="--guardrail", metavar="G", repeated=True)
    ] = (),
    margin: Annotated[
        float | str | None,
        Option(
            "a difference that does not matter: 0.01, or 5% of the best mean of an A/B test",
            metavar="D",
            unset="0.01, or 1% of a metric without a range",
        ),
    ] = None,
    costs: Annotated[Mapping[str, float] | None, COSTS] = None,
    since: Annotated[
        str | float | None,
        Option("when the experiment started; the earlier sessions of its users reduce the noise", metavar="TIME"),
    ] = None,
    by: Annotated[Names, Option("also compare for each value of a field, such as device", metavar="FIELD", repeated=True)] = (),
    clicks: Annotated[
        Names,
        Option("an action that counts as a click", flag="--click", metavar="ACTION", repeated=True, unset=", ".join(CLICKS)),
    ] = (),
    value_field: Annotated[
        str | None, Option("the number of an event that Revenue adds up", metavar="FIELD", unset="the column value", rare=True)
    ] = None,
    shares: Annotated[
        Mapping[str, float] | None,
        Option("the share of users that a variant should have", flag="--share", metavar="NAME=N", repeated=True, rare=True),
    ] = None,
    expect: Annotated[
        int, Option("the number of users at which intervals are narrowest", least=100, metavar="USERS", rare=True)
    ] = USUAL_USERS,
    window: Annotated[float, Option("hours after a query in which its events count", above=0, metavar="HOURS", rare=True)] = 24.0,
    bots: Annotated[Names, BOTS_OPTION] = (),
    most_sessions: Annotated[int, MOST_SESSIONS_OPTION] = MOST_SESSIONS,
) -> OnlineResult:
    """What users prefer, from a log of interleaved lists or of an A/B test, with an interval that is valid at every look.

    `log` are files of User Behavior Insights, queries and events in any order, or tables (CSV, JSONL, Parquet) with one row per
    document shown and per event. Sessions are searches, and users are independent of each other. Rows that cannot count are
    dropped and counted by reason.

    With `value` the result says what rankings would have got that users did not see, with bounds for documents that were never
    shown, and `baseline` is the variant whose lists they are compared with. With `history`, a table with the columns experiment,
    offline, offline_se, online and online_se, it says how far offline gains came true.
    """
    from rankproof._analysis.online.metrics import check_metrics, number_fields, revenue_field
    from rankproof._analysis.online.online import analyse_log
    from rankproof._importers.registry import opened_source
    from rankproof._importers.search_log.read import read_search_log
    from rankproof._statistics.decision_rule import parse_margin

    if history is not None:
        return _past_experiments(history, log)
    if log is None:
        raise UsageError("no log", fix="pass the files of a log, or past experiments with --history")
    names = {"metrics": metrics, "guardrails": guardrails, "by": by, "clicks": clicks, "bots": bots}
    listed = {name: _listed(name, value) for name, value in names.items()}
    options = OnlineOptions(
        experiment=experiment,
        baseline=baseline,
        primary=primary or USUAL_PRIMARY,
        metrics=listed["metrics"],
        guardrails=listed["guardrails"],
        margin=None if margin is None else parse_margin(margin, is_fraction=False),
        clicks=listed["clicks"] or CLICKS,
        since=None if since is None else _time(since),
        by=listed["by"],
        expect=expect,
        costs=dict(costs or {}),
        shares=_shares(shares),
    )
    check_metrics(options)
    read = LogOptions(
        columns=_columns(columns),
        user=user,
        variant=variant,
        queries=value is not None,
        texts=options.by,
        numbers=number_fields(options),
        value=value_field or revenue_field(options),
        bots=listed["bots"] or BOTS,
        most_sessions=most_sessions,
        window=window * 3600,
    )
    if value is not None:
        from rankproof._analysis.online.value import ValueOptions, value_of_rankings

        how, rankings = ValueOptions(estimator, clip, baseline, options.clicks, expect), _rankings_by_text(value, dataset)
        # The log has no name here, so that it can be freed once its impressions are counted.
        return value_of_rankings(read_search_log(opened_source(log), read), rankings, how)
    search_log = read_search_log(opened_source(log), read)
    result = analyse_log(search_log, options)
    if record is not None:
        from rankproof._analysis.online.history import record_result

        record_result(path_text(record, "record"), result, search_log.sources[0])
    return result


def _past_experiments(history: Any, log: Any) -> OnlineResult:
    from rankproof._analysis.online.history import analyse_history, read_history
    from rankproof._importers.registry import opened_source

    if log is not None:
        raise UsageError("a log and past experiments are two questions", fix="leave out the log, or --history")
    source = opened_source(history)
    return analyse_history(read_history(source), source.name)


def _rankings_by_text(value: RunLike, dataset: Any) -> dict[str, dict[str, list[str]]]:
    """The documents of each ranking by the text of the query: that in the dataset, or the id itself."""
    from rankproof._api.inputs import dataset_of
    from rankproof._data.ordering import ranked_documents
    from rankproof._data.run import Run
    from rankproof._evaluation.user_forms import Coercion
    from rankproof._formats.read import read_run

    queries = {} if dataset is None else dataset_of(dataset).queries
    texts = {key: query.text for key, query in queries.items()}
    rankings = {}
    for name, run in Coercion().runs(value, tuple).items():
        whole = run if isinstance(run, Run) else read_run(run) if isinstance(run, str) else Run(run, name=name)
        rankings[name] = {texts.get(key, key): docs for key, docs in ranked_documents(whole).items()}
    return rankings


def log_options(*, columns: Any, user: str | None, bots: Names, most_sessions: int) -> LogOptions:
    """How a log is read whose queries alone count."""
    words = _listed("bots", bots) or BOTS
    return LogOptions(columns=_columns(columns), user=user, bots=words, most_sessions=most_sessions)


def _listed(name: str, value: Any) -> tuple[str, ...]:
    """One name or several."""
    names = (value,) if isinstance(value, str) else value
    if isinstance(names, Sequence) and "" in names:
        raise UsageError(f"--{name.removesuffix('s')} has an empty text", fix="leave it out, or write a word")
    if not isinstance(names, Sequence) or not all(isinstance(item, str) and item for item in names):
        raise UsageError(f"{name} cannot be {type_phrase(value)}", fix="pass a text, or a list of texts")
    return tuple(dict.fromkeys(names))


def _shares(shares: Any) -> dict[str, float]:
    """The share of each variant, as numbers above 0."""
    named = dict(shares or {}) if isinstance(shares, Mapping | None) else None
    if named is None or not all(isinstance(share, int | float) and 0 < share < math.inf for share in named.values()):
        raise UsageError(f"shares are {for_message(repr(shares))}", fix='pass numbers above 0, such as {"A": 1, "B": 1}')
    return named


def _columns(columns: Any) -> Mapping[str, str]:
    from rankproof._importers.registry import split_settings
    from rankproof._importers.search_log.plain_rows import ROLES

    if columns is not None and not (isinstance(columns, Mapping) and all(isinstance(name, str) for name in columns.values())):
        raise UsageError(f"columns cannot be {type_phrase(columns)}", fix='pass {role: column}, such as {"session": "visit"}')
    return split_settings(columns or {}, ROLES)


def _time(since: str | float) -> float:
    from rankproof._importers.search_log.times import seconds_since_1970

    seconds = seconds_since_1970(since)
    if math.isnan(seconds):
        raise UsageError(f"since is {for_message(str(since))}", fix="write a date or time, such as 2026-11-03")
    return seconds


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
    most_sessions: Annotated[int, MOST_SESSIONS_OPTION] = MOST_SESSIONS,
) -> QuerySample:
    """Queries that stand for the traffic of a log, with the weights that every command uses.

    Queries that differ only in case, width and white space are one. Queries with personal data are left out before anything is
    written. Queries are drawn in proportion to their sessions, without replacement; the most frequent ones are certain.
    """
    from rankproof._analysis.traffic.sample import SampleOptions, check_sample_folder, sample_log, write_sample
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
    most_sessions: Annotated[int, MOST_SESSIONS_OPTION] = MOST_SESSIONS,
) -> SampleCheck:
    """Whether a sample that was drawn from an earlier log still stands for the traffic of this log."""
    from rankproof._analysis.traffic.drift import check_sample as checked
    from rankproof._analysis.traffic.sample import QUERIES_FILE, read_traffic_record
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
