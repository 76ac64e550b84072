"""usage: shifts.py PAGE PYTEST_OPTION…: run tests of the lab under five shifts; write PAGE.

A shift (`rcp-lab run --shift`, 0 to 4) deals the same work other interleavings: a test of the lab
must hold under each. A shift whose tests ended at this commit, in this guest, with these options is
not run again, so an interrupted run goes on. Exit status: 1 if a test did not hold or was skipped;
pytest's own, without a page, if it could not run the tests.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from pathlib import Path

from lab_tests import FAILED, pytest

SHIFTS = range(5)
BUILD = Path("build/shifts")

HEAD = """# Tests of the lab under five interleavings

Made by `make test-shifts` at {commit}. Each test that boots the lab ran under `rcp-lab run --shift`
0 to 4: the same work, begun N × 137 µs later and with N more pages in use
(docs/decisions/shifted-runs.md says why). A guest in virtual time, on simulated disks, gives the
same result under a shift each time, while nothing in it changes. Few guests run in the host's time.

"""

Outcomes = Mapping[str, str]
"""Outcome by test: "", or "failed" or "skipped"."""


def commit() -> str:
    """Return the short name of the commit that is checked out, and whether files differ from it."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=10", "--exclude=*"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def guest() -> str:
    """Return what `rcp-lab setup` says of the guest: its image has a key of its packages."""
    command = [sys.executable, "-m", "rcp.lab", "setup"]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def outcomes(report: Path) -> dict[str, str]:
    """Return what pytest's XML says of each test."""
    found: dict[str, str] = {}
    for case in ET.parse(report).iter("testcase"):
        # Parts of a test (setup, call) that failed are cases of their own.
        name = f"{case.get('classname', '')}::{case.get('name', '')}"
        seen = {part.tag for part in case}
        skipped = "skipped" if "skipped" in seen else ""
        found[name] = "failed" if seen & {"failure", "error"} else found.get(name, "") or skipped
    return found


def play(shift: int, at: str, options: Sequence[str]) -> Path:
    """Run the tests under a shift unless that was done with all the same; return pytest's XML.

    *at* names the guest and the commit. Exits with pytest's status if that is no verdict on tests.
    """
    key = hashlib.sha256("\0".join([at, *options]).encode()).hexdigest()[:12]
    report = BUILD / f"{key}-{shift}.xml"
    if at.endswith("-dirty") or not report.exists():
        unfinished = report.with_suffix(".part")
        print(f"==> shift {shift}", flush=True)
        status = pytest(f"--junitxml={unfinished}", *options, shift=shift)
        if status not in (0, FAILED):
            sys.exit(status)
        unfinished.rename(report)
    return report


def tests_of(by_shift: Mapping[int, Outcomes]) -> list[str]:
    """Return the tests that ran under any shift."""
    return sorted({test for seen in by_shift.values() for test in seen})


def amiss(by_shift: Mapping[int, Outcomes]) -> list[str]:
    """Return the tests that did not hold, or did not run, under each shift."""
    return [
        test
        for test in tests_of(by_shift)
        if any(seen.get(test) != "" for seen in by_shift.values())
    ]


def verdict(by_shift: Mapping[int, Outcomes]) -> str:
    """Return how many tests held."""
    n_tests = len(tests_of(by_shift))
    return f"{n_tests - len(amiss(by_shift))} of {n_tests} tests held under every shift"


def head_of(what: str, shifts: Sequence[int]) -> list[str]:
    """Return the first two lines of a table with a column for each shift."""
    columns = " | ".join(f"shift {n}" for n in shifts)
    return [f"| {what} | {columns} |", "|---|" + "--:|" * len(shifts)]


def page(at: str, by_shift: Mapping[int, Outcomes]) -> str:
    """Return the page: a row for each file, then each test that did not hold."""
    shifts = sorted(by_shift)
    lines = head_of("file", shifts)
    tests = tests_of(by_shift)
    for file in dict.fromkeys(test.partition("::")[0] for test in tests):
        of = [test for test in tests if test.partition("::")[0] == file]
        cells = [f"{sum(by_shift[n].get(test) == '' for test in of)} of {len(of)}" for n in shifts]
        lines.append(f"| `{file}` | {' | '.join(cells)} |")
    named = amiss(by_shift)
    if named:
        lines += ["", *head_of("test", shifts)]
    for test in named:
        cells = [by_shift[n].get(test, "not run") or "held" for n in shifts]
        lines.append(f"| `{test}` | {' | '.join(cells)} |")
    return HEAD.format(commit=at) + "\n".join([*lines, "", verdict(by_shift) + ".", ""])


def main(target: str, *options: str) -> int:
    """See the head of this file."""
    BUILD.mkdir(parents=True, exist_ok=True)
    at = commit()
    with_guest = f"{guest()} {at}"
    by_shift = {n: outcomes(play(n, with_guest, options)) for n in SHIFTS}
    Path(target).write_text(page(at, by_shift))
    print(f"{target} written: {verdict(by_shift)}")
    return int(bool(amiss(by_shift)))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
