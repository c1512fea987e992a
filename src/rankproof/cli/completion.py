"""`rankproof completion`: a shell's completion script, made from the parsers themselves."""

from __future__ import annotations

import argparse

from .terminal import Terminal

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
    from . import shells
    from .grammar import grammar

    scripts = {"bash": shells.bash, "zsh": shells.zsh, "fish": shells.fish}
    terminal.show(scripts[args.shell](grammar()))
    return 0
