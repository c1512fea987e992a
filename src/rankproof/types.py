"""The types of public signatures: options, rows and results; `rankproof.plugins` has those that packages with parts need."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankproof._analysis.compare.comparison import Comparison as Comparison
    from rankproof._analysis.compare.segment_differences import SegmentDifference as SegmentDifference
    from rankproof._analysis.compare.tables import PairRecord as PairRecord
    from rankproof._analysis.decision.record import Decision as Decision
    from rankproof._analysis.decision.record import JudgeCheck as JudgeCheck
    from rankproof._analysis.decision.record import MissingCount as MissingCount
    from rankproof._analysis.decision.record import OtherMargin as OtherMargin
    from rankproof._analysis.decision.record import OwnDocuments as OwnDocuments
    from rankproof._analysis.decision.record import PairDifference as PairDifference
    from rankproof._analysis.decision.record import QueriesNeeded as QueriesNeeded
    from rankproof._analysis.decision.record import Scenario as Scenario
    from rankproof._analysis.decision.record import SystemRisk as SystemRisk
    from rankproof._analysis.decision.record import UnjudgedRival as UnjudgedRival
    from rankproof._analysis.decision.repeats import RepeatedAnswers as RepeatedAnswers
    from rankproof._analysis.decision.repeats import SystemRepeats as SystemRepeats
    from rankproof._analysis.gate.case_checks import CaseValue as CaseValue
    from rankproof._analysis.gate.changes import BaselineChange as BaselineChange
    from rankproof._analysis.gate.result import GateResult as GateResult
    from rankproof._analysis.gate.rules import GateCheck as GateCheck
    from rankproof._analysis.online.evidence import GuardrailCheck as GuardrailCheck
    from rankproof._analysis.online.evidence import LiveEvidence as LiveEvidence
    from rankproof._analysis.online.evidence import SessionsNeeded as SessionsNeeded
    from rankproof._analysis.online.result import OnlineResult as OnlineResult
    from rankproof._analysis.options import CompareOptions as CompareOptions
    from rankproof._analysis.preferences import PreferenceResult as PreferenceResult
    from rankproof._analysis.traffic.drift import SampleCheck as SampleCheck
    from rankproof._analysis.traffic.sample import QuerySample as QuerySample
    from rankproof._api.values import Analysis as Analysis
    from rankproof._api.values import Audit as Audit
    from rankproof._api.values import Baselines as Baselines
    from rankproof._api.values import Correlation as Correlation
    from rankproof._api.values import Diagnosis as Diagnosis
    from rankproof._api.values import DoctorReport as DoctorReport
    from rankproof._api.values import Explanation as Explanation
    from rankproof._api.values import Export as Export
    from rankproof._api.values import Generated as Generated
    from rankproof._api.values import Judging as Judging
    from rankproof._api.values import Plot as Plot
    from rankproof._api.values import Plots as Plots
    from rankproof._api.values import RaterAgreement as RaterAgreement
    from rankproof._api.values import Report as Report
    from rankproof._api.values import Segments as Segments
    from rankproof._api.values import Stability as Stability
    from rankproof._api.values import Tuning as Tuning
    from rankproof._data.answers import Answer as Answer
    from rankproof._data.answers import AnswerUsage as AnswerUsage
    from rankproof._data.answers import Reference as Reference
    from rankproof._data.answers import References as References
    from rankproof._data.answers import SearchCall as SearchCall
    from rankproof._data.arrays import PackedIds as PackedIds
    from rankproof._data.claims import Calibration as Calibration
    from rankproof._data.claims import Claim as Claim
    from rankproof._data.claims import ClaimVerdict as ClaimVerdict
    from rankproof._data.claims import JudgeNoise as JudgeNoise
    from rankproof._data.claims import Nugget as Nugget
    from rankproof._data.corpus import Document as Document
    from rankproof._data.dataset import Query as Query
    from rankproof._data.qrels import Judgement as Judgement
    from rankproof._data.replies import RecordedReply as RecordedReply
    from rankproof._data.replies import ReusedReplies as ReusedReplies
    from rankproof._data.run import RunRow as RunRow
    from rankproof._data.table import Column as Column
    from rankproof._data.table import Table as Table
    from rankproof._data.table import TableSummary as TableSummary
    from rankproof._data.validation import ReadOptions as ReadOptions
    from rankproof._evaluation.notes import Note as Note
    from rankproof._evaluation.options import EvaluateArguments as EvaluateArguments
    from rankproof._evaluation.options import ReadArguments as ReadArguments
    from rankproof._evaluation.result import MeasureResult as MeasureResult
    from rankproof._evaluation.result import SystemResult as SystemResult
    from rankproof._experiment.run import RunOptions as RunOptions
    from rankproof._formats.write import ConvertResult as ConvertResult
    from rankproof._fusion.method import FittedFusion as FittedFusion
    from rankproof._fusion.method import Training as Training
    from rankproof._importers.base import Dropped as Dropped
    from rankproof._importers.base import Imported as Imported
    from rankproof._importers.base import ImportReport as ImportReport
    from rankproof._importers.base import PartCount as PartCount
    from rankproof._interleaving.interleave import Interleaved as Interleaved
    from rankproof._llm.budget import Budget as Budget
    from rankproof._llm.budget import Estimate as Estimate
    from rankproof._llm.budget import Usage as Usage
    from rankproof._results.decision_settings import DecisionSettings as DecisionSettings
    from rankproof._results.experiment_result import SystemRun as SystemRun
    from rankproof._results.experiment_result import TimeSummary as TimeSummary
    from rankproof._results.saved_cases import SavedCase as SavedCase
    from rankproof.models._chat.base import ChatModel as ChatModel
    from rankproof.stages._base import Cost as Cost
    from rankproof.stages._base import Stage as Stage
else:
    from rankproof._registry import lazy_names

    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        Analysis="rankproof._api.values",
        Answer="rankproof._data.answers",
        AnswerUsage="rankproof._data.answers",
        Audit="rankproof._api.values",
        BaselineChange="rankproof._analysis.gate.changes",
        Baselines="rankproof._api.values",
        Budget="rankproof._llm.budget",
        CaseValue="rankproof._analysis.gate.case_checks",
        FittedFusion="rankproof._fusion.method",
        RecordedReply="rankproof._data.replies",
        ReusedReplies="rankproof._data.replies",
        Calibration="rankproof._data.claims",
        ChatModel="rankproof.models._chat.base",
        Claim="rankproof._data.claims",
        ClaimVerdict="rankproof._data.claims",
        Column="rankproof._data.table",
        Correlation="rankproof._api.values",
        RaterAgreement="rankproof._api.values",
        Stability="rankproof._api.values",
        CompareOptions="rankproof._analysis.options",
        Comparison="rankproof._analysis.compare.comparison",
        ConvertResult="rankproof._formats.write",
        Cost="rankproof.stages._base",
        Decision="rankproof._analysis.decision.record",
        DecisionSettings="rankproof._results.decision_settings",
        Diagnosis="rankproof._api.values",
        DoctorReport="rankproof._api.values",
        Document="rankproof._data.corpus",
        Dropped="rankproof._importers.base",
        Estimate="rankproof._llm.budget",
        EvaluateArguments="rankproof._evaluation.options",
        Explanation="rankproof._api.values",
        Export="rankproof._api.values",
        GateCheck="rankproof._analysis.gate.rules",
        GateResult="rankproof._analysis.gate.result",
        Generated="rankproof._api.values",
        ImportReport="rankproof._importers.base",
        Imported="rankproof._importers.base",
        Interleaved="rankproof._interleaving.interleave",
        JudgeNoise="rankproof._data.claims",
        Judgement="rankproof._data.qrels",
        Judging="rankproof._api.values",
        GuardrailCheck="rankproof._analysis.online.evidence",
        LiveEvidence="rankproof._analysis.online.evidence",
        SessionsNeeded="rankproof._analysis.online.evidence",
        MeasureResult="rankproof._evaluation.result",
        Note="rankproof._evaluation.notes",
        Nugget="rankproof._data.claims",
        OnlineResult="rankproof._analysis.online.result",
        PackedIds="rankproof._data.arrays",
        PairRecord="rankproof._analysis.compare.tables",
        PartCount="rankproof._importers.base",
        Plot="rankproof._api.values",
        Plots="rankproof._api.values",
        Query="rankproof._data.dataset",
        ReadArguments="rankproof._evaluation.options",
        ReadOptions="rankproof._data.validation",
        Reference="rankproof._data.answers",
        References="rankproof._data.answers",
        RepeatedAnswers="rankproof._analysis.decision.repeats",
        Report="rankproof._api.values",
        RunOptions="rankproof._experiment.run",
        RunRow="rankproof._data.run",
        SearchCall="rankproof._data.answers",
        QuerySample="rankproof._analysis.traffic.sample",
        SampleCheck="rankproof._analysis.traffic.drift",
        SegmentDifference="rankproof._analysis.compare.segment_differences",
        Segments="rankproof._api.values",
        Stage="rankproof.stages._base",
        SystemRepeats="rankproof._analysis.decision.repeats",
        SystemResult="rankproof._evaluation.result",
        JudgeCheck="rankproof._analysis.decision.record",
        MissingCount="rankproof._analysis.decision.record",
        OwnDocuments="rankproof._analysis.decision.record",
        UnjudgedRival="rankproof._analysis.decision.record",
        OtherMargin="rankproof._analysis.decision.record",
        PairDifference="rankproof._analysis.decision.record",
        PreferenceResult="rankproof._analysis.preferences",
        QueriesNeeded="rankproof._analysis.decision.record",
        SavedCase="rankproof._results.saved_cases",
        Scenario="rankproof._analysis.decision.record",
        SystemRisk="rankproof._analysis.decision.record",
        SystemRun="rankproof._results.experiment_result",
        Table="rankproof._data.table",
        TableSummary="rankproof._data.table",
        Training="rankproof._fusion.method",
        Tuning="rankproof._api.values",
        TimeSummary="rankproof._results.experiment_result",
        Usage="rankproof._llm.budget",
    )
