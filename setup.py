"""Builds the native reader where a C compiler is at hand; without one the install goes on with the plain-Python reader."""

import os
from glob import glob

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "rankproof.align._native",
            sources=["src/rankproof/align/_native.c"],
            depends=sorted(glob("src/rankproof/align/csrc/*.h")),
            define_macros=[("Py_LIMITED_API", "0x030B0000")],
            extra_compile_args=["/O2", "/std:c11"] if os.name == "nt" else ["-std=c11", "-O3", "-g0"],
            py_limited_api=True,
            optional=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
