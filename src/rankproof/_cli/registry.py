"""The commands by group, in the order of `rankproof --help`; other packages add commands by entry points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

from rankproof._cli.parser import Command, Parser, unknown_name_error
from rankproof._registry import Component, Registry
from rankproof.errors import ExternalError


def _commands(**summaries: str) -> tuple[Component, ...]:
    """Commands of one name with their module in `commands/`; a module called `import_` defines the command `import`."""
    home = "rankproof._cli.commands"
    return tuple(Component(name.rstrip("_"), f"{home}.{name}:COMMAND", summary) for name, summary in summaries.items())


MORE = "More"
"""The group of which `rankproof --help` lists only the names."""
GROUPS: Mapping[str, tuple[Component, ...]] = {
    "Decide": _commands(
        run="run search systems on a dataset: quality, latency and cost",
        compare="say which system to ship, and which differences are real",
        answers="evaluate RAG logs: answers, contexts and references",
        gate="pass, fail or unsure: is a build as good as its baseline?",
    ),
    "Live": _commands(
        online="say from a log of live search which system users prefer",
        sample="draw queries that stand for the traffic of a log",
    ),
    "Look": _commands(
        serve="try queries and settings, judge documents, browse",
        report="write results, or what changed, as one HTML page",
        plot="draw charts of results as PNG, SVG or PDF",
    ),
    "Understand": _commands(
        diagnose="find weak systems, stages and queries",
        explain="show how a value is computed: ranks, gains, terms",
        audit="show how ties and unjudged documents change values",
        doctor="check data, runs and encoders for common mistakes",
    ),
    "Improve": _commands(
        tune="find parameters, and their gain on held-out queries",
        fuse="merge several runs into one by rank or score fusion",
        judge="grade documents with a language model, or by rules",
        generate="generate test queries from documents",
    ),
    "Files": _commands(
        eval="evaluate run files against relevance judgements",
        import_="turn a table or another tool's export into a dataset",
        convert="convert a run, judgements or a dataset to another format",
        export="write results as CSV, JSON, LaTeX, Parquet and others",
        init="write an example experiment file with comments",
    ),
    MORE: _commands(
        prefer="say which system people prefer, from pairs of answers",
        segments="find groups of queries on which a system is significantly weaker",
        baselines="compare values with random, simple and best possible rankings",
        stability="say whether a decision stands with fewer queries or other judges",
        correlate="show how much rankings, or orders of systems, agree",
        agreement="show how far people, and a language model, agree on grades",
        measures="list the measures, or describe one: formula, source, when to use it",
        models="download and list model weights",
        cache="show or clear the cache",
        tokenizers="train and compare encoders that differ only in their tokenizer or prompts",
        mcp="let an agent ask all this: tools of the Model Context Protocol",
        completion="print a shell completion script",
        help="show this page, or the page of a command",
    ),
}
COMMANDS: Registry[Command] = Registry("command", "rankproof.commands", tuple(chain.from_iterable(GROUPS.values())))


def command_named(name: str) -> Command:
    """The command of that name; an unknown name is rejected with the nearest known one."""
    if name not in COMMANDS:
        raise unknown_name_error("command", name, COMMANDS.names(), see="rankproof --help")
    command = COMMANDS.load(name)
    if not isinstance(command, Command):
        raise ExternalError(f"the command {name} of another package is not a rankproof.types.Command; update or remove it")
    return command


def command_summary(name: str) -> str:
    """What the command does, in one line."""
    own = (component.summary for component in COMMANDS.components if component.name == name)
    return next(own, None) or command_named(name).summary


def parser_of(name: str) -> Parser:
    """The parser of a command."""
    command = command_named(name)
    return Parser(f"rankproof {name}", command_summary(name), command)


def loadable_commands() -> list[tuple[str, str]]:
    """Every command that can be loaded, with its summary."""
    return [(name, summary) for name, summary, is_loadable in _listed() if is_loadable]


def command_lines() -> dict[str, str]:
    """The summary of every command, or the reason why it cannot be loaded."""
    return {name: text for name, text, _ in _listed()}


def _listed() -> Iterator[tuple[str, str, bool]]:
    for name in COMMANDS.names():
        try:
            yield name, command_summary(name), True
        except ExternalError as error:
            yield name, str(error), False
