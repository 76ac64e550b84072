"""Runs in the lab's guest, as root: a program that knows what it did, recorded at chosen points.

Writes points.json: what the program logged by its own clock (CLOCK_MONOTONIC, which is the
recording's too), and the requests recorded. test_lab_points.py judges it.
"""

import contextlib
import ctypes
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

WORK = Path("/tmp/points")
LIBC = "/usr/lib/x86_64-linux-gnu/libc.so.6"
SPECS = (
    f"uprobe:{LIBC}:usleep",
    f"sorting=uprobe:{LIBC}:qsort",
    f"uprobe:{LIBC}:srand48,drand48,lrand48",
    "collection=usdt:python3:python:gc__start,gc__done",
    "socket",
)
SLEEP_US = 3000

done: list[dict[str, Any]] = []
libc = ctypes.CDLL(None)
Compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


@contextlib.contextmanager
def noted(what: str, **more: Any) -> Iterator[None]:
    """Log one piece of work of the calling thread."""
    began_ns = time.monotonic_ns()
    yield
    ended_ns = time.monotonic_ns()
    tid = threading.get_native_id()
    done.append({"what": what, "tid": tid, "ts": began_ns, "end_ns": ended_ns, **more})


def sync(file: int) -> None:
    """Append to a file and make it durable."""
    os.write(file, b"x")
    os.fsync(file)


def sort(file: int, depth: int) -> None:
    """Sort two numbers; comparing them syncs a file and sorts again, ``depth`` times over."""

    def compare(_a: int, _b: int) -> int:
        sync(file)
        if depth:
            sort(file, depth - 1)
        return 0

    libc.qsort((ctypes.c_int * 2)(1, 2), 2, 4, Compare(compare))


class Slow:
    """Takes its time when it is collected, which a cycle makes the collector's work."""

    def __init__(self) -> None:
        self.me = self

    def __del__(self) -> None:
        time.sleep(SLEEP_US / 1e6)


def call_functions(file: int) -> None:
    """Pass the points in libc and python a known number of times."""
    for _ in range(7):
        with noted("usleep"):
            libc.usleep(SLEEP_US)
    for _ in range(5):
        with noted("sorting"):
            sort(file, depth=2)
    for end in (libc.drand48, libc.lrand48, libc.drand48):
        libc.srand48(1)  # its end is never passed
        with noted("srand48", ret=int(end is libc.lrand48)):
            libc.srand48(1)
            sync(file)
            end()
        end()  # nothing has begun
    for _ in range(4):
        Slow()
        with noted("collection"):
            gc.collect()


def serve(connections: list[socket.socket], file: int) -> None:
    """Answer both connections in turn, the first to ask last, so that two requests are open."""
    tid = threading.get_native_id()
    first, second = connections
    while first.recv(100, socket.MSG_PEEK):
        began_ns = time.monotonic_ns()
        os.read(first.fileno(), 1)
        first.recv(100)  # the rest of the same request
        with noted("answer", inner=True):
            second.recv(100)
            sync(file)
            second.sendall(b"2")
        sync(file)
        first.sendall(b"1")
        done.append({"what": "answer", "tid": tid, "ts": began_ns, "end_ns": time.monotonic_ns()})
        first.sendall(b"more")  # nobody asked


def converse(server: list[socket.socket], client: list[socket.socket], file: int) -> None:
    """Six rounds of questions and answers over two connections."""
    thread = threading.Thread(target=serve, args=(server, file))
    thread.start()
    for _ in range(6):
        with noted("asked"):
            client[0].sendall(b"first")
            client[1].sendall(b"second")
            client[1].recv(100)
            client[0].recv(5, socket.MSG_WAITALL)
    for end in client:
        end.shutdown(socket.SHUT_WR)
    thread.join()


def tcp_pair() -> tuple[socket.socket, socket.socket]:
    """Two ends of a TCP connection."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        server, _ = listener.accept()
    return server, client


def leave_unfinished() -> None:
    """Start a process that outlives the recording in the middle of a request of two kinds."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        for stream in (1, 2):  # who waits for the recorder's last words waits for this end too
            os.close(stream)
        theirs.recv(100)
        libc.usleep(10**9)
        os._exit(0)
    ours.sendall(b"answer me")
    time.sleep(0.1)
    done.append({"what": "left", "tid": pid, "ts": 0, "end_ns": 0})


def die_within() -> None:
    """A thread's end is the end of its requests: none is reported as unfinished."""
    if (pid := os.fork()) == 0:
        libc.srand48(1)
        os._exit(0)
    os.waitpid(pid, 0)


def work() -> None:
    """What is recorded."""
    gc.disable()
    file = os.open(WORK / "file", os.O_WRONLY | os.O_CREAT)
    call_functions(file)
    tcp, local = tcp_pair(), socket.socketpair()
    converse([tcp[0], local[0]], [tcp[1], local[1]], file)
    die_within()
    leave_unfinished()
    (WORK / "done.json").write_text(json.dumps(done))
    os._exit(0)  # leaving in order would collect garbage


def trace(*arguments: str) -> dict[str, Any]:
    """Run rcp-trace to its end."""
    ended = subprocess.run(["rcp-trace", *arguments], capture_output=True, text=True, check=False)
    return {"status": ended.returncode, "stderr": ended.stderr}


def record_work() -> dict[str, Any]:
    """One recording with every kind of request at once."""
    from rcp.probes.contract.events import REQUEST
    from rcp.probes.contract.spool import open_spool

    path = WORK / "a.spool"
    options = [word for spec in SPECS for word in ("--request", spec)]
    ended = trace("record", "-o", str(path), *options, "--", "python3", __file__, "work")
    if ended["status"]:
        return ended
    spool = open_spool(path)
    did = json.loads((WORK / "done.json").read_text())
    os.kill(next(one["tid"] for one in did if one["what"] == "left"), signal.SIGKILL)
    names = {**spool.meta["request_points"], **spool.meta["request_syscalls"]}
    rows = spool.records(REQUEST)
    requests = [
        {"name": names[str(row["nr"])]}
        | {field: int(row[field]) for field in ("ts", "end_ns", "ret", "arg0", "tid")}
        for row in rows
    ]
    return {**ended, "done": did, "requests": requests, "lost": spool.counters["lost"]}


def main() -> None:
    """Work when asked to, else record it."""
    if sys.argv[1:] == ["work"]:
        work()
    WORK.mkdir()
    points = Path(os.environ["RCP_LAB_OUT"]) / "points.json"
    points.write_text(json.dumps(record_work(), indent=1))


if __name__ == "__main__":
    main()
