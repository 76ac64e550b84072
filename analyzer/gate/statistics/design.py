"""How runs were made, and so which runs may be swapped between the sides without a change.

Runs that were made in turn (A B B A A B B A …) are compared within blocks of two pairs, that is,
four runs in a row: what drifts more slowly than four runs cancels. Other runs are one block.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

PAIRS_IN_BLOCK = 2
"""Pairs alone would need more runs: 8 pairs have 256 arrangements and 7 degrees of freedom, blocks
of two pairs 1,296 and 11."""

SPLITS_MAX = 20_000
"""Up to so many arrangements, all are tried; with more (10 runs a side, not in turn, have 184,756),
a sample."""

_SAMPLED = 20_000
_KEPT_RUNS = 128
_SEED = 20261121  # a verdict must not change when it is computed again


class Design(NamedTuple):
    """Numbers of runs, and whether run n of each side was made next to run n of the other."""

    n_a: int
    n_b: int
    in_turn: bool = False

    @property
    def blocks(self) -> list[tuple[int, int]]:
        """Return the runs of a and of b in each block."""
        if not self.in_turn:
            return [(self.n_a, self.n_b)]
        whole, rest = divmod(self.n_a, PAIRS_IN_BLOCK)
        return [(PAIRS_IN_BLOCK, PAIRS_IN_BLOCK)] * whole + [(rest, rest)] * (rest > 0)

    @property
    def arrangements(self) -> int:
        """Return in how many ways the runs can be assigned to the sides."""
        return math.prod(math.comb(a + b, b) for a, b in self.blocks)

    @property
    def p_least(self) -> float:
        """Return the smallest p that the permutation test can give."""
        n = self.arrangements
        return 1 / n if n <= SPLITS_MAX else 1 / (_SAMPLED + 1)

    @property
    def freedom(self) -> int:
        """Return the degrees of freedom of the runs' spread within blocks and sides."""
        return self.n_a + self.n_b - len(self.blocks) - 1

    def members(self) -> Iterator[list[int]]:
        """Yield the places of each block's runs; the runs of a come before all those of b."""
        at_a, at_b = 0, self.n_a
        for a, b in self.blocks:
            yield [*range(at_a, at_a + a), *range(at_b, at_b + b)]
            at_a, at_b = at_a + a, at_b + b


def _all(design: Design) -> Iterator[tuple[int, ...]]:
    choices = [
        itertools.combinations(places, b)
        for places, (_, b) in zip(design.members(), design.blocks, strict=True)
    ]
    for chosen in itertools.product(*choices):
        yield tuple(itertools.chain.from_iterable(chosen))


def _sample(design: Design) -> npt.NDArray[np.int64]:
    generator = np.random.default_rng(_SEED)
    parts = []
    for places, (_, b) in zip(design.members(), design.blocks, strict=True):
        order = np.argsort(generator.random((_SAMPLED, len(places))), axis=1)[:, :b]
        parts.append(np.array(places)[order])
    return np.hstack(parts)


def splits(design: Design) -> Floats:
    """Return arrangements, a row each: 1 for the runs of b, 0 for those of a.

    All, or a sample if there are more than SPLITS_MAX. The first row is how the runs were made.
    """
    # Those of a thousand runs a side take 300 MB: not to be kept.
    few = design.n_a + design.n_b <= _KEPT_RUNS
    return _kept(design) if few else _made(design)


@lru_cache(maxsize=8)
def _kept(design: Design) -> Floats:
    return _made(design)


def _made(design: Design) -> Floats:
    real = np.arange(design.n_a, design.n_a + design.n_b)
    if design.arrangements <= SPLITS_MAX:
        every = np.array(list(_all(design)))
        others = every[(np.sort(every, axis=1) != real).any(axis=1)]
    else:
        others = _sample(design)
    chosen = np.vstack([real, others])
    found = np.zeros((len(chosen), design.n_a + design.n_b))
    np.put_along_axis(found, chosen, 1.0, axis=1)
    return found


def centred(values: Floats, design: Design) -> Floats:
    """Return *values* (last axis: the runs of a, then of b) less the mean of their block."""
    found = np.array(values, np.float64)
    for places in design.members():
        found[..., places] -= found[..., places].mean(axis=-1, keepdims=True)
    return found
