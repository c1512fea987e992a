"""The types of public signatures: options, rows, results, and the protocols of stages, models and stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankproof._cli.command import Command as Command
    from rankproof._cli.terminal import Terminal as Terminal
    from rankproof._data.answers import Answer as Answer
    from rankproof._data.answers import Reference as Reference
    from rankproof._data.answers import References as References
    from rankproof._data.arrays import PackedIds as PackedIds
    from rankproof._data.dataset import Document as Document
    from rankproof._data.dataset import Query as Query
    from rankproof._data.ordering import ReadOptions as ReadOptions
    from rankproof._data.qrels import Judgement as Judgement
    from rankproof._data.run import RunRow as RunRow
    from rankproof._data.table import Column as Column
    from rankproof._data.table import Table as Table
    from rankproof._data.table import TableSummary as TableSummary
    from rankproof._evaluation.notes import Note as Note
    from rankproof._evaluation.result import MeasureResult as MeasureResult
    from rankproof._evaluation.result import SystemResult as SystemResult
    from rankproof._experiment.run import RunOptions as RunOptions
    from rankproof._llm.budget import Budget as Budget
    from rankproof._llm.budget import Estimate as Estimate
    from rankproof._llm.budget import Usage as Usage
    from rankproof._llm.session import LLMSession as LLMSession
    from rankproof._registry import Component as Component
    from rankproof._registry import Option as Option
    from rankproof._render.grid import RenderOptions as RenderOptions
    from rankproof._results.experiment_result import SystemRun as SystemRun
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
        Answer="rankproof._data.answers",
        BlockCache="rankproof.stages._base",
        Budget="rankproof._llm.budget",
        BuildContext="rankproof.stages._base",
        Chat="rankproof.models._chat.base",
        ChatModel="rankproof.models._chat.base",
        ChatReply="rankproof.models._chat.base",
        ChatRequest="rankproof.models._chat.base",
        Column="rankproof._data.table",
        Command="rankproof._cli.command",
        Component="rankproof._registry",
        Cost="rankproof.stages._base",
        CrossEncoderModel="rankproof.models._base",
        Document="rankproof._data.dataset",
        Encoder="rankproof.models._base",
        EncoderModel="rankproof.models._base",
        Estimate="rankproof._llm.budget",
        InputUnits="rankproof.models._transformers",
        Judgement="rankproof._data.qrels",
        LLMSession="rankproof._llm.session",
        LoadedCrossEncoder="rankproof.models._base",
        LoadedScorer="rankproof.stages._base",
        MeasureResult="rankproof._evaluation.result",
        Message="rankproof.models._chat.base",
        Note="rankproof._evaluation.notes",
        OpenStore="rankproof.stores._base",
        Option="rankproof._registry",
        PackedIds="rankproof._data.arrays",
        Query="rankproof._data.dataset",
        QueryTimer="rankproof.stages._base",
        ReadOptions="rankproof._data.ordering",
        Reference="rankproof._data.answers",
        References="rankproof._data.answers",
        RenderOptions="rankproof._render.grid",
        RunOptions="rankproof._experiment.run",
        RunRow="rankproof._data.run",
        Scorer="rankproof.stages._base",
        Searcher="rankproof.stages._base",
        Stage="rankproof.stages._base",
        Store="rankproof.stores._base",
        SystemResult="rankproof._evaluation.result",
        SystemRun="rankproof._results.experiment_result",
        Table="rankproof._data.table",
        TableSummary="rankproof._data.table",
        Terminal="rankproof._cli.terminal",
        TimerCounts="rankproof.stages._base",
        Usage="rankproof._llm.budget",
        VectorStore="rankproof.stores._base",
    )
