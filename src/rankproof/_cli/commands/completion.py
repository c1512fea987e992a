"""`rankproof completion`: a shell's completion script, made from the parsers themselves."""

from __future__ import annotations

import argparse

from rankproof._cli.terminal import Terminal

USAGE = "{bash,zsh,fish}"
EXAMPLES = """\
examples:
  source <(rankproof completion bash)                                   # bash, this session
  rankproof completion zsh > "${fpath[1]}/_rankproof"                   # zsh
  rankproof completion fish > ~/.config/fish/completions/rankproof.fish # fish"""
SHELLS = ("bash", "zsh", "fish")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which shell."""
    parser.add_argument("shell", choices=SHELLS, help="the shell that the script is for")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Prints the script."""
    from rankproof._cli import completion
    from rankproof._cli.completion import all_commands

    scripts = {"bash": completion.bash, "zsh": completion.zsh, "fish": completion.fish}
    terminal.show(scripts[args.shell](all_commands()))
    return 0
