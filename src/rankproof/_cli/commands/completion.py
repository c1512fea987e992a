"""`rankproof completion`: completion scripts, made from the parsers of the commands."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rankproof._cli.parser import Command, loadable_commands, parser_of
from rankproof._cli.terminal import Terminal

ValueKind = Literal["nothing", "choice", "file", "measures", "text"]
_FILE_METAVARS = ("EXPERIMENT.toml", "FILE", "FOLDER", "IN", "OUT", "QRELS", "RUN")


@dataclass(frozen=True, slots=True)
class CommandArgument:
    """An option, or a positional argument if it has no spellings, and the values that it takes."""

    spellings: tuple[str, ...]
    takes: ValueKind
    words: tuple[str, ...]
    summary: str


@dataclass(frozen=True, slots=True)
class CommandWords:
    """A command and its arguments."""

    name: str
    summary: str
    arguments: tuple[CommandArgument, ...]

    @property
    def options(self) -> tuple[CommandArgument, ...]:
        """The arguments that begin with a dash."""
        return tuple(argument for argument in self.arguments if argument.spellings)

    @property
    def positional(self) -> CommandArgument | None:
        """The first positional argument, if there is one."""
        return next((argument for argument in self.arguments if not argument.spellings), None)


def all_commands() -> list[CommandWords]:
    """Every command that can be loaded, in the order of the help page."""
    return [_command(name, summary) for name, summary in loadable_commands()]


def _command(name: str, summary: str) -> CommandWords:
    parser = parser_of(name)
    actions = [action for action in parser._actions if action.help != argparse.SUPPRESS]
    return CommandWords(name, summary, tuple(map(_argument, actions)))


def _argument(action: argparse.Action) -> CommandArgument:
    takes, words = _value_kind(action)
    return CommandArgument(tuple(action.option_strings), takes, tuple(words), str(action.help or ""))


def _value_kind(action: argparse.Action) -> tuple[ValueKind, Sequence[str]]:
    if action.nargs == 0:
        return "nothing", ()
    if action.choices:
        return "choice", [str(choice) for choice in action.choices]
    if action.metavar == "COMMAND":
        return "choice", [name for name, _ in loadable_commands()]
    if action.metavar == "MEASURES":
        from rankproof.measures._registry import ANSWER_MEASURES, MEASURES

        return "measures", tuple(dict.fromkeys((*MEASURES, *ANSWER_MEASURES)))
    if action.metavar == "FORMAT":
        from rankproof._formats.registry import FORMATS

        return "choice", tuple(FORMATS)
    is_file = action.metavar in _FILE_METAVARS or (not action.option_strings and action.metavar != "NAME")
    return ("file", ()) if is_file else ("text", ())


_BASH = """\
# rankproof completion for bash: source <(rankproof completion bash)
_rankproof() {{
    local cur="${{COMP_WORDS[COMP_CWORD]}}" prev="${{COMP_WORDS[COMP_CWORD-1]}}" name="${{COMP_WORDS[1]}}"
    COMPREPLY=()
    if [[ $COMP_CWORD -eq 1 ]]; then
        COMPREPLY=($(compgen -W "{commands} --help --version" -- "$cur"))
        return
    fi
    case "$name $prev" in
{values}
    esac
    if [[ $cur == -* ]]; then
        case "$name" in
{options}
        esac
        return
    fi
    case "$name" in
{positional}
    esac
}}
_rankproof_measures() {{
    local cur="$1" before=""
    [[ $cur == *,* ]] && before="${{cur%,*}},"
    compopt -o nospace 2>/dev/null
    COMPREPLY=($(compgen -P "$before" -W "$2" -- "${{cur##*,}}"))
}}
complete -o default -F _rankproof rankproof
"""


def bash(commands: Sequence[CommandWords]) -> str:
    """A script for bash, which completes files where the script has no words."""
    values = [
        f"        {_patterns(command, option)}) {_bash_reply(option)}; return ;;"
        for command in commands
        for option in command.options
        if option.takes != "nothing"
    ]
    options = [
        f'            {command.name}) COMPREPLY=($(compgen -W "{_spellings(command)}" -- "$cur")) ;;' for command in commands
    ]
    free = [f"        {command.name}) {_bash_reply(command.positional)} ;;" for command in commands if command.positional]
    return _BASH.format(
        commands=" ".join(command.name for command in commands),
        values="\n".join(values),
        options="\n".join(options),
        positional="\n".join(free),
    )


def _patterns(command: CommandWords, option: CommandArgument) -> str:
    return "|".join(f'"{command.name} {spelling}"' for spelling in option.spellings)


def _spellings(command: CommandWords) -> str:
    return " ".join(spelling for option in command.options for spelling in option.spellings)


def _bash_reply(argument: CommandArgument) -> str:
    words = " ".join(argument.words)
    return {
        "choice": f'COMPREPLY=($(compgen -W "{words}" -- "$cur"))',
        "measures": f'_rankproof_measures "$cur" "{words}"',
    }.get(argument.takes, ":")


def zsh(commands: Sequence[CommandWords]) -> str:
    """A script for zsh's completion system."""
    listed = "\n".join(f"        {_quoted(f'{command.name}:{command.summary}')}" for command in commands)
    cases = "\n".join(f"        {command.name})\n            _arguments -s {_zsh_specs(command)} ;;" for command in commands)
    return (
        "#compdef rankproof\n# rankproof completion for zsh\n_rankproof() {\n"
        f"    local -a names=(\n{listed}\n    )\n"
        "    if (( CURRENT == 2 )); then\n        _describe command names\n        return\n    fi\n"
        "    local name=$words[2]\n    shift words\n    (( CURRENT-- ))\n"
        f"    case $name in\n{cases}\n    esac\n}}\n"
        'if [[ "$funcstack[1]" == _rankproof ]]; then _rankproof "$@"; else compdef _rankproof rankproof; fi\n'
    )


def _zsh_specs(command: CommandWords) -> str:
    options = [
        _quoted(f"*{spelling}[{_bracketed(option.summary)}]{_zsh_value(option)}")
        for option in command.options
        for spelling in option.spellings
    ]
    free = [_quoted(f"*{_zsh_value(command.positional)}")] if command.positional else []
    return " \\\n                ".join([*options, *free])


def _zsh_value(argument: CommandArgument) -> str:
    words = " ".join(argument.words)
    return {
        "nothing": "",
        "file": ":file:_files",
        "choice": f":value:({words})",
        "measures": f":measures:_sequence compadd - {words}",
    }.get(argument.takes, ":value: ")


def _bracketed(text: str) -> str:
    return text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")


def fish(commands: Sequence[CommandWords]) -> str:
    """A script for fish."""
    lines = ["# rankproof completion for fish", "complete -c rankproof -f"]
    lines += [
        f"complete -c rankproof -n __fish_use_subcommand -a {command.name} -d {_fish_quoted(command.summary)}"
        for command in commands
    ]
    for command in commands:
        lines += [_fish_line(command, argument) for argument in command.arguments]
    return "\n".join(lines) + "\n"


def _fish_line(command: CommandWords, argument: CommandArgument) -> str:
    flags = " ".join(f"-{'l' if spelling.startswith('--') else 's'} {spelling.lstrip('-')}" for spelling in argument.spellings)
    words = _fish_quoted(" ".join(argument.words))
    comma_list = _fish_quoted(f"(__fish_append , {' '.join(argument.words)})")
    value = {"nothing": "", "file": "-F", "choice": f"-xa {words}", "measures": f"-xa {comma_list}"}.get(argument.takes, "-x")
    if not argument.spellings:
        value = value.replace("-xa", "-a")
    parts = (
        f'complete -c rankproof -n "__fish_seen_subcommand_from {command.name}"',
        flags,
        value,
        f"-d {_fish_quoted(argument.summary)}",
    )
    return " ".join(part for part in parts if part)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


_SCRIPTS = {"bash": bash, "zsh": zsh, "fish": fish}
USAGE = "{bash,zsh,fish}"
EXAMPLES = """\
examples:
  source <(rankproof completion bash)                                   # bash, this session
  rankproof completion zsh > "${fpath[1]}/_rankproof"                   # zsh
  rankproof completion fish > ~/.config/fish/completions/rankproof.fish # fish"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the shell."""
    parser.add_argument("shell", choices=tuple(_SCRIPTS), help="the shell")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Shows the script."""
    terminal.show(_SCRIPTS[args.shell](all_commands()))
    return 0


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
