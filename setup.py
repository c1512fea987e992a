"""Builds the native reader, BM25, merge, sieve and flips where a C compiler is at hand; without one the install goes on."""

import os
import sysconfig
from glob import glob

from setuptools import Extension, setup

# A free-threaded Python has no stable ABI to build for.
STABLE = not sysconfig.get_config_var("Py_GIL_DISABLED")


def extension(name: str, source: str, headers: str = "") -> Extension:
    """One extension that an install can do without."""
    return Extension(
        name,
        sources=[source],
        depends=sorted(glob(headers)),
        define_macros=[("Py_LIMITED_API", "0x030B0000")] if STABLE else [],
        extra_compile_args=["/O2", "/std:c11"] if os.name == "nt" else ["-std=c11", "-O3", "-g0", "-ffp-contract=off"],
        py_limited_api=STABLE,
        optional=True,
    )


setup(
    ext_modules=[
        extension("rankproof._native.align", "src/rankproof/_native/align.c", "src/rankproof/_native/align_src/*.h"),
        extension("rankproof._native.bm25", "src/rankproof/_native/bm25.c", "src/rankproof/_native/bm25_src/*.h"),
        extension("rankproof._native.documents", "src/rankproof/_native/documents.c", "src/rankproof/_native/documents_src/*.h"),
        extension("rankproof._native.bert", "src/rankproof/_native/bert.c", "src/rankproof/_native/bert_src/*.h"),
        extension("rankproof._native.merge", "src/rankproof/_native/merge.c"),
        extension("rankproof._native.topk", "src/rankproof/_native/topk.c"),
        extension("rankproof._native.permutation", "src/rankproof/_native/permutation.c"),
        extension("rankproof._native.word_vectors", "src/rankproof/_native/word_vectors.c"),
        extension("rankproof._native.wordpiece", "src/rankproof/_native/wordpiece.c"),
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if STABLE else {},
)
