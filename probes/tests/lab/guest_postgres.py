"""Runs in the lab's guest, as root: PostgreSQL's transactions recorded while pgbench counts them.

Writes postgres.json, with pgbench's own log of each transaction, and the spool.
test_lab_postgres.py judges it.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from rcp.probes.contract.events import REQUEST
from rcp.probes.contract.spool import open_spool

WORK = Path("/tmp/postgres")
OUT = Path(os.environ["RCP_LAB_OUT"])
BIN = "/usr/lib/postgresql/17/bin"
N_CLIENTS, N_TRANSACTIONS = 2, 25
AS_POSTGRES = ("setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "env", "-C/tmp")
# A timer answers each io after 0.5 ms.
DISK = """
modprobe null_blk nr_devices=0
mkdir /sys/kernel/config/nullb/nullb0 /mnt/pg
cd /sys/kernel/config/nullb/nullb0
echo 1 >memory_backed; echo 512 >size; echo 4096 >blocksize
echo 2 >irqmode; echo 500000 >completion_nsec; echo 1 >power
mke2fs -q -t ext4 /dev/nullb0
mount /dev/nullb0 /mnt/pg
chown postgres /mnt/pg
"""
SCHEMA = "CREATE TABLE t AS SELECT id, 0 AS n FROM generate_series(1, 10) AS id"
SCRIPT = """BEGIN;
UPDATE t SET n = n + 1 WHERE id = :client_id + 1;
\\sleep 5 ms
END;
"""
LOAD = f"""
{BIN}/pgbench -n -h /tmp/postgres -c {N_CLIENTS} -t {N_TRANSACTIONS} -f /tmp/postgres/script.sql \
  -l --log-prefix=/tmp/postgres/log postgres
psql -q -h /tmp/postgres -c BEGIN -c 'UPDATE t SET n = 0' -c ROLLBACK postgres
"""


def start() -> int:
    """Make a cluster on a slow disk and start it; return the server's pid."""
    subprocess.run(["sh", "-ec", DISK], check=True)
    make = [f"{BIN}/initdb", "--no-sync", "--no-instructions", "-Atrust", "--locale=C", "/mnt/pg/d"]
    subprocess.run([*AS_POSTGRES, *make], check=True, stdout=subprocess.DEVNULL)
    options = (
        "-c autovacuum=off -c listen_addresses= -c unix_socket_directories=/tmp/postgres "
        "-c max_logical_replication_workers=0 -c shared_buffers=16MB"
    )
    control = [f"{BIN}/pg_ctl", "-s", "-w", "-D", "/mnt/pg/d", "-l", "/tmp/postgres/server.log"]
    subprocess.run([*AS_POSTGRES, *control, "-o", options, "start"], check=True)
    return int(Path("/mnt/pg/d/postmaster.pid").read_text().split()[0])


def logged() -> list[dict[str, int]]:
    """Each transaction as pgbench measured it, in nanoseconds of the wall clock."""
    rows = []
    for log in sorted(WORK.glob("log.*")):
        for line in log.read_text().splitlines():
            client, _, took_us, _, epoch_s, epoch_us = map(int, line.split()[:6])
            end_ns = (epoch_s * 1_000_000 + epoch_us) * 1000
            rows.append({"client": client, "end_ns": end_ns, "dur_ns": took_us * 1000})
    return rows


def record() -> dict[str, Any]:
    """Record pgbench's transactions by tracepoints and by functions at once."""
    server = start()
    client = [*AS_POSTGRES, "psql", "-q", "-h", "/tmp/postgres", "postgres"]
    subprocess.run([*client, "-c", SCHEMA, "-c", "CHECKPOINT"], check=True)
    (WORK / "script.sql").write_text(SCRIPT)
    by_functions = "functions=uprobe:postgres:VirtualXactLockTableInsert,ProcArrayEndTransaction"
    spool_path = OUT / "postgres.spool"
    options = ["-p", str(server), "--request", "postgresql", "--request", by_functions]
    subprocess.run(
        ["rcp-trace", "record", *options, "-o", spool_path, "--", *AS_POSTGRES, "sh", "-c", LOAD],
        check=True,
    )
    spool = open_spool(spool_path)
    names = {**spool.meta["request_points"], **spool.meta["request_syscalls"]}
    requests = [
        {"name": names[str(row["nr"])]}
        | {field: int(row[field]) for field in ("ts", "end_ns", "ret", "tid")}
        for row in spool.records(REQUEST)
    ]
    clock = spool.meta["clock"]
    return {
        "log": logged(),
        "requests": requests,
        "monotonic_minus_real_ns": clock["started_monotonic_ns"] - clock["started_realtime_ns"],
        "lost": spool.counters["lost"],
    }


def main() -> None:
    """Record once."""
    WORK.mkdir(mode=0o777)
    WORK.chmod(0o777)
    (OUT / "postgres.json").write_text(json.dumps(record(), indent=1))


if __name__ == "__main__":
    main()
