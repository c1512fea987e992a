"""Builds the C extensions if a C compiler is found; without one rankproof is installed and runs in Python and numpy."""

import os
import sysconfig
from glob import glob

from setuptools import Extension, setup

# Products and sums are rounded one by one; comparisons of numbers may become vector instructions, which changes no value.
FLOATS = ["-ffp-contract=off", "-fno-trapping-math"]
# Where a compiler would keep sums and products in a wider type, these flags prevent it; `exact_floats.h` checks.
WIDE_FLOATS = {"i386": ["-msse2", "-mfpmath=sse"], "i686": ["-msse2", "-mfpmath=sse"], "s390x": ["-fexcess-precision=fast"]}
PROCESSOR = str(sysconfig.get_config_var("HOST_GNU_TYPE")).partition("-")[0]
# A free-threaded Python has no stable ABI to build for.
STABLE = not sysconfig.get_config_var("Py_GIL_DISABLED")


def extension(name: str) -> Extension:
    """One extension of `rankproof._native`, which an install can do without; NAME_src has its headers."""
    source = f"src/rankproof/_native/{name}"
    return Extension(
        f"rankproof._native.{name}",
        sources=[f"{source}.c"],
        depends=sorted([*glob(f"{source}_src/*.h"), *glob("src/rankproof/_native/*.h")]),
        define_macros=[("Py_LIMITED_API", "0x030B0000")] if STABLE else [],
        extra_compile_args=["/O2", "/std:c11"]
        if os.name == "nt"
        else ["-std=c11", "-O3", "-g0", *FLOATS, *WIDE_FLOATS.get(PROCESSOR, [])],
        py_limited_api=STABLE,
        optional=True,
    )


setup(
    ext_modules=[
        extension(name)
        for name in ("align", "bert", "bm25", "documents", "merge", "permutation", "topk", "word_vectors", "wordpiece")
    ],
    options={"build_ext": {"parallel": os.cpu_count()}} | ({"bdist_wheel": {"py_limited_api": "cp311"}} if STABLE else {}),
)
