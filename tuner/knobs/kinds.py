"""Kinds of inversions (rcp.analyzer.blame.candidates) that groups of knobs act on."""

from __future__ import annotations

DEVICE_WAITS = ("queue", "device")
FLUSHED_DEVICE_WAITS = (*DEVICE_WAITS, "flush")
ADMISSION_WAITS = ("admission_slot", "admission_tag")
DIRTY_WAITS = ("dirty_throttle", "io_dependency", "condition")
WRITEBACK_WAITS = (*DIRTY_WAITS, *DEVICE_WAITS)
ALL_WAITS = (*FLUSHED_DEVICE_WAITS, *ADMISSION_WAITS, *DIRTY_WAITS)
