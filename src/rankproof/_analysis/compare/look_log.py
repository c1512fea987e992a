"""The log of looks and comparisons: how often the same systems were looked at, and how often the same queries were used."""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import takewhile

import numpy as np

from rankproof._analysis.compare.comparison import Comparison
from rankproof._analysis.compare.summary import compare_results
from rankproof._analysis.decision.sentences import points
from rankproof._analysis.inputs import AnalysisInput, input_from_results
from rankproof._data.ordering import ranked_documents
from rankproof._data.run import Run
from rankproof._data.text import ordinal, pluralise
from rankproof._evaluation.sources import RunSources
from rankproof._io.files import check_folder_file
from rankproof._io.memory import check_memory
from rankproof._io.strict_json import JsonObject, parse_strict_json
from rankproof._results.experiment_result import ExperimentResult
from rankproof._results.provenance import utc_now
from rankproof._statistics.options import Looks
from rankproof.errors import InputError, for_message
from rankproof.measures._base import Measure

_ID_DIGITS = 8
_SAMPLED_QUERIES = 64
"""Enough to recognise a set of queries, few enough for one line of the log."""
_RANKED_QUERIES, _TOP = 8, 10
"""Of so many of these queries the first documents are in the line too, as a fingerprint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One line of the log: a comparison of systems on n queries of a dataset.

    `data` has the fingerprints of some queries (`sampled_queries`), `values` is that of the values, so that the same comparison
    again is no further look. `rankings` has for a few of these queries fingerprints of what the systems show: renamed systems
    are known by them. `difference` is that of the chosen system or leader from the baseline, or of the best other system
    if that is the baseline, with its standard `error`; `shipped` says whether that system was chosen.
    """

    made: str
    data: tuple[str, ...]
    systems: tuple[str, ...]
    measure: str
    n: int
    values: str
    looks: Looks
    difference: float | None
    error: float | None
    shipped: bool
    rankings: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def is_same_look(self, other: Look) -> bool:
        """Whether two looks have the same systems, queries and values: the same comparison again."""
        return self._is_same_question(other) and self._has_same_queries(other) and self.values == other.values

    def is_further_look(self, other: Look) -> bool:
        """Whether this look is at the same systems as the other one, with more queries or as many different ones."""
        return self._is_same_question(other) and other.n <= self.n and not self._has_same_queries(other)

    def _is_same_question(self, other: Look) -> bool:
        """Whether the systems are the same, and queries of both looks have mostly the same relevant documents."""
        first, second = self._fingerprints(), other._fingerprints()
        differing = [first[query] != second[query] for query in first.keys() & second.keys()]
        is_same = self.systems == other.systems or self._shows_the_same(other)
        return is_same and self.measure == other.measure and 2 * sum(differing) <= len(differing)

    def _shows_the_same(self, other: Look) -> bool:
        """Whether systems of other names show the same on most queries of which both looks know it."""
        shared = self.rankings.keys() & other.rankings.keys()
        return 2 * sum(self.rankings[query] == other.rankings[query] for query in shared) > len(shared)

    def _has_same_queries(self, other: Look) -> bool:
        return self.n == other.n and self._fingerprints().keys() == other._fingerprints().keys()

    def _fingerprints(self) -> dict[str, str]:
        """The fingerprint of each sampled query by the number of its id."""
        return {query[:_ID_DIGITS]: query[_ID_DIGITS:] for query in self.data}

    def is_same_data(self, other: Look) -> bool:
        """Whether the queries of one look are among those of the other: most of the sampled ones that both could have."""
        full = [max(data) for data in (self.data, other.data) if len(data) == _SAMPLED_QUERIES]
        first, second = ({query for query in data if not full or query <= min(full)} for data in (self.data, other.data))
        return 2 * len(first & second) > min(len(first), len(second))


def sampled_queries(inputs: AnalysisInput) -> tuple[str, ...]:
    """Fingerprints of a sample of the queries with their relevant documents, or with their texts where nothing is judged.

    A query is sampled by its id, the same in a larger set. Names of files do not count.
    """
    ids = sorted((zlib.crc32(query.encode("utf-8", "surrogatepass")), query) for query in inputs.result.queries)
    return tuple(f"{number:0{_ID_DIGITS}x}{_query_fingerprint(inputs, query)}" for number, query in ids[:_SAMPLED_QUERIES])


def _query_fingerprint(inputs: AnalysisInput, query: str) -> str:
    relevant = sorted((doc, grade) for doc, grade in inputs.qrels.get(query, {}).items() if grade > 0)
    texts = inputs.texts if not inputs.qrels and inputs.texts is not None else {}
    content = [query, relevant, texts[query].text if query in texts else ""]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:8]


def _rankings(inputs: AnalysisInput, systems: Sequence[str], data: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Fingerprints of the first documents or the answers of the systems, by the number of each of the first sampled queries."""
    numbers = {query[:_ID_DIGITS] for query in data[:_RANKED_QUERIES]}
    by_number = {f"{zlib.crc32(query.encode('utf-8', 'surrogatepass')):0{_ID_DIGITS}x}": query for query in inputs.result.queries}
    queries = {number: by_number[number] for number in sorted(numbers)}
    held = [name for name in systems if name in inputs.runs and _is_held(inputs.runs, name)]
    runs = {name: ranked_documents(inputs.runs[name].restricted_to(frozenset(queries.values()))) for name in held}
    shown = {}
    for number, query in queries.items():
        content = [[list(runs.get(name, {}).get(query, ())[:_TOP]), _answer_text(inputs, name, query)] for name in systems]
        if all(documents or answer for documents, answer in content):
            shown[number] = tuple(sorted(hashlib.sha256(json.dumps(own).encode()).hexdigest()[:8] for own in content))
    return shown


def _is_held(runs: Mapping[str, Run], name: str) -> bool:
    """Whether the run is in memory: a large file is not read again for its fingerprint."""
    return not isinstance(runs, RunSources) or runs.is_held(name)


def _answer_text(inputs: AnalysisInput, name: str, query: str) -> str:
    answers = inputs.answers.get(name)
    answer = None if answers is None else answers.get(query)
    return "" if answer is None else answer.text


def look_of(inputs: AnalysisInput, comparison: Comparison) -> Look:
    """The line of a comparison."""
    decision = comparison.decision
    values = json.dumps([decision.n, *([risk.name, risk.value] for risk in decision.by_system)])
    difference, error, other = _difference(comparison)
    data, systems = sampled_queries(inputs), tuple(sorted(risk.name for risk in decision.by_system))
    return Look(
        made=utc_now(),
        data=data,
        systems=systems,
        measure=comparison.primary,
        n=decision.n,
        values=hashlib.sha256(values.encode()).hexdigest(),
        looks=decision.looks,
        difference=difference,
        error=error,
        shipped=decision.outcome == "ship" and decision.systems == (other,),
        rankings=_rankings(inputs, systems, data),
    )


def _difference(comparison: Comparison) -> tuple[float | None, float | None, str | None]:
    """The difference of another system from the baseline with its error, as the decision has them, and that system."""
    decision, baseline = comparison.decision, comparison.baseline
    sign = -1.0 if decision.measure.higher_is_better is False else 1.0
    for pair in decision.against:
        if pair.system == baseline:
            return -sign * pair.difference, pair.error, pair.other
        if pair.other == baseline:
            return sign * pair.difference, pair.error, pair.system
    return None, None, None


def read_looks(path: str) -> tuple[Look, ...]:
    """The lines of a log; none if there is no file."""
    check_folder_file(path, os.path.dirname(path))
    try:
        with open(path, encoding="utf-8") as file:
            check_memory(os.fstat(file.fileno()).st_size, path)
            lines = file.read().splitlines()
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("the log of looks cannot be read", fix="pass a file of --log, or move this one", source=path) from error
    return tuple(_parsed(line, path, number) for number, line in enumerate(lines, start=1) if line.strip())


def _parsed(line: str, path: str, number: int) -> Look:
    fix = "the log of looks is damaged: move the file elsewhere to start a new log"
    try:
        return JsonObject(parse_strict_json(line, source=path), path, damaged_fix=fix).read(Look)
    except InputError as error:
        raise InputError(error.what, fix=fix, source=path, line=number) from None


def append_look(path: str, look: Look) -> Iterator[str]:
    """Adds a line to the log; a note if it cannot be written."""
    check_folder_file(path, os.path.dirname(path))
    try:
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(look)) + "\n")
    except OSError:
        yield f"{for_message(path)} cannot be written, so this look is not counted"


@dataclass(frozen=True, eq=False, slots=True)
class LoggedComparison:
    """A comparison in the mode of looks that the log asks for, its line, and whether the line is to be added.

    `notes` are those on looks and on reuse, which the comparison has as well.
    """

    comparison: Comparison
    look: Look
    is_new: bool
    notes: tuple[str, ...] = ()


def compare_with_log(
    first: Comparison,
    compared: Callable[[Looks], Comparison | None],
    inputs: AnalysisInput,
    path: str,
    named_mode: Looks | None,
) -> LoggedComparison:
    """The first comparison, or that for many looks if an earlier look had the same systems and fewer or other queries."""
    earlier, comparison = read_looks(path), first
    look = look_of(inputs, comparison)
    mode = named_mode or _automatic_mode(earlier, look)
    if mode is not None and mode != comparison.decision.looks:
        comparison = compared(mode) or first
        look = look_of(inputs, comparison)
    is_new = not any(map(look.is_same_look, earlier))
    every = (*earlier, look) if is_new else earlier
    notes = (*_look_notes(earlier, look), *_reuse_notes(every, look, comparison.decision.measure))
    decision = replace(comparison.decision, look=_look_number(_earlier_looks(earlier, look)))
    table = replace(comparison.table, sentences=decision.sentences)
    comparison = replace(comparison, decision=decision, table=table, notes=(*comparison.notes, *notes))
    return LoggedComparison(comparison, look, is_new, notes)


def compare_results_with_log(results: ExperimentResult, path: str, named_mode: Looks | None) -> LoggedComparison | None:
    """The comparison of the systems of an experiment by the log; None without judgements, or if no measure can decide."""

    def compared(looks: Looks | None) -> Comparison | None:
        settings = replace(results.decision_settings, looks=looks or results.decision_settings.looks)
        return compare_results(replace(results, decision_settings=settings))

    first = compared(named_mode)
    return None if first is None else compare_with_log(first, compared, input_from_results(results), path, named_mode)


def logged_comparison(
    compared: Callable[[Looks | None], Comparison], inputs: AnalysisInput, path: str, named_mode: Looks | None
) -> Comparison:
    """The comparison by the log, with its line added to it."""
    logged = compare_with_log(compared(named_mode), compared, inputs, path, named_mode)
    notes = tuple(append_look(path, logged.look)) if logged.is_new else ()
    return replace(logged.comparison, notes=(*logged.comparison.notes, *notes))


def logged_gate(path: str, looks: Sequence[Look], measure: Measure) -> tuple[str, ...]:
    """Adds the comparisons of a gate that are not in the log yet; notes on reuse, or that the log cannot be written."""
    earlier = read_looks(path)
    added = [look for look in looks if not any(map(look.is_same_look, earlier))]
    problems = [note for look in added for note in append_look(path, look)]
    reuse = _reuse_notes((*earlier, *added), looks[0], measure) if looks else iter(())
    return (*reuse, *problems[:1])


def _automatic_mode(earlier: Sequence[Look], look: Look) -> Looks | None:
    """The mode of the same look if it was logged; many if a look at fewer or other queries was."""
    if repeats := list(filter(look.is_same_look, earlier)):
        return repeats[-1].looks
    return "many" if _earlier_looks(earlier, look) else None


def _look_notes(earlier: Sequence[Look], look: Look) -> Iterator[str]:
    """Which look this is, if the limits are those for many, and what the earlier looks leave uncovered."""
    before = _earlier_looks(earlier, look)
    if not before or look.looks != "many":
        return
    fewer = [other.n for other in before if other.n < look.n and look.is_same_data(other)]
    had = f"{max(fewer):,} of the {look.n:,} queries" if fewer else "other queries"
    yield f"{ordinal(_look_number(before))} look: limit 0.6%, as an earlier one had {had}"
    if any(other.looks == "one" for other in before):
        yield "a look with the limit 5% followed by looks with 0.6% is not covered in full: together about 10% are wrong"


def _earlier_looks(earlier: Sequence[Look], look: Look) -> list[Look]:
    """The looks at the same systems with fewer or other queries, before this one was first logged."""
    # Looks that came after this one was first logged are further looks of theirs, not earlier ones of this.
    before = takewhile(lambda other: not look.is_same_look(other), earlier)
    return [other for other in before if look.is_further_look(other)]


def _look_number(before: Sequence[Look]) -> int:
    return len({(other.n, other.data) for other in before}) + 1


MIN_COMPARISONS = 10
"""From this many comparisons on the spread of true differences can be estimated."""


@dataclass(frozen=True, slots=True)
class ReuseGain:
    """The sum of the shipped differences as measured and shrunk to their mean, over so many comparisons."""

    comparisons: int
    shipped: int
    measured: float
    shrunk: float


def reuse_gain(differences: Sequence[float], errors: Sequence[float], shipped: Sequence[bool]) -> ReuseGain | None:
    """The gain of the shipped comparisons (empirical Bayes); None for fewer than ten comparisons.

    Each difference is moved to the mean of all, shipped or not, by the share of its variance that its standard error explains.
    """
    if len(differences) < MIN_COMPARISONS:
        return None
    d, variances, chosen = np.array(differences), np.array(errors) ** 2, np.array(shipped, dtype=bool)
    mean, spread = float(d.mean()), max(0.0, float(d.var(ddof=1) - variances.mean()))
    shares = np.divide(spread, spread + variances, out=np.ones_like(variances), where=spread + variances > 0)
    shrunk = mean + shares * (d - mean)
    return ReuseGain(len(d), int(chosen.sum()), float(d[chosen].sum()), float(shrunk[chosen].sum()))


def _reuse_notes(every: Sequence[Look], look: Look, measure: Measure) -> Iterator[str]:
    """From ten comparisons on the same data on, the measured gain of what was shipped and the shrunk one."""
    alike = (other for other in every if other.measure == look.measure and other.error is not None)
    same = [other for other in alike if look.is_same_data(other)]
    gain = reuse_gain(
        [other.difference or 0.0 for other in same],
        [other.error or 0.0 for other in same],
        [other.shipped for other in same],
    )
    if gain is not None:
        shown, likely = (f"{'-' if value < 0 else '+'}{points(value, measure)}" for value in (gain.measured, gain.shrunk))
        shipped = f"{gain.shipped:,} of {pluralise(gain.comparisons, 'comparison')} shipped a system"
        yield f"{shipped}: total gain {shown} as measured, about {likely} after correction for reusing the queries"
