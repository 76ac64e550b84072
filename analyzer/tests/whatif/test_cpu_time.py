"""Waits for a CPU shrink by the time that the culprit had it."""

from collections.abc import Callable

import pytest

from rcp.analyzer.db.store import Store
from rcp.analyzer.tests.whatif.worlds import BACKUP, READER, ns, predicted, world
from rcp.fixtures.synth import READ, Synth

Load = Callable[[Synth], Store]
US = 1000


@pytest.mark.parametrize(("wait_us", "expected_us"), [(20, 1000), (40, 1000), (200, 1000)])
def test_a_culprits_own_turn_is_in_the_way_however_short(
    load: Load, wait_us: int, expected_us: int
) -> None:
    synth = world()
    begin = 1_500 * US
    synth.request(READER, 1_000 * US, (2_000 + wait_us) * US, nr=READ)
    synth.preempt(READER, begin, begin + wait_us * US, ran=BACKUP)
    synth.sleep(BACKUP, 900 * US, begin, interrupt=True)
    synth.sleep(BACKUP, begin + wait_us * US, 4_000 * US, interrupt=True)
    assert ns(predicted(load(synth), "backup").predicted_ns) == [expected_us * US]


@pytest.mark.parametrize(("wait_us", "expected_us"), [(40, 1040), (200, 1000)])
def test_in_a_short_turn_a_kernel_thread_hands_something_over(
    load: Load, wait_us: int, expected_us: int
) -> None:
    synth = world()
    flusher = synth.task("kworker/u4:1", tid=7, kthread=True)
    synth.io(BACKUP, 800 * US, 900 * US, size=1 << 20)
    begin = 1_500 * US
    synth.request(READER, 1_000 * US, (2_000 + wait_us) * US, nr=READ)
    synth.preempt(READER, begin, begin + wait_us * US, ran=flusher)
    synth.sleep(flusher, 900 * US, begin, interrupt=True)
    synth.sleep(flusher, begin + wait_us * US, 4_000 * US, interrupt=True)
    assert ns(predicted(load(synth), "backup").predicted_ns) == [expected_us * US]
