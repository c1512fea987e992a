"""C sources (align/ permutation.c merge.c topk.c wordpiece.c) and their .pyi."""
