"""A task that waits for the next period of cpu.max waits for who used up the quota."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rcp.analyzer.tests.blame.found import Found, found
from rcp.fixtures.synth import WRITE, Synth
from rcp.probes.contract.events import LimitedResource

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Ask

MS = 1_000_000
QUOTA = 0.75
ROLES = [("foreground", "comm:client"), ("background", "comm:backup*")]


def group(*ran: tuple[str, int], client_ms: int = 10, cgroup: int = 7, of_client: int = 7) -> Synth:
    """The client has run for ``client_ms``, the others one after another; then all wait for 60 ms.

    Meanwhile ``hog``, which has no limit, is on the CPU.
    """
    synth = Synth(ROLES)
    client = synth.task("client", target=True, cgroup_id=of_client)
    hog = synth.task("backup-hog", cgroup_id=9)
    begin = 1000 * MS
    synth.sleep(client, 900 * MS, begin)
    now = begin + client_ms * MS
    for name, ran_ms in ran:
        member = synth.task(name, cgroup_id=cgroup)
        synth.sleep(member, 900 * MS, now)
        now += ran_ms * MS
        synth.preempt(member, now, 1100 * MS + 1, cpu_max=True)
    synth.sleep(hog, 900 * MS, now)
    synth.sleep(hog, 1100 * MS, 1101 * MS)
    synth.request(client, begin, 1110 * MS, nr=WRITE)
    synth.preempt(client, begin + client_ms * MS, 1100 * MS, ran=hog, cpu_max=True)
    return synth


def throttled(*ran: tuple[str, int], **options: int) -> list[Found]:
    return found(group(*ran, **options))


def blamed(rows: list[Found]) -> list[tuple[str, str, int]]:
    return [(row.kind, row.culprit, row.dur // MS) for row in rows]


def test_who_ran_meanwhile_is_not_to_blame_for_a_used_up_quota() -> None:
    assert throttled() == []


def test_the_chain_ends_at_who_used_the_quota_up(ask: Ask) -> None:
    rows = ask(group(("backup", 30)), "SELECT kind, chain, depth FROM inversion")
    assert rows == [("cpu_max", "write → cpu_max behind backup", 0)]


def test_who_used_most_of_the_quota_is_to_blame() -> None:
    assert blamed(throttled(("backup", 30))) == [("cpu_max", "backup", 90)]


def test_the_period_of_a_limit_is_not_recorded_so_it_is_not_certain() -> None:
    assert [row.confidence for row in throttled(("backup", 30))] == [pytest.approx(QUOTA)]


def test_who_sleeps_to_the_end_of_the_recording_uses_no_cpu() -> None:
    synth = Synth(ROLES)
    client = synth.task("client", target=True, cgroup_id=7)
    backup = synth.task("backup", cgroup_id=7)
    synth.sleep(backup, 900 * MS, 999 * MS)  # and then again, for longer than is recorded
    synth.sleep(client, 900 * MS, 1000 * MS)
    synth.request(client, 1000 * MS, 1110 * MS, nr=WRITE)
    synth.preempt(client, 1040 * MS, 1100 * MS, cpu_max=True)
    assert found(synth) == []


def test_the_root_has_no_limit_so_its_tasks_share_none() -> None:
    assert throttled(("backup", 30), cgroup=1, of_client=1) == []


def test_several_are_to_blame_for_what_each_used() -> None:
    rows = throttled(("backup1", 10), ("backup2", 20))
    assert blamed(rows) == [("cpu_max", "backup2", 60), ("cpu_max", "backup1", 30)]


def test_who_used_less_than_half_has_a_share_of_the_wait() -> None:
    assert blamed(throttled(("backup", 10), client_ms=30)) == [("cpu_max", "backup", 17)]


@pytest.mark.parametrize("used_ms", [0, 2])
def test_who_used_next_to_nothing_is_not_to_blame(used_ms: int) -> None:
    assert throttled(("backup", used_ms), client_ms=30) == []


def test_another_cgroup_has_a_quota_of_its_own() -> None:
    assert throttled(("backup", 30), cgroup=8) == []


POD, DATABASE, BACKUP = 20, 21, 22


def limit(synth: Synth, of_pod_ms: int | None, of_database_ms: int | None) -> None:
    """Put two containers into a pod, with limits for each 100 ms; None: it has none."""
    for one, above, quota_ms in (
        (POD, 1, of_pod_ms),
        (DATABASE, POD, of_database_ms),
        (BACKUP, POD, None),
    ):
        synth.cgroup(one, above)
        if quota_ms is not None:
            synth.limit(one, LimitedResource.CPU, quota_ms * MS, period_us=100_000)


@pytest.mark.parametrize(
    ("of_pod_ms", "of_database_ms", "is_guilty"),
    [(40, None, True), (40, 60, True), (None, 10, False), (200, 10, False), (None, None, False)],
    ids=["of the pod", "nearer to the pod's", "its own", "nearer to its own", "not known"],
)
def test_of_several_limits_most_of_one_was_used(
    of_pod_ms: int | None, of_database_ms: int | None, is_guilty: bool
) -> None:
    """In a container the client has run for 10 ms, the backup for 30 ms in another one."""
    synth = group(("backup", 30), cgroup=BACKUP, of_client=DATABASE)
    limit(synth, of_pod_ms, of_database_ms)
    expected = [("cpu_max", "backup", 90)] if is_guilty else []  # from 1010 to 1100 ms
    assert [row for row in blamed(found(synth)) if row[0] == "cpu_max"] == expected


@pytest.mark.parametrize(("of_pod_ms", "backup_ms"), [(60, 30), (100, 60), (50, 20)])
def test_who_runs_while_others_are_held_back_shows_that_the_pod_is_not(
    of_pod_ms: int, backup_ms: int
) -> None:
    """The client has used up the 20 ms of its container; the backup runs a part of each 10 ms."""
    synth = Synth(ROLES)
    client = synth.task("client", target=True, cgroup_id=DATABASE)
    backup = synth.task("backup", cgroup_id=BACKUP)
    limit(synth, of_pod_ms, 20)
    synth.sleep(client, 900 * MS, 1000 * MS)
    for begin in range(800, 1200, 10):
        synth.sleep(backup, begin * MS + backup_ms * MS // 10, (begin + 10) * MS)
    synth.request(client, 1000 * MS, 1110 * MS, nr=WRITE)
    synth.preempt(client, 1020 * MS, 1100 * MS, ran=backup, cpu_max=True)
    assert [row for row in blamed(found(synth)) if row[0] == "cpu_max"] == []


def test_only_the_period_that_ends_with_the_wait_counts() -> None:
    """The client had 20 ms of the last period and 10 ms of this one, the backup 70 ms of this."""
    synth = Synth(ROLES)
    client = synth.task("client", target=True, cgroup_id=DATABASE)
    backup = synth.task("backup", cgroup_id=BACKUP)
    limit(synth, 80, 20)
    synth.sleep(client, 900 * MS, 980 * MS)
    synth.sleep(client, 1010 * MS, 1075 * MS, 1100 * MS, cpu_max=True, interrupt=True)
    synth.sleep(backup, 900 * MS, 1000 * MS)
    synth.sleep(backup, 1070 * MS, 1101 * MS)
    synth.request(client, 1074 * MS, 1110 * MS, nr=WRITE)
    assert blamed(found(synth)) == [("cpu_max", "backup", 25)]


def test_what_was_used_early_in_a_period_counts_for_who_runs_late_in_the_next() -> None:
    """The next one begins at 1100 ms; the client runs from 1135 on, 100 ms after the backup."""
    synth = Synth(ROLES)
    client = synth.task("client", target=True, cgroup_id=DATABASE)
    backup = synth.task("backup", cgroup_id=BACKUP)
    limit(synth, 35, 90)
    synth.sleep(client, 900 * MS, 1000 * MS)
    synth.sleep(client, 1005 * MS, 1095 * MS, 1135 * MS, cpu_max=True, interrupt=True)
    synth.sleep(backup, 900 * MS, 1005 * MS)
    synth.preempt(backup, 1035 * MS, 1136 * MS, cpu_max=True)
    synth.request(client, 1094 * MS, 1140 * MS, nr=WRITE)
    assert blamed(found(synth)) == [("cpu_max", "backup", 40)]
