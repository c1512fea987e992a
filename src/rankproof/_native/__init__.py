"""C sources (align/ documents.c permutation.c merge.c topk.c wordpiece.c) and their .pyi."""
