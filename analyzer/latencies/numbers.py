"""Many numbers from text, by numpy's parser: a loop over lines takes seconds a million."""

from __future__ import annotations

import warnings
from typing import TypeVar

import numpy as np
import numpy.typing as npt

Number = TypeVar("Number", np.int64, np.float64)


def numbers_of(text: bytes, kind: type[Number]) -> npt.NDArray[Number] | None:
    """Return the numbers of *text*, which blanks part; None when there is anything else in it."""
    if not text.strip():
        return np.empty(0, kind)
    with warnings.catch_warnings():
        # Before numpy 2.3 what is no number ended the result with no more than a warning.
        warnings.simplefilter("error")
        try:
            return np.fromstring(text.decode("ascii"), dtype=kind, sep=" ")
        except (ValueError, DeprecationWarning):  # UnicodeDecodeError is a ValueError
            return None
