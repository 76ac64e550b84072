"""The report of a part of a recording: its patterns have the numbers of the whole."""

from pathlib import Path

import pytest

from rcp.analyzer.db.part import part_of
from rcp.analyzer.loading.load import load_in_memory
from rcp.analyzer.loading.opening import open_recording
from rcp.analyzer.reports.render import report_text
from rcp.analyzer.reports.report import Pattern, patterns, report
from rcp.analyzer.selection import Wanted, select
from rcp.analyzer.tests.whatif.worlds import two_culprits

RECORDINGS = Path(__file__).parents[3] / "fixtures/recordings"


def shape(pattern: Pattern) -> tuple[str, ...]:
    return (pattern.kind, pattern.culprit, pattern.role, pattern.role_rule, pattern.chain)


@pytest.mark.parametrize("path", sorted(RECORDINGS.glob("*.spool.tar.xz")), ids=lambda at: at.stem)
def test_patterns_of_a_part_have_the_numbers_of_the_whole(path: Path) -> None:
    with open_recording(path) as store:
        whole = {shape(one): one.rank for one in patterns(store)}
        for n in (1, 5, 40):
            chosen = select(store, Wanted(slowest=n))
            with part_of(store, chosen.request_ids) as part:
                found = patterns(part)
            costs = [one.total_ns for one in found]
            assert costs == sorted(costs, reverse=True)
            for one in found:
                assert whole[shape(one)] == one.rank


def test_without_counts_losses_are_not_known(tmp_path: Path) -> None:
    spool = two_culprits().write(tmp_path / "x.spool")
    with load_in_memory(spool) as store:
        assert "Losses\n  none" in report_text(report(store))
    (spool / "counters.json").unlink()
    with load_in_memory(spool) as store:
        assert "Losses\n  not known: the counts are missing" in report_text(report(store))
