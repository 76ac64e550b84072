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


def test_any_name_a_thread_had_can_give_it_its_role_and_is_kept(ask: Ask) -> None:
    synth = Synth([("background", "comm:check*")])
    synth.task("fork", tid=5, ts=1)
    synth.task("checkpointer", tid=5, ts=2)
    synth.task("idle now", tid=5, ts=3)
    assert ask(synth, TASKS) == [("checkpointer", "background", "comm:check*")]


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
