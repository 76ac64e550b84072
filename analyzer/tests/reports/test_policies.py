"""Decisions of the patched kernel's policies: events in, rows and sentences out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from rcp.analyzer.cli import main
from rcp.analyzer.loading.load import load_spool
from rcp.analyzer.reports import render, report, story
from rcp.fixtures.synth import DEVICE, Synth
from rcp.probes.contract.events import MarkSource, PolicyKind, PolicyLevel, WaitReason

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Ask, Load

MS = 1_000_000
BACKGROUND = [("background", "comm:backup")]


def held_for_token() -> Synth:
    """An fsync whose write waits 47 ms in the scheduler, and a task that is paused beside it."""
    synth = Synth(BACKGROUND)
    fg = synth.task("writer", tid=10, target=True)
    bg = synth.task("backup", tid=20)
    synth.request(fg, 0, 60 * MS)
    io = synth.io(fg, 1 * MS, 55 * MS, got=3 * MS, issued=50 * MS)
    synth.sleep(fg, 2 * MS, 55 * MS, io=io)
    synth.policy(
        PolicyKind.IO_HELD, 3 * MS, 50 * MS, io=io, dev=DEVICE, used=4, limit=4, critical_ns=12 * MS
    )
    synth.policy(
        PolicyKind.IO_STARVED, 40 * MS, 50 * MS, io=io, dev=DEVICE, n_critical=1, n_noncritical=3
    )
    pause = {"tid": bg, "used": 12_000, "limit": 10_000}
    synth.policy(PolicyKind.DIRTY_PAUSE, 5 * MS, 45 * MS, **pause)
    synth.policy(PolicyKind.DIRTY_PAUSE, 46 * MS, 48 * MS, **pause)
    return synth


def test_every_number_of_a_decision_is_a_column(ask: Ask) -> None:
    sql = """
        SELECT kind, comm, io_id, dev, ts, dur, level, n_used, n_allowed, since_critical_dur,
            n_critical, n_noncritical FROM policy_event JOIN task USING (utid)
        ORDER BY policy_event_id LIMIT 3
    """
    assert ask(held_for_token(), sql) == [
        (
            *("io_held", "writer", 1, DEVICE, 3 * MS, 47 * MS, "noncritical"),
            *(4, 4, 12 * MS, None, None),
        ),
        (
            *("io_starved", "writer", 1, DEVICE, 40 * MS, 10 * MS, "noncritical"),
            *(None, None, None, 1, 3),
        ),
        (
            *("dirty_pause", "backup", None, None, 5 * MS, 40 * MS, "noncritical"),
            *(12_000, 10_000, None, None, None),
        ),
    ]


def test_marks_say_who_changed_what(ask: Ask) -> None:
    synth = Synth()
    fg = synth.task("writer", tid=10)
    mark = PolicyKind.MARK
    synth.policy(mark, 1, tid=fg, level=PolicyLevel.CRITICAL, source=MarkSource.PRCTL)
    synth.policy(mark, 2, tid=fg, level=PolicyLevel.NONE, source=MarkSource.PRCTL)
    synth.policy(mark, 3, level=PolicyLevel.NONE, source=MarkSource.FORK)
    best_effort = 2 << 13 | 4
    synth.policy(
        mark, 4, tid=fg, level=PolicyLevel.NONE, source=MarkSource.IOPRIO, ioprio=best_effort
    )
    sql = """
        SELECT event.ts, event.dur, event.utid IS NOT NULL, level, source, ioprio, decision
        FROM policy_event AS event JOIN policy_decision USING (policy_event_id) ORDER BY ALL
    """
    assert ask(synth, sql) == [
        (1, None, True, "critical", "prctl", None, "marked critical by prctl"),
        (2, None, True, "none", "prctl", None, "unmarked by prctl"),
        (3, None, False, "none", "fork", None, "unmarked by fork"),
        (4, None, True, "none", "ioprio", best_effort, "I/O priority set to best-effort"),
    ]


@pytest.mark.parametrize("field", ["kind", "level", "source"])
def test_what_a_newer_kernel_decided_is_shown_without_a_name(tmp_path: Path, field: str) -> None:
    synth = held_for_token()
    codes: dict[str, int] = {
        "kind": PolicyKind.MARK,
        "level": PolicyLevel.CRITICAL,
        "source": MarkSource.FORK,
    }
    codes[field] = 77
    synth.policy(of=codes.pop("kind"), ts=9 * MS, tid=20, **codes)
    spool, trace = synth.write(tmp_path / "x.spool"), tmp_path / "x.perfetto"
    for words in (
        ["report", spool],
        ["report", spool, "--format", "json"],
        ["path", spool, "1"],
        ["export", spool, "--perfetto", "-o", trace],
    ):
        result = CliRunner().invoke(main, [str(word) for word in words])
        assert result.exit_code == 0, result.output
        assert "None" not in result.output
    assert b"None of" not in trace.read_bytes()
    shown = CliRunner().invoke(main, ["report", str(spool)]).output
    rows = [line.split()[:3] for line in shown.splitlines()]
    wanted = ["mark", "background", "critical"]
    if field != "source":
        wanted[["kind", "background", "level"].index(field)] = "?"
    assert wanted in rows


@pytest.mark.parametrize(
    ("kind", "fields", "text"),
    [
        (
            PolicyKind.IO_HELD,
            {"used": 32, "limit": 1, "critical_ns": 900_000},
            "held for a token: 32 of 1 used, critical I/O 900 µs ago",
        ),
        (PolicyKind.IO_HELD, {"used": 1, "limit": 1}, "held for a token: 1 of 1 used"),
        (
            PolicyKind.IO_STARVED,
            {"n_critical": 7},
            "let pass by the starvation timer after 500 ms, before 7 critical ios",
        ),
        (
            PolicyKind.SLOT_WAIT,
            {"used": 16, "limit": 16},
            "16 of 16 non-critical slots used",
        ),
        (
            PolicyKind.SLOT_WAIT,
            {"used": 128, "limit": 128, "level": PolicyLevel.CRITICAL},
            "128 of 128 critical slots used",
        ),
        (
            PolicyKind.SLOT_WAIT,
            {"used": 3, "limit": 3, "level": PolicyLevel.NONE},
            "3 of 3 slots used",
        ),
        (
            PolicyKind.DIRTY_PAUSE,
            {"used": 1_234_567, "limit": 10_000},
            "dirty pages 1,234,567 of 10,000 allowed for non-critical tasks, paused 500 ms",
        ),
    ],
)
def test_a_decision_is_a_sentence(
    ask: Ask, kind: PolicyKind, fields: dict[str, int], text: str
) -> None:
    synth = Synth()
    synth.policy(kind, 0, 500 * MS, **fields)
    assert ask(synth, "SELECT decision FROM policy_decision") == [(text,)]


def test_only_sleeps_within_a_wait_are_the_policys(ask: Ask) -> None:
    synth = Synth()
    fg, other = synth.task("writer", tid=10), synth.task("other", tid=11)
    synth.sleep(fg, 90, 99)
    synth.policy(PolicyKind.DIRTY_PAUSE, 100, 200, tid=fg, used=2, limit=1)
    for ts in (101, 150):  # looked twice
        synth.sleep(fg, ts, ts + 40)
    synth.preempt(fg, 195, 199)
    synth.sleep(fg, 200, 300)  # of its own accord
    synth.sleep(other, 110, 120)
    synth.policy(PolicyKind.SLOT_WAIT, 400, 500, tid=fg, used=1, limit=1)
    synth.sleep(fg, 401, 500)
    synth.policy(PolicyKind.MARK, 600, tid=fg)
    synth.sleep(fg, 600, 700)
    sql = "SELECT kind, policy_event_id, ts, dur FROM policy_wait ORDER BY ts"
    assert ask(synth, sql) == [
        ("dirty_pause", 1, 101, 40),
        ("dirty_pause", 1, 150, 40),
        ("slot_wait", 2, 401, 99),
    ]


def test_a_path_tells_a_decision_beside_what_it_explains(load: Load) -> None:
    texts = [line.text for line in story.request_story(load(held_for_token()), 1)]
    assert (
        "its write of 4 KiB on nvme0n1 waits in the scheduler (queue): held for a token: "
        "4 of 4 used, critical I/O 12 ms ago; "
        "let pass by the starvation timer after 10 ms, before 1 critical io"
    ) in texts
    assert "its write of 4 KiB on nvme0n1 is at the device" in texts


def waiting() -> Synth:
    """A request that waits for a slot, and then for fewer dirty pages."""
    synth = Synth()
    fg = synth.task("writer", tid=10, target=True)
    synth.request(fg, 0, 100 * MS)
    synth.policy(PolicyKind.SLOT_WAIT, 9 * MS, 31 * MS, tid=fg, used=16, limit=16)
    frames = ["io_schedule", "rq_qos_wait", "rcp_slots_throttle", "__rq_qos_throttle"]
    synth.sleep(fg, 10 * MS, 30 * MS, stack=frames)
    synth.policy(PolicyKind.DIRTY_PAUSE, 49 * MS, 91 * MS, tid=fg, used=120, limit=100)
    synth.sleep(fg, 50 * MS, 90 * MS, reason=WaitReason.DIRTY_THROTTLE)
    return synth


def test_a_wait_that_a_policy_made_is_told_with_its_numbers(load: Load) -> None:
    texts = [line.text for line in story.request_story(load(waiting()), 1)]
    assert (
        "writer waits: admission_slot by rcp: 16 of 16 non-critical slots used, "
        "until woken by an interrupt"
    ) in texts
    assert (
        "writer waits: dirty_throttle by rcp: dirty pages 120 of 100 allowed for non-critical "
        "tasks, paused 42 ms, until woken by an interrupt"
    ) in texts


def test_path_as_json_has_the_decision_of_each_segment(tmp_path: Path) -> None:
    load_spool(waiting().write(tmp_path / "x.spool"), tmp_path / "x.duckdb")
    words = ["path", str(tmp_path / "x.duckdb"), "1", "--format", "json"]
    rows = json.loads(CliRunner().invoke(main, words).stdout)
    decisions = {row["offset_ns"]: row["decision"] for row in rows if row["decision"]}
    assert decisions == {
        10 * MS: "16 of 16 non-critical slots used",
        50 * MS: "dirty pages 120 of 100 allowed for non-critical tasks, paused 42 ms",
    }


def test_the_report_adds_decisions_up(load: Load) -> None:
    text = render.report_text(report.report(load(held_for_token())))
    section = text.partition("Decisions of the kernel's policies\n")[2].partition("\n\n")[0]
    assert section == (
        "  decision     about       class        count    total      max  requests  they waited\n"
        "  io_held      foreground  noncritical      1  47.0 ms  47.0 ms         1      47.0 ms\n"
        "  dirty_pause  background  noncritical      2  42.0 ms  40.0 ms         0         0 ns\n"
        "  io_starved   foreground  noncritical      1  10.0 ms  10.0 ms         1      47.0 ms"
    )


def test_a_decision_that_two_requests_felt_counts_for_both(ask: Ask) -> None:
    synth = Synth()
    bg = synth.task("backup", tid=20)
    io = synth.io(bg, 0, 90 * MS, got=1 * MS, issued=80 * MS)
    synth.policy(PolicyKind.IO_HELD, 1 * MS, 80 * MS, io=io, used=1, limit=1)
    for tid, ts in ((10, 20 * MS), (11, 30 * MS)):
        fg = synth.task("writer", tid=tid, target=True)
        synth.request(fg, ts, 95 * MS)
        synth.sleep(fg, ts, 90 * MS, io=io)
    sql = "SELECT kind, role, n, dur, n_requests, foreground_dur FROM policy_by_kind"
    assert ask(synth, sql) == [("io_held", "unknown", 1, 79 * MS, 2, (60 + 50) * MS)]


def test_without_decisions_nobody_hears_of_policies(load: Load) -> None:
    synth = Synth()
    synth.request(synth.task("writer", target=True), 100, 200)
    found = report.report(load(synth))
    assert found.policies == []
    assert "policies" not in render.report_text(found)
    assert json.loads(render.report_as("json", found))["policies"] == []
