"""The options of commands that ask judges of claims, the judges that they name, and nuggets that a language model drafts."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from rankproof._cli.flags import add_flags
from rankproof._cli.inputs import encode_texts, show_tables
from rankproof._cli.llm_options import add_budget_options, add_server_options, chat_model, llm_session, server_options
from rankproof._cli.terminal import Terminal
from rankproof.errors import ExternalError, UsageError, escape_invisible

if TYPE_CHECKING:
    from rankproof._analysis.answers.logged_answers import AnswerJudges, LoggedAnswers
    from rankproof._data.claims import ClaimVerdict, Verdict
    from rankproof._data.table import Table
    from rankproof._evaluation.claim_judges import CallEstimate, ClaimJudge, ClaimTask
    from rankproof._evaluation.result import Result
    from rankproof._io.open import Progress
    from rankproof._judge.claims.nuggets import DraftedNuggets, NuggetDrafter, NuggetSource
    from rankproof._llm.budget import Estimate
    from rankproof.measures._base import Measure
    from rankproof.models._chat.base import ChatModel

_NOTE = "an estimate: invalid replies are requested again and cost more; replies cached by an earlier run cost nothing"


def add_judge_options(parser: argparse.ArgumentParser) -> None:
    """Adds the judge of claims, its server, the budget and the cache."""
    from rankproof._api.answers import evaluate_answers

    who = parser.add_argument_group("judge of claims")
    add_flags(who, evaluate_answers, ["judge"])
    add_server_options(who)
    add_budget_options(parser)


def asked_judges(measures: Sequence[Measure]) -> set[str]:
    """The judges that need a model."""
    from rankproof.measures._claim_base import OVERLAP, judge_of_measure

    return {judge for measure in measures if (judge := judge_of_measure(measure)) not in (None, OVERLAP)}


def check_judge_options(args: argparse.Namespace, measures: Sequence[Measure]) -> None:
    """Refuses options of a language model where no measure has one as its judge."""
    judges = asked_judges(measures)
    options = [*server_options(args), *(name for name in ("model_file", "budget") if getattr(args, name) is not None)]
    if options and not judges:
        option = options[0].replace("_", "-")
        raise UsageError(f"--{option} is for a judge that calls a model", fix=f"name one with --judge, or leave out --{option}")


@contextmanager
def answer_judges(args: argparse.Namespace, terminal: Terminal, measures: Sequence[Measure]) -> Iterator[AnswerJudges]:
    """Encoders and judges by name; the session of a language model is opened when a measure first needs a judge.

    Progress is shown if a measure has a judge that needs a model; words are compared at once.
    """
    from rankproof._analysis.answers.logged_answers import AnswerJudges
    from rankproof._cli.progress import RunProgress

    with ExitStack() as stack:
        made: list[Callable[[str], ClaimJudge]] = []

        def judge_of(name: str) -> ClaimJudge:
            # Imported here, since it imports the models, and word overlap needs none.
            from rankproof._judge.claims.base import claim_judges

            if not made:
                session = stack.enter_context(llm_session(args))
                made.append(claim_judges(session, chat=lambda model: chat_model(args, model)))
            return made[0](name)

        if asked_judges(measures):
            yield AnswerJudges(encode_texts, judge_of, stack.enter_context(RunProgress(terminal)))
        else:
            yield AnswerJudges(encode_texts, judge_of)


class EstimatingJudge:
    """Adds up what a judge would be asked, and asks nothing."""

    def __init__(self, judge: ClaimJudge) -> None:
        from rankproof._llm.budget import Estimate

        self._judge, self.total = judge, Estimate()
        self.name, self.label, self.has_scores = judge.name, judge.label, judge.has_scores

    def judge(self, tasks: Sequence[ClaimTask], progress: Progress) -> list[tuple[ClaimVerdict, ...]]:
        """Failed verdicts, which no value rests on; several cites support their sentence, so that each is asked for as well."""
        self._add(self._judge.estimate(tasks))
        score = 0.5 if self.has_scores else None
        verdicts = []
        for task in tasks:
            verdict: Verdict = "supported" if len(task.shown or ()) > 1 else "failed"
            verdicts.append(
                tuple(task.verdict(claim, verdict, self.label, score=score, reason="dry run") for claim in task.claims)
            )
        return verdicts

    def extract(self, texts: Sequence[tuple[str, str]], progress: Progress) -> list[tuple[str, ...] | None]:
        """The sentences of each text, which stand for the claims that a model would write."""
        from rankproof._data.sentences import sentences

        estimate = getattr(self._judge, "estimate_extraction", None)
        if estimate is not None:
            self._add(estimate(texts))
        return [tuple(sentences(text)) for _, text in texts]

    def varied(self, *, repeat: int = 0, reverse: bool = False) -> EstimatingJudge:
        """The same judge: another order costs the same."""
        return self

    def estimate(self, tasks: Sequence[ClaimTask]) -> CallEstimate:
        """The estimate of the judge."""
        return self._judge.estimate(tasks)

    def _add(self, more: CallEstimate) -> None:
        from rankproof._llm.budget import Estimate

        self.total += Estimate(more.calls, more.tokens_in, more.tokens_out)


def estimated_cost(evaluate: Callable[[AnswerJudges], Result], args: argparse.Namespace) -> Table:
    """What the judges of an evaluation would be asked; the evaluation itself asks nothing."""
    from rankproof._analysis.answers.logged_answers import AnswerJudges
    from rankproof._judge.claims.base import judge_of

    made: dict[str, tuple[EstimatingJudge, list[ChatModel]]] = {}
    with llm_session(args) as session:

        def estimating(name: str) -> ClaimJudge:
            if name not in made:
                models: list[ChatModel] = []

                def chat(model: str) -> ChatModel:
                    models.append(chat_model(args, model))
                    return models[-1]

                made[name] = (EstimatingJudge(judge_of(name, session, chat=chat)), models)
            return made[name][0]

        evaluate(AnswerJudges(encode_texts, estimating))
    return _cost_table({name: (judge.total, models) for name, (judge, models) in made.items()})


def _cost_table(judges: dict[str, tuple[Estimate, list[ChatModel]]]) -> Table:
    from rankproof._data.table import Column, Table

    columns = (
        Column("judge"),
        Column("calls", "count", "requests to the model"),
        Column("tokens in", "count", "input tokens, about four bytes each"),
        Column("tokens out", "count", "the most output tokens that the replies may have"),
        Column("money", about="at the prices of the options"),
    )
    rows = [
        (name, estimate.calls, estimate.tokens_in, estimate.tokens_out, _money(estimate, models))
        for name, (estimate, models) in judges.items()
    ]
    asks = any(estimate.calls for estimate, _ in judges.values())
    sentences = () if asks else ("No judge calls a language model.",)
    title = "Estimated calls of the judges of claims (dry run)"
    return Table("judge cost", title, columns, tuple(rows), sentences, (_NOTE,) if asks else ())


def _money(estimate: Estimate, models: Sequence[ChatModel]) -> str | None:
    if not estimate.calls or not models:
        return None
    model = models[0]
    if not (model.price_in or model.price_out):
        return "no price given"
    return f"{estimate.usage(model.price_in, model.price_out).money:.4f}"


def check_draft_options(args: argparse.Namespace) -> None:
    """Refuses a judge that writes no text, and options that have no effect."""
    from rankproof._judge.claims.base import is_language_model

    if args.judge is None or not is_language_model(args.judge):
        raise UsageError("--draft-nuggets needs a language model", fix="name one with --judge")
    for name in ("output", "nuggets", "labels", "measures"):
        if getattr(args, name):
            what = f"--draft-nuggets evaluates nothing, so --{name} has no effect"
            raise UsageError(what, fix=f"leave out --{name}; evaluate after a person has confirmed the nuggets")


def draft_nuggets(logs: LoggedAnswers, args: argparse.Namespace, terminal: Terminal) -> None:
    """Writes a draft for each question that the file does not have yet; --dry-run estimates the cost."""
    from rankproof._cli.progress import RunProgress
    from rankproof._judge.claims.nuggets import NuggetDrafter, NuggetSettings, add_drafts

    left = _left(logs, args.draft_nuggets)
    with llm_session(args) as session:
        drafter = NuggetDrafter(NuggetSettings(chat_model(args, args.judge)), session)
        if args.dry_run:
            show_tables([_estimate_table(drafter, left)], args, terminal)
            return
        with RunProgress(terminal) as progress:
            drafted = drafter.draft(left, progress)
    if left and not drafted.drafts:
        raise ExternalError(f"no nugget was drafted: {'; '.join(drafted.notes())}")
    add_drafts(args.draft_nuggets, drafted)
    show_tables([_drafts_table(drafted)], args, terminal)
    terminal.notes(drafted.notes())
    file = escape_invisible(shlex.quote(args.draft_nuggets))
    terminal.note(f"drafts are refused until a person confirms them: rankproof serve RESULTS --nuggets {file}")


def _left(logs: LoggedAnswers, path: str) -> list[NuggetSource]:
    """The questions without a line in the file."""
    from rankproof._formats.claims import read_nugget_drafts
    from rankproof._io.open import open_source
    from rankproof._judge.claims.nuggets import nugget_sources

    known = read_nugget_drafts(open_source(path)) if os.path.exists(path) else {}
    return [source for source in nugget_sources(logs) if source.query not in known]


def _estimate_table(drafter: NuggetDrafter, left: Sequence[NuggetSource]) -> Table:
    from rankproof._data.table import Column, Table

    cost = drafter.estimate(left)
    columns = (
        Column("questions", "count"),
        Column("calls", "count"),
        Column("tokens in", "count"),
        Column("tokens out", "count"),
    )
    row = (len(left), cost.calls, cost.tokens_in, cost.tokens_out)
    sentence = "No call was made. 4 characters count as a token; an invalid reply is requested again, which costs more."
    return Table("nugget cost", "Estimated calls to draft nuggets (dry run)", columns, (row,), (sentence,))


def _drafts_table(drafted: DraftedNuggets) -> Table:
    from rankproof._data.table import Column, Table

    nuggets = [nugget for draft in drafted.drafts for nugget in draft.nuggets]
    columns = (
        Column("questions", "count", "with a draft"),
        Column("vital", "count", "nuggets"),
        Column("okay", "count", "nuggets"),
        Column("failed", "count", "questions without a usable reply"),
        Column("empty", "count", "questions whose texts hold no fact"),
    )
    vital = sum(nugget.importance == "vital" for nugget in nuggets)
    row = (len(drafted.drafts), vital, len(nuggets) - vital, len(drafted.failed), len(drafted.empty))
    return Table("nugget drafts", "Drafts of nuggets", columns, (row,))
