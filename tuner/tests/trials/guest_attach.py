"""Runs in the lab's guest, as root: records a process that runs already, as rcp-tune --attach does.

The process logs when each of its fsyncs began and ended, which is the second witness. Prints JSON.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rcp.probes.contract.events import REQUEST, SLEEP
from rcp.probes.contract.spool import open_spool
from rcp.tuner.trials.listen import ATTACHED, attach
from rcp.tuner.trials.source import Source
from rcp.tuner.trials.workload import WorkloadError

OUT = Path(os.environ["RCP_LAB_OUT"])
SERVER = """
import os, sys, time
data, log = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY), open(sys.argv[2], "w", buffering=1)
while True:
    os.pwrite(data, b"x" * 4096, 0)
    begun = time.monotonic_ns()
    os.fsync(data)
    print(begun, time.monotonic_ns(), file=log)
    time.sleep(0.02)
"""


def main() -> None:
    """Attach for two seconds of the guest's clock."""
    folder = Path(tempfile.mkdtemp())
    log = folder / "log"
    server = subprocess.Popen([sys.executable, "-c", SERVER, str(folder / "data"), str(log)])
    recorder = ("rcp-trace", "record", "--background", "comm:kworker*")
    failed = ""
    try:
        attach(server.pid, 2.0, Source(), out=folder, recorder=recorder)
    except WorkloadError as error:
        failed = str(error)  # the guest has no pyarrow to read the recording with: the host has
    is_left_alone = server.poll() is None
    server.kill()
    server.wait()
    spool = open_spool(folder / ATTACHED)
    requests = spool.records(REQUEST)
    told = {
        "is_left_alone": is_left_alone,
        "failed": failed,
        "requests": [(int(row["ts"]), int(row["end_ns"])) for row in requests],
        "logged": [tuple(map(int, line.split())) for line in log.read_text().splitlines()],
        "n_sleeps": len(spool.records(SLEEP)),
        "roles": spool.meta["roles"],
    }
    shutil.copytree(folder / ATTACHED, OUT / ATTACHED)
    (OUT / "attach.json").write_text(json.dumps(told))


if __name__ == "__main__":
    main()
