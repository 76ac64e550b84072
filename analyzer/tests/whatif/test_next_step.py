"""What a report says to try next: the culprit without which requests gain most."""

import json
from collections.abc import Callable

from rcp.analyzer.db.store import Store
from rcp.analyzer.reports.render import report_as, report_text
from rcp.analyzer.reports.report import report
from rcp.analyzer.tests.whatif.worlds import READER, two_culprits, world
from rcp.analyzer.whatif.next_step import NextStep, next_steps
from rcp.fixtures.synth import READ, Synth

Load = Callable[[Synth], Store]


def test_the_largest_gain_comes_first_not_the_most_time(load: Load) -> None:
    # The backup took 10 µs in all, the other 6 µs, but that of the slowest request.
    assert next_steps(load(two_culprits())) == [
        NextStep("other", "read", 10_000, 6000, 6000, 6000),
        NextStep("backup", "read", 10_000, 10_000, 10_000, 10_000),
    ]


def test_a_report_names_the_step_with_the_largest_gain(load: Load) -> None:
    found = report(load(two_culprits()))
    text = " ".join(report_text(found).split())
    assert "try next: without other, read p99 would be 6 µs (6 µs to 6 µs) instead of 10" in text
    assert json.loads(report_as("json", found))["next_steps"][0]["culprit"] == "other"


def test_without_a_culprit_a_report_says_nothing(load: Load) -> None:
    synth = world()
    synth.request(READER, 1000, 2000, nr=READ)
    found = report(load(synth))
    assert found.next_steps == []
    assert "try next" not in report_text(found)
