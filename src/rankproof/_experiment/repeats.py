"""Runs systems with a search engine or language model several times, and keeps what each repeat gave."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from rankproof._data.answers import Answers
from rankproof._data.replies import RecordedReply, changed_notes
from rankproof._data.run import Run
from rankproof._data.text import in_a_sentence
from rankproof._evaluation.result import repeat_name
from rankproof._experiment.runner import StageRun, StageRunner, may_vary
from rankproof._results.experiment_result import REPEATS_FACT, SystemRun
from rankproof.errors import for_message
from rankproof.stages._base import Stage

RepeatedRuns = Mapping[str, tuple[StageRun, ...]]
"""The further runs of each system that was run more than once."""


def repeated_stage_runs(runner: StageRunner, systems: Mapping[str, Stage], repeats: int) -> RepeatedRuns:
    """The second and later runs of the systems that may vary; every repeat has its own recorded replies."""
    varying = {name: stage for name, stage in systems.items() if may_vary(stage)}
    session, repeated = runner.context.session, dict[str, tuple[StageRun, ...]]()
    try:
        for number in range(2, repeats + 1):
            session.repeat = number
            again = runner.for_repeat()
            again.ask_engines(varying)
            for name, stage in varying.items():
                repeated[name] = (*repeated.get(name, ()), again.stage_run(stage, repeat_name(name, number)))
    finally:
        session.repeat = 1
    return repeated


def with_other_rankings(repeated: RepeatedRuns, first: Mapping[str, StageRun]) -> dict[str, StageRun]:
    """The further runs by name, `a#2`, of the systems whose rankings are not always the same."""
    return {
        repeat_name(name, number): run
        for name, runs in repeated.items()
        if any(not _same_rankings(run, first[name]) for run in runs)
        for number, run in enumerate(runs, start=2)
    }


def _same_rankings(run: StageRun, other: StageRun) -> bool:
    pairs = zip(run.output.rankings, other.output.rankings, strict=True)
    return all(list(own[0]) == list(others[0]) for own, others in pairs)


def with_repeats(system_run: SystemRun, repeated: RepeatedRuns, runs: Mapping[str, Run]) -> SystemRun:
    """The system with the rankings and answers of its further runs."""
    further = repeated.get(system_run.name, ())
    if not further:
        return system_run
    names = [repeat_name(system_run.name, number) for number in range(2, len(further) + 2)]
    facts = {**system_run.facts, REPEATS_FACT: len(further) + 1}
    ranked = tuple(runs[name] for name in names if name in runs)
    system_run = replace(system_run, facts=facts, repeat_runs=ranked, answers=_with_answers(system_run.answers, further))
    return system_run if system_run.replies is None else _with_replies(system_run, system_run.replies, further)


def _with_replies(system_run: SystemRun, first: Mapping[str, RecordedReply], further: tuple[StageRun, ...]) -> SystemRun:
    """The search engine with what changed in its replies, and a note on it."""
    replies_of_runs = [run.output.replies or () for run in further]
    replies = {query: _compared(reply, [own[at] for own in replies_of_runs]) for at, (query, reply) in enumerate(first.items())}
    facts = {**system_run.facts, "changed": sum(bool(reply.changed) for reply in replies.values())}
    return replace(system_run, replies=replies, facts=facts, notes=(*system_run.notes, *changed_notes(replies.values())))


def _compared(reply: RecordedReply, further: Sequence[RecordedReply]) -> RecordedReply:
    """The reply with the times of the further ones, and how many of these rank otherwise."""
    answered = [other for other in further if reply.state == other.state == "ok"]
    times = tuple(other.round_trip_ms for other in answered if other.round_trip_ms is not None)
    return replace(reply, repeats=times, changed=sum(other.docs != reply.docs for other in answered))


def _with_answers(answers: Answers | None, further: tuple[StageRun, ...]) -> Answers | None:
    """The answers with those of further runs as repeats."""
    answers_of_runs = [run.output.answers for run in further if run.output.answers is not None]
    if answers is None or not answers_of_runs:
        return answers
    repeats = {query: tuple(own[at] for own in answers_of_runs) for at, query in enumerate(answers)}
    return Answers(dict(answers), source=answers.source, repeats=repeats)


def repeat_notes(systems: Mapping[str, Stage], repeats: int) -> Iterator[str]:
    """Which systems were not repeated, because asking again cannot change them."""
    fixed = [for_message(name) for name, stage in systems.items() if not may_vary(stage)]
    if repeats > 1 and fixed:
        verb = "asks" if len(fixed) == 1 else "ask"
        yield f"{in_a_sentence(fixed)} {verb} no search engine or language model and ran once, not {repeats} times"
