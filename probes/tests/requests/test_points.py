import os
from pathlib import Path

import pytest

from rcp.probes.kernel.features import RecordError
from rcp.probes.kernel.syscall_numbers import DEFAULT_SYSCALLS
from rcp.probes.requests import uprobe
from rcp.probes.requests.binaries import find_program
from rcp.probes.requests.points import Requests, resolve_requests
from rcp.probes.requests.uprobe import Hook
from rcp.probes.tests.formats.elf_image import write_elf

FORMS = (
    "syscall:NAME[,NAME…], usdt:BIN:PROVIDER:BEGIN,END, uprobe:BIN:FUNCTION, "
    "uprobe:BIN:BEGIN,END, socket or postgresql"
)


@pytest.fixture(autouse=True)
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A kernel with uprobes and all the tracepoints there may be; returns its tracefs."""
    tracefs = tmp_path / "tracefs"
    for name in (*DEFAULT_SYSCALLS, "read"):
        (tracefs / f"events/syscalls/sys_enter_{name}").mkdir(parents=True)
    for name in ("sock_recv_length", "sock_send_length"):
        (tracefs / "events/sock" / name).mkdir(parents=True)
    (tmp_path / "pmu").mkdir()
    (tmp_path / "pmu/type").write_text("9\n")
    monkeypatch.setattr(uprobe, "_PMU", tmp_path / "pmu")
    monkeypatch.setenv("PATH", str(tmp_path))
    return tracefs


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A stripped program with functions and USDT probes."""
    path = write_elf(
        tmp_path / "db",
        {"run": 0x401020, "stop": 0x401040, "_Z5serveiP3THD": 0x401060}
        | {"_Z5twicei": 0x401070, "_Z5twicel": 0x401080},
        usdts=(
            ("db", "query__start", 0x401010, 0x602204),
            ("db", "query__done", 0x401050, 0),
            ("db", "query__failed", 0x401058, 0),
        ),
    )
    path.chmod(0o755)
    return path


def resolve(tmp_path: Path, *specs: str) -> Requests:
    return resolve_requests(specs, tmp_path / "tracefs", pids=())


def fault(tmp_path: Path, *specs: str) -> str:
    with pytest.raises(RecordError) as error:
        resolve(tmp_path, *specs)
    return str(error.value).replace(str(tmp_path), "")


def test_without_a_choice_the_syncing_syscalls_are_requests(tmp_path: Path) -> None:
    chosen = resolve(tmp_path)
    assert chosen == Requests()
    assert tuple(chosen.syscalls.values()) == DEFAULT_SYSCALLS


@pytest.mark.parametrize("spec", ["fsync,read", "syscall:fsync,read"])
def test_syscalls_are_listed_with_or_without_their_kind(tmp_path: Path, spec: str) -> None:
    assert resolve(tmp_path, spec).syscalls == {74: "fsync", 0: "read"}


def test_other_requests_have_the_default_syscalls_inside(tmp_path: Path) -> None:
    assert resolve(tmp_path, "socket").syscalls == Requests().syscalls
    assert resolve(tmp_path, "socket", "syscall:none").syscalls == {}
    assert resolve(tmp_path, "socket", "read").syscalls == {0: "read"}


def test_a_function_is_a_request_from_entry_to_return(tmp_path: Path, program: Path) -> None:
    (points,) = resolve(tmp_path, f"uprobe:{program}:run").points
    assert (points.name, points.is_call) == ("run", True)
    assert (points.begin, points.end) == ((Hook(program, 0x120),), ())


def test_two_functions_are_a_requests_ends(tmp_path: Path, program: Path) -> None:
    (points,) = resolve(tmp_path, f"uprobe:{program}:run,stop,serve").points
    assert not points.is_call
    assert points.begin == (Hook(program, 0x120),)
    assert (points.end, points.other_end) == ((Hook(program, 0x140),), (Hook(program, 0x160),))


def test_usdt_probes_are_a_requests_ends(tmp_path: Path, program: Path) -> None:
    (points,) = resolve(tmp_path, "usdt:db:db:query__start,query__done,query__failed").points
    assert points.name == "query"
    assert points.begin == (Hook(program, 0x110, semaphore_offset=0x204),)
    assert (points.end, points.other_end) == ((Hook(program, 0x150),), (Hook(program, 0x158),))


def test_a_postgres_with_tracepoints_uses_them(tmp_path: Path) -> None:
    steps = {"start": 0x401010, "commit": 0x401020, "abort": 0x401030}
    path = write_elf(
        tmp_path / "postgres",
        {"VirtualXactLockTableInsert": 0x401060, "ProcArrayEndTransaction": 0x401070},
        usdts=tuple(("postgresql", f"transaction__{n}", at, 0) for n, at in steps.items()),
    )
    (points,) = resolve(tmp_path, f"postgresql:{path}").points
    assert (points.name, points.begin) == ("transaction", (Hook(path, 0x110),))
    assert (points.end, points.other_end) == ((Hook(path, 0x120),), (Hook(path, 0x130),))


def test_a_postgres_without_tracepoints_is_followed_by_functions(tmp_path: Path) -> None:
    path = write_elf(
        tmp_path / "postgres",
        {"VirtualXactLockTableInsert": 0x401060, "ProcArrayEndTransaction": 0x401070},
    )
    path.chmod(0o755)  # found in PATH
    (points,) = resolve(tmp_path, "postgresql").points
    assert (points.begin, points.end) == ((Hook(path, 0x160),), (Hook(path, 0x170),))


def test_names_are_the_users_or_the_points(tmp_path: Path, program: Path) -> None:
    chosen = resolve(
        tmp_path,
        "query=uprobe:db:run",
        "uprobe:db:serve",
        "asked=socket",
        f"usdt:{program}:db:query__start,query__done",
    )
    assert chosen.point_names == {65536: "query", 65537: "serve", 65538: "query", 131072: "asked"}


def test_a_chosen_process_tells_where_its_program_and_libraries_are() -> None:
    program = Path("/proc/self/exe").readlink()
    assert find_program(program.name, [os.getpid()]) == program
    library = find_program("libc.so.6", [os.getpid()])
    assert str(library) in Path("/proc/self/maps").read_text()


def test_a_running_program_needs_no_path() -> None:
    program = Path("/proc/self/exe").readlink()  # PATH holds none (see kernel)
    assert find_program(program.name, []) == program


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("usdt", "cannot record the syscall 'usdt': choose from "),
        ("kprobe:db:run", f"bad request 'kprobe:db:run': write {FORMS}."),
        ("uprobe:db", f"bad request 'uprobe:db': write {FORMS}."),
        ("syscall:", f"bad request 'syscall:': write {FORMS}."),
        ("=uprobe:db:run", "bad request '=uprobe:db:run': the name before = is empty."),
        ("a=fsync", "bad request 'a=fsync': a syscall cannot be renamed."),
        ("socket:80", "bad request 'socket:80': write it without anything after socket."),
        ("uprobe:db:run,", "bad functions 'run,': write FUNCTION or BEGIN,END."),
        (
            "usdt:db:db:query__start",
            "bad USDT points 'db:query__start': write PROVIDER:BEGIN,END, such as "
            "postgresql:transaction__start,transaction__commit.",
        ),
        (
            "uprobe:nodb:run",
            "no program nodb in PATH, and no process runs it: start it, or give its path.",
        ),
        ("uprobe:/no/db:run", "no program /no/db: give the path of an existing file."),
        (
            "uprobe:db:runs",
            "/db is stripped and exports no function runs: install its debug symbols (Debian: a "
            "-dbgsym package), or choose from run.",
        ),
        ("uprobe:db:twice", "/db has several functions twice: choose from _Z5twicei, _Z5twicel."),
        (
            "usdt:db:db:query_start,query__done",
            "/db has no USDT probe db:query_start: choose from db:query__start, "
            "db:query__failed, db:query__done.",
        ),
        ("uprobe:script:run", "/script is a script: name the program that runs it (/bin/sh)."),
        (
            "usdt:plain:db:start,done",
            "/plain has no USDT probes: use one built with them (--enable-dtrace, "
            "--with-dtrace), or uprobe:BIN:FUNCTION.",
        ),
        (
            "uprobe:plain:walk",
            "/plain has no function walk (it may be inlined): choose from run.",
        ),
    ],
)
def test_what_cannot_be_recorded_is_a_one_line_error(
    tmp_path: Path, program: Path, spec: str, message: str
) -> None:
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    plain = write_elf(tmp_path / "plain", {"run": 0x401020}, {"run": 0x401020})
    for path in (script, plain):
        path.chmod(0o755)
    actual = fault(tmp_path, spec)
    assert actual.startswith(message) if message.endswith("from ") else actual == message


def test_more_points_than_the_probes_have_are_refused(tmp_path: Path, program: Path) -> None:
    assert fault(tmp_path, *["uprobe:db:run"] * 5) == (
        "5 kinds of request at probe points, but at most 4 can be recorded: leave some out."
    )


def test_a_kernel_without_uprobes_says_what_remains(tmp_path: Path, program: Path) -> None:
    (tmp_path / "pmu/type").unlink()
    assert fault(tmp_path, "uprobe:db:run") == (
        "this kernel has no uprobes: boot one built with CONFIG_UPROBE_EVENTS, as Debian's are, "
        "or choose syscall or socket requests."
    )


def test_a_kernel_without_socket_tracepoints_says_what_remains(
    tmp_path: Path, kernel: Path
) -> None:
    (kernel / "events/sock/sock_send_length").rmdir()
    assert fault(tmp_path, "socket") == (
        "this kernel lacks the tracepoints sock:sock_recv_length and sock:sock_send_length, "
        "which came with Linux 6.3: choose uprobe or syscall requests."
    )
