"""The benchmark of a fleet makes hosts whose sums are known, and the report has them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rcp.analyzer.bench.fleet import (
    SHARES_MEASURED,
    errors,
    host_rows,
    is_exact,
    make_hosts,
    page,
    run_report,
)
from rcp.analyzer.bench.fleet import base as base_of


def test_a_host_has_requests_of_its_recording() -> None:
    one = base_of("wal-alone")
    rows, durs_ns = host_rows(one, 7)
    of_requests = rows["part"] == "request"
    assert rows["n"][of_requests].sum() == len(durs_ns) == 3999
    assert rows["dur_ns"][of_requests].sum() == durs_ns.sum()
    # waits cover a request, as its critical path does, up to rounding of each wait
    waits = rows["blocked_ns"][rows["part"] == "wait"].sum()
    assert abs(waits / durs_ns.sum() - 1) < 1e-4
    again, _ = host_rows(one, 7)
    assert all(np.array_equal(rows[name], again[name]) for name in rows)


def test_the_report_of_some_hosts_is_exact(tmp_path: Path) -> None:
    made = make_hosts(tmp_path, range(3))
    (tmp_path / "hosts.txt").write_text("db00000\ndb00001\ndb00002\n")
    run = run_report(tmp_path)
    assert is_exact(made, run.report)
    assert max(errors(made, run.report).values()) < 0.006
    assert set(errors(made, run.report)) == set(SHARES_MEASURED)
    assert "| counts and times equal to the hosts' sums | yes | yes |" in page(made, [run], 3)
    run.report["total"]["n"] += 1
    assert not is_exact(made, run.report)
