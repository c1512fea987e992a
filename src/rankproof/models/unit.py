"""Vectors of length 1."""

from __future__ import annotations

import numpy as np

from ..data.arrays import Matrix


def unit(vectors: Matrix) -> Matrix:
    """The vectors along the last axis, each divided by its length; one of length 0 stays as it is."""
    lengths: Matrix = np.sqrt(np.square(vectors).sum(axis=-1, keepdims=True))
    lengths[lengths == 0] = 1
    return vectors / lengths
