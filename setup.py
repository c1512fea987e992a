"""Builds the native reader where a C compiler is at hand; without one the install goes on with the plain-Python reader."""

import os
import sysconfig
from glob import glob

from setuptools import Extension, setup

# A free-threaded Python has no stable ABI to build for.
STABLE = not sysconfig.get_config_var("Py_GIL_DISABLED")

setup(
    ext_modules=[
        Extension(
            "rankproof.align._native",
            sources=["src/rankproof/align/_native.c"],
            depends=sorted(glob("src/rankproof/align/csrc/*.h")),
            define_macros=[("Py_LIMITED_API", "0x030B0000")] if STABLE else [],
            extra_compile_args=["/O2", "/std:c11"] if os.name == "nt" else ["-std=c11", "-O3", "-g0"],
            py_limited_api=STABLE,
            optional=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if STABLE else {},
)
