"""Trials on this machine."""

from __future__ import annotations

import math
import os
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rcp.tuner.errors import KnobGoneError, KnobRefusedError
from rcp.tuner.knobs.catalog import Catalog, Which, catalog
from rcp.tuner.knobs.files import KnobsFile
from rcp.tuner.knobs.group_cell import Groups, groups_text
from rcp.tuner.knobs.knob import Settings, Value
from rcp.tuner.knobs.tree import Tree
from rcp.tuner.session.journal import DEFAULT_FOLDER
from rcp.tuner.session.session import KnobSession
from rcp.tuner.trials.command import check_command
from rcp.tuner.trials.host import GROUPS_FACT, KNOBS_FACT, host_facts
from rcp.tuner.trials.listen import ATTACHED, attach
from rcp.tuner.trials.measurement import Description, Shortage
from rcp.tuner.trials.objective import DiskMeter, ObjectiveError
from rcp.tuner.trials.raw import SPOOL, RawTrial
from rcp.tuner.trials.source import RECORDING, Source
from rcp.tuner.trials.workload import Abort, Run, WorkloadError, run_workload, shown

_SET_FIRST = ("disk.scheduler", "rcp.profile")


@dataclass(frozen=True)
class LocalMachine:
    """This machine: runs *command* for each trial; each has a folder below *folder*."""

    command: Sequence[str]
    source: Source
    disk: str
    folder: Path
    groups: Groups
    record_options: Sequence[str] = ()
    """Options of rcp-trace record for roles, targets and requests."""
    which: Which = "auto"
    timeout_s: float = 900
    journal: Path = DEFAULT_FOLDER
    yes: bool = False
    tree: Tree = field(default_factory=Tree)
    attach_pid: int = 0
    """A running process to measure for *window_s* instead of running the command; 0: none."""
    window_s: float = 30

    def catalog(self) -> Catalog:
        """Return the knobs of this machine; raises KnobError."""
        return catalog(self.tree, self.disk, self.which, self.groups, yes=self.yes)

    def describe(self) -> Description:
        """Return the knobs of this machine; writes nothing. Raises TuneError.

        Raises WorkloadError for a workload that cannot be started.
        """
        self._check_commands()
        found = self.catalog()
        facts = {**host_facts(self.tree, self.disk), "machine": " ".join(self.command)}
        # What `keep` needs to know these knobs again.
        if isinstance(self.which, KnobsFile):
            facts[KNOBS_FACT] = self.which.text
        if groups := groups_text(self.groups):
            facts[GROUPS_FACT] = groups
        return Description(found.knobs, found.current(), facts)

    def _check_commands(self) -> None:
        if not self.attach_pid:
            check_command(self.command)
        elif not Path(f"/proc/{self.attach_pid}").exists():
            raise WorkloadError(f"process {self.attach_pid} does not run: name a running one.")
        if self.source.format == RECORDING and not self._recorder_path.exists():
            raise WorkloadError(
                f"{self._recorder_path} does not exist: install rcp-trace there, or use --source"
            )

    def trial(
        self, settings: Settings, seed: int, *, record: bool, abort: Abort | None = None
    ) -> RawTrial:
        """Make one trial; see Machine."""
        out = self.folder / f"trial-{seed}"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
        started_s, failed, run, written = time.monotonic(), "", None, dict(settings)
        meter = _meter(self.disk)
        with KnobSession(self.catalog(), self.journal, yes=self.yes) as session:
            try:
                written = _apply(session, settings)
                run = self._measure(out, seed, record, abort)
            except (WorkloadError, KnobGoneError, KnobRefusedError) as error:
                failed = str(error)
            moved_bytes = meter.moved_bytes() if meter else None
        recordings = (path for path in (out / SPOOL, out / ATTACHED) if path.exists())
        return RawTrial(
            proposed=settings,
            settings=written,
            run=run,
            disk_bytes=moved_bytes,
            failed=failed,
            recording=next(recordings, None),
            wall_s=time.monotonic() - started_s,
        )

    def more_requests(self, short: Shortage) -> str:
        """Name the window of a running process; a workload's length is the user's."""
        times = -(-short.n_needed // short.n)
        if self.attach_pid:
            return f"measure longer, by --window {math.ceil(self.window_s * times)}s"
        return f"let the workload send {times} times as many in one run"

    def every_latency(self) -> str:
        """Name the option for the source of latencies."""
        return "name a --source that has every latency"

    def _measure(self, out: Path, seed: int, record: bool, abort: Abort | None) -> Run:
        """Run the workload, or measure the process that runs already."""
        if self.attach_pid:
            return attach(
                self.attach_pid,
                self.window_s,
                self.source,
                out=out,
                abort=abort,
                recorder=self._recorder(),
            )
        record = record or self.source.format == RECORDING
        recorded = [*self._recorder(), "-o", str(out / SPOOL), "--", *self.command]
        name = shown(self.command)
        return run_workload(
            recorded if record else self.command,
            self.source,
            name=f"{name} (recorded by rcp-trace)" if record else name,
            out=out,
            timeout_s=self.timeout_s,
            env={**os.environ, "SEED": str(seed)},
            abort=abort,
        )

    @property
    def _recorder_path(self) -> Path:
        # The one of this program's installation.
        return Path(sys.argv[0]).resolve().with_name("rcp-trace")

    def _recorder(self) -> list[str]:
        return [str(self._recorder_path), "record", *self.record_options]


def _meter(disk: str) -> DiskMeter | None:
    try:
        return DiskMeter(disk)
    except ObjectiveError:
        return None


def _apply(session: KnobSession, settings: Settings) -> dict[str, Value]:
    """Set the knobs; return those that did not have their value already.

    Scheduler and profile come first, because they set other knobs.
    """
    before = session.current()
    first = {name: settings[name] for name in _SET_FIRST if name in settings}
    session.apply(first)
    now = session.current()
    written = {name: value for name, value in first.items() if before.get(name) != value}
    written |= {
        name: value
        for name, value in settings.items()
        if name not in first and now.get(name) != value
    }
    session.apply(written)
    return written
