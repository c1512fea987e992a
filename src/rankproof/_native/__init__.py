"""C sources (align/ permutation.c merge.c topk.c) and their .pyi."""
