"""Every documented example runs, and gives what its page shows."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from tools.docs import demo, hooks, pictures
from tools.docs.measure_pages import all_measures, link_of
from tools.docs.page import differs, fresh_page
from tools.docs.pieces import Piece, pieces_of
from tools.docs.session import ExampleError, session
from tools.docs.site import DOCS, PROJECT_PAGES, ROOT, fresh_pages, pages
from tools.docs.times import settled

import rankproof
from rankproof._cli.main import main
from rankproof._cli.parser import COMMANDS, parser_of
from rankproof.errors import InputError
from rankproof.measures import RR, Measure, Success
from rankproof.measures._registry import FAMILIES

TUTORIAL = sorted((DOCS / "tutorial").glob("*.md"))
GROUPS = [TUTORIAL, *([page] for page in pages() if page not in TUTORIAL)]
_COMMENT = re.compile(r"\s+#\s.*$")
_DECIMAL = re.compile(r"(?<![\w.])[-+]?\d+\.\d+(?!\.?\d)(?!%?(?:\*\*)?<!--[=~])")


def named(value: object) -> str:
    return value[0].relative_to(ROOT).as_posix() if isinstance(value, list) else str(value)


def fences(page: Path) -> Iterator[Piece]:
    return (piece for piece in pieces_of(page.read_text(encoding="utf-8")) if not piece.is_prose)


def test_pages_and_their_examples_are_found() -> None:
    assert len(pages()) >= 55
    assert len(TUTORIAL) >= 3
    assert sum(1 for page in pages() for _ in fences(page)) >= 200
    assert sum(len(commands(page)) for page in pages()) >= 100


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS, ids=named)
def test_a_page_shows_what_its_examples_give(group: list[Path]) -> None:
    for page, text in fresh_pages(group, keep_times=True):
        assert page.read_text(encoding="utf-8") == text, f"{page.name} is stale: make docs-refresh"


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_command_with_a_prompt_is_run_or_has_a_reason_why_not(page: Path) -> None:
    assert [piece.line for piece in fences(page) if piece.language != "console" and "$ rankproof" in piece.text] == []


@pytest.mark.parametrize("page", PROJECT_PAGES, ids=lambda page: page.name)
def test_every_fence_of_a_page_outside_the_site_is_run_or_has_a_reason_why_not(page: Path) -> None:
    shown = list(fences(page))
    assert len(shown) >= 3
    run = ("python", "console", "output")
    assert [piece.line for piece in shown if piece.is_run and piece.language not in run] == []


@pytest.mark.slow
def test_the_pictures_of_the_demo_show_the_run_that_the_pages_show() -> None:
    assert pictures.stale_pictures() == [], "run: make docs-refresh"
    shown = demo.demo_output()
    assert shown in (ROOT / "README.md").read_text(encoding="utf-8")
    assert shown.partition("\n\n")[2] in (DOCS / "decision.md").read_text(encoding="utf-8")


def test_a_picture_of_another_run_is_stale(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(pictures, "demo_digest", lambda: "f" * 64)
    everything = [f"{name}.png" for name in pictures.DEMO_PICTURES]
    assert pictures.stale_pictures() == everything
    assert pictures.stale_pictures(tmp_path) == everything
    (tmp_path / everything[0]).write_bytes(b"\x89PNG tEXtrankproof-demo\0" + b"f" * 64)
    assert pictures.stale_pictures(tmp_path) == everything[1:]


def test_a_picture_of_another_run_is_a_warning_which_fails_a_strict_build(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hooks, "fresh_pages", lambda *_, **__: iter(()))
    monkeypatch.setattr(hooks, "stale_pictures", lambda: ["decision.png"])
    hooks.on_pre_build({"docs_dir": str(DOCS)})
    assert [record.getMessage() for record in caplog.records] == [
        "decision.png: not drawn from the run that the pages show; run: make docs-refresh"
    ]


def test_a_stale_readme_is_a_warning_which_fails_a_strict_build(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh = {PROJECT_PAGES[0]: "other\n"}
    monkeypatch.setattr(hooks, "fresh_pages", lambda wanted, **_: ((page, fresh[page]) for page in wanted if page in fresh))
    monkeypatch.setattr(hooks, "stale_pictures", list)
    hooks.on_pre_build({"docs_dir": str(DOCS)})
    assert [record.getMessage() for record in caplog.records] == [hooks._STALE % "README.md"]


def test_a_saved_run_that_cannot_be_read_says_how_to_make_another(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(folder: str) -> None:
        raise InputError("format version 7", fix="run the experiment again", source="result.json")

    monkeypatch.setattr(demo, "load_results", refuse)
    with pytest.raises(
        ExampleError, match=r"^the saved run of the demo cannot be read: .*format version 7; .*; run: make docs-demo$"
    ):
        demo.unpack_demo(str(tmp_path / "demo"))


RUN = ["q1 Q0 d2 1 0.75 a", "q1 Q0 d1 2 0.75 a", "q1 Q0 d3 3 0.5 a", "q2 Q0 d3 1 -1.0 a"]


def test_a_packed_run_keeps_order_and_ties(tmp_path: Path) -> None:
    folder, archive, unpacked = tmp_path / "results", tmp_path / "packed.tar.xz", tmp_path / "unpacked"
    (folder / "runs").mkdir(parents=True)
    with gzip.open(folder / "runs" / "a.trec.gz", "wt", encoding="utf-8") as run:
        run.write("\n".join(RUN) + "\n")
    for name in ("queries.jsonl", "qrels.tsv", "snippets.jsonl", "experiment.toml"):
        (folder / name).write_text(name, encoding="utf-8")
    document = {"systems": [{"run": {"file": "runs/a.trec.gz"}}], "sha256": {"runs/a.trec.gz": "old", "qrels.tsv": "same"}}
    (folder / "result.json").write_text(json.dumps(document), encoding="utf-8")
    demo.pack_results(folder, archive)
    demo.unpack_results(archive, unpacked)
    with gzip.open(unpacked / "runs" / "a.trec.gz", "rt", encoding="utf-8") as run:
        rows = [line.split() for line in run]
    assert [(query, doc, rank, score) for query, _, doc, rank, score, _ in rows] == [
        ("q1", "d2", "1", "2"),
        ("q1", "d1", "2", "2"),
        ("q1", "d3", "3", "1"),
        ("q2", "d3", "1", "0"),
    ]
    written = json.loads((unpacked / "result.json").read_text(encoding="utf-8"))["sha256"]
    assert written["qrels.tsv"] == "same"
    assert written["runs/a.trec.gz"] == hashlib.sha256((unpacked / "runs" / "a.trec.gz").read_bytes()).hexdigest()
    assert {path.name for path in unpacked.iterdir()} == {path.name for path in folder.iterdir()}


def commands(page: Path) -> list[str]:
    """The command lines of a page that are shown and not run, without comments and what a shell does with them."""
    shown = (piece.text.replace("\\\n", " ") for piece in fences(page) if not (piece.language == "console" and piece.is_run))
    lines = (_COMMENT.sub("", line.removeprefix("$ ")).strip() for text in shown for line in text.splitlines())
    parts = (part.strip() for line in lines for part in re.split(r"&&|\|", line))
    return [part.partition(" > ")[0] for part in parts if re.match(r"rankproof [a-z]+( |$)", part)]


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_command_that_is_shown_is_one_that_the_program_takes(page: Path) -> None:
    for command in commands(page):
        _, verb, *arguments = shlex.split(command)
        assert verb in COMMANDS, command
        parser_of(verb).parse(arguments)


@pytest.mark.parametrize(
    "page", [*TUTORIAL, *sorted((DOCS / "concepts").glob("*.md")), DOCS / "disagreements.md"], ids=lambda page: page.name
)
def test_every_decimal_number_in_a_sentence_is_computed(page: Path) -> None:
    prose = "".join(piece.text for piece in pieces_of(page.read_text(encoding="utf-8")) if piece.is_prose)
    text = re.sub(r"(?s:<!-- shown: .*?<!-- end -->)|<!--table .*?-->\n(\|.*\n)*|`[^`\n]*`|\]\([^)]*\)", "", prose)
    bare = re.sub(r"(?<=<!--)[=~] .*?(?= -->)", "=", text)
    assert _DECIMAL.findall(bare.replace("Python 3.11", "Python")) == []


@pytest.mark.parametrize("measure", all_measures(), ids=str)
def test_every_measure_has_a_family_advice_and_a_section(measure: Measure) -> None:
    assert measure.family in FAMILIES
    advice = measure.advice
    assert advice is not None
    assert advice.use.endswith(".")
    assert advice.avoid.endswith(".")
    page, _, anchor = link_of(measure).partition("#")
    headings = re.findall(r"^## (.+)$", (DOCS / "measures" / page).read_text(encoding="utf-8"), re.MULTILINE)
    assert headings.count(measure.name) == 1
    assert anchor == measure.name.lower()


def test_every_ranking_measure_has_a_formula() -> None:
    rankings = [measure for measure in all_measures() if measure.kind in ("binary", "graded")]
    assert len(rankings) >= 50
    assert [measure.name for measure in rankings if not measure.formula] == []


def test_every_page_is_about_a_family_with_measures() -> None:
    named = {f"{measure.family}.md" for measure in all_measures()}
    assert {path.name for path in (DOCS / "measures").glob("*.md")} == named == {f"{name}.md" for name in FAMILIES}


def linked_anchors() -> list[tuple[str, str]]:
    """The links of all pages to sections of the pages of measures."""
    texts = (page.read_text(encoding="utf-8") for page in pages())
    return [link for text in texts for link in re.findall(r"measures/([\w-]+\.md)#([\w-]+)\)", text)]


def test_every_link_to_a_measure_leads_to_its_section() -> None:
    known = {tuple(link_of(measure).split("#")) for measure in all_measures()}
    assert len(linked_anchors()) >= 200
    assert set(linked_anchors()) <= known


def test_every_public_name_is_on_a_page_of_the_api() -> None:
    shown = "".join(page.read_text(encoding="utf-8") for page in (DOCS / "api").glob("*.md"))
    names = [name for name in rankproof.__all__ if not isinstance(getattr(rankproof, name), ModuleType)]
    assert len(names) >= 30
    assert [name for name in names if f"`rp.{name}`" not in shown] == []


def fresh(text: str) -> str:
    with session() as running:
        return fresh_page(text, running, keep_times=True)


def test_output_numbers_and_tables_are_put_in_place() -> None:
    code = "<!--python\nx = 2.5\n-->\n```python\nx * 2\n```\n\n```output\n4\n```\n"
    page = code + "\nIt is 2.4<!--= x -->.\n\n<!--table '| ' + str(x) + ' |' -->\n| 1 |\n"
    assert fresh(page) == page.replace("\n4\n", "\n5.0\n").replace("2.4<", "2.5<").replace("| 1 |", "| 2.5 |")
    assert differs(page, fresh(page))


def test_a_command_is_run_and_its_exit_code_shown() -> None:
    page = "```console\n$ rankproof measures nothing\nold\n$ echo $?\n0\n```\n"
    assert "unknown" in fresh(page) or "no measure" in fresh(page)
    assert "\n2\n```" in fresh(page)


def test_the_first_lines_of_an_output_are_shown_with_a_mark_of_the_rest() -> None:
    page = "```console first=2\n$ printf 'a\\nb\\nc\\n'\nold\n```\n"
    assert fresh(page) == page.replace("old\n", "a\nb\n…\n")
    assert fresh(page.replace("first=2", "first=3")).count("…") == 0


def test_a_failing_command_without_an_exit_code_fails_the_page() -> None:
    with pytest.raises(ExampleError, match="exit code 2"):
        fresh("text\n\n```console\n$ rankproof measures nothing\n```\n")


def test_an_example_that_raises_fails_the_page_with_its_line() -> None:
    with pytest.raises(ExampleError, match="line 3: ZeroDivisionError"):
        fresh("text\n\n```python\n1 / 0\n```\n")


SYSTEMS_TABLE = """\
3 documents, 4 queries

system nDCG@10     pp (vs)   ms p50/p95   index s   queries/s
─────────────────────────────────────────────────────────────
1 a     0.6126           –    0.04/0.16      0.10         900
2 b    *0.6406    +2.8 (1)    1.24/10.2     12.00       12345

took 0.2 s, p = 0.027, n = 124
"""


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("0.04/0.16", "1.24/10.2", True),
        ("     12.00", "      3.07", True),
        ("12345", "  999", True),
        ("took 0.2 s", "took 17.25 s", True),
        ("0.6126", "0.6127", False),
        ("3 documents", "999 documents", False),
        ("4 queries", "7 queries", False),
        ("+2.8 (1)", "+2.9 (1)", False),
        ("p = 0.027", "p = 0.028", False),
        ("n = 124", "n = 125", False),
        ("2 b ", "3 b ", False),
    ],
)
def test_a_block_of_times_may_differ_in_times_and_in_nothing_else(old: str, new: str, same: bool) -> None:
    assert SYSTEMS_TABLE.count(old) == 1
    assert (settled(SYSTEMS_TABLE) == settled(SYSTEMS_TABLE.replace(old, new))) is same
    block = f"```console times\n$ printf '{SYSTEMS_TABLE}'\n{{}}```\n".replace("%", "%%")
    assert differs(block.format(SYSTEMS_TABLE), block.format(SYSTEMS_TABLE.replace(old, new))) is not same


def test_a_row_of_latex_may_differ_under_a_header_of_times() -> None:
    table = "system & RR & ms p50 \\\\\nbm25 & 0.75 & 0.04 \\\\\n"
    assert settled(table) == settled(table.replace("0.04", "1.5"))
    assert settled(table) != settled(table.replace("0.75", "0.76"))


def test_a_ratio_of_times_may_differ() -> None:
    sentence = "chroma is 38 times slower and 0.1 pp lower"
    assert settled(sentence) == settled(sentence.replace("38", "17"))
    assert settled(sentence) != settled(sentence.replace("slower", "faster"))
    assert settled(sentence) != settled(sentence.replace("0.1", "0.2"))


def test_a_measured_number_in_a_sentence_may_differ_but_not_without_bound() -> None:
    page = "It takes {}<!--~ 0.16 --> ms.\n"
    assert fresh(page.format("0.40")) == page.format("0.40")
    assert not differs(page.format("0.40"), page.format("0.16"))
    assert fresh(page.format("9999.16")) == page.format("0.16")
    assert differs(page.format("9999.16"), page.format("0.16"))


@pytest.mark.parametrize(
    "page",
    [
        "9.9 <!--= 1 -->\n",
        "`9.9`<!--= 1 -->\n",
        "*9.9*<!--= 1 -->\n",
        "9.9<!--=1-->\n",
        "nine<!--= 1/0 -->\n",
        "<!--tabel 1 -->\n| a |\n",
        "<!-- notrun: why -->\n",
        "text\n\n<!--python 1 -->\n",
        "```py\n1\n```\n",
        "```python3\n1\n```\n",
        "```Python\n1\n```\n",
        "``` { .python }\n1\n```\n",
        "```python times\n1\n```\n",
        "```python first=3\n1\n```\n",
        "```shell-session\n$ true\n```\n",
        "- one\n\n  ```console\n  $ true\n  ```\n",
        "~~~output\n1\n~~~\n",
        "```\nbm25  0.6126\n```\n",
        "```text\nbm25  .613\n```\n",
    ],
)
def test_unknown_directives_and_fences_are_rejected(page: str) -> None:
    with pytest.raises(ExampleError, match="line 1"):
        fresh(page)


def test_a_block_with_a_reason_is_not_run() -> None:
    page = "<!-- not run: it would take a day -->\n```console\n$ false\nold\n```\n"
    assert fresh(page) == page


def built_page(name: str, text: str) -> str:
    """A page as the hook of the site makes it."""
    return hooks.on_page_markdown(text, page=SimpleNamespace(file=SimpleNamespace(src_uri=name)))


def test_a_stale_page_is_a_warning_which_fails_a_strict_build(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = ("```python\n1 + 1\n```\n\n```output\n" + value + "\n```\n" for value in ("3", "2"))
    monkeypatch.setitem(hooks._shown, "page.md", new)
    shown = new.replace("```output\n", OUTPUT)
    assert built_page("page.md", new) == shown
    assert not caplog.records
    assert built_page("page.md", old) == shown
    assert [(record.levelname, record.name.partition(".")[0]) for record in caplog.records] == [("WARNING", "mkdocs")]


@pytest.mark.parametrize(("setting", "output"), [("", "2"), ("shown", "3")])
def test_a_site_can_be_built_from_the_output_that_its_pages_show(
    setting: str, output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANKPROOF_DOCS", setting)
    monkeypatch.setattr(hooks, "_shown", {})
    text = "```python\n1 + 1\n```\n\n```output\n3\n```\n"
    (tmp_path / "page.md").write_text(text, encoding="utf-8")
    hooks.on_pre_build({"docs_dir": str(tmp_path)})
    assert f"{OUTPUT}{output}\n" in built_page("page.md", text)


def test_the_site_lists_the_page_of_every_family() -> None:
    listed = re.findall(r"^      - measures/([\w-]+)\.md$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    assert listed == list(FAMILIES)


OUTPUT = "``` { .text .output .no-copy }\n"
SITE = """\
site_name: small
docs_dir: {folder}/pages
site_dir: {folder}/site
theme: {{name: mkdocs}}
hooks: [{root}/tools/docs/mkdocs_hooks.py]
"""


@pytest.fixture
def built_by_make(tmp_path: Path) -> Callable[[str], subprocess.CompletedProcess[str]]:
    """Builds a site of one page by the command that `make docs` runs."""
    pytest.importorskip("mkdocs")
    recipe = re.findall(r"^\t(?:\w+=\S+ )*\$\(BIN\)/(mkdocs .*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    (tmp_path / "pages").mkdir()
    (tmp_path / "mkdocs.yml").write_text(SITE.format(folder=tmp_path, root=ROOT), encoding="utf-8")

    def build(page: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "pages" / "index.md").write_text(page, encoding="utf-8")
        command = [sys.executable, "-m", *recipe[0].split(), "--config-file", str(tmp_path / "mkdocs.yml")]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}
        )

    return build


@pytest.mark.slow
def test_the_very_command_of_make_docs_fails_on_a_changed_number_and_on_a_dead_link(
    built_by_make: Callable[[str], subprocess.CompletedProcess[str]],
) -> None:
    page = "```python\n1 + 1\n```\n\n```output\n2\n```\n\n[here](index.md)\n"
    assert built_by_make(page).returncode == 0
    changed, dead = built_by_make(page.replace("\n2\n", "\n3\n")), built_by_make(page.replace("index.md", "nowhere.md"))
    assert (changed.returncode, dead.returncode) == (1, 1)
    assert "index.md shows other output than its examples give; run: make docs-refresh" in changed.stderr
    assert "nowhere.md" in dead.stderr


def test_commands_and_output_are_separate_blocks_so_that_commands_can_be_copied() -> None:
    page = "```console times\n$ a \\\n  b\nout\n(c)\n$ d\n```\n"
    typed, written, last = "```console\n$ a \\\n  b\n```\n", f"{OUTPUT}out\n(c)\n```\n", "```console\n$ d\n```\n"
    assert built_page("page.md", page) == f"{typed}\n{written}\n{last}"


def test_the_site_keeps_the_tabs_of_a_file() -> None:
    extensions = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert "pymdownx.superfences:\n      preserve_tabs: true" in extensions
    markdown = pytest.importorskip("markdown")
    options = {"pymdownx.superfences": {"preserve_tabs": True}}
    fence = "```text\nquery-id\tcorpus-id\n```\n"
    assert "query-id\tcorpus-id" in markdown.markdown(fence, extensions=["pymdownx.superfences"], extension_configs=options)


def test_the_site_shows_no_directive_and_no_hidden_code() -> None:
    code = "<!--python\nx = 1\n-->\n<!-- not run: why -->\n```console times\n$ a\n```\n"
    page = code + "1.0<!--= x --> **2<!--~ x -->**\n<!--table x -->\n| a |\n"
    assert built_page("page.md", page) == "```console\n$ a\n```\n1.0 **2**\n| a |\n"


def test_a_link_out_of_the_documents_becomes_a_path() -> None:
    text = "[text.py](../src/rankproof/_data/text.py), [it](../CHANGELOG.md#one), [here](stages.md), ![p](img/x.png)"
    shown = "`src/rankproof/_data/text.py`, it (`CHANGELOG.md`), [here](stages.md), ![p](img/x.png)"
    assert built_page("page.md", text) == shown


def test_the_command_shows_when_to_use_a_named_measure(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measures", "RR"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert RR.advice is not None
    assert f"use it when {RR.advice.use}" in shown
    assert f"avoid it when {RR.advice.avoid}" in shown
    assert main(["measures", "RR", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["RR"]["stage"] == "ordering"


def test_the_command_and_the_page_say_what_each_k_of_success_means(capsys: pytest.CaptureFixture[str]) -> None:
    assert Success.advice is not None
    assert [cutoff for cutoff, _ in Success.advice.by_cutoff] == [1, 3, 5, 10]
    assert main(["measures", "Success@5"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    page = (ROOT / "docs" / "measures" / "first-relevant.md").read_text(encoding="utf-8")
    for cutoff, text in Success.advice.by_cutoff:
        assert f"Success@{cutoff}: {text}" in shown
        assert f"| `Success@{cutoff}` | {text} |" in page
    assert main(["measures", "Success", "RR", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["Success"]["by_cutoff"] == {str(cutoff): text for cutoff, text in Success.advice.by_cutoff}
    assert found["RR"]["by_cutoff"] == {}
