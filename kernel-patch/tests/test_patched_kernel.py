"""The patched kernel: style of the patches, their unit tests, rcp's own probes on it."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rcp.lab import cache, debian, kernel, series
from rcp.lab.sources import find_checkout

pytestmark = [pytest.mark.lab, pytest.mark.kernel, pytest.mark.usefixtures("lab")]

CHECKOUT = find_checkout(Path(__file__).parent)
PATCHES = [
    patch
    for folder in ("patches", "upstream")
    for patch in series.patches(CHECKOUT / "kernel-patch" / folder)
]


def _run(out: Path, *args: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "rcp.lab", "run", "--out", str(out)]
    return subprocess.run([*command, *args], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("patch", PATCHES, ids=lambda path: path.name)
def test_checkpatch_is_content(patch):
    entry = cache.find(kernel.builder_name(kernel.recipe(CHECKOUT, "rcp").base))
    if entry is None:
        pytest.skip("the kernel's source is not cached: run rcp-lab build --kernel rcp")
    copy = entry / "tree/work/checked.patch"
    copy.write_bytes(patch.read_bytes())
    # MAINTAINERS is not ours to change, and trace events have a form of their own. A macro that
    # makes a function of a name has to use the name more than once.
    script = (
        "cd /work/source && scripts/checkpatch.pl --strict --max-line-length=100 "
        "--ignore FILE_PATH_CHANGES,PARENTHESIS_ALIGNMENT,OPEN_ENDED_LINE,MACRO_ARG_REUSE "
        "/work/checked.patch"
    )
    done = subprocess.run(
        debian.inside(entry / "tree", script), capture_output=True, text=True, check=False
    )
    assert "total: 0 errors, 0 warnings, 0 checks" in done.stderr, done.stderr


@pytest.mark.smoke
@pytest.mark.parametrize(("suite", "n_cases"), [("rcpdisk", 23), ("rcp", 19), ("rcp-inherit", 22)])
def test_unit_tests_pass_inside_the_kernel(tmp_path, suite, n_cases):
    done = _run(
        tmp_path / "out",
        *("--timing", "--kernel", "rcp", "--timeout", "3600", "--"),
        f"modprobe {suite.replace('-', '_')}_test && cat /sys/kernel/debug/kunit/{suite}/results",
    )
    assert done.returncode == 0, done.stderr
    results = re.findall(r"^\s+(ok|not ok) \d+ (\w+)", done.stdout, re.MULTILINE)
    assert len(results) == n_cases, done.stdout
    assert [name for verdict, name in results if verdict != "ok"] == []


def test_block_layer_does_what_its_tests_expect(tmp_path):
    done = _run(tmp_path / "out", "--timing", "--kernel", "rcp", "blocktests")
    assert done.returncode == 0, done.stdout


def test_cpus_come_and_go_while_it_works(tmp_path):
    # Functional mode has a second CPU, which the test takes away and gives back.
    arguments = ("--kernel", "rcp", "-e", "TESTS=t09_turmoil t10_flushes", "blocktests")
    done = _run(tmp_path / "out", "--functional", *arguments)
    assert done.returncode == 0, done.stdout


def test_recorder_works_on_the_patched_kernel(tmp_path):
    out = tmp_path / "out"
    done = _run(
        out,
        *("--timing", "--kernel", "rcp", "--timeout", "3600", "-e", "RUNS=with-background"),
        *("-e", "REQUESTS=500", "wal-vs-checkpoint"),
    )
    assert done.returncode == 0, done.stderr
    told = json.loads((out / "result.json").read_text())
    assert told["kernel"].endswith("-rcp")
    store = tmp_path / "x.duckdb"
    trace = Path(sys.executable).with_name("rcp-trace")
    spool = out / "with-background.spool"
    subprocess.run([trace, "recover", spool, "-o", store], check=True, capture_output=True)
    report = subprocess.run([trace, "report", store], check=True, capture_output=True, text=True)
    assert "by checkpointer" in report.stdout
    assert "journal_commit" in report.stdout
