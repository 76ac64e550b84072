"""What a report says of threads that changed their names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rcp.analyzer.reports.report import changes
from rcp.fixtures.synth import Synth

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Load

MS = 1_000_000


def test_a_report_says_when_a_role_changed(load: Load) -> None:
    synth = Synth([("foreground", "comm:fg*"), ("background", "comm:bg*")])
    synth.task("fg-server", 5, ts=MS)
    synth.request(5, 100 * MS, 200 * MS)
    for child in range(20, 25):
        synth.task("fg-server", child, ts=110 * MS)
        synth.task("bg-cp", child, ts=160 * MS + child)
        synth.task("bg-rm", child, ts=170 * MS + child)
    first, *_, more, rest = changes(load(synth))
    assert (
        first == "bg-cp (tid 20): foreground until +0.06 s, then background; its name was fg-server"
    )
    assert more == "2 more changes of role: view task_change"
    assert rest == "5 changes of name or cgroup that left the role as it was"


def test_a_change_of_the_cgroup_is_told(load: Load) -> None:
    synth = Synth()
    synth.meta["roles"] = [{"role": "background", "rule": "cgroup:/batch", "cgroup_id": 42}]
    synth.task("backup", 5, ts=MS)
    synth.request(5, 100 * MS, 200 * MS)
    synth.task("backup", 5, ts=150 * MS, cgroup_id=42)
    assert changes(load(synth)) == [
        "backup (tid 5): unknown until +0.05 s, then background; its cgroup changed"
    ]
