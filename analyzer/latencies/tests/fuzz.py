"""Damages files of latencies at random and reads them: a step of ``make fuzz``.

Each case damages the sample of one format (``damaged.py`` says what must hold then). A failed case
prints its number; ``--case`` repeats it alone.
"""

from __future__ import annotations

import multiprocessing
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import click

from rcp.analyzer.latencies.tests.damaged import (
    CUT,
    FLIPPED,
    JOINED,
    DamageError,
    Reader,
    cut,
    flipped,
    joined,
)
from rcp.analyzer.latencies.tests.samples import SAMPLES

_WAYS = {CUT: cut, JOINED: joined, FLIPPED: flipped}
_SHARE = 200
_FAILED = "failed"


class Outcome(NamedTuple):
    """What one case came to."""

    kind: str
    what: str
    fault: str = ""


def try_case(reader: Reader, seed: str, number: int) -> Outcome:
    """Damage one sample and read it; the same seed and number give the same case."""
    rng = Random(f"{seed}:{number}")
    name = list(SAMPLES)[number % len(SAMPLES)]
    kind = rng.choice(list(_WAYS))
    try:
        return Outcome(kind, reader.check(SAMPLES[name], kind, _WAYS[kind](SAMPLES[name], rng)))
    except Exception as error:  # whatever it is, the case has failed
        told = error if isinstance(error, DamageError) else repr(error)
        return Outcome(kind, _FAILED, f"case {number}: {name}, {kind}: {told}")


def _try_share(share: tuple[str, Sequence[int]]) -> list[Outcome]:
    seed, numbers = share
    with tempfile.TemporaryDirectory(prefix="rcp-fuzz-") as folder:
        reader = Reader(Path(folder))
        return [try_case(reader, seed, number) for number in numbers]


def outcomes(seed: str, cases: int, processes: int) -> Iterator[list[Outcome]]:
    """Yield the outcomes of cases, some at a time."""
    shares = [(seed, range(at, min(at + _SHARE, cases))) for at in range(0, cases, _SHARE)]
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        yield from pool.imap_unordered(_try_share, shares)


@click.command()
@click.option("--cases", type=click.IntRange(1), default=20_000, show_default=True)
@click.option("--seed", default="1", show_default=True, help="Another seed damages otherwise.")
@click.option("--processes", type=click.IntRange(1), default=2, show_default=True)
@click.option("--case", "only", type=click.IntRange(0), help="Repeat this case alone.")
def main(cases: int, seed: str, processes: int, only: int | None) -> None:
    """Damage files of latencies at random and read them; exit with 1 if a case fails."""
    began_s = time.monotonic()
    found: list[Outcome] = []
    shares = iter([_try_share((seed, [only]))]) if only is not None else None
    for share in shares or outcomes(seed, cases, processes):
        found += share
        for one in share:
            if one.fault:
                click.echo(one.fault, err=True)
    counts = Counter((one.kind, one.what) for one in found)
    for (kind, what), n in sorted(counts.items()):
        click.echo(f"{kind}: {n} {what}")
    failed = sum(one.what == _FAILED for one in found)
    click.echo(
        f"{len(found)} damaged files of latencies, {failed} of them read wrongly, "
        f"in {time.monotonic() - began_s:.0f} s"
    )
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
