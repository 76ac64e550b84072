"""The recorder on the patched kernel: every decision is recorded, and the kernel is its witness."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("guest_policies.py")
TRACE = Path(sys.executable).with_name("rcp-trace")

pytestmark = [pytest.mark.lab, pytest.mark.kernel, pytest.mark.usefixtures("lab")]


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """What one boot with guest_policies.py left, its recording loaded."""
    folder = tmp_path_factory.mktemp("policies") / "out"
    options = ["--timing", "--kernel", "rcp", "--module", "rcpdisk", "--out", str(folder)]
    options += ["--input", str(SCRIPT), "--timeout", "3600"]
    command = [sys.executable, "-m", "rcp.lab", "run", *options]
    command += ["--", "python3 $RCP_LAB_IN/inputs/guest_policies.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    load = [TRACE, "recover", folder / "policies.spool", "-o", folder / "policies.duckdb"]
    subprocess.run(load, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def seen(out):
    return json.loads((out / "policies.json").read_text())


@pytest.fixture(scope="module")
def ask(out):
    def rows(sql):
        command = [TRACE, "sql", out / "policies.duckdb", sql, "--format", "json"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return json.loads(done.stdout)

    return rows


def test_the_kernel_has_nothing_to_complain_about(seen):
    assert seen["status"] == 0
    assert "none lost" in seen["stderr"]
    assert seen["warnings"] == []


def test_as_many_decisions_are_recorded_as_the_kernel_counted(seen, ask):
    (counts,) = ask("""
        SELECT count(*) FILTER (kind = 'io_starved') AS starve,
            count(*) FILTER (kind = 'slot_wait') AS throttle_slot,
            count(*) FILTER (kind = 'dirty_pause') AS throttle_dirty,
            count(*) FILTER (kind = 'mark' AND source = 'prctl') AS marked
        FROM policy_event
    """)
    # the recorder waits as others do, and is not recorded
    ((excluded,),) = [
        row.values()
        for row in ask("SELECT sum(excluded)::INT FROM loss WHERE probe = 'policy_event'")
    ]
    stats = {name: seen["stats"][name] for name in counts}
    assert min(stats.values()) > 0
    assert sum(stats.values()) - excluded == sum(counts.values())
    assert all(stats[name] - excluded <= counts[name] <= stats[name] for name in counts)


def test_what_was_held_is_what_stood_behind_another_at_the_device(seen, ask):
    """With one token an io is held if another was at the device after it came, and before it went.

    The times are those of the block layer's tracepoints, which know nothing of tokens.
    """
    # So close to the end of another it may have come before or after the token.
    unclear_ns = 20_000
    told = ask(f"""
        WITH plain AS (
            SELECT io.* FROM io JOIN task ON utid = submitter_utid
            WHERE comm = 'plain' AND completed_ns < {seen["held_until_ns"]}
        )
        SELECT io.io_id, count(policy_event_id) AS held,
            coalesce((
                SELECT max(other.completed_ns) FROM plain AS other
                WHERE other.io_id <> io.io_id AND other.issued_ns < io.issued_ns
            ), 0) - io.inserted_ns AS behind_ns
        FROM plain AS io LEFT JOIN policy_event ON policy_event.io_id = io.io_id
            AND policy_event.kind = 'io_held'
        GROUP BY io.io_id, io.issued_ns, io.inserted_ns
    """)
    assert len(told) == 4 * 13
    clear = [row for row in told if abs(row["behind_ns"]) > unclear_ns]
    assert len(clear) > 40
    assert [row for row in clear if row["held"] != (row["behind_ns"] > 0)] == []
    assert sum(row["held"] for row in clear) > 20


def test_the_numbers_are_those_the_knobs_say(seen, ask):
    limits = ask(f"""
        SELECT kind, level, min(n_allowed) AS least, max(n_allowed) AS most,
            min(n_used - n_allowed) AS over, max(dur) < 1e9 AS short
        FROM policy_event WHERE n_allowed IS NOT NULL AND ts < {seen["limits_until_ns"]}
        GROUP BY ALL ORDER BY kind
    """)
    told = {row.pop("kind"): row for row in limits}
    level = {"level": "noncritical", "short": True}
    assert told["io_held"] == {**level, "least": 1, "most": 1, "over": 0}
    assert told["slot_wait"] == {**level, "least": 2, "most": 2, "over": 0}
    assert told["dirty_pause"].pop("over") > 0
    pages = 1024 // 4
    assert told["dirty_pause"] == {**level, "least": pages, "most": pages}


def test_a_wait_of_a_task_is_the_sleeps_within_it(ask):
    """The kernel told how long a wait took; the scheduler's events tell how long it slept."""
    rows = ask("""
        SELECT policy_event.kind, policy_event.dur, sum(policy_wait.dur)::BIGINT AS asleep
        FROM policy_event JOIN policy_wait USING (policy_event_id)
        GROUP BY policy_event_id, policy_event.kind, policy_event.dur
    """)
    assert {row["kind"] for row in rows} == {"slot_wait", "dirty_pause"}
    for row in rows:
        assert 0 < row["asleep"] <= row["dur"], row


def test_marks_name_who_was_marked_and_by_what(seen, ask):
    rows = ask(f"""
        SELECT source, level, ioprio, tid = {seen["marked_tid"]} AS own
        FROM policy_event LEFT JOIN task USING (utid)
        WHERE kind = 'mark' AND coalesce(NOT is_kthread, true) ORDER BY policy_event_id
    """)
    own = [(row["source"], row["level"]) for row in rows if row["own"]]
    assert own == [
        *(("prctl", "critical"), ("prctl", "noncritical"), ("prctl", "critical")),
        ("prctl", "none"),
    ]
    # The mark that fork took away was the child's, not its parent's.
    assert [bool(row["own"]) for row in rows if row["source"] == "fork"] == [False]
    realtime = 1 << 13 | 3
    assert [row["ioprio"] for row in rows if row["source"] == "ioprio"] == [realtime]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("io_held", "waits in the scheduler (queue): held for a token: 1 of 1 used"),
        ("io_starved", "let pass by the starvation timer after"),
        ("slot_wait", "plain waits: admission_slot by rcp: 2 of 2 non-critical slots used"),
        ("dirty_pause", "plain waits: dirty_throttle by rcp: dirty pages"),
    ],
)
def test_a_path_tells_each_decision_where_it_took_effect(out, ask, kind, words):
    ((request,),) = [
        row.values()
        for row in ask(
            f"SELECT request_id FROM request_policy WHERE kind = '{kind}' ORDER BY dur DESC LIMIT 1"
        )
    ]
    command = [TRACE, "path", out / "policies.duckdb", str(request)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert words in " ".join(done.stdout.split()), done.stdout


def test_the_report_adds_them_up(seen, out):
    command = [TRACE, "report", out / "policies.duckdb"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    section = done.stdout.partition("Decisions of the kernel's policies\n")[2]
    rows = {line.split()[0]: line.split() for line in section.splitlines() if line.strip()}
    assert rows["io_starved"][1:3] == ["foreground", "noncritical"]
    assert rows["io_starved"][3] == str(seen["stats"]["starve"])


def test_as_much_is_recorded_as_inherited_as_the_kernel_counted(seen, ask):
    (counts,) = ask("""
        SELECT count(*) FILTER (kind = 'loan') AS loan,
            count(*) FILTER (kind = 'promotion') AS promote_queued
        FROM inheritance
    """)
    assert min(counts.values()) > 0
    assert counts == {name: seen["stats"][name] for name in counts}


def test_who_waits_for_a_commit_boosts_the_journals_thread(ask):
    rows = ask("""
        SELECT waiter.comm AS waiter, helper.comm AS helper, sleep.reason, count(*) AS n
        FROM inheritance
        LEFT JOIN loan_wait USING (inheritance_id)
        LEFT JOIN sleep USING (sleep_id)
        JOIN task AS waiter ON waiter.utid = inheritance.utid
        JOIN task AS helper ON helper.utid = inheritance.helper_utid
        WHERE inheritance.kind = 'loan' AND inheritance.mechanism = 'commit'
        GROUP BY ALL
        ORDER BY n DESC
    """)
    assert {row["waiter"] for row in rows} <= {"critical", "sync"}
    assert all(row["helper"].startswith("jbd2/rcpd0") for row in rows)
    # A commit may have ended before the task could sleep.
    assert rows[0]["reason"] == "journal_commit"
    assert rows[0]["n"] >= 0.8 * sum(row["n"] for row in rows)


def test_a_promoted_io_was_in_the_queue_as_long_as_the_kernel_says(ask):
    """The block layer's own tracepoints tell when it got there."""
    rows = ask("""
        SELECT inheritance.ts - coalesce(inserted_ns, got_ns) - queued_dur AS differs,
            issued_ns >= inheritance.ts AS before
        FROM inheritance
        JOIN io USING (io_id)
        WHERE inheritance.kind = 'promotion'
    """)
    assert len(rows) > 10
    assert all(row["before"] for row in rows)
    assert all(abs(row["differs"]) < 200_000 for row in rows)
