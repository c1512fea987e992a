"""What `rankproof` says without a verb: help and version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .parsing import EVERYWHERE, EXIT_CODES, unknown
from .terminal import Terminal

_REFERENCE = {True: "reference reader: asked for by RANKPROOF_ENGINE", False: "reference reader: no compiler was at hand"}
_HEAD = """\
usage: rankproof VERB …

Proves, with numbers, whether one search or RAG system is better than another."""
_OPTIONS = """\
options:
  -h, --help     this page; rankproof VERB --help is the page of one verb
  --version      version, and which reader is in use
  -v, --verbose  say more
  --quiet        no notes and no progress, errors only"""
_EXAMPLES = """\
examples:
  rankproof run                                    start here: the ladder on the built-in sample
  rankproof run --dataset my-data                  the same on your documents
  rankproof eval --sample                          the built-in sample, three systems
  rankproof eval qrels.txt bm25.run dense.run      the usual measures
  rankproof eval qrels.txt bm25.run -m nDCG@10,RR -q --format json
  rankproof measures nDCG                          what a measure is
  rankproof fuse bm25.run dense.run -o both.run
  source <(rankproof completion bash)"""


def run_top(arguments: Sequence[str], verbs: Mapping[str, str]) -> int:
    """Prints the version or the help."""
    asked = [argument for argument in arguments if argument not in EVERYWHERE]
    if asked and asked[0] not in ("--version", "-V", "--help", "-h"):
        raise unknown("option", asked[0], ["--version", "--help", *EVERYWHERE], see="rankproof --help")
    Terminal().show(version() if asked and asked[0] in ("--version", "-V") else _help(verbs))
    return 0


def version() -> str:
    """rankproof's version and reader, and those of what it stands on."""
    import platform

    import numpy

    from .. import __version__, engine_choice

    reader = "native reader" if engine_choice.chosen_name() == "native" else _REFERENCE[engine_choice.is_built()]
    return f"rankproof {__version__} ({reader})\nPython {platform.python_version()}, numpy {numpy.__version__}\n"


def _help(verbs: Mapping[str, str]) -> str:
    width = max(map(len, verbs))
    listed = "\n".join(f"  {verb:{width}}  {summary}" for verb, summary in verbs.items())
    return f"{_HEAD}\n\nverbs:\n{listed}\n\n{_OPTIONS}\n\n{_EXAMPLES}\n\n{EXIT_CODES}\n"
