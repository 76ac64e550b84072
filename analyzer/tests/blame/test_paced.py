"""Waits for a rate limit are blamed by how much sooner the waiter's turn would have come."""

from __future__ import annotations

import numpy as np
import pytest

from rcp.analyzer.blame.paced import part_of_wait

MS = 1_000_000


@pytest.mark.parametrize(
    ("share", "wait_ms", "since_ms", "blamed_ms"),
    [
        (0.5, 30, 60, 30),  # alone it would not reach the limit
        (0.25, 40, 60, 15),  # three of four turns are its own, and it thinks for 20 ms
        (0.25, 40, 40, 10),  # it does not think: its own turns are three quarters of the wait
        (0.25, 40, 5, 10),  # queued with others, of which one was let in just before
        (0.1, 40, 19_000, 14),  # idle for long: what counts is the slice before the wait
        (0.5, 40, -1, 40),  # its first wait: who has most has all
        (0.4, 40, -1, 16),
    ],
)
def test_it_is_the_share_of_the_time_since_the_turn_before(
    share: float, wait_ms: int, since_ms: int, blamed_ms: int
) -> None:
    since = since_ms if since_ms < 0 else since_ms * MS
    part = part_of_wait(np.array([share]), np.array([wait_ms * MS]), np.array([since]), 100 * MS)
    assert (part * wait_ms).round(6).tolist() == [blamed_ms]
