"""The types of public signatures: options, rows, results, and the protocols of stages, models and stores."""

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
    from rankproof._cli.parser import Command as Command
    from rankproof._cli.terminal import Terminal as Terminal
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
    from rankproof._executors.base import Executor as Executor
    from rankproof._executors.base import Resources as Resources
    from rankproof._experiment.run import RunOptions as RunOptions
    from rankproof._formats.json import JsonContent as JsonContent
    from rankproof._formats.source_table import SourceTable as SourceTable
    from rankproof._formats.write import ConvertResult as ConvertResult
    from rankproof._fusion.candidates import CandidateTable as CandidateTable
    from rankproof._fusion.candidates import NormalisedScores as NormalisedScores
    from rankproof._fusion.method import Contributions as Contributions
    from rankproof._fusion.method import FittedFusion as FittedFusion
    from rankproof._fusion.method import FusionSettings as FusionSettings
    from rankproof._fusion.method import HitLists as HitLists
    from rankproof._fusion.method import Training as Training
    from rankproof._fusion.normalisations import ScoreLists as ScoreLists
    from rankproof._importers.base import Dropped as Dropped
    from rankproof._importers.base import ImportCounts as ImportCounts
    from rankproof._importers.base import Imported as Imported
    from rankproof._importers.base import Importer as Importer
    from rankproof._importers.base import ImportOptions as ImportOptions
    from rankproof._importers.base import ImportReport as ImportReport
    from rankproof._importers.base import ImportSource as ImportSource
    from rankproof._importers.base import PartCount as PartCount
    from rankproof._importers.builder import DatasetBuilder as DatasetBuilder
    from rankproof._interleaving.interleave import Interleaved as Interleaved
    from rankproof._io.corpus_store import CorpusStorage as CorpusStorage
    from rankproof._llm.budget import Budget as Budget
    from rankproof._llm.budget import Estimate as Estimate
    from rankproof._llm.budget import Usage as Usage
    from rankproof._llm.session import LLMSession as LLMSession
    from rankproof._registry import Component as Component
    from rankproof._registry import Option as Option
    from rankproof._render.formats import RenderOptions as RenderOptions
    from rankproof._results.decision_settings import DecisionSettings as DecisionSettings
    from rankproof._results.experiment_result import SystemRun as SystemRun
    from rankproof._results.experiment_result import TimeSummary as TimeSummary
    from rankproof._results.saved_cases import SavedCase as SavedCase
    from rankproof.models._base import CrossEncoderModel as CrossEncoderModel
    from rankproof.models._base import Encoder as Encoder
    from rankproof.models._base import EncoderModel as EncoderModel
    from rankproof.models._base import LoadedCrossEncoder as LoadedCrossEncoder
    from rankproof.models._chat.base import Chat as Chat
    from rankproof.models._chat.base import ChatModel as ChatModel
    from rankproof.models._chat.base import ChatReply as ChatReply
    from rankproof.models._chat.base import ChatRequest as ChatRequest
    from rankproof.models._chat.base import Message as Message
    from rankproof.models._transformers import InputUnits as InputUnits
    from rankproof.stages._base import BlockCache as BlockCache
    from rankproof.stages._base import BuildContext as BuildContext
    from rankproof.stages._base import Cost as Cost
    from rankproof.stages._base import EngineOptions as EngineOptions
    from rankproof.stages._base import LoadedScorer as LoadedScorer
    from rankproof.stages._base import QueryTimer as QueryTimer
    from rankproof.stages._base import Scorer as Scorer
    from rankproof.stages._base import Searcher as Searcher
    from rankproof.stages._base import Stage as Stage
    from rankproof.stages._base import TimerCounts as TimerCounts
    from rankproof.stores._base import OpenStore as OpenStore
    from rankproof.stores._base import Store as Store
    from rankproof.stores._base import VectorStore as VectorStore
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
        BlockCache="rankproof.stages._base",
        Budget="rankproof._llm.budget",
        BuildContext="rankproof.stages._base",
        CandidateTable="rankproof._fusion.candidates",
        CaseValue="rankproof._analysis.gate.case_checks",
        Contributions="rankproof._fusion.method",
        EngineOptions="rankproof.stages._base",
        FittedFusion="rankproof._fusion.method",
        HitLists="rankproof._fusion.method",
        NormalisedScores="rankproof._fusion.candidates",
        RecordedReply="rankproof._data.replies",
        ReusedReplies="rankproof._data.replies",
        Executor="rankproof._executors.base",
        Resources="rankproof._executors.base",
        Calibration="rankproof._data.claims",
        Chat="rankproof.models._chat.base",
        ChatModel="rankproof.models._chat.base",
        ChatReply="rankproof.models._chat.base",
        ChatRequest="rankproof.models._chat.base",
        Claim="rankproof._data.claims",
        ClaimVerdict="rankproof._data.claims",
        Column="rankproof._data.table",
        Command="rankproof._cli.parser",
        Correlation="rankproof._api.values",
        RaterAgreement="rankproof._api.values",
        Stability="rankproof._api.values",
        CompareOptions="rankproof._analysis.options",
        Comparison="rankproof._analysis.compare.comparison",
        Component="rankproof._registry",
        ConvertResult="rankproof._formats.write",
        CorpusStorage="rankproof._io.corpus_store",
        Cost="rankproof.stages._base",
        CrossEncoderModel="rankproof.models._base",
        DatasetBuilder="rankproof._importers.builder",
        Decision="rankproof._analysis.decision.record",
        DecisionSettings="rankproof._results.decision_settings",
        Diagnosis="rankproof._api.values",
        DoctorReport="rankproof._api.values",
        Document="rankproof._data.corpus",
        Dropped="rankproof._importers.base",
        Encoder="rankproof.models._base",
        EncoderModel="rankproof.models._base",
        Estimate="rankproof._llm.budget",
        EvaluateArguments="rankproof._evaluation.options",
        Explanation="rankproof._api.values",
        Export="rankproof._api.values",
        FusionSettings="rankproof._fusion.method",
        GateCheck="rankproof._analysis.gate.rules",
        GateResult="rankproof._analysis.gate.result",
        Generated="rankproof._api.values",
        ImportCounts="rankproof._importers.base",
        ImportOptions="rankproof._importers.base",
        ImportReport="rankproof._importers.base",
        ImportSource="rankproof._importers.base",
        Imported="rankproof._importers.base",
        Importer="rankproof._importers.base",
        InputUnits="rankproof.models._transformers",
        Interleaved="rankproof._interleaving.interleave",
        JsonContent="rankproof._formats.json",
        JudgeNoise="rankproof._data.claims",
        Judgement="rankproof._data.qrels",
        Judging="rankproof._api.values",
        GuardrailCheck="rankproof._analysis.online.evidence",
        LiveEvidence="rankproof._analysis.online.evidence",
        SessionsNeeded="rankproof._analysis.online.evidence",
        LLMSession="rankproof._llm.session",
        LoadedCrossEncoder="rankproof.models._base",
        LoadedScorer="rankproof.stages._base",
        MeasureResult="rankproof._evaluation.result",
        Message="rankproof.models._chat.base",
        Note="rankproof._evaluation.notes",
        Nugget="rankproof._data.claims",
        OnlineResult="rankproof._analysis.online.result",
        OpenStore="rankproof.stores._base",
        Option="rankproof._registry",
        PackedIds="rankproof._data.arrays",
        PairRecord="rankproof._analysis.compare.tables",
        PartCount="rankproof._importers.base",
        Plot="rankproof._api.values",
        Plots="rankproof._api.values",
        Query="rankproof._data.dataset",
        QueryTimer="rankproof.stages._base",
        ReadArguments="rankproof._evaluation.options",
        ReadOptions="rankproof._data.validation",
        Reference="rankproof._data.answers",
        References="rankproof._data.answers",
        RenderOptions="rankproof._render.formats",
        RepeatedAnswers="rankproof._analysis.decision.repeats",
        Report="rankproof._api.values",
        RunOptions="rankproof._experiment.run",
        RunRow="rankproof._data.run",
        ScoreLists="rankproof._fusion.normalisations",
        Scorer="rankproof.stages._base",
        SearchCall="rankproof._data.answers",
        Searcher="rankproof.stages._base",
        QuerySample="rankproof._analysis.traffic.sample",
        SampleCheck="rankproof._analysis.traffic.drift",
        SegmentDifference="rankproof._analysis.compare.segment_differences",
        Segments="rankproof._api.values",
        SourceTable="rankproof._formats.source_table",
        Stage="rankproof.stages._base",
        Store="rankproof.stores._base",
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
        Terminal="rankproof._cli.terminal",
        Training="rankproof._fusion.method",
        Tuning="rankproof._api.values",
        TimeSummary="rankproof._results.experiment_result",
        TimerCounts="rankproof.stages._base",
        Usage="rankproof._llm.budget",
        VectorStore="rankproof.stores._base",
    )
