"""Measures compared with the values of trec_eval 10, and the text of `eval --format trec` with what it prints.

`python -m benchmarks.parity_trec_eval` prints how many values and lines were compared, the largest difference, and how many
values are left out for each reason in ODDITIES.
"""

from __future__ import annotations

import gzip
import math
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.peer_values import PEER_VALUES, json_lines
from rankproof._cli.main import main as rankproof_main
from rankproof._data.validation import ReadOptions
from rankproof._evaluation.evaluate import evaluate_runs
from rankproof._evaluation.options import EvaluateOptions, FileOptions
from rankproof._evaluation.result import SystemResult
from rankproof.measures._parse import parse_measure
from rankproof.measures._trec_names import trec_label

GOLDEN = PEER_VALUES / "trec_eval"
FILES = ("adhoc", "prefs", "upstream")
ODDITIES = {
    "not-a-number": "-J and nothing judged is retrieved: trec_eval divides 0 by 0",
    "leftovers": "-c and a topic missing from the run: trec_eval measures one made-up document where the name has parameters",
    "unsorted-gains": "gains less than 1 apart: trec_eval does not sort them, so its ideal ranking is wrong",
    "num-rel": "-c with -l: the sum of num_rel in trec_eval ignores -l",
}
"""Where trec_eval's own value is undefined or wrong."""
_LEFTOVERS = ("utility_", "relstring_", "rbp_resid_")


@dataclass(frozen=True, slots=True)
class Call:
    """One call of trec_eval: its arguments, its files as lines, and what it printed by topic and measure."""

    case: str
    args: tuple[str, ...]
    judgements: Sequence[str]
    run: Sequence[str]
    values: Mapping[str, Mapping[str, float | str | None]]

    def oddity(self, topic: str, name: str) -> str | None:
        """The reason why this value is left out, None if it is compared."""
        missing = {row.split()[0] for row in self.judgements} - {row.split()[0] for row in self.run}
        value = self.values[topic][name]
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return "not-a-number"
        if name.startswith(_LEFTOVERS) and missing and topic in (*missing, "all"):
            return "leftovers"
        if "=0." in name and name.startswith("ndcg"):
            return "unsorted-gains"
        return "num-rel" if name == "num_rel" and topic == "all" and {"-c", "-l"} <= {*self.args} else None


@dataclass(frozen=True, slots=True)
class ComparedMeasure:
    """One value of ours beside that of trec_eval; `oddity` says why it is not compared."""

    case: str
    topic: str
    name: str
    ours: float | str | None
    theirs: float | str | None
    oddity: str | None

    @property
    def apart(self) -> float:
        """The difference, relative where the value is above 1; infinite for another text or a value that we lack."""
        if isinstance(self.ours, float) and isinstance(self.theirs, int | float):
            return abs(self.ours - self.theirs) / max(1.0, abs(self.theirs))
        return 0.0 if self.ours == self.theirs else math.inf


def calls(file: str) -> Iterator[Call]:
    """The calls of a file that trec_eval answered."""
    name = "upstream/expected.jsonl.gz" if file == "upstream" else f"{file}.jsonl.gz"
    for row in json_lines(GOLDEN / name):
        yield from _upstream_call(row) if file == "upstream" else _random_calls(row)


def _random_calls(row: Mapping[str, Any]) -> Iterator[Call]:
    judgements = row["qrels"] if "qrels" in row else row["rel_info"]
    for each in row["results"]:
        if "values" in each:
            yield Call(row["id"], _split(each["args"]), judgements, row["run"], each["values"])


def _upstream_call(row: Mapping[str, Any]) -> Iterator[Call]:
    *args, qrels, run = row["args"].split()
    if row["values"]:
        yield Call(row["args"], _split(" ".join(args)), _lines(qrels), _lines(run), row["values"])


def _split(args: str) -> tuple[str, ...]:
    """The arguments, with an option and its number apart: -l2 is -l 2."""
    return tuple(part for arg in args.split() for part in ((arg[:2], arg[2:]) if arg[:2] in ("-l", "-M") and arg[2:] else (arg,)))


def _lines(name: str) -> list[str]:
    with gzip.open(GOLDEN / "upstream" / f"{name}.gz", "rt", encoding="utf-8") as lines:
        return lines.read().splitlines()


def compared_values(file: str) -> Iterator[ComparedMeasure]:
    """Every value that trec_eval printed, beside ours."""
    for call in calls(file):
        ours = _our_values(call)
        for topic, measures in call.values.items():
            for name, theirs in measures.items():
                yield ComparedMeasure(call.case, topic, name, ours.get((topic, name)), theirs, call.oddity(topic, name))


def _after(args: Sequence[str], option: str) -> list[str]:
    return [value for name, value in pairwise(args) if name == option]


def _our_values(call: Call) -> dict[tuple[str, str], float | str]:
    rel = int((_after(call.args, "-l") or ["1"])[-1])
    depth = [int(value) for value in _after(call.args, "-M")]
    read = ReadOptions(depth=depth[-1] if depth else None, judged_only="-J" in call.args)
    files = FileOptions(qrels_format=(_after(call.args, "-R") or ["trec"])[-1])
    with tempfile.TemporaryDirectory() as folder:
        qrels, run = _written(call, Path(folder))
        result = evaluate_runs(str(qrels), {"run": str(run)}, _after(call.args, "-m"), EvaluateOptions(read, files, rel))
    return dict(_by_name(result.systems[0], rel))


def _written(call: Call, folder: Path) -> tuple[Path, Path]:
    for name, rows in (("qrels", call.judgements), ("run", call.run)):
        (folder / name).write_text("\n".join(rows) + "\n", encoding="utf-8")
    return folder / "qrels", folder / "run"


def _by_name(system: SystemResult, rel: int) -> Iterator[tuple[tuple[str, str], float | str]]:
    for one in system.measures.values():
        name = trec_label(one.measure, rel).name
        yield ("all", name), one.value
        yield from (((query, name), value) for query, value in one.per_query.items())
    for key, texts in system.texts.items():
        name = trec_label(parse_measure(key)).name
        yield ("all", name), texts.summary
        yield from (((query, name), f"'{text}'") for query, text in texts.per_query.items())


@dataclass(frozen=True, slots=True)
class ComparedLine:
    """A line that we print beside the line of trec_eval, made from its value; `oddity` says why it is not compared."""

    case: str
    ours: str
    theirs: str
    oddity: str | None


def compared_lines(file: str) -> Iterator[ComparedLine]:
    """Every line of `rankproof eval --format trec`, beside what trec_eval prints."""
    for call in calls(file):
        ours = _our_output(call).splitlines()
        theirs = [
            (topic, name) for topic in sorted(call.values, key=lambda one: (one == "all", one)) for name in call.values[topic]
        ]
        assert len(ours) == len(theirs), f"{call.case} {call.args}: {len(ours)} lines, trec_eval prints {len(theirs)}"
        for line, (topic, name) in zip(ours, theirs, strict=True):
            printed = f"{name:<22}\t{topic}\t{_text(name, call.values[topic][name])}"
            yield ComparedLine(call.case, line, printed, call.oddity(topic, name))


_INTEGERS = ("num_", "prefs_num_")


def _text(name: str, value: float | str | None) -> str:
    if isinstance(value, str) or value is None:
        return str(value)
    return f"{value:.0f}" if name.startswith(_INTEGERS) else f"{value:6.4f}"


def _our_output(call: Call) -> str:
    with tempfile.TemporaryDirectory() as folder, redirect_stderr(StringIO()):
        qrels, run = _written(call, Path(folder))
        args = ["--qrels-format" if arg == "-R" else arg for arg in call.args]
        code = rankproof_main(["eval", str(qrels), str(run), *args, "--format", "trec", "-o", f"{folder}/out"])
        assert code == 0, f"{call.case} {call.args}: exit {code}"
        return (Path(folder) / "out").read_text(encoding="utf-8")


def main() -> None:
    """Prints the table of the page on parity."""
    left_out: Counter[str] = Counter()
    print("| file | values compared | largest difference | lines compared | lines that differ |")
    print("| :--- | ---: | ---: | ---: | ---: |")
    for file in FILES:
        every = list(compared_values(file))
        left_out.update(one.oddity for one in every if one.oddity)
        values = [one.apart for one in every if one.oddity is None]
        lines = [one.ours != one.theirs for one in compared_lines(file) if one.oddity is None]
        print(f"| `{file}` | {len(values):,} | {max(values):.1e} | {len(lines):,} | {sum(lines)} |")
    print("\n| left out | values | why |\n| :--- | ---: | :--- |")
    for name, why in ODDITIES.items():
        print(f"| {name} | {left_out[name]} | {why} |")


if __name__ == "__main__":
    main()
