"""What packages that add stages, stores, models, checks or outputs need besides the protocols of `rankproof.types`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankproof._analysis.doctor.check import CheckResult as CheckResult
    from rankproof._analysis.doctor.check import DoctorInput as DoctorInput
    from rankproof._analysis.doctor.check import Example as Example
    from rankproof._analysis.doctor.check import check_result as check_result
    from rankproof._analysis.doctor.check import doctor_check as doctor_check
    from rankproof._data.identity import NOT_IN_IDENTITY as NOT_IN_IDENTITY
    from rankproof._data.identity import library_versions as library_versions
    from rankproof._plots.settings import PlotSettings as PlotSettings
    from rankproof._render.formats import ExportFormat as ExportFormat
    from rankproof.models._base import TokenEncoder as TokenEncoder
    from rankproof.stages._base import ReportsQueryTruncation as ReportsQueryTruncation
    from rankproof.stages._base import ReportsTruncation as ReportsTruncation
    from rankproof.stages._engines.base import EngineConnection as EngineConnection
    from rankproof.stages._engines.base import EngineError as EngineError
    from rankproof.stages._engines.base import EngineReply as EngineReply
    from rankproof.stages._engines.base import EngineStage as EngineStage
    from rankproof.stages._fields import Depth as Depth
    from rankproof.stages._fields import Fields as Fields
    from rankproof.stages._fields import check_settings as check_settings
    from rankproof.stages._fields import passage_texts as passage_texts
    from rankproof.stages._scorers import PassageScorer as PassageScorer
    from rankproof.stores._base import checked_batch as checked_batch
    from rankproof.stores._base import checked_depth as checked_depth
    from rankproof.stores._base import checked_dimensions as checked_dimensions
    from rankproof.stores._base import checked_vectors as checked_vectors
    from rankproof.stores._base import cut_ties_by_id as cut_ties_by_id
else:
    from rankproof._registry import lazy_names

    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        CheckResult="rankproof._analysis.doctor.check",
        Depth="rankproof.stages._fields",
        DoctorInput="rankproof._analysis.doctor.check",
        EngineConnection="rankproof.stages._engines.base",
        EngineError="rankproof.stages._engines.base",
        EngineReply="rankproof.stages._engines.base",
        EngineStage="rankproof.stages._engines.base",
        Example="rankproof._analysis.doctor.check",
        ExportFormat="rankproof._render.formats",
        Fields="rankproof.stages._fields",
        NOT_IN_IDENTITY="rankproof._data.identity",
        PassageScorer="rankproof.stages._scorers",
        PlotSettings="rankproof._plots.settings",
        ReportsQueryTruncation="rankproof.stages._base",
        ReportsTruncation="rankproof.stages._base",
        TokenEncoder="rankproof.models._base",
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
