"""Roles after the fact give what recording with them would have given."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rcp.analyzer.cli import main
from rcp.analyzer.db.modules import read_modules
from rcp.analyzer.db.store import open_store
from rcp.analyzer.loading.load import load_spool
from rcp.analyzer.loading.reclassify import reclassify
from rcp.analyzer.loading.role_change import BEFORE, RoleChange
from rcp.fixtures.synth import DEVICE, FDATASYNC, Synth
from rcp.probes.contract.events import LimitedResource, LockType, PolicyKind, WaitReason

Roles = list[tuple[str, str]]
WRITER_FIRST: Roles = [("foreground", "comm:writer"), ("background", "comm:checkpointer")]
SWAPPED: Roles = [("foreground", "comm:checkpointer"), ("background", "comm:writer*")]
BY_TITLE: Roles = [("foreground", "pid:10"), ("background", "cmdline:^pg: check")]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def everything(roles: Roles) -> Synth:
    """One of each record, tids that recur, names that change, losses."""
    titles = {"20": "pg: checkpointer", "10": "pg: joe"}
    synth = Synth(roles, cmdlines=titles, request_points={"65536": "transaction"})
    fg = synth.task("writer", tid=10, target=True, start_ns=5)
    synth.task("fresh", tid=20, start_ns=6, ts=6)
    synth.task("old", tid=20, start_ns=6, ts=8, exited=True)
    bg = synth.task("sh", tid=20, start_ns=500, ts=501)
    synth.task("checkpointer", tid=20, start_ns=500, ts=502, target=True)
    jbd2 = synth.task("jbd2/nvme0n1-8", tid=5, kthread=True)
    synth.exits(30, 600, title="pg: checkpointer, the second")
    synth.first_seen(bg, 600)
    synth.sleep(bg, 100, 200)  # the first thread of tid 20
    for ts in (1000, 5000):
        synth.request(fg, ts, ts + 900, nr=65536)
        synth.request(fg, ts + 100, ts + 800)
        synth.request(bg, ts + 150, ts + 850, nr=FDATASYNC)
        wal = synth.io(bg, ts + 130, ts + 600, issued=ts + 140, ino=7, cgroup_id=3)
        own = synth.io(fg, ts + 120, ts + 610, got=ts + 125, issued=ts + 300)
        log = synth.io(jbd2, ts + 160, ts + 590)
        synth.cause(wal, bg, ino=7, n_pages=3, n_causes=2)
        synth.cause(wal, fg, ino=7, n_causes=2)
        synth.sleep(
            fg,
            ts + 150,
            ts + 600,
            ts + 630,
            io=wal,
            stack=["folio_wait_writeback"],
            ran=bg,
            sent=True,
        )
        synth.sleep(
            fg, ts + 640, ts + 700, waker=jbd2, reason=WaitReason.JOURNAL_COMMIT, owner=jbd2
        )
        synth.sleep(jbd2, ts + 170, ts + 590, io=log, ino=7, dev=DEVICE)
        synth.sleep(
            bg, ts + 200, ts + 610, io=own, reason=WaitReason.FUTEX, obj=9, owner=fg, guessed=True
        )
        synth.preempt(bg, ts + 700, ts + 750, ran=fg, cpu_max=True)
        synth.commit(jbd2, ts + 155, ts + 650, transaction=ts)
        synth.handle(bg, ts, ts + 100, transaction=ts, n=3, blocks=3)
        synth.handle(fg, ts, ts + 90, transaction=ts)
        synth.throttle(bg, ts + 199, dirty=920)
        synth.policy(PolicyKind.IO_HELD, ts + 125, ts + 300, io=own, used=1, limit=1)
        synth.policy(PolicyKind.SLOT_WAIT, ts + 160, ts + 600, tid=jbd2, used=8, limit=8)
        synth.lock_wait(fg, ts + 150, ts + 600, owner=bg, kind=LockType.RWSEM_WRITE, stack=["down"])
    synth.request(fg, 9000, 0)
    synth.sleep(4711, 1, 2, waker=4712)  # never described
    synth.file(7, "wal", "pg")
    synth.cgroup(3, synth.cgroup(1), "pg")
    synth.limit(3, LimitedResource.WRITE_IOS, 100, dev=DEVICE)
    synth.lose("sleep", lost=3)
    return synth


def rows_of(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Every table, but for the name of the spool it came from."""
    with open_store(path) as store:
        found = {m.name: store.query(f"FROM {m.name}") for m in read_modules() if m.is_table}
    found["meta"] = [(key, value) for key, value in found["meta"] if key not in ("spool", BEFORE)]
    return found


Loaded = Callable[[Synth], Path]


@pytest.fixture
def loaded(tmp_path: Path) -> Loaded:
    def of(synth: Synth) -> Path:
        number = len(list(tmp_path.glob("*.spool")))
        target = tmp_path / f"{number}.duckdb"
        load_spool(synth.write(tmp_path / f"{number}.spool"), target)
        return target

    return of


@pytest.mark.parametrize(
    ("before", "after"), [([], WRITER_FIRST), (WRITER_FIRST, SWAPPED), (SWAPPED, BY_TITLE)]
)
def test_reclassified_is_as_if_recorded_so(loaded: Loaded, before: Roles, after: Roles) -> None:
    changed, expected = loaded(everything(before)), loaded(everything(after))
    settings = [word for role, rule in after for word in ("--set", f"{role}={rule}")]
    result = run("roles", changed, *settings)
    assert result.exit_code == 0, result.output
    assert rows_of(changed) == rows_of(expected)
    assert rows_of(expected)["inversion"]


def test_a_store_of_an_older_rcp_knows_less(loaded: Loaded, tmp_path: Path) -> None:
    """It lacks columns and tables."""
    store = loaded(everything(WRITER_FIRST))
    with duckdb.connect(str(store)) as connection:
        later = ("sent_to", "sent_before", "received_from", "sender_utid", "is_one_reader")
        for column in ("has_sent", "n_received", "received_between", *later):
            connection.execute(f"ALTER TABLE sleep DROP COLUMN {column}")
        connection.execute("ALTER TABLE io DROP COLUMN is_swap_out")
        for table in ("cgroup", "cgroup_limit"):
            connection.execute(f"DROP TABLE {table}")
    result = run("roles", store, "--set", "background=comm:writer", "-o", tmp_path / "new.duckdb")
    assert result.exit_code == 0, result.output


def test_profiles_apply_afterwards(loaded: Loaded, tmp_path: Path) -> None:
    synth = Synth(cmdlines={"10": "postgres: joe shop [local] COMMIT", "20": "postgres: walwriter"})
    for tid in (10, 20):
        synth.sleep(synth.task("postgres", tid=tid), 1, 2)
    recording = loaded(synth)
    other = tmp_path / "other.duckdb"
    result = run("roles", recording, "--profile", "postgresql", "-o", other, "--format", "csv")
    assert result.stderr == f"{other} written; read it with `rcp-trace report {other}`.\n"
    role_by_pid = {row["pid"]: row["role"] for row in csv.DictReader(io.StringIO(result.stdout))}
    assert role_by_pid == {"10": "foreground", "20": "background"}
    with open_store(recording) as store:
        assert store.query("SELECT DISTINCT role FROM task WHERE utid > 0") == [("unknown",)]


def test_threads_are_listed_with_what_they_did(loaded: Loaded) -> None:
    synth = Synth(WRITER_FIRST)
    fg, bg = synth.task("writer", target=True), synth.task("checkpointer")
    synth.sleep(fg, 1000, 2000, 2500)
    synth.sleep(fg, 4000, 5000)
    synth.io(bg, 100, 200, size=8192)
    recording = loaded(synth)
    assert run("roles", recording).stdout.splitlines() == [
        "role        rule               name          threads   on cpu  runnable   asleep  ios"
        "  bytes",
        "foreground  comm:writer        writer              1  1.50 µs    500 ns  2.00 µs    0"
        "  0 KiB",
        "background  comm:checkpointer  checkpointer        1     0 ns      0 ns     0 ns    1"
        "  8 KiB",
    ]
    rows = json.loads(run("roles", recording, "--format", "json").stdout)
    assert [(row["comm"], row["cpu_ns"], row["io_bytes"]) for row in rows] == [
        ("writer", 1500, 0),
        ("checkpointer", 0, 8192),
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--set", "vip=comm:x"],
            "bad --set 'vip=comm:x': write foreground=RULE or background=RULE, as in "
            "background=comm:rsync.",
        ),
        (
            ["--set", "background=user:x"],
            "bad --set 'background=user:x': write background=comm:GLOB, pid:N, cgroup:PATH or "
            "cmdline:REGEX.",
        ),
        (
            ["--add", "background=comm"],
            "bad --add 'background=comm': write background=comm:GLOB, pid:N, cgroup:PATH or "
            "cmdline:REGEX.",
        ),
        (
            ["--undo", "--add", "background=comm:x"],
            "--undo takes the last change back: give it alone.",
        ),
        (
            ["--set", "background=cgroup:/db"],
            "the recording has no cgroup /db: write a path of its table `cgroup`, or an id of "
            "`rcp-trace sql FILE 'SELECT DISTINCT cgroup_id, comm FROM task'`.",
        ),
        (
            ["--profile", "oracle"],
            "no profile 'oracle': there are clickhouse, etcd, kafka, mongodb, mysql, postgresql, "
            "redis, rocksdb, sqlite.",
        ),
        (
            ["-o", "y.duckdb"],
            "-o writes a recording with other roles: give them with --add, --set or --profile.",
        ),
    ],
)
def test_what_cannot_be_done_is_told(loaded: Loaded, arguments: list[str], message: str) -> None:
    recording = loaded(Synth())
    before = recording.read_bytes()
    result = run("roles", recording, *arguments)
    assert (result.exit_code, result.stderr) == (2, f"rcp-trace: error: {message}\n")
    assert recording.read_bytes() == before


def test_a_spool_is_loaded_first(tmp_path: Path) -> None:
    spool = Synth().write(tmp_path / "x.spool")
    assert run("roles", spool, "--set", "background=comm:x").stderr == (
        f"rcp-trace: error: {spool} is a spool: load it first with `rcp-trace recover {spool}`.\n"
    )
    assert run("roles", spool).exit_code == 0


def test_a_cmdline_rule_without_command_lines_is_told(loaded: Loaded) -> None:
    result = run("roles", loaded(Synth()), "--profile", "postgresql")
    assert result.stderr.startswith(
        "rcp-trace: warning: the recording has no command lines: cmdline: rules match nothing.\n"
    )


globs = st.sampled_from(["comm:w*", "comm:writer", "comm:check*", "pid:5", "pid:20", "comm:old"])
rules = st.lists(
    st.tuples(st.sampled_from(["foreground", "background"]), globs), max_size=3, unique=True
)
some_rules = rules.filter(bool)


@given(rules, some_rules)
@settings(
    max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_roles_can_become_any_other(loaded: Loaded, before: Roles, after: Roles) -> None:
    after = sorted(after, key=lambda rule: rule[0] != "foreground")
    changed, expected = loaded(everything(before)), loaded(everything(after))
    with open_store(changed) as store:
        change = RoleChange(replaced=[f"{role}={rule}" for role, rule in after])
        reclassify(changed, store, change, changed)
    assert rows_of(changed) == rows_of(expected)


@given(rules, rules, rules)
@settings(
    max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_a_change_of_roles_can_be_undone(
    loaded: Loaded, recorded: Roles, first: Roles, second: Roles
) -> None:
    recording = loaded(everything(recorded))
    states = [rows_of(recording)]
    for option, change in (("--add", first), ("--set", second)):
        words = [word for role, rule in change for word in (option, f"{role}={rule}")]
        if words:
            assert run("roles", recording, *words).exit_code == 0
            states.append(rows_of(recording))
    for state in reversed(states[:-1]):
        assert run("roles", recording, "--undo").exit_code == 0
        assert rows_of(recording) == state
    assert run("roles", recording, "--undo").stderr == (
        "rcp-trace: error: the roles are those of the recording: there is nothing to undo.\n"
    )


def test_an_undo_does_not_offer_to_be_taken_back(loaded: Loaded) -> None:
    recording = loaded(everything(WRITER_FIRST))
    written = f"{recording} written; read it with `rcp-trace report {recording}`"
    undo = f"`rcp-trace roles {recording} --undo` takes it back"
    added = run("roles", recording, "--add", "background=comm:jbd2*")
    assert added.stderr.startswith(f"{written}; {undo}.\n")
    undone = run("roles", recording, "--undo").stderr
    assert undone.startswith(f"{written}.\n") and "--undo" not in undone


def test_an_added_rule_leaves_those_of_the_recording(loaded: Loaded) -> None:
    recording = loaded(everything(WRITER_FIRST))
    run("roles", recording, "--add", "background=comm:jbd2*")
    with open_store(recording) as store:
        assert store.query("SELECT role, rule FROM role_rule WHERE rule LIKE '%:%' ORDER BY 2") == [
            ("background", "comm:checkpointer"),
            ("background", "comm:jbd2*"),
            ("foreground", "comm:writer"),
        ]


def test_reset_returns_to_the_rules_of_the_recording(loaded: Loaded) -> None:
    recording = loaded(everything(WRITER_FIRST))
    before = rows_of(recording)
    run("roles", recording, "--set", "background=comm:writer")
    run("roles", recording, "--add", "foreground=pid:20")
    run("roles", recording, "--reset")
    assert rows_of(recording) == before


def test_a_rule_without_effect_is_a_warning(loaded: Loaded) -> None:
    recording = loaded(everything(WRITER_FIRST))
    told = run(
        *("roles", recording, "--add", "background=comm:backup*", "--add", "background=pid:10")
    )
    assert told.exit_code == 0
    assert told.stderr.splitlines()[:2] == [
        "rcp-trace: warning: background=comm:backup* matches no thread: `rcp-trace roles FILE` "
        "lists those of the recording.",
        "rcp-trace: warning: background=pid:10 decides nothing: foreground=comm:writer comes first "
        "for what it matches.",
    ]


def test_a_rule_that_the_other_role_has_already_is_a_warning(loaded: Loaded) -> None:
    recording = loaded(everything(WRITER_FIRST))
    told = run("roles", recording, "--add", "background=comm:writer")
    assert told.stderr.splitlines()[0] == (
        "rcp-trace: warning: background=comm:writer decides nothing: foreground=comm:writer comes "
        "first for what it matches."
    )
