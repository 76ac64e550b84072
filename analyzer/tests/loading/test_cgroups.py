"""The cgroups of a recording as tables, and read from these again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from rcp.analyzer.cli import main
from rcp.analyzer.db.store import open_store
from rcp.analyzer.loading.load import load_spool
from rcp.fixtures.synth import DEVICE, Synth
from rcp.probes.contract.events import LimitedResource

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Ask

POD, DATABASE = 20, 21


def pods() -> Synth:
    synth = Synth()
    synth.cgroup(1)
    synth.cgroup(POD, 1, "pod")
    synth.cgroup(DATABASE, POD, "database")
    synth.limit(POD, LimitedResource.CPU, 20_000_000, period_us=100_000)
    synth.limit(DATABASE, LimitedResource.WRITE_IOS, 200, dev=DEVICE, ts=2)
    synth.limit(DATABASE, LimitedResource.WRITE_IOS, 0, dev=DEVICE, ts=3)
    return synth


def test_cgroups_have_their_paths(ask: Ask) -> None:
    rows = ask(pods(), "SELECT cgroup_id, parent_id, path FROM cgroup ORDER BY 1")
    assert rows == [(1, None, "/"), (POD, 1, "/pod"), (DATABASE, POD, "/pod/database")]


def test_of_a_cgroup_whose_parents_are_lost_the_path_says_so(ask: Ask) -> None:
    synth = Synth()
    synth.cgroup(DATABASE, POD, "database")
    assert ask(synth, "SELECT path FROM cgroup") == [("…/database",)]


def test_limits_say_what_they_are_of(ask: Ask) -> None:
    rows = ask(pods(), "SELECT * EXCLUDE ts FROM cgroup_limit ORDER BY ts")
    assert rows == [
        (POD, "cpu", None, 20_000_000, 100_000),
        (DATABASE, "write_ios", DEVICE, 200, 1_000_000),
        (DATABASE, "write_ios", DEVICE, None, 1_000_000),
    ]


def roles_of(path: Path) -> dict[str, str]:
    with open_store(path) as store:
        return dict(store.query("SELECT comm, role FROM task WHERE utid > 0"))


def members() -> Synth:
    """Three tasks: in the pod, in the database below it, and elsewhere."""
    synth = pods()
    synth.cgroup(30, 1, "other")
    for name, cgroup in (("init", POD), ("postgres", DATABASE), ("rsync", 30)):
        synth.sleep(synth.task(name, cgroup_id=cgroup), 1, 2)
    return synth


def test_a_rule_for_a_cgroup_holds_for_those_below(tmp_path: Path) -> None:
    synth = members()
    synth.meta["roles"] = [{"role": "background", "rule": "cgroup:/pod", "cgroup_id": POD}]
    path = tmp_path / "x.duckdb"
    load_spool(synth.write(tmp_path / "x.spool"), path)
    assert roles_of(path) == {"init": "background", "postgres": "background", "rsync": "unknown"}


@pytest.mark.parametrize("spelled", ["/pod/database", "pod/database/", f"{DATABASE}"])
def test_of_a_cgroup_and_one_above_the_rule_for_the_one_below_counts(
    tmp_path: Path, spelled: str
) -> None:
    path = tmp_path / "x.duckdb"
    load_spool(members().write(tmp_path / "x.spool"), path)
    rules = ("--set", "foreground=cgroup:/pod", "--set", f"background=cgroup:{spelled}")
    result = CliRunner().invoke(main, ["roles", str(path), *rules])
    assert result.exit_code == 0, result.output
    assert roles_of(path) == {"init": "foreground", "postgres": "background", "rsync": "unknown"}


def test_a_cgroup_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.duckdb"
    load_spool(members().write(tmp_path / "x.spool"), path)
    result = CliRunner().invoke(main, ["roles", str(path), "--set", "background=cgroup:/x"])
    assert result.exit_code == 2
    assert result.stderr == (
        "rcp-trace: error: the recording has no cgroup /x: write a path of its table `cgroup`, or "
        "an id of `rcp-trace sql FILE 'SELECT DISTINCT cgroup_id, comm FROM task'`.\n"
    )


def test_a_service_that_is_started_again_has_the_same_path(tmp_path: Path) -> None:
    """The recorder has resolved the rule's path to the first one."""
    synth = members()
    synth.cgroup(31, 1, "other")
    synth.sleep(synth.task("again", cgroup_id=31), 1, 2)
    synth.meta["roles"] = [{"role": "background", "rule": "cgroup:other", "cgroup_id": 30}]
    path = tmp_path / "x.duckdb"
    load_spool(synth.write(tmp_path / "x.spool"), path)
    found = roles_of(path)
    assert (found["rsync"], found["again"]) == ("background", "background")


def test_a_cgroup_of_a_damaged_recording_may_be_anything(ask: Ask) -> None:
    synth = Synth()
    synth.cgroup((1 << 64) - 1, (1 << 63) + 1, "x")
    assert ask(synth, "SELECT path FROM cgroup") == [("…/x",)]
