"""Who gets to wait for an io of its own sooner waits longer for it."""

from collections.abc import Callable

import pytest

from rcp.analyzer.db.store import Store
from rcp.analyzer.tests.whatif.worlds import BACKUP, READER, ns, predicted, world
from rcp.fixtures.synth import Synth

Load = Callable[[Synth], Store]
US = 1000
START = 10_000 * US
WORKER, FLUSH, WRITE = 7, 2, 1


def kept_from_the_cpu(op: int = WRITE, *, by: int = READER, end_us: int = 710) -> Synth:
    """The backup has the CPU from 100 to 500 µs of the request. An io alone takes 600 µs."""
    synth, size = world(), 0 if op == FLUSH else 4096
    synth.task("kworker/0:1H", tid=WORKER, kthread=True)
    synth.sleep(WORKER, 1, 2)
    for ts in (1_000, 2_000, 3_000):
        synth.io(by, ts * US, (ts + 600) * US, op=op, size=size)
    synth.request(READER, START, START + end_us * US)
    synth.preempt(READER, START + 100 * US, START + 500 * US, ran=BACKUP)
    synth.sleep(BACKUP, START - 50 * US, START + 100 * US, interrupt=True)
    synth.sleep(BACKUP, START + 500 * US, START + 900 * US, interrupt=True)
    return synth


@pytest.mark.parametrize(
    ("op", "queued_us", "by", "expected_us"),
    [
        (WRITE, 100, READER, 710),  # it would take until 700 anyway
        (FLUSH, 100, WORKER, 710),
        (WRITE, 400, READER, 410),  # from 100 to 400, as nothing delays it before
        (WRITE, 505, READER, 310),
        (WRITE, 100, WORKER, 310),  # a worker may have queued it only because of the wait
    ],
)
def test_what_the_wait_for_an_io_takes_over(
    load: Load, op: int, queued_us: int, by: int, expected_us: int
) -> None:
    """It has been under way since *queued_us*; the request waits for it from 510 to 700."""
    synth, done = kept_from_the_cpu(op, by=by), START + 700 * US
    io = synth.io(by, START + queued_us * US, done, op=op, size=0 if op == FLUSH else 4096)
    synth.sleep(READER, START + 510 * US, done, io=io)
    assert ns(predicted(load(synth), "backup").predicted_ns) == [expected_us * US]


def test_what_one_wait_takes_over_is_not_taken_over_again(load: Load) -> None:
    """Five writes were under way when the backup got the CPU; no request becomes slower."""
    synth = kept_from_the_cpu(end_us=800)
    for number in range(5):
        end = START + (700 + 10 * number) * US
        io = synth.io(READER, START + (90 + number) * US, end)
        synth.sleep(READER, end - (190 if not number else 9) * US, end, io=io)
    (after,) = ns(predicted(load(synth), "backup").predicted_ns)
    assert 700 * US <= after <= 800 * US
