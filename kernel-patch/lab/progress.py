"""Progress lines with elapsed seconds; on stderr, because stdout has the guest's output."""

import sys
import time
from typing import TextIO


class Progress:
    """Print each stage of a run with the elapsed wall-clock seconds."""

    def __init__(self, stream: TextIO | None = None, quiet: bool = False) -> None:
        """Write to *stream* (default: the current stderr) unless *quiet*."""
        self._stream = stream if stream is not None else sys.stderr
        self._quiet = quiet
        self._start = time.monotonic()

    def elapsed_s(self) -> float:
        """Return the seconds of wall time since the start."""
        return time.monotonic() - self._start

    def stage(self, text: str) -> None:
        """Print one line: elapsed seconds and *text*."""
        if not self._quiet:
            print(f"rcp-lab: [{self.elapsed_s():5.1f} s] {text}", file=self._stream, flush=True)
