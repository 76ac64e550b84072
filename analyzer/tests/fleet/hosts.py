"""Small recordings with a host and a time of day."""

from __future__ import annotations

from collections.abc import Sequence

from rcp.fixtures.synth import Synth
from rcp.probes.contract.events import WaitReason

DAY_NS = 86_400 * 10**9
NOON_NS = 1_767_225_600 * 10**9 + DAY_NS // 2
"""2026-01-01 12:00 UTC."""


def recorded(
    host: str = "db1",
    day: int = 0,
    *,
    durs_ns: Sequence[int] = (1000, 2000, 4000),
    culprit: str = "checkpointer",
    kernel: str = "6.12.0",
    lost: int = 0,
) -> Synth:
    """Return a recording: each request waits half its time for a commit that *culprit* delays."""
    synth = Synth(
        [("foreground", "comm:writer"), ("background", f"comm:{culprit}")],
        host={"name": host, "kernel": kernel, "machine": "x86_64", "n_cpus": 2},
        clock={"virtual": False, "started_realtime_ns": NOON_NS + day * DAY_NS},
        rcp_version="0.1.0",
    )
    fg = synth.task("writer", tid=10, target=True)
    jbd2 = synth.task("jbd2/nvme0n1-8", tid=5, kthread=True)
    bg = synth.task(culprit, tid=20)
    synth.sleep(bg, 1, 2)
    ts = 10_000
    for dur_ns in durs_ns:
        synth.request(fg, ts, ts + dur_ns)
        half = ts + dur_ns // 2
        synth.sleep(fg, ts + 10, half, waker=jbd2, reason=WaitReason.JOURNAL_COMMIT)
        sectors = synth.io(bg, ts + 30, half - 20, issued=ts + 40)
        synth.sleep(jbd2, ts + 20, half - 10, io=sectors, stack=["folio_wait_writeback"])
        ts += dur_ns + 1_000_000
    if lost:
        synth.lose("sleep", lost=lost)
    return synth
