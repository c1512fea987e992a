"""Broken plug-ins: `python -m tools.attacks.plugins`.

A package whose entry points are broken must not change a command that does not use them, and a command that uses one must end
with an error that names it.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

GROUPS = tuple(
    f"rankproof.{name}"
    for name in (
        "stages",
        "stores",
        "scorers",
        "measures",
        "importers",
        "models",
        "cross_encoders",
        "chats",
        "normalisations",
        "fusion_methods",
        "export_formats",
        "doctor_checks",
        "result_formats",
    )
)
FAULTS: Mapping[str, tuple[str, str]] = {
    "no such module": ("missing_module_of_plugin:Part", ""),
    "no such attribute": ("broken_plugin:Missing", ""),
    "a syntax error": ("broken_plugin:Part", "def ("),
    "an exception at import": ("broken_plugin:Part", "raise RuntimeError('no licence')"),
    "an exception without a text": ("broken_plugin:Part", "raise KeyError"),
    "the end of the process": ("broken_plugin:Part", "raise SystemExit(0)"),
    "nothing": ("broken_plugin:Part", "Part = None"),
    "a number": ("broken_plugin:Part", "Part = 3"),
    "a class without the methods": ("broken_plugin:Part", "class Part: pass"),
    "a class that cannot be built": (
        "broken_plugin:Part",
        "class Part:\n    def __init__(self, *a, **k): raise ValueError('no')",
    ),
    "no target": ("", ""),
    "a target that is no name": ("a b:c d", ""),
}
_UNUSED = (
    ("import", "data"),
    ("eval", "qrels.txt", "a.run"),
    ("compare", "qrels.txt", "a.run", "b.run"),
    ("measures",),
    ("--help",),
)
_EXPERIMENT = 'dataset = "data"\n[systems.broken]\n{}\n[systems.bm25]\nstage = "bm25"\n'
_USES: Mapping[str, tuple[tuple[str, ...], str]] = {
    "rankproof.stages": (("run", "experiment.toml", "-o", "out"), 'stage = "broken"'),
    "rankproof.scorers": (
        ("run", "experiment.toml", "-o", "out"),
        'stage = "rerank"\nof = "bm25"\nby = "broken"\ntop = 2',
    ),
    "rankproof.stores": (("run", "experiment.toml", "-o", "out"), 'stage = "dense"\nmodel = "static"\nstore = "broken"'),
    "rankproof.models": (("run", "experiment.toml", "-o", "out"), 'stage = "dense"\nmodel = "broken:x"'),
    "rankproof.measures": (("eval", "qrels.txt", "a.run", "-m", "broken"), ""),
    "rankproof.importers": (("import", "qrels.txt", "--from", "broken", "-o", "out"), ""),
    "rankproof.fusion_methods": (("fuse", "a.run", "b.run", "--method", "broken"), ""),
    "rankproof.normalisations": (("fuse", "a.run", "b.run", "--method", "combsum", "--norm", "broken"), ""),
}


def _write_files(folder: Path) -> None:
    (folder / "qrels.txt").write_text("".join(f"q{at} 0 d{at} 1\n" for at in range(40)))
    for name, shift in (("a", 0), ("b", 1)):
        (folder / f"{name}.run").write_text("".join(f"q{at} Q0 d{(at + shift) % 40} 1 1.0 {name}\n" for at in range(40)))
    (folder / "data").mkdir()
    (folder / "data" / "corpus.jsonl").write_text("".join(f'{{"_id": "d{at}", "text": "word{at} text"}}\n' for at in range(3)))
    (folder / "data" / "queries.jsonl").write_text("".join(f'{{"_id": "q{at}", "text": "word{at}"}}\n' for at in range(3)))
    (folder / "data" / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(f"q{at}\td{at}\t1\n" for at in range(3)))


def _install(site: Path, groups: tuple[str, ...], target: str, code: str) -> None:
    """A package with the entry point `broken` in each group."""
    info = site / "broken_plugin-1.0.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("".join(f"[{group}]\nbroken = {target}\n" for group in groups))
    (site / "broken_plugin.py").write_text(f"{code}\n")


def _run(arguments: tuple[str, ...], folder: Path, site: Path | None) -> subprocess.CompletedProcess[str]:
    start = "" if site is None else f"import sys; sys.path.insert(0, {str(site)!r}); "
    command = (sys.executable, "-c", f"{start}from rankproof._cli.main import entry; entry()", *arguments)
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


def _failure(ended: subprocess.CompletedProcess[str]) -> str:
    if "Traceback" in ended.stderr or "internal error" in ended.stderr:
        return "internal error"
    if ended.returncode not in (1, 2):
        return f"exit code {ended.returncode}"
    return "" if re.search(r"broken", ended.stderr) else "the plug-in is not named"


def main() -> int:
    """Prints a row for each fault; 1 if one was silent or an internal error."""
    print("| entry points of a package are | commands without it | commands with it | failures |\n|---|---:|---:|---:|")
    failures = 0
    with TemporaryDirectory() as name:
        home = Path(name)
        _write_files(home)
        expected = {command: _run(command, home, None).stdout for command in _UNUSED}
        assert all(expected.values())
        for fault, (target, code) in FAULTS.items():
            _install(home / "site", GROUPS, target, code)
            texts = []
            for command in _UNUSED:
                ended = _run(command, home, home / "site")
                if command == ("measures",):
                    same = ended.returncode in (0, 1, 2) and "Traceback" not in ended.stderr
                else:
                    same = (ended.returncode, ended.stdout) == (0, expected[command])
                if not same:
                    texts.append(f"{' '.join(command)}: changed: {ended.returncode} {ended.stderr[-300:]}")
            for arguments, system in _USES.values():
                (home / "experiment.toml").write_text(_EXPERIMENT.format(system))
                ended = _run(arguments, home, home / "site")
                if failure := _failure(ended):
                    texts.append(f"{' '.join(arguments)} {system!r}: {failure}: {ended.stderr[-300:]}")
            failures += len(texts)
            print(f"| {fault} | {len(_UNUSED)} | {len(_USES)} | {len(texts)} |", flush=True)
            for text in texts:
                print(f"{fault}: {text}", file=sys.stderr, flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
