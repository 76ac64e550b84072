"""Task records and role rules in, the task table out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from rcp.analyzer.arrays.roles import RoleError, parse_rules
from rcp.fixtures.synth import Synth

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Ask

TASKS = "SELECT comm, role, role_rule FROM task WHERE utid > 0 ORDER BY utid"


def test_defaults(ask: Ask) -> None:
    synth = Synth()
    synth.task("app", target=True)
    synth.task("kworker/0:1", kthread=True)
    synth.task("rcp-trace", recorder=True)
    synth.task("sshd")
    assert ask(synth, TASKS) == [
        ("app", "foreground", "target of the recording"),
        ("kworker/0:1", "kernel", "kernel thread"),
        ("rcp-trace", "unknown", "the recorder itself"),
        ("sshd", "unknown", "no rule matched"),
    ]


def test_first_matching_rule_decides(ask: Ask) -> None:
    synth = Synth(
        [("foreground", "comm:wal*"), ("background", "comm:w*"), ("background", "pid:77")]
    )
    synth.task("walwriter", target=True)
    synth.task("writer", target=True)
    synth.task("kworker/0:1", kthread=True, pid=77)
    synth.task("shell", target=True)
    assert ask(synth, TASKS) == [
        ("walwriter", "foreground", "comm:wal*"),
        ("writer", "background", "comm:w*"),
        ("kworker/0:1", "background", "pid:77"),
        ("shell", "unknown", "no rule matched"),  # whoever names the foreground means only that
    ]
    assert ask(synth, "SELECT position, role, rule, n_tasks FROM role_rule") == [
        (1, "foreground", "comm:wal*", 1),
        (2, "background", "comm:w*", 1),
        (3, "background", "pid:77", 1),
    ]


def test_resolved_rules(ask: Ask) -> None:
    synth = Synth()
    synth.meta["roles"] = [
        {"role": "background", "rule": "cgroup:/system.slice", "cgroup_id": 42},
        {"role": "foreground", "rule": "cmdline:postgres -D", "pids": [9]},
    ]
    synth.task("rsync", cgroup_id=42)
    synth.task("postgres", pid=9)
    assert [row[1] for row in ask(synth, TASKS)] == ["background", "foreground"]


MS = 1_000_000


def test_a_role_goes_by_the_name_at_the_time(ask: Ask) -> None:
    synth = Synth([("background", "comm:check*")])
    synth.task("server", tid=5, ts=1)
    synth.task("checkpointer", tid=5, ts=2 * MS)
    synth.task("idle now", tid=5, ts=3 * MS)
    for ts in (1, 2, 3):
        synth.preempt(5, ts * MS, ts * MS + 10)
    assert ask(synth, TASKS) == [
        ("server", "unknown", "no rule matched"),
        ("checkpointer", "background", "comm:check*"),
        ("idle now", "unknown", "no rule matched"),
    ]
    assert ask(synth, "SELECT sleep.ts, comm, thread_utid FROM sleep JOIN task USING (utid)") == [
        (1 * MS, "server", 1),
        (2 * MS, "checkpointer", 1),
        (3 * MS, "idle now", 1),
    ]
    assert ask(synth, "SELECT DISTINCT comms FROM task WHERE utid > 0") == [
        (["server", "checkpointer", "idle now"],)
    ]


def test_the_name_a_thread_was_created_with_is_not_its_own(ask: Ask) -> None:
    synth = Synth([("foreground", "comm:server"), ("background", "comm:check*")])
    synth.task("server", tid=5, pid=5, ts=8 * MS, start_ns=MS)
    synth.task("server", tid=6, pid=5, ts=8 * MS + 1, start_ns=8 * MS)
    synth.task("checkpointer", tid=6, pid=5, ts=8 * MS + 30_000, start_ns=8 * MS)
    assert ask(synth, TASKS) == [
        ("server", "foreground", "comm:server"),
        ("checkpointer", "background", "comm:check*"),
    ]


def test_what_the_background_starts_is_background(ask: Ask) -> None:
    synth = Synth([("background", "comm:backup*"), ("foreground", "comm:app*")])
    synth.task("init", tid=1, ppid=0)
    synth.task("backup.sh", tid=5, start_ns=2)
    synth.task("sh", tid=6, ppid=5, start_ns=3)
    synth.task("gzip", tid=7, ppid=6, start_ns=4)
    synth.task("deflate", tid=8, pid=7, ppid=6, start_ns=5)
    synth.task("app", tid=9, ppid=5, start_ns=6)
    synth.task("cron", tid=10, start_ns=7)
    synth.task("kworker/0:1", tid=11, ppid=5, start_ns=8, kthread=True)
    inherited = "started by the background"
    assert ask(synth, TASKS) == [
        ("init", "unknown", "no rule matched"),
        ("backup.sh", "background", "comm:backup*"),
        *((name, "background", inherited) for name in ("sh", "gzip", "deflate")),
        ("app", "foreground", "comm:app*"),
        ("cron", "unknown", "no rule matched"),
        ("kworker/0:1", "kernel", "kernel thread"),
    ]


def test_a_parent_is_who_created_the_process(ask: Ask) -> None:
    """Orphans get another one, and numbers recur."""
    synth = Synth([("background", "comm:backup*")])
    synth.task("backup", tid=5, start_ns=1)
    synth.task("gzip", tid=6, ppid=5, start_ns=2, ts=2)
    synth.task("gzip", tid=6, ppid=1, start_ns=2, ts=9, exited=True)
    synth.task("older", tid=7, ppid=8, start_ns=3)
    synth.task("backup", tid=8, start_ns=4)
    assert [row[1] for row in ask(synth, TASKS)] == [
        "background",
        "background",
        "unknown",
        "background",
    ]


@pytest.mark.parametrize(
    ("started_ms", "ended_ms", "until_ms", "role"),
    [
        (100, 5002, 9000, "background"),  # stopped together
        (4999, 5002, 9000, "unknown"),  # with it for 1 ms, and 2 ms without it
        (100, 6500, 9000, "unknown"),  # a daemon
        (100, 0, 5500, "background"),  # the recording ended first
        (4999, 0, 5500, "unknown"),
        (100, 0, 9000, "unknown"),
        (100, 4000, 9000, "background"),
    ],
)
def test_a_program_that_outlives_its_script_by_a_moment_is_no_daemon(
    ask: Ask, started_ms: int, ended_ms: int, until_ms: int, role: str
) -> None:
    """Ctrl-C ends a script and its programs in any order."""
    synth = Synth([("background", "comm:backup*")])
    synth.task("backup.sh", tid=5, start_ns=2 * MS, ts=2 * MS)
    synth.task("dd", tid=6, ppid=5, start_ns=started_ms * MS, ts=started_ms * MS)
    synth.task("backup.sh", tid=5, start_ns=2 * MS, ts=5000 * MS, exited=True)
    if ended_ms:
        synth.task("dd", tid=6, ppid=1, start_ns=started_ms * MS, ts=ended_ms * MS, exited=True)
    synth.sleep(7, (until_ms - 1) * MS, until_ms * MS)
    assert [row[:2] for row in ask(synth, TASKS)][:2] == [
        ("backup.sh", "background"),
        ("dd", role),
    ]


def test_a_change_of_the_cgroup_changes_the_role(ask: Ask) -> None:
    synth = Synth()
    synth.meta["roles"] = [{"role": "background", "rule": "cgroup:/batch", "cgroup_id": 42}]
    main = synth.task("main", tid=5, ts=1)
    synth.task("thread", tid=6, pid=5, ts=1)
    synth.task("other", tid=7, ts=1)
    synth.task("main", main, ts=2 * MS, cgroup_id=42, process_moved=True)
    roles = "SELECT tid, since_ns, role FROM task WHERE utid > 0 ORDER BY tid, since_ns"
    assert ask(synth, roles) == [
        (5, 1, "unknown"),
        (5, 2 * MS, "background"),
        (6, 1, "unknown"),
        (6, 2 * MS, "background"),
        (7, 1, "unknown"),
    ]


@pytest.mark.parametrize(
    ("rules", "tid", "expected"),
    [
        # the thread's own name, beside a rule that its process matches too
        ([("foreground", "comm:db*"), ("background", "comm:*flush")], 6, "background"),
        ([("foreground", "pid:5"), ("background", "comm:db-flush")], 6, "background"),
        ([("background", "pid:5"), ("foreground", "comm:db-flush")], 6, "foreground"),
        # both match the process: the first one, as ever
        ([("foreground", "comm:db*"), ("background", "pid:5")], 6, "foreground"),
        ([("background", "pid:5"), ("foreground", "comm:db*")], 6, "background"),
        # the main thread inherits from nobody
        ([("foreground", "pid:5"), ("background", "comm:db")], 5, "foreground"),
    ],
)
def test_a_rule_for_a_thread_beats_one_it_inherits(
    ask: Ask, rules: list[tuple[str, str]], tid: int, expected: str
) -> None:
    synth = Synth(rules)
    synth.task("db", tid=5)
    synth.task("db-flush", tid=6, pid=5)
    assert ask(synth, f"SELECT role FROM task WHERE tid = {tid}") == [(expected,)]


def test_a_process_whose_main_thread_did_nothing_is_inherited_from_too(ask: Ask) -> None:
    synth = Synth([("foreground", "pid:5"), ("background", "comm:db-flush")])
    synth.task("db-flush", tid=6, pid=5)
    synth.task("db-conn", tid=7, pid=5)
    assert [row[1] for row in ask(synth, TASKS)] == ["background", "foreground"]


def test_a_rule_for_a_program_beats_that_of_the_cgroup_it_was_started_in(ask: Ask) -> None:
    synth = Synth()
    synth.meta["roles"] = [
        {"role": "foreground", "rule": "cgroup:/db", "cgroup_id": 42},
        {"role": "background", "rule": "comm:archive"},
        {"role": "background", "rule": "comm:postgres", "profile": "of somebody"},
    ]
    synth.task("postgres", cgroup_id=42)
    synth.task("archive", cgroup_id=42)
    assert [row[1] for row in ask(synth, TASKS)] == ["foreground", "background"]


def test_last_name_and_exit_are_kept(ask: Ask) -> None:
    synth = Synth()
    synth.task("sh", tid=5, ts=1, start_ns=1)
    synth.task("fio", tid=5, ts=2, start_ns=1, exited=True)
    assert ask(synth, "SELECT comm, tid, start_ns, exit_ns FROM task WHERE utid = 1") == [
        ("fio", 5, 1, 2)
    ]


def test_tid_reuse_makes_two_tasks_and_undescribed_ones_get_a_name(ask: Ask) -> None:
    synth = Synth()
    synth.task("first", tid=7, start_ns=10)
    synth.task("second", tid=7, start_ns=150)
    for run in (5, 20, 149, 150, 200):
        synth.preempt(7, run - 1, run)
    synth.preempt(8, 1, 2)
    sql = "SELECT run_ns, comm FROM sleep JOIN task USING (utid) ORDER BY sleep_id"
    assert ask(synth, sql) == [
        (5, "first"),
        (20, "first"),
        (149, "first"),
        (150, "second"),
        (200, "second"),
        (2, "<8>"),
    ]


def test_idle_is_utid_0(ask: Ask) -> None:
    synth = Synth()
    synth.preempt(0, 1, 2)
    assert ask(synth, "SELECT utid FROM sleep") == [(0,)]
    assert ask(synth, "SELECT comm, role FROM task") == [("idle", "kernel")]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (
            {"role": "vip", "rule": "comm:x"},
            "role 'vip' of rule 'comm:x' is not foreground or background",
        ),
        (
            {"role": "foreground", "rule": "name:x"},
            "rule 'name:x' is not comm:, pid:, cgroup: or cmdline:",
        ),
        ({"role": "foreground", "rule": "pid:x"}, "rule 'pid:x' has no process id"),
        ("comm:x", "role rule 'comm:x' is no object"),
    ],
)
def test_bad_rules(entry: Any, message: str) -> None:
    with pytest.raises(RoleError) as error:
        parse_rules({"roles": [entry]})
    assert str(error.value) == message


GIVEN: tuple[list[tuple[str, str]], ...] = (
    [],
    [("background", "comm:backup")],
    [("foreground", "comm:server")],
    [("foreground", "comm:server"), ("background", "comm:backup")],
    [("foreground", "pid:100"), ("background", "comm:backup")],
    [("background", "pid:100")],
    [("background", "cgroup:/jobs")],
)


@pytest.mark.parametrize("kind", ["wrk", "sqp"])
@pytest.mark.parametrize("target", [False, True])
@pytest.mark.parametrize("rules", GIVEN, ids=str)
@pytest.mark.parametrize("creator", ["server", "backup"])
def test_an_io_uring_worker_has_the_role_and_the_rule_of_who_created_it(
    ask: Ask, creator: str, rules: list[tuple[str, str]], target: bool, kind: str
) -> None:
    """The creator is a thread of a server; what it is by any rule or by none, its worker is."""
    synth = Synth(rules)
    for rule in synth.meta["roles"]:
        if rule["rule"] == "cgroup:/jobs":
            rule["cgroup_id"] = 42
    threads = (("server", 100), (creator, 107), (f"iou-{kind}-107", 108))
    for ts, (name, tid) in enumerate(threads):
        synth.task(name, tid, ts=ts, pid=100, target=target, cgroup_id=42)
    query = "SELECT role, role_rule FROM task WHERE tid = ?"
    assert ask(synth, query.replace("?", "108")) == ask(synth, query.replace("?", "107"))


def test_a_rule_that_names_io_uring_workers_decides_for_them(ask: Ask) -> None:
    synth = Synth([("background", "comm:iou-wrk-*"), ("foreground", "comm:server")])
    synth.task("server", 100)
    synth.task("iou-wrk-100", 101, ts=1, pid=100)
    synth.task("iou-sqp-100", 102, ts=2, pid=100)
    assert [row[1] for row in ask(synth, TASKS)] == ["foreground", "background", "foreground"]


def test_a_worker_is_of_the_thread_that_had_the_tid_when_it_began(ask: Ask) -> None:
    """Tid 107 was a server's, then a backup's, which got its name after its worker."""
    synth = Synth([("foreground", "comm:server"), ("background", "comm:backup")])
    synth.task("server", 107, start_ns=1000)
    synth.task("iou-wrk-107", 108, ts=2000, start_ns=2000, pid=107)
    synth.task("server", 107, ts=3_000_000, start_ns=3000, exited=True)
    synth.task("sh", 107, ts=5_000_000, start_ns=4_000_000)
    synth.task("iou-wrk-107", 109, ts=6_000_000, start_ns=6_000_000, pid=107)
    synth.task("backup", 107, ts=9_000_000, start_ns=4_000_000)
    query = "SELECT tid, role FROM task WHERE comm LIKE 'iou%' ORDER BY tid"
    assert ask(synth, query) == [(108, "foreground"), (109, "background")]


def test_a_worker_of_a_thread_that_did_nothing_is_of_its_process(ask: Ask) -> None:
    synth = Synth([("background", "comm:backup")])
    synth.task("backup", 100, target=True)
    synth.task("iou-wrk-107", 108, ts=1, pid=100, target=True)
    assert [row[1] for row in ask(synth, TASKS)] == ["background", "background"]


def test_of_two_names_at_one_moment_the_last_holds(ask: Ask) -> None:
    synth = Synth()
    synth.task("sh", 7)
    for name in ("rename", "backup"):
        synth.task(name, 7, ts=5_000_000)
    assert ask(synth, "SELECT comm, since_ns FROM task WHERE tid = 7 ORDER BY utid") == [
        ("sh", 0),
        ("backup", 5_000_000),
    ]
