"""An agent from one attachment of the probes to the next: window, triggers, samples, rotation.

Whatever the disk does, requests are counted: records that cannot be written are dropped, and that
is counted and said.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rcp.probes.agent.analyst import SAMPLE, TRIGGER, Analyst, Done, Job
from rcp.probes.agent.counting import CountingSource
from rcp.probes.agent.metrics import Metrics
from rcp.probes.agent.pacing import PacedWatch
from rcp.probes.agent.rotation import FLEET, RECORDINGS, WINDOW, WORK, Rotation
from rcp.probes.agent.settings import Settings
from rcp.probes.cost.giving_way import GivingWay
from rcp.probes.drain import Recorder, Source
from rcp.probes.flight.flight import Flight, FlightPlan, write_window
from rcp.probes.flight.rolling import RollingSpool
from rcp.probes.upkeep import Upkeep

_UNBOUNDED = 1 << 62
_SAY_AGAIN_S = 60.0
_LOOK_S = 5.0
"""How often costs and disk are looked at."""
SPOOL, STORE = ".spool", ".duckdb"


@dataclass(frozen=True)
class Surroundings:
    """What outlives a session: a reload begins another with the same."""

    metrics: Metrics
    analyst_argv: tuple[str, ...]
    """Analyses one job (see ``Analyst``)."""
    say: Callable[[str], None]


def dump_name(why: str) -> str:
    """Return the name of a recording that begins now."""
    now = datetime.now(UTC)
    return f"{now:%Y-%m-%dT%H%M%S}.{now.microsecond // 1000:03}Z-{why}{SPOOL}"


class Session:
    """Records from *source* until it is closed."""

    def __init__(
        self,
        source: Source,
        settings: Settings,
        meta: dict[str, Any],
        names: Mapping[int, str],
        around: Surroundings,
    ) -> None:
        """*meta* is what a spool holds; *names* are those of ``request.nr``. Raises OSError."""
        self._settings, self._meta, self._around = settings, meta, around
        self._metrics = around.metrics
        folder = settings.folder
        (folder / RECORDINGS).mkdir(parents=True, exist_ok=True)
        self._source = CountingSource(
            source, lambda rows: self._metrics.count_requests(rows, names)
        )
        self._rotation = Rotation(folder, settings.max_disk_bytes, settings.max_age_s)
        self._analyst = Analyst(around.analyst_argv, folder / WORK, settings.analysis_cpu)
        self._take_up_what_was_left()
        self._window = RollingSpool(folder / WINDOW, meta, settings.keep_ns, settings.window_bytes)
        self._watch = PacedWatch(settings.triggers, names, settings.dump_gap_ns)
        self._upkeep = Upkeep(self._source, self._window, meta, settings.max_cpu, around.say)
        self.flight = Flight(
            *(self._plan(), self._watch, self._window, meta, around.say),
            excused=self._upkeep.excused,
        )
        self._turns = GivingWay(lambda: self.fill, 0.0)
        self._recorder = Recorder(
            self._source,
            self._window,
            on_requests=self.flight.check,
            cmdline=settings.cmdline,
            between=self._turns.look,
        )
        self._n_dumps = 0
        self._sample_ns = time.monotonic_ns() + settings.sample_every_ns
        self._look_s = 0.0
        self._said_s = 0.0
        self._level = 0
        self._probes_s = 0.0
        self._metrics.begin_totals()

    def _plan(self) -> FlightPlan:
        settings = self._settings
        return FlightPlan(
            settings.keep_ns,
            settings.triggers,
            settings.after_ns,
            _UNBOUNDED,
            lambda number: settings.folder / RECORDINGS / dump_name("trigger"),
        )

    def _take_up_what_was_left(self) -> None:
        """Keep the window of an agent that was killed, and load what it did not come to load."""
        folder = self._settings.folder
        window = folder / WINDOW
        if window.exists():
            kept = folder / RECORDINGS / dump_name("killed")
            window.rename(kept)
            self._around.say(f"an agent ended without closing its window: {kept} has it.")
        for spool in sorted((folder / RECORDINGS).glob(f"*{SPOOL}")):
            self._queue(spool)

    def _queue(self, spool: Path) -> None:
        if self._settings.is_analysing:
            store = spool.with_suffix(STORE)
            self._analyst.give(Job(str(spool), TRIGGER, store=str(store)))

    @property
    def fill(self) -> float:
        """How full the fullest ring is."""
        return self._source.fill

    @property
    def status(self) -> str:
        """One line for ``systemctl status``."""
        n = sum(one.counts.sum() for one in self._metrics.latencies.by_name.values())
        return f"{n} requests, {self._n_dumps} recordings written"

    def step(self) -> float:
        """Drain, and do what is due; return the seconds until the next call."""
        try:
            pause_s = self._upkeep.step()
            # SCHED_IDLE would count inside the cgroup only that a service with CPUQuota= has
            with self._turns.unless(True):
                self._upkeep.look(self._turns.look)
                self._recorder.drain()
            self.flight.step(self._recorder, self._source)
            self._note_dumps()
            self._sample_if_due()
            self._metrics.put("rcp_disk_full", 0)
        except OSError as error:
            self._disk_is_full(error)
            pause_s = 1.0
        self._note_analysis(self._analyst.step())
        if time.monotonic() >= self._look_s:
            self._look()
        return pause_s

    def _note_dumps(self) -> None:
        for spool in self.flight.dumps[self._n_dumps :]:
            self._n_dumps += 1
            self._metrics.add("rcp_recordings_written", 1)
            self._watch.pause()
            self._queue(spool)
            self._look_s = 0.0

    def _sample_if_due(self) -> None:
        settings = self._settings
        if not settings.is_analysing or time.monotonic_ns() < self._sample_ns:
            return
        self._sample_ns = time.monotonic_ns() + settings.sample_every_ns
        if not self._analyst.is_free:
            self._metrics.add("rcp_summaries_skipped", 1)
            return
        path = settings.folder / WORK / f"sample{SPOOL}"
        shutil.rmtree(path, ignore_errors=True)
        reason = ("sample", "a part of ordinary time")
        with self._upkeep.excused():
            write_window(
                *(self._window, path, self._recorder, self._source, self._meta, reason),
                realtime_ns=time.time_ns(),
            )
        outbox = str(settings.folder / FLEET)
        self._analyst.give(
            Job(str(path), SAMPLE, outbox=outbox, fleet=settings.fleet, host=settings.host)
        )

    def _note_analysis(self, done: Done | None) -> None:
        if done is None:
            return
        source, metrics = done.job.source, self._metrics
        metrics.add("rcp_cpu_seconds", done.cpu_s, "analysis")
        metrics.add("rcp_analyses", 1, source, "ok" if done.found else "failed")
        if done.found is None:
            self._around.say(f"cannot analyse {done.job.spool}: {done.error}")
            return
        metrics.add_analysis(source, done.found, time.time())
        metrics.put("rcp_summaries_waiting", done.found["n_waiting"])
        for problem in done.found["problems"]:
            self._around.say(problem)
        if source == TRIGGER:
            shutil.rmtree(done.job.spool, ignore_errors=True)
            self._around.say(f"see it with `rcp-trace report {done.job.store}`.")

    def _disk_is_full(self, error: OSError) -> None:
        self._metrics.put("rcp_disk_full", 1)
        if time.monotonic() - self._said_s >= _SAY_AGAIN_S or not self._said_s:
            self._said_s = time.monotonic()
            freed = self._rotation.free_some(self._analyst.in_use)
            then = "the oldest recording was deleted" if freed else "nothing is left to delete"
            self._around.say(
                f"cannot write {self._settings.folder}: {error.strerror}; {then}. Requests are "
                "still counted: free some space, or lower max_disk."
            )

    def _look(self) -> None:
        """Look at costs, losses and the disk."""
        self._look_s = time.monotonic() + _LOOK_S
        self._rotation.step(self._analyst.in_use)
        metrics = self._metrics
        cost = self._upkeep.cost_so_far(self._recorder.n_records)
        metrics.put("rcp_cpu_seconds", time.process_time(), "recorder")
        # An estimate where it is measured only part of the time: it may fall, a counter may not.
        self._probes_s = max(self._probes_s, cost.probe_cpu_s or 0.0)
        metrics.total("rcp_cpu_seconds", self._probes_s, "probes")
        metrics.put("rcp_resident_memory_bytes", _resident_bytes())
        metrics.put("rcp_disk_used_bytes", self._rotation.used_bytes)
        metrics.put("rcp_shedding_level", self._upkeep.level)
        metrics.add("rcp_shedding_changes", int(self._upkeep.level != self._level))
        self._level = self._upkeep.level
        metrics.total("rcp_events_dropped", self._source.n_drained - self._recorder.n_records)
        for why, n in self._rotation.n_deleted.items():
            metrics.total("rcp_recordings_deleted", n, why)
        for trigger, n in self._watch.n_fired.items():
            metrics.total("rcp_triggers", n, trigger)
        metrics.total("rcp_triggers_held_back", self._watch.n_held_back)
        counters = self._source.counters()
        for kind, name in (("written", "rcp_events_recorded"), ("lost", "rcp_events_lost")):
            for probe, per_cpu in counters.get(kind, {}).items():
                metrics.total(name, sum(per_cpu), probe)

    def close(self) -> None:
        """End: write a dump that is due, then drop the window. Raises nothing for a full disk."""
        try:
            self._recorder.drain()
            if self.flight.is_pending:
                self.flight.dump(self._recorder, self._source)
                self._note_dumps()
            self._look()
            self._upkeep.close(self._recorder.n_records)
            self._window.close({"why": "signal", "detail": "the agent ended"})
            shutil.rmtree(self._settings.folder / WINDOW)
        except OSError as error:
            self._around.say(f"cannot write {self._settings.folder}: {error.strerror}.")
        finally:
            self._analyst.close()


def _resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096
