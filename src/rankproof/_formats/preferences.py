"""Files of preferences: of the browser, Chatbot Arena, MT-bench, LangSmith, and plain tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from rankproof._data.qrels import HUMAN_PREFIX, UNKNOWN_JUDGE, judge_label
from rankproof._data.text import pluralise
from rankproof._formats.columns import names_for_message, normalised_name
from rankproof._formats.source_table import SourceTable, open_table
from rankproof._io.open import open_source
from rankproof.errors import InputError, for_message

TIE = "tie"
_QUERY = ("query", "question_id", "query_id", "example_id", "reference_example_id", "prompt_id", "id", "question", "prompt")
_PAIRS = (("a", "b"), ("model_a", "model_b"), ("model_1", "model_2"), ("system_a", "system_b"), ("left", "right"))
_WINNER = ("preferred", "winner", "choice", "preference", "label")
_WHO = ("who", "judge", "person", "annotator", "assessor", "rater", "user")
_BROWSER = frozenset(("answers", "dataset", "when"))
"""Columns of the file that the browser writes, in which people judge."""
_TURN = "turn"
_TIES = frozenset(("tie", "tie (bothbad)", "tie(bothbad)", "both", "bothbad", "neither", "equal", "same", "draw", "0", "0.5"))
_ERRORS = frozenset(("error", "failed", "none", ""))
_SHOWN_FIRST = ("left", "model_a")
"""Files of these shapes show their first system first."""


@dataclass(frozen=True, slots=True)
class Preference:
    """Which of two answers is better: `preferred` is one of the systems `a` and `b`, or "tie".

    `first` is the system that was shown first, empty if that is not known. `who` is the person, or the label of a machine.
    """

    query: str
    a: str
    b: str
    preferred: str
    first: str = ""
    who: str = ""

    @property
    def is_machine(self) -> bool:
        """Whether a machine gave it, as its name says; also without a name, and with one that says neither people nor machine."""
        return not self.who or bool(judge_label(self.who))

    @property
    def is_known_machine(self) -> bool:
        """Whether its name says that a machine gave it."""
        label = judge_label(self.who)
        return bool(label) and not label.startswith(f"{UNKNOWN_JUDGE}:")

    @property
    def answers(self) -> tuple[str, str, str]:
        """The two answers, whatever their order."""
        return (self.query, *sorted((self.a, self.b)))  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class PreferenceFile:
    """The preferences of a file; `notes` say what was dropped."""

    source: str
    preferences: tuple[Preference, ...]
    notes: tuple[str, ...] = field(default=())


def read_preferences(path: str) -> PreferenceFile:
    """The preferences of a file in any of the known shapes; rows without a preference are counted."""
    table = open_table(open_source(path))
    reader = _PreferenceReader(table)
    preferences = tuple(reader.read())
    if not preferences:
        raise InputError("the file has no preference", fix="write rows with query, a, b and preferred", source=table.source)
    return PreferenceFile(table.source, preferences, reader.notes())


class _PreferenceReader:
    """Reads the rows of one table."""

    def __init__(self, table: SourceTable) -> None:
        self._table = table
        self._known = {normalised_name(name): name for name in reversed(table.names)}
        self._dropped: dict[str, int] = {}
        self._pair = next((pair for pair in _PAIRS if {*pair} <= self._known.keys()), None)
        self._scores = self._known.get("scores") or self._known.get("ranked_preference")
        if self._pair is None and self._scores is None:
            what = f"no columns are recognised as two systems; columns: {names_for_message(table.names)}"
            raise InputError(what, fix="call them a and b, and the better one preferred", source=table.source, line=1)

    def read(self) -> Iterator[Preference]:
        """The preferences in the order of the rows."""
        for line, row in self._table.rows():
            plain = {name: row.get(column) for name, column in self._known.items()}
            query = self._query(plain)
            if query is None:
                self._drop("without a question")
            elif self._pair is None:
                yield from self._by_scores(plain, query, line)
            elif "g1_winner" in self._known:
                yield from self._both_orders(plain, query, line)
            else:
                yield from self._one(plain, query, line)

    def notes(self) -> tuple[str, ...]:
        """How many rows were dropped, and why."""
        return tuple(f"{pluralise(count, 'row')} {why} dropped" for why, count in self._dropped.items())

    def _drop(self, why: str) -> None:
        self._dropped[why] = self._dropped.get(why, 0) + 1

    def _query(self, row: Mapping[str, Any]) -> str | None:
        value = next((row[name] for name in _QUERY if row.get(name) not in (None, "")), None)
        if value is None:
            return None
        turn = row.get(_TURN)
        return str(value) if turn in (None, "", 1, "1") else f"{value}/{turn}"

    def _who(self, row: Mapping[str, Any]) -> str:
        name = next((name for name in _WHO if row.get(name) not in (None, "")), _WHO[0])
        value = row.get(name) or ""
        # MT-bench names the model and its prompt.
        who = str(value[0] if isinstance(value, Sequence) and not isinstance(value, str) and value else value).strip()
        return f"{HUMAN_PREFIX}{who}" if self._known.keys() >= _BROWSER and (not who or judge_label(who)) else who

    def _systems(self, row: Mapping[str, Any]) -> tuple[str, str] | None:
        assert self._pair is not None, "the caller checks this"
        a, b = (str(row.get(name) or "").strip() for name in self._pair)
        return (a, b) if a and b and a != b else None

    def _both_orders(self, row: Mapping[str, Any], query: str, line: int) -> Iterator[Preference]:
        """A row of MT-bench: the first game shows model_1 first, the second one model_2."""
        systems = self._systems(row)
        if systems is None:
            self._drop("without two systems")
            return
        for name, first in (("g1_winner", systems[0]), ("g2_winner", systems[1])):
            winner = _winner(row.get(name), systems, self._pair or ())
            if winner is None:
                self._drop("of a judge that failed")
            else:
                yield Preference(query, *systems, winner, first, self._who(row))

    def _one(self, row: Mapping[str, Any], query: str, line: int) -> Iterator[Preference]:
        systems = self._systems(row)
        if systems is None:
            self._drop("without two systems")
            return
        value = next((row[name] for name in _WINNER if row.get(name) is not None), None)
        winner = _columns_winner(row) if value is None else _winner(value, systems, self._pair or ())
        if winner is None and str(value).strip().lower() not in _ERRORS and value is not None:
            raise InputError(
                f"the better one is {for_message(str(value))}",
                fix=f"write one of {', '.join(map(for_message, (*systems, *(self._pair or ()), TIE)))}",
                source=self._table.source,
                line=line,
            )
        if winner is None:
            self._drop("without a preference")
            return
        chosen = {"a": systems[0], "b": systems[1]}.get(winner, winner)
        shown = systems[0] if self._pair is not None and self._pair[0] in _SHOWN_FIRST else ""
        yield Preference(query, *systems, chosen, self._first(row, systems, line) or shown, self._who(row))

    def _first(self, row: Mapping[str, Any], systems: tuple[str, str], line: int) -> str:
        """The system that was shown first; empty if the row does not say it."""
        value = row.get("first")
        if value is None or str(value).strip() == "":
            return ""
        first = _winner(value, systems, self._pair or ())
        if first not in systems:
            fix = f"write one of {', '.join(map(for_message, systems))}, or leave it empty"
            raise InputError(f"first is {for_message(str(value))}", fix=fix, source=self._table.source, line=line)
        return str(first)

    def _by_scores(self, row: Mapping[str, Any], query: str, line: int) -> Iterator[Preference]:
        """A row of LangSmith: the score of each experiment; the higher of two is preferred."""
        value = row.get("scores") if row.get("scores") is not None else row.get("ranked_preference")
        scores = value if isinstance(value, dict) else {}
        numbers = {str(name): value for name, value in scores.items() if isinstance(value, int | float)}
        if len(numbers) < 2:
            self._drop("with scores of fewer than two systems")
        order = row.get("order")
        for a, b in combinations(sorted(numbers), 2):
            better = TIE if numbers[a] == numbers[b] else max((a, b), key=numbers.__getitem__)
            known = [name for name in order if name in (a, b)] if isinstance(order, list) else []
            yield Preference(query, a, b, better, str(known[0]) if known else "", self._who(row))


def _columns_winner(row: Mapping[str, Any]) -> str | None:
    """The winner of a table of Kaggle's Arena competition, which has a column of 0 and 1 for each outcome."""
    outcomes = {"winner_model_a": "a", "winner_model_b": "b", "winner_tie": TIE}
    chosen = [name for column, name in outcomes.items() if str(row.get(column, "")).strip() in ("1", "1.0", "True", "true")]
    return chosen[0] if len(chosen) == 1 else None


def _winner(value: Any, systems: tuple[str, str], names: Sequence[str]) -> str | None:
    """The better system, or "tie"; None for anything else."""
    text = str(value).strip()
    if text in systems:
        return text
    plain = text.lower()
    if plain in _TIES:
        return TIE
    places = {"first": 0, "second": 1, **{name: at for at, name in enumerate(names)}, **{"a": 0, "b": 1, "1": 0, "2": 1}}
    return systems[places[plain]] if plain in places else None
