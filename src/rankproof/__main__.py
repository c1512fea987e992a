"""`python -m rankproof` is the `rankproof` command."""

from .cli.main import entry

entry()
