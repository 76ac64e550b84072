"""Direct I/O in several parts: the request ends with the last of them."""

from __future__ import annotations

import pytest

from rcp.analyzer.tests.blame.found import found
from rcp.analyzer.tests.blame.test_slack import US, Fsync
from rcp.fixtures.synth import DEVICE


@pytest.mark.parametrize(
    ("first_got", "first_end", "blamed"),
    [(105, 160, 40), (105, 190, 10), (105, 300, 0), (150, 195, 40)],
)
def test_another_part_of_direct_io_would_have_been_waited_for_anyway(
    first_got: int, first_end: int, blamed: int
) -> None:
    """The second part waits for a tag from 110 to 150 µs, then takes 50 µs.

    If the first one waits for a tag too, it would have ended sooner as well.
    """
    fsync = Fsync(310)
    synth = fsync.synth
    end = max(first_end, 200)
    beside = {"size": 8192, "dev": DEVICE + 16}
    synth.io(fsync.fg, 105 * US, first_end * US, got=first_got * US, **beside)
    synth.io(fsync.fg, 3000 * US, (3000 + first_end - first_got) * US, **beside)
    for _ in range(2):
        synth.io(fsync.bg, 50 * US, 150 * US, size=1 << 20)
    second = synth.io(fsync.fg, 108 * US, 200 * US, got=150 * US, size=4096)
    synth.io(fsync.fg, 4000 * US, 4050 * US, size=4096)
    if end == 200:
        synth.sleep(
            fsync.fg, 110 * US, end * US, io=second, stack=["io_schedule", "__iomap_dio_rw"]
        )
    else:
        synth.sleep(fsync.fg, 110 * US, end * US, io=1, stack=["io_schedule", "__iomap_dio_rw"])
    assert sum(row.dur for row in found(synth)) / US == blamed
