"""A request beside background work, for inversions worked out by hand; times are in µs."""

from __future__ import annotations

from rcp.fixtures.synth import Synth

US = 1000

BACKGROUND = [
    ("background", "comm:backup*"),
    ("foreground", "comm:client"),
    ("foreground", "comm:writer"),
]


class Stage:
    """A client's fsync from 100 to 200 µs, beside a backup, jbd2 and a flusher."""

    def __init__(self) -> None:
        self.synth = Synth(BACKGROUND)
        self.fg = self.synth.task("writer", target=True)
        self.client = self.synth.task("client")
        self.bg = self.synth.task("backup")
        self.jbd2 = self.synth.task("jbd2/sda-8", kthread=True)
        self.flusher = self.synth.task("kworker/u8:1", kthread=True)
        self.synth.request(self.fg, 100 * US, 200 * US)
        for helper in (self.jbd2, self.flusher, self.bg, self.client):
            self.synth.preempt(helper, 1, 2)  # they are watched
