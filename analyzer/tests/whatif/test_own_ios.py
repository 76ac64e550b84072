"""Who gets to wait for an io of its own sooner waits longer for it."""

from collections.abc import Callable

import pytest

from rcp.analyzer.db.store import Store
from rcp.analyzer.tests.whatif.worlds import BACKUP, READER, ns, predicted, world
from rcp.fixtures.synth import Synth

Load = Callable[[Synth], Store]
US = 1000
WORKER, FLUSH, WRITE = 7, 2, 1


def kept_from_the_cpu(op: int, queued_us: int, *, by: int = READER) -> Synth:
    """The backup has the CPU from 100 to 500 µs; then the request waits for an io until 700.

    It ends at 710. The io has been under way since *queued_us*. One alone takes 600 µs.
    """
    synth, size = world(), 0 if op == FLUSH else 4096
    synth.task("kworker/0:1H", tid=WORKER, kthread=True)
    synth.sleep(WORKER, 1, 2)
    for ts in (1_000, 2_000, 3_000):
        synth.io(by, ts * US, (ts + 600) * US, op=op, size=size)
    start = 10_000 * US
    io = synth.io(by, start + queued_us * US, start + 700 * US, op=op, size=size)
    synth.request(READER, start, start + 710 * US)
    synth.preempt(READER, start + 100 * US, start + 500 * US, ran=BACKUP)
    synth.sleep(BACKUP, start - 50 * US, start + 100 * US, interrupt=True)
    synth.sleep(BACKUP, start + 500 * US, start + 900 * US, interrupt=True)
    synth.sleep(READER, start + 510 * US, start + 700 * US, io=io)
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
    after = predicted(load(kept_from_the_cpu(op, queued_us, by=by)), "backup").predicted_ns
    assert ns(after) == [expected_us * US]


def test_what_one_wait_takes_over_is_not_taken_over_again(load: Load) -> None:
    """Five writes were under way when the backup got the CPU; no request becomes slower."""
    synth, start = world(), 10_000 * US
    for ts in (1_000, 2_000, 3_000):
        synth.io(READER, ts * US, (ts + 600) * US)
    synth.request(READER, start, start + 800 * US)
    synth.preempt(READER, start + 100 * US, start + 500 * US, ran=BACKUP)
    synth.sleep(BACKUP, start - 50 * US, start + 100 * US, interrupt=True)
    synth.sleep(BACKUP, start + 500 * US, start + 900 * US, interrupt=True)
    for number in range(5):
        end = start + (700 + 10 * number) * US
        io = synth.io(READER, start + (90 + number) * US, end)
        synth.sleep(READER, end - (190 if not number else 9) * US, end, io=io)
    (after,) = ns(predicted(load(synth), "backup").predicted_ns)
    assert 700 * US <= after <= 800 * US
