import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rcp.probes.who import roles
from rcp.probes.who.roles import (
    RuleError,
    cgroup_of,
    cmdline_rule_pids,
    require_pid,
    resolve_rule,
    resolve_rules,
    with_descendants,
)


@contextmanager
def running(*command: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process whose exec is over, so that its command line is in place."""
    process = subprocess.Popen(command)
    while Path(f"/proc/{process.pid}/cmdline").read_bytes().split(b"\0")[0] != command[0].encode():
        time.sleep(0.001)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_rules_keep_their_order_and_foreground_comes_first() -> None:
    assert resolve_rules(["comm:wal*"], ["rsync", "4711"]) == [
        {"role": "foreground", "rule": "comm:wal*"},
        {"role": "background", "rule": "comm:rsync"},
        {"role": "background", "rule": "pid:4711"},
    ]


def test_a_profile_comes_after_what_the_user_says() -> None:
    found = resolve_rules(["comm:mine"], [], ["rocksdb"])
    assert found == [
        {"role": "foreground", "rule": "comm:mine"},
        {"role": "background", "rule": "comm:rocksdb:*", "profile": "rocksdb"},
    ]


def test_an_unknown_profile_is_refused() -> None:
    with pytest.raises(RuleError) as error:
        resolve_rules([], [], ["oracle"])
    assert str(error.value) == (
        "no profile 'oracle': choose from clickhouse, etcd, kafka, mongodb, mysql, postgresql, "
        "redis, rocksdb, sqlite."
    )


def test_a_cmdline_rule_finds_running_processes() -> None:
    own = Path("/proc/self/cmdline").read_bytes().split(b"\0")[0].decode()
    rule = resolve_rule("background", f"cmdline:{own}")
    assert os.getpid() not in rule["pids"]  # the recorder never finds itself


def test_a_cmdline_rule_finds_processes_that_came_later() -> None:
    rules = [{"role": "background", "rule": "cmdline:^sleep 901"}, {"rule": "comm:sleep"}]
    assert cmdline_rule_pids(rules) == {"cmdline:^sleep 901": []}
    with running("sleep", "901") as process:
        assert cmdline_rule_pids(rules) == {"cmdline:^sleep 901": [process.pid]}


def test_a_cgroup_is_known_by_inode_and_depth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(roles, "CGROUP_ROOT", tmp_path)
    group = tmp_path / "system.slice" / "db.service"
    group.mkdir(parents=True)
    (group / "cgroup.procs").touch()
    found = cgroup_of("/system.slice/db.service")
    assert (found.id, found.level) == (group.stat().st_ino, 2)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("", "bad background rule '': write comm:GLOB, pid:N, cgroup:PATH or cmdline:REGEX."),
        (
            "user:root",
            "bad background rule 'user:root': write comm:GLOB, pid:N, cgroup:PATH or "
            "cmdline:REGEX.",
        ),
        ("pid:self", "bad background rule 'pid:self': a pid is a number."),
        (
            "cmdline:(",
            "bad regular expression '(' in cmdline rule: missing ), unterminated subpattern at "
            "position 0.",
        ),
        (
            "cgroup:/no/such",
            "no cgroup /no/such below /sys/fs/cgroup: `systemd-cgls` or `ls /sys/fs/cgroup` "
            "lists them.",
        ),
    ],
)
def test_bad_rules_say_what_to_write(rule: str, message: str) -> None:
    with pytest.raises(RuleError) as error:
        resolve_rule("background", rule)
    assert str(error.value) == message


def test_an_unknown_pid_is_refused() -> None:
    with pytest.raises(RuleError) as error:
        require_pid(2**22 + 1)  # above the largest pid_max
    assert str(error.value) == "no process 4194305: `pgrep -a NAME` finds one."


def test_descendants_that_run_already_belong_to_a_process() -> None:
    with subprocess.Popen(["sh", "-c", "sleep 900 & echo $!; wait"], stdout=subprocess.PIPE) as top:
        assert top.stdout
        grandchild = int(top.stdout.readline())
        found = with_descendants([os.getpid()])
        for pid in (grandchild, top.pid):
            os.kill(pid, signal.SIGTERM)
    assert found[0] == os.getpid()
    assert {top.pid, grandchild} <= set(found)
    assert os.getppid() not in found
