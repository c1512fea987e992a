"""The help page of every verb: examples that its own parser takes, and the parts that a manual page has."""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys

import pytest

from rankproof._cli.commands.completion import CommandWords, all_commands
from rankproof._cli.commands.help import _HEAD
from rankproof._cli.main import main
from rankproof._cli.parser import COMMANDS, GROUPS, command_named, fitted_page, parser_of

SHELL = re.compile(r"\s(?:&&|\||>)\s|^source <\(|\)$")


def commands(examples: str) -> list[list[str]]:
    """The command lines of an epilog, without the words that explain them and what the shell does around them."""
    found: list[list[str]] = []
    for line in examples.replace("\\\n", " ").splitlines()[1:]:
        if not line.startswith("  "):
            break
        shown = re.sub(r"(?<=\S)\s{3,}(?!--).*$", "", line.strip()) if "--base-url" not in line else line.strip()
        parts = [part.strip() for part in SHELL.split(shown.split(" #")[0]) if part.strip()]
        found += [shlex.split(part)[1:] for part in parts if part.startswith("rankproof ")]
    return found


def parsed(command: list[str]) -> argparse.Namespace:
    verb, *arguments = command
    return parser_of(verb).parse(arguments)


@pytest.mark.parametrize("verb", COMMANDS.names())
def test_every_example_of_a_verb_is_accepted_by_its_parser(verb: str) -> None:
    examples = commands(command_named(verb).examples)
    assert [command[0] for command in examples].count(verb) >= 2, f"give the Command of {verb} at least two examples"
    for command in examples:
        parsed(command)


def test_the_examples_of_the_first_page_are_accepted() -> None:
    examples = commands(_HEAD.partition("\n\ntry")[2])
    assert [command[0] for command in examples] == ["run", "compare", "answers"]
    for command in examples:
        parsed(command)


@pytest.mark.parametrize("verb", COMMANDS.names())
def test_a_help_page_has_usage_summary_options_examples_and_exit_codes(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, "--help"]) == 0
    page = capsys.readouterr().out
    parts = [f"usage: rankproof {verb}", "examples:", "options:", "exit codes:"]
    assert [page.find(part) for part in parts] == sorted(page.find(part) for part in parts)
    assert -1 not in [page.find(part) for part in parts]


def test_the_first_page_fits_a_screen_and_names_every_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["--help"]) == 0
    page = capsys.readouterr().out
    assert page.count("\n") <= 45
    groups = re.findall(r"^([A-Z][a-z]+)  +[a-z]", page, re.MULTILINE)
    assert groups == [*GROUPS]
    assert all(re.search(rf"\b{command}\b", page) for command in COMMANDS)


def test_a_help_page_begins_with_three_examples_and_the_whole_page_has_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gate", "--help"]) == 0
    brief = capsys.readouterr().out
    assert main(["gate", "--help-all"]) == 0
    whole = capsys.readouterr().out
    assert len(commands(brief[brief.index("examples:") :])) == 3
    assert len(commands(whole[whole.index("examples:") :])) == len(commands(command_named("gate").examples)) > 3
    assert "rankproof gate --help-all shows all options and examples" in brief
    assert "shows all options" not in whole


@pytest.mark.parametrize("verb", all_commands(), ids=lambda verb: verb.name)
def test_every_argument_says_what_it_is_for(verb: CommandWords) -> None:
    assert [argument for argument in verb.arguments if not argument.summary] == []


@pytest.mark.parametrize(
    ("verb", "extra"), [("run", "retrieval"), ("models", "retrieval"), ("judge", "chat"), ("generate", "chat"), ("plot", "plot")]
)
def test_the_help_names_the_extra_that_a_verb_needs(verb: str, extra: str) -> None:
    assert f"pip install 'rankproof[{extra}]'" in command_named(verb).examples


@pytest.mark.parametrize("verb", ["", *(verb.name for verb in all_commands())])
def test_a_help_page_fits_80_columns(verb: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main([*verb.split(), "--help"]) == 0
    assert [line for line in capsys.readouterr().out.splitlines() if len(line) > 80] == []


def test_a_long_line_of_a_help_page_goes_on_at_its_own_indent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    page = fitted_page("  esci  products\n        corpus: all, or only those of the examples")
    assert page.splitlines() == ["  esci  products", "        corpus: all, or only those of", "        the examples"]


@pytest.mark.parametrize("verb", [[], ["compare"], ["help"]])
def test_help_shows_the_page_of_the_option_help(verb: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*verb, "--help"]) == 0
    page = capsys.readouterr().out
    assert main(["help", *verb]) == 0
    assert capsys.readouterr().out == page


def test_help_on_an_unknown_verb_suggests_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "comapre"]) == 2
    assert capsys.readouterr().err == "unknown command comapre; did you mean compare? See rankproof --help\n"


@pytest.mark.parametrize(
    ("shell", "line"),
    [
        ("bash", r'        help\) COMPREPLY=\(\$\(compgen -W "run compare .* help" -- "\$cur"\)\) ;;'),
        ("zsh", r"                '\*:value:\(run compare .* help\)' ;;"),
        ("fish", r'complete -c rankproof -n "__fish_seen_subcommand_from help" -a \'run compare .* help\' -d .*'),
    ],
)
def test_the_completion_of_help_offers_every_verb(shell: str, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    found = [match for shown in capsys.readouterr().out.splitlines() if (match := re.fullmatch(line, shown))]
    assert len(found) == 1
    assert all(
        f" {verb} " in f" {found[0][0]} ".replace("(", " ").replace("'", " ").replace('"', " ").replace(")", " ")
        for verb in COMMANDS
    )


def test_pages_and_messages_say_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help"]) == 0
    assert main(["help", "help"]) == 0
    assert main(["nosuch"]) == 2
    shown = "".join(capsys.readouterr()).lower()
    assert "rankproof command …" in shown
    assert not re.search(r"\bverbs?\b", shown)


LISTS_PARTS_WITH_NUMPY = ("fuse", "import", "tokenizers")
"""Commands whose page lists parts or settings of modules with arrays: fusion methods, importers, trainings."""


def test_help_pages_load_no_numpy() -> None:
    code = """
import sys
from rankproof._cli.main import main
main(["--help"])
for name in sys.argv[1:]:
    main([name, "--help"])
    if "numpy" in sys.modules:
        sys.exit(f"numpy is loaded by {name}")
"""
    names = [name for name in COMMANDS.names() if name not in LISTS_PARTS_WITH_NUMPY]
    assert len(names) >= 28
    shown = subprocess.run([sys.executable, "-c", code, *names], capture_output=True, text=True, timeout=120)
    assert (shown.stderr, shown.returncode) == ("", 0)
    assert shown.stdout.count("usage: rankproof") >= len(names)


@pytest.mark.parametrize(("verb", "described"), [("fuse", "adds normalised scores"), ("import", "the column of the question")])
def test_a_long_list_of_parts_is_described_by_help_all_only(
    verb: str, described: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([verb, "--help"]) == 0
    brief = capsys.readouterr().out
    assert main([verb, "--help-all"]) == 0
    assert described not in brief
    assert described in " ".join(capsys.readouterr().out.split())
    assert len(brief.splitlines()) < 80
