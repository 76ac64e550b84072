"""Fixtures and rules for every test folder."""

import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import hypothesis
import pytest
from hypothesis.internal.conjecture import providers

ROOT = Path(__file__).parent

# Threads for a matrix, as many as there are CPUs in each worker, mostly wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
SHARING_RECORDER_LAB = {
    f"probes/tests/lab/test_lab_{name}.py" for name in ("causes", "points", "recorder", "waits")
}

# Deadlines are of the wall clock, and that a host is busy is no fault of ours.
# A gate's verdict is of the commit, not of the day: where skips are failures, so in CI, examples
# are the same for the same test. Elsewhere they are new each time, and find what is left.
REQUIRED = os.environ.get("RCP_REQUIRE") == "1"
hypothesis.settings.register_profile(
    "rcp",
    deadline=None,
    derandomize=REQUIRED,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("rcp")
if REQUIRED:
    # Examples also come from constants in whatever modules the tests before had imported.
    assert callable(providers._get_local_constants)
    providers._get_local_constants = lambda: providers._local_constants


def _unsynced(fd: Any) -> None:
    """Do as os.fsync but for the disk, which took a tenth of the tests' time.

    What a test writes need not outlive the machine, and no test can see whether it would.
    """
    os.fstat(fd if isinstance(fd, int) else fd.fileno())


def pytest_configure() -> None:
    """Take signals as they usually are: what a job in the background ignores, its programs would.

    Shells have such a job ignore SIGINT, nohup SIGHUP; tests send both to programs they start.
    """
    os.fsync = _unsynced
    usual: dict[signal.Signals, Any] = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGHUP: signal.SIG_DFL,
    }
    for number, handler in usual.items():
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)
    for name in ("COLUMNS", "LINES"):
        # Text would be laid out for a terminal. readline, which pytest imports, sets them for the
        # commands that a test starts, unseen by os.environ.
        os.environ.pop(name, None)
        os.unsetenv(name)


@pytest.fixture(autouse=True)
def _signals_as_before() -> Iterator[None]:
    """Take back the handlers of a program that a test ran in its own process."""
    before = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        if signal.getsignal(number) != handler:
            signal.signal(number, handler)


@pytest.fixture(autouse=True)
def _help_options_as_before() -> Iterator[None]:
    """Forget the help options that a test had click make.

    click makes a command's help option once, with the names that the first context gives it. A
    test that parses a command's words without its program would leave it, for the next test of
    the same worker, without the program's ``-h``.
    """
    asked: set[click.Command] = set()
    ask = click.Command.get_help_option

    def note(command: click.Command, ctx: click.Context) -> click.Option | None:
        asked.add(command)
        return ask(command, ctx)

    # Not the test's own monkeypatch, which would then be undone after its other fixtures.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(click.Command, "get_help_option", note)
        yield
    for command in asked:
        command._help_option = None


@pytest.fixture
def fixtures_dir() -> Path:
    return ROOT / "fixtures"


@pytest.fixture
def small_files(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No file may grow over 50 bytes, as on a disk that is full."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    # Python would keep what it compiles for an import, cut at the limit, and not notice.
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.fixture(scope="session")
def lab() -> None:
    """The lab, its guest built before any test's own time limit starts to count; or a skip."""
    for program in ("qemu-system-x86_64", "mmdebstrap", "mke2fs"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed: run `make setup`")
    subprocess.run([sys.executable, "-m", "rcp.lab", "setup"], check=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put what boots machines first: started last, it would leave the other workers idle."""
    items.sort(key=lambda item: not {"lab", "wheel"} & {mark.name for mark in item.iter_markers()})


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """Give each file to one worker, and to one alone the files that share what one boot left."""
    from xdist.scheduler import LoadFileScheduling

    class ByBoot(LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.split("::", 1)[0]
            return "recorder_lab" if file in SHARING_RECORDER_LAB else file

    return ByBoot(config, log)


def _refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Turn a skip into a failure that carries the skip's reason.

    A skip is for a person at a machine which lacks something. A job that reports green must
    have run everything, so it sets RCP_REQUIRE=1.
    """
    if not REQUIRED or not report.skipped:
        return
    if hasattr(report, "wasxfail"):
        return  # an expected failure ran; pytest only files it under "skipped"
    where, reason = report.nodeid, report.longrepr
    if isinstance(reason, tuple):
        path, line, reason = reason
        where = f"{path}:{line}"
    report.outcome = "failed"
    report.longrepr = f"RCP_REQUIRE=1 forbids skips. {where}: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):  # type: ignore[no-untyped-def]
    report = yield
    _refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):  # type: ignore[no-untyped-def]
    report = yield
    _refuse_skip(report)
    return report
