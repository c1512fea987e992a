"""The verbs: one line for each, in the order of `rankproof --help`; other packages add verbs by entry points."""

from __future__ import annotations

from collections.abc import Iterator

from rankproof._cli.command import Command
from rankproof._cli.parser import Parser, command_parser, unknown_name_error
from rankproof._registry import Component, Registry
from rankproof.errors import ExternalError

_DIR = "rankproof._cli.commands"
COMMANDS: Registry[Command] = Registry(
    "command",
    "rankproof.commands",
    (
        Component("run", f"{_DIR}.run:COMMAND", "run search systems on a dataset: quality, latency and cost of each"),
        Component("import", f"{_DIR}.import_:COMMAND", "turn a table or another tool's export into a dataset folder"),
        Component("init", f"{_DIR}.init:COMMAND", "write an example experiment file with comments"),
        Component("eval", f"{_DIR}.eval:COMMAND", "evaluate run files against relevance judgements"),
        Component("compare", f"{_DIR}.compare:COMMAND", "say which system to ship, and which differences are significant"),
        Component("correlate", f"{_DIR}.correlate:COMMAND", "show how much rankings, or orders of systems, agree"),
        Component("agreement", f"{_DIR}.agreement:COMMAND", "show how far people, and a language model, agree on grades"),
        Component("stability", f"{_DIR}.stability:COMMAND", "say whether a decision stands with fewer queries or other judges"),
        Component("doctor", f"{_DIR}.doctor:COMMAND", "check data, runs and encoders for common mistakes"),
        Component("explain", f"{_DIR}.explain:COMMAND", "show how a value is computed: queries, ranks, gains, terms"),
        Component("audit", f"{_DIR}.audit:COMMAND", "show how ties, unjudged documents and tools' conventions change values"),
        Component("segments", f"{_DIR}.segments:COMMAND", "find groups of queries on which a system is significantly weaker"),
        Component("diagnose", f"{_DIR}.diagnose:COMMAND", "find weak systems, stages and query groups, and list failed queries"),
        Component("baselines", f"{_DIR}.baselines:COMMAND", "compare values with random, simple and best possible rankings"),
        Component("answers", f"{_DIR}.answers:COMMAND", "evaluate RAG logs: answers against contexts and references"),
        Component(
            "gate",
            f"{_DIR}.gate:GATE",
            "pass, fail or unsure: whether a build is as good as its baseline and meets its thresholds",
        ),
        Component("save-baseline", f"{_DIR}.gate:SAVE_BASELINE", "save the values of systems as the baseline for gate"),
        Component("report", f"{_DIR}.report:COMMAND", "write results, or what changed, as one HTML page, picture or Markdown"),
        Component("serve", f"{_DIR}.serve:COMMAND", "browse results, judge documents and label claims in a local web page"),
        Component("plot", f"{_DIR}.plot:COMMAND", "draw charts of results as PNG, SVG or PDF"),
        Component("export", f"{_DIR}.export:COMMAND", "write results as CSV, JSON, Markdown, LaTeX, JUnit, Parquet or to MLflow"),
        Component("generate", f"{_DIR}.generate:COMMAND", "generate test queries from documents"),
        Component("judge", f"{_DIR}.judge:COMMAND", "grade documents with a language model; measure agreement with people"),
        Component("fuse", f"{_DIR}.fuse:COMMAND", "merge several runs into one by rank or score fusion"),
        Component("tune", f"{_DIR}.tune:COMMAND", "find parameters of fusion or of a system, and their gain on held-out queries"),
        Component("convert", f"{_DIR}.convert:COMMAND", "convert a run, judgements or a dataset to another format"),
        Component("measures", f"{_DIR}.measures:COMMAND", "list the measures, or describe one: formula, source, when to use it"),
        Component("cache", f"{_DIR}.cache:COMMAND", "show or clear the cache"),
        Component("models", f"{_DIR}.models:COMMAND", "download and list model weights"),
        Component(
            "tokenizers",
            f"{_DIR}.tokenizers:COMMAND",
            "train and compare encoders that differ only in their tokenizer or prompts",
        ),
        Component("completion", "rankproof._cli.completion:COMMAND", "print a shell completion script"),
        Component("help", "rankproof._cli.main:HELP", "show this page, or the page of a command"),
    ),
)


def command_named(name: str) -> Command:
    """The verb of that name; an unknown name is refused with the nearest known one."""
    if name not in COMMANDS:
        raise unknown_name_error("command", name, COMMANDS.names(), see="rankproof --help")
    command = COMMANDS.load(name)
    if not isinstance(command, Command):
        raise ExternalError(f"the command {name} of another package is not a rankproof.types.Command; update or remove it")
    return command


def command_summary(name: str) -> str:
    """What the verb does, in one line."""
    own = (component.summary for component in COMMANDS.components if component.name == name)
    return next(own, None) or command_named(name).summary


def parser_of(name: str) -> Parser:
    """The parser of a verb."""
    command = command_named(name)
    return command_parser(f"rankproof {name}", command_summary(name), command)


def loadable_verbs() -> list[tuple[str, str]]:
    """Every verb that can be loaded, with its summary."""
    return [(name, summary) for name, summary, is_loadable in _listed() if is_loadable]


def verb_lines() -> dict[str, str]:
    """The summary of every verb, or the reason why it cannot be loaded."""
    return {name: text for name, text, _ in _listed()}


def _listed() -> Iterator[tuple[str, str, bool]]:
    for name in COMMANDS.names():
        try:
            yield name, command_summary(name), True
        except ExternalError as error:
            yield name, str(error), False
