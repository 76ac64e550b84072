"""usage: lab_tests.py PYTEST_OPTION…: run tests of the lab; boot once more, shifted, what fails.

A run in virtual time repeats to the digit, so booting it again proves nothing. A shift
(`rcp-lab run --shift`) deals the same work other interleavings. What passes then is named and does
not fail the job: it depends on an interleaving, which is a fault of the test or of rcp that wants
mending. More than two such tests fail the job; a boot that failed, and many tests with it, is one.

Exit status: pytest's; 0 if at most two failed and passed under the other shift.
"""

import json
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path

BUILD = Path("build")
CACHE = BUILD / "lab-tests-cache"
NAMED = BUILD / "passed-only-shifted.txt"
REPORT = BUILD / "lab-tests.xml"
FAILED = 1  # pytest's exit status when tests failed; others are no verdict on a test
AGAIN_MAX = 2
IN_ORDER = "test_wheel.py::"  # each of them uses what those before it wrote: none runs alone


def pytest(*options: str, shift: int | None = None) -> int:
    """Run pytest with a cache of its own; return its exit status."""
    environment = dict(os.environ)
    if shift is not None:
        environment["RCP_LAB_SHIFT"] = str(shift)
    command = [sys.executable, "-m", "pytest", "-o", f"cache_dir={CACHE.resolve()}", *options]
    return subprocess.run(command, env=environment, check=False).returncode


def failed() -> list[str]:
    """Return the tests that failed in the last run."""
    path = CACHE / "v/cache/lastfailed"
    return sorted(json.loads(path.read_text())) if path.exists() else []


def n_faults(report: Path) -> int:
    """Return how many failed, from pytest's XML: a fixture that several tests share counts once."""
    found = set()
    for number, case in enumerate(ET.parse(report).iter("testcase")):
        found |= {number for _ in case.iter("failure")}
        found |= {(part.get("message"), part.text) for part in case.iter("error")}
    return len(found)


def main(options: Sequence[str]) -> int:
    """See the head of this file."""
    for path in (CACHE, NAMED, REPORT):
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    BUILD.mkdir(exist_ok=True)
    status = pytest(f"--junitxml={REPORT}", *options)
    tests = failed()
    if status != FAILED or not tests or any(IN_ORDER in test for test in tests):
        return status
    n_failed = n_faults(REPORT)
    if n_failed > AGAIN_MAX:
        print(f"{n_failed} tests or boots of the lab failed: too many to blame interleavings")
        return status
    shift = int(os.environ.get("RCP_LAB_SHIFT") or 0) + 1
    print(f"==> once more with --shift {shift}: {', '.join(tests)}", flush=True)
    status = pytest("--last-failed", "--last-failed-no-failures=none", *options, shift=shift)
    if status == 0:
        line = f"{len(tests)} passed only under another shift: {', '.join(tests)}"
        NAMED.write_text(f"{line}\n")
        print(line)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
