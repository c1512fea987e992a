"""What packages add parts with: protocols and base classes of stages, stores, models, measures, checks and outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankproof._analysis.doctor.check import CheckResult as CheckResult
    from rankproof._analysis.doctor.check import DoctorInput as DoctorInput
    from rankproof._analysis.doctor.check import Example as Example
    from rankproof._analysis.doctor.check import check_result as check_result
    from rankproof._analysis.doctor.check import doctor_check as doctor_check
    from rankproof._cli.parser import Command as Command
    from rankproof._cli.terminal import Terminal as Terminal
    from rankproof._data.identity import NOT_IN_IDENTITY as NOT_IN_IDENTITY
    from rankproof._data.identity import library_versions as library_versions
    from rankproof._executors.base import Executor as Executor
    from rankproof._executors.base import Resources as Resources
    from rankproof._formats.json import JsonContent as JsonContent
    from rankproof._formats.source_table import SourceTable as SourceTable
    from rankproof._fusion.candidates import CandidateTable as CandidateTable
    from rankproof._fusion.candidates import NormalisedScores as NormalisedScores
    from rankproof._fusion.method import Contributions as Contributions
    from rankproof._fusion.method import FusionSettings as FusionSettings
    from rankproof._fusion.method import HitLists as HitLists
    from rankproof._fusion.normalisations import ScoreLists as ScoreLists
    from rankproof._importers.base import ImportCounts as ImportCounts
    from rankproof._importers.base import Importer as Importer
    from rankproof._importers.base import ImportOptions as ImportOptions
    from rankproof._importers.base import ImportSource as ImportSource
    from rankproof._importers.builder import DatasetBuilder as DatasetBuilder
    from rankproof._io.corpus_store import CorpusStorage as CorpusStorage
    from rankproof._llm.session import LLMSession as LLMSession
    from rankproof._plots.settings import PlotSettings as PlotSettings
    from rankproof._registry import Component as Component
    from rankproof._registry import Option as Option
    from rankproof._render.formats import ExportFormat as ExportFormat
    from rankproof._render.formats import RenderOptions as RenderOptions
    from rankproof.measures._answers import AnswerCase as AnswerCase
    from rankproof.measures._answers import AnswerMeasure as AnswerMeasure
    from rankproof.measures._answers import Encode as Encode
    from rankproof.measures._base import Advice as Advice
    from rankproof.measures._base import BinaryCutoffMeasure as BinaryCutoffMeasure
    from rankproof.measures._base import BinaryMeasure as BinaryMeasure
    from rankproof.measures._base import CutoffMeasure as CutoffMeasure
    from rankproof.measures._base import RandomRanking as RandomRanking
    from rankproof.measures._base import SummaryKind as SummaryKind
    from rankproof.measures._base import SummedMeasure as SummedMeasure
    from rankproof.measures._counts import StringMeasure as StringMeasure
    from rankproof.measures._counts import TextResult as TextResult
    from rankproof.measures._own import FunctionMeasure as FunctionMeasure
    from rankproof.measures._own import GradesFunction as GradesFunction
    from rankproof.models._base import CrossEncoderModel as CrossEncoderModel
    from rankproof.models._base import Encoder as Encoder
    from rankproof.models._base import EncoderModel as EncoderModel
    from rankproof.models._base import LoadedCrossEncoder as LoadedCrossEncoder
    from rankproof.models._base import TokenEncoder as TokenEncoder
    from rankproof.models._chat.base import Chat as Chat
    from rankproof.models._chat.base import ChatReply as ChatReply
    from rankproof.models._chat.base import ChatRequest as ChatRequest
    from rankproof.models._chat.base import Message as Message
    from rankproof.models._transformers import InputUnits as InputUnits
    from rankproof.stages._base import BlockCache as BlockCache
    from rankproof.stages._base import BuildContext as BuildContext
    from rankproof.stages._base import EngineOptions as EngineOptions
    from rankproof.stages._base import LoadedScorer as LoadedScorer
    from rankproof.stages._base import QueryTimer as QueryTimer
    from rankproof.stages._base import ReportsQueryTruncation as ReportsQueryTruncation
    from rankproof.stages._base import ReportsTruncation as ReportsTruncation
    from rankproof.stages._base import Scorer as Scorer
    from rankproof.stages._base import Searcher as Searcher
    from rankproof.stages._base import TimerCounts as TimerCounts
    from rankproof.stages._engines.base import EngineConnection as EngineConnection
    from rankproof.stages._engines.base import EngineError as EngineError
    from rankproof.stages._engines.base import EngineReply as EngineReply
    from rankproof.stages._engines.base import EngineStage as EngineStage
    from rankproof.stages._fields import Depth as Depth
    from rankproof.stages._fields import Fields as Fields
    from rankproof.stages._fields import check_settings as check_settings
    from rankproof.stages._fields import passage_texts as passage_texts
    from rankproof.stages._scorers import PassageScorer as PassageScorer
    from rankproof.stores._base import OpenStore as OpenStore
    from rankproof.stores._base import Store as Store
    from rankproof.stores._base import VectorStore as VectorStore
    from rankproof.stores._base import checked_batch as checked_batch
    from rankproof.stores._base import checked_depth as checked_depth
    from rankproof.stores._base import checked_dimensions as checked_dimensions
    from rankproof.stores._base import checked_vectors as checked_vectors
    from rankproof.stores._base import cut_ties_by_id as cut_ties_by_id
else:
    from rankproof._registry import lazy_names

    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        Advice="rankproof.measures._base",
        AnswerCase="rankproof.measures._answers",
        AnswerMeasure="rankproof.measures._answers",
        BinaryCutoffMeasure="rankproof.measures._base",
        BinaryMeasure="rankproof.measures._base",
        BlockCache="rankproof.stages._base",
        BuildContext="rankproof.stages._base",
        CandidateTable="rankproof._fusion.candidates",
        Chat="rankproof.models._chat.base",
        ChatReply="rankproof.models._chat.base",
        ChatRequest="rankproof.models._chat.base",
        CheckResult="rankproof._analysis.doctor.check",
        Command="rankproof._cli.parser",
        Component="rankproof._registry",
        Contributions="rankproof._fusion.method",
        CorpusStorage="rankproof._io.corpus_store",
        CrossEncoderModel="rankproof.models._base",
        CutoffMeasure="rankproof.measures._base",
        DatasetBuilder="rankproof._importers.builder",
        Depth="rankproof.stages._fields",
        DoctorInput="rankproof._analysis.doctor.check",
        Encode="rankproof.measures._answers",
        Encoder="rankproof.models._base",
        EncoderModel="rankproof.models._base",
        EngineConnection="rankproof.stages._engines.base",
        EngineError="rankproof.stages._engines.base",
        EngineOptions="rankproof.stages._base",
        EngineReply="rankproof.stages._engines.base",
        EngineStage="rankproof.stages._engines.base",
        Example="rankproof._analysis.doctor.check",
        Executor="rankproof._executors.base",
        ExportFormat="rankproof._render.formats",
        Fields="rankproof.stages._fields",
        FunctionMeasure="rankproof.measures._own",
        FusionSettings="rankproof._fusion.method",
        GradesFunction="rankproof.measures._own",
        HitLists="rankproof._fusion.method",
        ImportCounts="rankproof._importers.base",
        ImportOptions="rankproof._importers.base",
        ImportSource="rankproof._importers.base",
        Importer="rankproof._importers.base",
        InputUnits="rankproof.models._transformers",
        JsonContent="rankproof._formats.json",
        LLMSession="rankproof._llm.session",
        LoadedCrossEncoder="rankproof.models._base",
        LoadedScorer="rankproof.stages._base",
        Message="rankproof.models._chat.base",
        NOT_IN_IDENTITY="rankproof._data.identity",
        NormalisedScores="rankproof._fusion.candidates",
        OpenStore="rankproof.stores._base",
        Option="rankproof._registry",
        PassageScorer="rankproof.stages._scorers",
        PlotSettings="rankproof._plots.settings",
        QueryTimer="rankproof.stages._base",
        RandomRanking="rankproof.measures._base",
        RenderOptions="rankproof._render.formats",
        ReportsQueryTruncation="rankproof.stages._base",
        ReportsTruncation="rankproof.stages._base",
        Resources="rankproof._executors.base",
        ScoreLists="rankproof._fusion.normalisations",
        Scorer="rankproof.stages._base",
        Searcher="rankproof.stages._base",
        SourceTable="rankproof._formats.source_table",
        Store="rankproof.stores._base",
        StringMeasure="rankproof.measures._counts",
        SummaryKind="rankproof.measures._base",
        SummedMeasure="rankproof.measures._base",
        Terminal="rankproof._cli.terminal",
        TextResult="rankproof.measures._counts",
        TimerCounts="rankproof.stages._base",
        TokenEncoder="rankproof.models._base",
        VectorStore="rankproof.stores._base",
        check_result="rankproof._analysis.doctor.check",
        check_settings="rankproof.stages._fields",
        checked_batch="rankproof.stores._base",
        checked_depth="rankproof.stores._base",
        checked_dimensions="rankproof.stores._base",
        checked_vectors="rankproof.stores._base",
        cut_ties_by_id="rankproof.stores._base",
        doctor_check="rankproof._analysis.doctor.check",
        library_versions="rankproof._data.identity",
        passage_texts="rankproof.stages._fields",
    )
