"""The benchmark asks both about the same requests."""

from pathlib import Path

from rcp.analyzer.bench.export import measure
from rcp.fixtures.synth import Synth
from rcp.probes.contract.events import WaitReason


def test_both_are_measured_on_one_recording(tmp_path: Path) -> None:
    synth = Synth([("foreground", "comm:writer"), ("background", "comm:checkpointer")])
    fg, bg = synth.task("writer", tid=10, target=True), synth.task("checkpointer", tid=20)
    # One CPU: bg to 1000, fg to 1200, bg to 1400, fg to 2100, bg to 2900, fg.
    synth.first_seen(bg, 900)
    synth.sleep(bg, 1000, 1200)
    synth.first_seen(fg, 1000)
    synth.sleep(fg, 1200, 1400, waker=bg)
    synth.sleep(bg, 1400, 2100)
    synth.request(fg, 2000, 3000)
    synth.sleep(fg, 2100, 2900, waker=bg, owner=bg, reason=WaitReason.LOCK)
    synth.sleep(bg, 2900, 4000)
    result = measure(synth.write(tmp_path / "x.spool"), slowest=1)
    assert (result["rcp"]["n_requests"], result["n_slowest"]) == (1, 1)
    assert result["perfetto"]["culprit"] == "checkpointer"
    assert result["perfetto"]["mean_share_held_up_ours"] == 0.8
    assert result["perfetto"]["mean_share_of_culprits_thread"] == 0.8
    assert result["rcp"]["slowest_s"] > 0
    assert result["perfetto"]["slowest_s"] > 0
