"""Several judges of the same answers: bias by system, family and drift; and how much one judge varies when asked again."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from rankproof._data.claims import JudgeNoise
from rankproof._data.table import CellValue, Column, Table
from rankproof._data.text import pluralise
from rankproof._evaluation.claim_judges import ClaimJudge, JudgeOf
from rankproof._evaluation.claim_verdicts import has_unit, matching_label, unit_of
from rankproof._evaluation.result import Result
from rankproof._formats.claims import claim_key
from rankproof._results.experiment_result import ExperimentResult
from rankproof._statistics.agreement import RatedItem, ScoredItem, auc, kappa
from rankproof._statistics.intervals import Interval, bounded_mean_interval
from rankproof.errors import UsageError, for_message
from rankproof.measures._claim_base import OVERLAP, ClaimMeasure, judge_of_measure, measure_without_judge

Differences = Mapping[str, Mapping[str, float]]
"""By system and question, the value of a judge less that of people, or of another judge."""
_FAMILY = re.compile(r"[a-z]{3,}")
_PER_SYSTEM = (
    Column("value", "value", "mean over questions"),
    Column("95% CI", "interval", "Student's t over questions"),
    Column("beyond others", "value", "less the mean of the other systems on the same questions"),
    Column("95% CI of that", "interval", "Student's t over questions"),
    Column("questions", "count"),
)


@dataclass(frozen=True, slots=True)
class CheckedClaim:
    """A claim that a judge checked and people labelled; `act` tells one act of labelling from another."""

    act: tuple[object, ...]
    system: str
    query: str
    credit: float
    is_supported: bool
    human: float


def combined_judges(judges: Mapping[str, Sequence[CheckedClaim]]) -> dict[str, list[CheckedClaim]]:
    """Each judge and all of them as one on the claims that all checked: their mean credit, and the verdict of most of them."""
    by_act = [{(claim.act, claim.system): claim for claim in claims} for claims in judges.values()]
    shared = [key for key in by_act[0] if all(key in claims for claims in by_act)]
    same = {name: [claims[key] for key in shared] for name, claims in zip(judges, by_act, strict=True)}
    together = []
    for claims in zip(*same.values(), strict=True):
        first, supported = claims[0], sum(claim.is_supported for claim in claims)
        credit = sum(claim.credit for claim in claims) / len(claims)
        together.append(CheckedClaim(first.act, first.system, first.query, credit, 2 * supported > len(claims), first.human))
    return {**same, f"all {len(judges)} judges": together}


def several_judges_table(judges_of: Mapping[str, Mapping[str, Sequence[CheckedClaim]]]) -> Table:
    """The agreement of each judge and of all together with people on the same claims, by the kind of claim."""
    rows: list[tuple[CellValue, ...]] = []
    for kind, judges in judges_of.items():
        for name, claims in judges.items():
            distinct = list({claim.act: claim for claim in claims}.values())
            area = auc([ScoredItem(claim.query, claim.credit, claim.human == 1) for claim in distinct])
            same = kappa([RatedItem(claim.query, int(claim.human), int(claim.is_supported)) for claim in distinct])
            rows.append((name, kind, area.value, area.interval, same.value, same.interval, len(distinct)))
    return Table(
        "judges-together",
        "Agreement of several judges with people on the same claims",
        (
            Column("judge"),
            Column("claims"),
            Column("AUC", "value", "of all judges: of the mean of their credits"),
            Column("95% CI of AUC", "interval", "Student's t over queries"),
            Column("kappa", "value", "of all judges: of the verdict of most; a tie is not supported"),
            Column("95% CI of kappa", "interval", "Student's t over queries"),
            Column("labels", "count", "labels of claims that every judge checked"),
        ),
        tuple(rows),
    )


def bias_table(judges_of: Mapping[str, Mapping[str, Sequence[CheckedClaim]]]) -> Table:
    """How much higher each judge rates the claims of each system than people do, by the kind of claim."""
    rows: list[tuple[CellValue, ...]] = []
    sentences: list[str] = []
    for kind, judges in judges_of.items():
        for judge, claims in judges.items():
            biases = by_system(_claim_differences(claims))
            rows += [(judge, kind, bias.system, *bias.cells) for bias in biases]
            sentences += _family_sentences(judge, kind, biases)
    return Table(
        "judge-bias",
        "Judge minus people, by system",
        (Column("judge"), Column("claims"), Column("system"), *_PER_SYSTEM),
        tuple(rows),
        sentences=tuple(sentences),
    )


def _claim_differences(claims: Iterable[CheckedClaim]) -> Differences:
    """The mean over the labels of a question of credit less label, so that the claims of one question count once."""
    every: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for claim in claims:
        every[claim.system][claim.query].append(claim.credit - claim.human)
    return {system: {query: sum(values) / len(values) for query, values in queries.items()} for system, queries in every.items()}


@dataclass(frozen=True, slots=True)
class SystemBias:
    """The mean difference of a system, and how far it is beyond that of the other systems on the same questions."""

    system: str
    value: float
    interval: Interval | None
    beyond: float | None
    beyond_interval: Interval | None
    questions: int

    @property
    def cells(self) -> tuple[CellValue, ...]:
        """The cells of the columns of a system."""
        return self.value, self.interval, self.beyond, self.beyond_interval, self.questions


def by_system(differences: Differences, width: float = 1.0) -> list[SystemBias]:
    """The differences of each system with intervals; `width` is the range of the values."""
    biases = []
    for system, own in differences.items():
        apart = []
        for query, value in own.items():
            others = [rest[query] for name, rest in differences.items() if name != system and query in rest]
            if others:
                apart.append(value - sum(others) / len(others))
        value, interval = _mean(list(own.values()), width)
        beyond, beyond_interval = _mean(apart, 2 * width) if apart else (None, None)
        biases.append(SystemBias(system, value or 0.0, interval, beyond, beyond_interval, len(own)))
    return biases


def _mean(values: Sequence[float], width: float) -> tuple[float, Interval | None]:
    numbers = np.array(values)
    return float(numbers.mean()), bounded_mean_interval(numbers, within=(-width, width))


def _family_sentences(judge: str, kind: str, biases: Iterable[SystemBias]) -> Iterator[str]:
    """The systems of the judge's own family that it rates higher, against people, than the others."""
    family = judge_family(judge)
    for bias in biases:
        is_own = family is not None and family in _FAMILY.findall(bias.system.casefold())
        if is_own and bias.beyond is not None and bias.beyond_interval is not None and bias.beyond_interval[0] > 0:
            yield (
                f"{for_message(judge)} favours {for_message(bias.system)}, a name of its family: compared with people "
                f"it rates it {_points(bias.beyond, bias.beyond_interval)} higher than the other systems ({kind})."
            )


def judge_family(label: str) -> str | None:
    """The first word of the model in a judge's label: gpt of llm:gpt-4o:3f2a1b0c; None where the label has no model."""
    model = label.partition(":")[2].rpartition(":")[0].rpartition("/")[2].casefold()
    word = _FAMILY.match(model)
    return None if word is None else word[0]


def _points(value: float, interval: Interval) -> str:
    low, high = (f"{100 * end:z.1f}" for end in interval)
    return f"{100 * value:.1f} pp, 95% CI [{low}, {high}],"


@dataclass(frozen=True, eq=False, slots=True)
class JudgeValues:
    """The values of one measure by one judge, by system and question; `judged` is what the judge saw of each."""

    judge: str
    measure: str
    width: float
    values: Differences
    judged: Mapping[tuple[str, str], object]


def judge_values(results: ExperimentResult, name: str = "") -> Iterator[JudgeValues]:
    """The values by each judge of stored answers; `name` tells the folder from others with the same judge."""
    if results.answers is None:
        return
    labels = list(dict.fromkeys(verdict.judge for verdict in results.claims))
    answers = {run.name: run.answers for run in results.system_runs if run.answers is not None}
    judged = {
        (system, query): (answer, tuple(results.contexts.get(context) for context in answer.given or ()))
        for system, of_system in answers.items()
        for query, answer in of_system.items()
    }
    systems = results.answers.systems
    for key, first in systems[0].measures.items() if systems else ():
        judge = judge_of_measure(first.measure)
        low, high = first.measure.range
        if judge is not None and high - low < math.inf:
            label = matching_label(judge, labels) or judge
            values = {system.name: system.measures[key].per_query for system in systems}
            label = f"{label} in {name}" if name else label
            yield JudgeValues(label, measure_without_judge(first.measure), high - low, values, judged)


def judge_differences_table(every: Sequence[JudgeValues]) -> Table:
    """How much higher the second of each two judges rates the same answers; judges without a common answer are an error."""
    rows: list[tuple[CellValue, ...]] = []
    sentences, left_out = list[str](), 0
    for first, second in combinations(every, 2):
        if first.measure != second.measure:
            continue
        differences, other = _value_differences(first, second)
        left_out += other
        if not differences:
            continue
        queries = dict.fromkeys(query for own in differences.values() for query in own)
        means = {query: float(np.mean([own[query] for own in differences.values() if query in own])) for query in queries}
        (whole,) = by_system({"all systems": means}, first.width)
        biases = by_system(differences, first.width)
        rows += [(first.measure, first.judge, second.judge, bias.system, *bias.cells) for bias in (whole, *biases)]
        sentences.append(_difference_sentence(first, second, whole))
    if not rows:
        raise UsageError(
            "no two judges have values of the same answers",
            fix="specify results of the same measure and answers by two judges, or by one judge at two dates",
        )
    note = f"{pluralise(left_out, 'answer')} left out: the other judge saw another answer, or other contexts"
    return Table(
        "judge-differences",
        "The second judge minus the first, on the same answers",
        (Column("measure"), Column("first"), Column("second"), Column("system"), *_PER_SYSTEM),
        tuple(rows),
        sentences=tuple(sentences),
        notes=(note,) if left_out else (),
        verdict_first=True,
    )


def _value_differences(first: JudgeValues, second: JudgeValues) -> tuple[dict[str, dict[str, float]], int]:
    """The differences on the same answers, and how many answers are not the same."""
    differences: dict[str, dict[str, float]] = {}
    left_out = 0
    for system, own in first.values.items():
        other = second.values.get(system, {})
        both = [query for query in own if query in other]
        same = [query for query in both if first.judged.get((system, query)) == second.judged.get((system, query))]
        left_out += len(both) - len(same)
        if same:
            differences[system] = {query: other[query] - own[query] for query in same}
    return differences, left_out


def _difference_sentence(first: JudgeValues, second: JudgeValues, bias: SystemBias) -> str:
    on = f"on the same {pluralise(bias.questions, 'question')}"
    names = f"{for_message(second.judge)} minus {for_message(first.judge)}"
    if bias.interval is None:
        return f"{names}: {100 * bias.value:z.1f} pp {first.measure} {on}."
    low, high = bias.interval
    differ = "differ" if low > 0 or high < 0 else "are not shown to differ"
    ends = f"95% CI [{100 * low:z.1f}, {100 * high:z.1f}]"
    return f"The judges {differ}: {names} is {100 * bias.value:z.1f} pp {first.measure} {on}, {ends}."


SAMPLE, REPEATS = 30, 3
"""The questions that are asked again, and how often each is asked in all."""
Evaluate = Callable[[JudgeOf], Result]
"""Evaluates the sampled questions with given judges."""


def judge_noise(evaluate: Evaluate, judge_of: JudgeOf, repeats: int = REPEATS) -> tuple[JudgeNoise, ...]:
    """The noise of each measure that a judge gives: the questions are judged `repeats` times, and once in reversed order."""

    def varied(repeat: int, *, reverse: bool = False) -> JudgeOf:
        def judge(name: str) -> ClaimJudge:
            return judge_of(name).varied(repeat=repeat, reverse=reverse)

        return judge

    again = [evaluate(judge_of if repeat == 0 else varied(repeat)) for repeat in range(repeats)]
    backward = evaluate(varied(0, reverse=True))
    noises = []
    for measure in repeated_measures(again[0]):
        labels = [_label(measure, repeat, judge_of) for repeat in range(repeats)]
        tables = [_credits(result, measure, label) for result, label in zip(again, labels, strict=True)]
        reversed_label = judge_of(measure.judge).varied(reverse=True).label
        noises.append(
            JudgeNoise(
                labels[0],
                str(measure),
                len(again[0].queries),
                repeats,
                _deviation(str(measure), again),
                _mean_flips(combinations(tables, 2)),
                _mean_flips([(tables[0], _credits(backward, measure, reversed_label))]),
            )
        )
    return tuple(noises)


def repeated_measures(result: Result) -> list[ClaimMeasure]:
    """The measures whose values may change when the judge is asked again: shared words never do."""
    every = [measure.measure for measure in result.systems[0].measures.values()]
    return [measure for measure in every if isinstance(measure, ClaimMeasure) and measure.judge != OVERLAP]


def _label(measure: ClaimMeasure, repeat: int, judge_of: JudgeOf) -> str:
    judge = judge_of(measure.judge)
    return judge.varied(repeat=repeat).label if repeat else judge.label


Credits = Mapping[tuple[object, ...], bool]
"""Whether each claim is supported."""


def _credits(result: Result, measure: ClaimMeasure, label: str) -> Credits:
    return {
        (*claim_key(claim), claim.claim.text, claim.shown): claim.verdict == "supported"
        for claim in result.claims
        if claim.judge == label
        and claim.table in measure.every_table
        and claim.verdict != "failed"
        and has_unit(claim.claim, unit_of(measure))
    }


def _mean_flips(pairs: Iterable[tuple[Credits, Credits]]) -> float | None:
    """The mean share of claims with another verdict, over pairs of repeats; None if no claim is in both."""
    shares = []
    for credits, other in pairs:
        both = credits.keys() & other.keys()
        if both:
            shares.append(sum(credits[key] != other[key] for key in both) / len(both))
    return sum(shares) / len(shares) if shares else None


def _deviation(measure: str, again: Sequence[Result]) -> float | None:
    """The standard deviation of a question's value over the repeats, pooled over the questions and systems that have all."""
    variances = []
    for name in (system.name for system in again[0].systems):
        values = [result.per_query(name)[measure] for result in again]
        # A question that failed in one repeat would mix the noise of the judge with that of the failure.
        common = set(values[0]).intersection(*values[1:])
        variances += [float(np.var([value[query] for value in values], ddof=1)) for query in sorted(common)]
    return math.sqrt(math.fsum(variances) / len(variances)) if variances and len(again) > 1 else None


def noise_tables(noises: Sequence[JudgeNoise]) -> tuple[Table, ...]:
    """The noise of each measure; nothing where no judge was asked again."""
    if not noises:
        return ()
    queries, repeats = noises[0].queries, noises[0].repeats
    return (
        Table(
            "judge-noise",
            f"The same judge asked {repeats} times about {pluralise(queries, 'query', 'queries')}",
            (
                Column("measure"),
                Column("deviation", "value", "standard deviation of the value of one question over the repeats"),
                Column("of the mean", "value", f"the same for the mean of {pluralise(queries, 'query', 'queries')}"),
                Column("flips", "share", "claims with another verdict when asked again"),
                Column("flips reversed", "share", "claims with another verdict if contexts and claims are in reversed order"),
            ),
            tuple(
                (noise.measure, noise.deviation, mean_deviation(noise, noise.queries), noise.flips, noise.reversed_flips)
                for noise in noises
            ),
            sentences=tuple(_flip_sentences(noises)),
        ),
    )


MANY_FLIPS = 0.1
"""A judge that changes more of its verdicts than this is called unstable."""


def _flip_sentences(noises: Sequence[JudgeNoise]) -> list[str]:
    unstable = [noise.measure for noise in noises if max(noise.flips or 0.0, noise.reversed_flips or 0.0) > MANY_FLIPS]
    if not unstable:
        return []
    return [f"More than {MANY_FLIPS:.0%} of the verdicts change, so single answers cannot be compared: {', '.join(unstable)}."]


def mean_deviation(noise: JudgeNoise, queries: int) -> float | None:
    """The standard deviation of the mean of so many questions when the judge is asked again."""
    return None if noise.deviation is None else noise.deviation / math.sqrt(queries)


def same_model_notes(answered_by: Mapping[str, str], judges: Iterable[str]) -> list[str]:
    """A note for each system whose answers are from the model that judges them; `answered_by` has the model of each system."""
    notes = []
    for judge in dict.fromkeys(judges):
        # A name may be that of a model with a tag (qwen:7b), or begin with the kind of the judge (logprob:qwen:7b).
        models = {name.casefold() for name in (judge, judge.partition(":")[2]) if name}
        same = {system: name for system, name in answered_by.items() if name.casefold() in models}
        if same:
            systems, model = ", ".join(map(for_message, same)), next(iter(same.values()))
            notes.append(f"{for_message(model)} judges its own answers ({systems}): such judges favour them; use another model")
    return notes
