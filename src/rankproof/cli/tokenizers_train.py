"""`rankproof tokenizers train`."""

from __future__ import annotations

import argparse

from .terminal import Terminal


def add_arguments(group: argparse._ArgumentGroup) -> None:
    """Its options."""


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Runs it."""
    raise NotImplementedError
