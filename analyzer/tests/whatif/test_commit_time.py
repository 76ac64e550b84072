"""A commit without a culprit's blocks needs less time on a CPU."""

from collections.abc import Callable

import pytest

from rcp.analyzer.db.store import Store
from rcp.analyzer.tests.whatif.worlds import BACKUP, JBD2, READER, ns, predicted, world
from rcp.fixtures.synth import Synth
from rcp.probes.contract.events import WaitReason

Load = Callable[[Synth], Store]


@pytest.mark.parametrize(
    ("of_backup", "expected_ns"), [(6, 1090 - 274), (0, 1090), (3, 1090 - 137)]
)
def test_the_journal_thread_copies_fewer_blocks(
    load: Load, of_backup: int, expected_ns: int
) -> None:
    """It runs for 800 ns before it writes 12 blocks, and has work of its own as for 5.5."""
    synth = world()
    synth.handle(READER, 9_000, 9_100, blocks=12 - of_backup)
    if of_backup:
        synth.handle(BACKUP, 9_000, 9_100, blocks=of_backup)
    synth.commit(JBD2, 10_000, 11_000, n_blocks=12)
    log = synth.io(JBD2, 10_800, 10_990, size=12 * 4096)
    synth.sleep(JBD2, 10_800, 10_990, io=log)
    synth.request(READER, 10_000, 11_090)
    synth.sleep(READER, 10_000, 11_040, waker=JBD2, reason=WaitReason.JOURNAL_COMMIT)
    assert ns(predicted(load(synth), "backup").predicted_ns) == [pytest.approx(expected_ns, abs=2)]
