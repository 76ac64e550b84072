"""Speedscope: a flame graph of blocked time per kind of request, time lines of slow requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, Any

from rcp.analyzer.db.store import Store
from rcp.analyzer.export.stacks import Stack, blocked, timeline
from rcp.analyzer.selection import Selection
from rcp.analyzer.text import duration
from rcp.probes.contract.printing.json_text import as_json

SCHEMA = "https://www.speedscope.app/file-format-schema.json"

TIMELINES = 10
"""Requests with a profile of their own; each adds an entry to a menu."""


class _Frames:
    """The file's table of frames: each name once; profiles refer to its position."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {}

    def profile(self, name: str, stacks: Sequence[Stack]) -> dict[str, Any]:
        """Return stacks, in their order, as a profile."""
        return {
            "type": "sampled",
            "name": name,
            "unit": "nanoseconds",
            "startValue": 0,
            "endValue": sum(stack.dur_ns for stack in stacks),
            "samples": [
                [self.places.setdefault(frame, len(self.places)) for frame in stack.frames]
                for stack in stacks
            ],
            "weights": [stack.dur_ns for stack in stacks],
        }


def document(store: Store, selection: Selection) -> dict[str, Any]:
    """Return the file's content."""
    frames = _Frames()
    stacks = blocked(store, selection.request_ids)
    profiles = [
        frames.profile(f"{name}: blocked", [stack for stack in stacks if stack.request == name])
        for name in sorted({stack.request for stack in stacks})
    ]
    for request_id in selection.request_ids[:TIMELINES]:
        line = timeline(store, request_id)
        took = duration(sum(stack.dur_ns for stack in line))
        if line:
            name = f"{line[0].request} {request_id}: {took}"
            profiles.append(frames.profile(name, line))
    return {
        "$schema": SCHEMA,
        "exporter": "rcp",
        "name": "time on critical paths",
        "activeProfileIndex": 0,
        "shared": {"frames": [{"name": name} for name in frames.places]},
        "profiles": profiles,
    }


def write_speedscope(store: Store, selection: Selection, out: IO[bytes]) -> None:
    """Write the selected requests to a binary file."""
    out.write(as_json(document(store, selection), indent=None).encode())
