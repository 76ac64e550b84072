"""PostgreSQL's transactions on a real kernel, against pgbench's own log of them."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

# Heavy: the points themselves are tested by test_lab_points.py, on programs of its own.
pytestmark = [pytest.mark.lab, pytest.mark.heavy]

Row = dict[str, Any]
N_CLIENTS, N_TRANSACTIONS = 2, 25  # as in guest_postgres.py


@pytest.fixture(scope="module")
def seen(lab: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What guest_postgres.py saw, in one boot and one recording."""
    out = tmp_path_factory.mktemp("postgres")
    script = Path(__file__).parent / "guest_postgres.py"
    subprocess.run(
        [
            *(sys.executable, "-m", "rcp.lab", "run", "--timing", "--out", str(out)),
            *("--timeout", "3600", "--input", str(script)),
            *("--", "python3 $RCP_LAB_IN/inputs/guest_postgres.py"),
        ],
        check=True,
    )
    result: dict[str, Any] = json.loads((out / "postgres.json").read_text())
    assert sum(map(sum, result["lost"].values())) == 0
    return result


def named(seen: dict[str, Any], name: str) -> dict[int, list[Row]]:
    """The requests of one kind by backend, in order."""
    rows = sorted((r for r in seen["requests"] if r["name"] == name), key=lambda r: int(r["ts"]))
    assert all(row["end_ns"] for row in rows)
    return {tid: [row for row in rows if row["tid"] == tid] for tid in {r["tid"] for r in rows}}


def encloses(outer: Row, inner: Row) -> bool:
    return bool(outer["ts"] <= inner["ts"] and inner["end_ns"] <= outer["end_ns"])


def pairs(seen: dict[str, Any], client: int) -> list[tuple[Row, Row]]:
    """Each transaction of one of pgbench's clients, with its backend's request."""
    log = []
    for row in seen["log"]:
        end_ns = row["end_ns"] + seen["monotonic_minus_real_ns"]
        if row["client"] == client:  # its log has whole microseconds
            log.append({**row, "ts": end_ns - row["dur_ns"] - 1000, "end_ns": end_ns + 1000})
    found = [
        list(zip(log, rows[1:], strict=True))  # a backend's first is the server's own, at its start
        for rows in named(seen, "transaction").values()
        if len(rows) == N_TRANSACTIONS + 1
    ]
    (mine,) = [each for each in found if all(encloses(outer, inner) for outer, inner in each)]
    return mine


def test_each_transaction_pgbench_counted_is_one_request(seen: dict[str, Any]) -> None:
    backends = set()
    for client in range(N_CLIENTS):
        found = pairs(seen, client)
        assert len(found) == N_TRANSACTIONS
        backends.add(found[0][1]["tid"])
    assert len(backends) == N_CLIENTS


def test_transactions_last_as_long_as_pgbench_measured(seen: dict[str, Any]) -> None:
    for client in range(N_CLIENTS):
        found = pairs(seen, client)[1:]  # a session's first finds every cache empty
        theirs_ns = sum(row["dur_ns"] for row, _ in found) / len(found)
        ours_ns = sum(request["end_ns"] - request["ts"] for _, request in found) / len(found)
        # the rest is the way there and back, and reading BEGIN
        assert 0.98 * theirs_ns < ours_ns < theirs_ns


def test_each_transaction_holds_the_sync_of_its_log(seen: dict[str, Any]) -> None:
    syncs = named(seen, "fdatasync")
    for client in range(N_CLIENTS):
        for _, request in pairs(seen, client):
            assert len([s for s in syncs[request["tid"]] if encloses(request, s)]) == 1


def test_functions_cut_where_the_tracepoints_do(seen: dict[str, Any]) -> None:
    by_functions, by_tracepoints = named(seen, "functions"), named(seen, "transaction")
    assert by_functions.keys() == by_tracepoints.keys()
    for tid, rows in by_tracepoints.items():
        for outer, inner in zip(by_functions[tid], rows, strict=True):
            assert outer["ts"] < inner["ts"] < inner["end_ns"] < outer["end_ns"]
            # a backend's first passage reads the code's page and the kernel sets its traps
            assert inner["ts"] - outer["ts"] < 100_000
            assert outer["end_ns"] - inner["end_ns"] < 100_000


def test_an_abort_is_distinguished_from_a_commit(seen: dict[str, Any]) -> None:
    how = [r["ret"] for rows in named(seen, "transaction").values() for r in rows]
    assert (how.count(1), set(how)) == (1, {0, 1})
