"""Builds the native reader where a C compiler is at hand; without one the install goes on with the plain-Python reader."""

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "rankproof.align._native",
            sources=["src/rankproof/align/_native.c"],
            depends=[],
            define_macros=[("Py_LIMITED_API", "0x030B0000")],
            extra_compile_args=["-O3"],
            py_limited_api=True,
            optional=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
