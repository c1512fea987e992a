"""The packages whose code is changed, and the tests that must see it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tools.mutants.c_source import c_mutants
from tools.mutants.mutant import Mutant
from tools.mutants.python_source import python_mutants


@dataclass(frozen=True, slots=True)
class Package:
    """The sources of one package, its tests, and the C extension that is built from the sources, if any."""

    name: str
    sources: tuple[str, ...]
    tests: tuple[str, ...]
    share: int
    extension: str | None = None

    def mutants(self, root: Path) -> list[Mutant]:
        """All mutants of its sources."""
        paths = sorted(path for pattern in self.sources for path in root.glob(pattern))
        of = c_mutants if self.extension else python_mutants
        return [one for path in paths for one in of(self.name, path.relative_to(root).as_posix(), path.read_bytes())]


_NATIVE = "src/rankproof/_native"
_READERS = ("tests/align", "tests/formats/test_native_tables.py", "tests/contracts/test_native_arguments.py")
_STATISTICS = ("tests/statistics", "tests/analysis", "tests/judge/test_agreement.py", "tests/contracts/test_size_limits.py")
_DECISION = (
    "tests/analysis",
    "tests/evaluation",
    "tests/contracts/test_one_decision.py",
    "tests/contracts/test_unchecked_judge.py",
    "tests/report/test_summary.py",
    "tests/cli/test_compare.py",
    "tests/cli/test_answers_decision.py",
    "tests/cli/test_rag_answers.py",
    "tests/cli/test_answers_trust.py",
)
PACKAGES = (
    Package(
        "measures",
        ("src/rankproof/measures/_*.py",),
        (
            "tests/measures",
            "tests/contracts/test_measure_laws.py",
            "tests/contracts/test_worked_examples.py",
            "tests/contracts/test_parity_pytrec_eval.py",
            "tests/analysis/test_chance.py",
            "tests/evaluation",
            "tests/judge/test_claim_measures.py",
            "tests/judge/test_claim_scores.py",
            "tests/judge/test_criterion.py",
        ),
        share=30,
    ),
    Package(
        "align",
        ("src/rankproof/_align/*.py",),
        (*_READERS, "tests/evaluation", "tests/data/test_ordering.py", "tests/measures/test_preferences.py"),
        share=12,
    ),
    Package(
        "align in C",
        (f"{_NATIVE}/align.c", f"{_NATIVE}/align_src/*.h"),
        (*_READERS, "tools/mutants/memory_checks.py"),
        share=20,
        extension="align",
    ),
    Package("statistics", ("src/rankproof/_statistics/*.py",), _STATISTICS, share=20),
    Package(
        "decision",
        ("src/rankproof/_analysis/decision/*.py", "src/rankproof/_analysis/compare/[cdp]*.py"),
        _DECISION,
        share=18,
    ),
)
"""`share` is the percentage of the sample."""
