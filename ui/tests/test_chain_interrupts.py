"""An interrupt is drawn on the lane of the task whose CPU it took, not on that of its io."""

from typing import TYPE_CHECKING

from rcp.fixtures.synth import Synth
from rcp.ui.info.chain import chain

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Load

US = 1000


def test_an_interrupt_is_on_the_lane_of_its_task(load: "Load") -> None:
    synth = Synth([("background", "comm:nobody")])
    client, backup = synth.task("client", tid=10, target=True), synth.task("backup", tid=11)
    io = synth.io(backup, 1 * US, 30 * US)
    synth.interrupt(io, 30 * US, 80 * US, client)
    synth.sleep(client, 200 * US, 300 * US)
    synth.request(client, 0, 100 * US)
    found = chain(load(synth), 1)
    assert found is not None
    assert [lane.name for lane in found.lanes] == ["client 10"]
