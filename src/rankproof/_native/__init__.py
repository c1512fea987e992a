"""C extensions: `NAME.c` with its headers in `NAME_src/`, and its types in `NAME.pyi`."""
