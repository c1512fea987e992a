"""Completion scripts for bash, zsh and fish."""

from __future__ import annotations

from collections.abc import Sequence

from .grammar import Argument, Verb

_BASH = """\
# rankproof completion for bash: source <(rankproof completion bash)
_rankproof() {{
    local cur="${{COMP_WORDS[COMP_CWORD]}}" prev="${{COMP_WORDS[COMP_CWORD-1]}}" verb="${{COMP_WORDS[1]}}"
    COMPREPLY=()
    if [[ $COMP_CWORD -eq 1 ]]; then
        COMPREPLY=($(compgen -W "{verbs} --help --version" -- "$cur"))
        return
    fi
    case "$verb $prev" in
{values}
    esac
    if [[ $cur == -* ]]; then
        case "$verb" in
{options}
        esac
        return
    fi
    case "$verb" in
{free}
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


def bash(verbs: Sequence[Verb]) -> str:
    """A script for bash; where it has no words to offer, bash offers files."""
    values = [
        f"        {_patterns(verb, option)}) {_bash_reply(option)}; return ;;"
        for verb in verbs
        for option in verb.options
        if option.takes != "nothing"
    ]
    options = [f'            {verb.name}) COMPREPLY=($(compgen -W "{_spellings(verb)}" -- "$cur")) ;;' for verb in verbs]
    free = [f"        {verb.name}) {_bash_reply(verb.free)} ;;" for verb in verbs]
    return _BASH.format(
        verbs=" ".join(verb.name for verb in verbs), values="\n".join(values), options="\n".join(options), free="\n".join(free)
    )


def _patterns(verb: Verb, option: Argument) -> str:
    return "|".join(f'"{verb.name} {spelling}"' for spelling in option.spellings)


def _spellings(verb: Verb) -> str:
    return " ".join(spelling for option in verb.options for spelling in option.spellings)


def _bash_reply(argument: Argument) -> str:
    words = " ".join(argument.words)
    return {
        "choice": f'COMPREPLY=($(compgen -W "{words}" -- "$cur"))',
        "measures": f'_rankproof_measures "$cur" "{words}"',
    }.get(argument.takes, ":")


def zsh(verbs: Sequence[Verb]) -> str:
    """A script for zsh's completion system."""
    listed = "\n".join(f"        {_quoted(f'{verb.name}:{verb.summary}')}" for verb in verbs)
    cases = "\n".join(f"        {verb.name})\n            _arguments -s {_zsh_specs(verb)} ;;" for verb in verbs)
    return (
        "#compdef rankproof\n# rankproof completion for zsh\n_rankproof() {\n"
        f"    local -a verbs=(\n{listed}\n    )\n"
        "    if (( CURRENT == 2 )); then\n        _describe verb verbs\n        return\n    fi\n"
        "    local verb=$words[2]\n    shift words\n    (( CURRENT-- ))\n"
        f"    case $verb in\n{cases}\n    esac\n}}\n"
        'if [[ "$funcstack[1]" == _rankproof ]]; then _rankproof "$@"; else compdef _rankproof rankproof; fi\n'
    )


def _zsh_specs(verb: Verb) -> str:
    options = [
        _quoted(f"*{spelling}[{_bracketed(option.summary)}]{_zsh_value(option)}")
        for option in verb.options
        for spelling in option.spellings
    ]
    return " \\\n                ".join([*options, _quoted(f"*{_zsh_value(verb.free)}")])


def _zsh_value(argument: Argument) -> str:
    words = " ".join(argument.words)
    return {
        "nothing": "",
        "file": ":file:_files",
        "choice": f":value:({words})",
        "measures": f":measures:_sequence compadd - {words}",
    }.get(argument.takes, ":value: ")


def _bracketed(text: str) -> str:
    return text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")


def fish(verbs: Sequence[Verb]) -> str:
    """A script for fish."""
    lines = ["# rankproof completion for fish", "complete -c rankproof -f"]
    lines += [f"complete -c rankproof -n __fish_use_subcommand -a {verb.name} -d {_fish_quoted(verb.summary)}" for verb in verbs]
    for verb in verbs:
        lines += [_fish_line(verb, argument) for argument in verb.arguments]
    return "\n".join(lines) + "\n"


def _fish_line(verb: Verb, argument: Argument) -> str:
    flags = " ".join(f"-{'l' if one.startswith('--') else 's'} {one.lstrip('-')}" for one in argument.spellings)
    words = _fish_quoted(" ".join(argument.words))
    comma_list = _fish_quoted(f"(__fish_append , {' '.join(argument.words)})")
    value = {"nothing": "", "file": "-F", "choice": f"-xa {words}", "measures": f"-xa {comma_list}"}.get(argument.takes, "-x")
    if not argument.spellings:
        value = value.replace("-xa", "-a")
    parts = (
        f'complete -c rankproof -n "__fish_seen_subcommand_from {verb.name}"',
        flags,
        value,
        f"-d {_fish_quoted(argument.summary)}",
    )
    return " ".join(part for part in parts if part)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
