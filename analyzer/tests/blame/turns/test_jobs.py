"""The jobs of a server within a time, against a look at each."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rcp.analyzer.blame.turns.jobs import Jobs

SERVER, TIME = st.integers(0, 2), st.integers(0, 20)
STEPS = st.lists(st.tuples(st.integers(0, 4), st.integers(1, 5)), max_size=6)


@given(st.dictionaries(SERVER, STEPS), st.lists(st.tuples(SERVER, TIME, st.integers(1, 9))))
def test_all_jobs_that_a_server_has_within_a_time_are_found_once(
    steps: dict[int, list[tuple[int, int]]], asked: list[tuple[int, int, int]]
) -> None:
    """A server's jobs are one after another, with pauses."""
    jobs: list[tuple[int, int, int]] = []
    for number in sorted(steps):
        last_end = 0
        for pause, length in steps[number]:
            jobs.append((number, last_end + pause, last_end + pause + length))
            last_end += pause + length
    server, begin, end = np.array(jobs, np.int64).reshape(-1, 3).T
    of, lo, duration = np.array(asked, np.int64).reshape(-1, 3).T
    found = Jobs(server, server.astype(np.int32), begin, end).within(of, lo, lo + duration)
    assert sorted(zip(*(column.tolist() for column in found), strict=True)) == [
        (row, job)
        for row, (of_row, since, size) in enumerate(asked)
        for job, (of_job, first, last) in enumerate(jobs)
        if of_row == of_job and last > since and first < since + size
    ]
