"""Collects the verdicts that measures of claims need: each text is judged once, and known verdicts are not asked again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from rankproof._data.claims import (
    CRITERION,
    Claim,
    ClaimTable,
    ClaimUnit,
    ClaimVerdict,
    Rubric,
    Side,
    claims_of,
    tables_in_order,
    whole_claim,
    written_claims,
)
from rankproof._data.qrels import plain_judge_name
from rankproof._data.text import example_ids, pluralise
from rankproof._data.wording.remarks import without_thinking
from rankproof._evaluation.claim_judges import ClaimJudge, ClaimTask, GradingJudge, JudgeWithNotes
from rankproof._evaluation.notes import Note
from rankproof._io.open import Progress
from rankproof.errors import UsageError, for_message
from rankproof.measures._answers import AnswerCase
from rankproof.measures._citations import CitationPrecision, CitedSentence, cited_sentences, other_cites
from rankproof.measures._claim_base import ClaimMeasure, UnitMeasure, Verdicts
from rankproof.measures._criterion import RubricGrade

CaseKey = tuple[str, str, int]
"""Query, system and number of the answer."""
Place = tuple[CaseKey, ClaimTable, int, int, tuple[int, ...] | None]
"""Answer, table, reference, number and shown contexts of a claim."""
_SHOWN_REASONS = 3
_NOT_WRITTEN = "its claims could not be written"
_LANGUAGE_MODEL = "llm"
_KINDS_WITHOUT_PREFIX = (_LANGUAGE_MODEL, "embedding")
"""The kinds of judges whose name may be that of the model alone."""


def unit_of(measure: ClaimMeasure) -> ClaimUnit:
    """The unit that a measure counts."""
    return measure.unit if isinstance(measure, UnitMeasure) else "sentence"


def has_unit(claim: Claim, unit: ClaimUnit) -> bool:
    """Whether a measure of that unit counts the claim; nuggets and contexts have no unit."""
    return claim.unit == unit or claim.side in ("nugget", "context")


def _case_key(case: AnswerCase) -> CaseKey:
    return case.query, case.system, case.repeat


@dataclass(eq=False)
class VerdictSource:
    """The verdicts of one judge on the sentences, or on the atomic claims, of any case.

    `judge` is None where only known verdicts are used; a verdict that is not known is then an error.
    """

    name: str
    judge: ClaimJudge | None
    unit: ClaimUnit
    known: Mapping[Place, ClaimVerdict]
    progress: Progress
    _written: dict[tuple[str, str], tuple[str, ...] | None] = field(default_factory=dict)
    _verdicts: dict[CaseKey, dict[ClaimTable, list[ClaimVerdict]]] = field(default_factory=dict)
    _rubrics: dict[ClaimTable, Rubric] = field(default_factory=dict)

    def ask(self, cases: Sequence[AnswerCase], measures: Sequence[ClaimMeasure]) -> None:
        """Gets every verdict that the measures need on the cases."""
        self._rubrics |= {
            measure.table: measure.criterion for measure in measures if self.judge and isinstance(measure, RubricGrade)
        }
        if self._rubrics and not isinstance(self.judge, GradingJudge):
            raise UsageError(
                f"the judge {for_message(self.name)} cannot grade by a rubric", fix="use a language model as the judge"
            )
        # By answer and table, so that measures with a table in common ask once.
        wanted = {
            (_case_key(case), table): (case, table)
            for case in cases
            for measure in measures
            if measure.settled(case) is None
            for table in measure.needed(case)
        }
        plain = [pair for pair in wanted.values() if pair[1] != "answer-cited"]
        if self.unit == "claim":
            self._extract(plain)
        self._judge([task for case, table in plain for task in self._tasks(case, table)])
        self._ask_cites(
            [case for case, table in wanted.values() if table == "answer-cited"],
            alone=any(isinstance(measure, CitationPrecision) for measure in measures),
        )

    def of(self, case: AnswerCase) -> Verdicts:
        """The verdicts of a case, by table."""
        return {table: _in_order(verdicts) for table, verdicts in self._verdicts.get(_case_key(case), {}).items()}

    def all(self, cases: Sequence[AnswerCase]) -> list[ClaimVerdict]:
        """Every verdict in the order of the cases, tables and sentences."""
        by_case = [self._verdicts[key] for key in map(_case_key, cases) if key in self._verdicts]
        return [verdict for tables in by_case for table in tables_in_order(tables) for verdict in _in_order(tables[table])]

    @property
    def _label(self) -> str:
        """The label of the judge, known or asked."""
        return self.judge.label if self.judge is not None else next((verdict.judge for verdict in self.known.values()), self.name)

    def notes(self) -> tuple[Note, ...]:
        """The most frequent reasons of failed verdicts, and what the judge notes."""
        verdicts = (verdict for tables in self._verdicts.values() for table in tables.values() for verdict in table)
        reasons = Counter(verdict.reason for verdict in verdicts if verdict.verdict == "failed")
        listed = "; ".join(f"{for_message(reason)} ({count})" for reason, count in reasons.most_common(_SHOWN_REASONS))
        text = f"{pluralise(reasons.total(), 'verdict')} of {for_message(self.name)} failed: {listed}"
        own: tuple[str, ...] = self.judge.notes() if isinstance(self.judge, JudgeWithNotes) else ()
        failed = (Note("failed-reasons", reasons.total(), text),) if reasons else ()
        return (*failed, *(Note("judge", 1, note) for note in own))

    def _tasks(self, case: AnswerCase, table: ClaimTable) -> list[ClaimTask]:
        """The tasks of a table; one for each reference where the table has references."""
        if table == "answer-question":
            return [ClaimTask(case, table, (whole_claim(case.text, "answer"),), (case.question,))]
        contexts = case.contexts or ()
        if table.startswith(f"answer-{CRITERION}"):
            claim = whole_claim(case.text, "answer")
            return [ClaimTask(case, table, (claim,), (*contexts, *case.references), rubric=self._rubrics.get(table))]
        if table == "context-question":
            claims = tuple(whole_claim(text, "context", n) for n, text in enumerate(contexts, 1))
            return [ClaimTask(case, table, claims, (case.question,))]
        if table == "nugget-answer":
            nuggets = case.nuggets or ()
            claims = written_claims((nugget.text for nugget in nuggets), "nugget")
            answer = without_thinking(case.text)
            return [ClaimTask(case, table, claims, (answer,), importances=tuple(nugget.importance for nugget in nuggets))]
        if table == "answer-contexts":
            return self._task(case, table, case.text, "answer", 1, contexts)
        tasks = []
        for n, reference in enumerate(case.references, 1):
            text = case.text if table == "answer-reference" else reference
            sources = {"answer-reference": (reference,), "reference-answer": (without_thinking(case.text),)}.get(table, contexts)
            tasks += self._task(case, table, text, "answer" if table == "answer-reference" else "reference", n, sources)
        return tasks

    def _task(
        self, case: AnswerCase, table: ClaimTable, text: str, side: Side, reference: int, sources: tuple[str, ...]
    ) -> list[ClaimTask]:
        claims = claims_of(text, side, reference) if self.unit == "sentence" else self._atomic(case, table, text, side, reference)
        return [ClaimTask(case, table, claims, sources)] if claims else []

    def _atomic(self, case: AnswerCase, table: ClaimTable, text: str, side: Side, reference: int) -> tuple[Claim, ...]:
        """The claims that the judge wrote; where there are none, or writing them failed, a verdict on the whole text says so."""
        if self.judge is None:
            return tuple(verdict.claim for verdict in self._known_claims(case, table, reference))
        written = self._written[case.question, without_thinking(text)]
        if written:
            return written_claims(written, side, reference)
        claim = Claim(side, 1, text, reference=reference)
        verdict = ClaimTask(case, table, (claim,), ()).verdict(
            claim,
            "failed" if written is None else "nothing_to_check",
            self.judge.label,
            reason=_NOT_WRITTEN if written is None else "",
        )
        self._keep([verdict])
        return ()

    def _known_claims(self, case: AnswerCase, table: ClaimTable, reference: int) -> list[ClaimVerdict]:
        """The known verdicts on atomic claims, in the order of the claims."""
        verdicts: list[ClaimVerdict] = []
        while (place := (_case_key(case), table, reference, len(verdicts) + 1, None)) in self.known:
            verdicts.append(self.known[place])
        return verdicts

    def _extract(self, wanted: Sequence[tuple[AnswerCase, ClaimTable]]) -> None:
        """Has the judge write the claims of every text once; those of known verdicts are written already."""
        if self.judge is None:
            return
        texts: dict[tuple[str, str], None] = {}
        for case, table in wanted:
            for reference, text in _extracted_texts(case, table):
                asked = case.question, without_thinking(text)
                texts[asked] = None
                written = _written_texts(self._known_claims(case, table, reference), text)
                if written is not None:
                    self._written.setdefault(asked, written)
        unknown = [key for key in texts if key not in self._written]
        if unknown:
            self._written.update(zip(unknown, self.judge.extract(unknown, self.progress), strict=True))

    def _ask_cites(self, cases: Sequence[AnswerCase], *, alone: bool) -> None:
        """Asks whether the cites of each sentence support it: together, then each alone, then all but one where it matters."""
        cited = [(case, sentence) for case in cases for sentence in cited_sentences(case) if sentence.cites]
        self._judge([_cite_task(case, sentence, sentence.cites) for case, sentence in cited])
        if not alone:
            return
        several = [
            (case, sentence) for case, sentence in cited if len(sentence.cites) > 1 and self._single_cites_matter(case, sentence)
        ]
        self._judge([_cite_task(case, sentence, (cite,)) for case, sentence in several for cite in sentence.cites])
        rest = [
            _cite_task(case, sentence, other_cites(sentence, cite))
            for case, sentence in several
            for cite in sentence.cites
            if (single := self._verdict(case, sentence, (cite,))).score is None and single.verdict != "supported"
        ]
        # Of two cites, all but one is the other, which is asked already.
        self._judge([task for task in rest if len(task.sources) > 1])

    def _single_cites_matter(self, case: AnswerCase, sentence: CitedSentence) -> bool:
        joint = self._verdict(case, sentence, sentence.cites)
        return joint.verdict == "supported" or (joint.score is not None and joint.verdict != "nothing_to_check")

    def _verdict(self, case: AnswerCase, sentence: CitedSentence, shown: tuple[int, ...]) -> ClaimVerdict:
        verdicts = self._verdicts[_case_key(case)]["answer-cited"]
        return next(verdict for verdict in verdicts if verdict.claim.n == sentence.claim.n and verdict.shown == shown)

    def _judge(self, tasks: Sequence[ClaimTask]) -> None:
        """Keeps the verdicts of the tasks; equal ones are asked once, and sentences that state nothing are not asked."""
        groups: dict[tuple[object, ...], list[ClaimTask]] = {}
        for whole in tasks:
            task = replace(whole, claims=tuple(claim for claim in whole.claims if claim.remark is None))
            self._keep(
                whole.verdict(claim, "nothing_to_check", self._label) for claim in whole.claims if claim.remark is not None
            )
            known = self._known(task)
            if known is not None:
                self._keep(known)
            else:
                texts = tuple((claim.lead_in, claim.text) for claim in task.claims)
                groups.setdefault((task.table, task.case.question, texts, task.sources, task.shown), []).append(task)
        if not groups:
            return
        if self.judge is None:
            raise self._unknown_error([group[0].case.query for group in groups.values()])
        answers = self.judge.judge([same[0] for same in groups.values()], self.progress)
        for same, verdicts in zip(groups.values(), answers, strict=True):
            self._keep(verdicts)
            for task in same[1:]:
                self._keep([_for_task(task, claim, verdict) for claim, verdict in zip(task.claims, verdicts, strict=True)])

    def _known(self, task: ClaimTask) -> list[ClaimVerdict] | None:
        """The known verdicts of a task, None where one is not known; one that failed is asked again where that is possible."""
        case, verdicts = task.case, []
        for claim in task.claims:
            known = self.known.get((_case_key(case), task.table, claim.reference, claim.n, task.shown))
            same = known is not None and (known.claim.text, known.claim.lead_in) == (claim.text, claim.lead_in)
            if known is None or not same or (known.verdict == "failed" and self.judge is not None):
                return None
            verdicts.append(_for_task(task, claim, known))
        return verdicts

    def _keep(self, verdicts: Iterable[ClaimVerdict]) -> None:
        for verdict in verdicts:
            self._verdicts.setdefault((verdict.query, verdict.system, verdict.repeat), {}).setdefault(verdict.table, []).append(
                verdict
            )

    def _unknown_error(self, queries: Sequence[str]) -> UsageError:
        what = f"there is no verdict of the judge {for_message(self.name)} on query {example_ids(queries)}"
        return UsageError(what, fix="evaluate the answers again with this judge, or use judge='overlap'")


def _in_order(verdicts: Iterable[ClaimVerdict]) -> list[ClaimVerdict]:
    """The verdicts of a table by reference and sentence."""
    return sorted(verdicts, key=lambda verdict: (verdict.claim.reference, verdict.claim.n))


def _for_task(task: ClaimTask, claim: Claim, verdict: ClaimVerdict) -> ClaimVerdict:
    """The verdict on an equal claim, as that on a claim of this task."""
    evidence = verdict.evidence
    if task.against == "reference":
        evidence = tuple((claim.reference, sentence) for _, sentence in evidence)
    importance = task.importances[claim.n - 1] if task.importances else None
    query, system, repeat = _case_key(task.case)
    about = replace(verdict, query=query, system=system, repeat=repeat, claim=claim)
    return replace(about, evidence=evidence, importance=importance)


def _extracted_texts(case: AnswerCase, table: ClaimTable) -> list[tuple[int, str]]:
    """The texts whose claims are checked in a table, each with the number of the reference."""
    if table == "answer-contexts":
        return [(1, case.text)]
    if table == "answer-reference":
        return [(n, case.text) for n in range(1, len(case.references) + 1)]
    return list(enumerate(case.references, 1)) if table.startswith("reference") else []


def _written_texts(known: Sequence[ClaimVerdict], text: str) -> tuple[str, ...] | None:
    """The atomic claims of known verdicts on the text; None where there are none, or writing them failed."""
    if not known or known[0].reason == _NOT_WRITTEN:
        return None
    if [(verdict.claim.text, verdict.verdict) for verdict in known] == [(text, "nothing_to_check")]:
        return ()
    return tuple(verdict.claim.text for verdict in known)


def _cite_task(case: AnswerCase, sentence: CitedSentence, shown: tuple[int, ...]) -> ClaimTask:
    contexts = case.contexts or ()
    return ClaimTask(case, "answer-cited", (sentence.claim,), tuple(contexts[n - 1] for n in shown), shown)


def known_verdicts(verdicts: Iterable[ClaimVerdict], unit: ClaimUnit, label: str) -> dict[Place, ClaimVerdict]:
    """The verdicts of one judge by their place."""
    return {
        (
            (verdict.query, verdict.system, verdict.repeat),
            verdict.table,
            verdict.claim.reference,
            verdict.claim.n,
            verdict.shown,
        ): verdict
        for verdict in verdicts
        if verdict.judge == label and has_unit(verdict.claim, unit)
    }


def label_of(name: str, verdicts: Iterable[ClaimVerdict]) -> str:
    """The label of the judge of that name among the verdicts, where the judge itself is not there."""
    label = matching_label(name, dict.fromkeys(verdict.judge for verdict in verdicts))
    if label is None:
        raise UsageError(
            f"there are no verdicts of the judge {for_message(name)}", fix="evaluate the answers again with this judge"
        )
    return label


def matching_label(name: str, labels: Iterable[str]) -> str | None:
    """The label of the judge of that name, such as llm:gpt-4o:3f2a1b0c for gpt-4o; None where none or several fit."""
    plain = plain_judge_name(name)
    matches = [label for label in labels if plain in _judge_names(label)]
    return matches[0] if len(matches) == 1 else None


def _judge_names(label: str) -> tuple[str, ...]:
    """The names of the judge with the label llm:NAME:DIGEST, overlap:THRESHOLD:DIGEST or KIND:NAME:THRESHOLD:DIGEST."""
    kind, _, rest = label.partition(":")
    parts = rest.split(":")[:-1]
    own = ":".join(parts if kind == _LANGUAGE_MODEL else parts[:-1])
    if not own:
        return (kind,)
    return (own, f"{kind}:{own}") if kind in _KINDS_WITHOUT_PREFIX else (f"{kind}:{own}",)
