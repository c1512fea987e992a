"""What is read of a log of live search, and what is dropped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

CLICKS = ("click", "click_through")
MISSING = frozenset(("", "null", "NULL", "None", "NaN", "nan", "undefined", "(not set)"))
"""What programs write for a user or a variant that they do not know."""
BOTS = ("bot", "crawler", "spider")
DAY = 86_400.0
MOST_SESSIONS = 1000


@dataclass(frozen=True, slots=True)
class LogOptions:
    """What is read of a log, and what is dropped.

    `columns` are the columns of a plain table by role. `user` and `variant` are paths in the queries of UBI, such as
    `query_attributes.variant`; None is the usual place. `user_option` is how messages name the option of the user. `queries` is
    whether the texts of queries are needed. `texts` and `numbers` are paths of further fields of a query, which `Sessions.texts`
    and `Sessions.numbers` hold; `value` is the path of a number of an event. `bots` are ends of words in the id of a user that
    is left out, as is one with more than `most_sessions` sessions in a day. Events later than `window` seconds after their
    query are dropped. `now` is the present time, after which no event can be; None asks the clock.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    user: str | None = None
    user_option: str = "--user"
    variant: str | None = None
    queries: bool = True
    texts: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    value: str | None = None
    bots: tuple[str, ...] = BOTS
    most_sessions: int = MOST_SESSIONS
    window: float = DAY
    now: float | None = None
