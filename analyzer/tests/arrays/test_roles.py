"""Built-in profiles, on the names and titles that the databases really show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rcp.analyzer.arrays.roles import TaskFacts, name_of, parse_rules, role_of
from rcp.fixtures.synth import Synth
from rcp.probes.contract.role_profiles import profiles

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Ask

PID = 77


def role(profile: str, comm: str, title: str) -> str:
    entries = [{"role": rule.role, "rule": rule.rule} for rule in profiles()[profile].rules]
    rules = parse_rules({"roles": entries, "end": {"cmdlines": {str(PID): title}}})
    return role_of(TaskFacts(PID, 1, 0, comm), rules)[0]


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("postgres: checkpointer", "background"),
        ("postgres: 17/main: checkpointer ", "background"),
        ("postgres: checkpointer process", "background"),
        ("postgres: wal writer process", "background"),
        ("postgres: walwriter", "background"),
        ("postgres: background writer", "background"),
        ("postgres: autovacuum launcher", "background"),
        ("postgres: 17/main: autovacuum worker bench", "background"),
        ("postgres: logical replication launcher", "background"),
        ("postgres: walsender replicator 10.0.0.2(40112) streaming 0/3000060", "background"),
        ("postgres: joe runbug 127.0.0.1 idle", "foreground"),
        ("postgres: 17/main: postgres bench [local] COMMIT", "foreground"),
        ("postgres: app shop 10.0.0.2(50412) UPDATE waiting", "foreground"),
        ("postgres: app shop db1.example(50412) idle in transaction", "foreground"),
        ("postgres: parallel worker for PID 4711", "foreground"),
        ("/usr/lib/postgresql/17/bin/postgres -D /var/lib/postgresql/17/main", "unknown"),
        ("vim postgres: checkpointer", "unknown"),
    ],
)
def test_postgresql_is_told_by_title(title: str, expected: str) -> None:
    assert role("postgresql", "postgres", title) == expected


@pytest.mark.parametrize(
    ("profile", "comm", "title", "expected"),
    [
        ("redis", "redis-server", "redis-server 127.0.0.1:6379", "foreground"),
        ("redis", "redis-server", "redis-rdb-bgsave 127.0.0.1:6379", "background"),
        ("redis", "valkey-server", "valkey-aof-rewrite 127.0.0.1:6379", "background"),
        ("redis", "bio_aof", "redis-server 127.0.0.1:6379", "background"),
        ("redis", "io_thd_1", "redis-server 127.0.0.1:6379", "foreground"),
        ("mysql", "ib_pg_flush_co", "/usr/sbin/mysqld", "background"),
        ("mysql", "connection", "/usr/sbin/mysqld", "foreground"),
        ("mysql", "ib_log_writer", "/usr/sbin/mysqld", "unknown"),
        ("rocksdb", "rocksdb:low", "/usr/bin/db_bench", "background"),
        ("mongodb", "conn12", "mongod", "foreground"),
        ("mongodb", "connector", "mongod", "unknown"),
        ("mongodb", "WTCheck.tThread", "mongod", "background"),
        ("mongodb", "OplogCa.plog.rs", "mongod", "background"),
        ("mongodb", "JournalFlusher", "mongod", "unknown"),
        ("mysql", "ib_log_files_g", "/usr/sbin/mysqld", "background"),
        ("mysql", "ib_io_wr-1", "/usr/sbin/mysqld", "background"),
        ("mysql", "ib_log_flush", "/usr/sbin/mysqld", "unknown"),
        ("mysql", "page_cleaner", "/usr/sbin/mariadbd", "background"),
        ("redis", "valkey-server", "valkey-rdb-to-replicas *:6379", "background"),
        ("redis", "bio_lazy_free", "valkey-server *:6379", "background"),
        ("clickhouse", "MergeMutate", "clickhouse-server", "background"),
        ("clickhouse", "BgSchPool", "clickhouse-server", "background"),
        ("clickhouse", "BgDistSchPool", "clickhouse-server", "background"),
        ("clickhouse", "TCPHandler", "clickhouse-server", "foreground"),
        ("clickhouse", "QueryPipelineEx", "clickhouse-server", "foreground"),
        ("clickhouse", "ThreadPool", "clickhouse-server", "unknown"),
        ("kafka", "data-plane-kafk", "java kafka.Kafka", "foreground"),
        ("kafka", "data-pl..dler-3", "java kafka.Kafka", "foreground"),
        ("kafka", "kafka-log-clean", "java kafka.Kafka", "background"),
        ("kafka", "kafka-l..read-0", "java kafka.Kafka", "background"),
        ("kafka", "kafka-scheduler", "java kafka.Kafka", "background"),
        ("kafka", "kafka-s..uler-3", "java kafka.Kafka", "background"),
        ("kafka", "G1 Conc#0", "java kafka.Kafka", "unknown"),
        ("etcd", "etcd", "etcd --name a", "foreground"),
        ("sqlite", "litestream", "litestream replicate", "background"),
    ],
)
def test_threads_are_told_by_name(profile: str, comm: str, title: str, expected: str) -> None:
    assert role(profile, comm, title) == expected


def test_every_rule_of_every_profile_can_be_applied() -> None:
    for profile in profiles().values():
        assert profile.source and profile.rules, profile.name
        entries = [{"role": rule.role, "rule": rule.rule} for rule in profile.rules]
        assert [rule.text for rule in parse_rules({"roles": entries})] == [
            rule.rule for rule in profile.rules
        ]
        assert all(rule.why for rule in profile.rules)


def test_child_that_came_and_went_has_the_role_of_its_title(ask: Ask) -> None:
    """The snapshot's child keeps the server's thread name; neither end of the recording saw it."""
    synth = Synth(
        [("background", "cmdline:^redis-rdb-bgsave"), ("foreground", "comm:redis-server")],
        cmdlines={"10": "redis-server *:6379"},
    )
    server = synth.task("redis-server", 10, target=True)
    child = synth.task("redis-server", 20, ts=100, start_ns=100, target=True)
    synth.exits(child, 900, title="redis-rdb-bgsave *:6379")
    synth.request(server, 0, 1000)
    assert ask(synth, "SELECT tid, comm, role FROM task WHERE tid > 0 ORDER BY tid") == [
        (10, "redis-server", "foreground"),
        (20, "redis-rdb-bgsave", "background"),
    ]


@pytest.mark.parametrize(
    ("rule", "tid", "name"),
    [
        (
            "cmdline:^postgres: ([^ ]+: )?(checkpointer|walwriter)",
            5,
            "postgres: 17/main: checkpointer",
        ),
        (
            "cmdline:^postgres: ([^ ]+: )?(checkpointer|walwriter)",
            6,
            "postgres",
        ),  # not the main thread
        ("cmdline:checkpointer", 5, "postgres"),  # amid its title: no name
        ("cmdline:^.*", 5, "postgres"),  # too long for one
    ],
)
def test_title_that_gave_the_role_is_the_name(rule: str, tid: int, name: str) -> None:
    title = "postgres: 17/main: checkpointer performing end-of-recovery checkpoint"
    known = {"roles": [{"role": "background", "rule": rule}], "cmdlines": {"5": title}}
    (parsed,) = parse_rules(known)
    assert name_of(TaskFacts(5, 1, 0, "postgres"), tid, parsed) == name


def test_a_title_seen_at_either_end_of_the_recording_counts() -> None:
    entry = {"role": "background", "rule": "cmdline:^b", "pids": [3]}
    meta = {"roles": [entry], "cmdlines": {"1": "before", "2": "a"}}
    (rule,) = parse_rules({**meta, "end": {"cmdlines": {"2": "now b", "4": "b"}}})
    assert rule.pids == {1, 3, 4}


def test_processes_that_came_later_are_found_by_more_than_is_told() -> None:
    entry = {"role": "background", "rule": "cmdline:--backup", "pids": [3]}
    end = {"cmdlines": {"5": "tool"}, "role_pids": {"cmdline:--backup": [5]}}
    (rule,) = parse_rules({"roles": [entry], "end": end})
    assert rule.pids == {3, 5}
    (rule,) = parse_rules({"roles": [entry], "end": {"role_pids": "damaged"}})
    assert rule.pids == {3}
